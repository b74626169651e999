//! The agents there are.

use helve_runtime::AgentSettings;
use reqwest::StatusCode;
use serde_json::json;

use crate::test_server::{ServerOptions, TestServer, reply};

#[tokio::test]
async fn an_agent_names_the_tools_that_are_not_there_yet_and_has_them_when_they_are() {
    let names = Some(vec!["look".to_owned(), "weather".to_owned()]);
    let agent = AgentSettings { tools: names, ..AgentSettings::default() };
    let plan = ServerOptions { agents: Some(vec![agent]), ..ServerOptions::default() };
    let script = [reply("call weather {\"q\": \"x\"}"), reply("say Sunny.")];
    let server = TestServer::with_options(plan, script).await;
    assert_eq!(server.get_json("/api/agents").await["agents"][0]["missing_tools"], json!(["weather"]));

    let row = json!({
        "name": "weather",
        "description": "Tells the weather.",
        "endpoint": {"url_template": "https://api.example.com/now", "method": "GET"},
        "parameters": {"type": "object", "properties": {"q": {"type": "string"}}}
    });
    assert_eq!(server.post("/api/tools", row).await.status(), StatusCode::CREATED);
    assert_eq!(server.get_json("/api/agents").await["agents"][0].get("missing_tools"), None);
    let (run, _) = server.start("the weather?").await;
    assert_eq!(server.settled(&run).await, "completed");
    let called = server.get_json("/api/executions?tool=weather").await;
    assert_eq!(called["executions"][0]["state"], "finished", "{called}");
}
