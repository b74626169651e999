//! Broken JSON with exactly one reading, read.
//!
//! A pure step, taken only after strict JSON has failed, and it says what it changed. A value cut in its middle, a
//! quote that could close or not, a comma missing behind a string: more than one reading, so no repair. Some readings
//! are the only one because of what the tool's schema says.

mod bare;
mod inner_quotes;

use std::fmt;

use crate::literal::{LiteralProgress, LiteralReader};
use crate::work::count_bytes;
use serde::Serialize;

/// What had to be changed to make it JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Repair {
    /// Single, curly, tripled or missing quotes became double ones.
    Quotes,
    /// `True`, `False` and `None`.
    Words,
    /// A trailing comma was left out, or a missing one put in.
    Commas,
    /// `=` became a colon.
    Colons,
    /// Comments were left out.
    Comments,
    /// Raw line breaks or tabs inside a string were escaped.
    ControlCharacters,
    /// Escapes that JSON does not have, such as `\d`, were read as Python reads them.
    Escapes,
    /// Quotes inside a string were escaped.
    InnerQuotes,
    /// Brackets missing before the closing tag were added, or surplus ones left out, such as braces written twice.
    Closers,
    /// `007`, `.5`, `1_000`.
    Numbers,
    /// Full-width punctuation.
    FullWidth,
    /// Blanks that JSON does not have were left out.
    Blanks,
    /// Tuples and sets became arrays, or parentheses were left out.
    Sequences,
    /// Arguments that stood in a string, encoded twice, were decoded.
    Encoding,
}

impl fmt::Display for Repair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Quotes => "quotes",
            Self::Words => "Python words",
            Self::Commas => "commas",
            Self::Colons => "colons",
            Self::Comments => "comments",
            Self::ControlCharacters => "raw control characters",
            Self::Escapes => "escapes",
            Self::InnerQuotes => "quotes inside a string",
            Self::Closers => "closing brackets",
            Self::Numbers => "numbers",
            Self::FullWidth => "full-width punctuation",
            Self::Blanks => "blanks",
            Self::Sequences => "tuples or sets",
            Self::Encoding => "arguments in a string",
        })
    }
}

/// JSON made of text that was not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repaired {
    pub text: String,
    pub changes: Vec<Repair>,
}

/// Reads broken JSON if there is exactly one way to; `None` also where nothing is broken.
///
/// ```
/// let repaired = helve_json::repair("{'city': 'Rome', 'days': 3,}").unwrap();
/// assert_eq!(repaired.text, r#"{"city": "Rome", "days": 3}"#);
/// assert_eq!(helve_json::repair(r#"{"city": "Ro"#), None);
/// ```
pub fn repair(text: &str) -> Option<Repaired> {
    read_with_repairs(text, Closing::AsWritten, Expected::NOTHING)
        .filter(|repaired| !repaired.changes.is_empty())
}

/// Who vouches that the text is whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Closing {
    /// Nothing closes it: every bracket must be there.
    AsWritten,
    /// A closing tag ended it, so brackets missing at its end were forgotten, not cut off.
    ByTag,
}

/// What is known about the object that a text is meant to be.
#[derive(Clone, Copy)]
pub struct Expected<'a> {
    /// Whether the schema of the parameter allows nothing but text.
    pub is_text: &'a dyn Fn(&str) -> bool,
    /// Whether the member's value is an object of parameters, besides the outermost object.
    pub holds_parameters: fn(&str) -> bool,
}

impl Expected<'_> {
    /// Nothing is known.
    pub const NOTHING: Self = Self { is_text: &|_| false, holds_parameters: |_| false };
}

/// Reads text that may be JSON or broken JSON, if there is exactly one way to.
pub fn read_with_repairs(text: &str, closing: Closing, expected: Expected<'_>) -> Option<Repaired> {
    let text = text.trim();
    let rewritten = |text: Option<String>, change| {
        let mut repaired = read_literal(&text?, closing)?;
        if !repaired.changes.contains(&change) {
            repaired.changes.push(change);
        }
        Some(repaired)
    };
    // Where the list around an object ends, so does the object.
    let listed = || text.strip_suffix(']').filter(|_| text.starts_with('{'));
    read_literal(text, closing)
        .or_else(|| read_literal(listed()?, Closing::ByTag))
        .or_else(|| rewritten(inner_quotes::escape_inner_quotes(text), Repair::InnerQuotes))
        .or_else(|| rewritten(bare::quote_bare_values(text, expected), Repair::Quotes))
        // In place of an object, a set is an object gone wrong, whose names or values are missing.
        .filter(|repaired| !(text.starts_with('{') && repaired.text.starts_with('[')))
}

fn read_literal(text: &str, closing: Closing) -> Option<Repaired> {
    count_bytes(text.len());
    let mut literal = LiteralReader::for_repair();
    let mut out = String::with_capacity(text.len() + 8);
    let surplus = match literal.feed(text, 0, &mut out) {
        LiteralProgress::All => "",
        LiteralProgress::UpTo(at) => &text[at..],
        LiteralProgress::Bad(_) => return None,
    };
    if !literal.finish(closing == Closing::ByTag, &mut out) {
        return None;
    }
    let mut changes = literal.changes();
    if !surplus.is_empty() {
        if !surplus.chars().all(|c| matches!(c, '}' | ']') || c.is_whitespace()) {
            return None;
        }
        changes.push(Repair::Closers);
    }
    Some(Repaired { text: out, changes })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Option<(&str, &[Repair])>) {
        let repaired = repair(text);
        let got = repaired.as_ref().map(|r| (r.text.as_str(), r.changes.as_slice()));
        assert_eq!(got, expected, "{text}");
    }

    #[test]
    fn one_reading_is_repaired_and_said() {
        use Repair::*;
        check("{'name': 'f', 'n': None,}", Some((r#"{"name": "f", "n": null}"#, &[Quotes, Words, Commas])));
        check(
            "{\"a\": \"line1\nline2\ttab\"}",
            Some((r#"{"a": "line1\nline2\ttab"}"#, &[ControlCharacters])),
        );
        check(
            r#"{"path": "C:\path\new", "re": "\d+"}"#,
            Some((r#"{"path": "C:\\path\new", "re": "\\d+"}"#, &[Escapes])),
        );
        check(
            r#"{"content": "env.get("KEY", "d")"}"#,
            Some((r#"{"content": "env.get(\"KEY\", \"d\")"}"#, &[InnerQuotes])),
        );
        check("{“city”：“Rome”，“n”：1}", Some((r#"{"city": "Rome", "n": 1}"#, &[Quotes, FullWidth])));
        check(r#"{"a": 1}}"#, Some((r#"{"a": 1}"#, &[Closers])));
        check(r#"[{"a": {"b": 1}, {"a": 2}]"#, None);
        check(r#"[{"a": {"b": 1}]"#, Some((r#"[{"a": {"b": 1}}]"#, &[Closers])));
        check(r#"{"a": {{"b": 1}}}"#, Some((r#"{"a": {"b": 1}}"#, &[Closers])));
        check(r#"({"a": 1})"#, Some((r#"{"a": 1}"#, &[Sequences])));
        check("{\u{a0}\"a\":\u{3000}1}", Some((r#"{"a": 1}"#, &[Blanks])));
        check(r#"{"q" = "x", n = 3}"#, Some((r#"{"q": "x", "n": 3}"#, &[Colons, Quotes])));
        check(
            "{\n  // it's the city\n  \"city\": \"http://x\", /* all {of} it */\n  \"n\": 3 # days\n}",
            Some((r#"{"city": "http://x", "n": 3}"#, &[Comments])),
        );
        check(
            r#"{"n": 3 "o": {"a": null} "s": "x"}"#,
            Some((r#"{"n": 3, "o": {"a": null}, "s": "x"}"#, &[Commas])),
        );
    }

    #[test]
    fn apostrophes_survive() {
        check("{'a': \"it's\", 'b': 'x'}", Some((r#"{"a": "it's", "b": "x"}"#, &[Repair::Quotes])));
        check(
            "{'a': 'it's', 'b': 'that's it'}",
            None, // an odd quote inside could also be the end
        );
    }

    #[test]
    fn two_readings_are_none() {
        check(r#"{"a": 1}"#, None);
        check(r#"{"a": "cut"#, None);
        check(r#"{"a": 1"#, None);
        check(r#"["say "hi", "bye"]"#, None);
        check(r#"["a" "b"]"#, None);
        check(r#"{"a": "x" "b": "y"}"#, None);
        check(r#"{"a": 1 "b"}"#, None);
        check(r#"{"a" == 1}"#, None);
        check(r#"{"a": 1, "b" {"c": 2}}"#, None);
        check("{\"a\": 1 // one }", None);
        check("{\"a\": 1 /* one }", None);
        check(r#"{"a": b}"#, None);
        check(r#"{"a": {1, {"c": 1}}}"#, None);
        check(r#"{"a", "b"}"#, None);
        check("", None);
        check("plain words", None);
    }

    #[test]
    fn text_without_quotes_is_text_where_the_schema_allows_nothing_else() {
        let is_text = |parameter: &str| matches!(parameter, "expression" | "city");
        let cases = [
            (r#"{"expression": 31 * 47}"#, Some(r#"{"expression": "31 * 47"}"#)),
            (r#"{"expression": 12//3, "n": 1}"#, Some(r#"{"expression": "12//3", "n": 1}"#)),
            (
                r#"{"expression": max(1, 2), city: São Paulo, SP,}"#,
                Some(r#"{"expression": "max(1, 2)", "city": "São Paulo, SP"}"#),
            ),
            (
                r#"{"name": "f", "arguments": {"city": 北京 , "n": 2}}"#,
                Some(r#"{"name": "f", "arguments": {"city": "北京", "n": 2}}"#),
            ),
            (r#"{"expression": C:\d}"#, Some(r#"{"expression": "C:\\d"}"#)),
            // Whose value is another's, or not of its own: more than one reading.
            (r#"{"n": 31 * 47}"#, None),
            (r#"{"options": {"city": New York}}"#, None),
            (r#"{"city": New "York"}"#, None),
            ("{\"city\": New\nYork}", None),
            (r#"{"city": a[0]}"#, None),
            (r#"{"city": New York"#, None),
            (r#"{"city": }"#, None),
        ];
        for (text, expected) in cases {
            let expected_text = Expected { is_text: &is_text, holds_parameters: |key| key == "arguments" };
            let repaired = read_with_repairs(text, Closing::AsWritten, expected_text);
            assert_eq!(repaired.as_ref().map(|r| r.text.as_str()), expected, "{text}");
            assert!(repaired.is_none_or(|r| r.changes.contains(&Repair::Quotes)), "{text}");
        }
    }

    #[test]
    fn a_closing_tag_vouches_for_missing_brackets() {
        let text = r#"{"name": "f", "arguments": {"a": 1}"#;
        assert_eq!(read_with_repairs(text, Closing::AsWritten, Expected::NOTHING), None);
        let repaired =
            read_with_repairs(text, Closing::ByTag, Expected::NOTHING).map(|r| (r.text, r.changes));
        assert_eq!(repaired, Some((format!("{text}}}").replace("  ", " "), vec![Repair::Closers])));
    }
}
