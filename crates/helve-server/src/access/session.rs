//! The page's cookie: names a token, is signed, ends with it.

use axum::http::{HeaderMap, header};
use helve_types::Timestamp;
use subtle::ConstantTimeEq;

pub(crate) const COOKIE: &str = "helve_session";
/// A cookie counts only together with this header, which a foreign page cannot send.
pub(crate) const PAGE_HEADER: &str = "x-helve-page";
const DAYS_MAX: i64 = 30;
const DAY_MS: i64 = 24 * 60 * 60 * 1_000;

/// The value of a `Set-Cookie` header.
pub(super) fn cookie(token_id: &str, key: &[u8; 32], now: Timestamp) -> String {
    let said = format!("{token_id}.{}", now.0);
    let mac = blake3::keyed_hash(key, said.as_bytes()).to_hex();
    format!("{COOKIE}={said}.{mac}; HttpOnly; SameSite=Strict; Path=/; Max-Age={}", DAYS_MAX * DAY_MS / 1_000)
}

/// The token that the request's cookie stands for.
pub(super) fn token_id(headers: &HeaderMap, key: &[u8; 32], now: Timestamp) -> Option<String> {
    headers.get(PAGE_HEADER)?;
    let all = headers.get_all(header::COOKIE).into_iter().filter_map(|value| value.to_str().ok());
    let value = all
        .flat_map(|cookies| cookies.split(';'))
        .find_map(|cookie| cookie.trim().strip_prefix(COOKIE)?.strip_prefix('='))?;
    let (said, mac) = value.rsplit_once('.')?;
    let (id, issued) = said.rsplit_once('.')?;
    let expected = blake3::keyed_hash(key, said.as_bytes()).to_hex();
    let genuine: bool = expected.as_bytes().ct_eq(mac.as_bytes()).into();
    let age = now.0.checked_sub(issued.parse().ok()?)?;
    (genuine && (0..DAYS_MAX * DAY_MS).contains(&age)).then(|| id.to_owned())
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

    #[test]
    fn a_cookie_names_its_token_until_it_is_old() {
        let cookie = cookie("hv_1", &KEY, Timestamp(1_000));
        assert_eq!(token_id(&headers(&cookie, true), &KEY, Timestamp(2_000)).as_deref(), Some("hv_1"));
        let late = Timestamp(1_000 + DAYS_MAX * DAY_MS);
        assert_eq!(token_id(&headers(&cookie, true), &KEY, late), None);
    }

    #[test]
    fn a_cookie_without_the_pages_header_or_with_another_name_in_it_counts_for_nothing() {
        let cookie = cookie("hv_1", &KEY, Timestamp(1_000));
        assert_eq!(token_id(&headers(&cookie, false), &KEY, Timestamp(2_000)), None);
        let forged = cookie.replace("hv_1", "hv_2");
        assert_eq!(token_id(&headers(&forged, true), &KEY, Timestamp(2_000)), None);
        assert_eq!(token_id(&headers(&cookie, true), &[8; 32], Timestamp(2_000)), None);
    }
}
