//! Who may do what: one door for every form of credential.
//!
//! `origin` keeps foreign pages out, whoever is signed in. `Access` turns what a request shows, a token or the
//! page's cookie, into a `Principal`, or into nobody. Every route names the right it needs in the table of
//! routes; there is no route without one.

mod origin;
mod session;

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use axum::extract::{FromRequestParts, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use helve_store::{Scope, Store, StoreError, Token, TokenRights};
use helve_types::{Timestamp, UserId, World};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

pub(crate) use self::origin::keep_foreign_pages_out;
pub(crate) use self::session::COOKIE;
use crate::app::App;
use crate::listen::Peer;
use crate::problem::Problem;

/// How many wrong tokens an address may show in a minute.
const FAILURES_MAX: u32 = 10;
const FAILURES_WINDOW: Duration = Duration::from_secs(60);

/// Who a request comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Principal {
    pub(crate) user: UserId,
    pub(crate) rights: TokenRights,
    /// None for the operator of a machine without tokens.
    token: Option<String>,
}

impl Principal {
    pub(crate) fn is_admin(&self) -> bool {
        self.rights == TokenRights::Admin
    }

    /// What it may look at by id.
    pub(crate) fn scope(&self) -> Scope {
        if self.is_admin() { Scope::Everyone } else { Scope::User(self.user.clone()) }
    }

    /// The user it acts for: itself, or with the right `admin` whoever it names.
    pub(crate) fn acting_for(&self, named: Option<&str>) -> Result<UserId, Problem> {
        let Some(named) = named else { return Ok(self.user.clone()) };
        let named =
            UserId::parse(named).map_err(|error| Problem::bad_request("bad_user", error.to_string()))?;
        if named == self.user || self.is_admin() {
            return Ok(named);
        }
        Err(Problem::new(StatusCode::FORBIDDEN, "not_your_user", "this token may not act for another user"))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Principal {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        // Put there by `need`, which stands before every handler.
        parts.extensions.get::<Self>().cloned().ok_or_else(unauthorised)
    }
}

/// What a route needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Right {
    /// Nothing: it tells nobody anything.
    Public,
    Chat,
    Admin,
}

/// What the operator says about access.
#[derive(Debug, Clone)]
pub struct AccessSettings {
    /// A token from the configuration, with all rights.
    pub token: Option<secrecy::SecretString>,
    /// Names under which the server may be addressed, besides its own address.
    pub hosts: Vec<String>,
    /// Whether only this machine can reach the server.
    pub loopback: bool,
    /// Signs the cookies of the page.
    pub session_key: [u8; 32],
}

pub(crate) struct Access {
    settings: AccessSettings,
    fixed: Option<Token>,
    tokens: RwLock<Arc<[Token]>>,
    failures: Mutex<HashMap<IpAddr, (Instant, u32)>>,
}

impl Access {
    pub(crate) fn new(settings: AccessSettings) -> Self {
        use secrecy::ExposeSecret;
        let fixed = settings.token.as_ref().map(|secret| Token {
            id: "config".into(),
            secret_hash: Sha256::digest(secret.expose_secret()).into(),
            user: UserId("admin".into()),
            rights: TokenRights::Admin,
            note: "from the configuration".into(),
            created_at: Timestamp(0),
            revoked_at: None,
        });
        Self { settings, fixed, tokens: RwLock::new(Arc::from([])), failures: Mutex::default() }
    }

    /// Reads the tokens again; they may have been made or revoked by `helve token`.
    pub(crate) async fn refresh(&self, store: &dyn Store) -> Result<(), StoreError> {
        let tokens = store.tokens().await?.into_iter().filter(|token| token.revoked_at.is_none()).collect();
        *self.tokens.write().unwrap_or_else(PoisonError::into_inner) = tokens;
        Ok(())
    }

    fn tokens(&self) -> Arc<[Token]> {
        self.tokens.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether there is a token that could be shown.
    pub(crate) fn has_token(&self) -> bool {
        self.fixed.is_some() || !self.tokens().is_empty()
    }

    /// Whether a token has to be shown at all.
    pub(crate) fn needs_token(&self) -> bool {
        !self.settings.loopback || self.has_token()
    }

    /// Whether what let the principal in is still valid.
    pub(crate) fn still_admits(&self, principal: &Principal) -> bool {
        match &principal.token {
            None => !self.needs_token(),
            Some(id) => self.token(id).is_some(),
        }
    }

    fn token(&self, id: &str) -> Option<Token> {
        let tokens = self.tokens();
        self.fixed.iter().chain(tokens.iter()).find(|token| token.id == id).cloned()
    }

    /// The token that a secret belongs to. Every comparison takes the same time.
    pub(crate) fn token_of(&self, shown: &str) -> Option<Token> {
        let tokens = self.tokens();
        let (id, secret) = shown.split_once('.').unwrap_or(("", shown));
        let [secret_hash, whole_hash] = [secret, shown].map(|text| <[u8; 32]>::from(Sha256::digest(text)));
        let fits = |token: &Token, hash: &[u8; 32]| bool::from(token.secret_hash.ct_eq(hash));
        let fixed = self.fixed.as_ref().filter(|token| fits(token, &whole_hash));
        fixed.or_else(|| tokens.iter().find(|token| token.id == id && fits(token, &secret_hash))).cloned()
    }

    /// Who a request comes from, by whatever it shows.
    pub(crate) fn identify(
        &self,
        headers: &HeaderMap,
        peer: Option<IpAddr>,
        now: Timestamp,
    ) -> Option<Principal> {
        if !self.needs_token() {
            let user = UserId("local".into());
            return Some(Principal { user, rights: TokenRights::Admin, token: None });
        }
        let token = match bearer(headers) {
            Some(shown) => {
                let token = self.token_of(shown);
                if token.is_none() {
                    self.count_failure(peer);
                }
                token?
            }
            None => self.token(&session::token_id(headers, &self.settings.session_key, now)?)?,
        };
        Some(Principal { user: token.user, rights: token.rights, token: Some(token.id) })
    }

    /// A cookie for somebody who has shown a token.
    pub(crate) fn cookie(&self, token: &Token, now: Timestamp) -> String {
        session::cookie(&token.id, &self.settings.session_key, now)
    }

    pub(crate) fn count_failure(&self, peer: Option<IpAddr>) {
        let Some(peer) = peer else { return };
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        failures.retain(|_, (since, _)| since.elapsed() < FAILURES_WINDOW);
        let (_, count) = failures.entry(peer).or_insert((Instant::now(), 0));
        *count += 1;
    }

    pub(crate) fn has_guessed_too_often(&self, peer: Option<IpAddr>) -> bool {
        let Some(peer) = peer else { return false };
        let failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        failures
            .get(&peer)
            .is_some_and(|(since, count)| *count >= FAILURES_MAX && since.elapsed() < FAILURES_WINDOW)
    }
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// Stands before the handler of a route and lets only those through who have the right.
pub(crate) async fn need(
    State((app, right)): State<(App, Right)>,
    mut request: Request,
    next: Next,
) -> Response {
    if right == Right::Public {
        return next.run(request).await;
    }
    let peer = request.extensions().get::<Peer>().map(|peer| peer.remote.ip());
    if app.access.has_guessed_too_often(peer) {
        return Problem::new(
            StatusCode::TOO_MANY_REQUESTS,
            "too_many_guesses",
            "too many wrong tokens; wait a minute",
        )
        .header(header::RETRY_AFTER, HeaderValue::from(60))
        .into_response();
    }
    let Some(principal) = app.access.identify(request.headers(), peer, app.runtime.world().now()) else {
        return unauthorised().into_response();
    };
    if right == Right::Admin && !principal.is_admin() {
        return Problem::new(
            StatusCode::FORBIDDEN,
            "admin_needed",
            "this needs a token with the right `admin`",
        )
        .into_response();
    }
    request.extensions_mut().insert(principal);
    next.run(request).await
}

fn unauthorised() -> Problem {
    Problem::new(
        StatusCode::UNAUTHORIZED,
        "token_needed",
        "show a token: Authorization: Bearer <token> (make one with `helve token create`)",
    )
    .header(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))
}

/// A new token with the text that is shown once and never kept.
pub fn new_token(world: &World, user: UserId, rights: TokenRights, note: String) -> (Token, String) {
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let id = format!("hv_{}", hex(&world.secret()[27..]));
    let secret = hex(&world.secret());
    let token = Token {
        secret_hash: Sha256::digest(&secret).into(),
        user,
        rights,
        note,
        created_at: world.now(),
        revoked_at: None,
        id: id.clone(),
    };
    (token, format!("{id}.{secret}"))
}
