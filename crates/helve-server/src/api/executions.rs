//! Every call that was made, and what each stage decided about it.

use axum::extract::State;
use helve_store::{Execution, ExecutionFilter, ExecutionPage, Mark, Scope, Store, StoreError};
use helve_types::{CallId, CallState, Effect, Fact, FailureKind, RunId, Timestamp, ToolOutput, Trail};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::access::{Principal, Right};
use crate::app::App;
use crate::input::{Id, Query};
use crate::problem::Problem;
use crate::routes::{Operation, Routes};

pub(crate) fn routes(routes: Routes) -> Routes {
    routes
        .add_route(
            Operation::get("/api/executions", Right::Chat, "List the calls that were made, newest first")
                .gives::<ExecutionList>(),
            list_executions,
        )
        .add_route(
            Operation::get("/api/executions/{call}", Right::Chat, "Look at a call")
                .for_user()
                .gives::<ExecutionView>(),
            get_execution,
        )
}

/// So much of each long text is in a list; a single call is shown with more.
const LISTED_CHARS_MAX: usize = 2_000;
const SHOWN_CHARS_MAX: usize = 64_000;
/// How much of a run's log is read at a time to find an output.
const LOG_BYTES: usize = 64 << 10;

/// Which calls, newest first.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ExecutionQuery {
    /// The name of a tool.
    tool: Option<String>,
    /// Another user's, for those with the right `admin`, who get those of all users if none is named.
    user: Option<String>,
    /// `requested`, `asked`, `approved`, `delegated`, `claimed`, `running`, `finished`, `failed`, `refused`, `expired` or `unknown`.
    state: Option<String>,
    /// Requested then or later, in milliseconds since 1970.
    from: Option<i64>,
    /// Requested before then.
    to: Option<i64>,
    /// The calls of one run.
    run: Option<String>,
    /// How many at most; 50 if not said, 200 at most.
    limit: Option<usize>,
    /// `next` of the page before.
    before: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ExecutionList {
    executions: Vec<ExecutionView>,
    /// What to ask for as `before` to get the next page, if there may be one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ExecutionView {
    call: String,
    run: String,
    user: String,
    agent: String,
    /// The tool, after its name was repaired.
    tool: String,
    /// Of the tool's definition.
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    effect: Option<Effect>,
    /// What has become of it so far.
    state: String,
    /// How often it was sent.
    attempts: u32,
    /// The beginning of them, if they are long.
    arguments: String,
    /// The size of all of them.
    arguments_bytes: usize,
    /// What each stage decided, in order.
    trail: Trail,
    /// Answered without running the tool.
    from_cache: bool,
    /// Why it gave no output.
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<FailureKind>,
    /// The same in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
    /// What it gave: the beginning, if it is long. Only where one call is looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<String>,
    /// Where what it gave is: this call by itself, and there the whole text, if `output` has only the beginning.
    #[serde(skip_serializing_if = "Option::is_none")]
    output_at: Option<String>,
    /// The size of its whole output.
    #[serde(skip_serializing_if = "Option::is_none")]
    output_bytes: Option<u64>,
    requested_at: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    started_at: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_at: Option<i64>,
    /// From the last start to the end, or from the request if it was never started.
    #[serde(skip_serializing_if = "Option::is_none")]
    duration_ms: Option<u64>,
}

impl ExecutionView {
    fn new(held: Execution, chars_max: usize) -> Self {
        let Execution { record, user, agent } = held;
        let began = record.started_at.unwrap_or(record.requested_at);
        Self {
            call: record.call.id.to_string(),
            run: record.run.to_string(),
            user: user.0,
            agent,
            tool: record.call.name,
            version: record.version,
            effect: record.effect,
            state: record.state.as_str().into(),
            attempts: record.attempt,
            arguments_bytes: record.call.arguments.len(),
            arguments: truncate(record.call.arguments, chars_max),
            from_cache: record.trail.from_cache(),
            trail: record.trail,
            failure: record.failure,
            problem: record.problem.map(|problem| truncate(problem, chars_max)),
            output: None,
            output_at: record.output_bytes.map(|_| format!("/api/executions/{}", record.call.id)),
            output_bytes: record.output_bytes,
            requested_at: record.requested_at.0,
            started_at: record.started_at.map(|at| at.0),
            ended_at: record.ended_at.map(|at| at.0),
            duration_ms: record.ended_at.map(|ended| ended.since_ms(began)),
        }
    }
}

fn truncate(text: String, chars_max: usize) -> String {
    match text.char_indices().nth(chars_max) {
        None => text,
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

pub(crate) async fn list_executions(
    State(app): State<App>,
    principal: Principal,
    Query(query): Query<ExecutionQuery>,
) -> Result<axum::Json<ExecutionList>, Problem> {
    let scope = match &query.user {
        Some(named) => Scope::User(principal.user_to_act_for(Some(named))?),
        None => principal.scope(),
    };
    let limit = query.limit.unwrap_or(50).clamp(1, 200);
    let (filter, before) = query.into_filter()?;
    let found = app.runtime.store().executions(scope, filter, ExecutionPage { before, limit }).await?;
    let next = found.last().filter(|_| found.len() == limit).map(|last| last.to_mark().to_string());
    let executions = found.into_iter().map(|held| ExecutionView::new(held, LISTED_CHARS_MAX)).collect();
    Ok(axum::Json(ExecutionList { executions, next }))
}

pub(crate) async fn get_execution(
    State(app): State<App>,
    principal: Principal,
    Id(call): Id<CallId>,
) -> Result<axum::Json<ExecutionView>, Problem> {
    let store = app.runtime.store();
    let held = store.execution(principal.scope(), call.clone()).await?;
    let run = held.record.run;
    let mut view = ExecutionView::new(held, SHOWN_CHARS_MAX);
    view.output_at = None;
    if view.output_bytes.is_some()
        && let Some(output) = load_output(&**store, run, &call).await?
    {
        let shown = truncate(output.text.clone(), SHOWN_CHARS_MAX);
        // What was cut for the model is kept beside the log.
        let is_whole = shown == output.text && output.whole_bytes.is_none();
        view.output_at = (!is_whole).then(|| match output.whole_bytes {
            Some(_) => format!("/api/runs/{run}/calls/{call}/output"),
            None => format!("/api/runs/{run}/events"),
        });
        view.output = Some(shown);
    }
    Ok(axum::Json(view))
}

/// What a call gave the model, as the run's log has it.
async fn load_output(store: &dyn Store, run: RunId, call: &CallId) -> Result<Option<ToolOutput>, StoreError> {
    let mut after = 0;
    loop {
        let page = store.log_page(run, after, LOG_BYTES).await?;
        let Some(last) = page.last() else { return Ok(None) };
        after = last.event.seq;
        let found = page.into_iter().rev().find_map(|recorded| match recorded.event.fact {
            Fact::ToolFinished { call: of, output, .. } if of == *call => Some(output),
            _ => None,
        });
        if found.is_some() {
            return Ok(found);
        }
    }
}

impl ExecutionQuery {
    fn into_filter(self) -> Result<(ExecutionFilter, Option<Mark>), Problem> {
        let filter = ExecutionFilter {
            tool: self.tool,
            // Part of the scope.
            user: None,
            state: self.state.as_deref().map(parse_state).transpose()?,
            from: self.from.map(Timestamp),
            to: self.to.map(Timestamp),
            run: self.run.as_deref().map(parse_run).transpose()?,
        };
        let before = self.before.map(|text| text.parse::<Mark>()).transpose();
        let before = before
            .map_err(|error| bad_query_problem(&format!("`before`: {error}; take `next` of a page")))?;
        Ok((filter, before))
    }
}

fn parse_state(text: &str) -> Result<CallState, Problem> {
    let known = || CallState::ALL.map(|state| format!("`{}`", state.as_str())).join(", ");
    CallState::parse(text)
        .ok_or_else(|| bad_query_problem(&format!("`state`: there is no `{text}`; use one of {}", known())))
}

fn parse_run(text: &str) -> Result<RunId, Problem> {
    text.parse().map_err(|error| bad_query_problem(&format!("`run`: {error}")))
}

fn bad_query_problem(what: &str) -> Problem {
    Problem::bad_request("bad_query", format!("the address does not fit: {what}"))
}
