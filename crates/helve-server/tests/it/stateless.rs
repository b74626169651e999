//! A client that keeps the history: what the server did for it is not done again.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use helve_model::Reply;
use helve_store::{ActFor, TokenRights};
use helve_tool::{CallContext, Request, Tool, ToolFuture};
use helve_types::{Effect, ToolOutput, ToolSpec};
use reqwest::Method;
use serde_json::{Value, json};

use crate::test_server::{ServerOptions, TestServer, reply, spec};

/// Counts what it has saved.
struct SaveNote(ToolSpec, Arc<AtomicU32>);

impl Tool for SaveNote {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn call<'a>(&'a self, _: Request<'a>, _: &'a CallContext) -> ToolFuture<'a> {
        let number = self.1.fetch_add(1, Ordering::SeqCst) + 1;
        Box::pin(async move { Ok(ToolOutput::text(format!("saved as note {number}"))) })
    }
}

async fn server(replies: impl IntoIterator<Item = Reply>) -> (TestServer, Arc<AtomicU32>) {
    let saved = Arc::new(AtomicU32::new(0));
    let tool: Arc<dyn Tool> = Arc::new(SaveNote(spec("save_note", Effect::Read), saved.clone()));
    (
        TestServer::with_options(ServerOptions { tools: vec![tool], ..ServerOptions::default() }, replies)
            .await,
        saved,
    )
}

fn native() -> [Reply; 3] {
    [
        reply(r#"say First the note. | call save_note {"q": "tea"}"#),
        reply(r#"say Now the sum. | call browser_js_eval {"code": "6*7"}"#),
        reply("say Saved, and it is 42."),
    ]
}

fn prompted() -> [Reply; 3] {
    let call = |name: &str, arguments: &str| {
        let call = json!({"tool_calls": [{"id": "c1", "type": "function", "function": {"name": name, "arguments": arguments}}]});
        Reply::new().text(&call.to_string()).done()
    };
    [
        call("save_note", r#"{"q": "tea"}"#),
        call("browser_js_eval", r#"{"code": "6*7"}"#),
        Reply::new().text("Saved, and it is 42.").done(),
    ]
}

/// The events of a stream that have this member.
fn with(stream: &str, member: &str) -> Vec<Value> {
    let events = stream.lines().filter_map(|line| line.strip_prefix("data: "));
    let events = events.filter_map(|event| serde_json::from_str::<Value>(event).ok());
    events.filter(|event| event.get(member).is_some()).collect()
}

async fn ask(server: &TestServer, messages: &Value, mode: &str, token: Option<&str>) -> String {
    let body = json!({"messages": messages, "config": {"mode": mode}});
    let request = server.request(Method::POST, "/api/chat").json(&body);
    let request = token.into_iter().fold(request, |request, token| request.bearer_auth(token));
    request.send().await.unwrap().text().await.unwrap()
}

/// What a client adds: all that the answer says, or only the call that it has to make.
fn grown(question: &Value, stream: &str, all: bool) -> Value {
    let mut messages = vec![question.clone()];
    let asked = &with(stream, "tool_calls")[0]["tool_calls"];
    if all {
        let new = with(stream, "messages");
        assert_eq!(new.len(), 1, "{stream}");
        messages.extend(new[0]["messages"].as_array().unwrap().iter().cloned());
    } else {
        messages.push(json!({"role": "assistant", "content": "Now the sum.", "tool_calls": asked}));
    }
    messages.push(json!({"role": "tool", "tool_call_id": asked[0]["id"], "content": "42"}));
    json!(messages)
}

#[tokio::test]
async fn a_note_that_was_saved_for_a_stateless_client_is_known_to_the_model_and_not_saved_again() {
    for (mode, script) in [("native", native()), ("prompt", prompted())] {
        for all in [true, false] {
            let (server, saved) = server(script.clone()).await;
            let question = json!({"role": "user", "content": "save tea, then compute"});
            let first = ask(&server, &json!([question]), mode, None).await;
            let second = ask(&server, &grown(&question, &first, all), mode, None).await;
            assert!(second.contains("Saved, and it is 42."), "{mode} {all}: {second}");
            let heard = &server.model.asked()[2];
            assert_eq!(heard.matches("saved as note 1").count(), 1, "{mode} {all}: {heard}");
            assert!(heard.contains("save_note") && heard.contains("42"), "{mode} {all}: {heard}");
            assert_eq!(saved.load(Ordering::SeqCst), 1, "{mode} {all}");
        }
    }
}

#[tokio::test]
async fn the_messages_of_an_answer_are_all_that_a_client_has_to_add() {
    let (server, _) = server(native()).await;
    let stream = ask(&server, &json!([{"role": "user", "content": "go"}]), "native", None).await;
    let new = with(&stream, "messages").remove(0)["messages"].take();
    let roles: Vec<_> = new.as_array().unwrap().iter().map(|one| one["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["assistant", "tool", "assistant"], "{new}");
    assert_eq!(new[0]["tool_calls"][0]["function"]["name"], "save_note");
    assert_eq!(new[1]["tool_call_id"], new[0]["tool_calls"][0]["id"]);
    assert_eq!(new[1]["content"], "saved as note 1");
    // One id for a call, wherever it is told.
    let asked = &with(&stream, "tool_calls")[0]["tool_calls"][0]["id"];
    assert_eq!(new[2]["tool_calls"][0]["id"], *asked);
    let waiting = with(&stream, "tool");
    assert!(waiting.iter().any(|event| event["tool"]["id"] == *asked), "{stream}");
}

#[tokio::test]
async fn results_of_server_calls_are_those_on_record_and_not_what_a_history_says() {
    let (server, _) = server(native()).await;
    let question = json!({"role": "user", "content": "go"});
    let first = ask(&server, &json!([question]), "native", None).await;
    let mut history = grown(&question, &first, true);
    history[2]["content"] = json!("FORGED");
    ask(&server, &history, "native", None).await;
    let heard = &server.model.asked()[2];
    assert!(heard.contains("saved as note 1") && !heard.contains("FORGED"), "{heard}");
}

#[tokio::test]
async fn an_id_of_another_users_call_tells_nothing_of_it() {
    let script = native().into_iter().chain([reply("say Hm.")]);
    let (server, _) = server(script).await;
    let mei = server.token_for("mei", TokenRights::Chat, ActFor::OnlySelf).await;
    let li = server.token_for("li", TokenRights::Chat, ActFor::OnlySelf).await;
    let question = json!({"role": "user", "content": "go"});
    let first = ask(&server, &json!([question]), "native", Some(&mei)).await;
    ask(&server, &grown(&question, &first, false), "native", Some(&li)).await;
    let heard = &server.model.asked()[2];
    assert!(!heard.contains("saved as note"), "{heard}");
}

/// A history in which the assistant made so many calls, with these results behind it.
fn with_results(calls: usize, results: &[Value]) -> Value {
    let call = |number: usize| {
        json!({"id": format!("c{number}"), "type": "function",
            "function": {"name": "browser_js_eval", "arguments": "{}"}})
    };
    let calls: Vec<Value> = (1..=calls).map(call).collect();
    let mut messages =
        vec![json!({"role": "user", "content": "go"}), json!({"role": "assistant", "tool_calls": calls})];
    messages.extend(results.iter().cloned());
    json!(messages)
}

#[tokio::test]
async fn results_without_an_id_answer_the_calls_in_their_order() {
    let (server, _) = server([reply("say Read."), reply("say Read again.")]).await;
    let plain = |text: &str| json!({"role": "tool", "content": text});
    ask(&server, &with_results(2, &[plain("first"), plain("second")]), "native", None).await;
    let asked = &server.model.asked()[0];
    assert!(asked.contains("first") && asked.contains("second"), "{asked}");
    assert!(!asked.contains("the client sent no result"), "{asked}");
    // Of two calls the other one is left for the result without an id.
    let named = json!({"role": "tool", "tool_call_id": "c1", "content": "named"});
    ask(&server, &with_results(2, &[plain("left"), named]), "native", None).await;
    let asked = &server.model.asked()[1];
    assert!(asked.contains("named") && asked.contains("left"), "{asked}");
    assert!(!asked.contains("the client sent no result"), "{asked}");
}

#[tokio::test]
async fn a_result_that_could_answer_several_calls_or_none_is_refused_and_named() {
    let (server, _) = server([]).await;
    let plain = json!({"role": "tool", "tool_call_id": "", "content": "42"});
    let none = json!([{"role": "user", "content": "go"}, plain]);
    for (messages, field) in [
        (with_results(2, std::slice::from_ref(&plain)), "messages[2].tool_call_id"),
        (with_results(1, &[plain.clone(), plain.clone()]), "messages[2].tool_call_id"),
        (none, "messages[1].tool_call_id"),
    ] {
        let refused = server.post("/api/chat", json!({"messages": messages})).await;
        assert_eq!(refused.status().as_u16(), 400);
        let problem: Value = refused.json().await.unwrap();
        assert_eq!((&problem["code"], &problem["field"]), (&json!("bad_body"), &json!(field)));
    }
    assert!(server.model.asked().is_empty());
}

/// The last text of an answer, in which a client of another system looks for its call.
fn content(stream: &str) -> String {
    with(stream, "content").last().unwrap()["content"].as_str().unwrap().to_owned()
}

/// What a client sends that writes calls and results as text: the call is in the content of the answer, the result in a
/// message of the user.
fn grown_as_text(question: &Value, answer: &str) -> Value {
    let call: Value = serde_json::from_str(&answer[answer.find(r#"{"tool_calls""#).unwrap()..]).unwrap();
    let result = json!({"tool_call_result": {"toolCallId": call["tool_calls"][0]["id"], "result": 42}});
    json!([
        question,
        {"role": "assistant", "content": answer},
        {"role": "user", "content": result.to_string()},
    ])
}

#[tokio::test]
async fn a_client_that_reads_calls_in_the_content_repeats_nothing() {
    let both = || {
        let first = r#"say Both. | call save_note {"q": "tea"} | call browser_js_eval {"code": "6*7"}"#;
        vec![reply(first), reply("say Saved, and it is 42.")]
    };
    for (mode, script) in [
        ("chat", native().to_vec()),
        ("native", native().to_vec()),
        ("prompt", prompted().to_vec()),
        ("chat", both()),
    ] {
        let requests = script.len();
        let (server, saved) = server(script).await;
        let question = json!({"role": "user", "content": "save tea, then compute"});
        let send = async |messages: &Value| {
            let config = json!({"mode": mode, "calls": "content"});
            server
                .post("/api/chat", json!({"messages": messages, "config": config}))
                .await
                .text()
                .await
                .unwrap()
        };
        let first = send(&json!([question])).await;
        let answer = content(&first);
        // The field has the same calls.
        let field = with(&first, "tool_calls").remove(0)["tool_calls"].take();
        assert_eq!(field[0]["function"]["name"], "browser_js_eval", "{first}");
        assert!(answer.ends_with(&json!({"tool_calls": field}).to_string()), "{mode}: {answer}");
        let second = send(&grown_as_text(&question, &answer)).await;
        assert_eq!(content(&second), "Saved, and it is 42.", "{mode}: {second}");
        let heard = &server.model.asked()[requests - 1];
        assert_eq!(heard.matches("saved as note 1").count(), 1, "{mode}: {heard}");
        assert_eq!(saved.load(Ordering::SeqCst), 1, "{mode}");
    }
}
