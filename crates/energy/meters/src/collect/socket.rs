//! The socket of a collector of sFlow.

use super::CollectError;
use filermark_net::{BufferSizes, raise_buffers};
use socket2::{Domain, Protocol, Socket, Type};
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

/// Requested receive buffer in bytes: enough for 0.1 s of 100000 datagrams of counters a
/// second. The kernel may give less.
const RECEIVE_BUFFER: BufferSizes = BufferSizes {
    // Linux counts twice what is asked for.
    receive: 2 * (32 << 20),
    send: 0,
};
/// How long a receive call waits for a datagram.
pub(super) const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Listens on the address. The unspecified IPv6 address receives IPv4, too.
///
/// # Errors
/// The address cannot be bound; another collector may use it.
pub(super) fn listen(address: SocketAddr) -> Result<UdpSocket, CollectError> {
    open(address).map_err(|error| {
        let next = match error.kind() {
            io::ErrorKind::AddrInUse => {
                "another collector listens there already; end it, or choose another port here and on the switch"
            }
            io::ErrorKind::AddrNotAvailable => "this host has no such address",
            io::ErrorKind::PermissionDenied => "choose a port from 1024 on; sFlow's is 6343",
            _ => "choose another address",
        };
        CollectError(format!("sFlow: cannot listen on {address}: {error}; {next}"))
    })
}

fn open(address: SocketAddr) -> io::Result<UdpSocket> {
    let socket = Socket::new(
        Domain::for_address(address),
        Type::DGRAM,
        Some(Protocol::UDP),
    )?;
    if address.is_ipv6() {
        socket.set_only_v6(!address.ip().is_unspecified())?;
    }
    socket.bind(&address.into())?;
    socket.set_read_timeout(Some(POLL_INTERVAL))?;
    let socket = UdpSocket::from(socket);
    // Beyond the limit of the system where that is allowed; up to it otherwise.
    let _ = raise_buffers(&socket, RECEIVE_BUFFER);
    Ok(socket)
}
