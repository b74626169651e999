//! What a response's head says besides success.

use std::time::Duration;

use helve_model::{ModelError, ModelErrorKind};
use jiff::fmt::rfc2822;
use reqwest::header::{CONTENT_ENCODING, CONTENT_TYPE, DATE, HeaderMap, HeaderName, LOCATION, RETRY_AFTER};
use reqwest::{StatusCode, Url};

/// Nobody waits longer, whatever the server asks for.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(3_600);
const RETRY_AFTER_MS: HeaderName = HeaderName::from_static("retry-after-ms");

/// The pause that a server asks for: in milliseconds, in seconds, or until a date. A date is read by the server's
/// own clock, which is in the response; ours may be wrong, and there is none here.
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

/// What is wrong with a head although its status is no error: it leads elsewhere, or its body cannot be read.
pub(super) fn unfit(status: StatusCode, headers: &HeaderMap, url: &Url) -> Option<ModelError> {
    let text = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    if status.is_redirection() {
        let place = text(LOCATION).and_then(|place| url.join(place).ok());
        let place = place.map(|place| format!(" to {}", shown(&place))).unwrap_or_default();
        let what = format!(
            "the model server answered {}: it sends elsewhere{place}, and Helve does not follow; \
             give the right address as base_url",
            status.as_u16()
        );
        return Some(ModelError::new(ModelErrorKind::Refused, what));
    }
    // Helve asks for plain text, so nothing can grow out of proportion when it is unpacked.
    let packed = text(CONTENT_ENCODING).filter(|encoding| !encoding.eq_ignore_ascii_case("identity"))?;
    let what =
        format!("the model server sent an answer that is packed with `{packed}`, which nobody asked for");
    status.is_success().then(|| ModelError::new(ModelErrorKind::Broken, what))
}

/// An address without what may be secret in it.
fn shown(url: &Url) -> String {
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    format!("{}://{}{port}{}", url.scheme(), url.host_str().unwrap_or_default(), url.path())
}

/// Whether the body is one piece of JSON.
pub(super) fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    kind.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_is_understood_in_every_way_it_is_asked_for_and_one_of_years_is_not_believed() {
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
