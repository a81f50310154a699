//! The loop of one shard: timers, sockets, completions.

mod sending;

use super::datagram::Datagram;
use super::late::{late_call, next_wake};
use super::peer::Peer;
use super::protocol::WireProtocol;
use super::settings::SocketSettings;
use super::state::Timer;
use super::stream::Stream;
use filermark_engine::driver::{Completion, DriverError, ObjectId, Request, ShardDriver, Submit};
use filermark_model::Nanos;
use filermark_model::plan::Transport;
use filermark_net::{
    Arrivals, BATCH, BufferPool, ENGINE_VARIABLE, Link, Reactor, Ready, SentBytes, SocketEngine,
    SocketRing, open_files_limit,
};
use filermark_tls::TlsError;
use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::ops::Range;
use std::time::Duration;

/// How often a request to stop is checked, at least.
const STOP_CHECK: Nanos = Nanos::from_millis(100);
/// Between two phases: how long replies to calls under way are left unread.
const IDLE_WAIT_MIN: Nanos = Nanos::from_millis(10);
/// The same for what comes unasked: the end of a connection, calls of the server.
const IDLE_WAIT_MAX: Nanos = Nanos::from_secs(1);
/// Size of one read, in bytes.
const SCRATCH: usize = 1 << 20;
/// Size of the pool of buffers that idle connections release, in bytes.
const POOL_BYTES: usize = 32 << 20;

/// The state that all connections of a shard share.
#[derive(Debug)]
pub struct Io {
    /// Buffers for connections with unfinished data between turns.
    pub pool: BufferPool,
    /// How often the system was called.
    pub system_calls: SystemCalls,
    pub(super) reactor: Reactor,
    /// Receives and sends for connections in the clear with short messages, where io_uring can be
    /// used.
    pub(super) ring: Option<SocketRing>,
    pub(super) settings: SocketSettings,
    /// Received bytes, which are processed in place.
    pub(super) scratch: Vec<u8>,
    /// The bytes to send.
    pub(super) send: Vec<u8>,
    /// With TLS: where the bytes to send are encrypted to.
    pub(super) spare: Vec<u8>,
    /// The ranges of the datagrams in `send`.
    pub(super) pieces: Vec<Range<usize>>,
    pub(super) arrivals: Arrivals,
    /// Connections with more data to read than one turn allows.
    pub(super) unread: Vec<u64>,
    /// The warning about small buffers was given.
    pub(super) reported_buffers: bool,
}

/// System calls of a shard since it was opened, for tests: a batch must need few.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SystemCalls {
    /// Waits for sockets; by io_uring they receive, too.
    pub waits: u64,
    /// Writes, batches of datagrams that were sent, and sends of several connections by io_uring.
    pub writes: u64,
    /// Reads, and batches of datagrams that were received.
    pub reads: u64,
}

/// One connection of a shard, over its transport.
#[derive(Debug)]
pub struct Conn<P: WireProtocol>(Transported<P>);

#[derive(Debug)]
#[allow(
    clippy::large_enum_variant,
    reason = "the connections of a shard are all of one kind"
)]
enum Transported<P: WireProtocol> {
    Stream(Stream<P>),
    Datagram(Datagram<P>),
}

/// Evaluates an expression with either transport.
macro_rules! either {
    ($conn:expr, $inner:ident => $do:expr) => {
        match $conn {
            Transported::Stream($inner) => $do,
            Transported::Datagram($inner) => $do,
        }
    };
}

impl<P: WireProtocol> Conn<P> {
    pub(super) fn new(number: u32, peer: Peer, state: P::Conn, transport: Transport) -> Self {
        Self(match transport {
            Transport::Tcp => Transported::Stream(Stream::new(number, peer, state)),
            Transport::Udp => Transported::Datagram(Datagram::new(number, peer.address, state)),
        })
    }

    /// The other end.
    pub fn peer(&self) -> SocketAddr {
        either!(&self.0, conn => conn.peer())
    }

    /// Whether calls can be sent.
    pub fn is_up(&self) -> bool {
        either!(&self.0, conn => conn.is_up())
    }

    /// Whether its transport is connected, set up or not.
    #[cfg(test)]
    pub(super) fn is_made(&self) -> bool {
        match &self.0 {
            Transported::Stream(stream) => stream.is_made().unwrap_or(false),
            Transported::Datagram(datagram) => datagram.socket().is_some(),
        }
    }

    /// Why the last attempt to connect failed, if it did.
    fn failure(&self) -> Option<&str> {
        either!(&self.0, conn => conn.failure())
    }

    fn tls_failure(&self) -> Option<&TlsError> {
        match &self.0 {
            Transported::Stream(stream) => stream.tls_failure(),
            Transported::Datagram(_) => None,
        }
    }

    fn place(&self, core: &P) -> String {
        either!(&self.0, conn => core.place(conn.protocol(), conn.peer()))
    }

    /// Bytes that were encoded and not sent yet.
    pub fn unsent_len(&self) -> usize {
        match &self.0 {
            Transported::Stream(stream) => stream.link().map_or(0, Link::unsent_len),
            Transported::Datagram(_) => 0,
        }
    }

    /// Memory of its own buffers, in bytes: none if it is idle.
    pub fn buffer_bytes(&self) -> usize {
        match &self.0 {
            Transported::Stream(stream) => stream.link().map_or(0, Link::buffer_bytes),
            Transported::Datagram(_) => 0,
        }
    }

    /// The local port.
    pub fn local_port(&self) -> Option<u16> {
        let address = match &self.0 {
            Transported::Stream(stream) => stream.link()?.local_addr(),
            Transported::Datagram(datagram) => datagram.socket()?.local_addr(),
        };
        Some(address.ok()?.port())
    }

    fn connect(&mut self, core: &mut P, io: &mut Io) -> io::Result<()> {
        either!(&mut self.0, conn => conn.connect(core, io))
    }

    fn pump(&mut self, core: &mut P, io: &mut Io) {
        either!(&mut self.0, conn => conn.pump(core, io));
    }

    fn ready(&mut self, ready: Ready, core: &mut P, io: &mut Io) {
        either!(&mut self.0, conn => conn.ready(ready, core, io));
    }

    fn sent(&mut self, sent: SentBytes, core: &mut P, io: &mut Io) {
        if let Transported::Stream(stream) = &mut self.0 {
            stream.sent(sent, core, io);
        }
    }

    fn try_again(&mut self, epoch: u32, core: &mut P, io: &mut Io) {
        match &mut self.0 {
            Transported::Stream(stream) => stream.try_again(epoch, core, io),
            Transported::Datagram(datagram) => datagram.send_setup(core, io),
        }
    }

    fn setup_timed_out(&mut self, setup: u32, core: &mut P, io: &mut Io) {
        match &mut self.0 {
            Transported::Stream(stream) => stream.setup_timed_out(setup, core, io),
            Transported::Datagram(datagram) => datagram.setup_timed_out(),
        }
    }

    fn reply_timed_out(&mut self, slot: u32, core: &mut P, io: &mut Io) {
        either!(&mut self.0, conn => conn.reply_timed_out(slot, core, io));
    }

    fn give_up_waiting(&mut self, core: &mut P) {
        either!(&mut self.0, conn => conn.give_up_waiting(core));
    }

    fn break_off(&mut self, core: &mut P, io: &mut Io) {
        match &mut self.0 {
            Transported::Stream(stream) => stream.break_off(core, io),
            Transported::Datagram(datagram) => datagram.break_off(core),
        }
    }
}

/// Carries out the requests of all procs of one thread.
#[derive(Debug)]
pub struct Shard<P: WireProtocol> {
    /// The state of the protocol.
    pub core: P,
    /// The state that the connections share. It is dropped before them: the ring must not outlive
    /// their sockets.
    pub io: Io,
    /// The connections; calls have indices into this list.
    pub conns: Vec<Conn<P>>,
    ready: Vec<Ready>,
}

impl<P: WireProtocol> Shard<P> {
    /// A shard that is not connected yet.
    ///
    /// # Errors
    /// The system has no more files.
    pub fn new(
        core: P,
        conns: Vec<Conn<P>>,
        settings: SocketSettings,
    ) -> Result<Self, DriverError> {
        // As many files as the system allows; if that is not enough, connecting fails.
        open_files_limit(u64::MAX);
        let reactor = Reactor::new().map_err(|error| DriverError {
            place: "this client".to_owned(),
            step: "make an event queue".to_owned(),
            reason: error.to_string(),
            advice: "raise the limit of open files (ulimit -n)".to_owned(),
        })?;
        let ring = ring_of(&settings).map_err(|error| DriverError {
            place: "this client".to_owned(),
            step: "set io_uring up".to_owned(),
            reason: error.to_string(),
            advice: format!("see {ENGINE_VARIABLE}"),
        })?;
        let io = Io {
            reactor,
            ring,
            settings,
            pool: BufferPool::new(POOL_BYTES),
            scratch: vec![0; SCRATCH],
            send: Vec::with_capacity(SCRATCH / 2),
            spare: Vec::new(),
            pieces: Vec::with_capacity(BATCH),
            arrivals: Arrivals::new(settings.datagram_max),
            unread: Vec::new(),
            reported_buffers: false,
            system_calls: SystemCalls::default(),
        };
        Ok(Self {
            core,
            conns,
            io,
            ready: Vec::new(),
        })
    }

    /// Makes all connections, a limited number at a time: servers queue a limited number, and
    /// some start a process for each.
    ///
    /// # Errors
    /// A connection could not be set up; the run is to stop.
    pub fn connect_all(&mut self) -> Result<(), DriverError> {
        let mut next = 0;
        while next < self.conns.len() {
            let count = match next {
                0 if P::FIRST_ALONE => 1,
                _ => P::CONNECTING_MAX,
            };
            let end = self.conns.len().min(next + count);
            for conn in &mut self.conns[next..end] {
                self.core.state_mut().tick();
                if let Err(error) = conn.connect(&mut self.core, &mut self.io) {
                    return Err(not_connected(&self.core, conn, &error.to_string()));
                }
            }
            while let Some(waiting) = self.conns[next..end].iter().find(|c| !c.is_up()) {
                if let Some(failure) = waiting.failure() {
                    return Err(not_connected(&self.core, waiting, failure));
                }
                if self.core.state().stop.is_raised() {
                    return Err(not_connected(&self.core, waiting, "the run was stopped"));
                }
                self.core.state_mut().tick();
                self.send_dirty();
                self.turn(Nanos::MAX)?;
                self.core.state_mut().tick();
                self.run_timers();
            }
            next = end;
        }
        self.send_dirty();
        Ok(())
    }

    /// Waits for the network until the next timer, at most until `until`, and handles the events.
    fn turn(&mut self, until: Nanos) -> Result<(), DriverError> {
        let timeout = match self.io.unread.is_empty() {
            true => {
                let until = until.min(next_wake(&self.core, &self.io.settings));
                // A short time only: a stop may be requested.
                until.since(self.core.state().now).min(STOP_CHECK)
            }
            false => Nanos::ZERO,
        };
        let timeout = Duration::from_nanos(timeout.0);
        self.io.system_calls.waits += 1;
        let (reactor, ready) = (&mut self.io.reactor, &mut self.ready);
        let waited = match &mut self.io.ring {
            Some(ring) => ring.wait(reactor, Some(timeout), ready),
            None => reactor.wait(Some(timeout), ready),
        };
        waited.map_err(|error| self.cannot_wait(&error))?;
        for key in self.io.unread.drain(..) {
            self.ready.push(Ready {
                key,
                readable: true,
                writable: false,
                ended: false,
                broken: false,
            });
        }
        for ready in &self.ready {
            if let Some(conn) = self.conns.get_mut(ready.key as u32 as usize) {
                conn.ready(*ready, &mut self.core, &mut self.io);
            }
        }
        Ok(())
    }

    #[cold]
    fn cannot_wait(&self, error: &io::Error) -> DriverError {
        let first = self.conns.first();
        DriverError {
            place: first.map_or_else(String::new, |conn| conn.place(&self.core)),
            step: "wait for replies".to_owned(),
            reason: error.to_string(),
            advice: String::new(),
        }
    }

    /// Handles expired timers and timeouts.
    fn run_timers(&mut self) {
        while let Some(timer) = self.core.state_mut().due() {
            self.fire(timer);
        }
        while let Some(slot) = late_call(&self.core, &self.io.settings) {
            let conn = self.core.calls().get(slot).conn;
            let Some(conn) = self.conns.get_mut(conn as usize) else {
                break;
            };
            conn.reply_timed_out(slot, &mut self.core, &mut self.io);
        }
    }

    fn fire(&mut self, timer: Timer<P::Timer>) {
        let (core, io) = (&mut self.core, &mut self.io);
        match timer {
            Timer::Protocol(timer) => core.fire(timer),
            Timer::Reconnect { conn, epoch } => {
                if let Some(conn) = self.conns.get_mut(conn as usize) {
                    conn.try_again(epoch, core, io);
                }
            }
            Timer::Setup { conn, setup } => {
                if let Some(conn) = self.conns.get_mut(conn as usize) {
                    conn.setup_timed_out(setup, core, io);
                }
            }
        }
    }

    /// Once the run is to stop, servers that cannot be reached are not waited for.
    fn check_stop(&mut self) {
        let state = self.core.state_mut();
        let is_raised = state.stop.is_raised();
        if is_raised && !state.stopping {
            state.stopping_at = state.now;
            for conn in &mut self.conns {
                conn.give_up_waiting(&mut self.core);
            }
            self.core.stopping();
        }
        self.core.state_mut().stopping = is_raised;
    }

    /// Has the protocol make all data stable, until `deadline`.
    fn settle(&mut self, deadline: Nanos) -> Result<(), DriverError> {
        loop {
            let now = self.core.state_mut().tick();
            self.run_timers();
            self.check_stop();
            let is_waiting = self.core.settle();
            if !is_waiting || now >= deadline || self.core.state().stopping {
                return Ok(());
            }
            self.send_dirty();
            self.turn(deadline)?;
        }
    }

    /// Has the protocol end what the server keeps, until `deadline`; also after a request to
    /// stop.
    fn end_all(&mut self, deadline: Nanos) -> Result<(), DriverError> {
        loop {
            let now = self.core.state_mut().tick();
            self.run_timers();
            if !self.core.end() {
                return Ok(());
            }
            if now >= deadline {
                tracing::warn!(
                    "the server has not answered the calls that end its state of this client in \
                     time: it may keep the state until the lease expires"
                );
                return Ok(());
            }
            self.send_dirty();
            self.turn(deadline)?;
        }
    }
}

impl<P: WireProtocol> ShardDriver for Shard<P> {
    fn submit(&mut self, request: &Request) -> Submit {
        self.core.submit(request)
    }

    fn flush(&mut self) {
        self.send_dirty();
    }

    fn poll(&mut self, deadline: Nanos, done: &mut Vec<Completion>) -> Result<(), DriverError> {
        loop {
            self.core.state_mut().tick();
            self.run_timers();
            self.check_stop();
            self.send_dirty();
            if self.core.state().done.is_empty() {
                self.turn(deadline)?;
            }
            let completed = &mut self.core.state_mut().done;
            if !completed.is_empty() {
                done.append(completed);
                return Ok(());
            }
            if self.core.state_mut().tick() >= deadline {
                return Ok(());
            }
        }
    }

    fn break_off(&mut self) {
        self.core.state_mut().tick();
        // Calls that wait for a timer, too.
        self.core.stopping();
        // As with a stop, no call goes on with another connection.
        let before = std::mem::replace(&mut self.core.state_mut().stopping, true);
        for conn in &mut self.conns {
            conn.break_off(&mut self.core, &mut self.io);
        }
        self.core.state_mut().stopping = before;
    }

    fn keep_alive(&mut self) -> Option<Nanos> {
        if !P::HAS_LEASES {
            return None;
        }
        self.core.state_mut().tick();
        // Replies first: they may be here since the last call of this, and are not late.
        if let Err(error) = self.turn(Nanos::ZERO) {
            tracing::warn!(%error, "leases are not renewed until the next phase");
            return None;
        }
        let now = self.core.state_mut().tick();
        self.run_timers();
        self.send_dirty();
        if self.core.calls().oldest().next().is_some() {
            return Some(IDLE_WAIT_MIN);
        }
        let wake = next_wake(&self.core, &self.io.settings);
        Some(wake.since(now).clamp(IDLE_WAIT_MIN, IDLE_WAIT_MAX))
    }

    fn make_stable(&mut self, deadline: Nanos) -> Result<(), DriverError> {
        self.core.begin_settling();
        let ended = self.settle(deadline);
        self.core.end_settling();
        ended
    }

    fn clients(&self) -> u64 {
        self.core.clients_left()
    }

    fn end(&mut self, deadline: Nanos) -> u64 {
        if let Err(error) = self.end_all(deadline) {
            tracing::warn!(%error, "the server keeps state of this client");
        }
        self.core.clients_left()
    }

    fn take_counters(&mut self, into: &mut BTreeMap<String, u64>) {
        self.core.take_counters(into);
    }

    fn transfer_bytes(&self) -> (u32, u32) {
        self.core.transfer_bytes()
    }

    fn forget_objects(&mut self, proc: u32, from: ObjectId) {
        self.core.forget_objects(proc, from);
    }
}

/// The ring of a shard: datagrams have none.
fn ring_of(settings: &SocketSettings) -> io::Result<Option<SocketRing>> {
    match settings.transport {
        Transport::Tcp => SocketEngine::prescribed()?.ring(),
        Transport::Udp => Ok(None),
    }
}

fn not_connected<P: WireProtocol>(core: &P, conn: &Conn<P>, reason: &str) -> DriverError {
    DriverError {
        place: conn.place(core),
        step: P::CONNECT_STEP.to_owned(),
        reason: reason.to_owned(),
        advice: core.connect_advice(conn.tls_failure()).to_owned(),
    }
}
