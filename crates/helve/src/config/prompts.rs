//! The prompt profiles there are: those that come with Helve and the operator's own.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, anyhow};
use helve_dialect::{Profile, ProfileError};
use helve_model::ToolMode;
use helve_types::Mode;

use super::file::PromptTable;
use super::places::Places;
use crate::i18n::{error_words, tr, words};

#[derive(Clone)]
pub struct Prompts {
    /// The name of the one that is used where none is said.
    pub default_profile: String,
    pub own: Vec<Arc<Profile>>,
}

impl Prompts {
    pub(super) fn read(table: PromptTable, places: &Places) -> anyhow::Result<Self> {
        let mut own = vec![];
        for path in &table.profiles {
            let profile =
                read(path).map_err(|error| places.wrong(&["prompt", "profiles"], error_words(&error)))?;
            own.push(Arc::new(profile));
        }
        let default_profile = table.default_profile.unwrap_or_else(|| "json_strict".into());
        let mut prompts = Self { default_profile, own };
        prompts.default_profile = prompts
            .resolve(&prompts.default_profile)
            .map_err(|what| places.wrong(&["prompt", "default_profile"], what))?;
        Ok(prompts)
    }

    /// How a model calls tools, in the words of the configuration.
    pub(super) fn tool_mode(&self, text: &str) -> Result<ToolMode, String> {
        let mode = match text {
            "auto" => return Ok(ToolMode::Auto),
            "prompt" => Mode::Prompt(self.default_profile.clone()),
            other => other.parse().map_err(|_| {
                tr!("`{other}` is none of: auto, native, prompt, prompt:<profile>", other = other)
            })?,
        };
        Ok(ToolMode::Fixed(match mode {
            Mode::Prompt(profile) => Mode::Prompt(self.resolve(&profile)?),
            Mode::Native => Mode::Native,
        }))
    }

    /// The own name of the profile that is called so. An operator's profile goes before one that comes with Helve.
    fn resolve(&self, name: &str) -> Result<String, String> {
        let own = self.own.iter().map(|profile| profile.name());
        let known: Vec<&str> = own.chain(Profile::names().map(|name| -> &str { name })).collect();
        let shipped = || Profile::named(name).map(|profile| profile.name().to_owned());
        let found = known.contains(&name).then(|| name.to_owned()).or_else(shipped);
        found.ok_or_else(|| {
            tr!(
                "there is no prompt profile `{name}`; the profiles are: {known}",
                known = known.join(", "),
                name = name
            )
        })
    }
}

/// A profile of the operator's own; what is wrong in it has its place there.
fn read(path: &Path) -> anyhow::Result<Profile> {
    let text = std::fs::read_to_string(path)
        .with_context(|| tr!("the prompt profile `{path}` cannot be read", path = path.display()))?;
    Profile::parse(&text).map_err(|error| match error {
        ProfileError::File(error) => Places::new(path.display().to_string(), text).unreadable(&error),
        error => {
            anyhow!(tr!("the prompt profile `{path}`: {error}", path = path.display(), error = words(&error)))
        }
    })
}

impl fmt::Debug for Prompts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let own: Vec<_> = self.own.iter().map(|profile| profile.name()).collect();
        f.debug_struct("Prompts").field("default_profile", &self.default_profile).field("own", &own).finish()
    }
}
