//! Texts about budgets.

use helve_types::Notice;

use super::{BudgetOwner, Kind};

/// Such as `this run has used 1.63 of 2.00 USD`.
pub(super) fn format_usage(whose: BudgetOwner, kind: Kind, used: u64, limit: u64, currency: &str) -> String {
    let who = match whose {
        BudgetOwner::Run => "this run has",
        BudgetOwner::UserDay => "your runs of today have",
        BudgetOwner::AgentDay => "today's runs of this agent have",
        BudgetOwner::Day => "today's runs of all users have",
    };
    let what = match kind {
        Kind::Money => format!("spent {} of {} {currency}", format_money(used), format_money(limit)),
        Kind::Tokens => format!("used {used} of {limit} tokens"),
        Kind::Calls => format!("made {used} of {limit} calls"),
        Kind::Time => format!("worked {} of {}", format_duration(used), format_duration(limit)),
    };
    format!("{who} {what}")
}

/// Whose budget it is, for people.
pub(super) fn account_notice(whose: BudgetOwner) -> Notice {
    match whose {
        BudgetOwner::Run => Notice::budget_of_run(),
        BudgetOwner::UserDay => Notice::budget_of_user_day(),
        BudgetOwner::AgentDay => Notice::budget_of_agent_day(),
        BudgetOwner::Day => Notice::budget_of_day(),
    }
}

/// So much of what is budgeted, for people.
pub(super) fn amount_notice(kind: Kind, units: u64, currency: &str) -> Notice {
    match kind {
        Kind::Money => Notice::amount_money(&format_money(units), currency),
        Kind::Tokens => Notice::amount_tokens(units),
        Kind::Calls => Notice::amount_calls(units),
        Kind::Time => Notice::amount_time(units),
    }
}

/// What tells one soft limit from all others: asked once, it is not asked again.
pub(super) fn soft_limit_key(whose: BudgetOwner, kind: Kind, soft: u64) -> String {
    let whose = match whose {
        BudgetOwner::Run => "run",
        BudgetOwner::UserDay => "user_day",
        BudgetOwner::AgentDay => "agent_day",
        BudgetOwner::Day => "day",
    };
    let kind = match kind {
        Kind::Money => "money",
        Kind::Tokens => "tokens",
        Kind::Calls => "calls",
        Kind::Time => "time",
    };
    format!("budget:{whose}:{kind}:{soft}")
}

/// Cents where that says enough, and more digits where it does not.
fn format_money(nanos: u64) -> String {
    const UNIT: u64 = 1_000_000_000;
    let (whole, rest) = (nanos / UNIT, nanos % UNIT);
    let digits = format!("{rest:09}");
    let shown = match digits.trim_end_matches('0').len() {
        0..=2 => 2,
        _ if whole > 0 => 2,
        _ => (digits.len() - digits.trim_start_matches('0').len() + 2).clamp(2, 9),
    };
    format!("{whole}.{}", &digits[..shown])
}

fn format_duration(ms: u64) -> String {
    let seconds = ms / 1_000;
    match (seconds / 60, seconds % 60) {
        (0, seconds) => format!("{seconds} s"),
        (minutes, 0) => format!("{minutes} min"),
        (minutes, seconds) => format!("{minutes} min {seconds} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn money_is_told_in_as_many_digits_as_it_needs() {
        for (nanos, expected) in [
            (0, "0.00"),
            (2_000_000_000, "2.00"),
            (1_632_500_000, "1.63"),
            (500_000_000, "0.50"),
            (4_321_000, "0.0043"),
            (12, "0.000000012"),
        ] {
            assert_eq!(format_money(nanos), expected);
        }
    }

    #[test]
    fn time_is_told_in_minutes_and_seconds() {
        assert_eq!([0, 59_999, 600_000, 61_000].map(format_duration), ["0 s", "59 s", "10 min", "1 min 1 s"]);
    }
}
