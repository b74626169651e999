//! The envelope that nearly all calls come in, `{"name": "f", "arguments": {…}}`, where it lies before us whole.

use std::ops::Range;

use helve_json::byte_search::begins;
use helve_json::skip::{container_end, plain_text, skip_blanks, value};

/// A call as it stands in the text.
pub(crate) struct Usual<'t> {
    pub(crate) name: &'t str,
    /// Where its arguments stand.
    pub(crate) arguments: Range<usize>,
    /// Where the envelope ends.
    pub(crate) end: usize,
}

/// Reads it at the position; `None` where anything is out of the ordinary, which is for the envelope to judge, or where
/// nobody of this name may be called.
pub(crate) fn read(text: &str, from: usize, may_call: impl Fn(&str) -> bool) -> Option<Usual<'_>> {
    let bytes = text.as_bytes();
    if *bytes.get(from)? != b'{' {
        return None;
    }
    let name_at = member(bytes, skip_blanks(bytes, from + 1), &["\"name\""])?;
    let name = plain_text(text, name_at)?;
    if name.is_empty() || name.starts_with(char::is_whitespace) || name.ends_with(char::is_whitespace) {
        return None;
    }
    // Before the arguments, which may be long, and would be looked at in vain.
    if !may_call(name) {
        return None;
    }
    let comma = skip_blanks(bytes, name_at + name.len() + 2);
    if *bytes.get(comma)? != b',' {
        return None;
    }
    let at = member(bytes, skip_blanks(bytes, comma + 1), &["\"arguments\"", "\"parameters\""])?;
    if *bytes.get(at)? != b'{' {
        return None;
    }
    let end = container_end(bytes, at, 1)?;
    let close = skip_blanks(bytes, end);
    (*bytes.get(close)? == b'}').then(|| Usual { name, arguments: at..end, end: close + 1 })
}

/// Where the value begins of the member at the position, if it has one of these names.
fn member(bytes: &[u8], at: usize, names: &[&str]) -> Option<usize> {
    let rest = bytes.get(at..)?;
    let name = names.iter().find(|name| begins(rest, name))?;
    value(bytes, at + name.len())
}
