//! `helve agents`: the agents there are, and making and changing those that are rows.

mod changes;
mod file;
mod listing;

use std::process::ExitCode;

use clap::{Args, Subcommand};
use helve_runtime::{AgentChange, AgentError};
use helve_types::World;
use serde_json::json;

use super::{block_on, log_quietly};
use crate::assemble::{Assembly, Hold, assemble};
use crate::client::Reach;
use crate::i18n::tr;

#[derive(Debug, Args)]
pub(crate) struct AgentsArgs {
    #[command(flatten)]
    pub(super) reach: Reach,
    #[command(subcommand)]
    action: AgentAction,
}

#[derive(Debug, Subcommand)]
enum AgentAction {
    /// List the agents
    List {
        /// Print JSON with the complete definitions
        #[arg(long)]
        json: bool,
    },
    /// Show the definition of an agent, as JSON
    Show {
        name: String,
        /// The draft of the agent
        #[arg(long)]
        draft: bool,
    },
    /// Add the agents defined in a file, all of them or none; a running server has them within a second
    #[command(visible_aliases = ["create", "import"])]
    Add {
        /// JSON or TOML: one definition, or a list of them under `agents`; `-` is standard input
        file: String,
        /// Change agents that already exist
        #[arg(long)]
        replace: bool,
        /// Only say what would be made
        #[arg(long)]
        dry_run: bool,
    },
    /// Change some fields of an agent; runs in progress keep the version they were started with
    Edit {
        name: String,
        /// The fields with their new values, a JSON object, or `@` and the name of a file with it; null takes a field
        /// back to its default
        fields: String,
        /// Change the draft of the agent instead; begins one if there is none
        #[arg(long)]
        draft: bool,
    },
    /// Give an agent a tool, or change what holds for one
    Link {
        name: String,
        tool: String,
        /// Permission, fixed arguments and guards of the tool for this agent, a JSON object, or `@` and the name of a
        /// file with it
        #[arg(value_name = "CONFIG")]
        terms: Option<String>,
        /// Leave the tool switched off for the agent
        #[arg(long)]
        off: bool,
    },
    /// Take a tool from an agent
    Unlink { name: String, tool: String },
    /// Enable an agent for new runs
    Enable { name: String },
    /// Disable an agent for new runs
    Disable { name: String },
    /// List all versions of an agent
    Versions {
        name: String,
        /// Print JSON with the complete definitions
        #[arg(long)]
        json: bool,
    },
    /// Show what is different between two versions of an agent, or between the agent and its draft
    Diff {
        name: String,
        /// The number of a version [default: the one before]
        from: Option<u32>,
        /// The number of a version, or `draft` [default: the draft, or else the current version]
        to: Option<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Make an agent what its draft says
    Publish { name: String },
    /// Discard the draft of an agent
    Discard { name: String },
    /// Make an agent again what it was at an earlier version
    Rollback { name: String, version: u32 },
    /// Print the definitions of the agents that are not of the configuration, as one file for `add`
    Export { name: Option<String> },
    /// Delete an agent; its runs go on
    #[command(visible_alias = "delete")]
    Remove { name: String },
}

pub(super) fn run(args: AgentsArgs) -> anyhow::Result<ExitCode> {
    log_quietly();
    let config = args.reach.load_shared()?;
    let world = World::real();
    block_on(async {
        let assembly = assemble(&config, &world, Hold::Shared, vec![]).await?;
        act(args.action, &assembly).await.map_err(with_hint)
    })
}

async fn act(action: AgentAction, assembly: &Assembly) -> anyhow::Result<ExitCode> {
    let runtime = &assembly.runtime;
    let tool = |address: &str| runtime.catalogue().resolve_name(address);
    match action {
        AgentAction::List { json } => listing::list(runtime, json),
        AgentAction::Show { name, draft } => listing::show(runtime, &name, draft),
        AgentAction::Add { file, replace, dry_run } => {
            changes::add(runtime, file::definitions(&file)?, replace, dry_run).await
        }
        AgentAction::Edit { name, fields, draft } => {
            changes::edit(runtime, &name, file::object(&fields)?, draft).await
        }
        AgentAction::Link { name, tool: address, terms, off } => {
            let link = file::link(tool(&address), terms.as_deref(), !off)?;
            changes::update(runtime, &name, AgentChange::SetTool(link)).await
        }
        AgentAction::Unlink { name, tool: address } => {
            changes::update(runtime, &name, AgentChange::RemoveTool(tool(&address))).await
        }
        AgentAction::Enable { name } => changes::update(runtime, &name, switch(true)).await,
        AgentAction::Disable { name } => changes::update(runtime, &name, switch(false)).await,
        AgentAction::Versions { name, json } => listing::versions(runtime, &name, json).await,
        AgentAction::Diff { name, from, to, json } => {
            listing::compare(runtime, &name, from, to.as_deref(), json).await
        }
        AgentAction::Publish { name } => changes::publish(runtime, &name).await,
        AgentAction::Discard { name } => changes::discard(runtime, &name).await,
        AgentAction::Rollback { name, version } => changes::roll_back(runtime, &name, version).await,
        AgentAction::Export { name } => listing::export(runtime, name.as_deref()),
        AgentAction::Remove { name } => changes::remove(runtime, &name).await,
    }
}

fn switch(enabled: bool) -> AgentChange {
    AgentChange::Patch(json!({"enabled": enabled}))
}

fn with_hint(error: anyhow::Error) -> anyhow::Error {
    match error.downcast_ref::<AgentError>() {
        Some(AgentError::Missing(_)) => {
            anyhow::anyhow!(tr!("{error}; `helve agents list` shows them", error = error))
        }
        Some(AgentError::MissingDraft(name)) => {
            anyhow::anyhow!(tr!(
                "{error}; `helve agents edit {name} JSON --draft` begins one",
                error = error,
                name = name
            ))
        }
        _ => error,
    }
}
