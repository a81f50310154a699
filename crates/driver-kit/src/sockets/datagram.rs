//! A UDP socket with one server.
//!
//! There is no connection: one message of the set-up shows that a server answers, and is sent
//! again until it is answered. From then on the socket never breaks. Every call is a datagram;
//! all that are due are sent in one system call. A lost call or reply shows only as a missing
//! reply; that call is then sent again after its timeout.

use super::late::late_datagram;
use super::protocol::{Event, Incident, WireProtocol, fail_all, stamp};
use super::shard::Io;
use super::state::Timer;
use filermark_engine::driver::Status;
use filermark_net::{BATCH, ConnectOptions, Datagrams, Ready, Received, Sent, is_unreachable};
use std::io;
use std::net::SocketAddr;

/// Calls are encoded up to about this many bytes before they are sent.
const CHUNK: usize = 256 << 10;
/// The most receive calls on one socket in a turn, before it is the turn of others.
const RECEIVES_MAX: usize = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// No socket yet.
    Closed,
    /// A message of the set-up is under way.
    Setup,
    Up,
}

#[derive(Debug)]
pub(super) struct Datagram<P: WireProtocol> {
    number: u32,
    peer: SocketAddr,
    protocol: P::Conn,
    socket: Option<Datagrams>,
    state: State,
    /// The stage of the timeout of the set-up.
    stage: u8,
    /// Datagrams that the system took (low half).
    sent: u32,
    /// The send buffer is full; the reactor reports when it has space.
    is_blocked: bool,
    /// The network has reported that the server cannot be reached, and no message came since.
    is_unreachable: bool,
    /// Why the server cannot be reached.
    failure: Option<Box<str>>,
}

impl<P: WireProtocol> Datagram<P> {
    pub(super) fn new(number: u32, peer: SocketAddr, protocol: P::Conn) -> Self {
        Self {
            number,
            peer,
            protocol,
            socket: None,
            state: State::Closed,
            stage: 0,
            sent: 0,
            is_blocked: false,
            is_unreachable: false,
            failure: None,
        }
    }

    pub(super) fn peer(&self) -> SocketAddr {
        self.peer
    }

    pub(super) fn protocol(&self) -> &P::Conn {
        &self.protocol
    }

    pub(super) fn is_up(&self) -> bool {
        self.state == State::Up
    }

    pub(super) fn failure(&self) -> Option<&str> {
        match self.state {
            State::Up => None,
            State::Closed | State::Setup => self.failure.as_deref(),
        }
    }

    pub(super) fn socket(&self) -> Option<&Datagrams> {
        self.socket.as_ref()
    }

    /// Makes the socket and begins the set-up.
    pub(super) fn connect(&mut self, core: &mut P, io: &mut Io) -> io::Result<()> {
        let options = ConnectOptions {
            reserved_port: io.settings.reserved_port,
        };
        let socket = Datagrams::connect(self.peer, options, io.settings.buffers)?;
        report_small_buffers(&socket, io);
        io.reactor.add(&socket, self.number.into())?;
        io.reactor.want_space(&socket, self.number.into(), false)?;
        self.socket = Some(socket);
        self.state = State::Setup;
        self.stage = 0;
        self.failure = None;
        let (conn, setup) = (self.number, 0);
        let at = core.state().now + io.settings.connect_timeout;
        core.state_mut().start(at, Timer::Setup { conn, setup });
        let event = core.connected(self.number, &mut self.protocol);
        self.handle(event);
        self.send_setup(core, io);
        Ok(())
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Up => self.state = State::Up,
            Event::Refused(reason) => self.failure = Some(reason.into()),
            Event::Lost(error) => self.failure = Some(error.to_string().into()),
            // No call waits for space in a window, and the set-up is sent again after its timeout.
            Event::Nothing | Event::Replies | Event::Send | Event::SetupAgain => {}
        }
    }

    /// Sends the message of the set-up, as long as it is not answered.
    pub(super) fn send_setup(&mut self, core: &mut P, io: &mut Io) {
        let Some(socket) = &self.socket else { return };
        if self.state != State::Setup || self.failure.is_some() {
            return;
        }
        io.send.clear();
        core.own_bytes(&mut self.protocol, &mut io.send);
        let whole = P::STREAM_MARK.min(io.send.len())..io.send.len();
        io.system_calls.writes += 1;
        let sent = socket.send(&io.send, &[whole]);
        self.note_send_errors(sent, core);
        let at = core.state().now + io.settings.waits.of(self.stage);
        self.stage = io.settings.waits.after(self.stage);
        // The only epoch: the socket is never made again.
        let (conn, epoch) = (self.number, 0);
        core.state_mut().start(at, Timer::Reconnect { conn, epoch });
    }

    /// The set-up should have been answered by now.
    pub(super) fn setup_timed_out(&mut self) {
        if self.state == State::Setup {
            self.failure.get_or_insert(P::NO_ANSWER.into());
        }
    }

    /// Sends what is in the queue.
    pub(super) fn pump(&mut self, core: &mut P, io: &mut Io) {
        while self.state == State::Up && !self.is_blocked && self.send_batch(core, io) {}
    }

    /// Whether something was sent.
    fn send_batch(&mut self, core: &mut P, io: &mut Io) -> bool {
        let Some(socket) = &self.socket else {
            return false;
        };
        io.send.clear();
        io.pieces.clear();
        while io.pieces.len() < BATCH && io.send.len() < CHUNK {
            let start = io.send.len();
            if !core.encode_next(self.number, &mut self.protocol, &mut io.send) {
                break;
            }
            let at = self.sent.wrapping_add(io.pieces.len() as u32);
            core.calls_mut().encoded(self.number, at);
            io.pieces.push(start + P::STREAM_MARK..io.send.len());
        }
        if io.pieces.is_empty() {
            return false;
        }
        core.state_mut().tick();
        io.system_calls.writes += 1;
        let sent = socket.send(&io.send, &io.pieces);
        self.sent = self.sent.wrapping_add(sent.taken as u32);
        stamp(core, self.number, self.sent, true);
        if sent.blocked {
            // The bytes are dropped: the rest is encoded again.
            core.calls_mut().rewind_unsent(self.number);
            self.block(true, io);
        }
        self.note_send_errors(sent, core);
        true
    }

    /// Notes whether the send buffer is full, for the reactor, too.
    fn block(&mut self, is_blocked: bool, io: &Io) {
        self.is_blocked = is_blocked;
        let Some(socket) = &self.socket else { return };
        // It fails only for a socket that is not watched; the calls are sent again then.
        let _ = io
            .reactor
            .want_space(socket, self.number.into(), is_blocked);
    }

    /// The system reported errors while datagrams were sent.
    fn note_send_errors(&mut self, sent: Sent, core: &mut P) {
        if let Some(error) = sent.last_error {
            self.note_socket_errors(&error, (sent.unreachable, sent.unsent), core);
        }
    }

    /// Counts how often the network has reported that the server cannot be reached, and how many
    /// datagrams were not sent for another reason; `error` was the last error.
    fn note_socket_errors(
        &mut self,
        error: &io::Error,
        (unreachable, unsent): (u32, u32),
        core: &mut P,
    ) {
        tracing::debug!(peer = %self.peer, %error, "error about a datagram");
        core.count(Incident::Unreachable, unreachable.into());
        core.count(Incident::SendError, unsent.into());
        // Full buffers and filters of this host are no errors of the server.
        self.is_unreachable |= unreachable > 0;
        if self.state == State::Setup && unreachable + unsent > 0 {
            self.failure = Some(error_text(error));
        }
    }

    /// Handles an event of the reactor.
    pub(super) fn ready(&mut self, ready: Ready, core: &mut P, io: &mut Io) {
        if self.state == State::Closed {
            return;
        }
        if ready.readable || ready.broken {
            self.receive(core, io);
        }
        if ready.writable && self.is_blocked {
            self.block(false, io);
            self.pump(core, io);
        }
    }

    fn receive(&mut self, core: &mut P, io: &mut Io) {
        for _ in 0..RECEIVES_MAX {
            let Some(socket) = &self.socket else { return };
            io.system_calls.reads += 1;
            match socket.receive(&mut io.scratch, &mut io.arrivals) {
                Received::WouldBlock => return,
                Received::SocketError(error) => {
                    let counts = match is_unreachable(&error) {
                        true => (1, 0),
                        false => (0, 1),
                    };
                    self.note_socket_errors(&error, counts, core);
                }
                Received::Some { count, more } => {
                    self.take(count, core, io);
                    if !more {
                        return;
                    }
                }
            }
        }
        io.unread.push(self.number.into());
    }

    /// Passes every datagram of a receive call to the protocol.
    fn take(&mut self, count: usize, core: &mut P, io: &mut Io) {
        let now = core.state_mut().tick();
        for nth in 0..count {
            let Some((message, age)) = io.arrivals.get(&mut io.scratch, nth) else {
                core.count(Incident::BadDatagram, 1);
                continue;
            };
            // The arrival is the time of the kernel; the delay until now is that of this host.
            let at = now.since(age);
            match core.receive(self.number, &mut self.protocol, message, at) {
                Ok(_) => self.is_unreachable = false,
                Err(_) => core.count(Incident::BadDatagram, 1),
            }
        }
        let event = core.after_read(self.number, &mut self.protocol);
        self.handle(event);
    }

    /// The reply to the call in this slot did not come in time.
    pub(super) fn reply_timed_out(&mut self, slot: u32, core: &mut P, io: &Io) {
        let status = match self.is_unreachable {
            true => Status::Disconnected,
            false => Status::TimedOut,
        };
        late_datagram(core, slot, status, &io.settings);
    }

    /// Ends all calls.
    pub(super) fn break_off(&mut self, core: &mut P) {
        fail_all(core, self.number);
    }

    /// The run is to stop: a server that cannot be reached is not waited for.
    pub(super) fn give_up_waiting(&mut self, core: &mut P) {
        if self.is_unreachable {
            fail_all(core, self.number);
        }
    }
}

/// Warns once for a shard that the buffers of the system are smaller than needed.
fn report_small_buffers(socket: &Datagrams, io: &mut Io) {
    let (given, wanted) = (socket.buffers(), io.settings.buffers);
    let is_small = given.receive < wanted.receive || given.send < wanted.send;
    if is_small && !std::mem::replace(&mut io.reported_buffers, true) {
        tracing::warn!(
            "UDP sockets have buffers of {} and {} bytes (receive, send) where {} and {} are \
             needed for everything under way: what does not fit is lost on this host; raise \
             net.core.rmem_max and net.core.wmem_max",
            given.receive,
            given.send,
            wanted.receive,
            wanted.send
        );
    }
}

/// The text of an error, with its meaning for datagrams.
fn error_text(error: &io::Error) -> Box<str> {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => {
            "no process listens on this UDP port (ICMP port unreachable)".into()
        }
        _ => error.to_string().into(),
    }
}
