//! The decision as a table.

use expect_test::{Expect, expect};

use super::*;

fn run(limits: Limits, used: Used) -> Account {
    Account { whose: BudgetOwner::Run, limits, used }
}

fn check(accounts: &[Account], before: BudgetCheck, said: &[(&str, Consent)], expected: Expect) {
    let said = |binding: &str| {
        said.iter().find(|(known, _)| *known == binding).map_or(Consent::NotAsked, |(_, said)| *said)
    };
    let words = match decide_by_budget(accounts, before, "USD", said) {
        Verdict::GoOn => "go on".into(),
        Verdict::Ask { binding, because } => format!("ask [{binding}] {because}"),
        Verdict::Stop { because } => format!("stop: {because}"),
    };
    expected.assert_eq(&words);
}

const ALL: Limits = Limits {
    cost_nanos: Some(2_000_000_000),
    tokens: Some(1_000),
    calls: Some(10),
    active_ms: Some(60_000),
    ask_at: Some(80),
};
const SOME: Used = Used { cost_nanos: 1_000_000_000, tokens: 10, calls: 1, active_ms: 1_000 };

#[test]
fn below_every_limit_it_goes_on() {
    check(&[], BudgetCheck::Calling, &[], expect!["go on"]);
    check(&[run(ALL, SOME)], BudgetCheck::Calling, &[], expect!["go on"]);
    let huge = Used { cost_nanos: u64::MAX, tokens: u64::MAX, calls: u64::MAX, active_ms: u64::MAX };
    check(&[run(Limits::default(), huge)], BudgetCheck::Calling, &[], expect!["go on"]);
}

#[test]
fn each_hard_limit_stops_and_says_so() {
    let stop = |used, expected| check(&[run(ALL, used)], BudgetCheck::Calling, &[], expected);
    stop(
        Used { cost_nanos: 2_010_000_000, ..SOME },
        expect!["stop: the budget is used up: this run has spent 2.01 of 2.00 USD"],
    );
    stop(
        Used { tokens: 1_000, ..SOME },
        expect!["stop: the budget is used up: this run has used 1000 of 1000 tokens"],
    );
    stop(
        Used { calls: 10, ..SOME },
        expect!["stop: the budget is used up: this run has made 10 of 10 calls"],
    );
    stop(
        Used { active_ms: 90_000, ..SOME },
        expect!["stop: the budget is used up: this run has worked 1 min 30 s of 1 min"],
    );
}

#[test]
fn a_model_may_answer_when_no_more_calls_can_be_made() {
    let used = Used { calls: 10, ..SOME };
    check(&[run(ALL, used)], BudgetCheck::Asking, &[], expect!["go on"]);
}

#[test]
fn a_soft_limit_asks_until_it_is_answered() {
    let used = Used { cost_nanos: 1_630_000_000, ..SOME };
    let accounts = [run(ALL, used)];
    const BINDING: &str = "budget:run:money:1600000000";
    check(
        &accounts,
        BudgetCheck::Asking,
        &[],
        expect![
            "ask [budget:run:money:1600000000] this run has spent 1.63 of 2.00 USD; may it go on to the limit?"
        ],
    );
    check(&accounts, BudgetCheck::Asking, &[(BINDING, Consent::Given)], expect!["go on"]);
    check(
        &accounts,
        BudgetCheck::Asking,
        &[(BINDING, Consent::Withheld)],
        expect![
            "stop: the run was not allowed to use more of its budget: this run has spent 1.63 of 2.00 USD"
        ],
    );
    // A yes is a yes to the limit, and to this one.
    let both = [run(ALL, Used { tokens: 900, ..used })];
    check(
        &both,
        BudgetCheck::Asking,
        &[(BINDING, Consent::Given)],
        expect![
            "ask [budget:run:tokens:800] this run has used 900 of 1000 tokens; may it go on to the limit?"
        ],
    );
    let over = [run(ALL, Used { cost_nanos: 2_000_000_000, ..used })];
    check(
        &over,
        BudgetCheck::Asking,
        &[(BINDING, Consent::Given)],
        expect!["stop: the budget is used up: this run has spent 2.00 of 2.00 USD"],
    );
}

#[test]
fn the_hard_limit_of_one_goes_before_the_soft_limit_of_another() {
    let soft = run(ALL, Used { tokens: 900, ..SOME });
    let hard = Account { whose: BudgetOwner::UserDay, limits: ALL, used: Used { calls: 10, ..SOME } };
    check(
        &[soft, hard],
        BudgetCheck::Calling,
        &[],
        expect!["stop: the budget is used up: your runs of today have made 10 of 10 calls"],
    );
    assert_eq!(min_calls_left(&[soft, hard]), Some(0));
    assert_eq!(min_calls_left(&[soft]), Some(9));
    assert_eq!(min_calls_left(&[]), None);
    assert!(
        find_exhausted_budget(&[hard], "USD").is_some() && find_exhausted_budget(&[soft], "USD").is_none()
    );
}

#[test]
fn the_agents_limits_go_over_those_of_all_runs() {
    let agent = Limits { calls: Some(5), ..Limits::default() };
    assert_eq!(agent.or_defaults(Limits::RUN), Limits { calls: Some(5), ..Limits::RUN });
}
