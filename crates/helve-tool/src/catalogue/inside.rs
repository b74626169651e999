//! Rows that lead to a tool inside Helve: another name, description and guards for what is there already.

use std::sync::Arc;

use helve_types::{Effect, ToolDefinition, ToolSpec};
use serde_json::Value;

use super::{DefinitionError, Made};
use crate::{CallContext, Registered, Request, Tool, ToolFuture};

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

/// The target under the definition's name, with its own guards and what the definition says about them.
pub(super) fn make(definition: &ToolDefinition, target: &Registered) -> Result<Made, DefinitionError> {
    let Some(inner) = target.tool.clone() else {
        let problem = "it is run by a program outside of Helve, so nothing else can lead to it";
        return Err(DefinitionError::new("endpoint.url_template", problem));
    };
    let spec = spec(definition, &target.spec);
    let guards = target.guarding.settings.clone().asked(definition, spec.effect)?;
    Ok((Arc::new(Inside { spec, inner }), guards))
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
        examples: definition.examples.clone(),
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
