//! `/metrics`: what everything counts anyway, written as Prometheus reads it.
//!
//! Tools, models and runs count in plain atomics; this module reads them for each request. Labels are names of registered tools and configured models and fixed words,
//! so there are no more series than there are things.

mod exposition;

use axum::extract::State;
use axum::http::{HeaderName, header};
use helve_guard::AdmissionStatus;
use helve_tool::Registered;

use self::exposition::{Exposition, Kind};
use crate::access::Right;
use crate::app::App;
use crate::routes::{Operation, Routes};

pub(crate) fn routes(routes: Routes) -> Routes {
    routes.add_route(
        Operation::get("/metrics", Right::Chat, "Everything that is counted, for Prometheus")
            .gives_bytes("text/plain"),
        metrics,
    )
}

pub(crate) async fn metrics(State(app): State<App>) -> ([(HeaderName, &'static str); 1], String) {
    let mut page = Exposition::default();
    write_process(&app, &mut page);
    write_runs(&app, &mut page);
    write_streams(&app, &mut page);
    write_disk(&app, &mut page);
    write_tools(&app, &mut page);
    write_guards(&app, &mut page);
    write_models(&app, &mut page);
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], page.finish())
}

fn write_process(app: &App, page: &mut Exposition) {
    page.begin_family("helve_build_info", Kind::Gauge, "Which Helve this is.");
    page.add_sample(&[("version", env!("CARGO_PKG_VERSION"))], 1.0);
    page.begin_family("process_start_time_seconds", Kind::Gauge, "When the server started, since 1970.");
    page.add_sample(&[], app.started_at.0 as f64 / 1_000.0);
    if let Some(bytes) = resident_bytes() {
        page.begin_family("process_resident_memory_bytes", Kind::Gauge, "Memory of the process.");
        page.add_sample(&[], bytes as f64);
    }
    page.begin_family(
        "helve_http_answers_total",
        Kind::Counter,
        "Requests answered, by the class of the status.",
    );
    for (class, count) in app.answers.snapshot() {
        page.add_sample(&[("status", class)], count as f64);
    }
    if let Some(count) = app.secrets_withheld() {
        page.begin_family(
            "helve_secrets_withheld_total",
            Kind::Counter,
            "Secrets asked for by who must not have them.",
        );
        page.add_sample(&[], count as f64);
    }
    if let Some(count) = app.notices_lost() {
        page.begin_family(
            "helve_approval_notices_lost_total",
            Kind::Counter,
            "Questions that the webhook could not be told of.",
        );
        page.add_sample(&[], count as f64);
    }
}

/// Of this process, where the system tells.
fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1_024)
}

fn write_runs(app: &App, page: &mut Exposition) {
    let counts = app.runtime.run_metrics();
    let admission = app.runtime.admission();
    page.begin_family("helve_runs_active", Kind::Gauge, "Runs that are at work now.");
    page.add_sample(&[], admission.inside as f64);
    page.begin_family("helve_runs_queued", Kind::Gauge, "Runs that wait for their turn.");
    page.add_sample(&[], admission.waiting as f64);
    write_rejected(page, "helve_runs_refused_total", "Runs that were not begun, by whose bound.", admission);
    page.begin_family("helve_runs_started_total", Kind::Counter, "Runs that were started.");
    page.add_sample(&[], counts.started as f64);
    page.begin_family("helve_runs_resumed_total", Kind::Counter, "Runs that were taken up again.");
    page.add_sample(&[], counts.resumed as f64);
    page.begin_family("helve_runs_ended_total", Kind::Counter, "Runs that came to their end, by how.");
    for (ending, count) in
        [("completed", counts.completed), ("failed", counts.failed), ("cancelled", counts.cancelled)]
    {
        page.add_sample(&[("ending", ending)], count as f64);
    }
    let budgets = app.runtime.budget_metrics();
    page.begin_family("helve_budget_total", Kind::Counter, "What budgets had a say in, by what they did.");
    for (did, count) in [("asked", budgets.asked), ("stopped", budgets.stopped), ("refused", budgets.refused)]
    {
        page.add_sample(&[("did", did)], count as f64);
    }
}

fn write_streams(app: &App, page: &mut Exposition) {
    let streams = app.streams.status();
    page.begin_family("helve_streams_open", Kind::Gauge, "Streams of events that are open.");
    page.add_sample(&[], streams.inside as f64);
    write_rejected(
        page,
        "helve_streams_refused_total",
        "Streams that were not opened, by whose bound.",
        streams,
    );
}

fn write_rejected(page: &mut Exposition, family: &'static str, help: &str, status: AdmissionStatus) {
    page.begin_family(family, Kind::Counter, help);
    for (bound, count) in ["user", "all"].into_iter().zip(status.rejected) {
        page.add_sample(&[("bound", bound)], count as f64);
    }
}

/// Writes nothing where the disk is not measured.
fn write_disk(app: &App, page: &mut Exposition) {
    let Some(disk) = app.runtime.disk().status() else { return };
    page.begin_family("helve_disk_free_bytes", Kind::Gauge, "Room on the disk of the data directory.");
    page.add_sample(&[], disk.space.free as f64);
    page.begin_family("helve_disk_free_min_bytes", Kind::Gauge, "With less room than this nothing is begun.");
    page.add_sample(&[], disk.free_min as f64);
    page.begin_family("helve_disk_low", Kind::Gauge, "1 while nothing is begun for want of room.");
    page.add_sample(&[], f64::from(u8::from(disk.low)));
}

fn write_tools(app: &App, page: &mut Exposition) {
    let tools: Vec<_> =
        app.runtime.registry().list().into_iter().map(|tool| (tool.metrics(), tool)).collect();
    page.begin_family("helve_tool_calls_total", Kind::Counter, "Calls that are over, by tool and outcome.");
    for (counts, tool) in &tools {
        for (outcome, count) in [
            ("succeeded", counts.succeeded),
            ("failed", counts.failed),
            ("refused", counts.refused),
            ("unknown", counts.unknown),
            ("fallback", counts.from_fallback),
        ] {
            page.add_sample(&[("tool", tool_name(tool)), ("outcome", outcome)], count as f64);
        }
    }
    page.begin_family(
        "helve_tool_cached_total",
        Kind::Counter,
        "Calls answered without running the tool, by how.",
    );
    for (counts, tool) in &tools {
        let hits = counts.from_cache - counts.shared;
        page.add_sample(&[("tool", tool_name(tool)), ("found", "hit")], hits as f64);
        page.add_sample(&[("tool", tool_name(tool)), ("found", "shared")], counts.shared as f64);
    }
    page.begin_family(
        "helve_tool_call_seconds",
        Kind::Histogram,
        "How long calls took, cached ones included.",
    );
    for (_, tool) in &tools {
        page.add_distribution(&[("tool", tool_name(tool))], &tool.latency());
    }
    page.begin_family("helve_tool_enabled", Kind::Gauge, "Whether the tool may be called.");
    for (_, tool) in &tools {
        page.add_sample(&[("tool", tool_name(tool))], f64::from(u8::from(tool.is_enabled())));
    }
}

fn tool_name(tool: &Registered) -> &str {
    &tool.spec().name
}

/// Tools without a limit or a breaker have no series for it.
fn write_guards(app: &App, page: &mut Exposition) {
    let tools: Vec<_> = app.runtime.registry().list().into_iter().map(|tool| (tool.status(), tool)).collect();
    let limits = || tools.iter().filter_map(|(status, tool)| Some((status.limit?, tool_name(tool))));
    page.begin_family("helve_tool_in_use", Kind::Gauge, "Calls that hold a place of the tool's limit.");
    for (limit, tool) in limits() {
        page.add_sample(&[("tool", tool)], f64::from(limit.in_use));
    }
    page.begin_family("helve_tool_waiting", Kind::Gauge, "Calls that wait for a place.");
    for (limit, tool) in limits() {
        page.add_sample(&[("tool", tool)], limit.waiting as f64);
    }
    page.begin_family("helve_tool_breaker_state", Kind::Gauge, "1 for the state that the breaker is in.");
    for (status, tool) in &tools {
        let Some(held) = status.breaker_state() else { continue };
        for state in ["closed", "half_open", "open"] {
            let labels = [("tool", tool_name(tool)), ("state", state)];
            page.add_sample(&labels, f64::from(u8::from(state == held)));
        }
    }
    page.begin_family("helve_tool_cache_bytes", Kind::Gauge, "What the cache of the tool holds.");
    for (cache, tool) in tools.iter().filter_map(|(status, tool)| Some((status.cache?, tool_name(tool)))) {
        page.add_sample(&[("tool", tool)], cache.bytes as f64);
    }
}

fn write_models(app: &App, page: &mut Exposition) {
    let all = app.runtime.models();
    let names = all.names();
    let read = |name: &'_ String| Some((name.clone(), all.counters(name)?.snapshot()));
    let models: Vec<_> = names.iter().filter_map(read).collect();
    page.begin_family("helve_model_requests_total", Kind::Counter, "Requests to models, by how they ended.");
    for (model, counts) in &models {
        for (outcome, count) in counts.requests {
            page.add_sample(&[("model", model), ("outcome", outcome)], count as f64);
        }
    }
    page.begin_family(
        "helve_model_tokens_total",
        Kind::Counter,
        "Tokens as vendors report them; some are of both kinds.",
    );
    for (model, counts) in &models {
        for (kind, count) in [
            ("input", counts.input_tokens),
            ("output", counts.output_tokens),
            ("cached_input", counts.cached_tokens),
            ("reasoning_output", counts.reasoning_tokens),
        ] {
            page.add_sample(&[("model", model), ("kind", kind)], count as f64);
        }
    }
    page.begin_family("helve_model_cost_total", Kind::Counter, "What it cost, where prices are known.");
    for (model, counts) in &models {
        let labels = [("model", model.as_str()), ("currency", all.currency())];
        page.add_sample(&labels, counts.cost_nanos as f64 / 1e9);
    }
    page.begin_family(
        "helve_model_first_token_seconds",
        Kind::Histogram,
        "From asking to the first piece of an answer.",
    );
    for (model, counts) in &models {
        page.add_distribution(&[("model", model)], &counts.first_token);
    }
    page.begin_family("helve_model_answer_seconds", Kind::Histogram, "From asking to the end of an answer.");
    for (model, counts) in &models {
        page.add_distribution(&[("model", model)], &counts.whole);
    }
}
