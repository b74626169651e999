//! Which addresses are not public. Pure: an address in, a reason out.
//!
//! Addresses of version 6 that carry one of version 4 are judged by what they carry, since that is where they may lead.
//! The blocks are those of IANA's special-purpose registries; what is not known to be public is forbidden.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

const METADATA: &str = "the metadata service of a cloud";

/// Where clouds tell a machine about itself, its credentials included. An operator who wants one of them reached names it exactly.
const METADATA_V4: &[Ipv4Addr] = &[
    Ipv4Addr::new(169, 254, 169, 254),
    Ipv4Addr::new(169, 254, 170, 2),
    Ipv4Addr::new(169, 254, 170, 23),
    Ipv4Addr::new(100, 100, 100, 200),
    Ipv4Addr::new(168, 63, 129, 16),
    Ipv4Addr::new(192, 0, 0, 192),
];
const METADATA_V6: &[Ipv6Addr] = &[
    Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254),
    Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x23),
    Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254),
    Ipv6Addr::new(0xfd00, 0x42, 0, 0, 0, 0, 0, 0x42),
];

/// First octets, length and reason of every block of version 4 that is not public.
const FORBIDDEN_V4: &[(Ipv4Addr, u8, &str)] = &[
    (Ipv4Addr::new(0, 0, 0, 0), 8, "this network"),
    (Ipv4Addr::new(10, 0, 0, 0), 8, "private"),
    (Ipv4Addr::new(100, 64, 0, 0), 10, "shared by a carrier"),
    (Ipv4Addr::new(127, 0, 0, 0), 8, "this machine"),
    (Ipv4Addr::new(169, 254, 0, 0), 16, "link-local"),
    (Ipv4Addr::new(172, 16, 0, 0), 12, "private"),
    (Ipv4Addr::new(192, 0, 0, 0), 24, "reserved for protocols"),
    (Ipv4Addr::new(192, 0, 2, 0), 24, "for documentation"),
    (Ipv4Addr::new(192, 88, 99, 0), 24, "a relay of 6to4"),
    (Ipv4Addr::new(192, 168, 0, 0), 16, "private"),
    (Ipv4Addr::new(198, 18, 0, 0), 15, "for benchmarks"),
    (Ipv4Addr::new(198, 51, 100, 0), 24, "for documentation"),
    (Ipv4Addr::new(203, 0, 113, 0), 24, "for documentation"),
    (Ipv4Addr::new(224, 0, 0, 0), 4, "multicast"),
    (Ipv4Addr::new(240, 0, 0, 0), 4, "reserved"),
];

/// The blocks inside 2000::/3 that are not public; outside of it nothing is.
const FORBIDDEN_V6: &[(Ipv6Addr, u8, &str)] = &[
    // Teredo, ORCHID, benchmarks and more: nothing in it is a place that serves.
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23, "reserved for protocols"),
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32, "for documentation"),
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16, "6to4"),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20, "for documentation"),
];

/// Why an address must not be reached because of a model; none if it is public.
pub fn forbidden_reason(ip: IpAddr) -> Option<&'static str> {
    match canonical_address(ip) {
        IpAddr::V4(ip) => forbidden_reason_v4(ip),
        IpAddr::V6(ip) => forbidden_reason_v6(ip),
    }
}

/// The address that a connection would go to: `::ffff:10.0.0.1` is `10.0.0.1` to every system.
pub(crate) fn canonical_address(ip: IpAddr) -> IpAddr {
    ip.to_canonical()
}

pub(crate) fn is_metadata(ip: IpAddr) -> bool {
    match canonical_address(ip) {
        IpAddr::V4(ip) => METADATA_V4.contains(&ip),
        IpAddr::V6(ip) => {
            METADATA_V6.contains(&ip) || embedded_ipv4(ip).is_some_and(|inner| METADATA_V4.contains(&inner))
        }
    }
}

fn forbidden_reason_v4(ip: Ipv4Addr) -> Option<&'static str> {
    if METADATA_V4.contains(&ip) {
        return Some(METADATA);
    }
    let within = |(block, length, _): &&(Ipv4Addr, u8, &str)| {
        (block.to_bits() ^ ip.to_bits()).leading_zeros() >= u32::from(*length)
    };
    FORBIDDEN_V4.iter().find(within).map(|(_, _, why)| *why)
}

fn forbidden_reason_v6(ip: Ipv6Addr) -> Option<&'static str> {
    if METADATA_V6.contains(&ip) {
        return Some(METADATA);
    }
    if ip.is_unspecified() {
        return Some("this network");
    }
    if ip.is_loopback() {
        return Some("this machine");
    }
    if let Some(why) = embedded_ipv4(ip).and_then(forbidden_reason_v4) {
        return Some(why);
    }
    // Networks that have only version 6 reach public addresses of version 4 this way; others of them were refused above.
    if is_nat64(ip) {
        return None;
    }
    match ip.segments()[0] {
        0xfc00..=0xfdff | 0xfec0..=0xfeff => return Some("private"),
        0xfe80..=0xfebf => return Some("link-local"),
        0xff00..=0xffff => return Some("multicast"),
        0x2000..=0x3fff => {}
        _ => return Some("reserved"),
    }
    let within = |(block, length, _): &&(Ipv6Addr, u8, &str)| {
        (block.to_bits() ^ ip.to_bits()).leading_zeros() >= u32::from(*length)
    };
    FORBIDDEN_V6.iter().find(within).map(|(_, _, why)| *why)
}

/// The address of version 4 inside one of version 6, in any of the ways that translators and tunnels have.
fn embedded_ipv4(ip: Ipv6Addr) -> Option<Ipv4Addr> {
    let segments = ip.segments();
    let joined = |high: u16, low: u16| Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low));
    let last = joined(segments[6], segments[7]);
    match segments {
        // `::a.b.c.d`, `::ffff:a.b.c.d` and `::ffff:0:a.b.c.d`.
        [0, 0, 0, 0, 0 | 0xffff, 0, ..] | [0, 0, 0, 0, 0, 0xffff, ..] => Some(last),
        [0x64, 0xff9b, 0, 0, 0, 0, ..] => Some(last),
        // The local form of NAT64: its operator chose where the address stands, most often at the end.
        [0x64, 0xff9b, 1, ..] => Some(last),
        [0x2002, high, low, ..] => Some(joined(high, low)),
        // Teredo writes the client's address with every bit turned.
        [0x2001, 0, ..] => Some(Ipv4Addr::from_bits(!last.to_bits())),
        // ISATAP, under whatever prefix.
        [_, _, _, _, 0 | 0x200, 0x5efe, ..] => Some(last),
        _ => None,
    }
}

fn is_nat64(ip: Ipv6Addr) -> bool {
    matches!(ip.segments(), [0x64, 0xff9b, 0, 0, 0, 0, ..])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn why(ip: &str) -> Option<&'static str> {
        forbidden_reason(ip.parse().unwrap())
    }

    #[test]
    fn every_block_is_forbidden_from_its_first_address_to_its_last_and_no_further() {
        for (block, length, why) in FORBIDDEN_V4 {
            let last = block.to_bits() | (u32::MAX >> length);
            for ip in [*block, Ipv4Addr::from_bits(last), Ipv4Addr::from_bits(last - 1)] {
                assert_eq!(forbidden_reason(ip.into()), Some(*why), "{ip}");
            }
        }
        for public in [
            "1.1.1.1",
            "8.8.8.8",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "126.255.255.255",
            "128.0.0.0",
            "168.63.129.15",
            "168.63.129.17",
            "169.253.255.255",
            "169.255.0.0",
            "172.15.255.255",
            "172.32.0.0",
            "192.0.1.0",
            "192.0.3.0",
            "192.167.255.255",
            "192.169.0.0",
            "198.17.255.255",
            "198.20.0.0",
            "203.0.112.255",
            "203.0.114.0",
            "223.255.255.255",
            "2606:4700::1111",
            "2a00:1450::1",
            "2400::1",
            "2001:200::1",
            "2001:4860:4860::8888",
            "2003::1",
            "3ffe::1",
            "3fff:1000::1",
            "64:ff9b::8.8.8.8",
        ] {
            assert_eq!(why(public), None, "{public}");
        }
    }

    #[test]
    fn what_is_not_public_in_version_6_is_forbidden_with_its_reason() {
        for (ip, reason) in [
            ("::", "this network"),
            ("::1", "this machine"),
            ("::127.0.0.1", "this machine"),
            ("::8.8.8.8", "reserved"),
            ("::ffff:a9fe:a9fe", METADATA),
            ("::ffff:0:10.0.0.1", "private"),
            ("64:ff9b::10.0.0.1", "private"),
            ("64:ff9b:1::8.8.8.8", "reserved"),
            ("100::1", "reserved"),
            ("1fff::1", "reserved"),
            ("4000::1", "reserved"),
            ("5f00::1", "reserved"),
            ("2001::1", "reserved"),
            ("2001:2::1", "reserved for protocols"),
            ("2001:10::1", "reserved for protocols"),
            ("2001:20::1", "reserved for protocols"),
            ("2001:db8::1", "for documentation"),
            ("2002:808:808::1", "6to4"),
            ("2002:a00:1::", "private"),
            ("2a00::5efe:10.0.0.1", "private"),
            ("3fff:fff::1", "for documentation"),
            ("fc00::1", "private"),
            ("fd00:ec2::254", METADATA),
            ("fd20:ce::254", METADATA),
            ("fe80::1", "link-local"),
            ("fec0::1", "private"),
            ("ff02::1", "multicast"),
        ] {
            assert_eq!(why(ip), Some(reason), "{ip}");
        }
    }

    /// Every way in which an address of version 4 is written into one of version 6.
    fn encodings(ip: Ipv4Addr) -> [Ipv6Addr; 8] {
        let bits = ip.to_bits();
        let (high, low) = ((bits >> 16) as u16, bits as u16);
        [
            ip.to_ipv6_mapped(),
            ip.to_ipv6_compatible(),
            Ipv6Addr::new(0, 0, 0, 0, 0xffff, 0, high, low),
            Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, high, low),
            Ipv6Addr::new(0x64, 0xff9b, 1, 0, 0, 0, high, low),
            Ipv6Addr::new(0x2002, high, low, 0, 0, 0, 0, 1),
            Ipv6Addr::new(0x2001, 0, 0x4136, 0xe378, 0x8000, 0x63bf, !high, !low),
            Ipv6Addr::new(0x2a00, 0x1450, 0, 0, 0, 0x5efe, high, low),
        ]
    }

    fn special() -> impl Strategy<Value = Ipv4Addr> {
        let block = (0..FORBIDDEN_V4.len(), any::<u32>()).prop_map(|(index, bits)| {
            let (block, length, _) = FORBIDDEN_V4[index];
            Ipv4Addr::from_bits(block.to_bits() | bits & (u32::MAX >> length))
        });
        prop_oneof![block, prop::sample::select(METADATA_V4)]
    }

    proptest! {
        #[test]
        fn every_encoding_of_a_forbidden_address_is_forbidden(ip in special()) {
            let why = forbidden_reason(ip.into());
            prop_assert!(why.is_some());
            for encoded in encodings(ip) {
                prop_assert!(forbidden_reason(encoded.into()).is_some(), "{encoded} carries {ip}");
                prop_assert_eq!(is_metadata(encoded.into()), is_metadata(ip.into()), "{} carries {}", encoded, ip);
            }
        }

        #[test]
        fn canonical_forms_agree(bits in any::<u32>()) {
            let ip = Ipv4Addr::from_bits(bits);
            let [mapped, _, _, nat64, ..] = encodings(ip);
            prop_assert_eq!(forbidden_reason(mapped.into()), forbidden_reason(ip.into()));
            prop_assert_eq!(forbidden_reason(nat64.into()), forbidden_reason(ip.into()));
        }

        #[test]
        fn of_version_6_only_public_unicast_and_translations_of_it_are_let_through(bits in any::<u128>(), top in 0_u8..8) {
            let ip = Ipv6Addr::from_bits(bits >> 3 | u128::from(top) << 125);
            let is_public = ip.segments()[0] & 0xe000 == 0x2000;
            let mapped = ip.to_ipv4_mapped().is_some();
            prop_assert!(forbidden_reason(ip.into()).is_some() || is_public || is_nat64(ip) || mapped, "{ip}");
        }
    }
}
