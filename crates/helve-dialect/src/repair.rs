//! Broken JSON with exactly one reading, read.
//!
//! A pure step, taken only after strict JSON has failed, and it says what it changed. A value cut in its middle, a
//! quote that could close or not, a missing comma: more than one reading, so no repair.

use std::fmt;

use serde::Serialize;

use crate::literal::{Literal, Quote, Taken};

/// What had to be changed to make it JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Repair {
    /// Single, curly, tripled or missing quotes became double ones.
    Quotes,
    /// `True`, `False` and `None`.
    Words,
    /// A trailing comma was left out.
    Commas,
    /// Raw line breaks or tabs inside a string were escaped.
    ControlCharacters,
    /// Escapes that JSON does not have, such as `\d`, were read as Python reads them.
    Escapes,
    /// Quotes inside a string were escaped.
    InnerQuotes,
    /// Brackets missing before the closing tag were added, or surplus ones left out.
    Closers,
    /// `007`, `.5`, `1_000`.
    Numbers,
    /// Full-width punctuation.
    FullWidth,
    /// Tuples and sets became arrays.
    Sequences,
}

impl fmt::Display for Repair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Quotes => "quotes",
            Self::Words => "Python words",
            Self::Commas => "trailing commas",
            Self::ControlCharacters => "raw control characters",
            Self::Escapes => "escapes",
            Self::InnerQuotes => "quotes inside a string",
            Self::Closers => "closing brackets",
            Self::Numbers => "numbers",
            Self::FullWidth => "full-width punctuation",
            Self::Sequences => "tuples or sets",
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
/// let repaired = helve_dialect::repair("{'city': 'Rome', 'days': 3,}").unwrap();
/// assert_eq!(repaired.text, r#"{"city": "Rome", "days": 3}"#);
/// assert_eq!(helve_dialect::repair(r#"{"city": "Ro"#), None);
/// ```
pub fn repair(text: &str) -> Option<Repaired> {
    read(text, Closing::AsWritten).filter(|repaired| !repaired.changes.is_empty())
}

/// Who vouches that the text is whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Closing {
    /// Nobody: every bracket must be there.
    AsWritten,
    /// A closing tag ended it, so brackets missing at its end were forgotten, not cut off.
    ByTag,
}

pub(crate) fn read(text: &str, closing: Closing) -> Option<Repaired> {
    let text = text.trim();
    literal(text, closing).or_else(|| {
        let escaped = escape_inner_quotes(text)?;
        let mut repaired = literal(&escaped, closing)?;
        repaired.changes.push(Repair::InnerQuotes);
        Some(repaired)
    })
}

fn literal(text: &str, closing: Closing) -> Option<Repaired> {
    let mut literal = Literal::repairing();
    let mut out = String::with_capacity(text.len() + 8);
    let surplus = match literal.feed(text, 0, &mut out) {
        Taken::All => "",
        Taken::UpTo(at) => &text[at..],
        Taken::Bad(_) => return None,
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

/// Escapes quotes that cannot be the end of the string they stand in. A string whose inner quotes do not pair up
/// might end in two places, and is left alone.
fn escape_inner_quotes(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len() + 16);
    let mut frames: Vec<char> = Vec::new();
    let mut is_key = false;
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        out.push(c);
        match c {
            '{' | '[' => {
                frames.push(c);
                is_key = c == '{';
            }
            '}' | ']' => {
                frames.pop();
                is_key = false;
            }
            ',' => is_key = frames.last() == Some(&'{'),
            ':' => is_key = false,
            '"' | '\'' => {
                let place = match (is_key, frames.last()) {
                    (true, _) => Place::Key,
                    (false, Some('[')) => Place::Item,
                    _ => Place::Member,
                };
                rest = escape_string(rest, c, place, &mut out)?;
            }
            _ => {}
        }
    }
    Some(out)
}

#[derive(Clone, Copy)]
enum Place {
    Key,
    Member,
    Item,
}

/// Copies one string up to its true end and gives back what follows.
fn escape_string<'t>(text: &'t str, quote: char, place: Place, out: &mut String) -> Option<&'t str> {
    let mut inner = 0;
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        if escaped || c != quote {
            escaped = !escaped && c == '\\';
            out.push(c);
            continue;
        }
        let rest = &text[at + 1..];
        if can_close(rest, place) {
            out.push(c);
            return (inner % 2 == 0).then_some(rest);
        }
        // Two quotes with nothing between them: a comma may be missing there instead.
        if rest.trim_start().starts_with(quote) {
            return None;
        }
        inner += 1;
        out.push('\\');
        out.push(c);
    }
    None
}

/// Whether what follows a quote is what follows a string.
fn can_close(rest: &str, place: Place) -> bool {
    let rest = rest.trim_start();
    let Some(next) = rest.chars().next() else {
        return true;
    };
    let after = rest[next.len_utf8()..].trim_start();
    match (place, next) {
        (Place::Key, ':') | (Place::Member, '}') | (Place::Item, ']') => true,
        (Place::Member, ',') => after.starts_with('}') || starts_with_key(after),
        (Place::Item, ',') => after.starts_with(|c: char| {
            Quote::opening(c).is_some() || c.is_ascii_digit() || matches!(c, '-' | '{' | '[' | ']')
        }),
        _ => false,
    }
}

/// A quoted name and a colon; looks no further than the next quote, so that the whole stays linear.
fn starts_with_key(text: &str) -> bool {
    let Some(quote) = text.chars().next().filter(|c| matches!(c, '"' | '\'')) else {
        return false;
    };
    text[1..].split_once(quote).is_some_and(|(_, rest)| rest.trim_start().starts_with(':'))
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
        check(r#"{"a": b}"#, None);
        check("", None);
        check("plain words", None);
    }

    #[test]
    fn a_closing_tag_vouches_for_missing_brackets() {
        let text = r#"{"name": "f", "arguments": {"a": 1}"#;
        assert_eq!(read(text, Closing::AsWritten), None);
        let repaired = read(text, Closing::ByTag).map(|r| (r.text, r.changes));
        assert_eq!(repaired, Some((format!("{text}}}").replace("  ", " "), vec![Repair::Closers])));
    }
}
