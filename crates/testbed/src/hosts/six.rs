//! IPv6 of the hosts: a second address under a separate name, so that the usual name of a
//! host resolves to IPv4 only.

use std::net::{Ipv4Addr, Ipv6Addr};

/// The name that resolves to the IPv6 address.
pub(super) fn name(host: &str) -> String {
    format!("{host}-six")
}

/// The IPv6 address: its last number is that of the IPv4 address.
pub(super) fn address(of: Ipv4Addr) -> Ipv6Addr {
    let [.., last] = of.octets();
    Ipv6Addr::new(0xfd77, 0, 0, 0, 0, 0, 0, u16::from(last))
}
