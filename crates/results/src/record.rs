//! The run record: the result of a run, as types. One JSON object per line.
//!
//! The lines are described by `schema/run-record-v1.json`. Every other output
//! is rendered from a [`RunRecord`]; a run keeps nothing else.

use crate::environment::Environment;
use crate::heartbeat::{Heartbeat, ScriptRecord};
use crate::ort::OrtMethod;
use crate::requested::requested;
use crate::search::types::{SearchPoint, SearchResult};
use crate::start::StartRecord;
use crate::time::Timestamp;
use filermark_model::client_reads::ClientReads;
use filermark_model::input::InputFile;
use filermark_model::plan::{LoadPoint, RunPlan};
use filermark_model::silence::Silence;
use filermark_model::stall::ProcessStalls;
use filermark_model::stats::PointStats;
use filermark_model::text::one_line;
use filermark_model::{Benchmark, Finding, NOT_A_SPEC_RESULT, Op, Rule, Severity};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write as _};

/// The version of the record's schema that this program writes and reads.
pub const SCHEMA_VERSION: u32 = 1;

/// The JSON Schema of one line of a record.
pub const SCHEMA: &str = include_str!("../schema/run-record-v1.json");

/// One line of a record.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum Line {
    /// The planned run; the first line.
    Run(Box<RunHeader>),
    /// A host that made load, and its servers.
    Environment(Environment),
    /// A phase that ended, with or without success.
    Phase(PhaseRecord),
    /// An event.
    Event(Event),
    /// The rate of every proc.
    Heartbeat(Heartbeat),
    /// The call of a script of the user.
    Script(ScriptRecord),
    /// A load point of the search for the highest load.
    Search(Box<SearchPoint>),
    /// The search has ended.
    Found(Box<SearchResult>),
    /// A load point that ended, with or without success.
    Point(Box<PointRecord>),
    /// How the run ended; the last line of a whole record.
    End(End),
}

/// The first line: the planned run and the program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunHeader {
    /// [`SCHEMA_VERSION`] of the writer.
    pub schema: u32,
    /// The program that wrote it: `filermark`.
    pub program: String,
    /// Its version.
    pub version: String,
    /// The suffix of the run's files (SUFFIX, `-s`).
    pub suffix: String,
    /// When the run began.
    pub started: Timestamp,
    /// [`fingerprint`] of the plan.
    pub fingerprint: String,
    /// [`NOT_A_SPEC_RESULT`], for readers of the record.
    pub notice: String,
    /// The plan.
    pub plan: RunPlan,
    /// The files that it was read from; `None`: written by version 0.1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inputs: Option<Vec<InputFile>>,
}

impl RunHeader {
    /// The header of a run that begins now.
    pub fn new(version: &str, suffix: &str, plan: RunPlan) -> Self {
        Self {
            schema: SCHEMA_VERSION,
            program: "filermark".into(),
            version: version.into(),
            suffix: suffix.into(),
            started: Timestamp::now(),
            fingerprint: fingerprint(&plan),
            notice: NOT_A_SPEC_RESULT.into(),
            plan,
            inputs: None,
        }
    }

    /// Adds the files that the plan was read from.
    #[must_use]
    pub fn with_inputs(mut self, inputs: Vec<InputFile>) -> Self {
        self.inputs = Some(inputs);
        self
    }
}

/// The plan's fingerprint: SHA-256, in hexadecimal, of its JSON without blanks
/// and with the members of every object in the order of their names. What was
/// typed and the findings about it (`parameters`, `findings`) and what would end the run
/// early (`stop_if`) are left out: two runs under different suffixes do the same work. So are
/// the load points that a search has found.
pub fn fingerprint(plan: &RunPlan) -> String {
    let points = match plan.search {
        Some(_) => Vec::new(),
        None => plan.points.clone(),
    };
    let plan = RunPlan {
        points,
        parameters: Vec::new(),
        findings: Vec::new(),
        stop_if: Vec::new(),
        ..plan.clone()
    };
    hex(&canonical_digest(&plan))
}

/// The fingerprint of the definition that a run uses: SHA-256, in hexadecimal, of its JSON in
/// the form of [`fingerprint`], and five decimal digits of it (its first eight bytes
/// modulo 100000), short enough to be compared by eye, as netmist prints one.
pub fn definition_fingerprint(benchmark: &Benchmark) -> (String, u32) {
    let digest = canonical_digest(benchmark);
    let first = digest.iter().take(8);
    let number = first.fold(0u64, |n, byte| n << 8 | u64::from(*byte));
    (hex(&digest), (number % 100_000) as u32)
}

fn canonical_digest(what: &impl Serialize) -> [u8; 32] {
    let value = json_value(what);
    let mut canonical = String::new();
    write_canonical(&value, &mut canonical);
    Sha256::digest(canonical.as_bytes()).into()
}

/// As `serde_json::to_value`; null where that fails. By way of the text, whose serializer the
/// writer of records needs anyway: a second one for plans makes the program larger and its
/// build longer.
pub(crate) fn json_value(what: &impl Serialize) -> serde_json::Value {
    let text = serde_json::to_vec(what).unwrap_or_default();
    serde_json::from_slice(&text).unwrap_or_default()
}

/// SHA-256, in hexadecimal.
pub fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

/// serde_json sorts members or keeps their order, depending on the features that other
/// crates of the build enable; a fingerprint must not depend on that.
fn write_canonical(value: &serde_json::Value, out: &mut String) {
    match value {
        serde_json::Value::Object(map) => {
            let sorted: BTreeMap<_, _> = map.iter().collect();
            for (i, (name, member)) in sorted.into_iter().enumerate() {
                out.push(if i == 0 { '{' } else { ',' });
                let _ = write!(out, "{}:", serde_json::Value::from(name.as_str()));
                write_canonical(member, out);
            }
            out.push_str(if map.is_empty() { "{}" } else { "}" });
        }
        serde_json::Value::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write_canonical(item, out);
            }
            out.push(']');
        }
        plain => {
            let _ = write!(out, "{plain}");
        }
    }
}

/// A phase of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Phase {
    /// The server is checked for correct answers.
    Validate,
    /// The file set is made or grown.
    Init,
    /// Load is made and not measured.
    Warmup,
    /// Load is made and measured.
    Run,
    /// What the run made is removed.
    Cleanup,
}

impl Phase {
    /// The name in records and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Validate => "VALIDATE",
            Self::Init => "INIT",
            Self::Warmup => "WARMUP",
            Self::Run => "RUN",
            Self::Cleanup => "CLEANUP",
        }
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A phase that ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PhaseRecord {
    /// The load point it belongs to, from 1; 0: to the run as a whole.
    pub point: u32,
    /// Which phase.
    pub phase: Phase,
    /// When it began.
    pub began: Timestamp,
    /// When it ended.
    pub ended: Timestamp,
    /// How long it took by the monotonic clock, in seconds.
    pub seconds: f64,
    /// What it did: files created, MiB/s.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
    /// Why it failed, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// INIT: the change of the server's free space, if servers report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub space: Option<SpaceUse>,
    /// When each further tenth was over, if the phase had no fixed length: RUN until the
    /// data set is touched.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub percents: Vec<Timestamp>,
}

/// Bytes that INIT wrote, and the free space before and after it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpaceUse {
    /// Bytes that INIT wrote, all clients.
    pub written_bytes: u64,
    /// Each file system that it wrote to.
    pub file_systems: Vec<SpaceChange>,
}

/// The free space of one file system around INIT, as its server reports it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpaceChange {
    /// Names the file system: an export, a share, or host and device.
    pub file_system: String,
    /// Its size, in bytes; 0: unknown.
    pub total_bytes: u64,
    /// Free before INIT, in bytes.
    pub before_bytes: u64,
    /// Free after INIT, in bytes.
    pub after_bytes: u64,
}

/// An event of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// When.
    pub at: Timestamp,
    /// On which host.
    pub host: String,
    /// What.
    pub message: String,
    /// The rule, if this event is a warning about the whole run: a resumed run has
    /// no end line of its earlier pieces with these findings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<Rule>,
}

/// Added to the text on pieces with REUSE=on.
const REUSED: &str = "; the first load point of each later piece used a new file set, and not that of the previous load point (REUSE=on)";

/// How a run that the user ended is described: on the console, in its record, in reports.
/// Also the failure of the load point that was in progress.
pub const INTERRUPTED: &str = "the run was interrupted";
/// The failure of that load point in records of earlier builds.
const INTERRUPTED_BEFORE: &str = "stopped on request";

/// Whether a load point was measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "lowercase")]
pub enum PointStatus {
    /// Its figures are complete.
    Measured,
    /// It was not measured to its end.
    Failed {
        /// Why, in one sentence.
        reason: String,
    },
}

/// A load point that ended.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PointRecord {
    /// What was requested.
    pub load: LoadPoint,
    /// When its first phase began.
    pub began: Timestamp,
    /// When its last phase ended.
    pub ended: Timestamp,
    /// Whether it was measured.
    pub status: PointStatus,
    /// What all clients together measured; of a failed point what is available.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stats: Option<PointStats>,
    /// What each client measured, in brief.
    #[serde(default)]
    pub clients: Vec<ClientSummary>,
    /// The length of WARMUP, if it was to last until the load was steady.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warmup: Option<WarmupRecord>,
    /// The synchronization of the clients' starts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<StartRecord>,
    /// How long the prime and each agent were stalled during RUN; empty in records
    /// older than this check.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stalls: Vec<ProcessStalls>,
    /// Mounted file systems: the source of the bytes read in RUN.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub client_reads: Vec<ClientReads>,
    /// The findings of the rules ([`crate::judge()`]).
    #[serde(default)]
    pub findings: Vec<Finding>,
}

impl PointRecord {
    /// The figures, when the point was measured to its end.
    pub fn measured(&self) -> Option<&PointStats> {
        match self.status {
            PointStatus::Measured => self.stats.as_ref(),
            PointStatus::Failed { .. } => None,
        }
    }

    /// Why it was not measured, if it was not.
    pub fn failure(&self) -> Option<&str> {
        match &self.status {
            PointStatus::Measured if self.stats.is_none() => Some("no figures were recorded"),
            PointStatus::Measured => None,
            PointStatus::Failed { reason } => Some(reason),
        }
    }

    /// Whether it was in progress when the user ended the run.
    pub fn is_interrupted(&self) -> bool {
        [INTERRUPTED, INTERRUPTED_BEFORE]
            .map(Some)
            .contains(&self.failure())
    }

    /// Whether it counts: measured, and no finding invalidates it.
    pub fn is_valid(&self) -> bool {
        self.measured().is_some() && is_valid(&self.findings)
    }
}

/// Whether a load point with these findings counts.
pub fn is_valid(findings: &[Finding]) -> bool {
    !findings.iter().any(Finding::invalidates)
}

/// The order of two points in the sweep: by load, then by number.
pub(crate) fn by_load(a: &PointRecord, b: &PointRecord) -> Ordering {
    // No limit is above every rate.
    let rate = |p: &PointRecord| match p.load.requested.0 {
        rate if rate > 0.0 => rate,
        _ => f64::INFINITY,
    };
    rate(a)
        .total_cmp(&rate(b))
        .then(a.load.units.total_cmp(&b.load.units))
        .then(a.load.number.cmp(&b.load.number))
}

/// A warm-up until the load is steady (WARMUP_TIME=auto).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WarmupRecord {
    /// How long it took, in nanoseconds.
    pub length_ns: u64,
    /// Rate and mean response time had become steady; if not, WARMUP reached its maximum length.
    pub steady: bool,
}

/// What one client measured at a load point, in brief.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClientSummary {
    /// Its number, from 1.
    pub client: u32,
    /// Its name as the rc file gives it.
    pub name: String,
    /// The number of its first proc in the whole run.
    pub first_proc: u32,
    /// How many procs it has.
    pub proc_count: u32,
    /// Length of its measured window, in nanoseconds.
    pub window_ns: u64,
    /// Its operations.
    pub ops: Vec<ClientOp>,
    /// Median of its own wake-up delays, in nanoseconds.
    pub wakeup_ns_p50: u64,
    /// 99th percentile of the same.
    pub wakeup_ns_p99: u64,
    /// Processor time that its threads took in the window, in nanoseconds.
    pub generator_cpu_ns: u64,
    /// Its load-making threads.
    pub shard_count: u32,
    /// The longest time in RUN without a reply while operations were in flight;
    /// `None`: none of a second or more, or the record is older than this check.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub silence: Option<Silence>,
    /// The driver's counters.
    pub counters: BTreeMap<String, u64>,
    /// Failed operations by "op: the server's error".
    pub errors: BTreeMap<String, u64>,
}

/// One operation's figures on one client.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClientOp {
    /// Which operation.
    pub op: Op,
    /// Logical operations that succeeded.
    pub success_count: u64,
    /// Physical operations for these.
    pub physical_count: u64,
    /// Logical operations that failed.
    pub error_count: u64,
    /// Bytes read by them.
    pub read_bytes: u64,
    /// Bytes written by them.
    pub written_bytes: u64,
    /// Mean service time, in nanoseconds.
    pub service_ns_mean: f64,
    /// 99th percentile of the service time, in nanoseconds.
    pub service_ns_p99: u64,
}

impl ClientSummary {
    /// The summary of what client number `client` (from 1) measured.
    pub fn of(client: u32, name: &str, stats: &PointStats) -> Self {
        Self {
            client,
            name: name.into(),
            first_proc: stats.procs.iter().map(|p| p.proc).min().unwrap_or(0),
            proc_count: stats.procs.len() as u32,
            window_ns: stats.window_ns,
            ops: stats
                .ops
                .iter()
                .map(|o| ClientOp {
                    op: o.op,
                    success_count: o.success_count,
                    physical_count: o.physical_count,
                    error_count: o.error_count,
                    read_bytes: o.read_bytes,
                    written_bytes: o.written_bytes,
                    service_ns_mean: o.service.mean_ns(),
                    service_ns_p99: o.service.percentile_ns(99.0),
                })
                .collect(),
            wakeup_ns_p50: stats.wakeup.percentile_ns(50.0),
            wakeup_ns_p99: stats.wakeup.percentile_ns(99.0),
            generator_cpu_ns: stats.generator_cpu_ns,
            shard_count: stats.shard_count,
            silence: stats.silence,
            counters: stats.counters.clone(),
            errors: stats.errors.clone(),
        }
    }

    /// Logical operations that succeeded.
    pub fn success_count(&self) -> u64 {
        self.ops.iter().map(|o| o.success_count).sum()
    }

    /// Logical operations that failed.
    pub fn error_count(&self) -> u64 {
        self.ops.iter().map(|o| o.error_count).sum()
    }
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "lowercase")]
pub enum Outcome {
    /// Every load point was tried.
    Complete,
    /// The user ended it.
    Interrupted,
    /// It could not go on.
    Failed {
        /// Why, in one sentence.
        reason: String,
    },
}

/// A sentence without its full stop.
impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Complete => f.write_str("the run is complete"),
            Self::Interrupted => f.write_str(INTERRUPTED),
            Self::Failed { reason } => write!(f, "the run failed: {}", one_line(reason)),
        }
    }
}

/// The last line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct End {
    /// When.
    pub at: Timestamp,
    /// How.
    pub outcome: Outcome,
    /// How long the whole run took, in seconds.
    pub wall_seconds: f64,
    /// Findings on the run as a whole (left behind, interrupted ...).
    #[serde(default)]
    pub findings: Vec<Finding>,
    /// The verdict ([`crate::verdict::WORDS`]), as it was when this line was
    /// written; readers compute it again ([`RunRecord::verdict`]). Records of version 0.1
    /// have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<String>,
    /// The reasons of the verdict.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<String>,
}

/// A complete record, the input of renderers.
#[derive(Clone, Debug)]
pub struct RunRecord {
    /// The first line.
    pub run: RunHeader,
    /// The hosts.
    pub environments: Vec<Environment>,
    /// The phases, in the order they ended.
    pub phases: Vec<PhaseRecord>,
    /// The events, in the order they happened.
    pub events: Vec<Event>,
    /// The heartbeats, in the order they came.
    pub heartbeats: Vec<Heartbeat>,
    /// The calls of scripts, in the order they ended.
    pub scripts: Vec<ScriptRecord>,
    /// The load points, by number.
    pub points: Vec<PointRecord>,
    /// The last line; `None`: the run is in progress, or was cut.
    pub end: Option<End>,
    /// The load points of the search for the highest load, in order.
    pub search: Vec<SearchPoint>,
    /// What the search has found.
    pub found: Option<SearchResult>,
    /// What the reader had to leave out of a file that was cut, for people.
    pub cut: Option<String>,
    /// When the run was resumed after it had been cut, in order; empty: it never was.
    pub restarts: Vec<Restart>,
}

/// A run that was cut and resumed after its last measured load point.
#[derive(Clone, Debug, PartialEq)]
pub struct Restart {
    /// When it was resumed.
    pub at: Timestamp,
    /// The version of the program that resumed it.
    pub version: String,
    /// How many load points had been measured by then.
    pub point_count: usize,
    /// How long the pieces before it took, in seconds, as far as known.
    pub seconds_before: f64,
    /// The hosts of the piece before it.
    pub environments: Vec<Environment>,
}

impl RunRecord {
    /// A record with its first line only.
    pub fn new(run: RunHeader) -> Self {
        Self {
            run,
            environments: Vec::new(),
            phases: Vec::new(),
            events: Vec::new(),
            heartbeats: Vec::new(),
            scripts: Vec::new(),
            points: Vec::new(),
            search: Vec::new(),
            found: None,
            end: None,
            cut: None,
            restarts: Vec::new(),
        }
    }

    /// Resumes the run by this line. Measured load points stay. The data of load points
    /// without a complete measurement is removed, because they are measured again: failed
    /// points, their phases, heartbeats and calls of scripts. The hosts are recorded again;
    /// events stay.
    pub fn go_on(&mut self, run: &RunHeader) {
        let seconds_before = self.seconds_worked();
        // All clients are there again: a search goes on where it lost one.
        if let Some(lost) = self.search.iter().position(|p| p.lost_client().is_some()) {
            self.search.truncate(lost);
            self.found = None;
        }
        self.points.retain(|point| point.measured().is_some());
        let of_search = self.search.iter().map(|p| p.point.load.number);
        let of_sweep = self.points.iter().map(|p| p.load.number);
        let measured: BTreeSet<u32> = of_sweep.chain(of_search).collect();
        let stays = |point: u32| point == 0 || measured.contains(&point);
        self.phases.retain(|phase| stays(phase.point));
        self.heartbeats.retain(|beat| stays(beat.point));
        self.scripts.retain(|script| stays(script.point));
        self.end = None;
        self.cut = None;
        self.restarts.push(Restart {
            at: run.started,
            version: run.version.clone(),
            point_count: self.points.len(),
            seconds_before,
            environments: std::mem::take(&mut self.environments),
        });
    }

    /// The working time of the run so far, in seconds: from its end line, else until the
    /// last line with a time.
    pub fn seconds_worked(&self) -> f64 {
        if let Some(end) = &self.end {
            return end.wall_seconds;
        }
        let (from, before) = self
            .restarts
            .last()
            .map_or((self.run.started, 0.0), |r| (r.at, r.seconds_before));
        let phases = self.phases.iter().map(|phase| phase.ended);
        let searched = self.search.iter().map(|point| point.point.ended);
        let points = self.points.iter().map(|point| point.ended).chain(searched);
        let events = self.events.iter().map(|event| event.at);
        let last = phases
            .chain(points)
            .chain(events)
            .fold(from, Timestamp::max);
        before + last.seconds_since(from)
    }

    /// The pieces in which it was measured, for people; `None`: one piece.
    pub fn pieces(&self) -> Option<String> {
        let mut measured = self
            .points
            .iter()
            .filter(|point| point.measured().is_some());
        let last = measured.next_back().map_or(0, |point| point.load.number);
        let count = self.restarts.len() + 1;
        let resumed = self.restarts.iter().map(|restart| {
            let behind = match restart.point_count {
                0 if self.search.is_empty() => "before any load point was measured".to_owned(),
                0 => "before any load point of the sweep was measured".to_owned(),
                n => format!("after load point {n}"),
            };
            format!("resumed {behind} at {}", restart.at.readable())
        });
        let resumed: Vec<String> = resumed.collect();
        let reuse = match self.run.plan.fileset.reuse {
            true => REUSED,
            false => "",
        };
        (count > 1).then(|| {
            format!(
                "measured in {count} pieces: began at {}, was cut, and {}, until load point {last}; no load point was measured in two pieces{reuse}",
                self.run.started.readable(),
                resumed.join(", was cut, and ")
            )
        })
    }

    /// Adds a line. A point with the same number is replaced: a resumed run measures it
    /// again.
    pub fn push(&mut self, line: Line) {
        match line {
            Line::Run(run) => self.run = *run,
            Line::Environment(environment) => self.environments.push(environment),
            Line::Phase(phase) => self.phases.push(phase),
            Line::Event(event) => self.events.push(event),
            Line::Heartbeat(heartbeat) => self.heartbeats.push(heartbeat),
            Line::Script(script) => self.scripts.push(script),
            Line::Search(point) => self.search.push(*point),
            Line::Found(found) => {
                self.run.plan.points.clone_from(&found.points);
                self.found = Some(*found);
            }
            Line::Point(point) => {
                let number = point.load.number;
                match self.points.binary_search_by_key(&number, |p| p.load.number) {
                    Ok(at) => self.points[at] = *point,
                    Err(at) => self.points.insert(at, *point),
                }
            }
            Line::End(end) => self.end = Some(end),
        }
    }

    /// The load points that failed, not those that the user ended.
    pub fn failed_points(&self) -> impl Iterator<Item = &PointRecord> {
        let has_failed = |p: &PointRecord| matches!(p.status, PointStatus::Failed { .. });
        let failed = move |p: &&PointRecord| has_failed(p) && !p.is_interrupted();
        self.points.iter().filter(failed)
    }

    /// The load points that count.
    pub fn valid_points(&self) -> impl Iterator<Item = &PointRecord> {
        self.points.iter().filter(|p| p.is_valid())
    }

    /// The valid load point with the highest achieved rate.
    pub fn peak(&self) -> Option<&PointRecord> {
        self.valid_points()
            .max_by(|a, b| achieved(a).total_cmp(&achieved(b)))
    }

    /// The overall response time of the valid points, in milliseconds: for a classical
    /// benchmark by the 2008 formula, for a composite by the 2020 formula or the mean of its
    /// only point. `None` where it means nothing ([`Self::is_curve`], [`OrtMethod::ort`]).
    pub fn ort_ms(&self) -> Option<f64> {
        if !self.is_curve() {
            return None;
        }
        let plan = &self.run.plan;
        let mut valid: Vec<_> = self.valid_points().collect();
        // LOAD may list the loads in any order.
        valid.sort_by(|a, b| by_load(a, b));
        let has_rates = valid.iter().all(|p| requested(plan, p.load).is_some());
        let points: Vec<_> = valid
            .into_iter()
            .filter_map(PointRecord::measured)
            .map(|s| (s.achieved_ops_per_sec(), s.service().mean_ns() / 1e6))
            .collect();
        let is_composite = plan.benchmark.composite().is_some();
        OrtMethod::of(is_composite).ort(&points, has_rates)
    }

    /// Whether its load points are a curve: LOAD=max has no rate, and the one load that a search
    /// without a sweep has found is no sweep. Without a curve there is no overall response time,
    /// and no output names one.
    pub fn is_curve(&self) -> bool {
        let measured = || self.points.iter().filter(|p| p.measured().is_some());
        let is_classic = self.run.plan.benchmark.composite().is_none();
        let is_unrated = is_classic && measured().any(|point| point.load.is_max());
        let is_found = !self.search.is_empty() && measured().count() < 2;
        !is_unrated && !is_found
    }

    /// Warnings about the run as a whole from its events, each once: those of all
    /// pieces, also of killed ones.
    pub fn warnings_of_events(&self) -> Vec<Finding> {
        let mut found: Vec<Finding> = Vec::new();
        for event in &self.events {
            let Some(rule) = event.rule else { continue };
            let known = |f: &Finding| f.rule == rule && f.message == event.message;
            if !found.iter().any(known) {
                found.push(Finding::new(rule, Severity::Warning, event.message.clone()));
            }
        }
        found
    }

    /// Findings on the run as a whole: from the plan, and at the end.
    pub fn run_findings(&self) -> impl Iterator<Item = &Finding> {
        let at_end = self.end.iter().flat_map(|e| &e.findings);
        self.run.plan.findings.iter().chain(at_end)
    }
}

fn achieved(point: &PointRecord) -> f64 {
    point
        .measured()
        .map_or(0.0, PointStats::achieved_ops_per_sec)
}
