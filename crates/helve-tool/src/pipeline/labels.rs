//! Labels of a tool's output, set before it is delivered: where it is from and how far to trust it.
//!
//! By what the tool is, as its definition and the operator have it; never by what it answers. Helve's own words, a
//! refusal or a time that is up, have no label.

use helve_types::{CLIENT, FailureKind, Flow, Labels, Stage, ToolOutput, Trail};

use super::Pipeline;
use super::run::ToolAnswer;
use crate::bound::SideRecords;
use crate::{CallContext, Outcome, Registered};

/// Of an answer, which quotes the tool that was called where another stood in for it. A tool that gives back what was
/// kept may say that there is more in it than the tool itself brings in, and never that there is less.
pub(super) fn label_answer(answered: &ToolAnswer, called: &Registered) -> Labels {
    let by = answered.by.labels();
    let kept = answered.output.labels.as_ref();
    let by = Labels {
        private: by.private || kept.is_some_and(|kept| kept.private),
        untrusted: by.untrusted || kept.is_some_and(|kept| kept.untrusted),
        ..by
    };
    if answered.by.spec.name == called.spec.name { by } else { by.merge(called.labels()) }
}

impl Pipeline {
    /// The outcome with labels on what it quotes, for a call of this tool.
    pub(super) fn label_outcome(
        &self,
        outcome: Outcome,
        called: Option<&Registered>,
        trail: &Trail,
        cx: &CallContext,
    ) -> (Outcome, SideRecords) {
        let Some(called) = called else { return (outcome, SideRecords::default()) };
        match outcome {
            Outcome::Failed(mut failure) if failure.kind == FailureKind::Failed => {
                failure.labels = Some(Box::new(self.label_text(called, trail, cx)));
                (Outcome::Failed(failure), SideRecords::default())
            }
            Outcome::Unknown { .. } => {
                let labels = Some(Box::new(self.label_text(called, trail, cx)));
                (outcome, SideRecords { labels, ..SideRecords::default() })
            }
            other => (other, SideRecords::default()),
        }
    }

    /// Of what may quote the tool, those that were tried in its place, and the one that looked into it.
    fn label_text(&self, called: &Registered, trail: &Trail, cx: &CallContext) -> Labels {
        let tried = trail.0.iter().filter_map(|stage| match stage {
            Stage::Fallback { by, .. } => Some(by),
            _ => None,
        });
        let others = tried.chain(&called.spec.check_tool).filter_map(|name| self.find_other_tool(name, cx));
        others.fold(called.labels(), |labels, other| labels.merge(other.labels()))
    }
}

/// What a client brings is labelled as that, whatever it says itself.
pub(super) fn label_client_result(outcome: Outcome) -> Outcome {
    let labels = || Flow::for_client().labels(CLIENT);
    match outcome {
        Outcome::Finished(output) => Outcome::Finished(ToolOutput { labels: Some(labels()), ..output }),
        Outcome::Failed(mut failure) if failure.kind == FailureKind::Failed => {
            failure.labels = Some(Box::new(labels()));
            Outcome::Failed(failure)
        }
        other => other,
    }
}
