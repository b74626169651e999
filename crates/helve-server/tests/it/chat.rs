//! The two forms of `/api/chat`, and `/api/agent`.

use expect_test::expect;
use serde_json::{Value, json};

use crate::house::{House, reply};

#[tokio::test]
async fn a_chat_turn_streams_text_so_far_and_tools_at_work() {
    let house = House::new([reply(r#"think hm | call look {"q": "x"}"#), reply("say It is there.")]).await;
    let stream = house.post_text("/api/chat", json!({"message": "find x", "userId": "mei"})).await;
    // Pieces that come together are sent together, so only what must be there is compared.
    let events: Vec<Value> = stream
        .lines()
        .filter_map(|line| line.strip_prefix("data: "))
        .filter(|data| *data != "[DONE]")
        .map(|data| serde_json::from_str(data).unwrap())
        .collect();
    assert!(events.iter().all(|event| event["conversationId"] == "ID" && event["runId"] == "ID"));
    let states: Vec<_> = events.iter().filter_map(|event| event["tool"]["state"].as_str()).collect();
    assert_eq!(states, ["searching", "done"]);
    let last = events.iter().rfind(|event| event.get("content").is_some()).unwrap();
    assert_eq!((&last["content"], &last["thinking"]), (&json!("It is there."), &json!("hm")));
    assert!(stream.ends_with("data: [DONE]\n\n"), "{stream}");

    let listed = house.get_json("/api/conversations?user=mei").await;
    assert_eq!(listed["conversations"][0]["messages"], 2);
    assert_eq!(house.get_json("/api/conversations").await["conversations"], json!([]));
}

#[tokio::test]
async fn a_failing_model_is_told_in_the_stream() {
    let error = helve_model::ModelError::new(helve_model::ModelErrorKind::Key, "set SOME_KEY");
    let house = House::new([helve_model::Reply::new().fails(error)]).await;
    let stream = house.post_text("/api/chat", json!({"message": "hello"})).await;
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
    let house = House::new([
        reply(r#"say Let me compute. | call browser_js_eval {"code": "271*281"}"#),
        reply("say It is 76151."),
    ])
    .await;
    let question = json!({"role": "user", "content": "what is 271*281?"});
    let body = json!({"messages": [question], "config": {"mode": "native", "model": "scripted"}, "tools": js_tool()});
    let stream = house.post_text("/api/chat", body).await;
    assert!(
        stream.contains(
            r#""tool_calls":[{"function":{"arguments":"{\"code\": \"271*281\"}","name":"browser_js_eval"},"id":"call_1","type":"function"}]"#
        ),
        "{stream}"
    );
    assert!(!stream.contains("conversationId"), "{stream}");

    let call = json!({"id": "call_1", "type": "function", "function": {"name": "browser_js_eval", "arguments": "{\"code\": \"271*281\"}"}});
    let said = json!({"role": "assistant", "content": "Let me compute.", "tool_calls": [call]});
    let result = json!({"role": "user", "content": "{\"tool_call_result\": {\"toolCallId\": \"call_1\", \"result\": 76151}}"});
    let body =
        json!({"messages": [question, said, result], "config": {"mode": "native"}, "tools": js_tool()});
    let stream = house.post_text("/api/chat", body).await;
    assert!(stream.contains("It is 76151."), "{stream}");
    assert!(house.model.asked()[1].contains("result: call_1 76151"), "{}", house.model.asked()[1]);
}

#[tokio::test]
async fn prompt_mode_speaks_the_same_protocol_in_the_text() {
    let call = r#"{"tool_calls": [{"id": "c9", "type": "function", "function": {"name": "browser_js_eval", "arguments": "{\"code\": \"6*7\"}"}}]}"#;
    let house = House::new([helve_model::Reply::new().text(call).done()]).await;
    let question = json!({"role": "user", "content": "compute"});
    let body = json!({"messages": [question], "config": {"mode": "prompt"}, "tools": js_tool()});
    let stream = house.post_text("/api/chat", body).await;
    assert!(stream.contains(r#""id":"c9""#), "{stream}");
    assert!(!stream.contains(r#""content":"{"#), "{stream}");
    assert!(house.model.asked()[0].contains("browser_js_eval"), "{}", house.model.asked()[0]);
}

#[tokio::test]
async fn an_agent_streams_pieces() {
    let house = House::new([reply("say One two three.")]).await;
    let response = house
        .request(reqwest::Method::POST, "/api/agent")
        .header("x-agent-id", "clerk")
        .json(&json!({"message": "count"}))
        .send()
        .await
        .unwrap();
    let text = response.text().await.unwrap();
    let pieces: String = text
        .lines()
        .filter_map(|line| line.strip_prefix("data: {")?.strip_suffix('}'))
        .map(|data| serde_json::from_str::<Value>(&format!("{{{data}}}")).unwrap())
        .map(|event| event["content"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(pieces, "One two three.");
    assert!(text.ends_with("data: [DONE]\n\n"));
}

#[tokio::test]
async fn an_agent_answers_in_one_piece_when_asked_to() {
    let house = House::new([reply(r#"call look {"q": "x"}"#), reply("say There.")]).await;
    let body = json!({"message": "find x", "stream": false});
    let whole: Value = house.post("/api/agent", body).await.json().await.unwrap();
    assert_eq!(whole["content"], "There.");
    assert_eq!(whole["state"], "completed");
    assert_eq!(whole["tools"], json!([{"name": "look", "state": "done"}]));
    assert_eq!(whole["usage"]["input_tokens"], 20);
}

#[tokio::test]
async fn tools_can_be_withheld() {
    let house = House::new([reply("say No tools here.")]).await;
    house.post("/api/agent", json!({"message": "hi", "stream": false, "tools": false})).await;
    assert!(!house.model.asked()[0].contains("tools:"), "{}", house.model.asked()[0]);
}

#[tokio::test]
async fn a_repeated_request_with_the_same_key_is_one_run() {
    let house = House::new([reply("say Once.")]).await;
    let post = |message: &'static str| {
        house
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
