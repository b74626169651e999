//! The `Model` port.

use std::borrow::Cow;
use std::pin::Pin;

use futures_util::Stream;
use helve_types::{Mode, ModelParams, StopReason, ToolChoice, ToolSpec, Usage};
use serde_json::Value;

use crate::ModelError;

pub type ModelStream = Pin<Box<dyn Stream<Item = Result<ModelEvent, ModelError>> + Send>>;

/// Something that answers.
///
/// An implementer promises: the request is read before `ask` returns, so it need not outlive the call; events
/// come as soon as they are known; a complete answer ends with `Finished` and an incomplete one never does;
/// dropping the stream stops the work; and nothing is retried, since only the caller knows what was shown.
pub trait Model: Send + Sync + 'static {
    /// What requests call it.
    fn name(&self) -> &str;

    /// How it is to be told about tools.
    fn tool_mode(&self) -> ToolMode;

    /// Parameters that hold unless the agent or the request says otherwise.
    fn params(&self) -> &ModelParams;

    /// What its server can hold it to when tools are described in the prompt.
    fn holds(&self) -> Holds {
        Holds::Nothing
    }

    /// Whether its server can be told this choice beside these parameters. Where not, the request may still carry it: the server is told
    /// as much as it takes, and the rest has to be said in the prompt.
    fn takes(&self, _choice: &ToolChoice, _params: &ModelParams) -> bool {
        true
    }

    fn ask(&self, request: &ModelRequest<'_>) -> ModelStream;
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolMode {
    /// Natively, and if the server says that it cannot, in the prompt.
    Auto,
    Fixed(Mode),
}

/// What a model is asked. Everything is borrowed: a long history is not copied for each step.
#[derive(Debug, Clone)]
pub struct ModelRequest<'a> {
    pub system: Cow<'a, str>,
    /// How many bytes of `system` are the same from question to question: the mark of a vendor's cache goes behind
    /// them. What changes stands after them.
    pub stable: usize,
    pub turns: Vec<Turn<'a>>,
    /// Empty where tools are described in the prompt or not to be used.
    pub tools: Vec<&'a ToolSpec>,
    pub tool_choice: &'a ToolChoice,
    pub params: &'a ModelParams,
    /// What the answer has to look like, for a server that can hold its model to it.
    pub form: Option<Form>,
    pub needs: Needs,
    /// What else ends the answer, besides the parameters' own: the texts with which the model would make up a result.
    pub stop: &'a [String],
    /// Whether pieces are wanted as they come.
    pub stream: bool,
}

/// What the model's server was found to need, besides what is known of its vendor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Needs {
    /// The reasoning of earlier messages must come back with them.
    pub reasoning_back: bool,
    /// Tools whose schemas say more than the plainest are refused.
    pub plain_schemas: bool,
}

/// What an answer has to look like. A server is given what it understands of this, or nothing.
#[derive(Debug, Clone, PartialEq)]
pub struct Form {
    /// In the notation of llama.cpp (GBNF), beginning at `root`; it may leave the choice between a call and words.
    pub grammar: String,
    /// A JSON Schema of a call, where words will not do; none where they will.
    pub schema: Option<Value>,
}

/// What a server can hold its model to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holds {
    Nothing,
    /// JSON of a schema.
    Schema,
    /// Anything that a grammar can say.
    Grammar,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Turn<'a> {
    User(Cow<'a, str>),
    Assistant {
        text: Cow<'a, str>,
        /// Empty where another model wrote it.
        reasoning: Cow<'a, str>,
        /// What the vendor wanted back; none where another model wrote it.
        echo: Option<&'a Value>,
        calls: Vec<TurnCall<'a>>,
    },
    /// Follows the assistant turn with the call.
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

/// What comes out of a model, piece by piece.
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
    /// What the vendor wants back with this message, known only to its protocol; at most one a message.
    Echo(Value),
    /// The answer is complete, for the reason that the server gives, which may be `Stop` although calls came; only
    /// usage may follow.
    Finished(StopReason),
}
