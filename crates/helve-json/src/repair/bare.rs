//! Text without quotes: `{"expression": 31 * 47}`.
//!
//! It has one reading only where the schema allows nothing but text for the parameter, and where nothing in it could
//! mean anything else: no quote, no backtick, no bracket, no line break. It ends with its member: before the bracket that closes
//! the object, or before a comma that the next member's name follows.

use super::Expected;
use super::inner_quotes::starts_with_key;
use crate::literal::Quote;
use crate::work::{count_bytes, count_search};

/// Puts quotes around every such value; `None` where there is none.
pub(super) fn quote_bare_values(text: &str, expected: Expected<'_>) -> Option<String> {
    count_bytes(text.len());
    let mut out = String::with_capacity(text.len() + 8);
    let mut objects: Vec<OpenObject> = Vec::new();
    let mut any = false;
    // How much was left where the last search for a value ended without one. Up to that place there is none to search for.
    let mut barren = usize::MAX;
    let mut rest = text;
    // The last string or word: a member's name, if a colon follows.
    let mut name = "";
    while let Some(c) = rest.chars().next() {
        let token = match c {
            '{' | '[' => {
                let of_parameters =
                    objects.last().is_none_or(|object| (expected.holds_parameters)(object.key));
                objects.push(OpenObject { key: "", of_parameters: c == '{' && of_parameters });
                &rest[..1]
            }
            '}' | ']' => {
                objects.pop();
                &rest[..1]
            }
            ':' => {
                if let Some(object) = objects.last_mut() {
                    object.key = name;
                }
                let blanks = rest.len() - 1 - rest[1..].trim_start_matches(' ').len();
                let (before, behind) = rest.split_at(1 + blanks);
                // Where no tool is named, all are asked; so this comes last.
                let wanted = || {
                    objects
                        .last()
                        .is_some_and(|object| object.of_parameters && (expected.is_text)(object.key))
                };
                let found = (behind.len() <= barren && wanted()).then(|| read_bare_value(behind));
                if let Some(Err(at)) = found {
                    barren = behind.len() - at;
                }
                if let Some(Ok(value)) = found {
                    any = true;
                    out.push_str(before);
                    out.push('"');
                    out.push_str(&value.replace('\\', "\\\\"));
                    out.push('"');
                    rest = &behind[value.len()..];
                    continue;
                }
                before
            }
            '"' | '\'' => {
                let string = read_string(rest)?;
                name = &string[1..string.len() - 1];
                string
            }
            _ => {
                let word = read_word(rest);
                name = if word.trim().is_empty() { name } else { word };
                word
            }
        };
        out.push_str(token);
        rest = &rest[token.len()..];
    }
    any.then_some(out)
}

struct OpenObject<'t> {
    /// The member being read.
    key: &'t str,
    /// Its members are parameters, or it is the outermost object.
    of_parameters: bool,
}

/// A value without quotes, if it can be nothing else; or else how far there is none.
fn read_bare_value(text: &str) -> Result<&str, usize> {
    let mut end = 0;
    loop {
        let stops = |c| Quote::from_opening_char(c).is_some() || ",{}[]`\n\r".contains(c);
        let at = end + count_search(text.len() - end, text[end..].find(stops)).ok_or(text.len())?;
        let member = &text[at..];
        if member.starts_with('}') || member.starts_with(',') && starts_a_member(&member[1..]) {
            let value = text[..at].trim_end();
            return (!value.is_empty() && !is_literal(value)).then_some(value).ok_or(0);
        }
        if !member.starts_with(',') {
            return Err(at);
        }
        end = at + 1;
    }
}

/// A name and a colon, or the end of the object.
fn starts_a_member(text: &str) -> bool {
    let text = text.trim_start();
    let word = read_word(text);
    text.starts_with('}')
        || starts_with_key(text)
        || !word.is_empty() && text[word.len()..].trim_start().starts_with([':', '='])
}

/// Whether it is a value as it stands.
fn is_literal(value: &str) -> bool {
    let word = matches!(value, "true" | "false" | "null" | "True" | "False" | "None");
    word || serde_json::from_str::<serde::de::IgnoredAny>(value).is_ok()
}

/// A string with its quotes.
fn read_string(text: &str) -> Option<&str> {
    let quote = text.chars().next()?;
    let mut escaped = false;
    let end = text.char_indices().skip(1).find(|(_, c)| {
        let closes = !escaped && *c == quote;
        escaped = !escaped && *c == '\\';
        closes
    });
    end.map(|(at, _)| &text[..=at])
}

/// Letters and digits, or one character that is none.
fn read_word(text: &str) -> &str {
    let letter = |c: char| c.is_alphanumeric() || c == '_';
    let run = count_search(text.len(), text.find(|c: char| !letter(c))).unwrap_or(text.len());
    match run {
        0 => &text[..text.chars().next().map_or(0, char::len_utf8)],
        _ => &text[..run],
    }
}
