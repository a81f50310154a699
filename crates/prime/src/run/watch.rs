//! The state of WARMUP and RUN under way, in the prime.

use super::phase::OpenPhase;
use super::state::MARGIN;
use crate::heartbeats::HeartbeatMerger;
use crate::intervals::IntervalMerger;
use crate::run_length::RunLength;
use crate::stop_if::StopConditions;
use crate::warmup::Warmup;
use filermark_engine::run_times::RunStart;
use filermark_link::agents::{AbortRequest, ExtraOrders};
use filermark_link::identity;
use filermark_link::message::{ClockCheck, Order};
use filermark_model::client_reads::ClientReads;
use filermark_model::stall::{ProcessRole, ProcessStalls, Stalls};
use filermark_model::stats::{ProcOps, ProcStats};
use filermark_model::{Finding, LoadPoint, Nanos, PointStats};
use filermark_results::record::{ClientSummary, WarmupRecord};
use filermark_results::start::StartRecord;

/// The result of a load point.
#[derive(Default)]
pub(super) struct PointMeasurement {
    /// The figures of all clients together. The procs are added at the end.
    pub stats: PointStats,
    /// The procs of all clients, as their figures have arrived.
    pub procs: Vec<ProcStats>,
    pub proc_ops: Vec<ProcOps>,
    /// A summary for each client.
    pub clients: Vec<ClientSummary>,
    /// How long WARMUP took, if that was decided while it ran.
    pub warmup: Option<WarmupRecord>,
    /// How far apart the clients began.
    pub start: Option<StartRecord>,
    /// How long each process was stalled.
    pub stalls: Vec<ProcessStalls>,
    /// The source of the bytes that were read.
    pub reads: Vec<ClientReads>,
    /// Further findings.
    pub noticed: Vec<Finding>,
}

/// WARMUP and RUN under way.
pub(super) struct PhaseWatch {
    pub point: LoadPoint,
    /// When the present phase began and will end, by the prime's clock.
    pub from: Nanos,
    pub to: Nanos,
    /// From the order to the beginning of WARMUP.
    pub lead: Nanos,
    pub run_end: Nanos,
    pub warmup: Warmup,
    pub run_length: RunLength,
    /// For the prime's own watchdog.
    pub run_start: RunStart,
    pub extra_orders: ExtraOrders,
    /// The power script has not been called yet.
    pub power_due: bool,
    pub running: bool,
    pub open: Option<OpenPhase>,
    pub percent: u32,
    pub heartbeats: Option<HeartbeatMerger>,
    pub seconds: IntervalMerger,
    pub stop_if: StopConditions,
    pub abort_request: AbortRequest,
    /// Connected agents.
    pub agent_count: usize,
    /// What has been measured so far.
    pub measured: PointMeasurement,
    /// How late each agent began.
    pub late: Vec<(usize, Nanos)>,
    pub checks: Vec<(usize, ClockCheck)>,
    /// The message about figures of an agent that are not plausible.
    pub invalid_message: Option<String>,
}

impl PhaseWatch {
    /// How long all agents may take to answer, with this length of WARMUP.
    pub fn limit(&self, warmup: Nanos) -> Nanos {
        self.lead + warmup + self.run_length.length() + MARGIN
    }

    /// Sends all agents another order, which changes their time limit.
    pub fn order(&self, order: Order, warmup: Nanos) {
        let limit = self.limit(warmup);
        self.extra_orders.borrow_mut().push_back((order, limit));
    }

    /// The share of the present phase that is over.
    pub fn share(&self, now: Nanos) -> f64 {
        let passed = now.since(self.from);
        if self.running {
            return self.run_length.share(passed);
        }
        let length = self.to.since(self.from).as_secs_f64();
        (passed.as_secs_f64() / length.max(1e-9)).min(1.0)
    }

    /// Adds the length of WARMUP to the result, if it was not fixed.
    pub fn note_warmup(&mut self) {
        self.measured.warmup = self.warmup.record();
        self.measured.noticed.extend(self.warmup.finding());
    }

    /// Adds the procs to the figures, in the order of their numbers: sorted once, not for each of
    /// thousands of clients.
    pub fn sort_procs(&mut self) {
        let measured = &mut self.measured;
        measured.procs.sort_by_key(|proc| proc.proc);
        measured.proc_ops.sort_by_key(|proc| proc.proc);
        measured.stats.procs = std::mem::take(&mut measured.procs);
        measured.stats.proc_ops = std::mem::take(&mut measured.proc_ops);
    }

    /// Adds the prime's own stalls, and sorts those of the agents.
    pub fn add_stalls(&mut self, own: Option<Stalls>) {
        let stalls = &mut self.measured.stalls;
        stalls.extend(own.map(|stalls| ProcessStalls {
            role: ProcessRole::Prime,
            host: identity::own_hello().host,
            stalls,
        }));
        stalls.sort_by(|a, b| (a.role, &a.host).cmp(&(b.role, &b.host)));
        let reads = &mut self.measured.reads;
        reads.sort_by(|a, b| (&a.client, &a.mounts).cmp(&(&b.client, &b.mounts)));
    }
}
