//! A TCP connection: made when it is needed, fed from the queue of its calls, made
//! anew when it breaks.

use super::super::core::{Core, Timer};
use super::super::counters::Tally;
use super::Io;
use filermark_model::Nanos;
use filermark_net::{ConnectOptions, Link, Ready};
use std::io;
use std::net::SocketAddr;

/// Calls are encoded up to about this many bytes before a write: what the system
/// has not taken yet stays below that and one call.
const CHUNK: usize = 256 << 10;
/// A connection that has brought replies is tried again at once; from then on,
/// until there is a reply again, after this wait, doubled each time.
const BACKOFF_MIN: Nanos = Nanos::from_millis(10);
const BACKOFF_MAX: Nanos = Nanos::from_secs(1);
/// How many reads of one connection in a turn before others get theirs.
const READS_MAX: usize = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// No connection; one is made when there is a call for it.
    Closed,
    /// No connection, and a timer says when to try again.
    Waiting,
    Connecting,
    Connected,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Stream {
    number: u32,
    peer: SocketAddr,
    link: Option<Link>,
    state: State,
    /// Counts connections, so that events of an earlier one are recognised.
    epoch: u32,
    /// Bytes encoded for, and taken by, the present connection (low halves).
    encoded: u32,
    sent: u32,
    backoff: Nanos,
    was_up: bool,
    /// Since when the server could not be reached.
    down_since: Option<Nanos>,
    /// Why the last attempt failed.
    failure: Option<Box<str>>,
}

impl Stream {
    pub(crate) fn new(number: u32, peer: SocketAddr) -> Self {
        Self {
            number,
            peer,
            link: None,
            state: State::Closed,
            epoch: 0,
            encoded: 0,
            sent: 0,
            backoff: Nanos::ZERO,
            was_up: false,
            down_since: None,
            failure: None,
        }
    }

    pub(crate) fn peer(&self) -> SocketAddr {
        self.peer
    }

    pub(crate) fn is_up(&self) -> bool {
        self.state == State::Connected
    }

    /// Why the last attempt to connect failed, if it did.
    pub(crate) fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    /// Bytes that were encoded and that the system has not taken.
    #[cfg(test)]
    pub(crate) fn unsent_len(&self) -> usize {
        self.link.as_ref().map_or(0, Link::unsent_len)
    }

    #[cfg(test)]
    pub(crate) fn local_port(&self) -> Option<u16> {
        let address = self.link.as_ref()?.local_addr().ok()?;
        Some(address.port())
    }

    #[cfg(test)]
    pub(crate) fn holds_no_buffer(&self) -> bool {
        self.link.as_ref().is_none_or(|l| l.buffer_bytes() == 0)
    }

    /// Begins to connect.
    pub(crate) fn connect(&mut self, core: &mut Core, io: &mut Io) -> io::Result<()> {
        let options = ConnectOptions {
            reserved_port: core.settings.reserved_port,
        };
        self.epoch = self.epoch.wrapping_add(1);
        let link = Link::connect(self.peer, options)?;
        io.reactor.add(&link, self.key())?;
        self.link = Some(link);
        self.state = State::Connecting;
        self.failure = None;
        self.encoded = 0;
        self.sent = 0;
        let at = core.now + core.settings.connect_timeout;
        core.start_timer(at, self.timer(|conn, epoch| Timer::Connect { conn, epoch }));
        Ok(())
    }

    fn key(&self) -> u64 {
        u64::from(self.epoch) << 32 | u64::from(self.number)
    }

    fn timer(&self, make: impl Fn(u32, u32) -> Timer) -> Timer {
        make(self.number, self.epoch)
    }

    /// Sends what is in the queue: everything that fits in one write.
    pub(crate) fn pump(&mut self, core: &mut Core, io: &mut Io) {
        if self.state == State::Closed && core.calls.first(self.number).is_some() {
            if self.was_up {
                core.counters.add(Tally::Reconnects);
            }
            if let Err(error) = self.connect(core, io) {
                self.lost(core, io, &error);
            }
        }
        if self.state == State::Connected
            && let Err(error) = self.send_all(core, io)
        {
            self.lost(core, io, &error);
        }
    }

    fn send_all(&mut self, core: &mut Core, io: &mut Io) -> io::Result<()> {
        let Some(link) = &mut self.link else {
            return Ok(());
        };
        if link.unsent_len() > 0 {
            core.now = core.clock.now();
            let taken = link.send_rest(&mut io.pool)?;
            self.sent = self.sent.wrapping_add(taken as u32);
            core.stamp(self.number, self.sent);
            if link.unsent_len() > 0 {
                return Ok(());
            }
        }
        loop {
            io.send.clear();
            while let Some(slot) = core.calls.next_to_encode(self.number)
                && io.send.len() < CHUNK
            {
                let at = self.encoded.wrapping_add(io.send.len() as u32);
                core.encode(slot, &mut io.send);
                core.calls.encoded(self.number, at);
            }
            if io.send.is_empty() {
                return Ok(());
            }
            self.encoded = self.encoded.wrapping_add(io.send.len() as u32);
            core.now = core.clock.now();
            let taken = link.send(&mut io.send, &mut io.pool)?;
            self.sent = self.sent.wrapping_add(taken as u32);
            core.stamp(self.number, self.sent);
            if link.unsent_len() > 0 {
                return Ok(());
            }
        }
    }

    /// The reactor says that something happened.
    pub(crate) fn ready(&mut self, ready: Ready, core: &mut Core, io: &mut Io) {
        if (ready.key >> 32) as u32 != self.epoch {
            return;
        }
        if self.state == State::Connecting {
            self.finish_connect(ready, core, io);
        }
        if self.state == State::Connected && (ready.readable || ready.broken) {
            self.receive(ready.ended || ready.broken, core, io);
        }
        if ready.writable && self.state == State::Connected {
            let blocked = self.link.as_ref().is_some_and(|l| l.unsent_len() > 0);
            if blocked || core.calls.next_to_encode(self.number).is_some() {
                self.pump(core, io);
            }
        }
    }

    fn finish_connect(&mut self, ready: Ready, core: &mut Core, io: &mut Io) {
        let connected = self.link.as_ref().map_or(Ok(false), Link::connected);
        match connected {
            Ok(true) => {
                self.state = State::Connected;
                self.was_up = true;
                self.down_since = None;
                core.mark_dirty(self.number);
            }
            Ok(false) if !ready.broken => {}
            Ok(false) => self.lost(core, io, &io::ErrorKind::ConnectionReset.into()),
            Err(error) => self.lost(core, io, &error),
        }
    }

    /// Reads until nothing is left, or to the end of the stream, and hands every
    /// reply to the core.
    fn receive(&mut self, to_the_end: bool, core: &mut Core, io: &mut Io) {
        for _ in 0..READS_MAX {
            match self.receive_once(core, io) {
                Ok(Some(more)) if more || to_the_end => {}
                Ok(_) => return,
                Err(error) => return self.lost(core, io, &error),
            }
        }
        io.unread.push(self.key());
    }

    /// Whether there may be more to read; `None`: there was nothing.
    fn receive_once(&mut self, core: &mut Core, io: &mut Io) -> io::Result<Option<bool>> {
        let Some(link) = &mut self.link else {
            return Ok(None);
        };
        let Some(input) = link.receive(&mut io.scratch)? else {
            return Ok(None);
        };
        core.now = core.clock.now();
        // Waking up is our own affair: what came, came when the kernel noted it.
        let (number, now) = (self.number, core.now.since(input.age));
        let bytes = io.scratch.get_mut(..input.scratch_len).unwrap_or_default();
        let backoff = &mut self.backoff;
        let fed = link.feed(bytes, &mut io.pool, |bytes| {
            io.records.split(bytes, |record| {
                *backoff = Nanos::ZERO;
                core.reply(number, record, now);
            })
        });
        if let Err(error) = fed {
            core.counters.add(Tally::StreamErrors);
            return Err(io::Error::new(io::ErrorKind::InvalidData, error));
        }
        Ok(Some(input.more))
    }

    /// The connection broke, or could not be made: it is tried again, at once or
    /// after a while, if there is something to send.
    fn lost(&mut self, core: &mut Core, io: &mut Io, error: &io::Error) {
        tracing::debug!(peer = %self.peer, %error, "connection lost");
        if self.state != State::Connected {
            core.counters.add(Tally::ConnectFailures);
            self.failure = Some(error.to_string().into());
        }
        self.close(io);
        core.calls.rewind(self.number);
        if core.calls.first(self.number).is_none() {
            return;
        }
        // A server that cannot be reached for as long as a reply may take is gone.
        let down_since = *self.down_since.get_or_insert(core.now);
        let gone = core.now.since(down_since) >= core.settings.rpc_timeout;
        if gone || core.stop.is_raised() {
            return core.fail_all(self.number);
        }
        let wait = self.backoff;
        self.backoff = Nanos(wait.0 * 2).clamp(BACKOFF_MIN, BACKOFF_MAX);
        if wait == Nanos::ZERO {
            core.mark_dirty(self.number);
            return;
        }
        self.state = State::Waiting;
        let at = core.now + wait;
        let timer = self.timer(|conn, epoch| Timer::Reconnect { conn, epoch });
        core.start_timer(at, timer);
    }

    fn close(&mut self, io: &mut Io) {
        self.state = State::Closed;
        self.epoch = self.epoch.wrapping_add(1);
        if let Some(link) = self.link.take() {
            link.close(&mut io.pool);
        }
    }

    /// The wait after a failure is over.
    pub(crate) fn try_again(&mut self, epoch: u32, core: &mut Core) {
        if self.state == State::Waiting && epoch == self.epoch {
            self.state = State::Closed;
            core.mark_dirty(self.number);
        }
    }

    /// The connection should have been made by now.
    pub(crate) fn connect_timed_out(&mut self, epoch: u32, core: &mut Core, io: &mut Io) {
        if self.state == State::Connecting && epoch == self.epoch {
            self.lost(core, io, &io::ErrorKind::TimedOut.into());
        }
    }

    /// A reply did not come in time. What is under way is tried again on a new
    /// connection, since this one may have lost it; what was tried too often fails.
    pub(crate) fn reply_timed_out(&mut self, core: &mut Core, io: &mut Io) {
        let was_up = self.is_up();
        core.count_tries(self.number, was_up);
        if was_up {
            core.counters.add(Tally::Timeouts);
            self.close(io);
            core.calls.rewind(self.number);
            core.mark_dirty(self.number);
        }
    }

    /// Everybody wishes to stop: nothing waits for a connection any more.
    pub(crate) fn give_up_waiting(&mut self, core: &mut Core) {
        if self.state != State::Connected {
            core.fail_all(self.number);
        }
    }
}
