//! Extracts the payload of a UDP datagram from a captured packet.
//!
//! Only the necessary part of Ethernet, VLAN tags, IPv4 (RFC 791), IPv6 (RFC 8200) and UDP (RFC
//! 768). Checksums are not checked: the capturing host may have seen packets before they were
//! filled in.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The layer below IP (tcpdump.org, "Link-layer header types").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LinkType {
    Ethernet,
    /// IP itself.
    Raw,
    /// Linux "any" devices, first and second form.
    Cooked,
    Cooked2,
}

impl LinkType {
    pub(super) fn from_number(number: i32) -> Option<Self> {
        match number {
            1 => Some(Self::Ethernet),
            12 | 101 | 228 | 229 => Some(Self::Raw),
            113 => Some(Self::Cooked),
            276 => Some(Self::Cooked2),
            _ => None,
        }
    }
}

/// The kind of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PacketKind<'a> {
    /// A datagram to the wanted port.
    Datagram { from: IpAddr, payload: &'a [u8] },
    /// Something else.
    Other,
    /// A fragment of a datagram.
    Fragment,
    /// One to the port, or possibly to it, that was not captured completely.
    Cut,
}

const VLAN_TAGS: [u16; 3] = [0x8100, 0x88a8, 0x9100];
const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
const UDP: u8 = 17;
/// Most extension headers of a packet.
const EXTENSIONS_MAX: usize = 8;
/// Most tags of a packet.
const TAGS_MAX: usize = 4;

fn word(bytes: &[u8], at: usize) -> Option<u16> {
    let pair = bytes.get(at..at + 2)?;
    Some(u16::from_be_bytes([pair[0], pair[1]]))
}

/// Looks for a UDP datagram to `port`.
pub(super) fn udp(link: LinkType, bytes: &[u8], port: u16) -> PacketKind<'_> {
    let ip = match link {
        LinkType::Ethernet => tagged(bytes, 12),
        LinkType::Cooked => tagged(bytes, 14),
        LinkType::Cooked2 => word(bytes, 0).map(|kind| (kind, bytes.get(20..).unwrap_or_default())),
        LinkType::Raw => bytes.first().map(|first| {
            let kind = if first >> 4 == 6 { IPV6 } else { IPV4 };
            (kind, bytes)
        }),
    };
    let found = match ip {
        Some((IPV4, bytes)) => ipv4(bytes, port),
        Some((IPV6, bytes)) => ipv6(bytes, port),
        Some(_) => return PacketKind::Other,
        None => None,
    };
    found.unwrap_or(PacketKind::Cut)
}

/// The type of the payload after VLAN tags, and its bytes.
fn tagged(bytes: &[u8], mut at: usize) -> Option<(u16, &[u8])> {
    for _ in 0..=TAGS_MAX {
        let kind = word(bytes, at)?;
        if !VLAN_TAGS.contains(&kind) {
            return Some((kind, bytes.get(at + 2..)?));
        }
        at += 4;
    }
    Some((0, &[]))
}

/// `None` where the bytes end too early.
fn ipv4(bytes: &[u8], port: u16) -> Option<PacketKind<'_>> {
    let head = usize::from(bytes.first()? & 0x0f) * 4;
    if bytes[0] >> 4 != 4 || head < 20 {
        return Some(PacketKind::Other);
    }
    if *bytes.get(9)? != UDP {
        return Some(PacketKind::Other);
    }
    // More fragments, or not the first.
    if word(bytes, 6)? & 0x3fff != 0 {
        return Some(PacketKind::Fragment);
    }
    let source: [u8; 4] = bytes.get(12..16)?.try_into().ok()?;
    datagram(bytes.get(head..)?, port, Ipv4Addr::from(source).into())
}

fn ipv6(bytes: &[u8], port: u16) -> Option<PacketKind<'_>> {
    if bytes.first()? >> 4 != 6 {
        return Some(PacketKind::Other);
    }
    let source: [u8; 16] = bytes.get(8..24)?.try_into().ok()?;
    let (mut next, mut at) = (*bytes.get(6)?, 40);
    for _ in 0..=EXTENSIONS_MAX {
        match next {
            UDP => return datagram(bytes.get(at..)?, port, Ipv6Addr::from(source).into()),
            // Hop-by-hop, routing, destination options: 8 bytes, and a multiple of 8 more.
            0 | 43 | 60 => {
                next = *bytes.get(at)?;
                at += 8 + 8 * usize::from(*bytes.get(at + 1)?);
            }
            44 => return Some(PacketKind::Fragment),
            _ => return Some(PacketKind::Other),
        }
    }
    Some(PacketKind::Other)
}

fn datagram(bytes: &[u8], port: u16, from: IpAddr) -> Option<PacketKind<'_>> {
    if word(bytes, 2)? != port {
        return Some(PacketKind::Other);
    }
    let length = usize::from(word(bytes, 4)?);
    if length < 8 {
        return Some(PacketKind::Other);
    }
    // The datagram may be followed by the padding of a short frame.
    let payload = bytes.get(8..length)?;
    Some(PacketKind::Datagram { from, payload })
}
