//! A model behind an address.

use helve_model::{Holds, Model, ModelError, ModelErrorKind, ModelRequest, ModelStream, ToolMode};
use helve_types::{ModelParams, ToolChoice};
use reqwest::{Client, Url};
use secrecy::SecretString;

use crate::bounds::AnswerBounds;
use crate::patience::Patience;
use crate::protocol::Target;
use crate::transport::{Listing, Question, ask, listed};
use crate::vendors::{PROTOCOLS, VENDORS, Vendor, any_vendor_of, protocol, vendor};

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

    #[error("there is no protocol `{name}`; known are: {known}")]
    UnknownProtocol { name: String, known: String },

    #[error("`{0}` is no address; it must begin with http:// or https:// and a host")]
    BadUrl(String),

    #[error("the vendor `{vendor}` speaks `{speaks}`; leave `protocol` out, or the vendor")]
    Contradiction { vendor: String, speaks: &'static str },

    #[error("either `vendor` or `protocol` is needed")]
    Neither,
}

impl SettingsError {
    /// The key of the configuration that it is about.
    pub fn key(&self) -> &'static str {
        match self {
            Self::UnknownVendor { .. } | Self::Neither => "vendor",
            Self::Contradiction { .. } => "protocol",
            Self::UnknownProtocol { .. } => "protocol",
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
        let spoken = self.protocol.as_deref().map(|name| {
            protocol(name).ok_or_else(|| SettingsError::UnknownProtocol {
                name: name.to_owned(),
                known: list(PROTOCOLS.iter().map(|protocol| protocol.name)),
            })
        });
        let vendor = match (&self.vendor, spoken.transpose()?) {
            (Some(name), spoken) => {
                let row = vendor(name).ok_or_else(|| SettingsError::UnknownVendor {
                    name: name.clone(),
                    known: list(VENDORS.iter().map(|vendor| vendor.name)),
                })?;
                if spoken.is_some_and(|spoken| spoken.name != row.protocol.name) {
                    return Err(SettingsError::Contradiction {
                        vendor: name.clone(),
                        speaks: row.protocol.name,
                    });
                }
                row
            }
            (None, Some(protocol)) => any_vendor_of(protocol),
            (None, None) => return Err(SettingsError::Neither),
        };
        let given = self.base_url.as_deref().unwrap_or(vendor.base_url);
        let base = base(given, vendor);
        let url = |path: &str| {
            Url::parse(&format!("{base}{}", path.replace("{model}", &segment(&self.model))))
                .ok()
                .filter(|url| matches!(url.scheme(), "http" | "https"))
                .ok_or_else(|| SettingsError::BadUrl(without_password(given)))
        };
        let protocol = vendor.protocol;
        let urls = Urls {
            pieces: url(protocol.path)?,
            whole: url(protocol.path_whole)?,
            catalogue: url(protocol.catalogue.path)?,
        };
        Ok((vendor, urls))
    }
}

/// The address below which everything is: people also give that of the route, or of another door of the server.
fn base<'a>(given: &'a str, vendor: &Vendor) -> &'a str {
    let endings = [vendor.protocol.path].into_iter().chain(vendor.quirks.base_endings.iter().copied());
    let start = given.trim_end_matches('/');
    endings.fold(start, |base, ending| base.strip_suffix(ending).unwrap_or(base).trim_end_matches('/'))
}

fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.collect::<Vec<_>>().join(", ")
}

/// What may be shown of an address that is none.
fn without_password(url: &str) -> String {
    match (url.find("://"), url.rfind('@')) {
        (Some(scheme), Some(at)) if at > scheme => format!("{}://…{}", &url[..scheme], &url[at..]),
        (None, Some(at)) => format!("…{}", &url[at..]),
        _ => url.to_owned(),
    }
}

struct Urls {
    pieces: Url,
    whole: Url,
    catalogue: Url,
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
    patience: Patience,
    bounds: AnswerBounds,
}

impl HttpModel {
    pub fn new(settings: HttpModelSettings, client: Client) -> Result<Self, SettingsError> {
        let (vendor, urls) = settings.place()?;
        Ok(Self {
            settings,
            vendor,
            urls,
            client,
            patience: Patience::default(),
            bounds: AnswerBounds::default(),
        })
    }

    /// Waits for answers as long as this; how long for a connection is the client's business.
    pub fn with_patience(self, patience: Patience) -> Self {
        Self { patience, ..self }
    }

    /// Reads no more of an answer than this.
    pub fn within(self, bounds: AnswerBounds) -> Self {
        Self { bounds, ..self }
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

    /// Where questions go, without what is secret in an address.
    pub fn place(&self) -> String {
        let url = &self.urls.pieces;
        format!("{}://{}{}", url.scheme(), self.host(), url.path())
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

    /// The models that its server says it has, if it says so. This costs nothing.
    pub async fn listed(&self) -> Result<Option<Listing>, ModelError> {
        listed(&self.client, &self.urls.catalogue, self.settings.key.as_ref(), self.vendor.protocol).await
    }

    /// The environment variable in which its key is looked for.
    pub fn key_env(&self) -> Option<&str> {
        self.settings.key_env.as_deref().or(self.vendor.key_env)
    }

    /// Whether a key is needed that is not there, and under which name it is looked for.
    pub fn missing_key(&self) -> Option<&str> {
        if self.settings.key.is_some() { None } else { self.key_env() }
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

    fn holds(&self) -> Holds {
        self.vendor.quirks.form.holds()
    }

    fn takes(&self, choice: &ToolChoice, params: &ModelParams) -> bool {
        self.vendor.quirks.choices.ensure(choice, &params.extra)
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
            patience: self.patience,
            bounds: self.bounds,
        })
    }
}

#[cfg(test)]
mod tests;
