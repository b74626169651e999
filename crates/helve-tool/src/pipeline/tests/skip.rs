//! Calls that leave a guard out.

use super::*;
use crate::SkippedGuards;

#[tokio::test]
async fn a_call_past_the_cache_runs_and_its_answer_is_kept() {
    let mut lab = Lab::new().await;
    let counts: Behaviour =
        Box::new(|n| Box::pin(async move { Ok(ToolOutput::text(format!("answer {n}"))) }));
    lab.tool(spec("look", Effect::Read), cached(CacheScope::Everyone), counts);
    lab.run("look", r#"{"q": "x"}"#).await;
    lab.skip = SkippedGuards { cache: true, limit: false };
    lab.run("look", r#"{"q": "x"}"#).await;
    lab.skip = SkippedGuards::default();
    lab.run("look", r#"{"q": "x"}"#).await;
    lab.check(expect![[r#"
        tool.requested look {"q": "x"}
        tool.started look attempt 1
        tool.finished answer 0 [resolved fits allow miss run(1)]
        tool.requested look {"q": "x"}
        tool.started look attempt 1
        tool.finished answer 1 [resolved fits allow without(cache) run(1)]
        tool.requested look {"q": "x"}
        tool.finished answer 1 [resolved fits allow hit]
    "#]])
        .await;
}

#[tokio::test]
async fn a_call_past_the_limit_takes_no_slot_of_others() {
    let mut lab = Lab::new().await;
    let limit = Some(LimitSettings { per_window: Some(1), ..LimitSettings::default() });
    let guards = Guards { limits: Limits { tool: limit, user: limit }, ..Guards::default() };
    lab.tool(spec("look", Effect::Read), guards, says("found"));
    lab.skip = SkippedGuards { cache: false, limit: true };
    for _ in 0..3 {
        lab.run("look", r#"{"q": "x"}"#).await;
    }
    assert_eq!(lab.registry.get("look").unwrap().status().limit.unwrap().admitted_in_window, 0);
    lab.skip = SkippedGuards::default();
    let outcome = lab.run("look", r#"{"q": "x"}"#).await;
    assert!(matches!(outcome, Outcome::Finished(_)), "{outcome:?}");
    let log = lab.log().await;
    assert_eq!(log.matches("[resolved fits allow without(limit) run(1)]").count(), 3, "{log}");
}

#[tokio::test]
async fn a_guard_that_is_not_there_is_not_said_to_be_skipped() {
    let mut lab = Lab::new().await;
    lab.skip = SkippedGuards { cache: true, limit: true };
    lab.tool(spec("look", Effect::Read), Guards::default(), says("found"));
    lab.run("look", r#"{"q": "x"}"#).await;
    let log = lab.log().await;
    assert!(log.contains("[resolved fits allow run(1)]"), "{log}");
}
