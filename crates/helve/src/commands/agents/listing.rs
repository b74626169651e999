//! What agents are, what they were, and what is between.

use std::process::ExitCode;

use anyhow::Context;
use helve_runtime::{
    AgentError, AgentRow, ComparedVersion, ListedAgent, Runtime, VersionPair, agent_differences,
};
use helve_types::{AgentDefinition, AgentTexts, AgentTool};
use serde_json::{Value, json};

use crate::client::line;
use crate::commands::suggest::similar;
use crate::i18n::{tr, words};
use crate::output::outln;

pub(super) fn list(runtime: &Runtime, as_json: bool) -> anyhow::Result<ExitCode> {
    let agents = runtime.agents().list();
    if as_json {
        let all: Vec<_> = agents.iter().map(described).collect();
        outln!("{}", serde_json::to_string_pretty(&all)?);
        return Ok(ExitCode::SUCCESS);
    }
    let width = agents.iter().map(|agent| agent.name().chars().count()).max().unwrap_or(0);
    for agent in &agents {
        let source = match &agent.row {
            Some(row) => tr!("version {version}", version = row.version),
            None => tr!("configuration"),
        };
        let state = match (&agent.problem, agent.is_enabled(), &agent.draft) {
            (Some(problem), ..) => tr!(" (cannot be used: {problem})", problem = words(problem)),
            (None, false, _) => tr!(" (off)"),
            (None, true, Some(_)) => tr!(" (has a draft)"),
            (None, true, None) => String::new(),
        };
        let texts = agent.agent.as_ref().map(|agent| agent.settings.texts.clone()).unwrap_or_default();
        let AgentTexts { display_name, description, .. } = texts;
        let about = description.lines().next().unwrap_or_default().to_owned();
        let about = display_name.into_iter().chain(Some(about)).filter(|text| !text.is_empty());
        let about = about.collect::<Vec<_>>().join(": ");
        outln!("{:width$}  {source:13}  {}{state}", line(agent.name()), line(&about));
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) fn show(runtime: &Runtime, name: &str, draft: bool) -> anyhow::Result<ExitCode> {
    let agent = find(runtime, name)?;
    let shown = if draft {
        let draft = agent.draft.as_ref();
        let draft = draft.ok_or_else(|| AgentError::MissingDraft(agent.name().to_owned()))?;
        let mut shown = json!(draft.definition);
        shown["version"] = json!(draft.version);
        shown
    } else {
        let mut shown = described(&agent);
        let problems = agent.agent.as_ref().map(|agent| agent.link_problems(runtime.registry()));
        let problems = problems.filter(|problems| !problems.is_empty());
        if let Some(problems) = problems {
            let problems = problems.into_iter().map(|(tool, problem)| (tool, Value::String(problem)));
            shown["tool_problems"] = Value::Object(problems.collect());
        }
        let missing = agent.agent.as_ref().map(|agent| runtime.agents().missing_subagents(agent));
        if let Some(missing) = missing.filter(|missing| !missing.is_empty()) {
            shown["missing_subagents"] = json!(missing);
        }
        shown
    };
    outln!("{}", serde_json::to_string_pretty(&shown)?);
    Ok(ExitCode::SUCCESS)
}

/// What an agent is, and what is known of it besides.
fn described(agent: &ListedAgent) -> Value {
    let mut shown = match (&agent.row, &agent.agent) {
        (Some(row), _) => {
            let mut shown = json!(row.definition);
            shown["source"] = json!("row");
            shown["version"] = json!(row.version);
            shown["hash"] = json!(row.hash);
            shown
        }
        (None, Some(agent)) => {
            let settings = agent.settings.clone();
            let all = || vec![AgentTool::new("*")];
            let tools = settings.tools.map(|names| names.into_iter().map(AgentTool::new).collect());
            let AgentTexts { display_name, description, example_questions } = settings.texts;
            let mut shown = json!(AgentDefinition {
                model: settings.model,
                system_prompt: settings.system,
                tools: tools.unwrap_or_else(all),
                skills: settings.skills,
                params: settings.params,
                pre_search: settings.pre_search,
                max_steps: settings.max_steps,
                end_when_refused: settings.end_when_refused,
                language: settings.language,
                display_name,
                description,
                example_questions,
                translations: settings.translations,
                users: settings.users,
                subagents: settings.subagents,
                groups: settings.groups,
                ..AgentDefinition::new(settings.name)
            });
            shown["source"] = json!("configuration");
            shown
        }
        (None, None) => json!({}),
    };
    if let Some(draft) = &agent.draft {
        shown["draft"] = json!(draft.version);
    }
    if let Some(problem) = &agent.problem {
        shown["problem"] = json!(problem);
    }
    shown
}

pub(super) async fn versions(runtime: &Runtime, name: &str, as_json: bool) -> anyhow::Result<ExitCode> {
    let versions = runtime.agents().list_versions(name).await?;
    if as_json {
        let shown = |row: &AgentRow| {
            let at = row.updated_at.0;
            json!({"version": row.version, "hash": row.hash, "updated_at": at, "definition": row.definition})
        };
        outln!("{}", serde_json::to_string_pretty(&versions.iter().map(shown).collect::<Vec<_>>())?);
        return Ok(ExitCode::SUCCESS);
    }
    for row in versions {
        let at = jiff::Timestamp::from_millisecond(row.updated_at.0).map(|at| at.to_string());
        let off = if row.definition.enabled { String::new() } else { tr!("  (off)") };
        outln!("{:3}  {}  {}{off}", row.version, row.hash, at.unwrap_or_default());
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) async fn compare(
    runtime: &Runtime,
    name: &str,
    from: Option<u32>,
    to: Option<&str>,
    as_json: bool,
) -> anyhow::Result<ExitCode> {
    let to = to.map(str::parse::<ComparedVersion>).transpose().map_err(|_| {
        anyhow::anyhow!(tr!(
            "`{to}` is neither the number of a version nor `draft`",
            to = to.unwrap_or_default()
        ))
    })?;
    let VersionPair { from, to, was, now } = runtime.agents().compare(name, from, to).await?;
    let changes = agent_differences(&was, &now);
    if as_json {
        let shown = json!({"from": from, "to": to, "changes": changes});
        outln!("{}", serde_json::to_string_pretty(&shown)?);
        return Ok(ExitCode::SUCCESS);
    }
    let none = || tr!("(nothing)");
    for change in changes {
        let was = change.was.map_or_else(none, |was| was.to_string());
        let now = change.now.map_or_else(none, |now| now.to_string());
        outln!("{}: {} → {}", line(&change.field), line(&was), line(&now));
    }
    Ok(ExitCode::SUCCESS)
}

/// The definitions of the agents that are rows, as a file that `add` reads.
pub(super) fn export(runtime: &Runtime, name: Option<&str>) -> anyhow::Result<ExitCode> {
    let agents = match name {
        Some(name) => {
            let agent = find(runtime, name)?;
            if agent.row.is_none() {
                return Err(AgentError::Configured(agent.name().to_owned()).into());
            }
            vec![agent]
        }
        None => runtime.agents().list(),
    };
    let agents: Vec<_> =
        agents.iter().filter_map(|agent| Some(json!(agent.row.as_ref()?.definition))).collect();
    outln!("{}", serde_json::to_string_pretty(&json!({"agents": agents}))?);
    Ok(ExitCode::SUCCESS)
}

fn find(runtime: &Runtime, name: &str) -> anyhow::Result<ListedAgent> {
    runtime.agents().get(name).with_context(|| {
        let all = runtime.agents().list();
        let near: Vec<String> =
            similar(name, all.iter().map(ListedAgent::name)).into_iter().map(line).collect();
        let what = tr!("there is no agent `{name}`", name = line(name));
        match near.is_empty() {
            true => tr!("{what}; `helve agents list` shows them", what = what),
            false => tr!("{what}; similar names: {names}", what = what, names = near.join(", ")),
        }
    })
}
