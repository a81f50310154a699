//! The events of a run as they are written: one JSON object per line, described by
//! `schema/events-v1.json` and docs/src/reference/events.md. Plain data.

use filermark_model::Finding;
use filermark_results::Phase;
use serde::Serialize;

/// The version of the schema of events.
pub const SCHEMA_VERSION: u32 = 1;

/// One line.
#[derive(Clone, Debug, Serialize)]
pub struct Line<'a> {
    /// The kind of event.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// The time, RFC 3339 with milliseconds, UTC.
    pub at: String,
    /// Its number, from 0; a gap: lines were dropped.
    pub seq: u64,
    /// The rest.
    #[serde(flatten)]
    pub event: &'a Event,
}

/// An event.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
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
    Second(Second),
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
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunBegan {
    pub schema: u32,
    pub program: &'static str,
    pub version: &'static str,
    pub notice: &'static str,
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
    pub record_path: String,
}

/// A planned load point.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PointWanted {
    pub point: u32,
    pub name: String,
    /// Missing: at full speed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requested_ops_per_sec: Option<f64>,
    pub proc_count: u32,
}

/// A second of WARMUP or RUN, on all clients together.
#[derive(Clone, Debug, PartialEq, Serialize)]
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
}

/// A load point that is over.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PointEnded {
    pub point: u32,
    pub name: String,
    /// VALID; VALID, CACHED; INVALID; FAILED.
    pub verdict: &'static str,
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

/// A summary of the measurements of a load point.
#[derive(Clone, Debug, PartialEq, Serialize)]
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
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub response_at_least: Vec<&'static str>,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Ending {
    Complete,
    Interrupted,
    Failed,
}

/// The last event.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunEnded {
    pub outcome: Ending,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    pub exit_code: u8,
    /// How the result counts, in its word. Missing: there is no record.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<&'static str>,
    /// The reasons of the verdict.
    #[serde(skip_serializing_if = "Vec::is_empty")]
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
    /// The name of its kind.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::RunBegan(_) => "run_began",
            Self::Agents { .. } => "agents",
            Self::PhaseBegan { .. } => "phase_began",
            Self::Tasks { .. } => "tasks",
            Self::Second(_) => "second",
            Self::Percent { .. } => "percent",
            Self::Heartbeat { .. } => "heartbeat",
            Self::Script { .. } => "script",
            Self::PointEnded(_) => "point_ended",
            Self::Remark { .. } => "remark",
            Self::RunEnded(_) => "run_ended",
        }
    }

    /// Whether it may be dropped if the reader is too slow.
    pub const fn is_passing(&self) -> bool {
        matches!(
            self,
            Self::Tasks { .. } | Self::Second(_) | Self::Percent { .. } | Self::Heartbeat { .. }
        )
    }
}
