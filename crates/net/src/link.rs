//! One connection, in the clear or protected by TLS.

mod receiving;
mod secure;

use super::pool::BufferPool;
use super::socket::{ConnectOptions, start_connect};
use super::system;
use filermark_model::Nanos;
use filermark_tls::ClientTls;
use secure::Secure;
use std::io::{self, ErrorKind, Write};
use std::net::{SocketAddr, TcpStream};
use std::num::NonZeroU16;
#[cfg(unix)]
use std::os::fd::{AsFd, BorrowedFd};
#[cfg(windows)]
use std::os::windows::io::{AsSocket, BorrowedSocket};

/// A buffer of which the system did not take at least one part in so many is kept whole: the
/// copy is saved, and the memory of blocked connections stays within so many times of what
/// they have to send.
const KEPT_WHOLE: usize = 4;

/// A TCP connection that never blocks.
///
/// Without anything under way it holds no buffer.
#[derive(Debug)]
pub struct Link {
    stream: TcpStream,
    /// What the system has not taken yet.
    unsent: Vec<u8>,
    unsent_from: usize,
    /// The beginning of a message whose rest has not come.
    partial: Vec<u8>,
    /// How many bytes it lacks, at least.
    wanted: usize,
    /// The last message that came in parts was a long one.
    is_long: bool,
    /// Bytes that were copied besides those that the system copies.
    #[cfg(test)]
    copied: usize,
    tls: Option<Box<Secure>>,
    /// Its slot in the ring that receives for it, plus one.
    ring_slot: Option<NonZeroU16>,
}

/// What a read brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadOutcome {
    /// Bytes at the front of the scratch buffer that [`Link::feed`] is to be given.
    pub scratch_len: usize,
    /// More may be waiting: read again.
    pub more: bool,
    /// How long ago the last byte had arrived at this host, as the kernel noted
    /// it; no time where it did not.
    pub age: Nanos,
}

/// What a protocol says about the bytes it was shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameProgress {
    /// How many bytes at the front were whole messages, done with.
    pub consumed: usize,
    /// If bytes are left: how many are needed behind them, at least, before it
    /// makes sense to look again. 0 counts as 1.
    pub wanted: usize,
}

impl Link {
    /// Begins to connect to `peer`. Add it to a reactor; when that says writable,
    /// ask [`Link::connected`].
    ///
    /// # Errors
    /// No socket, no reserved port, or the peer refused at once.
    pub fn connect(peer: SocketAddr, options: ConnectOptions) -> io::Result<Self> {
        Ok(Self {
            stream: start_connect(peer, options)?,
            unsent: Vec::new(),
            unsent_from: 0,
            partial: Vec::new(),
            wanted: 0,
            is_long: false,
            #[cfg(test)]
            copied: 0,
            tls: None,
            ring_slot: None,
        })
    }

    /// Begins TLS on the new connection. It goes on with each [`Link::open`], which brings no
    /// bytes until [`Link::is_secured`].
    ///
    /// # Errors
    /// The connection broke.
    pub fn secure(&mut self, tls: &ClientTls) -> io::Result<()> {
        self.tls = Some(Box::new(Secure::new(tls)));
        self.send_messages()
    }

    /// Whether messages can be sent: there is no TLS, or its handshake is complete.
    pub fn is_secured(&self) -> bool {
        self.tls.as_ref().is_none_or(|tls| tls.channel.is_open())
    }

    /// With TLS: encrypts `bytes`, which are to be handed to [`Link::send`] then, in place of
    /// `spare`. Call it only when nothing is unsent.
    ///
    /// # Errors
    /// The session has ended.
    #[inline]
    pub fn seal(&mut self, bytes: &mut Vec<u8>, spare: &mut Vec<u8>) -> io::Result<()> {
        match &mut self.tls {
            None => Ok(()),
            Some(tls) => tls.seal(bytes, spare),
        }
    }

    /// Whether the connection has been made by now.
    ///
    /// # Errors
    /// Why it could not be made.
    pub fn connected(&self) -> io::Result<bool> {
        if let Some(error) = self.stream.take_error()? {
            return Err(error);
        }
        match self.stream.peer_addr() {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == ErrorKind::NotConnected => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Bytes handed to [`Link::send`] that the system has not taken.
    pub fn unsent_len(&self) -> usize {
        self.unsent.len() - self.unsent_from
    }

    /// Where what is unsent begins.
    #[cfg(all(test, target_os = "linux"))]
    pub(crate) fn unsent_place(&self) -> *const u8 {
        self.unsent.as_ptr()
    }

    /// Its slot in the [`SocketRing`](crate::SocketRing) that receives for it.
    #[inline]
    pub fn ring_slot(&self) -> Option<u32> {
        self.ring_slot.map(|slot| u32::from(slot.get()) - 1)
    }

    /// Notes its slot, which is below 65,535; `None`: it is received from by [`Link::receive`].
    pub fn set_ring_slot(&mut self, slot: Option<u32>) {
        let slot = slot.and_then(|slot| u16::try_from(slot.checked_add(1)?).ok());
        self.ring_slot = slot.and_then(NonZeroU16::new);
    }

    /// Whether it has TLS.
    #[inline]
    pub fn has_tls(&self) -> bool {
        self.tls.is_some()
    }

    /// Ends the connection in both directions, as closing it does where nothing else keeps the
    /// socket open.
    #[cfg_attr(
        any(feature = "portable", not(target_os = "linux")),
        allow(dead_code, reason = "a ring keeps sockets open")
    )]
    pub(crate) fn shut_down(&self) {
        // It may have ended.
        let _ = self.stream.shutdown(std::net::Shutdown::Both);
    }

    /// This end's address.
    ///
    /// # Errors
    /// The system's.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.stream.local_addr()
    }

    /// Memory of the buffers it holds, in bytes: none when nothing is under way.
    pub fn buffer_bytes(&self) -> usize {
        let of_tls = self.tls.as_ref().map_or(0, |tls| tls.buffer_bytes());
        self.unsent.capacity() + self.partial.capacity() + of_tls
    }

    /// Sends `bytes` in one write; call it only when nothing is unsent. What the
    /// system does not take is kept, and goes with [`Link::send_rest`]: the buffer itself
    /// where the rest is a large part of it (another one is in its place then), else a copy.
    /// Returns how many bytes the system took; of sealed bytes, how many of the plaintext.
    ///
    /// # Errors
    /// The connection broke.
    pub fn send(&mut self, bytes: &mut Vec<u8>, pool: &mut BufferPool) -> io::Result<usize> {
        debug_assert_eq!(self.unsent_len(), 0, "order would be lost");
        let taken = write_some(&self.stream, bytes)?;
        self.keep_unsent(bytes, taken, pool);
        Ok(self.plain_taken(taken))
    }

    /// Keeps what the system has not taken of `bytes`, as [`Link::send`] does; nothing is unsent
    /// before.
    pub fn keep_unsent(&mut self, bytes: &mut Vec<u8>, taken: usize, pool: &mut BufferPool) {
        let rest = bytes.get(taken..).unwrap_or_default();
        if rest.is_empty() {
            return;
        }
        self.unsent = pool.take();
        if rest.len() >= bytes.capacity() / KEPT_WHOLE {
            std::mem::swap(bytes, &mut self.unsent);
            self.unsent_from = taken;
        } else {
            self.unsent.extend_from_slice(rest);
            self.unsent_from = 0;
            #[cfg(test)]
            {
                self.copied += self.unsent.len();
            }
        }
    }

    /// Of bytes that the system took, those that count.
    #[inline]
    fn plain_taken(&mut self, taken: usize) -> usize {
        let is_all = self.unsent.len() == self.unsent_from;
        match &mut self.tls {
            None => taken,
            Some(tls) => tls.plain_taken(taken, is_all),
        }
    }

    /// Sends what is unsent, as far as the system takes it. Returns how many bytes
    /// it took; of sealed bytes, how many of the plaintext.
    ///
    /// # Errors
    /// The connection broke.
    pub fn send_rest(&mut self, pool: &mut BufferPool) -> io::Result<usize> {
        if self.unsent_len() == 0 {
            return Ok(0);
        }
        let taken = self.send_unsent()?;
        if self.unsent_len() == 0 {
            pool.give_back(&mut self.unsent);
        }
        Ok(taken)
    }

    fn send_unsent(&mut self) -> io::Result<usize> {
        let taken = write_some(&self.stream, &self.unsent[self.unsent_from..])?;
        self.unsent_from += taken;
        let counted = self.plain_taken(taken);
        if self.unsent_len() == 0 {
            self.unsent.clear();
            self.unsent_from = 0;
        }
        Ok(counted)
    }

    /// Gives its buffers back, before it is dropped. With TLS it sends the notice of the
    /// end, if the system takes it at once.
    pub fn close(mut self, pool: &mut BufferPool) {
        if self.unsent_len() == 0
            && let Some(tls) = &mut self.tls
        {
            tls.out.clear();
            tls.channel.close(&mut tls.out);
            // The connection may have ended already.
            let _ = write_some(&self.stream, &tls.out);
        }
        pool.give_back(&mut self.unsent);
        pool.give_back(&mut self.partial);
    }
}

impl ReadOutcome {
    /// A signal came before a byte: read again.
    const INTERRUPTED: Self = Self {
        scratch_len: 0,
        more: true,
        age: Nanos::ZERO,
    };
}

/// What a read of the system means.
enum Read {
    /// So many bytes, and their age.
    Bytes(usize, Nanos),
    Nothing,
    Interrupted,
}

#[inline]
fn outcome_of(read: io::Result<(usize, Nanos)>) -> io::Result<Read> {
    match read {
        Ok((0, _)) => Err(ErrorKind::UnexpectedEof.into()),
        Ok((came, age)) => Ok(Read::Bytes(came, age)),
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(Read::Nothing),
        Err(error) if error.kind() == ErrorKind::Interrupted => Ok(Read::Interrupted),
        Err(error) => Err(error),
    }
}

fn write_some(mut stream: &TcpStream, bytes: &[u8]) -> io::Result<usize> {
    loop {
        match stream.write(bytes) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(0),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

#[cfg(unix)]
impl AsFd for Link {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

#[cfg(windows)]
impl AsSocket for Link {
    fn as_socket(&self) -> BorrowedSocket<'_> {
        self.stream.as_socket()
    }
}

#[cfg(test)]
mod tests;
