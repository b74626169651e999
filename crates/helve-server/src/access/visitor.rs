//! Where a request comes from: the client's address, and whether it came by https. Pure.
//!
//! Headers about that count only from a proxy that the operator named, since any client can send them.

use std::net::IpAddr;

use axum::http::{HeaderMap, header};

use super::network::{Network, client_network};

/// Headers that proxies add to what they pass on.
const OF_PROXIES: [&str; 7] = [
    "forwarded",
    "via",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-proto",
    "x-forwarded-server",
    "x-real-ip",
];
/// More proxies in a row are not followed.
const HOPS_MAX: usize = 16;

/// Where a request comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Visitor {
    /// The client's address; of version 6 its /64.
    pub(crate) address: IpAddr,
    pub(crate) https: bool,
    /// Some proxy has passed it on.
    pub(crate) through_proxy: bool,
}

/// Whose words count, and the hosts that are reached by https.
#[derive(Debug, Clone, Copy)]
pub(super) struct Trust<'a> {
    pub(super) proxies: &'a [Network],
    pub(super) https_hosts: &'a [String],
}

impl Visitor {
    pub(super) fn from_request(headers: &HeaderMap, peer: IpAddr, trust: Trust<'_>) -> Self {
        let is_trusted = |address: IpAddr| trust.proxies.iter().any(|proxy| proxy.contains(address));
        let by_proxy = is_trusted(peer);
        let address = if by_proxy { client_address(headers, is_trusted).unwrap_or(peer) } else { peer };
        let told = by_proxy.then(|| last_entry(headers, "x-forwarded-proto")).flatten();
        let https = match told {
            Some(scheme) => scheme.eq_ignore_ascii_case("https"),
            None => is_host_one_of(headers, trust.https_hosts),
        };
        let through_proxy = OF_PROXIES.iter().any(|name| headers.contains_key(*name));
        Self { address: client_network(address), https, through_proxy }
    }
}

/// The last address that is no trusted proxy's: each proxy appends the address that it was called from.
fn client_address(headers: &HeaderMap, is_trusted: impl Fn(IpAddr) -> bool) -> Option<IpAddr> {
    let lines = headers.get_all("x-forwarded-for").iter().rev();
    let texts = lines.flat_map(|line| line.to_str().unwrap_or("?").rsplit(','));
    let mut nearest = None;
    for text in texts.take(HOPS_MAX) {
        // An entry that is no address ends the chain: the author of the entries before it is unknown.
        let Some(address) = parse_address(text.trim()) else { break };
        nearest = Some(address);
        if !is_trusted(address) {
            break;
        }
    }
    nearest
}

/// An address, with a port or without.
fn parse_address(text: &str) -> Option<IpAddr> {
    let with_port = || text.parse::<std::net::SocketAddr>().ok().map(|address| address.ip());
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    bare.parse().ok().or_else(with_port)
}

fn last_entry<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get_all(name).iter().next_back()?.to_str().ok()?.rsplit(',').next().map(str::trim)
}

fn is_host_one_of(headers: &HeaderMap, hosts: &[String]) -> bool {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    hosts.iter().any(|ours| ours.eq_ignore_ascii_case(host.strip_suffix(":443").unwrap_or(host)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn visitor(peer: &str, lines: &[(&'static str, &str)]) -> Visitor {
        let proxies = [Network::parse("127.0.0.1").unwrap(), Network::parse("10.0.0.0/8").unwrap()];
        let https_hosts = ["helve.example".to_owned()];
        let trust = Trust { proxies: &proxies, https_hosts: &https_hosts };
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(*name, value.parse().unwrap());
        }
        Visitor::from_request(&headers, peer.parse().unwrap(), trust)
    }

    #[test]
    fn only_a_trusted_proxy_says_who_the_client_is() {
        let address = |peer: &str, lines: &[&str]| {
            let lines: Vec<_> = lines.iter().map(|line| ("x-forwarded-for", *line)).collect();
            visitor(peer, &lines).address.to_string()
        };
        assert_eq!(address("192.0.2.1", &["198.51.100.7"]), "192.0.2.1");
        assert_eq!(address("127.0.0.1", &["198.51.100.7"]), "198.51.100.7");
        // The client wrote the first one itself.
        assert_eq!(address("127.0.0.1", &["203.0.113.9, 198.51.100.7"]), "198.51.100.7");
        assert_eq!(address("127.0.0.1", &["203.0.113.9", "198.51.100.7, 10.1.1.1"]), "198.51.100.7");
        assert_eq!(address("127.0.0.1", &["198.51.100.7:4711"]), "198.51.100.7");
        assert_eq!(address("127.0.0.1", &["[2001:db8:1:2:3::9]:4711"]), "2001:db8:1:2::");
        assert_eq!(address("127.0.0.1", &["198.51.100.7, unknown"]), "127.0.0.1");
        assert_eq!(address("127.0.0.1", &[]), "127.0.0.1");
        let many = vec!["10.0.0.1"; 1_000].join(",");
        assert_eq!(address("127.0.0.1", &[&many]), "10.0.0.1");
    }

    #[test]
    fn https_is_what_the_trusted_proxy_says_or_what_the_public_address_has() {
        let https = |peer: &str, lines: &[(&'static str, &str)]| visitor(peer, lines).https;
        assert!(https("192.0.2.1", &[("host", "helve.example")]));
        assert!(https("192.0.2.1", &[("host", "HELVE.example:443")]));
        assert!(!https("192.0.2.1", &[("host", "localhost:8890")]));
        assert!(!https("192.0.2.1", &[("host", "localhost:8890"), ("x-forwarded-proto", "https")]));
        assert!(https("127.0.0.1", &[("host", "localhost:8890"), ("x-forwarded-proto", "https")]));
        assert!(https("127.0.0.1", &[("x-forwarded-proto", "http, HTTPS")]));
        assert!(!https("127.0.0.1", &[("host", "helve.example"), ("x-forwarded-proto", "http")]));
    }

    #[test]
    fn what_a_proxy_passed_on_is_seen_whoever_the_proxy_is() {
        for name in OF_PROXIES {
            assert!(visitor("192.0.2.1", &[(name, "x")]).through_proxy, "{name}");
        }
        assert!(!visitor("192.0.2.1", &[("host", "localhost:8890")]).through_proxy);
    }
}
