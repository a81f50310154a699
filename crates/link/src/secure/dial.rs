//! Names to addresses, addresses to TCP connections, each with a time limit.

use super::SecureError;
use super::hello::HostName;
use filermark_model::plan::IpChoice;
use std::fmt;
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant};

/// Addresses of one name that are tried at most.
const ADDRESSES_MAX: usize = 8;
/// Minimum time for one address of several.
const SHARE_MIN: Duration = Duration::from_secs(1);

/// A host and a port: `host`, `host:port`, `[::1]:port`, `::1`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostPort {
    /// The host: a name or an address.
    pub host: HostName,
    /// The port.
    pub port: u16,
}

impl HostPort {
    /// From text; `port` is the default port.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str, port: u16) -> Result<Self, &'static str> {
        let (host, port_text) = if let Ok(IpAddr::V6(_)) = text.parse() {
            (text, None)
        } else if let Some(rest) = text.strip_prefix('[') {
            let (host, rest) = rest.split_once(']').ok_or("the ] is missing")?;
            match rest.strip_prefix(':') {
                Some(port_text) => (host, Some(port_text)),
                None if rest.is_empty() => (host, None),
                None => return Err("after the ] comes a : and a port"),
            }
        } else {
            match text.rsplit_once(':') {
                Some((host, port_text)) => (host, Some(port_text)),
                None => (text, None),
            }
        };
        let port_text = port_text.map(|port_text| port_text.parse().ok().filter(|port| *port != 0));
        let port = match port_text {
            Some(port_text) => port_text.ok_or("a port is a number from 1 to 65535")?,
            None => port,
        };
        let host = HostName::parse(host)?;
        Ok(Self { host, port })
    }
}

impl fmt::Display for HostPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.as_str().contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

/// The addresses of a host, in the resolver's order, at least one.
///
/// # Errors
/// There is none of this family, or the resolver took longer than `limit`.
pub fn resolve(
    host: &str,
    port: u16,
    ip: IpChoice,
    limit: Duration,
) -> Result<Vec<SocketAddr>, SecureError> {
    let none = |reason: String| SecureError::NoAddress {
        name: host.into(),
        family: match ip {
            IpChoice::V4 => " for IPv4",
            IpChoice::V6 => " for IPv6",
            IpChoice::Any => "",
        },
        reason,
    };
    let mut found = match host.trim_matches(['[', ']']).parse::<IpAddr>() {
        Ok(literal) => vec![SocketAddr::new(literal, port)],
        // The resolver has no time limit; on a timeout its thread remains.
        Err(_) => {
            let (sender, receiver) = sync_channel(1);
            let name = host.to_string();
            std::thread::Builder::new()
                .name("resolve".into())
                .spawn(move || {
                    let found = (name.as_str(), port).to_socket_addrs();
                    let _ = sender.send(found.map(|all| all.take(64).collect::<Vec<_>>()));
                })?;
            receiver
                .recv_timeout(limit)
                .map_err(|_| none(format!("no answer within {limit:.1?}")))?
                .map_err(|error| none(error.to_string()))?
        }
    };
    found.retain(|address| match ip {
        IpChoice::V4 => address.is_ipv4(),
        IpChoice::V6 => address.is_ipv6(),
        IpChoice::Any => true,
    });
    found.truncate(ADDRESSES_MAX);
    if found.is_empty() {
        return Err(none("it has other addresses only".into()));
    }
    Ok(found)
}

/// Connects to the first address of a host that answers, within `limit` in total.
///
/// # Errors
/// The error of the last address.
pub fn dial(to: &HostPort, ip: IpChoice, limit: Duration) -> Result<TcpStream, SecureError> {
    let deadline = Instant::now() + limit;
    let addresses = resolve(to.host.as_str(), to.port, ip, limit)?;
    let mut last = SecureError::TimedOut(limit);
    for (tried, address) in addresses.iter().enumerate() {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            break;
        }
        // An address that does not answer leaves time for the next one.
        let share = left / (addresses.len() - tried) as u32;
        let share = share.max(SHARE_MIN).min(left);
        match TcpStream::connect_timeout(address, share) {
            Ok(tcp) if is_to_itself(&tcp) => last = SecureError::Refused,
            Ok(tcp) => return Ok(tcp),
            Err(error) if error.kind() == std::io::ErrorKind::TimedOut => {
                last = SecureError::TimedOut(share);
            }
            Err(error) => last = error.into(),
        }
    }
    Err(last)
}

/// On loopback, a connection to a port without a listener can connect to itself.
fn is_to_itself(tcp: &TcpStream) -> bool {
    matches!((tcp.local_addr(), tcp.peer_addr()), (Ok(a), Ok(b)) if a == b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, TcpListener};

    const SHORT: Duration = Duration::from_secs(5);

    #[test]
    fn hosts_and_ports_are_parsed() {
        for (text, host, port) in [
            ("client1", "client1", 9),
            ("client1:77", "client1", 77),
            ("10.0.0.1:77", "10.0.0.1", 77),
            ("::1", "::1", 9),
            ("[::1]", "::1", 9),
            ("[fe80::1%eth0]:77", "fe80::1%eth0", 77),
        ] {
            let parsed = HostPort::parse(text, 9).unwrap();
            assert_eq!((parsed.host.as_str(), parsed.port), (host, port));
            assert_eq!(HostPort::parse(&parsed.to_string(), 9), Ok(parsed));
        }
        for wrong in [
            "", ":77", "a:", "a:0", "a:x", "a:65536", "[::1", "[::1]77", "a b",
        ] {
            assert!(HostPort::parse(wrong, 9).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn families_are_selected_and_names_without_address_are_reported() {
        let v4 = resolve("127.0.0.1", 1, IpChoice::Any, SHORT).unwrap();
        assert_eq!(v4, [SocketAddr::from((Ipv4Addr::LOCALHOST, 1))]);
        assert!(resolve("127.0.0.1", 1, IpChoice::V4, SHORT).is_ok());
        let wrong = resolve("127.0.0.1", 1, IpChoice::V6, SHORT).unwrap_err();
        assert!(wrong.to_string().contains("for IPv6"), "{wrong}");
        assert!(resolve("[::1]", 1, IpChoice::V6, SHORT).is_ok());
        let unknown = resolve("no-such-host.invalid", 1, IpChoice::Any, SHORT).unwrap_err();
        let words = unknown.to_string();
        assert!(words.contains("no-such-host.invalid"), "{words}");
    }

    #[test]
    fn a_port_without_a_listener_refuses() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let to = HostPort::parse("127.0.0.1", port).unwrap();
        assert!(dial(&to, IpChoice::Any, SHORT).is_ok());
        drop(listener);
        let refused = dial(&to, IpChoice::Any, SHORT).unwrap_err();
        assert_eq!(refused, SecureError::Refused);
        assert!(refused.is_temporary());
    }
}
