//! The embedded server in a process of its own, so that its time and memory
//! are not taken for the generator's. This program starts itself.

use filermark_server::{Server, ServerOptions};
use filermark_testbed::Sandbox;
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::SocketAddr;
use std::process::{Child, Command, ExitCode, Stdio};

/// The first argument that makes this program a server.
pub const COMMAND: &str = "serve-null";
/// Connections that a server must be able to take.
const FILES_WANTED: u64 = 20_000;

/// A server; it ends when this is dropped, or with this process.
pub struct ServerProcess {
    child: Child,
    /// Where it listens.
    pub address: SocketAddr,
}

/// Which server.
#[derive(Clone, Copy, Debug, Default)]
pub struct ServerSpec {
    /// A file system in memory instead of canned replies.
    pub stores: bool,
    /// Every reply is held back, in microseconds.
    pub delay_us: u32,
    /// Threads; 0: one.
    pub threads: u32,
}

impl ServerProcess {
    /// Starts one here.
    ///
    /// # Errors
    /// What the system or the server said.
    pub fn start(wish: ServerSpec) -> Result<Self, String> {
        let own = std::env::current_exe().map_err(|e| format!("find this program: {e}"))?;
        Self::spawn(Command::new(own), wish)
    }

    /// Starts one in the network of a sandbox. Drop it in the same thread.
    ///
    /// # Errors
    /// What the system or the server said.
    pub fn start_in(sandbox: &Sandbox, wish: ServerSpec) -> Result<Self, String> {
        let own = std::env::current_exe().map_err(|e| format!("find this program: {e}"))?;
        Self::spawn(sandbox.command(own), wish)
    }

    /// Sends it a signal.
    ///
    /// # Errors
    /// What the system said.
    pub fn signal(&self, signal: Signal) -> Result<(), String> {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        let sent = kill_process(pid.ok_or("a server without a number")?, signal);
        sent.map_err(|e| format!("signal the server: {e}"))
    }

    fn spawn(mut command: Command, wish: ServerSpec) -> Result<Self, String> {
        let mut child = command
            .args([COMMAND, &wish.stores.to_string()])
            .args([wish.delay_us.to_string(), wish.threads.max(1).to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|e| format!("start the server: {e}"))?;
        let mut line = String::new();
        let said = child.stdout.take().map(BufReader::new);
        let read = said.map(|mut said| said.read_line(&mut line));
        let address = line.trim().parse().map_err(|_| read);
        let mut server = Self {
            child,
            address: SocketAddr::from(([0, 0, 0, 0], 0)),
        };
        server.address = address.map_err(|_| "the server did not start".to_owned())?;
        Ok(server)
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        // The end of its input is what it waits for.
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

/// The other side: serves until the input ends.
pub fn serve(mut words: impl Iterator<Item = String>) -> ExitCode {
    let stores = words.next().is_some_and(|w| w == "true");
    let mut number = || words.next().and_then(|w| w.parse().ok()).unwrap_or(0u32);
    let (delay_us, threads) = (number(), number());
    filermark_net::open_files_limit(FILES_WANTED);
    let delay = match delay_us {
        0 => Ok(Default::default()),
        us => format!("{us}us").parse(),
    };
    let Ok(delay) = delay else {
        return ExitCode::FAILURE;
    };
    let server = Server::start(ServerOptions {
        null: !stores,
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
    let mut out = std::io::stdout();
    let told = writeln!(out, "{}", server.addrs()[0]).and_then(|()| out.flush());
    if told.is_ok() {
        let mut rest = Vec::new();
        let _ = std::io::stdin().read_to_end(&mut rest);
    }
    server.stop();
    ExitCode::SUCCESS
}
