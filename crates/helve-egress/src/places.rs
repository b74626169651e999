//! The places that the operator names: hosts, addresses and networks, with or without a port. Pure.
//!
//! Matching is exact. A name never stands for its subdomains, and a network never for a cloud's metadata service, which
//! has to be named by its own address.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use url::Host;

use crate::address::{canonical_address, is_metadata};

/// A place as the operator wrote it: `gpu.lan`, `gpu.lan:8000`, `10.1.2.3`, `10.1.0.0/16`, `[fd00::5]:8000`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    what: PlaceKind,
    port: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum PlaceKind {
    Name(String),
    /// An address is a network of one.
    Network(IpAddr, u8),
}

/// Why some text is no place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` {why}")]
pub struct PlaceError {
    text: String,
    why: String,
}

/// The list of the operator's places.
#[derive(Debug, Clone, Default)]
pub(crate) struct Places(Vec<Place>);

impl Places {
    pub(crate) fn parse(texts: &[String]) -> Result<Self, PlaceError> {
        texts.iter().map(|text| text.parse()).collect::<Result<_, _>>().map(Self)
    }

    pub(crate) fn extend(&mut self, texts: &[String]) -> Result<(), PlaceError> {
        self.0.extend(Self::parse(texts)?.0);
        Ok(())
    }

    /// Whether a host is on the list as it is written in an address.
    pub(crate) fn has_host(&self, host: &Host<&str>, port: u16) -> bool {
        self.0.iter().any(|place| place.is_host(host, port))
    }

    /// Whether an address is on the list, by itself or in a network.
    pub(crate) fn has_address(&self, ip: IpAddr, port: u16) -> bool {
        self.0.iter().any(|place| place.is_address(ip, port))
    }
}

impl Place {
    pub fn is_host(&self, host: &Host<&str>, port: u16) -> bool {
        match host {
            Host::Domain(name) => {
                let same = matches!(&self.what, PlaceKind::Name(own) if own == name);
                same && self.port.is_none_or(|own| own == port)
            }
            Host::Ipv4(ip) => self.is_address(IpAddr::V4(*ip), port),
            Host::Ipv6(ip) => self.is_address(IpAddr::V6(*ip), port),
        }
    }

    pub fn is_address(&self, ip: IpAddr, port: u16) -> bool {
        let PlaceKind::Network(network, length) = self.what else { return false };
        let ip = canonical_address(ip);
        let is_one = u32::from(length) == address_bits(network).1;
        contains(network, length, ip)
            && (is_one || !is_metadata(ip))
            && self.port.is_none_or(|own| own == port)
    }

    pub fn is_network(&self) -> bool {
        matches!(self.what, PlaceKind::Network(ip, length) if u32::from(length) < address_bits(ip).1)
    }
}

/// An address as a number that begins at the highest bit, and how many bits it has.
fn address_bits(ip: IpAddr) -> (u128, u32) {
    match ip {
        IpAddr::V4(ip) => (u128::from(ip.to_bits()) << 96, 32),
        IpAddr::V6(ip) => (ip.to_bits(), 128),
    }
}

fn contains(network: IpAddr, length: u8, ip: IpAddr) -> bool {
    network.is_ipv4() == ip.is_ipv4()
        && (address_bits(network).0 ^ address_bits(ip).0).leading_zeros() >= u32::from(length)
}

impl FromStr for Place {
    type Err = PlaceError;

    fn from_str(text: &str) -> Result<Self, PlaceError> {
        parse(text.trim()).map_err(|why| PlaceError { text: text.into(), why })
    }
}

const FORMS: &str = "write a host, `host:port`, an address, `[address]:port` for version 6, or a network such as `10.1.0.0/16`";

fn parse(text: &str) -> Result<Place, String> {
    if text.is_empty() {
        return Err(format!("is empty; {FORMS}"));
    }
    if text.contains("://") {
        return Err("is a whole address; leave out the scheme and the path, as in `gpu.lan:8000`".into());
    }
    if text.contains('*') {
        return Err("has a `*`, but places are matched exactly; name each host".into());
    }
    if let Some((network, length)) = text.split_once('/') {
        return parse_network(network, length).map(|what| Place { what, port: None });
    }
    // An address of version 6 without brackets has colons of its own.
    if let Ok(ip) = text.parse::<Ipv6Addr>() {
        return Ok(Place { what: single_address(IpAddr::V6(ip)), port: None });
    }
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(parse_port(port)?)),
        _ => (text, None),
    };
    Ok(Place { what: parse_host(host)?, port })
}

fn parse_port(text: &str) -> Result<u16, String> {
    let port = text.parse().ok().filter(|port| *port > 0);
    port.ok_or_else(|| format!("has no port that could be `{text}`; ports are 1 to 65535"))
}

fn parse_host(host: &str) -> Result<PlaceKind, String> {
    if host.contains('@') {
        return Err("names a user; write the host alone".into());
    }
    if host.ends_with('.') {
        return Err("ends in a dot; write the name without it".into());
    }
    match Host::parse(host) {
        Ok(Host::Domain(name)) => Ok(PlaceKind::Name(name)),
        // What the parser takes for an address in an odd notation is more likely a slip.
        Ok(Host::Ipv4(ip)) if host.parse() == Ok(ip) => Ok(single_address(IpAddr::V4(ip))),
        Ok(Host::Ipv4(ip)) => Err(format!("would be the address {ip}; write it so if that is meant")),
        Ok(Host::Ipv6(ip)) => Ok(single_address(IpAddr::V6(ip))),
        Err(_) => Err(format!("is no place; {FORMS}")),
    }
}

fn single_address(ip: IpAddr) -> PlaceKind {
    let ip = canonical_address(ip);
    PlaceKind::Network(ip, if ip.is_ipv4() { 32 } else { 128 })
}

/// Nothing private is larger than these.
const SHORTEST_V4: u8 = 8;
const SHORTEST_V6: u8 = 7;

fn parse_network(network: &str, length: &str) -> Result<PlaceKind, String> {
    let ip: IpAddr = network
        .trim_matches(['[', ']'])
        .parse()
        .map_err(|_| format!("is no network: `{network}` is no address; write it as `10.1.0.0/16`"))?;
    let (longest, shortest) = if ip.is_ipv4() { (32, SHORTEST_V4) } else { (128, SHORTEST_V6) };
    let length: u8 = length
        .parse()
        .ok()
        .filter(|length| *length <= longest)
        .ok_or_else(|| format!("is no network: its length is 0 to {longest}, not `{length}`"))?;
    if length < shortest {
        return Err(format!("is larger than any private network; the shortest length is {shortest}"));
    }
    let first = first_address_of_network(ip, length);
    if first != ip {
        return Err(format!("does not begin its network; write `{first}/{length}`"));
    }
    Ok(PlaceKind::Network(ip, length))
}

fn first_address_of_network(ip: IpAddr, length: u8) -> IpAddr {
    match ip {
        IpAddr::V4(ip) => {
            let mask = u32::MAX.checked_shl(32 - u32::from(length)).unwrap_or(0);
            Ipv4Addr::from_bits(ip.to_bits() & mask).into()
        }
        IpAddr::V6(ip) => {
            let mask = u128::MAX.checked_shl(128 - u32::from(length)).unwrap_or(0);
            Ipv6Addr::from_bits(ip.to_bits() & mask).into()
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.what, self.port) {
            (PlaceKind::Name(name), _) => f.write_str(name)?,
            (PlaceKind::Network(ip, _), Some(_)) if ip.is_ipv6() => write!(f, "[{ip}]")?,
            (PlaceKind::Network(ip, length), _) if self.is_network() => write!(f, "{ip}/{length}")?,
            (PlaceKind::Network(ip, _), _) => write!(f, "{ip}")?,
        }
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(text: &str) -> Place {
        text.parse().unwrap()
    }

    fn reaches(text: &str, url: &str) -> bool {
        let url = url::Url::parse(url).unwrap();
        place(text).is_host(&url.host().unwrap(), url.port_or_known_default().unwrap())
    }

    #[test]
    fn a_place_is_shown_as_it_would_be_written() {
        for text in [
            "gpu.lan",
            "gpu.lan:8000",
            "10.1.2.3",
            "10.1.2.3:80",
            "10.1.0.0/16",
            "fd00::5",
            "fd00::/8",
            "[fd00::5]:80",
        ] {
            assert_eq!(place(text).to_string(), text);
        }
        assert_eq!(place(" GPU.lan ").to_string(), "gpu.lan");
        assert_eq!(place("bücher.example").to_string(), "xn--bcher-kva.example");
        assert_eq!(place("[fd00::5]").to_string(), "fd00::5");
        assert_eq!(place("::ffff:10.0.0.1").to_string(), "10.0.0.1");
    }

    #[test]
    fn a_place_is_matched_exactly() {
        for (text, url, expected) in [
            ("gpu.lan", "http://gpu.lan:8000/x", true),
            ("gpu.lan", "http://GPU.lan/", true),
            ("gpu.lan", "http://a.gpu.lan/", false),
            ("gpu.lan", "http://gpu.lan.evil.example/", false),
            ("gpu.lan:8000", "http://gpu.lan:8000/", true),
            ("gpu.lan:8000", "http://gpu.lan/", false),
            ("gpu.lan:80", "http://gpu.lan/", true),
            ("10.1.2.3", "http://10.1.2.3:9/", true),
            ("10.1.2.3", "http://0xa.1.2.3/", true),
            ("10.1.2.3", "http://[::ffff:10.1.2.3]/", true),
            ("10.1.2.3", "http://10.1.2.4/", false),
            ("10.1.2.3:80", "http://10.1.2.3:81/", false),
            ("10.1.0.0/16", "http://10.1.255.255/", true),
            ("10.1.0.0/16", "http://10.2.0.0/", false),
            ("10.0.0.0/8", "http://[fd00::1]/", false),
            ("fd00::/8", "http://[fd12::1]/", true),
            ("[fd00::5]:80", "http://[fd00::5]/", true),
        ] {
            assert_eq!(reaches(text, url), expected, "{text} {url}");
        }
    }

    #[test]
    fn a_metadata_service_is_reached_only_by_its_own_name() {
        assert!(!reaches("169.254.0.0/16", "http://169.254.169.254/"));
        assert!(reaches("169.254.0.0/16", "http://169.254.1.1/"));
        assert!(!reaches("100.64.0.0/10", "http://100.100.100.200/"));
        assert!(!reaches("fd00::/8", "http://[fd00:ec2::254]/"));
        assert!(reaches("169.254.169.254", "http://169.254.169.254/"));
    }

    #[test]
    fn what_is_no_place_is_told_with_what_to_write() {
        for (text, expected) in [
            ("", "`` is empty; write a host"),
            ("http://gpu.lan", "leave out the scheme"),
            ("*.lan", "name each host"),
            ("gpu.lan:0", "ports are 1 to 65535"),
            ("gpu.lan:http", "no port that could be `http`"),
            ("a b", "is no place"),
            ("me@gpu.lan", "names a user"),
            ("gpu.lan.", "ends in a dot"),
            ("0x7f.1", "would be the address 127.0.0.1"),
            ("2130706433", "would be the address 127.0.0.1"),
            ("10.1.2.3/8", "write `10.0.0.0/8`"),
            ("10.0.0.0/33", "its length is 0 to 32, not `33`"),
            ("0.0.0.0/0", "larger than any private network"),
            ("::/0", "larger than any private network"),
            ("lan/8", "`lan` is no address"),
        ] {
            let told = text.parse::<Place>().unwrap_err().to_string();
            assert!(told.contains(expected), "{text}: {told}");
        }
    }
}
