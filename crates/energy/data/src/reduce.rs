//! The efficiency figures of merged logs, as types: the report is made from them alone.
//!
//! Arithmetic only: no clock, and no file but the merged logs ([`reduce_files`]).

mod best_foot;
mod files;
mod limits;
mod load;
mod point;
mod power;
mod rules;
mod series;
mod shown;
mod steps;
mod types;
mod whole;
mod workload;

#[cfg(test)]
mod tests;

pub use files::{ReduceOptions, WORKLOADS, reduce_files, reduce_logs};
pub use limits::{DEFINITION, Limit, Range, StandardLimits, programme};
pub use shown::{efficiency_decimals, shown_decimals};
pub use types::ReduceError;

use crate::log::{EnergyPhase, Instrument, Lab};

#[cfg(any(test, feature = "testing"))]
pub mod testing;

use filermark_model::Severity;
use filermark_results::Timestamp;
use serde::{Deserialize, Serialize};

/// The figures of several merged logs.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Reduction {
    /// One for every run, in the order they were given.
    pub workloads: Vec<WorkloadReduction>,
    /// The plan for the best number of drives, one for every benchmark with a measured number.
    pub best_foot: Vec<BestFoot>,
    /// Findings about all runs together.
    pub findings: Vec<EnergyFinding>,
    /// A figure in it is made up: every rendering marks it.
    pub simulated: bool,
}

/// The figures of one run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct WorkloadReduction {
    /// The run's suffix.
    pub name: String,
    /// The benchmark.
    pub benchmark: String,
    /// What the load counts.
    pub load_unit: String,
    /// Storage devices of the server, if the user gave them.
    pub drives: Option<u32>,
    /// Raw capacity in GB, if the user gave it.
    pub raw_capacity_gb: Option<f64>,
    /// The server and the lab, as the user describes them.
    pub lab: Lab,
    /// Its load points.
    pub points: Vec<PointEfficiency>,
    /// Index in `points` of the most MiB/s per W (of valid points, where any is).
    pub best: Option<usize>,
    /// The source of the traffic.
    pub traffic_from: TrafficFrom,
    /// Power before the first load point, in W.
    pub idle: Option<Stats>,
    /// Raw GB per W when idle.
    pub ready_idle_gb_per_w: Option<f64>,
    /// The sources, in words, simulated ones marked.
    pub sources: Vec<SourceView>,
    /// What the charts show.
    pub series: Vec<Series>,
    /// When each phase began and ended, by time.
    pub phases: Vec<PhaseSpan>,
    /// Events, for the page.
    pub events: Vec<(Timestamp, String)>,
    /// Findings about the run.
    pub findings: Vec<EnergyFinding>,
    /// A figure in it is made up.
    pub simulated: bool,
}

/// The source of MiB/s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TrafficFrom {
    /// The switch's counters of the interfaces that face the server.
    Sflow,
    /// The clients' own count of what they read and wrote: no switch was read.
    Clients,
    /// Nothing.
    #[default]
    Nowhere,
}

/// A load point's efficiency.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PointEfficiency {
    /// Its number, from 1.
    pub number: u32,
    /// The requested load.
    pub load: Option<f64>,
    /// Operations per second that were achieved.
    pub achieved_ops_per_s: Option<f64>,
    /// Mean service time, in milliseconds.
    pub latency_ms_mean: Option<f64>,
    /// MiB per second as clients count it.
    pub client_mib_per_s: Option<f64>,
    /// Whether the point counts, by the run's own rules.
    pub valid: Option<bool>,
    /// RUN with its tail: when it began.
    pub began: Option<Timestamp>,
    /// When it ended.
    pub ended: Option<Timestamp>,
    /// MiB per second to and from the server over RUN.
    pub traffic_mib_per_s: Option<Stats>,
    /// Power of the server over RUN, in W; all its meters added up.
    pub power_w: Option<Stats>,
    /// Power of the clients over RUN, in W, where it was measured.
    pub client_power_w: Option<Stats>,
    /// Temperature at the inlet over RUN, in degrees Celsius.
    pub temperature_c: Option<Stats>,
    /// Relative humidity over RUN, in percent.
    pub humidity_pcnt: Option<Stats>,
    /// MiB/s per W.
    pub mib_per_s_per_w: Option<f64>,
    /// Operations per second per W.
    pub ops_per_s_per_w: Option<f64>,
    /// Joules per operation.
    pub joules_per_op: Option<f64>,
    /// Findings about the load point.
    pub findings: Vec<EnergyFinding>,
}

/// Statistics of a figure over a time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stats {
    /// Mean by time.
    pub mean: f64,
    /// Least.
    pub min: f64,
    /// 5th percentile by time.
    pub p5: f64,
    /// Median by time.
    pub p50: f64,
    /// 95th percentile by time.
    pub p95: f64,
    /// Greatest.
    pub max: f64,
    /// Standard deviation by time.
    pub deviation: f64,
    /// Rise of a straight line through it from begin to end, as a share of the mean.
    pub drift: f64,
    /// Samples.
    pub samples: u64,
    /// Share of the time for which there are samples, 0 to 1.
    pub coverage: f64,
    /// The usual time between samples, in seconds (median).
    pub interval_s: f64,
}

/// A finding about a log, a run or a load point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EnergyFinding {
    /// Which rule, as docs/src/reference/energy-rules.md names it.
    pub rule: EnergyRule,
    /// How much it matters.
    pub severity: Severity,
    /// The message, with figure, limit and what to do.
    pub message: String,
}

/// The rules of findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EnergyRule {
    /// No power, or no traffic, over RUN.
    NoData,
    /// Samples are farther apart than the programme allows.
    SampleInterval,
    /// Samples are missing for part of RUN.
    Gap,
    /// The figure was not stable over RUN.
    Stability,
    /// The inlet's temperature or humidity is outside of the programme's range.
    Environment,
    /// The supply's voltage, frequency or distortion is outside of the programme's range.
    Supply,
    /// A clock's offset is not known, too large, or the clock was set.
    Clock,
    /// Runs overlap in time: their power cannot be separated.
    Overlap,
    /// Interfaces were not chosen, sent no counters, or count traffic twice.
    Ports,
    /// Datagrams were lost, counters were reset, or rows could not be read.
    Data,
    /// A meter's digits are coarser than the figures that are shown from them.
    Resolution,
    /// A field of the worksheet is missing, or a calibration is too old.
    Disclosure,
    /// Figures are made up.
    Simulated,
    /// The load points or the four workloads are not those of the programme.
    Coverage,
    /// A load point does not count by the run's own rules.
    PointInvalid,
}

/// A source in words.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SourceView {
    /// Its name.
    pub name: String,
    /// Where it was read.
    pub location: String,
    /// What it measures: server, client, other.
    pub role: String,
    /// Made up.
    pub simulated: bool,
    /// Samples.
    pub samples: u64,
    /// The offset of its clock from the prime's, in words with the bound.
    pub clock: String,
    /// Its power is voltage x current x power factor, not its own column.
    pub power_of_product: bool,
    /// Its type plate and calibration certificate, as far as the user gave them.
    pub instrument: Instrument,
}

/// A line of a chart.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// What it is.
    pub kind: SeriesKind,
    /// Its label: `power of the server`, `10.0.0.248 interface 24`.
    pub label: String,
    /// The unit: `W`, `MiB/s`, `°C`, `%`.
    pub unit: String,
    /// Its values, by time; `None` is a gap.
    pub values: Vec<(Timestamp, Option<f64>)>,
}

/// What a line of a chart is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SeriesKind {
    /// Power of the server, added up.
    Power,
    /// Power of one meter.
    Meter,
    /// Traffic of the chosen interfaces, added up.
    Traffic,
    /// Traffic of one interface.
    Interface,
    /// What clients read and wrote, from the run record.
    Throughput,
    /// Temperature.
    Temperature,
    /// Humidity.
    Humidity,
}

/// A phase, from when to when.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PhaseSpan {
    /// Load point, from 1; 0 before the first.
    pub point: u32,
    /// Which phase.
    pub phase: EnergyPhase,
    /// When it began.
    pub began: Timestamp,
    /// When it ended.
    pub ended: Timestamp,
}

/// Best foot forward: the most efficient number of drives, and what to measure next (slides E,
/// sources.md 4.2).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BestFoot {
    /// The benchmark.
    pub benchmark: String,
    /// Maximum efficiency by number of drives, from few to many.
    pub measured: Vec<DriveEfficiency>,
    /// Index in `measured` of the best.
    pub best: Option<usize>,
    /// Whether the best has a worse neighbour on both sides: only then it is certain.
    pub enclosed: bool,
    /// The point with fewer drives.
    pub low: Option<RangePoint>,
    /// The point with more drives.
    pub high: Option<RangePoint>,
    /// What to measure next, in sentences; empty: nothing.
    pub next: Vec<String>,
}

/// Maximum efficiency with a number of drives.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DriveEfficiency {
    /// How many.
    pub drives: u32,
    /// MiB/s per W of the run's best load point.
    pub mib_per_s_per_w: f64,
    /// The run's suffix.
    pub run: String,
}

/// An end of the range that a best foot forward represents.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RangePoint {
    /// How many drives it should have: -40 % or +15 % of the best.
    pub drives_wanted: u32,
    /// Index in `measured` of the run that is it by the number of drives.
    pub by_drives: Option<usize>,
    /// Number of drives, between measured ones, at which efficiency is 15 % below the best.
    pub drives_15_pcnt_below: Option<f64>,
}
