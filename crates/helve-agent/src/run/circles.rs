//! Notices when a run goes round in circles: the same call with the same result, a cycle of calls, a tool that fails
//! and fails, the same words over and over.
//!
//! What changes is progress: a call that is repeated until its result is another one is left alone. What does not is
//! first pointed out to the model (see `transcript`), then not done, then put before a person, whose no ends the circle.

use std::hash::{DefaultHasher, Hash, Hasher};

use helve_types::{Fact, FailureKind, ToolCall, canonical_json};
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
    /// How often the last words came in a row, and which those are.
    words: (usize, u64),
}

/// A call that is settled, or was kept from running for being the same again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Seen {
    tool: String,
    /// The tool with its arguments.
    mark: u64,
    /// What came of it; none where it was not done for going in circles.
    came: Option<u64>,
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
    /// Takes in what came of a call.
    pub(super) fn settled(&mut self, call: &ToolCall, fact: &Fact) {
        let (came, failed) = match fact {
            Fact::ToolFinished { output, .. } => (Some(hash(&output.text)), false),
            Fact::ToolRefused { failure, .. } if failure.kind == FailureKind::Repeating => (None, false),
            Fact::ToolFailed { failure, .. } | Fact::ToolRefused { failure, .. } => {
                (Some(hash(&failure.message)), true)
            }
            _ => return,
        };
        self.seen.push(Seen { tool: call.name.clone(), mark: mark(call), came, failed });
    }

    /// Takes in the words of a step.
    pub(super) fn said(&mut self, text: &str) {
        if text.chars().count() < WORDS_MIN {
            return;
        }
        let said = hash(text.trim());
        self.words = if self.words.1 == said { (self.words.0 + 1, said) } else { (1, said) };
    }

    /// What to do about a call that is asked for, after `before` equal ones in the same message.
    pub(super) fn course(&self, call: &ToolCall, before: usize) -> Course {
        let mark = mark(call);
        let same = match self.rounds(mark, 1) {
            // Nobody is asked about each of many equal calls in one message.
            round if before > 0 => (round + before).min(BLOCKED),
            round => round,
        };
        let cycle = (2..=PERIOD_MAX).map(|period| self.rounds(mark, period)).max().unwrap_or(0);
        let failures = self.failures(&call.name);
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
                (self.words.0 + BLOCKED).saturating_sub(WORDS),
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
    fn rounds(&self, next: u64, period: usize) -> usize {
        let seen = &self.seen;
        let same = |a: &Seen, b: &Seen| {
            a.mark == b.mark && (a.came == b.came || b.came.is_none() || a.came.is_none())
        };
        let Some(before) = seen.len().checked_sub(period) else { return 1 };
        if seen[before].mark != next {
            return 1;
        }
        // How far back everything is as it was a period before.
        let again = (period..seen.len()).rev().take_while(|&at| same(&seen[at], &seen[at - period])).count();
        let is_cycle = period == 1 || seen[before..].iter().any(|held| held.mark != next);
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

fn mark(call: &ToolCall) -> u64 {
    let arguments = serde_json::from_str::<Value>(&call.arguments).map(|value| canonical_json(&value));
    hash(&(&call.name, arguments.unwrap_or_else(|_| call.arguments.trim().to_owned())))
}

fn hash(value: &(impl Hash + ?Sized)) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
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
        for line in calls.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let [tool, arguments, result] = line.splitn(3, ' ').collect::<Vec<_>>().try_into().unwrap();
            let call = call(tool, arguments);
            let (id, trail) = (call.id.clone(), Trail::default());
            let refused = |kind| Failure::new(kind, "no");
            let course = circles.course(&call, 0);
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
            circles.settled(&call, &fact);
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

    #[test]
    fn the_same_words_with_every_call_are_a_circle_too() {
        let mut circles = Circles::default();
        let words = "I will now look at the next page, which must have the answer.";
        let mut courses = vec![];
        for n in 0..5 {
            circles.said(words);
            courses.push(circles.course(&call("page", &format!("{{\"n\":{n}}}")), 0) == Course::On);
        }
        assert_eq!(courses, [true, true, true, false, false]);
        circles.said("Now something else entirely, which is as long as the words before.");
        assert_eq!(circles.course(&call("page", "{}"), 0), Course::On);
    }

    #[test]
    fn equal_calls_of_one_message_count_as_if_they_came_one_by_one() {
        let circles = Circles::default();
        assert_eq!(circles.course(&call("look", "{}"), 1), Course::On);
        assert!(matches!(circles.course(&call("look", "{}"), 2), Course::Block(_)));
        assert!(matches!(circles.course(&call("look", "{}"), 15), Course::Block(_)));
    }
}
