//! Watching the tools at work, and setting their guards back.

use axum::extract::{Path, State};
use axum::http::StatusCode;
use helve_store::AuditEntry;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::access::Principal;
use crate::app::App;
use crate::input::Json;
use crate::problem::Problem;

pub(crate) async fn status(State(app): State<App>) -> axum::Json<Value> {
    let tools: Map<String, Value> = app
        .runtime
        .registry()
        .all()
        .iter()
        .map(|tool| (tool.spec().name.clone(), tool.status().to_json()))
        .collect();
    axum::Json(json!({"tools": tools, "active_runs": app.runtime.active_runs()}))
}

pub(crate) async fn metrics(
    State(app): State<App>,
    Path(tool): Path<String>,
) -> Result<axum::Json<Value>, Problem> {
    let found = app.runtime.registry().get(&tool).ok_or_else(|| Problem::not_found("tool"))?;
    Ok(axum::Json(json!(found.metrics())))
}

/// What to set back; everything of all tools if nothing is said.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct ResetBody {
    #[serde(default)]
    tool: Option<String>,
    #[serde(default)]
    what: Option<Vec<What>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum What {
    Cache,
    Metrics,
    Breaker,
}

pub(crate) async fn reset(
    State(app): State<App>,
    principal: Principal,
    body: Json<ResetBody>,
) -> Result<StatusCode, Problem> {
    let ResetBody { tool, what } = body.value;
    let tools = match &tool {
        Some(name) => vec![app.runtime.registry().get(name).ok_or_else(|| Problem::not_found("tool"))?],
        None => app.runtime.registry().all(),
    };
    let what = what.unwrap_or_else(|| vec![What::Cache, What::Metrics, What::Breaker]);
    // On record first: whoever resets a guard answers for it.
    let entry = AuditEntry {
        at: app.runtime.world().now(),
        by: principal.user.to_string(),
        action: "tool_system.reset".into(),
        detail: format!("{} {what:?}", tool.as_deref().unwrap_or("all")),
    };
    app.runtime.store().audit(entry).await?;
    for tool in tools {
        for what in &what {
            match what {
                What::Cache => tool.clear_cache(),
                What::Metrics => tool.reset_metrics(),
                What::Breaker => tool.reset_breaker(),
            }
        }
    }
    Ok(StatusCode::NO_CONTENT)
}
