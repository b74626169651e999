//! Errors of other crates in the language of the person at the terminal.
//!
//! They speak English, in patterns: the table has the Chinese of each, and so have the sentences about definitions, which
//! come as text where they passed through something that knows no codes. What no pattern fits is shown as it stands.

use std::collections::HashMap;
use std::fmt::Display;
use std::sync::OnceLock;

use helve_types::{Notice, Sentence, load_sentences};

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
    let known = |(pattern, chinese): &(&str, &str)| Some(filled(chinese, &values(pattern, english)?));
    let of_table = || FOREIGN.iter().copied().flatten().find_map(known);
    of_table().or_else(|| definition_words(english))
}

/// A sentence about a definition.
struct DefinitionPattern {
    /// Its English with holes.
    pattern: String,
    /// What stands in the holes, in order.
    slots: Vec<String>,
    chinese: &'static str,
}

impl DefinitionPattern {
    /// None for a sentence that is nothing but what others say.
    fn new(sentence: &'static Sentence) -> Option<Self> {
        let (mut pattern, mut slots, mut rest) = (String::new(), vec![], &*sentence.en);
        while let Some((before, after)) = rest.split_once('{') {
            let (slot, behind) = after.split_once('}')?;
            pattern.push_str(before);
            pattern.push_str("{}");
            slots.push(slot.to_owned());
            rest = behind;
        }
        pattern.push_str(rest);
        (pattern != "{}").then_some(Self { pattern, slots, chinese: &sentence.zh })
    }
}

/// The most telling patterns first.
fn definition_patterns() -> &'static [DefinitionPattern] {
    static PATTERNS: OnceLock<Vec<DefinitionPattern>> = OnceLock::new();
    PATTERNS.get_or_init(|| {
        let codes = Notice::OF_DEFINITIONS.iter().filter_map(|(code, _)| load_sentences().get(*code));
        let mut patterns: Vec<_> = codes.filter_map(DefinitionPattern::new).collect();
        patterns.sort_by_key(|known| std::cmp::Reverse(known.pattern.len() - 2 * known.slots.len()));
        patterns
    })
}

fn definition_words(english: &str) -> Option<String> {
    definition_patterns().iter().find_map(|known| {
        let values = values(&known.pattern, english)?;
        let named: HashMap<&str, &str> = known.slots.iter().map(String::as_str).zip(values).collect();
        let (mut out, mut rest) = (String::new(), known.chinese);
        while let Some((before, after)) = rest.split_once('{') {
            let (slot, behind) = after.split_once('}')?;
            let value = named.get(slot).copied()?;
            out.push_str(before);
            out.push_str(&chinese(value).unwrap_or_else(|| value.to_owned()));
            rest = behind;
        }
        Some(out + rest)
    })
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

    #[test]
    fn a_sentence_about_a_definition_is_known_without_its_code() {
        let told = "`endpoint.auth.secret`: the secret `a` may not be sent to `b.example`; the operator allows hosts in `[secrets]`";
        assert_eq!(
            chinese(told).unwrap(),
            "`endpoint.auth.secret`：密钥 `a` 不能发给 `b.example`；管理员在 `[secrets]` 中允许主机"
        );
        assert_eq!(
            chinese("`cache.ttl_ms`: 9 is not between 1 and 5").unwrap(),
            "`cache.ttl_ms`：9 不在 1 和 5 之间"
        );
        for (code, _) in Notice::OF_DEFINITIONS {
            let english = load_sentences()[*code].en.replace(['{', '}'], "");
            let known = chinese(&english);
            assert!(known.is_some() || *code == "definition_other", "{code}: {english}");
        }
    }
}
