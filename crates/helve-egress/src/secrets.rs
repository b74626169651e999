//! What the operator lets out, and to whom.

use std::fmt;

use secrecy::{ExposeSecret, SecretString};
use url::Host;

use crate::places::Place;
use crate::redact::{Redactor, SecretForms};

/// A secret of the operator's, with the hosts that may get it.
#[derive(Clone)]
pub struct Secret {
    pub name: String,
    pub value: SecretString,
    /// `api.example.com` for all of its ports, or `api.example.com:8443`. Nothing else stands for a host.
    pub hosts: Vec<String>,
}

impl Secret {
    /// Whether it is there at all; a variable may not be set.
    pub fn has_value(&self) -> bool {
        !self.value.expose_secret().trim().is_empty()
    }

    /// Whether a host may have it.
    pub fn is_for(&self, host: &Host<&str>, port: u16) -> bool {
        let places = self.hosts.iter().filter_map(|text| text.parse::<Place>().ok());
        places.filter(|place| !place.is_network()).any(|place| place.is_host(host, port))
    }
}

/// All secrets of the operator's, by their names.
#[derive(Clone, Default)]
pub struct Secrets {
    all: Vec<Secret>,
    forms: SecretForms,
}

impl Secrets {
    pub fn new(all: Vec<Secret>) -> Self {
        let forms = SecretForms::new(all.iter().map(|secret| secret.value.expose_secret()));
        Self { all, forms }
    }

    /// These and one more, which takes the place of another of its name.
    #[must_use]
    pub fn with_secret(&self, secret: Secret) -> Self {
        let mut all = self.all.clone();
        all.retain(|known| known.name != secret.name);
        all.push(secret);
        Self::new(all)
    }

    pub fn get(&self, name: &str) -> Option<&Secret> {
        self.all.iter().find(|secret| secret.name == name)
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.all.iter().map(|secret| secret.name.as_str())
    }

    /// The text without any secret in it, in whatever form.
    pub fn redact(&self, text: &str) -> String {
        // Forms are whole characters, so what is left of a text is one.
        String::from_utf8_lossy(&self.forms.redact(text.as_bytes())).into_owned()
    }

    /// The same for a stream.
    pub fn redactor(&self) -> Redactor {
        Redactor::new(self.forms.clone())
    }

    pub(crate) fn redact_bytes(&self, bytes: &[u8]) -> Vec<u8> {
        self.forms.redact(bytes)
    }

    pub(crate) fn are_in(&self, text: &str) -> bool {
        self.forms.is_found_in(text.as_bytes())
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secret").field("name", &self.name).field("hosts", &self.hosts).finish_non_exhaustive()
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redactor").finish_non_exhaustive()
    }
}
