//! Models by name, and what each has shown of itself.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use helve_model::{Model, ToolMode};
use helve_types::{Mode, ModelParams, RunSetup};

use crate::price::Price;

/// What the operator says about a model, besides how it is reached.
#[derive(Debug, Clone, Default)]
pub struct ModelOptions {
    /// The models that answer in its place when it cannot, in this order.
    pub fallbacks: Vec<String>,
    /// Named sets of parameters that a request may choose from.
    pub variants: BTreeMap<String, ModelParams>,
    /// What its tokens cost, if anybody knows.
    pub price: Option<Price>,
    /// Whether it is asked as small models want to be asked.
    pub small: bool,
    /// Where it comes from; none for a model inside the program.
    pub origin: Option<Origin>,
}

/// Where a model comes from, as far as anybody may know.
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

/// The models of this server, by name.
#[derive(Default)]
pub struct Models {
    models: BTreeMap<String, Entry>,
    default: Option<String>,
    currency: String,
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

    /// What the prices are in.
    pub fn currency(&self) -> &str {
        if self.currency.is_empty() { "USD" } else { &self.currency }
    }

    pub fn set_currency(&mut self, currency: impl Into<String>) {
        self.currency = currency.into();
    }

    pub fn get(&self, name: &str) -> Option<&Arc<dyn Model>> {
        self.models.get(name).map(|entry| &entry.model)
    }

    pub fn options(&self, name: &str) -> Option<&ModelOptions> {
        self.models.get(name).map(|entry| &entry.options)
    }

    /// What a model is asked with: the request's parameters over the variant's, the agent's and the model's own, which
    /// its configuration has already put over the options of small models and the vendor's defaults.
    pub fn params(&self, model: &dyn Model, setup: &RunSetup) -> ModelParams {
        let none = ModelParams::default();
        let variants = self.options(model.name()).map(|options| &options.variants);
        let variant = setup.variant.as_ref().and_then(|name| variants?.get(name)).unwrap_or(&none);
        setup.params.clone().over(variant).over(&setup.agent_params).over(model.params())
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
