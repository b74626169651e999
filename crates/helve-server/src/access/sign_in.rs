//! How people sign in besides tokens: with a password, or at an identity provider. Both give a session of the page.

use std::collections::BTreeSet;

use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use helve_openid::{Flow, Provider};
use helve_store::{
    AuditEntry, PasswordHash, ProviderSession, SessionRecord, SessionsToEnd, StoreError, UserKind, UserRecord,
};
use helve_types::{Timestamp, UserId, World};
use secrecy::SecretString;
use std::time::Instant;
use subtle::ConstantTimeEq;

use super::people_sessions::{find_session, hash_of_cookie, new_session};
use super::{Access, AccessError, PasswordError, Visitor, session};
use crate::app::App;
use crate::problem::Problem;

const FLOW_COOKIE: &str = "helve_sign_in";
const HTTPS_FLOW_COOKIE: &str = "__Host-helve_sign_in";
const FLOW_SECONDS: u32 = 600;

pub struct SignInSettings {
    pub passwords: bool,
    /// How long a session lasts. After it the provider is asked again who somebody is.
    pub session_hours: u32,
    pub openid: Option<OpenIdSignIn>,
}

impl Default for SignInSettings {
    fn default() -> Self {
        Self { passwords: true, session_hours: 12, openid: None }
    }
}

/// What the operator decides about an identity provider.
pub struct OpenIdSignIn {
    pub provider: Provider,
    /// What the page calls it.
    pub name: String,
    /// The claim that becomes the id of a new user.
    pub user_claim: String,
    /// The claim that names groups; dots lead into objects.
    pub groups_claim: String,
    /// Values of that claim that stand for the role `admin`.
    pub admin_claims: BTreeSet<String>,
    /// Whether somebody without a row gets one.
    pub creates_users: bool,
    /// Where browsers are sent after they have signed out at the provider.
    pub done_url: String,
}

impl Access {
    /// Whether somebody can sign in without a token.
    pub(crate) fn has_sign_in(&self) -> bool {
        self.read_stored().has_sign_in
    }

    pub(crate) fn openid(&self) -> Option<&OpenIdSignIn> {
        self.sign_in.openid.as_ref()
    }

    /// Whether people still sign in as they did when the session began: the operator may have decided otherwise.
    pub(super) fn accepts_way_of(&self, session: &SessionRecord) -> bool {
        match &session.provider {
            None => self.sign_in.passwords,
            Some(known) => self.openid().is_some_and(|openid| openid.provider.issuer() == known.issuer),
        }
    }

    pub(crate) fn takes_passwords(&self) -> bool {
        self.sign_in.passwords
    }

    pub(crate) fn check_passwords_allowed(&self) -> Result<(), AccessError> {
        if self.sign_in.passwords { Ok(()) } else { Err(AccessError::NoPasswords) }
    }

    pub(crate) async fn hash_password(
        &self,
        password: SecretString,
        world: &World,
    ) -> Result<PasswordHash, PasswordError> {
        self.passwords.hash(password, world).await
    }

    /// The user whose password it is. A wrong one counts as a guess, whatever is wrong about it.
    pub(crate) async fn check_password(
        &self,
        user: &UserId,
        password: SecretString,
        visitor: Visitor,
    ) -> Result<UserRecord, Problem> {
        self.check_passwords_allowed()?;
        self.check_attempt_allowed(visitor)?;
        let known = self.people.current().users.get(user).cloned();
        let known = known.filter(|user| user.kind == UserKind::Person);
        let hash = known.as_ref().and_then(|user| user.password.clone());
        let is_right = self.passwords.is_right(password, hash).await?;
        let Some(user) = known.filter(|_| is_right) else {
            self.count_failure(visitor);
            return Err(AccessError::WrongPassword.into());
        };
        // Passwords are compared concurrently: after the limit was reached, a right one must not be accepted either.
        self.check_attempt_allowed(visitor)?;
        if user.disabled { Err(AccessError::Disabled.into()) } else { Ok(user) }
    }

    pub(crate) fn count_failure(&self, visitor: Visitor) {
        self.guesses.count_failure(visitor.address, Instant::now());
    }

    /// Begins a session of the page, and gives its cookie.
    pub(crate) async fn begin_session(
        &self,
        app: &App,
        user: &UserRecord,
        provider: Option<ProviderSession>,
        visitor: Visitor,
    ) -> Result<String, Problem> {
        let world = app.runtime.world();
        let how = if provider.is_some() { "at the identity provider" } else { "with a password" };
        let (session, text) = new_session(world, user, self.sign_in.session_hours, provider);
        let audit = AuditEntry::new(session.started_at, &*user.id.0, "session.started", how);
        app.runtime.store().create_session(session, audit).await?;
        app.refresh_access().await?;
        Ok(session::format_session_cookie(&text, visitor.https, self.sign_in.session_hours))
    }

    /// Ends the session of the request, for all copies of its cookie. Says where the browser goes to sign out at the
    /// provider too.
    pub(crate) async fn sign_out(
        &self,
        app: &App,
        headers: &HeaderMap,
        visitor: Visitor,
        now: Timestamp,
    ) -> Result<Option<String>, StoreError> {
        let Some(cookie) = session::page_cookie(headers, visitor.https) else { return Ok(None) };
        let store = app.runtime.store();
        if let Some(secret_hash) = hash_of_cookie(cookie) {
            let found = find_session(&self.read_stored().sessions, secret_hash, now).cloned();
            let Some(session) = found else { return Ok(None) };
            let audit = AuditEntry::new(now, &*session.user.0, "session.ended", "");
            store.end_sessions(SessionsToEnd::One { secret_hash }, audit).await?;
            self.refresh(&**store).await?;
            let openid = self.openid().filter(|_| session.provider.is_some());
            let Some(openid) = openid else { return Ok(None) };
            return Ok(openid.provider.end_session_url(&openid.done_url).await.map(|url| url.to_string()));
        }
        let Some(session) = self.find_session(cookie, now) else { return Ok(None) };
        let user =
            self.find_token(&session.token).map_or_else(|| session.token.clone(), |token| token.user.0);
        let entry = AuditEntry::new(now, user, "session.ended", &*session.token);
        store.end_session(session.token, session.issued_at, entry).await?;
        self.refresh(&**store).await?;
        Ok(None)
    }

    /// The cookie that a browser keeps while it is at the provider.
    pub(crate) fn flow_cookie(&self, flow: &Flow, visitor: Visitor) -> Result<String, Problem> {
        let text = serde_json::to_vec(flow).map_err(|_| {
            Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "bad_cookie", "no cookie could be made")
        })?;
        let text = URL_SAFE_NO_PAD.encode(text);
        Ok(format_flow_cookie(&format!("{text}.{}", self.sign_flow(&text)), visitor, FLOW_SECONDS))
    }

    pub(crate) fn expired_flow_cookie(&self, visitor: Visitor) -> String {
        format_flow_cookie("", visitor, 0)
    }

    /// The sign-in that this browser has begun.
    pub(crate) fn read_flow(&self, headers: &HeaderMap, visitor: Visitor) -> Option<Flow> {
        let name = if visitor.https { HTTPS_FLOW_COOKIE } else { FLOW_COOKIE };
        let lines = headers.get_all(header::COOKIE).into_iter().filter_map(|value| value.to_str().ok());
        let mut cookies = lines.flat_map(|line| line.split(';'));
        let value = cookies.find_map(|cookie| cookie.trim().strip_prefix(name)?.strip_prefix('='))?;
        let (text, mac) = value.split_once('.')?;
        let is_ours: bool = self.sign_flow(text).as_bytes().ct_eq(mac.as_bytes()).into();
        let text = URL_SAFE_NO_PAD.decode(text).ok().filter(|_| is_ours)?;
        serde_json::from_slice(&text).ok()
    }

    /// With a key of its own, so that no other signed text of ours can stand for a flow.
    fn sign_flow(&self, text: &str) -> String {
        let key = blake3::derive_key("helve 2026 sign-in flow", &self.settings.session_key);
        blake3::keyed_hash(&key, text.as_bytes()).to_hex().to_string()
    }
}

/// The provider sends the browser back from another site, so the cookie is not `Strict`.
fn format_flow_cookie(value: &str, visitor: Visitor, seconds: u32) -> String {
    let (name, secure) = if visitor.https { (HTTPS_FLOW_COOKIE, "; Secure") } else { (FLOW_COOKIE, "") };
    format!("{name}={value}; HttpOnly; SameSite=Lax; Path=/; Max-Age={seconds}{secure}")
}

/// A cookie as the value of a header.
pub(crate) fn cookie_header(cookie: &str) -> Result<HeaderValue, Problem> {
    HeaderValue::try_from(cookie)
        .map_err(|_| Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "bad_cookie", "no cookie could be made"))
}
