//! What the machine can want: of the model, of tools, of people.

use helve_tool::{Grant, Outcome, SentBefore, Unknown};
use helve_types::{CallId, Ending, Reason, RunState, Timestamp, ToolCall};

/// What is to be done next.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    AskModel {
        step: u32,
        attempt: u32,
        tools: Tools,
    },
    /// The web is searched for what the person said, before the model is asked.
    PreSearch(ToolCall),
    /// These can all go on now, side by side.
    CallTools(Vec<CallAction>),
    /// The run waits for a person or a client.
    Wait(RunState),
    Finish(Ending),
    Fail {
        code: &'static str,
        message: String,
    },
    /// There is nothing left to do.
    Over,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tools {
    Offered,
    /// The steps are used up: the model is to answer with what it has.
    Withheld,
}

/// Something to do about one call.
#[derive(Debug, Clone, PartialEq)]
pub enum CallAction {
    Execute {
        call: ToolCall,
        attempts_before: u32,
        grant: Option<Grant>,
        /// That it was sent before, if that may have taken effect.
        before: Option<SentBefore>,
    },
    /// It repeats what was done before, and a person has to say whether to go on.
    AskRepeated { call: ToolCall, because: Reason },
    /// The outcome is known without running anything.
    Settle { call: CallId, outcome: Outcome },
    /// It was in flight when the server stopped, and must not be sent again.
    RecordUnknown { call: ToolCall, sent_at: Timestamp, because: String },
    /// A person has to say what became of it.
    AskOutcome { call: ToolCall, unknown: Box<Unknown> },
    /// A person wants it done again, as a new call.
    Repeat { call: ToolCall, replaces: CallId },
}

impl CallAction {
    pub fn call_id(&self) -> &CallId {
        match self {
            Self::Execute { call, .. }
            | Self::RecordUnknown { call, .. }
            | Self::AskOutcome { call, .. }
            | Self::AskRepeated { call, .. }
            | Self::Repeat { call, .. } => &call.id,
            Self::Settle { call, .. } => call,
        }
    }
}
