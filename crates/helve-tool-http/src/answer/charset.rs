//! In which charset an answer is written, and its text as UTF-8.
//!
//! What the header says counts, then what the document says of itself. Servers say wrong things, so bytes that are UTF-8
//! are UTF-8 wherever that can be told.

use encoding_rs::{Encoding, UTF_8};
use helve_egress::header::{CONTENT_TYPE, HeaderMap};

use super::ContentKind;

/// A document says its charset near its beginning.
const SAID_WITHIN: usize = 1024;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Charset {
    Unsaid,
    Known(&'static Encoding),
    /// An unknown one.
    Other(String),
}

impl Charset {
    /// What the header says.
    pub(crate) fn from_headers(headers: &HeaderMap) -> Self {
        let written = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let said = written.split(';').skip(1).find_map(|parameter| {
            let (name, value) = parameter.split_once('=')?;
            name.trim().eq_ignore_ascii_case("charset").then(|| value.trim().trim_matches('"'))
        });
        said.map_or(Self::Unsaid, Self::from_label)
    }

    fn from_label(label: &str) -> Self {
        match Encoding::for_label(label.as_bytes()) {
            Some(known) => Self::Known(known),
            None if label.is_empty() => Self::Unsaid,
            None => Self::Other(label.chars().filter(char::is_ascii_graphic).take(40).collect()),
        }
    }

    /// What a page or an XML document says of itself.
    fn from_body(kind: &ContentKind, body: &[u8]) -> Self {
        let start = String::from_utf8_lossy(&body[..body.len().min(SAID_WITHIN)]).to_ascii_lowercase();
        let word = match kind {
            _ if start.trim_start().starts_with("<?xml") => "encoding=",
            ContentKind::Html => "charset=",
            _ => return Self::Unsaid,
        };
        let Some((_, after)) = start.split_once(word) else { return Self::Unsaid };
        let label = after.trim_start_matches(['"', '\'', ' ']);
        let end = label.find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '-' | '_' | ':' | '.'));
        Self::from_label(&label[..end.unwrap_or(label.len())])
    }
}

/// The body as UTF-8, as far as it is text and its charset is known.
pub(crate) fn to_utf8(kind: &ContentKind, said: &Charset, body: Vec<u8>) -> Vec<u8> {
    if *kind == ContentKind::File {
        return body;
    }
    let within = if *said == Charset::Unsaid { Charset::from_body(kind, &body) } else { Charset::Unsaid };
    let ((Charset::Known(encoding), _) | (_, Charset::Known(encoding))) = (said, &within) else {
        return body;
    };
    // Where ASCII is not ASCII, bytes that could be UTF-8 say nothing.
    let is_utf8 = *encoding == UTF_8 || encoding.is_ascii_compatible() && std::str::from_utf8(&body).is_ok();
    if is_utf8 { body } else { encoding.decode(&body).0.into_owned().into_bytes() }
}

/// The text of bytes that should be UTF-8 by now. What cannot be read shows as U+FFFD, and that is said.
pub(crate) fn decode_text(said: &Charset, bytes: &[u8]) -> String {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => {
            let why = match said {
                Charset::Other(name) => format!("the answer is written in {name}, which is not known"),
                Charset::Known(_) => "the answer is not written in the charset that its server names".into(),
                Charset::Unsaid => "the answer is not UTF-8, and its server does not say what it is".into(),
            };
            format!("[{why}; what could not be read shows as \u{fffd}]\n{}", String::from_utf8_lossy(bytes))
        }
    }
}

/// JSON as its server wrote it: its numbers and the order of its keys, without blanks between them. Texts are written as
/// they read, without escapes that need not be.
pub(crate) fn json_as_written(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let end = if first == '"' { end_of_text(rest) } else { first.len_utf8() };
        let (token, after) = rest.split_at(end);
        rest = after;
        match serde_json::from_str::<String>(token) {
            Ok(read) if first == '"' => out.push_str(&serde_json::Value::String(read).to_string()),
            _ if first.is_ascii_whitespace() => {}
            _ => out.push_str(token),
        }
    }
    out
}

/// Where the text that begins here ends, with its marks.
fn end_of_text(text: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}
