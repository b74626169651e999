//! The turns of a history that the client keeps: taken as said, and made valid.
//!
//! Results come as `tool` messages, or said by the user: `{"tool_call_result": {"toolCallId", "result"}}`, one or several,
//! fenced or not. What names no call that waits for it is what the user says, and is not lost.

use std::borrow::Cow;

use helve_model::{Turn, TurnCall};
use helve_types::{ChatCall, ChatMessage, ChatRole};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::shown::{LEFT_OUT_BYTES_MIN, ShownHistory, format_omitted_output};
use super::{Output, PlacedTurn, TurnPlace, valid_arguments};

const MISSING: &str = "Error: the client sent no result for this call.";

pub(super) fn add_client_turns<'a>(
    messages: &'a [ChatMessage],
    shown: &ShownHistory<'_>,
    turns: &mut Vec<PlacedTurn<'a>>,
) {
    let mut rest = messages;
    while let Some((message, more)) = rest.split_first() {
        let at = messages.len() - rest.len();
        let place = TurnPlace { message: at, step: 0, output: Output::Stays };
        let placed = |turn| PlacedTurn { turn, place };
        rest = more;
        match message.role {
            // A message of the client, whatever role it claims; a system prompt of its own is only a wish.
            ChatRole::System | ChatRole::User => {
                turns.push(placed(Turn::User(Cow::Borrowed(&message.content))));
            }
            // A result that follows no call.
            ChatRole::Tool => {}
            ChatRole::Assistant if message.calls.is_empty() => {
                if !message.content.is_empty() {
                    turns.push(placed(assistant_turn(message)));
                }
            }
            ChatRole::Assistant => {
                turns.push(placed(assistant_turn(message)));
                let is_next = |message: &ChatMessage| message.role == ChatRole::Assistant;
                let (between, next) = rest.split_at(rest.iter().position(is_next).unwrap_or(rest.len()));
                rest = next;
                let mut heard: Vec<MessageBetweenCalls<'_>> =
                    between.iter().map(MessageBetweenCalls::new).collect();
                turns.extend(message.calls.iter().map(|call| result_turn(call, &mut heard, place, shown)));
                turns.extend(
                    heard.iter().filter_map(MessageBetweenCalls::remaining_text).map(Turn::User).map(placed),
                );
            }
        }
    }
}

fn assistant_turn(message: &ChatMessage) -> Turn<'_> {
    let mut calls = Vec::with_capacity(message.calls.len());
    for call in &message.calls {
        calls.push(TurnCall {
            id: Cow::Borrowed(&call.id),
            tool: Cow::Borrowed(&call.name),
            arguments: Cow::Borrowed(valid_arguments(&call.arguments)),
        });
    }
    Turn::Assistant {
        text: Cow::Borrowed(&message.content),
        reasoning: Cow::Borrowed(&message.reasoning),
        echo: None,
        calls,
    }
}

/// The result of a call, which is used up.
fn result_turn<'a>(
    call: &'a ChatCall,
    heard: &mut [MessageBetweenCalls<'a>],
    place: TurnPlace<'a>,
    shown: &ShownHistory<'_>,
) -> PlacedTurn<'a> {
    let found = heard.iter_mut().find_map(|heard| heard.take_result_of(&call.id));
    let (text, is_error) = found.unwrap_or((Cow::Borrowed(MISSING), true));
    let is_long = !is_error && text.len() >= LEFT_OUT_BYTES_MIN;
    let (text, output) = match (is_long, shown.shows_client_results_of(place.message)) {
        (false, _) => (text, Output::Stays),
        (true, true) => (text, Output::OfClient),
        (true, false) => (Cow::Owned(format_omitted_output(text.len(), None)), Output::Stays),
    };
    let (id, tool) = (Cow::Borrowed(&*call.id), Cow::Borrowed(&*call.name));
    PlacedTurn { turn: Turn::Result { id, tool, text, is_error }, place: TurnPlace { output, ..place } }
}

/// What was said between two messages of the model.
enum MessageBetweenCalls<'a> {
    Text(&'a str),
    Tool { id: Option<&'a str>, text: &'a str },
    Results { all: &'a str, given: Vec<WrittenResult<'a>>, is_used: bool },
    Used,
}

impl<'a> MessageBetweenCalls<'a> {
    fn new(message: &'a ChatMessage) -> Self {
        let all = message.content.as_str();
        match message.role {
            ChatRole::Tool => Self::Tool { id: message.call_id.as_deref(), text: all },
            ChatRole::User => match parse_written_results(all) {
                Some(given) => Self::Results { all, given, is_used: false },
                None => Self::Text(all),
            },
            ChatRole::System | ChatRole::Assistant => Self::Text(all),
        }
    }

    /// The result of this call, if it is here, and whether it is an error.
    fn take_result_of(&mut self, call: &str) -> Option<(Cow<'a, str>, bool)> {
        match self {
            Self::Tool { id: Some(id), text } if *id == call => {
                let text = Cow::Borrowed(*text);
                *self = Self::Used;
                Some((text, false))
            }
            Self::Results { given, is_used, .. } => {
                let at = given.iter().position(|one| one.id == call)?;
                *is_used = true;
                Some(given.remove(at).into_text())
            }
            Self::Text(_) | Self::Tool { .. } | Self::Used => None,
        }
    }

    /// What is left of it for the model to read.
    fn remaining_text(&self) -> Option<Cow<'a, str>> {
        match self {
            Self::Text(text) | Self::Results { all: text, is_used: false, .. } => Some(Cow::Borrowed(text)),
            Self::Results { given, .. } if !given.is_empty() => {
                Some(Cow::Owned(given.iter().map(|one| one.whole.get()).collect::<Vec<_>>().join("\n")))
            }
            // A result that follows no call.
            Self::Results { .. } | Self::Tool { .. } | Self::Used => None,
        }
    }
}

/// A result that the user brings.
struct WrittenResult<'a> {
    id: Cow<'a, str>,
    result: Option<&'a RawValue>,
    error: Option<&'a RawValue>,
    /// As it was said.
    whole: &'a RawValue,
}

#[derive(Deserialize)]
struct Wrapped<'a> {
    #[serde(borrow)]
    tool_call_result: ResultFields<'a>,
}

#[derive(Deserialize)]
struct ResultFields<'a> {
    #[serde(borrow, rename = "toolCallId", alias = "tool_call_id")]
    id: Cow<'a, str>,
    #[serde(borrow, default)]
    result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

impl<'a> WrittenResult<'a> {
    fn parse(whole: &'a RawValue) -> Option<Self> {
        let Wrapped { tool_call_result: ResultFields { id, result, error } } =
            serde_json::from_str(whole.get()).ok()?;
        Some(Self { id, result, error, whole })
    }

    /// What the model reads, and whether it is an error.
    fn into_text(self) -> (Cow<'a, str>, bool) {
        match (self.result, self.error) {
            (None, Some(error)) => (Cow::Owned(format!("Error: {}", text_of_json(error))), true),
            (Some(result), _) => (text_of_json(result), false),
            // JavaScript leaves out what is undefined.
            (None, None) => (Cow::Borrowed("null"), false),
        }
    }
}

/// Text as it is, anything else as it is written.
fn text_of_json(value: &RawValue) -> Cow<'_, str> {
    let written = value.get();
    serde_json::from_str::<String>(written).map_or(Cow::Borrowed(written), Cow::Owned)
}

/// Parses a message that consists of tool results only; none if it says anything else as well, because then it is
/// shown to the model as it stands.
fn parse_written_results(content: &str) -> Option<Vec<WrittenResult<'_>>> {
    if !content.contains("tool_call_result") {
        return None;
    }
    let mut given = vec![];
    for value in serde_json::Deserializer::from_str(strip_code_fence(content)).into_iter::<&RawValue>() {
        let value = value.ok()?;
        match serde_json::from_str::<Vec<&RawValue>>(value.get()) {
            Ok(several) => {
                for one in several {
                    given.push(WrittenResult::parse(one)?);
                }
            }
            Err(_) => given.push(WrittenResult::parse(value)?),
        }
    }
    (!given.is_empty()).then_some(given)
}

/// Whether what a user says is nothing but results of calls.
pub(crate) fn has_written_results(content: &str) -> bool {
    parse_written_results(content).is_some()
}

/// The text inside of a code fence, if it is all in one.
fn strip_code_fence(content: &str) -> &str {
    let text = content.trim();
    let inside = text.strip_prefix("```").and_then(|rest| rest.strip_suffix("```"));
    let inside = inside.and_then(|inside| inside.split_once('\n'));
    match inside {
        Some((language, inside)) if language.trim().chars().all(char::is_alphanumeric) => inside,
        _ => text,
    }
}

#[cfg(test)]
mod tests;
