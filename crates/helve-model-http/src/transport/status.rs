//! Checks the head of a response.

use std::time::Duration;

use helve_model::{ModelError, ModelErrorKind};
use jiff::fmt::rfc2822;
use reqwest::header::{CONTENT_ENCODING, CONTENT_TYPE, DATE, HeaderMap, HeaderName, LOCATION, RETRY_AFTER};
use reqwest::{StatusCode, Url};

/// The longest pause that Helve respects.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(3_600);
const RETRY_AFTER_MS: HeaderName = HeaderName::from_static("retry-after-ms");

/// The pause that a server asks for: in milliseconds, in seconds, or until a date. A date is compared with the server's
/// own clock in the `Date` header, because the local clock may be wrong.
pub(super) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: HeaderName| headers.get(name)?.to_str().ok().map(str::trim);
    let number = |text: &str| text.parse::<f64>().ok().filter(|number| number.is_finite());
    let asked = match (text(RETRY_AFTER_MS).and_then(number), text(RETRY_AFTER)) {
        (Some(ms), _) => Duration::try_from_secs_f64(ms / 1000.0).ok()?,
        (None, Some(text)) => match number(text) {
            Some(seconds) => Duration::try_from_secs_f64(seconds).ok()?,
            None => {
                let until = rfc2822::parse(text).ok()?.timestamp();
                let now = rfc2822::parse(headers.get(DATE)?.to_str().ok()?.trim()).ok()?.timestamp();
                Duration::try_from(until.duration_since(now)).unwrap_or_default()
            }
        },
        (None, None) => return None,
    };
    Some(asked.min(RETRY_AFTER_MAX))
}

/// The error of a response whose status is no error: a redirect, a web page, or a compressed body.
pub(super) fn response_error(status: StatusCode, headers: &HeaderMap, url: &Url) -> Option<ModelError> {
    let text = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    if status.is_redirection() {
        let place = text(LOCATION).and_then(|place| url.join(place).ok());
        let place = place.map(|place| format!(" to {}", display_url(&place))).unwrap_or_default();
        let what = format!(
            "the model server answered {}: it redirects{place}, which Helve does not follow; set \
             base_url to the right address",
            status.as_u16()
        );
        return Some(ModelError::new(ModelErrorKind::Refused, what));
    }
    if status.is_success() && media_type(headers).eq_ignore_ascii_case("text/html") {
        let what = "the answer is a web page, not from a model server; check base_url and proxies on the way";
        return Some(ModelError::new(ModelErrorKind::Broken, what));
    }
    // Helve asks for no compression, because a small body can unpack to an enormous one.
    let packed = text(CONTENT_ENCODING).filter(|encoding| !encoding.eq_ignore_ascii_case("identity"))?;
    let what = format!("the model server compressed its answer with `{packed}`, which Helve did not ask for");
    status.is_success().then(|| ModelError::new(ModelErrorKind::Broken, what))
}

/// An address without its secrets.
fn display_url(url: &Url) -> String {
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    format!("{}://{}{port}{}", url.scheme(), url.host_str().unwrap_or_default(), url.path())
}

/// Whether the body is declared as JSON.
pub(super) fn is_json(headers: &HeaderMap) -> bool {
    media_type(headers).eq_ignore_ascii_case("application/json")
}

fn media_type(headers: &HeaderMap) -> &str {
    let value = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    value.split(';').next().unwrap_or_default().trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_after_is_read_in_every_notation_and_limited() {
        let asked = |pairs: &[(&'static str, &str)]| {
            let mut headers = HeaderMap::new();
            for (name, value) in pairs {
                headers.insert(*name, value.parse().unwrap());
            }
            retry_after(&headers)
        };
        let now = ("date", "Wed, 21 Oct 2026 07:28:00 GMT");
        let at = |text| [("retry-after", text), now];
        let ms = |ms| Some(Duration::from_millis(ms));
        assert_eq!(asked(&[("retry-after", "2")]), ms(2_000));
        assert_eq!(asked(&[("retry-after", "0.25")]), ms(250));
        assert_eq!(asked(&[("retry-after", "0")]), ms(0));
        assert_eq!(asked(&[("retry-after", "1000000000")]), Some(RETRY_AFTER_MAX));
        assert_eq!(asked(&[("retry-after", "1e300")]), None);
        assert_eq!(asked(&[("retry-after", "-1")]), None);
        assert_eq!(asked(&[("retry-after", "inf")]), None);
        assert_eq!(asked(&[("retry-after", "soon")]), None);
        assert_eq!(asked(&[("retry-after-ms", "150"), ("retry-after", "60")]), ms(150));
        assert_eq!(asked(&[("retry-after-ms", "never"), ("retry-after", "1")]), ms(1_000));
        assert_eq!(asked(&at("Wed, 21 Oct 2026 07:28:05 GMT")), ms(5_000));
        assert_eq!(asked(&at("Wed, 21 Oct 2026 07:27:00 GMT")), ms(0));
        assert_eq!(asked(&at("Wed, 21 Oct 2099 07:28:00 GMT")), Some(RETRY_AFTER_MAX));
        assert_eq!(asked(&[("retry-after", "Wed, 21 Oct 2026 07:28:05 GMT")]), None);
        assert_eq!(asked(&[]), None);
    }
}
