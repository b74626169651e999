//! A person's answer to a question: looked at before it is passed on, so that one which cannot be meant leaves the
//! question open.

use helve_store::{Approval, Scope};
use helve_tool::conditions;
use helve_types::{Always, Answer, ApprovalId, ApprovalKind, Within};
use serde_json::Value;

use super::Runtime;
use crate::command::{Command, CommandError};

impl Runtime {
    /// Settles an open question. The first answer wins.
    pub async fn answer(
        &self,
        scope: Scope,
        approval: ApprovalId,
        answer: Answer,
        by: String,
    ) -> Result<(), CommandError> {
        let held = self.shared.store.approval(scope.clone(), approval).await?;
        if let Answer::Approve { arguments, always: Some(always) } = &answer {
            check(always, arguments.as_deref(), &held).map_err(CommandError::BadAlways)?;
            if always.within == Within::Conversation
                && self.shared.store.run(scope, held.run).await?.conversation.is_none()
            {
                let what = "this run belongs to no conversation; say `run` or `agent`";
                return Err(CommandError::BadAlways(what.into()));
            }
        }
        self.command(held.run, |reply| Command::Answer { approval, answer, by, reply }).await
    }
}

/// What is wrong with a consent that outlives its call, if anything.
fn check(always: &Always, edited: Option<&str>, held: &Approval) -> Result<(), String> {
    let question = &held.question;
    if question.kind != ApprovalKind::Permission {
        return Err(
            "only a question whether a call may run can be answered for always; answer it once".into()
        );
    }
    // Whoever looks at a circle sees one run, and not what else the tool may be called for.
    if question.repeats && always.within != Within::Run {
        return Err("this call repeats itself in this run; say `run`, or answer it once".into());
    }
    if question.repeats && question.version.is_empty() {
        return Err(
            "this call cannot be made, so there is nothing to allow for always; answer it once, or with a no"
                .into(),
        );
    }
    if question.version.is_empty() {
        return Err("the question does not say which version of the tool it is about; answer it once".into());
    }
    // Those that will be sent. If they cannot be read they fit nothing.
    let sent = serde_json::from_str(edited.unwrap_or(&question.arguments)).unwrap_or(Value::Null);
    conditions(always, &sent).map(drop)
}
