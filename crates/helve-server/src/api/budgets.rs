//! What may be used up, and what was.

use axum::extract::State;
use helve_runtime::{Account, Limits};
use helve_types::Used;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::access::{Principal, Right};
use crate::app::App;
use crate::input::Query;
use crate::problem::Problem;
use crate::routes::{Operation, Routes};

pub(crate) fn routes(routes: Routes) -> Routes {
    routes.add_route(
        Operation::get("/api/budgets", Right::Chat, "See what runs may use up, and what was used today")
            .gives::<BudgetView>(),
        get_budgets,
    )
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct BudgetQuery {
    /// Another user's, for those with the right `admin`.
    #[serde(default)]
    user: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct BudgetView {
    user: String,
    /// What money is in.
    currency: String,
    /// When the day ends: midnight UTC.
    renews_at: i64,
    /// What each run may use up.
    run: LimitsView,
    user_day: AccountView,
    /// Of everybody together; only for those with the right `admin`.
    #[serde(skip_serializing_if = "Option::is_none")]
    day: Option<AccountView>,
    /// Of each agent; only for those with the right `admin`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    agent_day: Vec<AgentAccountView>,
}

/// What is not there has no limit.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct LimitsView {
    #[serde(skip_serializing_if = "Option::is_none")]
    cost_nanos: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    calls: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    active_ms: Option<u64>,
    /// The share of a limit, in percent, at which a person is asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    ask_at: Option<u8>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct AccountView {
    limits: LimitsView,
    used: Used,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct AgentAccountView {
    agent: String,
    #[serde(flatten)]
    account: AccountView,
}

impl From<Limits> for LimitsView {
    fn from(limits: Limits) -> Self {
        let shown = |limit: Option<u64>| limit.filter(|limit| *limit != Limits::LIFTED);
        Self {
            cost_nanos: shown(limits.cost_nanos),
            tokens: shown(limits.tokens),
            calls: shown(limits.calls),
            active_ms: shown(limits.active_ms),
            ask_at: limits.ask_at,
        }
    }
}

impl From<Account> for AccountView {
    fn from(account: Account) -> Self {
        Self { limits: account.limits.into(), used: account.used }
    }
}

pub(crate) async fn get_budgets(
    State(app): State<App>,
    principal: Principal,
    Query(query): Query<BudgetQuery>,
) -> Result<axum::Json<BudgetView>, Problem> {
    let user = principal.user_to_act_for(query.user.as_deref())?;
    let report = app.runtime.budgets_of_user(&user).await?;
    let is_admin = principal.is_admin();
    let agents = report.agents.into_iter().filter(|_| is_admin);
    Ok(axum::Json(BudgetView {
        user: user.to_string(),
        currency: report.currency,
        renews_at: report.renews_at.0,
        run: report.run.into(),
        user_day: report.user.into(),
        day: is_admin.then(|| report.all.into()),
        agent_day: agents
            .map(|(agent, account)| AgentAccountView { agent, account: account.into() })
            .collect(),
    }))
}
