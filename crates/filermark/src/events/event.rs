//! The events of a run as they are written: one JSON object per line, described by
//! `schema/events-v1.json` and docs/src/reference/events.md. Plain data.

use filermark_model::Finding;
use filermark_model::responses::Responses;
use filermark_results::Phase;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// The version of the schema of events.
pub const SCHEMA_VERSION: u32 = 1;

/// One line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Line<E> {
    /// The time, RFC 3339 with milliseconds, UTC.
    pub at: String,
    /// Its number, from 0; a gap: lines were dropped.
    pub seq: u64,
    /// The type and the rest.
    #[serde(flatten)]
    pub event: E,
}

/// An event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event {
    RunBegan(RunBegan),
    Agents {
        living_count: usize,
        all_count: usize,
    },
    PhaseBegan {
        /// Missing: the CLEANUP at the end of the run.
        #[serde(skip_serializing_if = "Option::is_none")]
        point: Option<u32>,
        phase: Phase,
        /// The step of a search, from 1; its load point is not in the plan. Missing: no search.
        #[serde(skip_serializing_if = "Option::is_none")]
        search_step: Option<u32>,
        /// Missing: as fast as possible, or no load point.
        #[serde(skip_serializing_if = "Option::is_none")]
        requested_ops_per_sec: Option<f64>,
        /// Missing: unknown.
        #[serde(skip_serializing_if = "Option::is_none")]
        expected_seconds: Option<f64>,
    },
    Tasks {
        #[serde(skip_serializing_if = "Option::is_none")]
        point: Option<u32>,
        phase: Phase,
        task_count: u64,
        written_bytes: u64,
    },
    Second(Box<Second>),
    Percent {
        point: u32,
        phase: Phase,
        over_percent: u32,
    },
    Heartbeat {
        point: u32,
        phase: Phase,
        seconds: f64,
        proc_count: usize,
        total_ops_per_sec: f64,
        slowest_ops_per_sec: f64,
        fastest_ops_per_sec: f64,
    },
    /// Power at this moment, where it is measured.
    Power {
        /// The storage under test.
        #[serde(skip_serializing_if = "Option::is_none")]
        power_w: Option<f64>,
        /// The clients.
        #[serde(skip_serializing_if = "Option::is_none")]
        client_power_w: Option<f64>,
    },
    /// The load points after a search.
    PointsPlanned {
        points: Vec<PointWanted>,
    },
    Script {
        script: String,
        argument: String,
        /// 0: the run as a whole.
        point: u32,
        ok: bool,
        /// Missing: it was ended.
        #[serde(skip_serializing_if = "Option::is_none")]
        exit_code: Option<i32>,
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        seconds: f64,
    },
    PointEnded(Box<PointEnded>),
    Remark {
        message: String,
    },
    RunEnded(RunEnded),
}

/// The first event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunBegan {
    pub schema: u32,
    pub program: Cow<'static, str>,
    pub version: Cow<'static, str>,
    pub notice: Cow<'static, str>,
    pub suffix: String,
    pub benchmark: String,
    pub benchmark_version: u32,
    pub fingerprint: String,
    pub client_count: usize,
    pub proc_count: u32,
    pub points: Vec<PointWanted>,
    pub warmup_seconds: f64,
    pub run_seconds: f64,
    /// Missing: RUN takes `run_seconds`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_max_seconds: Option<f64>,
    /// The file set stays at the end (KEEP).
    #[serde(default, skip_serializing_if = "is_false")]
    pub keep: bool,
    /// A load point extends the file set of the one before (REUSE).
    #[serde(default, skip_serializing_if = "is_false")]
    pub reuse: bool,
    /// Operations are system calls that block: a silent server does not end the run.
    #[serde(default, skip_serializing_if = "is_false")]
    pub blocks: bool,
    /// How long the end of RUN may take.
    #[serde(default)]
    pub close_max_seconds: f64,
    pub record_path: String,
}

/// A planned load point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PointWanted {
    pub point: u32,
    pub name: String,
    /// Missing: at full speed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requested_ops_per_sec: Option<f64>,
    #[serde(default)]
    pub proc_count: u32,
    /// Bytes that INIT writes, and the size of the file set after it.
    #[serde(default)]
    pub init_bytes: u64,
    #[serde(default)]
    pub fileset_bytes: u64,
}

/// A second of WARMUP or RUN, on all clients together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Second {
    pub point: u32,
    pub phase: Phase,
    /// Whole seconds since RUN began; negative in WARMUP.
    pub second: i64,
    pub success_count: u64,
    pub error_count: u64,
    pub read_bytes: u64,
    pub written_bytes: u64,
    /// Missing: no operation succeeded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_mean_ms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_max_ms: Option<f64>,
    /// Sums over the operations that succeeded.
    #[serde(default)]
    pub service_sum_ms: f64,
    #[serde(default)]
    pub response_sum_ms: f64,
    /// Service times by power of two: entry i counts those of 2^i to 2^(i+1) microseconds, the
    /// first also the shorter ones, the 24th also the longer ones. Zeros at the end are left out.
    #[serde(default)]
    pub service_log2_us: Vec<u32>,
    /// Response times by bucket and group of operations.
    #[serde(default, skip_serializing_if = "Responses::is_empty")]
    pub responses: Responses,
    /// Operations under way at the end of the second, and the age of the oldest.
    #[serde(default)]
    pub open_count: u64,
    #[serde(default)]
    pub open_age_max_ms: f64,
}

/// A load point that is over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PointEnded {
    pub point: u32,
    pub name: String,
    /// VALID; VALID, CACHED; INVALID; FAILED.
    pub verdict: Cow<'static, str>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requested_ops_per_sec: Option<f64>,
    /// Missing: it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub figures: Option<Figures>,
    pub findings: Vec<Finding>,
}

impl PointEnded {
    /// Whether it was measured and counts.
    pub fn counts(&self) -> bool {
        self.figures.is_some() && self.verdict != "INVALID"
    }
}

/// A summary of the measurements of a load point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    pub achieved_ops_per_sec: f64,
    pub window_seconds: f64,
    pub success_count: u64,
    pub error_count: u64,
    pub read_bytes: u64,
    pub written_bytes: u64,
    pub service_mean_ms: f64,
    pub service_p99_ms: f64,
    pub response_mean_ms: f64,
    pub response_p99_ms: f64,
    /// The response-time figures that are lower bounds, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub response_at_least: Vec<Cow<'static, str>>,
    /// How late the generator itself started operations.
    #[serde(default)]
    pub lateness_p99_ms: f64,
    /// The most operations that were due and not started.
    #[serde(default)]
    pub backlog_max: u64,
    /// By operation, of those that occurred.
    #[serde(default)]
    pub operations: Vec<OperationFigures>,
}

/// The figures of one operation in RUN.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OperationFigures {
    pub operation: String,
    pub success_count: u64,
    pub error_count: u64,
    pub service_mean_ms: f64,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ending {
    Complete,
    Interrupted,
    Failed,
}

impl Ending {
    /// As it is written.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Interrupted => "interrupted",
            Self::Failed => "failed",
        }
    }
}

/// The last event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunEnded {
    pub outcome: Ending,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    pub exit_code: u8,
    /// How the result counts, in its word. Missing: there is no record.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Cow<'static, str>>,
    /// The reasons of the verdict.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub verdict_reasons: Vec<String>,
    /// The highest load point that counts. Missing: none counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak_ops_per_sec: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ort_ms: Option<f64>,
    pub wall_seconds: f64,
    /// Missing: there is no record.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub record_path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub report_path: Option<String>,
}

impl Event {
    /// Whether it may be dropped if the reader is too slow.
    pub const fn is_passing(&self) -> bool {
        matches!(
            self,
            Self::Tasks { .. }
                | Self::Second(_)
                | Self::Percent { .. }
                | Self::Heartbeat { .. }
                | Self::Power { .. }
        )
    }
}

/// A line as it was written; `None`: it is no event, or of a type that this version does not know.
pub fn read_line(text: &str) -> Option<Line<Event>> {
    serde_json::from_str(text).ok()
}

fn is_false(flag: &bool) -> bool {
    !*flag
}
