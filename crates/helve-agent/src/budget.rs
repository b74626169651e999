//! Budgets: what may be used up, held against what was. A pure decision, made at one place, before each question to a
//! model and before each call of a tool.
//!
//! A soft limit asks a person, once for each run; a hard one stops. What is under way is never cut off, so that a budget
//! is exceeded by one step at most, and by one of each run where several draw on the same one.

use helve_types::{Granted, Notice, Reason, Used};

#[cfg(test)]
mod tests;
mod words;

/// What one account may use up; none is no limit.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Limits {
    /// In billionths of the unit of the operator's prices.
    pub cost_nanos: Option<u64>,
    pub tokens: Option<u64>,
    pub calls: Option<u64>,
    pub active_ms: Option<u64>,
    /// At this share of a limit, in percent, a person is asked.
    pub ask_at: Option<u8>,
}

impl Limits {
    /// Ten minutes of work and a hundred calls.
    pub const RUN: Self = Self {
        cost_nanos: None,
        tokens: None,
        calls: Some(100),
        active_ms: Some(10 * 60 * 1_000),
        ask_at: None,
    };

    /// Written where a limit is lifted that would hold otherwise.
    pub const LIFTED: u64 = u64::MAX;

    /// These limits, and where they are silent those below.
    pub fn or_defaults(self, below: Self) -> Self {
        Self {
            cost_nanos: self.cost_nanos.or(below.cost_nanos),
            tokens: self.tokens.or(below.tokens),
            calls: self.calls.or(below.calls),
            active_ms: self.active_ms.or(below.active_ms),
            ask_at: self.ask_at.or(below.ask_at),
        }
    }

    /// These limits, and none above what was granted.
    #[must_use]
    pub fn within(self, granted: Granted) -> Self {
        let smaller = |limit: Option<u64>, granted: Option<u64>| limit.into_iter().chain(granted).min();
        Self {
            cost_nanos: smaller(self.cost_nanos, granted.cost_nanos),
            tokens: smaller(self.tokens, granted.tokens),
            calls: smaller(self.calls, granted.calls),
            active_ms: smaller(self.active_ms, granted.active_ms),
            ask_at: self.ask_at,
        }
    }

    /// Of both the one that allows more, for each kind of limit; a limit that only one has holds.
    #[must_use]
    pub fn or_more(self, other: Self) -> Self {
        fn more<T: Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
            one.max(other)
        }
        Self {
            cost_nanos: more(self.cost_nanos, other.cost_nanos),
            tokens: more(self.tokens, other.tokens),
            calls: more(self.calls, other.calls),
            active_ms: more(self.active_ms, other.active_ms),
            ask_at: more(self.ask_at, other.ask_at),
        }
    }

    pub fn sets_no_limit(&self) -> bool {
        Kind::ALL.into_iter().all(|kind| kind.get_limit(self).is_none())
    }
}

/// The budgets of a server.
#[derive(Debug, Clone, PartialEq)]
pub struct Budgets {
    /// Of each run.
    pub run: Limits,
    /// Of each user's runs of a day.
    pub user_day: Limits,
    /// Of each agent's runs of a day.
    pub agent_day: Limits,
    /// Of all runs of a day.
    pub day: Limits,
    /// What money is in, as people read it.
    pub currency: String,
}

/// Without a configuration only single runs are limited, not days.
impl Default for Budgets {
    fn default() -> Self {
        let none = Limits::default();
        Self { run: Limits::RUN, user_day: none, agent_day: none, day: none, currency: "USD".into() }
    }
}

impl Budgets {
    /// Whether there is a budget that is shared between runs.
    pub fn has_daily_budget(&self) -> bool {
        [self.user_day, self.agent_day, self.day].iter().any(|limits| !limits.sets_no_limit())
    }
}

/// Whose budget it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BudgetOwner {
    Run,
    UserDay,
    AgentDay,
    Day,
}

/// One budget and what has been drawn on it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Account {
    pub whose: BudgetOwner,
    pub limits: Limits,
    pub used: Used,
}

impl Account {
    /// What is left of each limit.
    pub(crate) fn left(&self) -> Granted {
        let left = |kind: Kind| Some(kind.get_limit(&self.limits)?.saturating_sub(kind.get_used(&self.used)));
        Granted {
            cost_nanos: left(Kind::Money),
            tokens: left(Kind::Tokens),
            calls: left(Kind::Calls),
            active_ms: left(Kind::Time),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Money,
    Tokens,
    Calls,
    Time,
}

impl Kind {
    const ALL: [Self; 4] = [Self::Money, Self::Tokens, Self::Calls, Self::Time];

    fn get_limit(self, limits: &Limits) -> Option<u64> {
        let limit = match self {
            Self::Money => limits.cost_nanos,
            Self::Tokens => limits.tokens,
            Self::Calls => limits.calls,
            Self::Time => limits.active_ms,
        };
        limit.filter(|limit| *limit != Limits::LIFTED)
    }

    fn get_used(self, used: &Used) -> u64 {
        match self {
            Self::Money => used.cost_nanos,
            Self::Tokens => used.tokens,
            Self::Calls => used.calls,
            Self::Time => used.active_ms,
        }
    }
}

/// What is about to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BudgetCheck {
    /// Asking the model: it may answer with what it has, also where nothing more can be called.
    Asking,
    Calling,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    GoOn,
    /// A person has to say whether to go on; `binding` tells this question from others.
    Ask {
        binding: String,
        because: Reason,
    },
    Stop {
        because: Reason,
    },
}

/// Whether a run may go on beyond a soft limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Consent {
    NotAsked,
    Given,
    /// Or no answer came in time.
    Withheld,
}

/// What the budgets say about going on.
pub(crate) fn decide_by_budget(
    accounts: &[Account],
    before: BudgetCheck,
    currency: &str,
    consent: impl Fn(&str) -> Consent,
) -> Verdict {
    let mut ask = None;
    for Account { whose, limits, used } in accounts {
        for kind in Kind::ALL.into_iter().filter(|kind| (*kind, before) != (Kind::Calls, BudgetCheck::Asking))
        {
            let (Some(limit), used) = (kind.get_limit(limits), kind.get_used(used)) else { continue };
            let told = || words::format_usage(*whose, kind, used, limit, currency);
            let (who, what) =
                (words::account_notice(*whose), |units| words::amount_notice(kind, units, currency));
            if used >= limit {
                let notice = Notice::budget_used_up(who, what(used), what(limit));
                let because = Reason::new(format!("the budget is used up: {}", told()), notice);
                return Verdict::Stop { because };
            }
            let Some(soft) = limits.ask_at.map(|percent| compute_soft_limit(limit, percent)) else {
                continue;
            };
            if used < soft {
                continue;
            }
            let binding = words::soft_limit_key(*whose, kind, soft);
            match consent(&binding) {
                Consent::Given => {}
                Consent::Withheld => {
                    let notice = Notice::budget_not_extended(who, what(used), what(limit));
                    let text = format!("the run was not allowed to use more of its budget: {}", told());
                    let because = Reason::new(text, notice);
                    return Verdict::Stop { because };
                }
                Consent::NotAsked => {
                    let notice = Notice::budget_nearly_used(who, what(used), what(limit));
                    let because = Reason::new(format!("{}; may it go on to the limit?", told()), notice);
                    ask.get_or_insert(Verdict::Ask { binding, because });
                }
            }
        }
    }
    ask.unwrap_or(Verdict::GoOn)
}

/// How many calls can still be sent.
pub(crate) fn min_calls_left(accounts: &[Account]) -> Option<u64> {
    let left =
        |account: &Account| Some(Kind::Calls.get_limit(&account.limits)?.saturating_sub(account.used.calls));
    accounts.iter().filter_map(left).min()
}

/// The first budget of a day that leaves nothing to begin with, in words.
pub fn find_exhausted_budget(accounts: &[Account], currency: &str) -> Option<Reason> {
    match decide_by_budget(accounts, BudgetCheck::Calling, currency, |_| Consent::Given) {
        Verdict::Stop { because } => Some(because),
        Verdict::GoOn | Verdict::Ask { .. } => None,
    }
}

/// At least one, so that no question is asked before anything was used.
fn compute_soft_limit(limit: u64, percent: u8) -> u64 {
    let share = u128::from(limit) * u128::from(percent) / 100;
    u64::try_from(share).unwrap_or(limit).max(1)
}
