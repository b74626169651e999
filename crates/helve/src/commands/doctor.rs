//! `helve doctor`: is everything there that is needed, and what to do if not.
//!
//! The server that runs examines itself, since its keys, models and tools are those that count. Where none runs, this
//! command looks with its own environment.

mod databases;
mod examine;
mod finding;
mod models;

use std::process::ExitCode;

use anyhow::bail;
use clap::Args;
use helve_server::{DoctorReport, Finding, FindingLevel};
use helve_types::World;
use serde::Serialize;

pub(crate) use self::examine::Examined;
use self::finding::{lines, quoted};
use super::{block_on, log_quietly};
use crate::assemble::{Hold, assemble};
use crate::client::{Client, Reach};
use crate::config::Config;
use crate::i18n::{self, Language, language, tr};
use crate::output::outln;

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    #[command(flatten)]
    pub(super) reach: Reach,
    /// Print JSON: `{"ok", "server"?, "asked", "findings": [{"level", "text", "run"?}]}`
    #[arg(long)]
    json: bool,
}

/// Everything that was found.
#[derive(Serialize)]
struct Report {
    /// Nothing has to be put right.
    ok: bool,
    /// The server that runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<String>,
    /// The process that checked: the server, or this command with its own environment.
    asked: CheckedBy,
    findings: Vec<Finding>,
}

#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "lowercase")]
enum CheckedBy {
    Server,
    Command,
}

pub(super) fn run(args: &DoctorArgs) -> anyhow::Result<ExitCode> {
    log_quietly();
    if args.json {
        i18n::speak_to_programs();
    }
    let report = match args.reach.common.load(None) {
        Ok(_) => block_on(report(&args.reach))?,
        Err(error) => {
            let file = args.reach.common.config.clone().unwrap_or_else(|| "helve.toml".into());
            let finding = Finding::bad(tr!("configuration: {error}", error = i18n::error_words(&error)));
            let edit = format!("${{EDITOR:-vi}} {}", quoted(&file.display().to_string()));
            let finding = if file.exists() { finding.run(edit) } else { finding };
            Report::new(None, CheckedBy::Command, vec![finding])
        }
    };
    if args.json {
        outln!("{}", serde_json::to_string_pretty(&report)?);
    } else {
        report.findings.iter().for_each(|finding| outln!("{}", lines(finding)));
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
    fn new(server: Option<String>, asked: CheckedBy, findings: Vec<Finding>) -> Self {
        let ok = findings.iter().all(|finding| finding.level != FindingLevel::Bad);
        Self { ok, server, asked, findings }
    }

    fn bad(&self) -> impl Iterator<Item = &str> {
        let bad = self.findings.iter().filter(|finding| finding.level == FindingLevel::Bad);
        bad.map(|finding| finding.text.as_str())
    }
}

async fn report(reach: &Reach) -> anyhow::Result<Report> {
    let (client, config) = reach.running().await?;
    let Some(client) = client else {
        return Ok(Report::new(None, CheckedBy::Command, look(&config).await));
    };
    let server = client.server();
    match ask(&client).await {
        Ok(findings) => Ok(Report::new(Some(server), CheckedBy::Server, findings)),
        // Better than nothing, as long as it is not taken for the server's own word.
        Err(why) if !reach.names_server() => {
            let what = tr!(
                "the server at {server} did not examine itself ({why}); what follows is what this command sees with its own \
                 environment, which may not be the server's",
                server = server,
                why = i18n::error_words(&why)
            );
            let mut findings = vec![Finding::note(what)];
            findings.extend(look(&config).await);
            Ok(Report::new(Some(server), CheckedBy::Command, findings))
        }
        Err(why) => Err(why),
    }
}

/// What the server finds in itself.
async fn ask(client: &Client) -> anyhow::Result<Vec<Finding>> {
    let lang = match language() {
        Language::English => "en",
        Language::Chinese => "zh",
    };
    let report: DoctorReport = client.get("/api/doctor", &[("lang", lang)]).await?;
    Ok(report.findings)
}

/// What this command finds by itself.
async fn look(config: &Config) -> Vec<Finding> {
    // Looked at before anything is opened, which would make the directory.
    let mut findings = examine::before(config);
    findings.extend(match assemble(config, &World::real(), Hold::Shared, vec![]).await {
        Ok(assembly) => Examined::new(config, &assembly, None).findings().await,
        Err(error) => vec![Finding::bad(i18n::error_words(&error))],
    });
    findings
}
