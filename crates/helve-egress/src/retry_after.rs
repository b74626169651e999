//! How long a server asks to be left alone.

use std::time::Duration;

use reqwest::header::{HeaderMap, RETRY_AFTER};

/// No caller waits longer, whatever the server asks for.
const MAX: Duration = Duration::from_secs(3_600);

/// The pause of `Retry-After`, in seconds or until a date; `now_ms` is in milliseconds since 1970.
pub fn retry_after(headers: &HeaderMap, now_ms: i64) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    let pause = match text.parse() {
        Ok(seconds) => Duration::from_secs(seconds),
        // More seconds than a number holds are still a number.
        Err(_) if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) => MAX,
        Err(_) => {
            let date = jiff::fmt::rfc2822::parse(text).ok()?;
            let left = date.timestamp().as_millisecond().saturating_sub(now_ms);
            Duration::from_millis(u64::try_from(left).unwrap_or(0))
        }
    };
    Some(pause.min(MAX))
}

#[cfg(test)]
mod tests {
    use reqwest::header::HeaderValue;

    use super::*;

    #[test]
    fn seconds_and_dates_are_understood_and_bounded() {
        let pause = |text: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(RETRY_AFTER, HeaderValue::from_str(text).unwrap());
            // Friday, 14 July 2017, 02:40:00 UTC.
            retry_after(&headers, 1_500_000_000_000).map(|pause| pause.as_secs())
        };
        assert_eq!(pause("7"), Some(7));
        assert_eq!(pause(" 0 "), Some(0));
        assert_eq!(pause("Fri, 14 Jul 2017 02:40:30 GMT"), Some(30));
        assert_eq!(pause("Fri, 14 Jul 2017 02:39:30 GMT"), Some(0));
        assert_eq!(pause("1000000000"), Some(3_600));
        assert_eq!(pause("99999999999999999999999"), Some(3_600));
        assert_eq!(pause(""), None);
        assert_eq!(pause("1.5"), None);
        assert_eq!(pause("soon"), None);
        assert_eq!(pause("-5"), None);
        assert_eq!(retry_after(&HeaderMap::new(), 0), None);
    }
}
