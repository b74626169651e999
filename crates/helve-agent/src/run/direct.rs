//! A run that is one call without a model.
//!
//! It asks no person: its caller is told what came of the call, also where a person or a client would have to act. If its
//! driver is gone, so is its caller: what became of the call is looked into, and nothing is sent.

use helve_types::{CallId, Ending, Fact, ToolCall};

use super::{CallAction, Run, Step};

impl Run {
    pub(super) fn next_step_of_direct_call(&self) -> Step {
        let actions = self.calls.iter().filter_map(|held| held.next_action());
        let actions: Vec<_> = actions
            .filter(|action| match action {
                CallAction::AskOutcome { .. } => false,
                CallAction::RecordUnknown { .. } => true,
                _ => !self.resumed,
            })
            .collect();
        if !actions.is_empty() {
            return Step::CallTools(actions);
        }
        let has_ended = !self.calls.is_empty() && self.calls.iter().all(|held| held.has_ended());
        if self.resumed && !has_ended {
            return Step::Fail { code: "cut_off", message: CUT_OFF_MESSAGE.into() };
        }
        Step::Finish(Ending::Answered)
    }

    /// The end of a direct call that is not looked into any more.
    pub fn cut_off_facts(&self) -> Vec<Fact> {
        self.failure_facts("cut_off", CUT_OFF_MESSAGE.into())
    }

    /// The call of a run that is one. If it is not on record, one of no tool: it will not be made.
    pub fn requested_call(&self) -> ToolCall {
        self.calls.first().map(|held| held.call.clone()).unwrap_or_else(|| ToolCall {
            id: CallId::new(self.id, 1, 0),
            provider_id: None,
            name: String::new(),
            arguments: String::new(),
            repairs: vec![],
        })
    }
}

const CUT_OFF_MESSAGE: &str = "the process that made the call ended before the call did";
