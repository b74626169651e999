//! The file itself: what may stand in it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use helve_agent::AgentSettings;
use helve_tool::{CachePolicy, CacheScope, Guards, LimitSettings, Rule};
use helve_types::ModelParams;
use secrecy::SecretString;
use serde::Deserialize;
use toml::{Table, Value};

use super::Environment;
use super::models::{ModelSettings, ModelTable};

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct File {
    pub(super) default_model: Option<String>,
    pub(super) server: ServerTable,
    pub(super) prompt: PromptTable,
    pub(super) models: Vec<ModelTable>,
    pub(super) agents: Vec<AgentTable>,
    pub(super) permissions: Vec<Rule>,
    pub(super) tools: BTreeMap<String, GuardsTable>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct ServerTable {
    pub(super) listen: Option<String>,
    pub(super) data: Option<PathBuf>,
    pub(super) token: Option<SecretString>,
    /// Names under which the server is reached, besides its own address.
    pub(super) hosts: Vec<String>,
    pub(super) log: Option<String>,
    /// The time zone that `time` takes for local.
    pub(super) zone: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct PromptTable {
    pub(super) default_profile: Option<String>,
    pub(super) profiles: Vec<PathBuf>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AgentTable {
    name: String,
    model: Option<String>,
    #[serde(default)]
    system: String,
    max_steps: Option<u32>,
    tools: Option<Vec<String>>,
    #[serde(default)]
    params: ModelParams,
    #[serde(default)]
    permissions: Vec<Rule>,
}

/// How one tool is guarded; what is not said stays as the tool comes.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct GuardsTable {
    pub enabled: Option<bool>,
    timeout_ms: Option<u64>,
    attempts: Option<u32>,
    concurrent: Option<u32>,
    per_minute: Option<u32>,
    per_minute_and_user: Option<u32>,
    wait_ms: Option<u64>,
    cache_ms: Option<u64>,
    cache_scope: Option<Scope>,
    breaker_failures: Option<u32>,
    breaker_open_ms: Option<u64>,
    output_bytes_max: Option<usize>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Scope {
    /// Equal arguments, equal answer, whoever asks.
    Params,
    User,
}

impl File {
    /// Reads the file, then lays the variables over it.
    pub(super) fn parse(name: &str, text: &str, environment: &Environment) -> anyhow::Result<Self> {
        // The text itself first: only then do errors know their lines.
        let file: Self = toml::from_str(text).map_err(|error| located(name, text, &error))?;
        let mut overrides = environment.overrides().peekable();
        let short = SHORT.iter().any(|(variable, _)| environment.text(variable).is_some());
        if overrides.peek().is_none() && !short {
            return Ok(file);
        }
        let mut table: Table = toml::from_str(text).map_err(|error| located(name, text, &error))?;
        for (variable, path) in SHORT {
            if let Some(value) = environment.text(variable) {
                set(&mut table, variable, &path.map(str::to_owned), &value)?;
                check(&table, variable)?;
            }
        }
        for (variable, path, value) in overrides {
            set(&mut table, variable, &path, value)?;
            check(&table, variable)?;
        }
        table.try_into().context("the configuration does not fit together with the environment")
    }
}

/// The short forms.
const SHORT: &[(&str, [&str; 2])] =
    &[("HELVE_LISTEN", ["server", "listen"]), ("HELVE_DATA", ["server", "data"])];

/// An error with its line, and the key it is about.
fn located(name: &str, text: &str, error: &toml::de::Error) -> anyhow::Error {
    let line = error.span().map(|span| text[..span.start.min(text.len())].matches('\n').count() + 1);
    let place = error.span().and_then(|span| text.get(span)).map(str::trim).filter(|shown| !shown.is_empty());
    let line = line.map_or(String::new(), |line| format!(", line {line}"));
    let shown =
        place.and_then(|place| place.lines().next()).map_or(String::new(), |place| format!(" at `{place}`"));
    anyhow!("{name}{line}{shown}: {}", error.message().replace('\n', "; "))
}

fn set(table: &mut Table, variable: &str, path: &[String], text: &str) -> anyhow::Result<()> {
    let [sections @ .., key] = path else { bail!("{variable} names no key") };
    let mut table = table;
    for section in sections {
        let inner = table.entry(section.clone()).or_insert_with(|| Value::Table(Table::new()));
        table = inner.as_table_mut().with_context(|| format!("{variable}: `{section}` is not a section"))?;
    }
    table.insert(key.clone(), value_of(text));
    Ok(())
}

/// A variable as TOML where it reads as such, and as text otherwise.
fn value_of(text: &str) -> Value {
    let parsed = toml::from_str::<Table>(&format!("value = {text}")).ok();
    parsed.and_then(|mut table| table.remove("value")).unwrap_or_else(|| Value::String(text.into()))
}

fn check(table: &Table, variable: &str) -> anyhow::Result<()> {
    let fits: Result<File, _> = table.clone().try_into();
    fits.map(drop).map_err(|error| anyhow!("the environment variable {variable}: {}", error.message()))
}

/// The agents, of which there is always at least the default one.
pub(super) fn agents(
    tables: Vec<AgentTable>,
    models: &[ModelSettings],
) -> anyhow::Result<Vec<AgentSettings>> {
    let mut agents: Vec<AgentSettings> = vec![];
    for table in tables {
        if agents.iter().any(|agent| agent.name == table.name) {
            bail!("there are two agents named `{}`", table.name);
        }
        if let Some(model) = &table.model
            && !models.iter().any(|known| known.name == *model)
        {
            bail!("the agent `{}` uses the model `{model}`, which is not configured", table.name);
        }
        let default = AgentSettings::default();
        agents.push(AgentSettings {
            name: table.name,
            model: table.model,
            system: table.system,
            max_steps: table.max_steps.unwrap_or(default.max_steps).max(1),
            tools: table.tools,
            params: table.params,
            permissions: table.permissions,
        });
    }
    if !agents.iter().any(|agent| agent.name == "default") {
        agents.insert(0, AgentSettings::default());
    }
    Ok(agents)
}

impl GuardsTable {
    /// The tool's own guards with what the operator says about them.
    pub fn over(&self, guards: Guards) -> Guards {
        let ms = |ms: Option<u64>| ms.map(Duration::from_millis);
        let mut over = guards;
        over.timeout = ms(self.timeout_ms).unwrap_or(over.timeout);
        over.attempts = self.attempts.unwrap_or(over.attempts);
        over.output_bytes_max = self.output_bytes_max.unwrap_or(over.output_bytes_max);
        if self.concurrent.is_some() || self.per_minute.is_some() || self.wait_ms.is_some() {
            let mut limit = over.limits.tool.unwrap_or_default();
            limit.concurrent = self.concurrent.or(limit.concurrent);
            limit.per_window = self.per_minute.or(limit.per_window);
            limit.wait = ms(self.wait_ms).unwrap_or(limit.wait);
            over.limits.tool = Some(limit);
        }
        if let Some(per_minute) = self.per_minute_and_user {
            let limit = over.limits.user.unwrap_or_default();
            over.limits.user = Some(LimitSettings { per_window: Some(per_minute), ..limit });
        }
        if let Some(ttl) = ms(self.cache_ms) {
            let scope = over.cache.map_or(CacheScope::User, |policy| policy.scope);
            over.cache = (!ttl.is_zero()).then_some(CachePolicy { ttl, scope });
        }
        if let (Some(scope), Some(policy)) = (self.cache_scope, &mut over.cache) {
            policy.scope = match scope {
                Scope::Params => CacheScope::Everyone,
                Scope::User => CacheScope::User,
            };
        }
        if self.breaker_failures.is_some() || self.breaker_open_ms.is_some() {
            let mut breaker = over.breaker.unwrap_or_default();
            breaker.failures_in_row = self.breaker_failures.unwrap_or(breaker.failures_in_row);
            breaker.open = ms(self.breaker_open_ms).unwrap_or(breaker.open);
            over.breaker = Some(breaker);
        }
        over
    }
}
