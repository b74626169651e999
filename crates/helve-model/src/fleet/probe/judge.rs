//! What an answer says about the model that gave it: pure, without a request.

use crate::ModelErrorKind;
use helve_dialect::{Profile, Reading, Tools, read};
use helve_types::{Finding, StopReason, ToolSpec};
use serde_json::Value;

use super::ask::{AnswerCall, ProbeAnswer, Reply};

/// Whether it called natively, and the dialect if it wrote the call into its text instead.
pub(super) struct Native {
    pub(super) finding: Finding,
    /// Whether its server left the call in the text.
    pub(super) in_text: Finding,
    pub(super) dialect: Option<&'static str>,
}

pub(super) fn judge_native_call(said: &ProbeAnswer, clock: &ToolSpec) -> Native {
    if let Some(call) = said.calls.first() {
        let sound = call.tool == clock.name && valid_arguments(call).is_some();
        let shown = shorten(&format!("{} {}", call.tool, call.arguments));
        let finding = if sound {
            Finding::yes(format!("it called `{shown}`"))
        } else {
            Finding::no(format!("it called `{shown}`, which is no call of `{}`", clock.name))
        };
        return Native { finding, in_text: Finding::no("its call came as a call"), dialect: None };
    }
    if let Some(dialect) = dialect_of_written_call(said, clock, None) {
        let because = format!("it wrote its call into the text, as `{dialect}`");
        let (finding, in_text) = (Finding::no(because.clone()), Finding::yes(because));
        return Native { finding, in_text, dialect: Some(dialect) };
    }
    let in_text = Finding::unknown("it made no call");
    Native { finding: judge_missing_call(said), in_text, dialect: None }
}

/// The dialect of a sound call of the tool in the text, after the model was told to write as the profile shows.
pub(super) fn dialect_of_written_call(
    said: &ProbeAnswer,
    clock: &ToolSpec,
    profile: Option<&Profile>,
) -> Option<&'static str> {
    let tools = Tools::new([(clock.name.clone(), clock.parameters.clone())]);
    let found = read(&said.text, Reading::expecting(profile.map(Profile::dialect), tools), None);
    let sound = found.calls.iter().any(|call| {
        let arguments: Option<Value> = serde_json::from_str(&call.arguments).ok();
        call.name == clock.name && arguments.is_some_and(|arguments| arguments["zone"].is_string())
    });
    found.dialect.filter(|_| sound)
}

/// Whether it thinks, be it told by its server or left in the text.
pub(super) fn judge_reasoning(said: &ProbeAnswer) -> Finding {
    if !said.reasoning.is_empty() || said.echo.is_some() {
        return Finding::yes(format!("it thought: {}", shorten(&said.reasoning)));
    }
    let read = read(&said.text, Reading::default().reasoning_open(begins_inside_reasoning(said)), None);
    match read.reasoning.is_empty() {
        true => Finding::no("it answered at once"),
        false => Finding::yes(format!("it thought, in the text: {}", shorten(&read.reasoning))),
    }
}

/// Whether the prompt has opened the reasoning, so that only its end is in the text.
pub(super) fn judge_reasoning_opened_by_prompt(said: &ProbeAnswer) -> Finding {
    if begins_inside_reasoning(said) {
        Finding::yes("it closed reasoning that nothing in its answer had opened")
    } else if said.stop == Some(StopReason::Length) {
        Finding::unknown("its answer was cut before it came to an end")
    } else {
        Finding::no("it closed no reasoning that it had not opened")
    }
}

fn begins_inside_reasoning(said: &ProbeAnswer) -> bool {
    said.reasoning.is_empty() && read(&said.text, Reading::default(), None).reasoning_open
}

pub(super) fn judge_argument_streaming(said: &ProbeAnswer) -> Finding {
    let pieces = said.calls.iter().map(|call| call.pieces).max().unwrap_or_default();
    match pieces {
        0 => Finding::unknown("its call had no arguments"),
        1 => Finding::no("they came in one piece"),
        more => Finding::yes(format!("they came in {more} pieces")),
    }
}

pub(super) fn judge_stop_reason(said: &ProbeAnswer) -> Finding {
    match said.stop {
        Some(StopReason::ToolCalls) => Finding::yes("a message with a call ends with `tool_calls`"),
        Some(other) => Finding::no(format!("a message with a call ends with `{other:?}`")),
        None => Finding::unknown("its message has no end"),
    }
}

pub(super) fn judge_parallel_calls(said: &ProbeAnswer) -> Finding {
    match said.calls.iter().filter(|call| valid_arguments(call).is_some()).count() {
        0 => Finding::unknown("it made no call"),
        1 => Finding::no("it made one call where two were wanted"),
        more => Finding::yes(format!("it made {more} calls in one message")),
    }
}

pub(super) fn judge_required_choice(said: &ProbeAnswer) -> Finding {
    if said.calls.is_empty() {
        judge_missing_call(said)
    } else {
        Finding::yes("it called the tool although nothing was asked")
    }
}

/// `with` is what it said when its reasoning did come back, where it was asked at all.
pub(super) fn judge_reasoning_back(without: &Reply, with: Option<&Reply>) -> Finding {
    match (without, with) {
        (Reply::Answer(_), _) => Finding::no("the conversation went on without it"),
        (Reply::Refused(error), Some(Reply::Answer(_))) if error.kind == ModelErrorKind::Refused => {
            Finding::yes(format!("without it the server says: {}", shorten(&error.message)))
        }
        (Reply::Refused(error), _) => Finding::unknown(shorten(&error.message)),
    }
}

/// What it means that there was no call: one that was cut off in its thoughts might have made one.
fn judge_missing_call(said: &ProbeAnswer) -> Finding {
    if said.stop == Some(StopReason::Length) {
        return Finding::unknown("its answer was cut before it came to a call");
    }
    Finding::no(format!("it said: {}", shorten(&said.text)))
}

fn valid_arguments(call: &AnswerCall) -> Option<Value> {
    let arguments: Value = serde_json::from_str(&call.arguments).ok()?;
    arguments["zone"].is_string().then_some(arguments)
}

/// As much as fits a line.
pub(super) fn shorten(text: &str) -> String {
    const SHOWN_MAX: usize = 80;
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match text.char_indices().nth(SHOWN_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
