//! What hosts and their servers are found to be, and what an agent is asked to look at:
//! data only. How it is found, the agent knows; what it means is judged at the
//! prime.

use crate::secure::seal::Sealed;
use filermark_model::plan::{DriverPlan, MountPoint};
pub use filermark_model::survey::{ExportInfo, MountEntry, MountInfo, ServerInfo, ServiceInfo};
use filermark_results::Environment;
use ring::rand::{SecureRandom, SystemRandom};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What an agent is to look at.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "look", rename_all = "snake_case")]
pub enum InspectRequest {
    /// At its host, and at what the plan's driver will work on.
    Host {
        /// The driver and its settings.
        driver: Box<DriverPlan>,
        /// What this client's procs work on, each once.
        mounts: Vec<MountPoint>,
        /// Name of the run's directory below them.
        dir_name: String,
        /// Whether to log in to servers that want a user; not where another client was
        /// refused.
        log_in: bool,
        /// The password that the driver needs.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        password: Option<Sealed>,
    },
    /// Checks how a server speaks its protocol (`validate`).
    Validate {
        /// The driver and its settings.
        driver: Box<DriverPlan>,
        /// Where.
        mount: MountPoint,
        /// Name of the directory below it that the checks work in.
        dir_name: String,
        /// Who claims that directory.
        run_id: String,
        /// Stop at the first failure.
        first_only: bool,
        /// The password that the driver needs.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        password: Option<Sealed>,
    },
    /// Leaves probe files that other clients will look for.
    LayProbes {
        /// Which, and where.
        probes: Vec<Probe>,
    },
    /// Looks for the probe files of another client.
    FindProbes {
        /// Which, and where.
        probes: Vec<Probe>,
    },
    /// Removes probe files, its own or those of a client that cannot any more.
    RemoveProbes {
        /// Which, and where.
        probes: Vec<Probe>,
    },
}

/// What the names of probe files begin with.
pub const PROBE_PREFIX: &str = ".filermark-probe-";

/// A small file by which clients see whether they have the same file system.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Probe {
    /// The directory that it lies in.
    pub dir: String,
    /// Its random name.
    pub name: String,
    /// What is in it.
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
                "Filermark looks whether its clients see the same files; this one can be deleted\n{}\n",
                hex(&bytes[16..])
            ),
        })
    }

    /// Where it is; `None`: a name that leads elsewhere.
    pub fn path(&self) -> Option<PathBuf> {
        let sound = self.name.starts_with(PROBE_PREFIX) && !self.name.contains('/');
        sound.then(|| Path::new(&self.dir).join(&self.name))
    }
}

/// What an agent found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "found", rename_all = "snake_case")]
pub enum InspectFacts {
    /// Its host.
    Host(Box<HostFacts>),
    /// How a server speaks its protocol.
    Validated(ValidationFacts),
    /// What came of each probe, in the order in which they were given.
    Probes {
        /// One for each.
        outcomes: Vec<ProbeOutcome>,
    },
}

/// What came of a probe.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum ProbeOutcome {
    /// It lies there, or was found there with the right words in it; or, where it was
    /// to be removed, it is gone.
    Done,
    /// There is no such file.
    Missing,
    /// It could not be done.
    Failed {
        /// Why.
        reason: String,
    },
}

/// A client host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct HostFacts {
    /// The program there.
    pub hello: Option<Hello>,
    /// What the host is.
    pub environment: Environment,
    /// Its addresses, loopback left out.
    pub addresses: Vec<String>,
    /// What its own name leads to, there.
    pub own_name: OwnName,
    /// Memory that a program may still have, in bytes; `None`: unknown.
    pub memory_available_bytes: Option<u64>,
    /// What the agent may have of the system.
    pub limits: LimitFacts,
    /// The program that the agent is, by its path there.
    pub program: Option<String>,
    /// Whether the agent may call from source ports below 1024; `None`: unknown.
    pub low_ports: Option<bool>,
    /// Settings of the kernel by their names, as it prints them; those that cannot be
    /// read are not there.
    pub sysctls: BTreeMap<String, String>,
    /// How the processors' frequencies are chosen, each way once; empty: not to be seen.
    pub governors: Vec<String>,
    /// The fastest network interface that is up, in megabits a second; `None`: unknown.
    pub nic_mbps: Option<u32>,
    /// Rules of a packet filter.
    pub firewall: FirewallFacts,
    /// What else the host does.
    pub load: LoadFacts,
    /// SELinux: whether it enforces; `None`: there is none.
    pub selinux_enforcing: Option<bool>,
    /// Mounted directories that the plan works in.
    pub mounts: Vec<MountInfo>,
    /// Servers that the plan works on.
    pub servers: Vec<ServerInfo>,
    /// Free space, as a run would be told it.
    pub free: Vec<FreeSpace>,
}

/// What a host's own name leads to on it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct OwnName {
    /// Its addresses, by the name service there.
    pub addresses: Vec<String>,
    /// The line of /etc/hosts that gives it a loopback address.
    pub loopback_line: Option<String>,
}

/// What a process may have of the system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LimitFacts {
    /// Open files now; `None`: no limit.
    pub open_files_soft: Option<u64>,
    /// Open files that a process may raise that to; `None`: no limit.
    pub open_files_hard: Option<u64>,
    /// Processes and threads of this user; `None`: no limit, as for root.
    pub threads: Option<u64>,
}

/// A packet filter's rules.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FirewallFacts {
    /// Why its rules could not be read, where there may be some.
    pub unreadable: Option<String>,
    /// All rules.
    pub rule_count: u32,
    /// Those that drop or reject.
    pub drop_rule_count: u32,
    /// Chains of what comes in or goes out that drop what no rule takes.
    pub drop_policies: Vec<String>,
    /// Who keeps the rules, where that is known: `firewalld`, `ufw`.
    pub manager: Option<String>,
}

impl FirewallFacts {
    /// Whether it could keep anything back.
    pub fn may_drop(&self) -> bool {
        self.drop_rule_count > 0 || !self.drop_policies.is_empty()
    }
}

/// What else a host does.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LoadFacts {
    /// The other process that used most processor time while it was looked.
    pub busiest: Option<BusyProcess>,
    /// All other processes together, in percent of one core.
    pub others_percent: f64,
}

/// A process that is busy.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BusyProcess {
    /// Its name.
    pub name: String,
    /// Its number.
    pub pid: u32,
    /// What it used, in percent of one core.
    pub percent: f64,
}

/// Who speaks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// [`PROTOCOL`](crate::message::PROTOCOL) of the speaker.
    pub protocol: u32,
    /// Version of the program.
    pub version: String,
    /// Which build it is: the beginning of the SHA-256 of the program file; empty:
    /// it could not be read.
    pub build: String,
    /// The speaker's host, as it calls itself.
    pub host: String,
    /// Agents: the public key that secrets are sealed with ([`crate::secure::seal`]).
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub key: String,
}

/// Free space of one file system.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FreeSpace {
    /// The mount points that lead there.
    pub mounts: Vec<MountPoint>,
    /// Names the file system: two agents that say the same mean the same.
    pub file_system: String,
    /// By its own word, in bytes.
    pub bytes: u64,
    /// Its size by its own word, in bytes; 0: unknown.
    pub total_bytes: u64,
    /// Files of an earlier run of the same name were left there to be used again.
    pub kept: bool,
}

/// What came of one check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckRecord {
    /// Its name: "lookup.noent".
    pub id: String,
    /// The procedure or operation that it is about.
    pub procedure: String,
    /// The dialect, where a protocol has several.
    pub dialect: Option<String>,
    /// What is right.
    pub title: String,
    /// How it came out.
    pub verdict: CheckVerdict,
    /// What else was seen.
    pub notes: Vec<String>,
    /// How long it took, in nanoseconds.
    pub elapsed_ns: u64,
    /// All of that for people, in lines.
    pub text: String,
}

/// How a check came out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum CheckVerdict {
    /// As the specification demands.
    Pass,
    /// Otherwise.
    Fail {
        /// What should have been.
        expected: String,
        /// What was.
        got: String,
        /// Where it is written.
        section: String,
    },
    /// It could not be tried.
    Skipped {
        /// Why not.
        why: String,
    },
}

/// What came of one mount point on one client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Validation {
    /// The protocol: "NFSv3".
    pub protocol: String,
    /// Nothing failed, everything ran, and nothing stays.
    pub is_success: bool,
    /// In one line.
    pub summary: String,
    /// Everything, for people.
    pub text: String,
    /// The checks that ran, in order.
    pub checks: Vec<CheckRecord>,
    /// The server has refused the user.
    pub user_is_refused: bool,
}

/// A validation, or why there is none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum ValidationFacts {
    /// It was carried out.
    Done(Validation),
    /// It could not be.
    Failed(NotChecked),
}

/// Why there is no validation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotChecked {
    /// In one sentence.
    pub reason: String,
    /// The server has refused the user.
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
    /// How many checks came out so.
    pub fn count(&self, which: impl Fn(&CheckVerdict) -> bool) -> usize {
        self.checks.iter().filter(|c| which(&c.verdict)).count()
    }
}
