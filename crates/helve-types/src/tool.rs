//! What a tool is to those who never run it: a name, a description, a schema, an effect class.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{Effect, Flow, LabelTerms, canonical_json};

/// A tool's definition, the one source of what models, people and guards are told about it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolSpec {
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    pub description: String,
    /// A JSON Schema of an object.
    pub parameters: Value,
    pub effect: Effect,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<Example>,
    /// Runs on the user's side: Helve asks for the result instead of producing it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub client: bool,
    /// What to do when it is unknown whether the effect happened.
    #[serde(default)]
    pub on_unknown: OnUnknown,
    /// A tool that reads whether the effect happened; called with the same arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check_tool: Option<String>,
    /// The tool inside Helve that it is another name for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leads_to: Option<String>,
    /// What it brings in and can carry out, by what it is.
    #[serde(default, skip_serializing_if = "Flow::is_neutral")]
    pub flow: Flow,
    /// What its definition says about that.
    #[serde(default, skip_serializing_if = "LabelTerms::says_nothing")]
    pub labels: LabelTerms,
}

impl ToolSpec {
    /// A tool of the server's, with nothing but what every tool has.
    pub fn new(
        name: impl Into<String>,
        description: impl Into<String>,
        parameters: Value,
        effect: Effect,
    ) -> Self {
        Self {
            name: name.into(),
            title: None,
            description: description.into(),
            parameters,
            effect,
            tags: vec![],
            examples: vec![],
            client: false,
            on_unknown: OnUnknown::default(),
            check_tool: None,
            leads_to: None,
            flow: Flow::default(),
            labels: LabelTerms::default(),
        }
    }

    /// A hash over all that an approval or a cached answer depends on; it changes when the tool does.
    pub fn version(&self) -> String {
        let mut pinned =
            vec![json!(self.name), json!(self.description), self.parameters.clone(), json!(self.effect)];
        pinned.push(json!(self.client));
        // What is neutral is left out, so that tools from before there were labels are what they were.
        if !self.flow.is_neutral() || !self.labels.says_nothing() {
            pinned.extend([json!(self.flow), json!(self.labels)]);
        }
        blake3::hash(canonical_json(&Value::Array(pinned)).as_bytes()).to_hex()[..32].to_owned()
    }
}

/// A worked example: models without native calling follow examples, not descriptions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Example {
    pub question: String,
    pub arguments: Value,
    pub result: String,
    pub answer: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Default)]
#[serde(rename_all = "snake_case")]
pub enum OnUnknown {
    /// The run waits until a person says what happened.
    #[default]
    AskUser,
    /// The model learns that the outcome is unknown and that it must check before repeating.
    TellModel,
    FailRun,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec() -> ToolSpec {
        ToolSpec::new(
            "send",
            "Sends.",
            json!({"type": "object", "properties": {"to": {"type": "string"}}}),
            Effect::NonIdempotent,
        )
    }

    #[test]
    fn the_version_changes_with_what_the_model_is_told_and_with_its_labels_and_with_nothing_else() {
        let before = spec().version();
        assert_eq!(before, ToolSpec { tags: vec!["mail".into()], ..spec() }.version());
        assert_ne!(before, ToolSpec { description: "Sends!".into(), ..spec() }.version());
        assert_ne!(before, ToolSpec { effect: Effect::Read, ..spec() }.version());
        assert_ne!(before, ToolSpec { parameters: json!({"type": "object"}), ..spec() }.version());
        let outward = Flow { outward: true, ..Flow::default() };
        assert_ne!(before, ToolSpec { flow: outward, ..spec() }.version());
        let own = LabelTerms { outward: Some(false), ..LabelTerms::default() };
        assert_ne!(before, ToolSpec { labels: own, ..spec() }.version());
    }
}
