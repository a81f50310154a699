//! Two or more runs side by side; the first is the base.
//!
//! `work` compares the work that was done, `points` and `sweep` the figures, and `verdict`
//! draws the conclusion. The statistics are in `interval_variance` (block means of one run),
//! `difference` (two sides), `scatter` (load points together) and `student`.
//!
//! Two runs on one server differ by more than the noise within them. So an interval
//! includes the spread between runs: assumed ([`Options::spread_pcnt`]) until
//! repeats show it. `docs/src/howto/compare.md` explains all of it to users.
//!
//! Nothing here reads or writes a file.

mod conclusion;
pub mod deviation;
mod difference;
mod interval_variance;
mod point_validity;
mod points;
mod remarks;
mod repeats;
mod scatter;
pub mod sensitivity;
#[cfg(test)]
mod simulation;
pub(crate) mod student;
mod sweep;
#[cfg(test)]
mod tests;
mod verdict;
mod work;

pub use difference::{Difference, Judgement, Kind, signed};
pub use point_validity::PointValidity;
pub use points::{OpDifference, PointDifference};
pub use repeats::SetAside;
pub use sensitivity::Sensitivity;
pub use student::two_sided;
pub use verdict::Overall;
pub use work::{FieldChange, Work, work};

use crate::classical::ClassicalResult;
use crate::historical::Historical;
use crate::record::RunRecord;
use crate::text::benchmark;
use crate::time::Timestamp;
use conclusion::Conclusion;
use filermark_model::NOT_A_SPEC_RESULT;
use filermark_model::text::one_line;
use serde::Serialize;

/// The version of the JSON form of a [`Comparison`].
pub const FORMAT: u32 = 1;
/// The JSON Schema of that form.
pub const SCHEMA: &str = include_str!("../schema/comparison-v1.json");
/// The smallest difference that matters, in percent, where none is given.
pub const THRESHOLD_PCNT: f64 = 5.0;
/// The assumed difference of two runs on one server, in percent (one standard
/// deviation), used until repeats show it.
pub const SPREAD_PCNT: f64 = 2.0;

/// The settings of a comparison.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Smaller differences do not matter, in percent.
    pub threshold_pcnt: f64,
    /// Standard deviation of a figure between runs on one server, in percent.
    pub spread_pcnt: f64,
    /// Compare what can be matched although the work differs.
    pub force: bool,
    /// Accept a single side: it is shown with something else.
    pub alone: bool,
    /// Use all repeats, also those whose figures are far from the others.
    pub keep_all: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            threshold_pcnt: THRESHOLD_PCNT,
            spread_pcnt: SPREAD_PCNT,
            force: false,
            alone: false,
            keep_all: false,
        }
    }
}

/// One side: a run, or repeats of one.
#[derive(Clone, Debug)]
pub struct Group<'a> {
    /// What it is called.
    pub name: String,
    /// Its records; the first represents the set-up.
    pub records: Vec<&'a RunRecord>,
}

/// Why nothing is compared.
#[derive(Debug, thiserror::Error)]
pub enum CompareError {
    /// There are not two sides with a record each.
    #[error("a comparison needs two sides with a run record each")]
    TooFew,
    /// A side has one record twice: as repeats they would show no spread at all.
    #[error(
        "{name} has the record of suffix {suffix}, started {started}, more than once; give each repeat once"
    )]
    Duplicate {
        /// The side.
        name: String,
        /// The record's suffix.
        suffix: String,
        /// When its run began.
        started: Timestamp,
    },
    /// The work differs, and the comparison is not forced.
    #[error("{after} did different work than {before}: {}; --force compares what can be matched", listed(.fields))]
    OtherWork {
        /// The base.
        before: String,
        /// The side that did other work.
        after: String,
        /// What differs.
        fields: Vec<FieldChange>,
    },
}

fn listed(fields: &[FieldChange]) -> String {
    let one = |f: &FieldChange| format!("{} was {}, is {}", f.name, f.before, f.after);
    fields.iter().map(one).collect::<Vec<_>>().join("; ")
}

/// A comparison.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// [`FORMAT`].
    pub format: u32,
    /// [`NOT_A_SPEC_RESULT`].
    pub notice: &'static str,
    /// The smallest difference that matters, in percent.
    pub threshold_pcnt: f64,
    /// The assumed spread between runs, in percent.
    pub spread_pcnt: f64,
    /// Confidence of the intervals, in percent.
    pub confidence_pcnt: f64,
    /// Whether different work was compared nevertheless.
    pub forced: bool,
    /// The sides; the first is the base.
    pub sides: Vec<SideFacts>,
    /// Each other side against the base.
    pub against: Vec<Against>,
    /// Historical systems that are shown as well; nothing is compared with them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub historical: Option<Historical>,
}

/// What a side is.
#[derive(Clone, Debug, Serialize)]
pub struct SideFacts {
    /// What it is called.
    pub name: String,
    /// The servers' mount points.
    pub mount_points: Vec<String>,
    /// Its runs.
    pub runs: Vec<RunFacts>,
}

/// What a run is.
#[derive(Clone, Debug, Serialize)]
pub struct RunFacts {
    /// The name of its file as it was given, where it was read from one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Its suffix.
    pub suffix: String,
    /// When it began.
    pub started: Timestamp,
    /// The program's version.
    pub version: String,
    /// The benchmark and its version, with the version of NFS where it is not that of the benchmark.
    pub benchmark: String,
    /// The protocol, as `NFSv4.1`; empty: the file system was mounted.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub protocol: String,
    /// The plan's fingerprint.
    pub fingerprint: String,
    /// The verdict ([`crate::verdict::WORDS`]).
    pub verdict: &'static str,
    /// Why it is INVALID, in sentences.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub invalid: Vec<String>,
    /// Highest achieved rate of a load point that counts, op/s.
    pub peak_ops_per_sec: Option<f64>,
    /// Overall response time of the points that count, ms.
    pub ort_ms: Option<f64>,
    /// The throughput at the response limit, where there is one.
    pub classical: Option<ClassicalResult>,
}

/// One side against the base.
#[derive(Clone, Debug, Serialize)]
pub struct Against {
    /// The side.
    pub name: String,
    /// The verdict.
    pub verdict: Overall,
    /// Why, in sentences.
    pub reasons: Vec<String>,
    /// Whether it did the same work.
    pub work: Work,
    /// What of the work differs (`--force`).
    pub other_work: Vec<FieldChange>,
    /// Places that differ.
    pub places: Vec<FieldChange>,
    /// What differs in the set-up.
    pub setup: Vec<FieldChange>,
    /// Repeats that are not used, because their figures are far from the others.
    pub set_aside: Vec<SetAside>,
    /// The changes that this comparison can detect; `None`: no load point has a mean service
    /// time or a rate that can be compared.
    pub sensitivity: Option<Sensitivity>,
    /// Further remarks for the reader.
    pub remarks: Vec<String>,
    /// Over all load points that count on both sides.
    pub sweep: Vec<Difference>,
    /// Per load point.
    pub points: Vec<PointDifference>,
    /// Per operation, over the load points that count on both sides.
    pub ops: Vec<OpDifference>,
}

/// Compares every other group with the first.
///
/// # Errors
/// There are not two groups with records (one, with [`Options::alone`]), or the work differs and is not forced.
pub fn compare(groups: &[Group<'_>], options: &Options) -> Result<Comparison, CompareError> {
    let (base, others) = groups.split_first().ok_or(CompareError::TooFew)?;
    if (others.is_empty() && !options.alone) || groups.iter().any(|g| g.records.is_empty()) {
        return Err(CompareError::TooFew);
    }
    groups.iter().try_for_each(repeats_differ)?;
    let mut forced = false;
    for group in groups {
        for record in &group.records {
            let (verdict, _, fields) = work::work(&base.records[0].run, &record.run);
            if verdict == Work::Different {
                forced = true;
                if !options.force {
                    return Err(CompareError::OtherWork {
                        before: base.name.clone(),
                        after: group.name.clone(),
                        fields,
                    });
                }
            }
        }
    }
    Ok(Comparison {
        format: FORMAT,
        notice: NOT_A_SPEC_RESULT,
        threshold_pcnt: options.threshold_pcnt,
        spread_pcnt: options.spread_pcnt,
        confidence_pcnt: 100.0 * (1.0 - difference::ALPHA),
        forced,
        sides: groups.iter().map(side_facts).collect(),
        against: others.iter().map(|g| against(base, g, options)).collect(),
        historical: None,
    })
}

/// Whether these are records of one and the same run.
fn is_one_run(a: &RunRecord, b: &RunRecord) -> bool {
    let (a, b) = (&a.run, &b.run);
    a.suffix == b.suffix && a.started == b.started && a.fingerprint == b.fingerprint
}

fn repeats_differ(group: &Group<'_>) -> Result<(), CompareError> {
    let again = |(at, record): (usize, &&RunRecord)| {
        let earlier = &group.records[..at];
        earlier.iter().any(|e| is_one_run(e, record))
    };
    let records = group.records.iter();
    match records.enumerate().find(|(at, r)| again((*at, r))) {
        None => Ok(()),
        Some((_, record)) => Err(CompareError::Duplicate {
            name: one_line(&group.name),
            suffix: one_line(&record.run.suffix),
            started: record.run.started,
        }),
    }
}

impl Comparison {
    /// The verdicts, in the order of the sides after the base.
    pub fn verdicts(&self) -> impl Iterator<Item = Overall> {
        self.against.iter().map(|a| a.verdict)
    }
}

fn side_facts(group: &Group<'_>) -> SideFacts {
    let clients = group.records.iter().flat_map(|r| &r.run.plan.clients);
    let mounts = clients.flat_map(|c| &c.mounts);
    let mut mount_points: Vec<String> = mounts.map(|m| one_line(&m.to_string())).collect();
    mount_points.sort();
    mount_points.dedup();
    SideFacts {
        name: one_line(&group.name),
        mount_points,
        runs: group.records.iter().map(|r| run_facts(r)).collect(),
    }
}

fn run_facts(record: &RunRecord) -> RunFacts {
    let plan = &record.run.plan;
    let verdict = record.verdict();
    let peak = record.peak().and_then(|p| p.measured());
    RunFacts {
        file: None,
        suffix: one_line(&record.run.suffix),
        started: record.run.started,
        version: one_line(&record.run.version),
        benchmark: one_line(&benchmark(plan)),
        protocol: one_line(&plan.driver.describe().protocol),
        fingerprint: one_line(&record.run.fingerprint),
        verdict: verdict.label(),
        invalid: verdict.invalid().to_vec(),
        peak_ops_per_sec: peak.map(|s| s.achieved_ops_per_sec()),
        ort_ms: record.ort_ms().filter(|ms| ms.is_finite()),
        classical: ClassicalResult::of_record(record),
    }
}

/// One side against the base.
fn against(base: &Group<'_>, other: &Group<'_>, options: &Options) -> Against {
    let spread = (options.spread_pcnt / 100.0).ln_1p();
    let used = repeats::used(
        &base.records,
        &other.records,
        spread,
        options.keep_all,
        points::pairs,
    );
    let (first, second) = (used.before[0], used.after[0]);
    let benchmark = &first.run.plan.benchmark;
    let subject = conclusion::Subject {
        protocol: benchmark.protocol,
        is_composite: benchmark.composite().is_some(),
        spread,
        threshold_pcnt: options.threshold_pcnt,
        repeats: (used.before.len(), used.after.len()),
    };
    let mut concluded = Conclusion::of(&used.pairs, &subject);
    let (work, places, other_work) = worst_work(base, other);
    let set_aside = repeats::named(&used.set_aside, base, other);
    let mut remarks: Vec<String> = set_aside.iter().map(SetAside::text).collect();
    remarks.extend(remarks::remarks(
        base,
        other,
        &used.pairs,
        options.threshold_pcnt,
    ));
    remarks.extend(concluded.sensitivity.iter().filter_map(Sensitivity::remark));
    Against {
        name: one_line(&other.name),
        verdict: concluded.verdict,
        reasons: std::mem::take(&mut concluded.reasons),
        work,
        other_work,
        places,
        setup: work::setup(first, second),
        set_aside,
        sensitivity: concluded.sensitivity,
        remarks,
        sweep: concluded.sweep,
        points: concluded.points,
        ops: concluded.ops,
    }
}

/// The work of all records of both sides against the base's first.
fn worst_work(base: &Group<'_>, other: &Group<'_>) -> (Work, Vec<FieldChange>, Vec<FieldChange>) {
    let first = &base.records[0].run;
    let all = other.records.iter().chain(&base.records);
    let mut worst = (Work::Same, Vec::new(), Vec::new());
    for record in all {
        let found = work::work(first, &record.run);
        let rank = |w: Work| match w {
            Work::Same => 0,
            Work::SameElsewhere => 1,
            Work::Different => 2,
        };
        if rank(found.0) > rank(worst.0) {
            worst = found;
        }
    }
    worst
}
