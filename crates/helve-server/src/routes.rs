//! The table of routes: one entry makes the route, its guard and its page in the OpenAPI document.
//!
//! What an operation takes is read off its handler's types (`inputs`), and its id is the handler's name, so neither can
//! be told otherwise. What it answers is declared here, and the tests compare every answer they get with it.
//! So no route of the API exists without a right, and the document, which lists itself, cannot drift from what is
//! served. The page's files are no routes: see `page`.

mod inputs;

use std::sync::Arc;

use axum::Router;
use axum::handler::Handler;
use axum::middleware::from_fn_with_state;
use axum::routing::{MethodFilter, MethodRouter, on};
use schemars::JsonSchema;
use schemars::generate::{SchemaGenerator, SchemaSettings};
use serde_json::{Map, Value, json};

use crate::access::{Guard, Right, need};
use crate::app::App;
use crate::input::{Parameters, check_parameters};

pub(crate) use self::inputs::{Input, Inputs};

pub(crate) struct Routes {
    app: App,
    router: Router<App>,
    paths: Map<String, Value>,
    schemas: SchemaGenerator,
}

/// The methods that the API has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Method {
    Get,
    Post,
    Put,
    Patch,
    Delete,
}

impl Method {
    fn filter(self) -> MethodFilter {
        match self {
            Self::Get => MethodFilter::GET,
            Self::Post => MethodFilter::POST,
            Self::Put => MethodFilter::PUT,
            Self::Patch => MethodFilter::PATCH,
            Self::Delete => MethodFilter::DELETE,
        }
    }

    /// What the document calls it.
    fn name(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::Post => "post",
            Self::Put => "put",
            Self::Patch => "patch",
            Self::Delete => "delete",
        }
    }
}

/// What the document says about an operation.
pub(crate) struct Operation {
    method: Method,
    path: &'static str,
    right: Right,
    summary: &'static str,
    query: Option<fn(&mut SchemaGenerator) -> Value>,
    /// Takes `?user=`, whoever else it asks for.
    for_user: bool,
    /// Other systems' clients call it: what it does not know is named in its answer and not refused.
    is_foreign: bool,
    body: Option<fn(&mut SchemaGenerator) -> Value>,
    /// Whether the body may be left out.
    is_body_optional: bool,
    /// A body that it takes.
    example: Option<Value>,
    /// Headers that it reads.
    headers: Vec<Header>,
    /// Headers that its answer has.
    answer_headers: Vec<Header>,
    /// What it may answer with: one or both of JSON and events, or nothing.
    json: Option<fn(&mut SchemaGenerator) -> Value>,
    events: bool,
    /// Or something that is neither, of this media type.
    bytes: Option<&'static str>,
    status: u16,
    /// Another status that is no problem, and what it means.
    or_status: Option<(u16, &'static str)>,
}

/// A header and what it is for.
type Header = (&'static str, &'static str);

impl Operation {
    pub(crate) fn get(path: &'static str, right: Right, summary: &'static str) -> Self {
        Self::new(Method::Get, path, right, summary)
    }

    pub(crate) fn post(path: &'static str, right: Right, summary: &'static str) -> Self {
        Self::new(Method::Post, path, right, summary)
    }

    pub(crate) fn put(path: &'static str, right: Right, summary: &'static str) -> Self {
        Self::new(Method::Put, path, right, summary)
    }

    pub(crate) fn patch(path: &'static str, right: Right, summary: &'static str) -> Self {
        Self::new(Method::Patch, path, right, summary)
    }

    pub(crate) fn delete(path: &'static str, right: Right, summary: &'static str) -> Self {
        Self::new(Method::Delete, path, right, summary)
    }

    fn new(method: Method, path: &'static str, right: Right, summary: &'static str) -> Self {
        Self {
            method,
            path,
            right,
            summary,
            query: None,
            for_user: false,
            is_foreign: false,
            body: None,
            is_body_optional: false,
            example: None,
            headers: vec![],
            answer_headers: vec![],
            json: None,
            events: false,
            bytes: None,
            status: 200,
            or_status: None,
        }
    }

    /// Acts for a user, who can be named in the address.
    pub(crate) fn for_user(self) -> Self {
        Self { for_user: true, ..self }
    }

    /// A body that it takes. A test compares it with the schema.
    pub(crate) fn example(self, body: Value) -> Self {
        Self { example: Some(body), ..self }
    }

    pub(crate) fn gives<T: JsonSchema>(self) -> Self {
        Self { json: Some(schema::<T>), ..self }
    }

    pub(crate) fn gives_events(self) -> Self {
        Self { events: true, ..self }
    }

    pub(crate) fn gives_bytes(self, media_type: &'static str) -> Self {
        Self { bytes: Some(media_type), ..self }
    }

    /// The names of what it takes in its address.
    fn parameters(&self) -> Vec<String> {
        let schema = self.query.map(|query| query(&mut inline_schemas())).unwrap_or_default();
        let named = schema.get("properties").and_then(Value::as_object).into_iter().flat_map(Map::keys);
        named.cloned().chain(self.for_user.then(|| "user".to_owned())).collect()
    }

    pub(crate) fn status(self, status: u16) -> Self {
        Self { status, ..self }
    }

    pub(crate) fn or_status(self, status: u16, meaning: &'static str) -> Self {
        Self { or_status: Some((status, meaning)), ..self }
    }

    pub(crate) fn header(mut self, name: &'static str, meaning: &'static str) -> Self {
        self.headers.push((name, meaning));
        self
    }

    /// A header of its answer.
    pub(crate) fn answer_header(mut self, name: &'static str, meaning: &'static str) -> Self {
        self.answer_headers.push((name, meaning));
        self
    }

    /// What all have in common that start a run.
    pub(crate) fn starts_run(mut self) -> Self {
        self.headers
            .push(("Idempotency-Key", "The same key with the same request finds the run of the first one."));
        self.answer_headers.extend([
            ("X-Helve-Run", "The run."),
            ("X-Helve-Conversation", "Its conversation, where the server keeps one."),
            (
                "Idempotency-Replayed",
                "`true` if the run was started by an earlier request with the same key.",
            ),
        ]);
        self
    }
}

fn schema<T: JsonSchema>(schemas: &mut SchemaGenerator) -> Value {
    schemas.subschema_for::<T>().to_value()
}

impl Routes {
    pub(crate) fn new(app: App) -> Self {
        let settings = SchemaSettings::draft2020_12().with(|settings| {
            settings.definitions_path = "/components/schemas".into();
        });
        Self { app, router: Router::new(), paths: Map::new(), schemas: settings.into_generator() }
    }

    pub(crate) fn add<H, T>(mut self, mut operation: Operation, handler: H) -> Self
    where
        H: Handler<T, App>,
        T: Inputs + 'static,
    {
        T::describe_all(&mut operation);
        let method_router: MethodRouter<App> = on(operation.method.filter(), handler);
        let guard = Guard { right: operation.right, for_user: operation.for_user };
        let guard = from_fn_with_state((self.app.clone(), guard), need);
        let method_router = if operation.method == Method::Get {
            method_router
        } else {
            let taken = Parameters {
                known: operation.parameters(),
                is_foreign: operation.is_foreign,
                // The form of a signed link is no JSON, and no route of the API.
                takes_body: operation.body.is_some() || !operation.path.starts_with("/api/"),
            };
            method_router.layer(from_fn_with_state(Arc::new(taken), check_parameters))
        };
        self.router = self.router.route(operation.path, method_router.layer(guard));
        let mut described = self.describe(&operation);
        described["operationId"] = json!(name_of::<H>());
        let path = self.paths.entry(operation.path).or_insert_with(|| json!({}));
        path[operation.method.name()] = described;
        self
    }

    /// The routes, with the document that describes them.
    pub(crate) fn finish(mut self) -> (Router<App>, Value) {
        let schemas = self.schemas.take_definitions(true);
        let document = json!({
            "openapi": "3.1.0",
            "info": {
                "title": "Helve",
                "version": env!("CARGO_PKG_VERSION"),
                "description": "A self-hosted tool-calling runtime for AI agents.",
                "license": {"name": "MIT OR Apache-2.0"}
            },
            "paths": self.paths,
            "components": {
                "schemas": schemas,
                "securitySchemes": {
                    "token": {"type": "http", "scheme": "bearer"},
                    "page": {"type": "apiKey", "in": "cookie", "name": crate::access::COOKIE}
                }
            }
        });
        (self.router, document)
    }

    fn describe(&mut self, operation: &Operation) -> Value {
        let mut parameters = path_parameters(operation.path);
        if let Some(query) = operation.query {
            parameters.extend(query_parameters(&query(&mut inline_schemas())));
        }
        if operation.for_user {
            parameters.push(json!({"name": "user", "in": "query", "required": false,
                "description": "Whom it is done for, where the token may act for that user.",
                "schema": {"type": "string"}}));
        }
        parameters.extend(operation.headers.iter().map(|(name, meaning)| {
            json!({"name": name, "in": "header", "required": false, "description": meaning,
                "schema": {"type": "string"}})
        }));
        let mut described = json!({
            "summary": operation.summary,
            "tags": [area(operation.path)],
            "parameters": parameters,
            "responses": {
                operation.status.to_string(): self.answer(operation),
                "default": {
                    "description": "What went wrong, and what to do about it.",
                    "content": {"application/problem+json": {"schema": problem_schema()}}
                }
            }
        });
        if let Some((status, meaning)) = operation.or_status {
            described["responses"][status.to_string()] = json!({"description": meaning});
        }
        if let Some(body) = operation.body {
            let schema = body(&mut self.schemas);
            described["requestBody"] = json!({"required": !operation.is_body_optional, "content": {"application/json": {"schema": schema}}});
            if let Some(example) = &operation.example {
                described["requestBody"]["content"]["application/json"]["example"] = example.clone();
            }
        }
        if operation.is_foreign {
            described["x-helve-foreign"] = json!(true);
        }
        if operation.right != Right::Public {
            described["security"] = json!([{"token": []}, {"page": []}]);
            described["x-helve-right"] = json!(format!("{:?}", operation.right).to_lowercase());
        }
        described
    }

    fn answer(&mut self, operation: &Operation) -> Value {
        let mut answer = json!({"description": "Done."});
        if let Some(schema) = operation.json {
            answer["content"]["application/json"] = json!({"schema": schema(&mut self.schemas)});
        }
        if operation.events {
            answer["description"] = json!("Done; what the events are is in docs/reference/http.md.");
            answer["content"]["text/event-stream"] = json!({"schema": {"type": "string"}});
        }
        if let Some(media_type) = operation.bytes {
            answer["content"][media_type] = json!({"schema": {"type": "string"}});
        }
        for (name, meaning) in &operation.answer_headers {
            answer["headers"][name] = json!({"description": meaning, "schema": {"type": "string"}});
        }
        answer
    }
}

/// For parameters, which cannot point elsewhere.
fn inline_schemas() -> SchemaGenerator {
    SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true).into_generator()
}

/// The name of a handler's function, without its modules.
fn name_of<H>() -> &'static str {
    std::any::type_name::<H>().rsplit("::").next().unwrap_or_default()
}

/// The area of the API that a path belongs to, as in `tools` of `/api/tools/{tool}`.
fn area(path: &str) -> &str {
    let mut parts = path.split('/').filter(|part| !part.is_empty());
    match parts.next() {
        Some("api") => parts.next().unwrap_or("server"),
        Some("approvals") => "approvals",
        _ => "server",
    }
}

fn path_parameters(path: &str) -> Vec<Value> {
    let names = path.split('{').skip(1).filter_map(|rest| rest.split('}').next());
    names
        .filter(|name| !name.starts_with('*'))
        .map(|name| json!({"name": name, "in": "path", "required": true, "schema": {"type": "string"}}))
        .collect()
}

/// The members of an object's schema, each as a parameter of the address.
fn query_parameters(schema: &Value) -> Vec<Value> {
    let members = schema.get("properties").and_then(Value::as_object);
    let member = |(name, schema): (&String, &Value)| {
        let description = schema.get("description").cloned().unwrap_or_default();
        json!({"name": name, "in": "query", "required": false, "description": description, "schema": schema})
    };
    members.into_iter().flatten().map(member).collect()
}

fn problem_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "type": {"type": "string"},
            "title": {"type": "string"},
            "status": {"type": "integer"},
            "code": {"type": "string"},
            "detail": {"type": "string"},
            "request_id": {"type": "string"}
        }
    })
}
