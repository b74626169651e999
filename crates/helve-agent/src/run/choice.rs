//! A call that was required: until it is made, the model is told so.

use helve_types::ToolChoice;

use super::Run;

impl Run {
    /// What the model is to do about tools now: what was asked for, until it has done so. After that it is free, or
    /// the run could never end.
    pub fn choice(&self) -> &ToolChoice {
        match &self.setup.tool_choice {
            ToolChoice::Required | ToolChoice::Named(_) if !self.owes_call() => &ToolChoice::Auto,
            choice => choice,
        }
    }

    /// Whether a call was required that the model has not made yet, well or badly.
    pub(super) fn owes_call(&self) -> bool {
        match &self.setup.tool_choice {
            ToolChoice::None | ToolChoice::Auto => false,
            ToolChoice::Required => self.message.tools().next().is_none(),
            ToolChoice::Named(name) => !self.message.tools().any(|tool| tool.tool == *name),
        }
    }
}
