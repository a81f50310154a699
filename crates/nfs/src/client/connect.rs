//! Connecting: limits on the wait, and source ports from the reserved range.

use super::ClientError;
use filermark_engine::interrupt_guard;
use filermark_net::bind_reserved;
use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

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
        let connected =
            interrupt_guard::run_interruptible(move || connect_once(address, resvport, timeout));
        match connected.unwrap_or(Err(ClientError::Stopped)) {
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
        bind_reserved(&socket, Domain::for_address(address))
            .map_err(|source| ClientError::ReservedPort { source })?;
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
