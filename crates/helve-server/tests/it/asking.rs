//! What the model wants to know of a person, over real HTTP: listed, answered, declined, with a link and on every stream.

use std::sync::Arc;

use helve_server::ApprovalLinks;
use helve_store::{ApprovalFilter, Page, Scope, Views};
use helve_tool::{CallContext, Request, Tool, ToolError, ToolFuture, WrittenQuestion, read_question};
use helve_types::{Effect, Seal, ToolSpec, UserQuestion};
use reqwest::redirect::Policy;
use reqwest::{Client, Response, StatusCode};
use serde_json::{Value, json};

use crate::test_server::{ServerOptions, TestServer, reply};

struct AskTool(ToolSpec);

impl Tool for AskTool {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn question(&self, request: Request<'_>) -> Option<Result<UserQuestion, String>> {
        let arguments = request.arguments;
        let options: Option<Vec<String>> =
            serde_json::from_value(arguments["options"].clone()).unwrap_or_default();
        Some(read_question(WrittenQuestion {
            question: arguments["q"].as_str().unwrap_or_default(),
            options: options.as_deref(),
            several: arguments["several"] == true,
            form: arguments.get("form"),
        }))
    }

    fn call<'a>(&'a self, _: Request<'a>, _: &'a CallContext) -> ToolFuture<'a> {
        Box::pin(async { Err(ToolError::Declined("nobody is here".into())) })
    }
}

fn options() -> ServerOptions {
    let parameters = json!({"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]});
    let ask = ToolSpec::new("ask", "Asks.", parameters, Effect::Read);
    ServerOptions { tools: vec![Arc::new(AskTool(ask))], ..ServerOptions::default() }
}

async fn asking(arguments: &Value) -> TestServer {
    let replies = [reply(&format!("call ask {arguments}")), reply("say Thanks.")];
    TestServer::with_options(options(), replies).await
}

fn trip() -> Value {
    json!({
        "type": "object",
        "properties": {
            "place": {"type": "string", "title": "Where to", "maxLength": 20},
            "people": {"type": "integer", "minimum": 1, "maximum": 9, "default": 2},
            "way": {"type": "string", "enum": ["train", "plane"]},
            "days": {"type": "array", "items": {"enum": ["mon", "tue", "wed"]}},
            "note": {"type": "string", "multiline": true, "description": "Whatever <b>else</b>."},
            "hotel": {"type": "object", "properties": {"stars": {"type": "integer", "maximum": 5}}}
        },
        "required": ["place", "people"]
    })
}

/// The path of the only question.
async fn question_path(server: &TestServer) -> String {
    let listed = server.get_json("/api/approvals").await;
    format!("/api/approvals/{}", listed["approvals"][0]["approval"].as_str().unwrap())
}

#[tokio::test]
async fn a_question_is_listed_with_its_form_and_the_reply_is_the_result() {
    let server = asking(&json!({"q": "Tell me.", "form": trip()})).await;
    let (run, _) = server.start("plan").await;
    assert_eq!(server.settled(&run).await, "waiting_approval");
    let path = question_path(&server).await;
    let asked = server.get_json(&path).await;
    assert_eq!((&asked["kind"], &asked["question"]), (&json!("user"), &json!("Tell me.")));
    assert_eq!((&asked["tool"], &asked["form"]["type"]), (&json!("ask"), &json!("fields")));
    let fields = asked["form"]["fields"].as_array().unwrap();
    assert_eq!(
        fields[0],
        json!({"name": "place", "title": "Where to", "required": true, "form": {"type": "text", "max_chars": 20}})
    );

    let wrong = json!({"decision": "reply", "value": {"people": 12, "way": "ship", "hotel": {"stars": 6}}});
    let refused = server.post(&path, wrong).await;
    assert_eq!(refused.status(), StatusCode::UNPROCESSABLE_ENTITY);
    let problem: Value = refused.json().await.unwrap();
    assert_eq!(problem["code"], "reply_does_not_fit");
    let fields: Vec<&str> =
        problem["fields"].as_array().unwrap().iter().map(|field| field["field"].as_str().unwrap()).collect();
    assert_eq!(fields, ["place", "people", "hotel.stars", "way"]);
    assert!(problem["detail"].as_str().unwrap().contains("“Where to” is missing"), "{problem}");
    assert_eq!(problem["notice"]["code"], "reply_misfits");
    assert_eq!(server.get_json(&path).await["state"], "pending");

    let reply =
        json!({"decision": "reply", "value": {"place": "Kyoto", "people": 2, "days": ["tue", "mon"]}});
    let answered: Value = server.post(&path, reply.clone()).await.json().await.unwrap();
    assert_eq!((&answered["state"], &answered["by"]), (&json!("answered"), &json!("local")));
    assert_eq!(server.settled(&run).await, "completed");
    let heard = &server.model.asked()[1];
    assert!(heard.contains(r#"{"days":["tue","mon"],"people":2,"place":"Kyoto"}"#), "{heard}");
    // The same again is the same; another comes too late.
    assert_eq!(server.post(&path, reply).await.status(), StatusCode::OK);
    assert_eq!(server.post(&path, json!({"decision": "decline"})).await.status(), StatusCode::CONFLICT);
    let calls = server.get_json(&format!("/api/executions?run={run}")).await;
    assert_eq!(calls["executions"][0]["state"], "finished", "{calls}");
}

#[tokio::test]
async fn an_answer_of_another_kind_is_refused_and_a_question_can_be_declined() {
    let server = asking(&json!({"q": "Which?", "options": ["Red", "Blue"]})).await;
    let (run, _) = server.start("choose").await;
    assert_eq!(server.settled(&run).await, "waiting_approval");
    let path = question_path(&server).await;
    for body in [
        json!({"decision": "approve"}),
        json!({"decision": "approve", "always": {"within": "run"}}),
        json!({"decision": "reject"}),
        json!({"decision": "respond", "text": "Red"}),
        json!({"decision": "reply"}),
        json!({"decision": "expire"}),
    ] {
        let refused = server.post(&path, body.clone()).await;
        assert_eq!(refused.status(), StatusCode::BAD_REQUEST, "{body}");
    }
    for value in [json!("Green"), json!(["Red"]), json!(null), json!(1), json!({"Red": true})] {
        let refused = server.post(&path, json!({"decision": "reply", "value": value})).await;
        assert_eq!(refused.status(), StatusCode::UNPROCESSABLE_ENTITY, "{value}");
    }
    let long = json!({"decision": "decline", "reason": "字".repeat(2_001)});
    assert_eq!(server.post(&path, long).await.status(), StatusCode::UNPROCESSABLE_ENTITY);
    let declined = json!({"decision": "decline", "reason": "neither"});
    assert_eq!(server.post(&path, declined).await.status(), StatusCode::OK);
    assert_eq!(server.settled(&run).await, "completed");
    let heard = &server.model.asked()[1];
    assert!(heard.contains("would rather not answer this question and says: neither"), "{heard}");
    let calls = server.get_json(&format!("/api/executions?run={run}")).await;
    assert_eq!(calls["executions"][0]["state"], "refused", "{calls}");
}

#[tokio::test]
async fn a_direct_call_is_told_that_a_person_would_be_asked() {
    let server = TestServer::with_options(options(), []).await;
    let called = server.post("/api/tools/ask/call", json!({"arguments": {"q": "Who?"}})).await;
    assert!(called.status().is_client_error(), "{}", called.status());
    assert_eq!(server.get_json("/api/approvals").await["approvals"], json!([]));
}

#[tokio::test]
async fn a_caller_without_a_person_leaves_the_tool_out() {
    let server = TestServer::with_options(options(), [reply("say Done.")]).await;
    let run = server.post("/api/runs", json!({"message": "go", "tools": {"ask": false}})).await;
    let run: Value = run.json().await.unwrap();
    server.settled(run["run"].as_str().unwrap()).await;
    assert!(!server.model.asked()[0].contains("ask"), "{}", server.model.asked()[0]);
}

#[tokio::test]
async fn every_stream_says_that_a_person_is_asked() {
    for path in ["/api/chat", "/api/agent"] {
        let server = asking(&json!({"q": "Who?"})).await;
        let body = json!({"message": "greet me", "modelType": "scripted", "userId": "local"});
        let mut stream = server.post(path, body).await;
        assert_eq!(stream.status(), StatusCode::OK, "{path}");
        let mut text = String::new();
        while !text.contains("approval") {
            text += &String::from_utf8_lossy(&stream.chunk().await.unwrap().unwrap());
        }
        let path = question_path(&server).await;
        let reply = json!({"decision": "reply", "value": "Mei"});
        assert_eq!(server.post(&path, reply).await.status(), StatusCode::OK);
        while let Some(more) = stream.chunk().await.unwrap() {
            text += &String::from_utf8_lossy(&more);
        }
        assert!(text.contains("Thanks.") && text.contains("[DONE]"), "{text}");
    }
}

/// A question with a link to it.
struct Door {
    server: TestServer,
    client: Client,
    link: String,
    run: String,
}

impl Door {
    async fn new(arguments: &Value) -> Self {
        let links = |url: &str| ApprovalLinks::new(Seal::new([3; 32]), url, 24);
        let options = ServerOptions {
            change_parts: Some(Box::new(move |parts, url| parts.links = Some(links(url)))),
            ..options()
        };
        let replies = [reply(&format!("call ask {arguments}")), reply("say Thanks.")];
        let server = TestServer::with_options(options, replies).await;
        let (run, _) = server.start("ask").await;
        assert_eq!(server.settled(&run).await, "waiting_approval");
        let filter = ApprovalFilter::Pending(Page::first(1));
        let held = server.store.approvals(Scope::Everyone, filter).await.unwrap().remove(0);
        let link = links(&server.url).signed_link(&held, server.world.now());
        let client = Client::builder().no_proxy().redirect(Policy::none()).build().unwrap();
        Self { server, client, link, run }
    }

    async fn page(&self, language: &str) -> String {
        let page = self.client.get(&self.link).header("accept-language", language).send().await.unwrap();
        assert_eq!(page.status(), StatusCode::OK);
        page.text().await.unwrap()
    }

    async fn press(&self, form: &str) -> Response {
        let request = self.client.post(&self.link).body(form.to_owned());
        let request = request.header("content-type", "application/x-www-form-urlencoded");
        request.header("origin", &self.server.url).send().await.unwrap()
    }

    fn heard(&self) -> String {
        self.server.model.asked()[1].clone()
    }
}

#[tokio::test]
async fn a_link_shows_the_form_and_takes_what_is_filled_in() {
    let door = Door::new(&json!({"q": "Tell <me>.", "form": trip()})).await;
    let page = door.page("en").await;
    for told in [
        "The model asks you",
        "Tell &lt;me&gt;.",
        "name=\"f.place\"",
        "maxlength=\"20\"",
        "Where to",
        "type=\"number\" name=\"f.people\" value=\"2\" step=\"1\" min=\"1\" max=\"9\" required",
        "type=\"radio\" name=\"f.way\" value=\"train\"",
        "type=\"checkbox\" name=\"f.days\" value=\"mon\"",
        "<textarea name=\"f.note\"",
        "Whatever &lt;b&gt;else&lt;/b&gt;.",
        "name=\"f.hotel.stars\"",
        "value=\"decline\" formnovalidate",
        "Do not enter passwords or keys",
    ] {
        assert!(page.contains(told), "{told}: {page}");
    }
    assert!(!page.contains("value=\"approve\"") && !page.contains("<script"), "{page}");
    let chinese = door.page("zh-CN").await;
    for told in ["模型向你提问", "发送答复", "我不想回答", "请不要填写密码或密钥", "(可不填)"]
    {
        assert!(chinese.contains(told), "{told}: {chinese}");
    }

    // What does not fit comes back as it was filled in, with what is wrong beside it.
    let refused =
        door.press("decision=reply&f.place=&f.people=12&f.note=%E4%BD%A0%26%0D%0Ab&f.days=mon").await;
    assert_eq!(refused.status(), StatusCode::UNPROCESSABLE_ENTITY);
    let page = refused.text().await.unwrap();
    for told in ["“Where to” is missing", "“people” must not be greater than 9", "value=\"12\"", "你&amp;"]
    {
        assert!(page.contains(told), "{told}: {page}");
    }
    assert!(page.contains("value=\"mon\" checked"), "{page}");
    assert_eq!(door.server.settled(&door.run).await, "waiting_approval");

    let form = "decision=reply&f.place=%E4%BA%AC%E9%83%BD+%2B&f.people=3&f.days=mon&f.days=wed&f.way=&f.note=&f.hotel.stars=5&f=x";
    assert_eq!(door.press(form).await.status(), StatusCode::SEE_OTHER);
    assert_eq!(door.server.settled(&door.run).await, "completed");
    let said = r#"{"days":["mon","wed"],"hotel":{"stars":5},"people":3,"place":"京都 +"}"#;
    assert!(door.heard().contains(said), "{}", door.heard());
    let page = door.page("en").await;
    assert!(page.contains("This question is settled") && page.contains("京都"), "{page}");
    let held = door.server.get_json("/api/approvals?state=all").await;
    assert_eq!(held["approvals"][0]["by"], "link:local");
}

#[tokio::test]
async fn a_link_takes_one_option_several_or_words() {
    for (arguments, form, heard) in [
        (json!({"q": "Which?", "options": ["Red", "Blue"]}), "f.=Blue", "result: call_1 Blue"),
        (
            json!({"q": "Which?", "options": ["Red", "Blue"], "several": true}),
            "f.=Red&f.=Blue",
            r#"result: call_1 ["Red","Blue"]"#,
        ),
        (json!({"q": "Who?"}), "f.=Mei%0D%0ALi", "result: call_1 Mei\nLi"),
    ] {
        let door = Door::new(&arguments).await;
        let none = door.press("decision=reply").await;
        assert_eq!(none.status(), StatusCode::UNPROCESSABLE_ENTITY, "{arguments}");
        for other in ["decision=approve", "decision=reject", "decision=reply&decision=decline", "f.=Blue"] {
            assert_eq!(door.press(other).await.status(), StatusCode::BAD_REQUEST, "{other}");
        }
        let answered = door.press(&format!("decision=reply&{form}")).await;
        assert_eq!(answered.status(), StatusCode::SEE_OTHER, "{arguments}");
        door.server.settled(&door.run).await;
        assert!(door.heard().contains(heard), "{}", door.heard());
    }
}

#[tokio::test]
async fn a_link_declines_with_a_reason() {
    let door = Door::new(&json!({"q": "Who?"})).await;
    let long = format!("decision=decline&reason={}", "x".repeat(2_001));
    let refused = door.press(&long).await;
    assert_eq!(refused.status(), StatusCode::UNPROCESSABLE_ENTITY);
    assert!(refused.text().await.unwrap().contains("<details open>"));
    assert_eq!(door.press("decision=decline&reason=not+now").await.status(), StatusCode::SEE_OTHER);
    assert_eq!(door.server.settled(&door.run).await, "completed");
    assert!(door.heard().contains("says: not now"), "{}", door.heard());
    assert!(door.page("zh").await.contains("不想回答"));
}

/// A reply may be as large as it may be over the API, also where each of its bytes is written as three.
#[tokio::test]
async fn a_link_takes_the_largest_reply_and_no_larger() {
    let door = Door::new(&json!({"q": "Who?"})).await;
    let encoded = |chars: usize| "%E5%AD%97".repeat(chars);
    let refused = door.press(&format!("decision=reply&f.={}", encoded(8_001))).await;
    assert_eq!(refused.status(), StatusCode::UNPROCESSABLE_ENTITY);
    let refused = door.press(&format!("decision=reply&f.={}", encoded(100_000))).await;
    assert_eq!(refused.status(), StatusCode::PAYLOAD_TOO_LARGE);
    let taken = door.press(&format!("decision=reply&f.={}", encoded(8_000))).await;
    assert_eq!(taken.status(), StatusCode::SEE_OTHER);
}
