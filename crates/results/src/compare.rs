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

mod difference;
mod interval_variance;
mod point_validity;
mod points;
mod scatter;
pub(crate) mod student;
mod sweep;
#[cfg(test)]
mod tests;
mod verdict;
mod work;

pub use difference::{Difference, Judgement, Kind, signed};
pub use point_validity::PointValidity;
pub use points::{OpDifference, PointDifference};
pub use student::two_sided;
pub use verdict::Overall;
pub use work::{FieldChange, Work, work};

use crate::classical::ClassicalResult;
use crate::historical::Historical;
use crate::record::{PointRecord, RunRecord};
use crate::time::Timestamp;
use difference::decide;
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

/// Reasons for INVALID that a remark names.
const REASONS_NAMED: usize = 5;

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
}

impl Default for Options {
    fn default() -> Self {
        Self {
            threshold_pcnt: THRESHOLD_PCNT,
            spread_pcnt: SPREAD_PCNT,
            force: false,
            alone: false,
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
    /// Its suffix.
    pub suffix: String,
    /// When it began.
    pub started: Timestamp,
    /// The program's version.
    pub version: String,
    /// The benchmark and its version.
    pub benchmark: String,
    /// The plan's fingerprint.
    pub fingerprint: String,
    /// The verdict ([`crate::verdict::WORDS`]).
    pub verdict: &'static str,
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
    let benchmark = &record.run.plan.benchmark;
    let peak = record.peak().and_then(|p| p.measured());
    RunFacts {
        suffix: one_line(&record.run.suffix),
        started: record.run.started,
        version: one_line(&record.run.version),
        benchmark: one_line(&format!("{} version {}", benchmark.name, benchmark.version)),
        fingerprint: one_line(&record.run.fingerprint),
        verdict: record.verdict().label(),
        peak_ops_per_sec: peak.map(|s| s.achieved_ops_per_sec()),
        ort_ms: record.ort_ms().filter(|ms| ms.is_finite()),
        classical: ClassicalResult::of_record(record),
    }
}

/// One side against the base.
fn against(base: &Group<'_>, other: &Group<'_>, options: &Options) -> Against {
    let spread = (options.spread_pcnt / 100.0).ln_1p();
    let (before, after) = (base.records[0], other.records[0]);
    let benchmark = &before.run.plan.benchmark;
    let pairs = points::pairs(&base.records, &other.records);
    let mut sweep = sweep::differences(&pairs, spread, benchmark.composite().is_some());
    let mut points: Vec<PointDifference> = pairs
        .iter()
        .map(|pair| PointDifference {
            number: pair.number,
            load: pair.load.clone(),
            requested_ops_per_sec: pair.requested,
            before: pair.standing.0.clone(),
            after: pair.standing.1.clone(),
            figures: pair.differences(spread, |kind| scatter::scatter(&pairs, kind)),
            ops: sweep::ops_at(pair, benchmark.protocol, spread),
            held_by_pacing: pair.is_held(),
            standing_verdict: Judgement::NoDifferenceShown,
        })
        .collect();
    let mut ops = sweep::ops(&pairs, benchmark.protocol, spread);
    let threshold = options.threshold_pcnt;
    verdict::judge(&mut sweep, &mut points, threshold);
    let repeated = base.records.len() > 1 && other.records.len() > 1;
    let alone = match repeated {
        true => Vec::new(),
        false => verdict::without_lone_tails(&sweep, &mut points),
    };
    point_validity::judge(&mut points, &pairs, point_validity::far(threshold, spread));
    let mut table: Vec<_> = ops.iter_mut().map(|o| &mut o.service).collect();
    decide(&mut table, threshold);
    let each = points.iter_mut().flat_map(|p| &mut p.ops);
    let mut table: Vec<_> = each.map(|o| &mut o.service).collect();
    decide(&mut table, threshold);
    let (work, places, other_work) = worst_work(base, other);
    let (verdict, mut reasons) = verdict::overall(&sweep, &points, &ops, threshold);
    reasons.extend(alone);
    Against {
        name: one_line(&other.name),
        verdict,
        reasons,
        work,
        other_work,
        places,
        setup: work::setup(before, after),
        remarks: remarks(base, other, &pairs, threshold),
        sweep,
        points,
        ops,
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

/// A remark on clients with wake-up delays that can explain a difference that matters.
fn client_delays(pairs: &[points::Pair<'_>], threshold_pcnt: f64) -> Option<String> {
    let measured = pairs.iter().filter(|p| p.is_measured());
    let delays = measured.map(|p| (p.number, p.client_delay()));
    let (number, (before, after, explained)) = delays.max_by(|a, b| a.1.2.total_cmp(&b.1.2))?;
    let pcnt = 100.0 * explained.exp_m1();
    (pcnt > threshold_pcnt).then(|| {
        format!(
            "the wake-up delays of the clients differ: at load point {number} the mean delay was {:.0} µs before and {:.0} µs after, which can change the mean service time by {pcnt:.0} %; the intervals are widened accordingly; compare runs with idle client hosts",
            before / 1e3,
            after / 1e3
        )
    })
}

/// Larger differences in the length of RUN are remarked, in percent `[own]`.
const LENGTH_APART_PCNT: f64 = 5.0;

/// A remark on RUNs of different length, where the length is not fixed.
fn run_lengths(before: &RunRecord, after: &RunRecord) -> Option<String> {
    let is_open = |record: &RunRecord| record.run.plan.phases.runtime_max.is_some();
    if !is_open(before) && !is_open(after) {
        return None;
    }
    let seconds = |record: &RunRecord, number: u32| {
        let mut points = record.points.iter();
        let point = points.find(|p| p.load.number == number)?;
        Some(point.measured()?.window_ns as f64 / 1e9)
    };
    let lengths = before.points.iter().filter_map(|point| {
        let number = point.load.number;
        let (b, a) = (seconds(before, number)?, seconds(after, number)?);
        let pcnt = 100.0 * ((b / a).max(a / b) - 1.0);
        (pcnt > LENGTH_APART_PCNT).then_some((number, b, a, pcnt))
    });
    let (number, b, a, _) = lengths.max_by(|x, y| x.3.total_cmp(&y.3))?;
    Some(format!(
        "RUN took different times, because it lasts until the data set has been touched: at load point {number} {b:.0} s before and {a:.0} s after; figures are means over these times"
    ))
}

/// The load points whose mean response time is a lower bound.
fn lower_bounds(record: &RunRecord) -> Vec<u32> {
    let is_bound = |p: &&PointRecord| p.measured().is_some_and(|s| s.response().mean().at_least);
    let points = record.points.iter().filter(is_bound);
    points.map(|p| p.load.number).collect()
}

/// Why a run is INVALID, in brief.
fn invalid(record: &RunRecord) -> Option<String> {
    let verdict = record.verdict();
    if verdict.is_valid() {
        return None;
    }
    let reasons = verdict.reasons();
    let mut named = reasons
        .iter()
        .take(REASONS_NAMED)
        .cloned()
        .collect::<Vec<_>>();
    if reasons.len() > REASONS_NAMED {
        named.push(format!(
            "and {} more reasons",
            reasons.len() - REASONS_NAMED
        ));
    }
    Some(named.join("; "))
}

fn remarks(
    base: &Group<'_>,
    other: &Group<'_>,
    pairs: &[points::Pair<'_>],
    threshold_pcnt: f64,
) -> Vec<String> {
    let mut remarks: Vec<String> = client_delays(pairs, threshold_pcnt).into_iter().collect();
    for group in [base, other] {
        for record in &group.records {
            let suffix = one_line(&record.run.suffix);
            let name = format!("{} (suffix {suffix})", one_line(&group.name));
            remarks.extend(invalid(record).map(|why| format!("{name} is INVALID: {why}")));
            let bounds = lower_bounds(record);
            if !bounds.is_empty() {
                let points: Vec<String> = bounds.iter().map(u32::to_string).collect();
                remarks.push(format!(
                    "{name}: at load point {} the mean response time is a lower bound (the end of operations of RUN was not observed), and is not compared",
                    points.join(", ")
                ));
            }
            if let Some(cut) = &record.cut {
                remarks.push(format!("the record of {name} was cut: {}", one_line(cut)));
            } else if record.end.is_none() {
                remarks.push(format!(
                    "the record of {name} has no end: the run was cut or is still in progress"
                ));
            }
        }
    }
    for record in &other.records {
        if base.records.iter().any(|b| is_one_run(b, record)) {
            remarks.push(format!(
                "the run of suffix {} is on both sides: it is compared with itself, which shows nothing about the server",
                one_line(&record.run.suffix)
            ));
        }
    }
    remarks.extend(run_lengths(base.records[0], other.records[0]));
    let (b, a) = (&base.records[0].run, &other.records[0].run);
    if b.version != a.version {
        remarks.push(format!(
            "measured by different versions of the program: {} before, {} after",
            one_line(&b.version),
            one_line(&a.version)
        ));
    }
    let planned = base.records[0].run.plan.points.len();
    if pairs.len() < planned {
        remarks.push(format!(
            "{} of {planned} load points of the base are in all records; the others are left out",
            pairs.len()
        ));
    }
    if base.records.len() + other.records.len() == 2 {
        remarks.push(
            "one run on each side: the spread between runs is assumed, not measured; repeats make the verdict more reliable"
                .into(),
        );
    }
    remarks
}
