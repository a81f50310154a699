//! The addresses under which clients may reach this host, the likeliest first.

use crate::identity::own_host;
use crate::secure::dial::resolve;
use crate::secure::hello::{ADDRESSES_MAX, HostName};
use filermark_model::plan::IpChoice;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::time::Duration;

/// Clients to which a route is looked up.
const ASKED_MAX: usize = 3;
/// How long the lookup of each name may take.
const RESOLVE_MAX: Duration = Duration::from_secs(1);
/// Any port: nothing is sent.
const ANY_PORT: u16 = 9;

/// The source addresses that the system would use for these clients, then its other addresses,
/// then its name, then loopback, for clients on this host.
pub fn own_addresses(clients: &[&str], ip: IpChoice) -> Vec<HostName> {
    let mut found: Vec<IpAddr> = Vec::new();
    for client in clients.iter().take(ASKED_MAX) {
        let to = resolve(client, ANY_PORT, ip, RESOLVE_MAX).unwrap_or_default();
        found.extend(to.iter().filter_map(|to| source_for(*to)));
    }
    found.extend(interface_addresses());
    found.retain(|address| is_wanted(*address, ip) && !address.is_loopback());
    let mut texts: Vec<String> = found.iter().map(IpAddr::to_string).collect();
    // Keeps space for the last ones.
    texts.dedup();
    let mut known = std::collections::HashSet::new();
    texts.retain(|text| known.insert(text.clone()));
    texts.truncate(ADDRESSES_MAX - 2);
    texts.push(own_host());
    texts.push(match ip {
        IpChoice::V6 => Ipv6Addr::LOCALHOST.to_string(),
        IpChoice::V4 | IpChoice::Any => Ipv4Addr::LOCALHOST.to_string(),
    });
    texts
        .iter()
        .filter_map(|t| HostName::parse(t).ok())
        .collect()
}

fn is_wanted(address: IpAddr, ip: IpChoice) -> bool {
    let is_link_local = match address {
        IpAddr::V4(v4) => v4.is_link_local(),
        // Unusable without the interface of the other host.
        IpAddr::V6(v6) => v6.is_unicast_link_local(),
    };
    let is_family = match ip {
        IpChoice::V4 => address.is_ipv4(),
        IpChoice::V6 => address.is_ipv6(),
        IpChoice::Any => true,
    };
    is_family && !is_link_local && !address.is_unspecified()
}

/// The source address of packets to this address; none is sent.
fn source_for(to: SocketAddr) -> Option<IpAddr> {
    let any: IpAddr = match to {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let socket = UdpSocket::bind((any, 0)).ok()?;
    socket.connect(to).ok()?;
    Some(socket.local_addr().ok()?.ip())
}

/// Of all interfaces, where the system lists them in files (Linux).
pub(crate) fn interface_addresses() -> Vec<IpAddr> {
    let v4 = filermark_system::read_proc("/proc/net/fib_trie").unwrap_or_default();
    let v6 = filermark_system::read_proc("/proc/net/if_inet6").unwrap_or_default();
    let v4 = local_v4(&v4).into_iter().map(IpAddr::V4);
    v4.chain(local_v6(&v6).into_iter().map(IpAddr::V6))
        .collect()
}

/// Each address is on one line, and its type on the next:
///
/// ```text
///            |-- 10.0.0.1
///               /32 host LOCAL
/// ```
fn local_v4(trie: &str) -> Vec<Ipv4Addr> {
    let lines: Vec<_> = trie.lines().map(str::trim).collect();
    let local = |pair: &[&str]| match pair {
        [address, what] if what.starts_with("/32 host LOCAL") => {
            address.strip_prefix("|-- ")?.parse().ok()
        }
        _ => None,
    };
    lines.windows(2).filter_map(local).collect()
}

/// Each line begins with the address in hex.
fn local_v6(list: &str) -> Vec<Ipv6Addr> {
    let address = |line: &str| {
        let hex = line.split_whitespace().next()?;
        let bits = u128::from_str_radix(hex, 16).ok()?;
        (hex.len() == 32).then(|| Ipv6Addr::from(bits))
    };
    list.lines().filter_map(address).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_of_linux_are_read() {
        let trie = "Local:\n  +-- 0.0.0.0/0 3 0 5\n     |-- 10.1.2.0\n        /24 link UNICAST\n     \
                    |-- 10.1.2.3\n        /32 host LOCAL\n     |-- 10.1.2.255\n        /32 link BROADCAST\n";
        assert_eq!(local_v4(trie), [Ipv4Addr::new(10, 1, 2, 3)]);
        let list = "00000000000000000000000000000001 01 80 10 80       lo\n\
                    20010db8000000000000000000000007 02 40 00 80     eth0\nnonsense\n";
        let found = local_v6(list);
        assert_eq!(found[1], "2001:db8::7".parse::<Ipv6Addr>().unwrap());
        assert_eq!(found.len(), 2);
    }

    #[test]
    fn there_is_always_an_address_and_loopback_is_last() {
        let found = own_addresses(&["127.0.0.1", "no-such-host.invalid"], IpChoice::Any);
        assert_eq!(found.last().unwrap().as_str(), "127.0.0.1");
        assert!(found.len() <= ADDRESSES_MAX);
        let v6 = own_addresses(&[], IpChoice::V6);
        assert_eq!(v6.last().unwrap().as_str(), "::1");
    }
}
