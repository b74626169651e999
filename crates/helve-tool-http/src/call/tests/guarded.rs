//! A tool that is a row, broken in every way, through the whole pipeline: what is told, what is sent, and what the breaker
//! makes of it.

use helve_policy::{Action, Rule, Rules};
use helve_store::{MemoryStore, RunJournal};
use helve_store_contract::Actor;
use helve_tool::{Outcome, Pipeline, Registry, Toolbox, Unknown};
use helve_types::{Fact, ToolCall, World};

use super::*;

/// The outcome of each call, how often the server was asked, and how the breaker stands then.
async fn check(server: &TestHttpServer, path: &str, changes: Value, calls: u32, expected: Expect) {
    let world = World::deterministic();
    let store = Arc::new(MemoryStore::new());
    let actor = Actor { world: world.clone(), ..Actor::new(store.clone(), "mei") };
    let started = actor.start(actor.new_conversation(), "go").await;
    let journal = RunJournal::new(store, world.clone(), started.run, started.epoch, 1, Arc::new(|_| {}));
    let mut definition = definition(changes);
    definition.endpoint.url_template = format!("{}{path}", server.url);
    let (tool, guards) = tools().build_tool(&definition, &Arc::default()).unwrap();
    let registry = Registry::new();
    registry.register(tool, guards, &world).unwrap();
    let toolbox = Arc::new(Toolbox::new(registry.list()));
    let rules: Vec<Rule> = vec![serde_json::from_value(json!({"action": Action::Allow})).unwrap()];
    let pipeline = Pipeline::new(Rules::new().with_layer("operator", rules));
    let mut told = String::new();
    for index in 0..calls {
        let call = ToolCall {
            id: CallId::new(started.run, 1, index),
            provider_id: None,
            name: "weather".into(),
            arguments: here().to_string(),
            repairs: vec![],
        };
        let requested = Fact::ToolRequested {
            step: 1,
            call: call.id.clone(),
            provider_id: None,
            tool: call.name.clone(),
            arguments: call.arguments.clone(),
            part: None,
            replaces: None,
            repairs: vec![],
        };
        journal.record(requested).await.unwrap();
        let cx = CallContext {
            run: started.run,
            call: call.id.clone(),
            toolbox: toolbox.clone(),
            journal: journal.clone(),
            world: world.clone(),
            // Every second call is of another request.
            request_id: Some(format!("request-{}", index / 2)),
            ..context()
        };
        told.push_str(&match pipeline.execute_call(&call, &cx).await.unwrap() {
            Outcome::Finished(output) => format!("finished: {}\n", output.text),
            Outcome::Failed(failure) => format!("failed: {}\n", failure.message),
            Outcome::Refused(failure) => format!("refused: {:?}\n", failure.kind),
            Outcome::Unknown(Unknown { because, .. }) => format!("unknown: {because}\n"),
            other => format!("{other:?}\n"),
        });
    }
    let status = registry.get("weather").unwrap().status();
    let breaker = status.breaker_state().unwrap_or_default();
    expected.assert_eq(&format!("{told}asked {} times, {breaker}", server.heard().len()));
}

#[tokio::test]
async fn a_server_that_fails_is_asked_again_and_then_left_alone() {
    let server = TestHttpServer::saying("500 Internal Server Error", "", "").await;
    check(
        &server,
        "/{city}",
        json!({}),
        4,
        expect![[r#"
            failed: the other side failed (500). Answer without it and say so, or try again later
            failed: the other side failed (500). Answer without it and say so, or try again later
            refused: Unavailable
            refused: Unavailable
            asked 5 times, open"#]],
    )
    .await;
}

#[tokio::test]
async fn an_effect_that_may_have_happened_is_sent_once() {
    let server = TestHttpServer::saying("500 Internal Server Error", "", "").await;
    check(
        &server,
        "/{city}",
        json!({"endpoint": {"method": "POST"}}),
        1,
        expect![[r#"
        unknown: the other side failed (500)
        asked 1 times, closed"#]],
    )
    .await;
    let server = TestHttpServer::saying("500 Internal Server Error", "", "").await;
    let put = json!({"endpoint": {"method": "PUT"}, "effect": "idempotent"});
    check(
        &server,
        "/{city}",
        put,
        1,
        expect![[r#"
        unknown: the other side failed (500)
        asked 2 times, closed"#]],
    )
    .await;
}

#[tokio::test]
async fn a_no_is_no_outage() {
    let server = TestHttpServer::saying("404 Not Found", "", "").await;
    check(
        &server,
        "/{city}",
        json!({}),
        6,
        expect![[r#"
            failed: the other side has nothing there (404); check the arguments: what they name may not exist. Operator: if it does, check the tool's address
            failed: the other side has nothing there (404); check the arguments: what they name may not exist. Operator: if it does, check the tool's address
            failed: the other side has nothing there (404); check the arguments: what they name may not exist. Operator: if it does, check the tool's address
            failed: the other side has nothing there (404); check the arguments: what they name may not exist. Operator: if it does, check the tool's address
            failed: the other side has nothing there (404); check the arguments: what they name may not exist. Operator: if it does, check the tool's address
            failed: the other side has nothing there (404); check the arguments: what they name may not exist. Operator: if it does, check the tool's address
            asked 6 times, closed"#]],
    )
    .await;
}

#[tokio::test]
async fn a_page_where_json_should_be_is_an_outage() {
    let server =
        TestHttpServer::saying("200 OK", "content-type: text/html\r\n", "<html>Sign in</html>").await;
    check(&server, "/{city}", json!({"response_transform": {"path": "t"}}), 6, expect![[r#"
        failed: the answer is a web page, not JSON. Operator: look at what its address answers. Answer without it and say so, or try again later
        failed: the answer is a web page, not JSON. Operator: look at what its address answers. Answer without it and say so, or try again later
        failed: the answer is a web page, not JSON. Operator: look at what its address answers. Answer without it and say so, or try again later
        failed: the answer is a web page, not JSON. Operator: look at what its address answers. Answer without it and say so, or try again later
        failed: the answer is a web page, not JSON. Operator: look at what its address answers. Answer without it and say so, or try again later
        refused: Unavailable
        asked 5 times, open"#]]).await;
}

#[tokio::test]
async fn what_must_not_be_reached_is_not_an_outage_either() {
    let server = TestHttpServer::saying("302 Found", "location: http://10.0.0.1/\r\n", "").await;
    check(&server, "/{city}", json!({}), 1, expect![[r#"
        failed: the other side says that this has moved, which is not followed (302); answer without it. Operator: correct the tool's address, or let it follow `redirects`
        asked 1 times, closed"#]]).await;
}

#[tokio::test]
async fn a_slow_server_times_out() {
    let server = TestHttpServer::new(TestReply::SayAndHang(vec![])).await;
    let slow = json!({"endpoint": {"timeout_ms": 500}, "attempts": 1, "breaker": {"failures": 2}});
    check(
        &server,
        "/{city}",
        slow,
        3,
        expect![[r#"
            failed: the tool did not answer within 0.5 s. Answer without it and say so, or try again later
            failed: the tool did not answer within 0.5 s. Answer without it and say so, or try again later
            refused: Unavailable
            asked 2 times, open"#]],
    )
    .await;
}

#[tokio::test]
async fn a_cached_answer_is_not_asked_for_again() {
    let server = TestHttpServer::json(json!(7)).await;
    check(
        &server,
        "/{city}",
        json!({"cache": {"ttl_ms": 60000}}),
        3,
        expect![[r#"
        finished: 7
        finished: 7
        finished: 7
        asked 1 times, closed"#]],
    )
    .await;
}

#[tokio::test]
async fn a_cached_answer_belongs_to_the_request_that_the_tool_was_told_of() {
    let server = TestHttpServer::new(TestReply::Echo).await;
    let filter = r#".head | split("x-request-id: ")[1] | split("\r")[0]"#;
    check(
        &server,
        "/{city}",
        json!({
            "cache": {"ttl_ms": 60000},
            "endpoint": {"caller": {"send": ["request"]}},
            "response_transform": {"jq": filter}
        }),
        3,
        expect![[r#"
            finished: request-0
            finished: request-0
            finished: request-1
            asked 2 times, closed"#]],
    )
    .await;
}
