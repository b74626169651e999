//! A call that was required: until it is made, the model is told so.

use helve_types::ToolChoice;

use super::Run;

/// What the model is to do about tools now: what was asked for, until it has done so. After that it is free, or the run
/// could never end.
pub(super) fn current_tool_choice(run: &Run) -> &ToolChoice {
    match &run.setup.tool_choice {
        ToolChoice::Required | ToolChoice::Named(_) if !still_owes_required_call(run) => &ToolChoice::Auto,
        choice => choice,
    }
}

/// Whether a call was required that the model has not made yet, well or badly.
pub(super) fn still_owes_required_call(run: &Run) -> bool {
    match &run.setup.tool_choice {
        ToolChoice::None | ToolChoice::Auto => false,
        ToolChoice::Required => run.message.tools().next().is_none(),
        ToolChoice::Named(name) => !run.message.tools().any(|tool| tool.tool == *name),
    }
}
