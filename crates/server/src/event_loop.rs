//! One thread's event loop: sockets, back-pressure, timers.
//!
//! It moves records in and replies out and must not know what is in them. All replies to
//! what one read brought leave in one write. Nothing here blocks but the wait for events,
//! and everything that waits is bounded: a connection whose client does not take its replies
//! is not read any further.

mod accept;
mod conn;
mod datagram;
mod secure;
mod session;
mod timers;
mod wakeup;

pub(crate) use accept::{Inbox, listen};
pub(crate) use datagram::bind as bind_datagrams;

use crate::options::ServerError;
use crate::protocol::{ReplyAction, Service};
use crate::sys::{ask_for_precision, now_ns};
use accept::Acceptor;
use conn::{Conn, ConnState, Conns, Token};
use datagram::Datagrams;
use filermark_net::{Interest, Reactor, Ready};
use std::io::{self, ErrorKind, Read};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use timers::{Target, Timers};
use wakeup::Wakeup;

/// Bytes of one read.
const INPUT: usize = 256 * 1024;
/// Replies are written when so many bytes of them have gathered, even within one batch.
const BATCH: usize = 1 << 20;
/// Connections of one thread that may each keep a buffer for the largest record.
const FEW: usize = 64;

/// What an event is about, where it is no connection.
const WAKE: u64 = u64::MAX;
const FIRST_LISTENER: u64 = u64::MAX - 1024;
const FIRST_DATAGRAMS: u64 = u64::MAX - 2048;

/// The loop of one thread.
#[derive(Debug)]
pub(crate) struct EventLoop {
    service: Service,
    reactor: Reactor,
    inbox: Arc<Inbox>,
    acceptor: Acceptor,
    stop: Arc<AtomicBool>,
    conns: Conns,
    /// One is out of its place only while it is served.
    datagrams: Vec<Option<Datagrams>>,
    timers: Timers,
    wakeup: Wakeup,
    /// When the replies were due that leave in this turn.
    fired: Vec<u64>,
    input: Box<[u8]>,
    out: Vec<u8>,
    /// With TLS: where replies are encrypted to.
    spare: Vec<u8>,
    max_record: usize,
    /// Events so far.
    event_count: u64,
    partial_bytes_max: u64,
}

fn system(step: &'static str) -> impl Fn(io::Error) -> ServerError {
    move |source| ServerError::System { step, source }
}

impl EventLoop {
    /// A loop that takes connections from its inbox, which wakes `reactor`, and, where there
    /// are `listeners`, takes new ones from these and hands them to all `inboxes` in turn.
    /// `datagrams` are its own.
    pub(crate) fn new(
        service: Service,
        (inboxes, index): (&[Arc<Inbox>], usize),
        reactor: Reactor,
        listeners: Vec<TcpListener>,
        datagrams: Vec<UdpSocket>,
        stop: Arc<AtomicBool>,
    ) -> Result<EventLoop, ServerError> {
        for (listener, key) in listeners.iter().zip(FIRST_LISTENER..) {
            let watched = reactor.watch(listener, key, Interest::Read);
            watched.map_err(system("watch a socket"))?;
        }
        let datagrams = datagrams
            .into_iter()
            .map(Datagrams::new)
            .collect::<io::Result<Vec<_>>>()
            .map_err(system("ask a socket for its address"))?;
        for (datagrams, key) in datagrams.iter().zip(FIRST_DATAGRAMS..) {
            let watched = datagrams.watch(&reactor, key);
            watched.map_err(system("watch a socket"))?;
        }
        let max_record = service.shared.max_record();
        let partial_bytes_max = service.shared.partial_bytes_max();
        Ok(EventLoop {
            service,
            reactor,
            inbox: inboxes[index].clone(),
            acceptor: Acceptor::new(listeners, inboxes.to_vec()),
            stop,
            conns: Conns::default(),
            datagrams: datagrams.into_iter().map(Some).collect(),
            timers: Timers::default(),
            wakeup: Wakeup::default(),
            fired: Vec::new(),
            input: vec![0; INPUT].into(),
            out: Vec::with_capacity(INPUT),
            spare: Vec::new(),
            max_record,
            event_count: 0,
            partial_bytes_max,
        })
    }

    /// Runs until it is stopped.
    pub(crate) fn run(mut self) {
        if self.service.shared.faults.delays_replies() {
            ask_for_precision();
        }
        let mut ready = Vec::new();
        while !self.stop.load(Ordering::Acquire) {
            if !self.wait(&mut ready) {
                return;
            }
            for ready in &ready {
                self.event(*ready);
                // A reply that is due does not wait until everything else is served.
                self.fire();
            }
            self.fire();
        }
    }

    /// Waits for events, at the longest until the next reply is due. `false`: it cannot wait any
    /// more.
    fn wait(&mut self, ready: &mut Vec<Ready>) -> bool {
        let next_ns = [self.timers.next_due(), self.acceptor.retry_at()];
        let Some(next_ns) = next_ns.into_iter().flatten().min() else {
            // Only a bug closes our own queue.
            return self.reactor.wait(None, ready).is_ok();
        };
        let from_ns = now_ns();
        let sleep_ns = self.wakeup.sleep_ns(from_ns, next_ns);
        let limit = Duration::from_nanos(sleep_ns);
        let waited = self.reactor.wait(Some(limit), ready);
        if ready.is_empty() && sleep_ns > 0 {
            self.wakeup.slept(sleep_ns, now_ns() - from_ns);
        }
        waited.is_ok()
    }

    fn event(&mut self, ready: Ready) {
        match ready.key {
            WAKE => {
                self.adopt();
                self.deliver();
            }
            FIRST_LISTENER..WAKE => {
                self.acceptor.accept(&self.reactor, now_ns());
            }
            FIRST_DATAGRAMS..FIRST_LISTENER => {
                self.datagram_event((ready.key - FIRST_DATAGRAMS) as usize);
            }
            token => self.with_conn(Token::from_u64(token), |this, conn| {
                this.conn_event(conn, ready)
            }),
        }
    }

    /// Takes the connections that were handed to this thread.
    fn adopt(&mut self) {
        let most = self.service.shared.options.connections_max;
        for (stream, peer) in self.inbox.take() {
            let count = &self.service.shared.connection_count;
            if count.load(Ordering::Relaxed) >= most {
                self.service.counters.connections_refused.add(1);
                continue; // dropping the stream closes it
            }
            let Some(conn) = Conn::new(stream, peer, self.max_record) else {
                continue;
            };
            let token = self.conns.insert(conn);
            let has_callbacks = self.service.shared.has_callbacks();
            let Some(conn) = self.conns.get_mut(token) else {
                continue;
            };
            if has_callbacks {
                conn.peer.outlet = Some(self.inbox.outlet(token));
            }
            let watched = self
                .reactor
                .watch(&conn.stream, token.to_u64(), Interest::Read);
            if watched.is_err() {
                self.conns.remove(token);
                continue;
            }
            count.fetch_add(1, Ordering::Relaxed);
            self.service.counters.connections.add(1);
        }
    }

    /// Sends the callbacks that were made for connections of this thread.
    fn deliver(&mut self) {
        for (token, message) in self.inbox.take_messages() {
            self.with_conn(token, |this, conn| {
                conn.append(&message);
                this.write_pending(conn)
            });
        }
    }

    /// Runs `body` on a connection and does afterwards what its state asks for.
    fn with_conn(
        &mut self,
        token: Token,
        body: impl FnOnce(&mut EventLoop, &mut Conn) -> ConnState,
    ) {
        let Some(mut conn) = self.conns.take(token) else {
            return;
        };
        conn.token = token;
        let state = body(self, &mut conn);
        if state == ConnState::Close || conn.is_finished() {
            if conn.is_finished() {
                conn.peer.session.settle();
                conn.end_tls();
            }
            self.forget(&conn);
            return;
        }
        let wanted = conn.wanted();
        if wanted != conn.interest {
            conn.interest = wanted;
            let changed = self.reactor.change(&conn.stream, token.to_u64(), wanted);
            if changed.is_err() {
                self.forget(&conn);
                return;
            }
        }
        let over = self.count_partial(&mut conn);
        self.conns.put_back(token, conn);
        if over {
            self.close_stalled();
        }
    }

    /// Ends a connection that is not in the table just now.
    fn forget(&mut self, conn: &Conn) {
        self.reactor.forget(&conn.stream);
        if let Some(outlet) = &conn.peer.outlet {
            outlet.close();
        }
        let shared = &self.service.shared;
        shared
            .partial_bytes
            .fetch_sub(conn.partial_bytes, Ordering::Relaxed);
        shared.connection_count.fetch_sub(1, Ordering::Relaxed);
        self.conns.remove(conn.token);
    }

    /// Counts what a connection holds of a request that has come in part; says whether all
    /// connections hold too much.
    #[inline]
    fn count_partial(&mut self, conn: &mut Conn) -> bool {
        self.event_count += 1;
        conn.last_request_at = self.event_count;
        let holds = conn.held_bytes() as u64;
        if holds == conn.partial_bytes {
            return false;
        }
        let total = &self.service.shared.partial_bytes;
        let before = total.fetch_add(holds.wrapping_sub(conn.partial_bytes), Ordering::Relaxed);
        let now = before.wrapping_add(holds.wrapping_sub(conn.partial_bytes));
        let grew = holds > conn.partial_bytes;
        conn.partial_bytes = holds;
        grew && now > self.partial_bytes_max
    }

    /// Closes the connection of this thread that has left its request in part for longest.
    fn close_stalled(&mut self) {
        let Some(token) = self.conns.most_stalled() else {
            return;
        };
        if let Some(conn) = self.conns.take(token) {
            self.service.counters.connections_stalled.add(1);
            self.forget(&conn);
        }
    }

    fn conn_event(&mut self, conn: &mut Conn, ready: Ready) -> ConnState {
        // A broken connection may be reported as ready for what it is not watched for.
        let reads = ready.readable && conn.interest == Interest::Read;
        if ready.writable && self.write_pending(conn) == ConnState::Close {
            return ConnState::Close;
        }
        match reads {
            true => self.read(conn),
            false if ready.broken => ConnState::Close,
            false => ConnState::Keep,
        }
    }

    /// Writes what waits; when all is gone, goes on with the input that had to wait for it.
    fn write_pending(&mut self, conn: &mut Conn) -> ConnState {
        if conn.flush().is_err() {
            return ConnState::Close;
        }
        if conn.is_blocked() || conn.held.is_empty() {
            return ConnState::Keep;
        }
        let held = std::mem::take(&mut conn.held);
        self.process(conn, &held)
    }

    fn read(&mut self, conn: &mut Conn) -> ConnState {
        if conn.is_blocked() || conn.at_end {
            return ConnState::Keep;
        }
        if conn.dropped_bytes.is_some() {
            return self.drop_input(conn);
        }
        if conn.tls.is_some() {
            return self.read_sealed(conn);
        }
        let mut input = std::mem::take(&mut self.input);
        let state = match (&conn.stream).read(&mut input) {
            Ok(0) => {
                conn.at_end = true;
                // A record cut off by the end was never a request.
                ConnState::Keep
            }
            Ok(n) => self.process(conn, &input[..n]),
            Err(error) => match error.kind() {
                ErrorKind::WouldBlock | ErrorKind::Interrupted => ConnState::Keep,
                _ => ConnState::Close,
            },
        };
        self.input = input;
        state
    }

    /// Serves every complete record of the input, in order, and sends the replies; input that
    /// must wait for earlier replies to leave is kept.
    fn process(&mut self, conn: &mut Conn, mut input: &[u8]) -> ConnState {
        let delays = self.service.shared.faults.delays_replies();
        let received_ns = if delays { now_ns() } else { 0 };
        let mut out = std::mem::take(&mut self.out);
        out.clear();
        let mut state = ConnState::Keep;
        while state == ConnState::Keep {
            if out.len() >= BATCH || conn.is_blocked() {
                state = self.send(conn, &mut out);
                if conn.is_blocked() {
                    break;
                }
            }
            match self.next(conn, &mut input, received_ns, &mut out) {
                Some(next) => state = next,
                None => break,
            }
        }
        // Also where the connection is to be closed: what was answered before is sent.
        let sent = self.send(conn, &mut out);
        conn.held = input.to_vec();
        // Buffers for large writes are kept where there are few connections: making them anew
        // for each costs more than the copy. Where there are many, only what is common is kept.
        let few = self.conns.len() <= FEW;
        conn.reader.trim(if few { self.max_record } else { INPUT });
        self.out = out;
        if state == ConnState::Close {
            state
        } else {
            sent
        }
    }

    /// Serves the next record of the input, if it is complete; a reply that is to leave with
    /// this batch is in `out` afterwards.
    #[inline]
    fn next(
        &mut self,
        conn: &mut Conn,
        input: &mut &[u8],
        received_ns: u64,
        out: &mut Vec<u8>,
    ) -> Option<ConnState> {
        let start = out.len();
        let record = match conn.reader.next_record(input) {
            Ok(record) => record?,
            Err(_) => {
                self.service.counters.refused.add(1);
                return Some(ConnState::Close); // out of step: nothing more can be read
            }
        };
        let verdict = self.service.serve(record, &conn.peer, out);
        if verdict == ReplyAction::Nothing {
            return Some(ConnState::Keep);
        }
        conn.requests += 1;
        if self.service.shared.faults.close_after == Some(conn.requests) {
            self.service.counters.connections_dropped.add(1);
            conn.peer.session.lost_a_reply();
            out.truncate(start);
            return Some(ConnState::Close);
        }
        match verdict {
            // A stream never has anything twice.
            ReplyAction::Send | ReplyAction::SendTwice => {
                self.hold(conn, received_ns, None, start, out)
            }
            ReplyAction::Later(delay_ns) => {
                self.hold(conn, received_ns, Some(delay_ns), start, out);
            }
            ReplyAction::Lose | ReplyAction::Nothing => out.truncate(start),
            ReplyAction::StartTls => return Some(self.begin_tls(conn, input, out)),
            ReplyAction::Close => return Some(ConnState::Close),
        }
        Some(ConnState::Keep)
    }

    /// Holds the reply back that begins at `start`, where it is not to leave at once.
    #[inline]
    fn hold(
        &mut self,
        conn: &mut Conn,
        received_ns: u64,
        delay_ns: Option<u64>,
        start: usize,
        out: &mut Vec<u8>,
    ) {
        let due_ns = self.service.shared.faults.due_ns(received_ns, delay_ns);
        if due_ns <= received_ns {
            return;
        }
        let reply = out[start..].to_vec();
        out.truncate(start);
        conn.delayed(reply.len());
        self.service.counters.replies_delayed.add(1);
        self.timers.add(due_ns, Target::Conn(conn.token), reply);
    }

    /// Sends the replies whose time has come, those of one connection together.
    fn fire(&mut self) {
        let Some(next) = self.timers.next_due() else {
            return self.retry_accept();
        };
        let now = now_ns();
        if next <= now {
            let mut touched: Vec<Token> = Vec::new();
            self.fired.clear();
            while let Some((due_ns, target, reply)) = self.timers.pop_due(now) {
                self.fired.push(due_ns);
                let token = match target {
                    Target::Conn(token) => token,
                    Target::Datagram(index, to) => {
                        self.datagram_due(index, to, &reply);
                        continue;
                    }
                };
                let Some(conn) = self.conns.get_mut(token) else {
                    continue;
                };
                conn.due(&reply);
                if touched.last() != Some(&token) {
                    touched.push(token);
                }
            }
            for token in touched {
                self.with_conn(token, EventLoop::write_pending);
            }
            let recorder = &self.service.counters.lateness;
            recorder.left(now_ns(), &self.fired);
        }
        self.retry_accept();
    }

    fn retry_accept(&mut self) {
        if self.acceptor.retry_at().is_some_and(|at| at <= now_ns()) {
            self.acceptor.resume(&self.reactor);
        }
    }
}

/// A connection on its way from the thread that took it to the one that serves it.
type Incoming = (TcpStream, crate::protocol::Peer);
