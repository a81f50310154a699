//! One host: its namespaces, its settings and its link to the switch.

use super::{FILER, FILER_ADDRESS, PRIME, PRIME_ADDRESS, prefixed, six, ssh};
use crate::daemon::Daemon;
use crate::processes;
use crate::tools::{log_tail, write};
use crate::{Error, Result, Sandbox};
use std::fmt::Write as _;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

const INIT: &str = include_str!("../../scripts/host-init.sh");

/// The last program that `scripts/host-init.sh` starts; it waits for its end.
const LAST_PROGRAM: &str = "cat";

/// Names are resolved from the hosts file only: there is no name server.
const NSSWITCH: &str = "passwd: files\ngroup: files\nshadow: files\nhosts: files\n";

/// Root's password is [`Hosts::PASSWORD`], hashed by crypt(3).
const SHADOW: &str = "root:$6$filermark$93SwaNVK9NnukY4u1QZqbp3ma6sUpflzyjSBQnByCS6bIQbOtLa18HRjUCoBb0xmmDxHZU/ameqFsSLZJH.p0/:19000:0:99999:7:::\n\
     sshd:*:19000:0:99999:7:::\n";

/// A host, or the prime.
#[derive(Debug)]
pub(super) struct HostRoot {
    pub(super) name: String,
    pub(super) address: Ipv4Addr,
    /// Its process 1, with its pid in the machine's namespace.
    pub(super) pid: u32,
    /// Its process namespace.
    pub(super) namespace: u64,
    /// The processes of the fixture itself.
    pub(super) own: Vec<u32>,
    daemon: Daemon,
}

/// The input for the settings of all hosts.
pub(super) struct Settings {
    dir: PathBuf,
    /// The script that is every host's process 1.
    init: String,
    hosts: String,
    user_key: String,
    ssh_config: String,
    home: String,
    /// Directories of the machine that must stay visible on every host.
    visible: Vec<String>,
}

impl Settings {
    pub(super) fn new(
        dir: &Path,
        names: &[(String, Ipv4Addr)],
        ssh: &ssh::Client,
        home: &Path,
    ) -> Result<Settings> {
        let mut hosts = String::from("127.0.0.1 localhost\n::1 localhost\n");
        let fixed = [(FILER, FILER_ADDRESS), (PRIME, PRIME_ADDRESS)];
        let clients = names
            .iter()
            .map(|(name, address)| (name.as_str(), *address));
        for (name, address) in fixed.into_iter().chain(clients) {
            let _ = writeln!(hosts, "{address} {name}");
            let _ = writeln!(hosts, "{} {}", six::address(address), six::name(name));
        }
        let config = ssh.config();
        let init = write(dir.join("host-init"), INIT)?;
        Ok(Settings {
            dir: dir.to_owned(),
            init: init.display().to_string(),
            hosts,
            user_key: ssh.public_key()?,
            ssh_config: std::fs::read_to_string(config).map_err(Error::path("read", config))?,
            home: home.display().to_string(),
            visible: visible(),
        })
    }

    /// Makes the directory of one host.
    fn make(&self, name: &str, address: Ipv4Addr) -> Result<PathBuf> {
        let dir = self.dir.join(name);
        std::fs::create_dir(&dir).map_err(Error::path("make", &dir))?;
        write(dir.join("hosts"), &self.hosts)?;
        write(dir.join("nsswitch.conf"), NSSWITCH)?;
        write(dir.join("shadow"), SHADOW)?;
        if name == PRIME {
            write(dir.join("ssh_config"), &self.ssh_config)?;
        } else {
            write(dir.join("authorized_keys"), &self.user_key)?;
            write(dir.join("sshd_config"), &ssh::server_config(address))?;
            ssh::make_key(&dir.join("host_key"), name)?;
        }
        Ok(dir)
    }
}

impl HostRoot {
    /// Starts a host that waits for its link.
    pub(super) fn start(
        sandbox: &Arc<Sandbox>,
        settings: &Settings,
        name: &str,
        address: Ipv4Addr,
    ) -> Result<HostRoot> {
        let dir = settings.make(name, address)?.display().to_string();
        let (address_arg, gateway) = (prefixed(address), FILER_ADDRESS.to_string());
        let six_arg = format!("{}/64", six::address(address));
        let mut args = vec!["--net", "--uts", "--ipc", "--", "sh", &settings.init];
        args.extend([name, &address_arg, &six_arg, &gateway, &settings.home, &dir]);
        args.extend(settings.visible.iter().map(String::as_str));
        let daemon = Daemon::start(sandbox, name, "unshare", &args)?;
        Ok(HostRoot {
            name: name.to_owned(),
            address,
            pid: 0,
            namespace: 0,
            own: Vec::new(),
            daemon,
        })
    }

    /// Connects it to the switch, by a port with the name of the host.
    pub(super) fn link(&mut self, sandbox: &Sandbox, limit: Duration) -> Result<()> {
        let daemon = &mut self.daemon;
        daemon.wait_for("its namespaces", limit, |output| {
            output.contains("testbed: no network yet").then_some(())
        })?;
        let gone = || Error::failed(&self.name, "its process 1 is not found", "");
        self.pid = daemon.inner_pid().ok_or_else(gone)?;
        self.namespace = processes::namespace_of(self.pid)?;
        let done = sandbox
            .command("sh")
            .args(["-euc", LINK, "link", &self.name, &self.pid.to_string()])
            .stdin(Stdio::null())
            .output()
            .map_err(Error::io("start ip"))?;
        if !done.status.success() {
            let stderr = String::from_utf8_lossy(&done.stderr).into_owned();
            let what = format!("link {} to the switch", self.name);
            return Err(Error::failed(what, done.status.to_string(), stderr));
        }
        daemon.send_line("go on")
    }

    /// Waits until its SSH server listens.
    pub(super) fn wait(&mut self, limit: Duration) -> Result<()> {
        let prime = self.name == PRIME;
        self.daemon.wait_for("its SSH server", limit, |output| {
            // On both addresses.
            let serves = prime || output.matches("Server listening on").count() > 1;
            (serves && output.contains("testbed: ready")).then_some(())
        })?;
        self.own = self.wait_for_last_program(limit)?;
        Ok(())
    }

    /// Its processes, after the last of them has started: the script prints that it is
    /// ready before that.
    fn wait_for_last_program(&self, limit: Duration) -> Result<Vec<u32>> {
        let since = Instant::now();
        loop {
            let own = processes::in_namespace(self.namespace)?;
            if own.iter().any(|process| process.name == LAST_PROGRAM) {
                return Ok(own.iter().map(|process| process.pid).collect());
            }
            if since.elapsed() > limit {
                let what = "the last program of its init does not start";
                return Err(Error::failed(&self.name, what, format!("{own:?}")));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// The file with the output of its init and of its SSH server.
    pub(super) fn log_file(&self) -> &Path {
        self.daemon.log()
    }

    /// The end of the output of its init and of its SSH server.
    pub(super) fn log(&self) -> String {
        log_tail(self.daemon.log())
    }
}

/// Root's home directory, from this machine's /etc/passwd.
pub(super) fn home_of_root() -> Result<PathBuf> {
    let accounts = std::fs::read_to_string("/etc/passwd").map_err(Error::io("read /etc/passwd"))?;
    let root = accounts.lines().find(|line| line.starts_with("root:"));
    let home = root.and_then(|line| line.split(':').nth(5));
    Ok(PathBuf::from(home.unwrap_or("/root")))
}

/// The repository and the target directory, in which the program under test is; they may
/// be below a home directory or `/tmp`.
fn visible() -> Vec<String> {
    let tests = std::env::current_exe().ok();
    let target = tests
        .as_deref()
        .and_then(Path::parent)
        .and_then(Path::parent);
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2);
    let outside = |dir: &Path| repository.is_none_or(|repository| !dir.starts_with(repository));
    repository
        .into_iter()
        .chain(target.filter(|dir| outside(dir)))
        .filter(|dir| dir.is_dir())
        .map(|dir| dir.display().to_string())
        .collect()
}

/// The host's end is created in the host's namespace.
const LINK: &str = r#"
ip link add name "$1" type veth peer name eth0 netns "$2"
ip link set "$1" master switch
ip link set "$1" up
"#;
