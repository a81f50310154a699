//! Samba's smbd: an SMB server that nobody here wrote, SMB1 to 3.1.1.
//!
//! It has its own configuration, users, passwords and state, and listens in a sandbox
//! only. `options` makes its smb.conf, `start` brings it up, `status` reads smbstatus, `logons` its log.

mod logons;
mod options;
mod start;
mod status;

use crate::daemon::Daemon;
use crate::processes::{self, Process};
use crate::tools::{need, search_path, write};
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
const START_LIMIT: Duration = Duration::from_secs(30);

/// Space of the share that is to run full, in MiB.
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
    /// smbd's own pid, as the machine counts.
    pid: u32,
    sandbox: Arc<Sandbox>,
}

impl Samba {
    /// The user that tests log in as, and the password.
    pub const USER: &'static str = "alice";
    /// Of [`Samba::USER`].
    pub const PASSWORD: &'static str = "Sesame-7!";
    /// Another user, the only one that share [`Samba::BOB`] lets in.
    pub const OTHER_USER: &'static str = "bob";
    /// Of [`Samba::OTHER_USER`].
    pub const OTHER_PASSWORD: &'static str = "Open-up-8?";
    /// The workgroup; any domain will do to log in.
    pub const DOMAIN: &'static str = "TESTGROUP";

    /// Its port unless a test says otherwise. Not the standard one, so that a client that
    /// ignores what it was told is found out.
    pub const PORT: u16 = options::PORT;
    /// The standard port. On any other, tshark takes a message's length for one of
    /// NetBIOS, which has 17 bits, and loses its way after a longer message.
    pub const STANDARD_PORT: u16 = 445;

    /// The share for everything, empty at first.
    pub const DATA: &'static str = "data";
    /// Another one like it, on its own file system.
    pub const SECOND: &'static str = "second";
    /// The files of `data`; nothing can be changed.
    pub const READ_ONLY: &'static str = "readonly";
    /// The files of `data`; the share, not the session, has to be encrypted.
    pub const SEALED: &'static str = "sealed";
    /// Four MiB that run full.
    pub const SMALL: &'static str = "small";
    /// For `bob` only.
    pub const BOB: &'static str = "bob";
    /// A root of DFS: `elsewhere` in it is a referral to `data`.
    pub const DFS: &'static str = "dfs";
    /// There for guests, if [`SambaOptions::guests`] lets them in; missing otherwise.
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

    /// Starts a server in a KDC's sandbox that takes tickets of its realm, as well as
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

    /// A share as an rc file's MNT_POINTS has it, with backslashes; over IPv4.
    #[must_use]
    pub fn mount_point(&self, share: &str) -> String {
        format!(r"\\{}\{share}", self.address().ip())
    }

    /// The directory of a share as the host sees it.
    #[must_use]
    pub fn files(&self, share: &str) -> PathBuf {
        let directory = match share {
            Samba::READ_ONLY | Samba::SEALED => Samba::DATA,
            other => other,
        };
        let inside = format!("{}/{directory}", self.places.run);
        self.sandbox.inside(&inside)
    }

    /// The interface that its traffic takes, for [`crate::Capture`].
    #[must_use]
    pub fn interface(&self) -> &'static str {
        "lo"
    }

    /// All that smbd has logged so far, one line of header and one of text each.
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

    /// Its smb.conf, for `testparm` and the like.
    #[must_use]
    pub fn config(&self) -> &Path {
        &self.config
    }

    /// Every attempt to log in so far, in order.
    #[must_use]
    pub fn logons(&self) -> Vec<Logon> {
        logons::read(&self.log())
    }

    /// Who is there, how their messages are protected, and which files are open, by
    /// smbstatus. Takes some 70 ms.
    ///
    /// # Errors
    ///
    /// When smbstatus fails, or says something else than expected.
    pub fn status(&self) -> Result<SmbStatus> {
        let config = self.config.display().to_string();
        let said = self.beside("smbstatus", &["-s", &config, "--json"])?;
        SmbStatus::read(&said)
    }

    /// Changes the options of the running server (its port and space stay as they are).
    /// Connections made from now on see them; those that are there keep what they
    /// negotiated.
    ///
    /// # Errors
    ///
    /// When smb.conf cannot be written or smbd is gone.
    pub fn reload(&mut self, options: SambaOptions) -> Result<()> {
        self.options = SambaOptions {
            port: self.options.port,
            space_mib: self.options.space_mib,
            ..options
        };
        let text = configuration(&self.options, &self.places);
        self.config = write(self.config.clone(), &text)?;
        let config = self.config.display().to_string();
        self.beside("smbcontrol", &["-s", &config, "all", "reload-config"])
            .map(drop)
    }

    /// Kills the child that serves a connection: the client sees its end. `pid` is
    /// [`SmbSession::pid`].
    ///
    /// # Errors
    ///
    /// When there is no such child.
    pub fn kill_connection(&self, pid: u32) -> Result<()> {
        processes::signal(&[self.child(pid)?], Signal::KILL);
        Ok(())
    }

    /// Stops the child that serves a connection (SIGSTOP): TCP takes what the client
    /// sends, and nobody answers. See [`Samba::thaw_connection`].
    ///
    /// # Errors
    ///
    /// When there is no such child.
    pub fn freeze_connection(&self, pid: u32) -> Result<()> {
        processes::signal(&[self.child(pid)?], Signal::STOP);
        Ok(())
    }

    /// Lets a frozen child go on.
    ///
    /// # Errors
    ///
    /// When there is no such child.
    pub fn thaw_connection(&self, pid: u32) -> Result<()> {
        processes::signal(&[self.child(pid)?], Signal::CONT);
        Ok(())
    }

    /// smbclient on a share as [`Samba::USER`], in the server's network; `dialect` is
    /// the only one that it offers (`NT1`, `SMB3_11` ...). What it is to do is left to
    /// add (`-c "put a b; ls"`). The password goes by a file.
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

    /// A child of smbd by its pid as smbd counts.
    fn child(&self, pid: u32) -> Result<Process> {
        let all = processes::in_namespace(processes::namespace_of(self.pid)?)?;
        let found = all.into_iter().find(|process| {
            process.pid != self.pid && own_number(process.pid).is_some_and(|own| own == pid)
        });
        found
            .ok_or_else(|| Error::failed("smbd", format!("no child has the pid {pid}"), self.log()))
    }

    /// Runs a program of Samba's to its end in smbd's own namespaces: its databases
    /// hold process numbers that mean something only there.
    fn beside(&self, program: &str, args: &[&str]) -> Result<String> {
        let output = Command::new("nsenter")
            .args(["--target", &self.pid.to_string()])
            .args(["--net", "--mount", "--ipc", "--uts", "--pid", "--"])
            .args(["timeout", "20", program])
            .args(args)
            .env("PATH", search_path())
            .stdin(Stdio::null())
            .output()
            .map_err(Error::io(format!("start {program}")))?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        Err(Error::failed(program, output.status.to_string(), said))
    }
}

/// The number of a process in the innermost process namespace that it is in.
fn own_number(pid: u32) -> Option<u32> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("NSpid:"))?;
    line.split_whitespace().next_back()?.parse().ok()
}
