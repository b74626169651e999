//! A webhook behind real HTTP.

use helve_tool::BreakerAlertKind;
use helve_types::Timestamp;
use serde_json::{Value, json};

use super::*;
use crate::testing::{HttpStub, webhook_at};

fn alarm(tool: &str) -> BreakerAlert {
    BreakerAlert {
        tool: tool.into(),
        kind: BreakerAlertKind::Opened,
        because: "connection refused".into(),
        at: Timestamp(7),
        retry_after_ms: Some(60_000),
    }
}

fn webhook(url: &str) -> Arc<AlarmLine> {
    AlarmLine::new(webhook_at(url))
}

#[tokio::test]
async fn an_alarm_arrives_as_json_also_if_the_first_try_fails() {
    let mut stub = HttpStub::start([(500, "{}"), (204, "")]).await;
    let webhook = webhook(&stub.url("/alarms"));
    webhook.alarms()(alarm("weather"));
    let first = stub.request().await;
    let second = stub.request().await;
    assert_eq!(first, second, "the same alarm is sent again");
    assert_eq!(second.line, "POST /alarms HTTP/1.1");
    let body: Value = serde_json::from_str(&second.body).unwrap();
    assert_eq!(
        body,
        json!({"tool": "weather", "kind": "opened", "because": "connection refused", "at": 7, "retry_after_ms": 60_000})
    );
    assert_eq!(webhook.lost(), 0);
}

#[tokio::test]
async fn a_webhook_that_says_no_is_not_asked_again_and_the_next_alarm_goes_out() {
    let mut stub = HttpStub::start([(404, ""), (200, "")]).await;
    let webhook = webhook(&stub.url("/gone"));
    let tell = webhook.alarms();
    tell(alarm("one"));
    tell(alarm("two"));
    assert!(stub.request().await.body.contains("one"));
    assert!(stub.request().await.body.contains("two"));
    assert_eq!(webhook.lost(), 1);
}

#[tokio::test]
async fn a_full_queue_drops_and_counts_and_never_waits() {
    // Nothing is sent before this test lets go of its thread.
    let webhook = webhook("http://127.0.0.1:9/");
    let tell = webhook.alarms();
    for _ in 0..QUEUE_MAX + 3 {
        tell(alarm("weather"));
    }
    assert_eq!(webhook.lost(), 3);
}
