//! What `POST /api/chat` takes, in both forms.

use helve_types::Mode;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::problem::Problem;
use crate::protocols::client_tools::{ClientMessage, ClientToolDeclaration};
use crate::protocols::request_params::{RequestParams, ToolSwitches};

/// What `POST /api/chat` takes: `message`, or `messages` where the client keeps the history.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ChatBody {
    pub(super) message: Option<String>,
    /// The name of a configured model.
    pub(super) model_type: Option<String>,
    /// Whom the conversation belongs to.
    pub(super) user_id: Option<String>,
    pub(super) conversation_id: Option<String>,
    pub(super) agent: Option<String>,
    pub(super) messages: Option<Vec<ClientMessage>>,
    #[serde(default)]
    pub(super) config: ChatConfig,
    /// Tools that the client runs itself; with `messages` and without this, `browser_js_eval`. Or names of the server's
    /// tools, each with `false` if this run does without it.
    pub(super) tools: Option<ChatTools>,
    /// Added to the agent's system prompt.
    pub(super) system: Option<String>,
    /// Whether the web is searched for the message before the model is first asked; as the agent or else the model has it if
    /// not said.
    #[serde(alias = "pre_search")]
    #[schemars(extend("x-aliases" = ["pre_search"]))]
    pub(super) pre_search: Option<bool>,
    /// `none`, `auto`, `required`, or `{"type": "function", "function": {"name"}}`.
    #[serde(rename = "tool_choice", alias = "toolChoice")]
    #[schemars(extend("x-aliases" = ["toolChoice"]))]
    pub(super) tool_choice: Option<Value>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum ChatTools {
    ClientToolDeclaration(Vec<ClientToolDeclaration>),
    ToolSwitches(ToolSwitches),
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
pub(crate) struct ChatConfig {
    /// `native`, `prompt`, or `prompt:` and a profile; the model's own way if not said, or with `chat`.
    pub(super) mode: Option<String>,
    /// The name of a configured model, or `name:variant`; `modelType` goes before it.
    pub(super) model: Option<String>,
    /// A variant of the model.
    pub(super) variant: Option<String>,
    /// Over those of the model, the agent and the variant.
    #[serde(default)]
    pub(super) params: RequestParams,
    /// Where the client looks for the calls that it has to run; `field` if not said.
    #[serde(default)]
    pub(super) calls: CallFormat,
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

/// How the model is asked to call tools; none if that is left to the model.
pub(super) fn parse_mode(text: &str, default_profile: &str) -> Result<Option<Mode>, Problem> {
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
