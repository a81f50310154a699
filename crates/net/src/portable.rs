//! What this crate needs of a system, on systems that have no module of their own: readiness
//! by the crate `polling`, the rest by the standard library. Drivers' sockets are edge-triggered
//! where the system can do that (kqueue); on Windows they are level-triggered, and space for more
//! bytes is reported while a driver waits for it. Keys have 64 bits.
//!
//! What it lacks is what Linux has: arrival times, many datagrams per system call, the MTU of
//! a path. On Linux a wait takes five system calls here (docs/src/design/load.md).
#![allow(unsafe_code)] // polling's `add` is unsafe: see `Reactor::register`.

use crate::ready::{BATCH, EVENTS_MAX, Interest, Ready, ReceivedDatagram, SocketBuffer};
use filermark_model::Nanos;
use polling::{Event, Events, PollMode, Poller};
use std::io::{self, ErrorKind, Read};
use std::net::{TcpStream, UdpSocket};
use std::num::NonZeroUsize;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

pub use crate::no_ring::SocketRing;
pub use polling::AsSource as Source;

/// No datagram is longer, in bytes.
const DATAGRAM_MAX: usize = 1 << 16;

/// Says which sockets are ready.
pub struct Reactor {
    poller: Arc<Poller>,
    events: Events,
    woken: Arc<AtomicBool>,
    waker_key: u64,
    /// The system reports changes of readiness.
    edges: bool,
}

/// Ends the wait of a reactor from another thread.
#[derive(Clone, Debug)]
pub struct Waker {
    poller: Arc<Poller>,
    woken: Arc<AtomicBool>,
}

impl Waker {
    /// The wait under way, or else the next one, reports the waker's key.
    pub fn wake(&self) {
        self.woken.store(true, Ordering::Release);
        // Without it the wait ends with its time.
        let _ = self.poller.notify();
    }
}

impl Reactor {
    /// A reactor without sockets.
    ///
    /// # Errors
    /// The system's, as a rule "too many open files".
    pub fn new() -> io::Result<Self> {
        let capacity = NonZeroUsize::new(EVENTS_MAX).unwrap_or(NonZeroUsize::MIN);
        let poller = Poller::new()?;
        let edges = poller.supports_edge() && !cfg!(feature = "level");
        Ok(Self {
            poller: Arc::new(poller),
            events: Events::with_capacity(capacity),
            woken: Arc::default(),
            waker_key: 0,
            edges,
        })
    }

    /// Watches a socket in both directions until it is forgotten. It is reported once when it
    /// becomes ready or, where the system reports no changes, by every wait as long as it is;
    /// the caller reads until nothing is left, and says by [`Reactor::want_space`] when it need
    /// not know any more that the socket takes bytes.
    ///
    /// # Errors
    /// The system's.
    pub fn add(&self, socket: &impl Source, key: u64) -> io::Result<()> {
        let key = usize::try_from(key).map_err(|_| ErrorKind::InvalidInput)?;
        self.register(socket, Event::all(key), self.mode())
    }

    /// Whether the caller waits until a socket that was added by [`Reactor::add`] takes bytes;
    /// it does so until it says otherwise.
    ///
    /// # Errors
    /// The system's.
    pub fn want_space(&self, socket: &impl Source, key: u64, wanted: bool) -> io::Result<()> {
        if self.edges {
            return Ok(());
        }
        let key = usize::try_from(key).map_err(|_| ErrorKind::InvalidInput)?;
        let event = Event::new(key, true, wanted);
        self.poller
            .modify_with_mode(socket.source(), event, PollMode::Level)
    }

    fn mode(&self) -> PollMode {
        match self.edges {
            true => PollMode::Edge,
            false => PollMode::Level,
        }
    }

    /// Watches a socket for `interest`, level-triggered: it is reported by every wait as
    /// long as it is ready.
    ///
    /// # Errors
    /// The system's.
    pub fn watch(&self, socket: &impl Source, key: u64, interest: Interest) -> io::Result<()> {
        self.register(socket, event_of(key, interest)?, PollMode::Level)
    }

    /// Watches a socket that was added by [`Reactor::watch`] for something else.
    ///
    /// # Errors
    /// The system's.
    pub fn change(&self, socket: &impl Source, key: u64, interest: Interest) -> io::Result<()> {
        let event = event_of(key, interest)?;
        self.poller
            .modify_with_mode(socket.source(), event, PollMode::Level)
    }

    /// Ends the watch of a socket that is about to be closed.
    pub fn forget(&self, socket: &impl Source) {
        // It fails where nothing is watched.
        let _ = self.poller.delete(socket.source());
    }

    /// Ends the watch of a socket that stays open.
    ///
    /// # Errors
    /// The system's.
    pub fn release(&self, socket: &impl Source) -> io::Result<()> {
        self.poller.delete(socket.source())
    }

    /// What ends a wait from another thread, reported with `key`. One for each reactor.
    ///
    /// # Errors
    /// None here.
    pub fn waker(&mut self, key: u64) -> io::Result<Waker> {
        self.waker_key = key;
        Ok(Waker {
            poller: self.poller.clone(),
            woken: self.woken.clone(),
        })
    }

    fn register(&self, socket: &impl Source, event: Event, mode: PollMode) -> io::Result<()> {
        // SAFETY: a socket must be deleted before it is closed. Callers do so by `forget`;
        // where one does not, the number goes to the kernel alone, which drops what is
        // closed from its queue: no memory depends on it.
        unsafe { self.poller.add_with_mode(&socket.source(), event, mode) }
    }

    /// Waits until a socket is ready, `timeout` at most (`None` waits for ever), and puts
    /// what is ready into `ready`.
    ///
    /// # Errors
    /// The system's; none is to be expected.
    pub fn wait(&mut self, timeout: Option<Duration>, ready: &mut Vec<Ready>) -> io::Result<()> {
        self.events.clear();
        ready.clear();
        self.poller.wait(&mut self.events, timeout)?;
        ready.extend(self.events.iter().map(Ready::from));
        if self.woken.swap(false, Ordering::Acquire) {
            ready.push(Ready {
                key: self.waker_key,
                readable: true,
                writable: false,
                ended: false,
                broken: false,
            });
        }
        Ok(())
    }
}

fn event_of(key: u64, interest: Interest) -> io::Result<Event> {
    let key = usize::try_from(key).map_err(|_| ErrorKind::InvalidInput)?;
    Ok(match interest {
        Interest::Nothing => Event::none(key),
        Interest::Read => Event::readable(key),
        Interest::Write => Event::writable(key),
    })
}

impl std::fmt::Debug for Reactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Reactor").field(&self.poller).finish()
    }
}

impl From<Event> for Ready {
    fn from(event: Event) -> Self {
        Self {
            key: event.key as u64,
            readable: event.readable,
            writable: event.writable,
            // Not every system says so: it may have ended.
            ended: event.readable,
            broken: event.is_err() == Some(true) || event.is_interrupt(),
        }
    }
}

/// This system notes no arrivals for us.
pub(crate) fn note_arrivals<S>(_socket: S) {}

/// Reads what is there, as far as it fits. When it arrived is not known.
///
/// # Errors
/// The system's.
pub(crate) fn read(mut socket: &TcpStream, into: &mut [u8]) -> io::Result<(usize, Nanos)> {
    Ok((socket.read(into)?, Nanos::ZERO))
}

/// Reads behind what `into` holds, as far as its capacity goes, like [`read`].
///
/// # Errors
/// The system's.
pub(crate) fn read_behind(
    mut socket: &TcpStream,
    into: &mut Vec<u8>,
) -> io::Result<(usize, Nanos)> {
    let held = into.len();
    into.resize(into.capacity(), 0);
    let read = socket.read(&mut into[held..]);
    into.truncate(held + read.as_ref().map_or(0, |came| *came));
    Ok((read?, Nanos::ZERO))
}

/// Sends the pieces of `bytes` at `ranges` as one datagram each, up to [`BATCH`] of
/// them. Returns how many the system took. A range that is not inside of `bytes` is sent as
/// nothing.
///
/// # Errors
/// The system's for the first datagram.
pub(crate) fn send_many(
    socket: &UdpSocket,
    bytes: &[u8],
    ranges: &[Range<usize>],
) -> io::Result<usize> {
    let mut taken = 0;
    for range in ranges.iter().take(BATCH) {
        match socket.send(bytes.get(range.clone()).unwrap_or_default()) {
            Ok(_) => taken += 1,
            Err(error) if taken == 0 => return Err(error),
            Err(_) => break,
        }
    }
    Ok(taken)
}

/// Receives up to [`BATCH`] datagrams, each into its own `capacity` bytes of `into`, and notes
/// them in `came` in the order in which they lie there. Returns how many; 0 if not
/// even one fits.
///
/// # Errors
/// `WouldBlock`: none is there. Otherwise the system's for the first datagram.
pub(crate) fn receive_many(
    socket: &UdpSocket,
    into: &mut [u8],
    capacity: usize,
    came: &mut [ReceivedDatagram; BATCH],
) -> io::Result<usize> {
    // The standard library does not say that a datagram was cut: it is received whole.
    let mut whole = [0; DATAGRAM_MAX];
    let mut count = 0;
    for (note, part) in came.iter_mut().zip(into.chunks_exact_mut(capacity.max(1))) {
        let len = match socket.recv(&mut whole) {
            Ok(len) => len,
            Err(error) if count == 0 => return Err(error),
            Err(_) => break,
        };
        let kept = len.min(part.len());
        part[..kept].copy_from_slice(&whole[..kept]);
        *note = ReceivedDatagram {
            len: kept,
            cut: len > kept,
            age: Nanos::ZERO,
        };
        count += 1;
    }
    Ok(count)
}

/// The largest packet that the way to this socket's peer takes whole: not known here.
pub fn path_mtu(_socket: &UdpSocket) -> Option<u32> {
    None
}

/// This system has no buffers beyond its limit.
pub(crate) fn force_buffer<S>(_socket: S, _which: SocketBuffer, _bytes: usize) {}

#[cfg(test)]
fn new_reactor() -> io::Result<Reactor> {
    Reactor::new()
}

#[cfg(test)]
#[allow(clippy::duplicate_mod, reason = "one set of tests for both back ends")]
#[path = "system_tests.rs"]
mod tests;

#[cfg(test)]
mod level_tests {
    use super::*;

    /// As on Windows.
    #[test]
    fn space_is_reported_where_no_changes_are() {
        let mut reactor = Reactor::new().expect("files are left");
        reactor.edges = false;
        super::tests::check_space(reactor);
    }
}
