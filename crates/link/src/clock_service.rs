//! A small time service (`clock_check` is its client).
//!
//! A virtual machine's clock may run fast or slow while its host deschedules it. To detect
//! that, run `filermark clock` on another machine and give it by `-H`, `-S` (PIT_SERVER,
//! PIT_PORT); the length of every RUN is then compared with that machine's clock (manual N,
//! section 10).
//!
//! The protocol is Filermark's own, one line in each direction over TCP:
//!
//! ```text
//! time
//! 918273645546372 1735689600.123456789
//! ```
//!
//! The reply has nanoseconds of the service's monotonic clock, counted from its start, and its
//! wall-clock time in seconds since 1970. Any other request is answered by a line that begins
//! with `error`, and the connection is closed.

use filermark_engine::driver::StopFlag;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Clients that are served at the same time.
pub const CLIENTS_MAX: usize = 256;
/// Longest line of either side, in bytes.
const LINE_LEN_MAX: usize = 128;
/// How long a client may take to send a line.
const IDLE_MAX: Duration = Duration::from_secs(10);
/// How long the connection of a rejected client is still read.
const LAST_WORDS: Duration = Duration::from_millis(500);
/// Interval at which the listening thread checks whether it should end.
const POLL: Duration = Duration::from_millis(20);

/// A running time service.
pub struct ClockService {
    addrs: Vec<SocketAddr>,
    stop: StopFlag,
    counts: Arc<Counts>,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Default)]
struct Counts {
    open: AtomicUsize,
    answered: AtomicU64,
    refused: AtomicU64,
}

impl ClockService {
    /// Listens on these addresses; port 0 selects a free one.
    ///
    /// # Errors
    /// The first address that cannot be bound, by name.
    pub fn start(listen: &[SocketAddr]) -> io::Result<Self> {
        let mut service = Self {
            addrs: Vec::new(),
            stop: StopFlag::new(),
            counts: Arc::default(),
            threads: Vec::new(),
        };
        let origin = Instant::now();
        for address in listen {
            let named = |e: io::Error| io::Error::new(e.kind(), format!("{address}: {e}"));
            let listener = TcpListener::bind(address).map_err(named)?;
            listener.set_nonblocking(true).map_err(named)?;
            service.addrs.push(listener.local_addr().map_err(named)?);
            let (stop, counts) = (service.stop.clone(), service.counts.clone());
            let thread = std::thread::Builder::new()
                .name("clock-listen".into())
                .spawn(move || accept(&listener, origin, &stop, &counts))?;
            service.threads.push(thread);
        }
        Ok(service)
    }

    /// The addresses that it listens on.
    pub fn addrs(&self) -> &[SocketAddr] {
        &self.addrs
    }

    /// Requests that were answered, and clients that were rejected (too many, or invalid
    /// requests).
    pub fn counts(&self) -> (u64, u64) {
        let count = |n: &AtomicU64| n.load(Ordering::Relaxed);
        (count(&self.counts.answered), count(&self.counts.refused))
    }
}

impl Drop for ClockService {
    fn drop(&mut self) {
        self.stop.raise();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn accept(listener: &TcpListener, origin: Instant, stop: &StopFlag, counts: &Arc<Counts>) {
    while !stop.is_raised() {
        match listener.accept() {
            Ok((stream, _)) => admit(stream, origin, stop, counts),
            // There is no connection, or no free descriptor at the moment.
            Err(_) => std::thread::sleep(POLL),
        }
    }
}

fn admit(mut stream: TcpStream, origin: Instant, stop: &StopFlag, counts: &Arc<Counts>) {
    let ready = stream
        .set_nonblocking(false)
        .and_then(|()| stream.set_nodelay(true))
        .and_then(|()| stream.set_read_timeout(Some(IDLE_MAX)))
        .and_then(|()| stream.set_write_timeout(Some(IDLE_MAX)));
    if ready.is_err() {
        return;
    }
    if counts.open.fetch_add(1, Ordering::Relaxed) >= CLIENTS_MAX {
        counts.open.fetch_sub(1, Ordering::Relaxed);
        counts.refused.fetch_add(1, Ordering::Relaxed);
        let _ = stream.write_all(b"error too many clients\n");
        return;
    }
    let (stop, mine) = (stop.clone(), counts.clone());
    let thread = std::thread::Builder::new()
        .name("clock-client".into())
        .spawn(move || {
            if !serve(&stream, origin, &stop, &mine) {
                mine.refused.fetch_add(1, Ordering::Relaxed);
            }
            mine.open.fetch_sub(1, Ordering::Relaxed);
        });
    if thread.is_err() {
        counts.open.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Answers one client until it disconnects. Returns whether its requests were valid.
fn serve(mut stream: &TcpStream, origin: Instant, stop: &StopFlag, counts: &Counts) -> bool {
    while !stop.is_raised() {
        match read_line(&mut stream, Instant::now() + IDLE_MAX) {
            Ok(Some(line)) if line == "time" => {}
            Ok(None) => return true,
            Ok(Some(_)) => return reject(stream, "the request is 'time'"),
            Err(e) if e.kind() == io::ErrorKind::InvalidData => {
                return reject(stream, "the request is 'time'");
            }
            Err(e) => return reject(stream, &format!("incomplete line: {e}")),
        }
        let wall = SystemTime::now().duration_since(UNIX_EPOCH);
        let wall = wall.unwrap_or_default();
        let answer = format!(
            "{} {}.{:09}\n",
            origin.elapsed().as_nanos(),
            wall.as_secs(),
            wall.subsec_nanos()
        );
        if stream.write_all(answer.as_bytes()).is_err() {
            return false;
        }
        counts.answered.fetch_add(1, Ordering::Relaxed);
    }
    true
}

/// Sends the reason and closes. Further input is read and dropped for a short time: closing a
/// connection with unread bytes would lose the message too.
fn reject(mut stream: &TcpStream, why: &str) -> bool {
    let _ = stream.write_all(format!("error {why}\n").as_bytes());
    let _ = stream.shutdown(Shutdown::Write);
    let _ = stream.set_read_timeout(Some(LAST_WORDS));
    let mut buffer = [0; 1024];
    for _ in 0..16 {
        if !matches!(stream.read(&mut buffer), Ok(1..)) {
            break;
        }
    }
    false
}

/// A line without its end; `None` if the peer has disconnected. The deadline holds for the
/// whole line.
pub fn read_line(stream: &mut &TcpStream, deadline: Instant) -> io::Result<Option<String>> {
    let mut line = Vec::new();
    let mut byte = [0];
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut byte) {
            Ok(0) if line.is_empty() => return Ok(None),
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(_) if byte[0] == b'\n' => break,
            Ok(_) => line.push(byte[0]),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
        if line.len() > LINE_LEN_MAX {
            return Err(io::ErrorKind::InvalidData.into());
        }
    }
    if line.last() == Some(&b'\r') {
        line.pop();
    }
    let line = String::from_utf8(line).map_err(|_| io::ErrorKind::InvalidData)?;
    Ok(Some(line))
}
