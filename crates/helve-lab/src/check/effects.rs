//! Effects: what the ledger says happened against what the log says was done.

use std::collections::BTreeSet;

use helve_types::{Answer, CallId, CallState, Effect, Fact};

use super::Evidence;
use crate::tools;

/// What the logs say of one call.
#[derive(Debug, Default)]
struct CallRecord<'a> {
    starts: usize,
    /// The text of its result.
    result: Option<&'a str>,
    /// Whether a person answered in the tool's place.
    by_person: bool,
    failed: Option<&'a str>,
    /// Whether an earlier answer was given again.
    from_cache: bool,
}

fn read_record<'a>(evidence: &'a Evidence, call: &str) -> CallRecord<'a> {
    let mut told = CallRecord::default();
    let log = evidence.log_of(call);
    let about = log.iter().filter(|event| event.body.fact.call().is_some_and(|of| of.to_string() == call));
    for event in about {
        match &event.body.fact {
            Fact::ToolStarted { .. } | Fact::ToolClaimed { .. } => told.starts += 1,
            Fact::ToolFinished { output, trail, .. } => {
                told.result = Some(&output.text);
                told.from_cache = trail.from_cache();
            }
            Fact::ToolFailed { failure, .. } | Fact::ToolRefused { failure, .. } => {
                told.failed = Some(&failure.message);
            }
            Fact::ApprovalAnswered { answer: Answer::Respond { .. } | Answer::Reply { .. }, .. } => {
                told.by_person = true;
            }
            _ => {}
        }
    }
    told
}

pub(super) fn check_at_most_once(evidence: &Evidence) -> Vec<String> {
    let mut wrong = vec![];
    for (call, entries) in evidence.effects() {
        let count = entries.iter().filter(|entry| entry.class == Effect::NonIdempotent).count();
        if count > 1 {
            wrong.push(format!("call {call} of `{}` happened {count} times", entries[0].tool));
        }
    }
    wrong
}

pub(super) fn check_one_key(evidence: &Evidence) -> Vec<String> {
    let mut wrong = vec![];
    let effects = evidence.effects();
    for (call, entries) in evidence.requests_by_call() {
        let keys: BTreeSet<&str> = entries.iter().map(|entry| entry.key.as_str()).collect();
        if keys.len() > 1 || !keys.contains(call) {
            wrong.push(format!("call {call} happened under the keys {keys:?}"));
        }
    }
    for (call, row) in &evidence.disk.calls {
        let is_ours = tools::find_kind(&row.tool).is_some_and(|kind| kind.class == Effect::Idempotent);
        if is_ours && row.state == CallState::Finished && !effects.contains_key(&*call.to_string()) {
            let by_person = read_record(evidence, &call.to_string()).by_person;
            if !by_person {
                wrong.push(format!("call {call} of `{}` finished and never happened", row.tool));
            }
        }
    }
    wrong
}

pub(super) fn check_intent_first(evidence: &Evidence) -> Vec<String> {
    let mut wrong = vec![];
    for (call, entries) in evidence.effects() {
        let starts = read_record(evidence, call).starts;
        if starts < entries.len() {
            let times = entries.len();
            wrong.push(format!(
                "call {call} was carried out {times} times and started {starts} times by its log"
            ));
        }
        let row = call.parse().ok().and_then(|id: CallId| evidence.disk.calls.get(&id));
        if tools::find_kind(&entries[0].tool).is_some_and(|kind| kind.client) {
            continue;
        }
        if row.is_none_or(|row| row.attempt < entries.len() as u64) {
            wrong
                .push(format!("call {call} was carried out {} times, and its row is {row:?}", entries.len()));
        }
    }
    wrong
}

pub(super) fn check_results(evidence: &Evidence) -> Vec<String> {
    let mut wrong = vec![];
    let asked = evidence.requests_by_call();
    for (call, row) in evidence.disk.calls.iter().filter(|(_, row)| tools::find_kind(&row.tool).is_some()) {
        let told = read_record(evidence, &call.to_string());
        let Some(result) = told.result.filter(|_| !told.by_person) else { continue };
        let own = asked.get(&*call.to_string()).map_or(&[][..], Vec::as_slice);
        let answered = if told.from_cache {
            evidence.ledger.iter().any(|entry| entry.tool == row.tool && entry.answer == result)
        } else {
            own.iter().any(|entry| entry.answer == result)
        };
        if !answered {
            wrong.push(format!(
                "call {call} of `{}` has the result `{result}`, which the ledger never gave",
                row.tool
            ));
        }
    }
    wrong
}

pub(super) fn check_failures(evidence: &Evidence) -> Vec<String> {
    let mut wrong = vec![];
    for (call, entries) in evidence.effects() {
        let row = call.parse().ok().and_then(|id: CallId| evidence.disk.calls.get(&id));
        let state = row.map(|row| row.state);
        let told = read_record(evidence, call);
        if let Some(failed) = told.failed {
            let tool = &entries[0].tool;
            wrong.push(format!("call {call} of `{tool}` happened, and its log says `{failed}`"));
        } else if let Some(state @ (CallState::Failed | CallState::Refused | CallState::Expired)) = state {
            let (tool, state) = (&entries[0].tool, state.as_str());
            wrong.push(format!("call {call} of `{tool}` happened, and its row says `{state}`"));
        }
        let effects: BTreeSet<u64> = entries.iter().map(|entry| entry.receipt).collect();
        if state == Some(CallState::Unknown) && effects.len() > 1 {
            wrong.push(format!("call {call} is unknown and happened {} times", effects.len()));
        }
    }
    wrong
}

/// What a user is told by a tool that remembers its answers was once answered to that user.
pub(super) fn check_answer_owners(evidence: &Evidence) -> Vec<String> {
    let mut wrong = vec![];
    for (id, run) in &evidence.disk.runs {
        for event in &run.log {
            let Fact::ToolFinished { call, output, .. } = &event.body.fact else { continue };
            let given: BTreeSet<&str> = evidence
                .ledger
                .iter()
                .filter(|entry| entry.answer == output.text && entry.class == Effect::Read)
                .map(|entry| entry.user.as_str())
                .collect();
            if !given.is_empty() && !given.contains(run.user.as_str()) {
                let user = &run.user;
                wrong.push(format!("call {call} of run {id} told {user} what was answered to {given:?}"));
            }
        }
    }
    wrong
}

#[cfg(test)]
mod tests {
    use crate::check::story::{Story, violations_of};

    #[test]
    fn a_second_effect_breaks_i3_unless_it_is_idempotent() {
        let mut story = Story::with_log(&["requested", "started"]);
        story.happens("effect_send");
        assert!(violations_of("I3", &story).is_empty());
        story.happens("effect_send");
        assert_eq!(violations_of("I3", &story).len(), 1);
        let mut story = Story::with_log(&["requested", "started", "started"]);
        story.happens("effect_put");
        story.happens("effect_put");
        assert!(violations_of("I3", &story).is_empty());
    }

    #[test]
    fn another_key_or_a_success_without_an_effect_breaks_i4() {
        let mut story = Story::for_tool("effect_put", &["requested", "started", "finished"]);
        assert_eq!(violations_of("I4", &story).len(), 1);
        story.happens("effect_put");
        assert!(violations_of("I4", &story).is_empty());
        story.happens("effect_put");
        story.evidence.ledger[1].key = "another".into();
        assert_eq!(violations_of("I4", &story).len(), 1);
    }

    #[test]
    fn an_effect_without_its_start_on_disk_breaks_i5() {
        let mut story = Story::with_log(&["requested", "started"]);
        story.happens("effect_send");
        assert!(violations_of("I5", &story).is_empty());
        let mut story = Story::with_log(&["requested"]);
        story.happens("effect_send");
        assert_eq!(violations_of("I5", &story).len(), 2, "by the log and by the row");
        let mut story = Story::with_log(&["requested", "started"]);
        story.happens("effect_put");
        story.happens("effect_put");
        assert_eq!(violations_of("I5", &story).len(), 2, "each attempt needs a start of its own");
        let mut story = Story::for_tool("effect_read", &["requested"]);
        story.happens("effect_read");
        assert!(violations_of("I5", &story).is_empty(), "a read that was lost is made again");
    }

    #[test]
    fn a_result_that_the_ledger_never_gave_breaks_i6() {
        let mut story = Story::with_log(&["requested", "started", "finished"]);
        story.happens("effect_send");
        assert!(violations_of("I6", &story).is_empty());
        story.evidence.ledger[0].answer = "something else".into();
        assert_eq!(violations_of("I6", &story).len(), 1);
    }

    #[test]
    fn an_effect_that_is_reported_as_failed_breaks_i7() {
        for (said, wrong) in [("failed", 1), ("refused", 1), ("unknown", 0), ("finished", 0)] {
            let mut story = Story::with_log(&["requested", "started", said]);
            assert!(violations_of("I7", &story).is_empty(), "{said}");
            story.happens("effect_send");
            assert_eq!(violations_of("I7", &story).len(), wrong, "{said}");
        }
        let mut story = Story::with_log(&["requested", "started", "unknown"]);
        story.happens("effect_send");
        story.happens("effect_send");
        assert_eq!(violations_of("I7", &story).len(), 1);
        let mut story = Story::for_tool("effect_read", &["requested", "started", "failed"]);
        story.happens("effect_read");
        assert!(violations_of("I7", &story).is_empty(), "a read is no effect");
    }

    #[test]
    fn the_answer_to_another_user_breaks_c1() {
        let mut story = Story::for_tool("effect_look", &["requested", "started", "finished"]);
        story.happens("effect_look");
        assert!(violations_of("C1", &story).is_empty());
        story.evidence.ledger[0].user = "eve".into();
        assert_eq!(violations_of("C1", &story).len(), 1);
    }
}
