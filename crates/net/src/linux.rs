//! What this crate needs of Linux: epoll, with deadlines finer than a millisecond.

mod arrival;
mod coarse;
mod many;
mod ring;

pub(crate) use arrival::{note_arrivals, read, read_behind};
pub use many::path_mtu;
pub(crate) use many::{force_buffer, receive_many, send_many};
pub use ring::SocketRing;

use crate::ready::{EVENTS_MAX, Interest, Ready};
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::io::Errno;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

/// What can be watched: whatever has a file descriptor.
pub trait Source: AsFd {}
impl<T: AsFd> Source for T {}

/// Says which sockets are ready.
pub struct Reactor {
    epoll: OwnedFd,
    /// epoll_pwait2 is there (Linux 5.11) and no sandbox forbids it.
    fine_waits: bool,
}

/// Ends the wait of a reactor from another thread.
#[derive(Clone, Debug)]
pub struct Waker(Arc<OwnedFd>);

impl Waker {
    /// The wait under way, or else the next one, reports the waker's key.
    pub fn wake(&self) {
        // It fails only where 2^64 wake-ups wait already.
        let _ = rustix::io::write(&*self.0, &1u64.to_ne_bytes());
    }
}

impl Reactor {
    /// A reactor without sockets.
    ///
    /// # Errors
    /// The system's, as a rule "too many open files".
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            epoll: epoll::create(epoll::CreateFlags::CLOEXEC)?,
            fine_waits: true,
        })
    }

    /// Watches a socket in both directions until it is closed, edge-triggered: it is
    /// reported once when it becomes ready, and the caller reads until a read comes back
    /// short. That saves the calls that would switch the interest in writing on and off.
    ///
    /// # Errors
    /// The system's.
    pub fn add(&self, socket: &impl Source, key: u64) -> io::Result<()> {
        let both = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP;
        self.register(socket, key, both | EventFlags::ET)
    }

    /// Whether the caller waits until a socket that was added by [`Reactor::add`] takes bytes.
    /// Nothing is done here: the change is reported in any case.
    ///
    /// # Errors
    /// None here.
    #[inline]
    pub fn want_space(&self, _socket: &impl Source, _key: u64, _wanted: bool) -> io::Result<()> {
        Ok(())
    }

    /// Watches a socket for `interest`, level-triggered: it is reported by every wait as
    /// long as it is ready.
    ///
    /// # Errors
    /// The system's.
    pub fn watch(&self, socket: &impl Source, key: u64, interest: Interest) -> io::Result<()> {
        self.register(socket, key, flags_of(interest))
    }

    /// Watches a socket that was added by [`Reactor::watch`] for something else.
    ///
    /// # Errors
    /// The system's.
    pub fn change(&self, socket: &impl Source, key: u64, interest: Interest) -> io::Result<()> {
        let data = EventData::new_u64(key);
        Ok(epoll::modify(
            &self.epoll,
            socket,
            data,
            flags_of(interest),
        )?)
    }

    /// Ends the watch of a socket that is about to be closed. (Here closing it is enough.)
    pub fn forget(&self, _socket: &impl Source) {}

    /// Ends the watch of a socket that stays open.
    ///
    /// # Errors
    /// The system's.
    pub fn release(&self, socket: &impl Source) -> io::Result<()> {
        Ok(epoll::delete(&self.epoll, socket)?)
    }

    /// What ends a wait from another thread, reported with `key`. One for each reactor.
    ///
    /// # Errors
    /// The system's.
    pub fn waker(&mut self, key: u64) -> io::Result<Waker> {
        let counter = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        // Edge-triggered: each write is reported once, and the counter need not be read.
        self.register(&counter, key, EventFlags::IN | EventFlags::ET)?;
        Ok(Waker(Arc::new(counter)))
    }

    fn register(&self, source: &impl Source, key: u64, flags: EventFlags) -> io::Result<()> {
        Ok(epoll::add(
            &self.epoll,
            source,
            EventData::new_u64(key),
            flags,
        )?)
    }

    /// Waits until a socket is ready, `timeout` at most (`None` waits for ever),
    /// and puts what is ready into `ready`. A signal ends the wait with nothing.
    ///
    /// # Errors
    /// The system's; none is to be expected.
    pub fn wait(&mut self, timeout: Option<Duration>, ready: &mut Vec<Ready>) -> io::Result<()> {
        ready.clear();
        match self.wait_events(timeout, ready) {
            Ok(()) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn wait_events(
        &mut self,
        timeout: Option<Duration>,
        ready: &mut Vec<Ready>,
    ) -> rustix::io::Result<()> {
        let timeout = timeout.map(|t| Timespec {
            tv_sec: t.as_secs() as i64,
            tv_nsec: i64::from(t.subsec_nanos()),
        });
        if self.fine_waits {
            match self.take_events(timeout, ready) {
                // A kernel before 5.11, or a sandbox that does not know the call.
                Err(Errno::NOSYS | Errno::PERM) => self.fine_waits = false,
                other => return other,
            }
        }
        // `poll` waits in nanoseconds, too; it costs a second system call.
        let mut fds = [PollFd::new(&self.epoll, PollFlags::IN)];
        poll(&mut fds, timeout.as_ref())?;
        coarse::take_events(&self.epoll, ready)
    }

    fn take_events(
        &self,
        timeout: Option<Timespec>,
        ready: &mut Vec<Ready>,
    ) -> rustix::io::Result<()> {
        let mut events = [const { MaybeUninit::uninit() }; EVENTS_MAX];
        let (events, _) = epoll::wait(&self.epoll, &mut events[..], timeout.as_ref())?;
        ready.extend(events.iter().map(|e| ready_of(e.flags, e.data.u64())));
        Ok(())
    }
}

fn flags_of(interest: Interest) -> EventFlags {
    match interest {
        Interest::Nothing => EventFlags::empty(),
        Interest::Read => EventFlags::IN,
        Interest::Write => EventFlags::OUT,
    }
}

impl AsFd for Reactor {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }
}

impl std::fmt::Debug for Reactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Reactor").field(&self.epoll).finish()
    }
}

fn ready_of(flags: EventFlags, key: u64) -> Ready {
    Ready {
        key,
        readable: flags.intersects(EventFlags::IN | EventFlags::RDHUP),
        writable: flags.contains(EventFlags::OUT),
        ended: flags.contains(EventFlags::RDHUP),
        broken: flags.intersects(EventFlags::ERR | EventFlags::HUP),
    }
}

#[cfg(test)]
fn new_reactor() -> io::Result<Reactor> {
    Reactor::new()
}

#[cfg(test)]
mod coarse_tests;

#[cfg(test)]
#[allow(clippy::duplicate_mod, reason = "one set of tests for both back ends")]
#[path = "system_tests.rs"]
mod tests;
