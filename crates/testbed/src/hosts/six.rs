//! IPv6 of the hosts: an address beside that of IPv4, under a name of its own, so that
//! whoever asks for a host by its usual name gets IPv4 as ever.

use std::net::{Ipv4Addr, Ipv6Addr};

/// The name that leads there.
pub(super) fn name(host: &str) -> String {
    format!("{host}-six")
}

/// The address: the last number is that of IPv4.
pub(super) fn address(of: Ipv4Addr) -> Ipv6Addr {
    let [.., last] = of.octets();
    Ipv6Addr::new(0xfd77, 0, 0, 0, 0, 0, 0, u16::from(last))
}
