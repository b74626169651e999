//! What is sent.

use std::time::Duration;

use bytes::Bytes;
use reqwest::Method;
use reqwest::header::HeaderMap;
use url::Url;

/// One request on its way out.
#[derive(Debug, Clone)]
pub struct Outgoing {
    pub method: Method,
    pub url: Url,
    pub headers: HeaderMap,
    pub body: Option<Bytes>,
    pub credential: Option<Credential>,
    /// How many redirects are followed; each passes everything that the first address passed.
    pub redirects: u8,
    pub bounds: Bounds,
}

impl Outgoing {
    pub fn new(method: Method, url: Url) -> Self {
        Self {
            method,
            url,
            headers: HeaderMap::new(),
            body: None,
            credential: None,
            redirects: 0,
            bounds: Bounds::default(),
        }
    }
}

/// A secret and where it goes; the value is put in at the last moment, for hosts that may have it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Credential {
    Bearer { secret: String },
    Header { name: String, secret: String },
    Query { name: String, secret: String },
    Basic { username: String, secret: String },
}

/// How much of an answer is taken, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// After decompression.
    pub bytes_max: usize,
    /// The longest silence, before the first byte and between any two.
    pub silence: Duration,
    pub total: Duration,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { bytes_max: 1 << 20, silence: Duration::from_secs(20), total: Duration::from_secs(60) }
    }
}
