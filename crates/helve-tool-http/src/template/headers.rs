//! Headers that a row may set, and what may be in them.

use helve_egress::header::{AUTHORIZATION, HeaderName, HeaderValue};
use helve_egress::why_header_is_refused;
use helve_types::Notice;

pub(crate) fn parse_name(written: &str) -> Result<HeaderName, Notice> {
    let name = HeaderName::try_from(written).map_err(|_| Notice::definition_header_unfit(written))?;
    if name == AUTHORIZATION {
        return Err(Notice::definition_header_credentials());
    }
    match why_header_is_refused(name.as_str()) {
        Some(why) => Err(Notice::definition_header_not_allowed(why)),
        None => Ok(name),
    }
}

pub(crate) fn parse_value(text: &str) -> Result<HeaderValue, Notice> {
    if text.chars().any(char::is_control) {
        return Err(Notice::definition_header_control());
    }
    HeaderValue::from_bytes(text.as_bytes()).map_err(|_| Notice::definition_header_value())
}
