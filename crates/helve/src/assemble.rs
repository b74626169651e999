//! Makes the parts and joins them: the only place that knows which adapter is behind which port.

mod models;
mod rows;
mod session_key;
mod sign_in;
mod store;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use anyhow::Context;
use helve_egress::{Egress, EgressSettings, Url};
use helve_model_http::HttpModel;
use helve_runtime::{Runtime, RuntimeSettings, SkillFolder};
use helve_server::{AccessSettings, App, AppParts, ApprovalLinks, Doctor, ModelProblems, Network};
use helve_store::{Disk, Store};
use helve_store_sql::{DataDir, DiskWatch, Syncs};
use helve_tool::{Action, CallAccess, Catalogue, Guards, Registry, Rule, Rules, Tool};
use helve_tool_builtin::{Settings as BuiltinSettings, TAVILY_URL, builtin_tools};
use helve_tool_code::{Lifecycle, ToolFolder};
use helve_types::{Effect, Notice, Reason, Seal, ToolSpec, World};
use serde_json::Value;

pub(crate) use self::models::ModelMaker;
use self::models::models;
pub use self::rows::check_names;
use self::session_key::session_key;
pub(crate) use self::session_key::write_private;
use self::sign_in::sign_in;
pub(crate) use self::store::{OpenedStore, open_store};
use crate::alarms::AlarmLine;
use crate::config::{Config, GuardsTable, Reach};
use crate::discovery::ModelDiscovery;
use crate::hooks::hooks;
use crate::i18n::tr;
use crate::import::importer;
use crate::notices::Notices;
use crate::outlet::outlet;
use crate::webhook::Webhook;
use crate::withheld::on_record;

/// Whether the data directory is for this process alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hold {
    /// A server: no other process may serve from it.
    Alone,
    /// A short command beside a server.
    Shared,
}

/// A tool with its guards, besides those that come with Helve.
pub type ExtraTool = (Arc<dyn Tool>, Guards);

/// What a server has besides what comes with Helve.
#[derive(Default)]
pub struct Extras {
    pub tools: Vec<ExtraTool>,
    /// Put around the store before anything uses it: the fault lab watches and breaks it there.
    pub around_store: Option<AroundStore>,
    /// When its store makes sure that what was written is on the disk: another bug for the lab to find.
    pub syncs: Syncs,
}

pub type AroundStore = Box<dyn FnOnce(Arc<dyn Store>) -> Arc<dyn Store> + Send>;

impl From<Vec<ExtraTool>> for Extras {
    fn from(tools: Vec<ExtraTool>) -> Self {
        Self { tools, ..Self::default() }
    }
}

/// The parts that a command works with.
pub struct Assembly {
    pub store: Arc<dyn Store>,
    pub runtime: Runtime,
    pub models: Vec<Arc<HttpModel>>,
    /// The way out for everything that a model, a tool or a foreign server causes.
    pub egress: Egress,
    /// How often a secret was asked for by who must not have it.
    pub withheld: Arc<AtomicU64>,
    /// Why what was acknowledged may be lost with the database server's power, if it may.
    pub durability_problem: Option<String>,
    /// What is odd, but no reason to refuse.
    pub warnings: Vec<String>,
    /// Where questions are sent, if configured.
    pub notices: Option<Arc<Notices>>,
    /// The process that holds the data directory measures its disk from time to time.
    pub watch: Arc<DiskWatch>,
    pub tool_folder: Arc<ToolFolder>,
    pub skill_folder: Arc<SkillFolder>,
    pub(crate) discovery: Arc<ModelDiscovery>,
}

/// One TLS provider for the whole process.
pub fn install_tls() {
    // A second call finds one installed, which is as good.
    _ = rustls::crypto::ring::default_provider().install_default();
}

pub async fn assemble(
    config: &Config,
    world: &World,
    hold: Hold,
    extras: impl Into<Extras>,
) -> anyhow::Result<Assembly> {
    let extras = extras.into();
    install_tls();
    let disk = Arc::new(Disk::new(config.limits.disk_free_min));
    let watch = Arc::new(DiskWatch::new(&config.data, config.limits.disk_ballast_bytes, disk.clone()));
    let dir = match hold {
        Hold::Alone => {
            let held = DataDir::lock(&config.data)?;
            watch.check_space();
            held.with_watch(watch.clone())
        }
        Hold::Shared => DataDir::open_shared(&config.data)?,
    };
    let OpenedStore { mut store, stopped_cleanly, durability_problem } =
        open_store(config, dir, world, extras.syncs).await?;
    if let Some(around) = extras.around_store {
        store = around(store);
    }
    let withheld = Arc::default();
    let on_withheld = Some(on_record(store.clone(), world.clone(), Arc::clone(&withheld)));
    let ways = EgressSettings { on_withheld, ..config.egress.clone() };
    let egress = Egress::new(ways.clone())?;
    let registry = Arc::new(tools(config, &ways, &egress, world, extras.tools)?);
    let catalogue = Arc::new(rows::catalogue(config, &egress, registry, store.clone(), world));
    catalogue.refresh().await.with_context(|| tr!("the tools cannot be read"))?;
    let tool_folder = read_tool_folder(config, hold, &catalogue).await;
    let warnings = list_warnings(config, hold, &catalogue).await;
    let maker = ModelMaker::new(config)?;
    let (models, over_http) = models(config, &maker)?;
    let discovery = ModelDiscovery::new(config, maker, &over_http, hold == Hold::Alone);
    discovery.offer_kept(&models);
    let notices = notices(config, &ways, &*store, world).await?;
    // A short command sends nothing; the server will, when it starts or when it asks itself.
    let on_asked = notices.as_ref().filter(|_| hold == Hold::Alone).map(Notices::on_asked);
    let data = config.data.clone();
    let settings = RuntimeSettings {
        on_asked,
        stopped_cleanly,
        commands_at_work: Arc::new(move || DataDir::is_shared(&data)),
        agents: config.agents.clone(),
        // The operator's come first, and the first that fits speaks.
        rules: config.permissions.iter().cloned().chain(helve_tool_builtin::default_rules()).collect(),
        hooks: Arc::new(hooks(&config.hooks, &ways)?),
        profiles: config.prompts.own.clone(),
        default_profile: config.prompts.default_profile.clone(),
        compaction: config.compaction.clone(),
        budgets: config.budgets.clone(),
        runs: config.limits.runs,
        share: config.limits.share,
        calls_per_message_max: config.limits.calls_per_message_max,
        parallel_calls_max: config.limits.parallel_calls_max,
        subagents: config.limits.subagents,
        disk,
        ..RuntimeSettings::default()
    };
    let runtime = Runtime::with_catalogue(catalogue, models, settings);
    let skill_folder = read_agents_and_skills(config, hold, &runtime).await?;
    Ok(Assembly {
        store,
        runtime,
        models: over_http,
        egress,
        withheld,
        durability_problem,
        warnings,
        notices,
        watch,
        tool_folder,
        skill_folder,
        discovery: Arc::new(discovery),
    })
}

/// What the operator should know about the names in the configuration.
async fn list_warnings(config: &Config, hold: Hold, catalogue: &helve_tool::Catalogue) -> Vec<String> {
    let mut warnings = config.warnings.clone();
    if hold == Hold::Alone {
        warnings.extend(check_names(config, catalogue).await);
    }
    warnings.extend(idle_names(config, catalogue.registry()));
    warnings
}

/// Who is told of questions, with links that this installation knows again.
async fn notices(
    config: &Config,
    ways: &EgressSettings,
    store: &dyn Store,
    world: &World,
) -> anyhow::Result<Option<Arc<Notices>>> {
    let Some(settings) = &config.approvals else { return Ok(None) };
    let key = store
        .signing_key(world.random_secret())
        .await
        .with_context(|| tr!("the installation's key cannot be read"))?;
    let links = ApprovalLinks::new(Seal::new(key), settings.public_url.as_str(), settings.link_hours);
    let webhook = Webhook::new(ways, settings.webhook.clone())?;
    Ok(Some(Notices::new(webhook, links)))
}

fn tools(
    config: &Config,
    ways: &EgressSettings,
    egress: &Egress,
    world: &World,
    extra: Vec<ExtraTool>,
) -> anyhow::Result<Registry> {
    let mut registry = Registry::new().with_trust(config.trust.clone());
    if let Some(settings) = &config.alarms {
        let line = AlarmLine::new(Webhook::new(ways, settings.clone())?);
        registry = registry.with_alerts(line.alarms());
    }
    // Who names another service means it to be reached, wherever it is; by its own tool, and by no other.
    let search = config.tavily_url.as_deref().and_then(|url| Url::parse(url).ok());
    let to = |url: Option<&Url>| url.map_or(Ok(egress.clone()), |url| outlet(ways, url));
    let settings = BuiltinSettings {
        search_egress: to(search.as_ref())?,
        images_egress: to(config.images.as_ref().map(|images| &images.base_url))?,
        zone: config.zone.clone(),
        databases: config.databases.clone(),
        images: config.images.clone(),
        tavily_url: config.tavily_url.clone().unwrap_or_else(|| TAVILY_URL.into()),
        ..BuiltinSettings::new(egress.clone(), config.data.join("notes"))
    };
    for (tool, guards) in builtin_tools(&settings).into_iter().chain(extra) {
        let name = tool.spec().name.clone();
        let table = config.tools.iter().find(|(named, _)| *named == name).map(|(_, table)| table);
        let guards = Guards { json: config.limits.server.json, ..guards };
        let guards = table.map_or(guards.clone(), |table| table.over(guards));
        registry.register(tool, guards, world)?;
    }
    Ok(registry)
}

/// The rows of agents and skills. Only a server takes over what is in the folder of skills.
async fn read_agents_and_skills(
    config: &Config,
    hold: Hold,
    runtime: &Runtime,
) -> anyhow::Result<Arc<SkillFolder>> {
    runtime.agents().refresh().await.with_context(|| tr!("the agents cannot be read"))?;
    runtime.skills().refresh().await.with_context(|| tr!("the skills cannot be read"))?;
    let skill_folder = Arc::new(SkillFolder::new(&config.skills_dir));
    if hold == Hold::Alone {
        skill_folder.sync(runtime.skills()).await;
    }
    Ok(skill_folder)
}

/// The tools that are programs. Only a server tells them when they are loaded and unloaded.
async fn read_tool_folder(config: &Config, hold: Hold, catalogue: &Catalogue) -> Arc<ToolFolder> {
    let lifecycle = match hold {
        Hold::Alone => Lifecycle::Run,
        Hold::Shared => Lifecycle::Skip,
    };
    let folder = ToolFolder::new(&config.tools_dir, lifecycle, |name| std::env::var_os(name));
    folder.sync(catalogue).await;
    Arc::new(folder)
}

/// Names of tools in the configuration that no tool has now, which may be right.
pub(crate) fn idle_names(config: &Config, registry: &Registry) -> Vec<String> {
    idle_rules(config, registry).into_iter().chain(idle_fallbacks(config, registry)).collect()
}

/// Rules about tools that are not there, which may be right: tools can come later, and clients bring their own.
fn idle_rules(config: &Config, registry: &Registry) -> Vec<String> {
    let operator = (0..).zip(&config.permissions).map(|(number, rule): (usize, _)| {
        (config.places.of(&["permissions", &number.to_string(), "tool"]), rule)
    });
    let agents = config.agents.iter().flat_map(|agent| {
        (0..).zip(&agent.permissions).map(move |(number, rule): (usize, _)| {
            let path = ["agents", &agent.name, "permissions", &number.to_string(), "tool"];
            (config.places.of(&path), rule)
        })
    });
    let tools = registry.list();
    let warning = |(place, rule): (String, &Rule)| {
        let pattern = rule.tool.as_ref()?;
        let fits = tools.iter().any(|tool| speaks_of(pattern, &tool.spec().name));
        (!fits).then(|| {
            tr!(
                "{place}: no tool of this server is called `{pattern}` now; the rule holds for tools that clients bring, \
                 and for those that come later",
                place = place,
                pattern = pattern
            )
        })
    };
    operator.chain(agents).filter_map(warning).collect()
}

/// Stand-ins that are not there, which may be right in the same way.
fn idle_fallbacks(config: &Config, registry: &Registry) -> Vec<String> {
    let missing = |(tool, table): &(String, GuardsTable)| {
        let name = table.fallback_tool().filter(|name| registry.get(name).is_none())?;
        let place = config.places.of(&["tools", tool, "fallback_tool"]);
        Some(tr!(
            "{place}: no tool is called `{name}` now, so nothing stands in for `{tool}`",
            place = place,
            name = name,
            tool = tool
        ))
    };
    config.tools.iter().filter_map(missing).collect()
}

/// Whether a rule about tools of this pattern is about this one.
fn speaks_of(pattern: &str, tool: &str) -> bool {
    let rule = Rule { tool: Some(pattern.into()), ..Rule::new(Action::Deny) };
    let access = CallAccess {
        tool,
        leads_to: None,
        tags: &[],
        effect: Effect::Read,
        client: false,
        agent: "",
        user: "",
        groups: &BTreeSet::new(),
        arguments: &serde_json::Value::Null,
    };
    Rules::new().with_layer("rule", vec![rule]).forbids(&access)
}

/// The application that serves requests.
pub fn application(
    config: &Config,
    assembly: &Assembly,
    world: &World,
    doctor: Box<Doctor>,
) -> anyhow::Result<App> {
    let access = AccessSettings {
        token: config.token.clone(),
        hosts: hosts(config),
        only_this_machine: config.reach() == Reach::ThisMachine,
        https_hosts: public_urls(config)
            .filter(|url| url.scheme() == "https")
            .filter_map(authority)
            .collect(),
        trusted_proxies: trusted_proxies(config),
        session_key: session_key(&config.data, world)?,
    };
    let notices = assembly.notices.as_ref();
    Ok(App::new(AppParts {
        model_problems: problems(assembly),
        declare: Some(Box::new(declarations)),
        importer: Some(importer(assembly.egress.clone(), assembly.runtime.catalogue().clone())),
        doctor: Some(doctor),
        links: notices.map(|notices| notices.links().clone()),
        secrets_withheld: Some(assembly.withheld.clone()),
        notices_lost: notices.map(|notices| notices.lost().clone()),
        durability_problem: assembly.durability_problem.clone(),
        sign_in: sign_in(config, world)?,
        ..AppParts::new(assembly.runtime.clone(), access, config.limits.server)
    }))
}

/// The proxies whose word counts.
pub(crate) fn trusted_proxies(config: &Config) -> Vec<Network> {
    config.trusted_proxies.iter().filter_map(|text| Network::parse(text).ok()).collect()
}

/// The names that the server goes by: those it was given, and those of the addresses where people reach it.
fn hosts(config: &Config) -> Vec<String> {
    config.hosts.iter().cloned().chain(public_urls(config).filter_map(authority)).collect()
}

/// The addresses where people reach the server.
fn public_urls(config: &Config) -> impl Iterator<Item = &Url> {
    let of_links = config.approvals.as_ref().map(|approvals| &approvals.public_url);
    config.public_url.iter().chain(of_links)
}

/// The host of an address as a request names it: with its port unless that is the usual one.
fn authority(url: &Url) -> Option<String> {
    let host = url.host_str()?;
    Some(url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}")))
}

/// Tools as requests of a vendor have them, by the name of its protocol; `openai` is enough for the one it is known for.
pub fn declarations(format: &str, tools: &[&ToolSpec]) -> Option<Value> {
    let name = if format == "openai" { "openai_chat" } else { format };
    helve_model_http::find_protocol(name).map(|protocol| protocol.declarations(tools))
}

/// What is wrong with a model, and what to do about it.
pub fn problems(assembly: &Assembly) -> Box<ModelProblems> {
    let discovery = assembly.discovery.clone();
    Box::new(move |name: &str| {
        let key = discovery.model(name)?.missing_key().map(str::to_owned);
        let key = key.map(|variable| {
            let text = format!("set the environment variable {variable}");
            Reason::new(text, Notice::model_without_key(&variable))
        });
        key.or_else(|| discovery.problem(name))
    })
}
