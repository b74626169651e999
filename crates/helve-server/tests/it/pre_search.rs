//! A search before the first question, as requests ask for it and as clients see it.

use std::sync::Arc;

use helve_tool::{CallContext, Request, Tool, ToolFuture};
use helve_types::{Effect, ToolOutput, ToolSpec};
use reqwest::StatusCode;
use serde_json::json;

use crate::test_server::{ServerOptions, TestServer, reply};

struct SearchWeb(ToolSpec);

impl Tool for SearchWeb {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn call<'a>(&'a self, _: Request<'a>, _: &'a CallContext) -> ToolFuture<'a> {
        Box::pin(async { Ok(ToolOutput::text("1. It is sunny.")) })
    }
}

async fn server() -> TestServer {
    let spec = ToolSpec::new("search_web", "Searches the web.", json!({"type": "object"}), Effect::Read);
    let tools: Vec<Arc<dyn Tool>> = vec![Arc::new(SearchWeb(spec))];
    TestServer::with_options(
        ServerOptions { tools, ..ServerOptions::default() },
        [reply("say Sunny."), reply("say Sunny.")],
    )
    .await
}

#[tokio::test]
async fn every_way_to_start_a_turn_can_ask_for_it_under_either_name() {
    for name in ["preSearch", "pre_search"] {
        for (path, body) in [
            ("/api/chat", json!({"message": "weather?", name: true})),
            ("/api/chat", json!({"messages": [{"role": "user", "content": "weather?"}], name: true})),
            ("/api/agent", json!({"message": "weather?", "stream": false, name: true})),
            ("/api/runs", json!({"message": "weather?", name: true})),
        ] {
            let server = server().await;
            let response = server.post(path, body.clone()).await;
            assert!(response.status().is_success(), "{path} {body}: {}", response.text().await.unwrap());
            let run = response.headers()["x-helve-run"].to_str().unwrap().to_owned();
            response.text().await.unwrap();
            assert_eq!(server.settled(&run).await, "completed");
            let asked = server.model.asked().pop().unwrap();
            assert!(
                asked.contains("<search_results>\n1. It is sunny.\n</search_results>\n\nweather?"),
                "{asked}"
            );
        }
    }
}

#[tokio::test]
async fn it_is_shown_as_a_call_like_any_other_and_listed_as_one() {
    let server = server().await;
    let stream = server.post_text("/api/chat", json!({"message": "weather?", "preSearch": true})).await;
    for state in ["searching", "done"] {
        assert!(stream.contains(&format!(r#""state":"{state}""#)), "{state}: {stream}");
    }
    assert!(stream.contains(r#"{"preset":"quick","query":"weather?"}"#), "{stream}");
    let listed = server.get_json("/api/executions?tool=search_web").await;
    assert_eq!(listed["executions"][0]["state"], "finished", "{listed}");
    let conversation =
        server.get_json("/api/conversations").await["conversations"][0]["id"].as_str().unwrap().to_owned();
    let messages = server.get_json(&format!("/api/conversations/{conversation}/messages")).await;
    assert!(messages.to_string().contains("It is sunny."), "{messages}");
}

#[tokio::test]
async fn what_is_no_boolean_is_refused() {
    let response =
        server().await.post("/api/runs", json!({"message": "weather?", "pre_search": "yes"})).await;
    assert_eq!(response.status(), StatusCode::BAD_REQUEST);
}
