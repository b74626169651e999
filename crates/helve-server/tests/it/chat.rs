//! The two forms of `/api/chat`, and `/api/agent`.

use std::sync::Arc;
use std::time::Duration;

use expect_test::expect;
use futures_util::StreamExt;
use helve_tool::{CallContext, Request, Tool, ToolFuture};
use helve_types::{Effect, ToolOutput, ToolSpec};
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::test_server::{ServerOptions, TestServer, reply, spec};

/// The events of a stream; the last one must say that there are no more.
fn events(stream: &str) -> Vec<Value> {
    let data: Vec<_> = stream.lines().filter_map(|line| line.strip_prefix("data: ")).collect();
    let (last, events) = data.split_last().unwrap();
    assert_eq!(*last, "[DONE]", "{stream}");
    events.iter().map(|data| serde_json::from_str(data).unwrap()).collect()
}

/// The answer at the end of a stream of `/api/chat`.
fn so_far(stream: &str) -> Value {
    let events = events(stream);
    let last = events.iter().rfind(|event| event.get("content").is_some()).unwrap();
    json!([last["content"], last["thinking"]])
}

/// The answer that the pieces of `/api/agent` add up to.
fn pieces(stream: &str) -> String {
    let mut all = String::new();
    for event in events(stream) {
        if event["restart"] == true {
            all.clear();
        }
        all.push_str(event["content"].as_str().unwrap_or_default());
    }
    all
}

/// A server whose model takes its time, so that every reader sees parts grow.
async fn slow(replies: impl IntoIterator<Item = helve_model::Reply>) -> TestServer {
    TestServer::with_options(
        ServerOptions { pace: Duration::from_millis(2), ..ServerOptions::default() },
        replies,
    )
    .await
}

#[tokio::test]
async fn a_chat_turn_streams_text_so_far_and_tools_at_work() {
    let server =
        TestServer::new([reply(r#"think hm | call look {"q": "x"}"#), reply("say It is there.")]).await;
    let stream = server.post_text("/api/chat", json!({"message": "find x", "userId": "mei"})).await;
    // Pieces that come together are sent together, so only what must be there is compared.
    let events = events(&stream);
    assert!(events.iter().all(|event| event["conversationId"] == "ID" && event["runId"] == "ID"));
    let states: Vec<_> = events.iter().filter_map(|event| event["tool"]["state"].as_str()).collect();
    assert_eq!(states, ["searching", "done"]);
    assert_eq!(so_far(&stream), json!(["It is there.", "hm"]));

    let listed = server.get_json("/api/conversations?user=mei").await;
    assert_eq!(listed["conversations"][0]["messages"], 2);
    assert_eq!(server.get_json("/api/conversations").await["conversations"], json!([]));
}

#[tokio::test]
async fn a_failing_model_is_told_in_the_stream() {
    let error = helve_model::ModelError::new(helve_model::ModelErrorKind::Key, "set SOME_KEY");
    let server = TestServer::new([helve_model::Reply::new().fails(error)]).await;
    let stream = server.post_text("/api/chat", json!({"message": "hello"})).await;
    expect![[r#"
        data: {"conversationId":"ID","runId":"ID"}

        data: {"conversationId":"ID","error":{"code":"model_key","message":"set SOME_KEY"},"runId":"ID"}

        data: [DONE]

    "#]]
    .assert_eq(&stream);
}

fn js_tool() -> Value {
    json!([{"type": "function", "function": {
        "name": "browser_js_eval",
        "description": "Runs JavaScript in the user's browser.",
        "parameters": {"type": "object", "properties": {"code": {"type": "string"}}, "required": ["code"]}
    }}])
}

#[tokio::test]
async fn a_stateless_turn_ends_at_the_clients_tool_and_goes_on_with_its_result() {
    let server = TestServer::new([
        reply(r#"say Let me compute. | call browser_js_eval {"code": "271*281"}"#),
        reply("say It is 76151."),
    ])
    .await;
    let question = json!({"role": "user", "content": "what is 271*281?"});
    let body = json!({"messages": [question], "config": {"mode": "native", "model": "scripted"}, "tools": js_tool()});
    let stream = server.post_text("/api/chat", body).await;
    assert!(
        stream.contains(
            r#""tool_calls":[{"function":{"arguments":"{\"code\": \"271*281\"}","name":"browser_js_eval"},"id":"ID:1:0","type":"function"}]"#
        ),
        "{stream}"
    );
    assert!(!stream.contains("conversationId"), "{stream}");

    let call = json!({"id": "call_1", "type": "function", "function": {"name": "browser_js_eval", "arguments": "{\"code\": \"271*281\"}"}});
    let said = json!({"role": "assistant", "content": "Let me compute.", "tool_calls": [call]});
    let result = json!({"role": "user", "content": "{\"tool_call_result\": {\"toolCallId\": \"call_1\", \"result\": 76151}}"});
    let body =
        json!({"messages": [question, said, result], "config": {"mode": "native"}, "tools": js_tool()});
    let stream = server.post_text("/api/chat", body).await;
    assert!(stream.contains("It is 76151."), "{stream}");
    assert!(server.model.asked()[1].contains("result: call_1 76151"), "{}", server.model.asked()[1]);
}

#[tokio::test]
async fn prompt_mode_speaks_the_same_protocol_in_the_text() {
    let call = r#"{"tool_calls": [{"id": "c9", "type": "function", "function": {"name": "browser_js_eval", "arguments": "{\"code\": \"6*7\"}"}}]}"#;
    let server = TestServer::new([helve_model::Reply::new().text(call).done()]).await;
    let question = json!({"role": "user", "content": "compute"});
    let body = json!({"messages": [question], "config": {"mode": "prompt"}, "tools": js_tool()});
    let stream = server.post_text("/api/chat", body).await;
    assert!(stream.contains(r#""id":"ID:1:0","type":"function""#), "{stream}");
    assert!(!stream.contains(r#""content":"{"#), "{stream}");
    assert!(server.model.asked()[0].contains("browser_js_eval"), "{}", server.model.asked()[0]);
}

#[tokio::test]
async fn an_agent_streams_pieces() {
    let server = TestServer::new([reply("say One two three.")]).await;
    let response = server
        .request(reqwest::Method::POST, "/api/agent")
        .header("x-agent-id", "clerk")
        .json(&json!({"message": "count"}))
        .send()
        .await
        .unwrap();
    let text = response.text().await.unwrap();
    assert_eq!(pieces(&text), "One two three.");
}

#[tokio::test]
async fn an_agent_answers_in_one_piece_when_asked_to() {
    let server = TestServer::new([reply(r#"call look {"q": "x"}"#), reply("say There.")]).await;
    let body = json!({"message": "find x", "stream": false});
    let whole: Value = server.post("/api/agent", body).await.json().await.unwrap();
    assert_eq!(whole["content"], "There.");
    assert_eq!(whole["state"], "completed");
    assert_eq!(whole["tools"], json!([{"name": "look", "state": "done"}]));
    assert_eq!(whole["usage"]["input_tokens"], 20);
}

#[tokio::test]
async fn tools_can_be_withheld() {
    let server = TestServer::new([reply("say No tools here.")]).await;
    server.post("/api/agent", json!({"message": "hi", "stream": false, "tools": false})).await;
    assert!(!server.model.asked()[0].contains("tools:"), "{}", server.model.asked()[0]);
}

#[tokio::test]
async fn a_repeated_request_with_the_same_key_is_one_run() {
    let server = TestServer::new([reply("say Once.")]).await;
    let post = |message: &'static str| {
        server
            .request(reqwest::Method::POST, "/api/agent")
            .header("idempotency-key", "k1")
            .json(&json!({"message": message, "stream": false}))
            .send()
    };
    let first = post("pay").await.unwrap();
    assert!(first.headers().get("idempotency-replayed").is_none());
    let first: Value = first.json().await.unwrap();
    let second = post("pay").await.unwrap();
    assert_eq!(second.headers()["idempotency-replayed"], "true");
    let second: Value = second.json().await.unwrap();
    assert_eq!((&first["run"], &first["content"]), (&second["run"], &second["content"]));
    assert_eq!(post("pay more").await.unwrap().status(), 422);
}

#[tokio::test]
async fn an_answer_in_several_parts_is_told_once() {
    let blank =
        || helve_model::Reply::new().text("Then this.").call("look", r#"{"q": "x"}"#).text("\n").done();
    let replies = || {
        [
            reply(r#"say First that. | call look {"q": "x"} | say Second that."#),
            blank(),
            reply("say One thing. | think hm | say Another thing."),
        ]
    };
    let answer = "First that.\n\nSecond that.\n\nThen this.\n\nOne thing.\n\nAnother thing.";
    let body = json!({"message": "tell"});

    let server = slow(replies()).await;
    assert_eq!(so_far(&server.post_text("/api/chat", body.clone()).await), json!([answer, "hm"]));
    let server = slow(replies()).await;
    assert_eq!(pieces(&server.post_text("/api/agent", body.clone()).await), answer);
    // Whoever reads only the log gets the same.
    let server = TestServer::new(replies()).await;
    let body = json!({"message": "tell", "stream": false});
    assert_eq!(server.post("/api/agent", body).await.json::<Value>().await.unwrap()["content"], answer);
}

#[tokio::test]
async fn a_restarted_step_takes_back_all_that_was_shown_of_it() {
    let replies = || {
        let error = helve_model::ModelError::new(helve_model::ModelErrorKind::Broken, "cut off");
        let broken =
            helve_model::Reply::new().text("Wrong.").reasoning("hm").text("Very wrong.").fails(error);
        [reply(r#"say Looking. | call look {"q": "x"}"#), broken, reply("say Right.")]
    };
    let server = slow(replies()).await;
    let stream = server.post_text("/api/chat", json!({"message": "tell"})).await;
    assert_eq!(so_far(&stream), json!(["Looking.\n\nRight.", ""]));
    let server = slow(replies()).await;
    let stream = server.post_text("/api/agent", json!({"message": "tell"})).await;
    assert!(stream.contains("Very ") && stream.contains("restart"), "{stream}");
    assert_eq!(pieces(&stream), "Looking.\n\nRight.");
}

#[tokio::test]
async fn running_out_of_steps_is_told() {
    let server = |replies: [helve_model::Reply; 2]| {
        TestServer::with_options(ServerOptions { max_steps: 1, ..ServerOptions::default() }, replies)
    };
    let replies = || [reply(r#"call look {"q": "x"}"#), reply("say I know no more.")];
    for path in ["/api/chat", "/api/agent"] {
        let stream = server(replies()).await.post_text(path, json!({"message": "find x"})).await;
        let last = events(&stream).pop().unwrap();
        assert_eq!(last["ending"], "step_limit", "{stream}");
        assert!(last["message"].as_str().unwrap().contains("steps"), "{stream}");
    }
    let body = json!({"message": "find x", "stream": false});
    let whole: Value = server(replies()).await.post("/api/agent", body.clone()).await.json().await.unwrap();
    assert_eq!((&whole["state"], &whole["ending"]), (&json!("completed"), &json!("step_limit")));
    let plain = TestServer::new([reply("say Hi.")]).await;
    let whole: Value = plain.post("/api/agent", body).await.json().await.unwrap();
    assert_eq!(whole["ending"], "answered");
}

#[tokio::test]
async fn a_request_can_require_a_call_and_hears_if_there_was_none() {
    let named = json!({"type": "function", "function": {"name": "look"}});
    for (choice, asked) in [
        (json!("required"), "choice: required\n"),
        (named, "choice: look\n"),
        (json!({"name": "look"}), "choice: look\n"),
    ] {
        for path in ["/api/chat", "/api/agent"] {
            let server = TestServer::new([reply(r#"call look {"q": "x"}"#), reply("say It is there.")]).await;
            let body = json!({"message": "find x", "tool_choice": choice});
            let stream = server.post_text(path, body).await;
            assert!(!stream.contains("ending"), "{stream}");
            assert!(server.model.asked()[0].ends_with(asked), "{}", server.model.asked()[0]);
        }
    }
    let words = || [reply("say I would rather talk."), reply("say I told you.")];
    for path in ["/api/chat", "/api/agent"] {
        let server = TestServer::new(words()).await;
        let stream = server.post_text(path, json!({"message": "x", "toolChoice": "required"})).await;
        let last = events(&stream).pop().unwrap();
        assert_eq!(last["ending"], "without_call", "{stream}");
        assert!(last["message"].as_str().unwrap().contains("required"), "{stream}");
    }
    let server = TestServer::new(words()).await;
    let body = json!({"message": "x", "tool_choice": "required", "stream": false});
    let whole: Value = server.post("/api/agent", body).await.json().await.unwrap();
    assert_eq!((&whole["ending"], &whole["content"]), (&json!("without_call"), &json!("I told you.")));
    // What was not taken was paid for.
    assert_eq!(whole["usage"]["output_tokens"], 10);
    let server = TestServer::new([reply("say Hi.")]).await;
    let body = json!({"message": "x", "tool_choice": "none"});
    let run: Value = server.post("/api/runs", body).await.json().await.unwrap();
    server.settled(run["run"].as_str().unwrap()).await;
    assert_eq!(server.model.asked(), ["user: x\n"]);
}

#[tokio::test]
async fn an_agent_that_waits_for_a_person_says_so_and_names_its_run() {
    let replies = || [reply(r#"say Sending. | call send {"q": "x"}"#), reply("say Sent.")];
    for path in ["/api/chat", "/api/agent"] {
        let server = TestServer::new(replies()).await;
        let response = server.post(path, json!({"message": "send x"})).await;
        let run = response.headers()["x-helve-run"].to_str().unwrap().to_owned();
        let conversation = response.headers()["x-helve-conversation"].to_str().unwrap().to_owned();
        assert_eq!(server.get_json(&format!("/api/runs/{run}")).await["conversation"], conversation);
        let mut stream = response.bytes_stream();
        let mut seen = String::new();
        while !seen.contains("waiting") {
            seen.push_str(std::str::from_utf8(&stream.next().await.unwrap().unwrap()).unwrap());
        }
        let line = seen.lines().rfind(|line| line.contains("waiting")).unwrap();
        let event: Value = serde_json::from_str(line.strip_prefix("data: ").unwrap()).unwrap();
        let tool = &event["tool"];
        assert_eq!(
            (&tool["name"], &tool["state"], &tool["for"], &tool["input"]),
            (&json!("send"), &json!("waiting"), &json!("approval"), &json!({"q": "x"}))
        );
        // The stream stays open and goes on when the question is answered.
        let answer = format!("/api/approvals/{}", tool["approvalId"].as_str().unwrap());
        assert_eq!(server.post(&answer, json!({"decision": "approve"})).await.status(), 200);
        while let Some(bytes) = stream.next().await {
            seen.push_str(std::str::from_utf8(&bytes.unwrap()).unwrap());
        }
        assert!(seen.contains("Sent.") && seen.ends_with("data: [DONE]\n\n"), "{seen}");
    }
}

#[tokio::test]
async fn an_answer_in_one_piece_names_what_it_waits_for_and_a_repetition_tells_what_came_of_it() {
    let server = TestServer::new([reply(r#"call send {"q": "x"}"#), reply("say Sent.")]).await;
    let post = || async {
        let request = server.request(reqwest::Method::POST, "/api/agent").header("idempotency-key", "k1");
        let response = request.json(&json!({"message": "send x", "stream": false})).send().await.unwrap();
        let run = response.headers()["x-helve-run"].to_str().unwrap().to_owned();
        let whole = response.json::<Value>().await.unwrap();
        assert_eq!(whole["run"], run);
        whole
    };
    let first = post().await;
    assert_eq!(first["state"], "waiting_approval");
    let question = &first["approvals"][0];
    assert_eq!((&question["tool"], &question["arguments"]), (&json!("send"), &json!("{\"q\":\"x\"}")));
    assert_eq!(post().await, first);
    let answer = format!("/api/approvals/{}", question["approval"].as_str().unwrap());
    server.post(&answer, json!({"decision": "approve"})).await;
    server.settled(first["run"].as_str().unwrap()).await;
    let again = post().await;
    assert_eq!((&again["state"], &again["content"]), (&json!("completed"), &json!("Sent.")));
    assert!(again.get("approvals").is_none(), "{again}");
}

#[tokio::test]
async fn the_same_key_for_another_agent_is_another_request() {
    let server = TestServer::new([reply("say Once.")]).await;
    let post = |agent: &'static str| {
        let request = server.request(reqwest::Method::POST, "/api/agent").header("idempotency-key", "k1");
        request.header("x-agent-id", agent).json(&json!({"message": "pay", "stream": false})).send()
    };
    assert_eq!(post("default").await.unwrap().status(), 200);
    assert_eq!(post("default").await.unwrap().headers()["idempotency-replayed"], "true");
    assert_eq!(post("clerk").await.unwrap().status(), 422);
}

#[tokio::test]
async fn a_stateless_request_without_tools_may_use_the_browser() {
    let server = TestServer::new([reply(r#"call browser_js_eval {"code": "6*7"}"#)]).await;
    let question = json!({"role": "user", "content": "compute"});
    let body = json!({"messages": [question], "config": {"mode": "native", "model": "scripted"}});
    let stream = server.post_text("/api/chat", body).await;
    let last = events(&stream).pop().unwrap();
    assert_eq!(last["tool_calls"][0]["function"]["name"], "browser_js_eval", "{stream}");
    assert_eq!(last["ending"], "client_tools");
    // Whoever declares tools, or none, has said it all; and where the server keeps the conversation nobody
    // would bring the result.
    let without = json!({"messages": [question], "tools": []});
    server.post_text("/api/chat", without).await;
    server.post_text("/api/chat", json!({"message": "compute"})).await;
    let asked = server.model.asked();
    assert!(asked[0].contains("browser_js_eval"), "{}", asked[0]);
    assert!(!asked[1].contains("browser_js_eval") && !asked[2].contains("browser_js_eval"));
}

/// Reports one step of its work each time that it is told to go on.
struct Build(ToolSpec, Arc<Notify>);

impl Tool for Build {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn call<'a>(&'a self, _: Request<'a>, cx: &'a CallContext) -> ToolFuture<'a> {
        Box::pin(async move {
            for piece in ["编译 10 %", "\n20 %", "\n30 %"] {
                cx.progress.report(piece);
                self.1.notified().await;
            }
            Ok(ToolOutput::text("built"))
        })
    }
}

#[tokio::test]
async fn what_a_running_tool_reports_is_in_the_stream_while_it_runs() {
    for path in ["/api/chat", "/api/agent"] {
        let go_on = Arc::new(Notify::new());
        let tool: Arc<dyn Tool> = Arc::new(Build(spec("build", Effect::Read), go_on.clone()));
        let script = [reply(r#"call build {"q": "all"}"#), reply("say It is built.")];
        let server =
            TestServer::with_options(ServerOptions { tools: vec![tool], ..ServerOptions::default() }, script)
                .await;
        let mut stream = server.post(path, json!({"message": "build all"})).await.bytes_stream();
        let mut text = String::new();
        let mut reports = vec![];
        while let Some(bytes) = stream.next().await {
            text.push_str(std::str::from_utf8(&bytes.unwrap()).unwrap());
            let reported: Vec<Value> = text
                .lines()
                .filter_map(|line| serde_json::from_str::<Value>(line.strip_prefix("data: ")?).ok())
                .filter(|event| event["tool"]["progress"].is_string())
                .collect();
            // Each report is heard before the tool goes on.
            if reported.len() > reports.len() {
                reports = reported;
                go_on.notify_one();
            }
        }
        let pieces: Vec<_> =
            reports.iter().map(|event| event["tool"]["progress"].as_str().unwrap()).collect();
        assert_eq!(pieces, ["编译 10 %", "\n20 %", "\n30 %"], "{path}: {text}");
        let (name, state) = (&reports[0]["tool"]["name"], &reports[0]["tool"]["state"]);
        assert_eq!((name, state), (&json!("build"), &json!("searching")), "{path}");
        assert!(text.contains("It is built.") && text.ends_with("[DONE]\n\n"), "{path}: {text}");
    }
}

#[tokio::test]
async fn a_failed_call_is_told_with_its_code_in_both_protocols() {
    let replies = || [reply("call nothing {}"), reply("say I could not.")];
    let is_told = |tool: &Value| {
        assert_eq!((&tool["state"], &tool["code"]), (&json!("failed"), &json!("no_such_tool")), "{tool}");
        assert_eq!(tool["params"]["tool"], "nothing", "{tool}");
        assert!(tool["error"].as_str().is_some_and(|error| !error.is_empty()), "{tool}");
    };
    let server = TestServer::new(replies()).await;
    for (path, body) in [("/api/chat", json!({"message": "go"})), ("/api/agent", json!({"message": "go"}))] {
        let server = TestServer::new(replies()).await;
        let stream = server.post_text(path, body).await;
        let events = stream.lines().filter_map(|line| line.strip_prefix("data: "));
        let events = events.filter_map(|event| serde_json::from_str::<Value>(event).ok());
        let failed: Vec<Value> = events.filter(|event| event["tool"]["state"] == "failed").collect();
        assert_eq!(failed.len(), 1, "{path}: {stream}");
        is_told(&failed[0]["tool"]);
    }
    let whole = server.post("/api/agent", json!({"message": "go", "stream": false})).await;
    is_told(&whole.json::<Value>().await.unwrap()["tools"][0]);
}
