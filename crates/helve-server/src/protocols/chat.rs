//! `POST /api/chat`, in both forms: the server keeps the conversation, or the client does.

mod history;
mod messages;
mod render;
mod request;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use helve_runtime::{StartInput, StartRequest};
use helve_types::UserId;
use serde_json::json;

use self::render::ChatRender;
use self::request::{ChatBody, ChatTools, parse_mode};
use crate::access::{Principal, Right};
use crate::app::App;
use crate::input::ForeignJson;
use crate::problem::Problem;
use crate::protocols::client_tools::{
    ClientMessage, client_history, list_browser_tools, parse_client_tools, parse_tool_choice,
};
use crate::protocols::request_params::{ToolSwitches, check_system_prompt, list_disabled_tools};
use crate::request_id::request_id_of;
use crate::routes::{Operation, Routes};
use crate::sse::Subscriber;
use crate::start_run::{self, parse_conversation};

pub(crate) fn routes(routes: Routes) -> Routes {
    routes.add_route(
        Operation::post("/api/chat", Right::Chat, "Say something and get the answer as it grows")
            .with_header("X-Agent-Draft", start_run::DRAFT_MEANING)
            .starts_run()
            .for_user()
            .with_example(json!({"message": "What is 12.5% of 3480?", "modelType": "demo"}))
            .gives_events(),
        chat,
    )
}

pub(crate) async fn chat(
    State(app): State<App>,
    principal: Principal,
    headers: HeaderMap,
    mut body: ForeignJson<ChatBody>,
) -> Result<Response, Problem> {
    let key =
        start_run::read_idempotency_key(&headers, "POST /api/chat", None, &body.bytes, app.runtime.world())?;
    let ChatBody {
        message,
        model_type,
        user_id,
        conversation_id,
        agent,
        messages,
        config,
        tools,
        system,
        pre_search,
        tool_choice: choice,
    } = body.value;
    let draft = start_run::tries_draft(&headers, &principal)?;
    let principal = principal.acting_as_user(user_id.as_deref())?;
    let user = principal.user.clone();
    let input = start_input(&app, &user, conversation_id.as_deref(), message, messages).await?;
    let registry = app.runtime.registry();
    let (declared, switches) = match tools {
        None => (None, ToolSwitches::default()),
        Some(ChatTools::ClientToolDeclaration(declared)) => (Some(declared), ToolSwitches::default()),
        Some(ChatTools::ToolSwitches(switches)) => (None, switches),
    };
    let (without_tools, unknown) = list_disabled_tools(switches, registry)?;
    body.ignored.0.extend(unknown.into_iter().map(|name| format!("tools.{name}")));
    let client_tools = match (declared, &input) {
        (Some(declared), _) => parse_client_tools(declared, registry)?,
        (None, StartInput::Client { .. }) => list_browser_tools(registry),
        (None, StartInput::Message { .. } | StartInput::Task { .. }) => vec![],
    };
    let calls_in = config.calls;
    let request = StartRequest {
        agent,
        draft,
        model: model_type.or(config.model),
        variant: config.variant,
        params: config.params.into_model_params()?,
        system: check_system_prompt(system)?,
        without_tools,
        client_tools,
        pre_search,
        tool_choice: parse_tool_choice(choice.as_ref())?,
        mode: config
            .mode
            .as_deref()
            .map(|mode| parse_mode(mode, app.runtime.default_profile()))
            .transpose()?
            .flatten(),
        key,
        request_id: request_id_of(&headers),
        ..StartRequest::new(user, input)
    };
    // The stream's slot is taken before the run is on record: without one there is no reader for its answer.
    let subscriber = Subscriber::new(&app, principal)?;
    let started = start_run::start_run(&app, request).await?;
    let render = ChatRender::new(started.run, started.conversation, calls_in);
    Ok(body.ignored.add_header_to(start_run::stream_started_run(subscriber, started, render)))
}

/// The message of a conversation that the server keeps, or the history that the client keeps.
async fn start_input(
    app: &App,
    user: &UserId,
    conversation: Option<&str>,
    message: Option<String>,
    messages: Option<Vec<ClientMessage>>,
) -> Result<StartInput, Problem> {
    Ok(match (message, messages) {
        (Some(text), None) => {
            let conversation = conversation.map(parse_conversation).transpose()?;
            StartInput::Message { conversation, text }
        }
        (None, Some(messages)) => {
            let store = app.runtime.store();
            let messages = history::complete_history(&**store, user, client_history(messages)?).await?;
            StartInput::Client { messages }
        }
        (Some(_), Some(_)) => {
            let detail = "send `message` for a conversation that the server keeps, or `messages`, not both";
            return Err(Problem::bad_request("bad_body", detail));
        }
        (None, None) => {
            return Err(Problem::bad_request("bad_body", "the body has neither `message` nor `messages`"));
        }
    })
}
