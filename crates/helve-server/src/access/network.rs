//! An address or a network of addresses, as `trusted_proxies` names them. Pure.

use std::net::{IpAddr, Ipv6Addr};

/// A network such as `10.0.0.0/8`; an address is a network of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    first: IpAddr,
    length: u8,
}

impl Network {
    /// The network that a text names, or what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong =
            || format!("`{text}` is no address and no network; write `127.0.0.1`, `::1` or `10.0.0.0/8`");
        let (address, length) = match text.trim().split_once('/') {
            Some((address, length)) => (address, Some(length.parse::<u8>().map_err(|_| wrong())?)),
            None => (text.trim(), None),
        };
        let first = address.parse::<IpAddr>().map_err(|_| wrong())?.to_canonical();
        let bits = if first.is_ipv4() { 32 } else { 128 };
        let length = length.unwrap_or(bits);
        if length > bits { Err(wrong()) } else { Ok(Self { first, length }) }
    }

    pub(crate) fn contains(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        let length = u32::from(self.length) + if self.first.is_ipv4() { 96 } else { 0 };
        let differing = to_number(self.first) ^ to_number(address);
        self.first.is_ipv4() == address.is_ipv4() && differing.leading_zeros() >= length
    }
}

/// An address as a number of 128 bits; those of version 4 have zeros in front.
fn to_number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u128::from(address.to_bits()),
        IpAddr::V6(address) => address.to_bits(),
    }
}

/// What one client may change at will counts as one address: of version 6 that is a /64.
pub(crate) fn client_network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
        address @ IpAddr::V4(_) => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contains(network: &str, address: &str) -> bool {
        Network::parse(network).unwrap().contains(address.parse().unwrap())
    }

    #[test]
    fn a_network_has_the_addresses_that_begin_like_it() {
        let cases = [
            ("10.0.0.0/8", "10.255.1.2", true),
            ("10.0.0.0/8", "11.0.0.1", false),
            ("10.0.0.0/8", "::ffff:10.1.1.1", true),
            ("10.0.0.0/8", "a00::1", false),
            ("127.0.0.1", "127.0.0.1", true),
            ("127.0.0.1", "127.0.0.2", false),
            ("fd00::/8", "fd12::1", true),
            ("fd00::/8", "fe80::1", false),
            ("::1", "::1", true),
            ("::1", "127.0.0.1", false),
            ("0.0.0.0/0", "9.9.9.9", true),
            ("0.0.0.0/0", "2001:db8::1", false),
            ("::/0", "2001:db8::1", true),
        ];
        for (network, address, expected) in cases {
            assert_eq!(contains(network, address), expected, "{network} {address}");
        }
    }

    #[test]
    fn what_is_no_network_is_refused() {
        for text in [
            "",
            "proxy",
            "10.0.0.0/33",
            "::1/129",
            "10.0.0.0/",
            "10.0.0.0/-1",
            "10.0.0/8",
            "[::1]",
            "10.0.0.1:80",
        ] {
            assert!(Network::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_client_is_an_address_of_version_4_or_the_first_half_of_one_of_version_6() {
        let one = |text: &str| client_network(text.parse().unwrap()).to_string();
        assert_eq!(one("192.0.2.7"), "192.0.2.7");
        assert_eq!(one("::ffff:192.0.2.7"), "192.0.2.7");
        assert_eq!(one("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::");
    }
}
