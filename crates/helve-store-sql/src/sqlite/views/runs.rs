//! Reading runs, their events and their ledger rows.

use helve_store::{CallRecord, Page, Recorded, RunFilter, RunRecord, Scope, StoreError};
use helve_types::{
    CallId, CallState, ConversationId, Effect, FailureKind, RunId, RunState, Timestamp, ToolCall, UserId,
};
use rusqlite::{Connection, Row, params};

use crate::sqlite::columns::{
    all, column, first, id_column, json_column, optional_id_column, prepare, text_id_column, word_column,
};
use crate::sqlite::unavailable;
use crate::sqlite::views::spent::read_spent;

const COLUMNS: &str = "SELECT id, user, conversation, state, resumes, created_at, ended_at,
    input_tokens, output_tokens, cached_tokens, cache_write_tokens, reasoning_tokens, cost_nanos,
    (SELECT body FROM setups WHERE setups.id = runs.setup_id) AS setup,
    (SELECT max(seq) FROM run_events WHERE run = runs.id) AS last_seq FROM runs";

/// The user that a scope is limited to, for `(?1 IS NULL OR user = ?1)`.
pub(crate) fn user_of_scope(scope: &Scope) -> Option<&str> {
    match scope {
        Scope::User(user) => Some(&user.0),
        Scope::Everyone => None,
    }
}

pub(crate) fn limit_and_offset(page: Page) -> (i64, i64) {
    let number = |n: usize| i64::try_from(n).unwrap_or(i64::MAX);
    (number(page.limit), number(page.offset))
}

pub(crate) fn run(connection: &Connection, scope: &Scope, run: RunId) -> Result<RunRecord, StoreError> {
    let sql = format!("{COLUMNS} WHERE id = ?1 AND (?2 IS NULL OR user = ?2)");
    first(connection, &sql, params![run.0.as_bytes(), user_of_scope(scope)], read_run)?
        .ok_or(StoreError::NotFound("run"))
}

pub(crate) fn runs(
    connection: &Connection,
    scope: &Scope,
    filter: &RunFilter,
    page: Page,
) -> Result<Vec<RunRecord>, StoreError> {
    let sql = format!(
        "{COLUMNS} WHERE (?1 IS NULL OR user = ?1) AND (?2 IS NULL OR state = ?2)
         ORDER BY id DESC LIMIT ?3 OFFSET ?4"
    );
    let (limit, offset) = limit_and_offset(page);
    let state = filter.state.map(RunState::as_str);
    all(connection, &sql, params![user_of_scope(scope), state, limit, offset], read_run)
}

pub(crate) fn list_running(connection: &Connection) -> Result<Vec<RunRecord>, StoreError> {
    // The first half is what the index is over.
    let sql = format!("{COLUMNS} WHERE ended_at IS NULL AND state = 'running' ORDER BY id");
    all(connection, &sql, [], read_run)
}

pub(crate) fn list_subagent_runs(connection: &Connection, root: RunId) -> Result<Vec<RunRecord>, StoreError> {
    all(connection, &format!("{COLUMNS} WHERE root = ?1 ORDER BY id"), [root.0.as_bytes()], read_run)
}

pub(crate) fn list_unreported(connection: &Connection) -> Result<Vec<RunRecord>, StoreError> {
    all(connection, &format!("{COLUMNS} WHERE unreported = 1 ORDER BY id"), [], read_run)
}

fn read_run(row: &Row<'_>) -> Result<RunRecord, StoreError> {
    Ok(RunRecord {
        run: id_column(row, "id", RunId)?,
        user: UserId(column(row, "user")?),
        conversation: optional_id_column(row, "conversation", ConversationId)?,
        state: word_column(row, "state", RunState::parse)?,
        setup: json_column(row, "setup")?,
        last_seq: column(row, "last_seq")?,
        resumes: column(row, "resumes")?,
        spent: read_spent(row)?,
        created_at: Timestamp(column(row, "created_at")?),
        ended_at: column::<Option<i64>>(row, "ended_at")?.map(Timestamp),
    })
}

pub(crate) fn events(
    connection: &Connection,
    run: RunId,
    after: u64,
    limit: usize,
) -> Result<Vec<Recorded>, StoreError> {
    all(
        connection,
        "SELECT seq, body FROM run_events WHERE run = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3",
        params![
            run.0.as_bytes(),
            i64::try_from(after).unwrap_or(i64::MAX),
            limit_and_offset(Page::first(limit)).0
        ],
        |row| Recorded::parse(column(row, "seq")?, &column::<String>(row, "body")?),
    )
}

/// Reads row by row, so that no more of the log is in memory than the page holds.
pub(crate) fn log_page(
    connection: &Connection,
    run: RunId,
    after: u64,
    bytes_max: usize,
) -> Result<Vec<Recorded>, StoreError> {
    let mut statement =
        prepare(connection, "SELECT seq, body FROM run_events WHERE run = ?1 AND seq > ?2 ORDER BY seq")?;
    let after = i64::try_from(after).unwrap_or(i64::MAX);
    let mut rows = statement.query(params![run.0.as_bytes(), after]).map_err(unavailable)?;
    let (mut page, mut bytes) = (vec![], 0);
    while bytes < bytes_max
        && let Some(row) = rows.next().map_err(unavailable)?
    {
        let recorded = Recorded::parse(column(row, "seq")?, &column::<String>(row, "body")?)?;
        bytes += recorded.json.len();
        page.push(recorded);
    }
    Ok(page)
}

pub(crate) fn calls(connection: &Connection, run: RunId) -> Result<Vec<CallRecord>, StoreError> {
    all(
        connection,
        "SELECT * FROM tool_calls WHERE run = ?1 ORDER BY step, requested_at, id",
        [run.0.as_bytes()],
        read_call,
    )
}

pub(crate) fn read_call(row: &Row<'_>) -> Result<CallRecord, StoreError> {
    let call = ToolCall {
        id: text_id_column(row, "id")?,
        provider_id: column(row, "provider_id")?,
        name: column(row, "tool")?,
        arguments: column(row, "arguments")?,
        repairs: vec![],
    };
    let effect: Option<String> = column(row, "effect")?;
    Ok(CallRecord {
        call,
        run: id_column(row, "run", RunId)?,
        step: column(row, "step")?,
        state: word_column(row, "state", CallState::parse)?,
        attempt: column(row, "attempt")?,
        effect: effect.as_deref().and_then(parse_effect),
        version: column(row, "version")?,
        trail: json_column(row, "trail")?,
        failure: column::<Option<String>>(row, "failure")?.as_deref().and_then(FailureKind::parse),
        problem: column(row, "problem")?,
        output_bytes: column(row, "output_bytes")?,
        requested_at: Timestamp(column(row, "requested_at")?),
        started_at: column::<Option<i64>>(row, "started_at")?.map(Timestamp),
        ended_at: column::<Option<i64>>(row, "ended_at")?.map(Timestamp),
    })
}

pub(crate) fn effect_as_str(effect: Effect) -> &'static str {
    match effect {
        Effect::Read => "read",
        Effect::Idempotent => "idempotent",
        Effect::NonIdempotent => "non_idempotent",
    }
}

fn parse_effect(word: &str) -> Option<Effect> {
    [Effect::Read, Effect::Idempotent, Effect::NonIdempotent]
        .into_iter()
        .find(|effect| effect_as_str(*effect) == word)
}

pub(crate) fn whole_output(connection: &Connection, call: &CallId) -> Result<String, StoreError> {
    first(
        connection,
        "SELECT text FROM outputs WHERE run = ?1 AND call = ?2",
        params![call.run.0.as_bytes(), call.to_string()],
        |row| column(row, "text"),
    )?
    .ok_or(StoreError::NotFound("output"))
}
