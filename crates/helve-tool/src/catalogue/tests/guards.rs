//! What a tool's guards have seen outlives an edit of the tool.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use helve_guard::{BreakerSettings, Circuit, LimitSettings};
use helve_types::Trail;

use super::*;
use crate::{Limits, Outcome};

/// A catalogue with a tool `weather`, of which so many calls a minute are let in, altogether and for each user.
async fn limited(per_minute: &Arc<AtomicU32>) -> Catalogue {
    let per_minute = per_minute.clone();
    let overrides: GuardOverrides = Arc::new(move |_, guards| {
        let limit = LimitSettings {
            per_window: Some(per_minute.load(Ordering::Relaxed)),
            window: Duration::from_secs(60),
            wait: Duration::ZERO,
            ..LimitSettings::default()
        };
        let breaker = Some(BreakerSettings { failures_in_row: 1, ..BreakerSettings::default() });
        Guards { limits: Limits { tool: Some(limit), user: Some(limit) }, breaker, ..guards }
    });
    let catalogue = new_shop().await.catalogue.with_guard_overrides(overrides);
    catalogue.create(weather("https://a.example/{city}"), "mei").await.unwrap();
    catalogue
}

fn tool(catalogue: &Catalogue) -> Arc<Registered> {
    catalogue.registry().get("weather").unwrap()
}

/// How many calls are let in now, of five that come.
fn let_in(tool: &Registered) -> usize {
    let limiter = tool.guarding.limiter.as_ref().unwrap();
    (0..5).filter(|_| limiter.try_enter().is_ok()).count()
}

fn let_in_for_mei(tool: &Registered) -> usize {
    let limiter = tool.guarding.user_limiter.as_ref().unwrap();
    (0..5).filter(|_| limiter.try_enter("mei").is_ok()).count()
}

async fn describe(catalogue: &Catalogue, description: &str) -> Arc<Registered> {
    let patch = Change::Patch(json!({"description": description}));
    catalogue.update("weather", patch, None, "mei").await.unwrap();
    tool(catalogue)
}

#[tokio::test(start_paused = true)]
async fn a_limit_that_is_used_up_stays_so_when_the_tool_is_changed() {
    let per_minute = Arc::new(AtomicU32::new(2));
    let catalogue = limited(&per_minute).await;
    let first = tool(&catalogue);
    assert_eq!((let_in(&first), let_in_for_mei(&first)), (2, 2));
    let second = describe(&catalogue, "The weather, in words.").await;
    assert_ne!(first.version(), second.version());
    assert_eq!((let_in(&second), let_in_for_mei(&second)), (0, 0));

    // Another limit holds from the edit on, also for runs that go on with what they were started with.
    per_minute.store(3, Ordering::Relaxed);
    let mut described = weather("https://a.example/{city}");
    described.description = "Tried only.".into();
    catalogue.check(&described).unwrap();
    assert_eq!(let_in(&second), 0, "what is only tried changes nothing");
    let third = describe(&catalogue, "The weather, in more words.").await;
    assert_eq!((let_in(&first), let_in_for_mei(&first)), (1, 1));
    assert_eq!((let_in(&third), let_in_for_mei(&third)), (0, 0));
    tokio::time::advance(Duration::from_secs(61)).await;
    assert_eq!(let_in(&third), 3);
}

#[tokio::test(start_paused = true)]
async fn a_breaker_that_is_open_and_what_was_counted_stay_when_the_tool_is_changed() {
    let catalogue = limited(&Arc::new(AtomicU32::new(9))).await;
    let first = tool(&catalogue);
    _ = first.guarding.breaker.as_ref().unwrap().admit().unwrap().report_failure();
    let done = Outcome::Finished(ToolOutput::text("sunny"));
    first.counters.count_call(&done, &Trail::default(), Duration::from_millis(5));
    let second = describe(&catalogue, "The weather, in words.").await;
    assert_eq!(second.status().breaker.unwrap().circuit, Circuit::Open);
    assert_eq!(second.metrics(), first.metrics());
    assert_eq!(second.metrics().calls, 1);
}
