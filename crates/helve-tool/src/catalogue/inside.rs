//! Rows that lead to a tool inside Helve: another name, description and guards for what is there already.

use std::sync::Arc;
use std::time::Duration;

use helve_types::{
    Auth, BodyFormat, CacheSharing, Effect, Endpoint, Method, ToolDefinition, ToolKind, ToolSpec,
};
use serde_json::Value;

use super::{DefinitionError, Made};
use crate::{
    CachePolicy, CacheScope, CallContext, Guards, LimitSettings, Registered, Request, Tool, ToolFuture,
};

const SCHEME: &str = "internal://";

/// The tool inside Helve that a definition leads to.
pub(super) fn target(definition: &ToolDefinition) -> Option<&str> {
    definition.endpoint.url_template.strip_prefix(SCHEME)
}

struct Inside {
    spec: ToolSpec,
    inner: Arc<dyn Tool>,
}

impl Tool for Inside {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, request: Request<'a>, cx: &'a CallContext) -> ToolFuture<'a> {
        self.inner.call(request, cx)
    }
}

/// Refuses what would be kept and never used: nothing is sent to a tool inside Helve.
pub(super) fn check(definition: &ToolDefinition) -> Result<(), DefinitionError> {
    let Endpoint { method, query, headers, body, body_format, auth, redirects, idempotency_header, .. } =
        &definition.endpoint;
    let sends = (method, body_format) != (&Method::default(), &BodyFormat::default())
        || !(query.is_empty() && headers.is_empty() && body.is_none() && *auth == Auth::default())
        || *redirects > 0
        || idempotency_header.is_some();
    let (field, problem) = match definition {
        _ if sends => ("endpoint", "a tool inside Helve takes nothing but `url_template` and `timeout_ms`"),
        ToolDefinition { response_transform: Some(_), .. } => {
            ("response_transform", "a tool inside Helve answers as it is")
        }
        ToolDefinition { kind: ToolKind::Streamable, .. } => {
            ("type", "a tool inside Helve gives its answer whole")
        }
        _ => return Ok(()),
    };
    Err(DefinitionError::new(field, problem))
}

/// Only tools of the server's are registered, and those can be run.
pub(super) fn make(definition: &ToolDefinition, target: &Registered) -> Option<Made> {
    let inner = target.tool.clone()?;
    let guards = guards(definition, target.guarding.settings.clone());
    Some((Arc::new(Inside { spec: spec(definition, &target.spec), inner }), guards))
}

fn spec(definition: &ToolDefinition, target: &ToolSpec) -> ToolSpec {
    let says_nothing = |parameters: &Value| {
        parameters.get("properties").and_then(Value::as_object).is_none_or(serde_json::Map::is_empty)
    };
    let mut tags = definition.tags.clone();
    // Rules about a kind of tools hold for it under any name.
    tags.extend(target.tags.iter().filter(|tag| !definition.tags.contains(tag)).cloned());
    ToolSpec {
        name: definition.name.clone(),
        title: definition.display_name.clone(),
        description: definition.description.clone(),
        parameters: match says_nothing(&definition.parameters) {
            true => target.parameters.clone(),
            false => definition.parameters.clone(),
        },
        effect: definition.effect.map_or(target.effect, |said| graver(said, target.effect)),
        tags,
        examples: match definition.examples.is_empty() && says_nothing(&definition.parameters) {
            true => target.examples.clone(),
            false => definition.examples.clone(),
        },
        client: false,
        on_unknown: definition.on_unknown.unwrap_or(target.on_unknown),
        check_tool: definition.check_tool.clone().or_else(|| target.check_tool.clone()),
    }
}

/// A name does not make a tool harmless.
fn graver(one: Effect, other: Effect) -> Effect {
    let weight = |effect| match effect {
        Effect::Read => 0,
        Effect::Idempotent => 1,
        Effect::NonIdempotent => 2,
    };
    if weight(one) >= weight(other) { one } else { other }
}

/// The target's own guards, with what the definition says about them.
fn guards(definition: &ToolDefinition, mut guards: Guards) -> Guards {
    let ms = Duration::from_millis;
    if let Some(timeout) = definition.endpoint.timeout_ms {
        guards.timeout = ms(timeout.get());
    }
    if let Some(attempts) = definition.attempts {
        guards.attempts = attempts.get();
    }
    if let Some(bytes) = definition.output_bytes_max {
        guards.output_bytes_max = bytes.get() as usize;
    }
    if let Some(limit) = definition.rate_limit {
        let held = guards.limits.tool.unwrap_or_default();
        guards.limits.tool = Some(LimitSettings {
            concurrent: limit.concurrent.map(|n| n.get()).or(held.concurrent),
            per_window: limit.per_minute.map(|n| n.get()).or(held.per_window),
            wait: limit.wait_ms.map_or(held.wait, ms),
            ..held
        });
        if let Some(per_minute) = limit.per_minute_and_user {
            let held = guards.limits.user.unwrap_or_default();
            guards.limits.user = Some(LimitSettings { per_window: Some(per_minute.get()), ..held });
        }
    }
    if let Some(cache) = definition.cache {
        let everyone = cache.scope == CacheSharing::Params;
        let scope = if everyone { CacheScope::Everyone } else { CacheScope::User };
        guards.cache = Some(CachePolicy { ttl: ms(cache.ttl_ms.get()), scope });
    }
    if let Some(terms) = &definition.breaker {
        let mut breaker = guards.breaker.unwrap_or_default();
        breaker.failures_in_row = terms.failures.map_or(breaker.failures_in_row, |n| n.get());
        breaker.open = terms.open_ms.map_or(breaker.open, |open| ms(open.get()));
        guards.breaker = Some(breaker);
    }
    guards.fallback = definition.fallback.clone().or(guards.fallback);
    guards
}
