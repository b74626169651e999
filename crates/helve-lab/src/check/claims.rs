//! Calls that clients run: who has one, and what was brought.

use std::collections::BTreeMap;

use helve_types::{CallId, Fact};

use super::Evidence;

pub(super) fn check_claims(evidence: &Evidence) -> Vec<String> {
    let mut wrong = vec![];
    let mut holders: BTreeMap<&CallId, Vec<&str>> = BTreeMap::new();
    for event in evidence.disk.runs.values().flat_map(|run| &run.log) {
        if let Fact::ToolClaimed { call, client, .. } = &event.body.fact {
            holders.entry(call).or_default().push(client);
        }
    }
    let twice = holders.iter().filter(|(_, clients)| clients.len() > 1);
    wrong.extend(twice.map(|(call, clients)| format!("call {call} was given to {clients:?}")));
    for claim in evidence.clients.iter().flat_map(|client| &client.claims) {
        let clients = holders.get(&claim.call).map_or(&[][..], Vec::as_slice);
        if !clients.contains(&claim.client.as_str()) {
            wrong.push(format!(
                "call {} was given to {}, and on disk {clients:?} have it",
                claim.call, claim.client
            ));
        }
    }
    for brought in evidence.clients.iter().flat_map(|client| &client.brought) {
        let is_kept = |fact: &Fact| {
            matches!(fact, Fact::ToolFinished { call, output, .. }
                if *call == brought.call && output.text == brought.text)
        };
        let log = evidence.log_of(&brought.call.to_string());
        if !log.iter().any(|event| is_kept(&event.body.fact)) {
            wrong
                .push(format!("`{}` was brought for call {} and is not on disk", brought.text, brought.call));
        }
    }
    wrong
}

#[cfg(test)]
mod tests {
    use crate::check::story::{Story, violations_of};
    use crate::client::{AcceptedResult, Claim};
    use crate::tools::CLIENT_TOOL;

    #[test]
    fn a_claim_that_is_not_on_disk_or_of_two_clients_breaks_a5() {
        let mut story = Story::for_tool(CLIENT_TOOL, &["requested", "delegated"]);
        let call = story.call.clone();
        story.client().claims.push(Claim { call, client: "c1".into() });
        assert_eq!(violations_of("A5", &story).len(), 1);
        story.record_word("claimed");
        assert!(violations_of("A5", &story).is_empty());
        story.record_word("claimed");
        assert_eq!(violations_of("A5", &story).len(), 1);
    }

    #[test]
    fn a_result_that_was_taken_and_is_not_on_disk_breaks_a5() {
        let mut story = Story::for_tool(CLIENT_TOOL, &["requested", "delegated", "claimed"]);
        story.happens(CLIENT_TOOL);
        let (call, text) = (story.call.clone(), story.evidence.ledger[0].answer.clone());
        story.client().brought.push(AcceptedResult { call, text });
        assert_eq!(violations_of("A5", &story).len(), 1);
        story.record_word("finished");
        assert!(violations_of("A5", &story).is_empty());
    }
}
