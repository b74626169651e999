//! Conversations and their messages.

use helve_store::{Conversation, Page, Scope, StoreError};
use helve_types::{ConversationId, Message, RunId, Timestamp, UserId};
use tokio_postgres::Row;
use uuid::Uuid;

use super::runs::{add_scope, limit_and_offset};
use super::shares;
use super::spent::read_spent;
use crate::postgres::columns::{Conditions, Db, column, json_column, number, replace_nul, to_bigint};
use crate::postgres::log::setups;

const COLUMNS: &str = "SELECT id, user_id, title, messages, created_at, updated_at,
    input_tokens, output_tokens, cached_tokens, cache_write_tokens, reasoning_tokens, cost_nanos, active_run
    FROM conversations";

pub(super) async fn conversations(
    db: &Db<'_>,
    scope: &Scope,
    page: Page,
) -> Result<Vec<Conversation>, StoreError> {
    let (limit, offset) = limit_and_offset(page);
    let mut conditions = Conditions::default();
    add_scope(&mut conditions, scope, "user_id");
    conditions.push_clause(" ORDER BY updated_at DESC, id DESC LIMIT {} OFFSET {}", &[&limit, &offset]);
    db.all(&conditions.append_to(COLUMNS), conditions.values()).await?.iter().map(read).collect()
}

pub(super) async fn conversation(
    db: &Db<'_>,
    scope: &Scope,
    id: ConversationId,
) -> Result<Conversation, StoreError> {
    find(db, scope, id, "").await
}

async fn find(
    db: &Db<'_>,
    scope: &Scope,
    id: ConversationId,
    lock: &str,
) -> Result<Conversation, StoreError> {
    let mut conditions = Conditions::default();
    conditions.add_condition("id = {}", &[&id.0]);
    add_scope(&mut conditions, scope, "user_id");
    conditions.push_clause(lock, &[]);
    let row = db.first(&conditions.append_to(COLUMNS), conditions.values()).await?;
    read(&row.ok_or(StoreError::NotFound("conversation"))?)
}

fn read(row: &Row) -> Result<Conversation, StoreError> {
    Ok(Conversation {
        id: ConversationId(column(row, "id")?),
        user: UserId(column(row, "user_id")?),
        title: column(row, "title")?,
        messages: number(row, "messages")?,
        spent: read_spent(row)?,
        created_at: Timestamp(column(row, "created_at")?),
        updated_at: Timestamp(column(row, "updated_at")?),
        active_run: column::<Option<Uuid>>(row, "active_run")?.map(RunId),
    })
}

pub(super) async fn messages(
    db: &Db<'_>,
    scope: &Scope,
    id: ConversationId,
) -> Result<Vec<Message>, StoreError> {
    let row = conversation(db, scope, id).await?;
    history(db, id, row.messages).await
}

/// The first `count` messages.
pub(in crate::postgres) async fn history(
    db: &Db<'_>,
    id: ConversationId,
    count: u64,
) -> Result<Vec<Message>, StoreError> {
    let sql = "SELECT body FROM messages WHERE conversation = $1 AND ordinal <= $2 ORDER BY ordinal";
    db.all(sql, &[&id.0, &to_bigint(count)]).await?.iter().map(|row| json_column(row, "body")).collect()
}

pub(in crate::postgres) async fn rename(
    db: &Db<'_>,
    scope: &Scope,
    id: ConversationId,
    title: &str,
) -> Result<(), StoreError> {
    let title = replace_nul(title);
    let mut conditions = Conditions::default();
    conditions.push_clause("UPDATE conversations SET title = {} WHERE id = {}", &[&title, &id.0]);
    if let Scope::User(user) = scope {
        conditions.push_clause(" AND user_id = {}", &[&user.0]);
    }
    match db.execute(&conditions.append_to(""), conditions.values()).await? {
        0 => Err(StoreError::NotFound("conversation")),
        _ => Ok(()),
    }
}

/// Counts the runs of subagents among those of the conversation, to be deleted with them.
async fn adopt_subagent_runs(db: &Db<'_>, id: ConversationId) -> Result<(), StoreError> {
    let below = "root IN (SELECT id FROM runs WHERE conversation = $1)";
    let open = format!("SELECT id FROM runs WHERE {below} AND ended_at IS NULL LIMIT 1");
    if let Some(open) = db.first(&open, &[&id.0]).await? {
        return Err(StoreError::Busy(RunId(column(&open, "id")?)));
    }
    db.execute(&format!("UPDATE runs SET conversation = $1 WHERE {below}"), &[&id.0]).await?;
    Ok(())
}

pub(in crate::postgres) async fn delete(
    db: &Db<'_>,
    scope: &Scope,
    id: ConversationId,
) -> Result<(), StoreError> {
    // No other process opens a run meanwhile.
    if let Some(active) = find(db, scope, id, " FOR UPDATE").await?.active_run {
        return Err(StoreError::Busy(active));
    }
    adopt_subagent_runs(db, id).await?;
    let of_its_runs = "IN (SELECT id FROM runs WHERE conversation = $1)";
    for table in ["run_events", "tool_calls", "outputs", "files", "approvals", "idempotency_keys"] {
        db.execute(&format!("DELETE FROM {table} WHERE run {of_its_runs}"), &[&id.0]).await?;
    }
    let its_allowances = format!("DELETE FROM allowances WHERE within <> 'agent' AND run {of_its_runs}");
    db.execute(&its_allowances, &[&id.0]).await?;
    shares::subtract_conversation(db, id).await?;
    setups::delete_unused(db, id).await?;
    db.execute("DELETE FROM runs WHERE conversation = $1", &[&id.0]).await?;
    db.execute("DELETE FROM messages WHERE conversation = $1", &[&id.0]).await?;
    db.execute("DELETE FROM conversations WHERE id = $1", &[&id.0]).await?;
    Ok(())
}
