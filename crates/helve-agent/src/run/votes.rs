//! What approvers have said about open questions, as the log tells it.

use std::collections::BTreeMap;

use helve_types::{Answer, ApprovalId, Fact, Timestamp, Vote};
use serde::{Deserialize, Serialize};

/// By question; a question that is answered is forgotten.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Votes(BTreeMap<ApprovalId, VoteState>);

/// How far the approvers of one question are.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct VoteState {
    pub(crate) votes: Vec<Vote>,
    pub(crate) reminded: bool,
    pub(crate) escalated: bool,
}

impl Votes {
    pub(super) fn apply(&mut self, at: Timestamp, fact: &Fact) {
        match fact {
            Fact::ApprovalVoted { approval, answer, by } => {
                let (by, answer): (String, Answer) = (by.clone(), answer.clone());
                self.0.entry(*approval).or_default().votes.push(Vote { by, answer, at });
            }
            Fact::ApprovalReminded { approval } => self.0.entry(*approval).or_default().reminded = true,
            Fact::ApprovalEscalated { approval } => self.0.entry(*approval).or_default().escalated = true,
            Fact::ApprovalAnswered { approval, .. } => _ = self.0.remove(approval),
            _ => {}
        }
    }

    pub(super) fn find(&self, approval: ApprovalId) -> Option<&VoteState> {
        self.0.get(&approval)
    }
}
