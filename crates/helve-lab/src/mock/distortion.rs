//! Frames that are written in odd ways, or damaged.

use std::time::Duration;

use bytes::Bytes;

use super::answer::ResponseChunk;
use super::fault::Fault;
use super::protocol::Framing;

const DEPTH: usize = 100_000;
const MARK: &str = "\u{feff}";

/// A token as it goes out, with what is put before it.
pub(super) fn token(
    n: usize,
    token: &Bytes,
    framing: Framing,
    fault: Option<Fault>,
) -> impl Iterator<Item = Bytes> {
    let odd = |json: &str| match framing {
        Framing::Lines => Bytes::from(format!("{json}\n")),
        _ => Bytes::from(format!("data: {json}\n\n")),
    };
    let mut before = None;
    let mut changed = None;
    match fault {
        Some(Fault::Invalid(after)) if after == n => before = Some(odd("{\"choices\": [oops}")),
        Some(Fault::Nested(after)) if after == n => before = Some(odd(&"[".repeat(DEPTH))),
        Some(Fault::Truncated(after)) if after == n => {
            changed = replace_json(token, |json| json[..middle(json)].to_owned());
        }
        Some(Fault::Nan(after)) if after == n => {
            changed = replace_json(token, |json| json.replacen('{', "{\"mock\":NaN,", 1));
        }
        // Words end with a space, and there is no other space before a quote.
        Some(Fault::Surrogate(after)) if after == n => {
            changed = replace_json(token, |json| json.replacen(" \"", " \\ud83d\"", 1));
        }
        Some(Fault::Twice(after)) if after == n => changed = replace_json(token, duplicate_key),
        Some(Fault::Unknown) => {
            let body = serde_json::json!({"type": "mock.unknown", "mock": [1, {"deep": null}]});
            before = Some(Bytes::from(format!("event: mock.unknown\ndata: {body}\n\n")));
        }
        Some(Fault::Comments(count)) => before = Some(Bytes::from(": still here\n\n".repeat(count))),
        _ => {}
    }
    before.into_iter().chain([changed.unwrap_or_else(|| token.clone())])
}

/// The last JSON of a frame, replaced.
fn replace_json(frame: &Bytes, change: impl Fn(&str) -> String) -> Option<Bytes> {
    let text = std::str::from_utf8(frame).ok()?;
    let start = text.rfind("data: ").map_or(0, |at| at + "data: ".len());
    let (before, json) = text.split_at(start);
    let (json, after) = json.split_at(json.find('\n')?);
    Some(Bytes::from(format!("{before}{}{after}", change(json))))
}

fn middle(text: &str) -> usize {
    (0..=text.len() / 2).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

fn duplicate_key(json: &str) -> String {
    let object: serde_json::Map<String, serde_json::Value> = serde_json::from_str(json).unwrap_or_default();
    // The one that matters most is the longest.
    let longest = object.iter().max_by_key(|(_, value)| value.to_string().len());
    let Some((key, value)) = longest else { return json.to_owned() };
    json.replacen('{', &format!("{{{}:{value},", serde_json::json!(key)), 1)
}

/// The beginning of a chunk, its size and half of its bytes.
pub(super) fn halve_chunk(bytes: &Bytes) -> Bytes {
    let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
    chunk.extend_from_slice(&bytes[..bytes.len() / 2]);
    chunk.into()
}

/// What concerns all bytes of the body alike.
pub(super) fn distort(pieces: Vec<ResponseChunk>, fault: Option<Fault>) -> Vec<ResponseChunk> {
    let each = |change: fn(&Bytes) -> Vec<Bytes>| {
        let change = move |piece| match piece {
            ResponseChunk::Chunk(bytes) => change(&bytes).into_iter().map(ResponseChunk::Chunk).collect(),
            other => vec![other],
        };
        pieces.clone().into_iter().flat_map(change).collect()
    };
    match fault {
        Some(Fault::CrLf) => each(|bytes| vec![replace_line_ends(bytes, &["\r\n"])]),
        Some(Fault::Cr) => each(|bytes| vec![replace_line_ends(bytes, &["\r"])]),
        Some(Fault::Mixed) => each(|bytes| vec![replace_line_ends(bytes, &["\r\n", "\n", "\r"])]),
        Some(Fault::Tight) => each(|bytes| {
            let text = String::from_utf8_lossy(bytes);
            vec![Bytes::from(text.replace("data: ", "data:"))]
        }),
        Some(Fault::Bytes) => each(|bytes| {
            // Inside of characters, and between CR and LF.
            let bytes = replace_line_ends(bytes, &["\r\n"]);
            (0..bytes.len()).map(|at| bytes.slice(at..=at)).collect()
        }),
        Some(Fault::Bom) => {
            std::iter::once(ResponseChunk::Chunk(Bytes::from_static(MARK.as_bytes()))).chain(pieces).collect()
        }
        Some(Fault::Drip(ms)) => {
            let pause = Duration::from_millis(ms as u64);
            let mut said = 0;
            let slowly = |piece| match piece {
                // The beginning comes as it should, so that something of it is heard.
                ResponseChunk::Chunk(bytes) if said >= 4 => ResponseChunk::Drip(bytes, pause),
                piece => {
                    said += usize::from(matches!(piece, ResponseChunk::Chunk(_)));
                    piece
                }
            };
            pieces.into_iter().map(slowly).collect()
        }
        _ => pieces,
    }
}

fn replace_line_ends(bytes: &Bytes, endings: &[&str]) -> Bytes {
    let mut ending = endings.iter().cycle();
    let mut text = Vec::with_capacity(bytes.len() + 8);
    for byte in bytes.iter() {
        match byte {
            b'\n' => text.extend_from_slice(ending.next().unwrap_or(&"\n").as_bytes()),
            byte => text.push(*byte),
        }
    }
    text.into()
}
