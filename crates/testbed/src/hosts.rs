//! Several hosts on one machine, with Debian's SSH server on each.
//!
//! A host is a set of namespaces inside a [`Sandbox`]: network, processes,
//! mounts, IPC and host name are its own, and so are its `/tmp`, `/run`, `/mnt`
//! and root's home; everything else of the machine is there, read-only. Links
//! of the hosts meet in a switch in the sandbox's own network, which is also a
//! host to them, called `filer`: a server that runs in the sandbox
//! ([`crate::Ganesha::start_in`]) is reached there.
//!
//! One host is special: `prime`, where the program under test is started. It
//! has its own network, names and home; its processes and files are the
//! machine's.

mod faults;
mod host_root;
mod six;
mod ssh;

use crate::tools::{need, search_path};
use crate::{Error, Export, Result, Sandbox, ScriptOutput};
use host_root::HostRoot;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::fs::File;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

/// The host from which the program under test drives the others.
const PRIME: &str = "prime";
/// The sandbox's own network, as the hosts know it.
const FILER: &str = "filer";
const FILER_ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);
const PRIME_ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 2);
/// The last number of the address before `h1`'s.
const BEFORE_FIRST: u8 = 10;
/// More would only show how slow the machine is.
const MOST_HOSTS: usize = 64;
/// Upper limit of the file system that the hosts share.
const SHARED_MIB: u32 = 1024;

/// All together take less than a second on an idle machine.
const START_LIMIT: Duration = Duration::from_secs(30);
/// A script that a test runs on a host.
const SCRIPT_LIMIT_S: &str = "60";

/// Enters the prime's namespaces `$1` in the present directory and stays one
/// process: the child's pid is the program's. `$2` is the test's pid: if that
/// is no longer the parent, there is nobody left to run for.
const ENTER: &str = r#"
namespaces=$1 parent=$2 && shift 2
exec nsenter --net="$namespaces/net" --uts="$namespaces/uts" --mount="$namespaces/mnt" \
    --wdns="$(pwd -P)" -- setpriv --pdeathsig KILL -- \
    sh -c '[ "$PPID" = "$1" ] && shift && exec "$@"' sh "$parent" "$@"
"#;

/// `h1`, `h2`, ... and `prime`, in one sandbox; there is room for one such set.
#[derive(Debug)]
pub struct Hosts {
    clients: Vec<HostRoot>,
    prime: HostRoot,
    ssh: ssh::Client,
    /// The settings of all: a directory for each host.
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
            ssh.know(name, *address, &dir.join(name).join("host_key"))?;
        }
        Ok(Hosts {
            clients,
            prime,
            ssh,
            dir,
            home,
            sandbox: Arc::clone(sandbox),
        })
    }

    /// The name of a host that leads to its IPv6 address, and to nothing else.
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

    /// The same of IPv6.
    ///
    /// # Errors
    ///
    /// When there is no such host.
    pub fn address_of_ipv6(&self, host: &str) -> Result<Ipv6Addr> {
        self.address(host).map(six::address)
    }

    /// A configuration for `ssh -F`: user root, the user's key, the hosts' keys;
    /// nothing is asked about unknown keys. The prime's `~/.ssh/config` is the
    /// same, so that there a plain `ssh h1` works as well.
    #[must_use]
    pub fn ssh_config(&self) -> &Path {
        self.ssh.config()
    }

    /// An export of a server in the sandbox, at the address by which the hosts
    /// reach it; for a server that listens on all addresses, as ganesha does.
    #[must_use]
    pub fn export(&self, of: &Export) -> Export {
        Export {
            address: IpAddr::V4(FILER_ADDRESS),
            ..of.clone()
        }
    }

    /// The interface of the sandbox that all traffic between hosts takes, for
    /// [`crate::Capture`].
    #[must_use]
    pub fn interface(&self) -> &'static str {
        "switch"
    }

    /// The namespaces that all of it runs in.
    #[must_use]
    pub fn sandbox(&self) -> &Arc<Sandbox> {
        &self.sandbox
    }

    /// A command in the prime's place, otherwise like any child of the test: its
    /// own pid in [`std::process::Child::id`] for signals, the machine's files.
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
            // What the person who runs the tests has must not help.
            .env_remove("SSH_AUTH_SOCK")
            .env_remove("SSH_ASKPASS")
            .env_remove("DISPLAY");
        command
    }

    /// Runs a function of the test in the prime's network: sockets that it
    /// opens, and threads and processes that it starts, are inside. Names of
    /// hosts are not known there, only their addresses.
    ///
    /// # Panics
    ///
    /// When the function does, with its message; and when the thread cannot
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

    /// A command on a client host, past SSH: as if somebody sat there. It dies,
    /// by SIGKILL, with the child and with the thread that spawned it; its pid is
    /// not the child's.
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

    /// Runs a shell script on a client host to its end, past SSH.
    ///
    /// # Errors
    ///
    /// When there is no such client host. A script that fails, or that is not
    /// done after a minute (status 124 or 137), is not an error here.
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

    /// A path of a host (or of `prime`), for the test to look at from outside.
    ///
    /// # Errors
    ///
    /// When there is no such host.
    pub fn outside(&self, host: &str, path: &str) -> Result<PathBuf> {
        let place = self.place(host)?;
        Ok(PathBuf::from(format!("/proc/{}/root{path}", place.pid)))
    }

    /// What every host, and the prime, has as [`Hosts::SHARED`], seen from
    /// outside: it plays a file system that all of them have mounted.
    #[must_use]
    pub fn shared_dir(&self) -> PathBuf {
        self.sandbox.inside("/run/shared")
    }

    /// What a host has as [`Hosts::OWN`], seen from outside: a directory that is
    /// no other host's.
    ///
    /// # Errors
    ///
    /// When there is no such host.
    pub fn own_dir(&self, host: &str) -> Result<PathBuf> {
        self.outside(host, Hosts::OWN)
    }

    /// Where every host sees the same directory.
    pub const SHARED: &'static str = "/mnt/shared";
    /// Root's password on every host, for who gives it to SSH; see
    /// [`Hosts::ask_password`].
    pub const PASSWORD: &'static str = "only for tests";
    /// Where every host sees a directory of its own.
    pub const OWN: &'static str = "/mnt/own";

    /// The inodes of all network namespaces, the sandbox's, the prime's and the
    /// hosts': the numbers under `/proc/PID/ns/net` say that a process is in them.
    ///
    /// # Errors
    ///
    /// When a host is gone.
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

/// An address as `ip address add` takes it.
fn prefixed(address: Ipv4Addr) -> String {
    format!("{address}/24")
}

/// In the sandbox: the shared file system, and the switch with the filer's
/// address. It must learn nothing and wait for nothing when a link comes up.
const PREPARE: &str = r#"
mkdir /run/shared
mount -t tmpfs -o "mode=1777,size=$1" tmpfs /run/shared
ip link add name switch type bridge forward_delay 0 stp_state 0
ip address add "$2" dev switch
ip link set switch up
"#;
