//! Agents that a user starts, as separate processes: they wait for the prime, or the prime waits
//! for them.

use crate::load_guard::beside_others;
use crate::preflight::PreflightOutput;
use crate::second_client::{assert_empty, serve};
use crate::sweep::{Ended, PROGRAM, Sweep};
use filermark_server::{RunningServer, ServerOptions};
use rustix::process::{Pid, Signal, kill_process};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const SOON: Duration = Duration::from_secs(30);

/// A server, and a directory with keys.
struct Scene {
    server: RunningServer,
    dir: tempfile::TempDir,
}

impl Scene {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let make = ["--make-keys", "keys", "--clients", "a b 127.0.0.1"];
        let made = agent(&make, dir.path(), "make").wait();
        assert_eq!(made.0, Some(0), "{}", made.1);
        Self {
            server: serve(ServerOptions::default()),
            dir,
        }
    }

    fn agent(&self, client: &str, args: &[&str]) -> Agent {
        let file = format!("keys/client-{client}.key");
        let args = [args, &["--secret-file", &file]].concat();
        agent(&args, self.dir.path(), client)
    }

    fn run(&self, launcher: &str) -> Sweep {
        Sweep::on(&self.server).set("LAUNCHER", launcher).set(
            "SECRET_FILE",
            self.dir.path().join("keys/prime.key").display(),
        )
    }

    #[track_caller]
    fn assert_measured(&self, ended: &Ended) {
        assert!(ended.is_complete(), "{}", ended.stderr);
        let stats = ended.point(1).stats.expect("figures");
        assert_eq!(stats.error_count(), 0, "{:?}", stats.errors);
        assert!(stats.success_count() > 50, "{}", stats.success_count());
        assert_empty(&self.server);
    }
}

/// An agent; killed when it is dropped.
struct Agent {
    child: Child,
    stderr_text: PathBuf,
}

fn agent(args: &[&str], dir: &Path, name: &str) -> Agent {
    let stderr_text = dir.join(format!("{}.stderr", name.replace(':', "_")));
    let child = Command::new(PROGRAM)
        .arg("agent")
        .args(args)
        .current_dir(dir)
        .env_remove("RUST_LOG")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(File::create(&stderr_text).expect("a file for its stderr"))
        .spawn()
        .expect("start the agent");
    Agent { child, stderr_text }
}

impl Agent {
    fn stderr_text(&self) -> String {
        std::fs::read_to_string(&self.stderr_text).expect("its stderr")
    }

    /// The port that it prints.
    fn port(&self) -> String {
        let began = Instant::now();
        loop {
            if let Some((_, port)) = self.stderr_text().trim_end().rsplit_once("127.0.0.1:") {
                return port.to_owned();
            }
            assert!(began.elapsed() < SOON, "{}", self.stderr_text());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Its status and its stderr, when it has ended.
    fn wait(mut self) -> (Option<i32>, String) {
        let began = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("wait for the agent") {
                return (status.code(), self.stderr_text());
            }
            assert!(began.elapsed() < SOON, "{}", self.stderr_text());
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

#[test]
fn an_agent_that_waits_serves_run_after_run() {
    let _turn = beside_others();
    let scene = Scene::new();
    let agent = scene.agent("127.0.0.1", &["--listen", "127.0.0.1:0"]);
    let run = scene
        .run("connect")
        .set("CLIENTS", "127.0.0.1")
        .set("AGENT_PORT", agent.port());
    scene.assert_measured(&run.run());
    scene.assert_measured(&run.elsewhere().run());
    let pid = Pid::from_raw(agent.child.id() as i32).expect("a pid");
    kill_process(pid, Signal::INT).expect("ask it to end");
    let (code, stderr_text) = agent.wait();
    assert_eq!(code, Some(0), "{stderr_text}");
}

#[test]
fn preflight_comes_by_the_same_way() {
    let _turn = beside_others();
    let scene = Scene::new();
    let agent = scene.agent("127.0.0.1", &["--listen", "127.0.0.1:0"]);
    let run = scene
        .run("connect")
        .set("CLIENTS", "127.0.0.1")
        .set("AGENT_PORT", agent.port());
    let preflight = PreflightOutput::by(&run);
    assert_eq!(preflight.ended.code, 0, "{:#?}", preflight.checks);
    preflight.assert("127.0.0.1", "version", "ok");
    preflight.assert("127.0.0.1", "mount", "ok");
    // It still serves runs.
    scene.assert_measured(&run.run());
}

#[test]
fn agents_that_come_by_themselves_end_with_the_run() {
    let _turn = beside_others();
    let scene = Scene::new();
    // The port is free now and usually still free a moment later.
    let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let at = free.local_addr().expect("its address").to_string();
    drop(free);
    let agents =
        ["a", "b"].map(|name| scene.agent(name, &["--connect", &at, "--time-limit", "30"]));
    let run = scene
        .run("accept")
        .set("CLIENTS", "a b")
        .set("PROCS", 2)
        .set("PRIME_LISTEN", &at);
    scene.assert_measured(&run.run());
    for agent in agents {
        let (code, stderr_text) = agent.wait();
        assert_eq!(code, Some(0), "{stderr_text}");
    }
}

#[test]
fn an_agent_with_another_key_gets_the_reason() {
    let _turn = beside_others();
    let (scene, other) = (Scene::new(), Scene::new());
    let agent = other.agent("127.0.0.1", &["--listen", "127.0.0.1:0"]);
    let ended = scene
        .run("connect")
        .set("CLIENTS", "127.0.0.1")
        .set("AGENT_PORT", agent.port())
        .run();
    assert_ne!(ended.code, 0);
    let why = ended.sentences().join("\n");
    assert!(
        why.contains("another key") && why.contains("copy client-127.0.0.1.key"),
        "{why}"
    );
    assert!(
        agent.stderr_text().contains("does not accept the key"),
        "{}",
        agent.stderr_text()
    );
}

#[test]
fn a_run_with_the_key_of_a_client_gives_no_orders() {
    let _turn = beside_others();
    let scene = Scene::new();
    let agent = scene.agent("127.0.0.1", &["--listen", "127.0.0.1:0"]);
    let ended = scene
        .run("connect")
        .set("CLIENTS", "127.0.0.1")
        .set("AGENT_PORT", agent.port())
        .set(
            "SECRET_FILE",
            scene.dir.path().join("keys/client-a.key").display(),
        )
        .run();
    assert_ne!(ended.code, 0);
    let why = ended.sentences().join("\n");
    assert!(why.contains("is the key of a client"), "{why}");
}

#[test]
fn keys_that_are_missing_are_made_and_those_that_are_there_are_kept() {
    let dir = tempfile::tempdir().expect("a directory");
    let make = |clients: &str| {
        let args = ["--make-keys", "keys", "--clients", clients];
        let (code, output_text) = agent(&args, dir.path(), "make").wait();
        assert_eq!(code, Some(0), "{output_text}");
        output_text
    };
    let key =
        |client: &str| std::fs::read(dir.path().join(format!("keys/client-{client}.key"))).ok();
    make("h1");
    let before = key("h1").expect("made");
    let output_text = make("h1 h2 h3");
    assert!(
        output_text.contains("keys/client-h1.key: kept"),
        "{output_text}"
    );
    for client in ["h2", "h3"] {
        assert!(
            output_text.contains(&format!("keys/client-{client}.key: made")),
            "{output_text}"
        );
        assert!(key(client).is_some());
    }
    assert_eq!(key("h1"), Some(before));
    std::fs::remove_file(dir.path().join("keys/client-h2.key")).expect("moved to h2");
    let output_text = make("h1 h2");
    assert!(
        output_text.contains("prime.key: has all these clients already"),
        "{output_text}"
    );
    assert!(
        output_text.contains("client-h2.key: kept") && output_text.contains("not here"),
        "{output_text}"
    );
}

#[test]
fn the_help_of_agent_lists_the_ways_that_there_are() {
    let dir = tempfile::tempdir().expect("a directory");
    let help = Command::new(PROGRAM)
        .args(["agent", "--help"])
        .output()
        .expect("help");
    let help = String::from_utf8_lossy(&help.stdout).into_owned();
    assert!(
        help.contains("agent --make-keys DIR --clients LIST"),
        "{help}"
    );
    assert!(
        !help.contains("make-secret") && !help.contains("end-run"),
        "{help}"
    );
    let (code, output_text) = agent(&[], dir.path(), "none").wait();
    assert_eq!(code, Some(2), "{output_text}");
    assert!(
        output_text.contains("--stdio, --listen ADDR:PORT or"),
        "{output_text}"
    );
}
