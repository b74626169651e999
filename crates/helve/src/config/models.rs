//! Which models there are: those in the file, those whose keys are in the environment, and always `demo`.

use anyhow::{Context, bail};
use helve_model::ToolMode;
use helve_model_http::{HttpModelSettings, vendor};
use helve_types::{Mode, ModelParams};
use serde::Deserialize;

use super::Environment;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ModelTable {
    name: String,
    vendor: Option<String>,
    protocol: Option<String>,
    model: String,
    base_url: Option<String>,
    api_key_env: Option<String>,
    /// `auto`, `native`, `prompt` or `prompt:<profile>`.
    tools: Option<String>,
    #[serde(default)]
    params: ModelParams,
}

/// A model and where it comes from.
#[derive(Debug, Clone)]
pub struct ModelSettings {
    pub name: String,
    pub source: Source,
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
        name: "local",
        vendor: "ollama",
        model_env: "OLLAMA_MODEL",
        // Whatever it has; see `nearby`.
        model: "",
        url_env: Some("OLLAMA_API_URL"),
        always: true,
    },
];

pub(super) fn models(
    tables: Vec<ModelTable>,
    environment: &Environment,
) -> anyhow::Result<Vec<ModelSettings>> {
    let mut models: Vec<ModelSettings> = vec![];
    for table in tables {
        if table.name == "demo" || models.iter().any(|model| model.name == table.name) {
            bail!("there are two models named `{}`", table.name);
        }
        models.push(from_table(table, environment)?);
    }
    for known in KNOWN {
        let taken = models.iter().any(|model| model.name == known.name);
        if let Some(found) = from_environment(known, environment).filter(|_| !taken) {
            models.push(found);
        }
    }
    models.push(ModelSettings { name: "demo".into(), source: Source::Demo });
    Ok(models)
}

/// The first that has what it needs; an Ollama cannot be counted on to run.
pub(super) fn default_model(models: &[ModelSettings]) -> String {
    let usable = |model: &&ModelSettings| match &model.source {
        Source::Demo => true,
        Source::Http(http) => {
            let needed = http.vendor.as_deref().and_then(vendor).is_some_and(|row| row.key_env.is_some());
            let configured = http.vendor.as_deref() != Some("ollama");
            configured && (!needed || http.key.is_some())
        }
    };
    models.iter().find(usable).map_or_else(|| "demo".into(), |model| model.name.clone())
}

fn from_table(table: ModelTable, environment: &Environment) -> anyhow::Result<ModelSettings> {
    let name = table.name;
    let tool_mode = table.tools.as_deref().map_or(Ok(ToolMode::Auto), parse_tool_mode);
    let tool_mode = tool_mode.with_context(|| format!("the model `{name}`"))?;
    let row = table.vendor.as_deref().and_then(vendor);
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
    Ok(ModelSettings { name, source: Source::Http(Box::new(settings)) })
}

fn from_environment(known: &Known, environment: &Environment) -> Option<ModelSettings> {
    let row = vendor(known.vendor)?;
    let key = row.key_env.and_then(|variable| environment.secret(variable));
    if key.is_none() && !known.always {
        return None;
    }
    let settings = HttpModelSettings {
        name: known.name.into(),
        vendor: Some(known.vendor.into()),
        protocol: None,
        model: environment.text(known.model_env).unwrap_or_else(|| known.model.into()),
        base_url: known
            .url_env
            .and_then(|variable| environment.text(variable))
            .map(|url| base_url(known, url)),
        key_env: row.key_env.map(str::to_owned),
        key,
        tool_mode: ToolMode::Auto,
        params: ModelParams::default(),
    };
    Some(ModelSettings { name: known.name.into(), source: Source::Http(Box::new(settings)) })
}

/// `OLLAMA_API_URL` names the server or its chat route; its OpenAI-style door is at `/v1`.
fn base_url(known: &Known, url: String) -> String {
    if known.vendor != "ollama" {
        return url;
    }
    let server = url.trim_end_matches('/').trim_end_matches("/api/chat").trim_end_matches("/v1").to_owned();
    format!("{server}/v1")
}

fn parse_tool_mode(text: &str) -> anyhow::Result<ToolMode> {
    match text {
        "auto" => Ok(ToolMode::Auto),
        "prompt" => Ok(ToolMode::Fixed(Mode::Prompt("json_strict".into()))),
        other => match other.parse() {
            Ok(mode) => Ok(ToolMode::Fixed(mode)),
            Err(_) => bail!("`tools` is `{other}`; use auto, native, prompt or prompt:<profile>"),
        },
    }
}
