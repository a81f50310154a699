//! Making sockets: non-blocking connects, and source ports of the reserved range.

use super::ready::SocketBuffer;
use super::system;
use socket2::{Domain, Protocol, SockAddr, SockRef, Socket, Type};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, UdpSocket};
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicU16, Ordering};

/// The source ports that some servers ask for: only a privileged process gets one.
pub const RESERVED_PORTS: RangeInclusive<u16> = 512..=1023;

/// How connections are made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConnectOptions {
    /// Take a source port of [`RESERVED_PORTS`].
    pub reserved_port: bool,
}

/// Where the next search for a reserved port begins: procs of one client do not
/// all try the same ports.
static NEXT_PORT: AtomicU16 = AtomicU16::new(0);

/// Binds `socket` to a free port of the reserved range.
///
/// # Errors
/// `PermissionDenied` without the privilege; `AddrInUse` when all are taken.
pub fn bind_reserved(socket: &Socket, domain: Domain) -> io::Result<()> {
    // Ports of connections that ended lately wait for stray packets (TIME_WAIT);
    // without this they would count as used.
    let _ = socket.set_reuse_address(true);
    bind_free_reserved(socket, domain)
}

/// Without the permission to share a port: of datagrams, another socket would get
/// some of the answers.
fn bind_free_reserved(socket: &Socket, domain: Domain) -> io::Result<()> {
    for _ in RESERVED_PORTS {
        match socket.bind(&reserved_address(domain)) {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {}
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                return Err(io::Error::new(
                    error.kind(),
                    "source ports below 1024 need root or CAP_NET_BIND_SERVICE",
                ));
            }
            other => return other,
        }
    }
    Err(io::Error::new(
        io::ErrorKind::AddrInUse,
        "all source ports from 512 to 1023 are in use",
    ))
}

fn reserved_address(domain: Domain) -> SockAddr {
    let count = RESERVED_PORTS.end() - RESERVED_PORTS.start() + 1;
    let step = NEXT_PORT.fetch_add(1, Ordering::Relaxed) % count;
    let any = if domain == Domain::IPV6 {
        IpAddr::V6(Ipv6Addr::UNSPECIFIED)
    } else {
        IpAddr::V4(Ipv4Addr::UNSPECIFIED)
    };
    SocketAddr::new(any, RESERVED_PORTS.end() - step).into()
}

/// Begins to connect, without waiting. The connection is made, or has failed,
/// when the reactor says writable or broken.
pub(super) fn start_connect(peer: SocketAddr, options: ConnectOptions) -> io::Result<TcpStream> {
    let tries = if options.reserved_port { 16 } else { 1 };
    let mut last = None;
    for _ in 0..tries {
        let domain = Domain::for_address(peer);
        let socket = Socket::new(domain, Type::STREAM, Some(Protocol::TCP))?;
        socket.set_nonblocking(true)?;
        socket.set_tcp_nodelay(true)?;
        system::note_arrivals(&socket);
        if options.reserved_port {
            // A port that waits in TIME_WAIT for another connection is free for this one.
            socket.set_reuse_address(true)?;
            bind_reserved(&socket, domain)?;
        }
        match socket.connect(&peer.into()) {
            Ok(()) => return Ok(socket.into()),
            Err(error) if in_progress(&error) => return Ok(socket.into()),
            // This very pair of addresses and ports is taken: another source port.
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::AddrInUse | io::ErrorKind::AddrNotAvailable
                ) =>
            {
                last = Some(error);
            }
            Err(error) => return Err(error),
        }
    }
    Err(last.unwrap_or_else(|| io::ErrorKind::AddrNotAvailable.into()))
}

/// A UDP socket that receives from one peer only. Whether the peer exists is not known
/// before an answer comes.
///
/// # Errors
/// No socket, no reserved port, no route.
pub fn connect_datagrams(peer: SocketAddr, options: ConnectOptions) -> io::Result<UdpSocket> {
    let domain = Domain::for_address(peer);
    let socket = Socket::new(domain, Type::DGRAM, Some(Protocol::UDP))?;
    system::note_arrivals(&socket);
    if options.reserved_port {
        bind_free_reserved(&socket, domain)?;
    }
    socket.connect(&peer.into())?;
    Ok(socket.into())
}

/// Sizes of a socket's buffers, in bytes of the system's own count: what it has
/// beside the data itself is among them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BufferSizes {
    /// For what came and was not read.
    pub receive: usize,
    /// For what was sent and has not left.
    pub send: usize,
}

/// Raises a socket's buffers to `wanted` as far as the system allows, and returns
/// what they are then. Datagrams that do not fit are lost without an error, so the
/// caller reports it when the buffers are smaller.
///
/// # Errors
/// The system does not return the sizes.
pub fn raise_buffers(socket: &UdpSocket, wanted: BufferSizes) -> io::Result<BufferSizes> {
    let options = SockRef::from(socket);
    // Linux allocates twice the requested size, and returns that.
    let (receive, send) = (wanted.receive.div_ceil(2), wanted.send.div_ceil(2));
    if options.recv_buffer_size()? < wanted.receive {
        let _ = options.set_recv_buffer_size(receive);
        if options.recv_buffer_size()? < wanted.receive {
            system::force_buffer(socket, SocketBuffer::Receive, receive);
        }
    }
    if options.send_buffer_size()? < wanted.send {
        let _ = options.set_send_buffer_size(send);
        if options.send_buffer_size()? < wanted.send {
            system::force_buffer(socket, SocketBuffer::Send, send);
        }
    }
    Ok(BufferSizes {
        receive: options.recv_buffer_size()?,
        send: options.send_buffer_size()?,
    })
}

fn in_progress(error: &io::Error) -> bool {
    #[cfg(unix)]
    if error.raw_os_error() == Some(rustix::io::Errno::INPROGRESS.raw_os_error()) {
        return true;
    }
    error.kind() == io::ErrorKind::WouldBlock
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reserved_addresses_stay_in_the_range_and_change() {
        let ports: Vec<u16> = (0..600)
            .filter_map(|_| reserved_address(Domain::IPV4).as_socket())
            .map(|a| a.port())
            .collect();
        assert!(ports.iter().all(|p| RESERVED_PORTS.contains(p)));
        assert_ne!(ports[0], ports[1]);
    }
}
