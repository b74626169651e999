//! Runs, their events and their calls.

use helve_store::{CallRecord, Page, Recorded, RunFilter, RunRecord, Scope, StoreError};
use helve_types::{
    CallId, CallState, ConversationId, Effect, FailureKind, RunId, RunState, Timestamp, ToolCall, UserId,
};
use tokio_postgres::Row;
use uuid::Uuid;

use super::spent::read_spent;
use crate::postgres::columns::{
    Conditions, Db, column, damaged, json_column, number, optional_number, text_id_column, to_bigint,
    word_column,
};

const COLUMNS: &str = "SELECT id, user_id, conversation, state, resumes, created_at, ended_at,
    input_tokens, output_tokens, cached_tokens, cache_write_tokens, reasoning_tokens, cost_nanos,
    (SELECT body FROM setups WHERE setups.id = runs.setup_id) AS setup,
    (SELECT coalesce(max(seq), 0)::bigint FROM run_events WHERE run = runs.id) AS last_seq FROM runs";

/// How many events of a page are fetched at a time.
const EVENTS_AT_ONCE: usize = 64;

pub(in crate::postgres) fn limit_and_offset(page: Page) -> (i64, i64) {
    (to_bigint(page.limit), to_bigint(page.offset))
}

/// Limits a statement to what the scope sees.
pub(super) fn add_scope<'a>(conditions: &mut Conditions<'a>, scope: &'a Scope, column: &str) {
    if let Scope::User(user) = scope {
        conditions.add_condition(&format!("{column} = {{}}"), &[&user.0]);
    }
}

pub(super) async fn run(db: &Db<'_>, scope: &Scope, run: RunId) -> Result<RunRecord, StoreError> {
    let mut conditions = Conditions::default();
    conditions.add_condition("id = {}", &[&run.0]);
    add_scope(&mut conditions, scope, "user_id");
    let row = db.first(&conditions.append_to(COLUMNS), conditions.values()).await?;
    read_run(&row.ok_or(StoreError::NotFound("run"))?)
}

pub(super) async fn runs(
    db: &Db<'_>,
    scope: &Scope,
    filter: &RunFilter,
    page: Page,
) -> Result<Vec<RunRecord>, StoreError> {
    let (limit, offset) = limit_and_offset(page);
    let state = filter.state.map(RunState::as_str);
    let mut conditions = Conditions::default();
    add_scope(&mut conditions, scope, "user_id");
    if let Some(state) = &state {
        conditions.add_condition("state = {}", &[state]);
    }
    conditions.push_clause(" ORDER BY id DESC LIMIT {} OFFSET {}", &[&limit, &offset]);
    db.all(&conditions.append_to(COLUMNS), conditions.values()).await?.iter().map(read_run).collect()
}

pub(super) async fn list_running(db: &Db<'_>) -> Result<Vec<RunRecord>, StoreError> {
    // The first half is what the index is over.
    let sql = format!("{COLUMNS} WHERE ended_at IS NULL AND state = 'running' ORDER BY id");
    db.all(&sql, &[]).await?.iter().map(read_run).collect()
}

pub(super) async fn list_subagent_runs(db: &Db<'_>, root: RunId) -> Result<Vec<RunRecord>, StoreError> {
    let rows = db.all(&format!("{COLUMNS} WHERE root = $1 ORDER BY id"), &[&root.0]).await?;
    rows.iter().map(read_run).collect()
}

pub(super) async fn list_unreported(db: &Db<'_>) -> Result<Vec<RunRecord>, StoreError> {
    let rows = db.all(&format!("{COLUMNS} WHERE unreported = 1 ORDER BY id"), &[]).await?;
    rows.iter().map(read_run).collect()
}

pub(in crate::postgres) async fn run_with_events(
    db: &Db<'_>,
    id: RunId,
) -> Result<(RunRecord, Vec<Recorded>), StoreError> {
    Ok((run(db, &Scope::Everyone, id).await?, events(db, id, 0, usize::MAX).await?))
}

fn read_run(row: &Row) -> Result<RunRecord, StoreError> {
    Ok(RunRecord {
        run: RunId(column(row, "id")?),
        user: UserId(column(row, "user_id")?),
        conversation: column::<Option<Uuid>>(row, "conversation")?.map(ConversationId),
        state: word_column(row, "state", RunState::parse)?,
        setup: json_column(row, "setup")?,
        last_seq: number(row, "last_seq")?,
        resumes: number(row, "resumes")?,
        spent: read_spent(row)?,
        created_at: Timestamp(column(row, "created_at")?),
        ended_at: column::<Option<i64>>(row, "ended_at")?.map(Timestamp),
    })
}

pub(in crate::postgres) async fn events(
    db: &Db<'_>,
    run: RunId,
    after: u64,
    limit: usize,
) -> Result<Vec<Recorded>, StoreError> {
    let sql = "SELECT seq, body FROM run_events WHERE run = $1 AND seq > $2 ORDER BY seq LIMIT $3";
    let rows = db.all(sql, &[&run.0, &to_bigint(after), &to_bigint(limit)]).await?;
    rows.iter().map(|row| Recorded::parse(number(row, "seq")?, column(row, "body")?)).collect()
}

/// Fetches a few at a time, so that not much more of the log is in memory than the page holds.
pub(in crate::postgres) async fn log_page(
    db: &Db<'_>,
    run: RunId,
    after: u64,
    bytes_max: usize,
) -> Result<Vec<Recorded>, StoreError> {
    let (mut page, mut bytes, mut after) = (vec![], 0, after);
    while bytes < bytes_max {
        let next = events(db, run, after, EVENTS_AT_ONCE).await?;
        let is_last = next.len() < EVENTS_AT_ONCE;
        for recorded in next {
            if bytes >= bytes_max {
                return Ok(page);
            }
            bytes += recorded.json.len();
            after = recorded.event.seq;
            page.push(recorded);
        }
        if is_last {
            break;
        }
    }
    Ok(page)
}

pub(super) async fn calls(db: &Db<'_>, run: RunId) -> Result<Vec<CallRecord>, StoreError> {
    let sql = "SELECT * FROM tool_calls WHERE run = $1 ORDER BY step, requested_at, id";
    db.all(sql, &[&run.0]).await?.iter().map(read_call).collect()
}

pub(super) fn read_call(row: &Row) -> Result<CallRecord, StoreError> {
    let call = ToolCall {
        id: text_id_column(row, "id")?,
        provider_id: column(row, "provider_id")?,
        name: column(row, "tool")?,
        arguments: column(row, "arguments")?,
        repairs: vec![],
    };
    Ok(CallRecord {
        call,
        run: RunId(column(row, "run")?),
        step: number(row, "step")?,
        state: word_column(row, "state", CallState::parse)?,
        attempt: number(row, "attempt")?,
        effect: column::<Option<&str>>(row, "effect")?.and_then(parse_effect),
        version: column(row, "version")?,
        trail: json_column(row, "trail")?,
        failure: column::<Option<&str>>(row, "failure")?.and_then(FailureKind::parse),
        problem: column(row, "problem")?,
        output_bytes: optional_number(row, "output_bytes")?,
        requested_at: Timestamp(column(row, "requested_at")?),
        started_at: column::<Option<i64>>(row, "started_at")?.map(Timestamp),
        ended_at: column::<Option<i64>>(row, "ended_at")?.map(Timestamp),
    })
}

pub(in crate::postgres) fn effect_as_str(effect: Effect) -> &'static str {
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

pub(super) async fn whole_output(db: &Db<'_>, call: &CallId) -> Result<String, StoreError> {
    let sql = "SELECT text FROM outputs WHERE run = $1 AND call = $2";
    let row = db.first(sql, &[&call.run.0, &call.to_string()]).await?;
    let bytes: Vec<u8> = column(&row.ok_or(StoreError::NotFound("output"))?, "text")?;
    String::from_utf8(bytes).map_err(|error| damaged("text", &error))
}
