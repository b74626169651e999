//! Whether the process lives, and whether it takes work.
//!
//! Orchestrators ask without a token, so the answer says no more than they need, and asking often costs nothing.

use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use helve_store::StoreError;
use schemars::JsonSchema;
use serde::Serialize;
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::access::Right;
use crate::app::App;
use crate::routes::{Operation, Routes};

pub(crate) fn routes(routes: Routes) -> Routes {
    routes
        .add_route(
            Operation::get("/healthz", Right::Public, "Whether the process lives").gives_bytes("text/plain"),
            healthz,
        )
        .add_route(
            Operation::get("/readyz", Right::Public, "Whether runs are taken")
                .gives::<Readiness>()
                .or_gives::<Readiness>(503, "No run is taken; `problem` says why."),
            readyz,
        )
}

/// How long a check is valid.
const CHECK_KEPT: Duration = Duration::from_secs(1);
/// A store that has not answered by then is not working: a database server may be there and say nothing.
const CHECK_MAX: Duration = Duration::from_secs(3);

/// The result of the latest check of the store.
#[derive(Default)]
pub(crate) struct StoreCheck(Mutex<Option<(Instant, bool)>>);

impl StoreCheck {
    /// Concurrent callers wait for one check and share its result.
    async fn is_working<F>(&self, check: impl FnOnce() -> F) -> bool
    where
        F: Future<Output = Result<(), StoreError>>,
    {
        let mut last = self.0.lock().await;
        if let Some((at, works)) = *last
            && at.elapsed() < CHECK_KEPT
        {
            return works;
        }
        let too_slow = || StoreError::Unavailable(format!("no answer in {CHECK_MAX:?}"));
        let checked = tokio::time::timeout(CHECK_MAX, check()).await.unwrap_or_else(|_| Err(too_slow()));
        if let Err(error) = &checked {
            tracing::error!(%error, "store check failed");
        }
        *last = Some((Instant::now(), checked.is_ok()));
        checked.is_ok()
    }
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Readiness {
    /// What answers here: always `helve`.
    service: &'static str,
    ready: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<&'static str>,
    /// Why what was acknowledged may be lost with the power of the database server, if it may.
    #[serde(skip_serializing_if = "Option::is_none")]
    durability_problem: Option<String>,
}

pub(crate) async fn healthz() -> &'static str {
    "ok\n"
}

pub(crate) async fn readyz(State(app): State<App>) -> (StatusCode, axum::Json<Readiness>) {
    let problem = if !app.store_check.is_working(|| app.runtime.store().check()).await {
        Some("store unavailable")
    } else if !app.is_ready() {
        Some("starting, or going down")
    } else if app.runtime.disk().is_low() {
        Some("storage full")
    } else {
        None
    };
    let ready = problem.is_none();
    let status = if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let durability_problem = app.durability_problem.clone();
    (status, axum::Json(Readiness { service: "helve", ready, problem, durability_problem }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_store_is_looked_at_once_a_second_at_most() {
        let store = StoreCheck::default();
        let fails = || async { Err(StoreError::Unavailable("disk full at /secret/path".into())) };
        assert!(!store.is_working(fails).await);
        assert!(!store.is_working(|| async { Ok(()) }).await);
        tokio::time::sleep(CHECK_KEPT).await;
        assert!(store.is_working(|| async { Ok(()) }).await);
        assert!(store.is_working(fails).await);
    }

    #[tokio::test(start_paused = true)]
    async fn a_store_that_does_not_answer_is_not_working() {
        let store = StoreCheck::default();
        let asked = Instant::now();
        assert!(!store.is_working(std::future::pending).await);
        assert_eq!(asked.elapsed(), CHECK_MAX);
    }
}
