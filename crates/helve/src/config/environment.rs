//! The environment, as an argument: tests bring their own.

use std::collections::BTreeMap;
use std::path::PathBuf;

use secrecy::SecretString;

#[derive(Clone, Default)]
pub struct Environment {
    variables: BTreeMap<String, String>,
}

impl Environment {
    pub fn of_process() -> Self {
        Self { variables: std::env::vars().collect() }
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

    /// The variables `HELVE_<SECTION>__<KEY>`, as section, key and value.
    pub fn overrides(&self) -> impl Iterator<Item = (&str, Vec<String>, &str)> {
        self.variables.iter().filter_map(|(name, value)| {
            let path: Vec<String> = name.strip_prefix("HELVE_")?.split("__").map(str::to_lowercase).collect();
            (path.len() > 1).then_some((name.as_str(), path, value.as_str()))
        })
    }
}
