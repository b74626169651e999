//! The budgets that runs share.

use helve_agent::{Account, Limits, Whose, nothing_left};
use helve_store::StoreError;
use helve_types::{Timestamp, Used, UserId};

use crate::{Runtime, Shared, StartError};

/// What may be used up today and what was.
#[derive(Debug, Clone, PartialEq)]
pub struct BudgetReport {
    /// Of each run.
    pub run: Limits,
    pub user: Account,
    pub all: Account,
    /// By the agents' names.
    pub agents: Vec<(String, Account)>,
    pub currency: String,
    /// When the day begins anew.
    pub renews_at: Timestamp,
}

impl Runtime {
    /// How a user's budgets stand, and those that all share.
    pub async fn budgets(&self, user: &UserId) -> Result<BudgetReport, StoreError> {
        let shared = &self.shared;
        let now = shared.env().world.now();
        let budgets = &shared.env().settings.budgets;
        let (mut own, mut all) = (Used::default(), Used::default());
        let mut agents = vec![];
        for agent in &shared.env().agents {
            let name = agent.settings.name.clone();
            let used = shared.env().store.used_on(now.day(), user.clone(), name.clone()).await?;
            (own, all) = (used.user, used.all);
            let account = Account { whose: Whose::AgentDay, limits: budgets.agent_day, used: used.agent };
            agents.push((name, account));
        }
        Ok(BudgetReport {
            run: budgets.run,
            user: Account { whose: Whose::UserDay, limits: budgets.user_day, used: own },
            all: Account { whose: Whose::Day, limits: budgets.day, used: all },
            agents,
            currency: budgets.currency.clone(),
            renews_at: now.next_day(),
        })
    }
}

impl Shared {
    /// Refuses what would begin with nothing left to use.
    pub(super) async fn must_have_budget(&self, user: &UserId, agent: &str) -> Result<(), StartError> {
        let accounts = self.env().day_accounts(user, agent).await?;
        let Some(because) = nothing_left(&accounts, &self.env().settings.budgets.currency) else {
            return Ok(());
        };
        self.env().budget_counters.refused();
        let now = self.env().world.now();
        let renews_at = now.next_day();
        let after_s = u32::try_from(renews_at.since_ms(now).div_ceil(1_000)).unwrap_or(u32::MAX);
        Err(StartError::BudgetSpent { because: Box::new(because), renews_at, after_s })
    }
}
