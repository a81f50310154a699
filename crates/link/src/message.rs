//! The messages between prime and agents.
//!
//! Every message is one of these types, as JSON in a frame (see [`crate::frame`]). The first
//! one from either side is `Hello`; a different protocol or build ends the link with a message.
//! Both sides send a message every second or two: an agent that receives nothing for some time,
//! or whose link ends, stops its load and cleans up, and for the prime a silent agent is lost.

pub use crate::facts::{FreeSpace, Hello};

use crate::facts::{InspectFacts, InspectRequest};
use crate::secure::seal::Sealed;
use filermark_model::client_reads::ClientReads;
use filermark_model::plan::{MountPoint, PhasePlan};
use filermark_model::stall::Stalls;
use filermark_model::stats::Interval;
use filermark_model::{LoadPoint, PointStats, RunPlan};
use filermark_results::record::SpaceChange;
use filermark_results::{Environment, Phase};
use serde::{Deserialize, Serialize};

/// The version of this protocol; any change of a message requires a new one.
pub const PROTOCOL: u32 = 12;

/// A client's share of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ClientShare {
    /// The plan, reduced to this client.
    pub plan: Box<RunPlan>,
    /// Index into its clients.
    pub client: u32,
    /// Name of the run's directory on the servers.
    pub dir_name: String,
    /// Identifies the run in its marker file; for `Sweep` a prefix, which may be empty for any
    /// run.
    pub run_id: String,
    /// The password of the plan's driver, which the plan itself never contains.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password: Option<Sealed>,
}

/// From the prime to an agent.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "order", rename_all = "snake_case")]
pub enum Order {
    /// The first message; answered by `Hello`.
    Hello(Hello),
    /// Asks for the clock. Answered immediately by `Time`, also during a phase.
    Time {
        /// Repeated in the answer.
        seq: u32,
    },
    /// Inspect the host; answered by `Inspected`. For preflight and validate, without a plan.
    Inspect(Box<InspectRequest>),
    /// The plan, and which of its clients this agent is. The agent connects, claims the run's
    /// directory, and answers `Ready`.
    Prepare(ClientShare),
    /// INIT of a load point; answered by `Populated`.
    Init {
        /// The load point.
        point: LoadPoint,
        /// As in `Run`.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        watch_space: Vec<String>,
    },
    /// WARMUP and RUN of a load point; answered by `Measured`. The plan has the maximum length
    /// of WARMUP.
    Run {
        /// The load point.
        point: LoadPoint,
        /// The beginning of WARMUP by the agent's clock, in nanoseconds.
        warmup_at_ns: u64,
        /// File systems whose free space this agent monitors meanwhile (STOP_IF), by their
        /// names in `Ready`.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        watch_space: Vec<String>,
        /// WARMUP and RUN have these lengths, not those of the plan (probes of a search).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        phases: Option<PhasePlan>,
    },
    /// The load is steady: RUN begins this long after the beginning of WARMUP, a number of
    /// whole seconds before the latest time. Sent during `Run`.
    BeginRun {
        /// The length of WARMUP in nanoseconds.
        warmup_ns: u64,
    },
    /// The data set has been touched: RUN takes this long, less than the maximum in the plan.
    /// Sent during `Run`.
    EndRun {
        /// The length of RUN in nanoseconds.
        runtime_ns: u64,
    },
    /// CLEANUP of what this agent's procs created; answered by `Cleaned`.
    Cleanup,
    /// Remove the run's directory with all objects of the run, whichever client created them;
    /// answered by `Cleaned`.
    Release {
        /// Mount points of lost clients, in addition to the agent's own.
        orphans: Vec<MountPoint>,
    },
    /// Remove what a run of this name has left on the client's mount points; answered by
    /// `Cleaned`. There was no `Prepare`.
    Sweep(ClientShare),
    /// Stop the current phase; it ends with `Failed`.
    Stop,
    /// A keep-alive message.
    Alive,
    /// The last order.
    Goodbye,
}

impl Order {
    /// Its name, for messages.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Hello(_) => "hello",
            Self::Time { .. } => "time",
            Self::Inspect(_) => "inspect",
            Self::Prepare(_) => "prepare",
            Self::Init { .. } => "init",
            Self::Run { .. } => "run",
            Self::BeginRun { .. } => "begin run",
            Self::EndRun { .. } => "end run",
            Self::Cleanup => "cleanup",
            Self::Release { .. } => "release",
            Self::Sweep(_) => "sweep",
            Self::Stop => "stop",
            Self::Alive => "alive",
            Self::Goodbye => "goodbye",
        }
    }
}

/// From an agent to the prime.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "report", rename_all = "snake_case")]
pub enum Report {
    /// The first message.
    Hello(Hello),
    /// The readings of the agent's clocks.
    Time {
        /// Of the request.
        seq: u32,
        /// The clock by which phases are started: monotonic, with an arbitrary zero, in
        /// nanoseconds.
        clock_ns: u64,
        /// The time of day, in nanoseconds since 1970, UTC.
        unix_ns: u64,
    },
    /// The facts about the host.
    Inspected(Box<InspectFacts>),
    /// The agent is connected and ready.
    Ready {
        /// The host.
        environment: Box<Environment>,
        /// Threads that generate load.
        shard_count: u32,
        /// Messages for events of the record.
        remarks: Vec<String>,
        /// Free space of its file systems, if they report it.
        free: Vec<FreeSpace>,
        /// Features required by the plan that the platform or the file systems lack, and what
        /// is done instead.
        lacking: Vec<String>,
    },
    /// Progress of INIT or CLEANUP since the last report.
    Progress {
        /// Tasks done.
        task_count: u64,
        /// Bytes written.
        bytes: u64,
    },
    /// An order is delayed; the reason.
    Waiting {
        /// A message.
        sentence: String,
    },
    /// A second of WARMUP or RUN is over. Its number counts from the latest possible beginning
    /// of RUN.
    Second {
        /// Its figures, all shards.
        interval: Box<Interval>,
    },
    /// The space of a monitored file system.
    Space {
        /// By its name in `Ready`.
        file_system: String,
        /// Free, in bytes.
        free_bytes: u64,
        /// Its size, in bytes; 0: unknown.
        total_bytes: u64,
    },
    /// The number of operations of every proc since the last heartbeat, or since the beginning
    /// of the phase.
    Heartbeat(AgentHeartbeat),
    /// A keep-alive message.
    Alive,
    /// The agent exits without an order: it was asked to on its host.
    Leaving {
        /// The reason.
        reason: String,
    },
    /// INIT is over.
    Populated {
        /// The totals.
        tasks: TaskTotals,
        /// Free space before and after, for file systems that report it.
        space: Vec<SpaceChange>,
    },
    /// WARMUP and RUN are over.
    Measured {
        /// The figures of this client.
        stats: Box<PointStats>,
        /// Its clock against the time service, if the plan has one.
        clock: Option<ClockCheck>,
        /// How long after the ordered time WARMUP began, in nanoseconds; 0: in time.
        late_ns: u64,
        /// The length of WARMUP, in nanoseconds.
        warmup_ns: u64,
        /// The length of RUN, in nanoseconds.
        runtime_ns: u64,
        /// How long after the beginning or the end of RUN the agent received it, in
        /// nanoseconds; 0: in time.
        run_late_ns: u64,
        /// How long the agent's process was stalled. Without a watchdog there are no figures.
        stalls: Stalls,
        /// Mounted file systems: the sources of the bytes read.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        reads: Vec<ClientReads>,
    },
    /// CLEANUP is over.
    Cleaned {
        /// The totals.
        tasks: TaskTotals,
        /// What is left on a server.
        left_behind: Vec<Leftover>,
    },
    /// The order could not be carried out.
    Failed {
        /// A message.
        reason: String,
        /// It was stopped on request; there was no error.
        stopped: bool,
    },
}

/// An object that is left on a server.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Leftover {
    /// Its path, with the host, and why it is left, if known.
    pub sentence: String,
    /// It does not belong to this run: neither clean-up nor `filermark stop` removes it.
    #[serde(rename = "is_foreign")]
    pub is_not_ours: bool,
}

impl Leftover {
    /// An object that the run created, or may have created.
    pub fn ours(sentence: impl Into<String>) -> Self {
        Self {
            sentence: sentence.into(),
            is_not_ours: false,
        }
    }

    /// An object that the run did not create.
    pub fn not_ours(sentence: impl Into<String>) -> Self {
        Self {
            sentence: sentence.into(),
            is_not_ours: true,
        }
    }

    /// An entry of a run's directory that the run did not create, by its path.
    pub fn entry(path: String) -> Self {
        Self::not_ours(format!(
            "{path}: not this run's, so neither the run nor `filermark stop` removes it; \
             remove it by hand if it is not needed"
        ))
    }

    /// A directory of the run that is left, by its path.
    pub fn not_removed(path: String) -> Self {
        Self::ours(format!(
            "{path}: the server did not remove it: it is in use, or an object was created in it \
             meanwhile"
        ))
    }
}

/// The totals of INIT or CLEANUP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskTotals {
    /// Tasks done.
    pub task_count: u64,
    /// Tasks that failed.
    pub failed_count: u64,
    /// Bytes written.
    pub bytes: u64,
    /// Files that were dropped from the client's cache.
    #[serde(default)]
    pub uncached_count: u64,
    /// How long it took, in nanoseconds.
    pub elapsed_ns: u64,
}

/// A heartbeat of one agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgentHeartbeat {
    /// WARMUP or RUN.
    pub phase: Phase,
    /// Its number in the phase, from 1.
    pub number: u32,
    /// The time that it covers, in nanoseconds.
    pub elapsed_ns: u64,
    /// Procs by their number in the run, with their operations in that time.
    pub procs: Vec<(u32, u64)>,
}

/// An agent's clock against the time service, over one RUN.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum ClockCheck {
    /// Both clocks were read at the beginning and at the end.
    Compared {
        /// The duration by the agent's clock, in nanoseconds.
        ours_ns: u64,
        /// The duration by the service's clock, in nanoseconds.
        service_ns: u64,
        /// Bound of the error of the readings, in nanoseconds.
        bound_ns: u64,
    },
    /// The service did not answer as it should.
    Failed {
        /// The reason.
        reason: String,
    },
}
