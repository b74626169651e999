//! `POST /api/chat`, in both forms: the server keeps the conversation, or the client does.

mod history;
mod messages;
mod render;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use helve_runtime::{StartInput, StartRequest};
use helve_types::Mode;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use self::render::ChatRender;
use crate::access::{Principal, Right};
use crate::app::App;
use crate::input::ForeignJson;
use crate::problem::Problem;
use crate::protocols::client_tools::{
    ClientMessage, ClientToolDeclaration, browser_tools, client_history, client_tools, tool_choice,
};
use crate::protocols::request_params::{RequestParams, ToolSwitches, disabled_tools, system_prompt};
use crate::routes::{Operation, Routes};
use crate::sse::Subscriber;
use crate::start_run::{self, parse_conversation};

pub(crate) fn routes(routes: Routes) -> Routes {
    routes.add(
        Operation::post("/api/chat", Right::Chat, "Say something and get the answer as it grows")
            .starts_run()
            .for_user()
            .example(json!({"message": "What is 12.5% of 3480?", "modelType": "demo"}))
            .gives_events(),
        chat,
    )
}

/// What `POST /api/chat` takes: `message`, or `messages` where the client keeps the history.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ChatBody {
    message: Option<String>,
    /// The name of a configured model.
    model_type: Option<String>,
    /// Whom the conversation belongs to.
    user_id: Option<String>,
    conversation_id: Option<String>,
    agent: Option<String>,
    messages: Option<Vec<ClientMessage>>,
    #[serde(default)]
    config: Config,
    /// Tools that the client runs itself; with `messages` and without this, `browser_js_eval`. Or names of the server's
    /// tools, each with `false` if this run does without it.
    tools: Option<ChatTools>,
    /// Added to the agent's system prompt.
    system: Option<String>,
    /// Whether the web is searched for the message before the model is first asked; as the agent or else the model has it if
    /// not said.
    #[serde(alias = "pre_search")]
    #[schemars(extend("x-aliases" = ["pre_search"]))]
    pre_search: Option<bool>,
    /// `none`, `auto`, `required`, or `{"type": "function", "function": {"name"}}`.
    #[serde(rename = "tool_choice", alias = "toolChoice")]
    #[schemars(extend("x-aliases" = ["toolChoice"]))]
    tool_choice: Option<Value>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum ChatTools {
    ClientToolDeclaration(Vec<ClientToolDeclaration>),
    ToolSwitches(ToolSwitches),
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
pub(crate) struct Config {
    /// `native`, `prompt`, or `prompt:` and a profile; the model's own way if not said, or with `chat`.
    mode: Option<String>,
    /// The name of a configured model, or `name:variant`; `modelType` goes before it.
    model: Option<String>,
    /// A variant of the model.
    variant: Option<String>,
    /// Over those of the model, the agent and the variant.
    #[serde(default)]
    params: RequestParams,
    /// Where the client looks for the calls that it has to run; `field` if not said.
    #[serde(default)]
    calls: CallFormat,
}

/// Where an answer holds the calls that its client has to run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CallFormat {
    /// In `tool_calls` of the last event.
    #[default]
    Field,
    /// There, and as `{"tool_calls": […]}` at the end of `content`.
    Content,
}

pub(crate) async fn chat(
    State(app): State<App>,
    principal: Principal,
    headers: HeaderMap,
    mut body: ForeignJson<ChatBody>,
) -> Result<Response, Problem> {
    let key = start_run::idempotency_key(&headers, "POST /api/chat", None, &body.bytes, app.runtime.world())?;
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
    let principal = principal.acting_as(user_id.as_deref())?;
    let user = principal.user.clone();
    let input = match (message, messages) {
        (Some(text), None) => {
            let conversation = conversation_id.as_deref().map(parse_conversation).transpose()?;
            StartInput::Message { conversation, text }
        }
        (None, Some(messages)) => {
            let store = app.runtime.store();
            let messages = history::complete(&**store, &user, client_history(messages)?).await?;
            StartInput::Client { messages }
        }
        (Some(_), Some(_)) => {
            let detail = "send `message` for a conversation that the server keeps, or `messages`, not both";
            return Err(Problem::bad_request("bad_body", detail));
        }
        (None, None) => {
            return Err(Problem::bad_request("bad_body", "the body has neither `message` nor `messages`"));
        }
    };
    let registry = app.runtime.registry();
    let (declared, switches) = match tools {
        None => (None, ToolSwitches::default()),
        Some(ChatTools::ClientToolDeclaration(declared)) => (Some(declared), ToolSwitches::default()),
        Some(ChatTools::ToolSwitches(switches)) => (None, switches),
    };
    let (without_tools, unknown) = disabled_tools(switches, registry)?;
    body.ignored.0.extend(unknown.into_iter().map(|name| format!("tools.{name}")));
    let client_tools = match (declared, &input) {
        (Some(declared), _) => client_tools(declared, registry)?,
        (None, StartInput::Client { .. }) => browser_tools(registry),
        (None, StartInput::Message { .. }) => vec![],
    };
    let calls_in = config.calls;
    let request = StartRequest {
        agent,
        model: model_type.or(config.model),
        variant: config.variant,
        params: config.params.checked()?,
        system: system_prompt(system)?,
        without_tools,
        client_tools,
        pre_search,
        tool_choice: tool_choice(choice.as_ref())?,
        mode: config
            .mode
            .as_deref()
            .map(|mode| parse_mode(mode, app.runtime.default_profile()))
            .transpose()?
            .flatten(),
        key,
        ..StartRequest::new(user, input)
    };
    // Before the run is on record, so that nothing runs for somebody who cannot hear of it.
    let subscriber = Subscriber::new(&app, principal)?;
    let started = start_run::start(&app, request).await?;
    let render = ChatRender::new(started.run, started.conversation, calls_in);
    Ok(body.ignored.on(start_run::stream(subscriber, started, render)))
}

/// How the model is asked to call tools; none if that is left to the model.
fn parse_mode(text: &str, default_profile: &str) -> Result<Option<Mode>, Problem> {
    Ok(match text {
        // Says what the request is, not how tools are called: clients that keep the history send it.
        "chat" => None,
        "prompt" => Some(Mode::Prompt(default_profile.into())),
        other => Some(other.parse().map_err(|_| {
            let said: String = other.chars().take(60).collect();
            let detail = format!(
                "`config.mode` is `chat`, `native`, `prompt` or `prompt:` and the name of a profile, not `{said}`"
            );
            Problem::bad_request("bad_mode", detail)
        })?),
    })
}
