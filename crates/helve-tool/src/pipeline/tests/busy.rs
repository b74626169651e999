//! Tools that ask for a pause: 429, and 503 with `Retry-After`.

use tokio::time::Instant;

use super::*;

/// A tool with a breaker that asks for these pauses one after the other, then answers.
fn asks_for(pauses: &[u64]) -> Behaviour {
    let pauses: Vec<Duration> = pauses.iter().map(|ms| Duration::from_millis(*ms)).collect();
    Box::new(move |n| {
        let busy = pauses
            .get(n as usize)
            .map(|pause| ToolError::Busy { message: "busy (429)".into(), retry_after: Some(*pause) });
        Box::pin(async move { busy.map_or_else(|| Ok(ToolOutput::text("done")), Err) })
    })
}

fn guards() -> Guards {
    Guards {
        timeout: Duration::from_secs(20),
        breaker: Some(BreakerSettings::default()),
        ..Guards::default()
    }
}

async fn allowing() -> Lab {
    let mut lab = Lab::new().await;
    lab.rules = Rules::new().with_layer("operator", vec![anything()]);
    lab
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_asks_for_a_pause_gets_it_whole_and_is_then_called_again_whatever_its_effect() {
    for effect in [Effect::Read, Effect::Idempotent, Effect::NonIdempotent] {
        for pause in [0, 1_000, 15_000] {
            let lab = allowing().await;
            let runs = lab.tool(spec("look", effect), guards(), asks_for(&[pause]));
            let began = Instant::now();
            let outcome = lab.run("look", r#"{"q": "x"}"#).await;
            assert_eq!(outcome, finished("look", "done"), "{effect:?} {pause}");
            assert_eq!(runs.load(Ordering::Relaxed), 2);
            let took = began.elapsed().as_millis() as u64;
            assert!((pause..=pause + 10).contains(&took), "{pause} was asked for, {took} ms it took");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_pause_that_grew_meanwhile_is_waited_for_as_well() {
    let lab = allowing().await;
    let at_leisure: Behaviour = Box::new(|n| {
        let busy = [1, 3].get(n as usize).map(|pause| ToolError::Busy {
            message: "busy (429)".into(),
            retry_after: Some(Duration::from_secs(*pause)),
        });
        Box::pin(async move {
            tokio::time::sleep(Duration::from_millis(100)).await;
            busy.map_or_else(|| Ok(ToolOutput::text("done")), Err)
        })
    });
    let runs = lab.tool(spec("look", Effect::Read), guards(), at_leisure);
    let began = Instant::now();
    let (first, second) = (lab.call("look", r#"{"q": "x"}"#), lab.call("look", r#"{"q": "y"}"#));
    let (first, second) = tokio::join!(lab.execute(&first), lab.execute(&second));
    assert_eq!((first.unwrap(), second.unwrap()), (finished("look", "done"), finished("look", "done")));
    assert_eq!(runs.load(Ordering::Relaxed), 4);
    assert!(began.elapsed() >= Duration::from_secs(3));
}

#[tokio::test(start_paused = true)]
async fn a_pause_beyond_the_calls_time_is_told_at_once() {
    let lab = allowing().await;
    let runs = lab.tool(spec("look", Effect::Read), guards(), asks_for(&[20_001]));
    let began = Instant::now();
    let Outcome::Failed(failure) = lab.run("look", r#"{"q": "x"}"#).await else { panic!("it did not fail") };
    assert_eq!(began.elapsed(), Duration::ZERO);
    assert_eq!((runs.load(Ordering::Relaxed), failure.retry_after_ms), (1, Some(20_001)));
    assert!(failure.message.contains("it asks for no call within 21 s"), "{}", failure.message);
}

#[tokio::test(start_paused = true)]
async fn other_calls_are_refused_until_the_pause_is_over() {
    let lab = allowing().await;
    let runs = lab.tool(spec("look", Effect::Read), guards(), asks_for(&[5_000]));
    let call = lab.call("look", r#"{"q": "x"}"#);
    let (waits, other) = tokio::join!(lab.execute(&call), async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let other = lab.run("look", r#"{"q": "y"}"#).await;
        assert_eq!(runs.load(Ordering::Relaxed), 1);
        other
    });
    let Outcome::Refused(refused) = other else { panic!("it was not refused: {other:?}") };
    assert_eq!((refused.kind, refused.retry_after_ms), (FailureKind::Unavailable, Some(4_000)));
    assert_eq!(waits.unwrap(), finished("look", "done"));
}

#[tokio::test(start_paused = true)]
async fn a_stop_ends_the_wait_at_once_and_nothing_more_is_sent() {
    let lab = allowing().await;
    let runs = lab.tool(spec("send", Effect::NonIdempotent), guards(), asks_for(&[10_000]));
    let call = lab.call("send", r#"{"q": "x"}"#);
    let began = Instant::now();
    let (outcome, ()) = tokio::join!(lab.execute(&call), async {
        tokio::time::sleep(Duration::from_secs(2)).await;
        lab.cancel.cancel();
    });
    assert_eq!((began.elapsed(), runs.load(Ordering::Relaxed)), (Duration::from_secs(2), 1));
    let outcome = outcome.unwrap();
    assert!(
        matches!(&outcome, Outcome::Refused(failure) | Outcome::Failed(failure) if failure.kind == FailureKind::Cancelled),
        "{outcome:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn nobody_else_is_kept_out_by_a_call_that_only_waits() {
    let lab = allowing().await;
    let one = LimitSettings { concurrent: Some(1), ..LimitSettings::default() };
    let guards = Guards { breaker: None, limits: Limits { tool: Some(one), user: None }, ..guards() };
    lab.tool(spec("look", Effect::Read), guards, asks_for(&[5_000]));
    let call = lab.call("look", r#"{"q": "x"}"#);
    let (waits, other) = tokio::join!(lab.execute(&call), async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        lab.run("look", r#"{"q": "y"}"#).await
    });
    assert_eq!((waits.unwrap(), other), (finished("look", "done"), finished("look", "done")));
}
