//! A small time service (`clock_check` is its client).
//!
//! A virtual machine's clock may run fast or slow while its host takes the
//! processor away. Whoever wants to know runs `filermark clock` on another machine
//! and names it with `-H`, `-S` (PIT_SERVER, PIT_PORT); the length of every RUN is
//! then held against that machine's clock (manual N, section 10).
//!
//! The protocol is our own, a line each way over TCP:
//!
//! ```text
//! time
//! 918273645546372 1735689600.123456789
//! ```
//!
//! which is nanoseconds of the service's monotonic clock, counted from its start,
//! and its wall-clock time in seconds since 1970. Anything else is answered by a
//! line that begins with `error` and ends the connection.

use filermark_engine::driver::StopFlag;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Clients that are served at once.
pub const CLIENTS_MAX: usize = 256;
/// Longest line of either side, in bytes.
const LINE_LEN_MAX: usize = 128;
/// How long a client may take for a line of its own.
const IDLE_MAX: Duration = Duration::from_secs(10);
/// How long a client that is turned away is still listened to.
const LAST_WORDS: Duration = Duration::from_millis(500);
/// How often the listening thread looks whether it is to end.
const LOOK: Duration = Duration::from_millis(20);

/// A time service that runs.
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
    /// Listens on these addresses; port 0 chooses one.
    ///
    /// # Errors
    /// The first address that cannot be had, with its name.
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

    /// Where it listens.
    pub fn addrs(&self) -> &[SocketAddr] {
        &self.addrs
    }

    /// Questions that were answered, and clients that were turned away (too many,
    /// or nonsense).
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
            // Nobody is there, or there are no descriptors left for the moment.
            Err(_) => std::thread::sleep(LOOK),
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

/// Answers one client till it goes. Says whether it behaved.
fn serve(mut stream: &TcpStream, origin: Instant, stop: &StopFlag, counts: &Counts) -> bool {
    while !stop.is_raised() {
        match read_line(&mut stream, Instant::now() + IDLE_MAX) {
            Ok(Some(line)) if line == "time" => {}
            Ok(None) => return true,
            Ok(Some(_)) => return turn_away(stream, "say 'time'"),
            Err(e) if e.kind() == io::ErrorKind::InvalidData => {
                return turn_away(stream, "say 'time'");
            }
            Err(e) => return turn_away(stream, &format!("no whole line: {e}")),
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

/// Says why no more is answered. What the client still sends is read and dropped for
/// a moment: a connection that is closed over unread bytes loses our words too.
fn turn_away(mut stream: &TcpStream, why: &str) -> bool {
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

/// A line without its end; `None` when the other side has gone. Bytes that come
/// one by one do not make the time longer.
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
