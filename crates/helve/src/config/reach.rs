//! Who can reach the server: only this machine, or others too. Pure.
//!
//! Listening on loopback is not enough to know. A name that is not this machine's, an address where people reach the
//! server or a proxy in front of it shows that requests are passed on from elsewhere.

use std::net::{IpAddr, SocketAddr};

use crate::i18n::tr;
use helve_egress::Url;

/// Who can reach the server, as the configuration says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reach {
    ThisMachine,
    Others(Cause),
}

/// What says that others can reach the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cause {
    /// The key of the configuration.
    pub path: [&'static str; 2],
    /// The reason, in a clause.
    pub what: String,
}

/// What the configuration says about who can reach the server.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ways<'a> {
    pub(crate) listen: SocketAddr,
    pub(crate) hosts: &'a [String],
    pub(crate) public_url: Option<&'a Url>,
    /// The address in the links of approvals, which may be another one.
    pub(crate) links_url: Option<&'a Url>,
    pub(crate) trusted_proxies: &'a [String],
}

impl Ways<'_> {
    pub(crate) fn reach(&self) -> Reach {
        let because = |path, what| Reach::Others(Cause { path, what });
        if !self.listen.ip().to_canonical().is_loopback() {
            let what = tr!("{listen} can be reached from other machines", listen = self.listen);
            return because(["server", "listen"], what);
        }
        if let Some(name) = self.hosts.iter().find(|name| !is_loopback_name(name)) {
            let what = tr!(
                "the name `{name}` is not this machine's alone, so others can reach the server",
                name = name
            );
            return because(["server", "hosts"], what);
        }
        let urls =
            [(["server", "public_url"], self.public_url), (["approvals", "public_url"], self.links_url)];
        for (path, url) in urls {
            let host = url.and_then(Url::host_str);
            if let Some(host) = host.filter(|host| !is_loopback_name(host)) {
                return because(
                    path,
                    tr!("people reach the server as `{host}`, so others can reach it", host = host),
                );
            }
        }
        match self.trusted_proxies.first() {
            Some(proxy) => because(
                ["server", "trusted_proxies"],
                tr!("the proxy {proxy} passes on requests of others", proxy = proxy),
            ),
            None => Reach::ThisMachine,
        }
    }
}

/// Whether a name, with or without a port, means this machine wherever it is looked up.
fn is_loopback_name(name: &str) -> bool {
    let name = name.trim();
    let is_loopback = |text: &str| {
        let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
        match bare.parse::<IpAddr>() {
            Ok(ip) => ip.to_canonical().is_loopback(),
            Err(_) => {
                let lower = bare.to_ascii_lowercase();
                let lower = lower.strip_suffix('.').unwrap_or(&lower);
                lower == "localhost" || lower.ends_with(".localhost")
            }
        }
    };
    let without_port =
        name.rsplit_once(':').filter(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit()));
    is_loopback(name) || without_port.is_some_and(|(host, _)| is_loopback(host))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(listen: &str, hosts: &[&str], public_url: Option<&str>, proxies: &[&str]) -> Option<String> {
        let owned = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect::<Vec<_>>();
        let url: Option<Url> = public_url.map(|url| url.parse().unwrap());
        let (hosts, trusted_proxies) = (owned(hosts), owned(proxies));
        let ways = Ways {
            listen: listen.parse().unwrap(),
            hosts: &hosts,
            public_url: url.as_ref(),
            links_url: None,
            trusted_proxies: &trusted_proxies,
        };
        match ways.reach() {
            Reach::ThisMachine => None,
            Reach::Others(cause) => Some(cause.path.join(".")),
        }
    }

    #[test]
    fn every_way_in_from_elsewhere_is_seen_whatever_the_others_say() {
        let listens = [
            ("127.0.0.1:8890", false),
            ("127.9.9.9:8890", false),
            ("[::1]:8890", false),
            ("[::ffff:127.0.0.1]:8890", false),
            ("0.0.0.0:8890", true),
            ("[::]:8890", true),
            ("192.168.1.5:8890", true),
            ("[fe80::1]:8890", true),
        ];
        let hosts: [(&[&str], bool); 6] = [
            (&[], false),
            (&["localhost", "LOCALHOST.:9", "helve.localhost", "127.0.0.1:80", "[::1]:80", "::1"], false),
            (&["helve.example.com"], true),
            (&["localhost", "localhost.example.com:8890"], true),
            (&["10.0.0.1"], true),
            (&["notlocalhost"], true),
        ];
        let urls = [
            (None, false),
            (Some("http://localhost:8890"), false),
            (Some("http://[::1]:8890"), false),
            (Some("https://helve.example.com"), true),
            (Some("http://10.0.0.1"), true),
        ];
        let proxies: [(&[&str], bool); 2] = [(&[], false), (&["127.0.0.1"], true)];
        for (listen, by_listen) in listens {
            for (names, by_name) in hosts {
                for (url, by_url) in urls {
                    for (proxy, by_proxy) in proxies {
                        let causes = [
                            (by_listen, "server.listen"),
                            (by_name, "server.hosts"),
                            (by_url, "server.public_url"),
                            (by_proxy, "server.trusted_proxies"),
                        ];
                        let first = causes.iter().find(|(is, _)| *is).map(|(_, key)| (*key).to_owned());
                        assert_eq!(
                            key(listen, names, url, proxy),
                            first,
                            "{listen} {names:?} {url:?} {proxy:?}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn names_that_only_look_like_this_machine_are_others() {
        for name in [
            "",
            ":8890",
            "localhost.evil.test",
            "127.0.0.1.nip.io",
            "0.0.0.0",
            "localhosts",
            "*",
            "::ffff:1.2.3.4",
        ] {
            assert!(!is_loopback_name(name), "{name}");
        }
    }
}
