//! Errors of other crates in the language of the person at the terminal.
//!
//! They speak English, in patterns: the table has the Chinese of each. What no pattern fits is shown as it stands.

use std::fmt::Display;

use super::texts::FOREIGN;
use super::{Language, language};

/// The reasons of an error one behind the other, each in the language of this process.
pub(crate) fn error_words(error: &anyhow::Error) -> String {
    let mut told = String::new();
    let mut last = String::new();
    for cause in error.chain().map(ToString::to_string) {
        // Some name their source themselves.
        if !told.is_empty() && last.ends_with(&cause) {
            continue;
        }
        if !told.is_empty() {
            told += &between();
        }
        told += &words(&cause);
        last = cause;
    }
    told
}

fn between() -> String {
    match language() {
        Language::English => ": ".to_owned(),
        Language::Chinese => "：".to_owned(),
    }
}

/// The sentence of another crate in the language of this process.
pub(crate) fn words(english: &(impl Display + ?Sized)) -> String {
    let english = english.to_string();
    match language() {
        Language::English => english,
        Language::Chinese => chinese(&english).unwrap_or(english),
    }
}

pub(super) fn chinese(english: &str) -> Option<String> {
    FOREIGN.iter().find_map(|(pattern, chinese)| Some(filled(chinese, &values(pattern, english)?)))
}

/// What stands in the holes of a pattern, if the text fits it.
fn values<'t>(pattern: &str, text: &'t str) -> Option<Vec<&'t str>> {
    let mut parts = pattern.split("{}");
    let mut rest = text.strip_prefix(parts.next()?)?;
    let parts: Vec<&str> = parts.collect();
    let mut found = vec![];
    for (number, part) in parts.iter().enumerate() {
        let is_last = number + 1 == parts.len();
        let value = match (is_last, part.is_empty()) {
            (true, _) => rest.strip_suffix(part)?,
            (false, _) => &rest[..rest.find(part)?],
        };
        found.push(value);
        rest = &rest[value.len() + part.len()..];
    }
    rest.is_empty().then_some(found)
}

/// The holes are filled in order; what stands in one may be a sentence of its own.
fn filled(pattern: &str, values: &[&str]) -> String {
    let mut values = values.iter();
    let mut out = String::new();
    for (number, part) in pattern.split("{}").enumerate() {
        if number > 0 {
            let value = values.next().copied().unwrap_or_default();
            out += &chinese(value).unwrap_or_else(|| value.to_owned());
        }
        out += part;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_fits_the_whole_text_and_gives_its_values() {
        assert_eq!(values("no such {}", "no such run"), Some(vec!["run"]));
        assert_eq!(
            values("unknown field `{}`, expected one of {}", "unknown field `a`, expected one of `b`, `c`"),
            Some(vec!["a", "`b`, `c`"])
        );
        assert_eq!(values("no such {}", "there is no such run"), None);
        assert_eq!(values("the key", "the key is wrong"), None);
        assert_eq!(values("the key", "the key"), Some(vec![]));
    }

    #[test]
    fn a_reason_inside_a_reason_is_translated_too() {
        let told = chinese("cannot use the data directory `/x`: Permission denied (os error 13)").unwrap();
        assert_eq!(told, "无法使用数据目录 `/x`：没有权限（系统错误 13）");
        assert_eq!(chinese("what a plugin says of itself"), None);
    }
}
