//! One datagram socket with one peer.

use super::ready::{BATCH, ReceivedDatagram};
use super::socket::{BufferSizes, ConnectOptions, connect_datagrams, raise_buffers};
use super::system;
use filermark_model::Nanos;
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, UdpSocket};
use std::ops::Range;
#[cfg(unix)]
use std::os::fd::{AsFd, BorrowedFd};
#[cfg(windows)]
use std::os::windows::io::{AsSocket, BorrowedSocket};

/// A UDP socket that never blocks and receives from one peer only.
///
/// It holds no buffer of its own: what the system does not take stays the caller's,
/// and what came lies in the caller's scratch buffer.
#[derive(Debug)]
pub struct Datagrams {
    socket: UdpSocket,
    buffers: BufferSizes,
}

/// What became of datagrams that were handed to the system.
#[derive(Debug)]
pub struct Sent {
    /// So many at the front are sent, or lost on the way: the caller notices lost
    /// datagrams by missing answers.
    pub taken: usize,
    /// The socket buffer is full: send the rest when the reactor reports the socket writable.
    pub blocked: bool,
    /// Times the network reported one of these datagrams or an earlier one as undeliverable
    /// ([`is_unreachable`]). Not the end of the socket.
    pub unreachable: u32,
    /// Datagrams that this host did not send for another reason: no buffer space, or a
    /// firewall rule of its own.
    pub unsent: u32,
    /// The last error, of either kind.
    pub last_error: Option<io::Error>,
}

/// Whether an error of a datagram socket means that the peer is unreachable: the port is
/// closed (on Windows that is a reset connection), the host is down, there is no route.
pub fn is_unreachable(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::ConnectionRefused
            | ErrorKind::ConnectionReset
            | ErrorKind::HostUnreachable
            | ErrorKind::NetworkUnreachable
    )
}

/// The result of one call of `receive`.
#[derive(Debug)]
pub enum Received {
    /// Nothing is there.
    WouldBlock,
    /// So many datagrams; more may be there if it is the maximum of one call.
    Some {
        /// How many.
        count: usize,
        /// More may be waiting: receive again.
        more: bool,
    },
    /// The network reported an error of a datagram that was sent earlier: the port is
    /// closed, no route. Receive again: datagrams may be there as well.
    SocketError(io::Error),
}

/// Lengths and ages of the datagrams of one call of `receive`, in their order in the
/// scratch buffer. Made once, used for every call.
#[derive(Debug)]
pub struct Arrivals {
    notes: [ReceivedDatagram; BATCH],
    capacity: usize,
}

impl Arrivals {
    /// For datagrams of up to `capacity` bytes: longer ones are cut off and marked as cut.
    pub fn new(capacity: usize) -> Self {
        Self {
            notes: [ReceivedDatagram::NONE; BATCH],
            capacity: capacity.max(1),
        }
    }

    /// The datagram with this number of the last look, in the scratch buffer that it
    /// was given, with how long ago it had arrived; `None` if it was cut off.
    #[inline]
    pub fn get<'s>(&self, scratch: &'s mut [u8], number: usize) -> Option<(&'s mut [u8], Nanos)> {
        let note = self.notes.get(number)?;
        let start = number * self.capacity;
        let bytes = scratch.get_mut(start..start + note.len)?;
        (!note.cut).then_some((bytes, note.age))
    }
}

impl Datagrams {
    /// A socket for `peer`, with buffers of these sizes where the system allows.
    ///
    /// # Errors
    /// No socket, no reserved port, no route.
    pub fn connect(
        peer: SocketAddr,
        options: ConnectOptions,
        buffers: BufferSizes,
    ) -> io::Result<Self> {
        let socket = connect_datagrams(peer, options)?;
        socket.set_nonblocking(true)?;
        let buffers = raise_buffers(&socket, buffers)?;
        Ok(Self { socket, buffers })
    }

    /// The sizes of the buffers as the system gave them.
    pub const fn buffers(&self) -> BufferSizes {
        self.buffers
    }

    /// This end's address.
    ///
    /// # Errors
    /// The system's.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Sends the pieces of `bytes` at `ranges` as one datagram each, [`BATCH`] per
    /// system call, as far as the system takes them.
    pub fn send(&self, bytes: &[u8], ranges: &[Range<usize>]) -> Sent {
        let mut sent = Sent {
            taken: 0,
            blocked: false,
            unreachable: 0,
            unsent: 0,
            last_error: None,
        };
        // The error of an earlier datagram is returned instead of sending this one, which is
        // tried once more. Whether that error was \"unreachable\":
        let mut error_before = None;
        while let Some(rest) = ranges.get(sent.taken..).filter(|rest| !rest.is_empty()) {
            match system::send_many(&self.socket, bytes, rest) {
                Ok(taken) => {
                    sent.taken += taken.max(1);
                    error_before = None;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    sent.blocked = true;
                    break;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => {
                    let unreachable = is_unreachable(&error);
                    // Two errors of one datagram count once.
                    sent.unreachable += u32::from(unreachable && error_before != Some(true));
                    let given_up = error_before.is_some();
                    sent.unsent += u32::from(given_up && !unreachable);
                    sent.taken += usize::from(given_up);
                    error_before = (!given_up).then_some(unreachable);
                    sent.last_error = Some(error);
                }
            }
        }
        sent
    }

    /// Takes what came, [`BATCH`] datagrams at most and as many as fit into
    /// `scratch`, in one system call.
    pub fn receive(&self, scratch: &mut [u8], arrivals: &mut Arrivals) -> Received {
        let capacity = arrivals.capacity;
        match system::receive_many(&self.socket, scratch, capacity, &mut arrivals.notes) {
            Ok(0) => Received::WouldBlock,
            Ok(count) => Received::Some {
                count,
                more: count == BATCH.min(scratch.len() / capacity),
            },
            Err(error) if error.kind() == ErrorKind::WouldBlock => Received::WouldBlock,
            Err(error) if error.kind() == ErrorKind::Interrupted => Received::Some {
                count: 0,
                more: true,
            },
            Err(error) => Received::SocketError(error),
        }
    }
}

#[cfg(unix)]
impl AsFd for Datagrams {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

#[cfg(windows)]
impl AsSocket for Datagrams {
    fn as_socket(&self) -> BorrowedSocket<'_> {
        self.socket.as_socket()
    }
}

// They send through Unix sockets, too.
#[cfg(all(test, unix))]
mod tests;
