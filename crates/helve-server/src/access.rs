//! Who may do what: one door for every form of credential.
//!
//! `origin` keeps foreign pages out for every user. `Access` turns what a request shows, a token or the
//! page's cookie, into a `Principal`, or says why it is `AccessError`. Every route of the table names the right it
//! needs; what is not in the table is the page's own files, which are the same for everybody.

mod guesses;
mod network;
mod origin;
mod password;
mod people_sessions;
mod principal;
mod session;
mod sign_in;
mod visitor;

use std::collections::{BTreeSet, HashMap};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Instant;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use helve_store::{ActFor, ENDED_SESSIONS_MAX, PeopleDirectory, Store, StoreError, Token, TokenRights};
use helve_types::{Timestamp, UserId, World, hex};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use self::guesses::{Guesses, TooManyGuesses};
pub use self::network::Network;
pub(crate) use self::network::client_network;
pub(crate) use self::origin::reject_foreign_pages;
use self::password::Passwords;
pub use self::password::{PASSWORD_BYTES_MAX, PasswordError, hash_password};
use self::people_sessions::Sessions;
use self::principal::Credential;
pub(crate) use self::principal::Principal;
use self::session::Session;
pub(crate) use self::session::{COOKIE, expired_cookie};
pub(crate) use self::sign_in::cookie_header;
pub use self::sign_in::{OpenIdSignIn, SignInSettings};
use self::visitor::Trust;
pub(crate) use self::visitor::Visitor;
use crate::app::App;
use crate::input::query_parameter;
use crate::problem::Problem;

/// The right that a route needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Right {
    /// No right: public information.
    Public,
    Chat,
    Admin,
}

/// Access settings of the operator.
#[derive(Debug, Clone)]
pub struct AccessSettings {
    /// A token from the configuration, with all rights.
    pub token: Option<secrecy::SecretString>,
    /// Host names of the server, besides its own address.
    pub hosts: Vec<String>,
    /// Whether only this machine can reach the server, so that no token is needed.
    pub only_this_machine: bool,
    /// Host names that are reached by https, with their ports unless those are the default ones.
    pub https_hosts: Vec<String>,
    /// Proxies whose `Forwarded` headers are trusted.
    pub trusted_proxies: Vec<Network>,
    /// Signs the cookies of the page.
    pub session_key: [u8; 32],
}

/// Why a request was not authenticated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AccessError {
    NoToken,
    WrongToken,
    WrongPassword,
    /// Nobody signs in with a password here.
    NoPasswords,
    /// The user was disabled.
    Disabled,
    /// The address has sent too many wrong tokens; this one was not compared.
    TooManyGuesses {
        seconds_left: u64,
    },
    /// No token is needed on loopback, but a proxy forwarded the request, so it may come from anywhere.
    ForwardedWithoutToken,
}

impl From<TooManyGuesses> for AccessError {
    fn from(TooManyGuesses { seconds_left }: TooManyGuesses) -> Self {
        Self::TooManyGuesses { seconds_left }
    }
}

impl From<AccessError> for Problem {
    fn from(error: AccessError) -> Self {
        let (code, detail) = match error {
            AccessError::NoToken => (
                "token_needed",
                "show a token: Authorization: Bearer <token> (make one with `helve token create`)",
            ),
            AccessError::WrongToken => {
                ("wrong_token", "this token is not known here; it may have been revoked")
            }
            AccessError::WrongPassword => ("wrong_password", "the name or the password is wrong"),
            AccessError::NoPasswords => {
                let detail = "nobody signs in with a password here; `passwords` in [auth] allows it";
                return Self::new(StatusCode::FORBIDDEN, "no_passwords", detail);
            }
            AccessError::Disabled => {
                let detail = "this user was disabled; an administrator can enable it again";
                return Self::new(StatusCode::FORBIDDEN, "user_disabled", detail);
            }
            AccessError::ForwardedWithoutToken => (
                "token_needed",
                "this request was passed on by a proxy, and without a token only this machine is served; set \
                 HELVE_TOKEN, and `trusted_proxies` in [server] to the proxy's address",
            ),
            AccessError::TooManyGuesses { seconds_left } => {
                let detail = "too many wrong tokens came from this address, so none is looked at; wait as \
                              `Retry-After` says";
                return Self::new(StatusCode::TOO_MANY_REQUESTS, "too_many_guesses", detail)
                    .with_header(header::RETRY_AFTER, HeaderValue::from(seconds_left));
            }
        };
        Self::new(StatusCode::UNAUTHORIZED, code, detail)
            .with_header(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))
    }
}

pub(crate) struct Access {
    settings: AccessSettings,
    fixed: Option<Token>,
    stored: RwLock<StoredAccess>,
    people: PeopleDirectory,
    guesses: Guesses,
    sign_in: SignInSettings,
    passwords: Passwords,
    refreshing: tokio::sync::Mutex<()>,
}

/// The tokens and ended sessions of the store.
#[derive(Clone, Default)]
struct StoredAccess {
    valid: Arc<[Token]>,
    /// A token exists or existed: requests without a token stay refused after the last one was revoked.
    any_ever: bool,
    /// Ended page sessions by token id.
    ended: Arc<HashMap<String, BTreeSet<Timestamp>>>,
    sessions: Arc<Sessions>,
    /// Somebody can sign in without a token, so a request without anything is a stranger's.
    has_sign_in: bool,
}

impl StoredAccess {
    /// Whether a session has ended. Only the latest ended sessions are kept; older sessions count as ended too.
    fn has_ended(&self, token: &str, issued_at: Timestamp) -> bool {
        let Some(ended) = self.ended.get(token) else { return false };
        let is_full = ended.len() >= ENDED_SESSIONS_MAX;
        ended.contains(&issued_at) || (is_full && ended.first().is_some_and(|first| issued_at < *first))
    }
}

impl Access {
    pub(crate) fn new(settings: AccessSettings, sign_in: SignInSettings, people: PeopleDirectory) -> Self {
        use secrecy::ExposeSecret;
        let fixed = settings.token.as_ref().map(|secret| Token {
            id: id_of_configured_token(secret.expose_secret(), &settings.session_key),
            secret_hash: Sha256::digest(secret.expose_secret()).into(),
            // The user who owns everything made before there was a token.
            user: UserId("local".into()),
            rights: TokenRights::Admin,
            act_for: ActFor::Everybody,
            note: "from the configuration".into(),
            created_at: Timestamp(0),
            revoked_at: None,
        });
        Self {
            settings,
            fixed,
            stored: RwLock::default(),
            people,
            guesses: Guesses::default(),
            sign_in,
            passwords: Passwords::default(),
            refreshing: tokio::sync::Mutex::default(),
        }
    }

    /// Reads the users, groups and tokens again; commands of another process may have changed some.
    pub(crate) async fn refresh(&self, store: &dyn Store) -> Result<(), StoreError> {
        // One after the other, so that what was read earlier never replaces what was read later.
        let _turn = self.refreshing.lock().await;
        self.people.refresh(store).await?;
        let all = store.tokens().await?;
        let any_ever = !all.is_empty();
        let valid = all.into_iter().filter(|token| token.revoked_at.is_none()).collect();
        let mut ended: HashMap<String, BTreeSet<Timestamp>> = HashMap::new();
        for (token, issued_at) in store.ended_sessions().await? {
            ended.entry(token).or_default().insert(issued_at);
        }
        let sessions = store.sessions().await?;
        let sessions = sessions.into_iter().map(|session| (session.secret_hash, session)).collect();
        let has_passwords = || self.people.current().users.values().any(|user| user.password.is_some());
        let has_sign_in = self.sign_in.openid.is_some() || (self.sign_in.passwords && has_passwords());
        let (ended, sessions) = (Arc::new(ended), Arc::new(sessions));
        let stored = StoredAccess { valid, any_ever, ended, sessions, has_sign_in };
        *self.stored.write().unwrap_or_else(PoisonError::into_inner) = stored;
        Ok(())
    }

    fn read_stored(&self) -> StoredAccess {
        self.stored.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether any valid token exists.
    pub(crate) fn has_token(&self) -> bool {
        self.fixed.is_some() || !self.read_stored().valid.is_empty()
    }

    /// Whether requests need a token. Revoking the last one does not remove the need.
    pub(crate) fn needs_token(&self) -> bool {
        let stored = self.read_stored();
        !self.settings.only_this_machine || self.fixed.is_some() || stored.any_ever || stored.has_sign_in
    }

    /// Whether the credential of the principal is still valid, and for as much as it was.
    pub(crate) fn is_still_admitted(&self, principal: &Principal, now: Timestamp) -> bool {
        if self.people.current().is_disabled(&principal.user) {
            return false;
        }
        let rights = match &principal.credential {
            Credential::Operator => return !self.needs_token(),
            Credential::Token { id, signed_in_at } => {
                let ended = signed_in_at.is_some_and(|at| self.read_stored().has_ended(id, at));
                let token = self.find_token(id).filter(|_| !ended);
                token.and_then(|token| self.rights_of(&token).ok())
            }
            Credential::Session { secret_hash } => {
                let stored = self.read_stored();
                let session = people_sessions::find_session(&stored.sessions, *secret_hash, now);
                let session = session.filter(|session| self.accepts_way_of(session));
                session.and_then(|session| self.rights_of_user(&session.user).ok())
            }
        };
        rights.is_some_and(|rights| rights >= principal.rights)
    }

    /// What a user may do who has signed in without a token.
    fn rights_of_user(&self, user: &UserId) -> Result<TokenRights, AccessError> {
        let people = self.people.current();
        let row = people.users.get(user).ok_or(AccessError::NoToken)?;
        if row.disabled { Err(AccessError::Disabled) } else { Ok(row.effective_role()) }
    }

    /// The most that a valid token of a user gives.
    pub(crate) fn highest_token_rights(&self, user: &UserId) -> Option<TokenRights> {
        let valid = self.read_stored().valid;
        valid.iter().filter(|token| token.user == *user).map(|token| token.rights).max()
    }

    /// What a token may do now: never more than its user. The configured token is the operator's own.
    fn rights_of(&self, token: &Token) -> Result<TokenRights, AccessError> {
        if self.fixed.as_ref().is_some_and(|fixed| fixed.id == token.id) {
            return Ok(token.rights);
        }
        let people = self.people.current();
        if people.is_disabled(&token.user) {
            return Err(AccessError::Disabled);
        }
        Ok(people.role_of(&token.user).map_or(token.rights, |role| role.min(token.rights)))
    }

    fn find_token(&self, id: &str) -> Option<Token> {
        let tokens = self.read_stored().valid;
        self.fixed.iter().chain(tokens.iter()).find(|token| token.id == id).cloned()
    }

    /// The token with this secret, compared in constant time.
    fn find_token_by_secret(&self, shown: &str) -> Option<Token> {
        let tokens = self.read_stored().valid;
        let (id, secret) = shown.split_once('.').unwrap_or(("", shown));
        let [secret_hash, whole_hash] = [secret, shown].map(|text| <[u8; 32]>::from(Sha256::digest(text)));
        let fits = |token: &Token, hash: &[u8; 32]| bool::from(token.secret_hash.ct_eq(hash));
        let fixed = self.fixed.as_ref().filter(|token| fits(token, &whole_hash));
        fixed.or_else(|| tokens.iter().find(|token| token.id == id && fits(token, &secret_hash))).cloned()
    }

    /// The address and scheme of the client, as far as trusted proxies tell them.
    pub(crate) fn identify_visitor(&self, headers: &HeaderMap, peer: IpAddr) -> Visitor {
        let AccessSettings { trusted_proxies, https_hosts, .. } = &self.settings;
        Visitor::from_request(headers, peer, Trust { proxies: trusted_proxies, https_hosts })
    }

    /// Fails if the address has sent too many wrong credentials. Called before a credential is compared, so that a right and a
    /// wrong one get the same answer.
    pub(crate) fn check_attempt_allowed(&self, visitor: Visitor) -> Result<(), AccessError> {
        Ok(self.guesses.check_attempt_allowed(visitor.address, Instant::now())?)
    }

    /// The token for a secret. A wrong one is counted.
    pub(crate) fn authenticate(&self, shown: &str, visitor: Visitor) -> Result<Token, AccessError> {
        self.check_attempt_allowed(visitor)?;
        let Some(token) = self.find_token_by_secret(shown) else {
            self.guesses.count_failure(visitor.address, Instant::now());
            return Err(AccessError::WrongToken);
        };
        // Requests are compared concurrently: after the limit was reached, a right token must not be accepted either.
        self.check_attempt_allowed(visitor)?;
        Ok(token)
    }

    /// The principal of a request, by bearer token or session cookie.
    pub(crate) fn identify(
        &self,
        headers: &HeaderMap,
        visitor: Visitor,
        now: Timestamp,
    ) -> Result<Principal, AccessError> {
        if !self.needs_token() {
            if visitor.through_proxy {
                return Err(AccessError::ForwardedWithoutToken);
            }
            let user = UserId("local".into());
            let (rights, act_for) = (TokenRights::Admin, ActFor::Everybody);
            let (people, credential) = (self.people.current(), Credential::Operator);
            return Ok(Principal { user, rights, act_for, people, is_named: false, credential });
        }
        if let Some(shown) = bearer_token(headers) {
            return self.admit_token(self.authenticate(shown, visitor)?, None);
        }
        let cookie = session::page_cookie(headers, visitor.https).ok_or(AccessError::NoToken)?;
        // A wrong cookie is not counted: signatures cannot be guessed, and a page may send an old one many times.
        self.check_attempt_allowed(visitor)?;
        if let Some(secret_hash) = people_sessions::hash_of_cookie(cookie) {
            return self.admit_session(secret_hash, now);
        }
        let session = self.find_session(cookie, now).ok_or(AccessError::NoToken)?;
        let token = self.find_token(&session.token).ok_or(AccessError::NoToken)?;
        self.admit_token(token, Some(session.issued_at))
    }

    fn admit_token(&self, token: Token, signed_in_at: Option<Timestamp>) -> Result<Principal, AccessError> {
        let (rights, people) = (self.rights_of(&token)?, self.people.current());
        let Token { id, user, act_for, .. } = token;
        let credential = Credential::Token { id, signed_in_at };
        Ok(Principal { user, rights, act_for, people, is_named: false, credential })
    }

    fn admit_session(&self, secret_hash: [u8; 32], now: Timestamp) -> Result<Principal, AccessError> {
        let stored = self.read_stored();
        let session = people_sessions::find_session(&stored.sessions, secret_hash, now);
        let session = session.filter(|session| self.accepts_way_of(session));
        let user = session.ok_or(AccessError::NoToken)?.user.clone();
        let (rights, people) = (self.rights_of_user(&user)?, self.people.current());
        let (act_for, credential) = (ActFor::OnlySelf, Credential::Session { secret_hash });
        Ok(Principal { user, rights, act_for, people, is_named: false, credential })
    }

    /// The session of a cookie, unless it has ended.
    fn find_session(&self, cookie: &str, now: Timestamp) -> Option<Session> {
        let session = session::read_session(cookie, &self.settings.session_key, now)?;
        (!self.read_stored().has_ended(&session.token, session.issued_at)).then_some(session)
    }

    /// The session cookie for a token.
    pub(crate) fn session_cookie(&self, token: &Token, visitor: Visitor, now: Timestamp) -> String {
        session::session_cookie(&token.id, &self.settings.session_key, visitor.https, now)
    }
}

/// The id of the configured token in cookies: a new token has a new id, so old cookies end. Keyed, so that a cookie does
/// not help to guess the token.
fn id_of_configured_token(secret: &str, key: &[u8; 32]) -> String {
    let hash = blake3::keyed_hash(key, secret.as_bytes());
    format!("config_{}", hex(&hash.as_bytes()[..8]))
}

fn bearer_token(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// Added by `reject_foreign_pages`, which every request passes.
fn visitor_of_request(request: &Request) -> Visitor {
    let unknown = || Visitor { address: Ipv4Addr::UNSPECIFIED.into(), https: false, through_proxy: true };
    request.extensions().get::<Visitor>().copied().unwrap_or_else(unknown)
}

/// The access check of a route.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Guard {
    pub(crate) right: Right,
    /// Whether `?user=` names the user to act for.
    pub(crate) for_user: bool,
}

/// Middleware of a route: authenticates the request and checks the right.
pub(crate) async fn require_right(
    State((app, Guard { right, for_user })): State<(App, Guard)>,
    request: Request,
    next: Next,
) -> Response {
    if right == Right::Public {
        return next.run(request).await;
    }
    let visitor = visitor_of_request(&request);
    let principal = match app.access.identify(request.headers(), visitor, app.runtime.world().now()) {
        Ok(principal) => principal,
        Err(error) => return Problem::from(error).into_response(),
    };
    if right == Right::Admin && !principal.is_admin() {
        return Problem::new(
            StatusCode::FORBIDDEN,
            "admin_needed",
            "this needs a token with the right `admin`",
        )
        .into_response();
    }
    let (mut parts, body) = request.into_parts();
    let named = query_parameter(&parts, "user").filter(|_| for_user);
    match principal.acting_as_user(named.as_deref()) {
        Ok(principal) => parts.extensions.insert(principal),
        Err(problem) => return problem.into_response(),
    };
    next.run(Request::from_parts(parts, body)).await
}

/// A new token, and its text, which is shown once and not stored.
pub fn new_token(
    world: &World,
    user: UserId,
    rights: TokenRights,
    act_for: ActFor,
    note: String,
) -> (Token, String) {
    let id = format!("hv_{}", hex(&world.random_secret()[27..]));
    let secret = hex(&world.random_secret());
    let token = Token {
        secret_hash: Sha256::digest(&secret).into(),
        user,
        rights,
        act_for,
        note,
        created_at: world.now(),
        revoked_at: None,
        id: id.clone(),
    };
    (token, format!("{id}.{secret}"))
}
