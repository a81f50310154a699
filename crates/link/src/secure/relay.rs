//! The pump: a thread that carries bytes between a TLS connection and one end of a
//! pair of local sockets, so that everybody else sees a plain stream.
//!
//! Nothing is read that cannot be passed on, so whoever sends too fast is held up as
//! on any socket. The end of each direction is passed on by itself.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::sockopt;
use rustls::{AlertDescription, Connection, Error as TlsError};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Bytes that are read from the local end at a time: one TLS record.
const PIECE: usize = 16 << 10;
/// There may be a thousand pumps.
const STACK_BYTES: usize = 256 << 10;
/// How long what was written last may take to go out when nobody holds the local end
/// any more.
const LINGER: Duration = Duration::from_secs(5);
/// A link on which nothing is said is asked for a sign of life after so long,
const KEEPALIVE_IDLE: Duration = Duration::from_secs(10);
/// so often,
const KEEPALIVE_GAP: Duration = Duration::from_secs(5);
/// and given up after so many questions.
const KEEPALIVE_COUNT: u32 = 4;

/// What remains in the hands of whoever made a connection: how it ended, and a way to
/// cut it.
#[derive(Clone)]
pub struct LinkControl {
    peer: SocketAddr,
    tcp: Arc<TcpStream>,
    end: Arc<(Mutex<Option<LinkEnd>>, Condvar)>,
    #[cfg(test)]
    turn_count: Arc<std::sync::atomic::AtomicU64>,
}

/// As it should, or not.
type LinkEnd = Result<(), LinkFailure>;

impl LinkControl {
    fn new(tcp: Arc<TcpStream>, peer: SocketAddr) -> Self {
        Self {
            peer,
            tcp,
            end: Arc::default(),
            #[cfg(test)]
            turn_count: Arc::default(),
        }
    }

    /// How often the pump has woken.
    #[cfg(test)]
    pub(super) fn turn_count(&self) -> u64 {
        self.turn_count.load(std::sync::atomic::Ordering::Relaxed)
    }

    /// The other side's address.
    pub fn peer(&self) -> SocketAddr {
        self.peer
    }

    /// Ends the connection at once, in both directions.
    pub fn cut(&self) {
        let _ = self.tcp.shutdown(Shutdown::Both);
    }

    /// Whether it has ended.
    pub fn has_ended(&self) -> bool {
        self.lock().is_some()
    }

    /// Waits until it has ended, at most so long; says whether it has.
    pub fn wait_ended(&self, limit: Duration) -> bool {
        let guard = self.lock();
        let (ended, _) = self
            .end
            .1
            .wait_timeout_while(guard, limit, |end| end.is_none())
            .unwrap_or_else(PoisonError::into_inner);
        ended.is_some()
    }

    /// How it ended, where it did not end as it should.
    pub fn failure_text(&self) -> Option<String> {
        let end = self.lock().clone()?;
        end.err().map(|broken| broken.to_string())
    }

    /// Whether the other side did not take our key: in TLS 1.3 a client hears of that
    /// when it believes the handshake to be over.
    pub(super) fn was_refused(&self) -> bool {
        let refused = TlsError::AlertReceived(AlertDescription::AccessDenied);
        matches!(&*self.lock(), Some(Err(LinkFailure::Tls(error))) if *error == refused)
    }

    /// For tests: whether it sleeps when there is nothing to do.
    fn count_turn(&self) {
        #[cfg(test)]
        self.turn_count
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

/// Starts the pump of a connection whose handshake is over.
pub(super) fn start(
    tls: Connection,
    tcp: TcpStream,
    peer: SocketAddr,
) -> io::Result<(UnixStream, LinkControl)> {
    let (ours, local) = UnixStream::pair()?;
    local.set_nonblocking(true)?;
    tcp.set_nonblocking(true)?;
    tcp.set_nodelay(true)?;
    keep_alive(&tcp)?;
    let tcp = Arc::new(tcp);
    let hold = LinkControl::new(tcp.clone(), peer);
    let pump = TlsRelay {
        tls,
        tcp,
        local,
        inward: Vec::new(),
        inward_ended: false,
        inward_shut: false,
        deaf: false,
        outward_ended: false,
        outward_shut: false,
        left_at: None,
        hold: hold.clone(),
    };
    std::thread::Builder::new()
        .name("tls-pump".into())
        .stack_size(STACK_BYTES)
        .spawn(move || {
            let told = pump.hold.clone();
            told.set_end(pump.run());
        })?;
    Ok((ours, hold))
}

fn keep_alive(tcp: &TcpStream) -> io::Result<()> {
    sockopt::set_socket_keepalive(tcp, true)?;
    sockopt::set_tcp_keepidle(tcp, KEEPALIVE_IDLE)?;
    sockopt::set_tcp_keepintvl(tcp, KEEPALIVE_GAP)?;
    sockopt::set_tcp_keepcnt(tcp, KEEPALIVE_COUNT)?;
    Ok(())
}

/// Why a connection broke.
#[derive(Clone, Debug, thiserror::Error)]
enum LinkFailure {
    #[error("the connection failed: {0}")]
    Tcp(String),
    #[error("the connection was cut off: the other side or the way to it went away")]
    CutOff,
    #[error("TLS failed: {0}")]
    Tls(#[from] TlsError),
    #[error("the pump of the connection failed: {0}")]
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

/// Inward is from the network to the local end, outward the other way.
struct TlsRelay {
    tls: Connection,
    tcp: Arc<TcpStream>,
    local: UnixStream,
    /// Came from the network, not yet taken by the local end.
    inward: Vec<u8>,
    /// The peer said that it sends no more.
    inward_ended: bool,
    /// The local end was told.
    inward_shut: bool,
    /// The local end takes nothing any more.
    deaf: bool,
    /// The local end said so.
    outward_ended: bool,
    /// The peer was told.
    outward_shut: bool,
    /// Since when nobody holds the local end.
    left_at: Option<Instant>,
    hold: LinkControl,
}

impl TlsRelay {
    fn run(mut self) -> Result<(), LinkFailure> {
        let result = self.carry();
        let _ = self.local.shutdown(Shutdown::Both);
        if result.is_err() {
            // An alert may be on its way out; there is no waiting for it.
            let _ = self.tls.write_tls(&mut &*self.tcp);
        }
        let _ = self.tcp.shutdown(Shutdown::Both);
        result
    }

    fn carry(&mut self) -> Result<(), LinkFailure> {
        let mut piece = vec![0; PIECE];
        // The last bytes of the handshake may have brought the first ones of the talk.
        self.unpack()?;
        loop {
            self.hold.count_turn();
            self.give_inward();
            self.take_outward(&mut piece)?;
            self.send()?;
            if self.inward_shut && self.outward_shut {
                return Ok(());
            }
            if self.left_at.is_some_and(|at| at.elapsed() >= LINGER) {
                return Ok(());
            }
            // What an end that was left still holds is there at once.
            let more = self.left_at.is_some() && self.may_take();
            if !more && self.wait()? {
                self.receive()?;
            }
        }
    }

    /// Sleeps until something can be done. Says whether the network has something.
    fn wait(&mut self) -> Result<bool, LinkFailure> {
        let mut net = PollFlags::empty();
        let may_receive = !self.inward_ended && self.inward.is_empty() && self.tls.wants_read();
        net.set(PollFlags::IN, may_receive);
        net.set(PollFlags::OUT, self.tls.wants_write());
        let mut near = PollFlags::empty();
        near.set(PollFlags::IN, self.may_take());
        near.set(PollFlags::OUT, !self.inward.is_empty());
        // An end that is not asked about is told all the same: nobody would sleep.
        let mut asked = Vec::with_capacity(2);
        if self.left_at.is_none() {
            asked.push(PollFd::new(&self.local, near));
        }
        if !net.is_empty() {
            asked.push(PollFd::new(&*self.tcp, net));
        }
        let limit = self.left_at.map(|at| LINGER.saturating_sub(at.elapsed()));
        let limit = limit.and_then(|limit| Timespec::try_from(limit).ok());
        match poll(&mut asked, limit.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(LinkFailure::local(error.into())),
        }
        let told: Vec<_> = asked.iter().map(PollFd::revents).collect();
        let (near_told, net_told) = match (self.left_at.is_none(), told.as_slice()) {
            (true, [near, net @ ..]) => (*near, net.first().copied()),
            (_, net) => (PollFlags::empty(), net.first().copied()),
        };
        if near_told.intersects(PollFlags::HUP | PollFlags::ERR) {
            self.left_at.get_or_insert_with(Instant::now);
        }
        let some = PollFlags::IN | PollFlags::ERR | PollFlags::HUP;
        Ok(may_receive && net_told.is_some_and(|told| told.intersects(some)))
    }

    /// What the local end says is taken only when the words before are on their way.
    fn may_take(&self) -> bool {
        !self.outward_ended && !self.tls.wants_write()
    }

    fn receive(&mut self) -> Result<(), LinkFailure> {
        match self.tls.read_tls(&mut &*self.tcp) {
            // Only a side that was killed goes without a word.
            Ok(0) => Err(LinkFailure::CutOff),
            Ok(_) => self.unpack(),
            Err(error) if is_later(&error) => Ok(()),
            Err(error) => Err(LinkFailure::tcp(error)),
        }
    }

    fn unpack(&mut self) -> Result<(), LinkFailure> {
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

    fn give_inward(&mut self) {
        while !self.inward.is_empty() {
            if self.deaf {
                self.inward.clear();
                break;
            }
            match (&self.local).write(&self.inward) {
                Ok(len) => drop(self.inward.drain(..len)),
                Err(error) if is_later(&error) => return,
                // What comes is thrown away till the peer ends: it may not be cut off
                // in the middle of its last words to us.
                Err(_) => self.deaf = true,
            }
        }
        if self.inward_ended && !self.inward_shut {
            let _ = self.local.shutdown(Shutdown::Write);
            self.inward_shut = true;
        }
    }

    fn take_outward(&mut self, piece: &mut [u8]) -> Result<(), LinkFailure> {
        if !self.may_take() {
            return Ok(());
        }
        match (&self.local).read(piece) {
            Ok(0) => self.outward_ended = true,
            // Its other end was closed with bytes for it unread.
            Err(error) if error.kind() == ErrorKind::ConnectionReset => self.outward_ended = true,
            Ok(len) => {
                let said = self.tls.writer().write_all(&piece[..len]);
                said.map_err(LinkFailure::local)?;
            }
            Err(error) if is_later(&error) => {}
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
                Err(error) if is_later(&error) => return Ok(()),
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

/// Nothing can be done now, but in a moment.
pub(super) fn is_later(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}
