//! Models, their variants, and what answers cost.

use std::collections::BTreeMap;

use helve_runtime::{ModelOptions, Origin, PerMillion, Price, PriceSource};
use helve_types::ModelParams;
use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::test_server::{ServerOptions, TestServer, reply};

fn price() -> Price {
    let units = |units| PerMillion::from_units(units).unwrap();
    Price {
        input: units(3.0),
        cached: units(0.3),
        cache_write: units(3.75),
        output: units(15.0),
        from: PriceSource::Shipped { as_of: "2026-10-10".into() },
    }
}

fn options() -> ModelOptions {
    ModelOptions {
        price: Some(price()),
        variants: BTreeMap::from(["high", "low"].map(|name| (name.to_owned(), ModelParams::default()))),
        fallbacks: vec!["other".into()],
        small: true,
        origin: Some(Origin {
            vendor: Some("anthropic".into()),
            protocol: "anthropic".into(),
            model: "claude".into(),
            host: "api.anthropic.com".into(),
        }),
        ..ModelOptions::default()
    }
}

async fn server(replies: impl IntoIterator<Item = helve_model::Reply>) -> TestServer {
    TestServer::with_options(ServerOptions { options: options(), ..ServerOptions::default() }, replies).await
}

#[tokio::test]
async fn a_model_is_told_with_its_origin_state_mode_price_and_variants() {
    let plan = ServerOptions { options: options(), problem: Some("set KEY"), ..ServerOptions::default() };
    let server = TestServer::with_options(plan, []).await;
    let expected = json!({
        "models": [{
            "name": "scripted",
            "default": true,
            "vendor": "anthropic",
            "protocol": "anthropic",
            "model": "claude",
            "host": "api.anthropic.com",
            "ready": false,
            "problem": "set KEY",
            "notice": {"code": "model_without_key", "params": {"variable": "KEY"}},
            "mode": "native",
            "small": true,
            "price": {
                "input": 3.0, "cached": 0.3, "cache_write": 3.75, "output": 15.0,
                "source": "shipped", "as_of": "2026-10-10"
            },
            "variants": ["high", "low"],
            "fallbacks": ["other"]
        }],
        "default": "scripted",
        "currency": "USD"
    });
    assert_eq!(server.get_json("/api/models").await, expected);
    let document = server.get_json("/openapi.json").await;
    let view = &document["components"]["schemas"]["ModelView"]["properties"];
    for name in expected["models"][0].as_object().unwrap().keys() {
        assert!(view[name].is_object(), "the document says nothing of `{name}`");
    }
}

#[tokio::test]
async fn a_model_of_which_little_is_known_says_little() {
    let server = TestServer::new([]).await;
    let models = server.get_json("/api/models").await;
    assert_eq!(
        models["models"][0],
        json!({
            "name": "scripted", "default": true, "ready": true, "mode": "native", "small": false,
            "variants": [], "fallbacks": []
        })
    );
}

#[tokio::test]
async fn cost_is_told_with_the_answer_the_run_the_conversation_its_messages_and_the_event() {
    let server = server([reply(r#"call look {"q": "x"}"#), reply("say There.")]).await;
    let body = json!({"message": "find x", "stream": false});
    let whole: Value = server.post("/api/agent", body).await.json().await.unwrap();
    let step = 10 * 3_000 + 5 * 15_000;
    assert_eq!((&whole["usage"]["input_tokens"], &whole["cost_nanos"]), (&json!(20), &json!(2 * step)));

    let (run, talk) = (whole["run"].as_str().unwrap(), whole["conversation"].as_str().unwrap());
    let of_run = server.get_json(&format!("/api/runs/{run}")).await;
    let of_talk = server.get_json(&format!("/api/conversations/{talk}")).await;
    let listed = server.get_json("/api/conversations").await;
    for view in [&of_run, &of_talk, &listed["conversations"][0]] {
        assert_eq!(view["usage"], json!({"input_tokens": 20, "output_tokens": 10}), "{view}");
        assert_eq!(view["cost_nanos"], 2 * step, "{view}");
    }
    let messages = server.get_json(&format!("/api/conversations/{talk}/messages")).await;
    let steps = &messages["messages"][1]["steps"];
    assert_eq!((&steps[0]["cost_nanos"], &steps[1]["cost_nanos"]), (&json!(step), &json!(step)));
    let events = server.get(&format!("/api/runs/{run}/events")).await.text().await.unwrap();
    assert_eq!(events.matches(&format!("\"cost_nanos\":{step}")).count(), 2, "{events}");
}

#[tokio::test]
async fn where_no_price_is_known_no_cost_is_told() {
    let server = TestServer::new([reply("say Hello.")]).await;
    let body = json!({"message": "hi", "stream": false});
    let whole: Value = server.post("/api/agent", body).await.json().await.unwrap();
    assert_eq!((&whole["usage"]["output_tokens"], whole.get("cost_nanos")), (&json!(5), None));
}

#[tokio::test]
async fn every_route_that_starts_a_run_takes_a_variant() {
    let question = json!([{"role": "user", "content": "hi"}]);
    let cases = [
        ("/api/agent", json!({"message": "hi", "variant": "high"})),
        ("/api/agent", json!({"message": "hi", "model": "scripted:high", "stream": false})),
        ("/api/runs", json!({"message": "hi", "model": "scripted", "variant": "high"})),
        ("/api/runs", json!({"message": "hi", "model": "scripted:high"})),
        ("/api/chat", json!({"message": "hi", "config": {"variant": "high"}})),
        ("/api/chat", json!({"message": "hi", "modelType": "scripted:high"})),
        ("/api/chat", json!({"messages": question, "config": {"model": "scripted", "variant": "high"}})),
    ];
    for (route, body) in cases {
        let server = server([reply("say Hello.")]).await;
        let response = server.post(route, body.clone()).await;
        assert!(response.status().is_success(), "{route} {body}");
        let run = response.headers()["x-helve-run"].to_str().unwrap().to_owned();
        let view = server.get_json(&format!("/api/runs/{run}")).await;
        assert_eq!(
            (&view["model"], &view["variant"]),
            (&json!("scripted"), &json!("high")),
            "{route} {body}"
        );
    }
}

#[tokio::test]
async fn an_unknown_variant_is_refused_with_those_there_are() {
    let server = server([]).await;
    let cases = [
        (json!({"message": "hi", "variant": "max"}), 404, "unknown_variant", "it has: `high`, `low`"),
        (json!({"message": "hi", "model": "scripted:max"}), 404, "unknown_variant", "it has: `high`, `low`"),
        (
            json!({"message": "hi", "model": "scripted:high", "variant": "low"}),
            400,
            "two_variants",
            "choose one",
        ),
    ];
    for (body, status, code, detail) in cases {
        let response = server.post("/api/runs", body.clone()).await;
        assert_eq!(response.status(), StatusCode::from_u16(status).unwrap(), "{body}");
        let problem: Value = response.json().await.unwrap();
        assert_eq!(problem["code"], code, "{problem}");
        assert!(problem["detail"].as_str().unwrap().ends_with(detail), "{problem}");
    }
}

#[tokio::test]
async fn a_request_says_how_its_answer_is_drawn_but_not_what_goes_to_the_vendor_as_it_stands() {
    let server = server([helve_model::Reply::new().text("hi").done()]).await;
    let asked = json!({"message": "hi", "params": {"temperature": 0.5, "max_tokens": 7}});
    let started: Value = server.post("/api/runs", asked).await.json().await.unwrap();
    let run = started["run"].as_str().unwrap().parse().unwrap();
    let record = helve_store::Views::run(&*server.store, helve_store::Scope::Everyone, run).await.unwrap();
    assert_eq!((record.setup.params.temperature, record.setup.params.max_tokens), (Some(0.5), Some(7)));
    let refused = server.post("/api/runs", json!({"message": "hi", "params": {"extra": {"n": 9}}})).await;
    assert_eq!(refused.status(), reqwest::StatusCode::BAD_REQUEST);
}
