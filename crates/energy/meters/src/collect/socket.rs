//! The socket of a collector of sFlow.

use super::CollectError;
use rustix::net::sockopt;
use socket2::{Domain, Protocol, Socket, Type};
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

/// Bytes that the kernel is asked to keep for us: a second of a hundred thousand datagrams
/// of counters does not fit, a tenth of one does. It gives what it may.
const RECEIVE_BUFFER: usize = 32 << 20;
/// How long a look into the socket takes when nothing comes.
pub(super) const LOOK: Duration = Duration::from_millis(100);

/// Listens there. An IPv6 address hears IPv4 as well, where it is none in particular.
///
/// # Errors
/// The address cannot be had; another collector may have it.
pub(super) fn listen(address: SocketAddr) -> Result<UdpSocket, CollectError> {
    open(address).map_err(|error| {
        let next = match error.kind() {
            io::ErrorKind::AddrInUse => {
                "another collector listens there already; end it, or choose another port and tell the switch"
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
    // Past the limit of the system where we may; up to it otherwise.
    if sockopt::set_socket_recv_buffer_size_force(&socket, RECEIVE_BUFFER).is_err() {
        let _ = socket.set_recv_buffer_size(RECEIVE_BUFFER);
    }
    socket.bind(&address.into())?;
    socket.set_read_timeout(Some(LOOK))?;
    Ok(socket.into())
}
