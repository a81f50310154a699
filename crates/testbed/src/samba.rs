//! Samba's smbd, SMB1 to 3.1.1.
//!
//! It has its own configuration, users, passwords and state, and listens only in a
//! sandbox. `options` writes smb.conf, `start` starts the server, `status` reads
//! smbstatus, `logons` reads the log.

mod logons;
mod options;
mod start;
mod status;

use crate::daemon::Daemon;
use crate::processes::{self, Process};
use crate::tools::{BUSY_LIMIT, need, search_path, write};
use crate::{Error, Kdc, Result, Sandbox};
pub use logons::Logon;
pub use options::{SambaOptions, SmbEncryption, SmbGuests, SmbSigning};
use options::{SambaPaths, configuration};
use rustix::process::Signal;
use start::{add_user, client_configuration, kerberos_lines, make_shares, start_server};
pub use status::{SmbOpenFile, SmbProtection, SmbSession, SmbStatus, SmbTree};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

/// It takes about 0.3 s on an idle machine.
const START_LIMIT: Duration = BUSY_LIMIT;

/// Space of the share [`Samba::SMALL`], in MiB.
const SMALL_MIB: u32 = 4;

/// A running smbd with its children, one for each connection.
#[derive(Debug)]
pub struct Samba {
    options: SambaOptions,
    places: SambaPaths,
    config: PathBuf,
    client_config: PathBuf,
    log: PathBuf,
    _server: Daemon,
    /// smbd's pid in the machine's namespace.
    pid: u32,
    sandbox: Arc<Sandbox>,
}

impl Samba {
    /// The user that tests log in as.
    pub const USER: &'static str = "alice";
    /// The password of [`Samba::USER`].
    pub const PASSWORD: &'static str = "Sesame-7!";
    /// Another user, the only one with access to the share [`Samba::BOB`].
    pub const OTHER_USER: &'static str = "bob";
    /// The password of [`Samba::OTHER_USER`].
    pub const OTHER_PASSWORD: &'static str = "Open-up-8?";
    /// The workgroup; a login works with any domain.
    pub const DOMAIN: &'static str = "TESTGROUP";

    /// The default port. Not the standard one, to detect a client that ignores its
    /// configuration.
    pub const PORT: u16 = options::PORT;
    /// The standard port. On any other port, tshark reads the length of a message as that
    /// of NetBIOS, which has 17 bits, and fails to decode what follows a longer message.
    pub const STANDARD_PORT: u16 = 445;

    /// The share for general use, empty at first.
    pub const DATA: &'static str = "data";
    /// A second share of this kind, on its own file system.
    pub const SECOND: &'static str = "second";
    /// The files of `data`; nothing can be changed.
    pub const READ_ONLY: &'static str = "readonly";
    /// The files of `data`; the share, not the session, has to be encrypted.
    pub const SEALED: &'static str = "sealed";
    /// A share with 4 MiB of space, for tests that fill it.
    pub const SMALL: &'static str = "small";
    /// A share for `bob` only.
    pub const BOB: &'static str = "bob";
    /// A root of DFS: `elsewhere` in it is a referral to `data`.
    pub const DFS: &'static str = "dfs";
    /// A share for guests, which exists if [`SambaOptions::guests`] allows them.
    pub const GUEST: &'static str = "guest";

    /// Starts a server in a sandbox of its own.
    ///
    /// # Errors
    ///
    /// [`Error::Unavailable`] when not root or a package is missing; otherwise what
    /// failed, with the end of smbd's log.
    pub fn start(options: SambaOptions) -> Result<Samba> {
        Samba::start_in(&Sandbox::new()?, options)
    }

    /// Starts a server in a sandbox that other fixtures share. There can be several, on
    /// different ports.
    ///
    /// # Errors
    ///
    /// As [`Samba::start`].
    pub fn start_in(sandbox: &Arc<Sandbox>, options: SambaOptions) -> Result<Samba> {
        Samba::start_with(sandbox, options, None)
    }

    /// Starts a server in a KDC's sandbox that accepts tickets of its realm, and
    /// passwords.
    ///
    /// # Errors
    ///
    /// As [`Samba::start`].
    pub fn start_kerberos(kdc: &Kdc, options: SambaOptions) -> Result<Samba> {
        Samba::start_with(kdc.sandbox(), options, Some(kdc))
    }

    fn start_with(
        sandbox: &Arc<Sandbox>,
        options: SambaOptions,
        kdc: Option<&Kdc>,
    ) -> Result<Samba> {
        need(&[
            ("smbd", "samba"),
            ("smbpasswd", "samba-common-bin"),
            ("smbstatus", "samba-common-bin"),
            ("smbclient", "smbclient"),
        ])?;
        let name = format!("samba-{}", options.port);
        let run = format!("/run/{name}");
        let log = sandbox.dir().join(format!("{name}.log"));
        let places = SambaPaths {
            run: run.clone(),
            log: log.display().to_string(),
            kerberos: kdc.map(kerberos_lines).unwrap_or_default(),
        };
        let config = sandbox.dir().join(format!("{name}.conf"));
        let config = write(config, &configuration(&options, &places))?;
        let client_config = client_configuration(sandbox, &name)?;
        make_shares(sandbox, &run, options.space_mib)?;
        for (user, password) in [
            (Samba::USER, Samba::PASSWORD),
            (Samba::OTHER_USER, Samba::OTHER_PASSWORD),
        ] {
            add_user(sandbox, &config, user, password)?;
        }
        let (server, pid) = start_server(sandbox, &name, &config, &log, options.port, kdc)?;
        Ok(Samba {
            options,
            places,
            config,
            client_config,
            log,
            _server: server,
            pid,
            sandbox: Arc::clone(sandbox),
        })
    }

    /// Address and port over IPv4.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), self.options.port)
    }

    /// Address and port over IPv6.
    #[must_use]
    pub fn address_v6(&self) -> SocketAddr {
        SocketAddr::new(IpAddr::V6(Ipv6Addr::LOCALHOST), self.options.port)
    }

    /// The TCP port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.options.port
    }

    /// A share in the form of MNT_POINTS in an rc file, with backslashes; over IPv4.
    #[must_use]
    pub fn mount_point(&self, share: &str) -> String {
        format!(r"\\{}\{share}", self.address().ip())
    }

    /// The path of a share's directory on the host.
    #[must_use]
    pub fn files(&self, share: &str) -> PathBuf {
        let directory = match share {
            Samba::READ_ONLY | Samba::SEALED => Samba::DATA,
            other => other,
        };
        let inside = format!("{}/{directory}", self.places.run);
        self.sandbox.inside(&inside)
    }

    /// The interface that its traffic uses, for [`crate::Capture`].
    #[must_use]
    pub fn interface(&self) -> &'static str {
        "lo"
    }

    /// smbd's log so far; each entry has a header line and a text line.
    #[must_use]
    pub fn log(&self) -> String {
        match std::fs::read(&self.log) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(error) => format!("(no log {}: {error})", self.log.display()),
        }
    }

    /// The namespaces it runs in.
    #[must_use]
    pub fn sandbox(&self) -> &Arc<Sandbox> {
        &self.sandbox
    }

    /// Its smb.conf, for tools such as `testparm`.
    #[must_use]
    pub fn config(&self) -> &Path {
        &self.config
    }

    /// Every attempt to log in so far, in order.
    #[must_use]
    pub fn logons(&self) -> Vec<Logon> {
        logons::read(&self.log())
    }

    /// The sessions, how their messages are protected, and the open files, from
    /// smbstatus. Takes some 70 ms.
    ///
    /// # Errors
    ///
    /// When smbstatus fails, or its output is not as expected.
    pub fn status(&self) -> Result<SmbStatus> {
        let config = self.config.display().to_string();
        let json = self.run_tool("smbstatus", &["-s", &config, "--json"])?;
        SmbStatus::read(&json)
    }

    /// Changes the options of the running server, but not its port and space. They
    /// apply to new connections; existing ones keep what they negotiated.
    ///
    /// # Errors
    ///
    /// When smb.conf cannot be written or smbd has ended.
    pub fn reload(&mut self, options: SambaOptions) -> Result<()> {
        self.options = SambaOptions {
            port: self.options.port,
            space_mib: self.options.space_mib,
            ..options
        };
        let text = configuration(&self.options, &self.places);
        self.config = write(self.config.clone(), &text)?;
        let config = self.config.display().to_string();
        self.run_tool("smbcontrol", &["-s", &config, "all", "reload-config"])
            .map(drop)
    }

    /// Kills the child that serves a connection, which is then closed. `pid` is
    /// [`SmbSession::pid`].
    ///
    /// # Errors
    ///
    /// When there is no such child.
    pub fn kill_connection(&self, pid: u32) -> Result<()> {
        processes::signal(&[self.child(pid)?], Signal::KILL);
        Ok(())
    }

    /// Stops the child that serves a connection (SIGSTOP): TCP accepts what the client
    /// sends, but there are no answers. See [`Samba::thaw_connection`]. The child is stopped while
    /// it waits for requests: at another time it could hold a lock of smbd's databases, which all
    /// other children would wait for.
    ///
    /// # Errors
    ///
    /// When there is no such child.
    pub fn freeze_connection(&self, pid: u32) -> Result<()> {
        processes::stop_while_idle(&self.child(pid)?)
    }

    /// Continues a frozen child.
    ///
    /// # Errors
    ///
    /// When there is no such child.
    pub fn thaw_connection(&self, pid: u32) -> Result<()> {
        processes::signal(&[self.child(pid)?], Signal::CONT);
        Ok(())
    }

    /// smbclient on a share as [`Samba::USER`], in the server's network; `dialect` is
    /// the only one that it offers (`NT1`, `SMB3_11` ...). The caller adds the commands
    /// (`-c "put a b; ls"`). The password is passed in a file.
    pub fn smbclient(&self, share: &str, dialect: &str) -> Command {
        let mut command = self.bare_smbclient(dialect);
        command
            .arg("-A")
            .arg(self.client_config.with_extension("auth"))
            .arg(format!("//127.0.0.1/{share}"));
        command
    }

    /// smbclient without a user and without a share. It waits 30 s for each answer.
    pub fn bare_smbclient(&self, dialect: &str) -> Command {
        let mut command = self.sandbox.command("smbclient");
        command
            .args(["-t", "30", "-s"])
            .arg(&self.client_config)
            .args(["-p", &self.options.port.to_string(), "-m", dialect])
            .arg(format!("--option=client min protocol={dialect}"))
            .stdin(Stdio::null());
        command
    }

    /// A child of smbd by its pid in smbd's namespace.
    fn child(&self, pid: u32) -> Result<Process> {
        let all = processes::in_namespace(processes::namespace_of(self.pid)?)?;
        let found = all.into_iter().find(|process| {
            process.pid != self.pid && innermost_pid(process.pid).is_some_and(|own| own == pid)
        });
        found
            .ok_or_else(|| Error::failed("smbd", format!("no child has the pid {pid}"), self.log()))
    }

    /// Runs a Samba tool in smbd's own namespaces and waits for its end: the databases
    /// contain process numbers of that namespace.
    fn run_tool(&self, program: &str, args: &[&str]) -> Result<String> {
        let output = Command::new("nsenter")
            .args(["--target", &self.pid.to_string()])
            .args(["--net", "--mount", "--ipc", "--uts", "--pid", "--"])
            .args(["timeout", "120", program])
            .args(args)
            .env("PATH", search_path())
            .stdin(Stdio::null())
            .output()
            .map_err(Error::io(format!("start {program}")))?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        Err(Error::failed(program, output.status.to_string(), stderr))
    }
}

/// The pid of a process in its innermost process namespace.
fn innermost_pid(pid: u32) -> Option<u32> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("NSpid:"))?;
    line.split_whitespace().next_back()?.parse().ok()
}
