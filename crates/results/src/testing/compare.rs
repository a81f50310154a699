//! Simulated records for tests of comparisons: a server of known speed, with effects that
//! make comparisons hard: correlated seconds, scattered load points, and runs that differ
//! without any change.

use super::plan;
use crate::judge::judge;
use crate::record::{End, Outcome, PointRecord, PointStatus, RunHeader, RunRecord};
use crate::time::Timestamp;
use filermark_model::plan::{LoadPoint, RunPlan};
use filermark_model::stats::{Interval, PointStats, ProcStats};
use filermark_model::{Nanos, Op, OpsPerSec, Rng, Severity};

/// A simulated server and its variation.
#[derive(Clone, Copy, Debug)]
pub struct Simulated {
    /// Mean service time without load, in microseconds.
    pub service_us: f64,
    /// Highest rate, op/s.
    pub capacity: f64,
    /// Standard deviation between runs, as a share (2 %: 0.02).
    pub between_runs: f64,
    /// Standard deviation between the load points of a run.
    pub between_points: f64,
    /// Standard deviation between seconds.
    pub between_seconds: f64,
    /// How much of a second's distance from the mean the next one keeps.
    pub memory: f64,
    /// The client's own lateness, in microseconds.
    pub late_us: f64,
    /// Load points of 50 op/s each.
    pub point_count: u32,
    /// Length of RUN in seconds.
    pub seconds: u32,
    /// The severity of a load point that missed its rate.
    pub missed: Severity,
}

impl Default for Simulated {
    fn default() -> Self {
        Self {
            service_us: 400.0,
            capacity: 400.0,
            between_runs: 0.015,
            between_points: 0.01,
            between_seconds: 0.05,
            memory: 0.6,
            late_us: 20.0,
            point_count: 5,
            seconds: 24,
            missed: Severity::Warning,
        }
    }
}

/// The operations that simulated runs do, with their shares of the mix.
const MIX: [(Op, f64); 3] = [(Op::Getattr, 0.5), (Op::Read, 0.3), (Op::Write, 0.2)];

impl Simulated {
    /// The plan of the simulated runs.
    pub fn plan(&self) -> RunPlan {
        let mut plan = plan();
        let load = |number: u32| {
            let rate = OpsPerSec(f64::from(number) * 50.0);
            LoadPoint {
                number,
                entered: rate,
                requested: rate,
                units: 0.0,
                proc_count: 0,
            }
        };
        plan.points = (1..=self.point_count).map(load).collect();
        plan.phases.runtime = Nanos::from_secs(u64::from(self.seconds));
        // Three operations represent the eighteen of the benchmark.
        plan.limits.mix_deviation_pcnt_max = 100.0;
        plan.benchmark.standard.achieved_severity = self.missed;
        plan
    }

    /// A run of this server; another seed is a repetition.
    pub fn run(&self, suffix: &str, seed: u64) -> RunRecord {
        let plan = self.plan();
        let mut rng = Rng::new(seed, 0x636f_6d70);
        let mut record = RunRecord::new(RunHeader::new(
            env!("CARGO_PKG_VERSION"),
            suffix,
            plan.clone(),
        ));
        record.run.started = Timestamp::from_unix_seconds(super::START_UNIX_SECONDS + seed as f64);
        let run = self.between_runs * normal(&mut rng);
        for load in &plan.points {
            let own = run + self.between_points * normal(&mut rng);
            let stats = self.point(*load, own, &mut rng);
            record.points.push(PointRecord {
                load: *load,
                began: record.run.started,
                ended: record.run.started,
                status: PointStatus::Measured,
                findings: judge(&stats, *load, &plan, 8),
                stats: Some(stats),
                clients: Vec::new(),
                warmup: None,
                start: None,
                stalls: Vec::new(),
                client_reads: Vec::new(),
            });
        }
        record.end = Some(record.judged(End {
            at: record.run.started,
            outcome: Outcome::Complete,
            wall_seconds: 100.0,
            findings: Vec::new(),
            verdict: None,
            reasons: Vec::new(),
        }));
        record
    }

    /// One load point, whose speed differs by `own` (a logarithm).
    fn point(&self, load: LoadPoint, own: f64, rng: &mut Rng) -> PointStats {
        let mut stats = PointStats {
            window_ns: u64::from(self.seconds) * 1_000_000_000,
            shard_count: 2,
            ..PointStats::default()
        };
        let capacity = self.capacity * (-own).exp();
        let rate = load.requested.0.min(capacity);
        let busy = (rate / capacity).min(0.97);
        let base = self.service_us * own.exp() * (1.0 + 0.5 * busy / (1.0 - busy));
        let mut off = normal(rng);
        for second in 0..self.seconds {
            let fresh = (1.0 - self.memory * self.memory).sqrt();
            off = self.memory * off + fresh * normal(rng);
            let mean_us = base * (self.between_seconds * off).exp();
            let mut interval = Interval {
                second: i64::from(second),
                ..Interval::default()
            };
            for _ in 0..rate.round() as u64 {
                let (op, weight) = draw(rng);
                let ns = (mean_us * weight * rng.exponential() * 1e3) as u64 + 20_000;
                let late = (self.late_us * rng.exponential() * 1e3) as u64;
                let entry = stats.op_mut(op);
                entry.success_count += 1;
                entry.physical_count += 1;
                entry.service.record(Nanos(ns));
                entry.response.record(Nanos(ns + late));
                stats.wakeup.record(Nanos(late));
                interval.success_count += 1;
                interval.service_sum_ns += ns;
            }
            stats.intervals.push(interval);
        }
        let done = stats.success_count();
        let procs = self.plan().proc_count();
        let wanted = load.requested.0 * f64::from(self.seconds) / f64::from(procs);
        let proc = |proc| ProcStats {
            proc,
            success_count: done / u64::from(procs),
            wanted_count: wanted as u64,
            ..ProcStats::default()
        };
        stats.procs = (0..procs).map(proc).collect();
        stats
    }
}

/// An operation of the mix, and its cost relative to the mean.
fn draw(rng: &mut Rng) -> (Op, f64) {
    let at = rng.unit();
    let weights = [0.6, 1.0, 2.0];
    let mut sum = 0.0;
    for ((op, share), weight) in MIX.iter().zip(weights) {
        sum += share;
        if at < sum {
            return (*op, weight);
        }
    }
    (MIX[0].0, weights[0])
}

/// A standard normal variate, approximated by twelve uniform ones (no library's rounding).
fn normal(rng: &mut Rng) -> f64 {
    (0..12).map(|_| rng.unit()).sum::<f64>() - 6.0
}
