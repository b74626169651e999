//! Which models there are: those in the file, those whose keys are in the environment, and always `demo`.

use std::collections::BTreeMap;
use std::num::NonZeroU64;

use anyhow::anyhow;
use helve_model::ToolMode;
use helve_model_http::{HttpModelSettings, VENDORS, Vendor, find_vendor};
use helve_runtime::ModelOptions;
use helve_types::ModelParams;
use serde::Deserialize;
use toml::Table;

use super::Environment;
use super::places::Places;
use super::prices::PriceTable;
use super::prompts::Prompts;
use crate::i18n::{tr, words};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub(super) struct ModelTable {
    name: String,
    vendor: Option<String>,
    protocol: Option<String>,
    model: String,
    base_url: Option<String>,
    api_key_env: Option<String>,
    /// `auto`, `native`, `prompt` or `prompt:<profile>`.
    tools: Option<String>,
    /// Whether it is asked what it can do before its first question.
    probe: Option<bool>,
    #[serde(default)]
    params: ModelParams,
    /// The models that answer when this one cannot, in this order.
    #[serde(default)]
    fallbacks: Vec<String>,
    /// Found from its name if not said.
    small: Option<bool>,
    #[serde(default)]
    variants: BTreeMap<String, ModelParams>,
    price: Option<PriceTable>,
    /// How many tokens it can read and write at once; known of some models, and not of others.
    context_tokens: Option<NonZeroU64>,
    /// Whether its prompt opens the reasoning, so that its answers begin inside it; found by the probe if not said.
    reasoning_open: Option<bool>,
    /// Whether its server leaves native calls in the text; found by the probe if not said.
    calls_in_text: Option<bool>,
    /// Whether the web is searched before it is first asked.
    pre_search: Option<bool>,
}

/// A model and where it comes from.
#[derive(Debug, Clone)]
pub struct ModelSettings {
    pub name: String,
    pub source: Source,
    pub options: ModelOptions,
    /// Whether it is asked what it can do before its first question; if nothing is said, where that costs nothing.
    pub probe: Option<bool>,
    /// What the operator says of its size.
    pub small: Option<bool>,
    /// Whether the operator says how it calls tools.
    pub tools_said: bool,
    /// Whether all models that its server lists are offered, too.
    pub lists: bool,
    /// Whether the operator says which model it is; if not, its server's list decides.
    pub model_is_named: bool,
}

impl ModelSettings {
    fn new(name: impl Into<String>, source: Source) -> Self {
        let options = ModelOptions::default();
        Self {
            name: name.into(),
            source,
            options,
            probe: None,
            small: None,
            tools_said: false,
            lists: false,
            model_is_named: true,
        }
    }

    /// Whether it is meant by a name, or a variant of it by `name:variant`.
    pub(super) fn answers_to(&self, name: &str) -> bool {
        let variant = name.strip_prefix(&self.name).and_then(|rest| rest.strip_prefix(':'));
        name == self.name || variant.is_some_and(|variant| self.options.variants.contains_key(variant))
    }
}

#[derive(Debug, Clone)]
pub enum Source {
    Demo,
    Http(Box<HttpModelSettings>),
}

/// A vendor that is used without a word in the file, if its key is there.
struct Known {
    name: &'static str,
    vendor: &'static str,
    /// Names another model of the vendor's.
    model_env: &'static str,
    model: &'static str,
    url_env: Option<&'static str>,
    /// Offered even without a key, since requests name it.
    always: bool,
}

const OLLAMA_PORT: u16 = 11434;

const KNOWN: &[Known] = &[
    Known {
        name: "openai",
        vendor: "openai",
        model_env: "OPENAI_MODEL",
        model: "gpt-5-mini",
        url_env: Some("OPENAI_BASE_URL"),
        always: false,
    },
    Known {
        name: "volcano",
        vendor: "ark",
        model_env: "ARK_MODEL",
        model: "doubao-seed-1.6",
        url_env: Some("ARK_BASE_URL"),
        always: true,
    },
    Known {
        name: "deepseek",
        vendor: "deepseek",
        model_env: "DEEPSEEK_MODEL",
        model: "deepseek-v4-flash",
        url_env: None,
        always: false,
    },
    Known {
        name: "anthropic",
        vendor: "anthropic",
        model_env: "ANTHROPIC_MODEL",
        model: "claude-sonnet-4-5",
        url_env: Some("ANTHROPIC_BASE_URL"),
        always: false,
    },
    Known {
        name: "gemini",
        vendor: "gemini",
        model_env: "GEMINI_MODEL",
        model: "gemini-2.5-flash",
        url_env: Some("GOOGLE_GEMINI_BASE_URL"),
        always: false,
    },
    Known {
        name: "local",
        vendor: "ollama",
        model_env: "OLLAMA_MODEL",
        // Whatever it has; see `discovery`.
        model: "",
        url_env: Some("OLLAMA_API_URL"),
        always: true,
    },
];

pub(super) fn models(
    tables: Vec<ModelTable>,
    environment: &Environment,
    prompts: &Prompts,
    places: &Places,
) -> anyhow::Result<Vec<ModelSettings>> {
    let mut models: Vec<ModelSettings> = vec![];
    for (number, table) in tables.into_iter().enumerate() {
        let number = number.to_string();
        let wrong = |key: &str, what: String| places.wrong(&["models", &number, key], what);
        if table.name == "demo" {
            return Err(wrong("name", tr!("`demo` is the model inside the program; choose another name")));
        }
        if models.iter().any(|model| model.name == table.name) {
            return Err(wrong("name", tr!("there are two models named `{name}`", name = table.name)));
        }
        models.push(from_table(table, environment, prompts).map_err(|(key, what)| wrong(key, what))?);
    }
    for known in KNOWN {
        if !models.iter().any(|model| model.name == known.name) {
            models.extend(from_environment(known, environment)?);
        }
    }
    for row in VENDORS.iter().filter(|row| !KNOWN.iter().any(|known| known.vendor == row.name)) {
        if !models.iter().any(|model| model.name == row.name) {
            models.extend(from_key(row, environment));
        }
    }
    models.push(ModelSettings::new("demo", Source::Demo));
    check_fallbacks(&models, places)?;
    Ok(models)
}

/// Each list is the whole of it: fallbacks of fallbacks are not asked, so two models may stand in for each other, and
/// the only way to be asked in a circle is to be on a list twice or on one's own.
fn check_fallbacks(models: &[ModelSettings], places: &Places) -> anyhow::Result<()> {
    for model in models {
        let fallbacks = &model.options.fallbacks;
        for (number, name) in fallbacks.iter().enumerate() {
            let what = if *name == model.name {
                tr!("`{name}` cannot stand in for itself", name = name)
            } else if fallbacks[..number].contains(name) {
                tr!("`{name}` is named twice", name = name)
            } else if !models.iter().any(|other| other.name == *name) {
                let known: Vec<_> = models.iter().map(|model| format!("`{}`", model.name)).collect();
                tr!(
                    "there is no model `{name}`; the models are: {known}",
                    known = known.join(", "),
                    name = name
                )
            } else {
                continue;
            };
            return Err(places.wrong(&["models", &model.name, "fallbacks"], what));
        }
    }
    Ok(())
}

/// The first that has what it needs; an Ollama cannot be counted on to run.
pub(super) fn default_model(models: &[ModelSettings]) -> String {
    let usable = |model: &&ModelSettings| match &model.source {
        Source::Demo => true,
        Source::Http(http) => {
            let needed =
                http.vendor.as_deref().and_then(find_vendor).is_some_and(|row| row.key_env.is_some());
            let configured = http.vendor.as_deref() != Some("ollama");
            configured && !http.model.is_empty() && (!needed || http.key.is_some())
        }
    };
    models.iter().find(usable).map_or_else(|| "demo".into(), |model| model.name.clone())
}

/// A model of the file, or the key that is wrong and why.
fn from_table(
    table: ModelTable,
    environment: &Environment,
    prompts: &Prompts,
) -> Result<ModelSettings, (&'static str, String)> {
    let name = table.name;
    let model_is_named = !table.model.trim().is_empty();
    if name.trim().is_empty() {
        return Err(("name", tr!("a model needs a name, by which requests call it")));
    }
    // An Ollama is asked which it has.
    if table.model.trim().is_empty() && table.vendor.as_deref() != Some("ollama") {
        return Err(("model", tr!("say what the vendor calls the model")));
    }
    let is_name = |text: &String| text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if table.api_key_env.as_ref().is_some_and(|variable| variable.is_empty() || !is_name(variable)) {
        // Not repeated: it may be the key itself.
        return Err((
            "api_key_env",
            tr!("this is the name of an environment variable, never the key itself"),
        ));
    }
    let tool_mode = table.tools.as_deref().map_or(Ok(ToolMode::Auto), |text| prompts.tool_mode(text));
    let tool_mode = tool_mode.map_err(|what| ("tools", what))?;
    let price = table.price.as_ref().map(PriceTable::configured).transpose();
    let price = price.map_err(|what| ("price", what))?;
    if let Some(name) = table.variants.keys().find(|name| name.is_empty() || name.contains(':')) {
        return Err((
            "variants",
            tr!("`{name}` cannot name a variant; it must be a word without a colon", name = name),
        ));
    }
    let row = table.vendor.as_deref().and_then(find_vendor);
    let key_env = table.api_key_env.or_else(|| row.and_then(|row| row.key_env).map(str::to_owned));
    let settings = HttpModelSettings {
        name: name.clone(),
        vendor: table.vendor,
        protocol: table.protocol,
        model: table.model,
        base_url: table.base_url,
        key: key_env.as_deref().and_then(|variable| environment.secret(variable)),
        key_env,
        tool_mode,
        params: table.params,
    };
    settings.check().map_err(|error| (error.key(), error.to_string()))?;
    let options = ModelOptions {
        fallbacks: table.fallbacks,
        variants: table.variants,
        price,
        context_tokens: table.context_tokens.map(NonZeroU64::get),
        reasoning_open: table.reasoning_open,
        calls_in_text: table.calls_in_text,
        pre_search: table.pre_search,
        ..ModelOptions::default()
    };
    Ok(ModelSettings {
        options,
        probe: table.probe,
        small: table.small,
        tools_said: table.tools.is_some(),
        lists: !model_is_named,
        model_is_named,
        ..ModelSettings::new(name, Source::Http(Box::new(settings)))
    })
}

/// The models of a vendor whose key is there: its list says which, and the first stands for the vendor's name.
fn from_key(row: &Vendor, environment: &Environment) -> Option<ModelSettings> {
    let variable = row.key_env?;
    let settings = HttpModelSettings {
        name: row.name.into(),
        vendor: Some(row.name.into()),
        protocol: None,
        model: String::new(),
        base_url: None,
        key_env: Some(variable.to_owned()),
        key: Some(environment.secret(variable)?),
        tool_mode: ToolMode::Auto,
        params: ModelParams::default(),
    };
    let model = ModelSettings::new(row.name, Source::Http(Box::new(settings)));
    Some(ModelSettings { lists: true, model_is_named: false, ..model })
}

/// What the table of a model with a usual name would say if the environment were a file.
pub(super) fn usual_model(name: &str, environment: &Environment) -> Option<Table> {
    let known = KNOWN.iter().find(|known| known.name == name)?;
    let is_own = !known.always
        && find_vendor(known.vendor)?.key_env.is_some_and(|key| environment.secret(key).is_none());
    let text = |text: String| toml::Value::String(text);
    let mut table = Table::new();
    let vendor = if is_own { format!("{}_compatible", known.vendor) } else { known.vendor.into() };
    table.insert("vendor".into(), text(vendor));
    table.insert(
        "model".into(),
        text(environment.text(known.model_env).unwrap_or_else(|| known.model.into())),
    );
    if let Some(url) = known.base_url(environment) {
        table.insert("base_url".into(), text(url));
    }
    Some(table)
}

impl Known {
    /// Where the environment says that its server is. An Ollama that is named by its host alone is at its usual port.
    fn base_url(&self, environment: &Environment) -> Option<String> {
        let url = environment.text(self.url_env?)?;
        Some(if self.vendor == "ollama" { with_usual_port(url) } else { url })
    }
}

fn with_usual_port(url: String) -> String {
    let Some(rest) = url.strip_prefix("http://") else { return url };
    let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let after_address = authority.rsplit(']').next().unwrap_or_default();
    if authority.is_empty() || after_address.contains(':') {
        return url;
    }
    format!("http://{authority}:{OLLAMA_PORT}{path}")
}

fn from_environment(known: &Known, environment: &Environment) -> anyhow::Result<Option<ModelSettings>> {
    let Some(row) = find_vendor(known.vendor) else { return Ok(None) };
    let key = row.key_env.and_then(|variable| environment.secret(variable));
    let base_url = known.base_url(environment);
    // A server of one's own that speaks as the vendor does needs no key.
    let is_own = key.is_none() && !known.always && base_url.is_some();
    if key.is_none() && !known.always && !is_own {
        return Ok(None);
    }
    let named = environment.text(known.model_env);
    let model_is_named = named.is_some();
    let usual = if is_own { "" } else { known.model };
    let settings = HttpModelSettings {
        name: known.name.into(),
        vendor: Some(if is_own { format!("{}_compatible", known.vendor) } else { known.vendor.into() }),
        protocol: None,
        model: named.unwrap_or_else(|| usual.into()),
        base_url,
        key_env: row.key_env.filter(|_| !is_own).map(str::to_owned),
        key,
        tool_mode: ToolMode::Auto,
        params: ModelParams::default(),
    };
    // Only the address can be wrong here.
    let variable = known.url_env.unwrap_or_default();
    settings.check().map_err(|error| {
        anyhow!(tr!(
            "the environment variable {variable}: {error}",
            variable = variable,
            error = words(&error)
        ))
    })?;
    let model = ModelSettings::new(known.name, Source::Http(Box::new(settings)));
    Ok(Some(ModelSettings { lists: true, model_is_named, ..model }))
}
