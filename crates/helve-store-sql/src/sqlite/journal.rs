//! What the writer does to a run: open, append, claim.
//!
//! Each function looks first and writes second, and returns its own errors before the first write.

use std::sync::Arc;

use helve_store::{Append, CallChange, CallState, NewRun, Place, Recorded, Scope, StoreError, call_change};
use helve_types::{
    CallId, ConversationId, Fact, Failure, FailureKind, Message, RunId, RunState, Spent, Timestamp,
};
use rusqlite::{Connection, params};

use super::rows::{column, execute, first, id_column, to_json};
use super::spent::add_spent;
use super::{conversations, files, runs};

/// What the writer knows of a run that was opened; its history is read elsewhere.
pub(super) enum OpenedRow {
    New {
        epoch: u64,
        /// How many messages the conversation had before.
        before: u64,
    },
    Replayed {
        run: RunId,
    },
}

/// The same of a run that was claimed.
pub(super) struct ClaimedRow {
    pub(super) epoch: u64,
    pub(super) before: u64,
}

pub(super) fn open_run(connection: &Connection, new: &NewRun) -> Result<OpenedRow, StoreError> {
    let at = new.started.event.at;
    if let Some(replayed) = replayed(connection, new, at)? {
        return Ok(replayed);
    }
    let before = match &new.place {
        Place::Conversation(id) => free_conversation(connection, new, *id)?,
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
    execute(
        connection,
        "INSERT INTO runs (id, user, conversation, history, state, epoch, owner, resumes, setup, created_at)
         VALUES (?1, ?2, ?3, ?4, 'running', 1, ?5, 0, ?6, ?7)",
        params![
            new.run.0.as_bytes(),
            new.user.0,
            new.place.conversation().as_ref().map(|id| id.0.as_bytes()),
            before,
            new.owner,
            to_json(&new.setup)?,
            at.0,
        ],
    )?;
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

fn replayed(connection: &Connection, new: &NewRun, at: Timestamp) -> Result<Option<OpenedRow>, StoreError> {
    let Some(key) = &new.key else { return Ok(None) };
    let known = first(
        connection,
        "SELECT fingerprint, run FROM idempotency_keys
         WHERE user = ?1 AND route = ?2 AND key = ?3
           AND (expires_at > ?4 OR run IN (SELECT id FROM runs WHERE ended_at IS NULL))",
        params![new.user.0, key.route, key.key, at.0],
        |row| Ok((column::<String>(row, "fingerprint")?, id_column(row, "run", RunId)?)),
    )?;
    match known {
        None => Ok(None),
        Some((fingerprint, run)) if fingerprint == key.fingerprint => Ok(Some(OpenedRow::Replayed { run })),
        Some(_) => Err(StoreError::KeyReused),
    }
}

/// How many messages a conversation has that is the user's and has no open run.
fn free_conversation(connection: &Connection, new: &NewRun, id: ConversationId) -> Result<u64, StoreError> {
    let row = conversations::conversation(connection, &Scope::User(new.user.clone()), id)?;
    match row.active_run {
        Some(active) => Err(StoreError::Busy(active)),
        None => Ok(row.messages),
    }
}

pub(super) fn append(connection: &Connection, batch: &Append) -> Result<(), StoreError> {
    let fenced = || StoreError::Fenced(batch.run);
    let (conversation, last_seq) = owned_run(connection, batch)?.ok_or_else(fenced)?;
    // The commit of an earlier try may have gone through although we were told that it failed.
    let known = batch.events.partition_point(|recorded| recorded.event.seq <= last_seq);
    let (known, new) = batch.events.split_at(known);
    if !are_kept(connection, batch.run, known)? {
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
        keep_event(connection, batch.run, recorded)?;
        derive(connection, batch.run, recorded)?;
    }
    for whole in &batch.wholes {
        execute(
            connection,
            "INSERT OR REPLACE INTO outputs (run, call, text) VALUES (?1, ?2, ?3)",
            params![batch.run.0.as_bytes(), whole.call.as_str(), whole.text],
        )?;
    }
    let at = batch.events.last().map_or(Timestamp(0), |last| last.event.at);
    files::keep(connection, batch, at)?;
    if let (Some(conversation), Some(message)) = (conversation, &batch.message) {
        keep_message(connection, conversation, message, at)?;
    }
    match batch.state {
        Some(state) => enter_state(connection, batch.run, state, at),
        None => Ok(()),
    }
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
        params![batch.run.0.as_bytes(), batch.epoch],
        |row| {
            let conversation = super::rows::optional_id_column(row, "conversation", ConversationId)?;
            Ok((conversation, column(row, "last_seq")?))
        },
    )
}

/// Whether the log holds just these events at their places.
fn are_kept(connection: &Connection, run: RunId, events: &[Arc<Recorded>]) -> Result<bool, StoreError> {
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

/// Brings the rows beside the log up to date with one event.
fn derive(connection: &Connection, run: RunId, recorded: &Recorded) -> Result<(), StoreError> {
    let at = recorded.event.at;
    let fact = &recorded.event.fact;
    match fact {
        Fact::StepFinished { .. } => {
            if let Some(spent) = Spent::of(fact) {
                add_spent(connection, run, &spent)?;
            }
            execute(
                connection,
                "UPDATE runs SET resumes = 0 WHERE id = ?1 AND resumes > 0",
                [run.0.as_bytes()],
            )?;
        }
        Fact::ApprovalAsked(question) => {
            execute(
                connection,
                "INSERT INTO approvals (id, run, user, question, asked_at, expires_at, state)
                 SELECT ?1, id, user, ?3, ?4, ?5, 'pending' FROM runs WHERE id = ?2",
                params![
                    question.approval.0.as_bytes(),
                    run.0.as_bytes(),
                    to_json(question)?,
                    at.0,
                    question.expires_at.0
                ],
            )?;
        }
        Fact::ApprovalAnswered { approval, answer, by, .. } => {
            execute(
                connection,
                "UPDATE approvals SET state = 'answered', answer = ?2, answered_by = ?3, answered_at = ?4
                 WHERE id = ?1 AND state = 'pending'",
                params![approval.0.as_bytes(), to_json(answer)?, by, at.0],
            )?;
        }
        _ => {}
    }
    match (fact.call(), call_change(fact)) {
        (Some(call), Some(change)) => change_call(connection, run, at, call, &change),
        _ => Ok(()),
    }
}

fn change_call(
    connection: &Connection,
    run: RunId,
    at: Timestamp,
    call: &CallId,
    change: &CallChange<'_>,
) -> Result<(), StoreError> {
    let (run, call) = (run.0.as_bytes(), call.as_str());
    match change {
        CallChange::Plan { step, tool, arguments, provider_id } => execute(
            connection,
            "INSERT INTO tool_calls
                 (run, id, step, provider_id, tool, arguments, state, attempt, trail, requested_at, user)
             SELECT ?1, ?2, ?3, ?4, ?5, ?6, 'planned', 0, '[]', ?7, user FROM runs WHERE id = ?1",
            params![run, call, step, provider_id, tool, arguments, at.0],
        ),
        CallChange::Start { tool, version, effect, attempt, arguments } => {
            // Only a name that was repaired changes: an index that is named in SET is written again, changed or not.
            execute(
                connection,
                "UPDATE tool_calls SET tool = ?3 WHERE run = ?1 AND id = ?2 AND tool <> ?3",
                params![run, call, tool],
            )?;
            execute(
                connection,
                "UPDATE tool_calls SET state = 'started', version = ?3, effect = ?4, attempt = ?5,
                     arguments = coalesce(?6, arguments), started_at = ?7
                 WHERE run = ?1 AND id = ?2",
                params![run, call, version, runs::effect_word(*effect), attempt, arguments, at.0],
            )
        }
        CallChange::Move(state) => execute(
            connection,
            "UPDATE tool_calls SET state = ?3, ended_at = NULL WHERE run = ?1 AND id = ?2",
            params![run, call, state.as_str()],
        ),
        CallChange::Lose { because, trail } => {
            execute(
                connection,
                "UPDATE tool_calls SET state = 'unknown', ended_at = ?3, trail = ?4 WHERE run = ?1 AND id = ?2",
                params![run, call, at.0, to_json(trail)?],
            )?;
            end_badly(connection, run, call, CallState::Unknown, None, because)
        }
        CallChange::Settle { state, trail, result } => {
            execute(
                connection,
                "UPDATE tool_calls SET state = ?3, trail = ?4, output_bytes = ?5, ended_at = ?6
                 WHERE run = ?1 AND id = ?2",
                params![run, call, state.as_str(), to_json(trail)?, result.output_bytes(), at.0],
            )?;
            match result.failure() {
                Some(Failure { kind, message, .. }) => {
                    end_badly(connection, run, call, *state, Some(*kind), message)
                }
                // A call that nobody knew about may turn out well.
                None => execute(
                    connection,
                    "UPDATE tool_calls SET bad_end = NULL, failure = NULL, problem = NULL
                     WHERE run = ?1 AND id = ?2 AND bad_end IS NOT NULL",
                    params![run, call],
                ),
            }
        }
    }?;
    Ok(())
}

/// Notes why a call gave no output, in columns that calls which succeed do not touch.
fn end_badly(
    connection: &Connection,
    run: &[u8; 16],
    call: &str,
    state: CallState,
    failure: Option<FailureKind>,
    problem: &str,
) -> Result<usize, StoreError> {
    execute(
        connection,
        "UPDATE tool_calls SET bad_end = ?3, failure = ?4, problem = ?5 WHERE run = ?1 AND id = ?2",
        params![run, call, state.as_str(), failure.map(FailureKind::as_str), problem],
    )
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

pub(super) fn claim(
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
