//! `POST /api/agent`: an agent by its name, pieces or the whole.

mod answer;
mod render;
mod request;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use helve_runtime::{StartInput, StartRequest};
use helve_types::ToolChoice;
use serde_json::json;

use self::answer::{AgentAnswer, read_answer};
use self::render::AgentRender;
use self::request::{AgentBody, AgentTools};
use crate::access::{Principal, Right};
use crate::app::App;
use crate::input::ForeignJson;
use crate::problem::Problem;
use crate::protocols::client_tools::parse_tool_choice;
use crate::protocols::request_params::{ToolSwitches, check_system_prompt, list_disabled_tools};
use crate::request_id::request_id_of;
use crate::routes::{Operation, Routes};
use crate::sse::Subscriber;
use crate::start_run::{self, RunHeaders, parse_conversation};

pub(crate) fn routes(routes: Routes) -> Routes {
    routes.add_route(
        Operation::post("/api/agent", Right::Chat, "Ask an agent; pieces of its answer, or the whole")
            .with_header("X-Agent-ID", "The agent; the default one if there is none.")
            .with_header("X-Agent-Draft", start_run::DRAFT_MEANING)
            .starts_run()
            .for_user()
            .with_example(json!({"message": "What is 12.5% of 3480?", "userId": "mei", "stream": false}))
            .gives::<AgentAnswer>()
            .gives_events(),
        ask_agent,
    )
}

const AGENT_HEADER: &str = "x-agent-id";

pub(crate) async fn ask_agent(
    State(app): State<App>,
    principal: Principal,
    headers: HeaderMap,
    mut body: ForeignJson<AgentBody>,
) -> Result<Response, Problem> {
    let agent = headers.get(AGENT_HEADER).map(|name| String::from_utf8_lossy(name.as_bytes()).into_owned());
    let (world, route) = (app.runtime.world(), "POST /api/agent");
    let key = start_run::read_idempotency_key(&headers, route, agent.as_deref(), &body.bytes, world)?;
    let AgentBody {
        message,
        conversation_id,
        user_id,
        model,
        variant,
        params,
        stream,
        tools,
        system,
        pre_search,
        tool_choice: choice,
    } = body.value;
    let (tools, switches) = match tools {
        AgentTools::All(tools) => (tools, ToolSwitches::default()),
        AgentTools::ToolSwitches(switches) => (true, switches),
    };
    let (without_tools, unknown) = list_disabled_tools(switches, app.runtime.registry())?;
    body.ignored.0.extend(unknown.into_iter().map(|name| format!("tools.{name}")));
    let choice = parse_tool_choice(choice.as_ref())?;
    let draft = start_run::tries_draft(&headers, &principal)?;
    let principal = principal.acting_as_user(user_id.as_deref())?;
    let user = principal.user.clone();
    let conversation = conversation_id.as_deref().map(parse_conversation).transpose()?;
    let request = StartRequest {
        agent,
        draft,
        model,
        variant,
        params: params.into_model_params()?,
        system: check_system_prompt(system)?,
        without_tools,
        pre_search,
        tool_choice: if tools { choice } else { ToolChoice::None },
        stream,
        key,
        request_id: request_id_of(&headers),
        ..StartRequest::new(user, StartInput::Message { conversation, text: message })
    };
    // The stream's slot is taken before the run is on record: without one there is no reader for its answer.
    let subscriber = if stream { Some(Subscriber::new(&app, principal)?) } else { None };
    let started = start_run::start_run(&app, request).await?;
    if let Some(subscriber) = subscriber {
        return Ok(body.ignored.add_header_to(start_run::stream_started_run(
            subscriber,
            started,
            AgentRender::default(),
        )));
    }
    let names = RunHeaders::from_started(&started);
    Ok(body.ignored.add_header_to(names.add_to(axum::Json(read_answer(&app, started).await?))))
}
