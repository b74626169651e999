//! Promises to clients: what was acknowledged is on disk.

use std::collections::BTreeSet;

use helve_types::{Fact, RunId};
use serde_json::Value;

use super::Evidence;

pub(super) fn events_kept(evidence: &Evidence) -> Vec<String> {
    let mut wrong = vec![];
    for reader in evidence.clients.iter().flat_map(|client| &client.readers) {
        let log = evidence.disk.runs.get(&reader.run).map_or(&[][..], |run| &run.log);
        for (seq, json) in &reader.events {
            match log.iter().find(|event| event.seq == *seq) {
                Some(event) if event.json == *json => {}
                Some(event) => wrong.push(format!(
                    "event {seq} of run {} was sent as `{json}` and is `{}`",
                    reader.run, event.json
                )),
                None => wrong
                    .push(format!("event {seq} of run {} was sent and is not on disk: `{json}`", reader.run)),
            }
        }
    }
    wrong
}

pub(super) fn runs_kept(evidence: &Evidence) -> Vec<String> {
    let starts = evidence.clients.iter().flat_map(|client| &client.starts);
    let promised = starts.flat_map(|start| &start.runs);
    let lost = promised.filter(|run| evidence.disk.runs.get(run).is_none_or(|held| held.log.is_empty()));
    lost.map(|run| format!("run {run} was promised with a 201 and is not on disk")).collect()
}

pub(super) fn answers_kept(evidence: &Evidence) -> Vec<String> {
    let mut wrong = vec![];
    for answered in evidence.clients.iter().flat_map(|client| &client.answers) {
        let held = evidence.disk.approvals.get(&answered.approval);
        let kept = held.and_then(|held| held.answer.as_deref());
        let kept = kept.and_then(|json| serde_json::from_str::<Value>(json).ok());
        if kept.as_ref() != Some(&answered.answer) {
            wrong.push(format!(
                "approval {} was settled with {} and is {held:?} on disk",
                answered.approval, answered.answer
            ));
        }
    }
    wrong
}

pub(super) fn messages_kept(evidence: &Evidence) -> Vec<String> {
    let mut wrong = vec![];
    for said in evidence.clients.iter().flat_map(|client| &client.said) {
        let log = evidence.disk.runs.get(&said.run).map_or(&[][..], |run| &run.log);
        let kept = log.iter().filter(|event| {
            matches!(&event.body.fact, Fact::MessageQueued { message, text, .. }
                if *message == said.message && *text == said.text)
        });
        let kept = kept.count();
        if kept != 1 {
            wrong.push(format!("`{}` was said to run {} and is {kept} times on disk", said.text, said.run));
        }
    }
    wrong
}

pub(super) fn one_run_per_request(evidence: &Evidence) -> Vec<String> {
    let mut wrong = vec![];
    for start in evidence.clients.iter().flat_map(|client| &client.starts) {
        let promised: BTreeSet<RunId> = start.runs.iter().copied().collect();
        let made: BTreeSet<RunId> = evidence
            .disk
            .runs
            .iter()
            .filter(|(_, run)| match run.log.first().map(|event| &event.body.fact) {
                Some(Fact::RunStarted(started)) => find_text(&start.nonce, &started.text),
                _ => false,
            })
            .map(|(id, _)| *id)
            .collect();
        if promised.union(&made).count() > 1 {
            wrong.push(format!(
                "request {} with key {:?} was promised {promised:?} and made {made:?}",
                start.nonce, start.key
            ));
        }
        if let Some(key) = &start.key {
            let held = evidence.disk.keys.iter().filter(|held| held.key == *key);
            let other = held.filter(|held| !made.contains(&held.run));
            wrong.extend(other.map(|held| format!("key {key} is of run {}, not of {made:?}", held.run)));
        }
    }
    wrong
}

/// The nonce is the first word of its message.
fn find_text(nonce: &str, text: &str) -> bool {
    text.split_whitespace().next() == Some(nonce)
}

#[cfg(test)]
mod tests {
    use helve_types::MessageId;
    use serde_json::json;
    use uuid::Uuid;

    use super::*;
    use crate::check::story::{Story, violations_of};
    use crate::client::{AcceptedMessage, AnsweredQuestion, Start};
    use crate::snapshot::{Approval, Key};

    #[test]
    fn an_event_that_was_sent_and_is_gone_or_changed_breaks_i1() {
        let mut story = Story::with_log(&[]);
        story.reads_all();
        assert!(violations_of("I1", &story).is_empty());
        story.reader().events.push((2, "{}".into()));
        assert_eq!(violations_of("I1", &story).len(), 1);
        story.reader().events[0].1.push(' ');
        assert_eq!(violations_of("I1", &story).len(), 2);
    }

    #[test]
    fn a_promised_run_that_is_not_on_disk_breaks_w1() {
        let mut story = Story::with_log(&[]);
        let promised = |run| Start { nonce: "n-1".into(), key: None, runs: vec![run] };
        let run = story.run;
        story.client().starts.push(promised(run));
        assert!(violations_of("W1", &story).is_empty());
        story.client().starts.push(promised(RunId(Uuid::from_u128(99))));
        assert_eq!(violations_of("W1", &story).len(), 1);
    }

    #[test]
    fn an_acknowledged_answer_that_is_not_on_disk_breaks_w8() {
        let mut story = Story::with_log(&[]);
        let approval = Uuid::from_u128(5);
        let answer = json!({"decision": "approve"});
        story.client().answers.push(AnsweredQuestion { approval, answer: answer.clone() });
        let held = |state: &str, answer: Option<String>| Approval { state: state.into(), answer };
        story.evidence.disk.approvals.insert(approval, held("pending", None));
        assert_eq!(violations_of("W8", &story).len(), 1);
        story.evidence.disk.approvals.insert(approval, held("answered", Some(answer.to_string())));
        assert!(violations_of("W8", &story).is_empty());
    }

    #[test]
    fn a_message_that_is_not_on_disk_or_twice_breaks_w9() {
        let mut story = Story::with_log(&[]);
        let (run, message, text) = (story.run, MessageId(Uuid::from_u128(8)), "and tea".to_owned());
        story.client().said.push(AcceptedMessage { run, message, text: text.clone() });
        assert_eq!(violations_of("W9", &story).len(), 1);
        let queued = Fact::MessageQueued { message, text, by: "mei".into() };
        story.add(queued.clone());
        assert!(violations_of("W9", &story).is_empty());
        story.add(queued);
        assert_eq!(violations_of("W9", &story).len(), 1);
    }

    #[test]
    fn a_request_with_two_runs_breaks_i14() {
        let mut story = Story::with_log(&[]);
        let start = Start { nonce: "n-1".into(), key: Some("k".into()), runs: vec![story.run] };
        story.client().starts.push(start);
        story.evidence.disk.keys.push(Key { key: "k".into(), run: story.run });
        assert!(violations_of("I14", &story).is_empty());
        let copy = story.evidence.disk.runs[&story.run].clone();
        story.evidence.disk.runs.insert(RunId(Uuid::from_u128(99)), copy);
        assert_eq!(violations_of("I14", &story).len(), 1);
        story.evidence.disk.keys[0].run = RunId(Uuid::from_u128(98));
        assert_eq!(violations_of("I14", &story).len(), 2);
    }
}
