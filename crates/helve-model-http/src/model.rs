//! A model at an HTTP address: its settings, its addresses, and the `Model` port.

use helve_model::{FormSupport, Model, ModelError, ModelErrorKind, ModelRequest, ModelStream, ToolMode};
use helve_types::{ModelParams, Notice, ToolChoice};
use reqwest::{Client, Url};
use secrecy::SecretString;

use crate::bounds::AnswerBounds;
use crate::protocol::Target;
use crate::timeouts::Timeouts;
use crate::transport::{Listing, OutgoingRequest, list_models, send_request};
use crate::vendors::{PROTOCOLS, VENDORS, Vendor, compatible_vendor, find_protocol, find_vendor};

/// The operator's configuration of a model.
#[derive(Debug, Clone)]
pub struct HttpModelSettings {
    /// The name that requests use.
    pub name: String,
    /// A row of the vendor table; none if only a protocol is named.
    pub vendor: Option<String>,
    pub protocol: Option<String>,
    /// The vendor's name for the model.
    pub model: String,
    pub base_url: Option<String>,
    /// The environment variable with the key, for error messages, and its value.
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
    /// The key of the configuration with the mistake.
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
    /// Checks that a model can be built from the settings.
    pub fn check(&self) -> Result<(), SettingsError> {
        self.resolve().map(drop)
    }

    /// Finds the vendor's row and builds the addresses.
    fn resolve(&self) -> Result<(&'static Vendor, Urls), SettingsError> {
        let named = self.protocol.as_deref().map(|name| {
            find_protocol(name).ok_or_else(|| SettingsError::UnknownProtocol {
                name: name.to_owned(),
                known: join_names(PROTOCOLS.iter().map(|protocol| protocol.name)),
            })
        });
        let vendor = match (&self.vendor, named.transpose()?) {
            (Some(name), named) => {
                let row = find_vendor(name).ok_or_else(|| SettingsError::UnknownVendor {
                    name: name.clone(),
                    known: join_names(VENDORS.iter().map(|vendor| vendor.name)),
                })?;
                if named.is_some_and(|protocol| protocol.name != row.protocol.name) {
                    return Err(SettingsError::Contradiction {
                        vendor: name.clone(),
                        speaks: row.protocol.name,
                    });
                }
                row
            }
            (None, Some(protocol)) => compatible_vendor(protocol),
            (None, None) => return Err(SettingsError::Neither),
        };
        let given = self.base_url.as_deref().unwrap_or(vendor.base_url);
        let base = base_address(given, vendor);
        let url = |path: &str| {
            Url::parse(&format!("{base}{}", path.replace("{model}", &encode_path_segment(&self.model))))
                .ok()
                .filter(|url| matches!(url.scheme(), "http" | "https"))
                .ok_or_else(|| SettingsError::BadUrl(redact_password(given)))
        };
        let protocol = vendor.protocol;
        let urls = Urls {
            stream: url(protocol.path)?,
            complete: url(protocol.complete_path)?,
            models: url(protocol.model_list.path)?,
        };
        Ok((vendor, urls))
    }
}

/// The base address. Operators also configure the address of the route itself, or of the server's other protocol.
fn base_address<'a>(given: &'a str, vendor: &Vendor) -> &'a str {
    let endings = [vendor.protocol.path].into_iter().chain(vendor.quirks.base_endings.iter().copied());
    let start = given.trim_end_matches('/');
    endings.fold(start, |base, ending| base.strip_suffix(ending).unwrap_or(base).trim_end_matches('/'))
}

fn join_names<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.collect::<Vec<_>>().join(", ")
}

/// An invalid address for an error message, without the password in it.
fn redact_password(url: &str) -> String {
    match (url.find("://"), url.rfind('@')) {
        (Some(scheme), Some(at)) if at > scheme => format!("{}://…{}", &url[..scheme], &url[at..]),
        (None, Some(at)) => format!("…{}", &url[at..]),
        _ => url.to_owned(),
    }
}

struct Urls {
    stream: Url,
    complete: Url,
    models: Url,
}

/// Percent-encodes a name for the path; slashes stay, since vendors have names with them.
fn encode_path_segment(name: &str) -> String {
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
    timeouts: Timeouts,
    bounds: AnswerBounds,
}

impl HttpModel {
    pub fn new(settings: HttpModelSettings, client: Client) -> Result<Self, SettingsError> {
        let (vendor, urls) = settings.resolve()?;
        Ok(Self {
            settings,
            vendor,
            urls,
            client,
            timeouts: Timeouts::default(),
            bounds: AnswerBounds::default(),
        })
    }

    /// Sets the time limits of answers; the client has the one for connections.
    pub fn with_timeouts(self, timeouts: Timeouts) -> Self {
        Self { timeouts, ..self }
    }

    /// Sets the size limits of answers.
    pub fn with_bounds(self, bounds: AnswerBounds) -> Self {
        Self { bounds, ..self }
    }

    /// The address for streamed answers.
    pub fn url(&self) -> &str {
        self.urls.stream.as_str()
    }

    /// The host and port of the address, without a user name and password.
    pub fn host(&self) -> String {
        let url = &self.urls.stream;
        let host = url.host_str().unwrap_or_default();
        url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
    }

    /// The address without its secrets: user name, password and query.
    pub fn display_url(&self) -> String {
        let url = &self.urls.stream;
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

    /// The models of the server; none if the server has no list. The request costs nothing.
    pub async fn list_models(&self) -> Result<Option<Listing>, ModelError> {
        list_models(&self.client, &self.urls.models, self.settings.key.as_ref(), self.vendor.protocol).await
    }

    /// The environment variable for the key.
    pub fn key_env(&self) -> Option<&str> {
        self.settings.key_env.as_deref().or(self.vendor.key_env)
    }

    /// The environment variable that should hold the key, if the key is missing.
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

    fn form_support(&self) -> FormSupport {
        self.vendor.quirks.form.support()
    }

    fn supports_choice(&self, choice: &ToolChoice, params: &ModelParams) -> bool {
        self.vendor.quirks.choices.can_enforce(choice, &params.extra)
    }

    fn ask(&self, request: &ModelRequest<'_>) -> ModelStream {
        if let Some(variable) = self.missing_key() {
            let message = format!(
                "the model `{}` needs a key: set the environment variable {variable} and start Helve again",
                self.settings.name
            );
            let error = ModelError::new(ModelErrorKind::Key, message)
                .with_notice(Notice::model_without_key(variable));
            return Box::pin(futures_util::stream::iter([Err(error)]));
        }
        let protocol = self.vendor.protocol;
        let target = Target { model: &self.settings.model, quirks: &self.vendor.quirks };
        send_request(OutgoingRequest {
            client: &self.client,
            url: if request.stream { &self.urls.stream } else { &self.urls.complete },
            key: self.settings.key.as_ref(),
            body: (protocol.encode)(request, &target),
            stream: request.stream,
            protocol,
            timeouts: self.timeouts,
            bounds: self.bounds,
        })
    }
}

#[cfg(test)]
mod tests;
