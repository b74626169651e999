//! Small questions to whole JSON texts.

use std::borrow::Cow;

use crate::scanner::DEPTH_MAX;
use crate::work::count_bytes;

/// Whether the text is one JSON object and nothing else.
pub fn is_object(text: &str) -> bool {
    count_bytes(text.len());
    text.trim_start().starts_with('{') && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

/// Whether JSON is no deeper than what stands inside so many containers may be, so that the whole can be read again.
pub fn fits_inside(json: &str, outer: usize) -> bool {
    count_bytes(json.len());
    let mut depth = outer;
    let mut deepest = outer;
    let (mut in_string, mut escaped) = (false, false);
    for byte in json.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => in_string = !in_string,
            b'[' | b'{' if !in_string => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest <= DEPTH_MAX
}

/// The text of a JSON string, without its quotes and escapes.
pub fn decode_string(raw: &str) -> Option<Cow<'_, str>> {
    count_bytes(raw.len());
    match raw.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        Some(inner) if crate::string_bytes::find_special(inner.as_bytes()).is_none() => {
            Some(Cow::Borrowed(inner))
        }
        _ => serde_json::from_str(raw).ok().map(Cow::Owned),
    }
}

/// The same JSON without blanks between its tokens; digits and duplicate members stay as written.
pub fn remove_whitespace(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut in_string = false;
    let mut escaped = false;
    for c in text.chars() {
        if in_string {
            in_string = escaped || c != '"';
            escaped = !escaped && c == '\\';
        } else if matches!(c, ' ' | '\t' | '\n' | '\r') {
            continue;
        } else {
            in_string = c == '"';
        }
        out.push(c);
    }
    out
}
