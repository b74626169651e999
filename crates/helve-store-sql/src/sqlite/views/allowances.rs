//! Consent that outlives its call; the journal derives it from answers.

use helve_store::{
    Allowance, AllowanceFilter, AllowanceKey, AuditEntry, Circumstances, Page, Scope, StoreError,
};
use helve_types::{Answer, ApprovalId, ConversationId, Question, RunId, Timestamp, UserId, Within};
use rusqlite::{Connection, Row, params};

use crate::sqlite::audit;
use crate::sqlite::columns::{
    all, column, execute, first, id_column, json_column, optional_id_column, to_json, word_column,
};
use crate::sqlite::views::runs::{limit_and_offset, user_of_scope};

/// Keeps what an answer says beyond its own call.
pub(crate) fn save_from_answer(
    connection: &Connection,
    approval: ApprovalId,
    answer: &Answer,
    by: &str,
    at: Timestamp,
) -> Result<(), StoreError> {
    // Most answers are about one call; they cost nothing here.
    if !matches!(answer, Answer::Approve { always: Some(_), .. }) {
        return Ok(());
    }
    let said = first(
        connection,
        "SELECT a.question, r.id AS run, r.user, r.conversation, r.agent
         FROM approvals a JOIN runs r ON r.id = a.run WHERE a.id = ?1",
        [approval.0.as_bytes()],
        |row| {
            let question: Question = json_column(row, "question")?;
            let agent: String = column(row, "agent")?;
            let of = Circumstances {
                run: id_column(row, "run", RunId)?,
                user: &UserId(column(row, "user")?),
                agent: &agent,
                conversation: optional_id_column(row, "conversation", ConversationId)?,
            };
            Ok(Allowance::from_answer(answer, &question, &of, by, at))
        },
    )?;
    let Some(said) = said.flatten() else { return Ok(()) };
    execute(
        connection,
        "INSERT INTO allowances
             (id, user, agent, tool, version, within, run, conversation, arguments, by, created_at, expires_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
        params![
            said.id.0.as_bytes(),
            said.user.0,
            said.agent,
            said.tool,
            said.version,
            said.within.as_str(),
            said.run.0.as_bytes(),
            said.conversation.as_ref().map(|id| id.0.as_bytes()),
            to_json(&said.arguments)?,
            said.by,
            said.created_at.0,
            said.expires_at.0,
        ],
    )?;
    audit::append(connection, &said.audit_entry())
}

pub(crate) fn list(
    connection: &Connection,
    scope: &Scope,
    filter: AllowanceFilter,
    page: Page,
) -> Result<Vec<Allowance>, StoreError> {
    let (limit, offset) = limit_and_offset(page);
    let now = match filter {
        AllowanceFilter::InForce(now) => Some(now.0),
        AllowanceFilter::All => None,
    };
    all(
        connection,
        "SELECT * FROM allowances
         WHERE (?1 IS NULL OR user = ?1) AND (?2 IS NULL OR (revoked_at IS NULL AND expires_at > ?2
             AND (within <> 'run' OR EXISTS (SELECT 1 FROM runs WHERE id = allowances.run AND ended_at IS NULL))))
         ORDER BY created_at DESC, id DESC LIMIT ?3 OFFSET ?4",
        params![user_of_scope(scope), now, limit, offset],
        read,
    )
}

pub(crate) fn list_in_force(
    connection: &Connection,
    key: &AllowanceKey,
    now: Timestamp,
) -> Result<Vec<Allowance>, StoreError> {
    all(
        connection,
        "SELECT * FROM allowances
         WHERE user = ?1 AND agent = ?2 AND tool = ?3 AND version = ?4 AND revoked_at IS NULL AND expires_at > ?5
         ORDER BY id",
        params![key.user.0, key.agent, key.tool, key.version, now.0],
        read,
    )
}

pub(crate) fn revoke(
    connection: &Connection,
    scope: &Scope,
    id: ApprovalId,
    audit: &AuditEntry,
) -> Result<Allowance, StoreError> {
    let sql = "SELECT * FROM allowances WHERE id = ?1 AND (?2 IS NULL OR user = ?2)";
    let held = first(connection, sql, params![id.0.as_bytes(), user_of_scope(scope)], read)?;
    let held = held.ok_or(StoreError::NotFound("allowance"))?;
    if held.revoked_at.is_some() {
        return Ok(held);
    }
    execute(
        connection,
        "UPDATE allowances SET revoked_at = ?2 WHERE id = ?1",
        params![id.0.as_bytes(), audit.at.0],
    )?;
    audit::append(connection, audit)?;
    Ok(Allowance { revoked_at: Some(audit.at), ..held })
}

fn read(row: &Row<'_>) -> Result<Allowance, StoreError> {
    Ok(Allowance {
        id: id_column(row, "id", ApprovalId)?,
        user: UserId(column(row, "user")?),
        agent: column(row, "agent")?,
        tool: column(row, "tool")?,
        version: column(row, "version")?,
        within: word_column(row, "within", Within::parse)?,
        run: id_column(row, "run", RunId)?,
        conversation: optional_id_column(row, "conversation", ConversationId)?,
        arguments: json_column(row, "arguments")?,
        by: column(row, "by")?,
        created_at: Timestamp(column(row, "created_at")?),
        expires_at: Timestamp(column(row, "expires_at")?),
        revoked_at: column::<Option<i64>>(row, "revoked_at")?.map(Timestamp),
    })
}
