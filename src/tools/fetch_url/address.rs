//! Whether an address is one of the public internet. Knows no names and opens nothing.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Where an address leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Reach {
    /// Anywhere on the internet.
    Public,
    /// This machine, its network, or a place that is no host; a person may open it by naming the host.
    Private,
    /// What gives a cloud machine its keys; never opened.
    Keys,
}

/// Ranges that lead to no host of the internet: address, bits of its prefix.
const PRIVATE_V4: [(Ipv4Addr, u32); 15] = [
    (Ipv4Addr::new(0, 0, 0, 0), 8),
    (Ipv4Addr::new(10, 0, 0, 0), 8),
    (Ipv4Addr::new(100, 64, 0, 0), 10),
    (Ipv4Addr::new(127, 0, 0, 0), 8),
    (Ipv4Addr::new(172, 16, 0, 0), 12),
    (Ipv4Addr::new(192, 0, 0, 0), 24),
    (Ipv4Addr::new(192, 0, 2, 0), 24),
    (Ipv4Addr::new(192, 31, 196, 0), 24),
    (Ipv4Addr::new(192, 88, 99, 0), 24),
    (Ipv4Addr::new(192, 168, 0, 0), 16),
    (Ipv4Addr::new(198, 18, 0, 0), 15),
    (Ipv4Addr::new(198, 51, 100, 0), 24),
    (Ipv4Addr::new(203, 0, 113, 0), 24),
    (Ipv4Addr::new(224, 0, 0, 0), 4),
    (Ipv4Addr::new(240, 0, 0, 0), 4),
];

/// Where clouds keep what belongs to a machine; the first is a whole range of links.
const KEYS_V4: [(Ipv4Addr, u32); 4] = [
    (Ipv4Addr::new(169, 254, 0, 0), 16),
    (Ipv4Addr::new(100, 100, 100, 200), 32),
    (Ipv4Addr::new(168, 63, 129, 16), 32),
    (Ipv4Addr::new(192, 0, 0, 192), 32),
];

/// The same by IPv6, and links.
const KEYS_V6: [(Ipv6Addr, u32); 4] = [
    (Ipv6Addr::new(0xfd00, 0x0ec2, 0, 0, 0, 0, 0, 0x254), 128),
    (Ipv6Addr::new(0xfd20, 0x00ce, 0, 0, 0, 0, 0, 0x254), 128),
    (Ipv6Addr::new(0xfd00, 0x42, 0, 0, 0, 0, 0, 0x42), 128),
    (Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0), 10),
];

/// Ranges within the public 2000::/3 that are not: protocols (Teredo, benchmarks, identifiers), documentation, 6to4.
const PRIVATE_V6: [(Ipv6Addr, u32); 4] = [
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23),
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32),
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20),
];

/// Where an address leads. An IPv4 address inside an IPv6 one is judged as what it is, and the form around it, too: the
/// worse of both counts.
pub(super) fn reach(address: IpAddr) -> Reach {
    match address {
        IpAddr::V4(v4) => reach_v4(v4),
        IpAddr::V6(v6) => reach_v6(v6),
    }
}

fn reach_v4(address: Ipv4Addr) -> Reach {
    let within = |ranges: &[(Ipv4Addr, u32)]| {
        ranges.iter().any(|(range, bits)| (address.to_bits() ^ range.to_bits()).leading_zeros() >= *bits)
    };
    if within(&KEYS_V4) {
        Reach::Keys
    } else if within(&PRIVATE_V4) {
        Reach::Private
    } else {
        Reach::Public
    }
}

fn reach_v6(address: Ipv6Addr) -> Reach {
    let within = |ranges: &[(Ipv6Addr, u32)]| {
        ranges.iter().any(|(range, bits)| (address.to_bits() ^ range.to_bits()).leading_zeros() >= *bits)
    };
    if within(&KEYS_V6) {
        return Reach::Keys;
    }
    let [a, b, c, d, e, f, _, _] = address.segments();
    let low = Ipv4Addr::from_bits((address.to_bits() & u128::from(u32::MAX)) as u32);
    match (a, b, c, d, e, f) {
        // Mapped and translated addresses are nothing but the IPv4 one.
        (0, 0, 0, 0, 0, 0xffff) | (0x64, 0xff9b, 0, 0, 0, 0) => reach_v4(low),
        // IPv4-compatible, which includes :: and ::1; SIIT; NAT64 of a local network.
        (0, 0, 0, 0, 0, 0) | (0, 0, 0, 0, 0xffff, 0) | (0x64, 0xff9b, 1, ..) => reach_v4(low).max(Reach::Private),
        // 6to4, Teredo with its server and client, ISATAP.
        (0x2002, ..) => reach_v4(pair(b, c)).max(Reach::Private),
        (0x2001, 0, ..) => reach_v4(pair(c, d)).max(reach_v4(Ipv4Addr::from_bits(!low.to_bits()))).max(Reach::Private),
        (_, _, _, _, 0 | 0x200, 0x5efe) => reach_v4(low).max(Reach::Private),
        _ if within(&PRIVATE_V6) || a & 0xe000 != 0x2000 => Reach::Private,
        _ => Reach::Public,
    }
}

fn pair(high: u16, low: u16) -> Ipv4Addr {
    Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low))
}
