//! What to do after a run that is INVALID: where to begin, or what to look at.

use crate::record::{PointRecord, RunRecord};
use crate::text::load_points;
use filermark_model::text::one_line;
use filermark_model::{Finding, PointStats, Rule};

/// The last of ten load points, as a multiple of the rate that a server gave.
const ABOVE_HELD: f64 = 1.5;

/// The next step after a run that is INVALID.
#[derive(Clone, Debug, PartialEq)]
pub enum NextStep {
    /// The generator stalled in all load points that do not count: they say nothing about loads.
    Stalled(StalledPoints),
    /// No load point counts: begin with a lower load.
    Begin(HeldRate),
}

impl NextStep {
    /// `None`: the run is valid, or the reasons of the verdict say all that is known.
    pub fn of(record: &RunRecord) -> Option<Self> {
        let stalled = StalledPoints::of(record).map(Self::Stalled);
        stalled.or_else(|| HeldRate::of(record).map(Self::Begin))
    }

    /// In one sentence.
    pub fn text(&self) -> String {
        match self {
            Self::Stalled(stalled) => stalled.text(),
            Self::Begin(held) => held.text(),
        }
    }
}

/// The load points that do not count of a run whose processes stalled in each of them.
#[derive(Clone, Debug, PartialEq)]
pub struct StalledPoints {
    /// Their numbers, in ascending order.
    pub numbers: Vec<u32>,
    /// The message about the longest stall, as a share of RUN.
    pub worst: String,
    /// There is no other reason.
    is_only_reason: bool,
    planned: usize,
}

impl StalledPoints {
    /// `None`: every load point counts, or one does not and has no stall. With other reasons, too, a run of
    /// which no load point counts has no figure of the server; one with others has reasons of its own.
    fn of(record: &RunRecord) -> Option<Self> {
        let not_counted = || record.points.iter().filter(|p| !p.is_valid());
        let of_run = record.run_findings().any(Finding::invalidates);
        let against = || not_counted().flat_map(|p| p.findings.iter().filter(|f| f.invalidates()));
        let is_stall = |f: &Finding| f.rule == Rule::GeneratorStalled;
        let is_measured = not_counted().all(|p| p.measured().is_some());
        let stalls = |p: &PointRecord| p.findings.iter().any(|f| f.invalidates() && is_stall(f));
        let is_only_reason = against().all(is_stall);
        let is_uncounted = not_counted().all(stalls) && record.valid_points().next().is_none();
        if of_run || !is_measured || !(is_only_reason || is_uncounted) {
            return None;
        }
        let share = |f: &&Finding| f.value.unwrap_or(0.0);
        let worst = against()
            .filter(|f| is_stall(f))
            .max_by(|a, b| share(a).total_cmp(&share(b)))?;
        Some(Self {
            numbers: not_counted().map(|p| p.load.number).collect(),
            worst: one_line(&worst.message),
            is_only_reason,
            planned: record.run.plan.points.len(),
        })
    }

    /// In one sentence.
    fn text(&self) -> String {
        let points = load_points(&self.numbers, Some(self.planned));
        let verb = match self.numbers.len() {
            1 => "does",
            _ => "do",
        };
        let why = match (self.is_only_reason, self.numbers.len()) {
            (true, 1) => "not count, and stalled processes are the only reason",
            (true, _) => "not count, and stalled processes are the only reason in each",
            (false, 1) => "not count, and processes stalled in it",
            (false, _) => "not count, and processes stalled in each of them",
        };
        format!(
            "{points} {verb} {why}, the longest: {}; look for other \
             programs, stolen processor time, limits of a cgroup and suspends on the hosts named, \
             then run again with the same loads",
            self.worst
        )
    }
}

/// What a server gave in a run of which no load point counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HeldRate {
    /// The highest rate that was achieved, in op/s.
    pub ops_per_sec: f64,
    /// The load to begin with: the first of ten points, of which the last is above this rate.
    pub begin_with: u64,
}

impl HeldRate {
    /// `None`: a load point counts, none was measured with success, or the loads are not
    /// rates (composites).
    fn of(record: &RunRecord) -> Option<Self> {
        let plan = &record.run.plan;
        if plan.benchmark.classic().is_none() || record.valid_points().next().is_some() {
            return None;
        }
        let measured = record.points.iter().filter_map(PointRecord::measured);
        let rates = measured.map(PointStats::achieved_ops_per_sec);
        let ops_per_sec = rates.max_by(f64::total_cmp).filter(|rate| *rate > 0.0)?;
        let tenth = (ops_per_sec * ABOVE_HELD / 10.0).round() as u64;
        Some(Self {
            ops_per_sec,
            begin_with: tenth.max(u64::from(plan.proc_count())).max(1),
        })
    }

    /// In one sentence.
    fn text(self) -> String {
        format!(
            "the server gave {:.1} op/s at most; begin with LOAD={load} INCR_LOAD={load} NUM_RUNS=10, or with LOAD=search",
            self.ops_per_sec,
            load = self.begin_with
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use filermark_model::Severity;

    /// Ten load points that count.
    fn clean() -> RunRecord {
        let mut record = testing::record();
        record.points.truncate(10);
        record.run.plan.points.truncate(10);
        record.run.plan.findings.clear();
        record
    }

    fn stall(record: &mut RunRecord, at: usize, host: &str, pcnt: f64) {
        let text = format!("client {host}: stalled");
        let finding = Finding::new(Rule::GeneratorStalled, Severity::Invalid, text);
        let finding = finding.with_limit(pcnt, 0.5, "Filermark");
        record.points[at].findings.push(finding);
    }

    #[test]
    fn a_run_that_only_stalled_names_its_stalls_and_no_loads() {
        assert_eq!(NextStep::of(&clean()), None);
        let mut record = clean();
        stall(&mut record, 2, "a", 3.0);
        stall(&mut record, 3, "b", 7.0);
        let text = NextStep::of(&record).expect("a step").text();
        let start = "load points 3, 4 do not count, and stalled processes are the only reason in each, the \
                     longest: client b: stalled; look for ";
        assert!(text.starts_with(start), "{text}");
        assert!(!text.contains("LOAD="), "{text}");
        (0..10).for_each(|at| stall(&mut record, at, "a", 1.0));
        let text = NextStep::of(&record).expect("a step").text();
        assert!(text.starts_with("all 10 load points do not"), "{text}");
        assert!(!text.contains("LOAD="), "{text}");
    }

    #[test]
    fn loads_are_named_where_a_point_did_not_stall() {
        let mut record = clean();
        (0..9).for_each(|at| stall(&mut record, at, "a", 1.0));
        let slow = || Finding::new(Rule::ResponseLimit, Severity::Invalid, "slow");
        record.points[8].findings.push(slow());
        assert_eq!(NextStep::of(&record), None, "a load point counts");
        record.points[9].findings.push(slow());
        let mut stalled = record.clone();
        stall(&mut stalled, 9, "b", 2.0);
        let text = NextStep::of(&stalled).expect("a step").text();
        let start = "all 10 load points do not count, and processes stalled in each of them, the \
                     longest: client b: stalled; look for ";
        assert!(text.starts_with(start), "{text}");
        assert!(!text.contains("LOAD="), "{text}");
        let step = NextStep::of(&record).expect("a step");
        assert!(matches!(step, NextStep::Begin(_)), "{step:?}");
        assert!(step.text().contains("begin with LOAD="), "{step:?}");
    }
}
