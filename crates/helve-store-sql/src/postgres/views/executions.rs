//! Looking for calls, by way of the index that fits what is asked for.

use helve_store::{Execution, ExecutionFilter, ExecutionPage, Scope, StoreError};
use helve_types::{CallId, CallState, Timestamp, UserId};
use tokio_postgres::Row;

use super::runs::{add_scope, read_call};
use crate::postgres::columns::{Conditions, Db, column, replace_nul, to_bigint};

const SELECT: &str = "SELECT tool_calls.*, runs.agent FROM tool_calls JOIN runs ON runs.id = tool_calls.run";

pub(super) async fn executions(
    db: &Db<'_>,
    scope: &Scope,
    filter: &ExecutionFilter,
    page: &ExecutionPage,
) -> Result<Vec<Execution>, StoreError> {
    let ExecutionFilter { tool, user, state, from, to, run } = filter;
    let word = state.map(CallState::as_str);
    let tool = tool.as_deref().map(replace_nul);
    let user = user.as_ref().map(|user| replace_nul(&user.0));
    let mark = page.before.as_ref().map(|mark| (mark.requested_at.0, mark.call.run.0, mark.call.to_string()));
    let limit = to_bigint(page.limit);
    let mut conditions = Conditions::default();
    if let Some(run) = run {
        conditions.add_condition("tool_calls.run = {}", &[&run.0]);
    }
    add_scope(&mut conditions, scope, "tool_calls.user_id");
    if let Some(user) = &user {
        conditions.add_condition("tool_calls.user_id = {}", &[user]);
    }
    if let Some(tool) = &tool {
        conditions.add_condition("tool_calls.tool = {}", &[tool]);
    }
    if let (Some(state), Some(word)) = (state, &word) {
        // Calls that ended badly are few, and so are open ones; each have an index.
        let column = if is_failure(*state) { "tool_calls.bad_end = {}" } else { "tool_calls.state = {}" };
        conditions.add_condition(column, &[word]);
        if state.is_open() {
            conditions.add_condition("tool_calls.ended_at IS NULL", &[]);
        }
    }
    if let Some(from) = from {
        conditions.add_condition("requested_at >= {}", &[&from.0]);
    }
    if let Some(to) = to {
        conditions.add_condition("requested_at < {}", &[&to.0]);
    }
    if let Some((at, run, call)) = &mark {
        // The first half is what the indexes are over.
        conditions.add_condition("requested_at <= {}", &[at]);
        conditions
            .add_condition("(requested_at, tool_calls.run, tool_calls.id) < ({}, {}, {})", &[at, run, call]);
    }
    conditions.push_clause(
        " ORDER BY requested_at DESC, tool_calls.run DESC, tool_calls.id DESC LIMIT {}",
        &[&limit],
    );
    db.all(&conditions.append_to(SELECT), conditions.values()).await?.iter().map(read).collect()
}

pub(super) async fn execution(db: &Db<'_>, scope: &Scope, call: &CallId) -> Result<Execution, StoreError> {
    let id = call.to_string();
    let mut conditions = Conditions::default();
    conditions.add_condition("tool_calls.run = {} AND tool_calls.id = {}", &[&call.run.0, &id]);
    add_scope(&mut conditions, scope, "tool_calls.user_id");
    let row = db.first(&conditions.append_to(SELECT), conditions.values()).await?;
    read(&row.ok_or(StoreError::NotFound("call"))?)
}

pub(super) async fn send_times(
    db: &Db<'_>,
    tool: &str,
    user: Option<&UserId>,
    since: Timestamp,
    limit: usize,
) -> Result<Vec<Timestamp>, StoreError> {
    let (tool, limit) = (replace_nul(tool), to_bigint(limit));
    let mut conditions = Conditions::default();
    conditions.add_condition("tool = {} AND at >= {}", &[&tool, &since.0]);
    if let Some(user) = user {
        conditions.add_condition("user_id = {}", &[&user.0]);
    }
    conditions.push_clause(" ORDER BY at DESC LIMIT {}", &[&limit]);
    let rows = db.all(&conditions.append_to("SELECT at FROM tool_sends"), conditions.values()).await?;
    rows.iter().map(|row| Ok(Timestamp(column(row, "at")?))).collect()
}

fn read(row: &Row) -> Result<Execution, StoreError> {
    Ok(Execution {
        record: read_call(row)?,
        user: UserId(column(row, "user_id")?),
        agent: column(row, "agent")?,
    })
}

fn is_failure(state: CallState) -> bool {
    !state.is_open() && state != CallState::Finished
}
