//! Detects when a run repeats itself: the same calls with the same results, a tool that fails and fails, the same
//! words over and over, an effect that may have happened and is ordered again.
//!
//! It goes by whole messages of the model: the calls of one were written before any of them had a result, so none is
//! judged by its siblings. Every call counts, whatever came of it: also one that was never made, because its tool does not
//! exist, its arguments do not fit, or a rule forbids it.
//!
//! The third message in a row that has the same call and no other is put before a person, whatever came of the first two.
//! For other patterns there are steps. A message whose calls brought a result that was not known before is progress; only
//! what is repeated while nothing new comes is a loop. It is first pointed out (`collect_hints`, which `transcript` shows), then
//! not done, then put before a person. A person's no ends it.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};

use helve_tool::fits_all;
use helve_types::{
    Always, CallId, CallState, Failure, FailureKind, Fingerprint, Message, Notice, Part, Reason, ToolCall,
    ToolPart, canonical_json,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The round that is not done any more, and the one that a person is asked about.
const BLOCKED: usize = 3;
const ASKED: usize = 4;
/// The same call, alone in so many messages in a row, is asked about before it is made, whatever came of it.
const IN_ROW: usize = 3;
/// A tool may fail in so many messages in a row, each time with other arguments.
const FAILURES: usize = 5;
/// The same words may come with so many calls in a row.
const WORDS: usize = 4;
/// Shorter words than these are a habit.
const WORDS_MIN: usize = 40;

/// What a run has done so far, as far as loops go.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct LoopDetector {
    rounds: Vec<Round>,
    /// The last words, and how often they came in a row without a new result.
    words: Option<(Fingerprint, usize)>,
    /// Calls that a person wants made however often, by tool and conditions.
    exempt: Vec<(String, BTreeMap<String, Value>)>,
}

/// The calls of one message that are settled. Equal ones with equal results are one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Round {
    step: u32,
    calls: Vec<SettledCall>,
    /// One of them had a result that no call like it had had before.
    is_new: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct SettledCall {
    tool: String,
    /// The tool with its arguments.
    mark: Fingerprint,
    came: CallResult,
}

/// What came of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum CallResult {
    Result(Fingerprint),
    /// The tool, or the way it was called, was at fault.
    Failure(Fingerprint),
    /// It was not made, for reasons that say nothing about the tool.
    Refusal(Fingerprint),
    /// It was not made because it repeats itself.
    Held,
    /// It may have taken effect.
    Unknown,
}

impl CallResult {
    pub(crate) fn from_output(text: &str) -> Self {
        Self::Result(Fingerprint::from_text(text))
    }

    pub(crate) fn from_failure(failure: &Failure) -> Self {
        let said = Fingerprint::from_text(&failure.message);
        match failure.kind {
            FailureKind::Repeating => Self::Held,
            FailureKind::Denied | FailureKind::Unanswered | FailureKind::Limited | FailureKind::Cancelled => {
                Self::Refusal(said)
            }
            FailureKind::UnknownTool
            | FailureKind::BadArguments
            | FailureKind::Unavailable
            | FailureKind::TimedOut
            | FailureKind::Failed => Self::Failure(said),
        }
    }

    fn from_part(part: &ToolPart) -> Option<Self> {
        match (&part.output, &part.failure) {
            (None, _) if part.call_state() == CallState::Unknown => Some(Self::Unknown),
            (Some(output), _) => Some(Self::from_output(&output.text)),
            (None, Some(failure)) => Some(Self::from_failure(failure)),
            (None, None) => None,
        }
    }
}

/// What is done about a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum LoopVerdict {
    Continue,
    Block(Reason),
    Ask(Reason),
}

/// How often a call was repeated, and in which way.
struct Repetition {
    number: usize,
    because: Reason,
}

impl LoopDetector {
    /// Takes in what came of a call of a message.
    pub(crate) fn record_result(&mut self, step: u32, (tool, arguments): (&str, &str), came: CallResult) {
        let done = SettledCall { tool: tool.to_owned(), mark: hash_call(tool, arguments), came };
        if let (CallResult::Result(_), Some((_, times))) = (&done.came, &mut self.words)
            && self.rounds.iter().flat_map(|round| &round.calls).all(|known| known.came != done.came)
        {
            // The words are the same, but something came of them.
            *times = 1;
        }
        let is_new = matches!(done.came, CallResult::Result(_))
            && !self.rounds.iter().any(|round| round.calls.contains(&done));
        if self.rounds.last().is_none_or(|round| round.step != step) {
            self.rounds.push(Round { step, calls: vec![], is_new: false });
        }
        let Some(round) = self.rounds.last_mut() else { return };
        round.is_new |= is_new;
        if !round.calls.contains(&done) {
            round.calls.push(done);
        }
    }

    /// Takes in the words of a message.
    pub(crate) fn record_text(&mut self, text: &str) {
        if text.chars().count() < WORDS_MIN {
            return;
        }
        let said = Fingerprint::from_text(text.trim());
        self.words = match self.words.take() {
            Some((before, times)) if before == said => Some((said, times + 1)),
            _ => Some((said, 1)),
        };
    }

    /// A person has sent a message: what comes now is not what came before, also where it looks the same.
    pub(crate) fn reset(&mut self) {
        self.rounds.clear();
        self.words = None;
    }

    /// A person has said what became of a call that may have taken effect, so that it is no secret any more.
    pub(super) fn resolve_unknown(&mut self, tool: &str, arguments: &str) {
        let mark = hash_call(tool, arguments);
        let calls = self.rounds.iter_mut().flat_map(|round| &mut round.calls);
        for done in calls.filter(|done| done.mark == mark && done.came == CallResult::Unknown) {
            done.came = CallResult::Refusal(Fingerprint::from_text(""));
        }
    }

    /// Stops asking about calls like this one for the rest of the run, because a person who was asked about the
    /// repetition said always. However far their consent reaches otherwise, this exemption ends with the run.
    pub(super) fn exempt_from_loop_check(&mut self, call: &ToolCall, always: &Always) {
        self.exempt.push((call.name.clone(), always.arguments.clone()));
    }

    fn is_exempt(&self, call: &ToolCall) -> bool {
        let arguments = || serde_json::from_str(&call.arguments).unwrap_or(Value::Null);
        self.exempt.iter().any(|(tool, like)| *tool == call.name && fits_all(like, &arguments()))
    }

    /// What to do about a call of a message.
    pub(super) fn verdict(&self, step: u32, call: &ToolCall) -> LoopVerdict {
        if self.is_exempt(call) {
            return LoopVerdict::Continue;
        }
        let words = self.words.as_ref().map_or(0, |(_, times)| *times);
        let mark = hash_call(&call.name, &call.arguments);
        let Repetition { number, because } = self.longest_repetition(step, &call.name, &mark, words);
        let in_row = count_in_row(self.rounds_before(step), &mark) + 1;
        if number < ASKED && in_row >= IN_ROW {
            let tool = &call.name;
            return LoopVerdict::Ask(Reason::new(
                format!("`{tool}` is called {in_row} times in a row with the same arguments"),
                Notice::asks_after_repeats(tool, in_row as u64),
            ));
        }
        match number {
            ASKED.. => LoopVerdict::Ask(because),
            BLOCKED => {
                let told = format!(
                    "this call was not made: {}. Doing it again changes nothing: do something else, or answer with what you have",
                    because.text
                );
                LoopVerdict::Block(Reason::new(told, because.notice))
            }
            _ => LoopVerdict::Continue,
        }
    }

    /// What a model is told with the results of a message, by their calls: what would not be done if it came next.
    pub(crate) fn collect_hints(message: &Message) -> HashMap<&CallId, String> {
        let mut hints = HashMap::new();
        // Most messages have nothing that could repeat itself.
        if message.tools().nth(1).is_none() {
            return hints;
        }
        let mut circles = Self::default();
        let mut open: Vec<&ToolPart> = vec![];
        for part in &message.parts {
            match part {
                Part::Text { text, step } | Part::Reasoning { text, step } => {
                    circles.add_hints(&mut open, *step, &mut hints);
                    if matches!(part, Part::Text { .. }) {
                        circles.record_text(text);
                    }
                }
                Part::Tool(tool) => {
                    circles.add_hints(&mut open, tool.step, &mut hints);
                    let Some(came) = CallResult::from_part(tool) else { continue };
                    circles.record_result(tool.step, (&tool.tool, &tool.input), came);
                    open.push(tool);
                }
                Part::Said { step: Some(_), .. } => {
                    circles.add_hints(&mut open, u32::MAX, &mut hints);
                    circles.reset();
                }
                Part::Said { step: None, .. }
                | Part::CutOff { .. }
                | Part::Compacted(_)
                | Part::Notice { .. } => {}
            }
        }
        circles.add_hints(&mut open, u32::MAX, &mut hints);
        hints
    }

    /// Hints about the calls of a message that is followed by this step.
    fn add_hints<'a>(
        &self,
        open: &mut Vec<&'a ToolPart>,
        step: u32,
        hints: &mut HashMap<&'a CallId, String>,
    ) {
        if open.first().is_none_or(|first| first.step >= step) {
            return;
        }
        let words = self.words.as_ref().map_or(0, |(_, times)| *times + 1);
        for part in open.drain(..) {
            let lap =
                self.longest_repetition(u32::MAX, &part.tool, &hash_call(&part.tool, &part.input), words);
            let is_held = part.failure.as_ref().is_some_and(|failure| failure.kind == FailureKind::Repeating);
            if lap.number == BLOCKED && !is_held {
                hints.insert(&part.call, lap.because.text);
            }
        }
    }

    /// The messages before a step.
    fn rounds_before(&self, step: u32) -> &[Round] {
        &self.rounds[..self.rounds.partition_point(|round| round.step < step)]
    }

    /// The longest repetition of any kind if a message has this call.
    fn longest_repetition(&self, step: u32, tool: &str, mark: &Fingerprint, words: usize) -> Repetition {
        let before = self.rounds_before(step);
        let failures = count_failures_in_row(before, tool);
        let laps = [
            count_repetitions(before, tool, mark),
            Repetition {
                number: (failures + BLOCKED).saturating_sub(FAILURES),
                because: Reason::new(
                    format!("`{tool}` has failed {failures} times in a row"),
                    Notice::asks_after_failures(tool, failures as u64),
                ),
            },
            Repetition {
                number: (words + BLOCKED).saturating_sub(WORDS),
                because: Reason::new(
                    "the same was said again and again, and called for again and again",
                    Notice::asks_after_same_words(),
                ),
            },
        ];
        // The first of equals says it best.
        laps.into_iter()
            .rev()
            .max_by_key(|lap| lap.number)
            .unwrap_or(Repetition { number: 0, because: Reason::new("", Notice::asks_after_circle()) })
    }
}

/// How many of the last messages had this call and no other.
fn count_in_row(before: &[Round], mark: &Fingerprint) -> usize {
    let has_only = |round: &&Round| round.calls.iter().all(|done| done.mark == *mark);
    before.iter().rev().take_while(has_only).count()
}

/// How often a call was made with the same result, of late without anything new.
fn count_repetitions(before: &[Round], tool: &str, mark: &Fingerprint) -> Repetition {
    let mut newest_first = before.iter().rev().flat_map(|round| &round.calls);
    let last =
        newest_first.find(|done| done.mark == *mark && done.came != CallResult::Held).map(|done| &done.came);
    let is_same = |done: &SettledCall| {
        done.mark == *mark && (done.came == CallResult::Held || Some(&done.came) == last)
    };
    let has_it = |round: &&Round| round.calls.iter().any(is_same);

    let stale = before.iter().rev().take_while(|round| !round.is_new).count();
    let (older, stale) = before.split_at(before.len() - stale);
    let (once, lately) =
        (usize::from(older.iter().any(|round| has_it(&round))), stale.iter().filter(has_it).count());
    if last == Some(&CallResult::Unknown) && lately > 0 {
        let because = Reason::new(
            format!(
                "`{tool}` was called with the same arguments before, it is unknown whether that took effect, and nothing was \
                 done to find out"
            ),
            Notice::asks_after_unknown(tool),
        );
        return Repetition { number: ASKED, because };
    }
    let alone = stale.iter().flat_map(|round| &round.calls).all(|done| done.mark == *mark);
    let because = if alone {
        Reason::new(
            format!("`{tool}` was called with the same arguments again and again, with the same result"),
            Notice::asks_after_same_results(tool),
        )
    } else {
        Reason::new(
            "the same calls were made in turn again and again, with the same results",
            Notice::asks_after_circle(),
        )
    };
    Repetition { number: 1 + once + lately, because }
}

/// In how many messages in a row the tool was called and only failed. A message in which it was never made says nothing.
fn count_failures_in_row(before: &[Round], tool: &str) -> usize {
    let mut count = 0;
    for round in before.iter().rev() {
        let mut came = round.calls.iter().filter(|done| done.tool == tool).map(|done| &done.came).peekable();
        if came.peek().is_none() || came.clone().any(|came| matches!(came, CallResult::Result(_))) {
            break;
        }
        count += usize::from(came.any(|came| !matches!(came, CallResult::Refusal(_))));
    }
    count
}

fn hash_call(tool: &str, arguments: &str) -> Fingerprint {
    let canonical = serde_json::from_str::<Value>(arguments).map(|value| canonical_json(&value));
    let arguments = canonical.unwrap_or_else(|_| arguments.trim().to_owned());
    Fingerprint::from_text(&format!("{tool} {arguments}"))
}
