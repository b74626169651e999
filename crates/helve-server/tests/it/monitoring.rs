//! Watching the server from outside.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use helve_store::TokenRights;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::test_server::{ChangeParts, ServerOptions, TestServer, reply};

async fn value_of(server: &TestServer, series: &str) -> Option<f64> {
    let page = server.get("/metrics").await.text().await.unwrap();
    let line = page.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '))?;
    line.parse().ok()
}

#[tokio::test]
async fn what_happened_can_be_scraped() {
    let server = TestServer::new([
        reply("call look {\"q\": \"tea\"}"),
        reply("call look {\"q\": \"tea\"} | call look {\"q\": 7}"),
        reply("say Here."),
    ])
    .await;
    let (run, _) = server.start("look for tea").await;
    assert_eq!(server.settled(&run).await, "completed");

    let page = server.get("/metrics").await;
    assert_eq!(page.headers()["content-type"], "text/plain; version=0.0.4; charset=utf-8");
    for (series, value) in [
        ("helve_runs_started_total", 1.0),
        ("helve_runs_ended_total{ending=\"completed\"}", 1.0),
        ("helve_tool_calls_total{tool=\"look\",outcome=\"succeeded\"}", 2.0),
        ("helve_tool_calls_total{tool=\"look\",outcome=\"refused\"}", 1.0),
        ("helve_tool_calls_total{tool=\"send\",outcome=\"succeeded\"}", 0.0),
        ("helve_tool_cached_total{tool=\"look\",found=\"hit\"}", 1.0),
        ("helve_tool_call_seconds_count{tool=\"look\"}", 3.0),
        ("helve_tool_call_seconds_bucket{tool=\"look\",le=\"+Inf\"}", 3.0),
        ("helve_tool_in_use{tool=\"look\"}", 0.0),
        ("helve_tool_breaker_state{tool=\"look\",state=\"closed\"}", 1.0),
        ("helve_tool_breaker_state{tool=\"look\",state=\"open\"}", 0.0),
        ("helve_model_requests_total{model=\"scripted\",outcome=\"answered\"}", 3.0),
        ("helve_model_first_token_seconds_count{model=\"scripted\"}", 3.0),
    ] {
        assert_eq!(value_of(&server, series).await, Some(value), "{series}");
    }
    assert!(value_of(&server, "helve_http_answers_total{status=\"2xx\"}").await.unwrap() >= 2.0);
    assert_eq!(value_of(&server, "helve_secrets_withheld_total").await, None);
    let count_three: ChangeParts =
        Box::new(|parts, _| parts.secrets_withheld = Some(Arc::new(AtomicU64::new(3))));
    let options = ServerOptions { change_parts: Some(count_three), ..ServerOptions::default() };
    let counting = TestServer::with_options(options, []).await;
    assert_eq!(value_of(&counting, "helve_secrets_withheld_total").await, Some(3.0));
}

#[tokio::test]
async fn every_line_of_the_page_is_one_that_prometheus_reads() {
    let server = TestServer::new([]).await;
    let page = server.get("/metrics").await.text().await.unwrap();
    let mut family = "";
    for line in page.lines() {
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            family = rest.split(' ').next().unwrap();
            continue;
        }
        if line.starts_with("# HELP ") {
            continue;
        }
        let (series, value) = line.rsplit_once(' ').unwrap();
        assert!(value.parse::<f64>().is_ok(), "{line}");
        let name = series.split('{').next().unwrap();
        assert!(name.starts_with(family) && !family.is_empty(), "{line} under {family}");
        assert!(series.matches('"').count() % 2 == 0, "{line}");
    }
}

#[tokio::test]
async fn with_a_token_configured_the_metrics_want_one() {
    let server = TestServer::new([]).await;
    let chat = server.token("prometheus", TokenRights::Chat).await;
    assert_eq!(server.get("/metrics").await.status(), StatusCode::UNAUTHORIZED);
    let scraped = server.request(Method::GET, "/metrics").bearer_auth(chat).send().await.unwrap();
    assert_eq!(scraped.status(), StatusCode::OK);
}

#[tokio::test]
async fn a_tool_tells_how_it_fares_and_forgets_when_it_is_told_to() {
    let server = TestServer::new([]).await;
    for q in [json!("tea"), json!("tea"), json!(7), json!("milk")] {
        server.post("/api/tools/look/call", json!({"arguments": {"q": q}})).await;
    }
    let told = server.get_json("/api/tool-system/metrics/look").await;
    for (name, value) in [
        ("calls", json!(4)),
        ("succeeded", json!(3)),
        ("refused", json!(1)),
        ("from_cache", json!(1)),
        ("cache_hit_rate", json!(0.25)),
        ("error_rate", json!(0.0)),
        ("in_use", json!(0)),
        ("waiting", json!(0)),
        ("breaker", json!("closed")),
    ] {
        assert_eq!(told[name], value, "{name}");
    }
    let [p50, p95, p99] = ["p50_ms", "p95_ms", "p99_ms"].map(|name| told[name].as_f64().unwrap());
    assert!(p50 <= p95 && p95 <= p99, "{told}");

    server.post("/api/tool-system/reset", json!({"tool": "look", "what": ["metrics"]})).await;
    let told = server.get_json("/api/tool-system/metrics/look").await;
    assert_eq!((&told["calls"], &told["p99_ms"]), (&json!(0), &json!(0.0)));
    let status: Value = server.get_json("/api/tool-system/status").await;
    assert_eq!(status["tools"]["look"]["cache"]["entries"], 2, "the cache was not asked to forget");
    assert!(status["version"].is_string() && status["uptime_ms"].is_u64());
}
