//! Watching the tools at work, and setting their guards back.

use std::collections::BTreeMap;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use helve_store::AuditEntry;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::access::{Principal, Right};
use crate::app::App;
use crate::input::Json;
use crate::problem::Problem;
use crate::routes::{Operation, Routes};

pub(crate) fn routes(routes: Routes) -> Routes {
    routes
        .add(
            Operation::get("/api/tool-system/status", Right::Chat, "Every tool's guards and counts")
                .gives::<SystemView>(),
            status,
        )
        .add(
            Operation::get("/api/tool-system/metrics/{tool}", Right::Chat, "The counts of one tool")
                .gives::<MetricsView>(),
            metrics,
        )
        .add(
            Operation::post("/api/tool-system/reset", Right::Admin, "Set caches, counts and breakers back")
                .body::<ResetBody>()
                .status(204),
            reset,
        )
}

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

// The shapes of what the tools tell about themselves, for the document; a wire test holds them against it.

#[derive(JsonSchema)]
#[expect(dead_code, reason = "only described: `ToolStatus::to_json` writes it")]
pub(crate) struct SystemView {
    /// Every tool by its name.
    tools: BTreeMap<String, StatusView>,
    /// How many runs are being driven.
    active_runs: usize,
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "only described: `ToolStatus::to_json` writes it")]
struct StatusView {
    enabled: bool,
    metrics: MetricsView,
    limit: Option<LimitView>,
    breaker: Option<BreakerView>,
    cache: Option<CacheView>,
}

/// What a tool did since it was registered or its metrics were reset.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only described: `ToolMetrics` is written as it is")]
pub(crate) struct MetricsView {
    calls: u64,
    succeeded: u64,
    failed: u64,
    refused: u64,
    /// Calls that were cut off: their effect may have happened.
    unknown: u64,
    from_cache: u64,
    cache_hit_rate: f64,
    error_rate: f64,
    mean_ms: f64,
    slowest_ms: f64,
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "only described: `ToolStatus::to_json` writes it")]
struct LimitView {
    in_use: u32,
    waiting: u64,
    admitted_in_window: u32,
    concurrent_max: Option<u32>,
    per_window_max: Option<u32>,
    window_ms: u64,
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "only described: `ToolStatus::to_json` writes it")]
struct BreakerView {
    /// `closed`, `open` or `half_open`.
    state: String,
    failures_in_row: u32,
    calls_in_window: u32,
    failures_in_window: u32,
    /// When to try again, while it is open.
    retry_after_ms: Option<u64>,
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "only described: `ToolStatus::to_json` writes it")]
struct CacheView {
    entries: u64,
    bytes: u64,
    hits: u64,
    misses: u64,
    /// Calls that shared the run of another.
    shared: u64,
    evicted: u64,
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
