//! The file itself: what may stand in it.

use std::collections::BTreeMap;
use std::num::{NonZeroU32, NonZeroU64, NonZeroUsize};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::anyhow;
use helve_runtime::AgentSettings;
use helve_tool::{
    BreakerSettings, CachePolicy, CacheScope, Failures, Guards, LimitSettings, Rate, RateTerms, Rule,
};
use helve_types::{AgentSubagent, AgentTexts, CacheSharing, Fallback, LabelTerms, ModelParams, Notice};
use secrecy::SecretString;
use serde::Deserialize;
use toml::{Table, Value};

use super::alarms::AlarmsTable;
use super::approvals::ApprovalsTable;
use super::auth::AuthTable;
use super::budgets::{BudgetTable, BudgetsTable};
use super::compaction::CompactionTable;
use super::databases::DatabaseTable;
use super::egress::{EgressTable, SecretTable};
use super::env_models::{add_models, fold};
use super::environment::{Environment, Setting};
use super::hooks::HookTable;
use super::images::ImagesTable;
use super::labels::LabelsTable;
use super::limits::LimitsTable;
use super::models::{ModelSettings, ModelTable};
use super::places::Places;
use super::prices::PricesTable;
use crate::i18n::{tr, words};

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub struct File {
    pub(super) default_model: Option<String>,
    pub(super) server: ServerTable,
    pub(super) prompt: PromptTable,
    pub(super) models: Vec<ModelTable>,
    pub(super) prices: PricesTable,
    pub(super) budgets: BudgetsTable,
    pub(super) limits: LimitsTable,
    pub(super) compaction: CompactionTable,
    pub(super) agents: Vec<AgentTable>,
    pub(super) permissions: Vec<Rule>,
    pub(super) tools: BTreeMap<String, GuardsTable>,
    pub(super) labels: LabelsTable,
    pub(super) alarms: AlarmsTable,
    pub(super) approvals: ApprovalsTable,
    pub(super) auth: AuthTable,
    pub(super) databases: BTreeMap<String, DatabaseTable>,
    pub(super) images: ImagesTable,
    pub(super) egress: EgressTable,
    pub(super) secrets: BTreeMap<String, SecretTable>,
    pub(super) hooks: Vec<HookTable>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub(super) struct ServerTable {
    pub(super) listen: Option<String>,
    pub(super) data: Option<PathBuf>,
    /// Where everything durable is kept, if not in SQLite: `postgres://…`.
    pub(super) database_url: Option<SecretString>,
    /// The folder of tools that are programs; `tools` in the data directory unless given.
    pub(super) tools_dir: Option<PathBuf>,
    /// The folder of skills; `skills` in the data directory unless given.
    pub(super) skills_dir: Option<PathBuf>,
    pub(super) token: Option<SecretString>,
    /// Names under which the server is reached, besides its own address.
    pub(super) hosts: Vec<String>,
    /// Where people reach the server, if it is not the address it listens on.
    pub(super) public_url: Option<String>,
    /// Proxies whose word about a client's address and scheme counts.
    pub(super) trusted_proxies: Vec<String>,
    pub(super) log: Option<String>,
    pub(super) log_format: LogFormat,
    /// The time zone that `time` takes for local.
    pub(super) zone: Option<String>,
    /// How long runs may go on when the server is told to stop.
    pub(super) drain_ms: Option<u64>,
}

/// How lines of the log look.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// An object a line, for programs.
    Json,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub(super) struct PromptTable {
    pub(super) default_profile: Option<String>,
    pub(super) profiles: Vec<PathBuf>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub(super) struct AgentTable {
    name: String,
    model: Option<String>,
    #[serde(default)]
    system: String,
    max_steps: Option<NonZeroU32>,
    tools: Option<Vec<String>>,
    skills: Option<Vec<String>>,
    #[serde(default)]
    params: ModelParams,
    /// Whether the web is searched before its model is first asked.
    pre_search: Option<bool>,
    #[serde(default)]
    permissions: Vec<Rule>,
    /// Whether a person's no to a call ends the run.
    #[serde(default)]
    end_when_refused: bool,
    /// The language that it speaks with people.
    language: Option<String>,
    /// What people see who choose an agent.
    display_name: Option<String>,
    #[serde(default)]
    description: String,
    #[serde(default)]
    example_questions: Vec<String>,
    /// The same in other languages, by their names such as `zh-CN`.
    #[serde(default)]
    translations: BTreeMap<String, AgentTexts>,
    /// Who may use it; everybody if nobody is named.
    #[serde(default)]
    users: Vec<String>,
    /// The agents that it can give tasks to.
    #[serde(default)]
    subagents: Vec<AgentSubagent>,
    /// The groups whose members may use it.
    #[serde(default)]
    groups: Vec<String>,
    /// What each of its runs may use up.
    #[serde(default)]
    budget: BudgetTable,
}

/// How one tool is guarded; what is not said stays as the tool comes.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub struct GuardsTable {
    pub enabled: Option<bool>,
    timeout_ms: Option<NonZeroU64>,
    attempts: Option<NonZeroU32>,
    concurrent: Option<NonZeroU32>,
    per_minute: Option<NonZeroU32>,
    per_minute_and_user: Option<NonZeroU32>,
    per_window: Option<NonZeroU32>,
    per_window_and_user: Option<NonZeroU32>,
    window_ms: Option<NonZeroU64>,
    concurrent_and_user: Option<NonZeroU32>,
    wait_ms: Option<u64>,
    cache_ms: Option<u64>,
    cache_scope: Option<CacheSharing>,
    cache_ignore: Option<Vec<String>>,
    breaker_failures: Option<NonZeroU32>,
    breaker_open_ms: Option<u64>,
    breaker_probes: Option<NonZeroU32>,
    breaker_counts: Option<Vec<Counts>>,
    output_bytes_max: Option<NonZeroUsize>,
    fallback_tool: Option<String>,
    /// 0 for none, also where the tool brings one along.
    fallback_last_good_ms: Option<u64>,
    fallback_when_limited: Option<bool>,
    private: Option<bool>,
    untrusted: Option<bool>,
    outward: Option<bool>,
}

/// What the breaker takes for a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Counts {
    Timeout,
    Lost,
    NotSent,
}

impl File {
    /// Reads the file, then lays the variables over it.
    pub(super) fn parse(places: &mut Places, environment: &Environment) -> anyhow::Result<Self> {
        // The text itself first: only then do errors know their lines.
        let mut file: Self = toml::from_str(places.text()).map_err(|error| places.unreadable(&error))?;
        let mut table: Table = toml::from_str(places.text()).map_err(|error| places.unreadable(&error))?;
        add_models(&mut table, environment);
        for setting in environment.settings() {
            let setter = tr!("the environment variable {variable}", variable = setting.variable);
            let (path, laid) = setting
                .over(&table)
                .map_err(|what| anyhow!(tr!("{place}: {what}", place = setter, what = what)))?;
            places.set_by(setter, path);
            (table, file) = laid;
        }
        Ok(file)
    }
}

impl Setting<'_> {
    /// The table with this setting in it and what it means, and the path at which the setting was put.
    fn over(&self, table: &Table) -> Result<(Vec<String>, (Table, File)), String> {
        let attempt = |value: Value| {
            let mut root = Value::Table(table.clone());
            let mut path = vec![];
            put(&mut root, &self.path, value, &mut path)?;
            let Value::Table(laid) = root else { unreachable!("a table stays a table") };
            let file: File =
                laid.clone().try_into().map_err(|error: toml::de::Error| words(error.message()))?;
            Ok((path, (laid, file)))
        };
        let text = || Value::String(self.text.to_owned());
        let typed = toml::from_str::<Table>(&format!("value = {}", self.text));
        let Some(typed) = typed.ok().and_then(|mut table| table.remove("value")) else {
            return attempt(text());
        };
        // What goes to the vendor as it stands may be anything, and then a number is a number.
        if self.path.iter().any(|step| step == "params" || step == "variants") {
            return attempt(typed).or_else(|_| attempt(text()));
        }
        attempt(text()).or_else(|_| attempt(typed))
    }
}

/// Puts a value at a path. Items of a list go by name or number, keys by what a variable's name can say of them.
fn put(at: &mut Value, path: &[String], value: Value, put_at: &mut Vec<String>) -> Result<(), String> {
    match (at, path) {
        (Value::Table(table), [step, rest @ ..]) => {
            let known = table.keys().find(|key| fold(key) == *step).cloned();
            let key = known.unwrap_or_else(|| step.clone());
            put_at.push(key.clone());
            if rest.is_empty() {
                table.insert(key, value);
                return Ok(());
            }
            put(table.entry(key).or_insert_with(|| Value::Table(Table::new())), rest, value, put_at)
        }
        (Value::Array(items), [step, rest @ ..]) if !rest.is_empty() => {
            let is_named = |item: &Value| {
                item.get("name").and_then(Value::as_str).is_some_and(|name| fold(name) == *step)
            };
            let number = items.iter().position(is_named).or_else(|| step.parse().ok());
            let item = number.and_then(|number| items.get_mut(number));
            let item = item.ok_or_else(|| {
                let hint = if put_at == &["models"] {
                    tr!("; a new model needs HELVE_MODELS__{step}__MODEL too", step = step.to_uppercase())
                } else {
                    String::new()
                };
                tr!("there is nothing named `{step}` in the file{hint}", step = step, hint = hint)
            })?;
            put_at.extend(number.map(|number| number.to_string()));
            put(item, rest, value, put_at)
        }
        _ => Err(tr!("`{put_at}` has no keys of its own", put_at = put_at.join("."))),
    }
}

/// The agents, of which there is always at least the default one.
pub(super) fn agents(
    tables: Vec<AgentTable>,
    models: &[ModelSettings],
    places: &Places,
) -> anyhow::Result<Vec<AgentSettings>> {
    let mut agents: Vec<AgentSettings> = vec![];
    for (number, table) in tables.into_iter().enumerate() {
        let wrong = |key: &str, what: String| places.wrong(&["agents", &number.to_string(), key], what);
        if agents.iter().any(|agent| agent.name == table.name) {
            return Err(wrong("name", tr!("there are two agents named `{name}`", name = table.name)));
        }
        if let Some(model) = &table.model
            && !models.iter().any(|known| known.answers_to(model))
        {
            let known = names_of(models);
            return Err(wrong(
                "model",
                tr!("there is no model `{model}`; the models are: {known}", model = model, known = known),
            ));
        }
        let default = AgentSettings::default();
        agents.push(AgentSettings {
            name: table.name,
            model: table.model,
            fallback_models: vec![],
            system: table.system,
            max_steps: table.max_steps.map_or(default.max_steps, NonZeroU32::get),
            tools: table.tools,
            without_tools: vec![],
            skills: table.skills.unwrap_or(default.skills),
            subagents: table.subagents,
            params: table.params,
            pre_search: table.pre_search,
            permissions: table.permissions,
            end_when_refused: table.end_when_refused,
            budget: table
                .budget
                .limits()
                .map_err(|(key, what)| places.wrong(&["agents", &number.to_string(), "budget", key], what))?,
            links: BTreeMap::new(),
            users: table.users,
            groups: table.groups,
            language: table.language,
            texts: AgentTexts {
                display_name: table.display_name,
                description: table.description,
                example_questions: table.example_questions,
            },
            translations: table.translations,
        });
    }
    if !agents.iter().any(|agent| agent.name == "default") {
        agents.insert(0, AgentSettings::default());
    }
    Ok(agents)
}

/// Every rule must do what its own examples say.
pub(super) fn check_rules(
    operator: &[Rule],
    agents: &[AgentSettings],
    places: &Places,
) -> anyhow::Result<()> {
    let of_agents = agents.iter().map(|agent| (vec!["agents", &agent.name], &agent.permissions[..]));
    for (path, rules) in std::iter::once((vec![], operator)).chain(of_agents) {
        for (number, rule) in rules.iter().enumerate() {
            let number = number.to_string();
            let place = [&path[..], &["permissions", &number, "approvers"]].concat();
            rule.find_approvers_problem().map_or(Ok(()), |problem| Err(places.wrong(&place, problem)))?;
            let path = [&path[..], &["permissions", &number, "examples"]].concat();
            rule.find_example_problem().map_or(Ok(()), |problem| Err(places.wrong(&path, problem)))?;
        }
    }
    Ok(())
}

pub(super) fn names_of(models: &[ModelSettings]) -> String {
    models.iter().map(|model| model.name.as_str()).collect::<Vec<_>>().join(", ")
}

/// What a table of `[tools]` says must be something that can be done.
pub(super) fn check_rates(tools: &BTreeMap<String, GuardsTable>, places: &Places) -> anyhow::Result<()> {
    for (name, table) in tools {
        let wrong = |(key, problem): (&str, Notice)| places.wrong(&["tools", name, key], problem.english());
        table.rate_terms().to_rates().map_err(wrong)?;
    }
    Ok(())
}

impl GuardsTable {
    fn rate_terms(&self) -> RateTerms {
        RateTerms {
            per_minute: self.per_minute,
            per_minute_and_user: self.per_minute_and_user,
            per_window: self.per_window,
            per_window_and_user: self.per_window_and_user,
            window_ms: self.window_ms,
        }
    }

    /// Of the tool and of each user; they were checked when the file was read.
    fn rates(&self) -> [Option<Rate>; 2] {
        self.rate_terms().to_rates().unwrap_or_default()
    }

    fn user_limit(&self, of_tool: Option<LimitSettings>) -> Option<LimitSettings> {
        let [_, rate] = self.rates();
        let concurrent_and_user = self.concurrent_and_user;
        if of_tool.is_none() && concurrent_and_user.is_none() && rate.is_none() {
            return None;
        }
        let mut limit = Rate::apply_to_limit(rate, of_tool.unwrap_or_default());
        limit.concurrent = concurrent_and_user.map(NonZeroU32::get).or(limit.concurrent);
        limit.wait = self.wait_ms.map_or(limit.wait, Duration::from_millis);
        Some(limit)
    }

    fn breaker(&self, of_tool: Option<BreakerSettings>) -> Option<BreakerSettings> {
        let Self { breaker_failures, breaker_open_ms, breaker_probes, .. } = self;
        if breaker_failures.is_none() && breaker_open_ms.is_none() && breaker_probes.is_none() {
            return of_tool;
        }
        let mut breaker = of_tool.unwrap_or_default();
        breaker.failures_in_row = breaker_failures.map_or(breaker.failures_in_row, NonZeroU32::get);
        breaker.open = breaker_open_ms.map_or(breaker.open, Duration::from_millis);
        breaker.probes_max = breaker_probes.map_or(breaker.probes_max, NonZeroU32::get);
        Some(breaker)
    }

    fn fallback(&self, of_tool: Option<Fallback>) -> Option<Fallback> {
        let Self { fallback_tool, fallback_last_good_ms, fallback_when_limited, .. } = self;
        let mut fallback = of_tool.unwrap_or_default();
        fallback.tool = fallback_tool.clone().or(fallback.tool);
        fallback.last_good_ms = fallback_last_good_ms.map_or(fallback.last_good_ms, NonZeroU64::new);
        fallback.when_limited = fallback_when_limited.unwrap_or(fallback.when_limited);
        (fallback.tool.is_some() || fallback.last_good_ms.is_some()).then_some(fallback)
    }

    /// What the operator says about what the tool brings in and carries out.
    pub(super) fn labels(&self) -> LabelTerms {
        LabelTerms { private: self.private, untrusted: self.untrusted, outward: self.outward }
    }

    /// The tool that is to stand in for this one.
    pub fn fallback_tool(&self) -> Option<&str> {
        self.fallback_tool.as_deref()
    }

    /// The tool's own guards with what the operator says about them.
    pub fn over(&self, guards: Guards) -> Guards {
        let ms = |ms: Option<u64>| ms.map(Duration::from_millis);
        let mut over = guards;
        over.timeout = ms(self.timeout_ms.map(NonZeroU64::get)).unwrap_or(over.timeout);
        over.attempts = self.attempts.map_or(over.attempts, NonZeroU32::get);
        over.output_bytes_max = self.output_bytes_max.map_or(over.output_bytes_max, NonZeroUsize::get);
        let [rate, _] = self.rates();
        if self.concurrent.is_some() || rate.is_some() || self.wait_ms.is_some() {
            let mut limit = Rate::apply_to_limit(rate, over.limits.tool.unwrap_or_default());
            limit.concurrent = self.concurrent.map(NonZeroU32::get).or(limit.concurrent);
            limit.wait = ms(self.wait_ms).unwrap_or(limit.wait);
            over.limits.tool = Some(limit);
        }
        over.limits.user = self.user_limit(over.limits.user);
        over.cache_ignore = self.cache_ignore.clone().unwrap_or(over.cache_ignore);
        if let Some(ttl) = ms(self.cache_ms) {
            let scope = over.cache.map_or(CacheScope::User, |policy| policy.scope);
            over.cache = (!ttl.is_zero()).then_some(CachePolicy { ttl, scope });
        }
        if let (Some(scope), Some(policy)) = (self.cache_scope, &mut over.cache) {
            policy.scope = scope.into();
        }
        over.breaker = self.breaker(over.breaker);
        if let Some(counts) = &self.breaker_counts {
            over.failures = Failures {
                timeout: counts.contains(&Counts::Timeout),
                lost: counts.contains(&Counts::Lost),
                not_sent: counts.contains(&Counts::NotSent),
            };
        }
        over.fallback = self.fallback(over.fallback.take());
        over
    }
}
