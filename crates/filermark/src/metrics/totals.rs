//! Sums and present values from the events of a run, or of several runs in a row (`quick`).

use crate::events::{Event, PointEnded, PointWanted, RunBegan, Second};
use filermark_model::op::OpGroup;
use filermark_model::responses::BUCKET_COUNT;
use filermark_results::Phase;
use std::collections::BTreeMap;

/// Entries of the histogram of service times.
pub const BUCKETS: usize = 24;
/// Most operations of the counts by operation; there are fewer kinds.
const OPERATIONS_MAX: usize = 512;

/// The counts of one operation.
#[derive(Clone, Copy, Debug, Default)]
pub struct OperationTotals {
    pub success_count: u64,
    pub error_count: u64,
}

/// The response times of one group of operations.
#[derive(Clone, Copy, Debug, Default)]
pub struct ResponseTotals {
    pub sum_ns: u64,
    /// By bucket, not cumulative.
    pub counts: [u64; BUCKET_COUNT],
}

/// Power, as far as it is measured.
#[derive(Clone, Copy, Debug, Default)]
pub struct PowerNow {
    pub storage_w: Option<f64>,
    pub clients_w: Option<f64>,
}

/// All that the metrics show.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    pub run: Option<RunBegan>,
    pub points: Vec<PointWanted>,
    /// The present load point of the plan.
    pub point: Option<u32>,
    /// The present step of a search.
    pub search_step: Option<u32>,
    /// The requested rate of either.
    pub requested_ops_per_sec: Option<f64>,
    pub phase: Option<Phase>,
    /// The last second of the load point.
    pub second: Option<Second>,
    pub success_count: u64,
    pub error_count: u64,
    pub read_bytes: u64,
    pub written_bytes: u64,
    pub service_log2_us: [u64; BUCKETS],
    pub service_sum_ms: f64,
    /// In the order of [`OpGroup::ALL`].
    pub responses: [ResponseTotals; OpGroup::ALL.len()],
    pub operations: BTreeMap<String, OperationTotals>,
    /// Load points that have ended, by verdict.
    pub ended: BTreeMap<String, u64>,
    /// The load point that ended last.
    pub last_point: Option<PointEnded>,
    pub living_count: usize,
    pub all_count: usize,
    /// The most that were connected: once all were, a missing one is lost.
    pub living_max: usize,
    pub made_count: u64,
    pub removed_count: u64,
    /// Objects of the present INIT or CLEANUP.
    pub task_count: u64,
    pub power: PowerNow,
    pub is_over: bool,
    pub exit_code: Option<u8>,
}

impl Totals {
    /// Adds an event.
    pub fn receive(&mut self, event: &Event) {
        match event {
            Event::RunBegan(run) => self.begin(run),
            Event::PointsPlanned { points } => {
                self.points.clone_from(points);
                self.leave_point();
            }
            Event::Agents {
                living_count,
                all_count,
            } => {
                (self.living_count, self.all_count) = (*living_count, *all_count);
                self.living_max = self.living_max.max(*living_count);
            }
            Event::PhaseBegan {
                point,
                phase,
                search_step,
                requested_ops_per_sec,
                ..
            } => {
                let point = point.filter(|_| search_step.is_none());
                if (point, *search_step) != (self.point, self.search_step) || *phase == Phase::Init
                {
                    self.second = None;
                }
                (self.point, self.search_step) = (point, *search_step);
                (self.phase, self.task_count) = (Some(*phase), 0);
                let planned = self.wanted().and_then(|p| p.requested_ops_per_sec);
                self.requested_ops_per_sec = requested_ops_per_sec.or(planned);
            }
            Event::Tasks {
                phase, task_count, ..
            } => self.add_tasks(*phase, *task_count),
            Event::Second(second) => self.add_second(second),
            Event::Power {
                power_w,
                client_power_w,
            } => {
                self.power = PowerNow {
                    storage_w: *power_w,
                    clients_w: *client_power_w,
                }
            }
            Event::PointEnded(ended) => self.end_point(ended),
            Event::RunEnded(end) => {
                self.leave_point();
                (self.is_over, self.exit_code) = (true, Some(end.exit_code));
            }
            Event::Percent { .. }
            | Event::Heartbeat { .. }
            | Event::Script { .. }
            | Event::Remark { .. } => {}
        }
    }

    fn begin(&mut self, run: &RunBegan) {
        self.run = Some(run.clone());
        self.points.clone_from(&run.points);
        self.leave_point();
        (self.living_count, self.all_count) = (0, run.client_count);
        self.living_max = 0;
        (self.is_over, self.exit_code) = (false, None);
    }

    /// Tasks are sums since the phase began.
    fn add_tasks(&mut self, phase: Phase, task_count: u64) {
        let more = task_count.saturating_sub(self.task_count);
        self.task_count = self.task_count.max(task_count);
        match phase {
            Phase::Cleanup => self.removed_count = self.removed_count.saturating_add(more),
            _ => self.made_count = self.made_count.saturating_add(more),
        }
    }

    fn add_second(&mut self, second: &Second) {
        let add = |sum: &mut u64, more: u64| *sum = sum.saturating_add(more);
        add(&mut self.success_count, second.success_count);
        add(&mut self.error_count, second.error_count);
        add(&mut self.read_bytes, second.read_bytes);
        add(&mut self.written_bytes, second.written_bytes);
        let counts = self.service_log2_us.iter_mut().zip(&second.service_log2_us);
        counts.for_each(|(sum, count)| add(sum, u64::from(*count)));
        self.service_sum_ms += second.service_sum_ms;
        for (total, group) in self.responses.iter_mut().zip(OpGroup::ALL) {
            let group = second.responses.group(group);
            add(&mut total.sum_ns, group.sum_ns);
            let counts = total.counts.iter_mut().zip(group.counts.0);
            counts.for_each(|(sum, count)| add(sum, u64::from(count)));
        }
        self.second = Some(second.clone());
    }

    fn end_point(&mut self, ended: &PointEnded) {
        *self.ended.entry(ended.verdict.to_string()).or_default() += 1;
        let figures = ended.figures.iter();
        for figure in figures.flat_map(|figures| &figures.operations) {
            if self.operations.len() >= OPERATIONS_MAX
                && !self.operations.contains_key(&figure.operation)
            {
                continue;
            }
            let sum = self.operations.entry(figure.operation.clone()).or_default();
            sum.success_count = sum.success_count.saturating_add(figure.success_count);
            sum.error_count = sum.error_count.saturating_add(figure.error_count);
        }
        self.leave_point();
        self.last_point = Some(ended.clone());
    }

    /// Nothing is measured until the next phase begins.
    fn leave_point(&mut self) {
        (self.point, self.search_step, self.requested_ops_per_sec) = (None, None, None);
        (self.phase, self.second) = (None, None);
    }

    /// The plan of the present load point.
    fn wanted(&self) -> Option<&PointWanted> {
        self.points.iter().find(|p| Some(p.point) == self.point)
    }

    /// Clients that were connected and are not any more.
    pub fn lost_count(&self) -> usize {
        match self.living_max >= self.all_count {
            true => self.all_count.saturating_sub(self.living_count),
            false => 0,
        }
    }
}
