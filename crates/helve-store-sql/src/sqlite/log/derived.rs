//! The rows beside the log: what a fact changes in calls, questions and sums.

use helve_store::{
    AuditEntry, CallChange, Recorded, SENDS_KEPT_MS, StoreError, call_change, resets_crash_count,
    tool_sent_to,
};
use helve_types::{
    ApprovalId, CallId, CallState, Fact, Failure, FailureKind, RunId, Spent, Timestamp, UserId, Vote,
};
use rusqlite::{Connection, params};

use crate::sqlite::audit;
use crate::sqlite::columns::{column, execute, first, json_column, to_json};
use crate::sqlite::views::allowances;
use crate::sqlite::views::days::add_used;
use crate::sqlite::views::runs;
use crate::sqlite::views::spent::add_spent;

fn forget_resumes(connection: &Connection, run: RunId) -> Result<(), StoreError> {
    execute(connection, "UPDATE runs SET resumes = 0 WHERE id = ?1 AND resumes > 0", [run.0.as_bytes()])?;
    Ok(())
}

/// Brings the rows beside the log up to date with one event.
pub(crate) fn apply_fact(connection: &Connection, run: RunId, recorded: &Recorded) -> Result<(), StoreError> {
    let at = recorded.event.at;
    let fact = &recorded.event.fact;
    if resets_crash_count(fact) {
        forget_resumes(connection, run)?;
    }
    match fact {
        Fact::ApprovalAsked(question) => {
            let approvers = question.approvers.as_deref();
            execute(
                connection,
                "INSERT INTO approvals
                     (id, run, user, question, asked_at, expires_at, state, has_approvers, remind_at, escalate_at)
                 SELECT ?1, id, user, ?3, ?4, ?5, 'pending', ?6, ?7, ?8 FROM runs WHERE id = ?2",
                params![
                    question.approval.0.as_bytes(),
                    run.0.as_bytes(),
                    to_json(question)?,
                    at.0,
                    question.expires_at.0,
                    approvers.is_some(),
                    approvers.and_then(|named| named.remind_at(at)).map(|at| at.0),
                    approvers.and_then(|named| named.escalate_at(at)).map(|at| at.0)
                ],
            )?;
            if let Some(user) = user_of_run(connection, run)? {
                audit::append(connection, &AuditEntry::for_question(question, &user, at))?;
            }
        }
        Fact::ApprovalVoted { approval, answer, by } => {
            let vote = Vote { by: by.clone(), answer: answer.clone(), at };
            add_vote(connection, run, *approval, vote)?;
        }
        Fact::ApprovalReminded { approval } => {
            let sql = "UPDATE approvals SET remind_at = NULL WHERE id = ?1";
            execute(connection, sql, [approval.0.as_bytes()])?;
        }
        Fact::ApprovalEscalated { approval } => {
            let sql = "UPDATE approvals SET escalate_at = NULL, escalated = 1 WHERE id = ?1";
            execute(connection, sql, [approval.0.as_bytes()])?;
        }
        Fact::ApprovalAnswered { approval, answer, by, .. } => {
            execute(
                connection,
                "UPDATE approvals SET state = 'answered', answer = ?2, answered_by = ?3, answered_at = ?4
                 WHERE id = ?1 AND state = 'pending'",
                params![approval.0.as_bytes(), to_json(answer)?, by, at.0],
            )?;
            if let Some(user) = user_of_run(connection, run)? {
                audit::append(connection, &AuditEntry::for_answer(*approval, answer, by, &user, at))?;
            }
            allowances::save_from_answer(connection, *approval, answer, by, at)?;
        }
        _ => {}
    }
    if let Some(spent) = Spent::from_fact(fact) {
        add_spent(connection, run, &spent)?;
    }
    add_used(connection, run, recorded)?;
    if let Some(tool) = tool_sent_to(fact) {
        keep_send(connection, run, tool, recorded)?;
    }
    match (fact.call(), call_change(fact)) {
        (Some(call), Some(change)) => change_call(connection, run, at, call, &change),
        _ => Ok(()),
    }
}

/// Adds a vote to those of its question, with its entry in the audit log.
fn add_vote(connection: &Connection, run: RunId, approval: ApprovalId, vote: Vote) -> Result<(), StoreError> {
    let id = approval.0.as_bytes();
    let sql = "SELECT votes FROM approvals WHERE id = ?1";
    let held = first(connection, sql, [id], |row| json_column::<Vec<Vote>>(row, "votes"))?;
    let Some(mut votes) = held else { return Ok(()) };
    if let Some(user) = user_of_run(connection, run)? {
        let entry = AuditEntry::for_vote(approval, &vote.answer, &vote.by, &user, vote.at);
        audit::append(connection, &entry)?;
    }
    votes.push(vote);
    execute(connection, "UPDATE approvals SET votes = ?2 WHERE id = ?1", params![id, to_json(&votes)?])?;
    Ok(())
}

fn user_of_run(connection: &Connection, run: RunId) -> Result<Option<UserId>, StoreError> {
    let sql = "SELECT user FROM runs WHERE id = ?1";
    first(connection, sql, [run.0.as_bytes()], |row| Ok(UserId(column(row, "user")?)))
}

/// Notes when the tool was sent to, and forgets what no window reaches back to.
fn keep_send(connection: &Connection, run: RunId, tool: &str, recorded: &Recorded) -> Result<(), StoreError> {
    let at = recorded.event.at.0;
    execute(
        connection,
        "INSERT INTO tool_sends (tool, at, run, seq, user) SELECT ?1, ?2, id, ?4, user FROM runs WHERE id = ?3",
        params![tool, at, run.0.as_bytes(), recorded.event.seq],
    )?;
    execute(
        connection,
        "DELETE FROM tool_sends WHERE tool = ?1 AND at < ?2",
        params![tool, at.saturating_sub(SENDS_KEPT_MS)],
    )?;
    Ok(())
}

fn change_call(
    connection: &Connection,
    run: RunId,
    at: Timestamp,
    call: &CallId,
    change: &CallChange<'_>,
) -> Result<(), StoreError> {
    let (run, call) = (run.0.as_bytes(), &*call.to_string());
    match change {
        CallChange::Request { step, tool, arguments, provider_id } => execute(
            connection,
            "INSERT INTO tool_calls
                 (run, id, step, provider_id, tool, arguments, state, attempt, trail, requested_at, user)
             SELECT ?1, ?2, ?3, ?4, ?5, ?6, 'requested', 0, '[]', ?7, user FROM runs WHERE id = ?1",
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
                "UPDATE tool_calls SET state = 'running', version = ?3, effect = ?4, attempt = ?5,
                     arguments = coalesce(?6, arguments), started_at = ?7
                 WHERE run = ?1 AND id = ?2",
                params![run, call, version, runs::effect_as_str(*effect), attempt, arguments, at.0],
            )
        }
        CallChange::Move(state) => execute(
            connection,
            "UPDATE tool_calls SET state = ?3, ended_at = NULL WHERE run = ?1 AND id = ?2",
            params![run, call, state.as_str()],
        ),
        CallChange::HandOver { state, arguments } => execute(
            connection,
            "UPDATE tool_calls SET state = ?3, arguments = coalesce(?4, arguments), started_at = ?5
             WHERE run = ?1 AND id = ?2",
            params![run, call, state.as_str(), arguments, at.0],
        ),
        CallChange::Unknown { because, trail } => {
            execute(
                connection,
                "UPDATE tool_calls SET state = 'unknown', ended_at = ?3, trail = ?4 WHERE run = ?1 AND id = ?2",
                params![run, call, at.0, to_json(trail)?],
            )?;
            end_call_without_result(connection, run, call, CallState::Unknown, None, because)
        }
        CallChange::End { state, trail, result } => {
            execute(
                connection,
                "UPDATE tool_calls SET state = ?3, trail = ?4, output_bytes = ?5, ended_at = ?6
                 WHERE run = ?1 AND id = ?2",
                params![run, call, state.as_str(), to_json(trail)?, result.output_bytes(), at.0],
            )?;
            match result.failure() {
                Some(Failure { kind, message, .. }) => {
                    end_call_without_result(connection, run, call, *state, Some(*kind), message)
                }
                // A call whose outcome was unknown may turn out well.
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
fn end_call_without_result(
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
