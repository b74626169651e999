//! Consent that outlives its call: who said "always", to which tool as it was, and how far that reaches.

use std::collections::HashMap;

use helve_types::{Answer, Fact, RunId, Timestamp, Within};
use uuid::Uuid;

use super::Evidence;
use crate::snapshot::Run;

/// A yes to calls that were still to come.
struct AllowanceRecord<'a> {
    run: RunId,
    given_in: &'a Run,
    at: Timestamp,
    tool: &'a str,
    version: &'a str,
    within: Within,
}

/// Every such yes that is on record.
pub(super) struct Allowances<'a>(Vec<AllowanceRecord<'a>>);

impl<'a> Allowances<'a> {
    pub(super) fn read(evidence: &'a Evidence) -> Self {
        let mut all = vec![];
        for (id, run) in &evidence.disk.runs {
            let mut asked: HashMap<Uuid, (&str, &str)> = HashMap::new();
            for event in &run.log {
                match &event.body.fact {
                    Fact::ApprovalAsked(question) => {
                        if let Some(call) = question.call() {
                            asked.insert(question.approval.0, (&call.tool, &call.version));
                        }
                    }
                    Fact::ApprovalAnswered {
                        approval,
                        answer: Answer::Approve { always: Some(always), .. },
                        ..
                    } => {
                        let Some((tool, version)) = asked.get(&approval.0) else { continue };
                        let (at, within) = (event.body.at, always.within);
                        all.push(AllowanceRecord { run: *id, given_in: run, at, tool, version, within });
                    }
                    _ => {}
                }
            }
        }
        Self(all)
    }

    /// Whether a call of the run may be sent at this moment without a question of its own.
    pub(super) fn covers(&self, run: RunId, row: &Run, at: Timestamp, tool: &str, version: &str) -> bool {
        self.0.iter().any(|yes| {
            let reaches = match yes.within {
                Within::Run => yes.run == run,
                Within::Conversation => {
                    row.conversation.is_some_and(|it| yes.given_in.conversation == Some(it))
                }
                Within::Agent => yes.given_in.setup.agent == row.setup.agent,
            };
            let is_like_it = yes.tool == tool && yes.version == version && yes.given_in.user == row.user;
            reaches && is_like_it && yes.at <= at
        })
    }
}
