//! What stands in for a tool that is down, and when nothing may.

use std::num::NonZeroU64;

use helve_types::Fallback;

use super::*;

fn down() -> Behaviour {
    fails(ToolError::NotSent("connection refused".into()))
}

/// Answers at first, and then is down.
fn says_once(text: &'static str) -> Behaviour {
    Box::new(move |n| {
        Box::pin(async move {
            if n == 0 { Ok(ToolOutput::text(text)) } else { Err(ToolError::NotSent("no route".into())) }
        })
    })
}

fn or_tool(name: &str) -> Guards {
    let fallback = Fallback { tool: Some(name.into()), ..Fallback::default() };
    Guards { fallback: Some(fallback), attempts: 1, ..Guards::default() }
}

fn or_last_good(ms: u64) -> Guards {
    let fallback = Fallback { last_good_ms: NonZeroU64::new(ms), ..Fallback::default() };
    Guards { fallback: Some(fallback), attempts: 1, ..Guards::default() }
}

#[tokio::test]
async fn another_tool_answers_and_says_so() {
    let lab = Lab::new().await;
    lab.tool(spec("look", Effect::Read), or_tool("peek"), down());
    lab.tool(spec("peek", Effect::Read), Guards::default(), says("seen"));
    let outcome = lab.run("look", r#"{"q": "x"}"#).await;
    lab.check(expect![[r#"
        tool.requested look {"q": "x"}
        tool.started look attempt 1
        tool.started look by peek attempt 2
        tool.finished [not from `look`, which cannot be asked now (connection refused): this is from `peek`]
        seen [resolved fits allow run(1) instead(peek) run(2)]
    "#]])
        .await;
    let Outcome::Finished(output) = outcome else { panic!("{outcome:?}") };
    assert_eq!(output.metadata.unwrap()["fallback"]["by"], "peek");
    let metrics = |name: &str| lab.registry.get(name).unwrap().metrics();
    let look = metrics("look");
    assert_eq!((look.calls, look.succeeded, look.from_fallback, look.failed), (1, 0, 1, 0));
    assert_eq!((metrics("peek").calls, metrics("peek").succeeded), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn the_last_good_answer_serves_while_it_is_young_enough() {
    let lab = Lab::new().await;
    let runs = lab.tool(spec("look", Effect::Read), or_last_good(600_000), says_once("found"));
    lab.run("look", r#"{"q": "x"}"#).await;
    tokio::time::advance(Duration::from_secs(300)).await;
    lab.run("look", r#"{"q": "x"}"#).await;
    // Another question has no last good answer.
    lab.run("look", r#"{"q": "y"}"#).await;
    tokio::time::advance(Duration::from_secs(301)).await;
    lab.run("look", r#"{"q": "x"}"#).await;
    assert_eq!(runs.load(Ordering::Relaxed), 4, "the tool is asked each time");
    lab.check(expect![[r#"
        tool.requested look {"q": "x"}
        tool.started look attempt 1
        tool.finished found [resolved fits allow run(1)]
        tool.requested look {"q": "x"}
        tool.started look attempt 1
        tool.finished [not a fresh answer: `look` cannot be asked now (no route); this is what it said 5 minutes ago]
        found [resolved fits allow run(1) instead(last_good)]
        tool.requested look {"q": "y"}
        tool.started look attempt 1
        tool.failed no route. Answer without it and say so, or try again later [resolved fits allow run(1)]
        tool.requested look {"q": "x"}
        tool.started look attempt 1
        tool.failed no route. Answer without it and say so, or try again later [resolved fits allow run(1)]
    "#]])
        .await;
}

#[tokio::test(start_paused = true)]
async fn an_open_breaker_is_bridged_without_asking_the_tool() {
    let lab = Lab::new().await;
    let breaker = Some(BreakerSettings { failures_in_row: 1, ..BreakerSettings::default() });
    let runs = lab.tool(spec("look", Effect::Read), Guards { breaker, ..or_tool("peek") }, down());
    lab.tool(spec("peek", Effect::Read), Guards::default(), says("seen"));
    lab.run("look", r#"{"q": "x"}"#).await;
    lab.run("look", r#"{"q": "x"}"#).await;
    assert_eq!(runs.load(Ordering::Relaxed), 1);
    let log = lab.log().await;
    assert!(log.contains("(calls failed lately and are held back): this is from `peek`]"), "{log}");
    assert!(log.contains("[resolved fits allow open instead(peek) run(1)]"), "{log}");
}

#[tokio::test]
async fn what_stands_in_is_never_kept_as_the_tools_own_answer() {
    let lab = Lab::new().await;
    let first_down: Behaviour = Box::new(|n| {
        Box::pin(async move {
            if n == 0 { Err(ToolError::NotSent("no route".into())) } else { Ok(ToolOutput::text("found")) }
        })
    });
    let guards = Guards { cache: cached(CacheScope::Everyone).cache, ..or_tool("peek") };
    lab.tool(spec("look", Effect::Read), guards, first_down);
    lab.tool(spec("peek", Effect::Read), Guards::default(), says("seen"));
    lab.run("look", r#"{"q": "x"}"#).await;
    let second = lab.run("look", r#"{"q": "x"}"#).await;
    assert_eq!(second, finished("look", "found"));
}

#[tokio::test]
async fn a_tool_that_says_no_is_well_and_nothing_stands_in_for_it() {
    let lab = Lab::new().await;
    let no = fails(ToolError::Declined("there is no such city".into()));
    lab.tool(spec("look", Effect::Read), or_tool("peek"), no);
    let peeks = lab.tool(spec("peek", Effect::Read), Guards::default(), says("seen"));
    let outcome = lab.run("look", r#"{"q": "x"}"#).await;
    assert!(matches!(outcome, Outcome::Failed(_)), "{outcome:?}");
    assert_eq!(peeks.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn nothing_stands_in_for_what_may_have_happened() {
    for effect in [Effect::Idempotent, Effect::NonIdempotent] {
        let mut lab = Lab::new().await;
        lab.rules = Rules::new().with_layer("operator", vec![anything()]);
        lab.tool(spec("send", effect), or_tool("mail"), fails(ToolError::Lost("reset".into())));
        let mails = lab.tool(spec("mail", effect), Guards::default(), says("mailed"));
        let outcome = lab.run("send", r#"{"q": "x"}"#).await;
        assert!(matches!(outcome, Outcome::Unknown { .. }), "{outcome:?}");

        let call = lab.call("send", r#"{"q": "x"}"#);
        lab.registry.unregister("send").unwrap();
        lab.tool(spec("send", effect), or_tool("mail"), down());
        let cx = CallContext { attempts_before: 1, ..lab.context(&call) };
        let again =
            Pipeline::new(lab.rules.clone()).resend_call(&call, sent_before(&lab), &cx).await.unwrap();
        assert!(matches!(again, Outcome::Unknown { .. }), "{again:?}");
        assert_eq!(mails.load(Ordering::Relaxed), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn what_was_not_sent_may_be_done_by_another_and_is_unknown_if_that_one_is_lost() {
    let mut lab = Lab::new().await;
    lab.rules = Rules::new().with_layer("operator", vec![anything()]);
    lab.tool(spec("send", Effect::NonIdempotent), or_tool("mail"), down());
    lab.tool(spec("mail", Effect::Idempotent), Guards { attempts: 1, ..Guards::default() }, hangs());
    lab.run("send", r#"{"q": "x"}"#).await;
    let events = lab.store.events(lab.run, 1, 99).await.unwrap();
    let by_mail = events.iter().find_map(|recorded| match &recorded.event.fact {
        Fact::ToolStarted { instead: Some(by), effect, .. } => Some((by.clone(), *effect)),
        _ => None,
    });
    // After a crash the call would be sent to `send`: so it must not be sent again.
    assert_eq!(by_mail, Some(("mail".into(), Effect::NonIdempotent)));
    let log = lab.log().await;
    assert!(log.contains("tool.unknown"), "{log}");
    assert!(log.contains("it was sent by `mail`; it was not checked"), "{log}");
}

#[tokio::test]
async fn what_is_denied_or_would_ask_does_not_stand_in() {
    let deny = Rule { tool: Some("peek".into()), action: Action::Deny, ..anything() };
    let ask = Rule { tool: Some("peek".into()), action: Action::Ask, ..anything() };
    for rule in [deny, ask] {
        let mut lab = Lab::new().await;
        lab.rules = Rules::new().with_layer("operator", vec![rule]);
        lab.tool(spec("look", Effect::Read), or_tool("peek"), down());
        let peeks = lab.tool(spec("peek", Effect::Read), Guards::default(), says("seen"));
        let outcome = lab.run("look", r#"{"q": "x"}"#).await;
        assert!(matches!(outcome, Outcome::Failed(_)), "{outcome:?}");
        assert_eq!(peeks.load(Ordering::Relaxed), 0);
    }
}

#[tokio::test]
async fn a_chain_ends_and_a_circle_is_no_chain() {
    let lab = Lab::new().await;
    let names = ["t0", "t1", "t2", "t3", "t4"];
    let mut runs = vec![];
    for (at, name) in names.iter().enumerate() {
        let next = names.get(at + 1).copied().unwrap_or("t3");
        runs.push(lab.tool(spec(name, Effect::Read), or_tool(next), down()));
    }
    let counts = || runs.iter().map(|runs| runs.load(Ordering::Relaxed)).collect::<Vec<_>>();
    let outcome = lab.run("t0", r#"{"q": "x"}"#).await;
    assert!(
        matches!(&outcome, Outcome::Failed(failure) if failure.message.starts_with("connection refused. Answer"))
    );
    assert_eq!(counts(), [1, 1, 1, 1, 0], "three stand in, and no more");
    lab.run("t3", r#"{"q": "x"}"#).await;
    assert_eq!(counts(), [1, 1, 1, 2, 1], "nobody is asked twice");
}

#[tokio::test]
async fn a_tool_that_the_run_does_not_have_may_stand_in_for_one_that_it_has() {
    let lab = Lab::new().await;
    lab.tool(spec("look", Effect::Read), or_tool("peek"), down());
    let call = lab.call("look", r#"{"q": "x"}"#);
    let cx = lab.context(&call);
    let others = Registry::new();
    let peek = FakeTool { spec: spec("peek", Effect::Read), calls: Arc::default(), behaviour: says("seen") };
    others.register(Arc::new(peek), Guards::default(), &lab.world).unwrap();
    let pipeline = Pipeline::new(Rules::new()).with_stand_ins(Arc::new(others), Rules::new());
    let outcome = pipeline.execute_call(&call, &cx).await.unwrap();
    assert!(matches!(&outcome, Outcome::Finished(output) if output.text.ends_with("\nseen")), "{outcome:?}");
}

#[tokio::test]
async fn a_reached_limit_is_told_unless_the_fallback_is_for_that_too() {
    for (when_limited, answered) in [(false, false), (true, true)] {
        let lab = Lab::new().await;
        let limit = LimitSettings { per_window: Some(1), ..LimitSettings::default() };
        let fallback = Fallback { tool: Some("peek".into()), when_limited, ..Fallback::default() };
        let limits = Limits { tool: Some(limit), user: None };
        let guards = Guards { limits, fallback: Some(fallback), ..Guards::default() };
        lab.tool(spec("look", Effect::Read), guards, says("found"));
        lab.tool(spec("peek", Effect::Read), Guards::default(), says("seen"));
        lab.run("look", r#"{"q": "x"}"#).await;
        let second = lab.run("look", r#"{"q": "y"}"#).await;
        assert_eq!(matches!(second, Outcome::Finished(_)), answered, "{second:?}");
    }
}
