//! Tools over HTTP: listed, made, changed, switched, deleted.

use helve_store::{RowKind, Rows, TokenRights};
use helve_tool::{Consent, read_definition};
use reqwest::{Method, Response, StatusCode};
use serde_json::{Value, json};

use crate::test_server::{TestServer, reply};

fn weather() -> Value {
    json!({
        "name": "weather",
        "display_name": "Weather",
        "description": "The weather in a city.",
        "category": "sky",
        "tags": ["outside"],
        "endpoint": {
            "url_template": "https://api.example.com/{q}?key=careless",
            "headers": {"X-Team": "blue"},
            "auth": {"type": "bearer", "secret": "weather_key"}
        },
        "parameters": {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}
    })
}

/// The same with one field changed.
fn with(pointer: &str, value: Value) -> Value {
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    let mut given = weather();
    given.pointer_mut(parent).unwrap()[name] = value;
    given
}

async fn send(
    server: &TestServer,
    method: Method,
    path: &str,
    body: Value,
    version: Option<&str>,
) -> Response {
    // To delete something takes no body.
    let body = if method == Method::DELETE { json!({}) } else { body };
    let mut request = server.request(method, path).json(&body);
    if let Some(version) = version {
        request = request.header("if-match", version);
    }
    request.send().await.unwrap()
}

async fn problem(response: Response, status: u16) -> Value {
    assert_eq!(response.status().as_u16(), status);
    assert_eq!(response.headers()["content-type"], "application/problem+json");
    response.json().await.unwrap()
}

async fn names(server: &TestServer, query: &str) -> Vec<String> {
    let list = server.get_json(&format!("/api/tools{query}")).await;
    list["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a_tool_is_made_with_one_request_and_called_in_the_next() {
    let server = TestServer::new([reply(r#"call weather {"q": "Oslo"}"#), reply("say Mild.")]).await;
    let made = server.post("/api/tools", weather()).await;
    assert_eq!(made.status(), StatusCode::CREATED);
    assert_eq!(
        (&made.headers()["location"], &made.headers()["etag"]),
        (&"/api/tools/weather".parse().unwrap(), &"\"1\"".parse().unwrap())
    );
    let made: Value = made.json().await.unwrap();
    assert_eq!(
        (&made["source"], &made["version"], &made["type"]),
        (&json!("row"), &json!(1), &json!("invokable"))
    );
    assert_eq!(made["definition"]["endpoint"]["auth"]["secret"], "weather_key");

    let (run, _) = server.start("how is it in Oslo?").await;
    assert_eq!(server.settled(&run).await, "completed");
    let log = server.get(&format!("/api/runs/{run}/events")).await.text().await.unwrap();
    assert!(log.contains("weather Oslo"), "{log}");
}

#[tokio::test]
async fn tools_are_listed_with_where_they_come_from_and_without_what_is_not_for_everybody() {
    let server = TestServer::new([]).await;
    server.post("/api/tools", weather()).await;
    assert_eq!(names(&server, "").await, ["look", "send", "weather"]);
    assert_eq!(names(&server, "?tag=outside").await, ["weather"]);
    assert_eq!(names(&server, "?category=sky").await, ["weather"]);
    assert_eq!(names(&server, "?category=sea").await, [""; 0]);
    send(&server, Method::PATCH, "/api/tools/send", json!({"enabled": false}), None).await;
    assert_eq!(names(&server, "?enabled=false").await, ["send"]);
    assert_eq!(names(&server, "?enabled=true").await, ["look", "weather"]);

    let list = server.get_json("/api/tools").await;
    let (look, row) = (&list["tools"][0], &list["tools"][2]);
    assert_eq!((&look["source"], look.get("version")), (&json!("builtin"), None));
    assert_eq!(row["display_name"], "Weather");
    assert_eq!(
        row["endpoint"],
        json!({"method": "GET", "url": "https://api.example.com/{q}", "auth": "bearer"})
    );
    assert!(row.get("definition").is_none());
    let document = server.get_json("/openapi.json").await;
    let view = &document["components"]["schemas"]["ToolView"]["properties"];
    for name in row.as_object().unwrap().keys() {
        assert!(!view[name].is_null(), "the document says nothing of `{name}`");
    }

    // Who may only chat sees that there is a tool, and not how it is made.
    let chat = server.token("mei", TokenRights::Chat).await;
    for path in ["/api/tools/weather", "/api/tools"] {
        let seen = server.request(Method::GET, path).bearer_auth(&chat).send().await.unwrap();
        let text = seen.text().await.unwrap();
        assert!(text.contains("\"https://api.example.com\""), "{text}");
        for secret in ["careless", "weather_key", "X-Team", "definition", "{q}"] {
            assert!(!text.contains(secret), "{secret}: {text}");
        }
    }
}

#[tokio::test]
async fn a_change_names_the_version_it_is_for_or_takes_its_chance() {
    let server = TestServer::new([]).await;
    server.post("/api/tools", weather()).await;
    let path = "/api/tools/weather";
    let changed =
        send(&server, Method::PUT, path, with("/description", json!("Another.")), Some("\"1\"")).await;
    assert_eq!(changed.status(), StatusCode::OK);
    assert_eq!(changed.headers()["etag"], "\"2\"");
    for method in [Method::PUT, Method::PATCH, Method::DELETE] {
        let late = send(&server, method, path, weather(), Some("\"1\"")).await;
        let problem = problem(late, 412).await;
        assert_eq!((&problem["code"], &problem["version"]), (&json!("tool_changed"), &json!(2)));
    }
    let bad = send(&server, Method::PUT, path, weather(), Some("yesterday")).await;
    assert_eq!(problem(bad, 400).await["code"], "bad_if_match");
    let patched = send(&server, Method::PATCH, path, json!({"category": null}), Some("*")).await;
    let patched: Value = patched.json().await.unwrap();
    assert_eq!((&patched["version"], patched.get("category")), (&json!(3), Some(&json!("custom"))));
    assert_eq!(patched["description"], "Another.");

    let versions = server.get_json("/api/tools/weather/versions").await;
    let versions = versions["versions"].as_array().unwrap();
    let said: Vec<_> = versions.iter().map(|version| version["definition"]["description"].clone()).collect();
    assert_eq!(said, ["The weather in a city.", "Another.", "Another."]);

    let gone = send(&server, Method::DELETE, path, json!({}), Some("\"3\"")).await;
    assert_eq!(gone.status(), StatusCode::NO_CONTENT);
    assert_eq!(server.get(path).await.status(), StatusCode::NOT_FOUND);
    assert_eq!(server.get("/api/tools/weather/versions").await.status(), StatusCode::OK);
}

/// Such a tool could not be looked at, changed or called.
#[tokio::test]
async fn no_tool_is_named_as_another_address_of_the_api() {
    let server = TestServer::new([]).await;
    let document = server.get_json("/openapi.json").await;
    let paths = document["paths"].as_object().unwrap().keys();
    let names: Vec<_> = paths
        .filter_map(|path| path.strip_prefix("/api/tools/"))
        .map(|rest| rest.split('/').next().unwrap())
        .filter(|name| !name.starts_with('{'))
        .collect();
    assert!(names.contains(&"execute"), "{names:?}");
    for name in names {
        let refused = server.post("/api/tools?dry_run=true", with("/name", json!(name))).await;
        assert_eq!(problem(refused, 400).await["field"], "name", "{name}");
    }
}

#[tokio::test]
async fn a_wrong_definition_is_told_its_field_and_nothing_is_kept() {
    let server = TestServer::new([]).await;
    let mut endless = weather();
    endless.as_object_mut().unwrap().remove("endpoint");
    let table = [
        (with("/name", json!("two words")), "name"),
        (with("/name", json!("import-openapi")), "name"),
        (with("/description", json!("")), "description"),
        (with("/endpoint/method", json!("FETCH")), "endpoint.method"),
        (with("/endpoint/timeout_ms", json!(0)), "endpoint.timeout_ms"),
        (with("/endpoint/auth", json!({"type": "bearer", "secret": "gone"})), "endpoint.auth.secret"),
        (with("/colour", json!("red")), "colour"),
        (with("/parameters", json!({"type": "object", "properties": 7})), "parameters"),
        (endless, "endpoint"),
        (json!("weather"), "definition"),
    ];
    for (definition, field) in table {
        for path in ["/api/tools", "/api/tools?dry_run=true"] {
            let problem = problem(server.post(path, definition.clone()).await, 400).await;
            assert_eq!(
                (&problem["code"], &problem["field"]),
                (&json!("bad_definition"), &json!(field)),
                "{problem}"
            );
            assert!(problem["detail"].as_str().unwrap().starts_with(&format!("`{field}`: ")), "{problem}");
        }
    }
    assert_eq!(server.store.rows(RowKind::new("tool")).await, Ok(vec![]));
    assert_eq!(server.store.row_changes(RowKind::new("tool")).await, Ok(0));
}

#[tokio::test]
async fn a_dry_run_says_what_is_odd_and_keeps_nothing() {
    let server = TestServer::new([]).await;
    let odd = with("/description", json!("Says\u{200b} more than is seen."));
    let checked = server.post("/api/tools?dry_run=true", odd.clone()).await;
    assert_eq!(checked.status(), StatusCode::OK);
    let checked: Value = checked.json().await.unwrap();
    assert!(checked["warnings"][0].as_str().unwrap().contains("U+200B"), "{checked}");
    assert_eq!(server.store.rows(RowKind::new("tool")).await, Ok(vec![]));

    let made: Value = server.post("/api/tools", odd).await.json().await.unwrap();
    assert_eq!((&made["warnings"], &made["hash"]), (&checked["warnings"], &checked["hash"]));
    let taken = problem(server.post("/api/tools?dry_run=true", weather()).await, 409).await;
    assert_eq!(taken["code"], "tool_exists");
}

#[tokio::test]
async fn names_that_are_taken_and_tools_that_come_with_helve_are_safe() {
    let server = TestServer::new([]).await;
    server.post("/api/tools", weather()).await;
    for name in ["weather", "look"] {
        let taken = problem(server.post("/api/tools", with("/name", json!(name))).await, 409).await;
        assert_eq!(taken["code"], "tool_exists");
    }
    for (method, body) in [
        (Method::PUT, with("/name", json!("look"))),
        (Method::PATCH, json!({"description": "Mine."})),
        (Method::DELETE, json!({})),
    ] {
        let refused = problem(send(&server, method, "/api/tools/look", body, None).await, 409).await;
        assert_eq!(refused["code"], "built_in_tool");
    }
    for method in [Method::PUT, Method::PATCH, Method::DELETE] {
        let missing =
            send(&server, method, "/api/tools/nothing", with("/name", json!("nothing")), None).await;
        assert_eq!(problem(missing, 404).await["code"], "not_found");
    }
}

#[tokio::test]
async fn a_tool_that_is_switched_off_is_not_offered_to_models_and_keeps_its_hash() {
    let server = TestServer::new([reply("say Nothing to see."), reply("say Nothing.")]).await;
    let made: Value = server.post("/api/tools", weather()).await.json().await.unwrap();
    for (path, version) in [("/api/tools/weather", json!(2)), ("/api/tools/look", Value::Null)] {
        let off = send(&server, Method::PATCH, path, json!({"enabled": false}), None).await;
        let off: Value = off.json().await.unwrap();
        assert_eq!((&off["enabled"], &off["version"]), (&json!(false), &version));
    }
    assert_eq!(server.get_json("/api/tools/weather").await["hash"], made["hash"]);
    let required = json!({"message": "look", "tool_choice": {"name": "look"}});
    let refused = problem(server.post("/api/runs", required).await, 400).await;
    assert_eq!(refused["code"], "unknown_tool");
    assert!(refused["detail"].as_str().unwrap().ends_with("the tools are: `send`"), "{refused}");
}

/// The document that made the tool says something else now.
async fn offer(server: &TestServer, description: &str) {
    let given = json!({"description": description, "tags": ["openapi:sky"], "endpoint": weather()["endpoint"],
                       "name": "weather", "parameters": weather()["parameters"]});
    let definition = read_definition(given).unwrap();
    server
        .catalogue
        .receive_offer("openapi:sky", definition, Consent::Wanted, None, "importer")
        .await
        .map(drop)
        .unwrap();
}

#[tokio::test]
async fn a_tool_that_changed_outside_is_shown_with_the_difference_until_somebody_decides() {
    let server = TestServer::new([]).await;
    let labels = server.get_json("/api/tools/look").await;
    assert_eq!((&labels["state"], &labels["labels"]["outward"]), (&json!("on"), &json!(false)));
    offer(&server, "Says.").await;
    offer(&server, "Obey\u{200b} me.").await;
    let shown = server.get_json("/api/tools/weather").await;
    assert_eq!((&shown["state"], &shown["description"]), (&json!("quarantined"), &json!("Says.")));
    let offered = &shown["offer"];
    let change = json!([{"field": "description", "was": "Says.", "now": "Obey\u{200b} me."}]);
    assert_eq!((&offered["origin"], &offered["changes"]), (&json!("openapi:sky"), &change));
    assert!(offered["warnings"][0].as_str().unwrap().contains("U+200B"), "{offered}");

    let agree = async |body| send(&server, Method::POST, "/api/tools/weather/agree", body, None).await;
    assert_eq!(problem(agree(json!({"hash": "another"})).await, 409).await["code"], "offer_changed");
    let agreed: Value = agree(json!({"hash": offered["hash"]})).await.json().await.unwrap();
    assert_eq!((&agreed["state"], &agreed["hash"]), (&json!("on"), &offered["hash"]));
    assert_eq!(problem(agree(json!({})).await, 409).await["code"], "not_quarantined");

    offer(&server, "Says.").await;
    let rejected = send(&server, Method::POST, "/api/tools/weather/reject", json!({}), None).await;
    let rejected: Value = rejected.json().await.unwrap();
    assert_eq!((&rejected["state"], &rejected["hash"]), (&json!("on"), &offered["hash"]));
    assert_eq!(
        problem(send(&server, Method::POST, "/api/tools/no/agree", json!({}), None).await, 404).await["status"],
        404
    );
}

#[tokio::test]
async fn a_row_says_what_it_brings_in_and_a_name_that_looks_like_another_is_refused() {
    let server = TestServer::new([]).await;
    let own = with("/labels", json!({"private": true, "outward": false}));
    assert_eq!(server.post("/api/tools", own).await.status(), StatusCode::CREATED);
    let wrong = server.post("/api/tools", with("/labels", json!({"trusted": true}))).await;
    assert_eq!(problem(wrong, 400).await["field"], "labels.trusted");
    for query in ["", "?dry_run=true"] {
        let twin = server.post(&format!("/api/tools{query}"), with("/name", json!("Weather"))).await;
        let twin = problem(twin, 409).await;
        assert_eq!(twin["code"], "tool_looks_alike");
        assert!(twin["detail"].as_str().unwrap().contains("`weather`"), "{twin}");
    }
}
