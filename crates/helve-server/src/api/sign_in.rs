//! The page's way in: a token for a cookie.

use axum::Extension;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use helve_store::AuditEntry;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::access::{AccessError, Principal, Right, Visitor, expired_cookie};
use crate::app::App;
use crate::input::Json;
use crate::problem::Problem;
use crate::routes::{Operation, Routes};

pub(crate) fn routes(routes: Routes) -> Routes {
    routes
        .add_route(
            Operation::get(
                "/api/session",
                Right::Public,
                "Whether a token is needed, and whether one was shown",
            )
            .gives::<SessionView>(),
            get_session,
        )
        .add_route(
            Operation::post("/api/session", Right::Public, "Sign in with a token")
                .with_example(json!({"token": "hv_0123456789.0123456789abcdef"}))
                .with_status(204),
            sign_in,
        )
        .add_route(Operation::delete("/api/session", Right::Public, "Sign out").with_status(204), sign_out)
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SessionView {
    /// Whether a token has to be shown at all.
    needed: bool,
    signed_in: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    user: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    admin: Option<bool>,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct SignInBody {
    token: String,
}

pub(crate) async fn get_session(
    State(app): State<App>,
    Extension(visitor): Extension<Visitor>,
    headers: HeaderMap,
) -> Result<axum::Json<SessionView>, Problem> {
    let principal = match app.access.identify(&headers, visitor, app.runtime.world().now()) {
        Ok(principal) => Some(principal),
        Err(AccessError::NoToken | AccessError::WrongToken) => None,
        Err(nobody) => return Err(nobody.into()),
    };
    Ok(axum::Json(SessionView {
        needed: app.access.needs_token(),
        signed_in: principal.is_some(),
        user: principal.as_ref().map(|principal| principal.user.to_string()),
        admin: principal.as_ref().map(Principal::is_admin),
    }))
}

pub(crate) async fn sign_in(
    State(app): State<App>,
    Extension(visitor): Extension<Visitor>,
    body: Json<SignInBody>,
) -> Result<Response, Problem> {
    let token = app.access.authenticate(body.value.token.trim(), visitor)?;
    let now = app.runtime.world().now();
    // On record first: nobody is signed in without a trace.
    let entry = AuditEntry::new(now, &*token.user.0, "session.started", &*token.id);
    app.runtime.store().record_audit(entry).await?;
    let cookie = app.access.session_cookie(&token, visitor, now);
    with_cookie(&cookie)
}

pub(crate) async fn sign_out(
    State(app): State<App>,
    Extension(visitor): Extension<Visitor>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let now = app.runtime.world().now();
    app.access.sign_out(&headers, visitor, now, &**app.runtime.store()).await?;
    with_cookie(&expired_cookie(visitor.https))
}

fn with_cookie(cookie: &str) -> Result<Response, Problem> {
    let value = HeaderValue::try_from(cookie).map_err(|_| {
        Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "bad_cookie", "no cookie could be made")
    })?;
    Ok((StatusCode::NO_CONTENT, [(header::SET_COOKIE, value)]).into_response())
}
