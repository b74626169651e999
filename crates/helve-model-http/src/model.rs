//! A model behind an address.

use helve_model::{Holds, Model, ModelError, ModelErrorKind, ModelRequest, ModelStream, ToolMode};
use helve_types::{ModelParams, ToolChoice};
use reqwest::{Client, Url};
use secrecy::SecretString;

use crate::protocol::Target;
use crate::transport::{Listing, Question, ask, listed};
use crate::vendors::{PROTOCOLS, Vendor, any_vendor_of, protocol, vendor};

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

    #[error("either `vendor` or `protocol` is needed")]
    Neither,
}

impl SettingsError {
    /// The key of the configuration that it is about.
    pub fn key(&self) -> &'static str {
        match self {
            Self::UnknownVendor { .. } | Self::Neither => "vendor",
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
                known: PROTOCOLS.iter().map(|protocol| protocol.name).collect::<Vec<_>>().join(", "),
            })
        });
        let vendor = match (&self.vendor, spoken.transpose()?) {
            (Some(name), _) => vendor(name).ok_or_else(|| SettingsError::UnknownVendor {
                name: name.clone(),
                known: crate::VENDORS.iter().map(|vendor| vendor.name).collect::<Vec<_>>().join(", "),
            })?,
            (None, Some(protocol)) => any_vendor_of(protocol),
            (None, None) => return Err(SettingsError::Neither),
        };
        let given = self.base_url.as_deref().unwrap_or(vendor.base_url);
        let base = base(given, vendor);
        let url = |path: &str| {
            Url::parse(&format!("{base}{}", path.replace("{model}", &segment(&self.model))))
                .ok()
                .filter(|url| matches!(url.scheme(), "http" | "https"))
                .ok_or_else(|| SettingsError::BadUrl(given.into()))
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

    /// The vendor's name for the model.
    pub fn vendor_model(&self) -> &str {
        &self.settings.model
    }

    /// The models that its server says it has. This costs nothing.
    pub async fn listed(&self) -> Result<Listing, ModelError> {
        listed(&self.client, &self.urls.catalogue, self.settings.key.as_ref(), self.vendor.protocol).await
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

    fn holds(&self) -> Holds {
        self.vendor.quirks.form.holds()
    }

    fn takes(&self, choice: &ToolChoice) -> bool {
        self.vendor.quirks.choices.ensure(choice, &self.settings.params.extra)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(vendor: &str, base_url: Option<&str>) -> HttpModelSettings {
        HttpModelSettings {
            name: "m".into(),
            vendor: Some(vendor.into()),
            protocol: None,
            model: "m".into(),
            base_url: base_url.map(Into::into),
            key_env: None,
            key: None,
            tool_mode: ToolMode::Auto,
            params: ModelParams::default(),
        }
    }

    #[test]
    fn an_address_may_be_that_of_the_server_of_the_route_or_of_another_door() {
        let cases = [
            ("ollama", "http://gpu:11434", "http://gpu:11434/api/chat"),
            ("ollama", "http://gpu:11434/", "http://gpu:11434/api/chat"),
            ("ollama", "http://gpu:11434/api/chat", "http://gpu:11434/api/chat"),
            ("ollama", "http://gpu:11434/api/", "http://gpu:11434/api/chat"),
            ("ollama", "http://gpu:11434/v1", "http://gpu:11434/api/chat"),
            ("ollama", "https://proxy/ollama/v1/", "https://proxy/ollama/api/chat"),
            ("vllm", "http://gpu/v1", "http://gpu/v1/chat/completions"),
            ("vllm", "http://gpu/v1/chat/completions", "http://gpu/v1/chat/completions"),
        ];
        for (vendor, given, url) in cases {
            let (_, urls) = settings(vendor, Some(given)).place().unwrap();
            assert_eq!(urls.pieces.as_str(), url, "{vendor} {given}");
        }
    }

    #[test]
    fn a_vendor_says_what_it_takes_and_what_it_holds_its_model_to() {
        _ = rustls::crypto::ring::default_provider().install_default();
        let model = |vendor: &str, params: ModelParams| {
            let settings = HttpModelSettings { params, ..settings(vendor, None) };
            HttpModel::new(settings, crate::client().unwrap()).unwrap()
        };
        let plain = ModelParams::default;
        let calm = serde_json::json!({"extra": {"thinking": {"type": "disabled"}}});
        assert!(!model("deepseek", plain()).takes(&ToolChoice::Required));
        assert!(model("deepseek", serde_json::from_value(calm).unwrap()).takes(&ToolChoice::Required));
        assert!(model("deepseek", plain()).takes(&ToolChoice::None));
        assert!(!model("ollama", plain()).takes(&ToolChoice::Required));
        assert!(model("llama_cpp", plain()).takes(&ToolChoice::Named("time".into())));
        assert_eq!(model("ollama", plain()).holds(), Holds::Schema);
        assert_eq!(model("llama_cpp", plain()).holds(), Holds::Grammar);
        assert_eq!(model("openai_compatible", plain()).holds(), Holds::Nothing);
    }
}
