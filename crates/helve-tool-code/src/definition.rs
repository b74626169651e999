//! What a definition in the folder of tools may say.

use std::num::{NonZeroU32, NonZeroU64};

use helve_tool::{DefinitionError, read_json};
use helve_types::{
    BreakerTerms, CacheTerms, Effect, Endpoint, Example, Fallback, LabelTerms, Notice, OnUnknown, RateLimit,
    ToolDefinition, ToolKind,
};
use serde::Deserialize;
use serde_json::{Value, json};

/// A file `NAME.json` beside the program.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CodeDefinition {
    /// The name of the file unless given.
    pub(crate) name: Option<String>,
    pub(crate) display_name: Option<String>,
    /// What the tool does and when to use it; models read it.
    pub(crate) description: String,
    /// A JSON Schema of an object.
    #[serde(default = "no_parameters")]
    pub(crate) parameters: Value,
    /// The program and its arguments; the file beside the definition with the same name unless given.
    pub(crate) command: Option<Vec<String>>,
    /// What repeating a call does; what says nothing is sent at most once.
    #[serde(default = "non_idempotent")]
    pub(crate) effect: Effect,
    /// Variables of the server's environment that the program gets.
    #[serde(default)]
    pub(crate) env: Vec<String>,
    /// Which of `init` and `destroy` the program knows.
    #[serde(default)]
    pub(crate) lifecycle: Vec<LifecycleStep>,
    #[serde(default)]
    pub(crate) limits: CodeLimits,
    pub(crate) timeout_ms: Option<NonZeroU64>,
    pub(crate) rate_limit: Option<RateLimit>,
    pub(crate) cache: Option<CacheTerms>,
    pub(crate) breaker: Option<BreakerTerms>,
    pub(crate) fallback: Option<Fallback>,
    pub(crate) attempts: Option<NonZeroU32>,
    pub(crate) output_bytes_max: Option<NonZeroU32>,
    #[serde(default)]
    pub(crate) tags: Vec<String>,
    pub(crate) on_unknown: Option<OnUnknown>,
    pub(crate) check_tool: Option<String>,
    #[serde(default)]
    pub(crate) examples: Vec<Example>,
    #[serde(default)]
    pub(crate) labels: LabelTerms,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum LifecycleStep {
    Init,
    Destroy,
}

impl LifecycleStep {
    /// The argument that the program is run with.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Init => "init",
            Self::Destroy => "destroy",
        }
    }
}

/// What one process of the tool may use up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct CodeLimits {
    pub(crate) memory_mb: NonZeroU32,
    pub(crate) cpu_seconds: NonZeroU32,
    pub(crate) file_mb: NonZeroU32,
    pub(crate) open_files: NonZeroU32,
}

impl Default for CodeLimits {
    fn default() -> Self {
        let number = |value: u32| NonZeroU32::new(value).unwrap_or(NonZeroU32::MIN);
        Self {
            memory_mb: number(1024),
            cpu_seconds: number(60),
            file_mb: number(256),
            open_files: number(256),
        }
    }
}

impl CodeDefinition {
    pub(crate) fn parse(text: &[u8]) -> Result<Self, DefinitionError> {
        let not_json = |error: serde_json::Error| {
            DefinitionError::new("definition", Notice::definition_not_json(&error.to_string()))
        };
        read_json(serde_json::from_slice(text).map_err(not_json)?)
    }

    /// The same terms as a row has them, so that both are held to the same bounds.
    pub(crate) fn as_row(&self, name: &str) -> ToolDefinition {
        let definition = self.clone();
        ToolDefinition {
            id: None,
            name: name.to_owned(),
            version: None,
            kind: ToolKind::Streamable,
            display_name: definition.display_name,
            description: definition.description,
            category: None,
            endpoint: Endpoint { timeout_ms: definition.timeout_ms, ..no_endpoint() },
            parameters: definition.parameters,
            response_transform: None,
            rate_limit: definition.rate_limit,
            cache: definition.cache,
            breaker: definition.breaker,
            fallback: definition.fallback,
            attempts: definition.attempts,
            output_bytes_max: definition.output_bytes_max,
            enabled: true,
            tags: definition.tags,
            effect: Some(definition.effect),
            on_unknown: definition.on_unknown,
            check_tool: definition.check_tool,
            examples: definition.examples,
            labels: definition.labels,
        }
    }
}

fn no_endpoint() -> Endpoint {
    Endpoint {
        url_template: String::new(),
        method: Default::default(),
        query: Default::default(),
        headers: Default::default(),
        body: None,
        body_format: Default::default(),
        auth: Default::default(),
        timeout_ms: None,
        redirects: 0,
        idempotency_header: None,
        caller: None,
        busy_is_not_done: true,
    }
}

fn no_parameters() -> Value {
    json!({"type": "object", "properties": {}})
}

fn non_idempotent() -> Effect {
    Effect::NonIdempotent
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_definition_needs_only_a_description() {
        let definition = CodeDefinition::parse(br#"{"description": "Counts words."}"#).unwrap();
        assert_eq!(definition.effect, Effect::NonIdempotent);
        assert_eq!(definition.parameters, no_parameters());
    }

    #[test]
    fn what_is_wrong_with_a_definition_is_named() {
        for (text, field) in [
            (r#"{"description": "x", "effects": "read"}"#, "effects"),
            (r#"{"description": "x", "limits": {"memory_mb": 0}}"#, "limits.memory_mb"),
            (r#"{"name": "x"}"#, "description"),
            (r#"{"description": "x"} {}"#, "definition"),
            ("{", "definition"),
        ] {
            let error = CodeDefinition::parse(text.as_bytes()).unwrap_err();
            assert_eq!(error.field, field, "{text}: {error}");
        }
    }
}
