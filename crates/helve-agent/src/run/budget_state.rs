//! What a run has used up and what people said about that, as its log tells it.

use helve_tool::Outcome;
use helve_types::{
    Answer, ApprovalKind, Fact, Failure, FailureKind, Notice, Question, Stopwatch, Timestamp, Used,
};
use serde::{Deserialize, Serialize};

use super::{Call, CallAction, CallData, Run};
use crate::budget::Consent;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct BudgetState {
    used: Used,
    clock: Stopwatch,
    /// The open question about the budget.
    open: Option<Box<Question>>,
    /// The questions that were answered, by their binding, and whether with yes.
    answered: Vec<(String, bool)>,
    /// Why nothing more may be begun.
    spent: Option<String>,
    /// The same for people.
    #[serde(default)]
    spent_notice: Option<Box<Notice>>,
}

impl BudgetState {
    pub(super) fn new(at: Timestamp) -> Self {
        Self {
            used: Used::default(),
            clock: Stopwatch::new(at),
            open: None,
            answered: vec![],
            spent: None,
            spent_notice: None,
        }
    }

    pub(super) fn apply(&mut self, at: Timestamp, fact: &Fact) {
        let active_ms = self.clock.ms_worked_until(at, fact);
        self.used = self.used.plus(Used::from_fact(fact)).plus(Used { active_ms, ..Used::default() });
        match fact {
            Fact::ApprovalAsked(question) if question.kind() == ApprovalKind::Budget => {
                self.open = Some(Box::new(question.clone()));
            }
            Fact::ApprovalAnswered { approval, answer, .. } => {
                if let Some(question) = self.open.take_if(|open| open.approval == *approval) {
                    let is_yes = matches!(answer, Answer::Approve { .. });
                    self.answered.push((question.binding, is_yes));
                }
            }
            Fact::BudgetSpent { because, notice } => {
                self.spent = Some(because.clone());
                self.spent_notice = notice.clone();
            }
            _ => {}
        }
    }

    pub(super) fn open_question(&self) -> Option<&Question> {
        self.open.as_deref()
    }
}

impl Run {
    /// What the run has used up by now.
    pub(crate) fn used_by_run(&self, now: Timestamp) -> Used {
        let active_ms = self.budget.clock.unrecorded_ms(now);
        self.used_by_own_work().plus(Used { active_ms, ..Used::default() }).plus(self.subagents.used())
    }

    /// The same without what is on its way, and without its subagents.
    pub(crate) fn used_by_own_work(&self) -> Used {
        self.budget.used
    }

    /// What people said to a question about its budget.
    pub(crate) fn consent_to_overspend(&self, binding: &str) -> Consent {
        match self.budget.answered.iter().rev().find(|(known, _)| known == binding) {
            None => Consent::NotAsked,
            Some((_, true)) => Consent::Given,
            Some((_, false)) => Consent::Withheld,
        }
    }

    /// Whether a budget has ended it, so that nothing more is begun.
    pub(super) fn has_spent_budget(&self) -> bool {
        self.budget.spent.is_some()
    }

    /// What is to be done about the calls, as far as the budget allows: where it is used up, what was not sent will not
    /// be; while a person is asked about it, nothing new is sent.
    pub(super) fn apply_budget(&self, actions: Vec<CallAction>) -> Vec<CallAction> {
        let Some(because) = &self.budget.spent else {
            let held_back = |action: &CallAction| self.budget.open.is_some() && action.sends_new_call();
            return actions.into_iter().filter(|action| !held_back(action)).collect();
        };
        let refused = |call: &Call| {
            let told = format!("this call was not made: {because}");
            let failure = Failure::new(FailureKind::Limited, told)
                .with_notice(self.budget.spent_notice.as_deref().cloned());
            let outcome = Outcome::Refused(failure);
            CallAction::Settle { call: call.call.id.clone(), outcome }
        };
        let unsent = |call: &&Call| matches!(call.data, CallData::Requested | CallData::Asked(_));
        let asked = self.calls.iter().filter(unsent).map(refused);
        let others = actions.into_iter().filter_map(|action| match self.find_call(action.call_id()) {
            Some(call) if unsent(&call) => None,
            Some(call) if action.sends_new_call() => Some(refused(call)),
            _ => Some(action),
        });
        asked.chain(others).collect()
    }
}

impl CallAction {
    /// Whether it sends something that was not sent before.
    pub(crate) fn sends_new_call(&self) -> bool {
        matches!(self, Self::Execute { attempts_before: 0, .. } | Self::AskRepeated { .. })
    }
}
