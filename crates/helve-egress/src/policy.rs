//! What may be reached: schemes, names and addresses, judged against what the operator allows. Pure.
//!
//! [`Policy::check`] says what an address's text says; [`Policy::judge`] is asked for every address that a name leads to.

use std::net::IpAddr;

use url::{Host, Url};

use crate::EgressError;
use crate::address::{forbidden_reason, is_metadata};
use crate::places::Places;

#[derive(Debug, Clone)]
pub(crate) struct Policy {
    pub(crate) places: Places,
    /// Plain HTTP is good enough for everybody.
    pub(crate) http: bool,
}

/// Where a request goes: a host and a port that passed [`Policy::check`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) host: Host<String>,
    pub(crate) port: u16,
    pub(crate) https: bool,
    /// The operator's list has it as it is written.
    pub(crate) listed: bool,
}

/// Endings that the public name system does not have, so that only a local name server answers for them.
const NEAR: &[&str] = &[
    "localhost",
    "localdomain",
    "local",
    "internal",
    "intranet",
    "lan",
    "home",
    "corp",
    "private",
    "home.arpa",
    "test",
    "invalid",
    "onion",
    "alt",
];

impl Policy {
    /// What can be said without asking a name server.
    pub(crate) fn check(&self, url: &Url) -> Result<Target, EgressError> {
        let https = match url.scheme() {
            "https" => true,
            "http" => false,
            other => return refuse(format!("`{other}:` is no scheme that is sent to; use https")),
        };
        if !url.username().is_empty() || url.password().is_some() {
            return refuse(
                "the address has a user or a password in it; operator: put it into `[secrets]` and name it in the tool's auth"
                    .into(),
            );
        }
        let Some(host) = url.host() else { return refuse("the address has no host".into()) };
        let Some(port) = url.port_or_known_default().filter(|port| *port > 0) else {
            return refuse("port 0 is no port".into());
        };
        let listed = self.places.has_host(&host, port);
        let target = Target { host: host.to_owned(), port, https, listed };
        if !listed {
            self.check_host(&target)?;
        }
        if !https && !listed && !self.http {
            return refuse(format!(
                "`{target}` is asked for over plain HTTP, which others on the network can read; use https. {}",
                target.advice()
            ));
        }
        Ok(target)
    }

    fn check_host(&self, target: &Target) -> Result<(), EgressError> {
        let near = match &target.host {
            Host::Ipv4(ip) => forbidden_reason(IpAddr::V4(*ip)).is_some(),
            Host::Ipv6(ip) => forbidden_reason(IpAddr::V6(*ip)).is_some(),
            Host::Domain(name) if name.ends_with('.') => {
                return refuse(format!("`{name}` ends in a dot; write the name without it"));
            }
            Host::Domain(name) => is_local_name(name),
        };
        if near { Err(target.forbidden_error()) } else { Ok(()) }
    }

    /// Why a connection to this address must not be made for this target; nothing if it may.
    pub(crate) fn check_address(&self, target: &Target, ip: IpAddr) -> Result<(), &'static str> {
        let Some(why) = forbidden_reason(ip) else { return Ok(()) };
        let by_name = target.listed && matches!(target.host, Host::Domain(_)) && !is_metadata(ip);
        if by_name || self.places.has_address(ip, target.port) { Ok(()) } else { Err(why) }
    }
}

impl Target {
    /// The model learns that the place is closed, not what is there.
    pub(crate) fn forbidden_error(&self) -> EgressError {
        EgressError::Refused(format!(
            "`{self}` is not on the public internet, and only public places are reached; do not try other spellings of it. {}",
            self.advice()
        ))
    }

    fn advice(&self) -> String {
        format!("Operator: if it is meant to be reached, set `allow = [\"{self}\"]` in `[egress]`")
    }
}

impl std::fmt::Display for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let usual = if self.https { 443 } else { 80 };
        write!(f, "{}", self.host)?;
        if self.port == usual { Ok(()) } else { write!(f, ":{}", self.port) }
    }
}

fn refuse<T>(why: String) -> Result<T, EgressError> {
    Err(EgressError::Refused(why))
}

/// Whether a name has a meaning only in the operator's own network.
fn is_local_name(name: &str) -> bool {
    let ends_in = |ending: &str| {
        let rest = name.strip_suffix(ending);
        rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    };
    !name.contains('.') || NEAR.iter().any(|ending| ends_in(ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(allow: &[&str], http: bool) -> Policy {
        let allow: Vec<String> = allow.iter().map(|text| (*text).into()).collect();
        Policy { places: Places::parse(&allow).unwrap(), http }
    }

    fn told(policy: &Policy, url: &str) -> String {
        match policy.check(&Url::parse(url).unwrap()) {
            Ok(_) => "ok".into(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn public_places_are_reached_over_https_and_listed_ones_over_http_too() {
        let strict = policy(&["gpu.lan", "10.0.0.0/8", "plain.example.com:8080"], false);
        for (url, fine) in [
            ("https://example.com/x", true),
            ("https://example.com:8443/", true),
            ("https://8.8.8.8/", true),
            ("https://[2606:4700::1111]/", true),
            ("http://example.com/", false),
            ("http://8.8.8.8/", false),
            ("http://gpu.lan/", true),
            ("http://gpu.lan:99/", true),
            ("http://10.9.9.9/", true),
            ("http://plain.example.com:8080/", true),
            ("http://plain.example.com/", false),
            ("https://192.168.1.1/", false),
            ("https://other.lan/", false),
            ("https://intranet/", false),
            ("https://example.com./", false),
            ("https://example.com:0/", false),
        ] {
            assert_eq!(told(&strict, url) == "ok", fine, "{url}: {}", told(&strict, url));
        }
        assert_eq!(told(&policy(&[], true), "http://example.com/"), "ok");
        assert_ne!(told(&policy(&[], true), "http://127.0.0.1/"), "ok");
    }

    #[test]
    fn a_refusal_says_what_the_operator_can_set() {
        let strict = policy(&[], false);
        assert_eq!(
            told(&strict, "https://10.0.0.1:8443/x?y"),
            "`10.0.0.1:8443` is not on the public internet, and only public places are reached; do not try other \
             spellings of it. Operator: if it is meant to be reached, set `allow = [\"10.0.0.1:8443\"]` in `[egress]`"
        );
        assert!(told(&strict, "http://example.com/").contains("use https. Operator: if it is meant"));
        assert!(told(&strict, "https://me:hush@example.com/").contains("`[secrets]`"));
        assert!(!told(&strict, "https://me:hush@example.com/").contains("hush"));
        assert!(told(&strict, "ftp://example.com/").starts_with("`ftp:` is no scheme"));
        // What is advised is understood when it is followed.
        assert_eq!(told(&policy(&["[fd00::5]:8443"], false), "https://[fd00::5]:8443/"), "ok");
        assert!(told(&strict, "https://[fd00::5]:8443/").contains("\"[fd00::5]:8443\""));
    }

    #[test]
    fn a_listed_name_may_lead_anywhere_but_to_a_metadata_service() {
        let policy = policy(&["gpu.lan", "10.0.0.0/8", "192.168.0.7:8000"], true);
        let judged = |url: &str, ip: &str| {
            let target = policy.check(&Url::parse(url).unwrap()).unwrap();
            policy.check_address(&target, ip.parse().unwrap()).is_ok()
        };
        assert!(judged("https://gpu.lan/", "192.168.0.9"));
        assert!(!judged("https://gpu.lan/", "169.254.169.254"));
        assert!(!judged("https://gpu.lan/", "::ffff:169.254.169.254"));
        assert!(judged("https://example.com/", "8.8.8.8"));
        assert!(judged("https://example.com/", "10.1.1.1"));
        assert!(!judged("https://example.com/", "192.168.0.9"));
        assert!(!judged("https://example.com/", "192.168.0.7"));
        assert!(judged("https://example.com:8000/", "192.168.0.7"));
    }
}
