//! Runs: start, read, follow, stop, resume.

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use helve_runtime::{Frame, StartInput, StartRequest};
use helve_store::{RunFilter, RunRecord, Scope, StoreError};
use helve_types::{Granted, ParentCall, RunId, RunState, Spent};
use helve_wire::sse::write_event;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::access::{Principal, Right};
use crate::app::App;
use crate::input::{Id, Json, Query, page_from_query};
use crate::problem::Problem;
use crate::protocols::client_tools::{ClientToolDeclaration, parse_client_tools, parse_tool_choice};
use crate::protocols::request_params::{
    RequestParams, ToolSwitches, check_system_prompt, list_disabled_tools,
};
use crate::request_id::request_id_of;
use crate::routes::{Operation, Routes};
use crate::sse::{Render, Subscriber, write_value};
use crate::start_run::{self, RunHeaders, parse_conversation};

pub(crate) fn routes(routes: Routes) -> Routes {
    routes
        .add_route(
            Operation::post("/api/runs", Right::Chat, "Start a run")
                .with_header("X-Agent-Draft", start_run::DRAFT_MEANING)
                .starts_run()
                .for_user()
                .with_example(
                    json!({"message": "What is 12.5% of 3480?", "agent": "default", "tools": {"search_web": false}}),
                )
                .gives::<RunStartedView>()
                .with_status(201),
            create_run,
        )
        .add_route(
            Operation::get("/api/runs", Right::Chat, "List runs, latest first").gives::<RunList>(),
            list_runs,
        )
        .add_route(
            Operation::get("/api/runs/{run}", Right::Chat, "Look at a run").for_user().gives::<RunView>(),
            get_run,
        )
        .add_route(
            Operation::get("/api/runs/{run}/events", Right::Chat, "Follow a run from any event on")
                .for_user()
                .with_header("Last-Event-ID", "The last event that the reader has; goes before `after`.")
                .gives_events()
                .or_status(204, "The run is over and the reader has all of it."),
            follow_run,
        )
        .add_route(
            Operation::post("/api/runs/{run}/cancel", Right::Chat, "Stop a run")
                .for_user()
                .gives::<StopView>()
                .with_status(202),
            cancel_run,
        )
        .add_route(
            Operation::post(
                "/api/runs/{run}/resume",
                Right::Chat,
                "Resume a run that needs attention or has no driver",
            )
            .for_user()
            .with_status(202),
            resume_run,
        )
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RunView {
    run: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    conversation: Option<String>,
    state: RunState,
    agent: String,
    model: String,
    /// The variant of the model that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    variant: Option<String>,
    /// What its steps took so far.
    #[serde(flatten)]
    spent: Spent,
    /// The number of the last durable event.
    last_event: u64,
    created_at: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_at: Option<i64>,
    /// The call that it works on, where it is the run of a subagent.
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<ParentView>,
    /// The runs that work, or have worked, on its calls; only where one run is looked at.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    children: Vec<ChildView>,
}

/// The call that the run of a subagent works on.
#[derive(Debug, Serialize, JsonSchema)]
struct ParentView {
    run: String,
    call: String,
    /// The agent of that run.
    agent: String,
    /// The run above all others.
    root: String,
    /// The conversation that it began in, if it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    conversation: Option<String>,
    /// How many runs are above.
    depth: usize,
    background: bool,
    /// What it may use up of the budget of the run above.
    budget: Granted,
}

/// A run that works on a call of the one that is looked at.
#[derive(Debug, Serialize, JsonSchema)]
struct ChildView {
    run: String,
    call: String,
    agent: String,
    state: RunState,
    background: bool,
    #[serde(flatten)]
    spent: Spent,
}

impl ParentView {
    fn new(parent: &ParentCall) -> Self {
        Self {
            run: parent.run.to_string(),
            call: parent.call.to_string(),
            agent: parent.agents.last().cloned().unwrap_or_default(),
            root: parent.root.to_string(),
            conversation: parent.conversation.map(|id| id.to_string()),
            depth: parent.depth(),
            background: parent.background,
            budget: parent.budget,
        }
    }
}

impl ChildView {
    /// None where the run works for another one.
    fn of(record: RunRecord, above: RunId) -> Option<Self> {
        let parent = record.setup.parent.filter(|parent| parent.run == above)?;
        Some(Self {
            run: record.run.to_string(),
            call: parent.call.to_string(),
            agent: record.setup.agent,
            state: record.state,
            background: parent.background,
            spent: record.spent,
        })
    }
}

impl From<RunRecord> for RunView {
    fn from(record: RunRecord) -> Self {
        Self {
            run: record.run.to_string(),
            conversation: record.conversation.map(|id| id.to_string()),
            state: record.state,
            agent: record.setup.agent,
            model: record.setup.model,
            variant: record.setup.variant,
            spent: record.spent,
            last_event: record.last_seq,
            created_at: record.created_at.0,
            ended_at: record.ended_at.map(|at| at.0),
            parent: record.setup.parent.as_deref().map(ParentView::new),
            children: vec![],
        }
    }
}

/// Which runs. The members of `ListQuery` are written out: flattened ones could not be numbers.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct RunQuery {
    /// Only those in this state.
    #[serde(default)]
    state: Option<RunState>,
    /// How many at most; 50 if not said, 200 at most.
    #[serde(default)]
    limit: Option<usize>,
    /// How many to leave out.
    #[serde(default)]
    offset: Option<usize>,
    /// Another user's, for those with the right `admin`.
    #[serde(default)]
    user: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RunList {
    runs: Vec<RunView>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RunBody {
    message: String,
    conversation: Option<String>,
    /// The name of a configured model, or `name:variant`.
    model: Option<String>,
    /// A variant of the model.
    variant: Option<String>,
    /// Over those of the model, the agent and the variant.
    #[serde(default)]
    params: RequestParams,
    agent: Option<String>,
    user: Option<String>,
    /// Tools that the client runs itself. Or names of the server's tools, each with `false` if this run does without it.
    #[serde(default)]
    tools: RunTools,
    /// Added to the agent's system prompt.
    system: Option<String>,
    /// Whether the web is searched for the message before the model is first asked; as the agent or else the model has it if
    /// not said.
    #[serde(alias = "preSearch")]
    #[schemars(extend("x-aliases" = ["preSearch"]))]
    pre_search: Option<bool>,
    /// `none`, `auto`, `required`, or `{"type": "function", "function": {"name"}}`.
    #[serde(alias = "toolChoice")]
    #[schemars(extend("x-aliases" = ["toolChoice"]))]
    tool_choice: Option<Value>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum RunTools {
    ClientToolDeclaration(Vec<ClientToolDeclaration>),
    ToolSwitches(ToolSwitches),
}

impl Default for RunTools {
    fn default() -> Self {
        Self::ClientToolDeclaration(vec![])
    }
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct StopView {
    /// The state in which the stop found the run; one that was over stays as it was.
    state: RunState,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RunStartedView {
    run: String,
    conversation: Option<String>,
}

pub(crate) async fn create_run(
    State(app): State<App>,
    principal: Principal,
    headers: HeaderMap,
    body: Json<RunBody>,
) -> Result<Response, Problem> {
    let key =
        start_run::read_idempotency_key(&headers, "POST /api/runs", None, &body.bytes, app.runtime.world())?;
    let RunBody {
        message,
        conversation,
        model,
        variant,
        params,
        agent,
        user,
        tools,
        system,
        pre_search,
        tool_choice: choice,
    } = body.value;
    let registry = app.runtime.registry();
    let (declared, switches) = match tools {
        RunTools::ClientToolDeclaration(declared) => (declared, ToolSwitches::default()),
        RunTools::ToolSwitches(switches) => (vec![], switches),
    };
    let (without_tools, unknown) = list_disabled_tools(switches, registry)?;
    if let Some(name) = unknown.first() {
        let detail = format!("`tools` names `{name}`, which is no tool of this server");
        return Err(Problem::bad_request("unknown_tool", detail).with_field("field", format!("tools.{name}")));
    }
    let draft = start_run::tries_draft(&headers, &principal)?;
    let user = principal.user_to_act_for(user.as_deref())?;
    let conversation = conversation.as_deref().map(parse_conversation).transpose()?;
    let request = StartRequest {
        agent,
        draft,
        model,
        variant,
        params: params.into_model_params()?,
        system: check_system_prompt(system)?,
        without_tools,
        client_tools: parse_client_tools(declared, registry)?,
        pre_search,
        tool_choice: parse_tool_choice(choice.as_ref())?,
        key,
        request_id: request_id_of(&headers),
        ..StartRequest::new(user, StartInput::Message { conversation, text: message })
    };
    let started = start_run::start_run(&app, request).await?;
    let view = RunStartedView {
        run: started.run.to_string(),
        conversation: started.conversation.map(|id| id.to_string()),
    };
    Ok(RunHeaders::from_started(&started).add_to((StatusCode::CREATED, axum::Json(view))))
}

pub(crate) async fn list_runs(
    State(app): State<App>,
    principal: Principal,
    Query(query): Query<RunQuery>,
) -> Result<axum::Json<RunList>, Problem> {
    let user = principal.user_to_act_for(query.user.as_deref())?;
    let filter = RunFilter { state: query.state };
    let page = page_from_query(query.limit, query.offset);
    let runs = app.runtime.store().runs(Scope::User(user), filter, page).await?;
    Ok(axum::Json(RunList { runs: runs.into_iter().map(RunView::from).collect() }))
}

pub(crate) async fn get_run(
    State(app): State<App>,
    principal: Principal,
    Id(run): Id<RunId>,
) -> Result<axum::Json<RunView>, Problem> {
    let store = app.runtime.store();
    let record = store.run(principal.scope(), run).await?;
    let root = record.setup.parent.as_ref().map_or(run, |parent| parent.root);
    let tree = store.subagent_runs(root).await?;
    let children = tree.into_iter().filter_map(|record| ChildView::of(record, run)).collect();
    Ok(axum::Json(RunView { children, ..record.into() }))
}

pub(crate) async fn cancel_run(
    State(app): State<App>,
    principal: Principal,
    Id(run): Id<RunId>,
) -> Result<(StatusCode, axum::Json<StopView>), Problem> {
    let by = principal.user.to_string();
    let state = app.runtime.cancel_run(principal.scope(), run, by).await?;
    Ok((StatusCode::ACCEPTED, axum::Json(StopView { state })))
}

pub(crate) async fn resume_run(
    State(app): State<App>,
    principal: Principal,
    Id(run): Id<RunId>,
) -> Result<StatusCode, Problem> {
    let by = &principal.user;
    app.runtime.resume_run(principal.scope(), run).await?;
    tracing::info!(%run, %by, reason = "operator", "run resumed");
    Ok(StatusCode::ACCEPTED)
}

/// Where to begin, for readers that cannot send `Last-Event-ID`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct EventsQuery {
    #[serde(default)]
    after: Option<String>,
}

pub(crate) async fn follow_run(
    State(app): State<App>,
    principal: Principal,
    Id(run): Id<RunId>,
    Query(query): Query<EventsQuery>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let header = headers.get("last-event-id").map(|value| value.to_str().unwrap_or("?"));
    let after = parse_resume_point(header.or(query.after.as_deref()))?;
    let record = app.runtime.store().run(principal.scope(), run).await?;
    if after > record.last_seq {
        let detail = format!("the run has {} events; there is none numbered {after}", record.last_seq);
        let problem = Problem::new(StatusCode::CONFLICT, "beyond_the_log", detail);
        return Err(problem.with_field("last_event", record.last_seq));
    }
    if record.state.is_final() && after == record.last_seq {
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    let subscriber = Subscriber::new(&app, principal)?;
    let follower = app.runtime.follow_run(run, after);
    let follower = if record.state.is_final() { follower.stop_after(record.last_seq) } else { follower };
    Ok(subscriber.stream_response(follower, EventRender))
}

fn parse_resume_point(text: Option<&str>) -> Result<u64, Problem> {
    match text.map(str::trim) {
        None | Some("") => Ok(0),
        Some(text) => text.parse().map_err(|_| {
            let detail = format!("`Last-Event-ID` must be the number of an event, not `{text}`");
            Problem::bad_request("bad_event_id", detail)
        }),
    }
}

/// The log itself: the bytes of the record are the bytes on the wire.
struct EventRender;

impl Render for EventRender {
    fn render_begin(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"retry: 1000\n\n");
    }

    fn render_frame(&mut self, frame: &Frame, out: &mut Vec<u8>) {
        match frame {
            Frame::Event(recorded) => {
                write_event(out, recorded.event.seq, recorded.json.as_bytes());
            }
            Frame::Live(live) => write_value(out, live),
        }
    }

    fn render_error(&mut self, error: StoreError, out: &mut Vec<u8>) {
        // Of the connection, not of the run: without an id, and the reader comes back.
        write_value(out, &json!({"type": "stream.failed", "error": Problem::from(error).to_json()}));
    }
}
