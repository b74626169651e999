//! Consent that outlives the call it was given for, as a durable object.
//!
//! It is derived from the answer that it was said in, in the same transaction: the log is the truth of it. What may end
//! it before its time is a person who takes it back; that the tool has changed shows in its version.

use std::collections::BTreeMap;

use helve_types::{
    About, Always, Answer, ApprovalId, ConversationId, Question, RunId, Timestamp, UserId, Within,
};
use serde::Serialize;
use serde_json::Value;

use crate::AuditEntry;

const DAY_MS: i64 = 24 * 60 * 60 * 1_000;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Allowance {
    /// The question that it was said in answer to; one answer makes one allowance.
    pub id: ApprovalId,
    pub user: UserId,
    pub agent: String,
    pub tool: String,
    /// The hash of the tool's definition.
    pub version: String,
    pub within: Within,
    /// Where it was said, and where it ends if it reaches no further.
    pub run: RunId,
    pub conversation: Option<ConversationId>,
    /// What arguments must be like, as it was written.
    pub arguments: BTreeMap<String, Value>,
    /// Who said it.
    pub by: String,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
    pub revoked_at: Option<Timestamp>,
}

impl Allowance {
    /// The consent in an answer, if there is one, for a run of this user's with this agent.
    pub fn from_answer(
        answer: &Answer,
        question: &Question,
        of: &Circumstances<'_>,
        by: &str,
        at: Timestamp,
    ) -> Option<Self> {
        let Answer::Approve { always: Some(always), .. } = answer else { return None };
        let About::Permission { call, .. } = &question.about else { return None };
        let Always { within, arguments, .. } = always;
        Some(Self {
            id: question.approval,
            user: of.user.clone(),
            agent: of.agent.to_owned(),
            tool: call.tool.clone(),
            version: call.version.clone(),
            within: *within,
            run: of.run,
            conversation: of.conversation,
            arguments: arguments.clone(),
            by: by.to_owned(),
            created_at: at,
            expires_at: at.plus_ms(i64::from(always.days()) * DAY_MS),
            revoked_at: None,
        })
    }

    /// Its line in the audit.
    pub fn audit_entry(&self) -> AuditEntry {
        let Self { id, user, agent, tool, within, by, created_at, .. } = self;
        let detail = format!("{id} {tool} within {} of {agent}", within.as_str());
        AuditEntry::new(*created_at, &**by, "allowance.made", detail).about(&*user.0)
    }

    pub fn is_in_force(&self, now: Timestamp) -> bool {
        self.revoked_at.is_none() && now < self.expires_at
    }
}

/// The run that an answer is about.
#[derive(Debug, Clone, Copy)]
pub struct Circumstances<'a> {
    pub run: RunId,
    pub user: &'a UserId,
    pub agent: &'a str,
    pub conversation: Option<ConversationId>,
}

/// The tool of a call, as the key of its allowances.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllowanceKey {
    pub user: UserId,
    pub agent: String,
    pub tool: String,
    pub version: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AllowanceFilter {
    /// Neither taken back nor past their time, and not for a run that is over.
    InForce(Timestamp),
    All,
}
