//! What prime and agents say to each other.
//!
//! Every message is one of these, as JSON behind its length. The first one from
//! either side is `Hello`; a different protocol or build ends the talk with a
//! sentence. An agent that is told nothing for long, or whose link ends, stops
//! its load and cleans up by itself.

use filermark_model::stats::Interval;
use filermark_model::{LoadPoint, PointStats, RunPlan};
use filermark_results::Environment;
use serde::{Deserialize, Serialize};

/// The version of this protocol; any change of a message makes a new one.
pub const PROTOCOL: u32 = 1;

/// Who speaks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// [`PROTOCOL`] of the speaker.
    pub protocol: u32,
    /// Version of the program.
    pub version: String,
}

impl Hello {
    /// This program.
    pub fn own() -> Self {
        Self {
            protocol: PROTOCOL,
            version: env!("CARGO_PKG_VERSION").into(),
        }
    }
}

/// From the prime to an agent.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "order", rename_all = "snake_case")]
pub enum Order {
    /// The first word.
    Hello(Hello),
    /// What is to be run and which client of the plan this agent is. The agent
    /// connects, claims the run's directory, and answers `Ready`.
    Prepare {
        /// The plan.
        plan: Box<RunPlan>,
        /// Index into its clients.
        client: u32,
        /// Name of the run's directory on the servers.
        dir_name: String,
        /// Identifies the run in its marker file.
        run_id: String,
    },
    /// INIT of a load point; answered by `Populated`.
    Init {
        /// Which.
        point: LoadPoint,
    },
    /// WARMUP and RUN of a load point; answered by `Measured`.
    Run {
        /// Which.
        point: LoadPoint,
        /// WARMUP begins so long after this message came, in nanoseconds.
        start_in_ns: u64,
    },
    /// CLEANUP; answered by `Cleaned`.
    Cleanup {
        /// Also give the run's directory back: this was the last load point.
        release: bool,
    },
    /// Stop the phase under way; it ends with `Failed`.
    Stop,
    /// Nothing more will come.
    Goodbye,
}

impl Order {
    /// Its name, for the talk.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Hello(_) => "hello",
            Self::Prepare { .. } => "prepare",
            Self::Init { .. } => "init",
            Self::Run { .. } => "run",
            Self::Cleanup { .. } => "cleanup",
            Self::Stop => "stop",
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
    /// Connected; what was found.
    Ready {
        /// The host.
        environment: Box<Environment>,
        /// Load-making threads.
        shard_count: u32,
        /// Things worth an event in the record.
        remarks: Vec<String>,
        /// Least free space of the mount points, in bytes.
        free_bytes: Option<u64>,
    },
    /// INIT or CLEANUP goes on: since the last such word.
    Progress {
        /// Tasks done.
        task_count: u64,
        /// Bytes written.
        bytes: u64,
    },
    /// A second of WARMUP or RUN is over.
    Second {
        /// Its figures, all shards.
        interval: Interval,
    },
    /// A sign of life.
    Alive,
    /// INIT is over.
    Populated(Tasks),
    /// WARMUP and RUN are over.
    Measured {
        /// The figures of this client.
        stats: Box<PointStats>,
    },
    /// CLEANUP is over.
    Cleaned {
        /// What was done.
        tasks: Tasks,
        /// What stays on a server, with its place.
        left_behind: Vec<String>,
    },
    /// The order could not be carried out.
    Failed {
        /// Why, in one sentence.
        reason: String,
        /// It was stopped by request, nothing went wrong.
        stopped: bool,
    },
}

/// What INIT or CLEANUP did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tasks {
    /// Tasks done.
    pub task_count: u64,
    /// Tasks that failed.
    pub failed_count: u64,
    /// Bytes written.
    pub bytes: u64,
    /// How long it took, in nanoseconds.
    pub elapsed_ns: u64,
}
