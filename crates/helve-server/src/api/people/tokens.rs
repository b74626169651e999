//! Tokens: one's own, and for administrators those of all users and service accounts. A secret is shown once.

use axum::Json as Answer;
use axum::extract::State;
use axum::http::StatusCode;
use helve_store::{ActFor, AuditEntry, Token, TokenRights};
use helve_types::UserId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{UserRole, check_words};
use crate::access::{Principal, Right, new_token};
use crate::app::App;
use crate::input::{Json, Path};
use crate::problem::Problem;
use crate::routes::{Operation, Routes};

/// Of one user, so that a stolen session cannot fill the table.
const VALID_TOKENS_MAX: usize = 50;

pub(super) fn routes(routes: Routes) -> Routes {
    routes
        .add_route(
            Operation::get("/api/tokens", Right::Chat, "List one's tokens; administrators see all of them")
                .for_user()
                .gives::<TokenList>(),
            list_tokens,
        )
        .add_route(
            Operation::post("/api/tokens", Right::Chat, "Make a token; its secret is shown once")
                .with_example(json!({"note": "laptop"}))
                .gives::<NewTokenView>()
                .with_status(201),
            create_token,
        )
        .add_route(
            Operation::delete("/api/tokens/{token}", Right::Chat, "Revoke a token")
                .for_user()
                .with_status(204),
            revoke_token,
        )
}

#[derive(Debug, Serialize, JsonSchema)]
struct TokenList {
    tokens: Vec<TokenView>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct TokenView {
    id: String,
    user: String,
    rights: UserRole,
    /// `*`, or names divided by commas; empty for nobody but the user.
    act_for: String,
    note: String,
    created_at: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    revoked_at: Option<i64>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct NewTokenView {
    #[serde(flatten)]
    token: TokenView,
    /// Shown only now.
    secret: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct NewToken {
    /// Whose it is; oneself if not given.
    #[serde(default)]
    user: Option<String>,
    #[serde(default)]
    rights: Option<UserRole>,
    /// `*`, or names divided by commas; for administrators.
    #[serde(default)]
    act_for: String,
    #[serde(default)]
    note: String,
}

impl From<&Token> for TokenView {
    fn from(token: &Token) -> Self {
        Self {
            id: token.id.clone(),
            user: token.user.to_string(),
            rights: token.rights.into(),
            act_for: token.act_for.to_string(),
            note: token.note.clone(),
            created_at: token.created_at.0,
            revoked_at: token.revoked_at.map(|at| at.0),
        }
    }
}

async fn list_tokens(State(app): State<App>, principal: Principal) -> Result<Answer<TokenList>, Problem> {
    let scope = principal.scope();
    let tokens = app.runtime.store().tokens().await?;
    let tokens = tokens.iter().filter(|token| scope.sees(&token.user)).map(TokenView::from).collect();
    Ok(Answer(TokenList { tokens }))
}

async fn create_token(
    State(app): State<App>,
    principal: Principal,
    body: Json<NewToken>,
) -> Result<(StatusCode, Answer<NewTokenView>), Problem> {
    let NewToken { user, rights, act_for, note } = body.value;
    let act_for = ActFor::parse(&act_for).map_err(|error| Problem::bad_request("bad_user", error))?;
    let rights = rights.map_or(TokenRights::Chat, TokenRights::from);
    let user = match user {
        Some(user) => {
            UserId::parse(&user).map_err(|error| Problem::bad_request("bad_user", error.to_string()))?
        }
        None => principal.user.clone(),
    };
    let gives_more = user != principal.user || rights > principal.rights || act_for != ActFor::OnlySelf;
    if gives_more && !principal.is_admin() {
        let detail =
            "a token for another user, with more rights or for acting for others needs the right `admin`";
        return Err(Problem::new(StatusCode::FORBIDDEN, "admin_needed", detail));
    }
    let all = app.runtime.store().tokens().await?;
    let valid = all.iter().filter(|token| token.user == user && token.revoked_at.is_none());
    if valid.count() >= VALID_TOKENS_MAX {
        return Err(helve_store::StoreError::Full("token").into());
    }
    let note = check_words("note", note)?;
    let (token, secret) = new_token(app.runtime.world(), user, rights, act_for, note);
    let view = TokenView::from(&token);
    let now = token.created_at;
    let audit = AuditEntry::new(now, &*principal.user.0, "token.created", &*token.id).about(&*token.user.0);
    app.runtime.store().create_token(token, audit).await?;
    app.refresh_access().await?;
    Ok((StatusCode::CREATED, Answer(NewTokenView { token: view, secret })))
}

async fn revoke_token(
    State(app): State<App>,
    principal: Principal,
    Path(id): Path<String>,
) -> Result<StatusCode, Problem> {
    let scope = principal.scope();
    let tokens = app.runtime.store().tokens().await?;
    let token = tokens.iter().find(|token| token.id == id && scope.sees(&token.user));
    let token = token.ok_or_else(|| Problem::not_found("token"))?;
    let now = app.runtime.world().now();
    let audit = AuditEntry::new(now, &*principal.user.0, "token.revoked", &*id).about(&*token.user.0);
    app.runtime.store().revoke_token(id, audit).await?;
    app.refresh_access().await?;
    Ok(StatusCode::NO_CONTENT)
}
