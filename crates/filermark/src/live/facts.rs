//! Facts about a run from its plan, for the view and its estimates.

use filermark_engine::shard::{DRAIN, STABLE_MAX};
use filermark_model::text::one_line;
use filermark_model::units::counted;
use filermark_model::{LoadPoint, OpsPerSec, RunPlan};
use filermark_results::figures::{Planned, units};
use std::time::Duration;

/// Smallest share of a phase from which the rest is estimated.
pub(super) const SHARE_MIN: f64 = 0.02;

/// Facts about a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Facts {
    /// The benchmark's name.
    pub benchmark: String,
    /// The suffix of the run's files.
    pub suffix: String,
    /// Client hosts.
    pub client_count: usize,
    /// The load points, in order.
    pub points: Vec<PointFacts>,
    /// Length of WARMUP at each of them.
    pub warmup: Duration,
    /// Length of RUN; the shortest, if it goes on until the data set is touched.
    pub run: Duration,
    /// Whether RUN may take longer.
    pub run_is_open: bool,
    /// Whether the file set is kept at the end (KEEP).
    pub keep: bool,
    /// Whether a load point extends the file set of the one before (REUSE).
    pub reuse: bool,
    /// Whether operations are system calls that block, so that the run never gives up.
    pub blocks: bool,
    /// How long the end of RUN may take: replies, and over NFSv3 the COMMITs.
    pub close_max: Duration,
    /// How long INIT may take (INIT_TIMEOUT).
    pub init_max: Duration,
}

/// Facts about a load point.
#[derive(Clone, Debug, PartialEq)]
pub struct PointFacts {
    /// Its number, from 1.
    pub number: u32,
    /// The load in its own unit: `960 op/s`, `2 BUILDs`.
    pub name: String,
    /// The requested rate; `None`: at full speed.
    pub requested_ops_per_sec: Option<f64>,
    /// Bytes that INIT has to write.
    pub init_bytes: u64,
    /// Bytes of the file set after INIT.
    pub fileset_bytes: u64,
}

impl Facts {
    /// Facts of a plan.
    pub fn of(plan: &RunPlan, suffix: &str) -> Self {
        let span = |nanos: filermark_model::Nanos| Duration::from_nanos(nanos.0);
        let driver = plan.driver.facts();
        let mut there = 0;
        let mut points = Vec::with_capacity(plan.points.len());
        for point in &plan.points {
            let fact = PointFacts::of(plan, *point, there);
            if plan.fileset.reuse {
                there = fact.fileset_bytes;
            }
            points.push(fact);
        }
        Self {
            benchmark: one_line(&plan.benchmark.name),
            suffix: one_line(suffix),
            client_count: plan.clients.len(),
            points,
            warmup: span(plan.phases.warmup),
            run: span(plan.phases.runtime),
            run_is_open: plan.phases.longest_run() > plan.phases.runtime,
            keep: plan.fileset.keep,
            reuse: plan.fileset.reuse,
            blocks: driver.blocks,
            close_max: match driver.commit {
                Some(_) => span(DRAIN + STABLE_MAX),
                None => span(DRAIN),
            },
            init_max: span(plan.phases.init_timeout),
        }
    }

    /// A load point by its number.
    pub fn at(&self, number: u32) -> Option<usize> {
        self.points.iter().position(|p| p.number == number)
    }

    /// The share of its INIT that a load point has done with these bytes written, up to 1; `None`:
    /// too little for an estimate.
    pub fn share(&self, at: usize, bytes: u64) -> Option<f64> {
        let all = self.points.get(at)?.init_bytes as f64;
        let share = bytes as f64 / all;
        (all > 0.0 && share >= SHARE_MIN).then_some(share.min(1.0))
    }
}

impl PointFacts {
    /// Facts of a load point, with the bytes of the file set before it. A file set only grows.
    fn of(plan: &RunPlan, point: LoadPoint, there_bytes: u64) -> Self {
        let planned = Planned::of(plan, point);
        let own_bytes = match plan.benchmark.classic() {
            Some(_) => plan.io_bytes(point.requested),
            None => planned.data.start_bytes,
        };
        let fileset_bytes = own_bytes.max(there_bytes);
        Self {
            number: point.number,
            name: load_name(plan, point, planned.requested),
            requested_ops_per_sec: planned.requested,
            init_bytes: fileset_bytes - there_bytes,
            fileset_bytes,
        }
    }
}

fn load_name(plan: &RunPlan, point: LoadPoint, requested: Option<f64>) -> String {
    let unit = one_line(&plan.benchmark.unit);
    if plan.benchmark.composite().is_some() && point.units > 0.0 && !unit.is_empty() {
        return units(point.units, &unit);
    }
    match requested {
        Some(rate) => OpsPerSec(rate).to_string(),
        None => counted(u64::from(plan.proc_count_at(point)), "proc"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use filermark_results::testing;

    #[test]
    fn a_file_set_that_is_kept_has_only_its_growth_to_make() {
        let mut plan = testing::plan();
        plan.fileset.reuse = true;
        let facts = Facts::of(&plan, "mine");
        assert_eq!(facts.points.len(), 12);
        let first = &facts.points[0];
        assert_eq!((first.number, first.name.as_str()), (1, "100 op/s"));
        assert_eq!(first.requested_ops_per_sec, Some(100.0));
        assert!(first.init_bytes > 0 && first.init_bytes == first.fileset_bytes);
        let last = &facts.points[11];
        let made: u64 = facts.points.iter().map(|p| p.init_bytes).sum();
        assert_eq!(made, last.fileset_bytes);
        plan.points.reverse();
        let falling = Facts::of(&plan, "mine");
        assert_eq!(falling.points[1].init_bytes, 0, "it never shrinks");
        plan.fileset.reuse = false;
        let anew = Facts::of(&plan, "mine");
        assert!(anew.points.iter().all(|p| p.init_bytes == p.fileset_bytes));
    }

    #[test]
    fn composites_are_called_by_their_metric_and_names_are_sanitized() {
        let mut plan = testing::composite::composite_record().run.plan;
        let facts = Facts::of(&plan, "a\x1b[2Jb");
        assert_eq!(facts.points[1].name, "2 BUILDs");
        assert!(!facts.suffix.contains('\x1b'));
        for point in &mut plan.points {
            (point.units, point.requested.0) = (0.0, 0.0);
        }
        let free = Facts::of(&plan, "s");
        assert_eq!(free.points[1].name, "10 procs");
        assert_eq!(free.points[1].requested_ops_per_sec, None);
    }
}
