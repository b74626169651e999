//! The form of a page, as browsers send it.

use axum::extract::Request;
use axum::http::{StatusCode, header};
use helve_tool::REPLY_BYTES_MAX;
use http_body_util::{BodyExt, Limited};

use crate::app::App;

/// A form has a decision and a reason.
const FORM_BYTES_MAX: usize = 32 << 10;
/// One that holds a reply has that too, of which each byte may be written as three.
const REPLY_FORM_BYTES_MAX: usize = FORM_BYTES_MAX + 3 * REPLY_BYTES_MAX;

/// The fields of a page's form, as browsers send them, in their order; or the status that says what is wrong with it.
pub(crate) async fn read_form(
    app: &App,
    request: Request,
    has_reply: bool,
) -> Result<Vec<(String, String)>, StatusCode> {
    let kind = request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let kind = kind.and_then(|kind| kind.split(';').next()).unwrap_or_default().trim();
    if !kind.eq_ignore_ascii_case("application/x-www-form-urlencoded") {
        return Err(StatusCode::UNSUPPORTED_MEDIA_TYPE);
    }
    let bytes_max = if has_reply { REPLY_FORM_BYTES_MAX } else { FORM_BYTES_MAX };
    let body = Limited::new(request.into_body(), bytes_max).collect();
    let body = tokio::time::timeout(app.limits.body_time, body).await;
    let body = body.map_err(|_| StatusCode::REQUEST_TIMEOUT)?;
    let bytes = body.map_err(|_| StatusCode::PAYLOAD_TOO_LARGE)?.to_bytes();
    Ok(form_fields(&bytes))
}

/// The fields of a form that is written as what stands behind a `?` is.
fn form_fields(bytes: &[u8]) -> Vec<(String, String)> {
    let pairs = bytes.split(|byte| *byte == b'&').filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| {
            let equals = pair.iter().position(|byte| *byte == b'=').unwrap_or(pair.len());
            (decode(&pair[..equals]), decode(pair.get(equals + 1..).unwrap_or_default()))
        })
        .collect()
}

fn decode(written: &[u8]) -> String {
    let hex = |at: usize| char::from(*written.get(at)?).to_digit(16);
    let mut bytes = Vec::with_capacity(written.len());
    let mut at = 0;
    while let Some(byte) = written.get(at) {
        let escaped = (*byte == b'%').then(|| hex(at + 1).zip(hex(at + 2))).flatten();
        let (decoded, length) = match (byte, escaped) {
            (_, Some((high, low))) => (u8::try_from(high * 16 + low).unwrap_or_default(), 3),
            (b'+', None) => (b' ', 1),
            (plain, None) => (*plain, 1),
        };
        bytes.push(decoded);
        at += length;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_as_browsers_write_them() {
        let read = |text: &str| form_fields(text.as_bytes());
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(
            read("a=1&a=+2%2B&&b&=c&%E4%BA%AC=%e9%83%BD"),
            [pair("a", "1"), pair("a", " 2+"), pair("b", ""), pair("", "c"), pair("京", "都"),]
        );
        // What is no escape stands for itself, and what is no text is seen to be none.
        assert_eq!(read("a=%zz%4&b=%FF"), [pair("a", "%zz%4"), pair("b", "\u{fffd}")]);
        assert_eq!(read(""), []);
    }
}
