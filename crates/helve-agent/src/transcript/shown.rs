//! What of the past is still shown, by the compactions that are on record in it.

use std::borrow::Cow;
use std::collections::HashSet;

use helve_model::Turn;
use helve_tool::READ_OUTPUT;
use helve_types::{CallId, CallState, Message, Part, Summary, ToolOutput, ToolPart};

use super::{Output, PlacedTurn, TurnPlace, valid_arguments};
use crate::run::Run;

/// An output that is shorter than this is worth hardly more than the line that would stand for it.
pub(crate) const LEFT_OUT_BYTES_MIN: usize = 800;
/// About how many tokens the line takes that stands for an output.
pub(crate) const LEFT_OUT_TOKENS: u64 = 60;
/// More calls than this whose outcome is unknown are not named one by one.
const UNKNOWN_NAMED_MAX: usize = 20;
const UNKNOWN_INPUT_CHARS_MAX: usize = 200;

/// A fold of the compactions in the history and in the run itself.
#[derive(Debug, Default)]
pub(super) struct ShownHistory<'a> {
    pruned: HashSet<&'a CallId>,
    client_messages: usize,
    current: Option<CurrentSummary<'a>>,
    can_read_again: bool,
}

/// The newest summary: it also stands for what the ones before it stood for.
#[derive(Debug, Clone, Copy)]
struct CurrentSummary<'a> {
    summary: &'a Summary,
    /// The first message of the history that is shown.
    first_message: usize,
    /// The message of the run in which it was written.
    written_in: usize,
}

impl<'a> ShownHistory<'a> {
    pub(super) fn from_history(history: &'a [Message], run: &'a Run) -> Self {
        let can_read_again = run.setup().tools.iter().any(|tool| tool.name == READ_OUTPUT);
        let mut shown = Self { can_read_again, ..Self::default() };
        for (at, message) in history.iter().chain([run.message()]).enumerate() {
            for compaction in message.compactions() {
                shown.pruned.extend(&compaction.pruned);
                // A client tells its history anew each time.
                if at == history.len() {
                    shown.client_messages = shown.client_messages.max(compaction.client_messages as usize);
                }
                if let Some(summary) = &compaction.summary {
                    // A message that is not there any more has nothing before it that is.
                    let last = history[..at.min(history.len())]
                        .iter()
                        .position(|message| Some(message.id) == summary.through);
                    let first_message = last.map_or(0, |last| last + 1);
                    shown.current = Some(CurrentSummary { summary, first_message, written_in: at });
                }
            }
        }
        shown
    }

    pub(super) fn first_shown_message(&self) -> usize {
        self.current.map_or(0, |current| current.first_message)
    }

    /// Whether the summary stands for a step of a message that is shown.
    pub(super) fn is_summarized(&self, message: usize, step: u32) -> bool {
        self.current
            .is_some_and(|current| current.written_in == message && step <= current.summary.through_step)
    }

    /// Whether results in this message of a client's history are shown as they are.
    pub(super) fn shows_client_results_of(&self, at: usize) -> bool {
        at >= self.client_messages
    }

    /// What is shown in place of an output, if that is left out.
    pub(super) fn replacement_text(&self, tool: &ToolPart, output: &ToolOutput) -> Option<String> {
        let again = self.can_read_again.then_some(&tool.call);
        self.pruned.contains(&tool.call).then(|| format_omitted_output(output.text.len(), again))
    }

    /// Puts the summary before what it does not stand for: into the words of the person that come first, since some
    /// vendors refuse two turns of one side.
    pub(super) fn insert_summary<'t>(&self, history: &[Message], run: &Run, turns: &mut Vec<PlacedTurn<'t>>) {
        let Some(current) = self.current else { return };
        let told =
            format_summary(&current.summary.text, &self.unknown_calls_in_summary(current, history, run));
        match turns.first_mut() {
            Some(PlacedTurn { turn: Turn::User(text), .. }) => {
                *text = Cow::Owned(format!("{told}\n\n{text}"))
            }
            _ => {
                let place = TurnPlace { message: current.first_message, step: 0, output: Output::Stays };
                turns.insert(0, PlacedTurn { turn: Turn::User(Cow::Owned(told)), place });
            }
        }
    }

    /// The calls before it whose outcome is unknown: a model that writes a summary may forget them, and they
    /// must not be made again for that.
    fn unknown_calls_in_summary(
        &self,
        current: CurrentSummary<'_>,
        history: &[Message],
        run: &Run,
    ) -> Vec<String> {
        let mut lines = vec![];
        for (at, message) in history.iter().chain([run.message()]).enumerate() {
            for part in &message.parts {
                let Part::Tool(tool) = part else { continue };
                let covered = at < current.first_message || self.is_summarized(at, tool.step);
                if covered && tool.call_state() == CallState::Unknown && tool.output.is_none() {
                    let input: String =
                        valid_arguments(&tool.input).chars().take(UNKNOWN_INPUT_CHARS_MAX).collect();
                    lines.push(format!("{} {input} (call {})", tool.tool, tool.call));
                }
            }
        }
        let more = lines.len().saturating_sub(UNKNOWN_NAMED_MAX);
        // The newest ones matter most.
        lines.drain(..more);
        lines
    }
}

/// What is shown in place of an output.
pub(super) fn format_omitted_output(bytes: usize, again: Option<&CallId>) -> String {
    let how = match again {
        Some(call) => format!("; read it again with {READ_OUTPUT} {{\"call\": \"{call}\"}}"),
        None => String::new(),
    };
    format!(
        "[left out: this output of {bytes} bytes is no longer shown, to keep the conversation short{how}]"
    )
}

/// A summary as a model is shown it.
pub(crate) fn format_summary(summary: &str, unknown: &[String]) -> String {
    let mut told = format!(
        "[What was said before this is no longer shown. This is a summary of it:]\n{}\n",
        summary.trim()
    );
    if !unknown.is_empty() {
        told.push_str("[It is unknown whether these calls took effect; verify before repeating them:]\n");
        for line in unknown {
            told.push_str(&format!("- {line}\n"));
        }
    }
    told.push_str("[End of the summary. The conversation goes on:]");
    told
}
