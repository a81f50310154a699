//! Several hosts on one machine, with Debian's SSH server on each.
//!
//! A host is a set of namespaces inside a [`Sandbox`]: network, processes,
//! mounts, IPC and host name are its own, and so are its `/tmp`, `/run`, `/mnt`
//! and root's home; all other files are the machine's, read-only. The hosts'
//! links are connected by a switch in the sandbox's own network. The hosts reach
//! that network under the name `filer`: a server that runs in the sandbox
//! ([`crate::Ganesha::start_in`]) is found there.
//!
//! The program under test is started on the host `prime`. It has its own network,
//! names and home; its processes and files are the machine's.

mod faults;
mod host_root;
mod six;
mod ssh;

use crate::tools::{BUSY_LIMIT, need, search_path, wait_until};
use crate::{Error, Export, Result, Sandbox, ScriptOutput};
use host_root::HostRoot;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::fs::File;
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpStream};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

/// The host from which the program under test controls the others.
const PRIME: &str = "prime";
/// The hosts' name of the sandbox's own network.
const FILER: &str = "filer";
const FILER_ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);
const PRIME_ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 2);
/// The last number of the address of `h1`, minus 1.
const BEFORE_FIRST: u8 = 10;
/// The limit that one machine can run at reasonable speed.
const MOST_HOSTS: usize = 64;
/// Upper limit of the file system that the hosts share.
const SHARED_MIB: u32 = 1024;

/// All together take less than a second on an idle machine.
const START_LIMIT: Duration = BUSY_LIMIT;
/// A TCP port on which no host listens.
const CLOSED_PORT: u16 = 9;
/// Time limit of a script that a test runs on a host.
const SCRIPT_LIMIT_S: &str = "60";

/// Enters the prime's namespaces `$1` in the current directory and executes the
/// program in the same process: the child's pid is the program's. `$2` is the test's
/// pid: if that is no longer the parent, the test has ended and nothing is run.
const ENTER: &str = r#"
namespaces=$1 parent=$2 && shift 2
exec nsenter --net="$namespaces/net" --uts="$namespaces/uts" --mount="$namespaces/mnt" \
    --wdns="$(pwd -P)" -- setpriv --pdeathsig KILL -- \
    sh -c '[ "$PPID" = "$1" ] && shift && exec "$@"' sh "$parent" "$@"
"#;

/// `h1`, `h2`, ... and `prime`, in one sandbox, which can have only one such set.
#[derive(Debug)]
pub struct Hosts {
    clients: Vec<HostRoot>,
    prime: HostRoot,
    ssh: ssh::Client,
    /// The directory with the settings, a subdirectory for each host.
    dir: PathBuf,
    home: PathBuf,
    sandbox: Arc<Sandbox>,
}

impl Hosts {
    /// Starts client hosts `h1` to `hN`, and the prime.
    ///
    /// # Errors
    ///
    /// [`Error::Unavailable`] when not root or a package is missing; otherwise
    /// what failed, with the end of that host's log.
    pub fn start(sandbox: &Arc<Sandbox>, count: usize) -> Result<Hosts> {
        need(&[
            ("sshd", "openssh-server"),
            ("ssh", "openssh-client"),
            ("ssh-keygen", "openssh-client"),
            ("nsenter", "util-linux"),
            ("timeout", "coreutils"),
        ])?;
        if count > MOST_HOSTS {
            let why = format!("{count} are too many; {MOST_HOSTS} at most");
            return Err(Error::failed("start hosts", why, ""));
        }
        let dir = sandbox.dir().join("hosts");
        std::fs::create_dir(&dir).map_err(Error::path("make", &dir))?;
        let size = format!("{SHARED_MIB}m");
        sandbox.set_up(
            "prepare for hosts",
            PREPARE,
            &[&size, &prefixed(FILER_ADDRESS)],
        )?;

        let ssh = ssh::Client::new(&dir)?;
        let home = host_root::home_of_root()?;
        let names: Vec<(String, Ipv4Addr)> = (1..=count)
            .zip(BEFORE_FIRST + 1..)
            .map(|(number, last)| (format!("h{number}"), Ipv4Addr::new(10, 77, 0, last)))
            .collect();
        let shared = host_root::Settings::new(&dir, &names, &ssh, &home)?;
        let mut clients = Vec::with_capacity(count);
        for (name, address) in &names {
            clients.push(HostRoot::start(sandbox, &shared, name, *address)?);
        }
        let mut prime = HostRoot::start(sandbox, &shared, PRIME, PRIME_ADDRESS)?;
        for place in clients.iter_mut().chain([&mut prime]) {
            place.link(sandbox, START_LIMIT)?;
        }
        for place in clients.iter_mut().chain([&mut prime]) {
            place.wait(START_LIMIT)?;
        }
        for (name, address) in &names {
            ssh.add_known_host(name, *address, &dir.join(name).join("host_key"))?;
        }
        let hosts = Hosts {
            clients,
            prime,
            ssh,
            dir,
            home,
            sandbox: Arc::clone(sandbox),
        };
        hosts.wait_reachable()?;
        Ok(hosts)
    }

    /// Waits until packets of the prime reach each host and are answered. The kernel enables a port
    /// of the switch some time after its link is up: on a busy machine that takes longer than the
    /// 3 s after which ARP fails, and a connection with it ("No route to host").
    fn wait_reachable(&self) -> Result<()> {
        self.run(|| {
            for place in &self.clients {
                let address = (place.address, CLOSED_PORT).into();
                let what = format!("{}: the link from the prime", place.name);
                wait_until(&what, START_LIMIT, place.log_file(), || {
                    let refused = TcpStream::connect_timeout(&address, START_LIMIT)
                        .is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused);
                    Ok(refused.then_some(()))
                })?;
            }
            Ok(())
        })
    }

    /// The name of a host that resolves to its IPv6 address only.
    pub fn name_of_ipv6(host: &str) -> String {
        six::name(host)
    }

    /// The names of the client hosts, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.clients.iter().map(|place| place.name.as_str())
    }

    /// The address of a host, `prime` and `filer` included.
    ///
    /// # Errors
    ///
    /// When there is no such host.
    pub fn address(&self, host: &str) -> Result<Ipv4Addr> {
        if host == FILER {
            return Ok(FILER_ADDRESS);
        }
        self.place(host).map(|place| place.address)
    }

    /// The IPv6 address of a host, `prime` and `filer` included.
    ///
    /// # Errors
    ///
    /// When there is no such host.
    pub fn address_of_ipv6(&self, host: &str) -> Result<Ipv6Addr> {
        self.address(host).map(six::address)
    }

    /// A configuration for `ssh -F`: user root, the user's key, the hosts' keys;
    /// unknown keys are refused without a question. The prime's `~/.ssh/config` has
    /// the same text, so that `ssh h1` works there.
    #[must_use]
    pub fn ssh_config(&self) -> &Path {
        self.ssh.config()
    }

    /// An export of a server in the sandbox, at the address by which the hosts
    /// reach it; for a server that listens on all addresses, such as ganesha.
    #[must_use]
    pub fn export(&self, of: &Export) -> Export {
        Export {
            address: IpAddr::V4(FILER_ADDRESS),
            ..of.clone()
        }
    }

    /// The interface of the sandbox that all traffic between hosts uses, for
    /// [`crate::Capture`].
    #[must_use]
    pub fn interface(&self) -> &'static str {
        "switch"
    }

    /// The sandbox of the hosts.
    #[must_use]
    pub fn sandbox(&self) -> &Arc<Sandbox> {
        &self.sandbox
    }

    /// A command on the prime, otherwise like any child of the test: its own pid in
    /// [`std::process::Child::id`] for signals, the machine's files.
    ///
    /// It is killed when the *thread* that spawned it ends: wait for it in the
    /// same thread.
    pub fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new("sh");
        command
            .args(["-c", ENTER, "sh"])
            .arg(format!("/proc/{}/ns", self.prime.pid))
            .arg(std::process::id().to_string())
            .arg(program)
            .env("PATH", search_path())
            .env("HOME", &self.home)
            // The environment of the user who runs the tests must have no effect.
            .env_remove("SSH_AUTH_SOCK")
            .env_remove("SSH_ASKPASS")
            .env_remove("DISPLAY");
        command
    }

    /// Runs a function of the test in the prime's network: sockets that it
    /// opens, and threads and processes that it starts, are in it. Names of hosts
    /// are not resolved there; use addresses.
    ///
    /// # Panics
    ///
    /// When the function panics, with its message; and when the thread cannot
    /// enter the namespace.
    pub fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        let pid = self.prime.pid;
        let outcome = std::thread::scope(|scope| {
            scope
                .spawn(move || {
                    let network = File::open(format!("/proc/{pid}/ns/net"))
                        .expect("open the prime's network namespace");
                    move_into_link_name_space(network.as_fd(), Some(LinkNameSpaceType::Network))
                        .expect("enter the prime's network namespace");
                    work()
                })
                .join()
        });
        outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    /// A command on a client host, without SSH, like a local login. It is killed
    /// (SIGKILL) when the child or the thread that spawned it ends; its pid is not
    /// the child's.
    ///
    /// # Errors
    ///
    /// When there is no such client host.
    pub fn command_on(&self, host: &str, program: &str) -> Result<Command> {
        let place = self.client(host)?;
        let mut command = Command::new("setpriv");
        command
            .args(["--pdeathsig", "KILL", "--"])
            .args(["nsenter", "--target", &place.pid.to_string()])
            .args([
                "--net", "--uts", "--ipc", "--mount", "--pid", "--wdns=/", "--",
            ])
            .args(["setpriv", "--pdeathsig", "KILL", "--", program])
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
            .env("HOME", &self.home)
            .env("USER", "root");
        Ok(command)
    }

    /// Runs a shell script on a client host and waits for its end, without SSH.
    ///
    /// # Errors
    ///
    /// When there is no such client host. A script that fails, or that has not
    /// ended after a minute (status 124 or 137), is not an error here.
    pub fn run_on(&self, host: &str, script: &str) -> Result<ScriptOutput> {
        let inner = format!("exec 2>&1\n{script}");
        let done = self
            .command_on(host, "timeout")?
            .args(["-k", "1", SCRIPT_LIMIT_S, "sh", "-c", &inner])
            .stdin(Stdio::null())
            .output()
            .map_err(Error::io(format!("run a script on {host}")))?;
        Ok(ScriptOutput {
            status: done.status.code().unwrap_or(-1),
            output: String::from_utf8_lossy(&done.stdout).into_owned(),
        })
    }

    /// The path by which the test accesses a path of a host (or of `prime`).
    ///
    /// # Errors
    ///
    /// When there is no such host.
    pub fn outside(&self, host: &str, path: &str) -> Result<PathBuf> {
        let place = self.place(host)?;
        Ok(PathBuf::from(format!("/proc/{}/root{path}", place.pid)))
    }

    /// The path outside of [`Hosts::SHARED`], which stands for a file system that all
    /// hosts and the prime have mounted.
    #[must_use]
    pub fn shared_dir(&self) -> PathBuf {
        self.sandbox.inside("/run/shared")
    }

    /// The path outside of [`Hosts::OWN`] of a host, a directory that no other host
    /// has.
    ///
    /// # Errors
    ///
    /// When there is no such host.
    pub fn own_dir(&self, host: &str) -> Result<PathBuf> {
        self.outside(host, Hosts::OWN)
    }

    /// The directory that all hosts share.
    pub const SHARED: &'static str = "/mnt/shared";
    /// Root's password on every host; see [`Hosts::ask_password`].
    pub const PASSWORD: &'static str = "only for tests";
    /// A directory that each host has for itself.
    pub const OWN: &'static str = "/mnt/own";

    /// The inodes of all network namespaces: the sandbox's, the prime's and the
    /// hosts'. A process is in one of them if `/proc/PID/ns/net` has that inode.
    ///
    /// # Errors
    ///
    /// When a host has ended.
    pub fn network_ids(&self) -> Result<Vec<u64>> {
        let places = self.clients.iter().chain([&self.prime]);
        let mut ids = vec![self.sandbox.network_id()];
        for place in places {
            let path = format!("/proc/{}/ns/net", place.pid);
            let namespace = std::fs::metadata(&path).map_err(Error::path("look at", &path))?;
            ids.push(namespace.ino());
        }
        Ok(ids)
    }

    fn place(&self, host: &str) -> Result<&HostRoot> {
        if host == PRIME {
            return Ok(&self.prime);
        }
        self.client(host)
    }

    fn client(&self, host: &str) -> Result<&HostRoot> {
        let found = self.clients.iter().find(|place| place.name == host);
        found.ok_or_else(|| Error::failed("hosts", format!("there is no client host {host}"), ""))
    }
}

/// An address for `ip address add`.
fn prefixed(address: Ipv4Addr) -> String {
    format!("{address}/24")
}

/// In the sandbox: the shared file system, and the switch with the filer's address,
/// without a forwarding delay and without STP, so that links work immediately.
const PREPARE: &str = r#"
mkdir /run/shared
mount -t tmpfs -o "mode=1777,size=$1" tmpfs /run/shared
ip link add name switch type bridge forward_delay 0 stp_state 0
ip address add "$2" dev switch
ip link set switch up
"#;
