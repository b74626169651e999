//! The past as a client tells it, which keeps the history itself.

use std::borrow::Cow;

use helve_model::{Turn, TurnCall};
use helve_types::{ChatCall, ChatMessage, ChatRole};
use serde_json::Value;

use super::shown::{LEFT_OUT_BYTES_MIN, Shown, left_out};
use super::{Output, Place, Placed, sound};

/// The turns of a history that the client keeps. It is taken as said, and made valid.
pub(super) fn client_turns<'a>(messages: &'a [ChatMessage], shown: &Shown<'_>, turns: &mut Vec<Placed<'a>>) {
    let mut at = 0;
    while let Some(message) = messages.get(at) {
        let place = Place { message: at, step: 0, output: Output::Stays };
        at += 1;
        match message.role {
            // Spoken by the client, whoever it claims to be; a system prompt of its own is only a wish.
            ChatRole::System | ChatRole::User => {
                turns.push(Placed { turn: Turn::User(Cow::Borrowed(&message.content)), place });
            }
            // A result that follows no call.
            ChatRole::Tool => {}
            ChatRole::Assistant if message.calls.is_empty() => {
                if !message.content.is_empty() {
                    turns.push(Placed { turn: assistant(message), place });
                }
            }
            ChatRole::Assistant => {
                turns.push(Placed { turn: assistant(message), place });
                let answers = messages[at..].iter().take_while(|next| answers_call(next)).count();
                let answers = &messages[at..at + answers];
                at += answers.len();
                for call in &message.calls {
                    let answer = answers.iter().find_map(|answer| client_result(answer, &call.id));
                    turns.push(client_result_turn(call, answer, place, shown));
                }
            }
        }
    }
}

fn client_result_turn<'a>(
    call: &'a ChatCall,
    answer: Option<Cow<'a, str>>,
    place: Place<'a>,
    shown: &Shown<'_>,
) -> Placed<'a> {
    let is_error = answer.is_none();
    let text = answer.unwrap_or(Cow::Borrowed("Error: the client sent no result for this call."));
    let long = !is_error && text.len() >= LEFT_OUT_BYTES_MIN;
    let (text, output) = match (long, shown.is_client_message(place.message)) {
        (false, _) => (text, Output::Stays),
        (true, true) => (text, Output::OfClient),
        (true, false) => (Cow::Owned(left_out(text.len(), None)), Output::Stays),
    };
    let (id, tool) = (Cow::Borrowed(&*call.id), Cow::Borrowed(&*call.name));
    Placed { turn: Turn::Result { id, tool, text, is_error }, place: Place { output, ..place } }
}

fn assistant(message: &ChatMessage) -> Turn<'_> {
    let mut calls = Vec::with_capacity(message.calls.len());
    for call in &message.calls {
        calls.push(TurnCall {
            id: Cow::Borrowed(&call.id),
            tool: Cow::Borrowed(&call.name),
            arguments: Cow::Borrowed(sound(&call.arguments)),
        });
    }
    Turn::Assistant {
        text: Cow::Borrowed(&message.content),
        reasoning: Cow::Borrowed(&message.reasoning),
        echo: None,
        calls,
    }
}

/// A `tool` message, or the same thing said by the user: `{"tool_call_result": {"toolCallId", "result"}}`.
fn answers_call(message: &ChatMessage) -> bool {
    message.role == ChatRole::Tool || said_by_user(message).is_some()
}

fn client_result<'a>(message: &'a ChatMessage, id: &str) -> Option<Cow<'a, str>> {
    if message.role == ChatRole::Tool {
        return (message.call_id.as_deref() == Some(id)).then_some(Cow::Borrowed(&*message.content));
    }
    let (call_id, result) = said_by_user(message)?;
    let text = result.as_str().map_or_else(|| result.to_string(), str::to_owned);
    (call_id == id).then_some(Cow::Owned(text))
}

fn said_by_user(message: &ChatMessage) -> Option<(String, Value)> {
    if message.role != ChatRole::User || !message.content.trim_start().starts_with('{') {
        return None;
    }
    let mut said: Value = serde_json::from_str(&message.content).ok()?;
    let result = said.get_mut("tool_call_result")?;
    let id = result.get("toolCallId")?.as_str()?.to_owned();
    Some((id, result.get_mut("result").map(Value::take).unwrap_or_default()))
}
