//! Who is told that a tool went down, and that it came back.

use super::*;
use crate::{BreakerAlert, BreakerAlertKind};

/// A lab whose alarms are written down.
async fn watched() -> (Lab, Arc<Mutex<Vec<BreakerAlert>>>) {
    let heard = Arc::new(Mutex::new(vec![]));
    let told = heard.clone();
    let mut lab = Lab::new().await;
    lab.registry = Registry::new().with_alerts(Arc::new(move |alarm| told.lock().unwrap().push(alarm)));
    (lab, heard)
}

#[tokio::test(start_paused = true)]
async fn an_alarm_is_given_when_a_breaker_opens_and_when_it_closes() {
    let (lab, heard) = watched().await;
    let breaker = Some(BreakerSettings {
        failures_in_row: 2,
        successes_to_close: 1,
        open: Duration::from_secs(60),
        ..BreakerSettings::default()
    });
    let comes_back: Behaviour = Box::new(|n| {
        Box::pin(async move {
            if n < 2 { Err(ToolError::Lost("the line went dead".into())) } else { Ok(ToolOutput::text("up")) }
        })
    });
    lab.tool(spec("look", Effect::Read), Guards { breaker, attempts: 1, ..Guards::default() }, comes_back);
    for _ in 0..3 {
        lab.run("look", r#"{"q": "x"}"#).await;
    }
    tokio::time::advance(Duration::from_secs(70)).await;
    lab.run("look", r#"{"q": "x"}"#).await;
    let heard = heard.lock().unwrap();
    let kinds: Vec<_> = heard.iter().map(|alarm| (alarm.kind, &*alarm.because, &*alarm.tool)).collect();
    assert_eq!(
        kinds,
        [
            (BreakerAlertKind::Opened, "it failed, or did not answer", "look"),
            (BreakerAlertKind::Closed, "it answers again", "look")
        ]
    );
    assert!(heard[0].retry_after_ms.is_some_and(|ms| (54_000..=66_000).contains(&ms)));
}

#[tokio::test(start_paused = true)]
async fn setting_an_open_breaker_back_is_told_once() {
    let (lab, heard) = watched().await;
    let breaker = Some(BreakerSettings { failures_in_row: 1, ..BreakerSettings::default() });
    let guards = Guards { breaker, attempts: 1, ..Guards::default() };
    lab.tool(spec("look", Effect::Read), guards, fails(ToolError::Ailing("out of order".into())));
    lab.run("look", r#"{"q": "x"}"#).await;
    let look = lab.registry.get("look").unwrap();
    look.reset_breaker();
    look.reset_breaker();
    let kinds: Vec<_> = heard.lock().unwrap().iter().map(|alarm| alarm.kind).collect();
    assert_eq!(kinds, [BreakerAlertKind::Opened, BreakerAlertKind::Closed]);
}
