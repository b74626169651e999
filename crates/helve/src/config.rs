//! Configuration: a TOML file, overridden by the environment, parsed once into meaning.
//!
//! With no file at all everything has a default. A wrong file names its line and the key; a wrong variable names
//! itself. What is secret is never in the file: it names the environment variable that holds it.

mod environment;
mod file;
mod models;

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use helve_agent::AgentSettings;
use helve_tool::Rule;
use secrecy::SecretString;

pub use self::environment::Environment;
pub use self::file::{File, GuardsTable};
pub use self::models::{ModelSettings, Source};

const DEFAULT_LISTEN: &str = "127.0.0.1:8890";
const DEFAULT_FILE: &str = "helve.toml";

/// What all the commands need to know.
#[derive(Debug)]
pub struct Config {
    /// The file it came from, if there was one.
    pub file: Option<PathBuf>,
    pub listen: SocketAddr,
    pub data: PathBuf,
    pub token: Option<SecretString>,
    pub hosts: Vec<String>,
    pub log: String,
    pub models: Vec<ModelSettings>,
    pub default_model: String,
    pub agents: Vec<AgentSettings>,
    pub permissions: Vec<Rule>,
    pub tools: Vec<(String, GuardsTable)>,
    pub default_profile: String,
    /// Files with prompt profiles of the operator's own.
    pub profiles: Vec<PathBuf>,
    pub tavily_key: Option<SecretString>,
    pub tavily_url: Option<String>,
    pub zone: Option<String>,
}

/// What the command line says, which wins over everything.
#[derive(Debug, Default, Clone)]
pub struct Overrides {
    pub config: Option<PathBuf>,
    pub listen: Option<String>,
    pub data: Option<PathBuf>,
}

impl Config {
    pub fn load(overrides: &Overrides, environment: &Environment) -> anyhow::Result<Self> {
        let path = overrides.config.clone().or_else(|| environment.path("HELVE_CONFIG"));
        let path = path.or_else(|| Some(PathBuf::from(DEFAULT_FILE)).filter(|path| path.exists()));
        let text = match &path {
            Some(path) => std::fs::read_to_string(path)
                .with_context(|| format!("the configuration `{}` cannot be read", path.display()))?,
            None => String::new(),
        };
        Self::parse(path, &text, overrides, environment)
    }

    fn parse(
        path: Option<PathBuf>,
        text: &str,
        overrides: &Overrides,
        environment: &Environment,
    ) -> anyhow::Result<Self> {
        let name = path.as_deref().unwrap_or(Path::new(DEFAULT_FILE)).display().to_string();
        let file = File::parse(&name, text, environment)?;
        let listen = overrides.listen.clone().or(file.server.listen);
        let token = environment.secret("HELVE_TOKEN").or(file.server.token);
        let data = overrides.data.clone().or(file.server.data);
        let models = models::models(file.models, environment)?;
        let default_model = file.default_model.unwrap_or_else(|| models::default_model(&models));
        if !models.iter().any(|model| model.name == default_model) {
            let known: Vec<_> = models.iter().map(|model| model.name.as_str()).collect();
            bail!("`default_model` is `{default_model}`, but the models are: {}", known.join(", "));
        }
        let agents = file::agents(file.agents, &models)?;
        Ok(Self {
            listen: socket_address(listen.as_deref().unwrap_or(DEFAULT_LISTEN))?,
            data: data.unwrap_or_else(|| default_data(environment)),
            token,
            hosts: file.server.hosts,
            log: file.server.log.unwrap_or_else(|| "helve=info,warn".into()),
            models,
            default_model,
            agents,
            permissions: file.permissions,
            tools: file.tools.into_iter().collect(),
            default_profile: file.prompt.default_profile.unwrap_or_else(|| "json_strict".into()),
            profiles: file.prompt.profiles,
            tavily_key: environment.secret("TAVILY_API_KEY"),
            tavily_url: environment.text("TAVILY_API_URL"),
            zone: file.server.zone,
            file: path,
        })
    }

    /// Whether only this machine can reach the server.
    pub fn is_loopback(&self) -> bool {
        self.listen.ip().is_loopback()
    }
}

fn socket_address(text: &str) -> anyhow::Result<SocketAddr> {
    let mut found = text.to_socket_addrs().with_context(|| {
        format!("`{text}` is no address to listen on; use HOST:PORT, as in {DEFAULT_LISTEN}")
    })?;
    found.next().with_context(|| format!("`{text}` names no address"))
}

/// Where programs keep their data on this system.
fn default_data(environment: &Environment) -> PathBuf {
    let base = environment.path("XDG_DATA_HOME");
    let base = base.or_else(|| Some(environment.path("HOME")?.join(".local/share")));
    base.map_or_else(|| PathBuf::from("helve-data"), |base| base.join("helve"))
}

#[cfg(test)]
mod tests;
