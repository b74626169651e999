//! The environment, as an argument: tests bring their own.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::i18n::tr;
use anyhow::bail;
use secrecy::SecretString;

#[derive(Clone, Default)]
pub struct Environment {
    variables: BTreeMap<String, String>,
}

/// A variable and the key of the configuration that it sets.
pub(super) struct Setting<'a> {
    pub(super) variable: &'a str,
    pub(super) path: Vec<String>,
    pub(super) text: &'a str,
}

/// Names without a section, with the keys that they set.
const SHORT: &[(&str, &[&str])] = &[
    ("HELVE_DEFAULT_MODEL", &["default_model"]),
    ("HELVE_LISTEN", &["server", "listen"]),
    ("HELVE_DATA", &["server", "data"]),
    ("HELVE_DATABASE_URL", &["server", "database_url"]),
    ("HELVE_TOKEN", &["server", "token"]),
    ("HELVE_LOG", &["server", "log"]),
];

/// Read elsewhere: the file's own path, the language of the command line, where commands find their server, and what the page's tests are told.
const OTHERS: &[&str] = &["HELVE_CONFIG", "HELVE_LANG", "HELVE_URL", "HELVE_SERVER", "HELVE_BINARY"];

/// Set by Kubernetes and the like beside every service that is called `helve`.
const FOREIGN: &[&str] = &["HELVE_SERVICE_", "HELVE_PORT"];

impl Environment {
    pub fn of_process() -> Self {
        // Names and values that are not text cannot be meant for us.
        let text = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
        Self { variables: text.collect() }
    }

    pub fn of<const N: usize>(variables: [(&str, &str); N]) -> Self {
        Self { variables: variables.map(|(name, value)| (name.into(), value.into())).into() }
    }

    /// A variable that is set to nothing is not set.
    pub fn text(&self, name: &str) -> Option<String> {
        self.variables
            .get(name)
            .map(|value| value.trim())
            .filter(|value| !value.is_empty())
            .map(str::to_owned)
    }

    pub fn secret(&self, name: &str) -> Option<SecretString> {
        self.text(name).map(SecretString::from)
    }

    pub fn path(&self, name: &str) -> Option<PathBuf> {
        self.text(name).map(PathBuf::from)
    }

    /// The variables that set a key: the short forms first, then `HELVE_<SECTION>__<KEY>`, which are more exact.
    pub(super) fn settings(&self) -> impl Iterator<Item = Setting<'_>> {
        let short = SHORT.iter().filter_map(|(variable, path)| {
            let path = path.iter().map(|&step| step.to_owned()).collect();
            Some(Setting { variable, path, text: self.set(variable)? })
        });
        let long = self.variables.keys().filter_map(|variable| {
            let path: Vec<String> =
                variable.strip_prefix("HELVE_")?.split("__").map(str::to_lowercase).collect();
            (path.len() > 1).then_some(Setting { variable, path, text: self.set(variable)? })
        });
        short.chain(long)
    }

    fn set(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(|value| value.trim()).filter(|value| !value.is_empty())
    }

    /// Variables that look as if they were meant for Helve and are not read by it.
    pub(super) fn unread(&self) -> impl Iterator<Item = &str> {
        self.variables.keys().map(String::as_str).filter(|name| {
            let known = OTHERS.contains(name) || SHORT.iter().any(|(short, _)| short == name);
            let foreign = FOREIGN.iter().any(|prefix| name.starts_with(prefix));
            name.starts_with("HELVE_") && !name.contains("__") && !known && !foreign
        })
    }

    /// Refuses what an operator relies on and would not get.
    pub(super) fn refuse_other_stores(&self) -> anyhow::Result<()> {
        let variable = "HELVE_REDIS_URL";
        if self.text(variable).is_some() {
            bail!(tr!(
                "the environment variable {variable} is set, but this version shares nothing over Redis; unset it",
                variable = variable
            ));
        }
        Ok(())
    }
}
