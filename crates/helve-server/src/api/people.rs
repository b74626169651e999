//! Users: those with rows, and making, changing and deleting them. `groups` has the groups, `tokens` the tokens.
//!
//! A row's version is its `ETag`; a change that names the version it was made for (`If-Match`) never overwrites another
//! one.

mod groups;
mod tokens;

use std::collections::BTreeSet;

use axum::Json as Answer;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use helve_store::{
    AuditEntry, Identity, PasswordHash, People, TokenRights, UserChange, UserKind, UserRecord,
};
use helve_types::UserId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::access::{PasswordError, Principal, Right};
use crate::app::App;
use crate::input::{Json, Path, expected_version};
use crate::problem::Problem;
use crate::routes::{Operation, Routes};

const VERSION: &str = "The version of the row, for `If-Match`.";
const IF_MATCH: &str =
    "The version that is changed; if the row is at another one by now, nothing happens (409).";
const NAME_CHARS_MAX: usize = 200;
const GROUPS_OF_USER_MAX: usize = 100;
const IDENTITIES_MAX: usize = 8;

pub(crate) fn routes(routes: Routes) -> Routes {
    tokens::routes(groups::routes(routes))
        .add_route(
            Operation::get("/api/me", Right::Chat, "Who asks: name, groups and rights").gives::<MeView>(),
            get_me,
        )
        .add_route(
            Operation::put("/api/me/password", Right::Chat, "Change one's own password; other sessions end")
                .with_example(json!({"current": "a password", "new": "another password"}))
                .with_status(204),
            change_own_password,
        )
        .add_route(
            Operation::get("/api/users", Right::Admin, "List the users that have rows").gives::<UserList>(),
            list_users,
        )
        .add_route(
            Operation::post("/api/users", Right::Admin, "Make a user")
                .with_example(json!({"id": "mei", "name": "Mei Lin", "groups": []}))
                .gives::<UserView>()
                .with_status(201)
                .with_answer_header("ETag", VERSION),
            create_user,
        )
        .add_route(
            Operation::get("/api/users/{user}", Right::Admin, "Look at a user")
                .gives::<UserView>()
                .with_answer_header("ETag", VERSION),
            get_user,
        )
        .add_route(
            Operation::patch("/api/users/{user}", Right::Admin, "Change a user; what is not named stays")
                .with_header("If-Match", IF_MATCH)
                .with_example(json!({"disabled": true}))
                .gives::<UserView>()
                .with_answer_header("ETag", VERSION),
            change_user,
        )
        .add_route(
            Operation::put(
                "/api/users/{user}/password",
                Right::Admin,
                "Give a user a password; sessions end",
            )
            .with_example(json!({"password": "a password"}))
            .with_status(204),
            set_password,
        )
        .add_route(
            Operation::delete(
                "/api/users/{user}",
                Right::Admin,
                "Delete a user's row, and revoke its tokens; conversations stay",
            )
            .with_header("If-Match", IF_MATCH)
            .with_status(204),
            delete_user,
        )
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum KindOfUser {
    Person,
    ServiceAccount,
}

impl From<UserKind> for KindOfUser {
    fn from(kind: UserKind) -> Self {
        match kind {
            UserKind::Person => Self::Person,
            UserKind::ServiceAccount => Self::ServiceAccount,
        }
    }
}

impl From<KindOfUser> for UserKind {
    fn from(kind: KindOfUser) -> Self {
        match kind {
            KindOfUser::Person => Self::Person,
            KindOfUser::ServiceAccount => Self::ServiceAccount,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum UserRole {
    Chat,
    Admin,
}

impl From<TokenRights> for UserRole {
    fn from(rights: TokenRights) -> Self {
        match rights {
            TokenRights::Chat => Self::Chat,
            TokenRights::Admin => Self::Admin,
        }
    }
}

impl From<UserRole> for TokenRights {
    fn from(role: UserRole) -> Self {
        match role {
            UserRole::Chat => Self::Chat,
            UserRole::Admin => Self::Admin,
        }
    }
}

#[derive(Debug, Serialize, JsonSchema)]
struct MeView {
    id: String,
    /// What people read; the id if nobody said another.
    name: String,
    groups: Vec<String>,
    /// What the credential may do.
    rights: UserRole,
}

#[derive(Debug, Serialize, JsonSchema)]
struct UserList {
    users: Vec<UserView>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct UserView {
    id: String,
    version: u32,
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    email: Option<String>,
    kind: KindOfUser,
    /// With what the identity provider gave at the last sign-in.
    role: UserRole,
    /// The groups that name the user.
    groups: Vec<String>,
    /// Those, and the groups of the claims of its identities.
    member_of: Vec<String>,
    disabled: bool,
    has_password: bool,
    identities: Vec<IdentityView>,
    created_at: i64,
    updated_at: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    signed_in_at: Option<i64>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct IdentityView {
    issuer: String,
    subject: String,
    claims: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seen_at: Option<i64>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct NewUser {
    id: String,
    #[serde(flatten)]
    fields: UserFields,
}

/// What can be said of a user; what is left out stays as it is.
#[derive(Debug, Default, Deserialize, JsonSchema)]
struct UserFields {
    #[serde(default)]
    name: Option<String>,
    /// Empty for none.
    #[serde(default)]
    email: Option<String>,
    #[serde(default)]
    kind: Option<KindOfUser>,
    #[serde(default)]
    role: Option<UserRole>,
    #[serde(default)]
    groups: Option<BTreeSet<String>>,
    #[serde(default)]
    disabled: Option<bool>,
    /// The accounts at identity providers that are this user.
    #[serde(default)]
    identities: Option<Vec<IdentityInput>>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct IdentityInput {
    issuer: String,
    subject: String,
}

#[derive(Deserialize, JsonSchema)]
struct PasswordInput {
    password: String,
}

#[derive(Deserialize, JsonSchema)]
struct OwnPasswordInput {
    current: String,
    new: String,
}

async fn get_me(State(app): State<App>, principal: Principal) -> Answer<MeView> {
    let people = app.runtime.people().current();
    let name = people.users.get(&principal.user).map(|user| user.name.clone());
    Answer(MeView {
        id: principal.user.to_string(),
        name: name.filter(|name| !name.is_empty()).unwrap_or_else(|| principal.user.to_string()),
        groups: principal.groups().iter().cloned().collect(),
        rights: principal.rights.into(),
    })
}

async fn list_users(State(app): State<App>) -> Answer<UserList> {
    let people = app.runtime.people().current();
    Answer(UserList { users: people.users.values().map(|user| UserView::new(user, &people)).collect() })
}

async fn get_user(State(app): State<App>, Path(id): Path<String>) -> Result<Response, Problem> {
    let people = app.runtime.people().current();
    let user = people.users.get(&UserId(id)).ok_or_else(|| Problem::not_found("user"))?;
    Ok(user_response(user, &people))
}

async fn create_user(
    State(app): State<App>,
    principal: Principal,
    body: Json<NewUser>,
) -> Result<Response, Problem> {
    let NewUser { id, fields } = body.value;
    let id = UserId::parse(&id).map_err(|error| Problem::bad_request("bad_user", error.to_string()))?;
    let now = app.runtime.world().now();
    let mut user = UserRecord::new(id, now);
    // A row must not take away what a token of the user's gives already.
    user.role = app.access.highest_token_rights(&user.id).unwrap_or(TokenRights::Chat);
    fields.apply(&mut user)?;
    let audit = entry_about(&app, &principal, "user.created", &user.id);
    let saved = save(&app, user, 0, false, audit).await?;
    Ok((StatusCode::CREATED, user_response(&saved, &app.runtime.people().current())).into_response())
}

async fn change_user(
    State(app): State<App>,
    principal: Principal,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Json<UserFields>,
) -> Result<Response, Problem> {
    let mut user = find_user(&app, &UserId(id)).await?;
    let expected = expected_version(&headers, "user")?.unwrap_or(user.version);
    body.value.apply(&mut user)?;
    let ends_sessions = user.disabled || user.kind == UserKind::ServiceAccount;
    let audit = entry_about(&app, &principal, "user.changed", &user.id);
    let saved = save(&app, user, expected, ends_sessions, audit).await?;
    Ok(user_response(&saved, &app.runtime.people().current()))
}

async fn delete_user(
    State(app): State<App>,
    principal: Principal,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<StatusCode, Problem> {
    let expected = expected_version(&headers, "user")?;
    let id = UserId(id);
    let audit = entry_about(&app, &principal, "user.deleted", &id);
    app.runtime.store().delete_user(id, expected, audit).await?;
    app.refresh_access().await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn set_password(
    State(app): State<App>,
    principal: Principal,
    Path(id): Path<String>,
    body: Json<PasswordInput>,
) -> Result<StatusCode, Problem> {
    app.access.check_passwords_allowed()?;
    let hash = app.access.hash_password(body.value.password.into(), app.runtime.world()).await?;
    save_password(&app, &principal, &UserId(id), hash).await
}

async fn change_own_password(
    State(app): State<App>,
    principal: Principal,
    visitor: axum::Extension<crate::access::Visitor>,
    body: Json<OwnPasswordInput>,
) -> Result<StatusCode, Problem> {
    app.access.check_passwords_allowed()?;
    let OwnPasswordInput { current, new } = body.value;
    app.access.check_password(&principal.user, current.into(), *visitor).await?;
    let hash = app.access.hash_password(new.into(), app.runtime.world()).await?;
    save_password(&app, &principal, &principal.user, hash).await
}

async fn save_password(
    app: &App,
    principal: &Principal,
    id: &UserId,
    hash: PasswordHash,
) -> Result<StatusCode, Problem> {
    let mut user = find_user(app, id).await?;
    if user.kind == UserKind::ServiceAccount {
        let detail = "a service account does not sign in; give it a token";
        return Err(Problem::bad_request("no_password_here", detail));
    }
    user.password = Some(hash);
    let expected = user.version;
    let audit = entry_about(app, principal, "user.password_changed", &user.id);
    save(app, user, expected, true, audit).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The user's row as it is in the store now.
async fn find_user(app: &App, id: &UserId) -> Result<UserRecord, Problem> {
    app.refresh_access().await?;
    let people = app.runtime.people().current();
    people.users.get(id).cloned().ok_or_else(|| Problem::not_found("user"))
}

async fn save(
    app: &App,
    mut user: UserRecord,
    expected: u32,
    ends_sessions: bool,
    audit: AuditEntry,
) -> Result<UserRecord, Problem> {
    user.updated_at = app.runtime.world().now();
    let saved = app.runtime.store().save_user(UserChange { user, expected, ends_sessions, audit }).await?;
    app.refresh_access().await?;
    Ok(saved)
}

/// The audit's entry about a user.
fn entry_about(app: &App, principal: &Principal, action: &str, user: &UserId) -> AuditEntry {
    AuditEntry::new(app.runtime.world().now(), &*principal.user.0, action, "").about(&*user.0)
}

impl UserFields {
    fn apply(self, user: &mut UserRecord) -> Result<(), Problem> {
        if let Some(name) = self.name {
            user.name = check_words("name", name)?;
        }
        if let Some(email) = self.email {
            let email = check_words("email", email)?;
            user.email = (!email.is_empty()).then_some(email);
        }
        user.kind = self.kind.map_or(user.kind, UserKind::from);
        user.role = self.role.map_or(user.role, TokenRights::from);
        user.disabled = self.disabled.unwrap_or(user.disabled);
        if user.kind == UserKind::ServiceAccount {
            user.password = None;
        }
        if let Some(groups) = self.groups {
            check_count("groups", groups.len(), GROUPS_OF_USER_MAX)?;
            user.groups = groups;
        }
        if let Some(identities) = self.identities {
            check_count("identities", identities.len(), IDENTITIES_MAX)?;
            let known = std::mem::take(&mut user.identities);
            for IdentityInput { issuer, subject } in identities {
                let (issuer, subject) = (check_words("issuer", issuer)?, check_words("subject", subject)?);
                if user.has_identity(&issuer, &subject) {
                    continue;
                }
                let kept = known.iter().find(|kept| kept.issuer == issuer && kept.subject == subject);
                let fresh =
                    Identity { issuer, subject, claims: BTreeSet::new(), is_admin: false, seen_at: None };
                user.identities.push(kept.cloned().unwrap_or(fresh));
            }
        }
        Ok(())
    }
}

pub(super) fn check_words(field: &str, text: String) -> Result<String, Problem> {
    let text = text.trim().to_owned();
    if text.chars().count() > NAME_CHARS_MAX || text.chars().any(char::is_control) {
        let detail = format!("`{field}` must be one line of at most {NAME_CHARS_MAX} characters");
        return Err(Problem::bad_request("bad_body", detail));
    }
    Ok(text)
}

pub(super) fn check_count(field: &str, count: usize, max: usize) -> Result<(), Problem> {
    match count <= max {
        true => Ok(()),
        false => Err(Problem::bad_request("bad_body", format!("`{field}` has more than {max} entries"))),
    }
}

impl UserView {
    fn new(user: &UserRecord, people: &People) -> Self {
        let identities = user.identities.iter().map(|identity| IdentityView {
            issuer: identity.issuer.clone(),
            subject: identity.subject.clone(),
            claims: identity.claims.iter().cloned().collect(),
            seen_at: identity.seen_at.map(|at| at.0),
        });
        Self {
            id: user.id.to_string(),
            version: user.version,
            name: user.name.clone(),
            email: user.email.clone(),
            kind: user.kind.into(),
            role: user.effective_role().into(),
            groups: user.groups.iter().cloned().collect(),
            member_of: people.groups_of(&user.id).iter().cloned().collect(),
            disabled: user.disabled,
            has_password: user.password.is_some(),
            identities: identities.collect(),
            created_at: user.created_at.0,
            updated_at: user.updated_at.0,
            signed_in_at: user.signed_in_at.map(|at| at.0),
        }
    }
}

fn user_response(user: &UserRecord, people: &People) -> Response {
    with_etag(user.version, Answer(UserView::new(user, people)))
}

fn with_etag(version: u32, answer: impl IntoResponse) -> Response {
    let mut response = answer.into_response();
    if let Ok(tag) = HeaderValue::try_from(format!("\"{version}\"")) {
        response.headers_mut().insert(header::ETAG, tag);
    }
    response
}

impl From<PasswordError> for Problem {
    fn from(error: PasswordError) -> Self {
        match error {
            PasswordError::TooShort => {
                Self::bad_request("password_too_short", "a password has at least 10 characters")
            }
            PasswordError::TooLong => {
                Self::bad_request("password_too_long", "a password has at most 1024 bytes")
            }
            PasswordError::Busy => Self::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "sign_in_busy",
                "too many passwords are being checked; try again in a moment",
            )
            .with_header(header::RETRY_AFTER, HeaderValue::from(5)),
            PasswordError::Failed => {
                Self::new(StatusCode::INTERNAL_SERVER_ERROR, "password_failed", "no hash could be computed")
            }
        }
    }
}
