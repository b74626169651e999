//! Agents as one file: from here, and to here.

use axum::Json as Answer;
use axum::extract::State;
use helve_runtime::{AgentError, AgentImport, AgentImportError, BatchOutcome, read_agent};
use helve_types::AgentDefinition;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::example_definition;
use crate::access::{Principal, Right};
use crate::app::App;
use crate::input::{Json, Query};
use crate::problem::Problem;
use crate::routes::{Operation, Routes};

/// So many agents are imported at a time.
const IMPORT_MAX: usize = 1_000;

pub(super) fn routes(routes: Routes) -> Routes {
    routes
        .add_route(
            Operation::get(
                "/api/agents/export",
                Right::Admin,
                "The definitions of the agents that are rows, as one file",
            )
            .gives::<AgentFile>(),
            export_agents,
        )
        .add_route(
            Operation::post(
                "/api/agents/import",
                Right::Admin,
                "Make agents of a file: all of them, or none if one cannot be made",
            )
            .with_example(json!({"agents": [example_definition()]}))
            .gives::<ImportView>(),
            import_agents,
        )
}

#[derive(Debug, Deserialize, JsonSchema)]
struct ExportQuery {
    /// Only the agent with this name or id.
    #[serde(default)]
    agent: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct AgentFile {
    agents: Vec<AgentDefinition>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct ImportQuery {
    /// Changes agents that are there already, instead of refusing the file.
    #[serde(default)]
    replace: bool,
    /// Only checks the file, and keeps nothing.
    #[serde(default)]
    dry_run: bool,
}

/// Definitions, as an export has them.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ImportBody {
    #[schemars(with = "Vec<AgentDefinition>")]
    agents: Vec<Value>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ImportView {
    /// What became of each agent, in the order of the file.
    agents: Vec<ImportedView>,
    /// Nothing was kept.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    dry_run: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ImportedView {
    name: String,
    /// `created`, `changed` or `unchanged`; what it would be, by a dry run.
    outcome: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<u32>,
}

async fn export_agents(
    State(app): State<App>,
    Query(query): Query<ExportQuery>,
) -> Result<Answer<AgentFile>, Problem> {
    let agents = match query.agent {
        Some(address) => vec![app.runtime.agents().get(&address).ok_or_else(|| Problem::not_found("agent"))?],
        None => app.runtime.agents().list(),
    };
    let agents = agents.iter().filter_map(|agent| Some(agent.row.as_ref()?.definition.clone())).collect();
    Ok(Answer(AgentFile { agents }))
}

async fn import_agents(
    State(app): State<App>,
    principal: Principal,
    Query(query): Query<ImportQuery>,
    body: Json<ImportBody>,
) -> Result<Answer<ImportView>, Problem> {
    if body.value.agents.len() > IMPORT_MAX {
        let detail = format!("there are more than {IMPORT_MAX} agents; import them in parts");
        return Err(Problem::bad_request("bad_body", detail).with_field("field", "agents"));
    }
    let read = |(number, written)| read_agent(written).map_err(|wrong| in_file(number, wrong.into()));
    let definitions = body.value.agents.into_iter().enumerate().map(read).collect::<Result<Vec<_>, _>>()?;
    let ImportQuery { replace, dry_run } = query;
    let imported = app.runtime.import_agents(definitions, replace, dry_run, &principal.user.0).await;
    let imported = imported.map_err(|AgentImportError { number, error }| match number {
        Some(number) => in_file(number, error),
        None => error.into(),
    })?;
    let view = |AgentImport { name, outcome, agent }: AgentImport| ImportedView {
        name,
        outcome: match outcome {
            BatchOutcome::Created => "created",
            BatchOutcome::Changed => "changed",
            BatchOutcome::Unchanged => "unchanged",
        },
        version: agent.filter(|_| !dry_run).and_then(|agent| Some(agent.row?.version)),
    };
    Ok(Answer(ImportView { agents: imported.into_iter().map(view).collect(), dry_run }))
}

/// What is wrong with one agent of the file, with its place.
fn in_file(number: usize, error: AgentError) -> Problem {
    match error {
        AgentError::Definition(mut wrong) => {
            wrong.field = format!("agents.{number}.{}", wrong.field);
            AgentError::Definition(wrong).into()
        }
        other => Problem::from(other).with_field("field", format!("agents.{number}")),
    }
}
