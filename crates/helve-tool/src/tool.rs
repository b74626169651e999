//! The `Tool` port.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use helve_types::{ToolOutput, ToolSpec};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::CallContext;

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

    /// Nothing has left this process.
    #[error("{0}")]
    NotSent(String),

    /// The other side is too busy and has not done it.
    #[error("{message}")]
    Busy { message: String, retry_after: Option<Duration> },

    /// It was sent, and nobody knows what became of it.
    #[error("{0}")]
    Lost(String),
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
    schema
}
