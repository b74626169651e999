//! The one place where a run's budgets are held against what was used up.

use helve_types::{About, Fact, Question, Reason, RunInput};

use super::DrivenRun;
use crate::budget::{self, Account, BudgetCheck, BudgetOwner, Verdict};
use crate::drive::DriveError;

/// How far a run may go now.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Allowed {
    /// So many calls may be sent; none is no limit.
    Calls(Option<u64>),
    /// Something was put on record that changes what is next.
    LookAgain,
}

impl DrivenRun {
    /// Asks the budgets, and does as they say.
    pub(crate) async fn enforce_budgets(&self, before: BudgetCheck) -> Result<Allowed, DriveError> {
        let accounts = self.load_accounts().await?;
        let currency = &self.shared.env.settings.budgets.currency;
        let said = |binding: &str| self.run.consent_to_overspend(binding);
        match budget::decide_by_budget(&accounts, before, currency, said) {
            Verdict::GoOn => Ok(Allowed::Calls(budget::min_calls_left(&accounts))),
            Verdict::Ask { binding, because } => {
                self.shared.env.world.failpoint("budget.before_ask");
                self.journal
                    .commit(Fact::ApprovalAsked(self.build_budget_question(binding, because)))
                    .await?;
                self.shared.env.world.failpoint("budget.after_ask");
                self.shared.env.budget_counters.count_asked();
                Ok(Allowed::LookAgain)
            }
            Verdict::Stop { because } => {
                tracing::info!(run = %self.run.id(), because = because.text, "run ended by its budget");
                let notice = Some(Box::new(because.notice));
                self.journal.record(Fact::BudgetSpent { because: because.text, notice }).await?;
                self.shared.env.world.failpoint("budget.after_spent");
                self.shared.env.budget_counters.count_stopped();
                Ok(Allowed::LookAgain)
            }
        }
    }

    /// Whether the budgets leave a call that is begun before its message is complete, after so many of that message. No person
    /// is asked: the complete message is.
    pub(crate) async fn budgets_allow_early_read(&self, begun: u64) -> Result<bool, DriveError> {
        let accounts = self.load_accounts().await?;
        let currency = &self.shared.env.settings.budgets.currency;
        let said = |binding: &str| self.run.consent_to_overspend(binding);
        let goes_on =
            budget::decide_by_budget(&accounts, BudgetCheck::Calling, currency, said) == Verdict::GoOn;
        Ok(goes_on && budget::min_calls_left(&accounts).is_none_or(|left| left > begun))
    }

    /// The budgets that the run draws on, with what was drawn. Those of a day are read only where there are any.
    async fn load_accounts(&self) -> Result<Vec<Account>, DriveError> {
        let shared = &self.shared;
        let setup = self.run.setup();
        if setup.input == RunInput::Call {
            return Ok(vec![]);
        }
        let mut accounts = shared.env.load_day_accounts(&self.origin.user, &setup.agent).await?;
        accounts.insert(0, self.run_account());
        Ok(accounts)
    }

    /// The run's own budget, which is at most its share of that of the run that it works for.
    pub(crate) fn run_account(&self) -> Account {
        let limits = self.tools.budget.or_defaults(self.shared.env.settings.budgets.run);
        let limits = match &self.run.setup().parent {
            Some(parent) => limits.within(parent.budget),
            None => limits,
        };
        Account { whose: BudgetOwner::Run, limits, used: self.run.used_by_run(self.journal.now()) }
    }

    fn build_budget_question(&self, binding: String, because: Reason) -> Question {
        let world = &self.shared.env.world;
        Question {
            approval: world.approval_id(),
            about: About::Budget,
            because: because.text,
            reasons: vec![because.notice],
            binding,
            approvers: None,
            expires_at: world.now().plus_ms(Question::OPEN_MS),
            asker: self.asker(),
        }
    }
}
