//! E: the pluggable tool system, its calls and its monitoring. Its plans have tests of their own.

use super::*;

/// A search service that counts, and the server that asks it.
fn served() -> (Outside, Served) {
    let search = Outside::new(|_| {
        let results = json!([{"title": "T", "url": "https://example.com/t", "content": "C", "score": 0.9}]);
        Reply::new(200, "application/json", &json!({"answer": "A", "results": results}).to_string())
    });
    let url = format!("http://{}", search.address);
    let served = serve("", &[("TAVILY_API_KEY", "tvly-1"), ("TAVILY_API_URL", &url)]);
    (search, served)
}

#[test]
fn an_old_caller_gets_the_text_of_the_result() {
    let (search, served) = served();
    let call = r#"{"tool": "search_web", "query": "rust", "userId": "mei"}"#;
    let (status, head, text) = send(&served, "POST", "/api/tools/execute", "", call);
    assert_eq!(status, 200, "{text}");
    assert!(head.contains("content-type: text/plain"), "{head}");
    assert!(text.contains("https://example.com/t"), "{text}");
    assert_eq!(search.asked().len(), 1);
    let made = get(&served, "/api/executions?user=mei");
    assert_eq!(made["executions"][0]["tool"], "search_web", "{made}");
}

#[test]
fn a_new_caller_gets_an_object_with_the_value_and_its_own_request_id() {
    let (_, served) = served();
    let call = r#"{"toolName": "calculator", "params": {"expression": "6 * 7"},
        "context": {"userId": "mei", "requestId": "r-1", "conversationId": "c-1", "timestamp": 1730000000000}}"#;
    let (status, head, body) = send(&served, "POST", "/api/tools/execute", "", call);
    let answer: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(
        (status, &answer["success"], &answer["requestId"]),
        (200, &json!(true), &json!("r-1")),
        "{body}"
    );
    assert!(answer["result"].as_str().unwrap().contains("42") && !answer["data"].is_null(), "{body}");
    // What this server does not need is named.
    assert!(head.contains("x-helve-unknown-fields: context.conversationId, context.timestamp"), "{head}");
    assert_eq!(get(&served, "/api/executions?user=mei")["executions"][0]["tool"], "calculator");
    // The value is what a plan's next step reads.
    let call = r#"{"toolName": "list_plans", "params": {}, "context": {"userId": "mei"}}"#;
    let (_, _, body) = send(&served, "POST", "/api/tools/execute", "", call);
    let answer: Value = serde_json::from_str(&body).unwrap();
    assert!(answer["data"]["plans"].is_array(), "{body}");
    let (_, _, body) = send(
        &served,
        "POST",
        "/api/tools/execute",
        "",
        r#"{"toolName": "calculator", "params": {"expression": "1 +"}}"#,
    );
    let answer: Value = serde_json::from_str(&body).unwrap();
    assert!(answer["success"] == false && answer["error"].is_string(), "{body}");
}

#[test]
fn what_is_wrong_with_a_call_is_told_with_its_field() {
    let (_, served) = served();
    for (call, word) in [
        ("{}", "`toolName`"),
        (r#"{"toolName": 7}"#, "`toolName` must be a string"),
        (r#"{"toolName": "time", "params": []}"#, "`params` must be an object"),
        (r#"{"toolName": "time", "context": "mei"}"#, "`context` must be an object"),
        (r#"{"toolName": "time", "context": {"userId": 7}}"#, "`context.userId` must be a string"),
    ] {
        let (status, _, body) = send(&served, "POST", "/api/tools/execute", "", call);
        assert!(status == 400 && body.contains(word), "{call}: {status} {body}");
    }
}

#[test]
fn its_monitoring_reads_its_own_names_beside_ours() {
    let (search, served) = served();
    for query in ["rust", "rust", "go"] {
        let call = json!({"tool": "search_web", "query": query}).to_string();
        send(&served, "POST", "/api/tools/execute", "", &call);
    }
    // The second question was answered from the cache.
    assert_eq!(search.asked().len(), 2);
    let one = get(&served, "/api/tool-system/metrics/search_web");
    let status = get(&served, "/api/tool-system/status");
    for metrics in [&one, &status["tools"]["search_web"]["metrics"]] {
        for (name, value) in [
            ("totalCalls", json!(3)),
            ("successCalls", json!(3)),
            ("failedCalls", json!(0)),
            ("errorRate", json!(0.0)),
            ("concurrency", json!(0)),
            ("circuitBreakerState", json!("closed")),
            ("calls", json!(3)),
        ] {
            assert_eq!(metrics[name], value, "{name}: {metrics}");
        }
        assert!((metrics["cacheHitRate"].as_f64().unwrap() - 1.0 / 3.0).abs() < 1e-9, "{metrics}");
        assert!(metrics["averageLatency"].is_f64(), "{metrics}");
    }
    let (reset, _, body) =
        send(&served, "POST", "/api/tool-system/reset", "", r#"{"toolName": "search_web"}"#);
    assert_eq!(reset, 204, "{body}");
    assert_eq!(get(&served, "/api/tool-system/metrics/search_web")["totalCalls"], 0);
    let (unknown, _, _) = send(&served, "GET", "/api/tool-system/metrics/no_tool", "", "");
    assert_eq!(unknown, 404);
}

/// What its `search_web` is limited to: 50 at once, 100 a minute, five minutes of cache, a breaker at 5 failures.
#[test]
fn the_search_has_the_limits_that_it_has_there() {
    let (_, served) = served();
    let status = get(&served, "/api/tool-system/status")["tools"]["search_web"].take();
    let limit = &status["limit"];
    assert_eq!((&limit["concurrent_max"], &limit["per_window_max"]), (&json!(50), &json!(100)), "{status}");
    assert_eq!(limit["window_ms"], 60_000);
    assert!(status["cache"].is_object(), "{status}");
    for number in 0..5 {
        let call = json!({"tool": "search_web", "query": format!("q{number}")}).to_string();
        send(&served, "POST", "/api/tools/execute", "", &call);
    }
    assert_eq!(get(&served, "/api/tool-system/metrics/search_web")["circuitBreakerState"], "closed");
}

#[test]
fn five_failures_open_the_breaker() {
    let search = Outside::new(|_| Reply::new(500, "application/json", "{}"));
    let url = format!("http://{}", search.address);
    let served = serve(
        "[tools.search_web]\nattempts = 1\n",
        &[("TAVILY_API_KEY", "tvly-1"), ("TAVILY_API_URL", &url)],
    );
    for number in 0..5 {
        let call = json!({"tool": "search_web", "query": format!("q{number}")}).to_string();
        send(&served, "POST", "/api/tools/execute", "", &call);
    }
    let metrics = get(&served, "/api/tool-system/metrics/search_web");
    assert_eq!(metrics["circuitBreakerState"], "open", "{metrics}");
    let asked = search.asked().len();
    send(&served, "POST", "/api/tools/execute", "", r#"{"tool": "search_web", "query": "more"}"#);
    assert_eq!(search.asked().len(), asked, "an open breaker keeps calls from the service");
    send(&served, "POST", "/api/tool-system/reset", "", "");
    assert_eq!(get(&served, "/api/tool-system/metrics/search_web")["circuitBreakerState"], "closed");
}
