//! `helve tools`: what there is, and one call of it.

use std::io::Write;
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::{Args, Subcommand};
use helve_egress::{Egress, EgressSettings};
use helve_tool::{Outcome, Progress};
use helve_types::{UserId, World};
use serde_json::{Value, json};

use super::import_openapi::{self, ImportArgs};
use super::{Common, block_on, log_quietly};
use crate::assemble::{Assembly, Hold, assemble};

#[derive(Debug, Args)]
pub(crate) struct ToolsArgs {
    #[command(flatten)]
    common: Common,
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the tools
    List {
        /// As JSON, with the whole definitions
        #[arg(long)]
        json: bool,
    },
    /// Show one tool: what models are told about it
    Show { name: String },
    /// Call a tool through the guarded pipeline, on record like any other call
    ///
    /// The operator's permissions hold: what a rule denies is refused. Where a rule would ask, the call runs, since
    /// whoever types it has decided.
    Call {
        name: String,
        /// The arguments, a JSON object
        #[arg(default_value = "{}")]
        arguments: String,
        /// Print the value instead of the text
        #[arg(long)]
        json: bool,
        /// Whose call it is
        #[arg(long, default_value = "local")]
        user: String,
    },
    /// Make one tool of each operation of an OpenAPI document, or show what it would make (`--dry-run`)
    ///
    /// Imported again, a document changes the tools that it made: what it says of them is brought up to date, what you added
    /// to them stays.
    ImportOpenapi(Box<ImportArgs>),
}

pub(super) fn run(args: ToolsArgs) -> anyhow::Result<ExitCode> {
    log_quietly();
    let config = args.common.load(None)?;
    let world = World::real();
    let assembly = assemble(&config, &world, Hold::Shared, vec![])?;
    match args.action {
        Action::List { json } => list(&assembly, json),
        Action::Show { name } => show(&assembly, &name),
        Action::Call { name, arguments, json, user } => {
            let user = UserId::parse(&user)?;
            block_on(call(&assembly, user, &name, &arguments, json))
        }
        Action::ImportOpenapi(args) => {
            let egress = Egress::new(EgressSettings::default())?;
            block_on(import_openapi::run(*args, &egress, assembly.runtime.catalogue()))
        }
    }
}

fn list(assembly: &Assembly, as_json: bool) -> anyhow::Result<ExitCode> {
    let tools = assembly.runtime.registry().all();
    if as_json {
        let specs: Vec<_> = tools.iter().map(|tool| tool.spec()).collect();
        println!("{}", serde_json::to_string_pretty(&specs)?);
        return Ok(ExitCode::SUCCESS);
    }
    let width = tools.iter().map(|tool| tool.spec().name.len()).max().unwrap_or(0);
    for tool in tools {
        let spec = tool.spec();
        let effect = json!(spec.effect);
        let first = spec.description.split_inclusive(". ").next().unwrap_or_default().trim();
        let off = if tool.is_enabled() { "" } else { " (off)" };
        println!("{:width$}  {:14}  {first}{off}", spec.name, effect.as_str().unwrap_or_default());
    }
    Ok(ExitCode::SUCCESS)
}

fn show(assembly: &Assembly, name: &str) -> anyhow::Result<ExitCode> {
    let tool = assembly.runtime.registry().get(name);
    let tool = tool.with_context(|| format!("there is no tool `{name}`; `helve tools list` shows them"))?;
    let mut shown = json!(&**tool.spec());
    shown["version"] = Value::from(tool.version());
    println!("{}", serde_json::to_string_pretty(&shown)?);
    Ok(ExitCode::SUCCESS)
}

async fn call(
    assembly: &Assembly,
    user: UserId,
    name: &str,
    arguments: &str,
    as_json: bool,
) -> anyhow::Result<ExitCode> {
    let progress = Progress::new(|piece| {
        let mut err = std::io::stderr().lock();
        _ = err.write_all(piece.as_bytes()).and_then(|()| err.flush());
    });
    match assembly.runtime.call_tool(user, name, arguments, progress).await? {
        Outcome::Finished(output) => {
            match output.data {
                Some(data) if as_json => println!("{data}"),
                _ => println!("{}", output.text),
            }
            Ok(ExitCode::SUCCESS)
        }
        Outcome::Failed(failure) | Outcome::Refused(failure) => bail!("{}", failure.message),
        Outcome::Unknown { because, .. } => {
            bail!("nobody can say whether it happened: {because}; check before you repeat it")
        }
        Outcome::Asked(_) | Outcome::Delegated { .. } => {
            bail!("this call cannot be made from the command line")
        }
    }
}
