//! Which tools exist.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, Weak};

use helve_guard::{BreakerStatus, CacheStatus, Change, Circuit, KeyedStatus, LimitStatus, Scope};
use helve_types::{Flow, LabelTerms, Labels, Notice, ToolSpec, World};

use crate::breaker_alerts::{AlertReceiver, BreakerAlerts};
use crate::guards::ActiveGuards;
use crate::link::{ActiveLinkGuards, HeldLinks, LinkedArguments};
use crate::metrics::Counters;
use crate::offload::run_on_pool;
use crate::repair::looks_alike;
use crate::schema::{CompileBudget, Schema};
use crate::trust::Trust;
use crate::{CallContext, Guards, Tool, ToolMetrics};

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RegistryError {
    #[error("a tool named `{0}` exists already")]
    Exists(String),

    #[error("`{name}` looks like `{other}`, which is there already")]
    LooksLike { name: String, other: String },

    #[error("there is no tool named `{0}`")]
    Missing(String),

    /// `field` is the part of the definition that is wrong: `name`, `description` or `parameters`.
    #[error("the definition of `{tool}` is wrong: `{field}`: {}", .problem.english())]
    Wrong { tool: String, field: &'static str, problem: Box<Notice> },
}

/// A tool with everything that belongs to it; clones share what they count and have seen.
#[derive(Clone)]
pub struct Registered {
    pub(crate) spec: Arc<ToolSpec>,
    pub(crate) version: String,
    pub(crate) schema: Arc<Schema>,
    /// None where the client runs it.
    pub(crate) tool: Option<Arc<dyn Tool>>,
    pub(crate) guarding: ActiveGuards,
    pub(crate) counters: Arc<Counters>,
    /// What it brings in and can carry out, with the operator's word on it.
    pub(crate) flow: Flow,
    /// Whom the breaker's changes are reported to; none for a client's tool, which has no breaker.
    alerts: Option<BreakerAlerts>,
    /// Shared by all versions of a tool: what is switched off is off for runs that hold an older one too.
    enabled: Arc<AtomicBool>,
    /// Whether a person agreed to what it is: otherwise runs that have it keep it, and no new one gets it.
    agreed: Arc<AtomicBool>,
    /// The tools beside it; none for a client's.
    beside: Weak<ToolMap>,
    /// Seeds the jitter of breakers.
    pub(crate) chance: u64,
    /// The guards that agents have of it; shared by all its versions.
    pub(crate) links: Arc<HeldLinks>,
    /// The arguments that an agent decides about, where an agent has it.
    pub(crate) arguments: Option<Arc<LinkedArguments>>,
    /// The guards of the agent that has it.
    pub(crate) link_guards: Option<Arc<ActiveLinkGuards>>,
}

/// As long a name is taken by every vendor.
const NAME_CHARS_MAX: usize = 64;

type ToolMap = RwLock<BTreeMap<String, Arc<Registered>>>;

impl Registered {
    fn new(
        spec: ToolSpec,
        version: String,
        tool: Option<Arc<dyn Tool>>,
        guards: Guards,
        seed: u64,
        alerts: Option<BreakerAlerts>,
        budget: &mut CompileBudget,
    ) -> Result<Self, RegistryError> {
        let wrong = |field, problem| RegistryError::Wrong {
            tool: spec.name.clone(),
            field,
            problem: Box::new(problem),
        };
        check_name(&spec.name).map_err(|problem| wrong("name", problem))?;
        if spec.description.trim().is_empty() {
            return Err(wrong("description", Notice::definition_description_empty()));
        }
        let schema = Schema::compile(&spec.parameters, budget)
            .map_err(|problem| wrong("parameters", Notice::definition_other(&problem)))?;
        Ok(Self {
            version,
            schema,
            tool,
            guarding: ActiveGuards::new(guards, spec.effect, seed),
            counters: Arc::default(),
            alerts,
            flow: spec.flow.clone().with_terms(&spec.labels),
            enabled: Arc::new(AtomicBool::new(true)),
            agreed: Arc::new(AtomicBool::new(true)),
            beside: Weak::new(),
            chance: seed,
            links: Arc::default(),
            arguments: None,
            link_guards: None,
            spec: Arc::new(spec),
        })
    }

    /// A tool that a client declares for one run and runs itself.
    pub fn for_client(spec: ToolSpec) -> Result<Self, RegistryError> {
        Self::for_client_within(spec, &mut CompileBudget::default())
    }

    fn for_client_within(spec: ToolSpec, budget: &mut CompileBudget) -> Result<Self, RegistryError> {
        let (flow, labels) = (Flow::for_client(), LabelTerms::default());
        let spec = ToolSpec { client: true, flow, labels, ..spec };
        Self::new(spec.clone(), spec.version(), None, Guards::default(), 0, None, budget)
    }

    /// All tools that a client declares for one run, made beside everybody else from one budget.
    pub async fn all_for_client(specs: Vec<ToolSpec>) -> Vec<Result<Arc<Self>, RegistryError>> {
        let first = specs.first().map(|spec| spec.name.clone()).unwrap_or_default();
        let make = move || {
            let mut budget = CompileBudget::default();
            specs.into_iter().map(|spec| Self::for_client_within(spec, &mut budget).map(Arc::new)).collect()
        };
        let failed = || {
            let problem = Notice::definition_other("could not be made ready; write them in another way");
            vec![Err(RegistryError::Wrong { tool: first, field: "parameters", problem: Box::new(problem) })]
        };
        run_on_pool(make).await.unwrap_or_else(failed)
    }

    /// A tool that gives tasks to another agent. It belongs to the agent that has it, and no registry knows it.
    pub fn for_subagent(tool: Arc<dyn Tool>) -> Result<Self, RegistryError> {
        let spec = tool.spec().clone();
        let guards = Guards { attempts: 1, ..Guards::default() };
        Self::new(spec.clone(), spec.version(), Some(tool), guards, 0, None, &mut CompileBudget::default())
    }

    /// A tool of the server's; its definition is its version.
    fn for_server(
        tool: Arc<dyn Tool>,
        guards: Guards,
        origin: &RegistryParts,
    ) -> Result<Self, RegistryError> {
        let version = tool.spec().version();
        Self::for_row(tool, version, guards, origin)
    }

    /// A tool that is a row: where its calls go is part of its version, so that an approval is bound to it.
    pub(crate) fn for_row(
        tool: Arc<dyn Tool>,
        version: String,
        guards: Guards,
        origin: &RegistryParts,
    ) -> Result<Self, RegistryError> {
        let seed = u64::from_be_bytes(origin.world.random_secret()[..8].try_into().unwrap_or_default());
        let alerts = Some(origin.to_alerts());
        let spec = tool.spec().clone();
        Self::new(spec, version, Some(tool), guards, seed, alerts, &mut CompileBudget::default())
    }

    /// The same tool as the next version of another: under its switch and its guards, and counted with it.
    pub(crate) fn into_next_version(self, before: &Self) -> Self {
        Self {
            enabled: before.enabled.clone(),
            agreed: before.agreed.clone(),
            counters: before.counters.clone(),
            guarding: self.guarding.with_history_of(&before.guarding),
            links: before.links.clone(),
            ..self
        }
    }

    pub(crate) fn set_enabled(&self, enabled: bool) {
        self.enabled.store(enabled, Ordering::Relaxed);
    }

    /// Sets whether a person has to agree to the changed tool.
    pub(crate) fn set_agreed(&self, agreed: bool) {
        self.agreed.store(agreed, Ordering::Relaxed);
    }

    pub fn is_agreed(&self) -> bool {
        self.agreed.load(Ordering::Relaxed)
    }

    /// What is written on its results.
    pub fn labels(&self) -> Labels {
        self.flow.labels(&self.spec.name)
    }

    pub fn flow(&self) -> &Flow {
        &self.flow
    }

    pub fn spec(&self) -> &Arc<ToolSpec> {
        &self.spec
    }

    pub fn version(&self) -> &str {
        &self.version
    }

    /// The version as the cache wants it.
    pub(crate) fn version_hash(&self) -> [u8; 32] {
        let mut hash = [0; 32];
        let bytes = self.version.as_bytes();
        let len = bytes.len().min(hash.len());
        hash[..len].copy_from_slice(&bytes[..len]);
        hash
    }

    pub fn is_enabled(&self) -> bool {
        self.enabled.load(Ordering::Relaxed)
    }

    /// Whether it is switched on, and is what was agreed to.
    pub fn is_usable(&self) -> bool {
        self.is_enabled() && self.is_agreed()
    }

    /// Whether the server runs it and has what it needs for that, such as a key.
    pub fn is_configured(&self) -> bool {
        self.tool.as_ref().is_some_and(|tool| tool.is_configured())
    }

    pub fn metrics(&self) -> ToolMetrics {
        self.counters.snapshot()
    }

    /// How long its calls took, for those who want more than a few numbers.
    pub fn latency(&self) -> crate::Distribution {
        self.counters.latency()
    }

    pub fn status(&self) -> ToolStatus {
        ToolStatus {
            enabled: self.is_enabled(),
            limit: self.guarding.limiter.as_ref().map(helve_guard::Limiter::status),
            user_limit: self.guarding.user_limiter.as_ref().map(|limiter| limiter.totals()),
            breaker: self.guarding.breaker.as_ref().map(helve_guard::Breaker::status),
            cache: self.guarding.cache.as_ref().map(|(_, cache)| cache.status()),
            metrics: self.metrics(),
        }
    }

    /// Puts out of date what tools have stored for the user that reads what this one writes.
    pub(crate) fn drop_stale_answers(&self, cx: &CallContext) {
        let drops = &self.guarding.settings.drops;
        if drops.is_empty() {
            return;
        }
        let Some(shelf) = self.beside.upgrade() else { return };
        let tools = shelf.read().unwrap_or_else(PoisonError::into_inner);
        for tool in drops.iter().filter_map(|name| tools.get(name)) {
            for (policy, cache) in tool.guarding.cache.iter().chain(&tool.links.caches()) {
                cache.invalidate_scope(&Scope {
                    tenant: "",
                    tool: &tool.spec.name,
                    id: &policy.scope.owner_in_context(cx),
                });
            }
        }
    }

    pub fn clear_cache(&self) {
        for (_, cache) in self.guarding.cache.iter().chain(&self.links.caches()) {
            cache.clear();
        }
    }

    pub fn reset_breaker(&self) {
        let breakers = self.guarding.breaker.iter().cloned().chain(self.links.breakers());
        for change in breakers.filter_map(|breaker| breaker.reset()) {
            self.notify_breaker(change, "it was reset by hand");
        }
    }

    /// Tells that the breaker has changed.
    pub(crate) fn notify_breaker(&self, change: Change, because: &str) {
        if let Some(alerts) = &self.alerts {
            alerts.notify(&self.spec.name, change, because);
        }
    }

    pub fn reset_metrics(&self) {
        self.counters.reset();
    }
}

/// A tool's guards and counts at one moment.
#[derive(Debug, Clone, Copy)]
pub struct ToolStatus {
    pub enabled: bool,
    pub limit: Option<LimitStatus>,
    /// All users together.
    pub user_limit: Option<KeyedStatus>,
    pub breaker: Option<BreakerStatus>,
    pub cache: Option<CacheStatus>,
    pub metrics: ToolMetrics,
}

impl ToolStatus {
    /// The word for the state of its breaker, if it has one.
    pub fn breaker_state(&self) -> Option<&'static str> {
        Some(match self.breaker?.circuit {
            Circuit::Closed => "closed",
            Circuit::Open => "open",
            Circuit::HalfOpen => "half_open",
        })
    }
}

/// What a registered tool takes from its registry: the world, which seeds its breaker, and the receiver of breaker alerts.
pub(crate) struct RegistryParts {
    world: World,
    receiver: Option<AlertReceiver>,
}

impl RegistryParts {
    fn to_alerts(&self) -> BreakerAlerts {
        BreakerAlerts { world: self.world.clone(), receiver: self.receiver.clone() }
    }
}

/// All tools of this server, by name.
#[derive(Default)]
pub struct Registry {
    tools: Arc<ToolMap>,
    generation: AtomicU64,
    alert_receiver: Option<AlertReceiver>,
    trust: Trust,
}

impl Registry {
    pub fn new() -> Self {
        Self::default()
    }

    /// Who is told when a breaker opens or closes.
    #[must_use]
    pub fn with_alerts(self, receiver: AlertReceiver) -> Self {
        Self { alert_receiver: Some(receiver), ..self }
    }

    /// What the operator says about where data may go and what comes in.
    #[must_use]
    pub fn with_trust(self, trust: Trust) -> Self {
        Self { trust, ..self }
    }

    /// What a tool of this registry is made with.
    pub(crate) fn registry_parts(&self, world: &World) -> RegistryParts {
        RegistryParts { world: world.clone(), receiver: self.alert_receiver.clone() }
    }

    /// The tool as one of this registry's, which it can reach.
    pub(crate) fn attach_tool(&self, tool: Registered) -> Registered {
        let flow = self.trust.flow_of_tool(&tool.spec);
        Registered { beside: Arc::downgrade(&self.tools), flow, ..tool }
    }

    pub fn register(&self, tool: Arc<dyn Tool>, guards: Guards, world: &World) -> Result<(), RegistryError> {
        let registered = Registered::for_server(tool, guards, &self.registry_parts(world))?;
        let registered = Arc::new(self.attach_tool(registered));
        let name = registered.spec.name.clone();
        let mut tools = self.tools.write().unwrap_or_else(PoisonError::into_inner);
        if tools.contains_key(&name) {
            return Err(RegistryError::Exists(name));
        }
        if let Some(other) = tools.keys().find(|other| looks_alike(&name, other)) {
            return Err(RegistryError::LooksLike { name, other: other.clone() });
        }
        tools.insert(name, registered);
        self.mark_changed();
        Ok(())
    }

    /// Puts a tool in the place of the one that has its name, if there is one; runs that use that keep it until they
    /// end.
    pub(crate) fn replace(&self, tool: Arc<Registered>) -> Option<Arc<Registered>> {
        let mut tools = self.tools.write().unwrap_or_else(PoisonError::into_inner);
        let before = tools.insert(tool.spec.name.clone(), tool);
        self.mark_changed();
        before
    }

    /// Runs that use the tool keep it until they end.
    pub fn unregister(&self, name: &str) -> Result<(), RegistryError> {
        let mut tools = self.tools.write().unwrap_or_else(PoisonError::into_inner);
        tools.remove(name).ok_or_else(|| RegistryError::Missing(name.into()))?;
        self.mark_changed();
        Ok(())
    }

    pub fn set_enabled(&self, name: &str, enabled: bool) -> Result<(), RegistryError> {
        let tool = self.get(name).ok_or_else(|| RegistryError::Missing(name.into()))?;
        tool.set_enabled(enabled);
        self.mark_changed();
        Ok(())
    }

    /// Grows with every change, so that what was derived from the registry knows when it is out of date.
    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    fn mark_changed(&self) {
        self.generation.fetch_add(1, Ordering::Release);
    }

    pub fn get(&self, name: &str) -> Option<Arc<Registered>> {
        self.tools.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    /// All tools, in the order of their names.
    pub fn list(&self) -> Vec<Arc<Registered>> {
        self.tools.read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }

    pub fn list_with_tag(&self, tag: &str) -> Vec<Arc<Registered>> {
        let mut tools = self.list();
        tools.retain(|tool| tool.spec.tags.iter().any(|held| held == tag));
        tools
    }
}

/// What every vendor accepts as a function's name.
pub(crate) fn check_name(name: &str) -> Result<(), Notice> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if name.is_empty() || name.len() > NAME_CHARS_MAX || !name.chars().all(fits) {
        return Err(Notice::definition_name_unfit(NAME_CHARS_MAX as u64));
    }
    Ok(())
}
