//! Consent that outlives its call; the journal derives it from answers.

use helve_store::{
    Allowance, AllowanceFilter, AllowanceKey, AuditEntry, Circumstances, Page, Scope, StoreError,
};
use helve_types::{Answer, ApprovalId, ConversationId, Question, RunId, Timestamp, UserId, Within};
use tokio_postgres::Row;
use uuid::Uuid;

use super::runs::{add_scope, limit_and_offset};
use crate::postgres::audit;
use crate::postgres::columns::{Conditions, Db, column, json_column, replace_nul, to_json, word_column};

const SELECT: &str = "SELECT * FROM allowances";

/// Keeps what an answer says beyond its own call.
pub(in crate::postgres) async fn save_from_answer(
    db: &Db<'_>,
    approval: ApprovalId,
    answer: &Answer,
    by: &str,
    at: Timestamp,
) -> Result<(), StoreError> {
    // Most answers are about one call; they cost nothing here.
    if !matches!(answer, Answer::Approve { always: Some(_), .. }) {
        return Ok(());
    }
    let sql = "SELECT a.question, r.id AS run, r.user_id, r.conversation, r.agent
               FROM approvals a JOIN runs r ON r.id = a.run WHERE a.id = $1";
    let Some(row) = db.first(sql, &[&approval.0]).await? else { return Ok(()) };
    let Some(said) = allowance_from_answer(&row, answer, by, at)? else { return Ok(()) };
    db.execute(
        "INSERT INTO allowances (id, user_id, agent, tool, version, within, run, conversation, arguments, by,
             created_at, expires_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
        &[
            &said.id.0,
            &said.user.0,
            &said.agent,
            &replace_nul(&said.tool),
            &said.version,
            &said.within.as_str(),
            &said.run.0,
            &said.conversation.map(|id| id.0),
            &to_json(&said.arguments)?,
            &replace_nul(&said.by),
            &said.created_at.0,
            &said.expires_at.0,
        ],
    )
    .await?;
    audit::append(db, &said.audit_entry()).await
}

fn allowance_from_answer(
    row: &Row,
    answer: &Answer,
    by: &str,
    at: Timestamp,
) -> Result<Option<Allowance>, StoreError> {
    let question: Question = json_column(row, "question")?;
    let of = Circumstances {
        run: RunId(column(row, "run")?),
        user: &UserId(column(row, "user_id")?),
        agent: column(row, "agent")?,
        conversation: column::<Option<Uuid>>(row, "conversation")?.map(ConversationId),
    };
    Ok(Allowance::from_answer(answer, &question, &of, by, at))
}

pub(super) async fn list(
    db: &Db<'_>,
    scope: &Scope,
    filter: AllowanceFilter,
    page: Page,
) -> Result<Vec<Allowance>, StoreError> {
    let (limit, offset) = limit_and_offset(page);
    let mut conditions = Conditions::default();
    add_scope(&mut conditions, scope, "user_id");
    if let AllowanceFilter::InForce(now) = &filter {
        conditions.add_condition(
            "revoked_at IS NULL AND expires_at > {} AND (within <> 'run'
                 OR EXISTS (SELECT 1 FROM runs WHERE id = allowances.run AND ended_at IS NULL))",
            &[&now.0],
        );
    }
    conditions.push_clause(" ORDER BY created_at DESC, id DESC LIMIT {} OFFSET {}", &[&limit, &offset]);
    db.all(&conditions.append_to(SELECT), conditions.values()).await?.iter().map(read).collect()
}

pub(super) async fn list_in_force(
    db: &Db<'_>,
    key: &AllowanceKey,
    now: Timestamp,
) -> Result<Vec<Allowance>, StoreError> {
    let sql = "SELECT * FROM allowances
               WHERE user_id = $1 AND agent = $2 AND tool = $3 AND version = $4 AND revoked_at IS NULL
                   AND expires_at > $5
               ORDER BY id";
    let tool = replace_nul(&key.tool);
    let rows = db.all(sql, &[&key.user.0, &key.agent, &tool, &key.version, &now.0]).await?;
    rows.iter().map(read).collect()
}

pub(in crate::postgres) async fn revoke(
    db: &Db<'_>,
    scope: &Scope,
    id: ApprovalId,
    audit: &AuditEntry,
) -> Result<Allowance, StoreError> {
    let mut conditions = Conditions::default();
    conditions.add_condition("id = {}", &[&id.0]);
    add_scope(&mut conditions, scope, "user_id");
    conditions.push_clause(" FOR UPDATE", &[]);
    let row = db.first(&conditions.append_to(SELECT), conditions.values()).await?;
    let held = read(&row.ok_or(StoreError::NotFound("allowance"))?)?;
    if held.revoked_at.is_some() {
        return Ok(held);
    }
    db.execute("UPDATE allowances SET revoked_at = $2 WHERE id = $1", &[&id.0, &audit.at.0]).await?;
    audit::append(db, audit).await?;
    Ok(Allowance { revoked_at: Some(audit.at), ..held })
}

fn read(row: &Row) -> Result<Allowance, StoreError> {
    Ok(Allowance {
        id: ApprovalId(column(row, "id")?),
        user: UserId(column(row, "user_id")?),
        agent: column(row, "agent")?,
        tool: column(row, "tool")?,
        version: column(row, "version")?,
        within: word_column(row, "within", Within::parse)?,
        run: RunId(column(row, "run")?),
        conversation: column::<Option<Uuid>>(row, "conversation")?.map(ConversationId),
        arguments: json_column(row, "arguments")?,
        by: column(row, "by")?,
        created_at: Timestamp(column(row, "created_at")?),
        expires_at: Timestamp(column(row, "expires_at")?),
        revoked_at: column::<Option<i64>>(row, "revoked_at")?.map(Timestamp),
    })
}
