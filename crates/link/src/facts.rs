//! Facts about hosts and their servers, and what an agent should inspect: data only. The agent
//! collects the facts; the prime evaluates them.

use crate::secure::seal::Sealed;
use filermark_model::plan::{DriverPlan, MountPoint};
pub use filermark_model::survey::{
    AsyncEngine, ExportInfo, MountEntry, MountInfo, ServerInfo, ServiceInfo,
};
use filermark_results::Environment;
use ring::rand::{SecureRandom, SystemRandom};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What an agent should inspect.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "look", rename_all = "snake_case")]
pub enum InspectRequest {
    /// Its host, and the file systems or servers of the plan's driver.
    Host {
        /// The driver and its settings.
        driver: Box<DriverPlan>,
        /// The mount points of this client's procs, each once.
        mounts: Vec<MountPoint>,
        /// Name of the run's directory below them.
        dir_name: String,
        /// Whether to log in to servers that require a user; not if another client was refused.
        log_in: bool,
        /// The password that the driver needs.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        password: Option<Sealed>,
    },
    /// Checks the protocol behaviour of a server (`validate`).
    Validate {
        /// The driver and its settings.
        driver: Box<DriverPlan>,
        /// The mount point.
        mount: MountPoint,
        /// Name of the directory below it that the checks work in.
        dir_name: String,
        /// The identity for the claim of that directory.
        run_id: String,
        /// Stop at the first failure.
        first_only: bool,
        /// The password that the driver needs.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        password: Option<Sealed>,
    },
    /// Creates probe files that other clients will search for.
    #[serde(rename = "lay_probes")]
    CreateProbes {
        /// The probe files.
        probes: Vec<Probe>,
    },
    /// Searches for the probe files of another client.
    FindProbes {
        /// The probe files.
        probes: Vec<Probe>,
    },
    /// Removes probe files, its own or those of a client that cannot do it any more.
    RemoveProbes {
        /// The probe files.
        probes: Vec<Probe>,
    },
}

/// Prefix of the names of probe files.
pub const PROBE_PREFIX: &str = ".filermark-probe-";

/// A small file that shows whether clients have the same file system.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Probe {
    /// Its directory.
    pub dir: String,
    /// Its random name.
    pub name: String,
    /// Its contents.
    pub token: String,
}

impl Probe {
    /// A new one for a directory; `None`: the system has no random numbers.
    pub fn random(dir: &str) -> Option<Self> {
        let mut bytes = [0u8; 32];
        SystemRandom::new().fill(&mut bytes).ok()?;
        let hex = |bytes: &[u8]| bytes.iter().map(|b| format!("{b:02x}")).collect::<String>();
        Some(Self {
            dir: dir.into(),
            name: format!("{PROBE_PREFIX}{}", hex(&bytes[..16])),
            token: format!(
                "Filermark checks whether its clients have the same file system; this file can be deleted\n{}\n",
                hex(&bytes[16..])
            ),
        })
    }

    /// Its path; `None`: the name is not valid.
    pub fn path(&self) -> Option<PathBuf> {
        let sound = self.name.starts_with(PROBE_PREFIX) && !self.name.contains('/');
        sound.then(|| Path::new(&self.dir).join(&self.name))
    }
}

/// The facts from an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "found", rename_all = "snake_case")]
pub enum InspectFacts {
    /// About its host.
    Host(Box<HostFacts>),
    /// The result of a validation.
    Validated(ValidationFacts),
    /// The result of each probe, in the given order.
    Probes {
        /// One for each probe.
        outcomes: Vec<ProbeOutcome>,
    },
}

/// The result of a probe.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum ProbeOutcome {
    /// It was created, found with the right contents, or removed.
    Done,
    /// There is no such file.
    Missing,
    /// It failed.
    Failed {
        /// The reason.
        reason: String,
    },
}

/// A client host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct HostFacts {
    /// The program on the host.
    pub hello: Option<Hello>,
    /// The description of the host.
    pub environment: Environment,
    /// Its addresses except loopback.
    pub addresses: Vec<String>,
    /// The addresses of its own name, on this host.
    pub own_name: OwnName,
    /// Memory that is available to a program, in bytes; `None`: unknown.
    pub memory_available_bytes: Option<u64>,
    /// The limits of the agent's process.
    pub limits: LimitFacts,
    /// The path of the agent's program.
    pub program: Option<String>,
    /// Whether the agent may use source ports below 1024; `None`: unknown.
    pub low_ports: Option<bool>,
    /// What carries out the reads and writes of workloads with a depth.
    pub async_engine: AsyncEngine,
    /// Kernel settings by name, as the kernel prints them; unreadable ones are missing.
    pub sysctls: BTreeMap<String, String>,
    /// The frequency governors of the processors, each once; empty: not available.
    pub governors: Vec<String>,
    /// The fastest network interface that is up, in megabits a second; `None`: unknown.
    pub nic_mbps: Option<u32>,
    /// Rules of a packet filter.
    pub firewall: FirewallFacts,
    /// Other load on the host.
    pub load: LoadFacts,
    /// SELinux: whether it enforces; `None`: there is none.
    pub selinux_enforcing: Option<bool>,
    /// Mounted directories of the plan.
    pub mounts: Vec<MountInfo>,
    /// Servers of the plan.
    pub servers: Vec<ServerInfo>,
    /// Free space, as reported to a run.
    pub free: Vec<FreeSpace>,
}

/// The addresses of a host's own name on this host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct OwnName {
    /// Its addresses in the host's name service.
    pub addresses: Vec<String>,
    /// The line of /etc/hosts that maps it to a loopback address.
    pub loopback_line: Option<String>,
}

/// The limits of a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LimitFacts {
    /// Open files, soft limit; `None`: no limit.
    pub open_files_soft: Option<u64>,
    /// Open files, hard limit; `None`: no limit.
    pub open_files_hard: Option<u64>,
    /// Processes and threads of this user; `None`: no limit, as for root.
    pub threads: Option<u64>,
}

/// A packet filter's rules.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FirewallFacts {
    /// Why its rules could not be read, if there may be any.
    pub unreadable: Option<String>,
    /// Number of all rules.
    pub rule_count: u32,
    /// Number of rules that drop or reject.
    pub drop_rule_count: u32,
    /// Chains of incoming or outgoing packets whose policy is to drop.
    pub drop_policies: Vec<String>,
    /// The program that manages the rules, if known: `firewalld`, `ufw`.
    pub manager: Option<String>,
}

impl FirewallFacts {
    /// Whether it may drop packets.
    pub fn may_drop(&self) -> bool {
        self.drop_rule_count > 0 || !self.drop_policies.is_empty()
    }
}

/// Other load on a host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LoadFacts {
    /// The other process with the most processor time during the check.
    pub busiest: Option<BusyProcess>,
    /// All other processes together, in percent of one core.
    pub others_percent: f64,
}

/// A process that uses processor time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BusyProcess {
    /// Its name.
    pub name: String,
    /// Its process id.
    pub pid: u32,
    /// Its processor time, in percent of one core.
    pub percent: f64,
}

/// The identity of a program: the first message of both sides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// [`PROTOCOL`](crate::message::PROTOCOL) of the sender.
    pub protocol: u32,
    /// Version of the program.
    pub version: String,
    /// Its build: the beginning of the SHA-256 of its profile and its sources, the same for
    /// every system that it is built for; empty: not known.
    pub build: String,
    /// The commit of its sources, with `+` if they differ from it; empty: not known.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub commit: String,
    /// Cargo's profile of the program, `debug` or `release`; empty: not known.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub profile: String,
    /// The sender's host name.
    pub host: String,
    /// Agents: the public key that secrets are sealed with ([`crate::secure::seal`]).
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub key: String,
}

/// Free space of one file system.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FreeSpace {
    /// The mount points on it.
    pub mounts: Vec<MountPoint>,
    /// Identifies the file system: equal for two agents that have the same one.
    pub file_system: String,
    /// Free bytes, as the file system reports them.
    pub bytes: u64,
    /// Its size as it reports it, in bytes; 0: unknown.
    pub total_bytes: u64,
    /// Files of an earlier run of the same name are there and will be used again.
    pub kept: bool,
}

/// The result of one check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckRecord {
    /// Its name: "lookup.noent".
    pub id: String,
    /// The procedure or operation that it tests.
    pub procedure: String,
    /// The dialect, if the protocol has several.
    pub dialect: Option<String>,
    /// The required behaviour.
    pub title: String,
    /// Its result.
    pub verdict: CheckVerdict,
    /// Notes on the server's behaviour.
    pub notes: Vec<String>,
    /// How long it took, in nanoseconds.
    pub elapsed_ns: u64,
    /// All of that as text, in lines.
    pub text: String,
}

/// The result of a check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum CheckVerdict {
    /// Not as the specification requires.
    Pass,
    /// Otherwise.
    Fail {
        /// The required behaviour.
        expected: String,
        /// The observed behaviour.
        got: String,
        /// The section of the specification.
        section: String,
    },
    /// It could not be run.
    Skipped {
        /// The reason.
        why: String,
    },
}

/// The result for one mount point on one client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Validation {
    /// The protocol: "NFSv3".
    pub protocol: String,
    /// Nothing failed, everything ran, and no file is left.
    pub is_success: bool,
    /// A summary in one line.
    pub summary: String,
    /// The whole result as text.
    pub text: String,
    /// The checks that ran, in order.
    pub checks: Vec<CheckRecord>,
    /// The server refused the user.
    pub user_is_refused: bool,
}

/// A validation, or the reason why there is none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum ValidationFacts {
    /// It was carried out.
    Done(Validation),
    /// It could not be carried out.
    Failed(NotChecked),
}

/// Why there is no validation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotChecked {
    /// A message.
    pub reason: String,
    /// The server refused the user.
    pub user_is_refused: bool,
}

impl From<String> for NotChecked {
    fn from(reason: String) -> Self {
        Self {
            reason,
            user_is_refused: false,
        }
    }
}

impl Validation {
    /// The number of checks with such a result.
    pub fn count(&self, which: impl Fn(&CheckVerdict) -> bool) -> usize {
        self.checks.iter().filter(|c| which(&c.verdict)).count()
    }
}
