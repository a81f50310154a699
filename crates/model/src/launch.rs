//! How agents come to be on the client hosts: what the rc file or the token file
//! says about it, resolved and typed.
//!
//! Not part of the run plan: it says how hosts are reached, not what is measured,
//! and is neither hashed nor sent to agents. `plan --json` shows it.

use crate::plan::IpChoice;
use crate::units::Nanos;
use serde::Serialize;
use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;

/// How the agents of a run are started.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LaunchPlan {
    /// One per client of the run plan, in the same order.
    pub hosts: Vec<HostPlan>,
    /// The SSH client and its own options (SSH_COMMAND): the first word is the program.
    pub ssh_command: Vec<String>,
    /// Slurm's launcher and its own options (SRUN_COMMAND).
    pub srun_command: Vec<String>,
    /// Address family for the way to the clients (`-y 6`).
    pub ip: IpChoice,
    /// A run copies the program to clients that lack this very version (INSTALL).
    pub install: bool,
    /// The directory with the programs for other systems (AGENTS_DIR, `--agents`).
    pub agents_dir: Option<PathBuf>,
    /// What a lost agent means (ON_LOST, `--on-lost`).
    pub on_lost: OnLost,
    /// Where the prime waits for agents that connect to it (PRIME_LISTEN).
    pub listen: Option<SocketAddr>,
    /// The address under which agents find the prime (PRIME_ADDRESS), where it is not
    /// the one that it listens on.
    pub prime_address: Option<String>,
    /// The file with the keys of the prime, for agents started by hand (SECRET_FILE).
    pub secret_file: Option<PathBuf>,
    /// How long an agent may take to start and say its first word (START_TIMEOUT).
    pub start_timeout: Nanos,
}

impl LaunchPlan {
    /// Every client on this host.
    pub fn local(clients: impl IntoIterator<Item = String>) -> Self {
        Self {
            hosts: clients.into_iter().map(HostPlan::local).collect(),
            ssh_command: vec!["ssh".into()],
            srun_command: vec!["srun".into()],
            ip: IpChoice::Any,
            install: true,
            agents_dir: None,
            on_lost: OnLost::End,
            listen: None,
            prime_address: None,
            secret_file: None,
            start_timeout: Nanos::from_secs(60),
        }
    }
}

/// One client host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HostPlan {
    /// Its name as the rc file gives it.
    pub client: String,
    /// How its agent is started.
    pub launcher: LauncherKind,
    /// The user there (USER, `Username`); `None`: as SSH's own configuration says.
    pub user: Option<String>,
    /// The program there (EXEC_PATH, `Execpath`); `None`: where `install` puts it.
    pub program: Option<String>,
}

impl HostPlan {
    /// A client on this host.
    pub fn local(client: String) -> Self {
        Self {
            client,
            launcher: LauncherKind::Local,
            user: None,
            program: None,
        }
    }
}

/// How an agent is started (LAUNCHER).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LauncherKind {
    /// A process on this host.
    Local,
    /// The user's SSH client; the agent speaks over its standard input and output.
    Ssh,
    /// Slurm's `srun`; the agents connect back.
    Slurm,
    /// By hand, `filermark agent --listen`; the prime connects to this port.
    Connect(u16),
    /// By hand, `filermark agent --connect`; the prime waits for it.
    Accept,
}

impl fmt::Display for LauncherKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Local => "local",
            Self::Ssh => "ssh",
            Self::Slurm => "slurm",
            Self::Connect(_) => "connect",
            Self::Accept => "accept",
        })
    }
}

/// What a run does when an agent is lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum OnLost {
    /// The load point ends and with it the run.
    #[default]
    End,
    /// The others go on; the load points do not count.
    Continue,
}
