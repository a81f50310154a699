//! One connection, and the table of all.

use super::session::Secure;
use crate::protocol::Peer;
use filermark_net::Interest;
use filermark_onc::record::RecordReader;
use std::io::{self, ErrorKind, Write};
use std::net::TcpStream;

/// Bytes of delayed replies that one connection may have waiting before it is read no further.
const MAX_DELAYED_BYTES: usize = 64 << 20;
/// And how many of them.
const MAX_DELAYED: usize = 65_536;

/// Whether a connection lives on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConnState {
    Keep,
    Close,
}

/// A place in the table, and which of its tenants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Token {
    generation: u32,
    index: u32,
}

impl Token {
    pub(super) fn to_u64(self) -> u64 {
        u64::from(self.generation) << 32 | u64::from(self.index)
    }

    pub(super) fn from_u64(word: u64) -> Token {
        Token {
            generation: (word >> 32) as u32,
            index: word as u32,
        }
    }
}

/// A connection.
#[derive(Debug)]
pub(super) struct Conn {
    pub(super) stream: TcpStream,
    pub(super) peer: Peer,
    pub(super) token: Token,
    pub(super) reader: RecordReader,
    /// Input that waits until output or delayed replies have gone.
    pub(super) held: Vec<u8>,
    /// The client sends no more; what it has asked for is still answered.
    pub(super) at_end: bool,
    pub(super) requests: u64,
    /// Bytes of a request in part that are counted for this connection.
    pub(super) partial_bytes: u64,
    /// When this thread last got something of it, in events.
    pub(super) last_request_at: u64,
    /// What the reactor watches for.
    pub(super) interest: Interest,
    /// TLS, once it has begun.
    pub(super) tls: Option<Box<Secure>>,
    /// TLS has failed: what comes is dropped until the client has read why; so many bytes so far.
    pub(super) dropped_bytes: Option<usize>,
    /// Replies that the socket did not take yet.
    pending: Vec<u8>,
    sent: usize,
    delayed_replies: usize,
    delayed_bytes: usize,
}

impl Conn {
    pub(super) fn new(stream: TcpStream, peer: Peer, max_record: usize) -> Option<Box<Conn>> {
        stream.set_nonblocking(true).ok()?;
        // Replies leave in batches already; waiting for more would only add latency.
        stream.set_nodelay(true).ok()?;
        Some(Box::new(Conn {
            stream,
            peer,
            token: Token {
                generation: 0,
                index: 0,
            },
            reader: RecordReader::new(max_record),
            held: Vec::new(),
            at_end: false,
            requests: 0,
            partial_bytes: 0,
            last_request_at: 0,
            interest: Interest::Read,
            tls: None,
            dropped_bytes: None,
            pending: Vec::new(),
            sent: 0,
            delayed_replies: 0,
            delayed_bytes: 0,
        }))
    }

    /// Whether no further request may be served before something has left.
    pub(super) fn is_blocked(&self) -> bool {
        !self.pending.is_empty()
            || self.delayed_replies >= MAX_DELAYED
            || self.delayed_bytes >= MAX_DELAYED_BYTES
    }

    /// Whether the client is done and has got everything.
    pub(super) fn is_finished(&self) -> bool {
        self.at_end && self.pending.is_empty() && self.held.is_empty() && self.delayed_replies == 0
    }

    pub(super) fn wanted(&self) -> Interest {
        if !self.pending.is_empty() {
            Interest::Write
        } else if self.is_blocked() || self.at_end {
            Interest::Nothing
        } else {
            Interest::Read
        }
    }

    /// Whether replies are held back.
    pub(super) fn holds_replies(&self) -> bool {
        self.delayed_replies > 0
    }

    /// A reply of so many bytes is held back.
    pub(super) fn delayed(&mut self, bytes: usize) {
        self.delayed_replies += 1;
        self.delayed_bytes += bytes;
    }

    /// The time of a reply has come; it leaves with the next flush.
    pub(super) fn due(&mut self, reply: &[u8]) {
        self.delayed_replies -= 1;
        self.delayed_bytes -= reply.len();
        self.append(reply);
    }

    /// A message leaves with the next flush.
    pub(super) fn append(&mut self, message: &[u8]) {
        match &mut self.tls {
            None => self.pending.extend_from_slice(message),
            Some(tls) => tls.append(message, &mut self.pending),
        }
    }

    /// Appends bytes to those that are to be sent.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.pending.extend_from_slice(bytes);
    }

    /// Bytes that it holds of what has come in part.
    pub(super) fn held_bytes(&self) -> usize {
        let of_tls = self.tls.as_ref().map_or(0, |tls| tls.held_bytes());
        self.reader.partial_bytes() + self.held.capacity() + of_tls
    }

    /// Sends `out` (with TLS: sealed by [`Secure::seal`]) and empties it; keeps what the socket does
    /// not take.
    pub(super) fn send(&mut self, out: &mut Vec<u8>) -> ConnState {
        let mut rest = &out[..];
        while self.pending.is_empty() && !rest.is_empty() {
            match (&self.stream).write(rest) {
                Ok(0) => return ConnState::Close,
                Ok(n) => rest = &rest[n..],
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return ConnState::Close,
            }
        }
        self.pending.extend_from_slice(rest);
        out.clear();
        ConnState::Keep
    }

    /// Sends what is pending, as far as the socket takes it.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        while self.sent < self.pending.len() {
            match (&self.stream).write(&self.pending[self.sent..]) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(n) => self.sent += n,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.pending = Vec::new();
        self.sent = 0;
        Ok(())
    }
}

#[derive(Debug)]
struct Slot {
    generation: u32,
    conn: Option<Box<Conn>>,
}

/// The table of connections.
#[derive(Debug, Default)]
pub(super) struct Conns {
    slots: Vec<Slot>,
    free: Vec<u32>,
}

impl Conns {
    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    pub(super) fn insert(&mut self, mut conn: Box<Conn>) -> Token {
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot {
                generation: 0,
                conn: None,
            });
            self.slots.len() as u32 - 1
        });
        let slot = &mut self.slots[index as usize];
        let token = Token {
            generation: slot.generation,
            index,
        };
        conn.token = token;
        slot.conn = Some(conn);
        token
    }

    fn slot(&mut self, token: Token) -> Option<&mut Slot> {
        let slot = self.slots.get_mut(token.index as usize)?;
        (slot.generation == token.generation).then_some(slot)
    }

    pub(super) fn get_mut(&mut self, token: Token) -> Option<&mut Conn> {
        self.slot(token)?.conn.as_deref_mut()
    }

    /// Of the connections with an incomplete request the one that was idle longest.
    pub(super) fn most_stalled(&self) -> Option<Token> {
        let conns = self.slots.iter().filter_map(|slot| slot.conn.as_deref());
        let stalled = conns.filter(|conn| conn.partial_bytes > 0);
        stalled
            .min_by_key(|conn| conn.last_request_at)
            .map(|conn| conn.token)
    }

    /// Takes the connection out, to be put back or removed.
    pub(super) fn take(&mut self, token: Token) -> Option<Box<Conn>> {
        self.slot(token)?.conn.take()
    }

    pub(super) fn put_back(&mut self, token: Token, conn: Box<Conn>) {
        if let Some(slot) = self.slot(token) {
            slot.conn = Some(conn);
        }
    }

    /// Removes the connection; late events and timers of it find none.
    pub(super) fn remove(&mut self, token: Token) {
        if let Some(slot) = self.slot(token) {
            slot.conn = None;
            // The top bits of a token are never all ones: those mean other things than connections.
            slot.generation = (slot.generation + 1) & 0x7fff_ffff;
            self.free.push(token.index);
        }
    }
}
