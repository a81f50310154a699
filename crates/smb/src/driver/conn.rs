//! One connection of a shard: made when it is needed, with its session and tree, fed
//! from the queue of its calls, made anew when it breaks.
//!
//! A call that has gone out is not sent again: an operation of SMB changes what is
//! open, and a lost connection takes that with it. Such calls fail; what has not gone
//! out yet waits for the new connection. A logon that the server has refused is never
//! tried again: accounts are locked after a few.

use super::core::{Core, Timer};
use super::counters::Tally;
use super::session::{MessageOutcome, SessionProtocol};
use crate::login::Login;
use filermark_engine::driver::Status;
use filermark_model::Nanos;
use filermark_net::{BufferPool, ConnectOptions, FrameProgress, Link, Reactor, Ready};
use filermark_smbwire::error::SetupError;
use filermark_smbwire::frame::{self, Front};
use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

/// Calls are encoded up to about this many bytes before a write: what the system
/// has not taken yet stays below that and one call.
const CHUNK: usize = 256 << 10;
/// A connection that has brought replies is tried again at once; from then on,
/// until there is a reply again, after this wait, doubled each time.
const BACKOFF_MIN: Nanos = Nanos::from_millis(10);
const BACKOFF_MAX: Nanos = Nanos::from_secs(1);
/// How many reads of one connection in a turn before others get theirs.
const READS_MAX: usize = 64;

/// What all connections of a shard share.
#[derive(Debug)]
pub(crate) struct Io {
    pub(crate) reactor: Reactor,
    pub(crate) pool: BufferPool,
    /// What is read lands here, and is worked on in place.
    pub(crate) scratch: Vec<u8>,
    /// What is sent is encoded here.
    pub(crate) send: Vec<u8>,
    /// Connections with more to read than one turn allows.
    pub(crate) unread: Vec<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// No connection; one is made when there is a call for it.
    Closed,
    /// No connection, and a timer says when to try again.
    Waiting,
    Connecting,
    /// The session is being set up.
    Setup,
    Ready,
    /// The server has refused the user: for good.
    Refused,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Conn {
    number: u32,
    peer: SocketAddr,
    login: Arc<Login>,
    link: Option<Link>,
    session: SessionProtocol,
    state: State,
    /// Counts handshakes, so that the time-out of an earlier one is recognised.
    setup: u32,
    /// Counts connections, so that events of an earlier one are recognised.
    epoch: u32,
    /// Bytes encoded for, and taken by, the present connection (low halves).
    encoded: u32,
    sent: u32,
    /// Calls of which no byte is known to be sent, with where they begin in the bytes.
    unstamped: VecDeque<(u32, u32)>,
    backoff: Nanos,
    was_up: bool,
    /// It is the one that finds out, after a loss, whether the user is still let in.
    tries_first: bool,
    /// Since when the server could not be reached.
    down_since: Option<Nanos>,
    /// Why the last attempt failed.
    failure: Option<Box<str>>,
}

impl Conn {
    pub(crate) fn new(number: u32, peer: SocketAddr, login: Arc<Login>) -> Self {
        Self {
            number,
            peer,
            login,
            link: None,
            session: SessionProtocol::default(),
            state: State::Closed,
            setup: 0,
            epoch: 0,
            encoded: 0,
            sent: 0,
            unstamped: VecDeque::new(),
            backoff: Nanos::ZERO,
            was_up: false,
            tries_first: false,
            down_since: None,
            failure: None,
        }
    }

    pub(crate) fn place(&self) -> String {
        format!("{} ({})", self.login.place, self.peer)
    }

    pub(crate) fn is_up(&self) -> bool {
        self.state == State::Ready
    }

    /// Why the last attempt to connect failed, if it did.
    pub(crate) fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    /// Begins to connect.
    pub(crate) fn connect(&mut self, core: &mut Core, io: &mut Io) -> io::Result<()> {
        self.epoch = self.epoch.wrapping_add(1);
        let link = Link::connect(self.peer, ConnectOptions::default())?;
        io.reactor.add(&link, self.key())?;
        self.link = Some(link);
        self.state = State::Connecting;
        self.failure = None;
        self.encoded = 0;
        self.sent = 0;
        self.unstamped.clear();
        self.limit_setup(core);
        Ok(())
    }

    /// Connection and session must be there in time.
    fn limit_setup(&mut self, core: &mut Core) {
        let at = core.now + core.settings.connect_timeout;
        self.setup = self.setup.wrapping_add(1);
        let (conn, setup) = (self.number, self.setup);
        core.start_timer(at, Timer::Connect { conn, setup });
    }

    fn key(&self) -> u64 {
        u64::from(self.epoch) << 32 | u64::from(self.number)
    }

    /// Sends what is in the queue: everything that fits in one write.
    pub(crate) fn pump(&mut self, core: &mut Core, io: &mut Io) {
        let waiting = !core.queues[self.number as usize].is_empty();
        if self.state == State::Refused && waiting {
            return core.fail_queue(self.number, Status::Disconnected);
        }
        if self.state == State::Closed && waiting {
            if self.was_up {
                match self.login.try_again(core.now) {
                    Some(first) => self.tries_first = first,
                    None => return self.wait(BACKOFF_MIN, core),
                }
                core.counters.add(Tally::Reconnects);
            }
            if let Err(error) = self.connect(core, io) {
                self.lost(core, io, &error);
            }
        }
        if matches!(self.state, State::Ready | State::Setup)
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
            stamp(&mut self.unstamped, self.sent, core);
            if link.unsent_len() > 0 {
                return Ok(());
            }
        }
        loop {
            io.send.clear();
            self.session.take_setup(&mut io.send);
            while self.state == State::Ready && io.send.len() < CHUNK {
                let at = self.encoded.wrapping_add(io.send.len() as u32);
                let Some(slot) = self.session.encode_next(self.number, core, &mut io.send) else {
                    break;
                };
                self.unstamped.push_back((slot, at));
            }
            if io.send.is_empty() {
                return Ok(());
            }
            self.encoded = self.encoded.wrapping_add(io.send.len() as u32);
            core.now = core.clock.now();
            let taken = link.send(&mut io.send, &mut io.pool)?;
            self.sent = self.sent.wrapping_add(taken as u32);
            stamp(&mut self.unstamped, self.sent, core);
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
        let talks = |state| matches!(state, State::Ready | State::Setup);
        if talks(self.state) && (ready.readable || ready.broken) {
            self.receive(ready.ended || ready.broken, core, io);
        }
        if ready.writable && talks(self.state) {
            let blocked = self.link.as_ref().is_some_and(|l| l.unsent_len() > 0);
            if blocked || !core.queues[self.number as usize].is_empty() {
                self.pump(core, io);
            }
        }
    }

    fn finish_connect(&mut self, ready: Ready, core: &mut Core, io: &mut Io) {
        let connected = self.link.as_ref().map_or(Ok(false), Link::connected);
        match connected {
            Ok(true) => match self.session.begin(&self.login) {
                Ok(()) => {
                    self.state = State::Setup;
                    self.pump(core, io);
                }
                Err(error) => self.refused(core, io, &error),
            },
            Ok(false) if !ready.broken => {}
            Ok(false) => self.lost(core, io, &io::ErrorKind::ConnectionReset.into()),
            Err(error) => self.lost(core, io, &error),
        }
    }

    /// Reads until nothing is left, or to the end of the stream.
    fn receive(&mut self, to_the_end: bool, core: &mut Core, io: &mut Io) {
        for _ in 0..READS_MAX {
            match self.receive_once(core, io) {
                Ok(Some(more)) if more || to_the_end => {}
                Ok(_) => return,
                Err(error) => return self.lost(core, io, &error),
            }
            if !matches!(self.state, State::Ready | State::Setup) {
                return;
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
        let talk = &mut self.session;
        let mut heard = MessageOutcome::NoEvent;
        let fed = link.feed(bytes, &mut io.pool, |bytes| {
            split(bytes, talk.message_max(), |message| {
                heard = heard.with(talk.message(number, message, core, now));
            })
        });
        if let Err(error) = fed {
            core.counters.add(Tally::StreamErrors);
            return Err(io::Error::new(io::ErrorKind::InvalidData, error));
        }
        self.handle_outcome(heard, core, io)?;
        Ok(Some(input.more))
    }

    fn handle_outcome(
        &mut self,
        heard: MessageOutcome,
        core: &mut Core,
        io: &mut Io,
    ) -> io::Result<()> {
        match heard {
            MessageOutcome::NoEvent => {}
            MessageOutcome::Replies => {
                self.backoff = Nanos::ZERO;
                // Credits came: more may go.
                if !core.queues[self.number as usize].is_empty() {
                    core.mark_dirty(self.number);
                }
            }
            MessageOutcome::Expired => match self.session.renew(&self.login, core) {
                Ok(true) => {
                    self.state = State::Setup;
                    self.limit_setup(core);
                    core.mark_dirty(self.number);
                }
                Ok(false) => {}
                Err(error) => self.refused(core, io, &error),
            },
            MessageOutcome::Send => core.mark_dirty(self.number),
            MessageOutcome::SessionDeleted => {
                return Err(io::Error::other("the server has ended the session"));
            }
            MessageOutcome::Ready => {
                self.state = State::Ready;
                self.failure = None;
                self.login.let_in(core.now);
                self.tries_first = false;
                self.was_up = true;
                self.down_since = None;
                self.backoff = Nanos::ZERO;
                core.transfers[self.number as usize] = self.session.transfers(&core.settings);
                core.mark_dirty(self.number);
            }
            MessageOutcome::Refused => {
                if let Some(error) = self.session.take_refusal() {
                    match Login::is_final(&error) {
                        true => self.refused(core, io, &error),
                        // A server that is just coming up, or too busy: it may do later.
                        false => return Err(io::Error::other(error.to_string())),
                    }
                }
            }
            MessageOutcome::ProtocolError => {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    "a forged message",
                ));
            }
        }
        Ok(())
    }

    /// The server has refused the session: nothing that is tried again can help.
    fn refused(&mut self, core: &mut Core, io: &mut Io, error: &SetupError) {
        let error = self.login.explain(error);
        tracing::debug!(peer = %self.peer, %error, "session refused");
        core.counters.add(Tally::ConnectFailures);
        let advice = match error.advice.is_empty() {
            true => String::new(),
            false => format!("; {}", error.advice),
        };
        self.failure = Some(format!("{}{advice}", error.reason).into());
        self.close(core, io);
        self.state = State::Refused;
        core.fail_queue(self.number, Status::Disconnected);
    }

    /// The connection broke, or could not be made: it is tried again, at once or
    /// after a while, if there is something to send.
    fn lost(&mut self, core: &mut Core, io: &mut Io, error: &io::Error) {
        tracing::debug!(peer = %self.peer, %error, "connection lost");
        if self.state != State::Ready {
            core.counters.add(Tally::ConnectFailures);
        }
        self.failure = Some(error.to_string().into());
        self.close(core, io);
        if core.queues[self.number as usize].is_empty() {
            return;
        }
        // A server that cannot be reached for as long as a reply may take is gone.
        let down_since = *self.down_since.get_or_insert(core.now);
        let gone = core.now.since(down_since) >= core.settings.reply_timeout;
        if gone || core.stop.is_raised() {
            return core.fail_queue(self.number, Status::Disconnected);
        }
        let wait = self.backoff;
        self.backoff = Nanos(wait.0 * 2).clamp(BACKOFF_MIN, BACKOFF_MAX);
        if wait == Nanos::ZERO {
            core.mark_dirty(self.number);
            return;
        }
        self.wait(wait, core);
    }

    fn wait(&mut self, time: Nanos, core: &mut Core) {
        self.state = State::Waiting;
        let at = core.now + time;
        let (conn, epoch) = (self.number, self.epoch);
        core.start_timer(at, Timer::Reconnect { conn, epoch });
    }

    /// Ends the connection; what was under way on it fails.
    fn close(&mut self, core: &mut Core, io: &mut Io) {
        self.close_with(Status::Disconnected, core, io);
    }

    fn close_with(&mut self, status: Status, core: &mut Core, io: &mut Io) {
        self.state = State::Closed;
        self.epoch = self.epoch.wrapping_add(1);
        self.unstamped.clear();
        if let Some(link) = self.link.take() {
            link.close(&mut io.pool);
        }
        core.end_epoch(self.number);
        if std::mem::take(&mut self.tries_first) {
            self.login.end_trial();
        }
        self.session.end(status, core);
    }

    /// The wait after a failure is over.
    pub(crate) fn try_again(&mut self, epoch: u32, core: &mut Core) {
        if self.state == State::Waiting && epoch == self.epoch {
            self.state = State::Closed;
            core.mark_dirty(self.number);
        }
    }

    /// The connection should have been made by now.
    pub(crate) fn connect_timed_out(&mut self, setup: u32, core: &mut Core, io: &mut Io) {
        if matches!(self.state, State::Connecting | State::Setup) && setup == self.setup {
            self.lost(core, io, &io::ErrorKind::TimedOut.into());
        }
    }

    /// A reply that did not come in time ends the connection, and with it everything
    /// that was under way there.
    pub(crate) fn look_at_replies(&mut self, core: &mut Core, io: &mut Io) {
        if self.state == State::Ready {
            core.fail_late(self.number);
        }
        if self.state == State::Ready && self.session.is_late(core) {
            core.counters.add(Tally::Timeouts);
            self.close_with(Status::TimedOut, core, io);
            core.mark_dirty(self.number);
        }
    }

    /// Everybody wishes to stop: nothing waits for a connection any more.
    pub(crate) fn give_up_waiting(&mut self, core: &mut Core) {
        if self.state != State::Ready {
            core.fail_queue(self.number, Status::Disconnected);
        }
    }
}

/// Notes for calls of which bytes have gone that they are sent.
fn stamp(unstamped: &mut VecDeque<(u32, u32)>, sent: u32, core: &mut Core) {
    let now = core.now;
    while let Some((slot, at)) = unstamped.front().copied() {
        // Both count round; what is ahead is less than half of the way.
        if (sent.wrapping_sub(at) as i32) <= 0 {
            return;
        }
        unstamped.pop_front();
        if let Some(call) = core.calls.get_mut(slot) {
            call.since = now;
            call.is_sent = true;
            let op = call.op;
            core.ops.get_mut(op).stamp_sent(now);
        }
    }
}

/// Gives every whole message in `bytes` to `each`, and says what is left.
fn split(
    bytes: &mut [u8],
    max: usize,
    mut each: impl FnMut(&mut [u8]),
) -> Result<FrameProgress, frame::FrameError> {
    let mut at = 0;
    loop {
        let rest = bytes.get_mut(at..).unwrap_or_default();
        if rest.is_empty() {
            return Ok(FrameProgress {
                consumed: at,
                wanted: 0,
            });
        }
        match frame::front(rest, max)? {
            Front::Complete(len) => {
                let whole = frame::MARK + len;
                each(rest.get_mut(frame::MARK..whole).unwrap_or_default());
                at += whole;
            }
            Front::Incomplete(wanted) => {
                return Ok(FrameProgress {
                    consumed: at,
                    wanted,
                });
            }
        }
    }
}
