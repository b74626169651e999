//! The table of routes: one entry makes the route, its guard and its page in the OpenAPI document.
//!
//! What an operation takes is read off its handler's types (`inputs`), and its id is the handler's name, so neither can
//! differ from them. What it answers is declared here, and the tests compare every answer they get with it.
//! So no route of the API exists without a right, and the document, which lists itself, cannot drift from what is
//! served. The page's files are no routes: see `page`.

mod inputs;
mod operation;
mod schemas;

use std::sync::Arc;

use axum::Router;
use axum::handler::Handler;
use axum::middleware::from_fn_with_state;
use axum::routing::{MethodRouter, on};
use serde_json::{Map, Value, json};

use crate::access::{Guard, Right, require_right};
use crate::app::App;
use crate::input::{Parameters, check_parameters};

use self::operation::{Content, Method};
use self::schemas::{Schemas, inline_schemas};

pub(crate) use self::inputs::{Input, Inputs};
pub(crate) use self::operation::Operation;

pub(crate) struct Routes {
    app: App,
    router: Router<App>,
    paths: Map<String, Value>,
    schemas: Schemas,
}

impl Routes {
    pub(crate) fn new(app: App) -> Self {
        Self { app, router: Router::new(), paths: Map::new(), schemas: Schemas::default() }
    }

    pub(crate) fn add_route<H, T>(mut self, mut operation: Operation, handler: H) -> Self
    where
        H: Handler<T, App>,
        T: Inputs + 'static,
    {
        T::describe_all(&mut operation);
        let method_router: MethodRouter<App> = on(operation.method.to_filter(), handler);
        let guard = Guard { right: operation.right, for_user: operation.for_user };
        let guard = from_fn_with_state((self.app.clone(), guard), require_right);
        let method_router = if operation.method == Method::Get {
            method_router
        } else {
            let taken = Parameters {
                known: operation.path_parameter_names(),
                is_foreign: operation.is_foreign,
                // The form of a signed link is no JSON, and no route of the API.
                takes_body: operation.body.is_some() || !operation.path.starts_with("/api/"),
            };
            method_router.layer(from_fn_with_state(Arc::new(taken), check_parameters))
        };
        self.router = self.router.route(operation.path, method_router.layer(guard));
        let mut described = self.describe(&operation);
        described["operationId"] = json!(handler_name::<H>());
        let path = self.paths.entry(operation.path).or_insert_with(|| json!({}));
        path[operation.method.name()] = described;
        self
    }

    /// The routes, with the document that describes them.
    pub(crate) fn finish(self) -> (Router<App>, Value) {
        let mut document = json!({
            "openapi": "3.1.0",
            "info": {
                "title": "Helve",
                "version": env!("CARGO_PKG_VERSION"),
                "description": "A self-hosted tool-calling runtime for AI agents.",
                "license": {"name": "MIT OR Apache-2.0"}
            },
            "paths": self.paths,
            "components": {
                "securitySchemes": {
                    "token": {"type": "http", "scheme": "bearer"},
                    "page": {"type": "apiKey", "in": "cookie", "name": crate::access::COOKIE}
                }
            }
        });
        self.schemas.write_into(&mut document);
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
            "tags": [api_area(operation.path)],
            "parameters": parameters,
            "responses": {
                operation.status.to_string(): self.describe_answer(operation),
                "default": {
                    "description": "What went wrong, and what to do about it.",
                    "content": {"application/problem+json": {"schema": problem_schema()}}
                }
            }
        });
        for other in &operation.other_answers {
            let mut answer = self.describe_content(&other.content);
            answer["description"] = json!(other.meaning);
            described["responses"][other.status.to_string()] = answer;
        }
        if let Some(body) = operation.body {
            let schema = body(self.schemas.request_schemas());
            described["requestBody"] = json!({"required": !operation.is_body_optional, "content": {"application/json": {"schema": schema}}});
            if let Some(example) = &operation.example {
                described["requestBody"]["content"]["application/json"]["example"] = example.clone();
            }
        }
        for media_type in operation.body_types {
            let bytes = json!({"schema": {"type": "string", "format": "binary"}});
            described["requestBody"]["content"][media_type] = bytes;
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

    fn describe_answer(&mut self, operation: &Operation) -> Value {
        let mut answer = self.describe_content(&operation.content);
        answer["description"] = match operation.content.events {
            true => json!("Done; what the events are is in docs/reference/http.md."),
            false => json!("Done."),
        };
        for (name, meaning) in &operation.answer_headers {
            answer["headers"][name] = json!({"description": meaning, "schema": {"type": "string"}});
        }
        answer
    }

    fn describe_content(&mut self, content: &Content) -> Value {
        let mut described = json!({});
        if let Some(schema) = content.json {
            described["content"]["application/json"] =
                json!({"schema": schema(self.schemas.response_schemas())});
        }
        if content.events {
            described["content"]["text/event-stream"] = json!({"schema": {"type": "string"}});
        }
        if let Some(media_type) = content.other {
            described["content"][media_type] = json!({"schema": {"type": "string"}});
        }
        described
    }
}

/// The name of a handler's function, without its modules.
fn handler_name<H>() -> &'static str {
    std::any::type_name::<H>().rsplit("::").next().unwrap_or_default()
}

/// The area of the API that a path belongs to, as in `tools` of `/api/tools/{tool}`.
fn api_area(path: &str) -> &str {
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
