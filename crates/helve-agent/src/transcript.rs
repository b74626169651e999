//! What the model is shown of the past: a pure view of messages, valid for every prefix of every log.
//!
//! Vendors refuse a history in which a call has no result or a result no call. So each call is followed by
//! exactly one result: the real one, or a plain statement that there is none. Whatever cannot be paired is left
//! out on both sides. Where the past was compacted (`shown`), a summary stands for its oldest part and a line for each
//! output that is left out; a call and its result are never parted by that.

mod client;
mod shown;

use std::borrow::Cow;
use std::collections::HashMap;

use helve_dialect::search_reference;
use helve_model::{Turn, TurnCall};
use helve_types::{
    CallId, CallState, Fingerprint, Language, Message, Part, PartState, Role, RunInput, ToolPart,
};
use serde_json::{Value, json};

use self::client::add_client_turns;
pub(crate) use self::client::has_written_results;
use self::shown::ShownHistory;
pub(crate) use self::shown::{LEFT_OUT_BYTES_MIN, LEFT_OUT_TOKENS, format_summary};
use crate::run::{LoopDetector, PRE_SEARCH_STEP, Run};

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
    fn is_author(&self, author: Option<&str>, fingerprint: Option<&Fingerprint>) -> bool {
        author == Some(self.model) && fingerprint.is_none_or(|written| Some(written) == self.fingerprint)
    }
}

/// The turns before the next message of the model that is asked. What only the model that thought it may see again is
/// left out where another one answers.
pub fn transcript<'a>(history: &'a [Message], run: &'a Run, reader: Reader<'_>) -> Vec<Turn<'a>> {
    place_turns(history, run, reader).into_iter().map(|placed| placed.turn).collect()
}

/// A turn, and what of the past it comes from.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PlacedTurn<'a> {
    pub(crate) turn: Turn<'a>,
    pub(crate) place: TurnPlace<'a>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct TurnPlace<'a> {
    /// Which message of the history; those of the run itself come after the last of them.
    pub(crate) message: usize,
    /// The step of an assistant's message; 0 for what a person said, and for what a client tells.
    pub(crate) step: u32,
    pub(crate) output: Output<'a>,
}

/// Whether a turn is an output that could be left out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Output<'a> {
    Stays,
    Of(&'a CallId),
    /// In a history that a client keeps.
    OfClient,
}

/// The same with the place of each turn.
pub(crate) fn place_turns<'a>(
    history: &'a [Message],
    run: &'a Run,
    reader: Reader<'_>,
) -> Vec<PlacedTurn<'a>> {
    let shown = ShownHistory::from_history(history, run);
    let language = run.language();
    let mut turns = vec![];
    let own = match &run.setup().input {
        RunInput::Client { messages } => {
            add_client_turns(messages, &shown, &mut turns);
            messages.len()
        }
        RunInput::Conversation | RunInput::Call => {
            for (at, message) in history.iter().enumerate().skip(shown.first_shown_message()) {
                add_message_turns((at, message), (reader, language), &shown, &mut turns);
                turns.extend(message.parts.iter().filter_map(|part| unread_user_message(part, at)));
            }
            let place = TurnPlace { message: history.len(), step: 0, output: Output::Stays };
            turns.push(PlacedTurn { turn: Turn::User(Cow::Borrowed(run.input_text())), place });
            history.len()
        }
    };
    add_message_turns((own, run.message()), (reader, language), &shown, &mut turns);
    shown.insert_summary(history, run, &mut turns);
    turns
}

fn add_message_turns<'a>(
    (at, message): (usize, &'a Message),
    (reader, language): (Reader<'_>, Language),
    shown: &ShownHistory<'_>,
    turns: &mut Vec<PlacedTurn<'a>>,
) {
    if message.role == Role::User {
        let place = TurnPlace { message: at, step: 0, output: Output::Stays };
        turns.push(PlacedTurn { turn: Turn::User(Cow::Owned(message.text())), place });
        return;
    }
    let context = ResultContext { shown, hints: LoopDetector::collect_hints(message) };
    let mut rest = &message.parts[..];
    while let Some(first) = rest.first() {
        if let Part::Said { step: Some(heard), text, .. } = first {
            let after = heard.saturating_sub(1);
            if after == 0 || !shown.is_summarized(at, after) {
                turns.push(user_turn(text, at, after.max(1)));
            }
        }
        let Some(step) = step_of_part(first) else {
            rest = &rest[1..];
            continue;
        };
        let end = rest.iter().position(|part| step_of_part(part) != Some(step)).unwrap_or(rest.len());
        let (parts, more) = rest.split_at(end);
        rest = more;
        if shown.is_summarized(at, step) {
            continue;
        }
        if step == PRE_SEARCH_STEP {
            add_reference(parts, at, language, turns);
            continue;
        }
        let record = message.steps.iter().find(|record| record.step == step);
        let author = record.map(|record| &*record.model).or(message.model.as_deref());
        let fingerprint = record.and_then(|record| record.fingerprint.as_ref());
        let own = if reader.is_author(author, fingerprint) {
            Authorship::Yes { echo: record.and_then(|record| record.echo.as_ref()) }
        } else {
            Authorship::No
        };
        add_step_turns(parts, own, TurnPlace { message: at, step, output: Output::Stays }, &context, turns);
    }
}

/// Puts what was found before the model was asked in front of the words that it was searched for. A search that failed is
/// left out: the model may search by itself.
fn add_reference(parts: &[Part], message: usize, language: Language, turns: &mut Vec<PlacedTurn<'_>>) {
    let found = parts.iter().find_map(|part| match part {
        Part::Tool(tool) if tool.state == PartState::Completed => tool.output.as_ref(),
        _ => None,
    });
    let Some(found) = found else { return };
    let reference = search_reference(&found.text, language);
    match turns.last_mut() {
        Some(PlacedTurn { turn: Turn::User(text), .. }) => {
            *text = Cow::Owned(format!("{reference}\n\n{text}"))
        }
        _ => {
            let place = TurnPlace { message, step: 0, output: Output::Stays };
            turns.push(PlacedTurn { turn: Turn::User(Cow::Owned(reference)), place });
        }
    }
}

/// A user message that came too late for its run: the next run's model reads it.
fn unread_user_message(part: &Part, message: usize) -> Option<PlacedTurn<'_>> {
    match part {
        Part::Said { step: None, text, .. } => Some(user_turn(text, message, 1)),
        _ => None,
    }
}

/// What a person said during a run, which belongs to the step before it: no summary ends between the two.
fn user_turn(text: &str, message: usize, after_step: u32) -> PlacedTurn<'_> {
    let place = TurnPlace { message, step: after_step, output: Output::Stays };
    PlacedTurn { turn: Turn::User(Cow::Borrowed(text)), place }
}

/// The message of the model that a part belongs to. A notice is for people; models do not see it, and a compaction not
/// as a part.
fn step_of_part(part: &Part) -> Option<u32> {
    match part {
        Part::Text { step, .. } | Part::Reasoning { step, .. } => Some(*step),
        Part::Tool(tool) => Some(tool.step),
        Part::Said { .. } | Part::CutOff { .. } | Part::Compacted(_) | Part::Notice { .. } => None,
    }
}

/// What the text of a tool result depends on besides the result.
struct ResultContext<'s> {
    shown: &'s ShownHistory<'s>,
    /// Hints for the model, by call.
    hints: HashMap<&'s CallId, String>,
}

/// Whether the model that is asked now wrote a message itself.
enum Authorship<'a> {
    Yes { echo: Option<&'a Value> },
    No,
}

/// One message of the model, and the results of its calls.
fn add_step_turns<'a>(
    parts: &'a [Part],
    own: Authorship<'a>,
    place: TurnPlace<'a>,
    context: &ResultContext<'_>,
    turns: &mut Vec<PlacedTurn<'a>>,
) {
    let mut text = Cow::Borrowed("");
    let mut reasoning = Cow::Borrowed("");
    let mut tools: Vec<&ToolPart> = vec![];
    for part in parts {
        match part {
            Part::Text { text: more, .. } => append_paragraph(&mut text, more),
            Part::Reasoning { text: more, .. } => append_paragraph(&mut reasoning, more),
            Part::Tool(tool) => tools.push(tool),
            Part::Said { .. } | Part::CutOff { .. } | Part::Compacted(_) | Part::Notice { .. } => {}
        }
    }
    if text.is_empty() && tools.is_empty() {
        return;
    }
    let calls = tools.iter().map(|tool| turn_call(tool)).collect();
    let (reasoning, echo) = match own {
        Authorship::Yes { echo } => (reasoning, echo),
        Authorship::No => (Cow::Borrowed(""), None),
    };
    turns.push(PlacedTurn { turn: Turn::Assistant { text, reasoning, echo, calls }, place });
    turns.extend(tools.into_iter().map(|tool| result_turn(tool, place, context)));
}

fn append_paragraph<'a>(all: &mut Cow<'a, str>, more: &'a str) {
    if all.is_empty() {
        *all = Cow::Borrowed(more);
    } else {
        let all = all.to_mut();
        all.push_str("\n\n");
        all.push_str(more);
    }
}

fn turn_call(tool: &ToolPart) -> TurnCall<'_> {
    TurnCall {
        id: call_name(tool),
        tool: sanitized_tool_name(tool),
        arguments: Cow::Borrowed(valid_arguments(&tool.input)),
    }
}

fn result_turn<'a>(tool: &'a ToolPart, place: TurnPlace<'a>, context: &ResultContext<'_>) -> PlacedTurn<'a> {
    let mut output = Output::Stays;
    let (mut text, is_error): (Cow<'_, str>, bool) = match (&tool.output, &tool.failure) {
        (Some(said), _) => match context.shown.replacement_text(tool, said) {
            Some(line) => (Cow::Owned(line), false),
            None => {
                if tool.state == PartState::Completed && said.text.len() >= LEFT_OUT_BYTES_MIN {
                    output = Output::Of(&tool.call);
                }
                (Cow::Borrowed(&said.text), false)
            }
        },
        (None, Some(_)) if tool.call_state() == CallState::Unknown => {
            (Cow::Owned(format_unknown_outcome(tool)), true)
        }
        (None, Some(failure)) => (Cow::Owned(format!("Error: {}", failure.message)), true),
        (None, None) => {
            (Cow::Borrowed("Error: there is no result; the run ended before this call did."), true)
        }
    };
    if let Some(because) = context.hints.get(&tool.call) {
        text.to_mut().push_str(&format!(
            "\n[note: {because}. Doing it again changes nothing, and it is not done the next time: do something else, or \
             answer with what you have]"
        ));
    }
    let (id, name) = (call_name(tool), sanitized_tool_name(tool));
    PlacedTurn { turn: Turn::Result { id, tool: name, text, is_error }, place: TurnPlace { output, ..place } }
}

/// What vendors take.
const WRITTEN_NAME_MAX: usize = 64;

/// The name in a form that no vendor refuses; a model may have written anything, and it stays in the history.
fn sanitized_tool_name(tool: &ToolPart) -> Cow<'_, str> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | ':' | '/');
    match &*tool.tool {
        "" => Cow::Borrowed("unknown"),
        name if name.len() <= WRITTEN_NAME_MAX && name.chars().all(plain) => Cow::Borrowed(name),
        name => name.chars().take(WRITTEN_NAME_MAX).map(|c| if plain(c) { c } else { '_' }).collect(),
    }
}

/// The name under which the model knows the call.
fn call_name(tool: &ToolPart) -> Cow<'_, str> {
    tool.provider_id.as_deref().map_or_else(|| tool.call.to_string().into(), Cow::Borrowed)
}

/// Tells the model that it is unknown whether the effect happened.
fn format_unknown_outcome(tool: &ToolPart) -> String {
    let cut_off = tool.cut_off.as_ref();
    let mut told = json!({
        "status": "outcome_unknown",
        "call_id": tool.call,
        "sent_at": cut_off.map(|cut_off| cut_off.sent_at).or(tool.started_at),
        "note": "The effect may have happened. Verify before repeating.",
    });
    if let Some(checked) = cut_off.and_then(|cut_off| cut_off.checked.as_ref()) {
        told["checked"] = json!(checked);
    }
    told.to_string()
}

/// Vendors refuse a history with broken arguments; the call's result says what was wrong with them.
fn valid_arguments(arguments: &str) -> &str {
    let is_object = serde_json::from_str::<Value>(arguments).is_ok_and(|value| value.is_object());
    if is_object { arguments } else { "{}" }
}

#[cfg(test)]
mod tests;
