//! The embedded server in a separate process, so that its time and memory are not counted as the
//! generator's. This program starts itself.

pub mod null4;

use filermark_server::{Server, ServerOptions, TlsFiles};
use filermark_testbed::Sandbox;
use filermark_tls::testing::Authority;
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use tempfile::TempDir;

/// The first argument that makes this program a server.
pub const COMMAND: &str = "serve-null";
/// The names of the files of the server's certificate, without their ends.
const OWN: &str = "server";
/// Connections that a server must be able to accept.
const FILES_WANTED: u64 = 20_000;

/// A server process; it ends when this is dropped, or with this process.
pub struct ServerProcess {
    child: Child,
    /// The address where it listens.
    pub address: SocketAddr,
    /// What it is.
    pub spec: ServerSpec,
    certificates: Option<Certificates>,
}

/// Files of certificates, for as long as the server runs.
struct Certificates {
    dir: TempDir,
    authority: Authority,
}

impl Certificates {
    fn new() -> std::io::Result<Self> {
        let dir = TempDir::new()?;
        let authority = Authority::new(dir.path(), "ca")?;
        authority.sign(OWN, &["127.0.0.1"])?;
        Ok(Self { dir, authority })
    }
}

/// The kind of server.
#[derive(Clone, Copy, Debug, Default)]
pub struct ServerSpec {
    /// NFSv4.1 and 4.2 with canned replies, in place of versions 2 and 3; the other settings are not used.
    pub has_sessions: bool,
    /// A file system in memory instead of canned replies.
    pub stores: bool,
    /// Delay of every reply, in microseconds.
    pub delay_us: u32,
    /// Threads; 0: one.
    pub threads: u32,
    /// RPC-with-TLS (RFC 9289), and nothing in the clear.
    pub has_tls: bool,
}

impl ServerProcess {
    /// Starts one in the network of this process.
    ///
    /// # Errors
    /// The process does not start, or prints no address.
    pub fn start(spec: ServerSpec) -> Result<Self, String> {
        let own = std::env::current_exe().map_err(|e| format!("find this program: {e}"))?;
        Self::spawn(Command::new(own), spec)
    }

    /// Starts one in the network of a sandbox. Drop it in the thread that started it.
    ///
    /// # Errors
    /// The process does not start, or prints no address.
    pub fn start_in(sandbox: &Sandbox, spec: ServerSpec) -> Result<Self, String> {
        let own = std::env::current_exe().map_err(|e| format!("find this program: {e}"))?;
        Self::spawn(sandbox.command(own), spec)
    }

    /// Sends it a signal.
    ///
    /// # Errors
    /// Those of `kill`.
    pub fn signal(&self, signal: Signal) -> Result<(), String> {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        let sent = kill_process(pid.ok_or("a server without a process id")?, signal);
        sent.map_err(|e| format!("signal the server: {e}"))
    }

    /// The parameters with which clients reach this server, besides its version and port.
    pub fn options(&self) -> Vec<(&'static str, String)> {
        let Some(certificates) = &self.certificates else {
            return Vec::new();
        };
        let file = certificates.authority.file().display().to_string();
        vec![("TLS", "on".to_owned()), ("TLS_CA", file)]
    }

    fn spawn(mut command: Command, spec: ServerSpec) -> Result<Self, String> {
        let certificates = spec.has_tls.then(Certificates::new).transpose();
        let certificates = certificates.map_err(|e| format!("make certificates: {e}"))?;
        let dir = certificates
            .as_ref()
            .map(|made| made.dir.path().as_os_str());
        let mut child = command
            .args([COMMAND, &spec.stores.to_string()])
            .args([spec.delay_us.to_string(), spec.threads.max(1).to_string()])
            .arg(spec.has_sessions.to_string())
            .args(dir)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|e| format!("start the server: {e}"))?;
        let mut line = String::new();
        let stdout = child.stdout.take().map(BufReader::new);
        let read = stdout.map(|mut stdout| stdout.read_line(&mut line));
        let address = line.trim().parse().map_err(|_| read);
        let mut server = Self {
            child,
            address: SocketAddr::from(([0, 0, 0, 0], 0)),
            spec,
            certificates,
        };
        server.address = address.map_err(|_| "the server did not start".to_owned())?;
        Ok(server)
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        // It ends with its standard input.
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

/// The server: serves until its standard input ends.
pub fn serve(mut words: impl Iterator<Item = String>) -> ExitCode {
    let stores = words.next().is_some_and(|w| w == "true");
    let mut number = || words.next().and_then(|w| w.parse().ok()).unwrap_or(0u32);
    let (delay_us, threads) = (number(), number());
    filermark_net::open_files_limit(FILES_WANTED);
    if words.next().is_some_and(|w| w == "true") {
        return match null4::start() {
            Ok(address) => announce(address),
            Err(e) => {
                eprintln!("{e}");
                ExitCode::FAILURE
            }
        };
    }
    let delay = match delay_us {
        0 => Ok(Default::default()),
        us => format!("{us}us").parse(),
    };
    let Ok(delay) = delay else {
        return ExitCode::FAILURE;
    };
    let tls = words.next().map(|dir| TlsFiles {
        certificate: Path::new(&dir).join(format!("{OWN}.pem")),
        key: Path::new(&dir).join(format!("{OWN}.key")),
        client_authorities: None,
        client_optional: false,
    });
    let server = Server::start(ServerOptions {
        null: !stores,
        tls_only: tls.is_some(),
        tls,
        delay,
        threads: threads.max(1) as usize,
        ..ServerOptions::default()
    });
    let server = match server {
        Ok(server) => server,
        Err(e) => {
            eprintln!("{e}");
            return ExitCode::FAILURE;
        }
    };
    let exit = announce(server.addrs()[0]);
    server.stop();
    exit
}

/// Prints the address and waits until the standard input ends.
fn announce(address: SocketAddr) -> ExitCode {
    let mut out = std::io::stdout();
    let written = writeln!(out, "{address}").and_then(|()| out.flush());
    if written.is_ok() {
        let mut rest = Vec::new();
        let _ = std::io::stdin().read_to_end(&mut rest);
    }
    ExitCode::SUCCESS
}
