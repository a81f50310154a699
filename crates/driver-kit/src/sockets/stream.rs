//! A TCP connection: made when it is needed, set up, supplied from the queue of its calls,
//! made again when it breaks.

mod on_ring;

use super::late::{Progress, late_on_stream};
use super::peer::Peer;
use super::protocol::{Event, Incident, OnLoss, WireProtocol, fail_all, fail_encoded, stamp};
use super::shard::Io;
use super::state::Timer;
use filermark_engine::driver::Status;
use filermark_model::Nanos;
use filermark_net::{ConnectOptions, Link, Ready, SEND_BYTES_MAX};
use filermark_tls::TlsError;
use std::io;
use std::net::SocketAddr;

/// Calls are encoded up to about this many bytes before a write: the unsent bytes stay below
/// that and one call.
const CHUNK: usize = 256 << 10;
/// A connection that had replies is tried again at once; then, until there is a reply again,
/// after this time, doubled with each try.
const BACKOFF_MIN: Nanos = Nanos::from_millis(10);
const BACKOFF_MAX: Nanos = Nanos::from_secs(1);
/// So often in a row a connection may be up without a reply before calls count tries also while it is set up.
const FRUITLESS_MAX: u16 = 3;
/// The most reads of one connection in a turn, before it is the turn of others.
const READS_MAX: usize = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// No connection; one is made when there is a call.
    Closed,
    /// No connection until a timer expires.
    Waiting,
    Connecting,
    /// TLS is being set up; nothing of the protocol is sent.
    Securing,
    /// The protocol's set-up is under way; calls wait.
    Setup,
    Up,
    /// The server has refused the set-up: no retry.
    Refused,
}

#[derive(Debug)]
pub(super) struct Stream<P: WireProtocol> {
    number: u32,
    peer: Peer,
    protocol: P::Conn,
    link: Option<Link>,
    state: State,
    /// Counts limits of the set-up, so that the timeout of an earlier one is recognized.
    setup: u32,
    /// When the set-up has begun.
    setup_began: Nanos,
    /// When the connection has to be set up, by one attempt or several.
    setup_until: Nanos,
    /// When its present step has to be done.
    setup_limit: Nanos,
    /// The pause is one within the set-up.
    is_set_up_again: bool,
    /// Counts connections, so that events of an earlier one are recognized.
    epoch: u32,
    /// The reactor is to report when the socket takes bytes.
    wants_space: bool,
    /// More may have to be sent after what the ring has.
    has_more: bool,
    /// Bytes encoded for, and sent on, the present connection (low halves).
    encoded: u32,
    sent: u32,
    backoff: Nanos,
    /// How often in a row it was up without a reply.
    fruitless: u16,
    was_up: bool,
    /// Since when the server could not be reached.
    down_since: Option<Nanos>,
    /// Why the last attempt failed.
    failure: Option<Box<str>>,
    /// The same, where it was TLS.
    tls_failure: Option<Box<TlsError>>,
}

impl<P: WireProtocol> Stream<P> {
    pub(super) fn new(number: u32, peer: Peer, protocol: P::Conn) -> Self {
        Self {
            number,
            peer,
            protocol,
            link: None,
            state: State::Closed,
            setup: 0,
            setup_began: Nanos::ZERO,
            setup_until: Nanos::ZERO,
            setup_limit: Nanos::MAX,
            is_set_up_again: false,
            epoch: 0,
            wants_space: false,
            has_more: false,
            encoded: 0,
            sent: 0,
            backoff: Nanos::ZERO,
            fruitless: 0,
            was_up: false,
            down_since: None,
            failure: None,
            tls_failure: None,
        }
    }

    pub(super) fn peer(&self) -> SocketAddr {
        self.peer.address
    }

    pub(super) fn protocol(&self) -> &P::Conn {
        &self.protocol
    }

    pub(super) fn is_up(&self) -> bool {
        self.state == State::Up
    }

    fn progress(&self) -> Progress {
        match self.state {
            State::Up => Progress::Up,
            // A server that sets up connections, and closes each of them, does not answer calls.
            State::Connecting | State::Securing | State::Setup if self.is_fruitless() => {
                Progress::Down
            }
            State::Connecting | State::Securing | State::Setup => Progress::SettingUp,
            State::Closed | State::Waiting | State::Refused => Progress::Down,
        }
    }

    const fn is_fruitless(&self) -> bool {
        self.fruitless >= FRUITLESS_MAX
    }

    fn is_connected(&self) -> bool {
        matches!(self.state, State::Securing | State::Setup | State::Up)
    }

    /// Why the last attempt to connect failed, if it did.
    pub(super) fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    /// Why TLS could not be set up, if it was that.
    pub(super) fn tls_failure(&self) -> Option<&TlsError> {
        self.tls_failure.as_deref()
    }

    pub(super) fn link(&self) -> Option<&Link> {
        self.link.as_ref()
    }

    fn unsent_len(&self) -> usize {
        self.link.as_ref().map_or(0, Link::unsent_len)
    }

    /// Begins to connect.
    pub(super) fn connect(&mut self, core: &mut P, io: &mut Io) -> io::Result<()> {
        self.begin_setup_time(core, io);
        self.attempt(core, io)
    }

    /// The time for a set-up begins: not longer than the server may be out of reach.
    fn begin_setup_time(&mut self, core: &P, io: &Io) {
        let limit = core.gone_after(&self.protocol, io.settings.connect_timeout);
        self.setup_began = core.state().now;
        self.setup_until = self.setup_began + limit;
    }

    /// One attempt to connect within the time for the whole set-up.
    fn attempt(&mut self, core: &mut P, io: &mut Io) -> io::Result<()> {
        let options = ConnectOptions {
            reserved_port: io.settings.reserved_port,
        };
        self.epoch = self.epoch.wrapping_add(1);
        let link = Link::connect(self.peer.address, options)?;
        io.reactor.add(&link, self.key())?;
        self.wants_space = true;
        self.has_more = false;
        self.link = Some(link);
        self.state = State::Connecting;
        self.failure = None;
        self.tls_failure = None;
        self.encoded = 0;
        self.sent = 0;
        self.limit_setup(self.setup_until, core);
        Ok(())
    }

    /// The set-up has to be a step further at this time.
    fn limit_setup(&mut self, at: Nanos, core: &mut P) {
        if std::mem::replace(&mut self.setup_limit, at) == at {
            return;
        }
        self.setup = self.setup.wrapping_add(1);
        let (conn, setup) = (self.number, self.setup);
        core.state_mut().start(at, Timer::Setup { conn, setup });
    }

    /// A call of the protocol's set-up is sent: its reply has the timeout of all replies.
    fn limit_setup_call(&mut self, core: &mut P, io: &Io) {
        let at = core.state().now + io.settings.waits.of(0);
        self.limit_setup(at.min(self.setup_until), core);
    }

    /// Informs the reactor whether the connection, or what is unsent, waits for the socket.
    fn update_space(&mut self, io: &Io) -> io::Result<()> {
        // The reactor does not know it yet.
        if self.link.as_ref().and_then(Link::ring_slot).is_some() {
            return Ok(());
        }
        let wanted = self.state == State::Connecting || self.unsent_len() > 0;
        let before = std::mem::replace(&mut self.wants_space, wanted);
        match &self.link {
            Some(link) if before != wanted => io.reactor.want_space(link, self.key(), wanted),
            _ => Ok(()),
        }
    }

    fn key(&self) -> u64 {
        u64::from(self.epoch) << 32 | u64::from(self.number)
    }

    /// Sends the queue, as much as possible in one write.
    pub(super) fn pump(&mut self, core: &mut P, io: &mut Io) {
        let is_wanted = core.calls().first(self.number).is_some();
        match self.state {
            State::Refused if is_wanted => return fail_all(core, self.number),
            State::Closed if is_wanted || core.is_needed(self.number) => {
                self.connect_again(core, io)
            }
            _ => {}
        }
        if self.is_connected()
            && let Some(error) = core.given_up(self.number, &mut self.protocol)
        {
            return self.lost(core, io, &error);
        }
        if self.state == State::Setup {
            let event = core.go_on(self.number, &mut self.protocol);
            if let Err(error) = self.handle(event, core, io) {
                return self.lost(core, io, &error);
            }
        }
        if self.is_connected()
            && let Err(error) = self.send_all(core, io).and_then(|()| self.update_space(io))
        {
            self.lost(core, io, &error);
        }
    }

    fn connect_again(&mut self, core: &mut P, io: &mut Io) {
        if self.was_up {
            if !core.may_reconnect(&mut self.protocol) {
                return self.wait(BACKOFF_MIN, core);
            }
            core.count(Incident::Reconnect, 1);
        }
        if let Err(error) = self.connect(core, io) {
            self.lost(core, io, &error);
        }
    }

    fn send_all(&mut self, core: &mut P, io: &mut Io) -> io::Result<()> {
        let Some(link) = &mut self.link else {
            return Ok(());
        };
        if link.unsent_len() > 0 {
            core.state_mut().tick();
            io.system_calls.writes += 1;
            let taken = link.send_rest(&mut io.pool)?;
            self.sent = self.sent.wrapping_add(taken as u32);
            stamp(core, self.number, self.sent, false);
            if link.unsent_len() > 0 {
                return Ok(());
            }
        }
        if self.state == State::Securing {
            return Ok(());
        }
        loop {
            if self.is_behind(core, io) {
                return Ok(());
            }
            self.encode_chunk(core, io);
            if io.send.is_empty() {
                return Ok(());
            }
            let is_chunk = io.send.len() >= CHUNK;
            self.encoded = self.encoded.wrapping_add(io.send.len() as u32);
            let Some(link) = &mut self.link else {
                return Ok(());
            };
            if let (Some(slot), Some(ring)) = (link.ring_slot(), &mut io.ring)
                && ring.is_attached(slot)
                && io.send.len() <= SEND_BYTES_MAX
                && ring.send(slot, &mut io.send)
            {
                self.has_more = is_chunk;
                return Ok(());
            }
            // Encryption, as encoding, is before the time from which a call is measured.
            link.seal(&mut io.send, &mut io.spare)?;
            core.state_mut().tick();
            io.system_calls.writes += 1;
            let taken = link.send(&mut io.send, &mut io.pool)?;
            self.sent = self.sent.wrapping_add(taken as u32);
            stamp(core, self.number, self.sent, false);
            if link.unsent_len() > 0 {
                return self.leave_ring(io);
            }
        }
    }

    /// Encodes what is to be sent next: bytes of the protocol itself, and calls of the queue.
    fn encode_chunk(&mut self, core: &mut P, io: &mut Io) {
        io.send.clear();
        core.own_bytes(&mut self.protocol, &mut io.send);
        // Another attempt may be another login: only calls that may be sent twice have this limit.
        let is_repeatable = P::ON_LOSS == OnLoss::SendAgain;
        if is_repeatable && self.state == State::Setup && !io.send.is_empty() {
            self.limit_setup_call(core, io);
        }
        while self.state == State::Up && io.send.len() < CHUNK {
            let at = self.encoded.wrapping_add(io.send.len() as u32);
            if !core.encode_next(self.number, &mut self.protocol, &mut io.send) {
                break;
            }
            let slot = core.calls_mut().encoded(self.number, at);
            // The wait for the protocol's window does not count for the timeout of the connection.
            if let (OnLoss::Fail, Some(slot)) = (P::ON_LOSS, slot) {
                let now = core.state().now;
                core.calls_mut().renew(slot, now);
            }
        }
    }

    /// Handles an event of the reactor.
    pub(super) fn ready(&mut self, ready: Ready, core: &mut P, io: &mut Io) {
        if (ready.key >> 32) as u32 != self.epoch {
            return;
        }
        if self.state == State::Connecting {
            self.finish_connect(ready, core, io);
        }
        if self.is_connected() && (ready.readable || ready.broken) {
            self.receive(ready.ended || ready.broken, core, io);
        }
        if ready.writable && self.is_connected() {
            let is_blocked = self.unsent_len() > 0;
            if is_blocked || core.calls().next_to_encode(self.number).is_some() {
                self.pump(core, io);
            }
        }
    }

    fn finish_connect(&mut self, ready: Ready, core: &mut P, io: &mut Io) {
        let connected = self.link.as_ref().map_or(Ok(false), Link::connected);
        let outcome = match connected {
            Ok(true) => self
                .begin_setup(core, io)
                .and_then(|()| self.update_space(io)),
            Ok(false) if !ready.broken => Ok(()),
            Ok(false) => Err(io::ErrorKind::ConnectionReset.into()),
            Err(error) => Err(error),
        };
        if let Err(error) = outcome {
            self.lost(core, io, &error);
        }
    }

    /// Whether the connection is there, although its event may not have been seen.
    ///
    /// # Errors
    /// Why it could not be made: the system says so once.
    pub(super) fn is_made(&self) -> io::Result<bool> {
        self.link.as_ref().map_or(Ok(false), Link::connected)
    }

    /// The connection is made: TLS begins, or the set-up of the protocol.
    fn begin_setup(&mut self, core: &mut P, io: &mut Io) -> io::Result<()> {
        if let (Some(tls), Some(link)) = (&self.peer.tls, &mut self.link) {
            self.state = State::Securing;
            return link.secure(tls);
        }
        self.begin_protocol(core, io)
    }

    fn begin_protocol(&mut self, core: &mut P, io: &mut Io) -> io::Result<()> {
        self.state = State::Setup;
        self.attach(io)?;
        let event = core.connected(self.number, &mut self.protocol);
        self.handle(event, core, io)
    }

    /// TLS has received bytes; the set-up of the protocol begins when its handshake is complete.
    fn go_on_securing(&mut self, core: &mut P, io: &mut Io) -> io::Result<()> {
        if self.link.as_ref().is_some_and(Link::is_secured) {
            self.begin_protocol(core, io)?;
        }
        self.update_space(io)
    }

    /// Reads all available data, or to the end of the stream.
    fn receive(&mut self, to_the_end: bool, core: &mut P, io: &mut Io) {
        for _ in 0..READS_MAX {
            match self.receive_once(core, io) {
                Ok(Some(more)) if more || to_the_end => {}
                Ok(_) => return,
                Err(error) => return self.lost(core, io, &error),
            }
            if !self.is_connected() {
                return;
            }
        }
        io.unread.push(self.key());
    }

    /// Whether there may be more data to read; `None`: there was none.
    fn receive_once(&mut self, core: &mut P, io: &mut Io) -> io::Result<Option<bool>> {
        let Some(mut input) = self.read(io)? else {
            return Ok(None);
        };
        // The arrival is the time of the kernel; the delay until now, and decryption, are those of this host.
        let at = core.state_mut().tick().since(input.age);
        if let Some(link) = &mut self.link {
            link.open(&mut input, &mut io.scratch)?;
        }
        if self.state == State::Securing {
            self.go_on_securing(core, io)?;
            // A server does not send before it is called.
            if input.scratch_len == 0 {
                return Ok(Some(input.more));
            }
        }
        let Some(link) = &mut self.link else {
            return Ok(None);
        };
        let slot = link.ring_slot();
        let bytes = match (slot, &mut io.ring) {
            (Some(_), Some(ring)) => ring.bytes(),
            _ => io.scratch.get_mut(..input.scratch_len).unwrap_or_default(),
        };
        let (number, protocol) = (self.number, &mut self.protocol);
        let fed = link.feed(bytes, &mut io.pool, |bytes| {
            core.receive(number, protocol, bytes, at)
        });
        if let (Some(slot), Some(ring)) = (slot, &mut io.ring)
            && link.lacks_much()
        {
            ring.leave(slot)?;
        }
        if let Err(error) = fed {
            core.count(Incident::StreamError, 1);
            return Err(io::Error::new(io::ErrorKind::InvalidData, error));
        }
        if self.state == State::Setup {
            // The server answers: what is left of the time is that of the whole set-up.
            self.limit_setup(self.setup_until, core);
        }
        let event = core.after_read(self.number, &mut self.protocol);
        if matches!(event, Event::Replies) {
            self.fruitless = 0;
        }
        if matches!(event, Event::Replies | Event::Up) && !self.is_fruitless() {
            self.backoff = Nanos::ZERO;
        }
        self.handle(event, core, io)?;
        Ok(Some(input.more))
    }

    fn handle(&mut self, event: Event, core: &mut P, io: &mut Io) -> io::Result<()> {
        match event {
            Event::Nothing => {}
            // Calls that wait for the window may be sent. (Calls that wait for the socket are
            // sent when it is writable.)
            Event::Replies => {
                let waits = core.calls().next_to_encode(self.number).is_some();
                if waits && self.unsent_len() == 0 {
                    core.calls_mut().mark_dirty(self.number);
                }
            }
            Event::Send => core.calls_mut().mark_dirty(self.number),
            Event::SetupAgain => {
                self.state = State::Setup;
                self.begin_setup_time(core, io);
                self.limit_setup(self.setup_until, core);
                core.calls_mut().mark_dirty(self.number);
            }
            Event::Up => {
                self.state = State::Up;
                self.fruitless = self.fruitless.saturating_add(1);
                self.failure = None;
                self.was_up = true;
                self.down_since = None;
                core.calls_mut().mark_dirty(self.number);
            }
            Event::Lost(error) => return Err(error),
            Event::Refused(reason) => self.refused(core, io, reason),
        }
        Ok(())
    }

    /// The server has refused the set-up: a retry cannot help.
    fn refused(&mut self, core: &mut P, io: &mut Io, reason: String) {
        tracing::debug!(peer = %self.peer.address, reason, "set-up refused");
        core.count(Incident::ConnectFailure, 1);
        self.failure = Some(reason.into());
        self.close(Status::Disconnected, core, io);
        self.state = State::Refused;
        fail_all(core, self.number);
    }

    /// The connection broke, or could not be made: it is tried again, at once or later, if there
    /// are calls to send.
    fn lost(&mut self, core: &mut P, io: &mut Io, error: &io::Error) {
        tracing::debug!(peer = %self.peer.address, %error, "connection lost");
        let of_tls = error.get_ref().and_then(|inner| inner.downcast_ref());
        if let Some(of_tls) = of_tls {
            self.tls_failure = Some(Box::new(TlsError::clone(of_tls)));
            if of_tls.is_final() {
                return self.refused(core, io, error.to_string());
            }
        }
        let mut since = core.state().now;
        if self.state != State::Up {
            core.count(Incident::ConnectFailure, 1);
            since = self.setup_began;
        }
        let is_cut = self.state == State::Securing && error.kind() == io::ErrorKind::UnexpectedEof;
        if is_cut && self.secure_later(core, io) {
            return;
        }
        self.failure = Some(match is_cut {
            true => "the server closed the connection while TLS was being set up".into(),
            false => error.to_string().into(),
        });
        self.close(Status::Disconnected, core, io);
        if core.calls().first(self.number).is_none() {
            return;
        }
        // A server that cannot be reached for so long is given up.
        let now = core.state().now;
        let down_since = *self.down_since.get_or_insert(since);
        let gone_after = core.gone_after(&self.protocol, io.settings.gone_after);
        let is_gone = now.since(down_since) >= gone_after;
        if is_gone || core.state().stop.is_raised() {
            return fail_all(core, self.number);
        }
        let wait = self.backoff;
        self.backoff = Nanos(wait.0 * 2).clamp(BACKOFF_MIN, BACKOFF_MAX);
        match wait {
            Nanos::ZERO => core.calls_mut().mark_dirty(self.number),
            wait => self.wait(wait, core),
        }
    }

    /// Servers close connections while they set up TLS for too many others (Linux): another attempt is
    /// made a little later, as long as there is time for the set-up. `false`: there is none.
    fn secure_later(&mut self, core: &mut P, io: &mut Io) -> bool {
        let wait = self.backoff.clamp(BACKOFF_MIN, BACKOFF_MAX);
        let is_late = core.state().now + wait >= self.setup_until;
        if is_late || core.state().stop.is_raised() {
            return false;
        }
        self.close(Status::Disconnected, core, io);
        self.backoff = Nanos(wait.0 * 2);
        self.is_set_up_again = true;
        self.wait(wait, core);
        true
    }

    fn wait(&mut self, time: Nanos, core: &mut P) {
        self.state = State::Waiting;
        let (conn, epoch) = (self.number, self.epoch);
        let at = core.state().now + time;
        core.state_mut().start(at, Timer::Reconnect { conn, epoch });
    }

    /// Ends the connection. Calls that were under way on it are sent again, or end with `status`.
    fn close(&mut self, status: Status, core: &mut P, io: &mut Io) {
        self.state = State::Closed;
        self.epoch = self.epoch.wrapping_add(1);
        if let Some(mut link) = self.link.take() {
            if let Some(ring) = &mut io.ring {
                ring.forget(&mut link);
            }
            io.reactor.forget(&link);
            link.close(&mut io.pool);
        }
        core.closed(self.number, &mut self.protocol);
        match P::ON_LOSS {
            OnLoss::SendAgain => core.calls_mut().rewind(self.number),
            OnLoss::Fail => fail_encoded(core, self.number, status),
        }
    }

    /// The pause after a failure is over.
    pub(super) fn try_again(&mut self, epoch: u32, core: &mut P, io: &mut Io) {
        if self.state != State::Waiting || epoch != self.epoch {
            return;
        }
        self.state = State::Closed;
        if !std::mem::take(&mut self.is_set_up_again) {
            return core.calls_mut().mark_dirty(self.number);
        }
        if let Err(error) = self.attempt(core, io) {
            self.lost(core, io, &error);
        }
    }

    /// The set-up should be a step further by now. A call of the protocol whose reply is late is sent
    /// again on another connection, as long as there is time for the set-up.
    pub(super) fn setup_timed_out(&mut self, setup: u32, core: &mut P, io: &mut Io) {
        let is_being_made = matches!(
            self.state,
            State::Connecting | State::Securing | State::Setup
        );
        if !is_being_made || setup != self.setup {
            return;
        }
        if self.state == State::Connecting {
            match self.is_made() {
                // It is this thread that was late: the event comes with the next turn.
                Ok(true) => {
                    self.begin_setup_time(core, io);
                    return self.limit_setup(self.setup_until, core);
                }
                Ok(false) => {}
                Err(error) => return self.lost(core, io, &error),
            }
        }
        if self.state != State::Setup || core.state().now >= self.setup_until {
            return self.lost(core, io, &io::ErrorKind::TimedOut.into());
        }
        core.count(Incident::Timeout, 1);
        self.close(Status::TimedOut, core, io);
        if let Err(error) = self.attempt(core, io) {
            self.lost(core, io, &error);
        }
    }

    /// The reply to the call in this slot did not come in time.
    pub(super) fn reply_timed_out(&mut self, slot: u32, core: &mut P, io: &mut Io) {
        if late_on_stream(core, slot, self.progress(), &io.settings) {
            core.count(Incident::Timeout, 1);
            self.close(Status::TimedOut, core, io);
            core.calls_mut().mark_dirty(self.number);
        }
    }

    /// Ends all calls, and the connection, since replies to them may follow. It is made again for the
    /// next call.
    pub(super) fn break_off(&mut self, core: &mut P, io: &mut Io) {
        if core.calls().first(self.number).is_none() {
            return;
        }
        if self.is_connected() || self.state == State::Connecting {
            self.close(Status::Disconnected, core, io);
        }
        fail_all(core, self.number);
    }

    /// The run is to stop: connections that are not up are not waited for.
    pub(super) fn give_up_waiting(&mut self, core: &mut P) {
        if !self.is_up() {
            fail_all(core, self.number);
        }
    }
}
