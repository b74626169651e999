//! The models of a server as a fleet: which there are, what each costs and can do, how it has fared, who is asked when
//! one fails.
//!
//! `Models` holds them by name with what was learned about each. `choose` finds the model that a request means, `retry`
//! decides what follows a failed attempt, `probe` asks a new model what it can do, `prompt_mode` writes requests for
//! models without native calls. Nothing here knows runs, stores or tools that run.

mod choose;
mod forms;
mod last_used;
mod metrics;
mod price;
mod probe;
pub mod prompt_mode;
pub mod retry;
pub mod tokens;
mod window;

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};

use helve_types::{Fingerprint, Mode, ModelParams, ModelProfile, RunSetup, Timestamp, ToolChoice, UserId};
use tokio::time::Instant;

pub use self::choose::{ChooseError, ModelChoice, choose_model, format_names};
pub use self::forms::Forms;
use self::last_used::LastUsed;
pub use self::metrics::{ModelCounters, ModelMetrics, RequestOutcome};
pub use self::price::{PerMillion, Price, PriceSource};
pub use self::probe::Probe;
use self::retry::Health;
use self::tokens::EstimateRatio;
pub use self::window::{Window, requested_num_ctx};
use crate::{Model, Needs, ToolMode};

/// What the operator says about a model, besides how it is reached.
#[derive(Debug, Clone, Default)]
pub struct ModelOptions {
    /// The models that answer in its place when it cannot, in this order; theirs are not asked.
    pub fallbacks: Vec<String>,
    /// Which model it is and where: a profile of another one is of no use.
    pub subject: String,
    /// It is asked what it can do before its first question, unless that is known.
    pub probe: bool,
    /// Named sets of parameters that a request may choose from.
    pub variants: BTreeMap<String, ModelParams>,
    /// What its tokens cost, if known.
    pub price: Option<Price>,
    /// Whether it is asked as small models want to be asked.
    pub small: bool,
    /// How many tokens it can read and write at once, if known.
    pub context_tokens: Option<u64>,
    /// Whether its answers begin inside reasoning that its prompt has opened; if not configured, as the probe found it.
    pub reasoning_open: Option<bool>,
    /// Whether its server leaves native calls in the text; if not configured, as the probe found it.
    pub calls_in_text: Option<bool>,
    /// Whether the web is searched before it is first asked, where neither the request nor the agent says so.
    pub pre_search: Option<bool>,
    /// Where it comes from; none for a model inside the program.
    pub origin: Option<Origin>,
}

/// Where a model comes from, as far as users may know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// None where only a protocol was named.
    pub vendor: Option<String>,
    pub protocol: String,
    /// What the vendor calls the model.
    pub model: String,
    /// With the port, and without anything secret.
    pub host: String,
}

/// The models of this server, by name. Servers of models are asked what they have while Helve runs, so models come and
/// go; a run holds the model that it asks.
#[derive(Default)]
pub struct Models {
    models: RwLock<BTreeMap<String, FleetModel>>,
    default: RwLock<Option<String>>,
    /// The operator named the default, so no user's last choice counts.
    default_is_fixed: bool,
    last_used: LastUsed,
    currency: String,
    learned: Mutex<HashMap<String, LearnedFacts>>,
}

#[derive(Clone)]
struct FleetModel {
    model: Arc<dyn Model>,
    /// Of its subject, where that is known.
    fingerprint: Option<Fingerprint>,
    options: Arc<ModelOptions>,
    counters: Arc<ModelCounters>,
    /// Its server answered when it was looked at last.
    ready: Arc<AtomicBool>,
}

/// What a model has shown of itself.
#[derive(Default)]
struct LearnedFacts {
    /// Its server said that it cannot do native calls; what was found out since then counts again.
    no_native_tools: Option<Timestamp>,
    /// How far off the last estimate of a question's tokens was.
    ratio: EstimateRatio,
    /// A question of so many tokens was too long for it.
    too_long: Option<u64>,
    /// The last dialect it wrote a call in.
    dialect: Option<&'static str>,
    /// A probe of it was started.
    probe_started: bool,
    /// What it was found to do when it was asked.
    profile: Option<Arc<ModelProfile>>,
    health: Health,
    /// Held by the probe that is finding out what it can do.
    probing: Arc<tokio::sync::Mutex<()>>,
}

impl Models {
    pub fn new() -> Self {
        Self::default()
    }

    /// The first one added is the default until another is named.
    pub fn add(&mut self, model: Arc<dyn Model>, options: ModelOptions) {
        let name = model.name().to_owned();
        self.add_or_replace(model, options);
        let default = self.default.get_mut().unwrap_or_else(PoisonError::into_inner);
        default.get_or_insert(name);
    }

    /// Adds a model while the server runs, or puts another one in the place of the one of its name.
    pub fn add_or_replace(&self, model: Arc<dyn Model>, options: ModelOptions) {
        let name = model.name().to_owned();
        let fingerprint = (!options.subject.is_empty()).then(|| Fingerprint::from_text(&options.subject));
        let mut models = self.models.write().unwrap_or_else(PoisonError::into_inner);
        let counters = models.get(&name).map(|before| before.counters.clone()).unwrap_or_default();
        models.insert(
            name,
            FleetModel {
                model,
                fingerprint,
                options: Arc::new(options),
                counters,
                ready: Arc::new(true.into()),
            },
        );
    }

    /// Takes a model away that its server has no longer.
    pub fn remove(&self, name: &str) {
        self.models.write().unwrap_or_else(PoisonError::into_inner).remove(name);
    }

    /// The model that is asked where a request and its agent name none.
    pub fn set_default(&self, name: impl Into<String>) {
        *self.default.write().unwrap_or_else(PoisonError::into_inner) = Some(name.into());
    }

    pub fn default_name(&self) -> String {
        self.default.read().unwrap_or_else(PoisonError::into_inner).clone().unwrap_or_default()
    }

    /// Keeps the default for all users, whichever model they used last, because the operator named it.
    pub fn pin_default(&mut self) {
        self.default_is_fixed = true;
    }

    /// The default of a user: the model they chose last, if it can be used.
    pub fn default_for_user(&self, user: &UserId) -> String {
        let last = || {
            let name = self.last_used.model_of_user(user)?;
            let is_ready = self.read_entries().get(&name)?.ready.load(Ordering::Relaxed);
            is_ready.then_some(name)
        };
        let last = if self.default_is_fixed { None } else { last() };
        last.unwrap_or_else(|| self.default_name())
    }

    /// Keeps which model a user asked last. One inside the program answers where there is no other, so it counts only if
    /// the user named it.
    pub fn record_last_model(&self, user: &UserId, name: &str, is_named: bool) {
        if is_named || self.options(name).is_none_or(|options| options.origin.is_some()) {
            self.last_used.set_model_of_user(user, name);
        }
    }

    /// Notes whether the server of a model answers.
    pub fn set_ready(&self, name: &str, is_ready: bool) {
        if let Some(entry) = self.read_entries().get(name) {
            entry.ready.store(is_ready, Ordering::Relaxed);
        }
    }

    /// What the prices are in.
    pub fn currency(&self) -> &str {
        if self.currency.is_empty() { "USD" } else { &self.currency }
    }

    pub fn set_currency(&mut self, currency: impl Into<String>) {
        self.currency = currency.into();
    }

    pub fn get(&self, name: &str) -> Option<Arc<dyn Model>> {
        self.read_entries().get(name).map(|entry| entry.model.clone())
    }

    pub fn options(&self, name: &str) -> Option<Arc<ModelOptions>> {
        self.read_entries().get(name).map(|entry| entry.options.clone())
    }

    /// Which model this is and where, as a mark to compare.
    pub fn fingerprint(&self, name: &str) -> Option<Fingerprint> {
        self.read_entries().get(name)?.fingerprint.clone()
    }

    /// What was asked of a model, if it is one of ours.
    pub fn counters(&self, name: &str) -> Option<Arc<ModelCounters>> {
        self.read_entries().get(name).map(|entry| entry.counters.clone())
    }

    /// What a model is asked with: the request's parameters over the variant's, the agent's and the model's own, which
    /// its configuration has already put over the options of small models and the vendor's defaults.
    pub fn params(&self, model: &dyn Model, setup: &RunSetup) -> ModelParams {
        let none = ModelParams::default();
        let options = self.options(model.name());
        let variants = options.as_ref().map(|options| &options.variants);
        let variant = setup.variant.as_ref().and_then(|name| variants?.get(name)).unwrap_or(&none);
        setup
            .params
            .clone()
            .with_defaults(variant)
            .with_defaults(&setup.agent_params)
            .with_defaults(model.params())
    }

    pub fn names(&self) -> Vec<String> {
        self.read_entries().keys().cloned().collect()
    }

    pub fn list(&self) -> Vec<Arc<dyn Model>> {
        self.read_entries().values().map(|entry| entry.model.clone()).collect()
    }

    /// How the model is asked to call tools now.
    pub fn tool_mode(&self, model: &dyn Model, default_profile: &str) -> Mode {
        match model.tool_mode() {
            ToolMode::Fixed(mode) => mode,
            ToolMode::Auto => {
                let learned = self.lock_learned();
                learned.get(model.name()).map_or(Mode::Native, |learned| learned.tool_mode(default_profile))
            }
        }
    }

    /// What the model was found to do, if it was asked and is still the same.
    pub fn profile(&self, name: &str) -> Option<Arc<ModelProfile>> {
        self.lock_learned().get(name)?.profile.clone()
    }

    /// What the model's server was found to need.
    pub fn server_needs(&self, name: &str) -> Needs {
        self.profile(name).map_or_else(Needs::default, |profile| Needs {
            reasoning_back: profile.wants_reasoning_back.is_yes(),
            plain_schemas: profile.rich_schemas.is_no(),
        })
    }

    /// Whether a choice of tools is worth sending: the vendor knows it, and the model was not found to ignore it.
    pub fn accepts_choice(&self, model: &dyn Model, choice: &ToolChoice, params: &ModelParams) -> bool {
        let is_must = matches!(choice, ToolChoice::Required | ToolChoice::Named(_));
        let ignores = || self.profile(model.name()).is_some_and(|profile| profile.required.is_no());
        model.supports_choice(choice, params) && !(is_must && ignores())
    }

    /// Whether the model is to be probed now; true only once for each.
    pub fn needs_probe(&self, model: &dyn Model) -> bool {
        let wanted = self.options(model.name()).is_some_and(|options| options.probe);
        if !wanted || model.tool_mode() != ToolMode::Auto {
            return false;
        }
        let mut learned = self.lock_learned();
        let learned = learned.entry(model.name().to_owned()).or_default();
        learned.profile.is_none() && !std::mem::replace(&mut learned.probe_started, true)
    }

    /// The lock that a probe of the model holds.
    pub fn probe_lock(&self, name: &str) -> Arc<tokio::sync::Mutex<()>> {
        self.lock_learned().entry(name.to_owned()).or_default().probing.clone()
    }

    /// Takes in what a model was found to do; what is said of another one is passed over.
    pub fn learn_profile(&self, name: &str, profile: ModelProfile) {
        if self.options(name).is_some_and(|options| options.subject == profile.subject) {
            let mut learned = self.lock_learned();
            let learned = learned.entry(name.to_owned()).or_default();
            learned.no_native_tools = learned.no_native_tools.filter(|before| profile.at <= *before);
            learned.profile = Some(Arc::new(profile));
        }
    }

    /// Whether the model's answers begin inside reasoning that its prompt has opened.
    pub fn begins_inside_reasoning(&self, name: &str) -> bool {
        let found = || Some(self.lock_learned().get(name)?.profile.as_ref()?.reasoning_open.is_yes());
        self.options(name).and_then(|options| options.reasoning_open).or_else(found).unwrap_or_default()
    }

    /// Whether the model's server leaves native calls in the text, so that they are looked for there.
    pub fn leaves_calls_in_text(&self, name: &str) -> bool {
        let found = || Some(self.lock_learned().get(name)?.profile.as_ref()?.calls_in_text.is_yes());
        self.options(name).and_then(|options| options.calls_in_text).or_else(found).unwrap_or_default()
    }

    /// The dialect of the last call that the model wrote into its text.
    pub fn dialect(&self, name: &str) -> Option<&'static str> {
        self.lock_learned().get(name)?.dialect
    }

    /// Those that may answer a step of this model's, in the order in which they are asked: itself, then the given
    /// fallbacks or else its own, and last whichever of them are to be left alone for a while.
    pub fn models_to_try(&self, name: &str, fallbacks: &[String], now: Instant) -> Vec<Arc<dyn Model>> {
        let Some(own) = self.read_entries().get(name).cloned() else { return vec![] };
        let names = if fallbacks.is_empty() { &own.options.fallbacks } else { fallbacks };
        let fallbacks = names.iter().filter(|other| *other != name).filter_map(|name| self.get(name));
        let mut route: Vec<_> = std::iter::once(own.model).chain(fallbacks).collect();
        // Stable: the order of the configuration holds within both groups.
        route.sort_by_cached_key(|model| self.with_health(model.name(), |health| health.is_asked_last(now)));
        route
    }

    /// Looks at how a model has fared, or notes how it did.
    pub fn with_health<R>(&self, name: &str, look: impl FnOnce(&mut Health) -> R) -> R {
        look(&mut self.lock_learned().entry(name.to_owned()).or_default().health)
    }

    pub fn learn_no_native_tools(&self, name: &str) {
        let mut learned = self.lock_learned();
        let learned = learned.entry(name.to_owned()).or_default();
        let known = learned.profile.as_ref().map_or(Timestamp(0), |profile| profile.at);
        learned.no_native_tools = Some(known);
    }

    pub fn learn_dialect(&self, name: &str, dialect: &'static str) {
        self.lock_learned().entry(name.to_owned()).or_default().dialect = Some(dialect);
    }

    /// What the model can read at once, as far as it is configured or was observed.
    pub fn window(&self, name: &str, params: &ModelParams) -> Option<Window> {
        let told = self.options(name).and_then(|options| options.context_tokens);
        let shown = self.lock_learned().get(name).and_then(|learned| learned.too_long);
        let tokens = [told, requested_num_ctx(params), shown].into_iter().flatten().min()?;
        Some(Window { tokens, answer_max: params.max_tokens.map(u64::from) })
    }

    /// How far off estimates of this model's tokens are.
    pub fn token_ratio(&self, name: &str) -> EstimateRatio {
        self.lock_learned().get(name).map_or_else(EstimateRatio::default, |learned| learned.ratio)
    }

    /// Takes in what the vendor counted where so much was estimated.
    pub fn learn_token_ratio(&self, name: &str, counted: u64, estimated: u64) {
        self.lock_learned().entry(name.to_owned()).or_default().ratio =
            EstimateRatio::new(counted, estimated);
    }

    /// Takes in that a question of so many tokens was too long.
    pub fn learn_rejected_length(&self, name: &str, tokens: u64) {
        let mut learned = self.lock_learned();
        let known = &mut learned.entry(name.to_owned()).or_default().too_long;
        *known = Some(known.unwrap_or(u64::MAX).min(tokens));
    }

    fn read_entries(&self) -> RwLockReadGuard<'_, BTreeMap<String, FleetModel>> {
        self.models.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_learned(&self) -> MutexGuard<'_, HashMap<String, LearnedFacts>> {
        self.learned.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LearnedFacts {
    /// How it is asked to call tools, where that is not configured.
    fn tool_mode(&self, default_profile: &str) -> Mode {
        let profile = self.profile.as_deref();
        let native = self.no_native_tools.is_none() && !profile.is_some_and(|profile| profile.native.is_no());
        let written = profile.and_then(|profile| profile.prompt.as_deref());
        // A call that was left in the text is better than none in the prompt.
        let in_text = profile.is_some_and(|profile| profile.calls_in_text.is_yes());
        if native || in_text && written.is_none() && self.no_native_tools.is_none() {
            return Mode::Native;
        }
        Mode::Prompt(written.unwrap_or(default_profile).into())
    }
}

#[cfg(test)]
mod tests {
    use crate::ScriptedModel;
    use helve_types::Finding;

    use super::*;

    #[test]
    fn a_model_is_asked_as_it_was_found_to_answer_and_not_as_another_one_was() {
        let mut models = Models::new();
        let model = Arc::new(ScriptedModel::new([]).in_mode(ToolMode::Auto));
        models.add(model.clone(), ModelOptions { subject: "m at here".into(), ..ModelOptions::default() });
        let mode = || models.tool_mode(&*model, "json_strict").to_string();
        let found = |subject, native, prompt: Option<&str>| ModelProfile {
            native,
            prompt: prompt.map(str::to_owned),
            ..ModelProfile::unknown(Timestamp(1), subject)
        };
        assert_eq!(mode(), "native");
        models.learn_profile("scripted", found("m at another place", Finding::no(""), None));
        assert_eq!(mode(), "native", "another model's profile says nothing");
        models.learn_profile("scripted", found("m at here", Finding::unknown(""), None));
        assert_eq!(mode(), "native", "what is unknown is tried");
        models.learn_profile("scripted", found("m at here", Finding::no(""), None));
        assert_eq!(mode(), "prompt:json_strict");
        models.learn_profile("scripted", found("m at here", Finding::no(""), Some("hermes")));
        assert_eq!(mode(), "prompt:hermes");
        let in_text = |prompt| ModelProfile {
            calls_in_text: Finding::yes(""),
            ..found("m at here", Finding::no(""), prompt)
        };
        models.learn_profile("scripted", in_text(Some("hermes")));
        assert_eq!(mode(), "prompt:hermes");
        assert!(models.leaves_calls_in_text("scripted"));
        models.learn_profile("scripted", in_text(None));
        assert_eq!(mode(), "native", "a call in the text is better than none in the prompt");
        let yes = found("m at here", Finding::yes(""), None);
        models.learn_profile("scripted", yes.clone());
        assert_eq!(mode(), "native");
        models.learn_no_native_tools("scripted");
        models.learn_profile("scripted", yes.clone());
        assert_eq!(mode(), "prompt:json_strict", "what was known before the server refused says nothing");
        models.learn_profile("scripted", ModelProfile { at: Timestamp(2), ..yes });
        assert_eq!(mode(), "native", "what was found out since then does");
    }
}
