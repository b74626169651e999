//! Asking a model what it can do, on demand.

use axum::extract::State;
use axum::http::StatusCode;
use helve_runtime::ProbeError;
use helve_store::AuditEntry;
use helve_types::ModelProfile;

use crate::access::{Principal, Right};
use crate::app::App;
use crate::input::Path;
use crate::problem::Problem;
use crate::routes::{Operation, Routes};

pub(crate) fn routes(routes: Routes) -> Routes {
    routes.add_route(
        Operation::post(
            "/api/models/{name}/probe",
            Right::Admin,
            "Ask a model what it can do, and keep the answer",
        )
        .gives::<ModelProfile>(),
        probe_model,
    )
}

/// The probe goes on if the client disconnects: its result is kept in any case.
pub(crate) async fn probe_model(
    State(app): State<App>,
    principal: Principal,
    Path(name): Path<String>,
) -> Result<axum::Json<ModelProfile>, Problem> {
    if app.runtime.models().get(&name).is_none() {
        return Err(Problem::not_found("model"));
    }
    // On record first: the questions cost money where the model does.
    let now = app.runtime.world().now();
    let entry = AuditEntry::new(now, &*principal.user.0, "model.probed", &*name);
    app.runtime.store().record_audit(entry).await?;
    let runtime = app.runtime.clone();
    let probe = tokio::spawn(async move { runtime.probe_model(&name, &mut |_| {}).await });
    let profile = probe.await.map_err(|_| {
        Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "probe_failed", "the probe ended before its time")
    })?;
    Ok(axum::Json(profile?))
}

impl From<ProbeError> for Problem {
    fn from(error: ProbeError) -> Self {
        match error {
            ProbeError::Unknown(_) => Self::not_found("model"),
            ProbeError::Store(error) => error.into(),
            ProbeError::Model(error) => Self::new(StatusCode::BAD_GATEWAY, error.code(), error.message),
        }
    }
}
