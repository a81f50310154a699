//! Agents that are started by hand: they wait for the prime, or the prime for them.

use super::super::{AcceptLauncher, ConnectLauncher};
use filermark_engine::driver::StopFlag;
use filermark_link::secure::connect::{DialOptions, Listener, Session, connect};
use filermark_link::secure::dial::HostPort;
use filermark_link::secure::hello::HostName;
use filermark_link::secure::keys::{ClientKey, client_file, make_keys};
use filermark_link::secure::{Identity, LinkRole, PublicKey, Secret, secure_client};
use filermark_link::start::{LaunchedAgent, Launcher};
use filermark_model::Nanos;
use filermark_model::launch::{HostPlan, LaunchPlan, LauncherKind};
use filermark_model::plan::IpChoice;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

pub(super) const LIMIT: Duration = Duration::from_secs(20);

/// A plan with key files in a temporary directory.
pub(super) struct TestSetup {
    pub plan: LaunchPlan,
    dir: tempfile::TempDir,
}

impl TestSetup {
    pub fn new(clients: &[&str], launcher: LauncherKind) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let names = clients.iter().filter_map(|c| HostName::parse(c).ok());
        let mut names: Vec<_> = names.collect();
        // One that has a key and is not part of the run.
        names.push(HostName::parse("other").unwrap());
        let made = make_keys(dir.path(), &names).unwrap();
        let host = |client: &&str| HostPlan {
            launcher,
            ..HostPlan::local((*client).into())
        };
        let mut plan = LaunchPlan::local([]);
        plan.hosts = clients.iter().map(host).collect();
        plan.listen = Some("127.0.0.1:0".parse().unwrap());
        plan.secret_file = Some(made.prime);
        plan.start_timeout = Nanos::from_secs(20);
        Self { plan, dir }
    }

    fn key(&self, name: &str) -> ClientKey {
        ClientKey::read(&self.dir.path().join(client_file(name))).unwrap()
    }

    fn agent(&self, name: &str) -> Identity {
        self.key(name).identity().unwrap()
    }

    /// The agent of this client connects to the prime.
    fn call(&self, at: SocketAddr, name: &str) -> Result<Session, String> {
        call(&self.agent(name), at, name, LIMIT)
    }
}

fn call(
    identity: &Identity,
    at: SocketAddr,
    name: &str,
    limit: Duration,
) -> Result<Session, String> {
    let to = HostPort::parse(&at.to_string(), 1).unwrap();
    connect(&DialOptions {
        to: &[to],
        ip: IpChoice::Any,
        identity,
        names: &[HostName::parse(name).unwrap()],
        limit,
        stop: &StopFlag::new(),
    })
}

fn rejection(session: Result<Session, String>) -> String {
    session.err().expect("it is turned away")
}

pub(super) fn refused(launched: Result<LaunchedAgent, String>) -> String {
    launched.err().expect("it does not start")
}

/// Returns the bytes that it receives, with its name.
pub(super) fn echo(name: &str, mut from: impl Read, mut to: impl Write) {
    let mut bytes = String::new();
    if from.read_to_string(&mut bytes).is_ok() {
        let _ = write!(to, "{name} received {bytes}");
    }
}

/// Sends something to an agent and reads its reply.
pub(super) fn exchange(launched: LaunchedAgent, what: &str) -> String {
    let LaunchedAgent {
        mut from_agent,
        mut to_agent,
        mut handle,
    } = launched;
    to_agent.write_all(what.as_bytes()).unwrap();
    drop(to_agent);
    let mut reply = String::new();
    from_agent.read_to_string(&mut reply).unwrap();
    drop(from_agent);
    handle.release(LIMIT);
    assert_eq!(handle.final_output(), None);
    reply
}

#[test]
fn agents_that_connect_get_the_slot_of_their_key() {
    let clients = ["n1", "n2.lab.example", "N3", "10.0.0.9"];
    let setup = TestSetup::new(&clients, LauncherKind::Accept);
    let launcher = AcceptLauncher::new(&setup.plan).unwrap();
    let names = clients;
    thread::scope(|scope| {
        for (name, sent_name) in names.iter().zip(["n1", "n1", "n2", "n1"]) {
            // The name that it sends does not matter.
            let agent = setup.agent(name);
            let session = call(&agent, launcher.address(), sent_name, LIMIT).unwrap();
            scope.spawn(move || echo(name, session.from_prime, session.to_prime));
        }
        for (client, name) in names.iter().enumerate() {
            let launched = launcher.launch(client, &setup.plan.hosts[client]).unwrap();
            assert_eq!(exchange(launched, "it"), format!("{name} received it"));
        }
    });
}

#[test]
fn unexpected_agents_are_rejected_immediately() {
    let setup = TestSetup::new(&["n1", "n2"], LauncherKind::Accept);
    let launcher = AcceptLauncher::new(&setup.plan).unwrap();
    let began = Instant::now();
    let why = rejection(setup.call(launcher.address(), "other"));
    assert!(
        why.contains("named other") && why.contains("clients: n1, n2"),
        "{why}"
    );
    assert!(why.contains("key file"), "{why}");

    let first = setup.call(launcher.address(), "n1").unwrap();
    let why = rejection(setup.call(launcher.address(), "n1"));
    assert!(why.contains("n1 already has an agent"), "{why}");

    // The first one ends before it is used: now its slot is free.
    first.hold.cut();
    drop(first);
    while setup.call(launcher.address(), "n1").is_err() {
        assert!(began.elapsed() < LIMIT);
    }
    assert!(began.elapsed() < LIMIT / 2, "{:?}", began.elapsed());
}

/// The key of one client is not accepted for another one, in neither direction.
#[test]
fn the_key_of_another_client_is_rejected() {
    let mut setup = TestSetup::new(&["n1", "127.0.0.1"], LauncherKind::Accept);
    let launcher = AcceptLauncher::new(&setup.plan).unwrap();
    // It uses the name and the address of another client.
    let other_client = setup.agent("other");
    let why = rejection(call(&other_client, launcher.address(), "n1", LIMIT));
    assert!(
        why.contains("no client of this run is named other"),
        "{why}"
    );

    let names = vec![HostName::parse("127.0.0.1").unwrap()];
    let waiting = WaitingAgent::start_as(&setup.agent("n1"), names);
    setup.plan.hosts.remove(0);
    let launcher = called(&mut setup, waiting.address);
    let why = refused(launcher.launch(0, &setup.plan.hosts[0]));
    assert!(why.contains("another key"), "{why}");
}

/// A defect of version 0.1: with one secret for all, a client's secret gave access to every
/// agent.
#[test]
fn the_key_of_a_client_gives_no_access_to_another_agent() {
    let setup = TestSetup::new(&["127.0.0.1", "n1"], LauncherKind::Connect(1));
    let waiting = WaitingAgent::start(&setup);
    let text = std::fs::read_to_string(setup.dir.path().join(client_file("n1"))).unwrap();
    let stolen = text.lines().find_map(|line| line.strip_prefix("secret "));
    let stolen = Secret::parse(stolen.unwrap()).unwrap();
    let target = std::fs::read_to_string(setup.plan.secret_file.as_ref().unwrap()).unwrap();
    let target = target
        .lines()
        .find_map(|line| line.strip_prefix("client 127.0.0.1 "));
    let target = PublicKey::parse(target.unwrap()).unwrap();
    let other_client = Identity::new(&stolen, LinkRole::Prime, [target]).unwrap();
    let tcp = TcpStream::connect(waiting.address).unwrap();
    // The handshake of the caller ends first; then it is refused.
    let mut bytes = Vec::new();
    if let Ok(secured) = secure_client(tcp, &other_client, LIMIT) {
        let _ = (&secured.stream).write_all(b"filermark-welcome\norders");
        let _ = (&secured.stream).read_to_end(&mut bytes);
        assert!(secured.hold.wait_ended(LIMIT));
        assert!(secured.hold.failure_text().is_some(), "it was accepted");
    }
    assert!(bytes.is_empty(), "{}", String::from_utf8_lossy(&bytes));
}

#[test]
fn a_client_without_a_key_is_named_before_the_run() {
    for kind in [LauncherKind::Accept, LauncherKind::Connect(1)] {
        let mut setup = TestSetup::new(&["n1"], kind);
        setup.plan.hosts[0].client = "n2".into();
        let why = match kind {
            LauncherKind::Accept => AcceptLauncher::new(&setup.plan).err(),
            _ => ConnectLauncher::new(&setup.plan).err(),
        };
        let why = why.expect("it does not start");
        assert!(why.contains("no key of client n2"), "{why}");
        assert!(why.contains("--make-keys DIR --clients n2"), "{why}");
    }
}

#[test]
fn a_missing_agent_is_reported_with_the_command_that_starts_it() {
    let mut setup = TestSetup::new(&["n1"], LauncherKind::Accept);
    setup.plan.start_timeout = Nanos::from_millis(100);
    setup.plan.prime_address = Some("prime.lab".into());
    let launcher = AcceptLauncher::new(&setup.plan).unwrap();
    let why = refused(launcher.launch(0, &setup.plan.hosts[0]));
    let port = launcher.address().port();
    let command = format!("on n1 with: filermark agent --connect prime.lab:{port} --secret-file ");
    assert!(why.contains(&command), "{why}");
    assert!(why.ends_with("client-n1.key"), "{why}");
}

#[test]
fn a_wrong_key_is_reported_and_not_retried() {
    let setup = TestSetup::new(&["n1"], LauncherKind::Accept);
    let other = TestSetup::new(&["n1"], LauncherKind::Accept);
    let launcher = AcceptLauncher::new(&setup.plan).unwrap();
    let began = Instant::now();
    let why = rejection(other.call(launcher.address(), "n1"));
    assert!(why.contains("filermark agent --make-keys"), "{why}");
    assert!(began.elapsed() < LIMIT / 2);
}

#[test]
fn an_agent_may_start_before_its_prime() {
    let mut setup = TestSetup::new(&["n1"], LauncherKind::Accept);
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = free.local_addr().unwrap();
    drop(free);
    let agent = setup.agent("n1");
    let refusal = rejection(call(&agent, address, "n1", Duration::from_millis(300)));
    assert!(refusal.contains("the run is in progress"), "{refusal}");

    let waits = thread::spawn(move || call(&agent, address, "n1", LIMIT).map(drop));
    thread::sleep(Duration::from_millis(300));
    setup.plan.listen = Some(address);
    let launcher = AcceptLauncher::new(&setup.plan).unwrap();
    let launched = launcher.launch(0, &setup.plan.hosts[0]);
    assert_eq!(waits.join().unwrap(), Ok(()));
    drop(launched.unwrap());
}

#[test]
fn other_connections_do_not_block_an_agent() {
    let setup = TestSetup::new(&["n1"], LauncherKind::Accept);
    let launcher = AcceptLauncher::new(&setup.plan).unwrap();
    let callers: Vec<_> = (0..150)
        .map(|i| {
            let unknown_peer = TcpStream::connect(launcher.address()).unwrap();
            match i % 3 {
                0 => {}
                1 => (&unknown_peer).write_all(b"GET / HTTP/1.1\r\n").unwrap(),
                _ => (&unknown_peer)
                    .write_all(&[22, 3, 1, 0x3f, 0xff, 1])
                    .unwrap(),
            }
            unknown_peer
        })
        .collect();
    let began = Instant::now();
    let session = setup.call(launcher.address(), "n1").unwrap();
    assert!(
        began.elapsed() < Duration::from_secs(8),
        "{:?}",
        began.elapsed()
    );
    assert!(launcher.launch(0, &setup.plan.hosts[0]).is_ok());
    drop((session, callers));
}

/// A defect of version 0.1: with 8 connections at most, and a second for each, the prime was
/// never accepted.
#[test]
fn idle_connections_do_not_block_a_prime() {
    let mut setup = TestSetup::new(&["127.0.0.1"], LauncherKind::Connect(1));
    let waiting = WaitingAgent::start(&setup);
    let callers: Vec<_> = (0..400)
        .map(|_| TcpStream::connect(waiting.address).unwrap())
        .collect();
    let launcher = called(&mut setup, waiting.address);
    let launched = launcher.launch(0, &setup.plan.hosts[0]).unwrap();
    assert_eq!(exchange(launched, "me"), "n1 received me");
    drop(callers);
}

/// An agent that listens, on a thread, until the test is over.
struct WaitingAgent {
    address: SocketAddr,
    goes_on: std::sync::Arc<AtomicBool>,
    thread: Option<thread::JoinHandle<()>>,
}

impl WaitingAgent {
    fn start(setup: &TestSetup) -> Self {
        let names = vec![HostName::parse("n1").unwrap()];
        Self::start_as(&setup.agent("127.0.0.1"), names)
    }

    fn start_as(agent: &Identity, names: Vec<HostName>) -> Self {
        let address = "127.0.0.1:0".parse().unwrap();
        let listener = Listener::start(address, agent, names).unwrap();
        let goes_on = std::sync::Arc::new(AtomicBool::new(true));
        let asked = goes_on.clone();
        Self {
            address: listener.address(),
            goes_on,
            thread: Some(thread::spawn(move || {
                listener.serve(
                    || asked.load(Ordering::Relaxed),
                    |from, to| echo("n1", from, to),
                );
            })),
        }
    }
}

impl Drop for WaitingAgent {
    fn drop(&mut self) {
        self.goes_on.store(false, Ordering::Relaxed);
        let _ = self.thread.take().map(thread::JoinHandle::join);
    }
}

fn called(setup: &mut TestSetup, at: SocketAddr) -> ConnectLauncher {
    setup.plan.hosts[0].launcher = LauncherKind::Connect(at.port());
    ConnectLauncher::new(&setup.plan).unwrap()
}

#[test]
fn a_listening_agent_serves_primes_in_sequence() {
    let mut setup = TestSetup::new(&["127.0.0.1"], LauncherKind::Connect(1));
    let waiting = WaitingAgent::start(&setup);
    let launcher = called(&mut setup, waiting.address);
    for word in ["one", "two"] {
        let launched = launcher.launch(0, &setup.plan.hosts[0]).unwrap();
        assert_eq!(exchange(launched, word), format!("n1 received {word}"));
    }
}

#[test]
fn a_second_prime_is_rejected_with_a_message() {
    let mut setup = TestSetup::new(&["127.0.0.1"], LauncherKind::Connect(1));
    let waiting = WaitingAgent::start(&setup);
    let first = called(&mut setup, waiting.address);
    let served = first.launch(0, &setup.plan.hosts[0]).unwrap();
    setup.plan.start_timeout = Nanos::from_millis(400);
    let second = ConnectLauncher::new(&setup.plan).unwrap();
    let why = refused(second.launch(0, &setup.plan.hosts[0]));
    assert!(why.contains("serves another prime"), "{why}");
    assert_eq!(exchange(served, "me"), "n1 received me");
}

#[test]
fn a_failed_connection_has_advice() {
    let mut setup = TestSetup::new(&["127.0.0.1"], LauncherKind::Connect(1));
    setup.plan.start_timeout = Nanos::from_millis(300);
    let other = TestSetup::new(&["127.0.0.1"], LauncherKind::Connect(1));
    let waiting = WaitingAgent::start(&other);
    let launcher = called(&mut setup, waiting.address);
    let why = refused(launcher.launch(0, &setup.plan.hosts[0]));
    assert!(
        why.contains("another key") && why.contains("copy client-127.0.0.1.key"),
        "{why}"
    );

    let (address, port) = (waiting.address, waiting.address.port());
    drop(waiting);
    let launcher = called(&mut setup, address);
    let why = refused(launcher.launch(0, &setup.plan.hosts[0]));
    let command = format!("filermark agent --listen 0.0.0.0:{port} --secret-file ");
    assert!(
        why.contains("nothing listens") && why.contains(&command),
        "{why}"
    );

    setup.plan.secret_file = None;
    let why = ConnectLauncher::new(&setup.plan).err().unwrap();
    assert!(why.contains("SECRET_FILE"), "{why}");
}

/// All at the same time, as after a power failure. Both sides are in this process, so it needs
/// twice the descriptors, threads and handshakes of a prime.
#[test]
fn many_agents_at_once_are_accepted() {
    let count: usize = std::env::var("FILERMARK_TEST_CROWD")
        .ok()
        .and_then(|count| count.parse().ok())
        .unwrap_or(60);
    let names: Vec<_> = (0..count).map(|i| format!("n{i}")).collect();
    let clients: Vec<_> = names.iter().map(String::as_str).collect();
    let setup = TestSetup::new(&clients, LauncherKind::Accept);
    let launcher = AcceptLauncher::new(&setup.plan).unwrap();
    let (at, began) = (launcher.address(), Instant::now());
    thread::scope(|scope| {
        for name in &names {
            let agent = setup.agent(name);
            scope.spawn(move || {
                let session = call(&agent, at, name, LIMIT).unwrap();
                echo(name, session.from_prime, session.to_prime);
            });
        }
        let launched: Vec<_> = (0..count)
            .map(|client| launcher.launch(client, &setup.plan.hosts[client]).unwrap())
            .collect();
        eprintln!("{count} agents in {:.2?}", began.elapsed());
        for (launched, name) in launched.into_iter().zip(&names) {
            assert_eq!(exchange(launched, "it"), format!("{name} received it"));
        }
    });
}
