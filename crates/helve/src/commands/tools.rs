//! `helve tools`: what there is, one call of it, and the tools that are rows.

mod call;
mod confirm;
pub(super) mod file;
mod grants;
mod import;
pub(super) mod rows;

use std::process::ExitCode;

use anyhow::Context;
use clap::{Args, Subcommand};
use helve_tool::{Catalogue, ImportOptions, ListedTool};
use helve_types::{Notice, World};
use serde_json::{Value, json};

use self::call::CallArgs;
use super::import_openapi::{self, ImportArgs};
use super::{block_on, log_quietly};
use crate::assemble::{Assembly, Hold, assemble, declarations};
use crate::client::Reach;
use crate::client::line;
use crate::commands::notice::problem_words;
use crate::commands::suggest::similar;
use crate::i18n::{tr, words};
use crate::output::outln;

#[derive(Debug, Args)]
pub(crate) struct ToolsArgs {
    #[command(flatten)]
    pub(super) reach: Reach,
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the tools
    List {
        /// Print JSON with the complete definitions
        #[arg(long)]
        json: bool,
    },
    /// Show a tool: its description for models, or its definition if you added it
    Show { name: String },
    /// Add the tools defined in a file; a running server has them within a second
    Add {
        /// JSON or TOML: one definition, or a list of them under `tools`; `-` is standard input
        file: String,
        /// Replace tools that already exist
        #[arg(long)]
        replace: bool,
        /// Only report problems and warnings
        #[arg(long)]
        dry_run: bool,
        /// Let the tools reach this machine where their addresses say so, without being asked
        #[arg(long)]
        allow_host: bool,
    },
    /// Import rows, also those of the tool system that Helve replaces, and say what was mapped to what
    ///
    /// Each row is kept by itself: a wrong one is told with its number and does not lose the others, and the command
    /// fails at the end.
    Import {
        /// JSON: one row, a list, `{"tools": [...]}`, or one row on each line; `-` is standard input
        file: String,
        /// Replace tools that already exist
        #[arg(long)]
        replace: bool,
        /// Only say what would be made of the rows
        #[arg(long)]
        dry_run: bool,
        /// Let the tools reach this machine where their addresses say so, without being asked
        #[arg(long)]
        allow_host: bool,
    },
    /// Confirm the environment variable that a tool may send to its host
    ///
    /// The server reads the variable when it starts. The value is sent by this tool alone, and to this host alone.
    Bind {
        name: String,
        /// The variable, if it is not the one that the definition proposes
        #[arg(long, value_name = "VARIABLE")]
        env: Option<String>,
        /// Confirms the host without being asked, as `api.example.com:443`
        #[arg(long, value_name = "HOST:PORT")]
        host: Option<String>,
    },
    /// List what the operator allowed single tools: hosts on this machine, and variables
    Grants { name: Option<String> },
    /// Take back what a tool was allowed, all of it or what is about one host
    Revoke {
        name: String,
        #[arg(long, value_name = "HOST:PORT")]
        host: Option<String>,
    },
    /// Enable a tool for all users
    Enable { name: String },
    /// Disable a tool for all users, including runs in progress
    Disable { name: String },
    /// Delete a tool that was added; runs that use it keep it until they end
    Remove { name: String },
    /// Accept the changed definition of a quarantined tool; `show` displays the change
    Agree {
        name: String,
        /// Only if the offered definition has this hash
        #[arg(long)]
        hash: Option<String>,
    },
    /// Reject the changed definition of a quarantined tool, and use the old one
    Reject { name: String },
    /// List all versions of a tool
    Versions { name: String },
    /// Print the enabled tools in the request format of a vendor
    Export {
        /// openai, anthropic, gemini or ollama
        #[arg(long, default_value = "openai")]
        format: String,
    },
    /// Call a tool with all its checks and limits; the call is recorded like any other
    ///
    /// The operator's permissions hold: what a rule denies is refused. Where a rule would ask, the call runs, since
    /// you have typed it yourself.
    Call(CallArgs),
    /// Make a tool of each operation in an OpenAPI document, or show what would be made (`--dry-run`)
    ///
    /// Importing a document again updates the tools it made before, once the changes are accepted (`--agree`, or `helve
    /// tools agree`). What you added to them stays.
    ImportOpenapi(Box<ImportArgs>),
}

pub(super) fn run(args: ToolsArgs) -> anyhow::Result<ExitCode> {
    log_quietly();
    if let Action::Call(given) = args.action {
        return block_on(call::call(&args.reach, given));
    }
    let config = args.reach.load_shared()?;
    let world = World::real();
    block_on(async {
        let assembly = assemble(&config, &world, Hold::Shared, vec![]).await?;
        act(args.action, &assembly).await
    })
}

async fn act(action: Action, assembly: &Assembly) -> anyhow::Result<ExitCode> {
    let catalogue = assembly.runtime.catalogue();
    let named = |address: String| catalogue.resolve_name(&address);
    match action {
        Action::List { json } => list(catalogue, json),
        Action::Show { name } => show(catalogue, &named(name)),
        Action::Add { file, replace, dry_run, allow_host } => {
            let options = ImportOptions { replace, dry_run, allow_host };
            rows::add(catalogue, file::definitions(&file)?, options).await
        }
        Action::Import { file, replace, dry_run, allow_host } => {
            let options = ImportOptions { replace, dry_run, allow_host };
            import::import(catalogue, &file::read(&file)?, options).await
        }
        Action::Bind { name, env, host } => grants::bind(catalogue, &named(name), env, host).await,
        Action::Grants { name } => grants::list(catalogue, name.map(named).as_deref()),
        Action::Revoke { name, host } => grants::revoke(catalogue, &named(name), host.as_deref()).await,
        Action::Enable { name } => rows::switch(catalogue, &named(name), true).await,
        Action::Disable { name } => rows::switch(catalogue, &named(name), false).await,
        Action::Remove { name } => rows::remove(catalogue, &named(name)).await,
        Action::Agree { name, hash } => rows::agree(catalogue, &named(name), hash.as_deref()).await,
        Action::Reject { name } => rows::reject(catalogue, &named(name)).await,
        Action::Versions { name } => rows::versions(catalogue, &named(name)).await,
        Action::Export { format } => export(catalogue, &format),
        // The server that runs makes the call, so it needs none of these parts.
        Action::Call(given) => call::call_here(assembly, given).await,
        Action::ImportOpenapi(args) => import_openapi::run(*args, &assembly.egress, catalogue).await,
    }
}

/// The first sentence of what models are told of a tool.
pub(crate) fn about(description: &str) -> String {
    let line = description.trim().lines().next().unwrap_or_default();
    line.split_inclusive(". ").next().unwrap_or_default().trim().to_owned()
}

fn list(catalogue: &Catalogue, as_json: bool) -> anyhow::Result<ExitCode> {
    let tools = catalogue.list();
    if as_json {
        let all: Vec<_> = tools.iter().map(described).collect();
        outln!("{}", serde_json::to_string_pretty(&all)?);
        return Ok(ExitCode::SUCCESS);
    }
    let width = tools.iter().map(|tool| tool.name().len()).max().unwrap_or(0);
    for tool in &tools {
        let shown = described(tool);
        let first = words(&about(shown["description"].as_str().unwrap_or_default()));
        let state = match (&tool.problem, tool.is_enabled()) {
            (Some(problem), _) => tr!(" (cannot be used: {problem})", problem = problem_words(problem)),
            (None, _) if tool.is_quarantined() => {
                tr!(" (quarantined: it has changed; see `helve tools show {name}`)", name = tool.name())
            }
            (None, false) => tr!(" (off)"),
            (None, true) => String::new(),
        };
        let effect = shown["effect"].as_str().unwrap_or_default();
        outln!("{:width$}  {effect:14}  {first}{state}", tool.name());
    }
    Ok(ExitCode::SUCCESS)
}

fn show(catalogue: &Catalogue, name: &str) -> anyhow::Result<ExitCode> {
    let tool = catalogue.get(name);
    let tool = tool.with_context(|| {
        let all = catalogue.list();
        unknown_tool(name, all.iter().map(|tool| tool.name()))
    })?;
    outln!("{}", serde_json::to_string_pretty(&described(&tool))?);
    Ok(ExitCode::SUCCESS)
}

/// JSON is the same in every language.
fn english(notices: &[Notice]) -> Vec<String> {
    notices.iter().map(Notice::english).collect()
}

/// What a tool is, and what is known of it besides.
fn described(tool: &ListedTool) -> Value {
    let mut shown = match (&tool.row, &tool.registered) {
        (Some(row), _) => {
            let mut shown = json!(row.definition);
            shown["effect"] = json!(row.definition.effect());
            shown["source"] = json!("row");
            shown["version"] = json!(row.version);
            shown["hash"] = json!(row.hash);
            shown
        }
        (None, Some(registered)) => {
            let mut shown = json!(&**registered.spec());
            shown["source"] = json!("builtin");
            shown["hash"] = json!(registered.version());
            shown
        }
        (None, None) => json!({}),
    };
    shown["enabled"] = json!(tool.is_enabled());
    if let Some(problem) = &tool.problem {
        shown["problem"] = json!(problem.to_string());
    }
    if let Some(offer) = &tool.offer {
        shown["quarantined"] = json!({
            "origin": offer.origin,
            "hash": offer.definition.hash(),
            "changes": tool.changes(),
            "warnings": english(&tool.offer_warnings),
        });
    }
    if !tool.warnings.is_empty() {
        shown["warnings"] = json!(english(&tool.warnings));
    }
    shown
}

fn export(catalogue: &Catalogue, format: &str) -> anyhow::Result<ExitCode> {
    let tools = catalogue.registry().list();
    let specs: Vec<_> = tools.iter().filter(|tool| tool.is_usable()).map(|tool| &**tool.spec()).collect();
    let declared = declarations(format, &specs).with_context(|| {
        tr!("there is no format `{format}`; take openai, anthropic, gemini or ollama", format = format)
    })?;
    outln!("{}", serde_json::to_string_pretty(&declared)?);
    Ok(ExitCode::SUCCESS)
}

/// That no tool has this name, and which ones have a similar one.
fn unknown_tool<'n>(name: &str, known: impl IntoIterator<Item = &'n str>) -> String {
    let near = similar(name, known);
    let near: Vec<String> = near.into_iter().map(line).collect();
    let what = tr!("there is no tool `{name}`", name = line(name));
    match near.is_empty() {
        true => tr!("{what}; `helve tools list` shows them", what = what),
        false => tr!("{what}; similar names: {names}", what = what, names = near.join(", ")),
    }
}
