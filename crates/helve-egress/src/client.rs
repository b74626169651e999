//! The client that everything leaves through.
//!
//! For each hop: check the address, build the request, put the credential in, send, and look who answered. What may be
//! reached is `policy`'s business, what goes along on a redirect is `redirect`'s.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;
use std::{fmt, io};

use reqwest::header::{ACCEPT_ENCODING, HeaderValue, LOCATION};
use reqwest::{Method, Request, Response, StatusCode};
use tokio::time::Instant;
use url::Url;

use crate::incoming::deadline_after;
use crate::places::Places;
use crate::policy::{Policy, Target};
use crate::redirect::{REDIRECTS_MAX, RequestHop, is_redirect};
use crate::resolver::{ForbiddenAddress, GuardedResolver, LookUpName, TARGET, system_resolver};
use crate::{
    Bounds, EgressError, Incoming, OnWithheld, Outgoing, Secret, Secrets, Withheld, why_header_is_refused,
};

/// Names, TCP and TLS together.
const CONNECT: Duration = Duration::from_secs(5);

/// What the operator decides about what leaves.
#[derive(Clone, Default)]
pub struct EgressSettings {
    /// Hosts, `host:port`s, addresses and networks that may be reached although they are not public; plain HTTP is good enough
    /// for them.
    pub allow: Vec<String>,
    /// Plain HTTP is good enough for everybody.
    pub http: bool,
    /// The proxy that everything goes through; none from the environment. It looks names up, so it must hold the policy for
    /// what they lead to.
    pub proxy: Option<Url>,
    pub secrets: Secrets,
    /// Who is told of each secret that was asked for by who must not have it.
    pub on_withheld: Option<OnWithheld>,
}

/// The way out. Clones share it.
#[derive(Debug, Clone)]
pub struct Egress {
    inner: Arc<EgressState>,
}

struct EgressState {
    client: reqwest::Client,
    policy: Arc<Policy>,
    secrets: Secrets,
    proxy: Option<Url>,
    look_up: LookUpName,
    on_withheld: Option<OnWithheld>,
}

impl Egress {
    /// The process must have installed a rustls provider before.
    pub fn new(settings: EgressSettings) -> Result<Self, EgressError> {
        Self::with_resolver(settings, system_resolver())
    }

    /// With names looked up in another way than the system's.
    pub fn with_resolver(settings: EgressSettings, look_up: LookUpName) -> Result<Self, EgressError> {
        let EgressSettings { allow, http, proxy, secrets, on_withheld } = settings;
        let places = Places::parse(&allow).map_err(|error| EgressError::Refused(error.to_string()))?;
        let policy = Arc::new(Policy { places, http });
        let names = GuardedResolver { policy: policy.clone(), look_up: look_up.clone() };
        let client = build_client(proxy.as_ref(), names)?;
        Ok(Self { inner: Arc::new(EgressState { client, policy, secrets, proxy, look_up, on_withheld }) })
    }

    /// The same way out for one user of it that the operator lets reach more places, or gives a secret of its own.
    pub fn with_grants(&self, places: &[String], secret: Option<Secret>) -> Result<Self, EgressError> {
        let EgressState { client: shared, policy, secrets, proxy, look_up, on_withheld } = &*self.inner;
        let secrets = secret.map_or_else(|| secrets.clone(), |secret| secrets.with_secret(secret));
        let (client, policy) = if places.is_empty() {
            (shared.clone(), policy.clone())
        } else {
            let mut wider = Policy::clone(policy);
            wider.places.extend(places).map_err(|error| EgressError::Refused(error.to_string()))?;
            let wider = Arc::new(wider);
            // Connections are judged by the policy of the client that made them, so this one has its own.
            let names = GuardedResolver { policy: wider.clone(), look_up: look_up.clone() };
            (build_client(proxy.as_ref(), names)?, wider)
        };
        let (proxy, look_up, on_withheld) = (proxy.clone(), look_up.clone(), on_withheld.clone());
        Ok(Self { inner: Arc::new(EgressState { client, policy, secrets, proxy, look_up, on_withheld }) })
    }

    pub fn secrets(&self) -> &Secrets {
        &self.inner.secrets
    }

    /// Whether a tool may be defined with this address: what can be said without asking a name server.
    pub fn check(&self, url: &Url) -> Result<(), EgressError> {
        self.inner.policy.check(url).map(drop)
    }

    /// Sends a request and gives its answer's head; the body is read from it.
    pub async fn send(&self, request: Outgoing) -> Result<Incoming, EgressError> {
        let bounds = request.bounds;
        let deadline = deadline_after(bounds.total);
        let redirects = request.redirects.min(REDIRECTS_MAX);
        let mut hop = RequestHop::from(request);
        for left in (0..=redirects).rev() {
            let answered = self
                .send_hop(&hop, bounds, deadline)
                .await
                .map_err(|error| error.or_lost_after_effect(hop.acted));
            let response = answered
                .map_err(|error| if left < redirects { error.of_redirect_target() } else { error })?;
            let status = response.status();
            let location = response.headers().get(LOCATION).filter(|_| is_redirect(status));
            let Some(location) = location.filter(|_| redirects > 0) else {
                return Ok(Incoming::new(response, bounds, deadline, &self.inner.secrets));
            };
            let acted = hop.may_have_acted(status);
            let next = if left > 0 {
                self.follow_redirect(hop, status, location)
            } else {
                Err(too_many_redirects(redirects))
            };
            hop = next.map_err(|error| error.or_lost_after_effect(acted))?;
        }
        Err(too_many_redirects(redirects))
    }

    async fn send_hop(
        &self,
        hop: &RequestHop,
        bounds: Bounds,
        deadline: Instant,
    ) -> Result<Response, EgressError> {
        let target = self.inner.policy.check(&hop.url)?;
        let request = self.build_request(hop, &target)?;
        let sending = TARGET.scope(target.clone(), self.inner.client.execute(request));
        let answer = tokio::time::timeout_at(deadline.min(deadline_after(bounds.silence)), sending).await;
        let answer = answer.map_err(|_| EgressError::Lost("the other side did not answer in time".into()))?;
        let response = answer.map_err(|error| request_error(&error, &target))?;
        self.check_peer(&response, &target)?;
        Ok(response)
    }

    fn build_request(&self, hop: &RequestHop, target: &Target) -> Result<Request, EgressError> {
        if hop.method == Method::CONNECT || hop.method == Method::TRACE {
            return Err(EgressError::Refused(format!("{} is no method that is sent", hop.method)));
        }
        let mut request = Request::new(hop.method.clone(), hop.url.clone());
        for name in hop.headers.keys() {
            if let Some(why) = why_header_is_refused(name.as_str()) {
                return Err(EgressError::Refused(format!(
                    "the header `{name}` is not a tool's to set: {why}"
                )));
            }
        }
        *request.headers_mut() = hop.headers.clone();
        request.headers_mut().insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        *request.body_mut() = hop.body.clone().map(Into::into);
        let Some(credential) = &hop.credential else { return Ok(request) };
        let attached = credential.attach(&mut request, target, &self.inner.secrets);
        attached.inspect_err(|_| self.report_withheld_secret(credential.secret(), target))?;
        Ok(request)
    }

    fn report_withheld_secret(&self, secret: &str, target: &Target) {
        tracing::warn!(target: "helve::egress", secret, host = %target, "secret withheld");
        if let Some(listener) = &self.inner.on_withheld {
            listener.notify(Withheld { secret: secret.into(), host: target.to_string() });
        }
    }

    fn follow_redirect(
        &self,
        hop: RequestHop,
        status: StatusCode,
        location: &HeaderValue,
    ) -> Result<RequestHop, EgressError> {
        let origin = hop.url.origin();
        let next = hop.follow(status, location).map_err(EgressError::Refused)?;
        // A server that has a secret may write it into the address of another server.
        if next.url.origin() != origin && self.inner.secrets.are_in(next.url.as_str()) {
            return Err(EgressError::Refused(
                "the answer is a redirect that would give a secret away".into(),
            ));
        }
        Ok(next)
    }

    /// The address that answered is one that the policy permits: the last check, should the client ever connect otherwise.
    fn check_peer(&self, response: &Response, target: &Target) -> Result<(), EgressError> {
        if self.inner.proxy.is_some() {
            return Ok(());
        }
        let peer = response.remote_addr();
        let permitted = peer.is_some_and(|peer| self.inner.policy.check_address(target, peer.ip()).is_ok());
        debug_assert!(permitted, "{target} was answered by {peer:?}");
        if !permitted {
            tracing::error!(target: "helve::egress", host = %target, ?peer, "an answer came from a place that is not allowed");
            return Err(EgressError::Lost("the answer came from a place that is not allowed".into()));
        }
        Ok(())
    }
}

#[expect(clippy::disallowed_methods, reason = "this is the one way out")]
fn build_client(proxy: Option<&Url>, names: GuardedResolver) -> Result<reqwest::Client, EgressError> {
    let wrong =
        |error: reqwest::Error| EgressError::Refused(format!("the HTTP client cannot be made: {error}"));
    let building = reqwest::Client::builder()
        .connect_timeout(CONNECT)
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .referer(false)
        .no_proxy()
        .user_agent(concat!("helve/", env!("CARGO_PKG_VERSION")));
    let building = match proxy {
        // The only name that is looked up here is then the proxy's own.
        Some(proxy) => building.proxy(reqwest::Proxy::all(proxy.clone()).map_err(wrong)?),
        None => building.dns_resolver(Arc::new(names)),
    };
    building.build().map_err(wrong)
}

fn too_many_redirects(redirects: u8) -> EgressError {
    EgressError::Refused(format!("the answer is one redirect after another; {redirects} were followed"))
}

/// The error's own text holds the address, which may hold a secret.
fn request_error(error: &reqwest::Error, target: &Target) -> EgressError {
    let causes = || std::iter::successors(error.source(), |&cause| cause.source());
    if causes().any(|cause| cause.is::<ForbiddenAddress>()) {
        return target.forbidden_error();
    }
    if error.is_dns() {
        EgressError::NotSent(format!("there is no host `{target}`, or it cannot be looked up now"))
    } else if error.is_connect()
        && causes().filter_map(|cause| cause.downcast_ref()).any(is_certificate_error)
    {
        EgressError::NotSent(format!("`{target}` has no certificate that is trusted, or speaks no TLS"))
    } else if error.is_connect() {
        EgressError::NotSent(format!("`{target}` cannot be reached"))
    } else {
        EgressError::Lost("the connection broke off before an answer".into())
    }
}

/// What rustls does not accept comes as invalid data, inside another error of the same type.
fn is_certificate_error(error: &io::Error) -> bool {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<io::Error>());
    error.kind() == io::ErrorKind::InvalidData || inner.is_some_and(is_certificate_error)
}

impl fmt::Debug for EgressState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inner")
            .field("policy", &self.policy)
            .field("secrets", &self.secrets)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for EgressSettings {
    // A proxy's address may have a password in it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EgressSettings")
            .field("allow", &self.allow)
            .field("http", &self.http)
            .field("proxy", &self.proxy.as_ref().and_then(Url::host_str))
            .field("secrets", &self.secrets)
            .finish()
    }
}
