//! What the mock understands of a question, whatever protocol it came in.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

/// As much of a request as a script needs.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ModelRequest {
    pub(super) model: String,
    /// What the user said last.
    pub(super) user: String,
    /// How many messages the model has written since.
    pub(super) round: usize,
    /// The first tool that is declared.
    pub(super) first_tool: Option<String>,
    /// Whether tools are described in the prompt and calls are to be written into the text.
    pub(super) wants_text: bool,
    /// Whether pieces are wanted, if the body says so.
    pub(super) stream: Option<bool>,
}

impl ModelRequest {
    pub(super) fn has_tools(&self) -> bool {
        self.first_tool.is_some() || self.wants_text
    }

    /// Reads the turns, oldest first; the content of each is JSON text as it came.
    pub(super) fn from_turns(system: Option<&RawValue>, turns: &[(Role, Option<&RawValue>)]) -> Self {
        let mut asked = Self {
            wants_text: system.is_some_and(|system| system.get().contains("<tool_call>")),
            ..Self::default()
        };
        for (who, content) in turns.iter().rev() {
            match who {
                Role::Model => asked.round += 1,
                Role::Tool => {}
                Role::User => {
                    let text = content.map(text_of).unwrap_or_default();
                    // A result that is passed on in the user's name is nothing that the user said.
                    if !text.starts_with("<tool_response>") {
                        asked.user = text;
                        return asked;
                    }
                }
            }
        }
        asked
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    User,
    Model,
    /// A result, whoever it is sent as.
    Tool,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Content<'a> {
    #[serde(borrow)]
    Text(Cow<'a, str>),
    Parts(#[serde(borrow)] Vec<Part<'a>>),
}

#[derive(Deserialize)]
struct Part<'a> {
    #[serde(borrow, default)]
    text: Option<Cow<'a, str>>,
}

fn text_of(content: &RawValue) -> String {
    match serde_json::from_str(content.get()) {
        Ok(Content::Text(text)) => text.into_owned(),
        Ok(Content::Parts(parts)) => parts.iter().filter_map(|part| part.text.as_deref()).collect(),
        Err(_) => String::new(),
    }
}
