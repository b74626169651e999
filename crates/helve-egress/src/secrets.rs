//! What the operator lets out, and to whom.

use std::fmt;

use secrecy::{ExposeSecret, SecretString};

/// A secret of the operator's, with the hosts that may get it.
#[derive(Clone)]
pub struct Secret {
    pub name: String,
    pub value: SecretString,
    /// `api.example.com`, or `api.example.com:8443`.
    pub hosts: Vec<String>,
}

/// All secrets of the operator's, by their names.
#[derive(Clone, Default)]
pub struct Secrets {
    all: Vec<Secret>,
}

impl Secrets {
    pub fn new(all: Vec<Secret>) -> Self {
        Self { all }
    }

    pub fn get(&self, name: &str) -> Option<&Secret> {
        self.all.iter().find(|secret| secret.name == name)
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.all.iter().map(|secret| secret.name.as_str())
    }

    /// The text without any secret in it.
    pub fn redact(&self, text: &str) -> String {
        self.all.iter().fold(text.to_owned(), |text, secret| {
            let value = secret.value.expose_secret();
            if value.is_empty() { text } else { text.replace(value, "[secret]") }
        })
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}
