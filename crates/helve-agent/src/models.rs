//! Models by name, and what each has shown of itself.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use helve_model::{Model, ToolMode};
use helve_types::{Mode, ModelParams};
use tokio::time::Instant;

use crate::retry::Health;

/// What the operator says about a model, besides how it is reached.
#[derive(Debug, Clone, Default)]
pub struct ModelOptions {
    /// The models that answer in its place when it cannot, in this order; theirs are not asked.
    pub fallbacks: Vec<String>,
    /// Named sets of parameters that a request may choose from.
    pub variants: BTreeMap<String, ModelParams>,
}

/// The models of this server, by name.
#[derive(Default)]
pub struct Models {
    models: BTreeMap<String, Entry>,
    default: Option<String>,
    learned: Mutex<HashMap<String, Learned>>,
}

struct Entry {
    model: Arc<dyn Model>,
    options: ModelOptions,
}

/// What a model has shown of itself.
#[derive(Default)]
struct Learned {
    /// Its server said that it cannot do native calls.
    no_native_tools: bool,
    /// The last dialect it wrote a call in.
    dialect: Option<&'static str>,
    health: Health,
}

impl Models {
    pub fn new() -> Self {
        Self::default()
    }

    /// The first one added is the default until another is named.
    pub fn add(&mut self, model: Arc<dyn Model>, options: ModelOptions) {
        let name = model.name().to_owned();
        self.default.get_or_insert_with(|| name.clone());
        self.models.insert(name, Entry { model, options });
    }

    pub fn set_default(&mut self, name: impl Into<String>) {
        self.default = Some(name.into());
    }

    pub fn default_name(&self) -> &str {
        self.default.as_deref().unwrap_or_default()
    }

    pub fn get(&self, name: &str) -> Option<&Arc<dyn Model>> {
        self.models.get(name).map(|entry| &entry.model)
    }

    pub fn options(&self, name: &str) -> Option<&ModelOptions> {
        self.models.get(name).map(|entry| &entry.options)
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.models.keys().map(String::as_str)
    }

    pub fn all(&self) -> impl Iterator<Item = &Arc<dyn Model>> {
        self.models.values().map(|entry| &entry.model)
    }

    /// How the model is asked to call tools now.
    pub fn mode(&self, model: &dyn Model, default_profile: &str) -> Mode {
        match model.tool_mode() {
            ToolMode::Fixed(mode) => mode,
            ToolMode::Auto => {
                let prompted =
                    self.learned().get(model.name()).is_some_and(|learned| learned.no_native_tools);
                if prompted { Mode::Prompt(default_profile.into()) } else { Mode::Native }
            }
        }
    }

    /// The dialect of the last call that the model wrote into its text.
    pub fn dialect(&self, name: &str) -> Option<&'static str> {
        self.learned().get(name)?.dialect
    }

    /// Those that may answer a step of this model's, in the order in which they are asked: itself, then its fallbacks,
    /// and last whichever of them are to be left alone for a while.
    pub(crate) fn route(&self, name: &str, now: Instant) -> Vec<Arc<dyn Model>> {
        let Some(own) = self.models.get(name) else { return vec![] };
        let fallbacks = own.options.fallbacks.iter().filter_map(|name| self.get(name));
        let mut route: Vec<_> = std::iter::once(&own.model).chain(fallbacks).cloned().collect();
        // Stable: the order of the configuration holds within both groups.
        route.sort_by_cached_key(|model| self.health(model.name(), |health| health.rests(now)));
        route
    }

    /// Looks at how a model has fared, or notes how it did.
    pub(crate) fn health<R>(&self, name: &str, look: impl FnOnce(&mut Health) -> R) -> R {
        look(&mut self.learned().entry(name.to_owned()).or_default().health)
    }

    pub(crate) fn learn_no_native_tools(&self, name: &str) {
        self.learned().entry(name.to_owned()).or_default().no_native_tools = true;
    }

    pub(crate) fn learn_dialect(&self, name: &str, dialect: &'static str) {
        self.learned().entry(name.to_owned()).or_default().dialect = Some(dialect);
    }

    fn learned(&self) -> MutexGuard<'_, HashMap<String, Learned>> {
        self.learned.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
