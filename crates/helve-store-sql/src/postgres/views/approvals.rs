//! Reading approvals; the journal writes them.

use helve_store::{Approval, ApprovalFilter, ApprovalState, EXPIRED_MAX, Scope, StoreError};
use helve_types::{ApprovalId, RunId, Timestamp, UserId};
use tokio_postgres::Row;

use super::runs::{add_scope, limit_and_offset};
use crate::postgres::columns::{Conditions, Db, column, json_column, to_bigint};

const SELECT: &str = "SELECT * FROM approvals";

pub(super) async fn approval(
    db: &Db<'_>,
    scope: &Scope,
    approval: ApprovalId,
) -> Result<Approval, StoreError> {
    let mut conditions = Conditions::default();
    conditions.add_condition("id = {}", &[&approval.0]);
    add_scope(&mut conditions, scope, "user_id");
    let row = db.first(&conditions.append_to(SELECT), conditions.values()).await?;
    read(&row.ok_or(StoreError::NotFound("approval"))?)
}

pub(super) async fn approvals(
    db: &Db<'_>,
    scope: &Scope,
    filter: ApprovalFilter,
) -> Result<Vec<Approval>, StoreError> {
    let (run, page, is_pending) = match filter {
        ApprovalFilter::Pending(page) => (None, Some(page), true),
        ApprovalFilter::PendingOf(run) => (Some(run.0), None, true),
        ApprovalFilter::WithApprovers(page) => (None, Some(page), true),
        ApprovalFilter::All(page) => (None, Some(page), false),
    };
    let has_approvers = matches!(filter, ApprovalFilter::WithApprovers(_));
    let (limit, offset) = page.map(limit_and_offset).unzip();
    let mut conditions = Conditions::default();
    if is_pending {
        conditions.add_condition("state = 'pending'", &[]);
    }
    if has_approvers {
        conditions.add_condition("has_approvers", &[]);
    }
    if let Some(run) = &run {
        conditions.add_condition("run = {}", &[run]);
    }
    add_scope(&mut conditions, scope, "user_id");
    let order = if is_pending { " ORDER BY asked_at, id" } else { " ORDER BY asked_at DESC, id DESC" };
    conditions.push_clause(order, &[]);
    if let (Some(limit), Some(offset)) = (&limit, &offset) {
        conditions.push_clause(" LIMIT {} OFFSET {}", &[limit, offset]);
    }
    db.all(&conditions.append_to(SELECT), conditions.values()).await?.iter().map(read).collect()
}

pub(super) async fn expired(db: &Db<'_>, now: Timestamp) -> Result<Vec<Approval>, StoreError> {
    let sql =
        "SELECT * FROM approvals WHERE state = 'pending' AND expires_at <= $1 ORDER BY expires_at LIMIT $2";
    db.all(sql, &[&now.0, &to_bigint(EXPIRED_MAX)]).await?.iter().map(read).collect()
}

pub(super) async fn list_to_notify(db: &Db<'_>, now: Timestamp) -> Result<Vec<Approval>, StoreError> {
    let sql = "SELECT * FROM approvals
               WHERE state = 'pending' AND has_approvers AND (remind_at <= $1 OR escalate_at <= $1)
               ORDER BY asked_at, id LIMIT $2";
    db.all(sql, &[&now.0, &to_bigint(EXPIRED_MAX)]).await?.iter().map(read).collect()
}

fn read(row: &Row) -> Result<Approval, StoreError> {
    Ok(Approval {
        run: RunId(column(row, "run")?),
        user: UserId(column(row, "user_id")?),
        question: json_column(row, "question")?,
        asked_at: Timestamp(column(row, "asked_at")?),
        votes: json_column(row, "votes")?,
        escalated: column(row, "escalated")?,
        state: match column::<&str>(row, "state")? {
            "pending" => ApprovalState::Pending,
            "answered" => ApprovalState::Answered {
                answer: json_column(row, "answer")?,
                by: column(row, "answered_by")?,
                answered_at: Timestamp(column(row, "answered_at")?),
            },
            _ => ApprovalState::Withdrawn,
        },
    })
}
