//! Headers that a row may set, and what may be in them.

use helve_egress::header::{HeaderName, HeaderValue};

/// These are made by the client that sends; a row that could set them could speak for somebody else.
const TRANSPORT: [&str; 11] = [
    "host",
    "content-length",
    "transfer-encoding",
    "connection",
    "keep-alive",
    "te",
    "trailer",
    "upgrade",
    "expect",
    "accept-encoding",
    "content-encoding",
];
/// These hold secrets, and a row holds none.
const CREDENTIALS: [&str; 3] = ["authorization", "proxy-authorization", "cookie"];

pub(crate) fn name(written: &str) -> Result<HeaderName, String> {
    let name = HeaderName::try_from(written).map_err(|_| format!("`{written}` is no header name"))?;
    if CREDENTIALS.contains(&name.as_str()) {
        return Err("credentials do not belong into a row; name the operator's secret in `endpoint.auth`".into());
    }
    if TRANSPORT.contains(&name.as_str()) || name.as_str().starts_with("proxy-") {
        return Err("this header is made by Helve when it sends; leave it out".into());
    }
    Ok(name)
}

pub(crate) fn value(text: &str) -> Result<HeaderValue, String> {
    if text.chars().any(char::is_control) {
        return Err("a header's value has no line breaks and no control characters".into());
    }
    HeaderValue::from_bytes(text.as_bytes()).map_err(|_| "this is no value of a header".into())
}
