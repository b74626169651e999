//! Conversations and their messages.

use helve_store::{Conversation, Page, Scope, StoreError};
use helve_types::{ConversationId, Message, RunId, Timestamp, UserId};
use rusqlite::{Connection, Row, params};

use crate::sqlite::columns::{all, column, execute, first, id_column, json_column, optional_id_column};
use crate::sqlite::log::setups;
use crate::sqlite::views::runs::{limit_and_offset, user_of_scope};
use crate::sqlite::views::shares;
use crate::sqlite::views::spent::read_spent;

const COLUMNS: &str = "SELECT id, user, title, messages, created_at, updated_at,
    input_tokens, output_tokens, cached_tokens, cache_write_tokens, reasoning_tokens, cost_nanos, active_run
    FROM conversations";

pub(crate) fn conversations(
    connection: &Connection,
    scope: &Scope,
    page: Page,
) -> Result<Vec<Conversation>, StoreError> {
    let sql = format!(
        "{COLUMNS} WHERE ?1 IS NULL OR user = ?1 ORDER BY updated_at DESC, id DESC LIMIT ?2 OFFSET ?3"
    );
    let (limit, offset) = limit_and_offset(page);
    all(connection, &sql, params![user_of_scope(scope), limit, offset], read)
}

pub(crate) fn conversation(
    connection: &Connection,
    scope: &Scope,
    id: ConversationId,
) -> Result<Conversation, StoreError> {
    let sql = format!("{COLUMNS} WHERE id = ?1 AND (?2 IS NULL OR user = ?2)");
    first(connection, &sql, params![id.0.as_bytes(), user_of_scope(scope)], read)?
        .ok_or(StoreError::NotFound("conversation"))
}

fn read(row: &Row<'_>) -> Result<Conversation, StoreError> {
    Ok(Conversation {
        id: id_column(row, "id", ConversationId)?,
        user: UserId(column(row, "user")?),
        title: column(row, "title")?,
        messages: column(row, "messages")?,
        spent: read_spent(row)?,
        created_at: Timestamp(column(row, "created_at")?),
        updated_at: Timestamp(column(row, "updated_at")?),
        active_run: optional_id_column(row, "active_run", RunId)?,
    })
}

pub(crate) fn messages(
    connection: &Connection,
    scope: &Scope,
    id: ConversationId,
) -> Result<Vec<Message>, StoreError> {
    let row = conversation(connection, scope, id)?;
    history(connection, id, row.messages)
}

/// The first `count` messages.
pub(crate) fn history(
    connection: &Connection,
    id: ConversationId,
    count: u64,
) -> Result<Vec<Message>, StoreError> {
    all(
        connection,
        "SELECT body FROM messages WHERE conversation = ?1 AND ordinal <= ?2 ORDER BY ordinal",
        params![id.0.as_bytes(), count],
        |row| json_column(row, "body"),
    )
}

pub(crate) fn rename(
    connection: &Connection,
    scope: &Scope,
    id: ConversationId,
    title: &str,
) -> Result<(), StoreError> {
    let changed = execute(
        connection,
        "UPDATE conversations SET title = ?3 WHERE id = ?1 AND (?2 IS NULL OR user = ?2)",
        params![id.0.as_bytes(), user_of_scope(scope), title],
    )?;
    if changed == 0 { Err(StoreError::NotFound("conversation")) } else { Ok(()) }
}

/// Counts the runs of subagents among those of the conversation, to be deleted with them.
fn adopt_subagent_runs(connection: &Connection, id: ConversationId) -> Result<(), StoreError> {
    let below = "root IN (SELECT id FROM runs WHERE conversation = ?1)";
    let open = format!("SELECT id FROM runs WHERE {below} AND ended_at IS NULL");
    if let Some(open) = first(connection, &open, [id.0.as_bytes()], |row| id_column(row, "id", RunId))? {
        return Err(StoreError::Busy(open));
    }
    execute(connection, &format!("UPDATE runs SET conversation = ?1 WHERE {below}"), [id.0.as_bytes()])?;
    Ok(())
}

pub(crate) fn delete(connection: &Connection, scope: &Scope, id: ConversationId) -> Result<(), StoreError> {
    if let Some(active) = conversation(connection, scope, id)?.active_run {
        return Err(StoreError::Busy(active));
    }
    adopt_subagent_runs(connection, id)?;
    let of_its_runs = "IN (SELECT id FROM runs WHERE conversation = ?1)";
    for table in ["run_events", "tool_calls", "outputs", "files", "approvals", "idempotency_keys"] {
        execute(connection, &format!("DELETE FROM {table} WHERE run {of_its_runs}"), [id.0.as_bytes()])?;
    }
    let its_allowances = format!("DELETE FROM allowances WHERE within <> 'agent' AND run {of_its_runs}");
    execute(connection, &its_allowances, [id.0.as_bytes()])?;
    shares::subtract_conversation(connection, id)?;
    setups::delete_unused(connection, id)?;
    execute(connection, "DELETE FROM runs WHERE conversation = ?1", [id.0.as_bytes()])?;
    execute(connection, "DELETE FROM messages WHERE conversation = ?1", [id.0.as_bytes()])?;
    execute(connection, "DELETE FROM conversations WHERE id = ?1", [id.0.as_bytes()])?;
    Ok(())
}
