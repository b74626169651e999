//! The `Model` port: a request goes in, a stream of events comes out.

use std::borrow::Cow;
use std::pin::Pin;

use futures_util::Stream;
use helve_types::{Mode, ModelParams, StopReason, ToolChoice, ToolSpec, Usage};
use serde_json::Value;

use crate::ModelError;

pub type ModelStream = Pin<Box<dyn Stream<Item = Result<ModelEvent, ModelError>> + Send>>;

/// A language model, or what stands in for one in tests and demonstrations.
///
/// An implementation promises: the request is read before `ask` returns, so it need not outlive the call; events
/// come as soon as they are known; a complete answer ends with `Finished` and an incomplete one never does;
/// dropping the stream stops the work; and nothing is retried, since only the caller knows what readers have seen.
pub trait Model: Send + Sync + 'static {
    /// The name that requests use.
    fn name(&self) -> &str;

    /// Whether tools are declared natively or described in the prompt.
    fn tool_mode(&self) -> ToolMode;

    /// Default parameters; those of the agent and of the request override them.
    fn params(&self) -> &ModelParams;

    /// Which forms of an answer the server can enforce when tools are described in the prompt.
    fn form_support(&self) -> FormSupport {
        FormSupport::None
    }

    /// Whether the server can enforce this tool choice with these parameters. If not, the request may still carry the choice:
    /// the implementation sends what the server accepts, and the caller has to put the rest into the prompt.
    fn supports_choice(&self, _choice: &ToolChoice, _params: &ModelParams) -> bool {
        true
    }

    fn ask(&self, request: &ModelRequest<'_>) -> ModelStream;
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolMode {
    /// Native, with prompt mode as the fallback for a server that refuses native tools.
    Auto,
    Fixed(Mode),
}

/// A request to a model. Everything is borrowed, so that a long history is not copied for each step.
#[derive(Debug, Clone)]
pub struct ModelRequest<'a> {
    pub system: Cow<'a, str>,
    /// The length of the prefix of `system`, in bytes, that is the same in every request of a run. The vendor's cache
    /// mark is set at its end.
    pub stable: usize,
    pub turns: Vec<Turn<'a>>,
    /// Empty if tools are described in the prompt or may not be used.
    pub tools: Vec<&'a ToolSpec>,
    pub tool_choice: &'a ToolChoice,
    pub params: &'a ModelParams,
    /// The form of the answer, for a server that can enforce it.
    pub form: Option<Form>,
    pub needs: Needs,
    /// Stop texts besides those of `params`: with these the model would begin to invent a tool result.
    pub stop: &'a [String],
    /// Whether the answer is streamed.
    pub stream: bool,
}

/// Needs of the model's server that a probe found, besides what the vendor's row says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Needs {
    /// The reasoning of earlier messages must come back with them.
    pub reasoning_back: bool,
    /// The server refuses tools whose schemas use more than the basic keywords.
    pub plain_schemas: bool,
}

/// The form of an answer. A server is sent the representation that it understands, or none.
#[derive(Debug, Clone, PartialEq)]
pub struct Form {
    /// A GBNF grammar (the notation of llama.cpp) that starts at `root`; it may allow both a call and plain text.
    pub grammar: String,
    /// A JSON Schema of a call if the answer must be a call; none if it may be plain text.
    pub schema: Option<Value>,
}

/// Which form of an answer a server can enforce.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FormSupport {
    None,
    /// JSON that fits a schema.
    Schema,
    /// Text that fits a grammar.
    Grammar,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Turn<'a> {
    User(Cow<'a, str>),
    Assistant {
        text: Cow<'a, str>,
        /// Empty if another model wrote the message.
        reasoning: Cow<'a, str>,
        /// Data that the vendor requires back with the message; none if another model wrote it.
        echo: Option<&'a Value>,
        calls: Vec<TurnCall<'a>>,
    },
    /// The result of a call of the preceding assistant turn.
    Result {
        id: Cow<'a, str>,
        tool: Cow<'a, str>,
        text: Cow<'a, str>,
        is_error: bool,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnCall<'a> {
    pub id: Cow<'a, str>,
    pub tool: Cow<'a, str>,
    /// JSON text.
    pub arguments: Cow<'a, str>,
}

/// One piece of a model's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelEvent {
    Reasoning(String),
    Text(String),
    /// Calls are numbered from 0 in the order in which they begin.
    CallStarted {
        index: u32,
        id: Option<String>,
        tool: String,
    },
    CallArguments {
        index: u32,
        text: String,
    },
    /// The server marks this call as complete while it still writes its message. A message that breaks off afterwards
    /// takes the call with it.
    CallFinished {
        index: u32,
    },
    Usage(Usage),
    /// Data that the vendor requires back with this message, in a form that only its protocol knows; at most one per message.
    Echo(Value),
    /// The answer is complete. The server's reason may be `Stop` although there are calls. Only `Usage` may follow.
    Finished(StopReason),
}
