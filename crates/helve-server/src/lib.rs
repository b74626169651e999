//! HTTP and server-sent events; the only crate that serves requests.
//!
//! A request gets its `request_id`, passes the origin check (`access::origin`) and the guard of its route (`access`), and
//! reaches its handler, which calls the `Runtime` and renders the result. `api` holds the handlers of Helve's own API,
//! `protocols` those of the chat protocols; `routes` builds the route table and the OpenAPI document from the entries that
//! each module lists. Any other address is a file of the web page (`page`). `sse` writes a run as a stream of events,
//! `connections` accepts connections and limits them. No module here knows which model or store is behind the ports.

mod access;
mod api;
mod app;
mod connections;
mod input;
mod limits;
mod log_sampler;
mod page;
mod problem;
mod protocols;
mod request_id;
mod routes;
mod sse;
mod start_run;

use axum::Router;
use axum::extract::State;
use axum::http::HeaderName;
use axum::http::header::CONTENT_TYPE;
use axum::middleware::from_fn_with_state;
use serde_json::Value;

pub use access::{
    AccessSettings, Network, OpenIdSignIn, PASSWORD_BYTES_MAX, PasswordError, SignInSettings, hash_password,
    new_token,
};
pub use api::doctor::{Doctor, DoctorFuture, DoctorReport, Finding, FindingLevel};
pub use api::import::{
    ChangedField, ImportBody, ImportChange, ImportFailure, ImportFuture, ImportReport, ImportSecret,
    ImportedTool, Importer, SkippedOperation,
};
pub use api::links::ApprovalLinks;
pub use api::models::{ModelList, ModelView, PriceView, model_list};
pub use app::{App, AppParts, Declare, ModelProblems};
pub use connections::{ListenSettings, serve};
pub use limits::ServerLimits;

use access::{Right, reject_foreign_pages};
use routes::{Operation, Routes};

/// The router of all routes and of the web page.
pub fn router(app: App) -> Router {
    let (routes, document) = build_routes(app.clone());
    app.document.get_or_init(|| document.to_string());
    routes
        .method_not_allowed_fallback(page::wrong_method_problem)
        .fallback(page::serve_page)
        .layer(from_fn_with_state(app.clone(), reject_foreign_pages))
        .layer(from_fn_with_state(app.clone(), request_id::assign_request_id))
        .with_state(app)
}

async fn get_openapi(State(app): State<App>) -> ([(HeaderName, &'static str); 1], String) {
    ([(CONTENT_TYPE, "application/json")], app.document.get().cloned().unwrap_or_default())
}

/// The route table, and the OpenAPI document that describes it.
fn build_routes(app: App) -> (Router<App>, Value) {
    const MODULES: &[fn(Routes) -> Routes] = &[
        protocols::chat::routes,
        protocols::agent::routes,
        api::runs::routes,
        api::client_calls::routes,
        api::messages::routes,
        api::budgets::routes,
        api::files::routes,
        api::conversations::routes,
        api::approvals::routes,
        api::allowances::routes,
        api::audit::routes,
        api::links::routes,
        api::tools::routes,
        api::import::routes,
        api::call_tool::routes,
        api::doctor::routes,
        api::executions::routes,
        api::agents::routes,
        api::skills::routes,
        api::models::routes,
        api::model_probe::routes,
        api::monitoring::routes,
        api::metrics::routes,
        api::people::routes,
        api::sign_in::routes,
        api::health::routes,
    ];
    MODULES
        .iter()
        .fold(Routes::new(app), |routes, module| module(routes))
        .add_route(
            Operation::get("/openapi.json", Right::Public, "This document").gives::<Value>(),
            get_openapi,
        )
        .finish()
}
