//! Keeps foreign pages out: exact `Host`, exact `Origin`, nothing cross-site.
//!
//! A browser on the machine is the one client that others can steer. It cannot forge these headers, so they say
//! reliably whose page is asking.

use std::net::{IpAddr, Ipv4Addr};

use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::app::App;
use crate::connections::Peer;
use crate::problem::Problem;

pub(crate) async fn reject_foreign_pages(
    State(app): State<App>,
    mut request: Request,
    next: Next,
) -> Response {
    let peer = request.extensions().get::<Peer>().copied();
    let remote = peer.map_or(Ipv4Addr::UNSPECIFIED.into(), |peer| peer.remote.ip());
    let visitor = app.access.identify_visitor(request.headers(), remote);
    request.extensions_mut().insert(visitor);
    let names = OwnNames {
        configured: &app.access.settings.hosts,
        local: peer.map(|peer| (peer.local.ip(), peer.local.port())),
        https: visitor.https,
    };
    let from_link = is_followed_link(request.method(), request.uri(), request.headers());
    match check_origin(request.headers(), request.uri(), names, from_link) {
        Ok(()) => next.run(request).await,
        Err(problem) => problem.into_response(),
    }
}

/// What the server goes by, for one request.
#[derive(Clone, Copy)]
struct OwnNames<'a> {
    configured: &'a [String],
    local: Option<(IpAddr, u16)>,
    /// Whether the request came by https.
    https: bool,
}

fn check_origin(headers: &HeaderMap, uri: &Uri, names: OwnNames<'_>, from_link: bool) -> Result<(), Problem> {
    let host = single_header(headers, header::HOST).ok_or_else(misdirected_problem)?;
    let is_ours = is_own_host(host, names.configured, names.local);
    if uri.authority().is_some_and(|authority| authority.as_str() != host) || !is_ours {
        return Err(misdirected_problem());
    }
    if headers.contains_key(header::ORIGIN) {
        let origin = single_header(headers, header::ORIGIN).unwrap_or_default();
        let (own, other) = if names.https { ("https://", "http://") } else { ("http://", "https://") };
        if origin.strip_prefix(other) == Some(host) {
            return Err(other_scheme_problem(names.https));
        }
        if origin.strip_prefix(own) != Some(host) {
            return Err(foreign_problem());
        }
    }
    let site = headers.get("sec-fetch-site").and_then(|value| value.to_str().ok());
    match site {
        Some("cross-site" | "same-site") if !from_link => Err(foreign_problem()),
        _ => Ok(()),
    }
}

/// Whether a browser followed a link in a message to the page of a question (`links`), or was sent back by an identity
/// provider. The link is the credential of that page, and showing it changes nothing.
fn is_followed_link(method: &Method, uri: &Uri, headers: &HeaderMap) -> bool {
    let says = |name: &str, word: &str| headers.get(name).is_some_and(|value| value == word);
    matches!(*method, Method::GET | Method::HEAD)
        && (uri.path().starts_with("/approvals/") || FROM_PROVIDER.contains(&uri.path()))
        && says("sec-fetch-mode", "navigate")
        && says("sec-fetch-dest", "document")
}

/// Where an identity provider sends browsers to: what they bring counts only with a cookie of ours.
const FROM_PROVIDER: [&str; 2] = ["/sign-in/callback", "/sign-in/done"];

fn single_header(headers: &HeaderMap, name: header::HeaderName) -> Option<&str> {
    let mut values = headers.get_all(name).iter();
    let first = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(first)
}

/// Whether the server goes by this name: loopback or its own address with its own port, or a configured name.
fn is_own_host(host: &str, names: &[String], local: Option<(IpAddr, u16)>) -> bool {
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit()) => {
            (name, port.parse::<u16>().ok())
        }
        _ => (host, Some(80)),
    };
    if names.iter().any(|ours| ours.eq_ignore_ascii_case(name) || ours.eq_ignore_ascii_case(host)) {
        return true;
    }
    let Some((local_ip, local_port)) = local else { return false };
    if port != Some(local_port) {
        return false;
    }
    let bare = name.trim_start_matches('[').trim_end_matches(']');
    let is_own_ip = || bare.parse::<IpAddr>().is_ok_and(|ip| ip == local_ip);
    name.eq_ignore_ascii_case("localhost") || name == "127.0.0.1" || name == "[::1]" || is_own_ip()
}

fn misdirected_problem() -> Problem {
    Problem::new(
        StatusCode::MISDIRECTED_REQUEST,
        "unknown_host",
        "this server does not go by that name; use localhost, or add the name to `hosts` in [server]",
    )
}

fn foreign_problem() -> Problem {
    Problem::new(StatusCode::FORBIDDEN, "foreign_origin", "requests from other sites' pages are refused")
}

fn other_scheme_problem(https: bool) -> Problem {
    let detail = if https {
        "this server is reached by https, and the page asking was loaded by http; open it by https"
    } else {
        "the page asking was loaded by https, and this server does not know that it is reached so; set `public_url` in \
         [server] to the address in the browser, or `trusted_proxies` to the proxy that speaks https"
    };
    Problem::new(StatusCode::FORBIDDEN, "foreign_origin", detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Header lines as in a request.
    fn decide(lines: &str) -> u16 {
        decide_by(lines, false)
    }

    fn decide_by(lines: &str, https: bool) -> u16 {
        let mut headers = HeaderMap::new();
        for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let (name, value) = line.split_once(": ").unwrap();
            let name: header::HeaderName = name.parse().unwrap();
            headers.append(name, value.parse().unwrap());
        }
        let local = Some((IpAddr::from([127, 0, 0, 1]), 8890));
        let names = OwnNames { configured: &["helve.example".into()], local, https };
        match check_origin(&headers, &Uri::from_static("/api/runs"), names, false) {
            Ok(()) => 200,
            Err(problem) => problem.into_response().status().as_u16(),
        }
    }

    #[test]
    fn only_our_own_names_are_answered() {
        let cases = [
            ("Host: localhost:8890", 200),
            ("Host: 127.0.0.1:8890", 200),
            ("Host: [::1]:8890", 200),
            ("Host: helve.example", 200),
            ("Host: helve.example:443", 200),
            ("Host: localhost", 421),
            ("Host: localhost:9999", 421),
            ("Host: evil.test:8890", 421),
            ("Host: localhost.evil.test:8890", 421),
            ("Host: 10.0.0.1:8890", 421),
            ("Host: localhost:8890\nHost: evil.test", 421),
            ("Accept: */*", 421),
        ];
        for (lines, status) in cases {
            assert_eq!(decide(lines), status, "{lines}");
        }
    }

    #[test]
    fn only_our_own_page_may_ask() {
        let with = |line: &str| decide(&format!("Host: localhost:8890\n{line}"));
        assert_eq!(with("Origin: http://localhost:8890"), 200);
        assert_eq!(with("Origin: http://localhost:9999"), 403);
        assert_eq!(with("Origin: null"), 403);
        assert_eq!(with("Origin: http://evil.test"), 403);
        assert_eq!(with("Sec-Fetch-Site: same-origin"), 200);
        assert_eq!(with("Sec-Fetch-Site: none"), 200);
        assert_eq!(with("Sec-Fetch-Site: cross-site"), 403);
        assert_eq!(with("Sec-Fetch-Site: same-site"), 403);
    }

    #[test]
    fn a_page_of_our_host_that_was_loaded_by_the_other_scheme_is_foreign() {
        let with = |origin: &str, https| decide_by(&format!("Host: helve.example\nOrigin: {origin}"), https);
        assert_eq!(with("https://helve.example", true), 200);
        assert_eq!(with("https://helve.example", false), 403);
        assert_eq!(with("http://helve.example", false), 200);
        assert_eq!(with("http://helve.example", true), 403);
        assert_eq!(with("https://helve.example:8443", true), 403);
        assert_eq!(decide("Host: localhost:8890\nOrigin: https://localhost:8890"), 403);
    }

    #[test]
    fn an_address_in_the_request_line_must_agree_with_the_host() {
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, "localhost:8890".parse().unwrap());
        let local = Some((IpAddr::from([127, 0, 0, 1]), 8890));
        let other = Uri::from_static("http://evil.test/api/runs");
        let names = OwnNames { configured: &[], local, https: false };
        assert!(check_origin(&headers, &other, names, false).is_err());
    }

    #[test]
    fn a_link_in_a_message_may_lead_to_a_question_and_nowhere_else() {
        let headers = |mode: &'static str, dest: &'static str| {
            [("sec-fetch-mode", mode), ("sec-fetch-dest", dest)]
                .into_iter()
                .map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()))
                .collect::<HeaderMap>()
        };
        let followed = |method: &Method, path: &'static str, headers: &HeaderMap| {
            is_followed_link(method, &Uri::from_static(path), headers)
        };
        let window = headers("navigate", "document");
        assert!(followed(&Method::GET, "/approvals/x?mark=y", &window));
        assert!(!followed(&Method::POST, "/approvals/x?mark=y", &window));
        assert!(!followed(&Method::GET, "/api/approvals/x", &window));
        assert!(!followed(&Method::GET, "/approvals/x", &headers("navigate", "iframe")));
        assert!(!followed(&Method::GET, "/approvals/x", &headers("cors", "empty")));
        assert!(!followed(&Method::GET, "/approvals/x", &HeaderMap::new()));
    }
}
