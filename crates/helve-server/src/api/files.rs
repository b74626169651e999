//! What calls left behind: the files that they made, and the whole of outputs that were cut for the model.
//!
//! Files were made by tools, and what tools give is written by strangers. So a file is served as something that a browser
//! shows or saves, never as something that it runs: types from a short list, no sniffing, no page of its own.

use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use helve_store::{KeptFile, StoreError};
use helve_tool::cut_piece;
use helve_types::{CallId, RunId};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::access::{Principal, Right};
use crate::app::App;
use crate::input::{Path, Query};
use crate::problem::Problem;
use crate::routes::{Operation, Routes};

pub(crate) fn routes(routes: Routes) -> Routes {
    routes
        .add_route(
            Operation::get(
                "/api/runs/{run}/calls/{call}/output",
                Right::Chat,
                "Read the whole of an output that was cut, or a part",
            )
            .for_user()
            .gives_bytes("text/plain")
            .with_answer_header("X-Helve-Whole-Bytes", "How many bytes the whole has.")
            .with_answer_header("X-Helve-Next-Offset", "Where to read on; absent at the end."),
            get_output,
        )
        .add_route(
            Operation::get(
                "/api/runs/{run}/files/{file}",
                Right::Chat,
                "Get a file that a call of the run made",
            )
            .for_user()
            .gives_bytes("*/*")
            .with_header("If-None-Match", "The `ETag` of a copy that the reader has.")
            .with_answer_header("ETag", "The file's id.")
            .or_status(304, "The reader has the file already."),
            get_file,
        )
}

/// Pictures, which a page may show.
const PICTURES: &[&str] = &["image/png", "image/jpeg", "image/gif", "image/webp"];
/// What a browser saves under its own type; anything else is bytes to it. None of these can run.
const OTHERS: &[&str] = &[
    "application/json",
    "application/pdf",
    "application/zip",
    "audio/mpeg",
    "audio/ogg",
    "audio/wav",
    "text/csv",
    "text/markdown",
    "text/plain",
    "video/mp4",
    "video/webm",
];
const POLICY: &str = "default-src 'none'; sandbox";

const WHOLE_BYTES: HeaderName = HeaderName::from_static("x-helve-whole-bytes");
const NEXT_OFFSET: HeaderName = HeaderName::from_static("x-helve-next-offset");

pub(crate) async fn get_file(
    State(app): State<App>,
    principal: Principal,
    Path((run, file)): Path<(String, String)>,
    asked: HeaderMap,
) -> Result<Response, Problem> {
    let run: RunId = run.parse().map_err(|_| Problem::not_found("file"))?;
    let file = app.runtime.store().file(principal.scope(), run, file).await?;
    Ok(file_response(&file, &asked))
}

fn file_response(file: &KeptFile, asked: &HeaderMap) -> Response {
    let tag = format!("\"{}\"", file.id);
    let is_held = asked.get(header::IF_NONE_MATCH).is_some_and(|held| held.as_bytes() == tag.as_bytes());
    let mut response = StatusCode::NOT_MODIFIED.into_response();
    if !is_held {
        response = file.bytes.to_vec().into_response();
        describe_file(&mut response, file);
    }
    set_headers(
        &mut response,
        [
            (header::ETAG, tag.as_str()),
            // The address is made from the bytes: it never means others. For this reader alone.
            (header::CACHE_CONTROL, "private, max-age=31536000, immutable"),
            (header::CONTENT_SECURITY_POLICY, POLICY),
            (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        ],
    );
    response
}

/// Says of what type the file is, and whether a browser shows it.
fn describe_file(response: &mut Response, file: &KeptFile) {
    let kind = served_type(&file.media_type);
    let how = if PICTURES.contains(&kind) { "inline" } else { "attachment" };
    let kind = if kind.starts_with("text/") { format!("{kind}; charset=utf-8") } else { kind.to_owned() };
    let disposition = format!("{how}; filename*=UTF-8''{}", percent_encode(&file.name));
    set_headers(
        response,
        [(header::CONTENT_TYPE, kind.as_str()), (header::CONTENT_DISPOSITION, &disposition)],
    );
}

/// The type as it is known here, or plain bytes.
fn served_type(media_type: &str) -> &'static str {
    let name = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let known = PICTURES.iter().chain(OTHERS).find(|known| **known == name);
    known.copied().unwrap_or("application/octet-stream")
}

/// A name as RFC 8187 wants it.
pub(crate) fn percent_encode(name: &str) -> String {
    let mut text = String::new();
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            text.push(char::from(byte));
        } else {
            text.push_str(&format!("%{byte:02X}"));
        }
    }
    text
}

/// Which part of an output.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct OutputQuery {
    /// The byte to begin at; the first if not said.
    #[serde(default)]
    offset: usize,
    /// How many bytes at most; all if not said. Characters are never split.
    #[serde(default)]
    limit: Option<usize>,
}

pub(crate) async fn get_output(
    State(app): State<App>,
    principal: Principal,
    Path((run, call)): Path<(String, String)>,
    Query(query): Query<OutputQuery>,
) -> Result<Response, Problem> {
    let run: RunId = run.parse().map_err(|_| Problem::not_found("run"))?;
    let call: CallId = call.parse().map_err(|_| Problem::not_found("call"))?;
    let store = app.runtime.store();
    store.run(principal.scope(), run).await?;
    if call.run != run {
        return Err(Problem::not_found("call"));
    }
    let whole = store.whole_output(call).await.map_err(|error| match error {
        StoreError::NotFound(_) => {
            let detail = "this call has no output that was cut; what it gave is in the run's events, whole";
            Problem::new(StatusCode::NOT_FOUND, "output_not_cut", detail)
        }
        other => other.into(),
    })?;
    let part = cut_piece(&whole, query.offset, query.limit.unwrap_or(usize::MAX));
    let mut response = part.text.to_owned().into_response();
    set_headers(
        &mut response,
        [
            (header::CONTENT_TYPE, "text/plain; charset=utf-8"),
            (header::CACHE_CONTROL, "private, no-cache"),
            (header::CONTENT_SECURITY_POLICY, POLICY),
            (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
            (WHOLE_BYTES, &whole.len().to_string()),
        ],
    );
    if part.end < whole.len() {
        set_headers(&mut response, [(NEXT_OFFSET, part.end.to_string().as_str())]);
    }
    Ok(response)
}

fn set_headers<const N: usize>(response: &mut Response, headers: [(HeaderName, &str); N]) {
    for (name, value) in headers {
        if let Ok(value) = HeaderValue::try_from(value) {
            response.headers_mut().insert(name, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_browser_could_run_is_plain_bytes() {
        for (said, served) in [
            ("image/png", "image/png"),
            ("IMAGE/PNG; x=y", "image/png"),
            ("text/plain;charset=gbk", "text/plain"),
            ("text/html", "application/octet-stream"),
            ("image/svg+xml", "application/octet-stream"),
            ("application/xhtml+xml", "application/octet-stream"),
            ("text/javascript", "application/octet-stream"),
            ("image/png\r\nx: y", "application/octet-stream"),
            ("", "application/octet-stream"),
        ] {
            assert_eq!(served_type(said), served, "{said}");
        }
    }

    #[test]
    fn a_name_cannot_leave_its_header() {
        assert_eq!(percent_encode("猫 \"x\"\r\n.png"), "%E7%8C%AB%20%22x%22%0D%0A.png");
    }
}
