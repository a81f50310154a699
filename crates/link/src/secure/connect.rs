//! The agent's side of it: how an agent started by hand or by Slurm comes to its prime,
//! by calling it or by waiting for its call. What is said then is not known here.

use super::acceptor::{AcceptLimits, Acceptor, RejectionLog};
use super::dial::{HostPort, dial};
use super::hello::{
    HelloLine, HostName, INVITATION_LEN_MAX, Invitation, read_line, refuse, write_line,
};
use super::{
    Identity, LinkControl, SecureError, SecureStream, WriteHalf, secure_client, secure_server,
};
use crate::identity::own_host;

use filermark_engine::driver::StopFlag;
use filermark_model::plan::IpChoice;
use std::io::{self, Read};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long handshake and introduction may take.
pub const INTRODUCTION_MAX: Duration = Duration::from_secs(10);
/// How long a prime is called in vain, unless said otherwise.
pub const PATIENCE: Duration = Duration::from_secs(60);
/// How long one address of a prime is tried.
const ATTEMPT_MAX: Duration = Duration::from_secs(5);
/// How long a prime may take to welcome an agent: it may have to look up names.
const WELCOME_MAX: Duration = Duration::from_secs(20);
/// How long an invitation is waited for.
pub const INVITATION_MAX: Duration = Duration::from_secs(60);
/// How often it is looked whether somebody wishes to stop.
const LOOK: Duration = Duration::from_millis(100);
/// What is told after such a wish.
const STOPPED: &str = "stopped on request";
/// Pause before the prime is called again, at first and at most.
const PAUSES: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(2)];
/// Set by Slurm for its tasks: the name of the node as Slurm knows it.
const SLURM_NODE: &str = "SLURMD_NODENAME";

/// A prime that welcomed us. As long as it lives a listening agent takes no other.
pub struct Session {
    /// What the prime says.
    pub from_prime: UnixStream,
    /// What it is told.
    pub to_prime: WriteHalf,
    /// How the connection ends.
    pub hold: LinkControl,
    _engaged: Option<ListenerGuard>,
}

/// How long what was said last may take to leave, when its speaker has gone.
pub const FAREWELL: Duration = Duration::from_secs(6);

impl Session {
    fn new(secured: SecureStream, engaged: Option<ListenerGuard>) -> io::Result<Self> {
        Ok(Self {
            from_prime: secured.stream.try_clone()?,
            to_prime: WriteHalf::of(secured.stream),
            hold: secured.hold,
            _engaged: engaged,
        })
    }
}

/// The names that this agent goes by: `name` alone where one is given, else Slurm's
/// name of the node, where there is one, and the host's own.
///
/// # Errors
/// There is no name, or Slurm was asked for one and has none.
pub fn own_names(name: Option<HostName>, from_slurm: bool) -> Result<Vec<HostName>, String> {
    if let Some(name) = name {
        return Ok(vec![name]);
    }
    let node = std::env::var(SLURM_NODE).ok();
    let node = node.and_then(|node| HostName::parse(&node).ok());
    if from_slurm {
        // Several nodes of Slurm may be on one host: its name would mislead.
        return node.map(|node| vec![node]).ok_or_else(|| {
            format!("Slurm did not say which node this is ({SLURM_NODE}); use --name NAME")
        });
    }
    let host = HostName::parse(&own_host()).ok();
    let names: Vec<_> = node.into_iter().chain(host).collect();
    if names.is_empty() {
        return Err("this host has no name that could be told; use --name NAME".into());
    }
    Ok(names)
}

/// Reads an invitation, one line, as `srun` passes it on to its tasks; waits so long for
/// it, as a rule [`INVITATION_MAX`], and not after a wish to stop.
///
/// # Errors
/// There is none.
pub fn read_invitation(
    input: impl Read + Send + 'static,
    limit: Duration,
    stop: &StopFlag,
) -> Result<Invitation, String> {
    let deadline = Instant::now() + limit;
    let (sender, read) = sync_channel(1);
    // Reading has no limit of its own; where nothing comes the thread is left to it.
    std::thread::Builder::new()
        .name("invitation".into())
        .spawn(move || sender.send(read_invitation_line(input)))
        .map_err(|e| format!("no thread to read the invitation: {e}"))?;
    loop {
        if stop.is_raised() {
            return Err(STOPPED.into());
        }
        let left = deadline.saturating_duration_since(Instant::now());
        match read.recv_timeout(left.min(LOOK)) {
            Ok(read) => return read,
            Err(RecvTimeoutError::Timeout) if !left.is_zero() => {}
            Err(_) => {
                return Err(format!(
                    "no invitation came on standard input within {limit:.0?}: `--connect -` is for srun; by hand say --connect HOST"
                ));
            }
        }
    }
}

fn read_invitation_line(mut input: impl Read) -> Result<Invitation, String> {
    let mut line = Vec::new();
    let mut byte = [0];
    // What follows the line is not ours to take.
    while line.len() < INVITATION_LEN_MAX {
        match input.read(&mut byte) {
            Ok(0) => break,
            Ok(_) if byte[0] == b'\n' => {
                return Invitation::parse(&line).map_err(|e| format!("no invitation came: {e}"));
            }
            Ok(_) => line.push(byte[0]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(format!("no invitation came: {error}")),
        }
    }
    Err("no invitation came: the input ended, or went on, before a line did".into())
}

/// How a prime is called.
#[derive(Clone, Debug)]
pub struct DialOptions<'a> {
    /// Where it may be, to be tried in turn.
    pub to: &'a [HostPort],
    /// Address family.
    pub ip: IpChoice,
    /// Of the agent's side.
    pub identity: &'a Identity,
    /// The names that we go by.
    pub names: &'a [HostName],
    /// How long it is called before we give up; as a rule [`PATIENCE`].
    pub patience: Duration,
    /// Ends the calling, between two attempts.
    pub stop: &'a StopFlag,
}

/// Calls the prime until it answers, or patience is over, or the wish to stop comes.
///
/// # Errors
/// One sentence for every address: why it was in vain.
pub fn connect(call: &DialOptions<'_>) -> Result<Session, String> {
    let deadline = Instant::now() + call.patience;
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
                // The prime itself said it: there is nobody else to be asked.
                Err(SecureError::Rejected(why)) => {
                    return Err(format!("the prime at {to} turned this agent away: {why}"));
                }
                Err(error) => failures.push((to, error)),
            }
        }
        let hopeless = !failures.iter().any(|(_, error)| error.may_pass());
        if hopeless || Instant::now() + pause >= deadline {
            return Err(in_vain(&failures, call.patience, hopeless));
        }
        tracing::debug!(
            target: "filermark_cluster",
            "no prime yet: {}", in_vain(&failures, call.patience, false)
        );
        rest(pause, call.stop);
        pause = (pause * 2).min(PAUSES[1]);
    }
}

/// Sleeps; a wish to stop ends it.
fn rest(pause: Duration, stop: &StopFlag) {
    let until = Instant::now() + pause;
    while !stop.is_raised() {
        match until.saturating_duration_since(Instant::now()) {
            Duration::ZERO => return,
            left => std::thread::sleep(left.min(LOOK)),
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
        HelloLine::Agent(_) => Err(SecureError::Malformed("another agent's".into())),
    }
}

fn in_vain(failures: &[(&HostPort, SecureError)], patience: Duration, hopeless: bool) -> String {
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
            "cannot connect to the prime ({each}): the key files of prime and agent have to come of the same 'filermark agent --make-keys'; bring this client's file here again"
        );
    }
    if hopeless {
        return format!("cannot connect to the prime ({each}): is that its address and port?");
    }
    format!(
        "no prime answered within {patience:.0?} ({each}): is the run under way, and do firewalls let this host connect to it?"
    )
}

/// An agent that waits to be called by a prime, one at a time.
pub struct Listener {
    acceptor: Acceptor,
    sessions: Mutex<Receiver<Session>>,
}

impl Listener {
    /// Listens; port 0 chooses one.
    ///
    /// # Errors
    /// The address cannot be had.
    pub fn start(
        address: SocketAddr,
        identity: &Identity,
        names: Vec<HostName>,
    ) -> Result<Self, String> {
        let failed = |error: io::Error| match error.kind() {
            io::ErrorKind::AddrInUse => format!(
                "cannot listen on {address}: another program, or another agent, listens there; take another port"
            ),
            _ => format!("cannot listen on {address}: {error}"),
        };
        let listener = TcpListener::bind(address).map_err(failed)?;
        let (sender, receiver) = sync_channel(1);
        let desk = ListenerState {
            identity: identity.clone(),
            names,
            engaged: Arc::default(),
            failures: RejectionLog::default(),
            sessions: sender,
        };
        let receive = move |tcp, peer| desk.receive(tcp, peer);
        let door =
            Acceptor::open(listener, AcceptLimits::AGENT, Arc::new(receive)).map_err(failed)?;
        Ok(Self {
            acceptor: door,
            sessions: Mutex::new(receiver),
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.acceptor.address()
    }

    /// The next prime, where one comes within `limit`.
    pub fn next(&self, limit: Duration) -> Option<Session> {
        let sessions = self.sessions.lock();
        let sessions = sessions.unwrap_or_else(PoisonError::into_inner);
        sessions.recv_timeout(limit).ok()
    }

    /// Serves one prime after the other while `goes_on` says so; that is asked several
    /// times a second, but not while a prime is served.
    pub fn serve(&self, goes_on: impl Fn() -> bool, mut serve: impl FnMut(UnixStream, WriteHalf)) {
        while goes_on() {
            let Some(session) = self.next(Duration::from_millis(200)) else {
                continue;
            };
            let (peer, hold) = (session.hold.peer(), session.hold.clone());
            tracing::info!(target: "filermark_cluster", "serving the prime at {peer}");
            let Session {
                from_prime,
                to_prime,
                _engaged: engaged,
                ..
            } = session;
            serve(from_prime, to_prime);
            // Whoever serves one prime only may end the process now.
            hold.wait_ended(FAREWELL);
            drop(engaged);
            let words = hold.failure_text().unwrap_or_else(|| "done".into());
            tracing::info!(target: "filermark_cluster", "the prime at {peer} is gone: {words}");
        }
    }
}

/// What those who come in by the door of a listening agent meet.
struct ListenerState {
    identity: Identity,
    names: Vec<HostName>,
    engaged: Arc<AtomicBool>,
    failures: RejectionLog,
    sessions: SyncSender<Session>,
}

/// One prime has the agent; freed when dropped.
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
        // A prime that is turned away comes again and again for a while.
        if self.engaged.load(Ordering::Relaxed) {
            tracing::debug!(target: "filermark_cluster", "{peer} wanted in: {error}");
        } else {
            self.failures.log(peer, &error);
        }
    }

    fn exchange_hello(&self, tcp: TcpStream) -> Result<(), SecureError> {
        let secured = secure_server(tcp, &self.identity, INTRODUCTION_MAX)?;
        let Some(engaged) = self.try_acquire() else {
            let why = "this agent serves another prime; wait for its end, or stop that run";
            refuse(&secured, why.into());
            return Err(SecureError::Io("refused: another prime is served".into()));
        };
        write_line(&secured, &HelloLine::Agent(self.names.clone()))?;
        expect_welcome(&secured, INTRODUCTION_MAX)?;
        let session = Session::new(secured, Some(engaged))?;
        // There is room: nobody else is engaged. Fails when nobody takes sessions more.
        let _ = self.sessions.try_send(session);
        Ok(())
    }

    fn try_acquire(&self) -> Option<ListenerGuard> {
        let free = self
            .engaged
            .compare_exchange(false, true, Ordering::AcqRel, Ordering::Acquire);
        free.ok().map(|_| ListenerGuard(self.engaged.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secure::wire_tests::Secrets;

    const SOON: Duration = Duration::from_secs(5);

    #[test]
    fn a_wish_to_stop_ends_the_calling_of_a_prime_that_is_not_there() {
        let nobody = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = nobody.local_addr().unwrap().to_string();
        drop(nobody);
        let stop = StopFlag::new();
        let raised = stop.clone();
        let wish = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(300));
            raised.raise();
        });
        let since = Instant::now();
        let told = connect(&DialOptions {
            to: &[HostPort::parse(&at, 1).unwrap()],
            ip: IpChoice::Any,
            identity: &Secrets::random().identities().1,
            names: &[HostName::parse("h").unwrap()],
            patience: Duration::from_secs(3600),
            stop: &stop,
        });
        assert_eq!(told.err().as_deref(), Some(STOPPED));
        assert!(since.elapsed() < SOON, "{:?}", since.elapsed());
        wish.join().unwrap();
    }

    #[test]
    fn an_invitation_is_not_waited_for_for_ever() {
        let since = Instant::now();
        let (silent, held) = UnixStream::pair().unwrap();
        let told = read_invitation(silent, Duration::from_millis(200), &StopFlag::new());
        assert!(told.err().unwrap().contains("within"));
        let stop = StopFlag::new();
        stop.raise();
        let (silent, also_held) = UnixStream::pair().unwrap();
        let told = read_invitation(silent, INVITATION_MAX, &stop);
        assert_eq!(told.err().as_deref(), Some(STOPPED));
        assert!(since.elapsed() < SOON);
        drop((held, also_held));
    }
}
