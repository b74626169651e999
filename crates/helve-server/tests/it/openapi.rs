//! The document says what is so: of each operation, of each example, and of every answer that any test here gets.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, OnceLock};

use axum::body::{Body, to_bytes};
use axum::extract::{MatchedPath, Request, State};
use axum::http::header;
use axum::middleware::Next;
use axum::response::Response;
use jsonschema::Validator;
use serde_json::{Value, json};

use crate::test_server::TestServer;

/// The document, which is the same for every server.
static DOCUMENT: OnceLock<Value> = OnceLock::new();

/// No answer of a test is larger.
const ANSWER_BYTES_MAX: usize = 64 << 20;

/// Validators by their schemas: to make one takes much longer than to ask it.
static VALIDATORS: Mutex<BTreeMap<String, Arc<Validator>>> = Mutex::new(BTreeMap::new());

/// A schema of the document, which may point to its components.
fn validator(document: &Value, schema: &Value) -> Arc<Validator> {
    let key = schema.to_string();
    if let Some(known) = VALIDATORS.lock().unwrap().get(&key) {
        return known.clone();
    }
    let schema = json!({"allOf": [schema], "components": document["components"]});
    let made = Arc::new(jsonschema::options().build(&schema).unwrap());
    VALIDATORS.lock().unwrap().insert(key, made.clone());
    made
}

/// What does not fit, in a few words each.
fn compare(document: &Value, schema: &Value, value: &Value) -> Vec<String> {
    let validator = validator(document, schema);
    validator.iter_errors(value).map(|error| format!("`{}`: {error}", error.instance_path())).collect()
}

/// Answers that are not as the document says.
#[derive(Clone, Default)]
pub(crate) struct Misfits(Arc<Mutex<Vec<String>>>);

impl Misfits {
    /// Takes the document to compare answers with.
    pub(crate) fn read_document(&self, text: &str) {
        DOCUMENT.get_or_init(|| serde_json::from_str(text).unwrap());
    }

    fn add(&self, operation: &str, what: &str) {
        self.0.lock().unwrap().push(format!("{operation}: {what}"));
    }

    pub(crate) fn assert_none(&self) {
        let found = self.0.lock().unwrap();
        assert!(found.is_empty(), "answers that /openapi.json does not describe:\n{}", found.join("\n"));
    }
}

/// Whether a content has a media type, by its name or by a range such as `*/*`.
fn describes_type(content: &Value, kind: &str) -> bool {
    let range = kind.split_once('/').map(|(group, _)| format!("{group}/*")).unwrap_or_default();
    [kind, &range, "*/*"].iter().any(|key| content.get(key).is_some())
}

/// Compares an answer with what the document says about it.
pub(crate) async fn check_answer(State(misfits): State<Misfits>, request: Request, next: Next) -> Response {
    let path = request.extensions().get::<MatchedPath>().map(|path| path.as_str().to_owned());
    let method = request.method().as_str().to_ascii_lowercase();
    let answer = next.run(request).await;
    let (Some(document), Some(path)) = (DOCUMENT.get(), path) else { return answer };
    let Some(operation) = document["paths"][&path].get(&method) else { return answer };
    let status = answer.status();
    let name = format!("{method} {path} {status}");
    let described = operation["responses"].get(status.as_str()).unwrap_or_else(|| {
        if status.is_success() || status.is_redirection() {
            misfits.add(&name, "the status is not described");
        }
        &operation["responses"]["default"]
    });
    let kind =
        answer.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().to_owned();
    let content = &described["content"];
    if kind.is_empty() {
        return answer;
    }
    if !kind.ends_with("json") {
        if !describes_type(content, &kind) && !status.is_client_error() {
            misfits.add(&name, &format!("the type `{kind}` is not described"));
        }
        return answer;
    }
    let Some(schema) = content.get(&kind).map(|content| &content["schema"]) else {
        misfits.add(&name, &format!("the type `{kind}` is not described"));
        return answer;
    };
    let (head, body) = answer.into_parts();
    let body = to_bytes(body, ANSWER_BYTES_MAX).await.unwrap();
    let value: Value = serde_json::from_slice(&body).unwrap();
    for misfit in compare(document, schema, &value) {
        misfits.add(&name, &misfit);
    }
    Response::from_parts(head, Body::from(body))
}

/// Each operation with its method and path.
fn operations(document: &Value) -> BTreeMap<String, Value> {
    let paths = document["paths"].as_object().unwrap();
    let operations = paths.iter().flat_map(|(path, methods)| {
        let methods = methods.as_object().unwrap();
        methods.iter().map(move |(method, operation)| (format!("{method} {path}"), operation.clone()))
    });
    operations.collect()
}

#[tokio::test]
async fn every_operation_has_an_id_of_its_own_and_an_area() {
    let server = TestServer::new([]).await;
    let document = server.get_json("/openapi.json").await;
    let mut ids = BTreeSet::new();
    for (name, operation) in operations(&document) {
        let id = operation["operationId"].as_str().unwrap();
        assert!(id.chars().all(|char| char.is_ascii_lowercase() || char == '_'), "{name}: {id}");
        assert!(ids.insert(id.to_owned()), "{name}: another operation is called `{id}`");
        let tags = operation["tags"].as_array().unwrap();
        assert!(tags.len() == 1 && !tags[0].as_str().unwrap().is_empty(), "{name}: {tags:?}");
    }
    assert_eq!(document["paths"]["/api/tools/{tool}"]["put"]["operationId"], "replace_tool");
    assert_eq!(document["paths"]["/api/tools/{tool}"]["put"]["tags"], json!(["tools"]));
}

#[tokio::test]
async fn every_body_has_an_example_that_fits_its_schema() {
    let server = TestServer::new([]).await;
    let document = server.get_json("/openapi.json").await;
    let mut compared = 0;
    for (name, operation) in operations(&document) {
        let Some(content) = operation["requestBody"]["content"].get("application/json") else { continue };
        let example = content.get("example").unwrap_or_else(|| panic!("{name} has no example"));
        let found = compare(&document, &content["schema"], example);
        assert!(found.is_empty(), "the example of {name} does not fit: {found:?}");
        compared += 1;
    }
    assert!(compared >= 16, "{compared}");
}

#[tokio::test]
async fn what_a_handler_takes_is_what_the_document_says() {
    let server = TestServer::new([]).await;
    let document = server.get_json("/openapi.json").await;
    let operations = operations(&document);
    let body = |name: &str| operations[name]["requestBody"]["content"]["application/json"]["schema"].clone();
    assert_eq!(body("put /api/tools/{tool}")["$ref"], "#/components/schemas/ToolDefinition");
    assert_eq!(body("post /api/runs")["$ref"], "#/components/schemas/RunBody");
    assert_eq!(operations["post /api/tool-system/reset"]["requestBody"]["required"], false);
    assert_eq!(operations["post /api/chat"]["x-helve-foreign"], true);
    let parameters = operations["get /api/executions"]["parameters"].as_array().unwrap();
    assert!(parameters.iter().any(|parameter| parameter["name"] == "tool" && parameter["in"] == "query"));
    assert!(operations["delete /api/tools/{tool}"].get("requestBody").is_none());
}

#[tokio::test]
async fn an_answer_that_the_document_does_not_describe_is_noticed() {
    let server = TestServer::new([]).await;
    let document = server.get_json("/openapi.json").await;
    let schema = &document["paths"]["/api/session"]["get"]["responses"]["200"]["content"]["application/json"];
    let whole = json!({"needed": true, "signed_in": false, "ways": {"token": true, "password": false}});
    assert_eq!(compare(&document, &schema["schema"], &whole), [""; 0]);
    assert_ne!(compare(&document, &schema["schema"], &json!({"needed": "yes"})), [""; 0]);
}

#[tokio::test]
async fn the_reference_page_names_every_address() {
    let page = include_str!("../../../../docs/reference/http.md");
    // Parameters may have other names on the page.
    let plain = |text: &str| {
        let mut parts = text.split('{');
        let first = parts.next().unwrap_or_default().to_owned();
        parts.fold(first, |joined, part| joined + "{}" + part.split_once('}').map_or("", |(_, rest)| rest))
    };
    let page: Vec<String> = page.split('`').skip(1).step_by(2).map(plain).collect();
    let server = TestServer::new([]).await;
    let document = server.get_json("/openapi.json").await;
    let missing = document["paths"].as_object().unwrap().keys().filter(|path| {
        let path = plain(path);
        let is_named = |span: &String| span.split([' ', '?']).any(|word| word == path);
        !page.iter().any(is_named)
    });
    assert_eq!(missing.collect::<Vec<_>>(), Vec::<&String>::new(), "docs/reference/http.md lacks these");
}
