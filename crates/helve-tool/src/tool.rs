//! The `Tool` port.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use helve_types::{Notice, ToolOutput, ToolSpec, UserQuestion};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{CallContext, SubagentRequest};

pub type ToolFuture<'a> = Pin<Box<dyn Future<Output = Result<ToolOutput, ToolError>> + Send + 'a>>;

/// Something a model can ask for.
///
/// An implementer promises: the definition never changes while the tool is registered; dropping the future
/// stops the work; the errors tell truly whether the effect can have happened, since that decides whether the
/// call may be repeated; and the call's id is passed on as the key under which an idempotent effect happens.
/// A tool only declares what it touches, by its effect class; it never asks for permission and never retries.
/// Making the value is its start, dropping it is its end.
pub trait Tool: Send + Sync + 'static {
    fn spec(&self) -> &ToolSpec;

    /// Whether it has what it needs to do anything: a key, most often. One that has not says so when it is called, and is not
    /// called by anything but a model or a person.
    fn is_configured(&self) -> bool {
        true
    }

    /// What a call would send, in full, for the person who decides about it: the names of secrets stand in their place.
    /// None where that is not more than the arguments.
    fn preview(&self, _request: Request<'_>, _cx: &CallContext) -> Option<String> {
        None
    }

    /// What a person is asked in place of a call, whose result is then their reply; or what the model can do better. None
    /// where the tool does the work itself.
    fn question(&self, _request: Request<'_>) -> Option<Result<UserQuestion, String>> {
        None
    }

    /// Whether its calls are tasks for another agent.
    fn is_subagent(&self) -> bool {
        false
    }

    /// What another agent is to do in place of a call, whose result is then that agent's answer; or what the model can do
    /// better. None where the tool does the work itself.
    fn subagent_request(&self, _request: Request<'_>) -> Option<Result<SubagentRequest, String>> {
        None
    }

    /// What the tool is told of a call beside its arguments, such as the id of the request: calls that differ in it have
    /// their own answers in the cache.
    fn told_ids(&self, _cx: &CallContext) -> Vec<String> {
        vec![]
    }

    /// Runs with arguments that fit the schema. Pieces are reported as `cx.progress` while they come.
    fn call<'a>(&'a self, request: Request<'a>, cx: &'a CallContext) -> ToolFuture<'a>;
}

/// Checked arguments.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    pub arguments: &'a Value,
}

impl Request<'_> {
    /// The arguments as the struct that the schema was made from.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, ToolError> {
        T::deserialize(self.arguments).map_err(|error| ToolError::Declined(error.to_string()))
    }
}

/// Why a tool gave no output, by what may be done next.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ToolError {
    /// The tool answered, and the answer is no: nothing was done. The model reads the text.
    #[error("{0}")]
    Declined(String),

    /// As `Declined`, by a tool that is not well: it counts against its breaker.
    #[error("{0}")]
    Ailing(String),

    /// Nothing has left this process.
    #[error("{0}")]
    NotSent(String),

    /// The other side is too busy and has not done it.
    #[error("{message}")]
    Busy { message: String, retry_after: Option<Duration> },

    /// It was sent, and its outcome is unknown.
    #[error("{0}")]
    Lost(String),

    /// Any of these, with what a person is told in the place of the general sentence.
    #[error("{error}")]
    Explained { error: Box<Self>, notice: Box<Notice> },
}

impl ToolError {
    /// With what a person is told.
    #[must_use]
    pub fn with_notice(self, notice: Notice) -> Self {
        Self::Explained { error: Box::new(self.without_notice()), notice: Box::new(notice) }
    }

    /// The error alone.
    #[must_use]
    pub fn without_notice(self) -> Self {
        self.split_notice().0
    }

    /// The plain error, and what a person is told about it.
    pub fn split_notice(self) -> (Self, Notice) {
        match self {
            Self::Explained { error, notice } => (*error, *notice),
            Self::Declined(_) => (self, Notice::tool_declined()),
            Self::Ailing(_) => (self, Notice::tool_unwell()),
            Self::NotSent(_) => (self, Notice::tool_not_reached()),
            Self::Busy { .. } => (self, Notice::tool_busy()),
            Self::Lost(_) => (self, Notice::tool_lost()),
        }
    }

    /// What happened, without a word of the other side's: for the log and for alarms, which others may read.
    pub fn summary(&self) -> &'static str {
        match self {
            Self::Declined(_) => "it said no",
            Self::Ailing(_) => "it answered, but not as it should",
            Self::NotSent(_) => "it could not be reached",
            Self::Busy { .. } => "it is too busy",
            Self::Lost(_) => "it failed, or did not answer",
            Self::Explained { error, .. } => error.summary(),
        }
    }
}

/// The JSON Schema of a tool's argument struct, which is the only source of what models are told about it.
pub fn schema_of<T: JsonSchema>() -> Value {
    let settings = schemars::generate::SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    if let Some(members) = schema.as_object_mut() {
        // The struct's name says nothing to a model, and its doc comment is for maintainers.
        members.remove("title");
        members.remove("description");
    }
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        properties.values_mut().for_each(drop_null_type);
    }
    schema
}

/// What may be left out need not be null as well: several vendors and chat templates know no union types. A model
/// that sends null all the same is understood (see `check`).
fn drop_null_type(property: &mut Value) {
    if let Some(Value::Array(types)) = property.get_mut("type") {
        types.retain(|kind| kind != "null");
        if let [only] = &types[..] {
            property["type"] = only.clone();
        }
    }
    if let Some(Value::Array(values)) = property.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    if let Some(Value::Array(forms)) = property.get_mut("anyOf") {
        forms.retain(|form| form.get("type").is_none_or(|kind| kind != "null"));
        if let [only] = &mut forms[..] {
            let only = std::mem::take(only);
            if let (Value::Object(property), Value::Object(only)) = (property, only) {
                property.remove("anyOf");
                property.extend(only);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_field_that_may_be_left_out_has_one_type() {
        #[derive(JsonSchema)]
        #[expect(dead_code, reason = "only its schema is used")]
        struct Arguments {
            /// What to look for.
            query: String,
            limit: Option<u8>,
            depth: Option<Depth>,
        }
        #[derive(JsonSchema)]
        #[serde(rename_all = "snake_case")]
        #[expect(dead_code, reason = "only its schema is used")]
        enum Depth {
            Basic,
            Advanced,
        }
        let schema = schema_of::<Arguments>();
        assert_eq!(
            schema["properties"]["query"],
            json!({"description": "What to look for.", "type": "string"})
        );
        assert_eq!(schema["properties"]["limit"]["type"], "integer");
        assert_eq!(schema["properties"]["depth"]["type"], "string");
        assert_eq!(schema["properties"]["depth"]["enum"], json!(["basic", "advanced"]));
        assert_eq!(schema["required"], json!(["query"]));
    }
}
