//! What a body means: a value, a text, a file, or nothing.

mod charset;
mod kind;

use std::fmt::Write;

use helve_egress::Secrets;
use helve_egress::header::{
    CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, ETAG, EXPIRES, HeaderMap, LAST_MODIFIED, LOCATION,
};
use helve_types::{Effect, OutputFile, ToolOutput};
use serde_json::{Map, Value};

use crate::call::AnswerHead;
use crate::json;

pub(crate) use self::charset::{Charset, decode_text, json_as_written, to_utf8};
pub(crate) use self::kind::ContentKind;

/// How much of a reason is told.
const REASON_BYTES_MAX: usize = 1 << 10;
const UNTYPED: &str = "application/octet-stream";
/// What a server calls an answer that is a result document.
const DOCUMENT: &str = "application/vnd.helve.result+json";
/// The headers that a HEAD is asked for.
const HEADS: [helve_egress::header::HeaderName; 7] =
    [CONTENT_TYPE, CONTENT_LENGTH, LAST_MODIFIED, ETAG, EXPIRES, CACHE_CONTROL, LOCATION];

/// An answer that was understood.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum HttpAnswer {
    Empty,
    Value(Value),
    /// What a transform picked, in which there is nothing.
    Hollow(Value),
    /// Several values of one answer.
    Values(Vec<Value>),
    Text(String),
    /// Words of ours.
    Note(String),
    File(OutputFile),
}

/// What the body is; or why it is not what was wanted. The body is UTF-8 already, if it is text: what was decoded twice
/// would be garbled.
pub(crate) fn read_answer(
    tool: &str,
    head: &AnswerHead,
    body: Vec<u8>,
    wants_json: bool,
) -> Result<HttpAnswer, String> {
    if body.iter().all(u8::is_ascii_whitespace) {
        return Ok(HttpAnswer::Empty);
    }
    let kind = match &head.kind {
        // What a server calls anything that it does not know, text included.
        ContentKind::File if head.media_type == UNTYPED && is_text(&body) => &ContentKind::Unknown,
        kind => kind,
    };
    match kind {
        ContentKind::Json => match json::parse(strip_byte_order_mark(&body)) {
            Ok(value) => Ok(HttpAnswer::Value(value)),
            Err(problem) => Err(format!("the answer cannot be used: {problem}")),
        },
        ContentKind::Lines => Ok(read_lines(&String::from_utf8_lossy(&body))),
        ContentKind::Html | ContentKind::Text | ContentKind::Events | ContentKind::Unknown => {
            // Many servers call their JSON text, or nothing at all.
            let looks_like_json =
                matches!(strip_byte_order_mark(&body).trim_ascii_start().first(), Some(b'{' | b'['));
            if (wants_json || looks_like_json)
                && let Ok(value) = json::parse(strip_byte_order_mark(&body))
            {
                return Ok(HttpAnswer::Value(value));
            }
            match kind {
                ContentKind::Html if wants_json => Err("the answer is a web page, not JSON".into()),
                _ if wants_json => Err(format!("the answer is no JSON but {}", head.media_type)),
                ContentKind::Unknown if std::str::from_utf8(&body).is_err() => {
                    Ok(file_answer(tool, head, body))
                }
                _ => Ok(HttpAnswer::Text(decode_text(&head.charset, &body))),
            }
        }
        ContentKind::File if wants_json => {
            Err(format!("the answer is a file ({}), not JSON", head.media_type))
        }
        ContentKind::File => Ok(file_answer(tool, head, body)),
    }
}

/// Whether the server says that its answer describes a result, and is not the result itself.
pub(crate) fn is_document(head: &AnswerHead) -> bool {
    head.media_type == DOCUMENT
}

fn is_text(body: &[u8]) -> bool {
    !body.contains(&0) && std::str::from_utf8(body).is_ok()
}

fn strip_byte_order_mark(body: &[u8]) -> &[u8] {
    body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body)
}

/// The text of a body as one JSON value, if it is JSON: lines of it are the items of a list.
pub(crate) fn to_json_text(kind: &ContentKind, body: &str) -> String {
    let body = body.trim_start_matches('\u{feff}');
    match kind {
        ContentKind::Lines => {
            let lines: Vec<_> = body.lines().filter(|line| !line.trim().is_empty()).collect();
            format!("[{}]", lines.join(","))
        }
        _ => body.to_owned(),
    }
}

/// A value on each line, or just text.
fn read_lines(text: &str) -> HttpAnswer {
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let values: Result<Vec<Value>, String> = lines.map(|line| json::parse(line.as_bytes())).collect();
    values.map_or_else(|_| HttpAnswer::Text(text.to_owned()), |values| HttpAnswer::Value(values.into()))
}

/// What a transform picked.
pub(crate) fn from_picked(mut found: Vec<Value>) -> HttpAnswer {
    match (found.len(), found.pop()) {
        (1, Some(only)) if is_empty_throughout(&only) => HttpAnswer::Hollow(only),
        (1, Some(only)) => HttpAnswer::Value(only),
        (_, None) => HttpAnswer::Note("The answer has nothing that this tool picks from it.".into()),
        (_, Some(last)) => {
            found.push(last);
            HttpAnswer::Values(found)
        }
    }
}

/// Whether it has a place for something, and nothing is there.
fn is_empty_throughout(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => !items.is_empty() && items.iter().all(is_empty_throughout),
        Value::Object(members) => !members.is_empty() && members.values().all(is_empty_throughout),
        _ => false,
    }
}

/// What the answer to a HEAD says.
pub(crate) fn read_headers(headers: &HeaderMap) -> HttpAnswer {
    let known =
        HEADS.iter().filter_map(|name| Some((name.to_string(), headers.get(name)?.to_str().ok()?.into())));
    HttpAnswer::Value(Value::Object(known.collect::<Map<String, Value>>()))
}

fn file_answer(tool: &str, head: &AnswerHead, bytes: Vec<u8>) -> HttpAnswer {
    let media_type = head.media_type.clone();
    let last = head.url.path_segments().and_then(|mut segments| segments.next_back()).unwrap_or_default();
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    let named = last.contains('.') && !last.starts_with('.') && last.len() <= 100 && last.chars().all(plain);
    let name = if named { last.to_owned() } else { format!("{tool}.{}", extension(&media_type)) };
    HttpAnswer::File(OutputFile { name, media_type, bytes })
}

fn extension(media_type: &str) -> &str {
    match media_type {
        "image/jpeg" => "jpg",
        "image/svg+xml" => "svg",
        "audio/mpeg" => "mp3",
        UNTYPED => "bin",
        other => {
            let last = other.rsplit(['/', '.', '-', '+']).next().unwrap_or_default();
            let fits = !last.is_empty() && last.len() <= 8 && last.chars().all(|c| c.is_ascii_alphanumeric());
            if fits { last } else { "bin" }
        }
    }
}

/// A text as it is, anything else as JSON.
pub(crate) fn display_value(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

impl HttpAnswer {
    pub(crate) fn into_output(self, effect: Effect, status: u16) -> ToolOutput {
        match self {
            Self::Empty if effect == Effect::Read => {
                ToolOutput::text(format!("The answer is empty (status {status})."))
            }
            Self::Empty => ToolOutput::text(format!("Done (status {status}); there is no further answer.")),
            Self::Value(value) => ToolOutput::text(display_value(&value)).with_data(value),
            Self::Hollow(value) => {
                let note = "Nothing but null was found: the answer may not have what this tool looks for.";
                ToolOutput::text(format!("{}\n{note}", display_value(&value))).with_data(value)
            }
            Self::Values(values) => {
                let lines: Vec<String> = values.iter().map(display_value).collect();
                ToolOutput::text(lines.join("\n")).with_data(values.into())
            }
            Self::Text(text) | Self::Note(text) => ToolOutput::text(text),
            Self::File(file) => {
                let (name, media_type, bytes) = (&file.name, &file.media_type, file.bytes.len());
                let text = format!(
                    "The answer is a file: `{name}` ({media_type}, {bytes} bytes). The user can open it."
                );
                ToolOutput { files: vec![file], ..ToolOutput::text(text) }
            }
        }
    }
}

/// What an error's body says, in a kilobyte: the message of its JSON, or its text. A page for people says nothing.
pub(crate) fn reason_in_error_body(kind: &ContentKind, charset: &Charset, body: &[u8]) -> String {
    let body = &to_utf8(kind, charset, body.to_vec());
    let text = match kind {
        ContentKind::File => return String::new(),
        ContentKind::Html => find_page_title(&String::from_utf8_lossy(body)),
        _ => match json::parse(strip_byte_order_mark(body)) {
            Ok(value) => find_error_message(&value),
            Err(_) => decode_text(charset, body),
        },
    };
    let words: Vec<&str> = text.split_whitespace().collect();
    let mut reason = String::new();
    for c in words.join(" ").chars().filter(|c| !c.is_control()) {
        if reason.len() + c.len_utf8() > REASON_BYTES_MAX {
            reason.push('…');
            break;
        }
        reason.push(c);
    }
    reason.trim_end_matches('.').to_owned()
}

/// The sentence in an error of one of the usual shapes; all of it if it has none.
fn find_error_message(value: &Value) -> String {
    const NAMES: [&str; 8] =
        ["message", "detail", "error_description", "error", "title", "reason", "description", "msg"];
    let mut found = value;
    // `{"error": {"message": "…"}}` and the like.
    for _ in 0..3 {
        let Some(next) = NAMES.iter().find_map(|name| found.get(name).filter(|next| !next.is_null())) else {
            break;
        };
        found = next;
    }
    let mut text = display_value(found);
    if let Some(errors) = value.get("errors").filter(|errors| !errors.is_null() && found != value) {
        _ = write!(text, " {errors}");
    }
    text
}

/// The title of a page.
fn find_page_title(page: &str) -> String {
    let lower = page.to_ascii_lowercase();
    let inner = lower.find("<title").and_then(|at| Some(at + lower[at..].find('>')? + 1));
    let title = inner.and_then(|begin| page.get(begin..begin + lower[begin..].find("</title")?));
    title.unwrap_or("the body is a web page").to_owned()
}

/// Takes secrets out of every text in a value.
pub(crate) fn redact_value(value: &mut Value, secrets: &Secrets) {
    match value {
        Value::String(text) => *text = secrets.redact(text),
        Value::Array(items) => items.iter_mut().for_each(|item| redact_value(item, secrets)),
        Value::Object(members) => {
            let cleaned = std::mem::take(members).into_iter().map(|(name, mut member)| {
                redact_value(&mut member, secrets);
                (secrets.redact(&name), member)
            });
            *members = cleaned.collect();
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests;
