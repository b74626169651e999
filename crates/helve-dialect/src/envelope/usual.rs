//! The envelope that nearly all calls come in, `{"name": "f", "arguments": {…}}`, where it lies before us whole.

use crate::json::whole::{container_end, member, plain_text, skip_blanks};

/// A call as it stands in the text.
pub(super) struct Usual<'t> {
    pub(super) name: &'t str,
    pub(super) arguments: &'t str,
    /// Where the envelope ends.
    pub(super) end: usize,
}

/// Reads it at the position; `None` where anything is out of the ordinary, which is for the envelope to judge.
pub(super) fn read(text: &str, from: usize) -> Option<Usual<'_>> {
    let bytes = text.as_bytes();
    if *bytes.get(from)? != b'{' {
        return None;
    }
    let key = skip_blanks(bytes, from + 1);
    if !bytes[key..].starts_with(b"\"name\"") {
        return None;
    }
    let name_at = member(bytes, key)?;
    let name = plain_text(text, name_at)?;
    if name.is_empty() || name.starts_with(char::is_whitespace) || name.ends_with(char::is_whitespace) {
        return None;
    }
    let comma = skip_blanks(bytes, name_at + name.len() + 2);
    let key = skip_blanks(bytes, comma + 1);
    let holds_arguments =
        |key: &[u8]| key.starts_with(b"\"arguments\"") || key.starts_with(b"\"parameters\"");
    if *bytes.get(comma)? != b',' || !bytes.get(key..).is_some_and(holds_arguments) {
        return None;
    }
    let at = member(bytes, key)?;
    if *bytes.get(at)? != b'{' {
        return None;
    }
    let end = container_end(bytes, at, 1)?;
    let close = skip_blanks(bytes, end);
    (*bytes.get(close)? == b'}').then(|| Usual { name, arguments: &text[at..end], end: close + 1 })
}
