//! HTTP and server-sent events; the only crate that serves requests.
//!
//! A request gets its `request_id`, passes `access::origin`, then the guard of its route, then its handler, which says
//! what it wants of the `Runtime` and renders what it gets. `routes` says what a route is, and every area lists its own;
//! what is none is `page`. Bodies are private to their handlers; `sse` turns a run into a stream. Nothing here knows
//! which model or store is behind the ports.

mod access;
mod agent;
mod agents;
mod allowances;
mod app;
mod approvals;
mod asked;
mod budgets;
mod chat;
mod client_calls;
mod conversations;
mod declared;
mod direct;
mod doctor;
mod executions;
mod health;
mod import;
mod input;
mod kept;
mod limits;
mod links;
mod listen;
mod metrics;
mod models;
mod page;
mod probe;
mod problem;
mod request_id;
mod routes;
mod runs;
mod sampled;
mod say;
mod sign_in;
mod so_far;
mod sse;
mod start;
mod tool_failure;
mod tool_progress;
mod tool_system;
mod tools;

use axum::Router;
use axum::extract::State;
use axum::http::HeaderName;
use axum::http::header::CONTENT_TYPE;
use axum::middleware::from_fn_with_state;
use serde_json::Value;

pub use access::{AccessSettings, Network, new_token};
pub use app::{App, Declare, ModelProblems};
pub use doctor::{Doctor, DoctorFuture, DoctorReport, Finding, FindingLevel};
pub use import::{
    ChangedField, ImportBody, ImportChange, ImportFailure, ImportFuture, ImportReport, ImportSecret,
    ImportedTool, Importer, SkippedOperation,
};
pub use limits::ServerLimits;
pub use links::ApprovalLinks;
pub use listen::{Listening, serve};
pub use models::{ModelList, ModelView, PriceView, model_list};

use access::{Right, keep_foreign_pages_out};
use routes::{Operation, Routes};

/// Everything the server answers.
pub fn router(app: App) -> Router {
    let (routes, document) = table(app.clone());
    app.document.get_or_init(|| document.to_string());
    routes
        .method_not_allowed_fallback(page::wrong_method)
        .fallback(page::page)
        .layer(from_fn_with_state(app.clone(), keep_foreign_pages_out))
        .layer(from_fn_with_state(app.clone(), request_id::name_requests))
        .with_state(app)
}

async fn get_openapi(State(app): State<App>) -> ([(HeaderName, &'static str); 1], String) {
    ([(CONTENT_TYPE, "application/json")], app.document.get().cloned().unwrap_or_default())
}

/// The table of routes, and the document that describes it. Every area has its own part of it.
fn table(app: App) -> (Router<App>, Value) {
    const AREAS: &[fn(Routes) -> Routes] = &[
        chat::routes,
        agent::routes,
        runs::routes,
        client_calls::routes,
        say::routes,
        budgets::routes,
        kept::routes,
        conversations::routes,
        approvals::routes,
        allowances::routes,
        links::routes,
        tools::routes,
        import::routes,
        direct::routes,
        doctor::routes,
        executions::routes,
        agents::routes,
        models::routes,
        probe::routes,
        tool_system::routes,
        metrics::routes,
        sign_in::routes,
        health::routes,
    ];
    AREAS
        .iter()
        .fold(Routes::new(app), |routes, area| area(routes))
        .add(Operation::get("/openapi.json", Right::Public, "This document").gives::<Value>(), get_openapi)
        .finish()
}
