//! `helve doctor`: is everything there that is needed, and what to do if not.

mod models;

use std::process::ExitCode;
use std::time::Duration;

use anyhow::bail;
use helve_tool_builtin::{QUERY_WORKER, QueryWorker, TAVILY_SECRET, look_at};
use helve_types::World;
use reqwest::Client;

use super::{block_on, log_quietly};
use crate::assemble::{Assembly, Hold, assemble, check_names};
use crate::client::Reach;
use crate::config::{Config, Environment};

const PATIENCE: Duration = Duration::from_secs(3);

/// What was found, and what it means for whoever runs the server.
enum Finding {
    Good(String),
    /// Works without, but something will be missing.
    Note(String),
    Bad(String),
}

impl Finding {
    fn print(&self) {
        match self {
            Self::Good(text) => println!("ok    {text}"),
            Self::Note(text) => println!("note  {text}"),
            Self::Bad(text) => println!("BAD   {text}"),
        }
    }

    fn bad(&self) -> Option<&str> {
        match self {
            Self::Bad(text) => Some(text),
            Self::Good(_) | Self::Note(_) => None,
        }
    }
}

pub(super) fn run(reach: &Reach) -> anyhow::Result<ExitCode> {
    log_quietly();
    let mut findings = vec![];
    match reach.load_shared() {
        Ok(config) => {
            findings.push(configuration(&config));
            findings.extend(block_on(async {
                match assemble(&config, &World::real(), Hold::Shared, vec![]).await {
                    Ok(assembly) => look(&config, &assembly).await,
                    Err(error) => Ok(vec![Finding::Bad(format!("{error:#}"))]),
                }
            })?);
        }
        Err(error) => findings.push(Finding::Bad(format!("configuration: {error:#}"))),
    }
    findings.iter().for_each(Finding::print);
    let bad: Vec<&str> = findings.iter().filter_map(Finding::bad).collect();
    match bad[..] {
        [] => {
            println!("\nHelve can start: helve serve");
            Ok(ExitCode::SUCCESS)
        }
        [only] => bail!("one thing to put right: {only}"),
        [first, ..] => bail!("{} things to put right; the first: {first}", bad.len()),
    }
}

fn configuration(config: &Config) -> Finding {
    match &config.file {
        Some(path) => Finding::Good(format!("configuration: {}", path.display())),
        None => Finding::Good("configuration: none, everything has its default".into()),
    }
}

async fn look(config: &Config, assembly: &Assembly) -> anyhow::Result<Vec<Finding>> {
    #[expect(clippy::disallowed_methods, reason = "it asks whether this server answers at its own address")]
    let client = Client::builder().connect_timeout(PATIENCE).timeout(PATIENCE).build()?;
    let mut findings = vec![
        database(config, assembly).await,
        access(config, assembly).await,
        address(config, &client).await,
    ];
    findings.extend(tools(config, assembly).await);
    findings.extend(databases(config).await);
    findings.extend(assembly.warnings.iter().map(|warning| Finding::Note(warning.clone())));
    findings.extend(models::all(config, &assembly.models).await);
    findings.push(Finding::Good("model `demo`: always there, needs nothing".into()));
    let key = config.egress.secrets.get(TAVILY_SECRET).filter(|key| key.has_value());
    findings.push(match key {
        Some(_) => Finding::Good("tool `search_web`: it has its key".into()),
        None => Finding::Note(
            "tool `search_web`: set TAVILY_API_KEY, or it will say that it cannot search".into(),
        ),
    });
    let environment = Environment::of_process();
    findings.extend(models::idle_keys(config, &environment));
    findings.extend(other_database(&environment));
    Ok(findings)
}

/// A variable of the system that Helve replaces, which somebody may rely on.
fn other_database(environment: &Environment) -> Option<Finding> {
    environment.text("MONGODB_URI")?;
    let note = "MONGODB_URI is ignored: Helve keeps its data in its own directory (HELVE_DATA)";
    Some(Finding::Note(note.into()))
}

async fn database(config: &Config, assembly: &Assembly) -> Finding {
    let path = config.data.display();
    match assembly.store.check().await {
        Ok(()) => Finding::Good(format!("database: {path} can be read and written")),
        Err(error) => Finding::Bad(format!("database: {path}: {error}")),
    }
}

/// Those that `query_database` asks: whether they answer, and what their roles could do.
async fn databases(config: &Config) -> Vec<Finding> {
    let worker = QueryWorker::of_this_program([QUERY_WORKER]);
    let mut findings = vec![];
    for database in &config.databases {
        let name = database.name();
        match look_at(database, &worker).await {
            Ok(powers) if powers.is_empty() => {
                findings.push(Finding::Good(format!("database `{name}`: it can be asked")));
            }
            Ok(powers) => findings.extend(powers.into_iter().map(|power| {
                Finding::Note(format!(
                    "database `{name}`: {power}; use a role that may only read what is meant (docs/guide/builtin-tools.md)"
                ))
            })),
            Err(problem) => findings.push(Finding::Bad(format!("database `{name}`: {problem}"))),
        }
    }
    findings
}

async fn access(config: &Config, assembly: &Assembly) -> Finding {
    let made = assembly.store.tokens().await.unwrap_or_default();
    let valid =
        made.iter().filter(|token| token.revoked_at.is_none()).count() + usize::from(config.token.is_some());
    match (valid, config.needs_token()) {
        (0, None) => Finding::Good("access: no token; only this machine can reach the server".into()),
        (0, Some(error)) => Finding::Bad(format!("access: {error:#}")),
        (valid, _) => Finding::Good(format!("access: {valid} token(s)")),
    }
}

/// Names in the configuration that no tool has, and tools that cannot be made.
async fn tools(config: &Config, assembly: &Assembly) -> Vec<Finding> {
    let catalogue = assembly.runtime.catalogue();
    let warnings = check_names(config, catalogue).await;
    let mut findings: Vec<Finding> = warnings.into_iter().map(Finding::Note).collect();
    for tool in catalogue.all() {
        if let Some(problem) = &tool.problem {
            let name = tool.name();
            findings.push(Finding::Note(format!("tool `{name}` cannot be used: {problem}")));
        }
        if tool.is_quarantined() {
            let name = tool.name();
            let told = format!(
                "tool `{name}` has changed and is in quarantine; see `helve tools show {name}`, then `agree` or `reject`"
            );
            findings.push(Finding::Note(told));
        }
        findings.extend(
            tool.warnings.iter().map(|warning| Finding::Note(format!("tool `{}`: {warning}", tool.name()))),
        );
    }
    findings
}

async fn address(config: &Config, client: &Client) -> Finding {
    let address = config.listen;
    if tokio::net::TcpListener::bind(address).await.is_ok() {
        return Finding::Good(format!("address: {address} is free"));
    }
    let answer = client.get(format!("http://{address}/healthz")).send().await;
    match answer {
        Ok(answer) if answer.status().is_success() => {
            Finding::Good(format!("address: a Helve answers on {address}"))
        }
        _ => {
            Finding::Bad(format!("address: {address} is taken by another program; choose one with --listen"))
        }
    }
}
