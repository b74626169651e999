//! Headers that a row may set, and what may be in them.

use helve_egress::header::{AUTHORIZATION, HeaderName, HeaderValue};
use helve_egress::why_header_is_refused;

pub(crate) fn parse_name(written: &str) -> Result<HeaderName, String> {
    let name = HeaderName::try_from(written).map_err(|_| format!("`{written}` is no header name"))?;
    if name == AUTHORIZATION {
        return Err(
            "credentials do not belong into a row; name the operator's secret in `endpoint.auth`".into()
        );
    }
    match why_header_is_refused(name.as_str()) {
        Some(why) => Err(format!("this header is not a tool's to set: {why}")),
        None => Ok(name),
    }
}

pub(crate) fn parse_value(text: &str) -> Result<HeaderValue, String> {
    if text.chars().any(char::is_control) {
        return Err("a header's value has no line breaks and no control characters".into());
    }
    HeaderValue::from_bytes(text.as_bytes()).map_err(|_| "this is no value of a header".into())
}
