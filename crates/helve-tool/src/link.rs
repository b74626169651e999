//! A tool as one agent has it: arguments with fixed values or out of the model's sight, and guards of the agent's own.
//!
//! The tool stays the tool: its switch, its counters and its version are shared by all who have it. The guards of an
//! agent are held with the tool under the agent's name, so that runs and versions of the agent share them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use helve_guard::{Breaker, Cache, KeyedLimiter, Limiter};
use helve_types::{AgentToolConfig, Failure, FailureKind, Notice, ToolOutput, ToolSpec};
use serde_json::{Map, Value, json};

use crate::guards::{ActiveGuards, LinkGuards};
use crate::outcome::Stop;
use crate::schema::{CheckResult, CompileBudget, Schema};
use crate::{CachePolicy, DefinitionError, Registered};

/// The arguments that an agent decides about, by their names: the value that Helve adds, if it adds one.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct LinkedArguments(BTreeMap<String, Option<Value>>);

/// What becomes of arguments that the agent decides about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Given {
    /// Somebody wrote them: other values than the agent's are refused.
    Written,
    /// They are on record, as they were sent or asked about, and stay what they are.
    Recorded,
}

impl LinkedArguments {
    /// What a link says about the arguments of a tool; none if it says nothing.
    fn new(spec: &ToolSpec, config: &AgentToolConfig) -> Result<Option<Self>, DefinitionError> {
        if config.arguments.is_empty() && config.hidden_arguments.is_empty() {
            return Ok(None);
        }
        let mut decided = BTreeMap::new();
        for (name, value) in &config.arguments {
            let field = format!("arguments.{name}");
            let schema = property(spec, name).map_err(|problem| wrong_field(&field, &problem))?;
            check_value(spec, name, schema, value).map_err(|problem| wrong_field(&field, &problem))?;
            decided.insert(name.clone(), Some(value.clone()));
        }
        for name in &config.hidden_arguments {
            let wrong = |problem: String| wrong_field("hidden_arguments", &problem);
            let schema = property(spec, name).map_err(wrong)?;
            if decided.contains_key(name) {
                return Err(wrong(format!("`{name}` is fixed by `arguments` already, which hides it too")));
            }
            let default = schema.get("default").filter(|_| is_required(spec, name));
            if default.is_none() && is_required(spec, name) {
                let problem = format!(
                    "`{}` needs `{name}` and has no default for it; fix its value in `arguments` instead",
                    spec.name
                );
                return Err(wrong(problem));
            }
            decided.insert(name.clone(), default.cloned());
        }
        Ok(Some(Self(decided)))
    }

    /// Adds the values that the agent decides about. Whether it added any.
    pub(crate) fn complete(&self, tool: &str, value: &mut Value, given: Given) -> Result<bool, Failure> {
        let Value::Object(members) = value else { return Ok(false) };
        let mut added = false;
        for (name, fixed) in &self.0 {
            match (members.get(name), fixed) {
                (None, Some(fixed)) => {
                    members.insert(name.clone(), fixed.clone());
                    added = true;
                }
                (None, None) => {}
                (Some(_), _) if given == Given::Recorded => {}
                (Some(written), Some(fixed)) if written == fixed => {}
                // What a model leaves out it may write as null.
                (Some(Value::Null), fixed) => {
                    match fixed {
                        Some(fixed) => _ = members.insert(name.clone(), fixed.clone()),
                        None => _ = members.remove(name),
                    }
                    added = true;
                }
                (Some(_), _) => return Err(not_yours(tool, name)),
            }
        }
        Ok(added)
    }

    /// The tool as the model sees it.
    fn narrow(&self, spec: &ToolSpec) -> ToolSpec {
        let mut spec = spec.clone();
        if let Some(Value::Object(properties)) = spec.parameters.get_mut("properties") {
            properties.retain(|name, _| !self.0.contains_key(name));
        }
        if let Some(Value::Array(required)) = spec.parameters.get_mut("required") {
            required.retain(|name| name.as_str().is_none_or(|name| !self.0.contains_key(name)));
        }
        for example in &mut spec.examples {
            if let Value::Object(members) = &mut example.arguments {
                members.retain(|name, _| !self.0.contains_key(name));
            }
        }
        spec
    }

    /// Recorded arguments without what Helve added to them; none if they are the same.
    fn without_added(&self, arguments: &str) -> Option<String> {
        let mut members: Map<String, Value> = serde_json::from_str(arguments).ok()?;
        let count = members.len();
        members.retain(|name, value| self.0.get(name).is_none_or(|fixed| fixed.as_ref() != Some(value)));
        (members.len() < count).then(|| Value::Object(members).to_string())
    }
}

fn wrong_field(field: &str, problem: &str) -> DefinitionError {
    DefinitionError::new(field, Notice::definition_other(problem))
}

/// The schema of a tool's parameter.
fn property<'a>(spec: &'a ToolSpec, name: &str) -> Result<&'a Value, String> {
    let properties = spec.parameters.get("properties").and_then(Value::as_object);
    properties.and_then(|properties| properties.get(name)).ok_or_else(|| {
        let known: Vec<_> =
            properties.into_iter().flat_map(Map::keys).map(|name| format!("`{name}`")).collect();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        format!("`{}` has no parameter `{name}`; its parameters are: {known}", spec.name)
    })
}

fn is_required(spec: &ToolSpec, name: &str) -> bool {
    let required = spec.parameters.get("required").and_then(Value::as_array);
    required.is_some_and(|required| required.iter().any(|one| one == name))
}

/// Whether a fixed value fits its parameter.
fn check_value(spec: &ToolSpec, name: &str, schema: &Value, value: &Value) -> Result<(), String> {
    let mut alone = json!({"type": "object", "properties": {name: schema}});
    // What the parameter's schema refers to.
    for place in ["$defs", "definitions"] {
        if let Some(definitions) = spec.parameters.get(place) {
            alone[place] = definitions.clone();
        }
    }
    let schema = Schema::compile(&alone, &mut CompileBudget::default())?;
    let given = json!({name: value});
    match schema.check_value(&given) {
        CheckResult::Fits => Ok(()),
        CheckResult::TooMuchWork => Err("it would take too much work to check; use a smaller value".into()),
        CheckResult::Misfit => {
            let misfit = crate::misfit::describe_misfit(&schema.list_errors(&given));
            Err(format!("it does not fit `{}`: {misfit}", spec.name))
        }
    }
}

fn not_yours(tool: &str, name: &str) -> Failure {
    let told = format!("`{name}` of `{tool}` is decided by the agent; leave it out and try again");
    Failure::new(FailureKind::BadArguments, told).with_notice(Notice::argument_decided_by_agent(name))
}

/// The guards that agents have of a tool, by the agents' names.
#[derive(Default)]
pub(crate) struct HeldLinks(Mutex<BTreeMap<String, Arc<ActiveLinkGuards>>>);

/// The guards of one agent's link, at work.
#[derive(Clone)]
pub(crate) struct ActiveLinkGuards {
    settings: LinkGuards,
    pub(crate) limiter: Option<Limiter>,
    pub(crate) user_limiter: Option<Arc<KeyedLimiter>>,
    breaker: Option<Breaker>,
    cache: Option<LinkCache>,
}

type LinkCache = (CachePolicy, Cache<Arc<ToolOutput>, Stop>);

impl HeldLinks {
    /// The guards of an agent with these settings. They go on where the ones held before left off; those of a version
    /// that is not the agent's latest change nothing for others.
    fn activate(
        &self,
        agent: &str,
        settings: LinkGuards,
        is_latest: bool,
        chance: u64,
    ) -> Arc<ActiveLinkGuards> {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let before = held.get(agent);
        if let Some(before) = before.filter(|before| before.settings == settings) {
            return before.clone();
        }
        let guards = Arc::new(settings.activate(before.map(|before| &**before), is_latest, chance));
        if is_latest || before.is_none() {
            held.insert(agent.to_owned(), guards.clone());
        }
        guards
    }

    /// The caches that agents have of the tool.
    pub(crate) fn caches(&self) -> Vec<LinkCache> {
        let held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        held.values().filter_map(|guards| guards.cache.clone()).collect()
    }

    /// The breakers that agents have of the tool.
    pub(crate) fn breakers(&self) -> Vec<Breaker> {
        let held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        held.values().filter_map(|guards| guards.breaker.clone()).collect()
    }
}

impl LinkGuards {
    fn activate(self, before: Option<&ActiveLinkGuards>, is_latest: bool, chance: u64) -> ActiveLinkGuards {
        let fresh = ActiveGuards::new(self.as_guards(), helve_types::Effect::Read, chance);
        let mut guards = ActiveLinkGuards {
            limiter: fresh.limiter,
            user_limiter: fresh.user_limiter,
            breaker: fresh.breaker,
            cache: fresh.cache,
            settings: self,
        };
        let Some(before) = before else { return guards };
        if let (Some(limiter), Some(held), Some(limit)) =
            (&mut guards.limiter, &before.limiter, guards.settings.limits.tool)
        {
            *limiter = held.clone();
            if is_latest {
                limiter.reconfigure(limit);
            }
        }
        if let (Some(limiter), Some(held), Some(limit)) =
            (&mut guards.user_limiter, &before.user_limiter, guards.settings.limits.user)
        {
            *limiter = held.clone();
            if is_latest {
                limiter.reconfigure(limit);
            }
        }
        if guards.settings.breaker == before.settings.breaker {
            guards.breaker = before.breaker.clone();
        }
        if let (Some((policy, cache)), Some((held_policy, held))) = (&mut guards.cache, &before.cache)
            && policy.scope == held_policy.scope
        {
            *cache = held.clone();
        }
        guards
    }
}

impl Registered {
    /// Whether an agent can have the tool like this; the error names the field of the configuration.
    pub fn check_link(&self, config: &AgentToolConfig) -> Result<(), DefinitionError> {
        LinkedArguments::new(&self.spec, config)?;
        LinkGuards::new(&self.guarding.settings, config, self.spec.effect).map(drop)
    }

    /// The tool as the agent has it. `is_latest` is false for an earlier version of the agent, which a run goes on with.
    pub fn linked(
        self: &Arc<Self>,
        agent: &str,
        config: &AgentToolConfig,
        is_latest: bool,
    ) -> Result<Arc<Self>, DefinitionError> {
        if !config.changes_calls() {
            return Ok(self.clone());
        }
        let arguments = LinkedArguments::new(&self.spec, config)?;
        let settings = LinkGuards::new(&self.guarding.settings, config, self.spec.effect)?;
        let guards = self.links.activate(agent, settings, is_latest, self.chance);
        let mut guarding = self.guarding.clone();
        guarding.settings = guards.settings.lay_over(&guarding.settings);
        if guards.settings.breaker.is_some() {
            guarding.breaker = guards.breaker.clone();
        }
        match (guards.settings.cache, &guards.cache) {
            (None, _) => {}
            (Some(None), _) => guarding.cache = guarding.last_good_cache(),
            (Some(Some(_)), own) => guarding.cache = own.clone(),
        }
        let spec = match &arguments {
            Some(arguments) => Arc::new(arguments.narrow(&self.spec)),
            None => self.spec.clone(),
        };
        let arguments = arguments.map(Arc::new);
        let mut linked = (**self).clone();
        linked.spec = spec;
        linked.guarding = guarding;
        linked.arguments = arguments;
        linked.link_guards = Some(guards);
        Ok(Arc::new(linked))
    }

    /// Recorded arguments as the model may see them: without what Helve added for the agent.
    pub fn arguments_for_model(&self, arguments: &str) -> Option<String> {
        self.arguments.as_ref()?.without_added(arguments)
    }
}

#[cfg(test)]
mod tests {
    use helve_types::Effect;

    use super::*;

    fn spec() -> ToolSpec {
        let parameters = json!({
            "type": "object",
            "properties": {
                "city": {"type": "string"},
                "days": {"type": "integer", "default": 3},
                "units": {"type": "string", "enum": ["C", "F"]},
                "where": {"$ref": "#/$defs/place"}
            },
            "required": ["city", "days"],
            "additionalProperties": false,
            "$defs": {"place": {"type": "string", "minLength": 2}}
        });
        ToolSpec::new("forecast", "Tells.", parameters, Effect::Read)
    }

    fn linked(config: Value) -> Result<LinkedArguments, String> {
        let config: AgentToolConfig = serde_json::from_value(config).unwrap();
        LinkedArguments::new(&spec(), &config)
            .map(Option::unwrap_or_default)
            .map_err(|wrong| wrong.to_string())
    }

    #[test]
    fn the_model_does_not_see_what_the_agent_decides() {
        let link =
            linked(json!({"arguments": {"city": "Oslo"}, "hidden_arguments": ["days", "units"]})).unwrap();
        let seen = link.narrow(&spec());
        assert_eq!(seen.parameters["properties"], json!({"where": {"$ref": "#/$defs/place"}}));
        assert_eq!(seen.parameters["required"], json!([]));
    }

    #[test]
    fn fixed_values_and_needed_defaults_are_added_and_other_values_refused() {
        let link =
            linked(json!({"arguments": {"city": "Oslo"}, "hidden_arguments": ["days", "units"]})).unwrap();
        let complete = |written: Value, given| {
            let mut value = written;
            link.complete("forecast", &mut value, given)
                .map(|added| (value, added))
                .map_err(|told| told.message)
        };
        let whole = json!({"city": "Oslo", "days": 3});
        assert_eq!(complete(json!({}), Given::Written), Ok((whole.clone(), true)));
        assert_eq!(complete(json!({"city": null, "units": null}), Given::Written), Ok((whole.clone(), true)));
        assert_eq!(complete(whole.clone(), Given::Written), Ok((whole, false)));
        let other = json!({"city": "Rome", "days": 3});
        let told = complete(other.clone(), Given::Written).unwrap_err();
        assert!(told.contains("`city` of `forecast` is decided by the agent"), "{told}");
        assert_eq!(complete(other.clone(), Given::Recorded), Ok((other, false)));
        assert!(complete(json!({"units": "C"}), Given::Written).unwrap_err().contains("`units`"));
    }

    #[test]
    fn recorded_arguments_are_shown_to_the_model_as_it_wrote_them() {
        let link = linked(json!({"arguments": {"city": "Oslo"}, "hidden_arguments": ["units"]})).unwrap();
        let shown = link.without_added(r#"{"city": "Oslo", "days": 2}"#);
        assert_eq!(shown.as_deref(), Some(r#"{"days":2}"#));
        // A call from before the agent decided about it.
        assert_eq!(link.without_added(r#"{"city": "Rome"}"#), None);
    }

    #[test]
    fn what_a_tool_does_not_take_is_refused_with_the_field() {
        for (config, told) in [
            (json!({"arguments": {"town": 1}}), "`arguments.town`: `forecast` has no parameter `town`"),
            (json!({"arguments": {"city": 7}}), "`arguments.city`: it does not fit `forecast`"),
            (json!({"arguments": {"units": "K"}}), "`arguments.units`: it does not fit"),
            (json!({"arguments": {"where": "x"}}), "`arguments.where`: it does not fit"),
            (json!({"hidden_arguments": ["city"]}), "`hidden_arguments`: `forecast` needs `city`"),
            (json!({"hidden_arguments": ["town"]}), "`hidden_arguments`: `forecast` has no parameter `town`"),
            (
                json!({"arguments": {"days": 1}, "hidden_arguments": ["days"]}),
                "`hidden_arguments`: `days` is fixed by `arguments` already",
            ),
        ] {
            let wrong = linked(config.clone()).unwrap_err();
            assert!(wrong.starts_with(told), "{config}: {wrong}");
        }
    }
}
