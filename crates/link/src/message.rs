//! What prime and agents say to each other.
//!
//! Every message is one of these, as JSON in a frame (see [`crate::frame`]). The
//! first one from either side is `Hello`; a different protocol or build ends the
//! talk with a sentence. Both sides say something every second or two: an agent
//! that is told nothing for long, or whose link ends, stops its load and cleans
//! up by itself, and a prime that hears nothing gives the agent up.

pub use crate::facts::{FreeSpace, Hello};

use crate::facts::{InspectFacts, InspectRequest};
use crate::secure::seal::Sealed;
use filermark_model::client_reads::ClientReads;
use filermark_model::plan::MountPoint;
use filermark_model::stall::Stalls;
use filermark_model::stats::Interval;
use filermark_model::{LoadPoint, PointStats, RunPlan};
use filermark_results::record::SpaceChange;
use filermark_results::{Environment, Phase};
use serde::{Deserialize, Serialize};

/// The version of this protocol; any change of a message makes a new one.
pub const PROTOCOL: u32 = 8;

/// A client's share of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ClientShare {
    /// The plan, as far as it concerns this client.
    pub plan: Box<RunPlan>,
    /// Index into its clients.
    pub client: u32,
    /// Name of the run's directory on the servers.
    pub dir_name: String,
    /// Identifies the run in its marker file; for `Sweep` the beginning of it, which
    /// may be empty: whichever run it was.
    pub run_id: String,
    /// The password that the plan's driver needs, which the plan's own text never has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password: Option<Sealed>,
}

/// From the prime to an agent.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "order", rename_all = "snake_case")]
pub enum Order {
    /// The first word; answered by `Hello`.
    Hello(Hello),
    /// What does your clock say? Answered at once by `Time`, also in the middle of a
    /// phase.
    Time {
        /// Comes back in the answer.
        seq: u32,
    },
    /// Look at the host; answered by `Inspected`. For preflight and validate: no plan has to be there.
    Inspect(Box<InspectRequest>),
    /// What is to be run and which client of the plan this agent is. The agent
    /// connects, claims the run's directory, and answers `Ready`.
    Prepare(ClientShare),
    /// INIT of a load point; answered by `Populated`.
    Init {
        /// Which.
        point: LoadPoint,
        /// As in `Run`.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        watch_space: Vec<String>,
    },
    /// WARMUP and RUN of a load point; answered by `Measured`. WARMUP takes as long as
    /// the plan says at most.
    Run {
        /// Which.
        point: LoadPoint,
        /// WARMUP begins when the agent's clock says so, in nanoseconds.
        warmup_at_ns: u64,
        /// File systems whose free space this agent looks at meanwhile (STOP_IF), as it
        /// has named them in `Ready`.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        watch_space: Vec<String>,
    },
    /// The load is steady: RUN begins so long after the beginning of WARMUP, a number of
    /// whole seconds before the latest instant. Comes in the middle of `Run`.
    BeginRun {
        /// The length of WARMUP in nanoseconds.
        warmup_ns: u64,
    },
    /// The data set has been touched: RUN takes so long, less than the plan says at most.
    /// Comes in the middle of `Run`.
    EndRun {
        /// The length of RUN in nanoseconds.
        runtime_ns: u64,
    },
    /// CLEANUP of what this agent's procs made; answered by `Cleaned`.
    Cleanup,
    /// Give the run's directory back, with all that the run made there, whoever it
    /// was; answered by `Cleaned`.
    Release {
        /// Mount points of clients that are lost, beside the agent's own.
        orphans: Vec<MountPoint>,
    },
    /// Remove what a run of this name has left on the client's mount points; answered
    /// by `Cleaned`. Nothing was prepared before.
    Sweep(ClientShare),
    /// Stop the phase under way; it ends with `Failed`.
    Stop,
    /// A sign of life.
    Alive,
    /// Nothing more will come.
    Goodbye,
}

impl Order {
    /// Its name, for the talk.
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
    /// The first word.
    Hello(Hello),
    /// What the agent's clocks say.
    Time {
        /// Of the question.
        seq: u32,
        /// The clock that phases are started by: monotonic, from some moment on, in
        /// nanoseconds.
        clock_ns: u64,
        /// The time of day, in nanoseconds since 1970, UTC.
        unix_ns: u64,
    },
    /// What was found at the host.
    Inspected(Box<InspectFacts>),
    /// Connected; what was found.
    Ready {
        /// The host.
        environment: Box<Environment>,
        /// Load-making threads.
        shard_count: u32,
        /// Things worth an event in the record.
        remarks: Vec<String>,
        /// Free space of the file systems that it works on, where they tell it.
        free: Vec<FreeSpace>,
        /// What platform or file systems lack of what the plan asks for, and what is
        /// done instead.
        lacking: Vec<String>,
    },
    /// INIT or CLEANUP goes on: since the last such word.
    Progress {
        /// Tasks done.
        task_count: u64,
        /// Bytes written.
        bytes: u64,
    },
    /// An order takes a while, and for what is waited.
    Waiting {
        /// In one sentence.
        sentence: String,
    },
    /// A second of WARMUP or RUN is over. Its number counts from the latest instant at
    /// which RUN might begin.
    Second {
        /// Its figures, all shards.
        interval: Interval,
    },
    /// The space of a file system that it looks at in INIT or while load is made.
    Space {
        /// As it has named it in `Ready`.
        file_system: String,
        /// Free, in bytes.
        free_bytes: u64,
        /// Its size, in bytes; 0: unknown.
        total_bytes: u64,
    },
    /// How many operations every proc has done since the heartbeat before, or since
    /// the phase began.
    Heartbeat(AgentHeartbeat),
    /// A sign of life.
    Alive,
    /// The agent is ending, though the prime did not say so: it was told to on its host.
    Leaving {
        /// Why.
        reason: String,
    },
    /// INIT is over.
    Populated {
        /// What was done.
        tasks: TaskTotals,
        /// Free space before and after, of the file systems that state it.
        space: Vec<SpaceChange>,
    },
    /// WARMUP and RUN are over.
    Measured {
        /// The figures of this client.
        stats: Box<PointStats>,
        /// Its clock against the time service, where the plan names one.
        clock: Option<ClockCheck>,
        /// How long after the ordered instant the order was taken up; 0: before it, as
        /// it should be. In nanoseconds.
        late_ns: u64,
        /// The length that WARMUP had, in nanoseconds.
        warmup_ns: u64,
        /// The same of RUN.
        runtime_ns: u64,
        /// How long after the beginning or the end of RUN the agent learned of it, in
        /// nanoseconds; 0: before it, as it should be.
        run_late_ns: u64,
        /// How long the agent's process stood still. An agent that did not look has no
        /// figures.
        stalls: Stalls,
        /// Mounted file systems: where the bytes came from that were read.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        reads: Vec<ClientReads>,
    },
    /// CLEANUP is over.
    Cleaned {
        /// What was done.
        tasks: TaskTotals,
        /// What stays on a server.
        left_behind: Vec<Leftover>,
    },
    /// The order could not be carried out.
    Failed {
        /// Why, in one sentence.
        reason: String,
        /// It was stopped by request, nothing went wrong.
        stopped: bool,
    },
}

/// Something that stays on a server.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Leftover {
    /// Its place, with the host, and why it stays where that is known.
    pub sentence: String,
    /// It is not this run's: no clean-up of the run removes it, and `filermark stop`
    /// neither.
    #[serde(rename = "is_foreign")]
    pub is_not_ours: bool,
}

impl Leftover {
    /// What the run made, or may have made.
    pub fn ours(sentence: impl Into<String>) -> Self {
        Self {
            sentence: sentence.into(),
            is_not_ours: false,
        }
    }

    /// What is somebody else's.
    pub fn not_ours(sentence: impl Into<String>) -> Self {
        Self {
            sentence: sentence.into(),
            is_not_ours: true,
        }
    }

    /// An entry of a run's directory that is not the run's, by its place.
    pub fn entry(place: String) -> Self {
        Self::not_ours(format!(
            "{place}: not this run's, so neither the run nor `filermark stop` removes it; look \
             at it, and remove it yourself if nobody needs it"
        ))
    }

    /// A directory of the run that stays, by its place.
    pub fn not_removed(place: String) -> Self {
        Self::ours(format!(
            "{place}: the server did not remove it: it is in use, or something was made in it \
             meanwhile"
        ))
    }
}

/// What INIT or CLEANUP did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskTotals {
    /// Tasks done.
    pub task_count: u64,
    /// Tasks that failed.
    pub failed_count: u64,
    /// Bytes written.
    pub bytes: u64,
    /// Files that were taken out of the client's cache.
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
    /// The time that it counts, in nanoseconds.
    pub elapsed_ns: u64,
    /// Procs by their number in the run, and their operations in that time.
    pub procs: Vec<(u32, u64)>,
}

/// An agent's clock against the time service, over one RUN.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum ClockCheck {
    /// Both were read at the beginning and at the end.
    Compared {
        /// What passed by the agent's clock, in nanoseconds.
        ours_ns: u64,
        /// What passed by the service's, in nanoseconds.
        service_ns: u64,
        /// Most that the reading itself may be wrong by, in nanoseconds.
        bound_ns: u64,
    },
    /// The service did not answer as it should.
    Failed {
        /// Why.
        reason: String,
    },
}
