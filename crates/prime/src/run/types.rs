//! The options of a run, its progress and its outcome.

use filermark_engine::driver::StopFlag;
use filermark_model::input::InputFile;
use filermark_model::launch::LaunchPlan;
use filermark_model::stats::Interval;
use filermark_model::{LoadPoint, RunPlan};
use filermark_results::output::Output;
use filermark_results::record::{Phase, PointRecord};
use filermark_results::search::SearchPoint;
use filermark_results::{Environment, Heartbeat, Outcome, RunRecord, ScriptRecord};
use std::path::PathBuf;
use std::time::Duration;

/// A plan and how to run it.
pub struct RunOptions<'a> {
    /// The plan.
    pub plan: RunPlan,
    /// The last part of the names of the result files.
    pub suffix: String,
    /// The command that removes what the run leaves behind, for messages.
    pub stop_command: String,
    /// The files that the plan was read from.
    pub inputs: Vec<InputFile>,
    /// The record of this suffix has this plan and is incomplete: resume the run after its
    /// last measured load point.
    pub goes_on: bool,
    /// Directory of the result files; made when missing.
    pub dir: PathBuf,
    /// Directory of the procs' logs, if it differs from `dir`.
    pub client_log_dir: Option<PathBuf>,
    /// An additional log of all heartbeats (netmist's `-q`).
    pub heartbeat_log: Option<PathBuf>,
    /// The files that the caller makes from the record: additional rows of the table of outputs.
    pub reports: &'static [Output],
    /// Raised when the user asks to stop.
    pub stop: StopFlag,
    /// Where the agents are started, and whether the run goes on when one is lost.
    pub launch: LaunchPlan,
    /// Called with the progress.
    pub observe: &'a mut dyn FnMut(Progress<'_>),
}

/// Progress of a run.
#[derive(Debug)]
pub enum Progress<'a> {
    /// A phase begins.
    PhaseBegan {
        /// The load point; `None` for the CLEANUP at the end.
        point: Option<LoadPoint>,
        /// The phase.
        phase: Phase,
        /// How long it will take, where that is known.
        expected: Option<Duration>,
    },
    /// Progress of INIT or CLEANUP; sums since the phase began.
    Tasks {
        /// Tasks done.
        task_count: u64,
        /// Bytes written.
        bytes: u64,
    },
    /// In INIT or CLEANUP no object was made or removed since that many seconds. Once a second.
    Idle {
        /// Whole seconds since the last object, or since the phase began.
        seconds: u32,
    },
    /// A second of WARMUP or RUN is over, on all clients.
    Second(&'a Interval),
    /// Another tenth of WARMUP or RUN is over.
    Percent {
        /// The load point.
        point: LoadPoint,
        /// WARMUP or RUN.
        phase: Phase,
        /// How much of it is over: 10, 20 and so on to 100.
        percent: u32,
    },
    /// The rate of each proc since the previous heartbeat.
    Heartbeat(&'a Heartbeat),
    /// A script of the user has ended or failed.
    Script(&'a ScriptRecord),
    /// A load point of a search is over; it is in the record.
    SearchTried(&'a RunRecord, &'a SearchPoint),
    /// A search has ended; the plan has the load points of the sweep now.
    SearchEnded(&'a RunPlan),
    /// A load point is over; it is in the record.
    PointEnded(&'a RunRecord, &'a PointRecord),
    /// The number of connected agents.
    Agents {
        /// Those that can be given orders.
        living: usize,
        /// Those of the plan.
        all: usize,
    },
    /// A client host is ready.
    Host(&'a Environment),
    /// A message.
    Remark(&'a str),
}

/// How a run went.
#[derive(Debug)]
pub struct RunOutcome {
    /// The whole record, as in the file.
    pub record: RunRecord,
    /// The record's file.
    pub record_path: PathBuf,
    /// The classical files that were written.
    pub files: Vec<PathBuf>,
    /// The run ended before all agents were ready: the record and the files of its name are
    /// those of an earlier run and unchanged, and `record` is in no file.
    pub earlier_run_kept: bool,
    /// Why the record or one of those files is incomplete.
    pub unwritten: Option<String>,
}

impl RunOutcome {
    /// How the run ended.
    pub fn outcome(&self) -> Outcome {
        self.record
            .end
            .as_ref()
            .map_or(Outcome::Interrupted, |end| end.outcome.clone())
    }
}

/// Why there is no record.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The result directory or the record cannot be written.
    #[error("{0}")]
    Record(String),
}
