//! What the model is shown of the past: a pure view of messages, valid for every prefix of every log.
//!
//! Vendors refuse a history in which a call has no result or a result no call. So each call is followed by
//! exactly one result: the real one, or a plain statement that there is none. Whatever cannot be paired is left
//! out on both sides.

mod client;

use std::borrow::Cow;

use helve_model::{Turn, TurnCall};
use helve_types::{Fingerprint, Message, Part, Role, RunInput, ToolPart, ToolState};
use serde_json::{Value, json};

use self::client::client_turns;
use crate::run::Run;

/// The model that is shown the past.
#[derive(Debug, Clone, Copy)]
pub struct Reader<'a> {
    /// Its configured name.
    pub model: &'a str,
    /// Which model it is behind that name, where that is known.
    pub fingerprint: Option<&'a Fingerprint>,
}

impl Reader<'_> {
    /// Whether it wrote a message itself. The same name is not enough: the operator may have given it to another
    /// model since. What was recorded without a fingerprint goes by the name.
    fn wrote(&self, author: Option<&str>, fingerprint: Option<&Fingerprint>) -> bool {
        author == Some(self.model) && fingerprint.is_none_or(|written| Some(written) == self.fingerprint)
    }
}

/// The turns before the next message of the model that is asked. What only the model that thought it may see again is
/// left out where another one answers.
pub fn transcript<'a>(history: &'a [Message], run: &'a Run, reader: Reader<'_>) -> Vec<Turn<'a>> {
    let mut turns = vec![];
    match &run.setup().input {
        RunInput::Client { messages } => client_turns(messages, &mut turns),
        RunInput::Conversation | RunInput::Call => {
            for message in history {
                message_turns(message, reader, &mut turns);
            }
            turns.push(Turn::User(Cow::Borrowed(run.text())));
        }
    }
    message_turns(run.message(), reader, &mut turns);
    turns
}

fn message_turns<'a>(message: &'a Message, reader: Reader<'_>, turns: &mut Vec<Turn<'a>>) {
    if message.role == Role::User {
        turns.push(Turn::User(Cow::Owned(message.text())));
        return;
    }
    let first_turn = turns.len();
    let mut rest = &message.parts[..];
    while let Some(first) = rest.first() {
        let Some(step) = step_of(first) else {
            rest = &rest[1..];
            continue;
        };
        let end = rest.iter().position(|part| step_of(part) != Some(step)).unwrap_or(rest.len());
        let (parts, more) = rest.split_at(end);
        let record = message.steps.iter().find(|record| record.step == step);
        let author = record.map(|record| &*record.model).or(message.model.as_deref());
        let fingerprint = record.and_then(|record| record.fingerprint.as_ref());
        let own = if reader.wrote(author, fingerprint) {
            Own::Yes { echo: record.and_then(|record| record.echo.as_ref()) }
        } else {
            Own::No
        };
        step_turns(parts, own, turns);
        rest = more;
    }
    point_out_repeats(&mut turns[first_turn..]);
}

/// Told to a model with a result that it has seen before, for the same call: the next time it is not made.
const SAME_AGAIN: &str = "\n[note: this is the same call with the same result as before. Making it again changes \
                          nothing; do something else, or answer with what you have]";

/// Says of a result that is the last one again, for the same call, that it is.
fn point_out_repeats(turns: &mut [Turn<'_>]) {
    for at in repeats(turns) {
        if let Turn::Result { text, .. } = &mut turns[at] {
            text.to_mut().push_str(SAME_AGAIN);
        }
    }
}

fn repeats(turns: &[Turn<'_>]) -> Vec<usize> {
    let mut calls: &[TurnCall<'_>] = &[];
    let mut last = None;
    let mut found = vec![];
    for (at, turn) in turns.iter().enumerate() {
        match turn {
            Turn::Assistant { calls: asked, .. } => calls = asked,
            Turn::Result { id, text, .. } => {
                let call = calls.iter().find(|call| call.id == *id);
                let done = call.map(|call| (&call.tool, &call.arguments, text));
                if done.is_some() && done == last {
                    found.push(at);
                }
                last = done;
            }
            Turn::User(_) => {}
        }
    }
    found
}

/// A notice is for people; models do not see it.
fn step_of(part: &Part) -> Option<u32> {
    match part {
        Part::Text { step, .. } | Part::Reasoning { step, .. } => Some(*step),
        Part::Tool(tool) => Some(tool.step),
        Part::Notice { .. } => None,
    }
}

/// Whether the model that is asked now wrote a message itself.
enum Own<'a> {
    Yes { echo: Option<&'a Value> },
    No,
}

/// One message of the model, and the results of its calls.
fn step_turns<'a>(parts: &'a [Part], own: Own<'a>, turns: &mut Vec<Turn<'a>>) {
    let mut text = Cow::Borrowed("");
    let mut reasoning = Cow::Borrowed("");
    let mut tools: Vec<&ToolPart> = vec![];
    for part in parts {
        match part {
            Part::Text { text: more, .. } => join(&mut text, more),
            Part::Reasoning { text: more, .. } => join(&mut reasoning, more),
            Part::Tool(tool) => tools.push(tool),
            Part::Notice { .. } => {}
        }
    }
    if text.is_empty() && tools.is_empty() {
        return;
    }
    let calls = tools.iter().map(|tool| call(tool)).collect();
    let (reasoning, echo) = match own {
        Own::Yes { echo } => (reasoning, echo),
        Own::No => (Cow::Borrowed(""), None),
    };
    turns.push(Turn::Assistant { text, reasoning, echo, calls });
    turns.extend(tools.into_iter().map(result));
}

fn join<'a>(all: &mut Cow<'a, str>, more: &'a str) {
    if all.is_empty() {
        *all = Cow::Borrowed(more);
    } else {
        let all = all.to_mut();
        all.push_str("\n\n");
        all.push_str(more);
    }
}

fn call(tool: &ToolPart) -> TurnCall<'_> {
    TurnCall {
        id: Cow::Borrowed(name_of(tool)),
        tool: Cow::Borrowed(if tool.tool.is_empty() { "unknown" } else { &tool.tool }),
        arguments: Cow::Borrowed(sound(&tool.input)),
    }
}

fn result(tool: &ToolPart) -> Turn<'_> {
    let (text, is_error): (Cow<'_, str>, bool) = match (&tool.output, &tool.failure) {
        (Some(output), _) => (Cow::Borrowed(&output.text), false),
        (None, Some(_)) if tool.state == ToolState::Unknown => (Cow::Owned(unknown(tool)), true),
        (None, Some(failure)) => (Cow::Owned(format!("Error: {}", failure.message)), true),
        (None, None) => {
            (Cow::Borrowed("Error: there is no result; the run ended before this call did."), true)
        }
    };
    Turn::Result {
        id: Cow::Borrowed(name_of(tool)),
        tool: Cow::Borrowed(if tool.tool.is_empty() { "unknown" } else { &tool.tool }),
        text,
        is_error,
    }
}

/// The name under which the model knows the call.
fn name_of(tool: &ToolPart) -> &str {
    tool.provider_id.as_deref().unwrap_or(tool.call.as_str())
}

/// Told to the model when nobody can say whether the effect happened.
fn unknown(tool: &ToolPart) -> String {
    json!({
        "status": "outcome_unknown",
        "call_id": tool.call,
        "sent_at": tool.started_at,
        "note": "The effect may have happened. Verify before repeating.",
    })
    .to_string()
}

/// Vendors refuse a history with broken arguments; the call's result says what was wrong with them.
fn sound(arguments: &str) -> &str {
    let is_object = serde_json::from_str::<Value>(arguments).is_ok_and(|value| value.is_object());
    if is_object { arguments } else { "{}" }
}

#[cfg(test)]
mod tests;
