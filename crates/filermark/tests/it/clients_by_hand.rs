//! Agents that a user starts: over TLS with their own keys, and not without.

use crate::client_hosts::{Field, assert_adds_up};
use crate::load_guard::beside_others;
use crate::sweep::PROGRAM;
use filermark_results::Outcome;
use filermark_testbed::Capture;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The port of agents that a user starts and their primes.
const PORT: u16 = 20049;
/// Time limit for an agent to end after its run.
const END_MAX: Duration = Duration::from_secs(10);

/// A directory that all hosts see, with key files in it.
struct Secrets(TempDir);

impl Secrets {
    fn new() -> Self {
        let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"));
        Self(dir.expect("a directory that hosts see"))
    }

    /// Makes the keys as a user does; returns their directory.
    fn make(&self, name: &str) -> PathBuf {
        let path = self.0.path().join(name);
        let made = Command::new(PROGRAM)
            .args(["agent", "--clients", "h[1-2]", "--make-keys"])
            .arg(&path)
            .output();
        assert!(made.expect("start filermark").status.success());
        path
    }
}

/// An agent that a user starts on a host; ended when it is dropped.
struct Agent {
    child: Child,
    stderr_text: PathBuf,
}

impl Agent {
    fn start(field: &Field, secrets: &Secrets, host: &str, keys: &Path, args: &[&str]) -> Self {
        let stderr_text = secrets.0.path().join(format!("{host}.log"));
        let output_text = std::fs::File::create(&stderr_text).expect("a file for its stderr");
        let mut command = field.hosts.command_on(host, PROGRAM).expect("a host");
        command
            .arg("agent")
            .args(args)
            .arg("--secret-file")
            .arg(keys.join(format!("client-{host}.key")))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(output_text);
        let child = command.spawn().expect("start an agent");
        Self { child, stderr_text }
    }

    /// Waits until it has ended by itself; returns its exit code and its output.
    fn ended(&mut self) -> (Option<i32>, String) {
        let since = Instant::now();
        while since.elapsed() < END_MAX {
            if let Some(status) = self.child.try_wait().expect("wait for an agent") {
                return (status.code(), self.stderr_text());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        panic!("an agent does not end: {}", self.stderr_text());
    }

    fn stderr_text(&self) -> String {
        std::fs::read_to_string(&self.stderr_text).expect("its stderr")
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Asserts that there were many messages on the network, and that none can be read.
#[track_caller]
fn assert_unreadable(capture: Capture, keys: &Path) {
    let pcap = capture.stop().expect("the capture");
    let bytes = std::fs::read(pcap.path()).expect("the capture's file");
    assert!(bytes.len() > 20_000, "{} bytes only", bytes.len());
    let secret_of = |file: &str| {
        let text = std::fs::read_to_string(keys.join(file)).expect("the keys");
        let secret = text.lines().find_map(|line| line.strip_prefix("secret "));
        secret.expect("a secret").to_owned()
    };
    for word in [
        "\"order\"",
        "\"report\"",
        "mb_per_op",
        "MNT_POINTS",
        "/export",
        &secret_of("prime.key"),
        &secret_of("client-h1.key"),
    ] {
        let found = bytes.windows(word.len()).any(|w| w == word.as_bytes());
        assert!(!found, "'{word}' can be read on the way");
    }
}

#[test]
fn the_prime_connects_to_agents_that_wait() {
    let _turn = beside_others();
    let Some(field) = Field::with_ganesha(2) else {
        return;
    };
    let secrets = Secrets::new();
    let keys = secrets.make("lab");
    let listen = format!("0.0.0.0:{PORT}");
    let start = |host| {
        Agent::start(
            &field,
            &secrets,
            host,
            &keys,
            &["--once", "--listen", &listen],
        )
    };
    let mut agents = ["h1", "h2"].map(start);
    let hosts = &field.hosts;
    let capture = Capture::start(hosts.sandbox(), hosts.interface(), &[PORT]).expect("dumpcap");
    let sweep = field.sweep("h1 h2").set("LAUNCHER", "connect");
    let sweep = sweep.set("SECRET_FILE", keys.join("prime.key").display());
    let ended = sweep.run();
    assert!(ended.is_complete(), "{}", ended.stderr);
    assert_adds_up(&ended.point(1), &["h1", "h2"]);
    for agent in &mut agents {
        let (code, output_text) = agent.ended();
        assert_eq!(code, Some(0), "{output_text}");
    }
    assert_unreadable(capture, &keys);
    field.assert_clean();
}

#[test]
fn the_prime_waits_for_agents_that_connect() {
    let _turn = beside_others();
    let Some(field) = Field::with_ganesha(2) else {
        return;
    };
    let secrets = Secrets::new();
    let keys = secrets.make("lab");
    let hosts = &field.hosts;
    let capture = Capture::start(hosts.sandbox(), hosts.interface(), &[PORT]).expect("dumpcap");
    let sweep = field
        .sweep("h1 h2")
        .set("LAUNCHER", "accept")
        .set("PRIME_LISTEN", format!("0.0.0.0:{PORT}"))
        .set("SECRET_FILE", keys.join("prime.key").display());
    let mut started = sweep.start();
    // The command to type is printed.
    started.wait_for("waiting for h2: filermark agent --connect prime:20049 --secret-file ");
    let start = |host| Agent::start(&field, &secrets, host, &keys, &["--connect", "prime"]);
    let mut agents = ["h1", "h2"].map(start);
    let ended = started.wait();
    assert!(ended.is_complete(), "{}", ended.stderr);
    assert_adds_up(&ended.point(1), &["h1", "h2"]);
    for agent in &mut agents {
        let (code, output_text) = agent.ended();
        assert_eq!(code, Some(0), "{output_text}");
    }
    assert_unreadable(capture, &keys);
    field.assert_clean();
}

#[test]
fn who_has_another_key_is_refused_in_words() {
    let _turn = beside_others();
    let Some(field) = Field::with_ganesha(1) else {
        return;
    };
    let secrets = Secrets::new();
    let (ours, theirs) = (secrets.make("ours"), secrets.make("theirs"));
    // An agent that waits.
    let listen = format!("0.0.0.0:{PORT}");
    let agent = Agent::start(&field, &secrets, "h1", &theirs, &["--listen", &listen]);
    let sweep = field
        .sweep("h1")
        .set("SECRET_FILE", ours.join("prime.key").display());
    let ended = sweep.clone().set("LAUNCHER", "connect").fail(1);
    ended.assert_sentence(&["client h1", "h1:20049", "another key", "copy client-h1.key"]);
    let Some(Outcome::Failed { .. }) = ended.record().end.map(|end| end.outcome) else {
        panic!("it is recorded as failed");
    };
    drop(agent);
    // One that connects. The prime would wait for the right one.
    let mut started = sweep
        .elsewhere()
        .set("LAUNCHER", "accept")
        .set("PRIME_LISTEN", &listen)
        .set("START_TIMEOUT", 5)
        .start();
    started.wait_for("waiting for h1");
    let mut agent = Agent::start(&field, &secrets, "h1", &theirs, &["--connect", "prime"]);
    let (code, output_text) = agent.ended();
    assert_eq!(code, Some(1), "{output_text}");
    assert!(output_text.contains("another key"), "{output_text}");
    let ended = started.wait();
    assert_eq!(ended.code, 1, "{}", ended.stderr);
    ended.assert_sentence(&["client h1", "did not connect", "within 5s"]);
    field.assert_clean();
}
