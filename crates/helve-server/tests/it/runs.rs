//! Runs over HTTP: detached, followed from any event, stopped.

use futures_util::StreamExt;
use helve_model::Reply;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::test_server::{TestServer, reply};

/// The durable events of a stream: id and type.
fn durable(stream: &str) -> Vec<(u64, String)> {
    let mut events = vec![];
    for frame in stream.split("\n\n") {
        let id = frame.lines().find_map(|line| line.strip_prefix("id: "));
        let data = frame.lines().find_map(|line| line.strip_prefix("data: "));
        if let (Some(id), Some(data)) = (id, data) {
            let body: Value = serde_json::from_str(data).unwrap();
            events.push((id.parse().unwrap(), body["type"].as_str().unwrap().to_owned()));
        }
    }
    events
}

#[tokio::test]
async fn a_run_is_followed_from_any_event_without_loss_or_repetition() {
    let server =
        TestServer::new([reply(r#"say Looking. | call look {"q": "x"}"#), reply("say There.")]).await;
    let (run, _) = server.start("find x").await;
    let all = durable(&server.get(&format!("/api/runs/{run}/events")).await.text().await.unwrap());
    let kinds: Vec<_> = all.iter().map(|(_, kind)| kind.as_str()).collect();
    assert_eq!(
        kinds,
        [
            "run.started",
            "text.finished",
            "tool.requested",
            "step.finished",
            "tool.started",
            "tool.finished",
            "text.finished",
            "step.finished",
            "run.finished"
        ]
    );
    for after in 0..all.len() {
        let response = server
            .request(Method::GET, &format!("/api/runs/{run}/events"))
            .header("last-event-id", after.to_string())
            .send()
            .await
            .unwrap();
        assert_eq!(response.headers()["cache-control"], "no-store");
        assert_eq!(durable(&response.text().await.unwrap()), all[after..]);
        let by_query = server.get(&format!("/api/runs/{run}/events?after={after}")).await;
        assert_eq!(durable(&by_query.text().await.unwrap()), all[after..]);
    }
    let end = server.get(&format!("/api/runs/{run}/events?after={}", all.len())).await;
    assert_eq!(end.status(), StatusCode::NO_CONTENT);
}

#[tokio::test]
async fn runs_are_listed_by_state_and_one_that_is_over_is_not_taken_up() {
    let server = TestServer::new([reply("say One."), reply(r#"call send {"q": "x"}"#)]).await;
    let (over, _) = server.start("one").await;
    assert_eq!(server.settled(&over).await, "completed");
    let (waits, _) = server.start("two").await;
    assert_eq!(server.settled(&waits).await, "waiting_approval");
    let listed = async |query: &str| {
        let list = server.get_json(&format!("/api/runs{query}")).await;
        let ids = list["runs"].as_array().unwrap().iter().map(|run| run["run"].as_str().unwrap().to_owned());
        ids.collect::<Vec<_>>()
    };
    assert_eq!(listed("").await.len(), 2);
    assert_eq!(listed("?state=completed").await, std::slice::from_ref(&over));
    assert_eq!(listed("?state=waiting_approval&limit=5").await, std::slice::from_ref(&waits));
    assert_eq!(listed("?limit=1&offset=1").await, listed("").await[1..]);
    assert_eq!(server.get("/api/runs?state=asleep").await.status(), StatusCode::BAD_REQUEST);
    for (run, code) in [(&over, "run_over"), (&waits, "run_waits")] {
        let refused = server.post(&format!("/api/runs/{run}/resume"), json!({})).await;
        assert_eq!(refused.status(), StatusCode::CONFLICT);
        assert_eq!(refused.json::<Value>().await.unwrap()["code"], code);
    }
    let nothing = server.post("/api/runs/00000000-0000-7000-8000-000000000000/resume", json!({})).await;
    assert_eq!(nothing.status(), StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn live_pieces_come_without_an_id_and_before_the_run_is_over() {
    let server = TestServer::new([Reply::new().text("Once upon a time").hangs()]).await;
    let (run, _) = server.start("a story").await;
    let mut stream = server.get(&format!("/api/runs/{run}/events")).await.bytes_stream();
    let mut seen = String::new();
    while !seen.contains("Once upon a time") {
        seen.push_str(std::str::from_utf8(&stream.next().await.unwrap().unwrap()).unwrap());
    }
    let live = seen.split("\n\n").find(|frame| frame.contains("part.started")).unwrap();
    assert!(!live.contains("id:"), "{live}");
    // A second reader gets the text so far, at once.
    let mut late = server.get(&format!("/api/runs/{run}/events?after=1")).await.bytes_stream();
    let mut seen = String::new();
    while !seen.contains("Once upon a time") {
        seen.push_str(std::str::from_utf8(&late.next().await.unwrap().unwrap()).unwrap());
    }
    server.post(&format!("/api/runs/{run}/cancel"), json!({})).await;
    assert_eq!(server.settled(&run).await, "cancelled");
}

#[tokio::test]
async fn a_run_goes_on_when_its_reader_leaves() {
    let server = TestServer::new([reply(r#"call look {"q": "x"}"#), reply("say There.")]).await;
    let response = server.post("/api/chat", json!({"message": "find x"})).await;
    drop(response);
    loop {
        let runs = server.get_json("/api/runs").await;
        if runs["runs"][0]["state"] == "completed" {
            break;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_wrong_event_id_is_refused_and_says_why() {
    let server = TestServer::new([reply("say Hi.")]).await;
    let (run, _) = server.start("hello").await;
    server.settled(&run).await;
    let ask = |id: &'static str| {
        server.request(Method::GET, &format!("/api/runs/{run}/events")).header("last-event-id", id).send()
    };
    let word = ask("abc").await.unwrap();
    assert_eq!(word.status(), StatusCode::BAD_REQUEST);
    assert_eq!(word.headers()["content-type"], "application/problem+json");
    let beyond: Value = ask("99").await.unwrap().json().await.unwrap();
    assert_eq!(
        (&beyond["status"], &beyond["code"], &beyond["last_event"]),
        (&json!(409), &json!("beyond_the_log"), &json!(4))
    );
    assert_eq!(ask("-1").await.unwrap().status(), StatusCode::BAD_REQUEST);
    let nowhere = server.get("/api/runs/0190163d-8694-739b-aea5-966c26f8ad91/events").await;
    assert_eq!(nowhere.status(), StatusCode::NOT_FOUND);
    assert_eq!(server.get("/api/runs/not-an-id/events").await.status(), StatusCode::NOT_FOUND);
}

/// S1, S5, S8: what a stream is, apart from what is said in it.
#[tokio::test]
async fn a_stream_says_when_to_come_back_is_never_kept_nor_squeezed_and_numbers_events_alone() {
    let server =
        TestServer::new([reply(r#"say Looking. | call look {"q": "x"}"#), reply("say There.")]).await;
    let (run, _) = server.start("find x").await;
    let request = server.request(Method::GET, &format!("/api/runs/{run}/events"));
    let response = request.header("accept-encoding", "gzip, br").send().await.unwrap();
    let header = |name: &str| response.headers().get(name).map(|value| value.to_str().unwrap().to_owned());
    assert_eq!(header("content-type").as_deref(), Some("text/event-stream; charset=utf-8"));
    assert_eq!(header("cache-control").as_deref(), Some("no-store"));
    assert_eq!(header("x-accel-buffering").as_deref(), Some("no"));
    assert_eq!(header("content-encoding"), None);
    let stream = response.text().await.unwrap();
    assert!(stream.starts_with("retry: 1000\n\n"), "{stream}");
    let live = ["step.started", "part.started", "part.delta", "server.draining"];
    for frame in stream.split("\n\n").filter(|frame| frame.contains("data: ")) {
        let is_live = live.iter().any(|kind| frame.contains(&format!("\"type\":\"{kind}\"")));
        assert_eq!(frame.starts_with("id: "), !is_live, "{frame}");
    }
}

/// S2: the header goes before the query, and nothing at all is the beginning.
#[tokio::test]
async fn the_header_goes_before_the_query() {
    let server = TestServer::new([reply("say Hi.")]).await;
    let (run, _) = server.start("hello").await;
    server.settled(&run).await;
    let first = async |query: &str, header: Option<&str>| {
        let mut request = server.request(Method::GET, &format!("/api/runs/{run}/events{query}"));
        if let Some(header) = header {
            request = request.header("last-event-id", header);
        }
        durable(&request.send().await.unwrap().text().await.unwrap())[0].0
    };
    assert_eq!(first("", None).await, 1);
    assert_eq!(first("?after=1", None).await, 2);
    assert_eq!(first("?after=1", Some("2")).await, 3);
    assert_eq!(first("?after=", Some("")).await, 1);
}

/// A stream that cannot be taken up again says that it is not the whole answer.
#[tokio::test]
async fn a_chat_that_the_server_leaves_does_not_look_like_an_answer() {
    for path in ["/api/chat", "/api/agent"] {
        let server = TestServer::new([Reply::new().text("Once upon").hangs()]).await;
        let mut stream = server.post(path, json!({"message": "a story"})).await.bytes_stream();
        let mut told = String::new();
        while !told.contains("Once upon") {
            told.push_str(std::str::from_utf8(&stream.next().await.unwrap().unwrap()).unwrap());
        }
        server.runtime.shut_down(std::time::Duration::ZERO).await;
        while let Some(bytes) = stream.next().await {
            told.push_str(std::str::from_utf8(&bytes.unwrap()).unwrap());
        }
        let (_, end) = told.split_once("Once upon").unwrap();
        assert!(end.contains(r#""code":"closing""#) && end.ends_with("data: [DONE]\n\n"), "{path}: {told}");
        let refused = server.post(path, json!({"message": "another"})).await;
        assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE, "{path}");
        assert_eq!(refused.headers()["retry-after"], "5", "{path}");
    }
}

/// What waits for a person goes on waiting, and is answered on the next server.
#[tokio::test]
async fn a_server_that_goes_down_takes_no_run_up_again() {
    let server = TestServer::new([reply(r#"call send {"q": "x"}"#)]).await;
    let (run, _) = server.start("send x").await;
    assert_eq!(server.settled(&run).await, "waiting_approval");
    let listed = server.get_json("/api/approvals").await;
    let approval = listed["approvals"][0]["approval"].as_str().unwrap().to_owned();
    server.runtime.shut_down(std::time::Duration::ZERO).await;
    let refused = server.post(&format!("/api/approvals/{approval}"), json!({"decision": "approve"})).await;
    assert_eq!((refused.status().as_u16(), refused.headers()["retry-after"].to_str().unwrap()), (503, "5"));
    assert_eq!(server.get_json(&format!("/api/runs/{run}")).await["state"], "waiting_approval");
}

#[tokio::test]
async fn a_conversation_is_listed_renamed_read_and_forgotten() {
    let server = TestServer::new([reply("say Hello you.")]).await;
    let (run, conversation) = server.start("hello").await;
    server.settled(&run).await;
    let path = format!("/api/conversations/{conversation}");
    let messages = server.get_json(&format!("{path}/messages")).await;
    assert_eq!(messages["messages"][1]["parts"][0]["text"], "Hello you.");
    assert_eq!(messages["messages"][1]["model"], "scripted");

    let renamed =
        server.request(Method::PATCH, &path).json(&json!({"title": " Greetings "})).send().await.unwrap();
    assert_eq!(renamed.status(), StatusCode::NO_CONTENT);
    assert_eq!(server.get_json(&path).await["title"], "Greetings");
    let blank = server.request(Method::PATCH, &path).json(&json!({"title": " "})).send().await.unwrap();
    assert_eq!(blank.status(), StatusCode::BAD_REQUEST);

    let gone = server.request(Method::DELETE, &path).send().await.unwrap();
    assert_eq!(gone.status(), StatusCode::NO_CONTENT);
    assert_eq!(server.get(&path).await.status(), StatusCode::NOT_FOUND);
    assert_eq!(server.get(&format!("/api/runs/{run}")).await.status(), StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn a_busy_conversation_names_the_run_that_is_not_over() {
    let server = TestServer::new([reply(r#"call send {"q": "x"}"#)]).await;
    let (run, conversation) = server.start("send x").await;
    server.settled(&run).await;
    let second = server.post("/api/runs", json!({"message": "and?", "conversation": conversation})).await;
    assert_eq!(second.status(), StatusCode::CONFLICT);
    let problem: Value = second.json().await.unwrap();
    assert_eq!((&problem["code"], &problem["run"]), (&json!("conversation_busy"), &json!(run)));
    let path = format!("/api/conversations/{conversation}");
    let kept = server.request(Method::DELETE, &path).send().await.unwrap();
    assert_eq!(kept.status(), StatusCode::CONFLICT);
}

#[tokio::test]
async fn the_tool_system_tells_what_the_tools_did_and_can_be_reset() {
    let server = TestServer::new([reply(r#"call look {"q": "x"}"#), reply("say There.")]).await;
    let (run, _) = server.start("find x").await;
    server.settled(&run).await;
    let status = server.get_json("/api/tool-system/status").await;
    assert_eq!(status["tools"]["look"]["metrics"]["calls"], 1);
    assert_eq!(server.get_json("/api/tool-system/metrics/look").await["succeeded"], 1);
    assert_eq!(server.get("/api/tool-system/metrics/nothing").await.status(), StatusCode::NOT_FOUND);
    let reset = server.post("/api/tool-system/reset", json!({"tool": "look", "what": ["metrics"]})).await;
    assert_eq!(reset.status(), StatusCode::NO_CONTENT);
    assert_eq!(server.get_json("/api/tool-system/metrics/look").await["calls"], 0);
}

/// Whether the value has every member that its schema names.
fn check_members(document: &Value, schema: &Value, value: &Value, place: &str) {
    if let Some(either) = schema["anyOf"].as_array() {
        let Some(schema) = either.iter().find(|schema| value.is_null() == (schema["type"] == "null")) else {
            panic!("{place} is nothing that it may be: {value}");
        };
        return check_members(document, schema, value, place);
    }
    if let Some(name) = schema["$ref"].as_str() {
        let name = name.strip_prefix("#").unwrap();
        return check_members(document, document.pointer(name).unwrap(), value, place);
    }
    for (name, schema) in schema["properties"].as_object().into_iter().flatten() {
        let member = value.get(name).unwrap_or_else(|| panic!("{place} has no `{name}`: {value}"));
        check_members(document, schema, member, &format!("{place}.{name}"));
    }
    if let Some(schema) = schema.get("additionalProperties").filter(|schema| schema.is_object()) {
        for (name, member) in value.as_object().unwrap() {
            check_members(document, schema, member, &format!("{place}.{name}"));
        }
    }
}

#[tokio::test]
async fn the_tool_system_answers_as_the_document_says() {
    let server = TestServer::new([]).await;
    let document = server.get_json("/openapi.json").await;
    for (path, asked) in [
        ("/api/tool-system/status", "/api/tool-system/status"),
        ("/api/tool-system/metrics/{tool}", "/api/tool-system/metrics/look"),
    ] {
        let answer = &document["paths"][path]["get"]["responses"]["200"];
        let schema = &answer["content"]["application/json"]["schema"];
        assert!(schema.is_object(), "{path}: {answer}");
        check_members(&document, schema, &server.get_json(asked).await, asked);
    }
}

#[tokio::test]
async fn the_document_names_headers_and_every_kind_of_answer() {
    let server = TestServer::new([]).await;
    let document = server.get_json("/openapi.json").await;
    let headers = |operation: &Value| -> Vec<String> {
        let parameters = operation["parameters"].as_array().unwrap().iter();
        let headers = parameters.filter(|parameter| parameter["in"] == "header");
        headers.map(|parameter| parameter["name"].as_str().unwrap().to_owned()).collect()
    };
    let agent = &document["paths"]["/api/agent"]["post"];
    assert_eq!(headers(agent), ["X-Agent-ID", "X-Agent-Draft", "Idempotency-Key"]);
    let content = agent["responses"]["200"]["content"].as_object().unwrap();
    assert!(content.contains_key("application/json") && content.contains_key("text/event-stream"));
    for path in ["/api/chat", "/api/runs"] {
        assert_eq!(headers(&document["paths"][path]["post"]), ["X-Agent-Draft", "Idempotency-Key"], "{path}");
    }
    for path in ["/api/tools/{name}/call", "/api/tools/execute"] {
        assert_eq!(headers(&document["paths"][path]["post"]), ["Idempotency-Key"], "{path}");
    }
    let events = &document["paths"]["/api/runs/{run}/events"]["get"];
    assert_eq!(headers(events), ["Last-Event-ID"]);
    assert!(events["responses"]["204"].is_object());
}
