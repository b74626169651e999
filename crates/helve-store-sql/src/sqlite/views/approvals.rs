//! Reading approvals; the journal writes them.

use helve_store::{Approval, ApprovalFilter, ApprovalState, EXPIRED_MAX, Scope, StoreError};
use helve_types::{ApprovalId, RunId, Timestamp, UserId};
use rusqlite::{Connection, Row, params};

use crate::sqlite::columns::{all, column, first, id_column, json_column};
use crate::sqlite::views::runs::{limit_and_offset, user_of_scope};

pub(crate) fn approval(
    connection: &Connection,
    scope: &Scope,
    approval: ApprovalId,
) -> Result<Approval, StoreError> {
    first(
        connection,
        "SELECT * FROM approvals WHERE id = ?1 AND (?2 IS NULL OR user = ?2)",
        params![approval.0.as_bytes(), user_of_scope(scope)],
        read,
    )?
    .ok_or(StoreError::NotFound("approval"))
}

/// Two statements, each with an index in its order: a page costs what it holds, however many wait.
const WAITING_OF_USER: &str = "SELECT * FROM approvals WHERE state = 'pending' AND user = ?1
    ORDER BY asked_at, id LIMIT ?2 OFFSET ?3";
const WAITING: &str = "SELECT * FROM approvals WHERE state = 'pending'
    ORDER BY asked_at, id LIMIT ?1 OFFSET ?2";

pub(crate) fn approvals(
    connection: &Connection,
    scope: &Scope,
    filter: ApprovalFilter,
) -> Result<Vec<Approval>, StoreError> {
    match filter {
        ApprovalFilter::Pending(page) => {
            let (limit, offset) = limit_and_offset(page);
            match user_of_scope(scope) {
                Some(user) => all(connection, WAITING_OF_USER, params![user, limit, offset], read),
                None => all(connection, WAITING, params![limit, offset], read),
            }
        }
        ApprovalFilter::PendingOf(run) => all(
            connection,
            "SELECT * FROM approvals WHERE run = ?1 AND state = 'pending' AND (?2 IS NULL OR user = ?2)
             ORDER BY asked_at, id",
            params![run.0.as_bytes(), user_of_scope(scope)],
            read,
        ),
        ApprovalFilter::WithApprovers(page) => {
            let (limit, offset) = limit_and_offset(page);
            all(
                connection,
                "SELECT * FROM approvals WHERE state = 'pending' AND has_approvers = 1 AND (?1 IS NULL OR user = ?1)
                 ORDER BY asked_at, id LIMIT ?2 OFFSET ?3",
                params![user_of_scope(scope), limit, offset],
                read,
            )
        }
        ApprovalFilter::All(page) => {
            let (limit, offset) = limit_and_offset(page);
            all(
                connection,
                "SELECT * FROM approvals WHERE ?1 IS NULL OR user = ?1
                 ORDER BY asked_at DESC, id DESC LIMIT ?2 OFFSET ?3",
                params![user_of_scope(scope), limit, offset],
                read,
            )
        }
    }
}

pub(crate) fn expired(connection: &Connection, now: Timestamp) -> Result<Vec<Approval>, StoreError> {
    all(
        connection,
        "SELECT * FROM approvals WHERE state = 'pending' AND expires_at <= ?1 ORDER BY expires_at LIMIT ?2",
        params![now.0, EXPIRED_MAX],
        read,
    )
}

pub(crate) fn list_to_notify(connection: &Connection, now: Timestamp) -> Result<Vec<Approval>, StoreError> {
    all(
        connection,
        "SELECT * FROM approvals
         WHERE state = 'pending' AND has_approvers = 1 AND (remind_at <= ?1 OR escalate_at <= ?1)
         ORDER BY asked_at, id LIMIT ?2",
        params![now.0, EXPIRED_MAX],
        read,
    )
}

fn read(row: &Row<'_>) -> Result<Approval, StoreError> {
    let state: String = column(row, "state")?;
    Ok(Approval {
        run: id_column(row, "run", RunId)?,
        user: UserId(column(row, "user")?),
        question: json_column(row, "question")?,
        asked_at: Timestamp(column(row, "asked_at")?),
        votes: json_column(row, "votes")?,
        escalated: column(row, "escalated")?,
        state: match state.as_str() {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_of_open_questions_is_read_in_the_order_of_an_index() {
        let mut connection = Connection::open_in_memory().unwrap();
        crate::migrate::migrate(&mut connection, 1).unwrap();
        for (sql, index) in [(WAITING_OF_USER, "waiting_approvals_of_user"), (WAITING, "waiting_approvals")] {
            let mut plan = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
            let parameters = ["1"; 3];
            let parameters = rusqlite::params_from_iter(&parameters[..plan.parameter_count()]);
            let steps = plan.query_map(parameters, |row| row.get::<_, String>("detail")).unwrap();
            let steps: Vec<_> = steps.collect::<Result<_, _>>().unwrap();
            assert_eq!(steps.len(), 1, "nothing is sorted: {steps:?}");
            assert!(steps[0].contains(&format!("USING INDEX {index}")), "{steps:?}");
        }
    }
}
