//! Logs in themselves: numbered, sound, ending, and valid to show to a model at every prefix.

use std::collections::BTreeSet;

use helve_model::Turn;
use helve_runtime::{Reader, Run as Machine, transcript};
use helve_types::{CallId, Fact, Message, RunId};
use serde_json::Value;

use super::Evidence;
use crate::snapshot::Run;
use crate::store_fault::SIGN;

pub(super) fn check_files(evidence: &Evidence) -> Vec<String> {
    let finding = &evidence.disk.integrity;
    if finding == "ok" { vec![] } else { vec![format!("the database is damaged: {finding}")] }
}

pub(super) fn check_contiguous(evidence: &Evidence) -> Vec<String> {
    let mut wrong = vec![];
    for (id, run) in &evidence.disk.runs {
        let gap = (1..).zip(&run.log).find(|(expected, event)| event.seq != *expected);
        if let Some((expected, event)) = gap {
            wrong.push(format!("run {id} has event {} where {expected} should be", event.seq));
        }
        if run.log.is_empty() {
            wrong.push(format!("run {id} has no events"));
        }
        let odd = run.log.iter().find(|event| event.kind != event.body.fact.kind());
        if let Some(event) = odd {
            wrong.push(format!("event {} of run {id} is kept as `{}`", event.seq, event.kind));
        }
    }
    wrong
}

/// At the end of the load; before that runs may well be under way.
pub(super) fn check_ends(evidence: &Evidence) -> Vec<String> {
    let mut wrong = vec![];
    for (id, run) in &evidence.disk.runs {
        if evidence.at_end && !run.state.is_final() && !run.state.is_waiting() {
            wrong.push(format!("run {id} is still {}", run.state.as_str()));
        }
        // At any time: the state and the log tell the same.
        let over = run.log.iter().any(|event| event.body.fact.is_last());
        if over != run.state.is_final() || over != run.ended {
            wrong.push(format!(
                "run {id} is {} and {} by its row, while its log {}",
                run.state.as_str(),
                if run.ended { "ended" } else { "not ended" },
                if over { "has an end" } else { "has none" }
            ));
        }
    }
    wrong
}

/// A former owner of a run left its sign wherever it was let in.
pub(super) fn check_fencing(evidence: &Evidence) -> Vec<String> {
    let mut wrong = vec![];
    for (id, run) in &evidence.disk.runs {
        let is_stale = |fact: &Fact| matches!(fact, Fact::StepRestarted { because, .. } if because == SIGN);
        let stale = run.log.iter().filter(|event| is_stale(&event.body.fact));
        wrong.extend(stale.map(|event| format!("event {} of run {id} is of one who had lost it", event.seq)));
    }
    wrong
}

pub(super) fn check_outcomes_final(evidence: &Evidence) -> Vec<String> {
    let mut wrong = vec![];
    for (id, run) in &evidence.disk.runs {
        let mut settled: BTreeSet<&CallId> = BTreeSet::new();
        let mut over = false;
        for event in &run.log {
            let fact = &event.body.fact;
            if over && !matches!(fact, Fact::ToolLate { .. }) {
                wrong.push(format!("event {} of run {id} is `{}`, after its end", event.seq, fact.kind()));
            }
            over |= fact.is_last();
            let (Fact::ToolFinished { call, .. }
            | Fact::ToolFailed { call, .. }
            | Fact::ToolRefused { call, .. }) = fact
            else {
                continue;
            };
            if !settled.insert(call) {
                wrong.push(format!("event {} of run {id} is a second outcome of call {call}", event.seq));
            }
        }
    }
    wrong
}

pub(super) fn check_transcripts(evidence: &Evidence) -> Vec<String> {
    let mut wrong = vec![];
    for (id, run) in &evidence.disk.runs {
        let history = evidence.disk.history(run);
        let judged = evidence.judged.get(id).copied().unwrap_or(0);
        if run.log.last().is_some_and(|event| event.seq == judged) {
            continue;
        }
        wrong.extend(
            broken_prefix(*id, run, history, judged)
                .map(|(seq, what)| format!("run {id}, up to event {seq}: {what}")),
        );
    }
    wrong
}

/// The first prefix of the log, of those not judged before, whose transcript no vendor would take.
fn broken_prefix(id: RunId, run: &Run, history: &[Message], judged: u64) -> Option<(u64, String)> {
    let first = run.log.first()?;
    let Fact::RunStarted(started) = &first.body.fact else {
        return Some((first.seq, "the log does not begin with run.started".into()));
    };
    let mut machine = Machine::new(id, run.setup.clone(), started.reply, first.body.at);
    let reader = Reader { model: &run.setup.model, fingerprint: None };
    for event in &run.log {
        machine.apply(event.body.at, &event.body.fact);
        if event.seq > judged
            && let Err(what) = valid(&transcript(history, &machine, reader))
        {
            return Some((event.seq, what));
        }
    }
    // Read back at once it must be the same machine that grew event by event.
    let log = run.log.iter().map(|event| (event.body.at, &event.body.fact));
    let replayed = Machine::replay(id, run.setup.clone(), log);
    (replayed.as_ref() != Some(&machine)).then(|| (0, "replaying the log gives another run".into()))
}

/// What every vendor demands: each call followed by exactly one result, no result without a call.
fn valid(turns: &[Turn<'_>]) -> Result<(), String> {
    if !matches!(turns.first(), Some(Turn::User(_))) {
        return Err("the history does not begin with the user".into());
    }
    let mut owed: BTreeSet<&str> = BTreeSet::new();
    for turn in turns {
        match turn {
            Turn::Result { id, .. } => {
                if !owed.remove(&**id) {
                    return Err(format!("a result of `{id}`, which was not called or was answered"));
                }
            }
            _ if !owed.is_empty() => return Err(format!("no results of {owed:?} before the next turn")),
            Turn::User(_) => {}
            Turn::Assistant { text, calls, .. } => {
                if text.is_empty() && calls.is_empty() {
                    return Err("the assistant says nothing".into());
                }
                for call in calls {
                    if !owed.insert(&call.id) {
                        return Err(format!("two calls named `{}`", call.id));
                    }
                    let arguments = serde_json::from_str::<Value>(&call.arguments);
                    if !arguments.is_ok_and(|arguments| arguments.is_object()) {
                        return Err(format!("the arguments of `{}` are no object", call.id));
                    }
                }
            }
        }
    }
    if owed.is_empty() { Ok(()) } else { Err(format!("no results of {owed:?} at the end")) }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use helve_model::TurnCall;
    use helve_types::{Ending, RunState};

    use super::*;
    use crate::check::story::{Story, violations_of};

    #[test]
    fn a_gap_or_an_empty_log_breaks_i2() {
        let mut story = Story::with_log(&["requested", "started"]);
        assert!(violations_of("I2", &story).is_empty());
        story.log().remove(1);
        assert_eq!(violations_of("I2", &story).len(), 1);
        story.log().clear();
        assert_eq!(violations_of("I2", &story).len(), 1);
    }

    #[test]
    fn a_damaged_file_breaks_i8() {
        let mut story = Story::with_log(&[]);
        assert!(violations_of("I8", &story).is_empty());
        story.evidence.disk.integrity = "row 3 missing from index".into();
        assert_eq!(violations_of("I8", &story).len(), 1);
    }

    #[test]
    fn a_run_that_is_still_running_at_the_end_breaks_i9() {
        let mut story = Story::with_log(&[]);
        assert!(violations_of("I9", &story).is_empty());
        story.evidence.at_end = true;
        assert_eq!(violations_of("I9", &story).len(), 1);
        story.row().state = RunState::WaitingApproval;
        assert!(violations_of("I9", &story).is_empty());
        story.add(Fact::RunFinished { ending: Ending::Answered });
        assert_eq!(violations_of("I9", &story).len(), 1, "its row says otherwise");
    }

    #[test]
    fn an_event_of_a_former_owner_breaks_f1() {
        let mut story = Story::with_log(&["requested", "started"]);
        story.add(Fact::StepRestarted {
            step: 1,
            attempt: 2,
            because: "the server was restarted".into(),
            spent: None,
        });
        assert!(violations_of("F1", &story).is_empty());
        story.add(Fact::StepRestarted { step: 1, attempt: 1, because: SIGN.into(), spent: None });
        assert_eq!(violations_of("F1", &story).len(), 1);
    }

    #[test]
    fn a_second_outcome_or_one_after_the_end_breaks_r4() {
        let mut story = Story::with_log(&["requested", "started", "unknown", "finished"]);
        assert!(violations_of("R4", &story).is_empty(), "a person found out");
        story.record_word("failed");
        assert_eq!(violations_of("R4", &story).len(), 1);
        let mut story = Story::with_log(&["requested", "started", "unknown"]);
        story.add(Fact::RunFinished { ending: Ending::Answered });
        story.record_word("finished");
        assert_eq!(violations_of("R4", &story).len(), 1);
    }

    #[test]
    fn a_log_that_does_not_begin_with_its_start_breaks_i10() {
        let mut story = Story::with_log(&["requested", "started", "finished"]);
        assert!(violations_of("I10", &story).is_empty());
        story.log().remove(0);
        assert_eq!(violations_of("I10", &story).len(), 1);
    }

    #[test]
    fn a_history_with_unpaired_calls_is_not_valid() {
        let user = || Turn::User("go".into());
        let call = |id| TurnCall { id: Cow::Borrowed(id), tool: "look".into(), arguments: "{}".into() };
        let says = |calls| Turn::Assistant { text: "".into(), reasoning: "".into(), echo: None, calls };
        let result = |id| Turn::Result {
            id: Cow::Borrowed(id),
            tool: "look".into(),
            text: "found".into(),
            is_error: false,
        };
        assert!(valid(&[user(), says(vec![call("a"), call("b")]), result("b"), result("a"), user()]).is_ok());
        for turns in [
            vec![],
            vec![user(), says(vec![])],
            vec![user(), says(vec![call("a")])],
            vec![user(), says(vec![call("a")]), user()],
            vec![user(), result("a")],
            vec![user(), says(vec![call("a")]), result("a"), result("a")],
            vec![user(), says(vec![call("a"), call("a")]), result("a")],
            vec![user(), says(vec![TurnCall { arguments: "[]".into(), ..call("a") }]), result("a")],
        ] {
            assert!(valid(&turns).is_err(), "{turns:?}");
        }
    }
}
