//! The rows beside the log: what a fact changes in calls, questions and sums.

use helve_store::{
    AuditEntry, CallChange, CallResult, Recorded, SENDS_KEPT_MS, StoreError, call_change, resets_crash_count,
    tool_sent_to,
};
use helve_types::{
    ApprovalId, CallId, CallState, Fact, Failure, FailureKind, RunId, Spent, Timestamp, Trail, UserId, Vote,
};

use crate::postgres::audit;
use crate::postgres::columns::{Db, column, json_column, replace_nul, to_bigint, to_json};
use crate::postgres::views::days::add_used;
use crate::postgres::views::spent::add_spent;
use crate::postgres::views::{allowances, runs};

/// Brings the rows beside the log up to date with one event.
pub(super) async fn apply_fact(db: &Db<'_>, run: RunId, recorded: &Recorded) -> Result<(), StoreError> {
    let at = recorded.event.at;
    let fact = &recorded.event.fact;
    if resets_crash_count(fact) {
        db.execute("UPDATE runs SET resumes = 0 WHERE id = $1 AND resumes > 0", &[&run.0]).await?;
    }
    match fact {
        Fact::ApprovalAsked(question) => {
            let approvers = question.approvers.as_deref();
            db.execute(
                "INSERT INTO approvals
                     (id, run, user_id, question, asked_at, expires_at, state, has_approvers, remind_at, escalate_at)
                 SELECT $1, id, user_id, $3, $4, $5, 'pending', $6, $7, $8 FROM runs WHERE id = $2",
                &[
                    &question.approval.0,
                    &run.0,
                    &to_json(question)?,
                    &at.0,
                    &question.expires_at.0,
                    &approvers.is_some(),
                    &approvers.and_then(|named| named.remind_at(at)).map(|at| at.0),
                    &approvers.and_then(|named| named.escalate_at(at)).map(|at| at.0),
                ],
            )
            .await?;
            if let Some(user) = user_of_run(db, run).await? {
                audit::append(db, &AuditEntry::for_question(question, &user, at)).await?;
            }
        }
        Fact::ApprovalVoted { approval, answer, by } => {
            let vote = Vote { by: by.clone(), answer: answer.clone(), at };
            add_vote(db, run, *approval, vote).await?;
        }
        Fact::ApprovalReminded { approval } => {
            db.execute("UPDATE approvals SET remind_at = NULL WHERE id = $1", &[&approval.0]).await?;
        }
        Fact::ApprovalEscalated { approval } => {
            let sql = "UPDATE approvals SET escalate_at = NULL, escalated = true WHERE id = $1";
            db.execute(sql, &[&approval.0]).await?;
        }
        Fact::ApprovalAnswered { approval, answer, by, .. } => {
            db.execute(
                "UPDATE approvals SET state = 'answered', answer = $2, answered_by = $3, answered_at = $4
                 WHERE id = $1 AND state = 'pending'",
                &[&approval.0, &to_json(answer)?, &replace_nul(by), &at.0],
            )
            .await?;
            if let Some(user) = user_of_run(db, run).await? {
                audit::append(db, &AuditEntry::for_answer(*approval, answer, by, &user, at)).await?;
            }
            allowances::save_from_answer(db, *approval, answer, by, at).await?;
        }
        _ => {}
    }
    if let Some(spent) = Spent::from_fact(fact) {
        add_spent(db, run, &spent).await?;
    }
    add_used(db, run, recorded).await?;
    if let Some(tool) = tool_sent_to(fact) {
        keep_send(db, run, tool, recorded).await?;
    }
    match (fact.call(), call_change(fact)) {
        (Some(call), Some(change)) => change_call(db, run, at, call, &change).await,
        _ => Ok(()),
    }
}

/// Adds a vote to those of its question, with its entry in the audit log.
async fn add_vote(db: &Db<'_>, run: RunId, approval: ApprovalId, vote: Vote) -> Result<(), StoreError> {
    let sql = "SELECT votes FROM approvals WHERE id = $1 FOR UPDATE";
    let Some(row) = db.first(sql, &[&approval.0]).await? else { return Ok(()) };
    let mut votes: Vec<Vote> = json_column(&row, "votes")?;
    if let Some(user) = user_of_run(db, run).await? {
        let entry = AuditEntry::for_vote(approval, &vote.answer, &vote.by, &user, vote.at);
        audit::append(db, &entry).await?;
    }
    votes.push(vote);
    let sql = "UPDATE approvals SET votes = $2 WHERE id = $1";
    db.execute(sql, &[&approval.0, &to_json(&votes)?]).await.map(drop)
}

async fn user_of_run(db: &Db<'_>, run: RunId) -> Result<Option<UserId>, StoreError> {
    let row = db.first("SELECT user_id FROM runs WHERE id = $1", &[&run.0]).await?;
    row.map(|row| Ok(UserId(column(&row, "user_id")?))).transpose()
}

/// Notes when the tool was sent to, and forgets what no window reaches back to.
async fn keep_send(db: &Db<'_>, run: RunId, tool: &str, recorded: &Recorded) -> Result<(), StoreError> {
    let (at, tool) = (recorded.event.at.0, replace_nul(tool));
    db.execute(
        "INSERT INTO tool_sends (tool, at, run, seq, user_id)
         SELECT $1, $2, id, $4, user_id FROM runs WHERE id = $3",
        &[&tool, &at, &run.0, &to_bigint(recorded.event.seq)],
    )
    .await?;
    db.execute(
        "DELETE FROM tool_sends WHERE tool = $1 AND at < $2",
        &[&tool, &at.saturating_sub(SENDS_KEPT_MS)],
    )
    .await?;
    Ok(())
}

async fn change_call(
    db: &Db<'_>,
    run: RunId,
    at: Timestamp,
    call: &CallId,
    change: &CallChange<'_>,
) -> Result<(), StoreError> {
    let (run_id, run, call) = (run, &run.0, &*call.to_string());
    match change {
        CallChange::Request { step, tool, arguments, provider_id } => {
            db.execute(
                "INSERT INTO tool_calls
                     (run, id, step, provider_id, tool, arguments, state, attempt, trail, requested_at, user_id)
                 SELECT $1, $2, $3, $4, $5, $6, 'requested', 0, '[]', $7, user_id FROM runs WHERE id = $1",
                &[
                    run,
                    &call,
                    &to_bigint(*step),
                    &provider_id.map(replace_nul),
                    &replace_nul(tool),
                    &replace_nul(arguments),
                    &at.0,
                ],
            )
            .await
        }
        CallChange::Start { tool, version, effect, attempt, arguments } => {
            db.execute(
                "UPDATE tool_calls SET tool = $8, state = 'running', version = $3, effect = $4, attempt = $5,
                     arguments = coalesce($6, arguments), started_at = $7
                 WHERE run = $1 AND id = $2",
                &[
                    run,
                    &call,
                    &replace_nul(version),
                    &runs::effect_as_str(*effect),
                    &to_bigint(*attempt),
                    &arguments.map(replace_nul),
                    &at.0,
                    &replace_nul(tool),
                ],
            )
            .await
        }
        CallChange::Move(state) => {
            db.execute(
                "UPDATE tool_calls SET state = $3, ended_at = NULL WHERE run = $1 AND id = $2",
                &[run, &call, &state.as_str()],
            )
            .await
        }
        CallChange::HandOver { state, arguments } => {
            db.execute(
                "UPDATE tool_calls SET state = $3, arguments = coalesce($4, arguments), started_at = $5
                 WHERE run = $1 AND id = $2",
                &[run, &call, &state.as_str(), &arguments.map(replace_nul), &at.0],
            )
            .await
        }
        CallChange::Unknown { because, trail } => {
            db.execute(
                "UPDATE tool_calls SET state = 'unknown', ended_at = $3, trail = $4, bad_end = $5, failure = NULL,
                     problem = $6
                 WHERE run = $1 AND id = $2",
                &[run, &call, &at.0, &to_json(trail)?, &CallState::Unknown.as_str(), &replace_nul(because)],
            )
            .await
        }
        CallChange::End { state, trail, result } => return end_call(db, run_id, call, at, *state, trail, *result).await,
    }?;
    Ok(())
}

/// Writes how a call ended.
async fn end_call(
    db: &Db<'_>,
    run: RunId,
    call: &str,
    at: Timestamp,
    state: CallState,
    trail: &Trail,
    result: CallResult<'_>,
) -> Result<(), StoreError> {
    // A call whose outcome was unknown may turn out well.
    let (bad_end, failure, problem) = match result.failure() {
        Some(Failure { kind, message, .. }) => {
            (Some(state.as_str()), Some(FailureKind::as_str(*kind)), Some(replace_nul(message)))
        }
        None => (None, None, None),
    };
    db.execute(
        "UPDATE tool_calls SET state = $3, trail = $4, output_bytes = $5, ended_at = $6, bad_end = $7,
             failure = $8, problem = $9
         WHERE run = $1 AND id = $2",
        &[
            &run.0,
            &call,
            &state.as_str(),
            &to_json(trail)?,
            &result.output_bytes().map(to_bigint),
            &at.0,
            &bad_end,
            &failure,
            &problem,
        ],
    )
    .await?;
    Ok(())
}
