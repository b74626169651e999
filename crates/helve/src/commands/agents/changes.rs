//! Making, changing and deleting agents from the command line, beside a server that may be running.

use std::process::ExitCode;

use helve_runtime::{AgentChange, AgentImportError, BatchOutcome, ListedAgent, Runtime};
use helve_types::AgentDefinition;
use serde_json::Value;

use crate::commands::tools::rows::BY;
use crate::i18n::tr;
use crate::output::outln;

/// Makes all of the agents, or none if one of them cannot be made.
pub(super) async fn add(
    runtime: &Runtime,
    definitions: Vec<AgentDefinition>,
    replace: bool,
    dry_run: bool,
) -> anyhow::Result<ExitCode> {
    let names: Vec<String> = definitions.iter().map(|definition| definition.name.clone()).collect();
    let imported = runtime.import_agents(definitions, replace, dry_run, BY).await;
    let imported = imported.map_err(|AgentImportError { number, error }| {
        let error = anyhow::Error::new(error);
        match number.and_then(|number| names.get(number)) {
            Some(name) => error.context(tr!("the agent `{name}`; nothing was kept", name = name)),
            None => error,
        }
    })?;
    for agent in imported {
        let name = &agent.name;
        let outcome = match (agent.outcome, dry_run) {
            (BatchOutcome::Created, true) => tr!("would be created"),
            (BatchOutcome::Created, false) => tr!("created"),
            (BatchOutcome::Changed, true) => tr!("would be changed"),
            (BatchOutcome::Changed, false) => tr!("changed"),
            (BatchOutcome::Unchanged, _) => tr!("unchanged"),
        };
        let row = agent.agent.and_then(|agent| agent.row).filter(|_| !dry_run);
        let version = row.map(|row| tr!(", version {version}", version = row.version)).unwrap_or_default();
        outln!("{name}  {outcome}{version}");
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) async fn edit(
    runtime: &Runtime,
    name: &str,
    fields: Value,
    draft: bool,
) -> anyhow::Result<ExitCode> {
    if !draft {
        return update(runtime, name, AgentChange::Patch(fields)).await;
    }
    let agent = runtime.save_agent_draft(name, AgentChange::Patch(fields), None, BY).await?;
    let version = agent.draft.as_ref().map(|draft| draft.version).unwrap_or_default();
    outln!("{}", tr!("{name}  draft, version {version}", name = agent.name(), version = version));
    Ok(ExitCode::SUCCESS)
}

pub(super) async fn update(runtime: &Runtime, name: &str, change: AgentChange) -> anyhow::Result<ExitCode> {
    print_state(&runtime.update_agent(name, change, None, BY).await?)
}

pub(super) async fn publish(runtime: &Runtime, name: &str) -> anyhow::Result<ExitCode> {
    print_state(&runtime.publish_agent_draft(name, None, BY).await?)
}

pub(super) async fn discard(runtime: &Runtime, name: &str) -> anyhow::Result<ExitCode> {
    runtime.agents().discard_draft(name, BY).await?;
    outln!("{}", tr!("{name}  draft discarded", name = name));
    Ok(ExitCode::SUCCESS)
}

pub(super) async fn roll_back(runtime: &Runtime, name: &str, version: u32) -> anyhow::Result<ExitCode> {
    print_state(&runtime.restore_agent(name, version, None, BY).await?)
}

pub(super) async fn remove(runtime: &Runtime, name: &str) -> anyhow::Result<ExitCode> {
    // An id says less to a person than the name.
    let agent = runtime.agents().get(name);
    runtime.delete_agent(name, None, BY).await?;
    let name = agent.as_ref().map_or(name, ListedAgent::name);
    outln!("{}", tr!("{name}  deleted", name = name));
    Ok(ExitCode::SUCCESS)
}

fn print_state(agent: &ListedAgent) -> anyhow::Result<ExitCode> {
    let version =
        agent.row.as_ref().map(|row| tr!("version {version}, ", version = row.version)).unwrap_or_default();
    outln!("{}  {version}{}", agent.name(), if agent.is_enabled() { tr!("on") } else { tr!("off") });
    Ok(ExitCode::SUCCESS)
}
