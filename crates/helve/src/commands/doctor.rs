//! `helve doctor`: is everything there that is needed, and what to do if not.

mod databases;
mod finding;
mod models;

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::bail;
use clap::Args;
use helve_tool_builtin::TAVILY_SECRET;
use helve_types::World;
use reqwest::Client;
use serde::Serialize;

use self::finding::{Finding, Level, quoted};
use super::{block_on, log_quietly};
use crate::assemble::{Assembly, Hold, assemble, check_names};
use crate::client::{Reach, running_server};
use crate::config::{Config, Environment};
use crate::i18n::{self, tr};
use crate::output::outln;

const PATIENCE: Duration = Duration::from_secs(3);

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    #[command(flatten)]
    reach: Reach,
    /// Print JSON: `{"ok", "server"?, "findings": [{"level", "text", "run"?}]}`
    #[arg(long)]
    json: bool,
}

/// Everything that was found.
#[derive(Serialize)]
struct Report {
    /// Nothing has to be put right.
    ok: bool,
    /// Where the server of this data directory answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<String>,
    findings: Vec<Finding>,
}

pub(super) fn run(args: &DoctorArgs) -> anyhow::Result<ExitCode> {
    log_quietly();
    if args.json {
        i18n::speak_to_programs();
    }
    let report = match args.reach.load_shared() {
        Ok(config) => {
            // Looked at before anything is opened, which would make the directory.
            let mut findings = vec![configuration(&config), permissions(&config.data)];
            findings.extend(block_on(async {
                match assemble(&config, &World::real(), Hold::Shared, vec![]).await {
                    Ok(assembly) => look(&config, &assembly).await,
                    Err(error) => Ok(vec![Finding::bad(format!("{error:#}"))]),
                }
            })?);
            Report::new(running_server(&config.data), findings)
        }
        Err(error) => {
            let file = args.reach.common.config.clone().unwrap_or_else(|| "helve.toml".into());
            let finding = Finding::bad(tr!("configuration: {error}", error = format!("{:#}", error)));
            let edit = format!("${{EDITOR:-vi}} {}", quoted(&file.display().to_string()));
            Report::new(None, vec![if file.exists() { finding.run(edit) } else { finding }])
        }
    };
    if args.json {
        outln!("{}", serde_json::to_string_pretty(&report)?);
    } else {
        report.findings.iter().for_each(|finding| outln!("{}", finding.lines()));
    }
    let bad: Vec<&str> = report.bad().collect();
    match bad[..] {
        [] if args.json => Ok(ExitCode::SUCCESS),
        [] => {
            match &report.server {
                Some(address) => outln!(
                    "{}",
                    tr!("\nHelve runs: open {address}, or talk with it: helve chat", address = address)
                ),
                None => outln!("{}", tr!("\nHelve can start: helve serve")),
            }
            Ok(ExitCode::SUCCESS)
        }
        [only] => bail!(tr!("one thing to put right: {only}", only = only)),
        [first, ..] => {
            bail!(tr!("{count} things to put right; the first: {first}", count = bad.len(), first = first))
        }
    }
}

impl Report {
    fn new(server: Option<String>, findings: Vec<Finding>) -> Self {
        Self { ok: findings.iter().all(|finding| finding.level != Level::Bad), server, findings }
    }

    fn bad(&self) -> impl Iterator<Item = &str> {
        self.findings
            .iter()
            .filter(|finding| finding.level == Level::Bad)
            .map(|finding| finding.text.as_str())
    }
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
        Ok(found) if found.permissions().mode() & 0o077 != 0 => {
            let what = tr!("data directory: other users of this machine can read {shown}", shown = shown);
            Finding::note(what).run(format!("chmod 700 {}", quoted(&shown.to_string())))
        }
        Ok(_) => Finding::good(tr!("data directory: {shown} is private", shown = shown)),
    }
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

async fn look(config: &Config, assembly: &Assembly) -> anyhow::Result<Vec<Finding>> {
    #[expect(clippy::disallowed_methods, reason = "it asks whether this server answers at its own address")]
    let client = Client::builder().connect_timeout(PATIENCE).timeout(PATIENCE).build()?;
    assembly.discovery.look_nearby(&assembly.runtime).await;
    assembly.runtime.recall_choices().await?;
    let mut findings = vec![
        databases::own(config, assembly).await,
        access(config, assembly).await,
        address(config, &client).await,
    ];
    findings.extend(tools(config, assembly).await);
    findings.extend(databases::asked(config).await);
    findings.extend(assembly.warnings.iter().map(|warning| Finding::note(warning.clone())));
    findings.extend(models::all(assembly).await);
    findings.push(Finding::good(tr!("model `demo`: always there, needs nothing")));
    let key = config.egress.secrets.get(TAVILY_SECRET).filter(|key| key.has_value());
    findings.push(match key {
        Some(_) => Finding::good(tr!("tool `search_web`: it has its key")),
        None => {
            Finding::note(tr!("tool `search_web`: set TAVILY_API_KEY, or it will say that it cannot search"))
                .run("export TAVILY_API_KEY=")
        }
    });
    let environment = Environment::of_process();
    findings.extend(models::idle_keys(config, &environment));
    findings.extend(other_database(&environment));
    Ok(findings)
}

/// A variable of the system that Helve replaces, which somebody may rely on.
fn other_database(environment: &Environment) -> Option<Finding> {
    environment.text("MONGODB_URI")?;
    let note = tr!("MONGODB_URI is ignored: Helve keeps its data in its own directory (HELVE_DATA)");
    Some(Finding::note(note))
}

async fn access(config: &Config, assembly: &Assembly) -> Finding {
    let made = assembly.store.tokens().await.unwrap_or_default();
    let valid =
        made.iter().filter(|token| token.revoked_at.is_none()).count() + usize::from(config.token.is_some());
    match (valid, config.needs_token()) {
        (0, None) => Finding::good(tr!("access: no token; only this machine can reach the server")),
        (0, Some(error)) => Finding::bad(tr!("access: {error}", error = format!("{:#}", error)))
            .run("helve token create --admin"),
        (valid, _) => Finding::good(tr!("access: {valid} token(s)", valid = valid)),
    }
}

/// Names in the configuration that no tool has, and tools that cannot be made.
async fn tools(config: &Config, assembly: &Assembly) -> Vec<Finding> {
    let catalogue = assembly.runtime.catalogue();
    let warnings = check_names(config, catalogue).await;
    let mut findings: Vec<Finding> = warnings.into_iter().map(Finding::note).collect();
    let usable = catalogue.all().iter().filter(|tool| tool.problem.is_none() && tool.is_enabled()).count();
    let folder = config.tools_dir.display();
    findings.push(Finding::good(tr!(
        "tools: {usable} can be called; scripts in {folder} become more",
        usable = usable,
        folder = folder
    )));
    for tool in catalogue.all() {
        if let Some(problem) = &tool.problem {
            let name = tool.name();
            let finding =
                Finding::note(tr!("tool `{name}` cannot be used: {problem}", name = name, problem = problem));
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
            Finding::note(tr!("tool `{name}`: {warning}", name = tool.name(), warning = warning))
        }));
    }
    findings
}

async fn address(config: &Config, client: &Client) -> Finding {
    let address = config.listen;
    if tokio::net::TcpListener::bind(address).await.is_ok() {
        return Finding::good(tr!("address: {address} is free", address = address));
    }
    let answer = client.get(format!("http://{address}/healthz")).send().await;
    match answer {
        Ok(answer) if answer.status().is_success() => {
            Finding::good(tr!("address: a Helve answers on {address}", address = address))
        }
        _ => Finding::bad(tr!(
            "address: {address} is taken by another program; choose one with --listen",
            address = address
        ))
        .run("helve serve --listen 127.0.0.1:8891"),
    }
}
