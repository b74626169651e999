//! Bugs of the kind "the log says something else than what was done": facts are changed on their way to the disk.

use std::sync::Arc;

use helve_store::{Append, Recorded, Store, StoreFuture, Urgency};
use helve_types::{Answer, Fact, Failure, FailureKind, Trail};

use super::StoreFault;
use crate::mock::first_words;

/// What is written in the place of a fact; none leaves it as it is.
pub(crate) struct FactRewrite(pub(crate) fn(&Fact) -> Option<Fact>);

impl StoreFault for FactRewrite {
    fn append(
        &self,
        inner: &Arc<dyn Store>,
        mut batch: Append,
        urgency: Urgency,
    ) -> StoreFuture<'static, ()> {
        for recorded in &mut batch.events {
            if let Some(fact) = (self.0)(&recorded.event.fact) {
                *recorded = Arc::new(Recorded::new(recorded.event.seq, recorded.event.at, fact));
            }
        }
        inner.append(batch, urgency)
    }
}

/// A place in the log that tells nothing.
fn empty_fact() -> Fact {
    Fact::RunResumed { resume: 0 }
}

/// Nobody knows whether it happened, and the log says that it did not.
pub(crate) fn unknown_as_failed(fact: &Fact) -> Option<Fact> {
    let Fact::ToolUnknown { call, because, .. } = fact else { return None };
    let failure = Failure::new(FailureKind::Failed, because.clone());
    Some(Fact::ToolFailed { call: call.clone(), failure, trail: Trail::default() })
}

/// That a call is sent is never written.
pub(crate) fn start_left_out(fact: &Fact) -> Option<Fact> {
    matches!(fact, Fact::ToolStarted { .. }).then(empty_fact)
}

/// That a client has a call is never written, so that the next one gets it too.
pub(crate) fn claim_left_out(fact: &Fact) -> Option<Fact> {
    matches!(fact, Fact::ToolClaimed { .. }).then(empty_fact)
}

/// A result that came too late is taken for the outcome.
pub(crate) fn late_as_outcome(fact: &Fact) -> Option<Fact> {
    let Fact::ToolLate { call, output } = fact else { return None };
    Some(Fact::ToolFinished { call: call.clone(), output: output.clone(), trail: Trail::default() })
}

/// A call runs, and the log says that its person said no.
pub(crate) fn consent_as_refusal(fact: &Fact) -> Option<Fact> {
    let Fact::ApprovalAnswered { approval, call: Some(call), answer: Answer::Approve { .. }, by } = fact
    else {
        return None;
    };
    let answer = Answer::Reject { reason: String::new() };
    Some(Fact::ApprovalAnswered { approval: *approval, call: Some(call.clone()), answer, by: by.clone() })
}

/// The text of an attempt that broke off stays in front of the next one's.
pub(crate) fn attempts_run_together(fact: &Fact) -> Option<Fact> {
    let Fact::TextFinished { step, part, text } = fact else { return None };
    let is_first = part.as_str().split('.').nth(1) == Some("1");
    let text = format!("{}{text}", first_words(1));
    (!is_first).then(|| Fact::TextFinished { step: *step, part: part.clone(), text })
}
