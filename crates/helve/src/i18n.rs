//! The two languages of the command line.
//!
//! The English text is the key: it stands where it is used, in `tr!` or as the help of an argument, and its Chinese is in
//! the table (`texts`). Tests hold that every text has one.

mod clap_error;
mod foreign;
mod help;
mod texts;

use std::collections::HashMap;
use std::fmt::Display;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

pub use self::clap_error::print_clap_error;
pub(crate) use self::foreign::{error_words, words};
pub use self::help::localized;

/// A text for people, in their language: `tr!("there is no model `{name}`", name = line(&name))`.
macro_rules! tr {
    ($text:literal $(, $name:ident = $value:expr)* $(,)?) => {
        $crate::i18n::fill($text, &[$((stringify!($name), &$value as &dyn std::fmt::Display)),*])
    };
}
pub(crate) use tr;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Language {
    #[default]
    English,
    Chinese,
}

/// In this order: the first one that is set decides.
const VARIABLES: [&str; 4] = ["HELVE_LANG", "LC_ALL", "LC_MESSAGES", "LANG"];

static CHOSEN: OnceLock<Language> = OnceLock::new();

tokio::task_local! {
    /// The language of the request that this task answers, which may be another one than the process's.
    static REQUESTED: Language;
}

/// Whether what this process says is for a program, which reads one language.
static FOR_PROGRAMS: AtomicBool = AtomicBool::new(false);

impl Language {
    /// The language of a locale, such as `zh_CN.UTF-8`; English where there is no translation.
    fn of_locale(locale: &str) -> Self {
        let locale = locale.trim().to_ascii_lowercase();
        let language = locale.split(['_', '-', '.', '@']).next().unwrap_or_default();
        if language == "zh" { Self::Chinese } else { Self::English }
    }

    /// What `--lang` says, or else the environment.
    pub fn choose(arguments: &[String], variable: impl Fn(&str) -> Option<String>) -> Self {
        let mut arguments = arguments.iter().take_while(|argument| *argument != "--");
        while let Some(argument) = arguments.next() {
            let given = match argument.strip_prefix("--lang") {
                Some("") => arguments.next().map(String::as_str),
                Some(rest) => rest.strip_prefix('='),
                None => None,
            };
            if let Some(given) = given {
                return Self::of_locale(given);
            }
        }
        let set = VARIABLES.iter().find_map(|name| variable(name).filter(|value| !value.trim().is_empty()));
        set.map_or(Self::English, |locale| Self::of_locale(&locale))
    }
}

/// A language as `--lang` names it: `en`, `zh`, or a locale of one of them.
pub(crate) fn parse_language(given: &str) -> Result<String, String> {
    let language = given.trim().to_ascii_lowercase();
    match language.split(['_', '-', '.', '@']).next() {
        Some("en" | "zh") => Ok(language),
        _ => Err(tr!("use en or zh")),
    }
}

/// Chooses the language of this process, once.
pub fn set_language(language: Language) {
    _ = CHOSEN.set(language);
}

/// For output that is JSON: its texts are the same in every locale.
pub(crate) fn speak_to_programs() {
    FOR_PROGRAMS.store(true, Ordering::Relaxed);
}

/// Does some work whose texts are in a requested language.
pub(crate) async fn speaking<F: Future>(language: Language, work: F) -> F::Output {
    REQUESTED.scope(language, work).await
}

/// The same for work that is done at once.
pub(crate) fn with_language<T>(language: Language, work: impl FnOnce() -> T) -> T {
    REQUESTED.sync_scope(language, work)
}

impl From<helve_types::Language> for Language {
    fn from(language: helve_types::Language) -> Self {
        match language {
            helve_types::Language::English => Self::English,
            helve_types::Language::Chinese => Self::Chinese,
        }
    }
}

pub(crate) fn language() -> Language {
    if let Ok(requested) = REQUESTED.try_with(|language| *language) {
        return requested;
    }
    match FOR_PROGRAMS.load(Ordering::Relaxed) {
        true => Language::English,
        false => CHOSEN.get().copied().unwrap_or_default(),
    }
}

/// The text in the language of this process, with its `{names}` replaced.
pub(crate) fn fill(english: &str, values: &[(&str, &dyn Display)]) -> String {
    fill_in(language(), english, values)
}

fn fill_in(language: Language, english: &str, values: &[(&str, &dyn Display)]) -> String {
    let pattern = translated(language, english);
    let mut out = String::with_capacity(pattern.len());
    let mut rest = pattern;
    while let Some(open) = rest.find('{') {
        out.push_str(&rest[..open]);
        let behind = &rest[open + 1..];
        let found = behind.find('}').and_then(|close| {
            let (_, value) = values.iter().find(|(name, _)| *name == &behind[..close])?;
            Some((close, value))
        });
        match found {
            Some((close, value)) => {
                out.push_str(&value.to_string());
                rest = &behind[close + 1..];
            }
            None => {
                out.push('{');
                rest = behind;
            }
        }
    }
    out + rest
}

/// The text in a language; in English where the table has none.
fn translated(language: Language, english: &str) -> &str {
    match language {
        Language::English => english,
        Language::Chinese => chinese(english).unwrap_or(english),
    }
}

fn chinese(english: &str) -> Option<&'static str> {
    static TABLE: OnceLock<HashMap<&'static str, &'static str>> = OnceLock::new();
    TABLE.get_or_init(|| texts::ALL.iter().copied().flatten().copied().collect()).get(english).copied()
}

#[cfg(test)]
mod literals;
#[cfg(test)]
mod tests;
