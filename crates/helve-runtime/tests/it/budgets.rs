//! Runs that use up what they may.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use expect_test::expect;
use helve_model::{Reply, ScriptedModel};
use helve_runtime::{
    AgentSettings, Budgets, Limits, ModelOptions, PerMillion, Price, PriceSource, RuntimeSettings,
    StartError, StartInput, StartRequest,
};
use helve_store::{Log, Scope, Views};
use helve_types::{About, Answer, Fact, Part, PartState, RunId, Timestamp, Usage};
use proptest::prelude::*;

use crate::lab::{Lab, mei, reply, settle, until};

const NONE: Limits = Limits { cost_nanos: None, tokens: None, calls: None, active_ms: None, ask_at: None };

/// A reply that took so many tokens.
fn taking(tokens: u64, line: &str) -> Reply {
    reply(line).usage(Usage { input_tokens: tokens, ..Usage::default() })
}

fn budgets(run: Limits) -> RuntimeSettings {
    RuntimeSettings { budgets: Budgets { run, ..Budgets::default() }, ..RuntimeSettings::default() }
}

fn lab(settings: RuntimeSettings, replies: impl IntoIterator<Item = Reply>) -> Lab {
    Lab::with_model(ScriptedModel::new(replies), settings)
}

async fn answer(lab: &Lab, answer: Answer) {
    let question = lab.questions().await.remove(0);
    lab.runtime.answer_approval(Scope::User(mei()), question.approval, answer, "mei".into()).await.unwrap();
}

const LOOK: &str = r#"call look {"q": "x"}"#;
const LOOK_ON: &str = r#"call look {"q": "y"}"#;

#[tokio::test]
async fn a_hard_limit_ends_the_run_before_the_next_spending_and_says_which() {
    let tokens = Limits { tokens: Some(1_000), ..NONE };
    let lab = lab(budgets(tokens), [taking(600, LOOK), taking(600, LOOK_ON)]);
    let mut started = lab.start("look").await;
    assert_eq!(settle(&mut started.follower).await, "run.finished");
    lab.check_log(
        started.run,
        expect![[r#"
            1 run.started look
            2 tool.requested look {"q": "x"}
            3 step.finished ToolCalls native
            4 tool.started look attempt 1
            5 tool.finished found x
            6 tool.requested look {"q": "y"}
            7 step.finished ToolCalls native
            8 budget.spent the budget is used up: this run has used 1200 of 1000 tokens
            9 tool.refused this call was not made: the budget is used up: this run has used 1200 of 1000 tokens
            10 run.finished BudgetSpent
        "#]],
    )
    .await;
    let messages = lab.store.messages(Scope::Everyone, started.conversation.unwrap()).await.unwrap();
    let notice = messages[1].parts.iter().find_map(|part| match part {
        Part::Notice { text, .. } => Some(text.as_str()),
        _ => None,
    });
    assert_eq!(notice, Some("the budget is used up: this run has used 1200 of 1000 tokens"));
    assert!(messages[1].tools().all(|tool| matches!(tool.state, PartState::Completed | PartState::Error)));
    assert_eq!(lab.runtime.budget_metrics().stopped, 1);
}

#[tokio::test]
async fn an_answer_that_goes_over_the_limit_is_an_answer() {
    let lab = lab(budgets(Limits { tokens: Some(100), ..NONE }), [taking(600, "say Here it is.")]);
    let mut started = lab.start("tell me").await;
    settle(&mut started.follower).await;
    assert!(lab.log(started.run).await.ends_with("run.finished Answered\n"));
}

#[tokio::test]
async fn a_soft_limit_asks_once_and_a_yes_is_good_to_the_hard_one() {
    let tokens = Limits { tokens: Some(1_000), ask_at: Some(50), ..NONE };
    let replies = [taking(600, LOOK), taking(200, LOOK_ON), taking(300, r#"call look {"q": "z"}"#)];
    let lab = lab(budgets(tokens), replies);
    let mut started = lab.start("look").await;
    assert_eq!(settle(&mut started.follower).await, "waiting_approval");
    let question = lab.questions().await.remove(0);
    assert_eq!(question.about, About::Budget);
    assert_eq!(question.because, "this run has used 600 of 1000 tokens; may it go on to the limit?");
    assert_eq!(lab.runs.load(Ordering::Relaxed), 0, "nothing is sent meanwhile");

    // Whoever is asked may take their time, and the server may go down.
    let again = lab.restarted();
    assert_eq!(again.runtime.resume_interrupted_runs().await.unwrap(), 0);
    let mut follower = again.runtime.follow_run(started.run, 0);
    settle(&mut follower).await;
    answer(&again, Answer::approve()).await;
    assert_eq!(settle(&mut follower).await, "run.finished");
    let log = again.log(started.run).await;
    assert_eq!(log.matches("approval.asked").count(), 1, "{log}");
    assert!(
        log.contains("budget.spent the budget is used up: this run has used 1100 of 1000 tokens"),
        "{log}"
    );
    assert!(log.ends_with("run.finished BudgetSpent\n"), "{log}");
    assert_eq!(lab.runs.load(Ordering::Relaxed), 2);
}

#[tokio::test]
async fn a_no_or_no_answer_ends_the_run() {
    for (no, late) in [(Answer::Reject { reason: "too dear".into() }, false), (Answer::Expire, true)] {
        let tokens = Limits { tokens: Some(1_000), ask_at: Some(50), ..NONE };
        let lab = lab(budgets(tokens), [taking(600, LOOK)]);
        let mut started = lab.start("look").await;
        settle(&mut started.follower).await;
        if late {
            lab.world.clock.advance_ms(8 * 24 * 60 * 60 * 1_000);
            lab.runtime.sweep_once().await.unwrap();
        } else {
            answer(&lab, no).await;
        }
        assert_eq!(settle(&mut started.follower).await, "run.finished");
        let log = lab.log(started.run).await;
        assert!(log.contains("budget.spent the run was not allowed to use more"), "{log}");
        assert!(log.ends_with("run.finished BudgetSpent\n"), "{log}");
        assert_eq!(lab.runs.load(Ordering::Relaxed), 0);
    }
}

#[tokio::test]
async fn a_question_about_money_is_in_the_operators_currency() {
    let units = |units| PerMillion::from_units(units).unwrap();
    let price = Price {
        input: units(1_000.0),
        cached: units(0.0),
        cache_write: units(0.0),
        output: units(0.0),
        from: PriceSource::Configured,
    };
    let options = ModelOptions { price: Some(price), ..ModelOptions::default() };
    let model = ScriptedModel::new([taking(1_630, LOOK)]);
    let run = Limits { cost_nanos: Some(2_000_000_000), ask_at: Some(80), ..NONE };
    let settings = RuntimeSettings {
        budgets: Budgets { run, currency: "CNY".into(), ..Budgets::default() },
        ..RuntimeSettings::default()
    };
    let lab = Lab::with_models(vec![(Arc::new(model), options)], settings);
    let mut started = lab.start("look").await;
    settle(&mut started.follower).await;
    let because = lab.questions().await.remove(0).because;
    assert_eq!(because, "this run has spent 1.63 of 2.00 CNY; may it go on to the limit?");
}

#[tokio::test]
async fn calls_are_counted_one_by_one_and_the_rest_is_not_made() {
    let five: Vec<String> = (0..5).map(|n| format!(r#"call look {{"q": "{n}"}}"#)).collect();
    let lab = lab(budgets(Limits { calls: Some(3), ..NONE }), [reply(&five.join(" | "))]);
    let mut started = lab.start("look").await;
    assert_eq!(settle(&mut started.follower).await, "run.finished");
    assert_eq!(lab.runs.load(Ordering::Relaxed), 3);
    let log = lab.log(started.run).await;
    assert_eq!(log.matches("tool.refused this call was not made: the budget is used up").count(), 2, "{log}");
}

#[tokio::test]
async fn a_run_makes_a_hundred_calls_unless_it_is_told_otherwise() {
    let ten = |step: u32| {
        let calls: Vec<String> = (0..10).map(|n| format!(r#"call look {{"q": "{step} {n}"}}"#)).collect();
        reply(&calls.join(" | "))
    };
    let agent = AgentSettings { max_steps: 50, ..AgentSettings::default() };
    let settings = RuntimeSettings { agents: vec![agent], ..RuntimeSettings::default() };
    let lab = lab(settings, (0..12).map(ten));
    let mut started = lab.start("look").await;
    assert_eq!(settle(&mut started.follower).await, "run.finished");
    assert_eq!(lab.runs.load(Ordering::Relaxed), 100);
    assert!(lab.log(started.run).await.ends_with("run.finished BudgetSpent\n"));
}

#[tokio::test]
async fn an_agent_may_have_limits_of_its_own() {
    let agent = AgentSettings { budget: Limits { calls: Some(1), ..NONE }, ..AgentSettings::default() };
    let settings = RuntimeSettings { agents: vec![agent], ..RuntimeSettings::default() };
    let lab = lab(settings, [reply(LOOK), reply(LOOK_ON)]);
    let mut started = lab.start("look").await;
    settle(&mut started.follower).await;
    assert_eq!(lab.runs.load(Ordering::Relaxed), 1);
}

#[tokio::test(start_paused = true)]
async fn time_at_work_counts_and_time_in_which_somebody_is_waited_for_does_not() {
    const MINUTE: i64 = 60_000;
    let slow = Reply::new().after(Duration::from_secs(60)).call("look", r#"{"q": "x"}"#).done();
    let settings = RuntimeSettings::default();
    let lab = lab(settings, [reply(r#"call send {"q": "x"}"#), slow]);
    let mut started = lab.start("send x").await;
    settle(&mut started.follower).await;
    lab.world.clock.advance_ms(60 * MINUTE);
    answer(&lab, Answer::approve()).await;
    until(&mut started.follower, "tool.finished").await;
    // The model is at it, and it takes its time.
    tokio::time::sleep(Duration::from_secs(1)).await;
    lab.world.clock.advance_ms(11 * MINUTE);
    assert_eq!(settle(&mut started.follower).await, "run.finished");
    let log = lab.log(started.run).await;
    assert!(
        log.contains("budget.spent the budget is used up: this run has worked 11 min of 10 min"),
        "{log}"
    );
    assert_eq!(lab.runs.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn a_clock_that_is_set_during_a_call_takes_no_time_from_the_run() {
    const HOUR: i64 = 3_600_000;
    for by in [HOUR, -HOUR] {
        let look = format!(r#"call look {{"q": "clock {by}"}}"#);
        let lab = lab(RuntimeSettings::default(), [reply(&look), reply("say There.")]);
        let began = lab.world.now();
        let mut started = lab.start("look").await;
        assert_eq!(settle(&mut started.follower).await, "run.finished");
        let log = lab.log(started.run).await;
        assert!(log.ends_with("run.finished Answered\n"), "{log}");
        let call = lab.store.calls(started.run).await.unwrap().remove(0);
        assert_eq!(call.ended_at.unwrap().since_ms(call.started_at.unwrap()), 7);
        let (user, agent) = (mei(), "default".to_owned());
        let day = |at: Timestamp| lab.store.usage_of_day(at.day(), user.clone(), agent.clone());
        assert_eq!(day(began).await.unwrap().user.active_ms, 7);
        assert_eq!(lab.world.now(), began.plus_ms(by + 7), "and the date is what it was set to");
    }
}

#[tokio::test]
async fn a_clock_that_is_set_while_the_server_is_down_takes_no_time_from_the_run_either() {
    for by in [3_600_000, -3_600_000] {
        let lab = lab(RuntimeSettings::default(), [reply(r#"call hang {"q": "x"}"#), reply("say There.")]);
        let mut started = lab.start("look").await;
        until(&mut started.follower, "tool.started").await;
        lab.world.clock.shift_date_ms(by);
        let again = lab.restarted();
        again.runtime.resume_interrupted_runs().await.unwrap();
        let mut follower = again.runtime.follow_run(started.run, 0);
        until(&mut follower, "run.resumed").await;
        again.world.clock.shift_date_ms(by);
        again.runtime.cancel_run(Scope::User(mei()), started.run, "mei".into()).await.unwrap();
        while settle(&mut follower).await != "run.cancelled" {}
        let used = again.store.usage_of_day(lab.world.now().day(), mei(), "default".into()).await.unwrap();
        let before =
            again.store.usage_of_day(lab.world.now().plus_ms(-2 * by).day(), mei(), "default".into());
        assert_eq!((used.user.active_ms, before.await.unwrap().user.active_ms), (0, 0));
    }
}

fn of_days(user_day: Limits, day: Limits) -> RuntimeSettings {
    let budgets = Budgets { user_day, day, ..Budgets::default() };
    RuntimeSettings { budgets, ..RuntimeSettings::default() }
}

async fn try_start(lab: &Lab, user: &str) -> Result<RunId, StartError> {
    let input = StartInput::Message { conversation: None, text: "go".into() };
    let mut started =
        lab.runtime.start_run(StartRequest::new(helve_types::UserId(user.into()), input)).await?;
    settle(&mut started.follower).await;
    Ok(started.run)
}

#[tokio::test]
async fn a_day_that_is_used_up_refuses_new_runs_until_the_next() {
    let settings = of_days(Limits { tokens: Some(1_000), ..NONE }, Limits { tokens: Some(3_000), ..NONE });
    let replies = (0..6).map(|_| taking(1_000, "say Done."));
    let lab = lab(settings, replies);
    try_start(&lab, "mei").await.unwrap();
    let refused = try_start(&lab, "mei").await.unwrap_err();
    let StartError::BudgetSpent { because, renews_at, .. } = refused else { panic!("{refused}") };
    assert_eq!(because.text, "the budget is used up: your runs of today have used 1000 of 1000 tokens");
    assert_eq!(renews_at, lab.world.now().next_day());
    try_start(&lab, "ada").await.unwrap();
    try_start(&lab, "eve").await.unwrap();
    // Everybody's is used up now; a restart does not change that.
    let again = lab.restarted();
    assert!(matches!(try_start(&again, "zoe").await, Err(StartError::BudgetSpent { .. })));
    let report = again.runtime.budgets_of_user(&mei()).await.unwrap();
    assert_eq!((report.user.used.tokens, report.all.used.tokens), (1_000, 3_000));
    again.world.clock.advance_ms(24 * 60 * 60 * 1_000);
    try_start(&again, "mei").await.unwrap();
    assert_eq!(again.runtime.budget_metrics().refused, 1);
}

#[tokio::test]
async fn runs_side_by_side_exceed_what_they_share_by_one_step_each_at_most() {
    let settings = of_days(Limits { tokens: Some(1_000), ..NONE }, NONE);
    let steps = (0..40).map(|n| taking(300, &format!(r#"call look {{"q": "{n}"}}"#)));
    let lab = lab(settings, steps);
    let runs = (0..4).map(|_| try_start(&lab, "mei"));
    for run in futures_util::future::join_all(runs).await {
        let log = lab.log(run.unwrap()).await;
        assert!(log.contains("budget.spent") && log.contains("your runs of today"), "{log}");
    }
    let used = lab.runtime.budgets_of_user(&mei()).await.unwrap().user.used.tokens;
    assert!((1_000..1_000 + 4 * 300).contains(&used), "{used}");
}

/// Plays a run and says what each of its steps took, and how many calls were sent.
async fn played(steps: &[(u64, u8)], limits: Limits) -> (Vec<u64>, u64, String) {
    let reply = |(step, (tokens, calls)): (usize, &(u64, u8))| {
        let calls: Vec<String> = (0..*calls).map(|n| format!(r#"call look {{"q": "{step} {n}"}}"#)).collect();
        taking(*tokens, &if calls.is_empty() { "say Done.".into() } else { calls.join(" | ") })
    };
    let lab = lab(budgets(limits), steps.iter().enumerate().map(reply));
    let mut started = lab.start("go").await;
    while settle(&mut started.follower).await == "waiting_approval" {
        answer(&lab, Answer::approve()).await;
    }
    let mut took = vec![];
    let events = lab.store.events(started.run, 0, 999).await.unwrap();
    for recorded in &events {
        if let Fact::StepFinished { usage, .. } = &recorded.event.fact {
            took.push(usage.input_tokens + usage.output_tokens);
        }
    }
    let calls = lab.store.calls(started.run).await.unwrap();
    assert!(calls.iter().all(|call| call.ended_at.is_some()), "{calls:?}");
    (took, u64::from(lab.runs.load(Ordering::Relaxed)), lab.log(started.run).await)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn no_budget_is_exceeded_by_more_than_one_step(
        steps in proptest::collection::vec((0_u64..500, 0_u8..6), 1..9),
        tokens in 1_u64..1_500,
        calls in 1_u64..12,
        ask_at in proptest::option::of(1_u8..100),
    ) {
        let limits = Limits { tokens: Some(tokens), calls: Some(calls), ask_at, ..NONE };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (took, made, log) = runtime.block_on(played(&steps, limits));
        let before_last: u64 = took.iter().rev().skip(1).sum();
        prop_assert!(before_last < tokens, "{took:?} of {tokens}\n{log}");
        prop_assert!(made <= calls, "{made} of {calls}\n{log}");
    }
}
