//! Whether the process lives, and whether it takes work.

use axum::extract::State;
use axum::http::StatusCode;
use serde_json::{Value, json};

use crate::app::App;

pub(crate) async fn healthz() -> &'static str {
    "ok\n"
}

pub(crate) async fn readyz(State(app): State<App>) -> (StatusCode, axum::Json<Value>) {
    let store = app.runtime.store().check().await;
    let ready = app.is_ready() && store.is_ok();
    let status = if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let problem = match (&store, app.is_ready()) {
        (Err(error), _) => Some(error.to_string()),
        (Ok(()), false) => Some("starting, or going down".into()),
        (Ok(()), true) => None,
    };
    (
        status,
        axum::Json(json!({"ready": ready, "problem": problem, "active_runs": app.runtime.active_runs()})),
    )
}
