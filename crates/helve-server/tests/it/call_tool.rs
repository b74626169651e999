//! Calling tools without a model.

use std::sync::Arc;
use std::time::Duration;

use helve_runtime::AgentSettings;
use helve_store::{TokenRights, Views};
use helve_tool::{Action, CallContext, Pattern, Request, Rule, Tool, ToolFuture};
use helve_types::{Effect, ToolOutput, ToolSpec};
use reqwest::{Method, Response, StatusCode};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Notify;

use crate::test_server::{LostTool, ServerOptions, TestServer, spec};

async fn call(server: &TestServer, token: &str, tool: &str, body: Value) -> Response {
    let path = format!("/api/tools/{tool}/call");
    server.request(Method::POST, &path).bearer_auth(token).json(&body).send().await.unwrap()
}

fn rule(tool: &str, action: Action, because: &str) -> Rule {
    Rule { tool: Some(tool.into()), because: because.into(), ..Rule::new(action) }
}

/// A server with one rule, and the tokens of mei, who may chat, and of the operator.
async fn ruled(action: Action) -> (TestServer, String, String) {
    let rules = vec![rule("send", action, "mails go out")];
    let server = TestServer::with_options(ServerOptions { rules, ..ServerOptions::default() }, []).await;
    let chat = server.token("mei", TokenRights::Chat).await;
    let admin = server.token("boss", TokenRights::Admin).await;
    (server, chat, admin)
}

#[tokio::test]
async fn a_call_answers_with_its_output_and_with_what_each_stage_decided() {
    let server = TestServer::new([]).await;
    let response = server.post("/api/tools/look/call", json!({"arguments": {"q": "tea"}})).await;
    assert_eq!(response.status(), StatusCode::OK);
    let called: Value = response.json().await.unwrap();
    assert_eq!((&called["outcome"], &called["output"]["text"]), (&json!("finished"), &json!("look tea")));
    let stages: Vec<_> =
        called["trail"].as_array().unwrap().iter().map(|held| held["stage"].clone()).collect();
    assert_eq!(stages, ["resolve", "check", "judge", "cache", "limit", "breaker", "run"]);

    let again = server.post("/api/tools/look/call", json!({"arguments": {"q": "tea"}})).await;
    let again: Value = again.json().await.unwrap();
    assert_eq!(again["trail"][3], json!({"stage": "cache", "found": "hit"}));

    // On record like any other.
    let held = server.get_json(&format!("/api/executions/{}", called["call"].as_str().unwrap())).await;
    assert_eq!(
        (&held["state"], &held["agent"], &held["tool"]),
        (&json!("finished"), &json!("api"), &json!("look"))
    );
    assert_eq!(
        server.get_json(&format!("/api/runs/{}", called["run"].as_str().unwrap())).await["state"],
        "completed"
    );
}

#[tokio::test]
async fn a_call_that_cannot_be_made_says_why() {
    let server = TestServer::new([]).await;
    let wrong = server.post("/api/tools/look/call", json!({"arguments": {"q": 7}})).await;
    assert_eq!(wrong.status(), StatusCode::BAD_REQUEST);
    let problem: Value = wrong.json().await.unwrap();
    assert_eq!(problem["code"], "bad_arguments");
    assert!(problem["detail"].as_str().unwrap().contains("`q`"), "{problem}");
    assert!(problem["call"].is_string() && problem["trail"].is_array(), "{problem}");

    let missing = server.post("/api/tools/nothing/call", json!({})).await;
    assert_eq!(missing.status(), StatusCode::NOT_FOUND);
    let misspelt = server.post("/api/tools/look/call", json!({"args": {}})).await;
    assert_eq!(misspelt.status(), StatusCode::BAD_REQUEST);
    assert!(misspelt.text().await.unwrap().contains("`args`"));
}

#[tokio::test]
async fn where_the_operator_asks_a_user_cannot_order_and_an_admin_can() {
    let (server, chat, admin) = ruled(Action::Ask).await;
    let body = json!({"arguments": {"q": "hello"}});
    let refused = call(&server, &chat, "send", body.clone()).await;
    assert_eq!(refused.status(), StatusCode::FORBIDDEN);
    let problem: Value = refused.json().await.unwrap();
    assert_eq!(problem["code"], "call_denied");
    assert!(problem["detail"].as_str().unwrap().contains("mails go out; have it called in a conversation"));
    assert_eq!(call(&server, &admin, "send", body).await.status(), StatusCode::OK);
}

#[tokio::test]
async fn what_the_operator_forbids_is_forbidden_to_everybody() {
    let (server, chat, admin) = ruled(Action::Deny).await;
    for token in [&chat, &admin] {
        let refused = call(&server, token, "send", json!({"arguments": {"q": "x"}})).await;
        assert_eq!(refused.status(), StatusCode::FORBIDDEN);
    }
}

#[tokio::test]
async fn where_no_rule_speaks_the_caller_is_the_person_who_decides() {
    let server = TestServer::new([]).await;
    let chat = server.token("mei", TokenRights::Chat).await;
    let sent = call(&server, &chat, "send", json!({"arguments": {"q": "hello"}})).await;
    assert_eq!(sent.json::<Value>().await.unwrap()["outcome"], "finished");
}

/// A server whose agents are these, with their tools and permissions, and the tokens of mei and of the operator.
async fn staffed(agents: &[(&str, &[&str], Vec<Rule>)]) -> (TestServer, String, String) {
    let agents = agents.iter().map(|(name, tools, permissions)| AgentSettings {
        name: (*name).into(),
        tools: Some(tools.iter().map(|tool| (*tool).into()).collect()),
        permissions: permissions.clone(),
        ..AgentSettings::default()
    });
    let server = TestServer::with_options(
        ServerOptions { agents: Some(agents.collect()), ..ServerOptions::default() },
        [],
    )
    .await;
    let chat = server.token("mei", TokenRights::Chat).await;
    let admin = server.token("boss", TokenRights::Admin).await;
    (server, chat, admin)
}

#[tokio::test]
async fn a_user_can_order_only_what_some_agent_offers() {
    let (server, chat, admin) =
        staffed(&[("default", &["look"], vec![]), ("clerk", &["look"], vec![])]).await;
    let body = json!({"arguments": {"q": "hello"}});
    let refused = call(&server, &chat, "send", body.clone()).await;
    assert_eq!(refused.status(), StatusCode::FORBIDDEN);
    let problem: Value = refused.json().await.unwrap();
    assert_eq!(problem["code"], "tool_not_offered");
    assert!(problem["detail"].as_str().unwrap().contains("no agent offers `send` to you"), "{problem}");
    assert_eq!(call(&server, &chat, "look", body.clone()).await.status(), StatusCode::OK);
    assert_eq!(call(&server, &admin, "send", body).await.status(), StatusCode::OK);

    let old = |tool: &str| {
        let asked = server.request(Method::POST, "/api/tools/execute").bearer_auth(&chat);
        asked.json(&json!({"tool": tool, "q": "hello"})).send()
    };
    assert_eq!(old("send").await.unwrap().status(), StatusCode::FORBIDDEN);
    let misspelt = old("Send").await.unwrap().text().await.unwrap();
    assert!(misspelt.contains("there is no tool `Send`; the tools are: `look`"), "{misspelt}");
    assert_eq!(old("look").await.unwrap().text().await.unwrap(), "look hello");
}

#[tokio::test]
async fn a_user_orders_on_the_terms_of_an_agent_that_has_the_tool() {
    let about = |q: &str, action| Rule {
        arguments: [("q".to_owned(), Pattern::Text(q.into()))].into(),
        ..rule("send", action, "not by him")
    };
    let (server, chat, admin) = staffed(&[
        (
            "default",
            &["look", "send"],
            vec![about("in*", Action::Allow), rule("send", Action::Deny, "not by me")],
        ),
        ("clerk", &["send"], vec![about("secret*", Action::Deny), about("dear*", Action::Ask)]),
        ("idle", &["look"], vec![]),
    ])
    .await;
    for (q, status) in [
        ("in server", StatusCode::OK),
        ("hello", StatusCode::OK),
        ("secrets", StatusCode::FORBIDDEN),
        ("dear boss", StatusCode::FORBIDDEN),
    ] {
        let body = json!({"arguments": {"q": q}});
        assert_eq!(call(&server, &chat, "send", body.clone()).await.status(), status, "{q}");
        assert_eq!(call(&server, &admin, "send", body).await.status(), StatusCode::OK, "{q}");
    }
}

#[tokio::test]
async fn guards_are_left_out_by_admins_only_and_on_record() {
    let (server, chat, admin) = ruled(Action::Ask).await;
    for skip in ["skip_cache", "skip_limit"] {
        let body = json!({"arguments": {"q": "tea"}, skip: true});
        let refused = call(&server, &chat, "look", body.clone()).await;
        assert_eq!(refused.status(), StatusCode::FORBIDDEN);
        assert_eq!(refused.json::<Value>().await.unwrap()["code"], "admin_needed");
        assert_eq!(call(&server, &admin, "look", body).await.status(), StatusCode::OK);
    }
    let audit: Vec<_> = server
        .store
        .audit_entries()
        .into_iter()
        .filter(|entry| entry.action.starts_with("tool."))
        .map(|entry| (entry.by, entry.action, entry.detail))
        .collect();
    let line = |detail: &str| ("boss".to_owned(), "tool.skip_guards".to_owned(), detail.to_owned());
    assert_eq!(
        audit,
        [line("look skip_cache=true skip_limit=false"), line("look skip_cache=false skip_limit=true")]
    );
}

#[tokio::test]
async fn a_call_is_made_for_another_only_by_an_admin() {
    let (server, chat, admin) = ruled(Action::Ask).await;
    let body = json!({"arguments": {"q": "tea"}, "user": "li"});
    assert_eq!(call(&server, &chat, "look", body.clone()).await.status(), StatusCode::FORBIDDEN);
    let called: Value = call(&server, &admin, "look", body).await.json().await.unwrap();
    let id = called["call"].as_str().unwrap().parse().unwrap();
    let held = server.store.execution(helve_store::Scope::Everyone, id).await.unwrap();
    assert_eq!(held.user.0, "li");
}

/// Says when it is called, and answers when it is let go.
struct Slow {
    spec: ToolSpec,
    called: Arc<Notify>,
    go: Arc<Notify>,
}

impl Tool for Slow {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, _: Request<'a>, _: &'a CallContext) -> ToolFuture<'a> {
        Box::pin(async move {
            self.called.notify_one();
            self.go.notified().await;
            Ok(ToolOutput::text("done"))
        })
    }
}

#[tokio::test]
async fn a_call_comes_to_its_end_although_the_caller_leaves() {
    let (called, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let slow = Slow { spec: spec("slow", Effect::NonIdempotent), called: called.clone(), go: go.clone() };
    let server = TestServer::with_options(
        ServerOptions { tools: vec![Arc::new(slow)], ..ServerOptions::default() },
        [],
    )
    .await;
    let host = server.url.strip_prefix("http://").unwrap();
    let mut caller = TcpStream::connect(host).await.unwrap();
    let body = r#"{"arguments": {"q": "tea"}}"#;
    let head =
        format!("POST /api/tools/slow/call HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json");
    let request = format!("{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    caller.write_all(request.as_bytes()).await.unwrap();
    called.notified().await;
    caller.shutdown().await.unwrap();
    // The server has noticed, and has given up the request, when it closes the connection.
    assert_eq!(caller.read_to_end(&mut vec![]).await.unwrap(), 0);
    assert_eq!(server.get_json("/api/executions?tool=slow").await["executions"][0]["state"], "running");

    go.notify_one();
    let state = async || server.get_json("/api/executions?tool=slow").await["executions"][0]["state"].clone();
    tokio::time::timeout(Duration::from_secs(60), async {
        while state().await == "running" {
            tokio::task::yield_now().await;
        }
    })
    .await
    .unwrap();
    assert_eq!(state().await, "finished");
}

#[tokio::test]
async fn the_same_order_twice_is_one_call_and_both_learn_what_came_of_it() {
    let (called, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let slow = Slow { spec: spec("slow", Effect::NonIdempotent), called: called.clone(), go: go.clone() };
    let server = TestServer::with_options(
        ServerOptions { tools: vec![Arc::new(slow)], ..ServerOptions::default() },
        [],
    )
    .await;
    let ordered = |path: &str, key: &str, body: Value| {
        server.request(Method::POST, path).header("idempotency-key", key).json(&body).send()
    };
    let replayed = |response: &Response| {
        response.headers().get("idempotency-replayed").is_some_and(|value| value == "true")
    };
    let body = json!({"arguments": {"q": "tea"}});
    let first = tokio::spawn(ordered("/api/tools/slow/call", "k1", body.clone()));
    called.notified().await;
    // While the first one is at work, or just after it.
    let second = tokio::spawn(ordered("/api/tools/slow/call", "k1", body.clone()));
    go.notify_one();
    let (first, second) = (first.await.unwrap().unwrap(), second.await.unwrap().unwrap());
    assert!(!replayed(&first) && replayed(&second));
    assert_eq!(first.headers()["x-helve-run"], second.headers()["x-helve-run"]);
    let third = ordered("/api/tools/slow/call", "k1", body.clone()).await.unwrap();
    assert!(replayed(&third));
    let first: Value = first.json().await.unwrap();
    assert_eq!(first["outcome"], "finished");
    assert_eq!(first, second.json::<Value>().await.unwrap());
    assert_eq!(first, third.json::<Value>().await.unwrap());
    assert_eq!(server.get_json("/api/executions?tool=slow").await["executions"].as_array().unwrap().len(), 1);

    // The key is for this order and no other: not of other arguments, and not of another tool.
    let other = json!({"arguments": {"q": "milk"}});
    let reused = StatusCode::UNPROCESSABLE_ENTITY;
    assert_eq!(ordered("/api/tools/slow/call", "k1", other).await.unwrap().status(), reused);
    assert_eq!(ordered("/api/tools/send/call", "k1", body.clone()).await.unwrap().status(), reused);

    // A refusal is an answer too.
    let wrong = json!({"arguments": {"q": 7}});
    let refused = ordered("/api/tools/send/call", "k2", wrong.clone()).await.unwrap();
    let again = ordered("/api/tools/send/call", "k2", wrong).await.unwrap();
    assert_eq!((refused.status(), again.status()), (StatusCode::BAD_REQUEST, StatusCode::BAD_REQUEST));
    assert!(!replayed(&refused) && replayed(&again));

    let old = json!({"tool": "send", "q": "tea"});
    let first = ordered("/api/tools/execute", "k1", old.clone()).await.unwrap();
    let second = ordered("/api/tools/execute", "k1", old).await.unwrap();
    assert!(!replayed(&first) && replayed(&second));
    assert_eq!(first.text().await.unwrap(), second.text().await.unwrap());
    let sent = server.get_json("/api/executions?tool=send").await;
    assert_eq!(sent["executions"].as_array().unwrap().len(), 2, "{sent}");
}

#[tokio::test]
async fn whoever_orders_a_call_that_is_lost_learns_what_its_check_tool_found() {
    let plan =
        ServerOptions { tools: vec![Arc::new(LostTool::checked_by("look"))], ..ServerOptions::default() };
    let server = TestServer::with_options(plan, []).await;
    let lost: Value =
        server.post("/api/tools/lose/call", json!({"arguments": {"q": "x"}})).await.json().await.unwrap();
    let known = |name: &str| lost[name].as_str().unwrap_or_default();
    assert_eq!((known("outcome"), known("because")), ("unknown", "the line went dead"), "{lost}");
    assert_eq!(known("checked"), "look x");
}

#[tokio::test]
async fn an_old_caller_gets_the_old_text_and_with_json_the_old_object() {
    let server = TestServer::new([]).await;
    let text = server.post("/api/tools/execute", json!({"tool": "look", "q": "tea"})).await;
    assert_eq!(text.headers()["content-type"], "text/plain; charset=utf-8");
    assert_eq!(text.text().await.unwrap(), "look tea");
    for misspelt in ["Look", "loook"] {
        let refused = server.post("/api/tools/execute", json!({"tool": misspelt, "q": "tea"})).await;
        let told = refused.text().await.unwrap();
        assert!(told.contains(&format!("there is no tool `{misspelt}`; the tools are: ")), "{told}");
    }
    let failed = server.post("/api/tools/execute", json!({"tool": "look"})).await;
    assert_eq!(failed.status(), StatusCode::OK);
    assert!(failed.text().await.unwrap().starts_with("Error: "));

    let ask = |body: Value| {
        server
            .request(Method::POST, "/api/tools/execute")
            .header("accept", "application/json")
            .json(&body)
            .send()
    };
    let good: Value = ask(json!({"tool": "look", "q": "tea"})).await.unwrap().json().await.unwrap();
    assert_eq!(good, json!({"success": true, "result": "look tea"}));
    let bad: Value = ask(json!({"tool": "nothing"})).await.unwrap().json().await.unwrap();
    assert_eq!(bad["success"], false);
    assert!(bad["error"].as_str().unwrap().contains("there is no tool `nothing`"), "{bad}");
    let none = ask(json!({"q": "tea"})).await.unwrap();
    assert_eq!(none.status(), StatusCode::BAD_REQUEST);
    assert!(none.text().await.unwrap().contains("`tool`"));
}

#[tokio::test]
async fn an_old_caller_is_bound_by_the_same_rules() {
    let (server, chat, _) = ruled(Action::Ask).await;
    let asked = server.request(Method::POST, "/api/tools/execute").bearer_auth(&chat);
    let told = asked.json(&json!({"tool": "send", "q": "hello"})).send().await.unwrap().text().await.unwrap();
    assert!(told.starts_with("Error: calling `send` is not allowed"), "{told}");
    let nobody = server.post("/api/tools/execute", json!({"tool": "look", "q": "tea"})).await;
    assert_eq!(nobody.status(), StatusCode::UNAUTHORIZED);
}
