//! Saying in words that a call is required, where the server cannot be told or the model did not listen.

use helve_dialect::Language;
use helve_types::ToolChoice;

/// For the system prompt.
pub(super) fn write_demand(choice: &ToolChoice, language: Language) -> Option<String> {
    Some(match (choice, language) {
        (ToolChoice::None | ToolChoice::Auto, _) => return None,
        (ToolChoice::Required, Language::English) => {
            "A tool must be called now: reply with a tool call.".to_owned()
        }
        (ToolChoice::Required, Language::Chinese) => "现在必须调用一个工具：请以工具调用作答。".to_owned(),
        (ToolChoice::Named(name), Language::English) => {
            format!("The tool `{name}` must be called now: reply with a call of `{name}`.")
        }
        (ToolChoice::Named(name), Language::Chinese) => {
            format!("现在必须调用工具 `{name}`：请以对 `{name}` 的调用作答。")
        }
    })
}

/// For a last turn, after the model has answered in words.
pub(super) fn write_reminder(choice: &ToolChoice, language: Language) -> Option<String> {
    let sentence = write_demand(choice, language)?;
    Some(match language {
        Language::English => format!("That was no tool call. {sentence}"),
        Language::Chinese => format!("刚才的回答不是工具调用。{sentence}"),
    })
}
