//! The address: parsed when it is defined, and never more than its parts afterwards.
//!
//! An argument is encoded so that it stays within its segment or its query parameter, and the address that comes
//! out is read once more and compared: it has the origin, the beginning and the number of segments of the template,
//! or it is not used.

use helve_egress::Url;
use helve_types::Notice;
use serde_json::{Map, Value};

use super::text::{Text, TextPart, join_list};

/// Shown to those who wrote no address.
const EXAMPLE: &str = "https://api.example.com/v1/{city}";

#[derive(Debug)]
pub(crate) struct UrlTemplate {
    /// The origin with nothing behind it.
    base: Url,
    segments: Vec<Text>,
    query: Vec<(String, Option<Text>)>,
    /// The path as far as no argument can change it.
    prefix: String,
}

impl UrlTemplate {
    pub(super) fn parse(written: &str) -> Result<Self, Notice> {
        if written.contains(|c: char| c.is_control() || c.is_whitespace() || c == '\\') {
            return Err(Notice::definition_url_blank());
        }
        if written.contains('#') {
            return Err(Notice::definition_url_fragment());
        }
        let Some((scheme, rest)) = written.split_once("://") else {
            return Err(Notice::definition_url_not_whole(EXAMPLE));
        };
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, rest) = rest.split_at(end);
        if scheme.contains(['{', '}']) || authority.contains(['{', '}']) {
            return Err(Notice::definition_url_placeholder_in_host());
        }
        if authority.contains('@') {
            return Err(Notice::definition_url_credentials());
        }
        let unreadable = |error: ::url::ParseError| {
            Notice::definition_url_unreadable(&format!("{scheme}://{authority}"), &error.to_string())
        };
        let base = Url::parse(&format!("{scheme}://{authority}/")).map_err(unreadable)?;
        let (path, query) = match rest.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (rest, None),
        };
        let path = path.strip_prefix('/').unwrap_or(path);
        let segments: Vec<Text> = path.split('/').map(parse_encoded_text).collect::<Result<_, _>>()?;
        if let Some(dots) = segments.iter().filter_map(Text::literal).find(|segment| is_dots(segment)) {
            return Err(Notice::definition_url_dots(&dots));
        }
        let query = query.into_iter().flat_map(|query| query.split('&')).filter(|pair| !pair.is_empty());
        let query = query.map(parse_pair).collect::<Result<_, _>>()?;
        let prefix = literal_prefix(&segments);
        Ok(Self { base, segments, query, prefix })
    }

    pub(super) fn base(&self) -> &Url {
        &self.base
    }

    pub(super) fn names_in_path(&self) -> impl Iterator<Item = &str> {
        self.segments.iter().flat_map(Text::names)
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        let query = self.query.iter().filter_map(|(_, text)| text.as_ref());
        self.names_in_path().chain(query.flat_map(Text::names))
    }

    /// The names of the query parameters that the template has.
    pub(super) fn keys(&self) -> impl Iterator<Item = &str> {
        self.query.iter().map(|(key, _)| key.as_str())
    }

    /// The address with its arguments and further query parameters.
    pub(super) fn fill(&self, given: &Map<String, Value>, more: &[(String, String)]) -> Result<Url, String> {
        let mut address = self.base.as_str().trim_end_matches('/').to_owned();
        for segment in &self.segments {
            address.push('/');
            address.push_str(&fill_segment(segment, given)?);
        }
        let mut mark = '?';
        let mut put = |pair: &str| {
            address.push(std::mem::replace(&mut mark, '&'));
            address.push_str(pair);
        };
        for (key, text) in &self.query {
            let Some(text) = text else {
                put(&encode_literal(key));
                continue;
            };
            for value in fill_query(text, given) {
                put(&format!("{}={value}", encode_literal(key)));
            }
        }
        for (key, value) in more {
            put(&format!("{}={}", encode(key), encode(value)));
        }
        self.parse_and_verify(&address)
    }

    /// Nothing that was put in has become anything else than what it was put in as.
    fn parse_and_verify(&self, address: &str) -> Result<Url, String> {
        let changed =
            || "an argument cannot be put into the address of this tool; give another value".to_owned();
        let url = Url::parse(address).map_err(|_| changed())?;
        let segments = url.path_segments().map_or(0, Iterator::count);
        let same = url.as_str() == address
            && url.origin() == self.base.origin()
            && url.username().is_empty()
            && url.password().is_none()
            && url.fragment().is_none()
            && url.path().starts_with(&self.prefix)
            && segments == self.segments.len();
        if same { Ok(url) } else { Err(changed()) }
    }
}

fn parse_pair(pair: &str) -> Result<(String, Option<Text>), Notice> {
    let (key, value) = match pair.split_once('=') {
        Some((key, value)) => (key, Some(value)),
        None => (pair, None),
    };
    if key.contains(['{', '}']) {
        return Err(Notice::definition_url_query_name(key));
    }
    Ok((key.to_owned(), value.map(parse_encoded_text).transpose()?))
}

/// A text whose literal parts are already as they are sent.
fn parse_encoded_text(written: &str) -> Result<Text, Notice> {
    let mut text = Text::parse(written)?;
    for part in &mut text.parts {
        if let TextPart::Literal(literal) = part {
            *literal = encode_literal(literal);
        }
    }
    Ok(text)
}

fn literal_prefix(segments: &[Text]) -> String {
    let mut prefix = String::new();
    for segment in segments {
        prefix.push('/');
        match segment.literal() {
            Some(literal) => prefix.push_str(&literal),
            None => {
                if let Some(TextPart::Literal(begin)) = segment.parts.first() {
                    prefix.push_str(begin);
                }
                break;
            }
        }
    }
    prefix
}

fn fill_segment(segment: &Text, given: &Map<String, Value>) -> Result<String, String> {
    let mut filled = String::new();
    for part in &segment.parts {
        match part {
            TextPart::Literal(literal) => filled.push_str(literal),
            TextPart::Placeholder(name) => {
                let value = given.get(name).filter(|value| !value.is_object());
                let text = value.and_then(join_list).filter(|text| !text.is_empty());
                let text = text.ok_or_else(|| {
                    format!("`{name}` is a part of the address: give a text that is not empty")
                })?;
                check_segment(name, &text)?;
                filled.push_str(&encode(&text));
            }
        }
    }
    let has_name = segment.names().next();
    match has_name {
        Some(name) if is_dots(&filled) => Err(format!("`{name}`: `{filled}` is no value here")),
        _ => Ok(filled),
    }
}

/// Some servers decode a segment before they look where it leads, some of them twice.
fn check_segment(name: &str, text: &str) -> Result<(), String> {
    if text.chars().any(char::is_control) {
        return Err(format!(
            "`{name}` is a part of the address and has no line breaks or control characters"
        ));
    }
    let mut decoded = text.to_owned();
    for _ in 0..3 {
        if decoded.split(['/', '\\']).any(|part| part == "." || part == "..") {
            return Err(format!(
                "`{name}` is a part of the address and must not lead elsewhere with `.` or `..`"
            ));
        }
        decoded = decode(&decoded);
    }
    Ok(())
}

fn fill_query(text: &Text, given: &Map<String, Value>) -> Vec<String> {
    if text.single_placeholder().is_some() {
        return text.fill_all(given).iter().map(|value| encode(value)).collect();
    }
    let parts = text.parts.iter().map(|part| match part {
        TextPart::Literal(literal) => Some(literal.clone()),
        TextPart::Placeholder(name) => given.get(name).and_then(join_list).map(|value| encode(&value)),
    });
    parts.collect::<Option<String>>().into_iter().collect()
}

fn is_dots(segment: &str) -> bool {
    let decoded = segment.replace("%2e", ".").replace("%2E", ".");
    decoded == "." || decoded == ".."
}

/// An argument: everything but letters, digits and `-._~`.
fn encode(text: &str) -> String {
    percent_encode(text, |byte| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte))
}

/// What the definition wrote: what is encoded already stays so.
fn encode_literal(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~!$&()*+,;=:@/".contains(&byte);
    let is_code = |at: usize| {
        text.as_bytes().get(at + 1..at + 3).is_some_and(|code| code.iter().all(u8::is_ascii_hexdigit))
    };
    let mut encoded = String::new();
    for (at, c) in text.char_indices() {
        match c {
            '%' if is_code(at) => encoded.push('%'),
            c => encoded.push_str(&percent_encode(c.encode_utf8(&mut [0; 4]), plain)),
        }
    }
    encoded
}

fn percent_encode(text: &str, plain: impl Fn(u8) -> bool) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if plain(byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

fn decode(text: &str) -> String {
    let bytes = text.as_bytes();
    let (mut decoded, mut at) = (vec![], 0);
    while at < bytes.len() {
        let code = bytes.get(at + 1..at + 3).and_then(|code| std::str::from_utf8(code).ok());
        let byte = code.and_then(|code| u8::from_str_radix(code, 16).ok()).filter(|_| bytes[at] == b'%');
        decoded.push(byte.unwrap_or(bytes[at]));
        at += if byte.is_some() { 3 } else { 1 };
    }
    String::from_utf8_lossy(&decoded).into_owned()
}
