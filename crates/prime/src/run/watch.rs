//! WARMUP and RUN under way, as the prime watches them.

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
use filermark_model::{Finding, LoadPoint, Nanos, PointStats};
use filermark_results::record::{ClientSummary, WarmupRecord};
use filermark_results::start::StartRecord;

/// What a load point came to.
#[derive(Default)]
pub(super) struct PointMeasurement {
    /// The figures of all clients together.
    pub stats: PointStats,
    /// Those of each client, in short.
    pub clients: Vec<ClientSummary>,
    /// How long WARMUP took, where that was decided on the way.
    pub warmup: Option<WarmupRecord>,
    /// How well the clients began together.
    pub start: Option<StartRecord>,
    /// How long each process stood still.
    pub stalls: Vec<ProcessStalls>,
    /// Where the bytes came from that were read.
    pub reads: Vec<ClientReads>,
    /// What was noticed beside them.
    pub noticed: Vec<Finding>,
}

/// WARMUP and RUN under way.
pub(super) struct PhaseWatch {
    pub point: LoadPoint,
    /// When the phase that goes on began and will end, by the prime's clock.
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
    /// Agents that are there.
    pub agent_count: usize,
    /// What has been measured so far.
    pub measured: PointMeasurement,
    /// How late each agent took up the order.
    pub late: Vec<(usize, Nanos)>,
    pub checks: Vec<(usize, ClockCheck)>,
    /// What an agent has told that cannot be.
    pub invalid_message: Option<String>,
}

impl PhaseWatch {
    /// How long all agents may take to answer, when WARMUP takes so long.
    pub fn limit(&self, warmup: Nanos) -> Nanos {
        self.lead + warmup + self.run_length.length() + MARGIN
    }

    /// Sends all agents a further order; with it the time that they may take is another.
    pub fn order(&self, order: Order, warmup: Nanos) {
        let limit = self.limit(warmup);
        self.extra_orders.borrow_mut().push_back((order, limit));
    }

    /// The share of the phase under way that is over.
    pub fn share(&self, now: Nanos) -> f64 {
        let passed = now.since(self.from);
        if self.running {
            return self.run_length.share(passed);
        }
        let length = self.to.since(self.from).as_secs_f64();
        (passed.as_secs_f64() / length.max(1e-9)).min(1.0)
    }

    /// How long WARMUP took, where that was not fixed.
    pub fn note_warmup(&mut self) {
        self.measured.warmup = self.warmup.record();
        self.measured.noticed.extend(self.warmup.finding());
    }

    /// The prime's own stalls, before those of the agents, which come in any order.
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
