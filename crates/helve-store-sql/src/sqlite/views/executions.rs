//! Looking for calls, by way of the index that fits what is asked for.
//!
//! The query is put together from fixed pieces, chosen by the filter's fields; every value is bound. A field that an
//! index should not be chosen for has a `+` before it, which hides it from the planner.

use helve_store::{Execution, ExecutionFilter, ExecutionPage, Scope, StoreError};
use helve_types::{CallId, CallState, RunId, Timestamp, UserId};
use rusqlite::types::Value;
use rusqlite::{Connection, Row, params, params_from_iter};

use crate::sqlite::columns::{all, column, first};
use crate::sqlite::views::runs::{limit_and_offset, read_call, user_of_scope};

const SELECT: &str = "SELECT tool_calls.*, runs.agent";

pub(crate) fn executions(
    connection: &Connection,
    scope: &Scope,
    filter: &ExecutionFilter,
    page: &ExecutionPage,
) -> Result<Vec<Execution>, StoreError> {
    let (sql, values) = build_query(scope, filter, page);
    all(connection, &sql, params_from_iter(values), read)
}

pub(crate) fn execution(
    connection: &Connection,
    scope: &Scope,
    call: &CallId,
) -> Result<Execution, StoreError> {
    let missing = StoreError::NotFound("call");
    let sql = format!(
        "{SELECT} FROM tool_calls JOIN runs ON runs.id = tool_calls.run
         WHERE tool_calls.run = ?1 AND tool_calls.id = ?2 AND (?3 IS NULL OR tool_calls.user = ?3)"
    );
    first(connection, &sql, params![call.run.0.as_bytes(), call.to_string(), user_of_scope(scope)], read)?
        .ok_or(missing)
}

pub(crate) fn send_times(
    connection: &Connection,
    tool: &str,
    user: Option<&UserId>,
    since: Timestamp,
    limit: usize,
) -> Result<Vec<Timestamp>, StoreError> {
    all(
        connection,
        "SELECT at FROM tool_sends WHERE tool = ?1 AND at >= ?2 AND (?3 IS NULL OR user = ?3)
         ORDER BY at DESC LIMIT ?4",
        params![tool, since.0, user.map(|user| &user.0), i64::try_from(limit).unwrap_or(i64::MAX)],
        |row| Ok(Timestamp(column(row, "at")?)),
    )
}

fn read(row: &Row<'_>) -> Result<Execution, StoreError> {
    Ok(Execution {
        record: read_call(row)?,
        user: UserId(column(row, "user")?),
        agent: column::<Option<String>>(row, "agent")?.unwrap_or_default(),
    })
}

/// The statement, and what is bound to it.
fn build_query(scope: &Scope, filter: &ExecutionFilter, page: &ExecutionPage) -> (String, Vec<Value>) {
    let ExecutionFilter { tool, user, state, from, to, run } = filter;
    let is_open = state.is_some_and(CallState::is_open);
    let mut clauses = Clauses::default();
    // The narrowest way in goes before the others.
    let hide = |hidden: bool| if hidden { "+" } else { "" };
    let by_run = run.is_some();
    let by_open = !by_run && is_open;
    let by_bad_end = !by_run && state.is_some_and(is_failure);
    let by_user = !by_run && !by_open && (user.is_some() || *scope != Scope::Everyone);
    if let Some(RunId(run)) = run {
        clauses.add("tool_calls.run = ?", [Value::Blob(run.as_bytes().to_vec())]);
    }
    if let Scope::User(owner) = scope {
        clauses
            .add(&format!("{}tool_calls.user = ?", hide(by_run || by_open)), [Value::Text(owner.0.clone())]);
    }
    if let Some(user) = user {
        clauses
            .add(&format!("{}tool_calls.user = ?", hide(by_run || by_open)), [Value::Text(user.0.clone())]);
    }
    if let Some(tool) = tool {
        let hidden = by_run || by_open || by_user || by_bad_end;
        clauses.add(&format!("{}tool = ?", hide(hidden)), [Value::Text(tool.clone())]);
    }
    if let Some(state) = state {
        // Succeeded calls are nearly all: their state is looked at, not looked up.
        let clause = if by_bad_end { "tool_calls.bad_end = ?" } else { "tool_calls.state = ?" };
        clauses.add(&format!("{}{clause}", hide(by_user)), [Value::Text(state.as_str().into())]);
    }
    if by_open {
        clauses.add("tool_calls.ended_at IS NULL", []);
    }
    if let Some(from) = from {
        clauses.add("requested_at >= ?", [Value::Integer(from.0)]);
    }
    if let Some(to) = to {
        clauses.add("requested_at < ?", [Value::Integer(to.0)]);
    }
    if let Some(mark) = &page.before {
        clauses.add(
            "(requested_at, tool_calls.run, tool_calls.id) < (?, ?, ?)",
            [
                Value::Integer(mark.requested_at.0),
                Value::Blob(mark.call.run.0.as_bytes().to_vec()),
                Value::Text(mark.call.to_string()),
            ],
        );
    }
    // CROSS JOIN keeps the order of the tables.
    let tables = "tool_calls CROSS JOIN runs ON runs.id = tool_calls.run";
    let Clauses { text, mut values } = clauses;
    values.push(Value::Integer(limit_and_offset(helve_store::Page::first(page.limit)).0));
    let sql = format!(
        "{SELECT} FROM {tables}{text}
         ORDER BY requested_at DESC, tool_calls.run DESC, tool_calls.id DESC LIMIT ?"
    );
    (sql, values)
}

fn is_failure(state: CallState) -> bool {
    !state.is_open() && state != CallState::Finished
}

#[derive(Default)]
struct Clauses {
    text: String,
    values: Vec<Value>,
}

impl Clauses {
    fn add(&mut self, clause: &str, values: impl IntoIterator<Item = Value>) {
        self.text.push_str(if self.text.is_empty() { " WHERE " } else { " AND " });
        self.text.push_str(clause);
        self.values.extend(values);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How SQLite goes about it.
    fn plan(scope: &Scope, filter: &ExecutionFilter) -> String {
        let mut connection = Connection::open_in_memory().unwrap();
        crate::migrate::migrate(&mut connection, 1).unwrap();
        crate::sqlite::open::enable_stable_plans(&connection).unwrap();
        let call = CallId::new(RunId(uuid::Uuid::from_u128(7)), 1, 0);
        let before = Some(helve_store::Mark { requested_at: Timestamp(5), call });
        let (sql, values) = build_query(scope, filter, &ExecutionPage { before, limit: 50 });
        let mut explain = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        let steps =
            explain.query_map(params_from_iter(values), |row| row.get::<_, String>("detail")).unwrap();
        steps.collect::<Result<Vec<_>, _>>().unwrap().join("; ")
    }

    #[test]
    fn every_question_has_an_index_that_gives_its_answer_in_order() {
        let mine = Scope::User(UserId("mei".into()));
        let of = |state| ExecutionFilter { state: Some(state), ..ExecutionFilter::default() };
        let by_tool = ExecutionFilter { tool: Some("look".into()), ..ExecutionFilter::default() };
        let by_user = ExecutionFilter { user: Some(UserId("li".into())), ..ExecutionFilter::default() };
        for (scope, filter, index) in [
            (&Scope::Everyone, ExecutionFilter::default(), "tool_calls_by_time"),
            (&Scope::Everyone, by_tool.clone(), "tool_calls_by_tool"),
            (&Scope::Everyone, by_user, "tool_calls_by_user"),
            (&Scope::Everyone, of(CallState::Failed), "tool_calls_by_bad_end"),
            (&Scope::Everyone, of(CallState::Finished), "tool_calls_by_time"),
            (&mine, ExecutionFilter::default(), "tool_calls_by_user"),
            (&mine, by_tool, "tool_calls_by_user"),
            (&mine, of(CallState::Unknown), "tool_calls_by_user"),
        ] {
            let plan = plan(scope, &filter);
            assert!(plan.contains(&format!("tool_calls USING INDEX {index}")), "{filter:?}: {plan}");
            assert!(!plan.contains("TEMP B-TREE"), "{filter:?}: {plan}");
        }
    }

    #[test]
    fn calls_of_one_run_are_found_by_it_and_open_calls_among_the_few_there_are() {
        let run = Some(RunId(uuid::Uuid::from_u128(7)));
        let tool = Some("look".into());
        let of_run = plan(&Scope::Everyone, &ExecutionFilter { run, tool, ..ExecutionFilter::default() });
        assert!(of_run.contains("tool_calls USING PRIMARY KEY (run=?"), "{of_run}");
        let state = Some(CallState::Running);
        let open = plan(&Scope::Everyone, &ExecutionFilter { state, ..ExecutionFilter::default() });
        assert!(open.contains("tool_calls USING INDEX tool_calls_open"), "{open}");
        assert!(!open.contains("TEMP B-TREE"), "{open}");
    }
}
