//! Client hosts with Debian's SSH server: the program is installed, agents of a run are ended, keys
//! are set up; and failures are reported.

use crate::load_guard;
use filermark_link::frame;
use filermark_link::message::Order;
use filermark_testbed::{Hosts, Sandbox, available, write_program};
use serde_json::Value;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

const PROGRAM: &str = env!("CARGO_BIN_EXE_filermark");
/// Sessions of sshd end slowly on a busy machine.
pub(crate) const SOON: Duration = Duration::from_secs(120);
/// On a busy machine sshd may need longer than the 10 s that the program sets.
const LONG_CONNECT: &str = "SSH_COMMAND=ssh -o ConnectTimeout=120";
/// The kernel gives a connection up after 127 s, ssh earlier.
const CUT_MAX: Duration = Duration::from_secs(100);

pub(crate) fn hosts(count: usize) -> Option<Hosts> {
    let sandbox = available(Sandbox::new())?;
    available(Hosts::start(&sandbox, count))
}

/// The program under test on the prime, for these clients.
fn filermark(hosts: &Hosts, clients: &str, args: &[&str]) -> Command {
    let mut command = hosts.command(PROGRAM);
    command
        .args(args)
        .args(["-o", &format!("CLIENTS={clients}")])
        .env_remove("RUST_LOG")
        .stdin(Stdio::null());
    command
}

fn run(hosts: &Hosts, clients: &str, args: &[&str]) -> Output {
    let mut command = filermark(hosts, clients, args);
    command
        .args(["-o", LONG_CONNECT])
        .output()
        .expect("it starts")
}

/// The report on each host, as JSON, and the exit code.
fn host_rows(hosts: &Hosts, clients: &str, args: &[&str]) -> (Vec<Value>, Option<i32>) {
    let args = [args, &["--json"]].concat();
    let done = run(hosts, clients, &args);
    let value: Value =
        serde_json::from_slice(&done.stdout).unwrap_or_else(|e| panic!("{e}: {done:?}"));
    let rows = value["hosts"].as_array().expect("hosts").clone();
    (rows, done.status.code())
}

pub(crate) fn states(rows: &[Value]) -> Vec<&str> {
    rows.iter()
        .map(|h| h["state"].as_str().unwrap_or(""))
        .collect()
}

pub(crate) fn detail(host: &Value) -> &str {
    host["detail"].as_str().unwrap_or("")
}

/// The output of a script on a host, without SSH.
pub(crate) fn output_text(hosts: &Hosts, host: &str, script: &str) -> String {
    let done = hosts.run_on(host, script).expect("a script");
    done.output.trim().to_owned()
}

#[test]
fn three_hosts_get_the_program_and_a_second_time_there_is_nothing_to_do() {
    let _turn = load_guard::beside_others();
    let Some(hosts) = hosts(3) else { return };
    let start = Instant::now();
    let (reported_once, code) = host_rows(&hosts, "h1 h2 h3", &["install"]);
    let once = start.elapsed();
    assert_eq!(states(&reported_once), ["done"; 3], "{reported_once:?}");
    assert_eq!(code, Some(0));
    let start = Instant::now();
    let (reported_again, code) = host_rows(&hosts, "h1 h2 h3", &["install"]);
    eprintln!("install: {once:.2?}, again: {:.2?}", start.elapsed());
    assert_eq!(
        states(&reported_again),
        ["nothing"; 3],
        "{reported_again:?}"
    );
    assert_eq!(code, Some(0));
    for host in ["h1", "h2", "h3"] {
        let files = output_text(&hosts, host, "find ~/.cache -type f | wc -l");
        assert_eq!(files, "1");
        let version = output_text(&hosts, host, "~/.cache/filermark/*/filermark --version");
        assert!(version.starts_with("filermark "), "{version}");
    }
    hosts.wait_clean(SOON).expect("no session is left");
}

#[test]
fn hosts_that_cannot_have_it_are_reported_each_with_its_reason() {
    let _turn = load_guard::beside_others();
    let Some(hosts) = hosts(4) else { return };
    hosts.wrong_host_key("h1").expect("another key");
    hosts.ask_password("h2").expect("no key any more");
    hosts
        .small_tmpfs("h3", "/mnt/own/it", 1024)
        .expect("a tmpfs");
    output_text(
        &hosts,
        "h4",
        "mkdir -p /mnt/own/it; echo netmist >/mnt/own/it/filermark",
    );
    let args = ["install", "-o", "EXEC_PATH=/mnt/own/it/filermark"];
    let (rows, code) = host_rows(&hosts, "h1 h2 h3 h4", &args);
    assert_eq!(states(&rows), ["failed"; 4], "{rows:?}");
    assert_eq!(code, Some(1));
    let reasons = [
        ["host key of h1 differs from the known one", "ssh-keygen -"],
        [
            "h2 does not accept this user without a password",
            "`filermark keys -r RC`",
        ],
        ["No space left on device", "free space there"],
        ["is not Filermark", "EXEC_PATH"],
    ];
    for (host, words) in rows.iter().zip(reasons) {
        for word in words {
            assert!(detail(host).contains(word), "{word:?}: {host}");
        }
    }
    assert_eq!(output_text(&hosts, "h3", "ls -A /mnt/own/it"), "");
    assert_eq!(
        output_text(&hosts, "h4", "cd /mnt/own/it; ls -A; cat filermark"),
        "filermark\nnetmist"
    );
    // A host that does not exist is another reason.
    hosts.cut("h4").expect("cut");
    let start = Instant::now();
    let done = filermark(&hosts, "h4", &["install"]).output();
    let done = done.expect("it starts");
    assert_eq!(done.status.code(), Some(1));
    assert!(start.elapsed() < CUT_MAX);
    let table = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(
        table.contains("FAILED") && table.contains("cannot be reached"),
        "{table}"
    );
    hosts.fix("h4").expect("fix");
    hosts.wait_clean(SOON).expect("no session is left");
}

#[test]
fn a_host_that_asks_for_a_password_gets_the_key() {
    let _turn = load_guard::beside_others();
    let Some(hosts) = hosts(2) else { return };
    hosts.ask_password("h2").expect("no key any more");
    let (looked, code) = host_rows(&hosts, "h1 h2", &["keys"]);
    assert_eq!(states(&looked), ["nothing", "planned"], "{looked:?}");
    assert_eq!(code, Some(0));
    assert!(detail(&looked[1]).contains("ssh-copy-id -i "), "{looked:?}");
    assert_eq!(
        output_text(&hosts, "h2", "ls ~/.ssh"),
        "",
        "a look changes nothing"
    );

    // This program types the password at the terminal.
    let askpass: PathBuf = hosts.sandbox().dir().join("askpass");
    let text = format!("#!/bin/sh\necho '{}'\n", Hosts::PASSWORD);
    write_program(&askpass, text).expect("write it");
    let done = filermark(
        &hosts,
        "h1 h2",
        &["keys", "--yes", "--json", "-o", LONG_CONNECT],
    )
    .env("SSH_ASKPASS", &askpass)
    .env("SSH_ASKPASS_REQUIRE", "force")
    .output()
    .expect("it starts");
    let value: Value =
        serde_json::from_slice(&done.stdout).unwrap_or_else(|e| panic!("{e}: {done:?}"));
    assert_eq!(value["hosts"][1]["state"], "done", "{done:?}");
    assert_eq!(value["key"], Value::Null, "there was a key");
    assert_eq!(done.status.code(), Some(0));
    let modes = output_text(
        &hosts,
        "h2",
        "stat -c %a ~/.ssh ~/.ssh/authorized_keys; ls ~/.ssh",
    );
    assert_eq!(modes, "700\n600\nauthorized_keys");
    let (again, _) = host_rows(&hosts, "h1 h2", &["keys"]);
    assert_eq!(states(&again), ["nothing"; 2], "{again:?}");
    hosts.wait_clean(SOON).expect("no session is left");
}

/// An idle agent of a run.
///
/// It gets a message of its prime every second: an agent that receives nothing for 15 s ends by
/// itself, and on a busy machine a test takes longer.
pub(crate) struct Agent {
    /// The agent, or the ssh that reaches it.
    child: Child,
    /// Kept open; the output is not read.
    _reports: ChildStdout,
    /// Dropped: it gets no messages any more.
    _prime: Sender<()>,
}

impl Agent {
    /// On a host, over SSH.
    pub(crate) fn on(hosts: &Hosts, host: &str, tag: &str) -> Self {
        let script = format!("exec ~/.cache/filermark/*/filermark agent --stdio --run {tag}");
        let mut ssh = hosts.command("ssh");
        ssh.args(["-o", "BatchMode=yes", host, &script])
            .stderr(Stdio::null());
        Self::start(&mut ssh)
    }

    /// Returns when it handles signals: its first line comes after that.
    fn start(command: &mut Command) -> Self {
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        let mut reports = child.stdout.take().expect("a pipe");
        let mut orders = child.stdin.take().expect("a pipe");
        reports.read_exact(&mut [0]).expect("its first word");
        let alive = frame::encode(&Order::Alive).expect("a frame");
        let (prime, ended) = channel();
        std::thread::spawn(move || {
            let pause = Duration::from_secs(1);
            while ended.recv_timeout(pause) == Err(RecvTimeoutError::Timeout)
                && orders.write_all(&alive).is_ok()
            {}
        });
        Self {
            child,
            _reports: reports,
            _prime: prime,
        }
    }

    pub(crate) fn wait(&mut self) -> ExitStatus {
        self.child.wait().expect("its end")
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The command lines of the agents on a host.
pub(crate) fn agents(hosts: &Hosts, host: &str) -> Vec<String> {
    let found = hosts.processes(host).expect("processes");
    let lines = found.into_iter().filter(|p| p.name == "filermark");
    lines.map(|p| p.command).collect()
}

#[test]
fn an_agent_of_this_host_is_stopped_too() {
    let run = format!("-local-{}", std::process::id());
    let mut agent = Agent::start(Command::new(PROGRAM).args(["agent", "--stdio", "--run", &run]));
    let done = Command::new(PROGRAM)
        .args(["stop", "--json", "-o", "CLIENTS=localhost"])
        .arg(format!("--suffix={run}"))
        .output()
        .expect("it starts");
    let ended = agent.child.try_wait().expect("look at it");
    assert!(ended.is_some_and(|e| e.success()), "{done:?}");
    let value: Value = serde_json::from_slice(&done.stdout).expect("JSON");
    let detail = format!("ended process {}", agent.child.id());
    assert_eq!(value["hosts"][0]["detail"], detail);
    assert_eq!(value["run"], run);
}

#[test]
fn stop_ends_the_agents_of_the_run_and_no_others() {
    let _turn = load_guard::beside_others();
    let Some(hosts) = hosts(2) else { return };
    assert_eq!(host_rows(&hosts, "h1 h2", &["install"]).1, Some(0));
    let mut mine = Agent::on(&hosts, "h1", "mine");
    let mut other = Agent::on(&hosts, "h1", "other");
    let (stopped, code) = host_rows(&hosts, "h1 h2", &["stop", "-s", "mine"]);
    assert_eq!(states(&stopped), ["done", "nothing"], "{stopped:?}");
    assert!(
        detail(&stopped[0]).starts_with("ended process "),
        "{stopped:?}"
    );
    assert_eq!(code, Some(0));
    // It ended by itself on request.
    assert!(mine.wait().success());
    let left = agents(&hosts, "h1");
    assert_eq!(left.len(), 1, "{left:?}");
    assert!(left[0].ends_with("--run other"), "{left:?}");
    let (again, _) = host_rows(&hosts, "h1 h2", &["stop", "-s", "mine"]);
    assert_eq!(states(&again), ["nothing"; 2]);

    // If the program is missing there, a shell reports the agents, and ends none.
    output_text(&hosts, "h1", "rm -r ~/.cache/filermark");
    let (looked, code) = host_rows(&hosts, "h1", &["stop", "-s", "other"]);
    assert_eq!(states(&looked), ["failed"], "{looked:?}");
    assert!(
        detail(&looked[0]).contains("`filermark install -r RC`"),
        "{looked:?}"
    );
    assert_eq!(code, Some(1));
    // An agent whose program was removed is also found.
    assert_eq!(host_rows(&hosts, "h1", &["install"]).1, Some(0));
    let (stopped, _) = host_rows(&hosts, "h1", &["stop", "-s", "other"]);
    assert_eq!(states(&stopped), ["done"], "{stopped:?}");
    other.wait();
    hosts.wait_clean(SOON).expect("nothing is left");
}
