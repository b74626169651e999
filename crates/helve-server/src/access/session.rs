//! The page's cookie: names a token, is signed, ends with it.

use axum::http::{HeaderMap, header};
use helve_types::Timestamp;
use subtle::ConstantTimeEq;

pub(crate) const COOKIE: &str = "helve_session";
/// A browser accepts a cookie of this name only by https and only from this exact host.
const HTTPS_COOKIE: &str = "__Host-helve_session";
/// A cookie counts only together with this header, which a foreign page cannot send.
pub(crate) const PAGE_HEADER: &str = "x-helve-page";
const DAYS_MAX: i64 = 30;
const DAY_MS: i64 = 24 * 60 * 60 * 1_000;

/// The value of a `Set-Cookie` header.
pub(super) fn session_cookie(token_id: &str, key: &[u8; 32], https: bool, now: Timestamp) -> String {
    let said = format!("{token_id}.{}", now.0);
    let mac = blake3::keyed_hash(key, said.as_bytes()).to_hex();
    format_cookie(&format!("{said}.{mac}"), https, DAYS_MAX * DAY_MS / 1_000)
}

/// The same for a session that has a secret of its own.
pub(super) fn format_session_cookie(text: &str, https: bool, hours: u32) -> String {
    format_cookie(text, https, i64::from(hours) * 60 * 60)
}

/// The value of a `Set-Cookie` header that takes the cookie away.
pub(crate) fn expired_cookie(https: bool) -> String {
    format_cookie("", https, 0)
}

fn format_cookie(value: &str, https: bool, seconds: i64) -> String {
    let (name, secure) = if https { (HTTPS_COOKIE, "; Secure") } else { (COOKIE, "") };
    format!("{name}={value}; HttpOnly; SameSite=Strict; Path=/; Max-Age={seconds}{secure}")
}

/// The cookie that a request of the page shows.
pub(super) fn page_cookie(headers: &HeaderMap, https: bool) -> Option<&str> {
    headers.get(PAGE_HEADER)?;
    let name = if https { HTTPS_COOKIE } else { COOKIE };
    let all = headers.get_all(header::COOKIE).into_iter().filter_map(|value| value.to_str().ok());
    all.flat_map(|cookies| cookies.split(';'))
        .find_map(|cookie| cookie.trim().strip_prefix(name)?.strip_prefix('='))
}

/// A session of the page: the token that it was traded for, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Session {
    pub(super) token: String,
    pub(super) issued_at: Timestamp,
}

/// The session that a cookie stands for.
pub(super) fn read_session(value: &str, key: &[u8; 32], now: Timestamp) -> Option<Session> {
    let (said, mac) = value.rsplit_once('.')?;
    let (id, issued) = said.rsplit_once('.')?;
    let expected = blake3::keyed_hash(key, said.as_bytes()).to_hex();
    let genuine: bool = expected.as_bytes().ct_eq(mac.as_bytes()).into();
    let issued_at = Timestamp(issued.parse().ok()?);
    let age = now.0.checked_sub(issued_at.0)?;
    let holds = genuine && (0..DAYS_MAX * DAY_MS).contains(&age);
    holds.then(|| Session { token: id.to_owned(), issued_at })
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: [u8; 32] = [7; 32];

    fn headers(cookie: &str, page: bool) -> HeaderMap {
        let mut headers = HeaderMap::new();
        let value = cookie.split(';').next().unwrap();
        headers.insert(header::COOKIE, format!("other=1; {value}").parse().unwrap());
        if page {
            headers.insert(PAGE_HEADER, "1".parse().unwrap());
        }
        headers
    }

    fn id_of(cookie: &str, key: &[u8; 32], now: i64) -> Option<String> {
        Some(read_session(page_cookie(&headers(cookie, true), false)?, key, Timestamp(now))?.token)
    }

    #[test]
    fn a_cookie_names_its_token_until_it_is_old() {
        let cookie = session_cookie("hv_1", &KEY, false, Timestamp(1_000));
        assert_eq!(id_of(&cookie, &KEY, 2_000).as_deref(), Some("hv_1"));
        assert_eq!(id_of(&cookie, &KEY, 1_000 + DAYS_MAX * DAY_MS), None);
    }

    #[test]
    fn a_cookie_without_the_pages_header_or_with_another_name_in_it_counts_for_nothing() {
        let cookie = session_cookie("hv_1", &KEY, false, Timestamp(1_000));
        assert_eq!(page_cookie(&headers(&cookie, false), false), None);
        assert_eq!(id_of(&cookie.replace("hv_1", "hv_2"), &KEY, 2_000), None);
        assert_eq!(id_of(&cookie, &[8; 32], 2_000), None);
    }

    #[test]
    fn a_cookie_of_https_is_for_https_alone_and_the_other_is_none_there() {
        let secure = session_cookie("hv_1", &KEY, true, Timestamp(1_000));
        assert!(secure.starts_with("__Host-helve_session=") && secure.ends_with("; Secure"), "{secure}");
        assert!(secure.contains("; Path=/;") && !secure.contains("Domain"), "{secure}");
        assert!(page_cookie(&headers(&secure, true), true).is_some());
        assert_eq!(page_cookie(&headers(&secure, true), false), None);
        let plain = session_cookie("hv_1", &KEY, false, Timestamp(1_000));
        assert!(!plain.contains("Secure") && !plain.contains("__Host-"), "{plain}");
        assert_eq!(page_cookie(&headers(&plain, true), true), None);
        assert!(expired_cookie(true).starts_with("__Host-helve_session=;"));
    }
}
