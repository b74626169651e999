//! What comes out of the parser.

use helve_json::Repair;

/// One piece of a model's message, in order.
///
/// `index` numbers the calls of a message from 0, in the order in which they begin; one that is dropped has its number too.
///
/// Text and reasoning are final. A call is final only when it is finished: `CallStarted` and `CallArguments` let a
/// page show a call while it is being written, and may still be taken back by `CallDropped`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece<'a> {
    /// The answer.
    Text(&'a str),
    /// The model's reasoning.
    Reasoning(&'a str),
    /// A call has named its tool.
    CallStarted { index: u32, name: &'a str },
    /// More of the call's argument text. Unless the call was repaired, these add up to its arguments.
    CallArguments { index: u32, text: &'a str },
    /// A whole call, the only thing that may be run.
    CallFinished { index: u32, call: ParsedCall },
    /// What looked like a call is none. It may never have started.
    CallDropped {
        index: u32,
        name: Option<&'a str>,
        why: Dropped,
        /// What the model wrote, markup and all; empty for a quotation, which comes out as text.
        text: &'a str,
    },
}

/// A call as the model wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParsedCall {
    /// The id in the text, where the dialect has one.
    pub id: Option<String>,
    /// The name as written, which may differ from the declared one.
    pub name: String,
    /// The arguments' JSON text, as written wherever that was JSON. An object, unless the model wrote another value.
    pub arguments: String,
    /// What had to be repaired.
    pub repairs: Vec<Repair>,
}

/// Why a call was dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dropped {
    /// The stream ended inside it, or was cut before anything vouched for its end.
    Cut,
    /// It is no call, or not JSON in exactly one reading.
    Broken,
    /// It was quoted: in code, in closed reasoning, or with prose after it. Its text follows as text.
    Quoted,
}

/// How the stream ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum End {
    /// The model had finished.
    Normal,
    /// Something stopped it: the token limit, a broken connection, a person.
    Cut,
}

/// What was found out about a whole message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Finding {
    /// The dialect its calls were written in, or the one that was given.
    pub dialect: Option<&'static str>,
    /// The stream ended normally, and no call was cut off or broken.
    pub complete: bool,
    /// The text began inside reasoning: a mark closed it that none in the text had opened. So the prompt had.
    pub reasoning_open: bool,
}
