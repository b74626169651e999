//! The budgets that runs share.

use helve_agent::{Account, BudgetOwner, Limits};
use helve_store::StoreError;
use helve_types::{Timestamp, Used, UserId};

use crate::Shared;

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

/// How a user's budgets stand, and those that all share.
pub(crate) async fn load_budget_report(shared: &Shared, user: &UserId) -> Result<BudgetReport, StoreError> {
    let now = shared.env().world.now();
    let budgets = &shared.env().settings.budgets;
    let (mut own, mut all) = (Used::default(), Used::default());
    let mut agents = vec![];
    for agent in shared.env().agents.enabled_agents() {
        let name = agent.settings.name.clone();
        let used = shared.env().store.usage_of_day(now.day(), user.clone(), name.clone()).await?;
        (own, all) = (used.user, used.all);
        let account = Account { whose: BudgetOwner::AgentDay, limits: budgets.agent_day, used: used.agent };
        agents.push((name, account));
    }
    Ok(BudgetReport {
        run: budgets.run,
        user: Account { whose: BudgetOwner::UserDay, limits: budgets.user_day, used: own },
        all: Account { whose: BudgetOwner::Day, limits: budgets.day, used: all },
        agents,
        currency: budgets.currency.clone(),
        renews_at: now.next_day(),
    })
}
