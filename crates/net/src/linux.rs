//! What the event loop needs of Linux: epoll, edge-triggered, with deadlines
//! finer than a millisecond.

mod arrival;
mod many;

pub use arrival::{note_arrivals, read, read_behind};
pub use many::{
    BATCH, ReceivedDatagram, SocketBuffer, force_buffer, path_mtu, receive_many, send_many,
};

use super::Ready;
use rustix::event::{PollFd, PollFlags, Timespec, epoll, poll};
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

/// How many events one wait brings at most.
const EVENTS_MAX: usize = 1024;

/// Tells which connections are ready.
///
/// Edge-triggered: a connection is named once when it becomes ready, and the
/// caller reads until a read comes back short. That saves the calls that would
/// switch the interest in writing on and off.
pub struct Reactor {
    epoll: OwnedFd,
    events: Vec<epoll::Event>,
    /// epoll_pwait2 is there (Linux 5.11) and no sandbox forbids it.
    fine_waits: bool,
}

impl Reactor {
    /// A reactor without connections.
    ///
    /// # Errors
    /// The system's, as a rule "too many open files".
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            epoll: epoll::create(epoll::CreateFlags::CLOEXEC)?,
            events: Vec::with_capacity(EVENTS_MAX),
            fine_waits: true,
        })
    }

    /// Watches a socket in both directions until it is closed.
    ///
    /// # Errors
    /// The system's.
    pub fn add(&self, socket: impl AsFd, key: u64) -> io::Result<()> {
        let flags = epoll::EventFlags::IN
            | epoll::EventFlags::OUT
            | epoll::EventFlags::RDHUP
            | epoll::EventFlags::ET;
        Ok(epoll::add(
            &self.epoll,
            socket,
            epoll::EventData::new_u64(key),
            flags,
        )?)
    }

    /// Waits until a connection is ready, `timeout` at most (`None` waits for ever),
    /// and puts what is ready into `ready`. A signal ends the wait with nothing.
    ///
    /// # Errors
    /// The system's; none is to be expected.
    pub fn wait(&mut self, timeout: Option<Duration>, ready: &mut Vec<Ready>) -> io::Result<()> {
        self.events.clear();
        ready.clear();
        match self.wait_events(timeout) {
            Ok(()) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        ready.extend(self.events.iter().map(Ready::from));
        Ok(())
    }

    fn wait_events(&mut self, timeout: Option<Duration>) -> rustix::io::Result<()> {
        let timeout = timeout.map(|t| Timespec {
            tv_sec: t.as_secs() as i64,
            tv_nsec: i64::from(t.subsec_nanos()),
        });
        if self.fine_waits {
            let events = rustix::buffer::spare_capacity(&mut self.events);
            match epoll::wait(&self.epoll, events, timeout.as_ref()) {
                // A kernel before 5.11, or a sandbox that does not know the call.
                Err(Errno::NOSYS | Errno::PERM) => self.fine_waits = false,
                other => return other.map(drop),
            }
        }
        let mut fds = [PollFd::new(&self.epoll, PollFlags::IN)];
        poll(&mut fds, timeout.as_ref())?;
        let events = rustix::buffer::spare_capacity(&mut self.events);
        epoll::wait(&self.epoll, events, Some(&Timespec::default())).map(drop)
    }
}

impl std::fmt::Debug for Reactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Reactor").field(&self.epoll).finish()
    }
}

impl From<&epoll::Event> for Ready {
    fn from(event: &epoll::Event) -> Self {
        let flags = event.flags;
        Self {
            key: event.data.u64(),
            readable: flags.intersects(epoll::EventFlags::IN | epoll::EventFlags::RDHUP),
            writable: flags.contains(epoll::EventFlags::OUT),
            ended: flags.contains(epoll::EventFlags::RDHUP),
            broken: flags.intersects(epoll::EventFlags::ERR | epoll::EventFlags::HUP),
        }
    }
}

/// Raises the limit of open files to `wanted` as far as allowed, and returns what
/// it is then.
pub fn open_files_limit(wanted: u64) -> u64 {
    let now = getrlimit(Resource::Nofile);
    let current = now.current.unwrap_or(u64::MAX);
    if current >= wanted {
        return current;
    }
    let target = wanted.min(now.maximum.unwrap_or(u64::MAX));
    let raised = Rlimit {
        current: Some(target),
        maximum: now.maximum,
    };
    match setrlimit(Resource::Nofile, raised) {
        Ok(()) => target,
        Err(_) => current,
    }
}
