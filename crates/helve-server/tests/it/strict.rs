//! What a request says and the server does not know is never passed over in silence.

use helve_store::TokenRights;
use reqwest::{Method, Response, StatusCode};
use serde_json::{Map, Value, json};

use crate::test_server::TestServer;

const CALL: &str = "0190163d-8694-739b-aea5-966c26f8ad91:1:0";
const NOTHING: &str = "0190163d-8694-739b-aea5-966c26f8ad91";

/// An operation that takes a body: its method, its address with names filled in, the body's schema, and whether it is foreign.
struct Operation {
    method: Method,
    path: String,
    schema: Value,
    is_foreign: bool,
}

async fn document(server: &TestServer) -> Value {
    server.get_json("/openapi.json").await
}

/// The addresses of all routes, with names filled in.
fn addresses(document: &Value, name: &str) -> Vec<(Method, String, Value)> {
    let mut all = vec![];
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let method = Method::from_bytes(method.to_uppercase().as_bytes()).unwrap();
            let named = path.split('/').map(|part| match part {
                "{run}" | "{conversation}" | "{approval}" | "{allowance}" if name != "%ff" => NOTHING,
                "{call}" if name != "%ff" => CALL,
                part if part.starts_with('{') => name,
                part => part,
            });
            all.push((method, named.collect::<Vec<_>>().join("/"), operation.clone()));
        }
    }
    all
}

/// With all that is pointed at put in its place.
fn inlined(schema: &Value, document: &Value) -> Value {
    match schema {
        Value::Object(terms) => {
            if let Some(pointer) = terms.get("$ref").and_then(Value::as_str) {
                return inlined(document.pointer(&pointer[1..]).unwrap(), document);
            }
            terms.iter().map(|(name, term)| (name.clone(), inlined(term, document))).collect()
        }
        Value::Array(items) => items.iter().map(|item| inlined(item, document)).collect(),
        other => other.clone(),
    }
}

async fn operations(server: &TestServer, name: &str) -> Vec<Operation> {
    let document = document(server).await;
    let taking = addresses(&document, name).into_iter().filter_map(|(method, path, operation)| {
        let schema = operation.pointer("/requestBody/content/application~1json/schema")?;
        let is_foreign = operation["x-helve-foreign"] == true;
        Some(Operation { method, path, schema: inlined(schema, &document), is_foreign })
    });
    taking.collect()
}

/// Bodies that fit the schema: together they have every field of every form.
fn samples(schema: &Value) -> Vec<Value> {
    if let Some(word) = schema.get("const") {
        return vec![word.clone()];
    }
    if let Some(words) = schema["enum"].as_array() {
        return vec![words.iter().find(|word| !word.is_null()).unwrap().clone()];
    }
    if let Some(several) = schema["oneOf"].as_array().or(schema["anyOf"].as_array()) {
        return several.iter().filter(|schema| schema["type"] != "null").flat_map(samples).collect();
    }
    let kind = schema["type"].as_str().or_else(|| schema["type"][0].as_str());
    match kind {
        Some("object") => {
            let mut bodies = vec![Map::new()];
            for (name, schema) in schema["properties"].as_object().into_iter().flatten() {
                let values = samples(schema);
                let before = bodies[0].clone();
                for (index, value) in values.into_iter().enumerate() {
                    if index == 0 {
                        bodies.iter_mut().for_each(|body| _ = body.insert(name.clone(), value.clone()));
                    } else {
                        bodies.push(
                            before
                                .iter()
                                .map(|(name, value)| (name.clone(), value.clone()))
                                .chain([(name.clone(), value)])
                                .collect(),
                        );
                    }
                }
            }
            bodies.into_iter().map(Value::Object).collect()
        }
        Some("array") => samples(&schema["items"]).into_iter().map(|item| json!([item])).collect(),
        Some("string") => vec![json!("x")],
        Some("integer" | "number") => vec![json!(schema["minimum"].as_i64().unwrap_or(1).max(1))],
        Some("boolean") => vec![json!(true)],
        _ => vec![json!("x")],
    }
}

/// The places of a body where the schema names the fields.
fn closed_places(schema: &Value, body: &Value, place: String, found: &mut Vec<String>) {
    if let Some(several) = schema["oneOf"].as_array().or(schema["anyOf"].as_array()) {
        for schema in several {
            closed_places(schema, body, place.clone(), found);
        }
    }
    match body {
        Value::Object(members) => {
            let Some(properties) = schema["properties"].as_object() else { return };
            let is_open = schema.get("additionalProperties").is_some_and(|others| *others != false);
            if !is_open && !found.contains(&place) {
                found.push(place.clone());
            }
            for (name, value) in members {
                if let Some(schema) = properties.get(name) {
                    closed_places(schema, value, format!("{place}/{name}"), found);
                }
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                closed_places(&schema["items"], item, format!("{place}/{index}"), found);
            }
        }
        _ => {}
    }
}

async fn send(server: &TestServer, operation: &Operation, body: &Value) -> Response {
    server.request(operation.method.clone(), &operation.path).json(body).send().await.unwrap()
}

/// A server with a tool that is a row, so that its address leads somewhere.
async fn server() -> TestServer {
    let server = TestServer::new([]).await;
    let row = json!({
        "name": "weather",
        "description": "Tells the weather.",
        "endpoint": {"url_template": "https://api.example.com/now", "method": "GET"}
    });
    assert_eq!(server.post("/api/tools", row).await.status(), StatusCode::CREATED);
    server
}

#[tokio::test]
async fn every_changing_route_refuses_an_unknown_field_at_every_level_of_its_body() {
    let server = server().await;
    let mut tried = 0;
    for operation in operations(&server, "weather").await.iter().filter(|operation| !operation.is_foreign) {
        for body in samples(&operation.schema) {
            let mut places = vec![];
            closed_places(&operation.schema, &body, String::new(), &mut places);
            for place in places {
                let mut odd = body.clone();
                odd.pointer_mut(&place).unwrap()["zzz_odd"] = json!(1);
                let answer = send(&server, operation, &odd).await;
                let (status, told) = (answer.status(), answer.json::<Value>().await.unwrap());
                let what = format!("{} {} at `{place}`: {odd} → {told}", operation.method, operation.path);
                assert_eq!(status, StatusCode::BAD_REQUEST, "{what}");
                assert!(told["detail"].as_str().unwrap().contains("zzz_odd"), "{what}");
                tried += 1;
            }
        }
    }
    assert!(tried > 40, "{tried} places");
}

#[tokio::test]
async fn every_changing_route_refuses_an_unknown_parameter() {
    let server = server().await;
    let document = document(&server).await;
    for (method, path, operation) in addresses(&document, "weather") {
        if method == Method::GET {
            continue;
        }
        let address = format!("{path}?zzz_odd=1");
        let answer = server.request(method.clone(), &address).json(&json!({})).send().await.unwrap();
        if operation["x-helve-foreign"] == true {
            assert_eq!(answer.headers()["x-helve-unknown-fields"], "?zzz_odd", "{method} {path}");
        } else {
            let status = answer.status();
            let told: Value = answer.json().await.unwrap();
            assert_eq!(
                (status, &told["code"]),
                (StatusCode::BAD_REQUEST, &json!("unknown_parameter")),
                "{path} {told}"
            );
        }
    }
}

#[tokio::test]
async fn a_route_without_a_body_refuses_one_that_says_something() {
    let server = server().await;
    let document = document(&server).await;
    let mut tried = 0;
    for (method, path, operation) in addresses(&document, "weather") {
        let takes_body = operation["requestBody"].is_object() || !path.starts_with("/api/");
        if method == Method::GET || takes_body {
            continue;
        }
        let send = |body: Value| server.request(method.clone(), &path).json(&body).send();
        let answer = send(json!({"force": true})).await.unwrap();
        let (status, told) = (answer.status(), answer.json::<Value>().await.unwrap());
        assert_eq!(
            (status, &told["code"]),
            (StatusCode::BAD_REQUEST, &json!("unknown_field")),
            "{method} {path}"
        );
        assert_eq!(told["field"], "force", "{told}");
        assert_ne!(send(json!([1])).await.unwrap().status(), StatusCode::OK, "{method} {path}");
        let empty = send(json!({})).await.unwrap().text().await.unwrap();
        assert!(!empty.contains("unknown_field") && !empty.contains("bad_body"), "{method} {path}: {empty}");
        tried += 1;
    }
    assert!(tried > 5, "{tried} routes");
}

#[tokio::test]
async fn a_picture_in_a_message_is_refused_and_not_dropped() {
    let server = server().await;
    let picture = json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}});
    for content in [json!([{"type": "text", "text": "What is this?"}, picture]), json!([picture]), json!(5)] {
        let messages = json!([{"role": "user", "content": content}]);
        let answer = server.post("/api/chat", json!({"messages": messages})).await;
        let (status, told) = (answer.status(), answer.json::<Value>().await.unwrap());
        assert_eq!(
            (status, &told["code"]),
            (StatusCode::BAD_REQUEST, &json!("unsupported_content")),
            "{told}"
        );
        assert!(told["detail"].as_str().unwrap().starts_with("message 1 has "), "{told}");
    }
}

#[tokio::test]
async fn a_misspelt_field_is_named_with_the_one_that_was_meant() {
    let server = TestServer::new([]).await;
    let approval = format!("/api/approvals/{NOTHING}");
    for (path, body, field, meant) in [
        (&*approval, json!({"decision": "approve", "argument": "{}"}), "argument", "`arguments`"),
        (&*approval, json!({"decision": "approve", "Arguments": "{}"}), "Arguments", "`arguments`"),
        (
            &*approval,
            json!({"decision": "approve", "always": {"within": "run", "Days": 1}}),
            "always.Days",
            "`days`",
        ),
        ("/api/runs", json!({"message": "hi", "modle": "x"}), "modle", "`model`"),
        ("/api/runs", json!({"message": "hi", "params": {"topp": 1}}), "params.topp", "`top_p`"),
        (
            "/api/runs",
            json!({"message": "hi", "tools": [{"type": "function", "function": {"name": "f", "parameter": {}}}]}),
            "tools[0].function.parameter",
            "`parameters`",
        ),
    ] {
        let answer = server.post(path, body.clone()).await;
        let (status, told) = (answer.status(), answer.json::<Value>().await.unwrap());
        assert_eq!(
            (status, &told["code"]),
            (StatusCode::BAD_REQUEST, &json!("unknown_field")),
            "{body}: {told}"
        );
        assert_eq!(told["field"], field, "{told}");
        assert!(told["detail"].as_str().unwrap().contains(&format!("did you mean {meant}?")), "{told}");
    }
}

#[tokio::test]
async fn routes_for_other_systems_name_what_they_do_not_know_and_go_on() {
    for (path, body, named) in [
        (
            "/api/chat",
            json!({"message": "hi", "modelTyp": "x", "config": {"colour": 1}}),
            "config.colour, modelTyp",
        ),
        (
            "/api/chat",
            json!({"messages": [{"role": "user", "content": "hi", "name": "mei"}], "tools": [{"name": "f", "title": "F"}]}),
            "messages[0].name, tools[0].title",
        ),
        (
            "/api/agent",
            json!({"message": "hi", "params": {"top_q": 4}, "Stream": false}),
            "Stream, params.top_q",
        ),
        ("/api/agent", json!({"message": "hi", "stream": false, "größe": 4}), "gr??e"),
    ] {
        let server = TestServer::new([crate::test_server::reply("say hello")]).await;
        let answer = server.post(path, body.clone()).await;
        assert_eq!(answer.status(), StatusCode::OK, "{body}");
        let mut names: Vec<_> =
            answer.headers()["x-helve-unknown-fields"].to_str().unwrap().split(", ").collect();
        names.sort_unstable();
        assert_eq!(names.join(", "), named, "{body}");
        let text = answer.text().await.unwrap();
        assert!(text.contains("hello"), "{text}");
    }
}

/// Words of the language that the server is written in.
const RUST: &[&str] = &[
    "struct",
    "enum",
    "u8",
    "u16",
    "u32",
    "u64",
    "i32",
    "i64",
    "f64",
    "usize",
    "tuple",
    "untagged",
    "variant",
    "newtype",
    "element",
    "nonzero",
    "option",
    "::",
    "invalid type",
    "invalid value",
    "expected one of",
    "deserialize",
    "unit value",
    "sequence",
    "map",
    "at line",
];

fn has_rust(detail: &str) -> Option<&'static str> {
    // Names of the API are quoted.
    let words: String = detail.split('`').step_by(2).collect::<Vec<_>>().join(" ").to_lowercase();
    let words: Vec<&str> = words.split(|c: char| !c.is_alphanumeric() && c != ':' && c != ' ').collect();
    let text = format!(" {} ", words.join(" "));
    RUST.iter()
        .copied()
        .find(|word| text.contains(&format!(" {word} ")) || (*word == "::" && text.contains("::")))
}

#[tokio::test]
async fn no_wrong_type_in_any_field_of_any_body_is_told_in_words_of_rust() {
    let server = server().await;
    let wrong = [
        json!(null),
        json!(true),
        json!(-7),
        json!(1.5),
        json!(1e300),
        json!("§"),
        json!([]),
        json!(["§"]),
        json!({}),
    ];
    let mut told = 0;
    for operation in operations(&server, "weather").await {
        let mut bodies: Vec<Value> = wrong.to_vec();
        for body in samples(&operation.schema) {
            let mut places = vec![];
            all_places(&body, String::new(), &mut places);
            for place in places {
                for value in &wrong {
                    let mut odd = body.clone();
                    *odd.pointer_mut(&place).unwrap() = value.clone();
                    bodies.push(odd);
                }
            }
            // By position, as the fields of a struct.
            bodies.push(
                body.as_object().map(|members| members.values().cloned().collect()).unwrap_or_default(),
            );
        }
        for body in bodies {
            let answer = send(&server, &operation, &body).await;
            if answer.status().is_success() {
                continue;
            }
            let what = format!("{} {}: {body}", operation.method, operation.path);
            assert_eq!(answer.headers()["content-type"], "application/problem+json", "{what}");
            let problem: Value = answer.json().await.unwrap();
            let detail = problem["detail"].as_str().unwrap();
            assert_eq!(has_rust(detail), None, "{what}: {detail}");
            assert!(!body.is_array() || problem["status"] != 500, "{what}");
            told += 1;
        }
    }
    assert!(told > 500, "{told}");
}

fn all_places(body: &Value, place: String, found: &mut Vec<String>) {
    if !place.is_empty() {
        found.push(place.clone());
    }
    match body {
        Value::Object(members) => {
            members.iter().for_each(|(name, value)| all_places(value, format!("{place}/{name}"), found));
        }
        Value::Array(items) => {
            items
                .iter()
                .enumerate()
                .for_each(|(index, item)| all_places(item, format!("{place}/{index}"), found));
        }
        _ => {}
    }
}

#[tokio::test]
async fn no_body_is_read_by_position() {
    let server = server().await;
    for operation in operations(&server, "weather").await {
        for body in samples(&operation.schema) {
            let Some(members) = body.as_object() else { continue };
            let list: Value = members.values().cloned().collect();
            let answer = send(&server, &operation, &list).await;
            assert_eq!(
                answer.status(),
                StatusCode::BAD_REQUEST,
                "{} {}: {list}",
                operation.method,
                operation.path
            );
        }
    }
}

#[tokio::test]
async fn no_parameter_is_told_in_words_of_rust() {
    let server = server().await;
    let document = document(&server).await;
    for (method, path, operation) in addresses(&document, "weather") {
        let taken = operation["parameters"].as_array().unwrap();
        for name in taken.iter().filter(|one| one["in"] == "query").map(|one| one["name"].as_str().unwrap()) {
            for value in ["x", "-1", "1.5", "%ff", "99999999999999999999", ""] {
                let address = format!("{path}?{name}={value}");
                let answer = server.request(method.clone(), &address).json(&json!({})).send().await.unwrap();
                if answer.status().is_success()
                    || answer.headers()["content-type"] != "application/problem+json"
                {
                    assert_ne!(answer.status(), StatusCode::INTERNAL_SERVER_ERROR, "{address}");
                    continue;
                }
                let problem: Value = answer.json().await.unwrap();
                let detail = problem["detail"].as_str().unwrap();
                assert_eq!(has_rust(detail), None, "{address}: {detail}");
            }
        }
    }
}

#[tokio::test]
async fn every_no_of_the_api_is_a_problem_document() {
    let server = server().await;
    let document = document(&server).await;
    let problem = |answer: &Response| answer.headers()["content-type"] == "application/problem+json";
    for (method, path, _) in addresses(&document, "%ff") {
        if path.contains("%ff") && path.starts_with("/api/") {
            let answer = server.request(method.clone(), &path).json(&json!({})).send().await.unwrap();
            assert_eq!(answer.status(), StatusCode::BAD_REQUEST, "{method} {path}");
            assert!(problem(&answer), "{method} {path}");
        }
    }
    for (method, path, operation) in addresses(&document, "weather") {
        if operation["requestBody"].is_object() {
            let answer = server.request(method.clone(), &path).body("x").send().await.unwrap();
            assert_eq!(answer.status(), StatusCode::UNSUPPORTED_MEDIA_TYPE, "{method} {path}");
            assert!(problem(&answer), "{method} {path}");
            let large = server.request(method.clone(), &path).header("content-type", "application/json");
            let answer = large.body(" ".repeat(25 << 20)).send().await;
            // The rest of a body that is too large is not taken.
            if let Ok(answer) = answer {
                assert_eq!(answer.status(), StatusCode::PAYLOAD_TOO_LARGE, "{method} {path}");
                assert!(problem(&answer), "{method} {path}");
            }
            let broken = server.request(method.clone(), &path).header("content-type", "application/json");
            let answer = broken.body("{\"a\": ").send().await.unwrap();
            assert_eq!(answer.status(), StatusCode::BAD_REQUEST, "{method} {path}");
            assert!(problem(&answer), "{method} {path}");
        }
    }
    for path in ["/api/nothing", "/api/runs/%ff", "/api/%ff"] {
        let answer = server.get(path).await;
        assert!(answer.status().is_client_error() && problem(&answer), "{path}: {}", answer.status());
    }
}

/// With a token, since without one everybody on this machine is the operator.
#[tokio::test]
async fn every_route_that_has_a_user_takes_it_in_the_same_way() {
    let server = TestServer::new([]).await;
    let chat = server.token("back", TokenRights::Chat).await;
    let document = document(&server).await;
    let mut tried = 0;
    for (method, path, operation) in addresses(&document, NOTHING) {
        let taken = operation["parameters"].as_array().unwrap();
        let is_admin_route = operation["x-helve-right"] == "admin";
        if is_admin_route || !taken.iter().any(|one| one["in"] == "query" && one["name"] == "user") {
            continue;
        }
        for (user, refused) in [("back", false), ("mei", true)] {
            let address = format!("{path}?user={user}");
            let request = server.request(method.clone(), &address).bearer_auth(&chat);
            let answer = request
                .json(&json!({"message": "", "tool": "x", "decision": "reject"}))
                .send()
                .await
                .unwrap();
            assert_eq!(answer.status() == StatusCode::FORBIDDEN, refused, "{method} {address}");
        }
        tried += 1;
    }
    assert!(tried > 20, "{tried} routes");
}
