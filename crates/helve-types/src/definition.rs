//! A tool as data: what a person writes to make one, and what is kept of it.
//!
//! A definition holds no secret: it names one, and the operator's configuration says what that is and who may get it.

mod agent;
mod skill;
mod subagent;

use std::collections::BTreeMap;
use std::num::{NonZeroU32, NonZeroU64};

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};

pub use self::agent::{
    AgentBudget, AgentDefinition, AgentPermission, AgentTexts, AgentTool, AgentToolCache, AgentToolConfig,
    AgentToolLink, PermissionAction,
};
pub use self::skill::{SkillDefinition, SkillFile, SkillSource};
pub use self::subagent::{AgentSubagent, SubagentConfig, subagent_tool_name};
use crate::{Effect, Example, LabelTerms, OnUnknown, canonical_json};

/// A tool that is a row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolDefinition {
    /// The id that the row had in another system; the tool can be addressed by it as well as by its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// 1 to 64 letters, digits, `_` or `-`; no two tools have the same.
    pub name: String,
    /// The version that its author gives it, such as `1.0.0`. Changes are counted by Helve, not here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    #[serde(default, rename = "type")]
    pub kind: ToolKind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
    /// What the tool does and when to use it; models read it.
    pub description: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category: Option<String>,
    pub endpoint: Endpoint,
    /// A JSON Schema of an object.
    #[serde(default = "default_parameters")]
    pub parameters: Value,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_transform: Option<Transform>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_limit: Option<RateLimit>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache: Option<CacheTerms>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub breaker: Option<BreakerTerms>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback: Option<Fallback>,
    /// How often a call may be sent, where its effect class allows to send it again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempts: Option<NonZeroU32>,
    /// How much of an answer the model gets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_bytes_max: Option<NonZeroU32>,
    #[serde(default = "default_true")]
    pub enabled: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// What repeating a call does. A GET reads unless this says otherwise; everything else is sent at most once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect: Option<Effect>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_unknown: Option<OnUnknown>,
    /// A tool that reads whether the effect happened; called with the same arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check_tool: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<Example>,
    /// What it brings in and can carry out, where that is not what its kind does.
    #[serde(default, skip_serializing_if = "LabelTerms::says_nothing")]
    pub labels: LabelTerms,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ToolKind {
    /// Gives its answer whole.
    #[default]
    Invokable,
    /// Gives its answer in pieces, which are shown as they come.
    Streamable,
}

/// Where a call goes and how it gets there.
///
/// A placeholder is a parameter's name in braces. It may stand for a whole path segment or a part of one, and in
/// the values of `query`, `headers` and `body`; never in the scheme, the host or the port. What no placeholder
/// uses goes into the query of a GET, HEAD or DELETE and into the body of the others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Endpoint {
    /// `https://api.example.com/v1/{city}/now`; or `internal://calculator`, a tool inside Helve.
    #[serde(alias = "url")]
    pub url_template: String,
    #[serde(default)]
    pub method: Method,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub query: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// A JSON value; a text in it that is one placeholder becomes the parameter with its type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<Value>,
    #[serde(default, skip_serializing_if = "BodyFormat::is_json")]
    pub body_format: BodyFormat,
    #[serde(default)]
    pub auth: Auth,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<NonZeroU64>,
    /// How many redirects are followed, 3 at most; none unless said.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub redirects: u8,
    /// The header under which the other side takes the key of a call that changes something; `Idempotency-Key` unless
    /// said, and none if this is empty or null.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "null_is_empty")]
    pub idempotency_header: Option<String>,
    /// What the other side learns of who calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caller: Option<CallerTerms>,
    /// Whether 429, and 503 with `Retry-After`, mean that nothing was done.
    #[serde(default = "default_true", skip_serializing_if = "Clone::clone")]
    pub busy_is_not_done: bool,
}

/// What the other side learns of a call, in headers `X-Helve-User`, `X-Helve-Run` and so on.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CallerTerms {
    #[serde(default)]
    pub send: Vec<CallerField>,
    /// The secret, by its name in the operator's configuration, whose HMAC signs the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sign: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CallerField {
    User,
    Conversation,
    Message,
    /// The run, which is one request to Helve.
    Run,
    Call,
    /// The HTTP request that started the run, by its `X-Request-Id`; not part of what is signed.
    Request,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum Method {
    #[default]
    Get,
    Head,
    Post,
    Put,
    Patch,
    Delete,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BodyFormat {
    #[default]
    Json,
    /// `application/x-www-form-urlencoded`.
    Form,
}

impl BodyFormat {
    fn is_json(&self) -> bool {
        *self == Self::Json
    }
}

/// Who calls. `secret` is a name from the operator's configuration.
///
/// With `env` the definition also proposes the environment variable that holds the secret. Nothing reads that variable
/// until the operator has bound it to this tool and its host.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum Auth {
    #[default]
    None,
    Bearer {
        secret: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        env: Option<String>,
    },
    ApiKey {
        secret: String,
        /// The header or the query parameter.
        #[serde(default = "default_api_key_header")]
        name: String,
        #[serde(default, rename = "in")]
        place: KeyPlace,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        env: Option<String>,
    },
    Basic {
        username: String,
        secret: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        env: Option<String>,
    },
}

impl Auth {
    /// The name of the secret that is sent, and the variable that the definition proposes for it.
    pub fn secret(&self) -> Option<(&str, Option<&str>)> {
        match self {
            Self::None => None,
            Self::Bearer { secret, env }
            | Self::ApiKey { secret, env, .. }
            | Self::Basic { secret, env, .. } => Some((secret, env.as_deref())),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum KeyPlace {
    #[default]
    Header,
    Query,
}

/// Picks and reshapes the answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Transform {
    /// The way to the part that is wanted, such as `data.items.0.title`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// A jq filter; one or the other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jq: Option<String>,
    /// The largest result, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_max: Option<NonZeroU32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RateLimit {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concurrent: Option<NonZeroU32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_minute: Option<NonZeroU32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_minute_and_user: Option<NonZeroU32>,
    /// As `per_minute`, in any interval of `window_ms`; one or the other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_window: Option<NonZeroU32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_window_and_user: Option<NonZeroU32>,
    /// The length of the window that `per_window` and `per_window_and_user` are about, 100 ms to a day.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window_ms: Option<NonZeroU64>,
    /// How long a call waits for its turn before it is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_ms: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CacheTerms {
    pub ttl_ms: NonZeroU64,
    #[serde(default)]
    pub scope: CacheSharing,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CacheSharing {
    /// Equal arguments, equal answer, whoever asks.
    Params,
    #[default]
    User,
    /// All users of the same agent.
    Agent,
    /// Within one conversation; without one, within the run.
    Conversation,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BreakerTerms {
    /// So many failures in a row open it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failures: Option<NonZeroU32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_ms: Option<NonZeroU64>,
    /// Statuses below 500 that count as failures as well; no 4xx does unless it is here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failure_statuses: Vec<u16>,
}

/// What stands in for a tool that is held back or failing. What it gives is marked as such.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Fallback {
    /// The last good answer to the same question, if it is no older than this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_good_ms: Option<NonZeroU64>,
    /// Another tool, called with the same arguments; tried after the last good answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Also when the tool's own rate limit refuses a call, which otherwise is told to the model.
    #[serde(default, skip_serializing_if = "is_false")]
    pub when_limited: bool,
}

impl ToolDefinition {
    /// What repeating a call does, said or by the method.
    pub fn effect(&self) -> Effect {
        self.effect.unwrap_or(match self.endpoint.method {
            Method::Get | Method::Head => Effect::Read,
            Method::Post | Method::Put | Method::Patch | Method::Delete => Effect::NonIdempotent,
        })
    }

    /// Changes with everything but whether the tool is switched on: what a run was started with.
    pub fn hash(&self) -> String {
        let pinned = Self { enabled: true, ..self.clone() };
        blake3::hash(canonical_json(&json!(pinned)).as_bytes()).to_hex()[..32].to_owned()
    }
}

fn default_parameters() -> Value {
    json!({"type": "object", "properties": {}})
}

/// What is said to be nothing, as opposed to what is not said.
fn null_is_empty<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Ok(Some(Option::deserialize(deserializer)?.unwrap_or_default()))
}

fn default_api_key_header() -> String {
    "X-Api-Key".into()
}

fn default_true() -> bool {
    true
}

fn is_false(flag: &bool) -> bool {
    !flag
}

fn is_zero(number: &u8) -> bool {
    *number == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_of_two_lines_is_a_tool_that_reads() {
        let given = json!({
            "name": "weather", "description": "The weather in a city.",
            "endpoint": {"url_template": "https://api.example.com/{city}"}
        });
        let read: ToolDefinition = serde_json::from_value(given).unwrap();
        assert_eq!(read.effect(), Effect::Read);
        assert!(read.enabled && read.endpoint.busy_is_not_done);
        let again: ToolDefinition = serde_json::from_value(json!(read)).unwrap();
        assert_eq!(again, read);
    }

    #[test]
    fn switching_a_tool_off_does_not_change_what_it_is() {
        let given = json!({
            "name": "send", "description": "Sends.",
            "endpoint": {"url_template": "https://api.example.com/send", "method": "POST"}
        });
        let on: ToolDefinition = serde_json::from_value(given).unwrap();
        let off = ToolDefinition { enabled: false, ..on.clone() };
        assert_eq!(on.hash(), off.hash());
        assert_eq!(on.effect(), Effect::NonIdempotent);
        let mut moved = on.clone();
        moved.endpoint.url_template = "https://other.example.com/send".into();
        assert_ne!(on.hash(), moved.hash());
    }
}
