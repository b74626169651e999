//! Consent: what people said, against what was done.

use std::collections::{BTreeMap, BTreeSet};

use helve_types::{About, Answer, AskedCall, CallId, Fact, Question, Timestamp};
use serde_json::Value;
use uuid::Uuid;

use super::Evidence;
use super::allowances::Allowances;
use crate::snapshot::Event;
use crate::tools::{self, DataFlow, asks};

/// What people said about one call, and what was sent with their word.
#[derive(Default)]
struct ConsentRecord<'a> {
    question: Option<&'a AskedCall>,
    /// The arguments that hold now.
    agreed: Option<&'a str>,
    said_yes: bool,
    said_no: bool,
    /// Each sending that needed somebody's word, with the arguments that the word was for.
    sent: Vec<Option<&'a str>>,
    /// A version that was sent, and that nobody has agreed to.
    of_another: Option<&'a str>,
}

/// Whether a call may be sent because somebody said "always".
type IsAllowed<'a> = &'a dyn Fn(Timestamp, &str, &str) -> bool;

fn read_consent<'a>(log: &'a [Event], call: &str, is_standing: IsAllowed<'_>) -> ConsentRecord<'a> {
    let mut heard = ConsentRecord::default();
    // As the model wrote them.
    let mut wanted = None;
    // The tool as it was when a person had the call run again.
    let mut again = None;
    let about = log.iter().filter(|event| event.body.fact.call().is_some_and(|of| of.to_string() == call));
    for event in about {
        match &event.body.fact {
            Fact::ToolRequested { arguments, replaces, .. } => {
                wanted = Some(arguments.as_str());
                again = replaces.as_ref().and_then(|old| version_asked_about(log, old));
            }
            Fact::ApprovalAsked(Question { about: About::Permission { call, .. }, .. }) => {
                (heard.question, heard.agreed) = (Some(&**call), None);
            }
            Fact::ApprovalAnswered { answer: Answer::Approve { arguments, .. }, .. } => {
                heard.said_yes = true;
                heard.agreed = arguments.as_deref().or(heard.question.map(|it| it.arguments.as_str()));
            }
            Fact::ApprovalAnswered {
                answer: Answer::Reject { .. } | Answer::Respond { .. } | Answer::Expire,
                ..
            } => heard.said_no |= heard.question.is_some(),
            Fact::ToolStarted { tool, version, arguments, .. } => {
                let version = version.as_str();
                if heard.question.is_some_and(|question| question.version == version) {
                    heard.sent.push(heard.agreed);
                } else if again == Some(version) || is_standing(event.body.at, tool, version) {
                    heard.sent.push(arguments.as_deref().or(wanted));
                } else if heard.question.is_some() {
                    heard.sent.push(heard.agreed);
                    heard.of_another = Some(version);
                } else if asks(tool) {
                    heard.sent.push(None);
                }
            }
            Fact::ToolClaimed { .. } if heard.question.is_some() => heard.sent.push(heard.agreed),
            _ => {}
        }
    }
    heard
}

/// Of the tool, in the question what became of a call.
fn version_asked_about<'a>(log: &'a [Event], call: &CallId) -> Option<&'a str> {
    log.iter().rev().find_map(|event| match &event.body.fact {
        Fact::ApprovalAsked(question) => {
            question.call().filter(|asked| asked.id == *call).map(|asked| &*asked.version)
        }
        _ => None,
    })
}

pub(super) fn approved_bytes(evidence: &Evidence) -> Vec<String> {
    let mut wrong = vec![];
    let standing = Allowances::read(evidence);
    for (call, entries) in evidence.effects() {
        let Some((id, run)) = evidence.run_of(call) else { continue };
        let is_standing =
            |at: Timestamp, tool: &str, version: &str| standing.covers(id, run, at, tool, version);
        let heard = read_consent(&run.log, call, &is_standing);
        let asks = entries.first().is_some_and(|entry| asks(&entry.tool));
        if heard.question.is_none() && !asks {
            continue;
        }
        if heard.sent.iter().any(Option::is_none) || heard.sent.is_empty() {
            wrong.push(format!("call {call} happened although nobody had agreed to it"));
            continue;
        }
        if let Some(version) = heard.of_another {
            wrong.push(format!("call {call} was agreed to for another tool than its version {version}"));
        }
        let read = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_default();
        let agreed: Vec<Value> = heard.sent.iter().flatten().map(|text| read(text)).collect();
        if let Some(entry) = entries.iter().find(|entry| !agreed.contains(&entry.payload)) {
            wrong.push(format!("call {call}: a person agreed to {agreed:?}, and {} was sent", entry.payload));
        }
    }
    wrong
}

pub(super) fn check_one_decision(evidence: &Evidence) -> Vec<String> {
    let mut wrong = vec![];
    let mut decided: BTreeMap<Uuid, Vec<Value>> = BTreeMap::new();
    for event in evidence.disk.runs.values().flat_map(|run| &run.log) {
        if let Fact::ApprovalAnswered { approval, answer, .. } = &event.body.fact {
            let answer = serde_json::to_value(answer).unwrap_or_default();
            decided.entry(approval.0).or_default().push(answer);
        }
    }
    for (approval, answers) in &decided {
        if answers.len() > 1 {
            wrong.push(format!("question {approval} was decided {} times: {answers:?}", answers.len()));
        }
        let row = evidence.disk.approvals.get(approval);
        let kept = row.and_then(|row| row.answer.as_deref());
        let kept = kept.and_then(|json| serde_json::from_str::<Value>(json).ok());
        if kept.as_ref() != answers.last() {
            wrong.push(format!("question {approval} was decided with {answers:?}, and its row is {row:?}"));
        }
    }
    wrong
}

pub(super) fn check_denied_calls(evidence: &Evidence) -> Vec<String> {
    let mut wrong = vec![];
    for (call, entries) in evidence.effects() {
        let heard = read_consent(evidence.log_of(call), call, &|_, _, _| false);
        if heard.said_no && !heard.said_yes {
            let times = entries.len();
            wrong.push(format!("call {call} was denied or not answered, and happened {times} times"));
        }
    }
    wrong
}

/// In the run itself: what its model had read of private data in the words of strangers, before it wrote the call.
pub(super) fn check_data_leaks(evidence: &Evidence) -> Vec<String> {
    let mut wrong = vec![];
    for run in evidence.disk.runs.values() {
        let mut asked_in: BTreeMap<&CallId, (u32, DataFlow)> = BTreeMap::new();
        let mut read_in: Option<u32> = None;
        let (mut warned, mut agreed): (BTreeSet<&CallId>, BTreeSet<&CallId>) = Default::default();
        for event in &run.log {
            match &event.body.fact {
                Fact::ToolRequested { step, call, tool, replaces, .. } => {
                    let carries = tools::find_kind(tool).map_or(DataFlow::Nothing, |kind| kind.flow);
                    asked_in.insert(call, (*step, carries));
                    // Whoever was warned and had the call run again has agreed to this one.
                    if replaces.as_ref().is_some_and(|old| warned.contains(old)) {
                        agreed.insert(call);
                    }
                }
                Fact::ApprovalAsked(question) => {
                    let about = question.call().filter(|asked| !asked.warnings.is_empty());
                    warned.extend(about.map(|asked| &asked.id));
                }
                Fact::ToolFinished { call, .. } => {
                    if let Some((step, DataFlow::In)) = asked_in.get(call) {
                        read_in = Some(read_in.map_or(*step, |first| first.min(*step)));
                    }
                }
                Fact::ApprovalAnswered { call: Some(call), answer: Answer::Approve { .. }, .. } => {
                    agreed.insert(call);
                }
                Fact::ToolStarted { call, .. } | Fact::ToolClaimed { call, .. } => {
                    let Some((step, DataFlow::Out)) = asked_in.get(call) else { continue };
                    if read_in.is_some_and(|read| read < *step) && !agreed.contains(call) {
                        wrong.push(format!("call {call} carried out what private data may be in, unasked"));
                    }
                }
                _ => {}
            }
        }
    }
    wrong
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::check::story::{Story, violations_of};
    use crate::snapshot::Approval;

    #[test]
    fn an_effect_that_nobody_agreed_to_breaks_i12() {
        let mut story = Story::for_tool("effect_ask", &["requested", "asked", "approved", "started"]);
        story.happens("effect_ask");
        assert!(violations_of("I12", &story).is_empty());
        story.evidence.ledger[0].payload = json!({"note": "another"});
        assert_eq!(violations_of("I12", &story).len(), 1);
        let mut story = Story::for_tool("effect_ask", &["requested", "asked", "started"]);
        story.happens("effect_ask");
        assert_eq!(violations_of("I12", &story).len(), 1);
    }

    #[test]
    fn a_tool_that_is_not_the_one_that_was_asked_about_breaks_i12() {
        let mut story = Story::for_tool("effect_ask", &["requested", "asked", "approved"]);
        story.version = "v2";
        story.record_word("started");
        story.happens("effect_ask");
        assert_eq!(violations_of("I12", &story).len(), 1);
    }

    #[test]
    fn an_effect_that_nobody_was_asked_about_breaks_i12_unless_somebody_said_always_to_this_tool() {
        let unasked = |version: &'static str, says: &str| {
            let mut story = Story::for_tool("effect_ask", &["requested", "asked", says, "started"]);
            story.happens("effect_ask");
            story.next_call("effect_ask");
            story.version = version;
            story.record_word("requested");
            story.record_word("started");
            story.happens("effect_ask");
            violations_of("I12", &story).len()
        };
        assert_eq!(unasked("v1", "approved"), 1);
        assert_eq!(unasked("v1", "approved for the run"), 0);
        assert_eq!(unasked("v2", "approved for the run"), 1);
    }

    #[test]
    fn a_second_decision_or_another_row_breaks_i13() {
        let mut story = Story::for_tool("effect_ask", &["requested", "asked", "rejected"]);
        assert_eq!(violations_of("I13", &story).len(), 1, "there is no row");
        let answer = Some(json!({"decision": "reject"}).to_string());
        let row = Approval { state: "answered".into(), answer };
        story.evidence.disk.approvals.insert(uuid::Uuid::from_u128(5), row);
        assert!(violations_of("I13", &story).is_empty());
        story.record_word("approved");
        assert_eq!(violations_of("I13", &story).len(), 2);
    }

    #[test]
    fn a_denied_call_that_happened_breaks_i16() {
        let mut story = Story::for_tool("effect_ask", &["requested", "asked", "rejected", "started"]);
        assert!(violations_of("I16", &story).is_empty());
        story.happens("effect_ask");
        assert_eq!(violations_of("I16", &story).len(), 1);
    }

    #[test]
    fn an_outward_call_after_a_private_one_breaks_p1_unless_a_person_agreed() {
        for (words, wrong) in [(&["started"][..], 1), (&["asked", "approved", "started"][..], 0)] {
            let mut story = Story::for_tool("effect_inbox", &["requested", "started", "finished"]);
            story.next_call("effect_mail");
            story.record_word("requested");
            words.iter().for_each(|word| story.record_word(word));
            assert_eq!(violations_of("P1", &story).len(), wrong, "{words:?}");
        }
    }
}
