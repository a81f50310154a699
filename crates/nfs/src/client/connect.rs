//! Connecting: limits on the wait, and source ports from the reserved range.

use super::ClientError;
use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

/// The source ports that RESVPORT draws from: those that only a privileged
/// process may bind and that no well-known service listens on.
pub const RESERVED_PORTS: RangeInclusive<u16> = 512..=1023;

/// Where the next search begins, counted down from 1023: many connections in a
/// row would otherwise try the same used ports again and again.
static NEXT_PORT: AtomicU16 = AtomicU16::new(0);

/// Binds to the next free port of [`RESERVED_PORTS`].
///
/// # Errors
/// [`ClientError::ReservedPort`]: not permitted, or all are in use.
pub fn bind_reserved(socket: &Socket, peer: &SocketAddr) -> Result<(), ClientError> {
    let count = RESERVED_PORTS.end() - RESERVED_PORTS.start() + 1;
    let first = NEXT_PORT.fetch_add(1, Ordering::Relaxed) % count;
    let mut last = io::Error::from(io::ErrorKind::AddrInUse);
    // Ports of connections that ended lately wait for stray packets (TIME_WAIT);
    // without this they would count as used.
    let _ = socket.set_reuse_address(true);
    for step in 0..count {
        let port = RESERVED_PORTS.end() - (first + step) % count;
        let local = match peer {
            SocketAddr::V4(_) => SocketAddr::from((Ipv4Addr::UNSPECIFIED, port)),
            SocketAddr::V6(_) => SocketAddr::from((Ipv6Addr::UNSPECIFIED, port)),
        };
        match socket.bind(&SockAddr::from(local)) {
            Ok(()) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => last = error,
            Err(source) => return Err(ClientError::ReservedPort { source }),
        }
    }
    Err(ClientError::ReservedPort { source: last })
}

/// Connects within `timeout`; with `resvport`, from a reserved source port.
///
/// # Errors
/// [`ClientError::Connect`], [`ClientError::ConnectTimedOut`] or
/// [`ClientError::ReservedPort`].
pub fn connect(
    address: SocketAddr,
    resvport: bool,
    timeout: Duration,
) -> Result<TcpStream, ClientError> {
    // A reserved port may be free here and yet be in use towards this very peer:
    // then the next one is tried.
    let attempts = if resvport { 16 } else { 1 };
    let mut last = None;
    for _ in 0..attempts {
        match connect_once(address, resvport, timeout) {
            Err(ClientError::Connect { address, source })
                if matches!(
                    source.kind(),
                    io::ErrorKind::AddrNotAvailable | io::ErrorKind::AddrInUse
                ) =>
            {
                last = Some(ClientError::Connect { address, source });
            }
            other => return other,
        }
    }
    Err(last.unwrap_or(ClientError::ConnectTimedOut {
        address,
        waited: timeout,
    }))
}

fn connect_once(
    address: SocketAddr,
    resvport: bool,
    timeout: Duration,
) -> Result<TcpStream, ClientError> {
    let failed = |source| ClientError::Connect { address, source };
    let socket = Socket::new(
        Domain::for_address(address),
        Type::STREAM,
        Some(Protocol::TCP),
    )
    .map_err(failed)?;
    if resvport {
        bind_reserved(&socket, &address)?;
    }
    match socket.connect_timeout(&SockAddr::from(address), timeout) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::TimedOut => {
            return Err(ClientError::ConnectTimedOut {
                address,
                waited: timeout,
            });
        }
        Err(error) => return Err(failed(error)),
    }
    // Calls are small and answers are waited for: Nagle's algorithm only delays.
    socket.set_tcp_nodelay(true).map_err(failed)?;
    Ok(socket.into())
}
