//! What the log says, and under which names.

use std::cell::RefCell;
use std::io::Write;
use std::sync::{Arc, Once};

use helve_tool::{Action, CallContext, Request, Rule, Tool, ToolError, ToolFuture};
use helve_types::{Effect, ToolOutput, ToolSpec};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use tracing::Level;
use tracing_subscriber::filter::dynamic_filter_fn;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::test_server::{ServerOptions, TestServer, reply, spec};

thread_local! {
    /// What this thread logs, and how closely it listens. Each test is a thread with all that it starts.
    static HEARD: RefCell<Option<(Level, Vec<u8>)>> = const { RefCell::new(None) };
}

/// The log of one test. There is one subscriber for all: those that come and go confuse each other.
struct Log;

impl Log {
    fn begin(level: Level) -> Self {
        static ONCE: Once = Once::new();
        ONCE.call_once(|| {
            let wanted = |level: &Level| {
                HEARD.with_borrow(|heard| heard.as_ref().is_some_and(|(max, _)| level <= max))
            };
            let lines = tracing_subscriber::fmt::layer().json().with_writer(|| Ear);
            let filter = dynamic_filter_fn(move |metadata, _| wanted(metadata.level()));
            tracing_subscriber::registry().with(filter).with(lines).init();
        });
        HEARD.set(Some((level, vec![])));
        Self
    }

    fn text(&self) -> String {
        HEARD.with_borrow(|heard| String::from_utf8(heard.as_ref().unwrap().1.clone()).unwrap())
    }

    fn lines(&self) -> Vec<Value> {
        self.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

struct Ear;

impl Write for Ear {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        HEARD.with_borrow_mut(|heard| heard.as_mut().map_or(Ok(bytes.len()), |(_, kept)| kept.write(bytes)))
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// What the spans around a line say under a name.
fn said(line: &Value, name: &str) -> Option<String> {
    let spans = line["spans"].as_array()?;
    spans.iter().find_map(|span| Some(span.get(name)?.as_str()?.to_owned()))
}

fn named<'a>(lines: &'a [Value], name: &str, value: &str) -> Vec<&'a Value> {
    lines.iter().filter(|line| line["fields"][name] == value).collect()
}

#[tokio::test]
async fn one_request_can_be_followed_through_every_stage() {
    let log = Log::begin(Level::DEBUG);
    let server = TestServer::new([reply("call look {\"q\": \"tea\"}"), reply("say Here.")]).await;
    let asked = server.request(Method::POST, "/api/runs").header("x-request-id", "shop-7");
    let response = asked.json(&json!({"message": "look for tea"})).send().await.unwrap();
    assert_eq!(response.headers()["x-request-id"], "shop-7");
    let body: Value = response.json().await.unwrap();
    let run = body["run"].as_str().unwrap();
    assert_eq!(server.settled(run).await, "completed");

    let lines = log.lines();
    for stage in ["resolve", "check", "judge", "cache", "limit", "breaker", "run"] {
        let told = named(&lines, "stage", stage);
        assert_eq!(told.len(), 1, "{stage}: {}", log.text());
        assert_eq!(said(told[0], "request").as_deref(), Some("shop-7"), "{stage}");
        assert_eq!(said(told[0], "run").as_deref(), Some(run), "{stage}");
        assert_eq!(said(told[0], "call"), Some(format!("{run}:1:0")), "{stage}");
        assert_eq!(said(told[0], "tool").as_deref(), Some("look"), "{stage}");
    }
    let over = named(&lines, "message", "the call is over");
    assert_eq!((over.len(), over[0]["level"].as_str()), (1, Some("INFO")));
    assert_eq!(said(over[0], "request").as_deref(), Some("shop-7"));
    let answered = named(&lines, "path", "/api/runs");
    assert_eq!(answered[0]["fields"]["status"], 201);
    assert_eq!(said(answered[0], "request").as_deref(), Some("shop-7"));
}

#[tokio::test]
async fn a_run_that_waited_goes_on_under_the_request_that_answered() {
    let log = Log::begin(Level::INFO);
    let server = TestServer::new([reply("call send {\"q\": \"hello\"}"), reply("say Sent.")]).await;
    let (run, _) = server.start("send hello").await;
    assert_eq!(server.settled(&run).await, "waiting_approval");
    let open = server.get_json("/api/approvals").await;
    let path = format!("/api/approvals/{}", open["approvals"][0]["approval"].as_str().unwrap());
    let answer = server.request(Method::POST, &path).header("x-request-id", "yes-1");
    answer.json(&json!({"decision": "approve"})).send().await.unwrap();
    assert_eq!(server.settled(&run).await, "completed");
    let lines = log.lines();
    let over = named(&lines, "message", "the call is over");
    assert_eq!(over.len(), 1, "{}", log.text());
    assert_eq!(said(over[0], "request").as_deref(), Some("yes-1"));
    assert_eq!(said(over[0], "run").as_deref(), Some(run.as_str()));
}

#[tokio::test]
async fn on_info_neither_arguments_nor_messages_are_logged() {
    let log = Log::begin(Level::INFO);
    let server = TestServer::new([reply("call look {\"q\": \"CANARY\"}"), reply("say CANARY")]).await;
    let (run, _) = server.start("CANARY").await;
    server.settled(&run).await;
    server.post("/api/tools/look/call", json!({"arguments": {"q": {"CANARY": 1}}})).await;
    server.get("/api/executions?tool=CANARY").await;
    assert!(log.text().contains("the call is over"));
    assert!(!log.text().contains("CANARY"), "{}", log.text());
}

/// Fails in the other side's words.
struct Failing(ToolSpec);

impl Tool for Failing {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn call<'a>(&'a self, _: Request<'a>, _: &'a CallContext) -> ToolFuture<'a> {
        Box::pin(async { Err(ToolError::Lost("500: CANARY".into())) })
    }
}

#[tokio::test]
async fn on_info_the_other_sides_words_are_not_logged() {
    let log = Log::begin(Level::INFO);
    let failing = |name, effect| Arc::new(Failing(spec(name, effect))) as Arc<dyn Tool>;
    let plan = ServerOptions {
        tools: vec![failing("ask", Effect::Read), failing("pay", Effect::NonIdempotent)],
        rules: vec![Rule::new(Action::Allow)],
        ..ServerOptions::default()
    };
    let server = TestServer::with_options(plan, []).await;
    for number in 0..8 {
        for tool in ["ask", "pay"] {
            let arguments = json!({"arguments": {"q": number.to_string()}});
            server.post(&format!("/api/tools/{tool}/call"), arguments).await;
        }
    }
    assert!(log.text().contains("breaker opened"), "{}", log.text());
    assert!(log.text().contains("call outcome unknown"), "{}", log.text());
    assert!(!log.text().contains("CANARY"), "{}", log.text());
}

/// Answers with the id of the HTTP request.
struct TellRequest(ToolSpec);

impl Tool for TellRequest {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn call<'a>(&'a self, _: Request<'a>, cx: &'a CallContext) -> ToolFuture<'a> {
        let id = cx.request_id.clone().unwrap_or_default();
        Box::pin(async move { Ok(ToolOutput::text(format!("request {id}"))) })
    }
}

#[tokio::test]
async fn a_tool_learns_the_id_of_the_http_request_that_its_call_comes_from() {
    let tool: Arc<dyn Tool> = Arc::new(TellRequest(spec("tell", Effect::Read)));
    let options = ServerOptions { tools: vec![tool], ..ServerOptions::default() };
    let server =
        TestServer::with_options(options, [reply("call tell {\"q\": \"x\"}"), reply("say Done.")]).await;
    let send = async |path: &str, body: Value| {
        let request = server.request(Method::POST, path).header("x-request-id", "mine-7");
        request.json(&body).send().await.unwrap().text().await.unwrap()
    };
    let chat = send("/api/chat", json!({"message": "who asks?"})).await;
    assert!(chat.contains("request mine-7"), "{chat}");
    let call = send("/api/tools/tell/call", json!({"arguments": {"q": "x"}})).await;
    assert!(call.contains("request mine-7"), "{call}");
    let made = server.post("/api/tools/execute", json!({"tool": "tell", "q": "y"})).await;
    let id = made.headers()["x-request-id"].to_str().unwrap().to_owned();
    assert_eq!(made.text().await.unwrap(), format!("request {id}"));
}

#[tokio::test]
async fn every_answer_names_its_request_and_so_does_a_problem() {
    let server = TestServer::new([]).await;
    let one = server.get("/api/tools").await;
    let two = server.get("/api/tools").await;
    let id = |response: &reqwest::Response| response.headers()["x-request-id"].to_str().unwrap().to_owned();
    assert!(id(&one).len() >= 16);
    assert_ne!(id(&one), id(&two));

    let missing = server.get("/api/nothing").await;
    assert_eq!(missing.status(), StatusCode::NOT_FOUND);
    let header = id(&missing);
    assert_eq!(missing.json::<Value>().await.unwrap()["request_id"], header.as_str());
    let foreign = server.request(Method::GET, "/api/tools").header("origin", "http://evil.test");
    let foreign = foreign.header("x-request-id", "mine").send().await.unwrap();
    assert_eq!((foreign.status(), id(&foreign).as_str()), (StatusCode::FORBIDDEN, "mine"));
    assert_eq!(foreign.json::<Value>().await.unwrap()["request_id"], "mine");

    let odd = server
        .request(Method::GET, "/api/tools")
        .header("x-request-id", "a b <script>")
        .send()
        .await
        .unwrap();
    assert!(id(&odd).bytes().all(|b| b.is_ascii_hexdigit()));
}
