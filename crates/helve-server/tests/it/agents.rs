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

#[tokio::test]
async fn a_link_is_changed_in_parts_and_says_what_does_not_fit_its_tool() {
    let server = TestServer::new([]).await;
    let tools = json!([{"name": "look", "config": {"permission": "ask"}}]);
    made(&server, json!({"name": "a", "tools": tools})).await;
    let path = "/api/agents/a/tools/look";
    let fixed = json!({"config": {"arguments": {"q": "fixed"}}});
    let (status, link) = send(&server, Method::PATCH, path, fixed).await;
    assert_eq!(status, StatusCode::OK, "{link}");
    assert_eq!(link["config"], json!({"permission": "ask", "arguments": {"q": "fixed"}}));
    let (_, link) = send(&server, Method::PATCH, path, json!({"config": {"permission": null}})).await;
    assert_eq!(link["config"], json!({"arguments": {"q": "fixed"}}));
    for (body, field) in [
        (json!({"config": {"arguments": {"town": 1}}}), "tools.0.config.arguments.town"),
        (json!({"config": {"cache": {"ttl_ms": 0}}}), "config.cache"),
        (json!({"name": "send"}), "name"),
    ] {
        let (status, told) = send(&server, Method::PATCH, path, body).await;
        assert_eq!((status, &told["field"]), (StatusCode::BAD_REQUEST, &json!(field)), "{told}");
    }
    let (status, _) = send(&server, Method::PATCH, "/api/agents/a/tools/send", json!({})).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn a_draft_is_written_tried_by_its_makers_compared_published_and_taken_back() {
    let server = TestServer::new([reply("say New."), reply("say Old.")]).await;
    made(&server, clerk()).await;
    let draft = "/api/agents/weather-clerk/draft";
    assert_eq!(server.get(draft).await.status(), StatusCode::NOT_FOUND);
    let (status, shown) = send(&server, Method::PATCH, draft, json!({"system_prompt": "New ways."})).await;
    assert_eq!(status, StatusCode::OK, "{shown}");
    let change = json!({"field": "system_prompt", "was": "You tell the weather.", "now": "New ways."});
    assert_eq!(shown["changes"], json!([change]));
    let agent = server.get_json("/api/agents/weather-clerk").await;
    assert_eq!((&agent["version"], &agent["draft"]), (&json!(1), &json!(1)));

    let ask = |draft: &'static str, token: Option<String>| {
        let request = server.request(Method::POST, "/api/agent").json(&json!({"message": "hm"}));
        let request = request.header("X-Agent-ID", UUID).header("X-Agent-Draft", draft);
        async move {
            let request = match token {
                Some(token) => request.bearer_auth(token),
                None => request,
            };
            request.send().await.unwrap()
        }
    };
    assert_eq!(ask("perhaps", None).await.status(), StatusCode::BAD_REQUEST);
    for draft in ["true", "false"] {
        ask(draft, None).await.text().await.unwrap();
    }
    let asked = server.model.asked();
    assert!(asked[0].contains("New ways.") && asked[1].contains("You tell the weather."), "{asked:?}");

    let diff = server.get_json("/api/agents/weather-clerk/diff").await;
    assert_eq!(
        (&diff["from"], &diff["to"], &diff["changes"]),
        (&json!(1), &json!("draft"), &json!([change]))
    );
    let publish = server.request(Method::POST, &format!("{draft}/publish")).header("If-Match", "\"7\"");
    assert_eq!(publish.send().await.unwrap().status(), StatusCode::PRECONDITION_FAILED);
    let (status, agent) = send(&server, Method::POST, &format!("{draft}/publish"), Value::Null).await;
    assert_eq!((status, &agent["version"], agent.get("draft")), (StatusCode::OK, &json!(2), None), "{agent}");
    assert_eq!(server.get(draft).await.status(), StatusCode::NOT_FOUND);
    let back = "/api/agents/weather-clerk/rollback";
    let (status, agent) = send(&server, Method::POST, back, json!({"version": 1})).await;
    let told = (&agent["version"], &agent["system_prompt"]);
    assert_eq!((status, told), (StatusCode::OK, (&json!(3), &json!("You tell the weather."))));
    let (status, _) = send(&server, Method::POST, back, json!({"version": 9})).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    assert_eq!(
        server.get_json("/api/agents/weather-clerk/versions/2").await["definition"]["system_prompt"],
        "New ways."
    );
    assert_eq!(server.get_json("/api/agents/weather-clerk/diff?from=1&to=3").await["changes"], json!([]));
    let wrong = server.get("/api/agents/weather-clerk/diff?to=later").await;
    assert_eq!(wrong.status(), StatusCode::BAD_REQUEST);

    send(&server, Method::PUT, draft, clerk()).await;
    assert_eq!(send(&server, Method::DELETE, draft, json!({})).await.0, StatusCode::NO_CONTENT);
    assert_eq!(send(&server, Method::DELETE, draft, json!({})).await.0, StatusCode::NOT_FOUND);
    let chat = server.token("mei", TokenRights::Chat).await;
    let refused = ask("true", Some(chat)).await;
    assert_eq!(refused.status(), StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn an_import_is_tried_first_and_keeps_all_or_nothing() {
    let server = TestServer::new([]).await;
    made(&server, json!({"name": "b", "description": "old"})).await;
    let file = json!({"agents": [{"name": "a"}, {"name": "b", "description": "new"}, {"name": "c"}]});
    let (status, told) = send(&server, Method::POST, "/api/agents/import", file.clone()).await;
    let at = (&told["code"], &told["field"]);
    assert_eq!((status, at), (StatusCode::CONFLICT, (&json!("agent_exists"), &json!("agents.1"))));
    assert_eq!(server.get("/api/agents/a").await.status(), StatusCode::NOT_FOUND);
    let outcomes = |done: &Value| -> Vec<String> {
        let agents = done["agents"].as_array().unwrap();
        agents.iter().map(|agent| agent["outcome"].as_str().unwrap().to_owned()).collect()
    };
    let tried = "/api/agents/import?replace=true&dry_run=true";
    let (_, done) = send(&server, Method::POST, tried, file.clone()).await;
    assert_eq!(
        (outcomes(&done), &done["dry_run"]),
        (vec!["created".into(), "changed".into(), "created".into()], &json!(true))
    );
    assert_eq!(server.get_json("/api/agents/b").await["description"], "old");
    for expected in [["created", "changed", "created"], ["unchanged"; 3]] {
        let (status, done) =
            send(&server, Method::POST, "/api/agents/import?replace=true", file.clone()).await;
        assert_eq!((status, outcomes(&done)), (StatusCode::OK, expected.map(str::to_owned).to_vec()));
    }
    assert_eq!(server.get_json("/api/agents/b").await["version"], 2);
    let twice = json!({"agents": [{"name": "d"}, {"name": "d"}]});
    let (status, told) = send(&server, Method::POST, "/api/agents/import", twice).await;
    assert_eq!((status, &told["field"]), (StatusCode::CONFLICT, &json!("agents.1")), "{told}");
    assert_eq!(server.get("/api/agents/d").await.status(), StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn an_agent_for_some_users_is_seen_by_them_and_by_those_who_make_agents() {
    let server = TestServer::new([]).await;
    made(&server, json!({"name": "a", "users": ["mei"], "tools": ["send"]})).await;
    for (user, sees) in [("mei", true), ("li", false)] {
        let token = server.token(user, TokenRights::Chat).await;
        let get = |path: &'static str| server.request(Method::GET, path).bearer_auth(token.clone()).send();
        let shown: Value = get("/api/agents").await.unwrap().json().await.unwrap();
        let names: Vec<_> = shown["agents"].as_array().unwrap().iter().map(|agent| &agent["name"]).collect();
        assert_eq!(names.contains(&&json!("a")), sees, "{names:?}");
        for path in ["/api/agents/a", "/api/agents/a/tools", "/api/agents/a/tools/send"] {
            let status = get(path).await.unwrap().status();
            assert_eq!(status.is_success(), sees, "{user} {path}");
        }
        let run = server.request(Method::POST, "/api/runs").bearer_auth(&token);
        let started = run.json(&json!({"message": "hm", "agent": "a"})).send().await.unwrap();
        assert_eq!(started.status().is_success(), sees, "{user}");
    }
}

#[tokio::test]
async fn a_direct_call_of_a_user_is_made_as_their_agent_has_the_tool() {
    let plan = ServerOptions {
        agents: Some(vec![AgentSettings { tools: Some(vec![]), ..AgentSettings::default() }]),
        ..ServerOptions::default()
    };
    let server = TestServer::with_options(plan, []).await;
    let tools = json!([{"name": "look", "config": {"arguments": {"q": "fixed"}}}]);
    made(&server, json!({"name": "a", "tools": tools})).await;
    let token = server.token("mei", TokenRights::Chat).await;
    let call = |arguments: Value| {
        let request = server.request(Method::POST, "/api/tools/look/call").bearer_auth(token.clone());
        let request = request.json(&json!({"arguments": arguments})).send();
        async move { request.await.unwrap().json::<Value>().await.unwrap() }
    };
    let called = call(json!({})).await;
    assert!(called["output"]["text"].as_str().unwrap().contains("fixed"), "{called}");
    let called = call(json!({"q": "other"})).await;
    assert!(called.to_string().contains("decided by the agent"), "{called}");
}

#[tokio::test]
async fn agents_of_the_configuration_tell_people_what_they_are_for_in_their_language() {
    let texts = |name: &str, question: &str| helve_types::AgentTexts {
        display_name: Some(name.into()),
        description: "Helps.".into(),
        example_questions: vec![question.into()],
    };
    let agent = AgentSettings {
        texts: texts("Clerk", "Will it rain?"),
        translations: [("zh-CN".to_owned(), texts("天气员", "会下雨吗？"))].into(),
        ..AgentSettings::default()
    };
    let plan = ServerOptions { agents: Some(vec![agent]), ..ServerOptions::default() };
    let server = TestServer::with_options(plan, []).await;
    let shown = server.get_json("/api/agents/default").await;
    assert_eq!(
        (&shown["display_name"], &shown["example_questions"]),
        (&json!("Clerk"), &json!(["Will it rain?"]))
    );
    assert_eq!(shown["translations"]["zh-CN"]["example_questions"], json!(["会下雨吗？"]));
}
