//! The relay: a thread that carries bytes between a TLS connection and one end of a pair of
//! local sockets, so that other code uses a plain stream.
//!
//! Data is read only if it can be passed on, so a fast sender is blocked as on any socket. Each
//! direction ends independently.

use super::wire::WAIT_MAX;
use crate::local::{LocalStream, local_pair};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::sockopt;
use rustls::{AlertDescription, Connection, Error as TlsError};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Bytes that are read from the local end at once: one TLS record.
const PIECE: usize = 16 << 10;
/// Stack of a relay thread; there may be a thousand of them.
const STACK_BYTES: usize = 256 << 10;
/// How long the last output may take to be sent after the local end was closed, or has taken
/// data last.
const LINGER: Duration = Duration::from_secs(5);
/// The time between two attempts to write to a local end that is not polled any more.
const BETWEEN_WRITES: Duration = Duration::from_millis(5);
/// TCP keep-alive: probes begin after this idle time,
const KEEPALIVE_IDLE: Duration = Duration::from_secs(10);
/// at this interval,
const KEEPALIVE_GAP: Duration = Duration::from_secs(5);
/// and the connection is closed after this number of probes.
const KEEPALIVE_COUNT: u32 = 4;

/// Controls a connection: its state, and a way to cut it.
#[derive(Clone)]
pub struct LinkControl {
    peer: SocketAddr,
    tcp: Arc<TcpStream>,
    end: Arc<(Mutex<Option<LinkEnd>>, Condvar)>,
    #[cfg(test)]
    wake_count: Arc<std::sync::atomic::AtomicU64>,
}

/// Closed properly, or with an error.
type LinkEnd = Result<(), LinkFailure>;

impl LinkControl {
    fn new(tcp: Arc<TcpStream>, peer: SocketAddr) -> Self {
        Self {
            peer,
            tcp,
            end: Arc::default(),
            #[cfg(test)]
            wake_count: Arc::default(),
        }
    }

    /// How often the relay has woken.
    #[cfg(test)]
    pub(super) fn wake_count(&self) -> u64 {
        self.wake_count.load(std::sync::atomic::Ordering::Relaxed)
    }

    /// The other side's address.
    pub fn peer(&self) -> SocketAddr {
        self.peer
    }

    /// Closes the connection immediately, in both directions.
    pub fn cut(&self) {
        let _ = self.tcp.shutdown(Shutdown::Both);
    }

    /// Whether it has ended.
    pub fn has_ended(&self) -> bool {
        self.lock().is_some()
    }

    /// Waits up to `limit` until it has ended; returns whether it has.
    pub fn wait_ended(&self, limit: Duration) -> bool {
        let guard = self.lock();
        let (ended, _) = self
            .end
            .1
            .wait_timeout_while(guard, limit, |end| end.is_none())
            .unwrap_or_else(PoisonError::into_inner);
        ended.is_some()
    }

    /// The error with which it ended, if any.
    pub fn failure_text(&self) -> Option<String> {
        let end = self.lock().clone()?;
        end.err().map(|broken| broken.to_string())
    }

    /// Whether the peer rejected this side's key: in TLS 1.3 a client learns this after its own
    /// handshake is complete.
    pub(super) fn was_refused(&self) -> bool {
        let refused = TlsError::AlertReceived(AlertDescription::AccessDenied);
        matches!(&*self.lock(), Some(Err(LinkFailure::Tls(error))) if *error == refused)
    }

    /// For tests: whether it sleeps when there is nothing to do.
    fn count_wake(&self) {
        #[cfg(test)]
        self.wake_count
            .fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    }

    fn set_end(&self, end: LinkEnd) {
        *self.lock() = Some(end);
        self.end.1.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, Option<LinkEnd>> {
        self.end.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Starts the relay of a connection after the handshake.
pub(super) fn start(
    tls: Connection,
    tcp: TcpStream,
    peer: SocketAddr,
) -> io::Result<(LocalStream, LinkControl)> {
    let (ours, local) = local_pair()?;
    local.set_nonblocking(true)?;
    tcp.set_nonblocking(true)?;
    tcp.set_nodelay(true)?;
    keep_alive(&tcp)?;
    let tcp = Arc::new(tcp);
    let hold = LinkControl::new(tcp.clone(), peer);
    let relay = TlsRelay {
        tls,
        tcp,
        local,
        inward: Vec::new(),
        inward_ended: false,
        inward_shut: false,
        local_closed: false,
        outward_ended: false,
        outward_shut: false,
        local_closed_at: None,
        hold: hold.clone(),
    };
    std::thread::Builder::new()
        .name("tls-relay".into())
        .stack_size(STACK_BYTES)
        .spawn(move || {
            let hold = relay.hold.clone();
            hold.set_end(relay.run());
        })?;
    Ok((ours, hold))
}

fn keep_alive(tcp: &TcpStream) -> io::Result<()> {
    sockopt::set_socket_keepalive(tcp, true)?;
    let timing = sockopt::set_tcp_keepidle(tcp, KEEPALIVE_IDLE)
        .and_then(|()| sockopt::set_tcp_keepintvl(tcp, KEEPALIVE_GAP))
        .and_then(|()| sockopt::set_tcp_keepcnt(tcp, KEEPALIVE_COUNT));
    match timing {
        // Windows before 10 version 1709, and Wine, do not have all of these options. Their own
        // times apply then, and both sides still notice the other's silence by its messages.
        Err(error) if cfg!(windows) && error == rustix::io::Errno::NOPROTOOPT => Ok(()),
        other => Ok(other?),
    }
}

/// Why a connection failed.
#[derive(Clone, Debug, thiserror::Error)]
enum LinkFailure {
    #[error("the connection failed: {0}")]
    Tcp(String),
    #[error("the connection was cut off: the peer or the network failed")]
    CutOff,
    #[error("TLS failed: {0}")]
    Tls(#[from] TlsError),
    #[error("the relay of the connection failed: {0}")]
    Local(String),
}

impl LinkFailure {
    fn tcp(error: io::Error) -> Self {
        match error.kind() {
            ErrorKind::BrokenPipe | ErrorKind::ConnectionReset | ErrorKind::TimedOut => {
                Self::CutOff
            }
            _ => Self::Tcp(error.to_string()),
        }
    }

    fn local(error: io::Error) -> Self {
        Self::Local(error.to_string())
    }
}

/// Inward is from the network to the local end, outward the opposite direction.
struct TlsRelay {
    tls: Connection,
    tcp: Arc<TcpStream>,
    local: LocalStream,
    /// Received from the network, not yet written to the local end.
    inward: Vec<u8>,
    /// The peer has closed its direction.
    inward_ended: bool,
    /// The local end was closed for writing accordingly.
    inward_shut: bool,
    /// The local end does not read any more.
    local_closed: bool,
    /// The local end has closed its direction.
    outward_ended: bool,
    /// The peer was informed.
    outward_shut: bool,
    /// When the local end was reported as closed. On Windows that may be one direction alone: then
    /// it still takes data, and this is when it took some last.
    local_closed_at: Option<Instant>,
    hold: LinkControl,
}

impl TlsRelay {
    fn run(mut self) -> Result<(), LinkFailure> {
        let result = self.relay();
        let _ = self.local.shutdown(Shutdown::Both);
        if result.is_err() {
            // An alert may be pending; sending it does not block.
            let _ = self.tls.write_tls(&mut &*self.tcp);
        }
        let _ = self.tcp.shutdown(Shutdown::Both);
        result
    }

    fn relay(&mut self) -> Result<(), LinkFailure> {
        let mut piece = vec![0; PIECE];
        // The last bytes of the handshake may have been followed by data.
        self.decrypt()?;
        loop {
            self.hold.count_wake();
            self.write_inward();
            self.read_outward(&mut piece)?;
            self.send()?;
            if self.inward_shut && self.outward_shut {
                return Ok(());
            }
            if self
                .local_closed_at
                .is_some_and(|at| at.elapsed() >= LINGER)
            {
                return Ok(());
            }
            // The remaining data of a closed local end is available immediately.
            let more = self.local_closed_at.is_some() && self.may_read_local();
            if !more && self.wait()? {
                self.receive()?;
            }
        }
    }

    /// Sleeps until something can be done. Returns whether the network has data, or may have.
    fn wait(&mut self) -> Result<bool, LinkFailure> {
        let mut net = PollFlags::empty();
        let may_receive = !self.inward_ended && self.inward.is_empty() && self.tls.wants_read();
        net.set(PollFlags::IN, may_receive);
        net.set(PollFlags::OUT, self.tls.wants_write());
        let mut near = PollFlags::empty();
        near.set(PollFlags::IN, self.may_read_local());
        near.set(PollFlags::OUT, !self.inward.is_empty());
        // A closed socket is reported whatever is polled for: the loop would not sleep.
        let mut polled = Vec::with_capacity(2);
        if self.local_closed_at.is_none() {
            polled.push(PollFd::new(&self.local, near));
        }
        if !net.is_empty() {
            polled.push(PollFd::new(&*self.tcp, net));
        }
        let limit = self
            .local_closed_at
            .map(|at| LINGER.saturating_sub(at.elapsed()));
        let is_blind = self.local_closed_at.is_some() && !self.inward.is_empty();
        let again = is_blind.then_some(BETWEEN_WRITES);
        let limit = limit.into_iter().chain(WAIT_MAX).chain(again).min();
        if polled.is_empty() {
            // Windows does not wait for no socket.
            std::thread::sleep(limit.unwrap_or(BETWEEN_WRITES));
            return Ok(false);
        }
        let limit = limit.and_then(|limit| Timespec::try_from(limit).ok());
        match poll(&mut polled, limit.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(LinkFailure::local(error.into())),
        }
        let ready: Vec<_> = polled.iter().map(PollFd::revents).collect();
        let (local_ready, network_ready) = match (self.local_closed_at.is_none(), ready.as_slice())
        {
            (true, [near, net @ ..]) => (*near, net.first().copied()),
            (_, net) => (PollFlags::empty(), net.first().copied()),
        };
        if local_ready.intersects(PollFlags::HUP | PollFlags::ERR) {
            self.local_closed_at.get_or_insert_with(Instant::now);
        }
        let some = PollFlags::IN | PollFlags::ERR | PollFlags::HUP;
        // What another thread has shut down is not reported everywhere.
        let may_be_shut = WAIT_MAX.is_some();
        let is_ready = network_ready.is_some_and(|ready| ready.intersects(some));
        Ok(may_receive && (is_ready || may_be_shut))
    }

    /// Data from the local end is read only when earlier data has been sent.
    fn may_read_local(&self) -> bool {
        !self.outward_ended && !self.tls.wants_write()
    }

    fn receive(&mut self) -> Result<(), LinkFailure> {
        match self.tls.read_tls(&mut &*self.tcp) {
            // Only a killed peer ends without close_notify.
            Ok(0) => Err(LinkFailure::CutOff),
            Ok(_) => self.decrypt(),
            Err(error) if would_block(&error) => Ok(()),
            Err(error) => Err(LinkFailure::tcp(error)),
        }
    }

    fn decrypt(&mut self) -> Result<(), LinkFailure> {
        let state = self.tls.process_new_packets()?;
        let start = self.inward.len();
        self.inward
            .resize(start + state.plaintext_bytes_to_read(), 0);
        self.tls
            .reader()
            .read_exact(&mut self.inward[start..])
            .map_err(LinkFailure::local)?;
        self.inward_ended |= state.peer_has_closed();
        Ok(())
    }

    fn write_inward(&mut self) {
        while !self.inward.is_empty() {
            if self.local_closed {
                self.inward.clear();
                break;
            }
            match (&self.local).write(&self.inward) {
                Ok(len) => {
                    drop(self.inward.drain(..len));
                    if let Some(at) = &mut self.local_closed_at {
                        *at = Instant::now();
                    }
                }
                Err(error) if would_block(&error) => return,
                // Received data is dropped until the peer ends: it must not be cut off while it
                // sends its last output.
                Err(_) => self.local_closed = true,
            }
        }
        if self.inward_ended && !self.inward_shut {
            let _ = self.local.shutdown(Shutdown::Write);
            self.inward_shut = true;
        }
    }

    fn read_outward(&mut self, piece: &mut [u8]) -> Result<(), LinkFailure> {
        if !self.may_read_local() {
            return Ok(());
        }
        match (&self.local).read(piece) {
            Ok(0) => self.outward_ended = true,
            // Its other end was closed with unread bytes.
            Err(error) if error.kind() == ErrorKind::ConnectionReset => self.outward_ended = true,
            Ok(len) => {
                let written = self.tls.writer().write_all(&piece[..len]);
                written.map_err(LinkFailure::local)?;
            }
            Err(error) if would_block(&error) => {}
            Err(error) => return Err(LinkFailure::local(error)),
        }
        if self.outward_ended {
            self.tls.send_close_notify();
        }
        Ok(())
    }

    fn send(&mut self) -> Result<(), LinkFailure> {
        while self.tls.wants_write() {
            match self.tls.write_tls(&mut &*self.tcp) {
                Ok(_) => {}
                Err(error) if would_block(&error) => return Ok(()),
                Err(error) => return Err(LinkFailure::tcp(error)),
            }
        }
        if self.outward_ended && !self.outward_shut {
            let _ = self.tcp.shutdown(Shutdown::Write);
            self.outward_shut = true;
        }
        Ok(())
    }
}

/// Nothing can be done now, but may be later.
pub(super) fn would_block(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}
