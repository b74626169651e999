//! An agent as data: what a person writes to make one, and what is kept of it.

use std::collections::{BTreeMap, BTreeSet};
use std::num::{NonZeroU32, NonZeroU64};

use schemars::JsonSchema;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};

use super::{AgentSubagent, BreakerTerms, CacheTerms, RateLimit};
use crate::{Approvers, Effect, ModelParams, canonical_json};

/// An agent that is a row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentDefinition {
    /// An id that its owner chose, such as a UUID; the agent can be addressed by it as well as by its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// 1 to 64 characters without spaces and `/`; no two agents have the same.
    pub name: String,
    /// What people see in place of the name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
    /// What the agent is for; people read it when they choose one.
    #[serde(default, skip_serializing_if = "String::is_empty", deserialize_with = "null_is_default")]
    pub description: String,
    /// The language that it speaks with people, such as `en` or `zh-CN`; for those who choose an agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// The model it uses unless a request names another; the default model if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The models that answer in the place of `model` when it cannot, in this order; those of the model itself if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "null_is_default")]
    pub fallback_models: Vec<String>,
    #[serde(default, skip_serializing_if = "is_default", deserialize_with = "null_is_default")]
    pub params: ModelParams,
    #[serde(default, skip_serializing_if = "String::is_empty", deserialize_with = "null_is_default")]
    pub system_prompt: String,
    /// The tools it may use, each by its name alone or with more about it; `*` stands for all tools.
    #[serde(default, deserialize_with = "null_is_default")]
    pub tools: Vec<AgentTool>,
    /// The skills it may load, by name; `*` stands for all of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "null_is_default")]
    pub skills: Vec<String>,
    /// The agents that it can give tasks to, each by its name alone or with more about it.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "null_is_default")]
    pub subagents: Vec<AgentSubagent>,
    /// Which calls are allowed, asked about or denied; what the operator says comes first.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "null_is_default")]
    pub permissions: Vec<AgentPermission>,
    /// What each of its runs may use up, where that is not what all runs may.
    #[serde(default, skip_serializing_if = "is_default", deserialize_with = "null_is_default")]
    pub budget: AgentBudget,
    /// How often the model may be asked in one run, 1 to 1000.
    #[serde(default = "default_max_steps", deserialize_with = "null_is_ten")]
    pub max_steps: u32,
    /// Whether the web is searched before the model is first asked, where the request does not say so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pre_search: Option<bool>,
    /// Whether a run ends when a person refuses one of its calls.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub end_when_refused: bool,
    /// Questions that people can begin with.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "null_is_default")]
    pub example_questions: Vec<String>,
    /// By a language such as `zh-CN`, what people who read it see in place of the texts above.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty", deserialize_with = "null_is_default")]
    pub translations: BTreeMap<String, AgentTexts>,
    /// The users who may use it; `*` stands for any run of characters. Everybody may if neither users nor groups are named.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "null_is_default")]
    pub users: Vec<String>,
    /// The groups whose members may use it, besides the users above.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "null_is_default")]
    pub groups: Vec<String>,
    /// New runs can use it; those that were started before go on.
    #[serde(default = "default_true")]
    pub enabled: bool,
}

/// A tool of an agent.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema)]
#[schemars(with = "WrittenTool")]
pub struct AgentTool {
    pub name: String,
    pub enabled: bool,
    pub config: AgentToolConfig,
}

/// What an agent says about one of its tools.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentToolConfig {
    /// What becomes of its calls, where neither the operator nor a rule of `permissions` says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permission: Option<PermissionAction>,
    /// Arguments with fixed values, by their names. Helve adds them to each call; the model does not see them, and a
    /// call with another value is refused.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty", deserialize_with = "null_is_default")]
    pub arguments: BTreeMap<String, Value>,
    /// Arguments that the model does not see and may not give: the tool's own default holds.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty", deserialize_with = "null_is_default")]
    pub hidden_arguments: BTreeSet<String>,
    /// A limit for the agent's calls, besides the tool's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_limit: Option<RateLimit>,
    /// How long answers serve the agent's calls, in place of what the tool says; `false` is not at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache: Option<AgentToolCache>,
    /// A breaker of the agent's own, in place of the tool's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub breaker: Option<BreakerTerms>,
    /// The longest that one attempt may take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<NonZeroU64>,
    /// How often a call may be sent, where its effect class allows to send it again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempts: Option<NonZeroU32>,
    /// How much of an answer the model gets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_bytes_max: Option<NonZeroU32>,
}

/// Whether and how long answers serve again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema)]
#[schemars(with = "WrittenCache")]
pub enum AgentToolCache {
    Off,
    On(CacheTerms),
}

/// The terms, or `false`.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
enum WrittenCache {
    On(CacheTerms),
    Off(#[schemars(schema_with = "only_false")] bool),
}

fn only_false(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({"const": false})
}

/// What people read of an agent, in one language; what is not given is as in the agent's own.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentTexts {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
    #[serde(default, skip_serializing_if = "String::is_empty", deserialize_with = "null_is_default")]
    pub description: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "null_is_default")]
    pub example_questions: Vec<String>,
}

/// A name alone, or a name with more.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
enum WrittenTool {
    Name(String),
    Link(AgentToolLink),
}

/// A tool of an agent, written out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentToolLink {
    pub name: String,
    #[serde(default = "default_true")]
    pub enabled: bool,
    #[serde(default, skip_serializing_if = "is_default", deserialize_with = "null_is_default")]
    pub config: AgentToolConfig,
}

/// A rule about the agent's calls. Every condition that is given must hold.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentPermission {
    /// A tool's name; `*` stands for any run of characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tag: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect: Option<Effect>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Members of a group with this name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Users who are in no group with this name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_group: Option<String>,
    /// By its path, what an argument must be.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty", deserialize_with = "null_is_default")]
    pub arguments: BTreeMap<String, Value>,
    pub action: PermissionAction,
    /// Told to the person who is asked and to the model that is refused.
    #[serde(default, skip_serializing_if = "String::is_empty", deserialize_with = "null_is_default")]
    pub because: String,
    /// Who is asked, where the rule asks; without them it is the user whose run it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approvers: Option<Approvers>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PermissionAction {
    Allow,
    Ask,
    Deny,
}

/// What one run may use up; 0 is no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentBudget {
    /// In the unit of the prices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub money: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls: Option<u64>,
    /// At work; waiting for people does not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minutes: Option<f64>,
    /// The share of a limit at which a person is asked, from 0 to below 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ask_at: Option<f64>,
}

impl AgentDefinition {
    /// An agent of this name that says nothing else.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            id: None,
            name: name.into(),
            display_name: None,
            description: String::new(),
            language: None,
            model: None,
            fallback_models: vec![],
            params: ModelParams::default(),
            system_prompt: String::new(),
            tools: vec![],
            skills: vec![],
            subagents: vec![],
            permissions: vec![],
            budget: AgentBudget::default(),
            max_steps: default_max_steps(),
            pre_search: None,
            end_when_refused: false,
            example_questions: vec![],
            translations: BTreeMap::new(),
            users: vec![],
            groups: vec![],
            enabled: true,
        }
    }

    /// Changes with everything that a run depends on, and not with the switch.
    pub fn hash(&self) -> String {
        let pinned = Self { enabled: true, ..self.clone() };
        blake3::hash(canonical_json(&json!(pinned)).as_bytes()).to_hex()[..32].to_owned()
    }
}

impl AgentTool {
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), enabled: true, config: AgentToolConfig::default() }
    }

    /// The same, written out.
    pub fn link(&self) -> AgentToolLink {
        AgentToolLink { name: self.name.clone(), enabled: self.enabled, config: self.config.clone() }
    }
}

impl AgentToolConfig {
    /// Whether it changes how the tool's calls are made, besides whether they may be.
    pub fn changes_calls(&self) -> bool {
        *self != Self { permission: self.permission, ..Self::default() }
    }
}

impl From<AgentToolLink> for AgentTool {
    fn from(link: AgentToolLink) -> Self {
        Self { name: link.name, enabled: link.enabled, config: link.config }
    }
}

impl<'de> Deserialize<'de> for AgentTool {
    /// By its form first, so that an error names the field that is wrong.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::String(name) => Ok(Self::new(name)),
            written @ Value::Object(_) => {
                serde_json::from_value::<AgentToolLink>(written).map(Self::from).map_err(D::Error::custom)
            }
            _ => Err(D::Error::custom("it must be a tool's name, or an object with its `name`")),
        }
    }
}

impl Serialize for AgentTool {
    /// As short as it can be said.
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if *self == Self::new(self.name.clone()) {
            WrittenTool::Name(self.name.clone()).serialize(serializer)
        } else {
            WrittenTool::Link(self.link()).serialize(serializer)
        }
    }
}

impl<'de> Deserialize<'de> for AgentToolCache {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::Bool(false) => Ok(Self::Off),
            written @ Value::Object(_) => {
                serde_json::from_value(written).map(Self::On).map_err(D::Error::custom)
            }
            _ => Err(D::Error::custom("it must be `false`, or an object with `ttl_ms`")),
        }
    }
}

impl Serialize for AgentToolCache {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Off => WrittenCache::Off(false).serialize(serializer),
            Self::On(terms) => WrittenCache::On(*terms).serialize(serializer),
        }
    }
}

/// Other systems write `null` for what is empty.
fn null_is_default<'de, T: Deserialize<'de> + Default, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

fn null_is_ten<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_else(default_max_steps))
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

fn default_max_steps() -> u32 {
    10
}

fn default_true() -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(written: Value) -> AgentDefinition {
        serde_json::from_value(written).unwrap()
    }

    #[test]
    fn a_tool_of_an_agent_is_written_as_short_as_it_can_be_said() {
        let off = json!({"name": "send", "enabled": false});
        let asks = json!({"name": "post", "enabled": true, "config": {"permission": "ask"}});
        let written = json!({"name": "clerk", "tools": ["look", {"name": "see"}, off, asks]});
        let agent = read(written);
        assert_eq!(json!(agent)["tools"], json!(["look", "see", off, asks]));
        assert_eq!(read(json!(agent)), agent);
    }

    #[test]
    fn what_is_null_is_not_said() {
        let silent =
            json!({"name": "clerk", "system_prompt": null, "tools": null, "max_steps": null, "budget": null});
        assert_eq!(read(silent), AgentDefinition::new("clerk"));
        assert_eq!(AgentDefinition::new("clerk").max_steps, 10);
    }

    #[test]
    fn the_hash_changes_with_the_agent_and_not_with_its_switch() {
        let agent = AgentDefinition::new("clerk");
        assert_eq!(AgentDefinition { enabled: false, ..agent.clone() }.hash(), agent.hash());
        assert_ne!(
            AgentDefinition { system_prompt: "Be brief.".into(), ..agent.clone() }.hash(),
            agent.hash()
        );
    }
}
