//! One provider: sends browsers there, and takes what comes back to its token endpoint.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use helve_egress::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use helve_egress::{Bounds, Egress, EgressError, Method, Outgoing, StatusCode, Url};
use helve_types::World;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::{Map, Value};
use tokio::sync::Mutex;
use url::form_urlencoded;

use crate::claims::{Expected, LogoutToken, check_id_token, check_logout_token, subject, text};
use crate::discovery::{Document, Endpoint, document_url};
use crate::jwt::UnverifiedToken;
use crate::keys::KeySet;
use crate::{Flow, OpenIdError};

const BOUNDS: Bounds =
    Bounds { bytes_max: 256 << 10, silence: Duration::from_secs(5), total: Duration::from_secs(10) };
/// So long what a provider says of itself holds.
const DOCUMENT_FRESH_FOR: Duration = Duration::from_secs(60 * 60);
/// After a failure the provider is left alone for so long: strangers can begin sign-ins.
const AGAIN_AFTER: Duration = Duration::from_secs(2);
const CODE_BYTES_MAX: usize = 4 << 10;

pub struct ProviderSettings {
    pub issuer: String,
    pub client_id: String,
    /// None for a client that proves itself by PKCE alone.
    pub client_secret: Option<SecretString>,
    /// Where the provider sends the browser back to.
    pub redirect_uri: String,
    pub scopes: Vec<String>,
    pub egress: Egress,
    pub world: World,
}

pub struct Provider {
    settings: ProviderSettings,
    /// With the time it was read at. Held while it is read, so that it is read once.
    document: Mutex<Option<(Result<Document, OpenIdError>, Duration)>>,
    keys: Mutex<Option<KeySet>>,
}

/// What the browser brings back.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct Callback {
    #[serde(default)]
    pub code: Option<String>,
    #[serde(default)]
    pub state: Option<String>,
    /// Who sends it back, if the provider says so.
    #[serde(default)]
    pub iss: Option<String>,
    #[serde(default)]
    pub error: Option<String>,
}

/// Who has signed in, by the provider's word.
#[derive(Debug, Clone, PartialEq)]
pub struct SignedIn {
    pub subject: String,
    /// The provider's name for its session.
    pub sid: Option<String>,
    pub claims: Map<String, Value>,
}

#[derive(Deserialize)]
struct TokenAnswer {
    id_token: String,
    #[serde(default)]
    access_token: Option<SecretString>,
}

impl Provider {
    pub fn new(settings: ProviderSettings) -> Self {
        Self { settings, document: Mutex::default(), keys: Mutex::default() }
    }

    pub fn issuer(&self) -> &str {
        &self.settings.issuer
    }

    /// Where the browser goes to sign in.
    pub async fn authorization_url(&self, flow: &Flow) -> Result<Url, OpenIdError> {
        let Endpoint(mut url) = self.document().await?.authorization_endpoint;
        url.query_pairs_mut()
            .append_pair("response_type", "code")
            .append_pair("client_id", &self.settings.client_id)
            .append_pair("redirect_uri", &self.settings.redirect_uri)
            .append_pair("scope", &self.settings.scopes.join(" "))
            .append_pair("state", &flow.state)
            .append_pair("nonce", &flow.nonce)
            .append_pair("code_challenge", &flow.challenge())
            .append_pair("code_challenge_method", "S256");
        Ok(url)
    }

    /// Where the browser goes to sign out at the provider too, if the provider has such a page.
    pub async fn end_session_url(&self, return_to: &str) -> Option<Url> {
        let Endpoint(mut url) = self.document().await.ok()?.end_session_endpoint?;
        url.query_pairs_mut()
            .append_pair("client_id", &self.settings.client_id)
            .append_pair("post_logout_redirect_uri", return_to);
        Some(url)
    }

    /// Takes what the browser brought back to the provider, and checks what the provider says. `wanted` are claims that
    /// are asked for at the userinfo endpoint if the token has none of that name.
    pub async fn redeem(
        &self,
        flow: &Flow,
        callback: &Callback,
        wanted: &[&str],
    ) -> Result<SignedIn, OpenIdError> {
        let now = self.settings.world.now();
        if callback.state.as_deref() != Some(&*flow.state) || !flow.is_open(now) {
            return Err(OpenIdError::State);
        }
        let document = self.document().await?;
        // Another provider's answer to a sign-in here must not reach our token endpoint.
        let is_named = callback.iss.is_some() || document.authorization_response_iss_parameter_supported;
        if is_named && callback.iss.as_deref() != Some(&*self.settings.issuer) {
            return Err(OpenIdError::Issuer(shorten(callback.iss.as_deref().unwrap_or_default())));
        }
        if let Some(error) = &callback.error {
            return Err(OpenIdError::Refused(shorten(error)));
        }
        let code = callback.code.as_deref().filter(|code| code.len() <= CODE_BYTES_MAX);
        let code = code.ok_or(OpenIdError::Malformed("there is no code"))?;
        let answer = self.exchange_code(&document, flow, code).await?;
        let mut claims = self.verify(&answer.id_token).await?;
        let subject = check_id_token(&claims, &flow.nonce, self.expected())?;
        let is_missing = wanted.iter().any(|name| !claims.contains_key(*name));
        if let (true, Some(Endpoint(endpoint)), Some(token)) =
            (is_missing, document.userinfo_endpoint, answer.access_token)
        {
            for (name, value) in self.read_userinfo(endpoint, &token, &subject).await? {
                claims.entry(name).or_insert(value);
            }
        }
        Ok(SignedIn { subject, sid: text(&claims, "sid").map(str::to_owned), claims })
    }

    /// Reads what a provider sends when it has ended a session.
    pub async fn read_logout_token(&self, token: &str) -> Result<LogoutToken, OpenIdError> {
        check_logout_token(&self.verify(token).await?, self.expected())
    }

    fn expected(&self) -> Expected<'_> {
        let ProviderSettings { issuer, client_id, world, .. } = &self.settings;
        Expected { issuer, client_id, now: world.now() }
    }

    fn steady_time(&self) -> Duration {
        self.settings.world.clock.monotonic_time()
    }

    async fn document(&self) -> Result<Document, OpenIdError> {
        let mut kept = self.document.lock().await;
        let now = self.steady_time();
        if let Some((document, read_at)) = &*kept {
            let fresh_for = if document.is_ok() { DOCUMENT_FRESH_FOR } else { AGAIN_AFTER };
            if now.saturating_sub(*read_at) < fresh_for {
                return document.clone();
            }
        }
        let document = self.read_document().await;
        *kept = Some((document.clone(), self.steady_time()));
        document
    }

    async fn read_document(&self) -> Result<Document, OpenIdError> {
        let url = document_url(&self.settings.issuer)?;
        let text = self.fetch(Outgoing::new(Method::GET, url)).await?;
        Document::parse(&text, &self.settings.issuer)
    }

    async fn verify(&self, token: &str) -> Result<Map<String, Value>, OpenIdError> {
        let document = self.document().await?;
        let announced = document.id_token_signing_alg_values_supported.as_deref();
        let token = UnverifiedToken::parse(token, announced)?;
        let mut kept = self.keys.lock().await;
        let now = self.steady_time();
        let is_known = |keys: &KeySet| keys.find_key(&token).is_some();
        // Providers change their keys: an unknown one is looked for once more.
        let reads = match &*kept {
            None => true,
            Some(keys) => !keys.is_fresh(now) || (!is_known(keys) && keys.may_be_read_again(now)),
        };
        if reads {
            let text = self.fetch(Outgoing::new(Method::GET, document.jwks_uri.0)).await?;
            *kept = Some(KeySet::parse(&text, now)?);
        }
        let key = kept.as_ref().and_then(|keys| keys.find_key(&token)).ok_or(OpenIdError::Key)?;
        token.verify(key)
    }

    async fn exchange_code(
        &self,
        document: &Document,
        flow: &Flow,
        code: &str,
    ) -> Result<TokenAnswer, OpenIdError> {
        let text = self.fetch(self.code_request(document, flow, code)?).await?;
        serde_json::from_str(&text)
            .map_err(|_| OpenIdError::BadAnswer("the token endpoint's answer has no ID token".into()))
    }

    fn code_request(&self, document: &Document, flow: &Flow, code: &str) -> Result<Outgoing, OpenIdError> {
        let ProviderSettings { client_id, client_secret, redirect_uri, .. } = &self.settings;
        let mut request = Outgoing::new(Method::POST, document.token_endpoint.0.clone());
        let mut form = form_urlencoded::Serializer::new(String::new());
        form.append_pair("grant_type", "authorization_code")
            .append_pair("code", code)
            .append_pair("redirect_uri", redirect_uri)
            .append_pair("code_verifier", &flow.verifier);
        match client_secret {
            Some(secret) if document.wants_secret_in_body() => {
                form.append_pair("client_id", client_id).append_pair("client_secret", secret.expose_secret());
            }
            Some(secret) => {
                let encode =
                    |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
                let pair = format!("{}:{}", encode(client_id), encode(secret.expose_secret()));
                let value = format!("Basic {}", STANDARD.encode(pair));
                request.headers.insert(AUTHORIZATION, secret_header(&value)?);
            }
            None => _ = form.append_pair("client_id", client_id),
        }
        let kind = HeaderValue::from_static("application/x-www-form-urlencoded");
        request.headers.insert(CONTENT_TYPE, kind);
        request.body = Some(Bytes::from(form.finish()));
        Ok(request)
    }

    async fn read_userinfo(
        &self,
        endpoint: Url,
        token: &SecretString,
        expected_subject: &str,
    ) -> Result<Map<String, Value>, OpenIdError> {
        let mut request = Outgoing::new(Method::GET, endpoint);
        let value = secret_header(&format!("Bearer {}", token.expose_secret()))?;
        request.headers.insert(AUTHORIZATION, value);
        let claims: Map<String, Value> = serde_json::from_str(&self.fetch(request).await?)
            .map_err(|_| OpenIdError::BadAnswer("the userinfo endpoint's answer is no JSON object".into()))?;
        if subject(&claims).as_deref() != Some(expected_subject) {
            return Err(OpenIdError::BadAnswer("the userinfo endpoint speaks of somebody else".into()));
        }
        Ok(claims)
    }

    /// Sends, and reads an answer within its bounds. What a provider says of an error is kept short.
    async fn fetch(&self, mut request: Outgoing) -> Result<String, OpenIdError> {
        request.bounds = BOUNDS;
        request.headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        let refusing = request.method == Method::POST;
        let failed = |error: EgressError| match error {
            EgressError::TooLarge(why) => OpenIdError::BadAnswer(why),
            other => OpenIdError::Unreachable(other.to_string()),
        };
        let answer = self.settings.egress.send(request).await.map_err(failed)?;
        let status = answer.status();
        let text = answer.read_text().await.map_err(failed)?;
        match status {
            StatusCode::OK => Ok(text),
            status if refusing && status.is_client_error() => {
                let error = serde_json::from_str::<Value>(&text).ok();
                let error = error.as_ref().and_then(|error| error["error"].as_str()).unwrap_or("no reason");
                Err(OpenIdError::Refused(format!("{status}: {}", shorten(error))))
            }
            status => Err(OpenIdError::BadAnswer(format!("it answered with status {status}"))),
        }
    }
}

fn secret_header(value: &str) -> Result<HeaderValue, OpenIdError> {
    let mut value = HeaderValue::from_str(value)
        .map_err(|_| OpenIdError::BadAnswer("a credential cannot be sent in a header".into()))?;
    value.set_sensitive(true);
    Ok(value)
}

/// Somebody else's words in our log: a line, and not a long one.
fn shorten(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(200).collect()
}
