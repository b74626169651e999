//! Quotes inside a string that the model forgot to escape.

use crate::literal::Quote;
use crate::work::{count_bytes, count_search};

/// Escapes quotes that cannot be the end of the string they stand in. A string whose inner quotes do not pair up
/// might end in two places, and is left alone, as is a member's name: one with quotes in it has swallowed what follows.
pub(super) fn escape_inner_quotes(text: &str) -> Option<String> {
    count_bytes(text.len());
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
                    (true, _) => StringPlace::Key,
                    (false, Some('[')) => StringPlace::Item,
                    _ => StringPlace::Member,
                };
                rest = escape_string(rest, c, place, &mut out)?;
            }
            _ => {}
        }
    }
    Some(out)
}

#[derive(Clone, Copy, PartialEq)]
enum StringPlace {
    Key,
    Member,
    Item,
}

/// Copies one string up to its true end and gives back what follows.
fn escape_string<'t>(text: &'t str, quote: char, place: StringPlace, out: &mut String) -> Option<&'t str> {
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
        if place == StringPlace::Key || rest.trim_start().starts_with(quote) {
            return None;
        }
        inner += 1;
        out.push('\\');
        out.push(c);
    }
    None
}

/// Whether what follows a quote is what follows a string.
fn can_close(behind: &str, place: StringPlace) -> bool {
    let rest = behind.trim_start();
    let Some(next) = rest.chars().next() else {
        return true;
    };
    let after = rest[next.len_utf8()..].trim_start();
    count_bytes(behind.len() - after.len());
    match (place, next) {
        (StringPlace::Key, ':') | (StringPlace::Member, '}') | (StringPlace::Item, ']') => true,
        (StringPlace::Member, ',') => after.starts_with('}') || starts_with_key(after),
        (StringPlace::Item, ',') => after.starts_with(|c: char| {
            Quote::from_opening_char(c).is_some() || c.is_ascii_digit() || matches!(c, '-' | '{' | '[' | ']')
        }),
        _ => false,
    }
}

/// A quoted name and a colon; looks no further than the next quote, so that the whole stays linear.
pub(super) fn starts_with_key(text: &str) -> bool {
    let Some(quote) = text.chars().next().filter(|c| matches!(c, '"' | '\'')) else {
        return false;
    };
    let end = count_search(text.len(), text[1..].find(quote));
    end.is_some_and(|end| text[end + 2..].trim_start().starts_with(':'))
}
