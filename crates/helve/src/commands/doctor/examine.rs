//! Looking at everything that Helve needs, from inside the process that uses it: a server, or a command where none runs.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use helve_runtime::Runtime;
use helve_server::{DoctorReport, Finding};
use helve_store::Store;
use helve_tool_builtin::TAVILY_SECRET;
use tokio::sync::Mutex;

use super::finding::{ask_for_variable, quoted};
use super::{databases, models};
use crate::assemble::{Assembly, check_names, idle_names};
use crate::client::answering;
use crate::commands::notice::{definition_words, problem_words};
use crate::config::{Config, Environment};
use crate::discovery::ModelDiscovery;
use crate::i18n::{self, Language, tr};

/// What is examined.
#[derive(Clone)]
pub(crate) struct Examined {
    pub(super) config: Arc<Config>,
    pub(super) store: Arc<dyn Store>,
    pub(super) durability_problem: Option<String>,
    pub(super) runtime: Runtime,
    pub(super) discovery: Arc<ModelDiscovery>,
    /// The models of the configuration that are asked over HTTP.
    pub(super) models: Vec<String>,
    /// Where the server that examines itself answers; none for a command.
    address: Option<SocketAddr>,
}

impl Examined {
    pub(crate) fn new(config: &Config, assembly: &Assembly, address: Option<SocketAddr>) -> Self {
        Self {
            config: Arc::new(config.clone()),
            store: assembly.store.clone(),
            durability_problem: assembly.durability_problem.clone(),
            runtime: assembly.runtime.clone(),
            discovery: assembly.discovery.clone(),
            models: assembly
                .models
                .iter()
                .map(|model| helve_runtime::Model::name(&**model).to_owned())
                .collect(),
            address,
        }
    }

    /// The doctor of a server: one examination at a time, since each asks servers of models for their lists.
    pub(crate) fn doctor(self) -> Box<helve_server::Doctor> {
        let turn = Arc::new(Mutex::new(()));
        Box::new(move |language| {
            let (examined, turn) = (self.clone(), turn.clone());
            Box::pin(async move {
                let _turn = turn.lock().await;
                i18n::speaking(Language::from(language), examined.report()).await
            })
        })
    }

    async fn report(&self) -> DoctorReport {
        let mut findings = before(&self.config);
        findings.extend(self.findings().await);
        DoctorReport { findings }
    }

    /// Everything but the configuration and its directory.
    pub(super) async fn findings(&self) -> Vec<Finding> {
        let config = &*self.config;
        self.discovery.look_nearby(&self.runtime).await;
        let mut findings = databases::own(self).await;
        if let Err(error) = self.runtime.load_user_model_choices().await {
            findings.push(Finding::note(error.to_string()));
        }
        findings.push(self.access().await);
        findings.push(self.place().await);
        findings.extend(self.tools().await);
        findings.extend(databases::asked(config).await);
        let idle = idle_names(config, self.runtime.registry());
        let warnings = config.warnings_for_reader().iter().cloned();
        findings.extend(warnings.chain(idle).map(Finding::note));
        findings.extend(models::all(self).await);
        findings.push(Finding::good(tr!("model `demo`: always there, needs nothing")));
        findings.push(search(config));
        let environment = Environment::of_process();
        findings.extend(models::idle_keys(config, &environment));
        findings.extend(other_database(&environment));
        findings
    }

    async fn access(&self) -> Finding {
        let config = &*self.config;
        let made = self.store.tokens().await.unwrap_or_default();
        let valid = made.iter().filter(|token| token.revoked_at.is_none()).count()
            + usize::from(config.token.is_some());
        match (valid, config.needs_token()) {
            (0, None) => Finding::good(tr!("access: no token; only this machine can reach the server")),
            (0, Some(error)) => Finding::bad(tr!("access: {error}", error = format!("{:#}", error)))
                .run("helve token create --admin"),
            (valid, _) => Finding::good(tr!("access: {valid} token(s)", valid = valid)),
        }
    }

    /// Names in the configuration that no tool has, and tools that cannot be made.
    async fn tools(&self) -> Vec<Finding> {
        let (config, catalogue) = (&*self.config, self.runtime.catalogue());
        let warnings = check_names(config, catalogue).await;
        let mut findings: Vec<Finding> = warnings.into_iter().map(Finding::note).collect();
        let usable =
            catalogue.list().iter().filter(|tool| tool.problem.is_none() && tool.is_enabled()).count();
        let folder = config.tools_dir.display();
        findings.push(Finding::good(tr!(
            "tools: {usable} can be called; scripts in {folder} become more",
            usable = usable,
            folder = folder
        )));
        for tool in catalogue.list() {
            if let Some(problem) = &tool.problem {
                let name = tool.name();
                let finding = Finding::note(tr!(
                    "tool `{name}` cannot be used: {problem}",
                    name = name,
                    problem = problem_words(problem)
                ));
                findings.push(finding.run(format!("helve tools show {}", quoted(name))));
            }
            if tool.is_quarantined() {
                let name = tool.name();
                let told = tr!(
                    "tool `{name}` has changed and is in quarantine; see `helve tools show {name}`, then `agree` or `reject`",
                    name = name
                );
                findings.push(Finding::note(told).run(format!("helve tools show {}", quoted(name))));
            }
            findings.extend(tool.warnings.iter().map(|warning| {
                Finding::note(tr!(
                    "tool `{name}`: {warning}",
                    name = tool.name(),
                    warning = definition_words(warning)
                ))
            }));
        }
        findings
    }

    async fn place(&self) -> Finding {
        match self.address {
            Some(address) => {
                Finding::good(tr!("address: this server answers on {address}", address = address))
            }
            None => address(&self.config).await,
        }
    }
}

/// What can be looked at before anything is opened.
pub(super) fn before(config: &Config) -> Vec<Finding> {
    vec![configuration(config), permissions(&config.data)]
}

/// Whether others of this machine can read what is kept. A server closes it when it starts.
#[cfg(unix)]
fn permissions(data: &Path) -> Finding {
    use std::os::unix::fs::PermissionsExt;
    let shown = data.display();
    match std::fs::metadata(data) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Finding::good(tr!("data directory: {shown} is made at the first start", shown = shown))
        }
        Err(error) => {
            Finding::bad(tr!("data directory: {shown} cannot be used: {error}", shown = shown, error = error))
        }
        Ok(found) if is_exposed(data, found.permissions().mode()) => {
            let what = tr!("data directory: other users of this machine can read {shown}", shown = shown);
            Finding::note(what).run(format!("chmod 700 {}", quoted(&shown.to_string())))
        }
        // Made by hand, for a tool: nothing is in it yet that others must not read.
        Ok(found) if found.permissions().mode() & 0o077 != 0 => {
            Finding::good(tr!("data directory: {shown} becomes private at the first start", shown = shown))
        }
        Ok(_) => Finding::good(tr!("data directory: {shown} is private", shown = shown)),
    }
}

/// Whether others can write to the directory, or read what Helve keeps in it.
#[cfg(unix)]
fn is_exposed(data: &Path, mode: u32) -> bool {
    mode & 0o022 != 0 || mode & 0o055 != 0 && data.join("helve.db").exists()
}

#[cfg(not(unix))]
fn permissions(data: &Path) -> Finding {
    Finding::good(tr!("data directory: {data}", data = data.display()))
}

fn configuration(config: &Config) -> Finding {
    match &config.file {
        Some(path) => Finding::good(tr!("configuration: {path}", path = path.display())),
        None => Finding::good(tr!("configuration: none, everything has its default")),
    }
}

/// A variable of the system that Helve replaces, which the operator may rely on.
fn other_database(environment: &Environment) -> Option<Finding> {
    environment.text("MONGODB_URI")?;
    let note = tr!("MONGODB_URI is ignored: Helve keeps its data in its own directory (HELVE_DATA)");
    Some(Finding::note(note))
}

/// Whether a server could listen where the configuration says.
async fn address(config: &Config) -> Finding {
    let address = config.listen;
    if tokio::net::TcpListener::bind(address).await.is_ok() {
        return Finding::good(tr!("address: {address} is free", address = address));
    }
    if answering(config).await.is_some() {
        return Finding::good(tr!("address: a Helve answers on {address}", address = address));
    }
    let taken =
        tr!("address: {address} is taken by another program; choose one with --listen", address = address);
    Finding::bad(taken).run("helve serve --listen 127.0.0.1:8891")
}

fn search(config: &Config) -> Finding {
    if config.egress.secrets.get(TAVILY_SECRET).is_some_and(|key| key.has_value()) {
        return Finding::good(tr!("tool `search_web`: it has its key"));
    }
    let what = tr!(
        "tool `search_web`: set TAVILY_API_KEY, or it will say that it cannot search; then start the server in the same shell"
    );
    Finding::note(what).run(ask_for_variable("TAVILY_API_KEY"))
}
