//! The search before the first question to the model: a call like any other, made with the person's own words.
//!
//! It is on record under a step of its own, before the first, so a run that is resumed knows whether it was made.

use helve_tool::SEARCH_WEB;
use helve_types::{CallId, ChatRole, RunInput, ToolCall};
use serde_json::json;

use super::Run;
use crate::transcript::has_written_results;

/// The model's first message is step 1.
pub(crate) const PRE_SEARCH_STEP: u32 = 0;
/// What the search takes.
const QUERY_CHARS_MAX: usize = 400;

/// The search that is to be made now, if one is.
pub(super) fn pre_search_to_make(run: &Run) -> Option<ToolCall> {
    if !run.setup.pre_search || run.pre_searched || run.step > 0 || !begins_with_user_message(run) {
        return None;
    }
    let query: String = run.text.trim().chars().take(QUERY_CHARS_MAX).collect();
    Some(ToolCall {
        id: CallId::new(run.id, PRE_SEARCH_STEP, 0),
        provider_id: None,
        name: SEARCH_WEB.into(),
        arguments: json!({"query": query, "preset": "quick"}).to_string(),
        repairs: vec![],
    })
}

/// Whether it begins with what a person says, and not with the result of a call that a client brings.
fn begins_with_user_message(run: &Run) -> bool {
    match &run.setup.input {
        RunInput::Conversation => true,
        RunInput::Client { messages } => messages
            .last()
            .is_some_and(|last| last.role == ChatRole::User && !has_written_results(&last.content)),
        RunInput::Call => false,
    }
}
