//! What an agent says about an agent that it can give tasks to.

use schemars::JsonSchema;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::PermissionAction;

/// How long a name may be for every vendor.
const NAME_CHARS_MAX: usize = 64;
const PREFIX: &str = "ask_";

/// The name of the tool that gives tasks to an agent. Names with characters that vendors do not take get a part of their
/// hash, so that two of them differ.
pub fn subagent_tool_name(agent: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if agent.chars().all(is_plain) && PREFIX.len() + agent.len() <= NAME_CHARS_MAX {
        return format!("{PREFIX}{agent}");
    }
    let hash = blake3::hash(agent.as_bytes()).to_hex();
    let plain: String = agent.chars().map(|c| if is_plain(c) { c } else { '_' }).collect();
    let plain: String = plain.trim_matches('_').chars().take(NAME_CHARS_MAX - PREFIX.len() - 9).collect();
    let between = if plain.is_empty() { "agent" } else { plain.trim_end_matches('_') };
    format!("{PREFIX}{between}_{}", &hash[..8])
}

/// An agent that another agent can give tasks to, as a tool `ask_<agent>`.
#[derive(Debug, Clone, PartialEq, JsonSchema)]
#[schemars(with = "WrittenSubagent")]
pub struct AgentSubagent {
    pub agent: String,
    pub config: SubagentConfig,
}

/// What is said about it beside its name.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SubagentConfig {
    pub description: Option<String>,
    pub background: bool,
    pub budget_share: Option<f64>,
    pub permission: Option<PermissionAction>,
}

/// A name alone, or a name with more.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
enum WrittenSubagent {
    Name(String),
    Link(SubagentLink),
}

/// A subagent of an agent, written out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SubagentLink {
    /// The agent's name.
    agent: String,
    /// What the model is told about it, in place of the agent's own description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    /// Whether it may work in the background, while the agent that asked goes on.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    background: bool,
    /// The share of what is left of the asking run's budget that one of its runs gets, above 0 and up to 1; 0.5 if not
    /// given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    budget_share: Option<f64>,
    /// What becomes of calls of it, where neither the operator nor a rule of `permissions` says so; they are allowed if
    /// not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    permission: Option<PermissionAction>,
}

impl AgentSubagent {
    /// The share of one run where none is given.
    pub const BUDGET_SHARE: f64 = 0.5;

    pub fn new(agent: impl Into<String>) -> Self {
        Self { agent: agent.into(), config: SubagentConfig::default() }
    }

    pub fn budget_share(&self) -> f64 {
        self.config.budget_share.unwrap_or(Self::BUDGET_SHARE)
    }
}

impl From<SubagentLink> for AgentSubagent {
    fn from(link: SubagentLink) -> Self {
        let SubagentLink { agent, description, background, budget_share, permission } = link;
        Self { agent, config: SubagentConfig { description, background, budget_share, permission } }
    }
}

impl<'de> Deserialize<'de> for AgentSubagent {
    /// By its form first, so that an error names the field that is wrong.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::String(agent) => Ok(Self::new(agent)),
            written @ Value::Object(_) => {
                serde_json::from_value::<SubagentLink>(written).map(Self::from).map_err(D::Error::custom)
            }
            _ => Err(D::Error::custom("it must be an agent's name, or an object with its `agent`")),
        }
    }
}

impl Serialize for AgentSubagent {
    /// As short as it can be said.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let agent = self.agent.clone();
        if self.config == SubagentConfig::default() {
            return WrittenSubagent::Name(agent).serialize(serializer);
        }
        let SubagentConfig { description, background, budget_share, permission } = self.config.clone();
        let link = SubagentLink { agent, description, background, budget_share, permission };
        WrittenSubagent::Link(link).serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_subagent_is_written_as_short_as_it_can_be_said() {
        let more = json!({"agent": "b", "background": true, "budget_share": 0.25, "permission": "ask"});
        let written = json!(["a", more]);
        let read: Vec<AgentSubagent> = serde_json::from_value(written.clone()).unwrap();
        assert_eq!((read[0].budget_share(), read[1].budget_share()), (0.5, 0.25));
        assert_eq!(json!(read), written);
        for wrong in [json!(7), json!({"agent": "b", "colour": 1}), json!({"background": true})] {
            assert!(serde_json::from_value::<AgentSubagent>(wrong.clone()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn every_agent_has_a_tool_name_that_vendors_take() {
        assert_eq!(subagent_tool_name("clerk"), "ask_clerk");
        let names = ["天气助手", "写作助手", "a b", "a.b", &"x".repeat(64), &"x".repeat(63)];
        let made: std::collections::BTreeSet<_> = names.into_iter().map(subagent_tool_name).collect();
        assert_eq!(made.len(), names.len());
        for name in made {
            assert!(name.len() <= NAME_CHARS_MAX && name.starts_with(PREFIX), "{name}");
            assert!(name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-')), "{name}");
        }
    }
}
