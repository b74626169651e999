//! The page's way in: a token or a password for a cookie. `openid` has the way by an identity provider.

mod openid;

use axum::Extension;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use helve_store::AuditEntry;
use helve_types::UserId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::access::{AccessError, Principal, Right, Visitor, cookie_header, expired_cookie};
use crate::app::App;
use crate::input::Json;
use crate::problem::Problem;
use crate::routes::{Operation, Routes};

pub(crate) fn routes(routes: Routes) -> Routes {
    openid::routes(routes)
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
            Operation::post("/api/session", Right::Public, "Sign in with a token, or with a name and a password")
                .with_example(json!({"token": "hv_0123456789.0123456789abcdef"}))
                .with_status(204),
            sign_in,
        )
        .add_route(Operation::delete("/api/session", Right::Public, "Sign out").with_status(204).or_gives::<SignedOut>(
                200,
                "The session is ended, and `continue_at` is where the browser signs out at the identity provider too.",
            ),
            sign_out,
        )
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
    /// The names of the user's groups.
    #[serde(skip_serializing_if = "Option::is_none")]
    groups: Option<Vec<String>>,
    /// What people read in place of the user's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    /// How somebody can sign in.
    ways: SignInWays,
}

#[derive(Debug, Serialize, JsonSchema)]
struct SignInWays {
    token: bool,
    password: bool,
    /// What the identity provider is called; the way begins at `/sign-in/start`.
    #[serde(skip_serializing_if = "Option::is_none")]
    provider: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct SignedOut {
    continue_at: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SignInBody {
    #[serde(default)]
    token: Option<String>,
    /// With `password`, in place of `token`.
    #[serde(default)]
    user: Option<String>,
    #[serde(default)]
    password: Option<String>,
}

pub(crate) async fn get_session(
    State(app): State<App>,
    Extension(visitor): Extension<Visitor>,
    headers: HeaderMap,
) -> Result<axum::Json<SessionView>, Problem> {
    let principal = match app.access.identify(&headers, visitor, app.runtime.world().now()) {
        Ok(principal) => Some(principal),
        Err(AccessError::NoToken | AccessError::WrongToken | AccessError::Disabled) => None,
        Err(nobody) => return Err(nobody.into()),
    };
    let people = app.runtime.people().current();
    let row = principal.as_ref().and_then(|principal| people.users.get(&principal.user));
    Ok(axum::Json(SessionView {
        needed: app.access.needs_token(),
        signed_in: principal.is_some(),
        user: principal.as_ref().map(|principal| principal.user.to_string()),
        admin: principal.as_ref().map(Principal::is_admin),
        groups: principal.as_ref().map(|principal| principal.groups().iter().cloned().collect()),
        name: row.map(|row| row.name.clone()).filter(|name| !name.is_empty()),
        ways: SignInWays {
            token: true,
            password: app.access.takes_passwords()
                && people.users.values().any(|user| user.password.is_some()),
            provider: app.access.openid().map(|openid| openid.name.clone()),
        },
    }))
}

pub(crate) async fn sign_in(
    State(app): State<App>,
    Extension(visitor): Extension<Visitor>,
    body: Json<SignInBody>,
) -> Result<Response, Problem> {
    let cookie = match body.value {
        SignInBody { token: Some(token), user: None, password: None } => {
            let token = app.access.authenticate(token.trim(), visitor)?;
            let now = app.runtime.world().now();
            // On record first: nobody is signed in without a trace.
            let entry = AuditEntry::new(now, &*token.user.0, "session.started", &*token.id);
            app.runtime.store().record_audit(entry).await?;
            app.access.session_cookie(&token, visitor, now)
        }
        SignInBody { token: None, user: Some(user), password: Some(password) } => {
            let user = app.access.check_password(&UserId(user), password.into(), visitor).await?;
            app.access.begin_session(&app, &user, None, visitor).await?
        }
        _ => {
            let detail = "the body has a `token`, or a `user` and a `password`";
            return Err(Problem::bad_request("bad_body", detail));
        }
    };
    with_cookie(StatusCode::NO_CONTENT.into_response(), &cookie)
}

pub(crate) async fn sign_out(
    State(app): State<App>,
    Extension(visitor): Extension<Visitor>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let now = app.runtime.world().now();
    let answer = match app.access.sign_out(&app, &headers, visitor, now).await? {
        Some(continue_at) => axum::Json(SignedOut { continue_at }).into_response(),
        None => StatusCode::NO_CONTENT.into_response(),
    };
    with_cookie(answer, &expired_cookie(visitor.https))
}

fn with_cookie(mut answer: Response, cookie: &str) -> Result<Response, Problem> {
    answer.headers_mut().insert(header::SET_COOKIE, cookie_header(cookie)?);
    Ok(answer)
}
