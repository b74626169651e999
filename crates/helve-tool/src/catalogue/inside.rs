//! Rows that lead to a tool inside Helve: another name, description and guards for what is there already.
//!
//! `internal` is no scheme that anything is sent to, so such a row has nothing to say about HTTP.

use std::sync::Arc;

use helve_types::{
    Auth, BodyFormat, Effect, Endpoint, Flow, Method, Notice, ToolDefinition, ToolKind, ToolSpec,
};
use serde_json::Value;

use super::{BuiltTool, DefinitionError};
use crate::{CacheScope, CallContext, Registered, Request, Tool, ToolError, ToolFuture};

pub(super) const SCHEME: &str = "internal://";

/// The tool inside Helve that a definition leads to.
pub(super) fn target_name(definition: &ToolDefinition) -> Option<&str> {
    let (scheme, name) = definition.endpoint.url_template.split_at_checked(SCHEME.len())?;
    scheme.eq_ignore_ascii_case(SCHEME).then_some(name)
}

struct InternalTool {
    spec: ToolSpec,
    inner: Arc<dyn Tool>,
    target: Arc<Registered>,
}

impl Tool for InternalTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn preview(&self, request: Request<'_>, cx: &CallContext) -> Option<String> {
        self.inner.preview(request, cx)
    }

    fn told_ids(&self, cx: &CallContext) -> Vec<String> {
        self.inner.told_ids(cx)
    }

    fn call<'a>(&'a self, request: Request<'a>, cx: &'a CallContext) -> ToolFuture<'a> {
        if !self.target.is_enabled() {
            let told = format!("`{}` is switched off; go on without it", self.target.spec.name);
            return Box::pin(std::future::ready(Err(ToolError::Declined(told))));
        }
        self.inner.call(request, cx)
    }
}

/// The target under the definition's name, with its own guards and what the definition says about them.
pub(super) fn build_internal_tool(
    definition: &ToolDefinition,
    target: &Arc<Registered>,
) -> Result<BuiltTool, DefinitionError> {
    let Some(inner) = target.tool.clone() else {
        return Err(DefinitionError::new("endpoint.url_template", Notice::definition_inside_of_client()));
    };
    check(definition)?;
    check_labels(definition, target)?;
    check_parameters(&definition.parameters, target)?;
    let spec = build_spec(definition, &target.spec, target.flow.clone());
    let mut guards = target.guarding.settings.clone().with_definition(definition, spec.effect)?;
    if is_cached_per_user(target) {
        if definition.cache.is_some() {
            return Err(DefinitionError::new("cache", Notice::definition_inside_own_answers()));
        }
        // What ends the target's stored answers does not know this name.
        guards.cache = None;
    }
    Ok((Arc::new(InternalTool { spec, inner, target: target.clone() }), guards))
}

/// Whether what the target says is for one user alone.
fn is_cached_per_user(target: &Registered) -> bool {
    target.guarding.settings.cache.is_some_and(|policy| policy.scope != CacheScope::Everyone)
}

/// Whether a definition says anything that only a call over HTTP could obey.
fn check(definition: &ToolDefinition) -> Result<(), DefinitionError> {
    // Without `..`, so that a new field is not forgotten here.
    let Endpoint {
        url_template: _,
        method,
        query,
        headers,
        body,
        body_format,
        auth,
        timeout_ms: _,
        redirects,
        idempotency_header,
        caller,
        busy_is_not_done,
    } = &definition.endpoint;
    let statuses = definition.breaker.as_ref().is_some_and(|terms| !terms.failure_statuses.is_empty());
    let said = [
        ("endpoint.method", *method != Method::default()),
        ("endpoint.query", !query.is_empty()),
        ("endpoint.headers", !headers.is_empty()),
        ("endpoint.body", body.is_some()),
        ("endpoint.body_format", *body_format != BodyFormat::default()),
        ("endpoint.auth", *auth != Auth::None),
        ("endpoint.redirects", *redirects > 0),
        ("endpoint.idempotency_header", idempotency_header.as_ref().is_some_and(|name| !name.is_empty())),
        ("endpoint.caller", caller.is_some()),
        ("endpoint.busy_is_not_done", !busy_is_not_done),
        ("breaker.failure_statuses", statuses),
        ("response_transform", definition.response_transform.is_some()),
        ("type", definition.kind == ToolKind::Streamable),
    ];
    match said.into_iter().find(|(_, said)| *said) {
        Some((field, _)) => Err(DefinitionError::new(field, Notice::definition_inside_no_http())),
        None => Ok(()),
    }
}

fn build_spec(definition: &ToolDefinition, target: &ToolSpec, flow: Flow) -> ToolSpec {
    let properties = definition.parameters.get("properties").and_then(Value::as_object);
    let has_own = properties.is_some_and(|properties| !properties.is_empty());
    // Its examples are about its parameters.
    let (parameters, examples) = match has_own {
        true => (&definition.parameters, &definition.examples),
        false if definition.examples.is_empty() => (&target.parameters, &target.examples),
        false => (&target.parameters, &definition.examples),
    };
    let mut tags = definition.tags.clone();
    // Rules about a kind of tools hold for it under any name.
    tags.extend(target.tags.iter().filter(|tag| !definition.tags.contains(tag)).cloned());
    ToolSpec {
        name: definition.name.clone(),
        title: definition.display_name.clone(),
        description: definition.description.clone(),
        parameters: parameters.clone(),
        effect: definition.effect.map_or(target.effect, |said| more_severe_effect(said, target.effect)),
        tags,
        examples: examples.clone(),
        client: false,
        on_unknown: definition.on_unknown.unwrap_or(target.on_unknown),
        check_tool: definition.check_tool.clone().or_else(|| target.check_tool.clone()),
        leads_to: Some(target.name.clone()),
        flow,
        labels: definition.labels,
    }
}

/// Whether what fits the definition's parameters fits the target's: its arguments go there as they are.
fn check_parameters(own: &Value, target: &Registered) -> Result<(), DefinitionError> {
    let (name, theirs) = (&target.spec.name, &target.spec.parameters);
    let Some(fields) = schema_properties(own).filter(|fields| !fields.is_empty()) else { return Ok(()) };
    let Some(known) = schema_properties(theirs) else { return Ok(()) };
    let wrong = |field: String, problem: Notice| Err(DefinitionError::new(field, problem));
    let takes_others = theirs.get("additionalProperties").is_some_and(|given| *given != Value::Bool(false));
    for (field, schema) in fields {
        let at = format!("parameters.properties.{field}");
        let Some(meant) = known.get(field) else {
            if takes_others {
                continue;
            }
            let names: Vec<_> = known.keys().map(|name| format!("`{name}`")).collect();
            return wrong(at, Notice::definition_inside_no_argument(name, &names.join(", ")));
        };
        if let Some((said, taken)) = schema_types(schema).zip(schema_types(meant))
            && let Some(other) = said.iter().find(|kind| !accepts_type(&taken, kind))
        {
            let problem = Notice::definition_inside_wrong_type(name, other, &taken.join(", "));
            return wrong(format!("{at}.type"), problem);
        }
    }
    let required = |schema: &'_ Value| -> Vec<String> {
        let names = schema.get("required").and_then(Value::as_array).into_iter().flatten();
        names.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let own_required = required(own);
    match required(theirs).iter().find(|needed| !own_required.contains(needed)) {
        Some(needed) => {
            wrong("parameters.required".into(), Notice::definition_inside_needs_argument(name, needed))
        }
        None => Ok(()),
    }
}

fn schema_properties(schema: &Value) -> Option<&serde_json::Map<String, Value>> {
    schema.get("properties").and_then(Value::as_object)
}

/// The types that a schema says, if it says any.
fn schema_types(schema: &Value) -> Option<Vec<&str>> {
    match schema.get("type")? {
        Value::String(kind) => Some(vec![kind]),
        Value::Array(kinds) => Some(kinds.iter().filter_map(Value::as_str).collect()),
        _ => None,
    }
}

fn accepts_type(taken: &[&str], kind: &str) -> bool {
    taken.contains(&kind) || kind == "integer" && taken.contains(&"number")
}

/// What the target brings in and carries out, it does under any name.
fn check_labels(definition: &ToolDefinition, target: &Registered) -> Result<(), DefinitionError> {
    let (said, flow) = (definition.labels, &target.flow);
    let lowered = [
        ("labels.private", said.private == Some(false) && flow.private),
        ("labels.untrusted", said.untrusted == Some(false) && flow.untrusted),
        ("labels.outward", said.outward == Some(false) && flow.outward),
    ];
    match lowered.into_iter().find(|(_, lowered)| *lowered) {
        Some((field, _)) => {
            Err(DefinitionError::new(field, Notice::definition_inside_label(&target.spec.name)))
        }
        None => Ok(()),
    }
}

/// A name does not make a tool harmless.
fn more_severe_effect(one: Effect, other: Effect) -> Effect {
    let weight = |effect| match effect {
        Effect::Read => 0,
        Effect::Idempotent => 1,
        Effect::NonIdempotent => 2,
    };
    if weight(one) >= weight(other) { one } else { other }
}
