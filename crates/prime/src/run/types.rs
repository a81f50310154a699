//! What a run needs, what it tells while it goes on, and what it comes to.

use filermark_engine::driver::StopFlag;
use filermark_model::input::InputFile;
use filermark_model::launch::LaunchPlan;
use filermark_model::stats::Interval;
use filermark_model::{LoadPoint, RunPlan};
use filermark_results::output::Output;
use filermark_results::record::{Phase, PointRecord};
use filermark_results::{Environment, Heartbeat, Outcome, RunRecord, ScriptRecord};
use std::path::PathBuf;
use std::time::Duration;

/// What a run needs besides its plan.
pub struct RunOptions<'a> {
    /// The plan.
    pub plan: RunPlan,
    /// End of the names of the result files.
    pub suffix: String,
    /// The command that removes what the run leaves behind, for messages.
    pub stop_command: String,
    /// The files that the plan was read from.
    pub inputs: Vec<InputFile>,
    /// The record of this suffix is of this plan and was cut: go on behind its last
    /// measured load point.
    pub goes_on: bool,
    /// Directory of the result files; made when missing.
    pub dir: PathBuf,
    /// Directory of the procs' logs, where it is another one.
    pub client_log_dir: Option<PathBuf>,
    /// A further log of all heartbeats (netmist's `-q`).
    pub heartbeat_log: Option<PathBuf>,
    /// The files that the caller makes of the record: further rows of the table of outputs.
    pub reports: &'static [Output],
    /// Raised when the user wishes to stop.
    pub stop: StopFlag,
    /// Where the agents are to be, and what it means when one is lost.
    pub launch: LaunchPlan,
    /// Told what goes on.
    pub observe: &'a mut dyn FnMut(Progress<'_>),
}

/// What goes on.
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
    /// INIT or CLEANUP went on; sums since the phase began.
    Tasks {
        /// Tasks done.
        task_count: u64,
        /// Bytes written.
        bytes: u64,
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
    /// How fast every proc has been since the heartbeat before.
    Heartbeat(&'a Heartbeat),
    /// A script of the user's has ended, well or not.
    Script(&'a ScriptRecord),
    /// A load point is over; it is in the record.
    PointEnded(&'a RunRecord, &'a PointRecord),
    /// So many of all agents are there.
    Agents {
        /// Those that can be given orders.
        living: usize,
        /// Those of the plan.
        all: usize,
    },
    /// A client host is ready.
    Host(&'a Environment),
    /// Something worth telling.
    Remark(&'a str),
}

/// How a run went.
#[derive(Debug)]
pub struct RunOutcome {
    /// Everything, as it is in the file.
    pub record: RunRecord,
    /// The record's file.
    pub record_path: PathBuf,
    /// The classical files that were written.
    pub files: Vec<PathBuf>,
    /// The run ended before it had begun anything, and the record and the files of its name
    /// are an earlier run's: they are as they were, and `record` is in no file.
    pub earlier_run_kept: bool,
    /// Why the record or one of those files is not whole.
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

/// Why there is not even a record.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The result directory or the record cannot be written.
    #[error("{0}")]
    Record(String),
}
