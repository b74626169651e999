//! What the writer does to a run: open, append, claim.
//!
//! Each function looks first and writes second, and returns its own errors before the first write. What it looks at it
//! locks, since other processes write too.

use std::sync::Arc;

use helve_store::{FullOutput, IdempotencyKey, KeptFile, NewRun, Place, Recorded, StoreError};
use helve_types::{ConversationId, Fact, Message, RunId, RunState, Timestamp, UserId};
use uuid::Uuid;

use super::derived::apply_fact;
use super::setups;
use crate::opened_row::OpenedRow;
use crate::postgres::columns::{Db, column, number, replace_nul, to_bigint, to_json};
use crate::postgres::views::{files, shares};

/// The same of a run that was claimed.
pub(super) struct ClaimedRow {
    pub(super) epoch: u64,
    pub(super) before: u64,
}

/// An append without what is called afterwards.
pub(in crate::postgres) struct Batch {
    pub(in crate::postgres) run: RunId,
    pub(in crate::postgres) epoch: u64,
    pub(in crate::postgres) events: Vec<Arc<Recorded>>,
    pub(in crate::postgres) state: Option<RunState>,
    pub(in crate::postgres) message: Option<Message>,
    pub(in crate::postgres) full_outputs: Vec<FullOutput>,
    pub(in crate::postgres) files: Vec<KeptFile>,
}

pub(super) async fn open_run(db: &Db<'_>, new: &NewRun) -> Result<OpenedRow, StoreError> {
    let at = new.started.event.at;
    if let Some(key) = &new.key {
        // The same request may come to another process at the same time.
        db.lock(&format!("key {} {} {}", new.user.0, key.route, key.key)).await?;
        if let Some(run) = run_of_key(db, &new.user, key, at).await? {
            return Ok(OpenedRow::Replayed { run });
        }
    }
    let before = match &new.place {
        Place::Conversation(id) => lock_idle_conversation(db, &new.user, *id).await?,
        Place::NewConversation { .. } | Place::Nowhere => 0,
    };

    let user = &new.user.0;
    db.execute(
        "INSERT INTO users (id, created_at) VALUES ($1, $2) ON CONFLICT (id) DO NOTHING",
        &[user, &at.0],
    )
    .await?;
    if let Place::NewConversation { id, title } = &new.place {
        db.execute(
            "INSERT INTO conversations (id, user_id, title, messages, created_at, updated_at)
             VALUES ($1, $2, $3, 0, $4, $4)",
            &[&id.0, user, &replace_nul(title), &at.0],
        )
        .await?;
    }
    let conversation = new.place.conversation();
    let setup = setups::find_or_insert(db, &new.setup).await?;
    let bytes = shares::count_opening(new)?;
    let root = new.setup.parent.as_ref().map(|parent| parent.root.0);
    db.execute(
        "INSERT INTO runs
             (id, user_id, conversation, history, state, epoch, owner, resumes, setup_id, created_at, agent,
              bytes, root, unreported)
         VALUES ($1, $2, $3, $4, 'running', 1, $5, 0, $6, $7, $8, $9, $10, $11)",
        &[
            &new.run.0,
            user,
            &conversation.map(|id| id.0),
            &to_bigint(before),
            &new.owner,
            &setup,
            &at.0,
            &new.setup.agent,
            &bytes,
            &root,
            &i64::from(root.is_some()),
        ],
    )
    .await?;
    if let Some(conversation) = conversation {
        db.execute("UPDATE conversations SET active_run = $2 WHERE id = $1", &[&conversation.0, &new.run.0])
            .await?;
    }
    shares::add_to_user(db, &new.user, bytes).await?;
    if let (Some(conversation), Some(message)) = (conversation, &new.message) {
        keep_message(db, conversation, message, at).await?;
    }
    keep_events(db, new.run, std::slice::from_ref(&new.started)).await?;
    if let Some(key) = &new.key {
        db.execute(
            "DELETE FROM idempotency_keys WHERE expires_at <= $1
             AND NOT EXISTS (SELECT 1 FROM runs WHERE id = run AND ended_at IS NULL)",
            &[&at.0],
        )
        .await?;
        db.execute(
            "INSERT INTO idempotency_keys (user_id, route, key, fingerprint, run, expires_at)
             VALUES ($1, $2, $3, $4, $5, $6)
             ON CONFLICT (user_id, route, key) DO UPDATE
                 SET fingerprint = excluded.fingerprint, run = excluded.run, expires_at = excluded.expires_at",
            &[user, &key.route, &replace_nul(&key.key), &key.fingerprint, &new.run.0, &key.expires_at.0],
        )
        .await?;
    }
    Ok(OpenedRow::New { epoch: 1, before })
}

pub(in crate::postgres) async fn mark_reported(db: &Db<'_>, run: RunId) -> Result<(), StoreError> {
    db.execute("UPDATE runs SET unreported = 0 WHERE id = $1", &[&run.0]).await?;
    Ok(())
}

pub(super) async fn run_of_key(
    db: &Db<'_>,
    user: &UserId,
    key: &IdempotencyKey,
    now: Timestamp,
) -> Result<Option<RunId>, StoreError> {
    let known = db
        .first(
            "SELECT fingerprint, run FROM idempotency_keys
             WHERE user_id = $1 AND route = $2 AND key = $3
               AND (expires_at > $4 OR run IN (SELECT id FROM runs WHERE ended_at IS NULL))",
            &[&user.0, &key.route, &replace_nul(&key.key), &now.0],
        )
        .await?;
    let Some(row) = known else { return Ok(None) };
    match column::<&str>(&row, "fingerprint")? == key.fingerprint {
        true => Ok(Some(RunId(column(&row, "run")?))),
        false => Err(StoreError::KeyReused),
    }
}

/// How many messages a conversation has that is the user's and has no open run. No other process opens one meanwhile.
async fn lock_idle_conversation(db: &Db<'_>, user: &UserId, id: ConversationId) -> Result<u64, StoreError> {
    let sql = "SELECT messages, active_run FROM conversations WHERE id = $1 AND user_id = $2 FOR UPDATE";
    let row = db.first(sql, &[&id.0, &user.0]).await?.ok_or(StoreError::NotFound("conversation"))?;
    match column::<Option<Uuid>>(&row, "active_run")? {
        Some(active) => Err(StoreError::Busy(RunId(active))),
        None => number(&row, "messages"),
    }
}

pub(super) async fn append(db: &Db<'_>, batch: &Batch) -> Result<(), StoreError> {
    let fenced = || StoreError::Fenced(batch.run);
    let (conversation, last_seq) = owned_run(db, batch).await?.ok_or_else(fenced)?;
    // The commit of an earlier try may have gone through although we were told that it failed.
    let known = batch.events.partition_point(|recorded| recorded.event.seq <= last_seq);
    let (known, new) = batch.events.split_at(known);
    if !are_recorded(db, batch.run, known).await? {
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
            let pending = "SELECT 1 FROM approvals WHERE id = $1 AND state = 'pending' FOR UPDATE";
            db.first(pending, &[&approval.0]).await?.ok_or(StoreError::AlreadyAnswered)?;
        }
    }

    keep_events(db, batch.run, new).await?;
    for recorded in new {
        apply_fact(db, batch.run, recorded).await?;
    }
    for output in &batch.full_outputs {
        db.execute(
            "INSERT INTO outputs (run, call, text) VALUES ($1, $2, $3)
             ON CONFLICT (run, call) DO UPDATE SET text = excluded.text",
            &[&batch.run.0, &output.call.to_string(), &output.text.as_bytes()],
        )
        .await?;
    }
    shares::add_batch(db, batch, new.iter().map(|recorded| recorded.json.len()).sum()).await?;
    let at = batch.events.last().map_or(Timestamp(0), |last| last.event.at);
    files::save_files(db, batch, at).await?;
    if let (Some(conversation), Some(message)) = (conversation, &batch.message) {
        keep_message(db, conversation, message, at).await?;
    }
    if let Some(state) = batch.state {
        enter_state(db, batch.run, state, at).await?;
        if let Some(conversation) = conversation.filter(|_| state.is_final()) {
            release_conversation(db, conversation, batch.run).await?;
        }
    }
    Ok(())
}

/// The conversation may have another run.
async fn release_conversation(
    db: &Db<'_>,
    conversation: ConversationId,
    run: RunId,
) -> Result<(), StoreError> {
    let sql = "UPDATE conversations SET active_run = NULL WHERE id = $1 AND active_run = $2";
    db.execute(sql, &[&conversation.0, &run.0]).await.map(drop)
}

/// The run's conversation and last sequence number, if the batch's writer still owns it. No other process claims it before
/// the transaction ends.
async fn owned_run(db: &Db<'_>, batch: &Batch) -> Result<Option<(Option<ConversationId>, u64)>, StoreError> {
    let sql = "SELECT conversation FROM runs WHERE id = $1 AND epoch = $2 FOR UPDATE";
    let Some(row) = db.first(sql, &[&batch.run.0, &to_bigint(batch.epoch)]).await? else { return Ok(None) };
    let conversation = column::<Option<Uuid>>(&row, "conversation")?.map(ConversationId);
    // Only now: while the lock was waited for, its owner may have written.
    let sql = "SELECT coalesce(max(seq), 0)::bigint AS last_seq FROM run_events WHERE run = $1";
    let row = db.first(sql, &[&batch.run.0]).await?;
    let last_seq = row.map_or(Ok(0), |row| number(&row, "last_seq"))?;
    Ok(Some((conversation, last_seq)))
}

/// Whether the log holds just these events at their places.
async fn are_recorded(db: &Db<'_>, run: RunId, events: &[Arc<Recorded>]) -> Result<bool, StoreError> {
    if events.is_empty() {
        return Ok(true);
    }
    let numbers: Vec<i64> = events.iter().map(|recorded| to_bigint(recorded.event.seq)).collect();
    let sql = "SELECT body FROM run_events WHERE run = $1 AND seq = ANY($2) ORDER BY seq";
    let rows = db.all(sql, &[&run.0, &numbers]).await?;
    if rows.len() != events.len() {
        return Ok(false);
    }
    for (row, recorded) in rows.iter().zip(events) {
        if column::<&str>(row, "body")? != &*recorded.json {
            return Ok(false);
        }
    }
    Ok(true)
}

async fn keep_events(db: &Db<'_>, run: RunId, events: &[Arc<Recorded>]) -> Result<(), StoreError> {
    let numbers: Vec<i64> = events.iter().map(|recorded| to_bigint(recorded.event.seq)).collect();
    let kinds: Vec<&str> = events.iter().map(|recorded| recorded.event.fact.kind()).collect();
    let bodies: Vec<&str> = events.iter().map(|recorded| &*recorded.json).collect();
    db.execute(
        "INSERT INTO run_events (run, seq, kind, body)
         SELECT $1, * FROM unnest($2::bigint[], $3::text[], $4::text[])",
        &[&run.0, &numbers, &kinds, &bodies],
    )
    .await
    .map(drop)
}

async fn keep_message(
    db: &Db<'_>,
    conversation: ConversationId,
    message: &Message,
    at: Timestamp,
) -> Result<(), StoreError> {
    db.execute(
        "WITH counted AS (
             UPDATE conversations SET messages = messages + 1, updated_at = $3 WHERE id = $1
             RETURNING id, messages
         )
         INSERT INTO messages (conversation, ordinal, body) SELECT id, messages, $2 FROM counted",
        &[&conversation.0, &to_json(message)?, &at.0],
    )
    .await
    .map(drop)
}

async fn enter_state(db: &Db<'_>, run: RunId, state: RunState, at: Timestamp) -> Result<(), StoreError> {
    let ended_at = state.is_final().then_some(at.0);
    db.execute(
        "UPDATE runs SET state = $2, ended_at = $3 WHERE id = $1",
        &[&run.0, &state.as_str(), &ended_at],
    )
    .await?;
    if state.is_final() {
        let sql = "UPDATE approvals SET state = 'withdrawn' WHERE run = $1 AND state = 'pending'";
        db.execute(sql, &[&run.0]).await?;
    }
    Ok(())
}

pub(super) async fn claim(
    db: &Db<'_>,
    run: RunId,
    owner: &str,
    counts_as_resume: bool,
) -> Result<ClaimedRow, StoreError> {
    let sql = "UPDATE runs SET epoch = epoch + 1, owner = $2, resumes = resumes + $3 WHERE id = $1
               RETURNING epoch, history";
    let row = db.first(sql, &[&run.0, &owner, &i64::from(counts_as_resume)]).await?;
    let row = row.ok_or(StoreError::NotFound("run"))?;
    Ok(ClaimedRow { epoch: number(&row, "epoch")?, before: number(&row, "history")? })
}
