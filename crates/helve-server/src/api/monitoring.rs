//! Watching the tools at work, and setting their guards back.

use std::collections::BTreeMap;

use axum::extract::State;
use axum::http::StatusCode;
use helve_store::AuditEntry;
use helve_tool::{ToolMetrics, ToolStatus};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::access::{Principal, Right};
use crate::app::App;
use crate::input::{OptionalJson, Path};
use crate::problem::Problem;
use crate::routes::{Operation, Routes};

pub(crate) fn routes(routes: Routes) -> Routes {
    routes
        .add_route(
            Operation::get("/api/tool-system/status", Right::Chat, "Every tool's guards and counts")
                .gives::<SystemView>(),
            tool_system_status,
        )
        .add_route(
            Operation::get("/api/tool-system/metrics/{tool}", Right::Chat, "The counts of one tool")
                .gives::<OneToolView>(),
            tool_metrics,
        )
        .add_route(
            Operation::post("/api/tool-system/reset", Right::Admin, "Set caches, counts and breakers back")
                .with_example(json!({"tool": "search_web", "what": ["cache", "breaker"]}))
                .with_status(204),
            reset_tools,
        )
}

pub(crate) async fn tool_system_status(State(app): State<App>) -> axum::Json<Value> {
    let tools: Map<String, Value> = app
        .runtime
        .registry()
        .list()
        .iter()
        .map(|tool| {
            let status = tool.status();
            let mut view = status_view(&status);
            add_other_names(&mut view["metrics"], &status);
            (tool.spec().name.clone(), view)
        })
        .collect();
    let uptime = app.runtime.world().clock.monotonic_time().saturating_sub(app.started_steady);
    let (admission, streams) = (app.runtime.admission(), app.streams.status());
    axum::Json(json!({
        "tools": tools,
        "active_runs": admission.inside,
        "queued_runs": admission.waiting,
        "refused_runs": admission.rejected.iter().sum::<u64>(),
        "open_streams": streams.inside,
        "refused_streams": streams.rejected.iter().sum::<u64>(),
        "disk": app.runtime.disk().status().map(|disk| json!({
            "free_bytes": disk.space.free,
            "total_bytes": disk.space.total,
            "free_min_bytes": disk.free_min,
            "low": disk.low,
        })),
        "version": env!("CARGO_PKG_VERSION"),
        "uptime_ms": u64::try_from(uptime.as_millis()).unwrap_or(u64::MAX),
    }))
}

pub(crate) async fn tool_metrics(
    State(app): State<App>,
    Path(tool): Path<String>,
) -> Result<axum::Json<Value>, Problem> {
    let found = app.runtime.registry().get(&tool).ok_or_else(|| Problem::not_found("tool"))?;
    let status = found.status();
    let mut view = json!(status.metrics);
    view["in_use"] = json!(status.limit.map(|limit| limit.in_use));
    view["waiting"] = json!(status.limit.map(|limit| limit.waiting));
    view["breaker"] = json!(status.breaker_state());
    add_other_names(&mut view, &status);
    Ok(axum::Json(view))
}

/// A tool's guards and counts.
fn status_view(status: &ToolStatus) -> Value {
    json!({
        "enabled": status.enabled,
        "metrics": status.metrics,
        "limit": status.limit.map(|limit| json!({
            "in_use": limit.in_use,
            "waiting": limit.waiting,
            "admitted_in_window": limit.admitted_in_window,
            "concurrent_max": limit.settings.concurrent,
            "per_window_max": limit.settings.per_window,
            "window_ms": limit.settings.window.as_millis() as u64,
        })),
        "user_limit": status.user_limit.map(|limit| json!({
            "users": limit.keys,
            "in_use": limit.in_use,
            "waiting": limit.waiting,
            "concurrent_max": limit.settings.concurrent,
            "per_window_max": limit.settings.per_window,
            "window_ms": limit.settings.window.as_millis() as u64,
        })),
        "breaker": status.breaker.map(|breaker| json!({
            "state": status.breaker_state(),
            "failures_in_row": breaker.failures_in_row,
            "calls_in_window": breaker.calls_in_window,
            "failures_in_window": breaker.failures_in_window,
            "probes": breaker.probes,
            "retry_after_ms": breaker
                .refusing
                .and_then(|refusing| refusing.retry_after)
                .map(|wait| wait.as_millis() as u64),
        })),
        "cache": status.cache.map(|cache| json!({
            "entries": cache.entries,
            "bytes": cache.bytes,
            "hits": cache.hits,
            "misses": cache.misses,
            "shared": cache.shared,
            "evicted": cache.evicted,
        })),
    })
}

/// Adds the counts under the names by which clients of another system read them.
fn add_other_names(metrics: &mut Value, status: &ToolStatus) {
    let ToolMetrics { calls, succeeded, failed, unknown, cache_hit_rate, error_rate, mean_ms, .. } =
        status.metrics;
    metrics["totalCalls"] = json!(calls);
    metrics["successCalls"] = json!(succeeded);
    metrics["failedCalls"] = json!(failed + unknown);
    metrics["averageLatency"] = json!(mean_ms);
    metrics["cacheHitRate"] = json!(cache_hit_rate);
    metrics["errorRate"] = json!(error_rate);
    metrics["concurrency"] = json!(status.limit.map_or(0, |limit| limit.in_use));
    // Without a breaker no call is held back.
    metrics["circuitBreakerState"] = json!(status.breaker_state().unwrap_or("closed"));
}

// The shapes of what the tools tell about themselves, for the document; a wire test holds them against it.

#[derive(JsonSchema)]
#[expect(dead_code, reason = "only described: `ToolStatus::to_json` writes it")]
pub(crate) struct SystemView {
    /// Every tool by its name.
    tools: BTreeMap<String, StatusView>,
    /// How many runs are at work.
    active_runs: usize,
    /// How many wait for their turn.
    queued_runs: usize,
    /// How many were not begun because there were too many, since the server started.
    refused_runs: u64,
    open_streams: usize,
    refused_streams: u64,
    /// None where the disk is not measured.
    disk: Option<DiskView>,
    /// Of the server.
    version: String,
    uptime_ms: u64,
}

/// The disk that everything is kept on.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only described: `status` writes it")]
struct DiskView {
    free_bytes: u64,
    total_bytes: u64,
    /// With less room than this nothing new is begun.
    free_min_bytes: u64,
    low: bool,
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "only described: `ToolStatus::to_json` writes it")]
struct StatusView {
    enabled: bool,
    metrics: MetricsView,
    limit: Option<LimitView>,
    user_limit: Option<UserLimitView>,
    breaker: Option<BreakerView>,
    cache: Option<CacheView>,
}

/// What a tool did since it was registered or its metrics were reset.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only described: `ToolMetrics` is written as it is")]
struct MetricsView {
    calls: u64,
    succeeded: u64,
    failed: u64,
    refused: u64,
    /// Calls that were cut off: their effect may have happened.
    unknown: u64,
    /// Answered without running the tool.
    from_cache: u64,
    /// Of these, those that shared a call in flight.
    shared: u64,
    /// Answered by what stands in for the tool.
    from_fallback: u64,
    cache_hit_rate: f64,
    error_rate: f64,
    mean_ms: f64,
    /// Half of the calls were at least as fast; estimated from fixed buckets, as the next two are.
    p50_ms: f64,
    p95_ms: f64,
    p99_ms: f64,
    slowest_ms: f64,
    #[schemars(flatten)]
    other_names: OtherNamesView,
}

/// The same under the names that another system has for them.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
#[expect(dead_code, reason = "only described: `add_other_names` writes it")]
struct OtherNamesView {
    total_calls: u64,
    success_calls: u64,
    /// Those that failed, and those that were cut off.
    failed_calls: u64,
    /// In milliseconds.
    average_latency: f64,
    cache_hit_rate: f64,
    error_rate: f64,
    /// Calls that hold a place of its limit.
    concurrency: u32,
    /// `closed`, `open` or `half_open`; `closed` if it has no breaker.
    circuit_breaker_state: String,
}

/// The counts of one tool, and how busy it is now.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only described: `metrics` writes it")]
pub(crate) struct OneToolView {
    #[schemars(flatten)]
    metrics: MetricsView,
    /// Calls that hold a place of its limit; none if it has no limit.
    in_use: Option<u32>,
    waiting: Option<u64>,
    /// `closed`, `open` or `half_open`; none if it has no breaker.
    breaker: Option<String>,
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
struct UserLimitView {
    /// Users that are remembered; in use and waiting are all of theirs, the limits those of each.
    users: u64,
    in_use: u32,
    waiting: u64,
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
    /// Calls under way that find out whether it works again.
    probes: u32,
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
#[derive(Debug, Default, Deserialize, JsonSchema)]
pub(crate) struct ResetBody {
    #[serde(default, alias = "toolName")]
    #[schemars(extend("x-aliases" = ["toolName"]))]
    tool: Option<String>,
    #[serde(default)]
    what: Option<Vec<ResetScope>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ResetScope {
    Cache,
    Metrics,
    Breaker,
}

pub(crate) async fn reset_tools(
    State(app): State<App>,
    principal: Principal,
    OptionalJson(body): OptionalJson<ResetBody>,
) -> Result<StatusCode, Problem> {
    let ResetBody { tool, what } = body;
    let tools = match &tool {
        Some(name) => vec![app.runtime.registry().get(name).ok_or_else(|| Problem::not_found("tool"))?],
        None => app.runtime.registry().list(),
    };
    let what = what.unwrap_or_else(|| vec![ResetScope::Cache, ResetScope::Metrics, ResetScope::Breaker]);
    // The audit line is written before the reset, so that no reset is without one.
    let (now, detail) = (app.runtime.world().now(), format!("{} {what:?}", tool.as_deref().unwrap_or("all")));
    let entry = AuditEntry::new(now, &*principal.user.0, "tool_system.reset", detail);
    app.runtime.store().record_audit(entry).await?;
    for tool in tools {
        for what in &what {
            match what {
                ResetScope::Cache => tool.clear_cache(),
                ResetScope::Metrics => tool.reset_metrics(),
                ResetScope::Breaker => tool.reset_breaker(),
            }
        }
    }
    Ok(StatusCode::NO_CONTENT)
}
