//! Agents of different systems or processors in one run. They are started as a user starts them by
//! hand. The test of Windows is in `windows`; `ci/on-system` runs the one of another processor.

use crate::client_hosts::assert_adds_up;
use crate::load_guard::{Machine, beside_others};
use crate::sweep::{Ended, PROGRAM, Sweep};
use filermark_server::{RunningServer, Server, ServerOptions};
use filermark_testbed::{Sandbox, available};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

/// The addresses of the two agents.
pub(crate) const AGENTS: [&str; 2] = ["127.0.0.1", "127.0.0.2"];

/// The port at which both listen.
const AGENT_PORT: u16 = 20049;

/// The program of Linux on another processor, which this system can start; `ci/on-system` sets it.
const OTHER_PROGRAM: &str = "FILERMARK_OTHER_PROGRAM";

/// An agent that a user starts; ended when it is dropped.
pub(crate) struct Agent(Child);

impl Agent {
    /// One that listens at an address, with the key of that client.
    pub(crate) fn listen(mut command: Command, address: &str, key: &str, log: &Path) -> Self {
        let log = std::fs::File::create(log).expect("a file for its stderr");
        command
            .args(["agent", "--once", "--secret-file", key])
            .args(["--listen", &format!("{address}:{AGENT_PORT}")])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log);
        Self(command.spawn().expect("an agent"))
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The directory with the keys of a prime and of both agents.
pub(crate) struct Keys(TempDir);

/// Keys, as `agent --make-keys` makes them.
pub(crate) fn keys() -> Keys {
    let dir = tempfile::tempdir().expect("a directory");
    let made = Command::new(PROGRAM)
        .args(["agent", "--clients", &AGENTS.join(" "), "--make-keys"])
        .arg(dir.path().join("keys"))
        .output()
        .expect("start filermark");
    assert!(made.status.success(), "{made:?}");
    Keys(dir)
}

impl Keys {
    /// The key file of a client.
    pub(crate) fn of(&self, client: &str) -> PathBuf {
        self.0.path().join(format!("keys/client-{client}.key"))
    }

    /// The key file of the prime.
    pub(crate) fn of_prime(&self) -> PathBuf {
        self.0.path().join("keys/prime.key")
    }

    /// A file for what an agent prints.
    pub(crate) fn log(&self, name: &str) -> PathBuf {
        self.0.path().join(format!("{name}.log"))
    }
}

/// A sweep of a server by both agents. SECRET_FILE is still to be set.
pub(crate) fn two_agents(server: &RunningServer) -> Sweep {
    Sweep::on(server)
        .set("CLIENTS", AGENTS.join(" "))
        .set("LAUNCHER", "connect")
        .set("RUNTIME", 4)
}

/// Runs it: the figures of both agents add up, and their counts of operations agree within 5 %.
pub(crate) fn assert_same_rate(sweep: Sweep) -> Ended {
    let machine = Machine::watch();
    let ended = sweep.succeed();
    let point = ended.point(1);
    assert_adds_up(&point, &AGENTS);
    let counts = point.clients.iter().map(|client| {
        let ops = client.ops.iter();
        ops.map(|op| op.success_count).sum::<u64>() as f64
    });
    let counts: Vec<f64> = counts.collect();
    println!("operations of both agents: {counts:?}");
    machine.judge(match (counts[1] / counts[0] - 1.0).abs() <= 0.05 {
        true => Ok(()),
        false => Err(format!("{counts:?}")),
    });
    ended
}

/// An agent of this processor and one of another in one run of this system's prime.
#[test]
#[ignore = "needs a program for another processor: ci/on-system aarch64-unknown-linux-gnu agents"]
fn agents_of_two_processors_work_in_one_run() {
    let _turn = beside_others();
    let other = std::env::var_os(OTHER_PROGRAM)
        .unwrap_or_else(|| panic!("{OTHER_PROGRAM} is not set; run ci/on-system, which sets it"));
    let Some(sandbox) = available(Sandbox::new()) else {
        return;
    };
    let server =
        sandbox.run(|| Server::start(ServerOptions::default()).expect("the server starts"));
    let keys = keys();
    let programs = [Path::new(PROGRAM), Path::new(&other)];
    let agents = [0, 1].map(|index| {
        Agent::listen(
            sandbox.command(programs[index]),
            AGENTS[index],
            &keys.of(AGENTS[index]).display().to_string(),
            &keys.log(AGENTS[index]),
        )
    });
    let sweep = two_agents(&server)
        .in_network_of(&sandbox)
        .set("SECRET_FILE", keys.of_prime().display());
    let ended = assert_same_rate(sweep);
    let systems = ended.record().environments;
    let architectures: BTreeSet<_> = systems.iter().map(|e| &e.architecture).collect();
    assert_eq!(architectures.len(), 2, "{systems:?}");
    drop(agents);
}
