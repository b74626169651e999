//! The one place where a run's budgets are held against what was used up.

use helve_types::{About, Fact, Question, Reason, RunInput};

use super::{DriveError, Driver};
use crate::budget::{self, Account, Before, Verdict, Whose};
use crate::run::{CallAction, CallData};

/// How far a run may go now.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Allowed {
    /// So many calls may be sent; none is no limit.
    Calls(Option<u64>),
    /// Something was put on record that changes what is next.
    LookAgain,
}

impl Driver {
    /// Asks the budgets, and does as they say.
    pub(super) async fn afford(&mut self, before: Before) -> Result<Allowed, DriveError> {
        let accounts = self.accounts().await?;
        let currency = &self.shared.env.settings.budgets.currency;
        let said = |binding: &str| self.run.consent_to_overspend(binding);
        match budget::decide(&accounts, before, currency, said) {
            Verdict::GoOn => Ok(Allowed::Calls(budget::calls_left(&accounts))),
            Verdict::Ask { binding, because } => {
                self.shared.env.world.fate.at("budget.before_ask");
                self.journal.commit(Fact::ApprovalAsked(self.budget_question(binding, because))).await?;
                self.shared.env.world.fate.at("budget.after_ask");
                self.shared.env.budget_counters.asked();
                Ok(Allowed::LookAgain)
            }
            Verdict::Stop { because } => {
                tracing::info!(run = %self.run.id(), because = because.text, "the run ends for its budget");
                let notice = Some(Box::new(because.notice));
                self.journal.record(Fact::BudgetSpent { because: because.text, notice }).await?;
                self.shared.env.world.fate.at("budget.after_spent");
                self.shared.env.budget_counters.stopped();
                Ok(Allowed::LookAgain)
            }
        }
    }

    /// Begins calls as far as the budgets allow.
    pub(super) async fn begin_within_budget(&mut self, actions: Vec<CallAction>) -> Result<(), DriveError> {
        let is_new = |action: &CallAction| action.is_new() && !self.in_flight_calls.contains(action.call());
        if !actions.iter().any(is_new) {
            self.begin(actions);
            return self.await_something().await;
        }
        let Allowed::Calls(left) = self.afford(Before::Calling).await? else { return Ok(()) };
        // Those that are on their way and not on record yet are counted here.
        let unsent = |call| {
            let data = self.run.call(call).map(|held| &held.data);
            matches!(data, Some(CallData::Requested | CallData::Answered { .. }))
        };
        let on_their_way = self.in_flight_calls.iter().filter(|call| unsent(call)).count() as u64;
        let mut left = left.map_or(u64::MAX, |left| left.saturating_sub(on_their_way));
        let mut now = vec![];
        for action in actions {
            if action.is_new() && !self.in_flight_calls.contains(action.call()) {
                if left == 0 {
                    continue;
                }
                left -= 1;
            }
            now.push(action);
        }
        self.begin(now);
        self.await_something().await
    }

    /// Whether the budgets leave a call that is begun before its message is complete, after so many of that message. Nobody
    /// is asked: the complete message is.
    pub(super) async fn budgets_allow_early(&mut self, begun: u64) -> Result<bool, DriveError> {
        let accounts = self.accounts().await?;
        let currency = &self.shared.env.settings.budgets.currency;
        let said = |binding: &str| self.run.consent_to_overspend(binding);
        let goes_on = budget::decide(&accounts, Before::Calling, currency, said) == Verdict::GoOn;
        Ok(goes_on && budget::calls_left(&accounts).is_none_or(|left| left > begun))
    }

    /// The budgets that the run draws on, with what was drawn. Those of a day are read only where there are any.
    async fn accounts(&mut self) -> Result<Vec<Account>, DriveError> {
        let shared = &self.shared;
        let setup = self.run.setup();
        let budgets = &shared.env.settings.budgets;
        if setup.input == RunInput::Call {
            return Ok(vec![]);
        }
        let own = shared.env.agent(&setup.agent);
        let own = own.map_or(budgets.run, |agent| agent.settings.budget.over(budgets.run));
        let run = Account { whose: Whose::Run, limits: own, used: self.run.used(self.journal.now()) };
        let mut accounts = shared.env.day_accounts(&self.user, &setup.agent).await?;
        accounts.insert(0, run);
        Ok(accounts)
    }

    fn budget_question(&self, binding: String, because: Reason) -> Question {
        let world = &self.shared.env.world;
        Question {
            approval: world.approval_id(),
            about: About::Budget,
            because: because.text,
            reasons: vec![because.notice],
            binding,
            expires_at: world.now().plus_ms(Question::OPEN_MS),
        }
    }
}
