//! The client that everything leaves through.

use std::sync::Arc;

use bytes::Bytes;
use reqwest::header::HeaderMap;
use reqwest::{Response, StatusCode};
use tokio::time::Instant;
use url::Url;

use crate::{Bounds, EgressError, Outgoing, Secrets};

/// What the operator decides about what leaves.
#[derive(Debug, Clone, Default)]
pub struct EgressSettings {
    /// Hosts, `host:port`s, addresses and networks that may be reached although they are not public; plain HTTP is good enough
    /// for them.
    pub allow: Vec<String>,
    /// Plain HTTP is good enough for everybody.
    pub http: bool,
    /// The proxy that everything goes through; none from the environment.
    pub proxy: Option<Url>,
    pub secrets: Secrets,
}

/// The way out. Clones share it.
#[derive(Debug, Clone)]
pub struct Egress {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    client: reqwest::Client,
    settings: EgressSettings,
}

impl Egress {
    /// The process must have installed a rustls provider before.
    pub fn new(settings: EgressSettings) -> Result<Self, EgressError> {
        let client = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .no_proxy()
            .referer(false)
            .user_agent(concat!("helve/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| EgressError::Refused(format!("the HTTP client cannot be made: {error}")))?;
        Ok(Self { inner: Arc::new(Inner { client, settings }) })
    }

    pub fn secrets(&self) -> &Secrets {
        &self.inner.settings.secrets
    }

    /// Whether a tool may be defined with this address: what can be said without asking a name server.
    pub fn check(&self, url: &Url) -> Result<(), EgressError> {
        match url.scheme() {
            "https" | "http" => Ok(()),
            other => Err(EgressError::Refused(format!("`{other}` is no scheme that is sent to"))),
        }
    }

    /// Sends a request and gives its answer's head; the body is read from it.
    pub async fn send(&self, request: Outgoing) -> Result<Incoming, EgressError> {
        self.check(&request.url)?;
        let bounds = request.bounds;
        let mut building = self
            .inner
            .client
            .request(request.method, request.url)
            .headers(request.headers)
            .timeout(bounds.total);
        if let Some(body) = request.body {
            building = building.body(body);
        }
        let response = building.send().await.map_err(|error| {
            if error.is_connect() {
                EgressError::NotSent("the other side cannot be reached".into())
            } else {
                EgressError::Lost("the connection broke off".into())
            }
        })?;
        Ok(Incoming { response, bounds, began: Instant::now(), read: 0 })
    }
}

/// An answer whose body is still to be read.
#[derive(Debug)]
pub struct Incoming {
    response: Response,
    bounds: Bounds,
    began: Instant,
    read: usize,
}

impl Incoming {
    pub fn status(&self) -> StatusCode {
        self.response.status()
    }

    pub fn headers(&self) -> &HeaderMap {
        self.response.headers()
    }

    /// The next piece of the body; none at its end.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, EgressError> {
        let left = self.bounds.total.saturating_sub(self.began.elapsed()).min(self.bounds.silence);
        let chunk = tokio::time::timeout(left, self.response.chunk()).await;
        let chunk = chunk.map_err(|_| EgressError::Lost("the answer did not come in time".into()))?;
        let chunk = chunk.map_err(|_| EgressError::Lost("the answer broke off".into()))?;
        self.read += chunk.as_ref().map_or(0, Bytes::len);
        if self.read > self.bounds.bytes_max {
            return Err(EgressError::TooLarge(format!(
                "the answer is larger than {} bytes",
                self.bounds.bytes_max
            )));
        }
        Ok(chunk)
    }

    /// The whole body.
    pub async fn bytes(mut self) -> Result<Vec<u8>, EgressError> {
        let mut body = vec![];
        while let Some(chunk) = self.chunk().await? {
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }
}
