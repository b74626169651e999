//! What the writer does to a run: open, append, claim.
//!
//! Each function looks first and writes second, and returns its own errors before the first write.

use std::sync::Arc;

use helve_store::{Append, IdempotencyKey, NewRun, Place, Recorded, Scope, StoreError};
use helve_types::{ConversationId, Fact, Message, RunId, RunState, Timestamp, UserId};
use rusqlite::{Connection, params};

use crate::opened_row::OpenedRow;
use crate::sqlite::columns::{column, execute, first, id_column, to_json};
use crate::sqlite::log::derived::apply_fact;
use crate::sqlite::log::setups;
use crate::sqlite::views::conversations;
use crate::sqlite::views::files;
use crate::sqlite::views::shares;

/// The same of a run that was claimed.
pub(crate) struct ClaimedRow {
    pub(crate) epoch: u64,
    pub(crate) before: u64,
}

pub(crate) fn open_run(connection: &Connection, new: &NewRun) -> Result<OpenedRow, StoreError> {
    let at = new.started.event.at;
    if let Some(key) = &new.key
        && let Some(run) = run_of_key(connection, &new.user, key, at)?
    {
        return Ok(OpenedRow::Replayed { run });
    }
    let before = match &new.place {
        Place::Conversation(id) => check_idle_conversation(connection, new, *id)?,
        Place::NewConversation { .. } | Place::Nowhere => 0,
    };

    execute(
        connection,
        "INSERT OR IGNORE INTO users (id, created_at) VALUES (?1, ?2)",
        params![new.user.0, at.0],
    )?;
    if let Place::NewConversation { id, title } = &new.place {
        execute(
            connection,
            "INSERT INTO conversations (id, user, title, messages, created_at, updated_at)
             VALUES (?1, ?2, ?3, 0, ?4, ?4)",
            params![id.0.as_bytes(), new.user.0, title, at.0],
        )?;
    }
    let bytes = shares::count_opening(new)?;
    execute(
        connection,
        "INSERT INTO runs
             (id, user, conversation, history, state, epoch, owner, resumes, setup_id, created_at, agent,
              bytes, root, unreported)
         VALUES (?1, ?2, ?3, ?4, 'running', 1, ?5, 0, ?6, ?7, ?8, ?9, ?10, ?10 IS NOT NULL)",
        params![
            new.run.0.as_bytes(),
            new.user.0,
            new.place.conversation().as_ref().map(|id| id.0.as_bytes()),
            before,
            new.owner,
            setups::find_or_insert(connection, &new.setup)?,
            at.0,
            new.setup.agent,
            bytes,
            new.setup.parent.as_ref().map(|parent| *parent.root.0.as_bytes()),
        ],
    )?;
    if let Some(conversation) = new.place.conversation() {
        execute(
            connection,
            "UPDATE conversations SET active_run = ?2 WHERE id = ?1",
            params![conversation.0.as_bytes(), new.run.0.as_bytes()],
        )?;
    }
    shares::add_to_user(connection, &new.user, bytes)?;
    if let (Some(conversation), Some(message)) = (new.place.conversation(), &new.message) {
        keep_message(connection, conversation, message, at)?;
    }
    keep_event(connection, new.run, &new.started)?;
    if let Some(key) = &new.key {
        execute(
            connection,
            "DELETE FROM idempotency_keys WHERE expires_at <= ?1
             AND run NOT IN (SELECT id FROM runs WHERE ended_at IS NULL)",
            params![at.0],
        )?;
        execute(
            connection,
            "INSERT OR REPLACE INTO idempotency_keys (user, route, key, fingerprint, run, expires_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            params![new.user.0, key.route, key.key, key.fingerprint, new.run.0.as_bytes(), key.expires_at.0],
        )?;
    }
    Ok(OpenedRow::New { epoch: 1, before })
}

pub(crate) fn mark_reported(connection: &Connection, run: RunId) -> Result<(), StoreError> {
    execute(connection, "UPDATE runs SET unreported = 0 WHERE id = ?1", [run.0.as_bytes()])?;
    Ok(())
}

pub(crate) fn run_of_key(
    connection: &Connection,
    user: &UserId,
    key: &IdempotencyKey,
    now: Timestamp,
) -> Result<Option<RunId>, StoreError> {
    let known = first(
        connection,
        "SELECT fingerprint, run FROM idempotency_keys
         WHERE user = ?1 AND route = ?2 AND key = ?3
           AND (expires_at > ?4 OR run IN (SELECT id FROM runs WHERE ended_at IS NULL))",
        params![user.0, key.route, key.key, now.0],
        |row| Ok((column::<String>(row, "fingerprint")?, id_column(row, "run", RunId)?)),
    )?;
    match known {
        None => Ok(None),
        Some((fingerprint, run)) if fingerprint == key.fingerprint => Ok(Some(run)),
        Some(_) => Err(StoreError::KeyReused),
    }
}

/// How many messages a conversation has that is the user's and has no open run.
fn check_idle_conversation(
    connection: &Connection,
    new: &NewRun,
    id: ConversationId,
) -> Result<u64, StoreError> {
    let row = conversations::conversation(connection, &Scope::User(new.user.clone()), id)?;
    match row.active_run {
        Some(active) => Err(StoreError::Busy(active)),
        None => Ok(row.messages),
    }
}

pub(crate) fn append(connection: &Connection, batch: &Append) -> Result<(), StoreError> {
    let fenced = || StoreError::Fenced(batch.writer.run);
    let (conversation, last_seq) = owned_run(connection, batch)?.ok_or_else(fenced)?;
    // The commit of an earlier try may have gone through although we were told that it failed.
    let known = batch.events.partition_point(|recorded| recorded.event.seq <= last_seq);
    let (known, new) = batch.events.split_at(known);
    if !are_recorded(connection, batch.writer.run, known)? {
        return Err(fenced());
    }
    let Some(first_new) = new.first() else {
        return Ok(());
    };
    if first_new.event.seq != last_seq + 1 {
        return Err(fenced());
    }
    for recorded in new {
        if let Fact::ApprovalAnswered { approval, .. } = &recorded.event.fact {
            let pending = "SELECT 1 FROM approvals WHERE id = ?1 AND state = 'pending'";
            first(connection, pending, [approval.0.as_bytes()], |_| Ok(()))?
                .ok_or(StoreError::AlreadyAnswered)?;
        }
    }

    for recorded in new {
        keep_event(connection, batch.writer.run, recorded)?;
        apply_fact(connection, batch.writer.run, recorded)?;
    }
    for output in &batch.full_outputs {
        execute(
            connection,
            "INSERT OR REPLACE INTO outputs (run, call, text) VALUES (?1, ?2, ?3)",
            params![batch.writer.run.0.as_bytes(), output.call.to_string(), output.text],
        )?;
    }
    shares::add_batch(connection, batch, new.iter().map(|recorded| recorded.json.len()).sum())?;
    let at = batch.events.last().map_or(Timestamp(0), |last| last.event.at);
    files::save_files(connection, batch, at)?;
    if let (Some(conversation), Some(message)) = (conversation, &batch.message) {
        keep_message(connection, conversation, message, at)?;
    }
    match batch.state {
        Some(state) => {
            enter_state(connection, batch.writer.run, state, at)?;
            match conversation.filter(|_| state.is_final()) {
                Some(conversation) => release_conversation(connection, conversation, batch.writer.run),
                None => Ok(()),
            }
        }
        None => Ok(()),
    }
}

/// The conversation may have another run.
fn release_conversation(
    connection: &Connection,
    conversation: ConversationId,
    run: RunId,
) -> Result<(), StoreError> {
    execute(
        connection,
        "UPDATE conversations SET active_run = NULL WHERE id = ?1 AND active_run = ?2",
        params![conversation.0.as_bytes(), run.0.as_bytes()],
    )?;
    Ok(())
}

/// The run's conversation and last sequence number, if the batch's writer still owns it.
fn owned_run(
    connection: &Connection,
    batch: &Append,
) -> Result<Option<(Option<ConversationId>, u64)>, StoreError> {
    first(
        connection,
        "SELECT conversation, (SELECT max(seq) FROM run_events WHERE run = ?1) AS last_seq
         FROM runs WHERE id = ?1 AND epoch = ?2",
        params![batch.writer.run.0.as_bytes(), batch.writer.epoch],
        |row| {
            let conversation =
                crate::sqlite::columns::optional_id_column(row, "conversation", ConversationId)?;
            Ok((conversation, column(row, "last_seq")?))
        },
    )
}

/// Whether the log holds just these events at their places.
fn are_recorded(connection: &Connection, run: RunId, events: &[Arc<Recorded>]) -> Result<bool, StoreError> {
    for recorded in events {
        let body: Option<String> = first(
            connection,
            "SELECT body FROM run_events WHERE run = ?1 AND seq = ?2",
            params![run.0.as_bytes(), recorded.event.seq],
            |row| column(row, "body"),
        )?;
        if body.as_deref() != Some(&*recorded.json) {
            return Ok(false);
        }
    }
    Ok(true)
}

fn keep_event(connection: &Connection, run: RunId, recorded: &Recorded) -> Result<(), StoreError> {
    execute(
        connection,
        "INSERT INTO run_events (run, seq, kind, body) VALUES (?1, ?2, ?3, ?4)",
        params![run.0.as_bytes(), recorded.event.seq, recorded.event.fact.kind(), &*recorded.json],
    )?;
    Ok(())
}

fn keep_message(
    connection: &Connection,
    conversation: ConversationId,
    message: &Message,
    at: Timestamp,
) -> Result<(), StoreError> {
    execute(
        connection,
        "INSERT INTO messages (conversation, ordinal, body)
         SELECT id, messages + 1, ?2 FROM conversations WHERE id = ?1",
        params![conversation.0.as_bytes(), to_json(message)?],
    )?;
    execute(
        connection,
        "UPDATE conversations SET messages = messages + 1, updated_at = ?2 WHERE id = ?1",
        params![conversation.0.as_bytes(), at.0],
    )?;
    Ok(())
}

fn enter_state(
    connection: &Connection,
    run: RunId,
    state: RunState,
    at: Timestamp,
) -> Result<(), StoreError> {
    let ended_at = state.is_final().then_some(at.0);
    execute(
        connection,
        "UPDATE runs SET state = ?2, ended_at = ?3 WHERE id = ?1",
        params![run.0.as_bytes(), state.as_str(), ended_at],
    )?;
    if state.is_final() {
        execute(
            connection,
            "UPDATE approvals SET state = 'withdrawn' WHERE run = ?1 AND state = 'pending'",
            [run.0.as_bytes()],
        )?;
    }
    Ok(())
}

pub(crate) fn claim(
    connection: &Connection,
    run: RunId,
    owner: &str,
    counts_as_resume: bool,
) -> Result<ClaimedRow, StoreError> {
    first(
        connection,
        "UPDATE runs SET epoch = epoch + 1, owner = ?2, resumes = resumes + ?3 WHERE id = ?1
         RETURNING epoch, history",
        params![run.0.as_bytes(), owner, u32::from(counts_as_resume)],
        |row| Ok(ClaimedRow { epoch: column(row, "epoch")?, before: column(row, "history")? }),
    )?
    .ok_or(StoreError::NotFound("run"))
}
