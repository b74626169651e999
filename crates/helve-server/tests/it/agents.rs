//! The agents there are.

use helve_runtime::AgentSettings;
use helve_store::TokenRights;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

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

const UUID: &str = "5a1c6e0e-8f3a-4d53-9c39-0d2f8f3f2f11";

fn clerk() -> Value {
    json!({
        "name": "weather-clerk",
        "id": UUID,
        "model": "scripted",
        "system_prompt": "You tell the weather.",
        "tools": ["look", {"name": "send", "enabled": false}],
        "example_questions": ["Will it rain?"]
    })
}

async fn made(server: &TestServer, definition: Value) -> Value {
    let response = server.post("/api/agents", definition).await;
    let status = response.status();
    let body: Value = response.json().await.unwrap();
    assert_eq!(status, StatusCode::CREATED, "{body}");
    body
}

async fn send(server: &TestServer, method: Method, path: &str, body: Value) -> (StatusCode, Value) {
    let response = server.request(method, path).json(&body).send().await.unwrap();
    let status = response.status();
    (status, response.json().await.unwrap_or_default())
}

#[tokio::test]
async fn an_agent_is_made_read_changed_and_deleted_by_its_name_or_its_id() {
    let server = TestServer::new([]).await;
    let response = server.post("/api/agents", clerk()).await;
    assert_eq!(response.status(), StatusCode::CREATED);
    assert_eq!(response.headers()["location"], "/api/agents/weather-clerk");
    assert_eq!(response.headers()["etag"], "\"1\"");
    for address in [UUID, "weather-clerk"] {
        let shown = server.get_json(&format!("/api/agents/{address}")).await;
        let wanted = (json!("weather-clerk"), json!(UUID), json!(10), clerk()["tools"].clone());
        let found = (&shown["name"], &shown["id"], &shown["max_steps"], &shown["tools"]);
        assert_eq!((found.0.clone(), found.1.clone(), found.2.clone(), found.3.clone()), wanted);
        assert_eq!(shown["system_prompt"], "You tell the weather.");
        assert_eq!((&shown["source"], &shown["version"]), (&json!("row"), &json!(1)));
    }
    let path = format!("/api/agents/{UUID}");
    let (status, body) = send(&server, Method::PATCH, &path, json!({"max_steps": 3, "model": null})).await;
    assert_eq!((status, &body["version"], &body["max_steps"]), (StatusCode::OK, &json!(2), &json!(3)));
    assert_eq!(body.get("model"), None);

    // Somebody else was faster.
    let late = server.request(Method::PUT, &path).header("If-Match", "\"1\"").json(&clerk());
    let late = late.send().await.unwrap();
    assert_eq!(late.status(), StatusCode::PRECONDITION_FAILED);
    let late: Value = late.json().await.unwrap();
    assert_eq!((&late["code"], &late["version"]), (&json!("agent_changed"), &json!(2)));
    let (status, body) = send(&server, Method::PUT, &path, clerk()).await;
    assert_eq!((status, &body["version"], &body["max_steps"]), (StatusCode::OK, &json!(3), &json!(10)));

    let versions = server.get_json(&format!("{path}/versions")).await;
    let steps: Vec<_> =
        versions["versions"].as_array().unwrap().iter().map(|one| &one["definition"]["max_steps"]).collect();
    assert_eq!(steps, [&json!(10), &json!(3), &json!(10)]);
    assert_eq!(send(&server, Method::DELETE, &path, json!({})).await.0, StatusCode::NO_CONTENT);
    assert_eq!(server.get(&path).await.status(), StatusCode::NOT_FOUND);
    let lines = server.store.audit_entries();
    let actions: Vec<_> = lines.iter().map(|line| line.action.as_str()).collect();
    assert_eq!(actions, ["agent.created", "agent.changed", "agent.changed", "agent.deleted"]);
}

#[tokio::test]
async fn what_is_wrong_with_an_agent_is_refused_with_the_field() {
    let server = TestServer::new([]).await;
    made(&server, clerk()).await;
    for (body, status, code, field) in [
        (json!({"name": "a", "temprature": 1}), 400, "bad_definition", "temprature"),
        (
            json!({"name": "a", "tools": [{"name": "look", "config": {"colour": 1}}]}),
            400,
            "bad_definition",
            "tools.0",
        ),
        (json!({"name": "a", "model": "nobody"}), 400, "bad_definition", "model"),
        (json!({"name": "a", "fallback_models": ["nobody"]}), 400, "bad_definition", "fallback_models.0"),
        (json!({"name": "a", "max_steps": 0}), 400, "bad_definition", "max_steps"),
        (json!({"system_prompt": "Hm."}), 400, "bad_definition", "name"),
        (clerk(), 409, "agent_exists", ""),
        (json!({"name": "b", "id": UUID}), 409, "agent_id_taken", ""),
        (json!({"name": "clerk"}), 409, "agent_configured", ""),
    ] {
        let (answered, told) = send(&server, Method::POST, "/api/agents", body.clone()).await;
        let field = if field.is_empty() { Value::Null } else { json!(field) };
        assert_eq!(
            (answered.as_u16(), &told["code"], &told["field"]),
            (status, &json!(code), &field),
            "{body}: {told}"
        );
    }
    // What Go writes for what is empty.
    made(&server, json!({"name": "nulls", "id": null, "model": null, "system_prompt": null, "tools": null}))
        .await;
}

#[tokio::test]
async fn an_agent_of_the_configuration_is_read_only_and_says_where_it_is_defined() {
    let server = TestServer::new([]).await;
    assert_eq!(server.get_json("/api/agents/clerk").await["source"], "configuration");
    for (method, path) in [
        (Method::PUT, "/api/agents/clerk"),
        (Method::PATCH, "/api/agents/clerk"),
        (Method::DELETE, "/api/agents/default"),
        (Method::PUT, "/api/agents/clerk/tools/look"),
    ] {
        let body = if path.ends_with("clerk") { json!({"name": "clerk"}) } else { json!({}) };
        let (status, told) = send(&server, method, path, body).await;
        assert_eq!((status, &told["code"]), (StatusCode::CONFLICT, &json!("agent_configured")), "{path}");
        assert!(told["detail"].as_str().unwrap().contains("helve.toml"), "{told}");
    }
}

#[tokio::test]
async fn tools_of_an_agent_are_given_switched_and_taken_one_by_one() {
    let server = TestServer::new([]).await;
    made(&server, json!({"name": "a"})).await;
    let (status, link) = send(&server, Method::POST, "/api/agents/a/tools", json!({"name": "look"})).await;
    assert_eq!((status, link), (StatusCode::CREATED, json!({"name": "look", "enabled": true, "config": {}})));
    let (status, told) = send(&server, Method::POST, "/api/agents/a/tools", json!({"name": "look"})).await;
    assert_eq!((status, &told["code"]), (StatusCode::CONFLICT, &json!("agent_tool_exists")));
    let asks = json!({"enabled": true, "config": {"permission": "ask"}});
    let (status, link) = send(&server, Method::PUT, "/api/agents/a/tools/weather", asks).await;
    assert_eq!(status, StatusCode::OK, "{link}");
    assert_eq!(link["missing"], true);
    let (status, _) = send(&server, Method::PUT, "/api/agents/a/tools/look", json!({"enabled": false})).await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(server.get_json("/api/agents/a/tools/look").await["enabled"], false);
    let all = server.get_json("/api/agents/a/tools").await;
    assert_eq!(all["tools"].as_array().unwrap().len(), 2, "{all}");
    assert_eq!(server.get_json("/api/agents/a").await["version"], 4);
    assert_eq!(
        send(&server, Method::DELETE, "/api/agents/a/tools/look", json!({})).await.0,
        StatusCode::NO_CONTENT
    );
    assert_eq!(server.get("/api/agents/a/tools/look").await.status(), StatusCode::NOT_FOUND);
    assert_eq!(
        send(&server, Method::DELETE, "/api/agents/a/tools/look", json!({})).await.0,
        StatusCode::NOT_FOUND
    );
    let (status, told) =
        send(&server, Method::PUT, "/api/agents/a/tools/look", json!({"config": {"colour": 1}})).await;
    assert_eq!((status, &told["field"]), (StatusCode::BAD_REQUEST, &json!("config.colour")), "{told}");
}

#[tokio::test]
async fn a_run_is_asked_of_an_agent_by_its_id_with_its_prompt_and_its_tools() {
    let server = TestServer::new([reply("say Sunny."), reply("say Again."), reply("say Never.")]).await;
    made(&server, clerk()).await;
    for (header, body) in [
        (Some(UUID), json!({"message": "the weather?"})),
        (Some("weather-clerk"), json!({"message": "the weather?"})),
    ] {
        let mut request = server.request(Method::POST, "/api/agent").json(&body);
        if let Some(agent) = header {
            request = request.header("X-Agent-ID", agent);
        }
        let told = request.send().await.unwrap().text().await.unwrap();
        assert!(told.starts_with("data: {\"content\":"), "{told}");
        assert!(told.ends_with("data: [DONE]\n\n"), "{told}");
    }
    let asked = server.model.asked();
    let shown = &asked[0];
    assert!(shown.contains("You tell the weather."), "{shown}");
    assert!(shown.contains("look") && !shown.contains("send"), "{shown}");
    let body = json!({"message": "hm", "agent": UUID});
    let (status, run) = send(&server, Method::POST, "/api/runs", body).await;
    assert_eq!(status, StatusCode::CREATED, "{run}");

    let path = "/api/agents/weather-clerk";
    assert_eq!(send(&server, Method::PATCH, path, json!({"enabled": false})).await.0, StatusCode::OK);
    let body = json!({"message": "hm", "agent": UUID});
    let (status, told) = send(&server, Method::POST, "/api/runs", body).await;
    assert_eq!((status, &told["code"]), (StatusCode::CONFLICT, &json!("agent_disabled")));
}

#[tokio::test]
async fn agents_are_exported_and_imported_as_one_file() {
    let server = TestServer::new([]).await;
    made(&server, clerk()).await;
    made(&server, json!({"name": "b", "tools": ["*"]})).await;
    let file = server.get_json("/api/agents/export").await;
    let other = TestServer::new([]).await;
    let (status, done) = send(&other, Method::POST, "/api/agents/import", file.clone()).await;
    assert_eq!(status, StatusCode::OK, "{done}");
    assert_eq!(done["agents"][1], json!({"name": "weather-clerk", "outcome": "created", "version": 1}));
    assert_eq!(other.get_json("/api/agents/export").await, file);
    let (status, told) = send(&other, Method::POST, "/api/agents/import", file.clone()).await;
    assert_eq!((status, &told["code"]), (StatusCode::CONFLICT, &json!("agent_exists")));
    let (status, _) = send(&other, Method::POST, "/api/agents/import?replace=true", file).await;
    assert_eq!(status, StatusCode::OK);
    let wrong = json!({"agents": [{"name": "c"}, {"name": "d", "max_steps": 0}]});
    let (status, told) = send(&other, Method::POST, "/api/agents/import", wrong).await;
    assert_eq!((status, &told["field"]), (StatusCode::BAD_REQUEST, &json!("agents.1.max_steps")));
    assert_eq!(other.get("/api/agents/c").await.status(), StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn how_an_agent_is_made_is_for_those_who_make_agents() {
    let server = TestServer::new([]).await;
    made(&server, clerk()).await;
    let chat = server.token("mei", TokenRights::Chat).await;
    let shown =
        server.request(Method::GET, "/api/agents/weather-clerk").bearer_auth(&chat).send().await.unwrap();
    let shown: Value = shown.json().await.unwrap();
    assert_eq!(shown["example_questions"], json!(["Will it rain?"]));
    assert_eq!(shown.get("system_prompt"), None);
    for (method, path) in [
        (Method::POST, "/api/agents"),
        (Method::PATCH, "/api/agents/weather-clerk"),
        (Method::POST, "/api/agents/weather-clerk/tools"),
        (Method::GET, "/api/agents/export"),
    ] {
        let request = server.request(method, path).bearer_auth(&chat).json(&json!({"name": "x"}));
        assert_eq!(request.send().await.unwrap().status(), StatusCode::FORBIDDEN, "{path}");
    }
}
