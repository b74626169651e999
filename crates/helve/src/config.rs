//! Configuration: a TOML file, overridden by the environment, parsed once into meaning.
//!
//! With no file at all everything has a default. A wrong file names its line and the key; a wrong variable names
//! itself. What is secret is never in the file: it names the environment variable that holds it.

mod alarms;
mod approvals;
mod auth;
mod budgets;
mod compaction;
mod databases;
mod egress;
mod env_models;
mod environment;
mod file;
mod hooks;
mod images;
mod labels;
mod layers;
mod limits;
mod models;
mod places;
mod prices;
mod prompts;
mod reach;
mod readable;
mod small;
mod windows;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use helve_egress::{EgressSettings, Url};
use helve_runtime::{AgentSettings, Budgets, CompactionSettings};
use helve_server::Network;
use helve_store_sql::PostgresSettings;
use helve_tool::{Rule, Trust};
use helve_tool_builtin::{Database, Images};
use secrecy::{ExposeSecret, SecretString};

use self::reach::Ways;
use crate::hooks::ConfiguredHook;
use crate::i18n::{self, Language, tr, words};
use crate::webhook::WebhookSettings;

pub use self::approvals::ApprovalSettings;
pub use self::auth::{AuthSettings, OidcSettings};
pub use self::environment::Environment;
use self::file::ServerTable;
pub use self::file::{File, GuardsTable, LogFormat};
pub use self::limits::Limits;
pub use self::models::{ModelSettings, Source};
pub use self::places::Places;
pub use self::prices::Prices;
pub use self::prompts::Prompts;
pub use self::reach::{Cause, Reach};

const DEFAULT_LISTEN: &str = "127.0.0.1:8890";
const DEFAULT_FILE: &str = "helve.toml";
const TOKEN_CHARS_MIN: usize = 16;
const DEFAULT_DRAIN: Duration = Duration::from_secs(25);

/// What all the commands need to know.
#[derive(Debug, Clone)]
pub struct Config {
    /// The file it came from, if there was one.
    pub file: Option<PathBuf>,
    pub listen: SocketAddr,
    pub data: PathBuf,
    /// Whether the command line, the environment or the file says where the data is.
    pub data_is_named: bool,
    /// The database server that keeps everything durable; without one, SQLite in the data directory does.
    pub database: Option<PostgresSettings>,
    /// The folder of tools that are programs.
    pub tools_dir: PathBuf,
    /// The folder of skills.
    pub skills_dir: PathBuf,
    pub token: Option<SecretString>,
    pub hosts: Vec<String>,
    /// Where people reach the server, if it is not the address it listens on.
    pub public_url: Option<Url>,
    /// Proxies whose word about a client's address and scheme counts: addresses and networks.
    pub trusted_proxies: Vec<String>,
    pub log: String,
    pub log_format: LogFormat,
    /// How long runs may go on when the server is told to stop.
    pub drain: Duration,
    pub models: Vec<ModelSettings>,
    pub default_model: String,
    /// Whether the operator says which model is the default.
    pub default_is_named: bool,
    /// The default that the operator names, if it is no model of the configuration but one that a server may list.
    pub listed_default: Option<String>,
    pub prices: Prices,
    pub compaction: CompactionSettings,
    /// What runs may use up.
    pub budgets: Budgets,
    /// How much of everything there may be at a time.
    pub limits: Limits,
    pub agents: Vec<AgentSettings>,
    pub permissions: Vec<Rule>,
    pub tools: Vec<(String, GuardsTable)>,
    /// What tools bring in and where data may go.
    pub trust: Trust,
    pub alarms: Option<WebhookSettings>,
    /// Who is told of questions to people.
    pub approvals: Option<ApprovalSettings>,
    /// How people sign in besides tokens.
    pub auth: AuthSettings,
    pub hooks: Vec<ConfiguredHook>,
    pub prompts: Prompts,
    /// What may leave because of a model or a tool, with the secrets.
    pub egress: EgressSettings,
    pub tavily_url: Option<String>,
    pub zone: Option<String>,
    /// What `query_database` may read.
    pub databases: Vec<Database>,
    pub images: Option<Images>,
    /// Where all of this was said.
    pub places: Places,
    /// What is odd, but no reason to refuse.
    pub warnings: Vec<String>,
    /// The same in each language: the doctor of a server tells it to readers of both.
    pub(crate) warnings_in: Vec<(Language, Vec<String>)>,
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
        let mut config = Self::load_once(overrides, environment)?;
        if !config.warnings.is_empty() {
            // Read again, so that whatever is said comes from the table of texts, with the place and all.
            for language in [Language::English, Language::Chinese] {
                let read = i18n::with_language(language, || Self::load_once(overrides, environment))?;
                config.warnings_in.push((language, read.warnings));
            }
        }
        Ok(config)
    }

    /// The warnings in the language of whoever reads them now.
    pub(crate) fn warnings_for_reader(&self) -> &[String] {
        let wanted = i18n::language();
        let found = self.warnings_in.iter().find(|(language, _)| *language == wanted);
        found.map_or(&self.warnings, |(_, warnings)| warnings)
    }

    fn load_once(overrides: &Overrides, environment: &Environment) -> anyhow::Result<Self> {
        let path = overrides.config.clone().or_else(|| environment.path("HELVE_CONFIG"));
        let path = path.or_else(|| Some(PathBuf::from(DEFAULT_FILE)).filter(|path| path.exists()));
        let text = match &path {
            Some(path) => std::fs::read_to_string(path)
                .with_context(|| tr!("the configuration `{path}` cannot be read", path = path.display()))?,
            None => String::new(),
        };
        let readable = path.as_deref().and_then(|path| readable::told(path, &text));
        let mut config = Self::parse(path, &text, overrides, environment)?;
        config.warnings.extend(readable);
        Ok(config)
    }

    fn parse(
        path: Option<PathBuf>,
        text: &str,
        overrides: &Overrides,
        environment: &Environment,
    ) -> anyhow::Result<Self> {
        let name = path.as_deref().unwrap_or(Path::new(DEFAULT_FILE)).display().to_string();
        let mut places = Places::new(name, text.to_owned());
        environment.refuse_other_stores()?;
        let mut file = File::parse(&mut places, environment)?;
        if let Some(listen) = &overrides.listen {
            file.server.listen = Some(listen.clone());
            places.set_by("--listen".into(), vec!["server".into(), "listen".into()]);
        }
        let prompts = Prompts::read(file.prompt, &places)?;
        let models = models::models(file.models, environment, &prompts, &places)?;
        let default_is_named = file.default_model.is_some();
        let (default_model, listed_default) = choose_default_model(file.default_model, &models, &places)?;
        let compaction = compaction::compaction(file.compaction, &models, &places)?;
        let (mut egress, odd) = egress::egress(file.egress, file.secrets, environment, &places)?;
        let (images, undrawn) = images::images(file.images, &mut egress, environment, &places)?;
        let (databases, missing) = databases::databases(file.databases, environment, &places)?;
        let agents = file::agents(file.agents, &models, &places)?;
        file::check_rates(&file.tools, &places)?;
        file::check_rules(&file.permissions, &agents, &places)?;
        let ServerSettings { listen, database, public_url, log } =
            ServerSettings::read(&file.server, &places)?;
        let prices = Prices::read(file.prices, &places)?;
        let data = overrides.data.clone().or(file.server.data);
        let data_is_named = data.is_some();
        let data = data.unwrap_or_else(|| default_data(environment));
        let mut config = Self {
            listen,
            tools_dir: file.server.tools_dir.unwrap_or_else(|| data.join("tools")),
            skills_dir: file.server.skills_dir.unwrap_or_else(|| data.join("skills")),
            data,
            data_is_named,
            database,
            token: file.server.token,
            hosts: file.server.hosts,
            trusted_proxies: file.server.trusted_proxies,
            log,
            log_format: file.server.log_format,
            drain: file.server.drain_ms.map_or(DEFAULT_DRAIN, Duration::from_millis),
            models,
            default_model,
            default_is_named,
            listed_default,
            budgets: budgets::budgets(&file.budgets, &prices.currency, &places)?,
            prices,
            limits: limits::limits(&file.limits, &places)?,
            compaction,
            agents,
            permissions: file.permissions,
            trust: labels::trust(&file.labels, &file.tools, &places)?,
            tools: file.tools.into_iter().collect(),
            alarms: alarms::alarms(file.alarms, &places)?,
            approvals: approvals::approvals(file.approvals, listen, public_url.as_ref(), &places)?,
            public_url,
            auth: auth::auth(file.auth, &places)?,
            hooks: hooks::hooks(file.hooks, environment, &places)?,
            prompts,
            egress,
            tavily_url: environment.text("TAVILY_API_URL"),
            zone: file.server.zone,
            databases,
            images,
            warnings: environment.unread().map(unread).chain(odd).chain(undrawn).chain(missing).collect(),
            places,
            file: path,
            warnings_in: vec![],
        };
        config.warnings.extend(config.unknown_proxy());
        Ok(config)
    }

    /// The address of the server as programs on this machine use it.
    pub fn local_address(&self) -> String {
        local_address(self.listen)
    }

    /// The same with the port that the system has chosen, where the configuration left the choice to it with port 0.
    pub(crate) fn with_port(&self, port: u16) -> Self {
        let mut config = self.clone();
        config.listen.set_port(port);
        if let Some(approvals) = &mut config.approvals
            && approvals.public_url.port() == Some(0)
        {
            // An address with a host always takes a port.
            _ = approvals.public_url.set_port(Some(port));
        }
        config
    }

    /// Who can reach the server.
    pub fn reach(&self) -> Reach {
        let ways = Ways {
            listen: self.listen,
            hosts: &self.hosts,
            public_url: self.public_url.as_ref(),
            links_url: self.approvals.as_ref().map(|approvals| &approvals.public_url),
            trusted_proxies: &self.trusted_proxies,
        };
        ways.reach()
    }

    /// A proxy stands in front of the server and is not configured as trusted.
    fn unknown_proxy(&self) -> Option<String> {
        let Reach::Others(cause) = self.reach() else { return None };
        let is_direct = !self.listen.ip().to_canonical().is_loopback();
        if is_direct || !self.trusted_proxies.is_empty() {
            return None;
        }
        let place = self.places.of(&cause.path);
        Some(tr!(
            "{place}: a proxy passes requests on, and all clients behind it count as one address, so ten wrong tokens of \
             one lock all others out for a minute; set `trusted_proxies` in [server] to the proxy's address",
            place = place
        ))
    }

    /// Why the server must not start without a token, if it must not: what is wrong, where, and what to do.
    pub fn needs_token(&self) -> Option<anyhow::Error> {
        let Reach::Others(Cause { path, what }) = self.reach() else { return None };
        let what = tr!(
            "{what}, and without a token everybody who does would have all rights; make a token with \
             `helve token create --admin`, or set HELVE_TOKEN to at least {token_chars_min} characters",
            what = what,
            token_chars_min = TOKEN_CHARS_MIN
        );
        Some(self.places.wrong(&path, what))
    }
}

/// Where programs on this machine reach a server that listens there.
pub fn local_address(mut listen: SocketAddr) -> String {
    match listen.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => listen.set_ip(Ipv4Addr::LOCALHOST.into()),
        IpAddr::V6(ip) if ip.is_unspecified() => listen.set_ip(Ipv6Addr::LOCALHOST.into()),
        _ => {}
    }
    format!("http://{listen}")
}

/// A token that could be guessed is none, wherever the server listens: what is loopback today is behind a proxy tomorrow.
/// The model that is asked where none is named, and the name of the operator's default if a server may list it.
fn choose_default_model(
    named: Option<String>,
    models: &[ModelSettings],
    places: &Places,
) -> anyhow::Result<(String, Option<String>)> {
    let is_configured = |name: &String| models.iter().any(|model| model.name == *name);
    match named {
        Some(name) if is_configured(&name) => Ok((name, None)),
        Some(name) if !models.iter().any(|model| model.lists) => {
            let known = file::names_of(models);
            let what = tr!("there is no model `{name}`; the models are: {known}", name = name, known = known);
            Err(places.wrong(&["default_model"], what))
        }
        listed => Ok((models::default_model(models), listed)),
    }
}

/// What the table `[server]` says about addresses and the log, checked.
struct ServerSettings {
    listen: SocketAddr,
    database: Option<PostgresSettings>,
    public_url: Option<Url>,
    log: String,
}

impl ServerSettings {
    fn read(server: &ServerTable, places: &Places) -> anyhow::Result<Self> {
        let in_field = |key: &'static str| move |what: String| places.wrong(&["server", key], what);
        let listen = listen_address(server).map_err(in_field("listen"))?;
        let database = database_server(server).map_err(in_field("database_url"))?;
        check_token(server.token.as_ref()).map_err(in_field("token"))?;
        let public_url = web_address_of(server).map_err(in_field("public_url"))?;
        for proxy in &server.trusted_proxies {
            Network::parse(proxy).map_err(in_field("trusted_proxies"))?;
        }
        let log = server.log.clone().unwrap_or_else(|| "helve=info,warn".into());
        check_log(&log).map_err(in_field("log"))?;
        check_zone(server.zone.as_deref()).map_err(in_field("zone"))?;
        Ok(Self { listen, database, public_url, log })
    }
}

fn listen_address(server: &ServerTable) -> Result<SocketAddr, String> {
    socket_address(server.listen.as_deref().unwrap_or(DEFAULT_LISTEN))
}

fn database_server(server: &ServerTable) -> Result<Option<PostgresSettings>, String> {
    server.database_url.as_ref().map(PostgresSettings::parse).transpose()
}

fn web_address_of(server: &ServerTable) -> Result<Option<Url>, String> {
    server.public_url.as_deref().map(alarms::web_address).transpose()
}

fn check_token(token: Option<&SecretString>) -> Result<(), String> {
    match token {
        Some(token) if token.expose_secret().trim().chars().count() < TOKEN_CHARS_MIN => Err(tr!(
            "the token has fewer than {token_chars_min} characters and could be guessed; take a longer one, such as \
             `openssl rand -hex 16` prints",
            token_chars_min = TOKEN_CHARS_MIN
        )),
        _ => Ok(()),
    }
}

fn socket_address(text: &str) -> Result<SocketAddr, String> {
    let mut found = text.to_socket_addrs().map_err(|error| {
        tr!(
            "`{text}` is no address to listen on; use HOST:PORT, as in {default_listen} ({error})",
            text = text,
            default_listen = DEFAULT_LISTEN,
            error = words(&error)
        )
    })?;
    found.next().ok_or_else(|| tr!("`{text}` names no address", text = text))
}

fn check_log(filter: &str) -> Result<(), String> {
    let parsed = tracing_subscriber::EnvFilter::builder().parse(filter);
    parsed.map(drop).map_err(|error| {
        tr!(
            "`{filter}` is no filter for logs; use levels such as `helve=info,warn` ({error})",
            filter = filter,
            error = words(&error)
        )
    })
}

fn check_zone(zone: Option<&str>) -> Result<(), String> {
    let Some(zone) = zone else { return Ok(()) };
    match jiff::tz::db().get(zone.trim()) {
        Ok(found) if !found.is_unknown() => Ok(()),
        _ => Err(tr!("there is no time zone `{zone}`; use an IANA name, as in `Asia/Shanghai`", zone = zone)),
    }
}

fn unread(variable: &str) -> String {
    tr!(
        "the environment variable {variable} is set, but nothing in Helve is called that",
        variable = variable
    )
}

/// Where programs keep their data on this system.
fn default_data(environment: &Environment) -> PathBuf {
    let base = environment.path("XDG_DATA_HOME");
    let base = base.or_else(|| Some(environment.path("HOME")?.join(".local/share")));
    base.map_or_else(|| PathBuf::from("helve-data"), |base| base.join("helve"))
}

#[cfg(test)]
mod tests;
