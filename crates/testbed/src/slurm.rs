//! A Slurm cluster on this machine: munge, the controller, and nodes.
//!
//! Every node is a slurmd with its own processes and host name; network and files are
//! the sandbox's. Keys, sockets, state and logs are in the sandbox's directory: no
//! service of the machine is used or affected.

use crate::daemon::Daemon;
use crate::processes::{self, Process};
use crate::tools::{BUSY_LIMIT, need, wait_until, write};
use crate::{Error, Result, Sandbox};
use rustix::process::Signal;
use std::fmt::Write as _;
use std::io::Read;
use std::net::Ipv4Addr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

/// An address in the sandbox's network: Slurm does not resolve even a numeric address
/// if there is only the loopback interface.
const ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 78, 0, 1);
const CONTROLLER: &str = "controller";
const CONTROLLER_PORT: u16 = 16_817;
/// The port of the first node; the others follow.
const NODE_PORT: u16 = 16_821;
const MOST_NODES: usize = 16;
/// May be more than the machine has: Slurm does not check it (`config_overrides`).
const NODE_CPUS: usize = 8;

/// The controller waits about a second before it contacts its nodes.
const START_LIMIT: Duration = BUSY_LIMIT;
/// munge's key, in bytes.
const KEY_LENGTH: u64 = 128;

/// A cluster with nodes `n1`, `n2`, ... in one partition. A sandbox can have only one.
#[derive(Debug)]
pub struct Slurm {
    // Dropped in this order.
    nodes: Vec<Node>,
    _controller: Daemon,
    _munge: Daemon,
    config: PathBuf,
    sandbox: Arc<Sandbox>,
}

/// A slurmd and its processes.
#[derive(Debug)]
struct Node {
    name: String,
    /// Its process namespace.
    namespace: u64,
    /// The processes of the fixture itself.
    own: Vec<u32>,
    daemon: Daemon,
}

impl Slurm {
    /// Starts a cluster, and waits until its nodes are idle.
    ///
    /// # Errors
    ///
    /// [`Error::Unavailable`] when not root or a package is missing; otherwise
    /// what failed, with the end of that program's log.
    pub fn start(sandbox: &Arc<Sandbox>, count: usize) -> Result<Slurm> {
        need(&[
            ("munged", "munge"),
            ("slurmctld", "slurmctld"),
            ("slurmd", "slurmd"),
            ("srun", "slurm-client"),
            ("timeout", "coreutils"),
        ])?;
        if !(1..=MOST_NODES).contains(&count) {
            let why = format!("{count} nodes; 1 to {MOST_NODES} are possible");
            return Err(Error::failed("start Slurm", why, ""));
        }
        let dir = sandbox.dir().join("slurm");
        std::fs::create_dir(&dir).map_err(Error::path("make", &dir))?;
        sandbox.set_up("prepare for Slurm", PREPARE, &[&format!("{ADDRESS}/24")])?;
        let munge = start_munge(sandbox, &dir)?;
        let config = configure(&dir, count)?;
        let config_arg = config.display().to_string();
        let controller = ["slurmctld", "-D", "-c", "-f", &config_arg];
        let controller = start_named(sandbox, CONTROLLER, &controller)?;
        let mut nodes = Vec::with_capacity(count);
        for number in 1..=count {
            let name = format!("n{number}");
            let daemon = ["slurmd", "-D", "-N", &name, "-f", &config_arg];
            let daemon = start_named(sandbox, &name, &daemon)?;
            nodes.push(Node {
                name,
                namespace: 0,
                own: Vec::new(),
                daemon,
            });
        }
        let mut slurm = Slurm {
            nodes,
            _controller: controller,
            _munge: munge,
            config,
            sandbox: Arc::clone(sandbox),
        };
        slurm.wait_for_nodes()?;
        Ok(slurm)
    }

    /// Waits until all nodes are idle, and records the fixture's own processes.
    fn wait_for_nodes(&mut self) -> Result<()> {
        let (count, log) = (self.nodes.len(), self.sandbox.dir().join("controller.log"));
        wait_until("Slurm's nodes", START_LIMIT, &log, || {
            for node in &mut self.nodes {
                node.daemon.check()?;
            }
            self._controller.check()?;
            let states = self.output_of(&["sinfo", "-h", "-N", "-o", "%T"]);
            let idle = states.map_or(0, |states| states.lines().filter(|s| *s == "idle").count());
            Ok((idle == count).then_some(()))
        })?;
        for node in &mut self.nodes {
            let gone = || Error::failed(&node.name, "its process 1 is not found", "");
            let pid = node.daemon.inner_pid().ok_or_else(gone)?;
            node.namespace = processes::namespace_of(pid)?;
            let own = processes::in_namespace(node.namespace)?;
            node.own = own.iter().map(|process| process.pid).collect();
        }
        Ok(())
    }

    /// The names of the nodes, in order: `SLURMD_NODENAME` and host name of the tasks
    /// there.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.nodes.iter().map(|node| node.name.as_str())
    }

    /// The configuration, for `SLURM_CONF`.
    #[must_use]
    pub fn config(&self) -> &Path {
        &self.config
    }

    /// An address by which the nodes reach programs in the sandbox, in addition to the
    /// loopback address.
    #[must_use]
    pub fn address(&self) -> Ipv4Addr {
        ADDRESS
    }

    /// The sandbox of the cluster.
    #[must_use]
    pub fn sandbox(&self) -> &Arc<Sandbox> {
        &self.sandbox
    }

    /// A command in the sandbox's network that uses this cluster: `srun`,
    /// `salloc`, or a program that starts them. Otherwise as
    /// [`Sandbox::command`].
    pub fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = self.sandbox.command(program);
        // The tests themselves may run under Slurm.
        for (name, _) in std::env::vars_os() {
            let name = name.to_string_lossy();
            if name.starts_with("SLURM") || name.starts_with("SRUN") || name.starts_with("SALLOC") {
                command.env_remove(name.as_ref());
            }
        }
        command.env("SLURM_CONF", &self.config);
        command
    }

    /// The processes on a node, without those of slurmd.
    ///
    /// # Errors
    ///
    /// When there is no such node.
    pub fn processes(&self, node: &str) -> Result<Vec<Process>> {
        let node = self.node(node)?;
        let mut found = processes::in_namespace(node.namespace)?;
        found.retain(|process| !node.own.contains(&process.pid));
        Ok(found)
    }

    /// Kills (SIGKILL) the processes of a node that have this name, the last
    /// part of the program's path, and returns their number.
    ///
    /// # Errors
    ///
    /// When there is no such node.
    pub fn kill_processes(&self, node: &str, name: &str) -> Result<usize> {
        let mut found = self.processes(node)?;
        found.retain(|process| process.name == name);
        processes::signal(&found, Signal::KILL);
        Ok(found.len())
    }

    /// The jobs, a line for each: number, state, name, nodes.
    ///
    /// # Errors
    ///
    /// What squeue reported.
    pub fn queue(&self) -> Result<Vec<String>> {
        let jobs = self.output_of(&["squeue", "-h", "-o", "%i %T %j %N"])?;
        Ok(jobs.lines().map(str::to_owned).collect())
    }

    /// Waits until no job is left, and no process on any node.
    ///
    /// # Errors
    ///
    /// [`Error::TimedOut`] with a list of what is left.
    pub fn wait_clean(&self, limit: Duration) -> Result<()> {
        processes::wait_for_none(
            "the end of all jobs and processes on the nodes",
            limit,
            || {
                let mut left = self.queue()?;
                for node in self.names() {
                    let found = self.processes(node)?;
                    left.extend(found.iter().map(|process| format!("{node}: {process}")));
                }
                Ok(left)
            },
        )
    }

    /// The output of one of Slurm's programs, which must succeed within [`BUSY_LIMIT`].
    fn output_of(&self, command: &[&str]) -> Result<String> {
        let done = self
            .command("timeout")
            .args(["-k", "1", &BUSY_LIMIT.as_secs().to_string()])
            .args(command)
            .stdin(Stdio::null())
            .output()
            .map_err(Error::io("start a program of Slurm"))?;
        if done.status.success() {
            return Ok(String::from_utf8_lossy(&done.stdout).into_owned());
        }
        let stderr = String::from_utf8_lossy(&done.stderr).into_owned();
        Err(Error::failed(
            command.join(" "),
            done.status.to_string(),
            stderr,
        ))
    }

    fn node(&self, name: &str) -> Result<&Node> {
        let found = self.nodes.iter().find(|node| node.name == name);
        found.ok_or_else(|| Error::failed("Slurm", format!("there is no node {name}"), ""))
    }
}

/// Starts munged with its own key and socket.
fn start_munge(sandbox: &Arc<Sandbox>, dir: &Path) -> Result<Daemon> {
    let mut key = Vec::new();
    std::fs::File::open("/dev/urandom")
        .and_then(|random| random.take(KEY_LENGTH).read_to_end(&mut key))
        .map_err(Error::io("read /dev/urandom"))?;
    let path = dir.join("munge.key");
    std::fs::write(&path, key).map_err(Error::path("write", &path))?;
    // munged refuses a key that other users can read.
    let owner_only = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(&path, owner_only).map_err(Error::path("protect", &path))?;
    let files = [
        ("--key-file", "munge.key"),
        ("--socket", "munge.socket"),
        ("--seed-file", "munge.seed"),
        ("--pid-file", "munge.pid"),
        ("--log-file", "munge.log"),
    ];
    let files = files.map(|(option, name)| format!("{option}={}", dir.join(name).display()));
    // --force: munged refuses a socket in a directory that only root can access; here
    // only root uses it.
    let mut args = vec!["--foreground", "--force"];
    args.extend(files.iter().map(String::as_str));
    let mut munge = Daemon::start(sandbox, "munged", "munged", &args)?;
    let socket = dir.join("munge.socket");
    munge.wait_for("its socket", START_LIMIT, |_| socket.exists().then_some(()))?;
    Ok(munge)
}

/// Starts a program with its own host name.
fn start_named(sandbox: &Arc<Sandbox>, name: &str, program: &[&str]) -> Result<Daemon> {
    let mut args = vec!["--uts", "--", "sh", "-c", NAMED, "init", name];
    args.extend(program);
    Daemon::start(sandbox, name, "unshare", &args)
}

/// Writes slurm.conf, and makes the state directory.
fn configure(dir: &Path, count: usize) -> Result<PathBuf> {
    let state = dir.join("state");
    std::fs::create_dir(&state).map_err(Error::path("make", &state))?;
    // Control groups are not used here. With version 2, which slurmd detects, it
    // requests one from systemd and fails; version 1 is not accessed until it is needed.
    write(dir.join("cgroup.conf"), "CgroupPlugin=cgroup/v1\n")?;
    let dir_arg = dir.display();
    let mut text = format!(
        "ClusterName=testbed\n\
         SlurmctldHost={CONTROLLER}(127.0.0.1)\n\
         SlurmctldPort={CONTROLLER_PORT}\n\
         SlurmUser=root\n\
         SlurmdUser=root\n\
         AuthType=auth/munge\n\
         AuthInfo=socket={dir_arg}/munge.socket\n\
         CredType=cred/munge\n\
         StateSaveLocation={dir_arg}/state\n\
         SlurmdSpoolDir={dir_arg}/spool.%n\n\
         SlurmctldPidFile={dir_arg}/slurmctld.pid\n\
         SlurmdPidFile={dir_arg}/slurmd.%n.pid\n\
         ProctrackType=proctrack/pgid\n\
         TaskPlugin=task/none\n\
         JobAcctGatherType=jobacct_gather/none\n\
         MpiDefault=none\n\
         MailProg=/bin/true\n\
         ReturnToService=2\n\
         KillWait=5\n\
         SelectType=select/cons_tres\n\
         SelectTypeParameters=CR_Core\n\
         SlurmdParameters=config_overrides\n"
    );
    for (number, port) in (1..=count).zip(NODE_PORT..) {
        let _ = writeln!(
            text,
            "NodeName=n{number} NodeHostname=n{number} NodeAddr=127.0.0.1 Port={port} \
             CPUs={NODE_CPUS} State=UNKNOWN"
        );
    }
    text.push_str("PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n");
    write(dir.join("slurm.conf"), &text)
}

const PREPARE: &str = r#"
ip link add name slurm type bridge
ip address add "$1" dev slurm
ip link set slurm up
"#;

/// Process 1 of a node, which collects orphans of slurmd.
const NAMED: &str = r#"
set -e
echo "$1" >/proc/sys/kernel/hostname
shift
"$@" &
wait $!
"#;
