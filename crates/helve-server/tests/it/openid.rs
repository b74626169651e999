//! Sign-in at an identity provider that lies in every way we know of.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use axum::extract::State;
use axum::http::StatusCode as Status;
use axum::response::{IntoResponse, Response as Answer};
use axum::routing::{get, post};
use axum::{Json, Router};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use helve_egress::{Egress, EgressSettings, Url};
use helve_openid::{Provider, ProviderSettings};
use helve_server::{OpenIdSignIn, SignInSettings};
use helve_store::{Access, TokenRights};
use reqwest::{Client, StatusCode};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tokio::net::TcpListener;

use crate::test_server::{ServerOptions, TestServer};

/// What the provider does, and what it does wrong.
#[derive(Clone, Default)]
struct Behaviour {
    /// Merged into the claims; null takes one out.
    claims: Value,
    header: Value,
    /// Signed by a key that it does not publish.
    foreign_key: bool,
    /// Signed with the public key as a shared secret, or not at all.
    unsigned: bool,
    /// In place of the token's answer, so many bytes.
    flood: usize,
    /// In place of the keys, so many bytes.
    flood_of_keys: usize,
    userinfo: Value,
    /// The name of its key; `k1` if empty.
    kid: &'static str,
}

impl Behaviour {
    fn kid(&self) -> &'static str {
        if self.kid.is_empty() { "k1" } else { self.kid }
    }
}

struct Idp {
    url: String,
    key: EcdsaKeyPair,
    other_key: EcdsaKeyPair,
    now: i64,
    behaviour: Mutex<Behaviour>,
    /// The nonce and the challenge of the code that is good now.
    issued: Mutex<(String, String)>,
}

fn new_key() -> EcdsaKeyPair {
    let random = SystemRandom::new();
    let document = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
    EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, document.as_ref(), &random).unwrap()
}

fn encode(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

impl Idp {
    async fn start(now: i64) -> Arc<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (behaviour, issued) = (Mutex::default(), Mutex::default());
        let idp = Arc::new(Self { url, key: new_key(), other_key: new_key(), now, behaviour, issued });
        let router = Router::new()
            .route("/.well-known/openid-configuration", get(document))
            .route("/keys", get(keys))
            .route("/token", post(token))
            .route("/userinfo", get(userinfo))
            .with_state(idp.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        idp
    }

    fn behave(&self, behaviour: Behaviour) {
        *self.behaviour.lock().unwrap() = behaviour;
    }

    fn sign(&self, extra: &Value) -> String {
        let behaviour = self.behaviour.lock().unwrap().clone();
        let mut header = json!({"alg": "ES256", "kid": behaviour.kid()});
        merge(&mut header, &behaviour.header);
        let mut claims = json!({
            "iss": self.url, "aud": "helve", "sub": "subject-1", "iat": self.now, "exp": self.now + 300,
            "preferred_username": "mei", "name": "Mei Lin", "groups": ["/staff"], "sid": "session-1"
        });
        merge(&mut claims, extra);
        merge(&mut claims, &behaviour.claims);
        let signed = format!("{}.{}", encode(header.to_string()), encode(claims.to_string()));
        if behaviour.unsigned {
            return format!("{signed}.{}", encode(self.key.public_key()));
        }
        let key = if behaviour.foreign_key { &self.other_key } else { &self.key };
        let signature = key.sign(&SystemRandom::new(), signed.as_bytes()).unwrap();
        format!("{signed}.{}", encode(signature))
    }
}

fn merge(into: &mut Value, changes: &Value) {
    for (name, value) in changes.as_object().into_iter().flatten() {
        match value {
            Value::Null => _ = into.as_object_mut().unwrap().remove(name),
            value => into[name] = value.clone(),
        }
    }
}

async fn document(State(idp): State<Arc<Idp>>) -> Json<Value> {
    let url = &idp.url;
    Json(json!({
        "issuer": url, "authorization_endpoint": format!("{url}/auth"), "token_endpoint": format!("{url}/token"),
        "jwks_uri": format!("{url}/keys"), "userinfo_endpoint": format!("{url}/userinfo"),
        "end_session_endpoint": format!("{url}/end"), "authorization_response_iss_parameter_supported": true,
    }))
}

async fn keys(State(idp): State<Arc<Idp>>) -> Answer {
    let behaviour = idp.behaviour.lock().unwrap().clone();
    if behaviour.flood_of_keys > 0 {
        return " ".repeat(behaviour.flood_of_keys).into_response();
    }
    let point = idp.key.public_key().as_ref();
    let key = json!({
        "kty": "EC", "crv": "P-256", "kid": behaviour.kid(), "use": "sig", "x": encode(&point[1..33]), "y": encode(&point[33..])
    });
    Json(json!({"keys": [key]})).into_response()
}

async fn token(State(idp): State<Arc<Idp>>, body: String) -> Answer {
    let form = Url::parse(&format!("http://form/?{body}")).unwrap();
    let form: Vec<(String, String)> = form.query_pairs().into_owned().collect();
    let field = |name: &str| form.iter().find(|(field, _)| field == name).map(|(_, value)| value.as_str());
    let (nonce, challenge) = idp.issued.lock().unwrap().clone();
    let verifier = field("code_verifier").unwrap_or_default();
    if field("code") != Some("good") || encode(Sha256::digest(verifier)) != challenge {
        return (Status::BAD_REQUEST, Json(json!({"error": "invalid_grant"}))).into_response();
    }
    let flood = idp.behaviour.lock().unwrap().flood;
    if flood > 0 {
        return " ".repeat(flood).into_response();
    }
    let id_token = idp.sign(&json!({"nonce": nonce}));
    Json(json!({"id_token": id_token, "access_token": "a", "token_type": "Bearer"})).into_response()
}

async fn userinfo(State(idp): State<Arc<Idp>>) -> Json<Value> {
    Json(idp.behaviour.lock().unwrap().userinfo.clone())
}

/// A server that signs in at the provider, and a browser.
struct Journey {
    server: TestServer,
    idp: Arc<Idp>,
    client: Client,
}

/// What a browser holds while it is at the provider.
struct Away {
    cookie: String,
    state: String,
}

impl Journey {
    async fn new() -> Self {
        _ = rustls::crypto::ring::default_provider().install_default();
        let world = helve_types::World::deterministic();
        let idp = Idp::start(world.now().0 / 1_000).await;
        let (url, idp_url) = (idp.url.clone(), Url::parse(&idp.url).unwrap());
        let place = format!("127.0.0.1:{}", idp_url.port().unwrap());
        let egress = Egress::new(EgressSettings { allow: vec![place], ..EgressSettings::default() }).unwrap();
        let options = ServerOptions {
            change_parts: Some(Box::new(move |parts, own| {
                parts.sign_in = SignInSettings {
                    passwords: false,
                    session_hours: 1,
                    openid: Some(OpenIdSignIn {
                        provider: Provider::new(ProviderSettings {
                            issuer: url,
                            client_id: "helve".into(),
                            client_secret: Some("secret".to_owned().into()),
                            redirect_uri: format!("{own}/sign-in/callback"),
                            scopes: vec!["openid".into()],
                            egress,
                            world: parts.runtime.world().clone(),
                        }),
                        name: "Example".into(),
                        user_claim: "preferred_username".into(),
                        groups_claim: "groups".into(),
                        admin_claims: BTreeSet::from(["/admins".to_owned()]),
                        creates_users: true,
                        done_url: format!("{own}/sign-in/done"),
                    }),
                };
            })),
            ..ServerOptions::default()
        };
        let server = TestServer::with_options(options, []).await;
        server.app.refresh_access().await.unwrap();
        let client = Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap();
        Self { server, idp, client }
    }

    /// Begins a sign-in; the provider will take the code `good` for it.
    async fn begin(&self) -> Away {
        let answer = self.client.get(format!("{}/sign-in/start", self.server.url)).send().await.unwrap();
        assert_eq!(answer.status(), StatusCode::SEE_OTHER);
        let url = Url::parse(answer.headers()["location"].to_str().unwrap()).unwrap();
        let query = |name: &str| url.query_pairs().find(|(key, _)| key == name).unwrap().1.into_owned();
        assert_eq!((query("response_type"), query("code_challenge_method")), ("code".into(), "S256".into()));
        *self.idp.issued.lock().unwrap() = (query("nonce"), query("code_challenge"));
        let cookie = answer.headers()["set-cookie"].to_str().unwrap();
        assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Lax"), "{cookie}");
        Away { cookie: cookie.split(';').next().unwrap().to_owned(), state: query("state") }
    }

    /// Comes back. Gives the session's cookie, or the code of what is wrong.
    async fn come_back(&self, cookie: &str, query: &[(&str, &str)]) -> Result<String, String> {
        let mut url = Url::parse(&format!("{}/sign-in/callback", self.server.url)).unwrap();
        url.query_pairs_mut().extend_pairs(query);
        let request = self.client.get(url).header("cookie", cookie).header("sec-fetch-site", "cross-site");
        let request = request.header("sec-fetch-mode", "navigate").header("sec-fetch-dest", "document");
        let answer = request.send().await.unwrap();
        assert_eq!(answer.status(), StatusCode::OK);
        let cookies: Vec<String> = answer
            .headers()
            .get_all("set-cookie")
            .iter()
            .map(|value| value.to_str().unwrap().to_owned())
            .collect();
        let text = answer.text().await.unwrap();
        let session = cookies.iter().find(|cookie| cookie.starts_with("helve_session=us_"));
        match text.split_once("?sign_in=") {
            Some((_, rest)) => {
                assert_eq!(session, None, "who is refused gets no session");
                Err(rest.split('"').next().unwrap().to_owned())
            }
            None => Ok(session.unwrap().split(';').next().unwrap().to_owned()),
        }
    }

    async fn sign_in(&self) -> Result<String, String> {
        let away = self.begin().await;
        self.come_back(&away.cookie, &[("code", "good"), ("state", &away.state), ("iss", &self.idp.url)])
            .await
    }

    async fn session(&self, cookie: &str) -> Value {
        let request = self.client.get(format!("{}/api/session", self.server.url));
        let request = request.header("cookie", cookie).header("x-helve-page", "1");
        request.send().await.unwrap().json().await.unwrap()
    }
}

#[tokio::test]
async fn who_signs_in_is_a_user_with_the_groups_and_the_role_of_the_claims() {
    let journey = Journey::new().await;
    let group = helve_store::GroupRecord {
        claims: BTreeSet::from(["/staff".to_owned()]),
        ..helve_store::GroupRecord::new("staff", journey.server.world.now())
    };
    let audit = helve_store::AuditEntry::new(journey.server.world.now(), "test", "group.created", "staff");
    journey.server.store.save_group(helve_store::GroupChange { group, expected: 0, audit }).await.unwrap();
    assert_eq!(journey.session("").await["signed_in"], false, "the machine's own user has to sign in too");
    let cookie = journey.sign_in().await.unwrap();
    let session = journey.session(&cookie).await;
    assert_eq!(
        (&session["user"], &session["name"], &session["groups"], &session["admin"]),
        (&json!("mei"), &json!("Mei Lin"), &json!(["staff"]), &json!(false))
    );
    journey.idp.behave(Behaviour { claims: json!({"groups": ["/admins"]}), ..Behaviour::default() });
    let second = journey.sign_in().await.unwrap();
    let session = journey.session(&second).await;
    assert_eq!((&session["groups"], &session["admin"]), (&json!([]), &json!(true)));
    // Both sessions are one user's, and what holds is what the provider said last.
    assert_eq!(journey.session(&cookie).await["groups"], json!([]));
}

#[tokio::test]
async fn claims_that_the_token_lacks_come_from_the_userinfo_of_the_same_subject() {
    let journey = Journey::new().await;
    let lacking = |userinfo| Behaviour { claims: json!({"groups": null}), userinfo, ..Behaviour::default() };
    journey.idp.behave(lacking(json!({"sub": "another", "groups": ["/admins"]})));
    assert_eq!(journey.sign_in().await, Err("oidc_bad_answer".into()));
    journey.idp.behave(lacking(json!({"sub": "subject-1", "groups": ["/admins"], "iss": "x"})));
    let cookie = journey.sign_in().await.unwrap();
    assert_eq!(journey.session(&cookie).await["admin"], true);
}

#[tokio::test]
async fn every_lie_of_a_token_is_refused_with_its_code() {
    let journey = Journey::new().await;
    let now = journey.idp.now;
    let claims = |claims| Behaviour { claims, ..Behaviour::default() };
    let header = |header, unsigned| Behaviour { header, unsigned, ..Behaviour::default() };
    let cases = [
        (claims(json!({"nonce": "another"})), "oidc_nonce"),
        (claims(json!({"nonce": null})), "oidc_nonce"),
        (claims(json!({"iss": "https://evil.example"})), "oidc_issuer"),
        (claims(json!({"aud": "another"})), "oidc_audience"),
        (claims(json!({"aud": ["helve", "another"]})), "oidc_audience"),
        (claims(json!({"azp": "another"})), "oidc_audience"),
        (claims(json!({"exp": now - 61})), "oidc_expired"),
        (claims(json!({"iat": now + 120})), "oidc_expired"),
        (claims(json!({"sub": null})), "oidc_token"),
        (header(json!({"alg": "none"}), true), "oidc_algorithm"),
        (header(json!({"alg": "HS256"}), true), "oidc_algorithm"),
        (header(json!({"alg": "RS256"}), false), "oidc_key"),
        (header(json!({"kid": "k2"}), false), "oidc_key"),
        (Behaviour { foreign_key: true, ..Behaviour::default() }, "oidc_signature"),
        (header(json!({}), true), "oidc_signature"),
        (Behaviour { flood: 300 << 10, ..Behaviour::default() }, "oidc_bad_answer"),
    ];
    for (behaviour, code) in cases {
        journey.idp.behave(behaviour);
        assert_eq!(journey.sign_in().await, Err(code.to_owned()));
    }
    assert!(journey.server.store.users().await.unwrap().is_empty(), "a refused sign-in makes no user");
    journey.idp.behave(Behaviour::default());
    assert!(journey.sign_in().await.is_ok());
}

#[tokio::test]
async fn keys_without_end_are_not_read() {
    let journey = Journey::new().await;
    journey.idp.behave(Behaviour { flood_of_keys: 10 << 20, ..Behaviour::default() });
    assert_eq!(journey.sign_in().await, Err("oidc_bad_answer".into()));
}

#[tokio::test]
async fn an_answer_counts_only_in_the_browser_and_for_the_sign_in_that_it_belongs_to() {
    let journey = Journey::new().await;
    let url = journey.idp.url.clone();
    let other = journey.begin().await;
    let away = journey.begin().await;
    let (good, iss) = (("code", "good"), ("iss", url.as_str()));
    let state = ("state", away.state.as_str());
    for (cookie, query, code) in [
        ("", vec![good, state, iss], "oidc_state"),
        ("helve_sign_in=e30.00", vec![good, state, iss], "oidc_state"),
        (&*other.cookie, vec![good, state, iss], "oidc_state"),
        (&*away.cookie, vec![good, ("state", "x"), iss], "oidc_state"),
        (&*away.cookie, vec![good, iss], "oidc_state"),
        // A code of another sign-in, with this one's state: the provider sees that the verifier is not its own.
        (&*other.cookie, vec![good, ("state", &*other.state), iss], "oidc_refused"),
        (&*away.cookie, vec![("code", "bad"), state, iss], "oidc_refused"),
        // Another provider sends its code here, or does not say who it is.
        (&*away.cookie, vec![good, state, ("iss", "https://evil.example")], "oidc_issuer"),
        (&*away.cookie, vec![good, state], "oidc_issuer"),
        (&*away.cookie, vec![("error", "access_denied"), state, iss], "oidc_refused"),
        (&*away.cookie, vec![state, iss], "oidc_token"),
    ] {
        assert_eq!(journey.come_back(cookie, &query).await, Err(code.to_owned()), "{query:?}");
    }
    assert!(journey.come_back(&away.cookie, &[good, state, iss]).await.is_ok());
}

#[tokio::test]
async fn nobody_gets_what_somebody_of_the_same_name_has_here() {
    let journey = Journey::new().await;
    journey.server.token("mei", TokenRights::Chat).await;
    assert_eq!(journey.sign_in().await, Err("user_exists".into()));
    journey.idp.behave(Behaviour { claims: json!({"preferred_username": "local"}), ..Behaviour::default() });
    assert_eq!(journey.sign_in().await, Err("user_exists".into()));
    journey.idp.behave(Behaviour { claims: json!({"preferred_username": "li"}), ..Behaviour::default() });
    assert!(journey.sign_in().await.is_ok());
    // Another account of the provider with the name that somebody has here by now.
    let another = json!({"preferred_username": "li", "sub": "subject-2"});
    journey.idp.behave(Behaviour { claims: another, ..Behaviour::default() });
    assert_eq!(journey.sign_in().await, Err("user_exists".into()));
}

#[tokio::test]
async fn a_session_ends_by_signing_out_and_by_the_providers_word() {
    let journey = Journey::new().await;
    let cookie = journey.sign_in().await.unwrap();
    let sign_out = journey.client.delete(format!("{}/api/session", journey.server.url));
    let answer = sign_out.header("cookie", &cookie).header("x-helve-page", "1").send().await.unwrap();
    let place = answer.json::<Value>().await.unwrap()["continue_at"].as_str().unwrap().to_owned();
    assert!(place.starts_with(&format!("{}/end?client_id=helve", journey.idp.url)), "{place}");
    assert_eq!(journey.session(&cookie).await["signed_in"], false);

    let cookie = journey.sign_in().await.unwrap();
    let tell = async |token: String| {
        let request = journey.client.post(format!("{}/sign-in/back-channel", journey.server.url));
        request.form(&[("logout_token", token)]).send().await.unwrap().status()
    };
    let events = json!({"http://schemas.openid.net/event/backchannel-logout": {}});
    let other = journey.idp.sign(&json!({"events": events, "sid": "session-2"}));
    assert_eq!(tell(other).await, StatusCode::OK);
    assert_eq!(
        tell(journey.idp.sign(&json!({}))).await,
        StatusCode::BAD_REQUEST,
        "no ID token ends a session"
    );
    assert_eq!(journey.session(&cookie).await["signed_in"], true);
    assert_eq!(tell(journey.idp.sign(&json!({"events": events}))).await, StatusCode::OK);
    assert_eq!(journey.session(&cookie).await["signed_in"], false);
}

#[tokio::test]
async fn a_new_key_of_the_provider_is_looked_for_and_not_at_every_request() {
    let journey = Journey::new().await;
    assert!(journey.sign_in().await.is_ok());
    journey.idp.behave(Behaviour { kid: "k2", ..Behaviour::default() });
    assert_eq!(journey.sign_in().await, Err("oidc_key".into()), "the keys were read a moment ago");
    journey.server.world.clock.advance_ms(10_000);
    let now = journey.server.world.now().0 / 1_000;
    let claims = json!({"iat": now, "exp": now + 300});
    journey.idp.behave(Behaviour { kid: "k2", claims, ..Behaviour::default() });
    assert!(journey.sign_in().await.is_ok());
}

#[tokio::test]
async fn a_session_is_over_when_its_time_is_up_and_a_sign_in_when_it_took_too_long() {
    let journey = Journey::new().await;
    let cookie = journey.sign_in().await.unwrap();
    let slow = journey.begin().await;
    journey.server.world.clock.advance_ms(10 * 60 * 1_000);
    let query = [("code", "good"), ("state", &*slow.state), ("iss", &*journey.idp.url)];
    assert_eq!(journey.come_back(&slow.cookie, &query).await, Err("oidc_state".into()));
    journey.server.world.clock.advance_ms(50 * 60 * 1_000 - 1);
    assert_eq!(journey.session(&cookie).await["signed_in"], true);
    journey.server.world.clock.advance_ms(1);
    assert_eq!(journey.session(&cookie).await["signed_in"], false);
}
