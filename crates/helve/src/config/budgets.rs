//! `[budgets]`: what runs may use up.

use helve_runtime::{Budgets, Limits};
use serde::Deserialize;

use super::places::Places;
use crate::i18n::tr;

const NANOS: f64 = 1e9;
const MINUTE_MS: f64 = 60_000.0;
/// What can be told from its neighbours in a page and in a store.
const MOST: f64 = 9e15;

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub(super) struct BudgetsTable {
    /// Of each run.
    run: BudgetTable,
    /// Of each user on a day.
    user_day: BudgetTable,
    /// Of each agent on a day.
    agent_day: BudgetTable,
    /// Of everybody on a day.
    day: BudgetTable,
}

/// One budget; 0 is no limit.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub(super) struct BudgetTable {
    /// In the unit of the prices.
    money: Option<f64>,
    tokens: Option<u64>,
    calls: Option<u64>,
    /// At work; waiting for people does not count.
    minutes: Option<f64>,
    /// The share of a limit at which a person is asked.
    ask_at: Option<f64>,
}

pub(super) fn budgets(table: &BudgetsTable, currency: &str, places: &Places) -> anyhow::Result<Budgets> {
    let limits = |name: &str, table: &BudgetTable| {
        table.limits().map_err(|(key, what)| places.wrong(&["budgets", name, key], what))
    };
    Ok(Budgets {
        run: limits("run", &table.run)?.or_defaults(Limits::RUN),
        user_day: limits("user_day", &table.user_day)?,
        agent_day: limits("agent_day", &table.agent_day)?,
        day: limits("day", &table.day)?,
        currency: currency.to_owned(),
    })
}

impl BudgetTable {
    /// What it means, or which key is wrong and why.
    pub(super) fn limits(&self) -> Result<Limits, (&'static str, String)> {
        let whole = |limit: Option<u64>| limit.map(|limit| if limit == 0 { Limits::LIFTED } else { limit });
        Ok(Limits {
            cost_nanos: scaled("money", self.money, NANOS)?,
            tokens: whole(self.tokens),
            calls: whole(self.calls),
            active_ms: scaled("minutes", self.minutes, MINUTE_MS)?,
            ask_at: self.ask_at.map(percent).transpose()?,
        })
    }
}

fn scaled(key: &'static str, amount: Option<f64>, unit: f64) -> Result<Option<u64>, (&'static str, String)> {
    let Some(amount) = amount else { return Ok(None) };
    let scaled = (amount * unit).round();
    if !(0.0..=MOST).contains(&scaled) {
        return Err((
            key,
            tr!("`{amount}` is no limit; use a number above 0, or 0 for none", amount = amount),
        ));
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is in the range of integers"
    )]
    let scaled = scaled as u64;
    Ok(Some(if scaled == 0 { Limits::LIFTED } else { scaled }))
}

/// The share in percent; nought asks never, as 100 does, since the limit itself is reached first.
fn percent(share: f64) -> Result<u8, (&'static str, String)> {
    if !(0.0..1.0).contains(&share) {
        let what =
            tr!("`{share}` is no share of a limit; use a number from 0 to below 1, as in 0.8", share = share);
        return Err(("ask_at", what));
    }
    // However small a share is, it asks.
    let percent = (share * 100.0).round().max(if share > 0.0 { 1.0 } else { 0.0 });
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is from 0 to 100")]
    let percent = percent as u8;
    Ok(if percent == 0 { 100 } else { percent })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Limits, String> {
        let table: BudgetTable = toml::from_str(text).map_err(|error| error.to_string())?;
        table.limits().map_err(|(key, what)| format!("{key}: {what}"))
    }

    #[test]
    fn a_budget_is_read_in_the_units_that_people_think_in() {
        let all = read("money = 2.5\ntokens = 500_000\ncalls = 100\nminutes = 1.5\nask_at = 0.8");
        let expected = Limits {
            cost_nanos: Some(2_500_000_000),
            tokens: Some(500_000),
            calls: Some(100),
            active_ms: Some(90_000),
            ask_at: Some(80),
        };
        assert_eq!(all, Ok(expected));
        assert_eq!(read(""), Ok(Limits::default()));
    }

    #[test]
    fn nought_lifts_a_limit_that_would_hold() {
        let lifted = read("calls = 0\nminutes = 0").unwrap().or_defaults(Limits::RUN);
        assert!(lifted.sets_no_limit(), "{lifted:?}");
    }

    #[test]
    fn any_share_asks_but_nought() {
        assert_eq!(read("ask_at = 0.001").unwrap().ask_at, Some(1));
        assert_eq!(read("ask_at = 0").unwrap().ask_at, Some(100));
    }

    #[test]
    fn what_makes_no_sense_is_named() {
        for (text, told) in [
            ("money = -1", "money: `-1` is no limit; use a number above 0, or 0 for none"),
            ("minutes = nan", "minutes: `NaN` is no limit; use a number above 0, or 0 for none"),
            ("ask_at = 80", "ask_at: `80` is no share of a limit; use a number from 0 to below 1, as in 0.8"),
        ] {
            assert_eq!(read(text), Err(told.to_owned()));
        }
    }
}
