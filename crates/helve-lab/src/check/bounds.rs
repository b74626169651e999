//! Bounds: what a run may use up, how many may be at work, what a server may keep.

use std::collections::BTreeSet;

use helve_types::{Fact, Used};

use super::Evidence;
use crate::footprint::Footprint;
use crate::test_server::{CALLS_MAX, THRIFTY, TOKENS_MAX};
use crate::tools;

/// What a server at rest may have more of than it had when it was last at rest.
const MORE: Footprint = Footprint { rss_kib: 48 * 1_024, files: 24, threads: 16 };

pub(super) fn check_budgets(evidence: &Evidence) -> Vec<String> {
    let mut wrong = vec![];
    let thrifty = evidence.disk.runs.iter().filter(|(_, run)| run.setup.agent == THRIFTY);
    for (id, run) in thrifty {
        let mut tokens = 0;
        let mut calls = BTreeSet::new();
        for event in &run.log {
            match &event.body.fact {
                Fact::StepFinished { step, .. } if tokens >= TOKENS_MAX => {
                    wrong.push(format!("run {id} asked for step {step} with {tokens} tokens used up"));
                }
                Fact::ToolStarted { call, .. } | Fact::ToolDelegated { call, .. } => _ = calls.insert(call),
                _ => {}
            }
            tokens += Used::from_fact(&event.body.fact).tokens;
        }
        if calls.len() > CALLS_MAX {
            wrong.push(format!("run {id} made {} calls of {CALLS_MAX}", calls.len()));
        }
    }
    wrong
}

pub(super) fn check_parallel_calls(evidence: &Evidence) -> Vec<String> {
    let mut wrong = vec![];
    for entry in &evidence.ledger {
        let max = tools::find_kind(&entry.tool).and_then(|kind| kind.at_once_max);
        if let Some(max) = max.filter(|max| entry.at_once > *max) {
            let (tool, at_once) = (&entry.tool, entry.at_once);
            wrong.push(format!("call {} of `{tool}` was one of {at_once} at once; {max} may be", entry.call));
        }
    }
    wrong
}

pub(super) fn check_resources_at_rest(evidence: &Evidence) -> Vec<String> {
    let (Some(first), Some(last)) = (evidence.footprints.first(), evidence.footprints.last()) else {
        return vec![];
    };
    let grown = [
        ("KiB of memory", first.rss_kib, last.rss_kib, MORE.rss_kib),
        ("open files", first.files, last.files, MORE.files),
        ("threads", first.threads, last.threads, MORE.threads),
    ];
    let grown = grown.into_iter().filter(|(_, before, after, more)| *after > before + more);
    grown.map(|(what, before, after, _)| format!("{after} {what} after the load, {before} before")).collect()
}

#[cfg(test)]
mod tests {
    use helve_types::{Mode, StopReason, Usage};

    use super::*;
    use crate::check::story::{Story, violations_of};

    fn step(step: u32, input_tokens: u64) -> Fact {
        Fact::StepFinished {
            step,
            attempt: 1,
            reason: StopReason::Stop,
            mode: Mode::Native,
            usage: Usage { input_tokens, ..Usage::default() },
            cost_nanos: None,
            model: None,
            fingerprint: None,
            echo: None,
            params: None,
        }
    }

    #[test]
    fn a_step_or_a_call_beyond_the_budget_breaks_i15() {
        let mut story = Story::with_log(&[]);
        for number in 1..=3 {
            story.add(step(number, TOKENS_MAX / 2));
        }
        assert!(violations_of("I15", &story).is_empty(), "its agent has no such budget");
        story.row().setup.agent = THRIFTY.into();
        assert_eq!(violations_of("I15", &story).len(), 1);
        let mut story = Story::with_log(&[]);
        story.row().setup.agent = THRIFTY.into();
        for _ in 0..CALLS_MAX {
            story.next_call("effect_read");
            ["requested", "started", "started"].iter().for_each(|word| story.record_word(word));
        }
        assert!(violations_of("I15", &story).is_empty());
        story.next_call("effect_read");
        ["requested", "started"].iter().for_each(|word| story.record_word(word));
        assert_eq!(violations_of("I15", &story).len(), 1);
    }

    #[test]
    fn more_calls_at_once_than_allowed_break_l1() {
        let mut story = Story::for_tool("effect_put", &["requested", "started"]);
        story.happens("effect_put");
        assert!(violations_of("L1", &story).is_empty());
        story.evidence.ledger[0].at_once = 3;
        assert_eq!(violations_of("L1", &story).len(), 1);
    }

    #[test]
    fn a_server_that_has_more_at_rest_than_before_breaks_i18() {
        let before = Footprint { rss_kib: 50_000, files: 30, threads: 8 };
        let mut story = Story::with_log(&[]);
        story.evidence.footprints = vec![before, before];
        assert!(violations_of("I18", &story).is_empty());
        story.evidence.footprints.push(Footprint { files: 100, threads: 50, rss_kib: 200_000 });
        assert_eq!(violations_of("I18", &story).len(), 3);
    }
}
