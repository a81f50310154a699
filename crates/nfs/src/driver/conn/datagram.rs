//! A UDP socket with one server.
//!
//! There is nothing to connect: one NULL call shows that somebody is there. From
//! then on it is never broken. Every call is a datagram; all that are due leave in
//! one system call. What is lost on the way shows only in the reply that does not
//! come, and goes again alone when its time is over.

use super::super::calls::probe_xid;
use super::super::core::{Core, Timer};
use super::super::counters::Tally;
use super::Io;
use filermark_engine::driver::Status;
use filermark_net::{BATCH, ConnectOptions, Datagrams, Ready, Received, Sent, is_unreachable};
use filermark_onc::rpc::{ReplyHeader, peek_xid};
use filermark_onc::xdr::{Decode, Decoder};
use std::io;
use std::net::SocketAddr;

/// Calls are encoded up to about this many bytes before they are sent.
const CHUNK: usize = 256 << 10;
/// Bytes of a record mark, which datagrams do without.
const MARK: usize = 4;
/// How many looks at one socket in a turn before others get theirs.
const LOOKS_MAX: usize = 64;
/// Where a message says whether it is a call or a reply, and what a reply has there.
const KIND_AT: usize = 4;
const REPLY: u32 = 1;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// No socket yet.
    Closed,
    /// A NULL call is under way.
    Asking,
    Open,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Datagram {
    number: u32,
    peer: SocketAddr,
    socket: Option<Datagrams>,
    state: State,
    /// The id of the NULL call.
    probe: u32,
    /// The stage of waiting for the answer to it.
    stage: u8,
    /// Datagrams that the system took (low half).
    sent: u32,
    /// The system has no room; it will say when it has.
    blocked: bool,
    /// The network says that the server cannot be reached, and no reply has come since.
    unreachable: bool,
    /// Why nobody can be reached.
    failure: Option<Box<str>>,
    /// Batches that were handed to the system.
    #[cfg(test)]
    pub(crate) batches: u64,
}

impl Datagram {
    pub(crate) fn new(number: u32, peer: SocketAddr) -> Self {
        Self {
            number,
            peer,
            socket: None,
            state: State::Closed,
            probe: 0,
            stage: 0,
            sent: 0,
            blocked: false,
            unreachable: false,
            failure: None,
            #[cfg(test)]
            batches: 0,
        }
    }

    pub(crate) fn peer(&self) -> SocketAddr {
        self.peer
    }

    pub(crate) fn is_up(&self) -> bool {
        self.state == State::Open
    }

    pub(crate) fn failure(&self) -> Option<&str> {
        match self.state {
            State::Open => None,
            _ => self.failure.as_deref(),
        }
    }

    #[cfg(test)]
    pub(crate) fn local_port(&self) -> Option<u16> {
        let address = self.socket.as_ref()?.local_addr().ok()?;
        Some(address.port())
    }

    /// Makes the socket and asks whether anybody is there.
    pub(crate) fn connect(&mut self, core: &mut Core, io: &mut Io) -> io::Result<()> {
        let options = ConnectOptions {
            reserved_port: core.settings.reserved_port,
        };
        let wanted = core.settings.buffers;
        let socket = Datagrams::connect(self.peer, options, wanted)?;
        let given = socket.buffers();
        if (given.receive < wanted.receive || given.send < wanted.send) && !io.reported_buffers {
            io.reported_buffers = true;
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
        io.reactor.add(&socket, self.number.into())?;
        self.socket = Some(socket);
        self.state = State::Asking;
        self.stage = 0;
        self.failure = None;
        // Servers remember ids of an earlier run from the same port.
        self.probe = probe_xid(self.number ^ core.clock.now().0 as u32);
        let at = core.now + core.settings.connect_timeout;
        core.start_timer(at, self.timer(|conn, epoch| Timer::Connect { conn, epoch }));
        self.ask(core, io);
        Ok(())
    }

    /// A timer of the only epoch there is: the socket is never made anew.
    fn timer(&self, make: impl Fn(u32, u32) -> Timer) -> Timer {
        make(self.number, 0)
    }

    /// Sends a NULL call.
    fn ask(&mut self, core: &mut Core, io: &mut Io) {
        let Some(socket) = &self.socket else { return };
        io.send.clear();
        // NULL is procedure 0 of every version of every program.
        let call = core.template.begin(&mut io.send, self.probe, 0);
        call.finish(&mut io.send);
        let whole = MARK.min(io.send.len())..io.send.len();
        let sent = socket.send(&io.send, &[whole]);
        self.note_send_errors(sent, core);
        let at = core.now + core.settings.waits.of(self.stage);
        self.stage = core.settings.waits.after(self.stage);
        let timer = self.timer(|conn, epoch| Timer::Reconnect { conn, epoch });
        core.start_timer(at, timer);
    }

    /// The answer to the NULL call did not come in time.
    pub(crate) fn ask_again(&mut self, core: &mut Core, io: &mut Io) {
        if self.state == State::Asking && self.failure.is_none() {
            self.ask(core, io);
        }
    }

    /// Nobody has answered by now.
    pub(crate) fn connect_timed_out(&mut self) {
        if self.state == State::Asking {
            let text = "no answer to a NULL call over UDP, sent again and again";
            self.failure.get_or_insert(text.into());
        }
    }

    /// A datagram came while the answer to a NULL call is waited for.
    fn answered(&mut self, message: &[u8]) {
        if peek_xid(message) != Some(self.probe) {
            return;
        }
        let header = ReplyHeader::decode(&mut Decoder::new(message));
        match header.map(|header| header.check()) {
            Ok(Ok(())) => self.state = State::Open,
            Ok(Err(refusal)) => self.failure = Some(refusal.to_string().into()),
            Err(error) => self.failure = Some(error.to_string().into()),
        }
    }

    /// Sends what is in the queue.
    pub(crate) fn pump(&mut self, core: &mut Core, io: &mut Io) {
        while self.state == State::Open && !self.blocked && self.send_batch(core, io) {}
    }

    /// Whether something was sent.
    fn send_batch(&mut self, core: &mut Core, io: &mut Io) -> bool {
        let Some(socket) = &self.socket else {
            return false;
        };
        io.send.clear();
        io.pieces.clear();
        while io.pieces.len() < BATCH
            && io.send.len() < CHUNK
            && let Some(slot) = core.calls.next_to_encode(self.number)
        {
            let start = io.send.len();
            core.encode(slot, &mut io.send);
            let at = self.sent.wrapping_add(io.pieces.len() as u32);
            core.calls.encoded(self.number, at);
            io.pieces.push(start + MARK..io.send.len());
        }
        if io.pieces.is_empty() {
            return false;
        }
        core.now = core.clock.now();
        let sent = socket.send(&io.send, &io.pieces);
        #[cfg(test)]
        {
            self.batches += 1;
        }
        self.sent = self.sent.wrapping_add(sent.taken as u32);
        core.stamp(self.number, self.sent);
        if sent.blocked {
            // Nothing is kept of the bytes: the rest is encoded again.
            core.calls.rewind_unsent(self.number);
            self.blocked = true;
        }
        self.note_send_errors(sent, core);
        true
    }

    /// Something was told while datagrams were sent.
    fn note_send_errors(&mut self, sent: Sent, core: &mut Core) {
        if let Some(error) = sent.last_error {
            self.note_socket_errors(&error, (sent.unreachable, sent.unsent), core);
        }
    }

    /// The network said so many times that nobody can be reached, and so many datagrams
    /// were not sent for another reason; this was told last.
    fn note_socket_errors(
        &mut self,
        error: &io::Error,
        (unreachable, unsent): (u32, u32),
        core: &mut Core,
    ) {
        tracing::debug!(peer = %self.peer, %error, "told about a datagram");
        core.counters
            .add_many(Tally::PortUnreachable, unreachable.into());
        core.counters.add_many(Tally::SendErrors, unsent.into());
        // What this host has no room for, or does not let out, says nothing about the server.
        self.unreachable |= unreachable > 0;
        if self.state == State::Asking && unreachable + unsent > 0 {
            self.failure = Some(error_text(error));
        }
    }

    /// The reactor says that something happened.
    pub(crate) fn ready(&mut self, ready: Ready, core: &mut Core, io: &mut Io) {
        if self.state == State::Closed {
            return;
        }
        if ready.readable || ready.broken {
            self.receive(core, io);
        }
        if ready.writable && self.blocked {
            self.blocked = false;
            self.pump(core, io);
        }
    }

    fn receive(&mut self, core: &mut Core, io: &mut Io) {
        for _ in 0..LOOKS_MAX {
            let Some(socket) = &self.socket else { return };
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

    /// Hands every reply of a look to the core.
    fn take(&mut self, count: usize, core: &mut Core, io: &mut Io) {
        core.now = core.clock.now();
        let now = core.now;
        for number in 0..count {
            let came = io.arrivals.get(&io.scratch, number);
            let Some((message, age)) = came.filter(|(message, _)| is_reply(message)) else {
                core.counters.add(Tally::BadReplies);
                continue;
            };
            self.unreachable = false;
            if self.state == State::Asking {
                self.answered(message);
                continue;
            }
            if peek_xid(message) == Some(self.probe) {
                continue; // It was asked twice.
            }
            // Waking up is our own affair: what came, came when the kernel noted it.
            core.reply(self.number, message, now.since(age));
        }
    }

    /// The reply to this call did not come in time.
    pub(crate) fn reply_timed_out(&mut self, slot: u32, core: &mut Core) {
        core.send_again(slot, self.silence());
    }

    /// What it means that no reply comes.
    fn silence(&self) -> Status {
        match self.unreachable {
            true => Status::Disconnected,
            false => Status::TimedOut,
        }
    }

    /// Everybody wishes to stop: nothing waits for a server that is gone.
    pub(crate) fn give_up_waiting(&mut self, core: &mut Core) {
        if self.unreachable {
            core.fail_all(self.number);
        }
    }
}

fn is_reply(message: &[u8]) -> bool {
    let kind = message.get(KIND_AT..).and_then(<[u8]>::first_chunk);
    kind.is_some_and(|kind| u32::from_be_bytes(*kind) == REPLY)
}

/// What the system said, in words that tell what it means for datagrams.
fn error_text(error: &io::Error) -> Box<str> {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => {
            "nobody listens on this UDP port (ICMP port unreachable)".into()
        }
        _ => error.to_string().into(),
    }
}
