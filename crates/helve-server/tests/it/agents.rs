//! The agents there are.

use helve_agent::AgentSettings;
use reqwest::StatusCode;
use serde_json::json;

use crate::house::{House, Plan, reply};

#[tokio::test]
async fn an_agent_names_the_tools_that_are_not_there_yet_and_has_them_when_they_are() {
    let names = Some(vec!["look".to_owned(), "weather".to_owned()]);
    let agent = AgentSettings { tools: names, ..AgentSettings::default() };
    let plan = Plan { agents: Some(vec![agent]), ..Plan::default() };
    let script = [reply("call weather {\"q\": \"x\"}"), reply("say Sunny.")];
    let house = House::planned(plan, script).await;
    assert_eq!(house.get_json("/api/agents").await["agents"][0]["missing_tools"], json!(["weather"]));

    let row = json!({
        "name": "weather",
        "description": "Tells the weather.",
        "endpoint": {"url_template": "https://api.example.com/now", "method": "GET"},
        "parameters": {"type": "object", "properties": {"q": {"type": "string"}}}
    });
    assert_eq!(house.post("/api/tools", row).await.status(), StatusCode::CREATED);
    assert_eq!(house.get_json("/api/agents").await["agents"][0].get("missing_tools"), None);
    let (run, _) = house.start("the weather?").await;
    assert_eq!(house.settled(&run).await, "completed");
    let called = house.get_json("/api/executions?tool=weather").await;
    assert_eq!(called["executions"][0]["state"], "succeeded", "{called}");
}
