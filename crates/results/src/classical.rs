//! The classical result: the throughput at the response limit, as the generations of
//! NFSv2 and NFSv3 reported it (guide V): "If throughput continues to increase with the
//! workload, the throughput figure at 50 ms is reported. In many cases, throughput will
//! start to fall off at a response time below the 50 ms limit. In these cases, the tables
//! report the response time at the point of maximum throughput."
//!
//! What the guide leaves open is decided here and documented in
//! `docs/src/reference/formats.md`: which points take part, and how curves that are not
//! smooth are handled.

use crate::judge::rate::{is_missed, other_cause};
use crate::ort;
use crate::record::{PointRecord, RunRecord};
use filermark_model::Rule;
use filermark_model::benchmark::Headline;
use filermark_model::plan::RunPlan;
use serde::Serialize;

/// A load point, as far as a classical result needs it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Its number, from 1.
    pub number: u32,
    /// The requested rate in op/s; infinite: no limit.
    pub requested: f64,
    /// The achieved rate in op/s.
    pub achieved: f64,
    /// The mean service time (then: response time) in milliseconds.
    pub mean_ms: f64,
    /// Whether it takes part.
    pub takes_part: bool,
    /// Whether it counts by the rules.
    pub counts: bool,
    /// Whether it missed its requested rate: the server was overloaded.
    pub overloaded: bool,
    /// Whether the client was busy, so the client may have limited the rate.
    pub generator_busy: bool,
}

/// Where a classical result comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "basis", rename_all = "snake_case")]
pub enum Basis {
    /// Throughput rises beyond the limit: interpolated linearly between these points.
    Interpolated {
        /// The last point within the limit.
        below_point: u32,
        /// The first point above it.
        above_point: u32,
    },
    /// Throughput falls within the limit: its highest value.
    Peak {
        /// The load point.
        point: u32,
    },
    /// The last point has the highest throughput and is within the limit: more may be
    /// possible. A lower bound, no result in the classical sense.
    LastPoint {
        /// The point.
        point: u32,
    },
}

/// The throughput at the response limit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ClassicalResult {
    /// The throughput in op/s.
    pub ops_per_sec: f64,
    /// The mean service time that goes with it, in milliseconds; the limit, where it is
    /// interpolated.
    pub response_ms: f64,
    /// The response limit, in milliseconds.
    pub limit_ms: f64,
    /// The overall response time of the curve up to this result, in milliseconds:
    /// [`ort::ort_2008`] over the points within the limit and up to the peak, in the
    /// order of their throughput, an interpolated result as the last of them.
    pub ort_ms: f64,
    /// Whether it is based on a load point that missed its requested rate, as is usual
    /// where throughput falls.
    pub overloaded: bool,
    /// Whether it is based on a load point at which the client was busy.
    pub generator_busy: bool,
    /// Whether a load point above the limit was measured that does not take part.
    #[serde(skip)]
    pub above_left_out: bool,
    /// Where it comes from.
    #[serde(flatten)]
    pub basis: Basis,
}

impl ClassicalResult {
    /// Of a run. `None`: its benchmark is a composite, it has no response limit, no load point
    /// within the limit takes part, or its load points are no curve.
    pub fn of_record(record: &RunRecord) -> Option<Self> {
        if !record.is_curve() {
            return None;
        }
        let samples: Vec<Sample> = record
            .points
            .iter()
            .filter_map(|point| sample(&record.run.plan, point))
            .collect();
        classical(&samples, limit_ms(record)?)
    }

    /// Whether it is only a lower bound.
    pub const fn is_lower_bound(&self) -> bool {
        matches!(self.basis, Basis::LastPoint { .. })
    }

    /// Where it comes from, for people.
    pub fn basis_text(&self) -> String {
        let limit = crate::figures::plain(self.limit_ms);
        let words = match self.basis {
            Basis::Interpolated {
                below_point,
                above_point,
            } => format!("interpolated between load points {below_point} and {above_point}"),
            Basis::Peak { point } => format!(
                "the peak, load point {point}: throughput falls off below the limit of {limit} ms"
            ),
            Basis::LastPoint { point } if self.above_left_out => format!(
                "load point {point}, the last that takes part: what was measured above the limit of {limit} ms is invalid for other reasons; a lower bound, not a result in the classical sense, until that is corrected"
            ),
            Basis::LastPoint { point } => format!(
                "load point {point}, the last that takes part: the limit of {limit} ms is not reached and throughput still rises; a lower bound, not a result in the classical sense, until load points just above it are added"
            ),
        };
        let overloaded = match self.overloaded {
            true => "; with a load point that missed its requested rate",
            false => "",
        };
        let busy = match self.generator_busy {
            true => "; the client was busy there and may have limited the rate",
            false => "",
        };
        format!("{words}{overloaded}{busy}")
    }

    /// `928 op/s at 50 ms, interpolated`: for tables.
    pub fn short(&self) -> String {
        let (least, basis) = match self.basis {
            Basis::Interpolated { .. } => ("", "interpolated"),
            Basis::Peak { .. } => ("", "the peak"),
            Basis::LastPoint { .. } => ("at least ", "a lower bound"),
        };
        let response = crate::figures::plain(self.response_ms);
        format!(
            "{least}{:.0} op/s at {response} ms, {basis}",
            self.ops_per_sec
        )
    }

    /// `1234 op/s at 40 ms, overall response time 5.60 ms (interpolated ...)`, on one line.
    pub fn line(&self) -> String {
        format!(
            "{}{:.0} op/s at {} ms, overall response time {:.2} ms ({})",
            if self.is_lower_bound() {
                "at least "
            } else {
                ""
            },
            self.ops_per_sec,
            crate::figures::plain(self.response_ms),
            self.ort_ms,
            self.basis_text()
        )
    }
}

/// Shown where there is a limit and no result: why.
pub fn no_result(record: &RunRecord) -> &'static str {
    match record.points.iter().any(|p| p.measured().is_some()) {
        true if !record.is_curve() => {
            "none: a search without a sweep, and a load without a rate, have no curve"
        }
        true => "none: no load point within the response limit takes part",
        false => "none: no load point was measured",
    }
}

/// The classical result of a run in a line, as the headline figure of
/// its benchmark or an additional one; `None` where its benchmark has no limit.
pub fn line(record: &RunRecord) -> Option<String> {
    limit_ms(record)?;
    let what = match record.run.plan.headline() {
        Headline::AtLimit => "Result",
        _ => "Additional figure, at the response limit",
    };
    Some(match ClassicalResult::of_record(record) {
        Some(result) => format!("{what}: {}", result.line()),
        None => format!("{what}: {}", no_result(record)),
    })
}

/// The response limit that a run of a classical benchmark was judged by, in
/// milliseconds; `None` where there is none.
pub fn limit_ms(record: &RunRecord) -> Option<f64> {
    let plan = &record.run.plan;
    let limit = plan.limits.response_ms;
    (plan.benchmark.classic().is_some() && limit > 0.0 && limit.is_finite()).then_some(limit)
}

fn sample(plan: &RunPlan, point: &PointRecord) -> Option<Sample> {
    let stats = point.measured()?;
    let requested = point.load.requested.0;
    Some(Sample {
        number: point.load.number,
        requested: match requested > 0.0 {
            true => requested,
            false => f64::INFINITY,
        },
        achieved: stats.achieved_ops_per_sec(),
        mean_ms: stats.service().mean_ns() / 1e6,
        takes_part: takes_part(plan, point),
        counts: point.is_valid(),
        overloaded: point.findings.iter().any(is_missed),
        generator_busy: point.findings.iter().any(|f| f.rule == Rule::GeneratorBusy),
    })
}

/// A point above the limit is INVALID, and so may be one that missed its rate. The first
/// is needed for the interpolation. The second shows that throughput falls: its throughput
/// is the achieved rate. Where another cause than the server's speed explains the
/// shortfall, the point is not a figure of the server.
fn takes_part(plan: &RunPlan, point: &PointRecord) -> bool {
    let mut against = point.findings.iter().filter(|f| f.invalidates());
    against.all(|f| f.rule == Rule::ResponseLimit || is_missed(f))
        && other_cause(plan, point).is_none()
}

/// The classical result of these load points; they may come in any order.
///
/// They are taken in the order of their requested load, up to the first above the limit:
/// the sweeps of that generation ended there, and later points are ignored. Within
/// the limit the point with the highest throughput is the peak, the first of equal ones.
/// `None` where no point within the limit takes part.
pub fn classical(samples: &[Sample], limit_ms: f64) -> Option<ClassicalResult> {
    let all = taking_part(samples);
    let crossing = all.iter().position(|s| s.mean_ms > limit_ms);
    let within = &all[..crossing.unwrap_or(all.len())];
    let peak = highest(within)?;
    let last = within.last()?;
    let met = crossing
        .and_then(|at| all.get(at))
        .map(|above| (above, between(last, above, limit_ms)));
    let (ops_per_sec, response_ms, basis) = match met {
        Some((above, met)) if met >= peak.achieved && above.achieved > last.achieved => (
            met,
            limit_ms,
            Basis::Interpolated {
                below_point: last.number,
                above_point: above.number,
            },
        ),
        _ => {
            let point = peak.number;
            let no_more = |s: &&Sample| is_behind(s, peak) && s.achieved <= peak.achieved;
            let falls_off = met.is_some() || all.iter().any(|s| no_more(&s));
            let basis = match falls_off {
                true => Basis::Peak { point },
                false => Basis::LastPoint { point },
            };
            (peak.achieved, peak.mean_ms, basis)
        }
    };
    let base = match basis {
        Basis::Interpolated {
            below_point,
            above_point,
        } => [below_point, above_point],
        Basis::Peak { point } | Basis::LastPoint { point } => [point, point],
    };
    let rests_on = |what: fn(&Sample) -> bool| {
        let mut of_it = all.iter().filter(|s| base.contains(&s.number));
        of_it.any(what)
    };
    Some(ClassicalResult {
        overloaded: rests_on(|s| s.overloaded),
        generator_busy: rests_on(|s| s.generator_busy),
        above_left_out: samples.iter().any(|s| s.mean_ms > limit_ms),
        ops_per_sec,
        response_ms,
        limit_ms,
        ort_ms: ort_ms(within, basis, (ops_per_sec, response_ms)),
        basis,
    })
}

/// Those that take part, in the order of their requested load.
fn taking_part(samples: &[Sample]) -> Vec<Sample> {
    let usable = |s: &&Sample| {
        s.takes_part
            && s.achieved.is_finite()
            && s.achieved > 0.0
            && s.mean_ms.is_finite()
            && s.mean_ms >= 0.0
    };
    let mut all: Vec<Sample> = samples.iter().filter(usable).copied().collect();
    all.sort_by(|a, b| {
        let by_load = a.requested.total_cmp(&b.requested);
        by_load.then(a.number.cmp(&b.number))
    });
    drop_points_with_other_causes(&mut all);
    all
}

/// On an overloaded server, a point that does not count because it missed its rate is
/// slower than those below it. If it is not slower, there was another cause (the server was
/// unreachable, a network fault), and its achieved rate is no result.
fn drop_points_with_other_causes(all: &mut Vec<Sample>) {
    let mut slowest_ms: Option<f64> = None;
    all.retain(|s| {
        let is_slower = slowest_ms.is_some_and(|ms| s.mean_ms >= ms);
        let keep = s.counts || !s.overloaded || is_slower;
        if keep {
            slowest_ms = Some(slowest_ms.map_or(s.mean_ms, |ms| ms.max(s.mean_ms)));
        }
        keep
    });
}

fn is_behind(sample: &Sample, peak: &Sample) -> bool {
    (sample.requested, sample.number) > (peak.requested, peak.number)
}

/// The first of those with the highest throughput.
fn highest(samples: &[Sample]) -> Option<&Sample> {
    let mut best = samples.first()?;
    for sample in samples {
        if sample.achieved > best.achieved {
            best = sample;
        }
    }
    Some(best)
}

/// The throughput at which the straight line between two points meets the limit;
/// `below` is at or below it, `above` above.
fn between(below: &Sample, above: &Sample, limit_ms: f64) -> f64 {
    let share = (limit_ms - below.mean_ms) / (above.mean_ms - below.mean_ms);
    below.achieved + share.clamp(0.0, 1.0) * (above.achieved - below.achieved)
}

/// Points beyond the peak are left out. In the order of throughput, so that a curve that
/// goes back subtracts no area; for a rising curve this is the order of the load.
fn ort_ms(within: &[Sample], basis: Basis, result: (f64, f64)) -> f64 {
    let used = match basis {
        Basis::Interpolated { .. } => within.len(),
        Basis::Peak { point } | Basis::LastPoint { point } => within
            .iter()
            .position(|s| s.number == point)
            .unwrap_or(within.len()),
    };
    let mut points: Vec<(f64, f64)> = within
        .iter()
        .take(used)
        .map(|s| (s.achieved, s.mean_ms))
        .collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    points.push(result);
    ort::ort_2008(&points).unwrap_or_default()
}

#[cfg(test)]
mod tests;
