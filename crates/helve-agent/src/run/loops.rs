//! Notices when a run goes round in circles: the same calls with the same results, a tool that fails and fails, the same
//! words over and over, an effect that may have happened and is ordered again.
//!
//! It goes by whole messages of the model: the calls of one were written before any of them had a result, so none is
//! judged by its siblings. Every call counts, whatever came of it: also one that was never made, because its tool does not
//! exist, its arguments do not fit, or a rule forbids it.
//!
//! The third message in a row that has the same call and no other is put before a person, whatever came of the first two.
//! For other patterns there are steps. A message whose calls brought a result that was not known before is progress; only
//! what is repeated while nothing new comes is a circle. It is first pointed out (`collect_hints`, which `transcript` shows), then
//! not done, then put before a person. A person's no ends it.

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

/// What a run has done so far, as far as circles go.
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
    calls: Vec<Done>,
    /// One of them had a result that no call like it had had before.
    is_new: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Done {
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
    /// It was not made for going round in circles.
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

/// How far a circle has come with a call, and in what it consists.
struct Repetition {
    number: usize,
    because: Reason,
}

impl LoopDetector {
    /// Takes in what came of a call of a message.
    pub(crate) fn record_result(&mut self, step: u32, (tool, arguments): (&str, &str), came: CallResult) {
        let done = Done { tool: tool.to_owned(), mark: hash_call(tool, arguments), came };
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

    /// A person has spoken: what comes now is not what came before, also where it looks the same.
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

    /// The furthest that any circle has come if a message has this call.
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
    let is_same =
        |done: &Done| done.mark == *mark && (done.came == CallResult::Held || Some(&done.came) == last);
    let has_it = |round: &&Round| round.calls.iter().any(is_same);

    let stale = before.iter().rev().take_while(|round| !round.is_new).count();
    let (older, stale) = before.split_at(before.len() - stale);
    let (once, lately) =
        (usize::from(older.iter().any(|round| has_it(&round))), stale.iter().filter(has_it).count());
    if last == Some(&CallResult::Unknown) && lately > 0 {
        let because = Reason::new(
            format!(
                "`{tool}` was called with the same arguments before, nobody knows whether that took effect, and nothing was \
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

#[cfg(test)]
mod tests {
    use helve_types::{MessageId, RunId, Timestamp, ToolOutput};
    use uuid::Uuid;

    use super::*;

    fn call(tool: &str, arguments: &str) -> ToolCall {
        let id = CallId::new(RunId(Uuid::from_u128(1)), 1, 0);
        ToolCall { id, provider_id: None, name: tool.into(), arguments: arguments.into(), repairs: vec![] }
    }

    /// Plays messages, one a line, with calls as `tool arguments result`, parted by `|`; a result of `!` is a failure, of `?`
    /// an unknown outcome, of `-` a refusal of ours. Says what was done about each: `.` made, `b` blocked, `a` asked about
    /// and made with a person's consent.
    fn play(messages: &str) -> String {
        let mut circles = LoopDetector::default();
        let mut done = String::new();
        for (step, line) in (1..).zip(messages.lines().map(str::trim).filter(|line| !line.is_empty())) {
            for line in line.split('|').map(str::trim) {
                let [tool, arguments, result] = line.splitn(3, ' ').collect::<Vec<_>>().try_into().unwrap();
                let course = circles.verdict(step, &call(tool, arguments));
                let refused = |kind| CallResult::from_failure(&Failure::new(kind, "no"));
                let (mark, came) = match (course, result) {
                    (LoopVerdict::Block(_), _) => ('b', refused(FailureKind::Repeating)),
                    (course, result) => {
                        let came = match result {
                            "!" => refused(FailureKind::Failed),
                            "-" => refused(FailureKind::Limited),
                            "?" => CallResult::Unknown,
                            text => CallResult::from_output(text),
                        };
                        (if course == LoopVerdict::Continue { '.' } else { 'a' }, came)
                    }
                };
                done.push(mark);
                circles.record_result(step, (tool, arguments), came);
            }
        }
        done
    }

    #[test]
    fn the_third_of_the_same_calls_in_a_row_is_asked_about_whatever_came_of_them() {
        assert_eq!(play(&"look {} nothing\n".repeat(6)), "..aaaa");
        assert_eq!(play("job {} 10%\njob {} 20%\njob {} 30%\njob {} 40%"), "..aa");
        assert_eq!(play("send {} !\nsend {} -\nsend {} done"), "..a");
        // However the arguments are written.
        assert_eq!(
            play("look {\"a\":1,\"b\":2} x\nlook {\"b\":2,\"a\":1} x\nlook {\"a\":1.0,\"b\":2} x"),
            "..a"
        );
        assert_eq!(play("look {q x\nlook {q x\nlook {q x"), "..a", "and if they are no JSON");
    }

    #[test]
    fn a_row_ends_with_another_call() {
        assert_eq!(play("job {} 1\njob {} 2\nlook {} x\njob {} 3\njob {} 4\njob {} 5"), ".....a");
        assert_eq!(play("job {} 1\njob {} 2|look {} x\njob {} 3\njob {} 4\njob {} 5"), ".....a");
        assert_eq!(play("job {\"n\":1} 1\njob {\"n\":2} 2\njob {\"n\":1} 3\njob {\"n\":2} 4"), "....");
        // What comes beside the third does not hide it.
        assert_eq!(play("job {} 1\njob {} 2\njob {} 3|look {} x"), "..a.");
    }

    #[test]
    fn calls_that_are_never_made_are_seen() {
        let mut circles = LoopDetector::default();
        let mut courses = vec![];
        for (step, kind) in (1..).zip([
            FailureKind::UnknownTool,
            FailureKind::BadArguments,
            FailureKind::Denied,
            FailureKind::Limited,
            FailureKind::Unavailable,
        ]) {
            courses.push(matches!(circles.verdict(step, &call("gone", "{}")), LoopVerdict::Ask(_)));
            circles.record_result(step, ("gone", "{}"), CallResult::from_failure(&Failure::new(kind, "no")));
        }
        assert_eq!(courses, [false, false, true, true, true]);
    }

    #[test]
    fn a_person_may_let_calls_like_one_go_on_for_the_rest_of_the_run() {
        let mut circles = LoopDetector::default();
        let looks = |n: u32| call("look", &format!("{{\"n\":{n}}}"));
        for step in 1..=4 {
            come(&mut circles, step, &looks(1), "x");
        }
        assert!(matches!(circles.verdict(5, &looks(1)), LoopVerdict::Ask(_)));
        let arguments = [("n".to_owned(), Value::from(1))].into();
        circles.exempt_from_loop_check(
            &looks(1),
            &Always { within: helve_types::Within::Run, arguments, days: None },
        );
        for step in 5..=9 {
            assert_eq!(circles.verdict(step, &looks(1)), LoopVerdict::Continue);
            come(&mut circles, step, &looks(1), "x");
        }
        // Another call is another matter.
        for step in 10..=13 {
            come(&mut circles, step, &looks(2), "y");
        }
        assert!(matches!(circles.verdict(14, &looks(2)), LoopVerdict::Ask(_)));
    }

    #[test]
    fn a_call_that_is_repeated_until_something_changes_is_progress() {
        let job = |n: u32| format!("job {{}} {n}0%|log {{}} line {n}\n");
        assert_eq!(play(&(1..9).map(job).collect::<String>()), ".".repeat(16));
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

    fn come(circles: &mut LoopDetector, step: u32, call: &ToolCall, result: &str) {
        circles.record_result(step, (&call.name, &call.arguments), CallResult::from_output(result));
    }

    #[test]
    fn the_same_words_with_every_call_are_a_circle_unless_something_comes_of_them() {
        let words = "I will now look at the next page, which must have the answer.";
        let courses = |result: fn(u32) -> String| -> Vec<bool> {
            let mut circles = LoopDetector::default();
            let mut go_on = |step| {
                circles.record_text(words);
                let call = call("page", &format!("{{\"n\":{step}}}"));
                let on = circles.verdict(step, &call) == LoopVerdict::Continue;
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
        let mut circles = LoopDetector::default();
        let look = call("look", "{}");
        (0..5).for_each(|_| come(&mut circles, 1, &look, "x"));
        assert_eq!(circles.verdict(2, &look), LoopVerdict::Continue);
        (0..5).for_each(|_| come(&mut circles, 2, &look, "x"));
        assert!(matches!(circles.verdict(3, &look), LoopVerdict::Ask(_)));
    }

    #[test]
    fn calls_of_one_message_are_not_judged_by_each_other() {
        let many: Vec<String> = (0..12).map(|n| format!("fetch {{\"n\":{n}}} !")).collect();
        assert_eq!(play(&many.join("|")), ".".repeat(12));
        // In the next messages they are one failure each.
        assert_eq!(play(&format!("{0}\n{0}\n{0}", many[..2].join("|"))), "....bb");
        let others: Vec<String> =
            (0..7).map(|n| format!("fetch {{\"n\":{n}}} ! | fetch {{\"m\":{n}}} !")).collect();
        assert_eq!(play(&others.join("\n")), "..........bbaa");
    }

    #[test]
    fn what_was_refused_for_other_reasons_is_no_failure_of_the_tool() {
        let many: String = (0..9).map(|n| format!("send {{\"n\":{n}}} -\n")).collect();
        assert_eq!(play(&many), ".".repeat(9));
        // But the same call refused again and again is the same call.
        assert_eq!(play(&"send {} -\n".repeat(4)), "..aa");
    }

    #[test]
    fn messages_with_the_same_calls_are_a_circle_however_many_they_are_and_in_whatever_order_they_end() {
        let five = "a {} 1|b {} 2|c {} 3|d {} 4|e {} 5\n";
        let turned = "e {} 5|c {} 3|a {} 1|d {} 4|b {} 2\n";
        assert_eq!(play(&format!("{five}{turned}{five}{turned}")), "..........bbbbbaaaaa");
        let six: String = ('a'..='f').map(|tool| format!("{tool} {{}} x\n")).collect();
        assert_eq!(play(&six.repeat(3)), format!("{}bbbbbb", ".".repeat(12)));
        // The same call beside one that gets on is no circle.
        let beside: String = (0..9).map(|n| format!("look {{}} x|page {{\"n\":{n}}} text {n}\n")).collect();
        assert_eq!(play(&beside), ".".repeat(18));
    }

    #[test]
    fn an_effect_that_may_have_happened_is_not_ordered_again_before_somebody_looked() {
        assert_eq!(play("pay {} ?\npay {} ?\npay {} ?"), ".aa");
        assert_eq!(play("pay {\"n\":1} ?\npay {\"n\":2} ?"), "..");
        assert_eq!(play("pay {} ?\nbalance {} 80\npay {} paid"), "...");
        let (mut circles, pay) = (LoopDetector::default(), call("pay", "{}"));
        circles.record_result(1, ("pay", "{}"), CallResult::Unknown);
        assert!(matches!(circles.verdict(2, &pay), LoopVerdict::Ask(_)));
        circles.resolve_unknown("pay", "{}");
        assert_eq!(circles.verdict(2, &pay), LoopVerdict::Continue);
    }

    #[test]
    fn a_person_who_speaks_ends_a_circle_but_not_what_they_said_before() {
        let (mut circles, look) = (LoopDetector::default(), call("look", "{}"));
        (1..=3).for_each(|step| come(&mut circles, step, &look, "x"));
        circles.exempt_from_loop_check(
            &look,
            &Always { within: helve_types::Within::Run, arguments: BTreeMap::new(), days: None },
        );
        circles.reset();
        (4..=9).for_each(|step| come(&mut circles, step, &look, "x"));
        assert_eq!(circles.verdict(10, &look), LoopVerdict::Continue);
    }

    /// Which calls of these messages, as `step.tool`, a model is given a hint about. Failures are `!`.
    fn hinted(calls: &[(u32, &str, &str)]) -> Vec<String> {
        let run = RunId(Uuid::from_u128(1));
        let mut message = Message::reply(MessageId(Uuid::from_u128(2)), Timestamp(1), run, "m");
        for (index, (step, tool, result)) in (0..).zip(calls) {
            let failed = (*result == "!").then(|| Failure::new(FailureKind::Failed, "no"));
            message.parts.push(Part::Tool(Box::new(ToolPart {
                step: *step,
                call: CallId::new(run, *step, index),
                provider_id: None,
                tool: (*tool).into(),
                input: if failed.is_some() { format!("{{\"n\":{index}}}") } else { "{}".into() },
                state: helve_types::PartState::Completed,
                call_state: None,
                output: failed.is_none().then(|| ToolOutput::text(*result)),
                failure: failed,
                requested_at: Timestamp(1),
                started_at: None,
                ended_at: None,
                cut_off: None,
            })));
        }
        let hints = LoopDetector::collect_hints(&message);
        let told = message.tools().filter(|part| hints.contains_key(&part.call));
        told.map(|part| format!("{}.{}", part.step, part.tool)).collect()
    }

    #[test]
    fn what_would_not_be_done_the_next_time_is_pointed_out_with_the_result_before() {
        assert_eq!(hinted(&[(1, "a", "x"), (2, "a", "x")]), ["2.a"]);
        assert_eq!(hinted(&[(1, "a", "x"), (2, "a", "y")]), [""; 0]);
        assert_eq!(hinted(&[(1, "a", "x"), (2, "b", "y"), (3, "a", "x"), (4, "b", "y")]), ["3.a", "4.b"]);
        let fails: Vec<_> = (1..=5).map(|step| (step, "f", "!")).collect();
        assert_eq!(hinted(&fails), ["5.f"]);
        // Calls of one message do not know of each other.
        assert_eq!(hinted(&[(1, "a", "x"), (1, "a", "x")]), [""; 0]);
    }
}
