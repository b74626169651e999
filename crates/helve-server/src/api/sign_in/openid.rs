//! Sign-in at the identity provider: there, back, and out.

use std::collections::BTreeSet;

use axum::Extension;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use helve_openid::{Callback, Flow, OpenIdError, SignedIn};
use helve_store::{
    AuditEntry, Identity, Page, ProviderSession, Scope, SessionsToEnd, StoreError, TokenRights, UserChange,
    UserRecord,
};
use helve_types::UserId;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::access::{AccessError, OpenIdSignIn, Right, Visitor};
use crate::app::App;
use crate::input::{Query, read_form};
use crate::problem::Problem;
use crate::routes::{Operation, Routes};

/// More values of the claim that names groups are not kept.
const CLAIMS_MAX: usize = 500;
const CLAIM_CHARS_MAX: usize = 200;
/// Goes on to the page by a request of this site's own, which a redirect from another site is not.
const GO_TO_PAGE: &str = "<!doctype html><meta charset=\"utf-8\"><meta http-equiv=\"refresh\" content=\"0; url=/PLACE\">\
                          <title>Helve</title><a href=\"/PLACE\">Helve</a>";

pub(super) fn routes(routes: Routes) -> Routes {
    routes
        .add_route(
            Operation::get("/sign-in/start", Right::Public, "Go to the identity provider")
                .gives_bytes("text/html")
                .or_status(303, "The address is in `Location`."),
            start,
        )
        .add_route(
            Operation::get("/sign-in/callback", Right::Public, "Come back from the identity provider")
                .gives_bytes("text/html"),
            come_back,
        )
        .add_route(
            Operation::get("/sign-in/done", Right::Public, "Come back after signing out at the provider")
                .gives_bytes("text/html"),
            signed_out,
        )
        .add_route(
            Operation::post(
                "/sign-in/back-channel",
                Right::Public,
                "Told by the provider: sessions have ended",
            )
            .with_status(200),
            end_by_provider,
        )
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(default)]
#[derive(Default)]
struct CallbackQuery {
    code: Option<String>,
    state: Option<String>,
    iss: Option<String>,
    error: Option<String>,
    error_description: Option<String>,
    error_uri: Option<String>,
    session_state: Option<String>,
    scope: Option<String>,
    authuser: Option<String>,
    hd: Option<String>,
    prompt: Option<String>,
}

fn openid(app: &App) -> Result<&OpenIdSignIn, Problem> {
    app.access.openid().ok_or_else(|| Problem::not_found("identity provider"))
}

async fn start(State(app): State<App>, Extension(visitor): Extension<Visitor>) -> Result<Response, Problem> {
    let flow = Flow::begin(app.runtime.world());
    match openid(&app)?.provider.authorization_url(&flow).await {
        Ok(url) => {
            let cookie = app.access.flow_cookie(&flow, visitor)?;
            let headers = [(header::LOCATION, url.to_string()), (header::SET_COOKIE, cookie)];
            Ok((StatusCode::SEE_OTHER, headers).into_response())
        }
        Err(error) => Ok(show_failure(&app, visitor, error.into())),
    }
}

async fn come_back(
    State(app): State<App>,
    Extension(visitor): Extension<Visitor>,
    headers: HeaderMap,
    Query(query): Query<CallbackQuery>,
) -> Result<Response, Problem> {
    let openid = openid(&app)?;
    let CallbackQuery { code, state, iss, error, .. } = query;
    match sign_in(&app, openid, visitor, &headers, Callback { code, state, iss, error }).await {
        Ok(cookie) => Ok(go_to_page("", &[cookie, app.access.expired_flow_cookie(visitor)])),
        Err(problem) => Ok(show_failure(&app, visitor, problem)),
    }
}

async fn signed_out() -> Response {
    go_to_page("", &[])
}

/// The page's session for who comes back.
async fn sign_in(
    app: &App,
    openid: &OpenIdSignIn,
    visitor: Visitor,
    headers: &HeaderMap,
    callback: Callback,
) -> Result<String, Problem> {
    app.access.check_attempt_allowed(visitor)?;
    let flow = app.access.read_flow(headers, visitor).ok_or(OpenIdError::State)?;
    let wanted = [&*openid.user_claim, &*openid.groups_claim];
    let wanted: Vec<&str> = wanted.iter().map(|claim| claim.split('.').next().unwrap_or(claim)).collect();
    let signed_in = openid.provider.redeem(&flow, &callback, &wanted).await.map_err(|error| {
        tracing::warn!(%error, "sign-in at the identity provider failed");
        Problem::from(error)
    })?;
    let user = match save_signed_in_user(app, openid, &signed_in).await {
        // Another sign-in of the same user was saved in the same moment.
        Err(StoreFailure::Store(StoreError::Changed(_))) => {
            save_signed_in_user(app, openid, &signed_in).await
        }
        other => other,
    };
    let user = user.map_err(Problem::from)?;
    let provider = ProviderSession {
        issuer: openid.provider.issuer().to_owned(),
        subject: signed_in.subject,
        sid: signed_in.sid,
    };
    app.access.begin_session(app, &user, Some(provider), visitor).await
}

enum StoreFailure {
    Store(StoreError),
    Problem(Problem),
}

impl From<StoreError> for StoreFailure {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<Problem> for StoreFailure {
    fn from(problem: Problem) -> Self {
        Self::Problem(problem)
    }
}

impl From<StoreFailure> for Problem {
    fn from(failure: StoreFailure) -> Self {
        match failure {
            StoreFailure::Store(error) => error.into(),
            StoreFailure::Problem(problem) => problem,
        }
    }
}

/// The user whom the provider means, with what it says now; a new one, if new ones are made.
async fn save_signed_in_user(
    app: &App,
    openid: &OpenIdSignIn,
    signed_in: &SignedIn,
) -> Result<UserRecord, StoreFailure> {
    app.refresh_access().await?;
    let issuer = openid.provider.issuer();
    let people = app.runtime.people().current();
    let known = people.find_identity(issuer, &signed_in.subject).cloned();
    let now = app.runtime.world().now();
    let mut user = match known {
        Some(user) if user.disabled => return Err(Problem::from(AccessError::Disabled).into()),
        Some(user) => user,
        None => {
            let mut user = new_user(app, openid, signed_in).await?;
            user.role = TokenRights::Chat;
            user
        }
    };
    user.identities.retain(|identity| !(identity.issuer == issuer && identity.subject == signed_in.subject));
    let claims = list_values(&signed_in.claims, &openid.groups_claim);
    user.identities.push(Identity {
        issuer: issuer.to_owned(),
        subject: signed_in.subject.clone(),
        is_admin: claims.iter().any(|claim| openid.admin_claims.contains(claim)),
        claims,
        seen_at: Some(now),
    });
    for (claim, field) in [("name", &mut user.name)] {
        if let Some(text) = text_claim(&signed_in.claims, claim) {
            *field = text;
        }
    }
    user.email = text_claim(&signed_in.claims, "email").or(user.email);
    (user.signed_in_at, user.updated_at) = (Some(now), now);
    let audit = AuditEntry::new(now, &*user.id.0, "user.signed_in", issuer);
    let expected = user.version;
    let change = UserChange { user, expected, ends_sessions: false, audit };
    Ok(app.runtime.store().save_user(change).await?)
}

/// A user for somebody who was never here. The name must be free: whoever can choose a name at the provider must not get
/// what somebody of that name has here.
async fn new_user(app: &App, openid: &OpenIdSignIn, signed_in: &SignedIn) -> Result<UserRecord, Problem> {
    if !openid.creates_users {
        let detail = "there is no user for this account; an administrator can give one this identity";
        return Err(Problem::new(StatusCode::FORBIDDEN, "unknown_account", detail));
    }
    let name = text_claim(&signed_in.claims, &openid.user_claim).unwrap_or_else(|| signed_in.subject.clone());
    let id = UserId::parse(&name).map_err(|error| Problem::bad_request("bad_user", error.to_string()))?;
    let store = app.runtime.store();
    let (scope, one) = (Scope::User(id.clone()), Page::first(1));
    let is_taken = app.runtime.people().current().users.contains_key(&id)
        || id.0 == "local"
        || store.tokens().await?.iter().any(|token| token.user == id)
        || !store.conversations(scope.clone(), one).await?.is_empty()
        || !store.runs(scope, helve_store::RunFilter::default(), one).await?.is_empty();
    if is_taken {
        let detail = format!("there is a user `{id}` already; an administrator can give it this identity");
        return Err(Problem::new(StatusCode::CONFLICT, "user_exists", detail));
    }
    Ok(UserRecord::new(id, app.runtime.world().now()))
}

/// A claim by its name, or by a path such as `realm_access.roles`.
fn find_claim<'a>(claims: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    if let Some(value) = claims.get(name) {
        return Some(value);
    }
    let (first, rest) = name.split_once('.')?;
    rest.split('.').try_fold(claims.get(first)?, |value, part| value.get(part))
}

fn text_claim(claims: &Map<String, Value>, name: &str) -> Option<String> {
    let text = find_claim(claims, name)?.as_str()?.trim();
    let is_good =
        !text.is_empty() && text.chars().count() <= CLAIM_CHARS_MAX && !text.chars().any(char::is_control);
    is_good.then(|| text.to_owned())
}

fn list_values(claims: &Map<String, Value>, name: &str) -> BTreeSet<String> {
    let values = match find_claim(claims, name) {
        Some(Value::Array(values)) => values.iter().filter_map(Value::as_str).collect(),
        Some(Value::String(one)) => vec![one.as_str()],
        _ => vec![],
    };
    let good = |value: &&str| !value.is_empty() && value.chars().count() <= CLAIM_CHARS_MAX;
    values.into_iter().filter(good).take(CLAIMS_MAX).map(str::to_owned).collect()
}

/// The provider has ended a session, or all of somebody's.
async fn end_by_provider(
    State(app): State<App>,
    Extension(visitor): Extension<Visitor>,
    request: Request,
) -> Result<StatusCode, Problem> {
    let openid = openid(&app)?;
    app.access.check_attempt_allowed(visitor)?;
    let bad = |detail: &str| Problem::bad_request("oidc_token", detail.to_owned());
    let form = read_form(&app, request, false).await;
    let form = form.map_err(|_| bad("the body must be a form with a `logout_token`"))?;
    let token = form.into_iter().find(|(name, _)| name == "logout_token").map(|(_, token)| token);
    let token = token.ok_or_else(|| bad("the form has no `logout_token`"))?;
    let ended = openid.provider.read_logout_token(&token).await.map_err(|error| {
        app.access.count_failure(visitor);
        Problem::from(error)
    })?;
    let issuer = openid.provider.issuer().to_owned();
    let which = match (ended.sid, ended.subject) {
        (Some(sid), _) => SessionsToEnd::OfProviderSession { issuer, sid },
        (None, Some(subject)) => SessionsToEnd::OfSubject { issuer, subject },
        (None, None) => return Err(bad("the token names nobody")),
    };
    let now = app.runtime.world().now();
    let audit = AuditEntry::new(now, "helve", "session.ended", openid.provider.issuer());
    app.runtime.store().end_sessions(which, audit).await?;
    app.refresh_access().await?;
    Ok(StatusCode::OK)
}

fn show_failure(app: &App, visitor: Visitor, problem: Problem) -> Response {
    go_to_page(&format!("?sign_in={}", problem.code()), &[app.access.expired_flow_cookie(visitor)])
}

fn go_to_page(place: &str, cookies: &[String]) -> Response {
    let mut response = GO_TO_PAGE.replace("PLACE", place).into_response();
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CONTENT_SECURITY_POLICY, "default-src 'none'; frame-ancestors 'none'; base-uri 'none'"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-store"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    for cookie in cookies {
        if let Ok(cookie) = HeaderValue::try_from(cookie) {
            headers.append(header::SET_COOKIE, cookie);
        }
    }
    response
}

impl From<OpenIdError> for Problem {
    fn from(error: OpenIdError) -> Self {
        match error {
            OpenIdError::Unreachable(_) => {
                Self::new(StatusCode::BAD_GATEWAY, "oidc_unreachable", error.to_string())
            }
            OpenIdError::BadAnswer(_) => {
                Self::new(StatusCode::BAD_GATEWAY, "oidc_bad_answer", error.to_string())
            }
            OpenIdError::Refused(_) => Self::new(StatusCode::BAD_REQUEST, "oidc_refused", error.to_string()),
            OpenIdError::State => Self::new(StatusCode::BAD_REQUEST, "oidc_state", error.to_string()),
            OpenIdError::Issuer(_) => Self::new(StatusCode::BAD_REQUEST, "oidc_issuer", error.to_string()),
            OpenIdError::Audience => Self::new(StatusCode::BAD_REQUEST, "oidc_audience", error.to_string()),
            OpenIdError::Algorithm(_) => {
                Self::new(StatusCode::BAD_REQUEST, "oidc_algorithm", error.to_string())
            }
            OpenIdError::Key => Self::new(StatusCode::BAD_REQUEST, "oidc_key", error.to_string()),
            OpenIdError::Signature => Self::new(StatusCode::BAD_REQUEST, "oidc_signature", error.to_string()),
            OpenIdError::Expired => Self::new(StatusCode::BAD_REQUEST, "oidc_expired", error.to_string()),
            OpenIdError::Nonce => Self::new(StatusCode::BAD_REQUEST, "oidc_nonce", error.to_string()),
            OpenIdError::Malformed(_) => Self::new(StatusCode::BAD_REQUEST, "oidc_token", error.to_string()),
        }
    }
}
