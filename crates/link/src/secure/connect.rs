//! The agent's side of a connection: an agent that was started by hand or by Slurm connects to
//! its prime or waits for its connection. The later messages are not known here.

use super::acceptor::{AcceptLimits, Acceptor, RejectionLog};
use super::dial::{HostPort, dial};
use super::hello::{
    HelloLine, HostName, INVITATION_LEN_MAX, Invitation, read_line, refuse, write_line,
};
use super::{
    Identity, LinkControl, SecureError, SecureStream, WriteHalf, secure_client, secure_server,
};
use crate::identity::own_host;
use crate::local::LocalStream;

use filermark_engine::driver::StopFlag;
use filermark_model::plan::IpChoice;
use std::io::{self, Read};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Limit for handshake and introduction.
pub const INTRODUCTION_MAX: Duration = Duration::from_secs(10);
/// How long connecting to a prime is retried by default.
pub const DIAL_MAX: Duration = Duration::from_secs(60);
/// How long one address of a prime is tried.
const ATTEMPT_MAX: Duration = Duration::from_secs(5);
/// How long a prime may take to accept an agent: it may have to look up names.
const WELCOME_MAX: Duration = Duration::from_secs(20);
/// How long an invitation is awaited.
pub const INVITATION_MAX: Duration = Duration::from_secs(60);
/// Interval of the checks for a stop request.
const POLL: Duration = Duration::from_millis(100);
/// The message after a stop request.
const STOPPED: &str = "stopped on request";
/// Pause before the next attempt, at first and at most.
const PAUSES: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(2)];
/// Set by Slurm for its tasks: the name of the node.
const SLURM_NODE: &str = "SLURMD_NODENAME";

/// A connection to a prime that accepted this agent. As long as it exists a listening agent
/// accepts no other prime.
pub struct Session {
    /// The orders of the prime.
    pub from_prime: LocalStream,
    /// For reports.
    pub to_prime: WriteHalf,
    /// The state of the connection.
    pub hold: LinkControl,
    _serving: Option<ListenerGuard>,
}

/// How long the last output may take to be sent after the local end was closed.
pub const FINAL_OUTPUT_MAX: Duration = Duration::from_secs(6);

impl Session {
    fn new(secured: SecureStream, serving: Option<ListenerGuard>) -> io::Result<Self> {
        Ok(Self {
            from_prime: secured.stream.try_clone()?,
            to_prime: WriteHalf::of(secured.stream),
            hold: secured.hold,
            _serving: serving,
        })
    }
}

/// The names of this agent: `name` only, if given; else Slurm's name of the node, if there is
/// one, and the host's own.
///
/// # Errors
/// There is no name, or Slurm's name is required and missing.
pub fn own_names(name: Option<HostName>, from_slurm: bool) -> Result<Vec<HostName>, String> {
    if let Some(name) = name {
        return Ok(vec![name]);
    }
    let node = std::env::var(SLURM_NODE).ok();
    let node = node.and_then(|node| HostName::parse(&node).ok());
    if from_slurm {
        // Several nodes of Slurm may be on one host, whose name would be ambiguous.
        return node.map(|node| vec![node]).ok_or_else(|| {
            format!("the name of the Slurm node is not set ({SLURM_NODE}); use --name NAME")
        });
    }
    let host = HostName::parse(&own_host()).ok();
    let names: Vec<_> = node.into_iter().chain(host).collect();
    if names.is_empty() {
        return Err("this host has no valid name; use --name NAME".into());
    }
    Ok(names)
}

/// Reads an invitation, one line, as `srun` passes it to its tasks; waits up to `limit`,
/// usually [`INVITATION_MAX`], or until a stop request.
///
/// # Errors
/// There is no invitation.
pub fn read_invitation(
    input: impl Read + Send + 'static,
    limit: Duration,
    stop: &StopFlag,
) -> Result<Invitation, String> {
    let deadline = Instant::now() + limit;
    let (sender, read) = sync_channel(1);
    // A blocking read has no time limit; without input the thread remains.
    std::thread::Builder::new()
        .name("invitation".into())
        .spawn(move || sender.send(read_invitation_line(input)))
        .map_err(|e| format!("no thread to read the invitation: {e}"))?;
    loop {
        if stop.is_raised() {
            return Err(STOPPED.into());
        }
        let left = deadline.saturating_duration_since(Instant::now());
        match read.recv_timeout(left.min(POLL)) {
            Ok(read) => return read,
            Err(RecvTimeoutError::Timeout) if !left.is_zero() => {}
            Err(_) => {
                return Err(format!(
                    "no invitation on standard input within {limit:.0?}: `--connect -` is for srun; by hand use --connect HOST"
                ));
            }
        }
    }
}

fn read_invitation_line(mut input: impl Read) -> Result<Invitation, String> {
    let mut line = Vec::new();
    let mut byte = [0];
    // Bytes after the line are not consumed.
    while line.len() < INVITATION_LEN_MAX {
        match input.read(&mut byte) {
            Ok(0) => break,
            Ok(_) if byte[0] == b'\n' => {
                return Invitation::parse(&line).map_err(|e| format!("invalid invitation: {e}"));
            }
            Ok(_) => line.push(byte[0]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(format!("the invitation cannot be read: {error}")),
        }
    }
    Err(
        "invalid invitation: the input ended before the end of the line, or the line is too long"
            .into(),
    )
}

/// Parameters of a connection to a prime.
#[derive(Clone, Debug)]
pub struct DialOptions<'a> {
    /// Its possible addresses, to be tried in turn.
    pub to: &'a [HostPort],
    /// Address family.
    pub ip: IpChoice,
    /// The identity of the agent.
    pub identity: &'a Identity,
    /// The names of this agent.
    pub names: &'a [HostName],
    /// How long attempts are repeated; usually [`DIAL_MAX`].
    pub limit: Duration,
    /// Ends the attempts.
    pub stop: &'a StopFlag,
}

/// Connects to the prime; repeats the attempt until the limit or a stop request.
///
/// # Errors
/// A message with the error of every address.
pub fn connect(call: &DialOptions<'_>) -> Result<Session, String> {
    let deadline = Instant::now() + call.limit;
    let mut pause = PAUSES[0];
    loop {
        let mut failures = Vec::new();
        for to in call.to {
            if call.stop.is_raised() {
                return Err(STOPPED.into());
            }
            let left = deadline.saturating_duration_since(Instant::now());
            match attempt(call, to, left.min(ATTEMPT_MAX)) {
                Ok(session) => return Ok(session),
                // The prime itself rejected the agent: other addresses need not be tried.
                Err(SecureError::Rejected(why)) => {
                    return Err(format!("the prime at {to} rejected this agent: {why}"));
                }
                Err(error) => failures.push((to, error)),
            }
        }
        let cannot_succeed = !failures.iter().any(|(_, error)| error.is_temporary());
        if cannot_succeed || Instant::now() + pause >= deadline {
            return Err(failure_text(&failures, call.limit, cannot_succeed));
        }
        tracing::debug!(
            target: "filermark_clients",
            "no connection to the prime yet: {}", failure_text(&failures, call.limit, false)
        );
        pause_for(pause, call.stop);
        pause = (pause * 2).min(PAUSES[1]);
    }
}

/// Sleeps; a stop request ends it.
fn pause_for(pause: Duration, stop: &StopFlag) {
    let until = Instant::now() + pause;
    while !stop.is_raised() {
        match until.saturating_duration_since(Instant::now()) {
            Duration::ZERO => return,
            left => std::thread::sleep(left.min(POLL)),
        }
    }
}

fn attempt(call: &DialOptions<'_>, to: &HostPort, limit: Duration) -> Result<Session, SecureError> {
    let tcp = dial(to, call.ip, limit)?;
    let secured = secure_client(tcp, call.identity, INTRODUCTION_MAX)?;
    write_line(&secured, &HelloLine::Agent(call.names.to_vec()))?;
    expect_welcome(&secured, WELCOME_MAX)?;
    Ok(Session::new(secured, None)?)
}

fn expect_welcome(secured: &SecureStream, limit: Duration) -> Result<(), SecureError> {
    match read_line(secured, Instant::now() + limit)? {
        HelloLine::Welcome => Ok(()),
        HelloLine::Refused(why) => Err(SecureError::Rejected(why)),
        HelloLine::Agent(_) => Err(SecureError::Malformed("it is from another agent".into())),
    }
}

fn failure_text(
    failures: &[(&HostPort, SecureError)],
    limit: Duration,
    cannot_succeed: bool,
) -> String {
    let each: Vec<_> = failures
        .iter()
        .map(|(to, error)| format!("{to}: {error}"))
        .collect();
    let each = each.join("; ");
    let wrong_key = |(_, error): &(_, SecureError)| {
        matches!(error, SecureError::WrongKey | SecureError::KeyRefused)
    };
    if failures.iter().any(wrong_key) {
        return format!(
            "cannot connect to the prime ({each}): the key files of prime and agent must be from the same 'filermark agent --make-keys'; copy this client's file here again"
        );
    }
    if cannot_succeed {
        return format!("cannot connect to the prime ({each}); check its address and port");
    }
    format!(
        "no prime answered within {limit:.0?} ({each}); check that the run is in progress and that no firewall blocks connections to it"
    )
}

/// An agent that waits for connections of primes, one at a time.
pub struct Listener {
    acceptor: Acceptor,
    sessions: Mutex<Receiver<Session>>,
}

impl Listener {
    /// Listens; port 0 selects a free one.
    ///
    /// # Errors
    /// The address cannot be bound.
    pub fn start(
        address: SocketAddr,
        identity: &Identity,
        names: Vec<HostName>,
    ) -> Result<Self, String> {
        let failed = |error: io::Error| match error.kind() {
            io::ErrorKind::AddrInUse => format!(
                "cannot listen on {address}: another program or agent listens there; use another port"
            ),
            _ => format!("cannot listen on {address}: {error}"),
        };
        let listener = TcpListener::bind(address).map_err(failed)?;
        let (sender, receiver) = sync_channel(1);
        let desk = ListenerState {
            identity: identity.clone(),
            names,
            serving: Arc::default(),
            failures: RejectionLog::default(),
            sessions: sender,
        };
        let receive = move |tcp, peer| desk.receive(tcp, peer);
        let acceptor =
            Acceptor::open(listener, AcceptLimits::AGENT, Arc::new(receive)).map_err(failed)?;
        Ok(Self {
            acceptor,
            sessions: Mutex::new(receiver),
        })
    }

    /// The address that it listens on.
    pub fn address(&self) -> SocketAddr {
        self.acceptor.address()
    }

    /// The next prime, if one connects within `limit`.
    pub fn next(&self, limit: Duration) -> Option<Session> {
        let sessions = self.sessions.lock();
        let sessions = sessions.unwrap_or_else(PoisonError::into_inner);
        sessions.recv_timeout(limit).ok()
    }

    /// Serves primes in sequence while `goes_on` returns true; it is called several times per
    /// second, but not while a prime is served.
    pub fn serve(&self, goes_on: impl Fn() -> bool, mut serve: impl FnMut(LocalStream, WriteHalf)) {
        while goes_on() {
            let Some(session) = self.next(Duration::from_millis(200)) else {
                continue;
            };
            let (peer, hold) = (session.hold.peer(), session.hold.clone());
            tracing::info!(target: "filermark_clients", "serving the prime at {peer}");
            let Session {
                from_prime,
                to_prime,
                _serving: serving,
                ..
            } = session;
            serve(from_prime, to_prime);
            // The caller may end the process now, if it serves one prime only.
            hold.wait_ended(FINAL_OUTPUT_MAX);
            drop(serving);
            let reason = hold.failure_text().unwrap_or_else(|| "done".into());
            tracing::info!(target: "filermark_clients", "the prime at {peer} has disconnected: {reason}");
        }
    }
}

/// The state for connections to a listening agent.
struct ListenerState {
    identity: Identity,
    names: Vec<HostName>,
    serving: Arc<AtomicBool>,
    failures: RejectionLog,
    sessions: SyncSender<Session>,
}

/// Marks that a prime is served; reset when dropped.
struct ListenerGuard(Arc<AtomicBool>);

impl Drop for ListenerGuard {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

impl ListenerState {
    fn receive(&self, tcp: TcpStream, peer: SocketAddr) {
        let Err(error) = self.exchange_hello(tcp) else {
            return;
        };
        // A rejected prime retries for a while.
        if self.serving.load(Ordering::Relaxed) {
            tracing::debug!(target: "filermark_clients", "connection from {peer} rejected: {error}");
        } else {
            self.failures.log(peer, &error);
        }
    }

    fn exchange_hello(&self, tcp: TcpStream) -> Result<(), SecureError> {
        let secured = secure_server(tcp, &self.identity, INTRODUCTION_MAX)?;
        let Some(serving) = self.try_acquire() else {
            let why = "this agent serves another prime; wait for its end, or stop that run";
            refuse(&secured, why.into());
            return Err(SecureError::Io("refused: another prime is served".into()));
        };
        write_line(&secured, &HelloLine::Agent(self.names.clone()))?;
        expect_welcome(&secured, INTRODUCTION_MAX)?;
        let session = Session::new(secured, Some(serving))?;
        // The queue has space: no other prime is served. Fails when the receiver is gone.
        let _ = self.sessions.try_send(session);
        Ok(())
    }

    fn try_acquire(&self) -> Option<ListenerGuard> {
        let free = self
            .serving
            .compare_exchange(false, true, Ordering::AcqRel, Ordering::Acquire);
        free.ok().map(|_| ListenerGuard(self.serving.clone()))
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::local::local_pair;
    use crate::secure::tests::wire::Secrets;

    const SOON: Duration = Duration::from_secs(5);

    #[test]
    fn a_stop_request_ends_the_attempts_to_connect() {
        let closed_listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = closed_listener.local_addr().unwrap().to_string();
        drop(closed_listener);
        let stop = StopFlag::new();
        let raised = stop.clone();
        let wish = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(300));
            raised.raise();
        });
        let since = Instant::now();
        let result = connect(&DialOptions {
            to: &[HostPort::parse(&at, 1).unwrap()],
            ip: IpChoice::Any,
            identity: &Secrets::random().identities().1,
            names: &[HostName::parse("h").unwrap()],
            limit: Duration::from_secs(3600),
            stop: &stop,
        });
        assert_eq!(result.err().as_deref(), Some(STOPPED));
        assert!(since.elapsed() < SOON, "{:?}", since.elapsed());
        wish.join().unwrap();
    }

    #[test]
    fn the_wait_for_an_invitation_is_limited() {
        let since = Instant::now();
        let (silent, held) = local_pair().unwrap();
        let result = read_invitation(silent, Duration::from_millis(200), &StopFlag::new());
        assert!(result.err().unwrap().contains("within"));
        let stop = StopFlag::new();
        stop.raise();
        let (silent, also_held) = local_pair().unwrap();
        let result = read_invitation(silent, INVITATION_MAX, &stop);
        assert_eq!(result.err().as_deref(), Some(STOPPED));
        assert!(since.elapsed() < SOON);
        drop((held, also_held));
    }
}
