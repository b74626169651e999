//! Rows that run a tool of Helve's own: `internal://calculator`, under the row's name and guards.
//!
//! Which tools there are is a list that the binary gives; `internal` is no scheme that anything is sent to.

use std::collections::BTreeMap;
use std::sync::Arc;

use helve_tool::{CallContext, DefinitionError, Request, Tool, ToolFuture};
use helve_types::{Endpoint, ToolDefinition, ToolKind, ToolSpec};
use serde_json::{Value, json};

use crate::make::check_spec;

const SCHEME: &str = "internal://";

pub(crate) struct Internal {
    spec: ToolSpec,
    inner: Arc<dyn Tool>,
}

impl Tool for Internal {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, request: Request<'a>, cx: &'a CallContext) -> ToolFuture<'a> {
        self.inner.call(request, cx)
    }
}

/// The tool that an address names, if it names one.
pub(crate) fn name(url_template: &str) -> Option<&str> {
    let scheme = url_template.get(..SCHEME.len())?;
    scheme.eq_ignore_ascii_case(SCHEME).then(|| &url_template[SCHEME.len()..])
}

pub(crate) fn make(
    known: &BTreeMap<String, Arc<dyn Tool>>,
    name: &str,
    definition: &ToolDefinition,
) -> Result<Internal, DefinitionError> {
    let wrong = |field: &str, problem: String| Err(DefinitionError::new(field, problem));
    let Some(inner) = known.get(name) else {
        let names: Vec<&str> = known.keys().map(String::as_str).collect();
        let names = if names.is_empty() { "there are none".into() } else { names.join(", ") };
        return wrong("endpoint.url_template", format!("there is no `{SCHEME}{name}`; known: {names}"));
    };
    let held = inner.spec();
    let plain = Endpoint { timeout_ms: definition.endpoint.timeout_ms, ..plain_endpoint(definition) };
    if definition.endpoint != plain {
        return wrong(
            "endpoint",
            "a tool inside Helve takes nothing but `url_template` and `timeout_ms`".into(),
        );
    }
    if definition.response_transform.is_some() {
        return wrong("response_transform", "a tool inside Helve answers as it is".into());
    }
    if definition.kind == ToolKind::Streamable {
        return wrong("type", "a tool inside Helve gives its answer whole".into());
    }
    if definition.effect.is_some_and(|effect| effect != held.effect) {
        let effect = json!(held.effect);
        return wrong("effect", format!("`{SCHEME}{name}` is {effect}; leave it out"));
    }
    let own = definition.parameters.get("properties").and_then(Value::as_object);
    let spec = ToolSpec {
        title: definition.display_name.clone().or_else(|| held.title.clone()),
        tags: definition.tags.clone(),
        examples: if definition.examples.is_empty() {
            held.examples.clone()
        } else {
            definition.examples.clone()
        },
        on_unknown: definition.on_unknown.unwrap_or(held.on_unknown),
        check_tool: definition.check_tool.clone(),
        ..ToolSpec::new(
            &definition.name,
            &definition.description,
            if own.is_none_or(serde_json::Map::is_empty) {
                held.parameters.clone()
            } else {
                definition.parameters.clone()
            },
            held.effect,
        )
    };
    check_spec(&spec)?;
    Ok(Internal { spec, inner: inner.clone() })
}

/// The endpoint with everything left out but where it leads.
fn plain_endpoint(definition: &ToolDefinition) -> Endpoint {
    Endpoint {
        url_template: definition.endpoint.url_template.clone(),
        method: helve_types::Method::default(),
        query: BTreeMap::new(),
        headers: BTreeMap::new(),
        body: None,
        body_format: helve_types::BodyFormat::default(),
        auth: helve_types::Auth::default(),
        timeout_ms: None,
        redirects: 0,
        idempotency_header: None,
        busy_is_not_done: true,
    }
}
