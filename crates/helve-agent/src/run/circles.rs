//! Notices when a run goes round in circles: the same call with the same result, a cycle of calls, a tool that fails
//! and fails, the same words over and over.
//!
//! What changes is progress: a call that is repeated until its result is another one is left alone. What does not is
//! first pointed out to the model (see `transcript`), then not done, then put before a person, whose no ends the circle.

use std::collections::BTreeMap;

use helve_tool::fits_all;
use helve_types::{Always, Fact, FailureKind, Fingerprint, ToolCall, canonical_json};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The round that is not done any more, and the one that a person is asked about.
const BLOCKED: usize = 3;
const ASKED: usize = 4;
/// A tool may fail so often in a row, each time with other arguments.
const FAILURES: usize = 5;
/// The same words may come with so many calls in a row.
const WORDS: usize = 4;
/// Shorter words than these are a habit.
const WORDS_MIN: usize = 40;
/// Cycles of more calls than this are left to the limit of steps.
const PERIOD_MAX: usize = 4;

/// What a run has done so far, as far as circles go.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Circles {
    seen: Vec<Seen>,
    /// The last words, and how often they came in a row without a new result.
    words: Option<(Fingerprint, usize)>,
    /// Calls that a person wants made however often, by tool and conditions.
    #[serde(default)]
    excused: Vec<(String, BTreeMap<String, Value>)>,
}

/// A call that is settled, or was kept from running for being the same again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Seen {
    step: u32,
    tool: String,
    /// The tool with its arguments.
    mark: Fingerprint,
    /// What came of it; none where it was not done for going in circles.
    came: Option<Fingerprint>,
    failed: bool,
}

/// What is done about a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Course {
    On,
    Block(String),
    Ask(String),
}

impl Circles {
    /// Takes in what came of a call. Equal calls of one message are one.
    pub(super) fn settled(&mut self, step: u32, call: &ToolCall, fact: &Fact) {
        let (came, failed) = match fact {
            Fact::ToolFinished { output, .. } => (Some(Fingerprint::of(&output.text)), false),
            Fact::ToolRefused { failure, .. } if failure.kind == FailureKind::Repeating => (None, false),
            Fact::ToolFailed { failure, .. } | Fact::ToolRefused { failure, .. } => {
                (Some(Fingerprint::of(&failure.message)), true)
            }
            _ => return,
        };
        let mark = mark(call);
        let known = |held: &Seen| held.step == step && held.mark == mark && held.came == came;
        if self.seen.iter().rev().take_while(|held| held.step == step).any(known) {
            return;
        }
        let is_new = came.is_some() && self.seen.iter().all(|held| held.came != came);
        if let (true, Some((_, times))) = (is_new && !failed, &mut self.words) {
            // The words are the same, but something came of them.
            *times = 1;
        }
        self.seen.push(Seen { step, tool: call.name.clone(), mark, came, failed });
    }

    /// Takes in the words of a step.
    pub(super) fn said(&mut self, text: &str) {
        if text.chars().count() < WORDS_MIN {
            return;
        }
        let said = Fingerprint::of(text.trim());
        self.words = match self.words.take() {
            Some((before, times)) if before == said => Some((said, times + 1)),
            _ => Some((said, 1)),
        };
    }

    /// A person who was asked about a call that repeats itself said always: for the rest of the run, calls like it are
    /// made without asking, however far the consent reaches otherwise.
    pub(super) fn excuse(&mut self, call: &ToolCall, always: &Always) {
        self.excused.push((call.name.clone(), always.arguments.clone()));
    }

    fn is_excused(&self, call: &ToolCall) -> bool {
        let arguments = || serde_json::from_str(&call.arguments).unwrap_or(Value::Null);
        self.excused.iter().any(|(tool, like)| *tool == call.name && fits_all(like, &arguments()))
    }

    /// What to do about a call that is asked for.
    pub(super) fn course(&self, call: &ToolCall) -> Course {
        if self.is_excused(call) {
            return Course::On;
        }
        let mark = mark(call);
        let same = self.rounds(&mark, 1);
        let cycle = (2..=PERIOD_MAX).map(|period| self.rounds(&mark, period)).max().unwrap_or(0);
        let failures = self.failures(&call.name);
        let words = self.words.as_ref().map_or(0, |(_, times)| *times);
        let tool = &call.name;
        let rounds = [
            (
                same,
                format!("`{tool}` was called with the same arguments again and again, with the same result"),
            ),
            (cycle, "the same calls were made in turn again and again, with the same results".to_owned()),
            (
                (failures + BLOCKED).saturating_sub(FAILURES),
                format!("`{tool}` has failed {failures} times in a row"),
            ),
            (
                (words + BLOCKED).saturating_sub(WORDS),
                "the same was said again and again, and called for again and again".to_owned(),
            ),
        ];
        let Some((round, because)) = rounds.into_iter().max_by_key(|(round, _)| *round) else {
            return Course::On;
        };
        match round {
            ASKED.. => Course::Ask(because),
            BLOCKED => Course::Block(format!(
                "this call was not made: {because}. Doing it again changes nothing: do something else, or answer with what you have"
            )),
            _ => Course::On,
        }
    }

    /// Which round of a cycle of so many calls the next call would begin or go on with.
    fn rounds(&self, next: &Fingerprint, period: usize) -> usize {
        let seen = &self.seen;
        let same = |a: &Seen, b: &Seen| {
            a.mark == b.mark && (a.came == b.came || b.came.is_none() || a.came.is_none())
        };
        let Some(before) = seen.len().checked_sub(period) else { return 1 };
        if seen[before].mark != *next {
            return 1;
        }
        // How far back everything is as it was a period before.
        let again = (period..seen.len()).rev().take_while(|&at| same(&seen[at], &seen[at - period])).count();
        let is_cycle = period == 1 || seen[before..].iter().any(|held| held.mark != *next);
        if is_cycle { (again + period) / period + 1 } else { 1 }
    }

    fn failures(&self, tool: &str) -> usize {
        self.seen
            .iter()
            .rev()
            .take_while(|held| held.tool == tool && (held.failed || held.came.is_none()))
            .count()
    }
}

fn mark(call: &ToolCall) -> Fingerprint {
    let arguments = serde_json::from_str::<Value>(&call.arguments).map(|value| canonical_json(&value));
    let arguments = arguments.unwrap_or_else(|_| call.arguments.trim().to_owned());
    Fingerprint::of(&format!("{} {arguments}", call.name))
}

#[cfg(test)]
mod tests {
    use helve_types::{CallId, Failure, RunId, ToolOutput, Trail};
    use uuid::Uuid;

    use super::*;

    fn call(tool: &str, arguments: &str) -> ToolCall {
        let id = CallId::new(RunId(Uuid::from_u128(1)), 1, 0);
        ToolCall { id, provider_id: None, name: tool.into(), arguments: arguments.into() }
    }

    /// Plays calls as `tool arguments result`, one a line; a result of `!` is a failure. Says what was done about each:
    /// `.` made, `b` blocked, `a` asked about and made with a person's consent.
    fn play(calls: &str) -> String {
        let mut circles = Circles::default();
        let mut done = String::new();
        for (step, line) in (1..).zip(calls.lines().map(str::trim).filter(|line| !line.is_empty())) {
            let [tool, arguments, result] = line.splitn(3, ' ').collect::<Vec<_>>().try_into().unwrap();
            let call = call(tool, arguments);
            let (id, trail) = (call.id.clone(), Trail::default());
            let refused = |kind| Failure::new(kind, "no");
            let course = circles.course(&call);
            done.push(match course {
                Course::On => '.',
                Course::Block(_) => 'b',
                Course::Ask(_) => 'a',
            });
            let fact = match course {
                Course::Block(_) => {
                    Fact::ToolRefused { call: id, failure: refused(FailureKind::Repeating), trail }
                }
                _ if result == "!" => {
                    Fact::ToolFailed { call: id, failure: refused(FailureKind::Failed), trail }
                }
                _ => Fact::ToolFinished { call: id, output: ToolOutput::text(result), trail },
            };
            circles.settled(step, &call, &fact);
        }
        done
    }

    #[test]
    fn the_same_call_with_the_same_result_is_blocked_and_then_asked_about() {
        assert_eq!(play(&"look {} nothing\n".repeat(6)), "..baaa");
        // However the arguments are written.
        assert_eq!(
            play("look {\"a\":1,\"b\":2} x\nlook {\"b\":2,\"a\":1} x\nlook {\"a\":1.0,\"b\":2} x"),
            "..b"
        );
    }

    #[test]
    fn a_person_may_let_calls_like_one_go_on_for_the_rest_of_the_run() {
        let mut circles = Circles::default();
        let looks = |n: u32| call("look", &format!("{{\"n\":{n}}}"));
        for step in 1..=4 {
            come(&mut circles, step, &looks(1), "x");
        }
        assert!(matches!(circles.course(&looks(1)), Course::Ask(_)));
        let arguments = [("n".to_owned(), Value::from(1))].into();
        circles.excuse(&looks(1), &Always { within: helve_types::Within::Run, arguments, days: None });
        for step in 5..=9 {
            assert_eq!(circles.course(&looks(1)), Course::On);
            come(&mut circles, step, &looks(1), "x");
        }
        // Another call is another matter.
        for step in 10..=13 {
            come(&mut circles, step, &looks(2), "y");
        }
        assert!(matches!(circles.course(&looks(2)), Course::Ask(_)));
    }

    #[test]
    fn a_call_that_is_repeated_until_something_changes_is_progress() {
        assert_eq!(
            play("job {} 10%\njob {} 20%\njob {} 30%\njob {} 40%\njob {} done\njob {} done"),
            "......"
        );
        assert_eq!(
            play(&(1..30).map(|n| format!("page {{\"n\":{n}}} text\n")).collect::<String>()),
            ".".repeat(29)
        );
    }

    #[test]
    fn a_cycle_of_calls_is_blocked_in_its_third_round() {
        assert_eq!(play(&"a {} x\nb {} y\n".repeat(5)), "....bbaaaa");
        assert_eq!(play(&"a {} x\nb {} y\nc {} z\n".repeat(3)), "......bbb");
        assert_eq!(play("a {} 1\nb {} y\na {} 2\nb {} y\na {} 3\nb {} y\na {} 4\nb {} y"), "........");
    }

    #[test]
    fn a_tool_that_fails_and_fails_is_left_alone_however_it_is_called() {
        let calls: String = (0..7).map(|n| format!("send {{\"n\":{n}}} !\n")).collect();
        assert_eq!(play(&calls), ".....ba");
        // One success in between, or another tool, begins the count anew.
        let calls: String = (0..12)
            .map(|n| format!("send {{\"n\":{n}}} {}\n", if n % 4 == 3 { "sent" } else { "!" }))
            .collect();
        assert_eq!(play(&calls), ".".repeat(12));
    }

    fn come(circles: &mut Circles, step: u32, call: &ToolCall, result: &str) {
        let output = ToolOutput::text(result);
        let fact = Fact::ToolFinished { call: call.id.clone(), output, trail: Trail::default() };
        circles.settled(step, call, &fact);
    }

    #[test]
    fn the_same_words_with_every_call_are_a_circle_unless_something_comes_of_them() {
        let words = "I will now look at the next page, which must have the answer.";
        let courses = |result: fn(u32) -> String| -> Vec<bool> {
            let mut circles = Circles::default();
            let mut go_on = |step| {
                circles.said(words);
                let call = call("page", &format!("{{\"n\":{step}}}"));
                let on = circles.course(&call) == Course::On;
                come(&mut circles, step, &call, &result(step));
                on
            };
            (1..=6).map(&mut go_on).collect()
        };
        assert_eq!(courses(|_| "nothing".into()), [true, true, true, false, false, false]);
        assert_eq!(courses(|step| format!("page {step}")), [true; 6]);
    }

    #[test]
    fn equal_calls_of_one_message_are_one() {
        let mut circles = Circles::default();
        let look = call("look", "{}");
        (0..5).for_each(|_| come(&mut circles, 1, &look, "x"));
        assert_eq!(circles.course(&look), Course::On);
        (0..5).for_each(|_| come(&mut circles, 2, &look, "x"));
        assert!(matches!(circles.course(&look), Course::Block(_)));
    }
}
