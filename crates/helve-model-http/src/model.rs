//! A model behind an address.

use helve_model::{Model, ModelError, ModelErrorKind, ModelRequest, ModelStream, ToolMode};
use helve_types::ModelParams;
use reqwest::{Client, Url};
use secrecy::SecretString;

use crate::protocol::Target;
use crate::transport::{Question, ask};
use crate::vendors::{Vendor, any_vendor_of, protocol, vendor};

/// What the operator's configuration says about a model.
#[derive(Debug, Clone)]
pub struct HttpModelSettings {
    /// What requests call it.
    pub name: String,
    /// A row of the vendor table, or none and a protocol.
    pub vendor: Option<String>,
    pub protocol: Option<String>,
    /// What the vendor calls it.
    pub model: String,
    pub base_url: Option<String>,
    /// The environment variable that holds the key, for messages; and what it holds.
    pub key_env: Option<String>,
    pub key: Option<SecretString>,
    pub tool_mode: ToolMode,
    pub params: ModelParams,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    #[error("there is no vendor `{name}`; known are: {known}")]
    UnknownVendor { name: String, known: String },

    #[error("there is no protocol `{0}`; known is: openai_chat")]
    UnknownProtocol(String),

    #[error("`{0}` is no address; it must begin with http:// or https:// and a host")]
    BadUrl(String),

    #[error("either `vendor` or `protocol` is needed")]
    Neither,
}

impl SettingsError {
    /// The key of the configuration that it is about.
    pub fn key(&self) -> &'static str {
        match self {
            Self::UnknownVendor { .. } | Self::Neither => "vendor",
            Self::UnknownProtocol(_) => "protocol",
            Self::BadUrl(_) => "base_url",
        }
    }
}

impl HttpModelSettings {
    /// Whether a model can be made of this.
    pub fn check(&self) -> Result<(), SettingsError> {
        self.place().map(drop)
    }

    /// Whose model it is and where questions go: for an answer in pieces, and for a whole one.
    fn place(&self) -> Result<(&'static Vendor, Urls), SettingsError> {
        let spoken = self
            .protocol
            .as_deref()
            .map(|name| protocol(name).ok_or_else(|| SettingsError::UnknownProtocol(name.to_owned())));
        let vendor = match (&self.vendor, spoken.transpose()?) {
            (Some(name), _) => vendor(name).ok_or_else(|| SettingsError::UnknownVendor {
                name: name.clone(),
                known: crate::VENDORS.iter().map(|vendor| vendor.name).collect::<Vec<_>>().join(", "),
            })?,
            (None, Some(protocol)) => any_vendor_of(protocol),
            (None, None) => return Err(SettingsError::Neither),
        };
        let base = self.base_url.as_deref().unwrap_or(vendor.base_url).trim_end_matches('/');
        let url = |path: &str| {
            Url::parse(&format!("{base}{}", path.replace("{model}", &segment(&self.model))))
                .ok()
                .filter(|url| matches!(url.scheme(), "http" | "https"))
                .ok_or_else(|| SettingsError::BadUrl(base.into()))
        };
        let protocol = vendor.protocol;
        Ok((vendor, Urls { pieces: url(protocol.path)?, whole: url(protocol.path_whole)? }))
    }
}

struct Urls {
    pieces: Url,
    whole: Url,
}

/// A name as one segment of a path; slashes stay, as vendors have names with them.
fn segment(name: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/:@".contains(&byte);
    let mut text = String::with_capacity(name.len());
    for byte in name.bytes() {
        if plain(byte) { text.push(char::from(byte)) } else { text.push_str(&format!("%{byte:02X}")) }
    }
    text
}

pub struct HttpModel {
    settings: HttpModelSettings,
    vendor: &'static Vendor,
    urls: Urls,
    client: Client,
}

impl HttpModel {
    pub fn new(settings: HttpModelSettings, client: Client) -> Result<Self, SettingsError> {
        let (vendor, urls) = settings.place()?;
        Ok(Self { settings, vendor, urls, client })
    }

    /// The address that questions are sent to.
    pub fn url(&self) -> &str {
        self.urls.pieces.as_str()
    }

    /// The host of that address with its port, and without the name and the password that may stand before it.
    pub fn host(&self) -> String {
        let url = &self.urls.pieces;
        let host = url.host_str().unwrap_or_default();
        url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
    }

    /// The vendor's name, unless only a protocol was named.
    pub fn vendor(&self) -> Option<&str> {
        self.settings.vendor.as_deref()
    }

    pub fn protocol(&self) -> &'static str {
        self.vendor.protocol.name
    }

    /// The vendor's name for the model.
    pub fn vendor_model(&self) -> &str {
        &self.settings.model
    }

    /// Whether a key is needed that is not there, and under which name it is looked for.
    pub fn missing_key(&self) -> Option<&str> {
        if self.settings.key.is_some() {
            return None;
        }
        self.settings.key_env.as_deref().or(self.vendor.key_env)
    }
}

impl Model for HttpModel {
    fn name(&self) -> &str {
        &self.settings.name
    }

    fn tool_mode(&self) -> ToolMode {
        self.settings.tool_mode.clone()
    }

    fn params(&self) -> &ModelParams {
        &self.settings.params
    }

    fn ask(&self, request: &ModelRequest<'_>) -> ModelStream {
        if let Some(variable) = self.missing_key() {
            let message = format!(
                "the model `{}` needs a key: set the environment variable {variable} and start Helve again",
                self.settings.name
            );
            let error = ModelError::new(ModelErrorKind::Key, message);
            return Box::pin(futures_util::stream::iter([Err(error)]));
        }
        let protocol = self.vendor.protocol;
        let target = Target { model: &self.settings.model, quirks: &self.vendor.quirks };
        ask(Question {
            client: &self.client,
            url: if request.stream { &self.urls.pieces } else { &self.urls.whole },
            key: self.settings.key.as_ref(),
            body: (protocol.encode)(request, &target),
            stream: request.stream,
            protocol,
        })
    }
}
