//! Names to addresses, addresses to TCP connections; each within a time.

use super::SecureError;
use super::hello::HostName;
use filermark_model::plan::IpChoice;
use std::fmt;
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant};

/// Most addresses of one name that are tried.
const ADDRESSES_MAX: usize = 8;
/// What one address of several is given, in the end.
const SHARE_MIN: Duration = Duration::from_secs(1);

/// A host and a port, as users write them: `host`, `host:port`, `[::1]:port`, `::1`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostPort {
    /// The host: a name or an address.
    pub host: HostName,
    /// The port.
    pub port: u16,
}

impl HostPort {
    /// From text; `port`: where none is said.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str, port: u16) -> Result<Self, &'static str> {
        let (host, said) = if let Ok(IpAddr::V6(_)) = text.parse() {
            (text, None)
        } else if let Some(rest) = text.strip_prefix('[') {
            let (host, rest) = rest.split_once(']').ok_or("the ] is missing")?;
            match rest.strip_prefix(':') {
                Some(said) => (host, Some(said)),
                None if rest.is_empty() => (host, None),
                None => return Err("after the ] comes a : and a port"),
            }
        } else {
            match text.rsplit_once(':') {
                Some((host, said)) => (host, Some(said)),
                None => (text, None),
            }
        };
        let said = said.map(|said| said.parse().ok().filter(|port| *port != 0));
        let port = match said {
            Some(said) => said.ok_or("a port is a number from 1 to 65535")?,
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
        // The resolver takes the time that it likes; the thread is left to it.
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
        return Err(none("it has others only".into()));
    }
    Ok(found)
}

/// Connects to the first address of a host that answers, all within `limit`.
///
/// # Errors
/// Why the last one of them did not.
pub fn dial(to: &HostPort, ip: IpChoice, limit: Duration) -> Result<TcpStream, SecureError> {
    let deadline = Instant::now() + limit;
    let addresses = resolve(to.host.as_str(), to.port, ip, limit)?;
    let mut last = SecureError::TimedOut(limit);
    for (tried, address) in addresses.iter().enumerate() {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            break;
        }
        // A silent address leaves time for the next one.
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

/// On loopback a connection to a port that nobody listens on can meet itself.
fn is_to_itself(tcp: &TcpStream) -> bool {
    matches!((tcp.local_addr(), tcp.peer_addr()), (Ok(a), Ok(b)) if a == b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, TcpListener};

    const SHORT: Duration = Duration::from_secs(5);

    #[test]
    fn hosts_and_ports_as_users_write_them() {
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
    fn families_are_chosen_and_names_without_address_are_told() {
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
    fn who_does_not_listen_refuses() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let to = HostPort::parse("127.0.0.1", port).unwrap();
        assert!(dial(&to, IpChoice::Any, SHORT).is_ok());
        drop(listener);
        let refused = dial(&to, IpChoice::Any, SHORT).unwrap_err();
        assert_eq!(refused, SecureError::Refused);
        assert!(refused.may_pass());
    }
}
