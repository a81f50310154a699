//! Open vSwitch: a switch with sFlow, and two hosts on it.
//!
//! Its datapath runs in user space, without the kernel module. Each host is a network
//! namespace with one end of a veth pair; the other end, named after the host, is a port of
//! the switch in the sandbox's own network. The kernel's counters of that end
//! ([`Switch::bytes`]) must agree with the switch's counters.

use crate::daemon::Daemon;
use crate::sandbox::run_in;
use crate::tools::{BUSY_LIMIT, need, search_path, wait_until};
use crate::{Error, Result, Sandbox};
use std::ffi::OsStr;
use std::fs::File;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

/// The start takes half a second on an idle machine.
const START_LIMIT: Duration = BUSY_LIMIT;
/// The address of the sandbox's own network on the switch.
const OWN: &str = "10.78.0.3/24";
/// Debian's path of the schema of its database.
const SCHEMA: &str = "/usr/share/openvswitch/vswitch.ovsschema";

/// A switch with the hosts `client` and `server`.
#[derive(Debug)]
pub struct Switch {
    dir: PathBuf,
    /// Dropped before the database that it reads.
    _switch: Daemon,
    _database: Daemon,
    sandbox: Arc<Sandbox>,
}

/// Settings of sFlow.
#[derive(Debug, Clone, Copy)]
pub struct SflowOptions {
    /// Seconds between two readings of an interface's counters.
    pub polling_s: u32,
    /// One of this number of packets is sampled.
    pub sampling: u32,
}

impl Switch {
    /// The host that generates load.
    pub const CLIENT: &'static str = "client";
    /// The host that serves.
    pub const SERVER: &'static str = "server";

    /// Starts it in a sandbox that other fixtures share; a sandbox can have only one.
    ///
    /// # Errors
    ///
    /// [`Error::Unavailable`] when not root or a package is missing; otherwise what failed.
    pub fn start_in(sandbox: &Arc<Sandbox>) -> Result<Switch> {
        need(&[
            ("ovsdb-server", "openvswitch-switch"),
            ("ovs-vswitchd", "openvswitch-switch"),
            ("ovs-vsctl", "openvswitch-common"),
            ("ethtool", "ethtool"),
            ("ip", "iproute2"),
        ])?;
        let dir = sandbox.dir().join("switch");
        std::fs::create_dir(&dir).map_err(Error::path("make", &dir))?;
        let place = dir.display().to_string();
        sandbox.set_up("make the switch's database", DATABASE, &[&place, SCHEMA])?;
        let database = database(sandbox, &dir)?;
        let switch = switch(sandbox, &dir)?;
        let hosts = [Self::CLIENT, Self::SERVER];
        sandbox.set_up("make the switch's bridge", BRIDGE, &[&place, OWN])?;
        for host in hosts {
            let address = format!("{}/24", Self::address(host));
            sandbox.set_up("link a host", HOST, &[&place, host, &address])?;
        }
        Ok(Switch {
            dir,
            _switch: switch,
            _database: database,
            sandbox: Arc::clone(sandbox),
        })
    }

    /// The address of a host.
    #[must_use]
    pub fn address(host: &str) -> Ipv4Addr {
        let last = if host == Self::SERVER { 2 } else { 1 };
        Ipv4Addr::new(10, 78, 0, last)
    }

    /// Starts sFlow to a collector in the sandbox's own network. The collector must listen
    /// before: datagrams are lost without a listener.
    ///
    /// # Errors
    ///
    /// What `ovs-vsctl` reported.
    pub fn send_sflow_to(&self, collector: SocketAddr, options: SflowOptions) -> Result<()> {
        let place = self.dir.display().to_string();
        let collector = collector.to_string();
        let (polling, sampling) = (options.polling_s.to_string(), options.sampling.to_string());
        self.sandbox.set_up(
            "switch sFlow on",
            SFLOW,
            &[&place, &collector, &polling, &sampling],
        )
    }

    /// Stops sFlow.
    ///
    /// # Errors
    ///
    /// What `ovs-vsctl` reported.
    pub fn stop_sflow(&self) -> Result<()> {
        let place = self.dir.display().to_string();
        self.sandbox.set_up("switch sFlow off", NO_SFLOW, &[&place])
    }

    /// A command in a host's network, otherwise like any child of the test. It is killed
    /// when the thread that spawned it ends.
    #[must_use]
    pub fn command(&self, host: &str, program: impl AsRef<OsStr>) -> Command {
        let network = self.sandbox.inside(&format!("/run/netns/{host}"));
        let mut command = Command::new("nsenter");
        command
            .arg(format!("--net={}", network.display()))
            .args(["--", "setpriv", "--pdeathsig", "KILL", "--"])
            .arg(program)
            .env("PATH", search_path());
        command
    }

    /// Runs a function of the test in a host's network: sockets that it opens, and threads
    /// and processes that it starts, are in it.
    ///
    /// # Errors
    ///
    /// When the host does not exist any more.
    ///
    /// # Panics
    ///
    /// When the function panics, with its message.
    pub fn run<T: Send>(&self, host: &str, work: impl FnOnce() -> T + Send) -> Result<T> {
        let path = self.sandbox.inside(&format!("/run/netns/{host}"));
        let network = File::open(&path).map_err(Error::path("open", &path))?;
        Ok(run_in(network.as_fd(), work))
    }

    /// ifIndex of a host's port, which the switch's agent reports.
    ///
    /// # Errors
    ///
    /// When /sys has no such number.
    pub fn if_index(&self, host: &str) -> Result<u32> {
        let name = format!("/sys/class/net/{host}/ifindex");
        let number = self.read(&name)?;
        u32::try_from(number).map_err(|_| Error::failed("ifindex", number.to_string(), ""))
    }

    /// Bytes that the switch received from a host, and sent to it, by the kernel's
    /// counters of the switch's end of the veth pair.
    ///
    /// # Errors
    ///
    /// When /sys has no such counters.
    pub fn bytes(&self, host: &str) -> Result<(u64, u64)> {
        let count = |way: &str| self.read(&format!("/sys/class/net/{host}/statistics/{way}_bytes"));
        Ok((count("rx")?, count("tx")?))
    }

    /// A number of the sandbox's own /sys.
    fn read(&self, path: &str) -> Result<u64> {
        let output = self
            .sandbox
            .command("unshare")
            .args(["--mount", "--", "sh", "-euc", SYS, "sys", path])
            .stdin(Stdio::null())
            .output()
            .map_err(Error::io("start unshare"))?;
        let text = String::from_utf8_lossy(&output.stdout);
        text.trim().parse().map_err(|_| {
            let stderr = String::from_utf8_lossy(&output.stderr);
            Error::failed(path, output.status.to_string(), format!("{text}{stderr}"))
        })
    }

    /// The sandbox of the switch.
    #[must_use]
    pub fn sandbox(&self) -> &Arc<Sandbox> {
        &self.sandbox
    }
}

/// The directories that its programs use, for their environment.
fn environment(dir: &Path) -> [String; 3] {
    let dir = dir.display();
    ["OVS_RUNDIR", "OVS_LOGDIR", "OVS_DBDIR"].map(|name| format!("{name}={dir}"))
}

fn database(sandbox: &Arc<Sandbox>, dir: &Path) -> Result<Daemon> {
    let socket = dir.join("db.sock");
    let remote = format!("--remote=punix:{}", socket.display());
    let file = dir.join("conf.db").display().to_string();
    start(sandbox, dir, "ovsdb-server", &[&remote, &file], &socket)
}

fn switch(sandbox: &Arc<Sandbox>, dir: &Path) -> Result<Daemon> {
    let remote = format!("unix:{}", dir.join("db.sock").display());
    let control = dir.join("switch.ctl");
    let unixctl = format!("--unixctl={}", control.display());
    start(sandbox, dir, "ovs-vswitchd", &[&unixctl, &remote], &control)
}

/// Starts one of its programs and waits for the socket that it makes.
fn start(
    sandbox: &Arc<Sandbox>,
    dir: &Path,
    program: &str,
    args: &[&str],
    socket: &Path,
) -> Result<Daemon> {
    let environment = environment(dir);
    let mut words: Vec<&str> = environment.iter().map(String::as_str).collect();
    words.push(program);
    words.extend(args);
    let mut daemon = Daemon::start(sandbox, program, "env", &words)?;
    let log = daemon.log().to_owned();
    wait_until(&format!("{program}'s socket"), START_LIMIT, &log, || {
        daemon.check()?;
        Ok(socket.exists().then_some(()))
    })?;
    Ok(daemon)
}

const DATABASE: &str = r#"
ovsdb-tool create "$1/conf.db" "$2"
"#;

const BRIDGE: &str = r#"
ovs-vsctl --db="unix:$1/db.sock" --timeout=20 --no-wait init
ovs-vsctl --db="unix:$1/db.sock" --timeout=20 add-br br0 -- set bridge br0 datapath_type=netdev
ethtool -K br0 tx off tso off gso off gro off >/dev/null
ip address add "$2" dev br0
ip link set br0 up
"#;

/// Offloads are off: the datapath in user space computes no checksums and does not segment
/// large packets, which the kernel leaves to the network card.
const HOST: &str = r#"
ip netns add "$2"
ip link add name "$2" type veth peer name eth0 netns "$2"
ip -n "$2" address add "$3" dev eth0
ip netns exec "$2" ethtool -K eth0 tx off tso off gso off gro off >/dev/null
ethtool -K "$2" tx off tso off gso off gro off >/dev/null
ip -n "$2" link set lo up
ip -n "$2" link set eth0 up
ip link set "$2" up
ovs-vsctl --db="unix:$1/db.sock" --timeout=20 add-port br0 "$2"
"#;

const SFLOW: &str = r#"
ovs-vsctl --db="unix:$1/db.sock" --timeout=20 -- --id=@s create sflow agent=lo \
    target="\"$2\"" header=128 polling="$3" sampling="$4" -- set bridge br0 sflow=@s
"#;

const NO_SFLOW: &str = r#"
ovs-vsctl --db="unix:$1/db.sock" --timeout=20 -- clear bridge br0 sflow
"#;

/// /sys shows the interfaces of the network namespace in which it was mounted.
const SYS: &str = r#"
mount -n -t sysfs sysfs /sys
cat "$1"
"#;
