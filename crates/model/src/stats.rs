//! What a load point measured: counts, bytes, errors and latencies per
//! operation, per proc, per second. Plain data that merges exactly.

use crate::counter::{CHECKED_BYTES, UNDECIDED_BYTES};
use crate::latency::Latency;
use crate::op::Op;
use crate::responses::Responses;
use crate::silence::{Replies, Silence};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One operation's figures.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct OpStats {
    /// Which operation.
    pub op: Op,
    /// Logical operations that succeeded.
    pub success_count: u64,
    /// Physical operations that they took.
    pub physical_count: u64,
    /// Logical operations that failed.
    pub error_count: u64,
    /// Bytes read by them.
    pub read_bytes: u64,
    /// Bytes written by them.
    pub written_bytes: u64,
    /// Reply minus sent, of the successful ones.
    pub service: Latency,
    /// Reply minus intended start, of those whose intended start lies in RUN: the
    /// successful ones, and as lower bounds those that were not seen to end.
    pub response: Latency,
    /// Ended in RUN but were intended before: in `success_count`, not in `response`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub early_count: u64,
    /// Intended in RUN but ended after: in `response`, not in `success_count`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub late_count: u64,
    /// Lower bounds in `response`: still under way when the wait for replies was
    /// over, or (open pacing) never started.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub open_count: u64,
    /// Lower bounds in `response`: closed pacing, due in RUN but never started.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub missed_count: u64,
    /// Lower bounds in `response`: given up by the driver without an answer.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub given_up_count: u64,
    /// Intended in RUN, and failed after it: in no other count of errors.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub late_error_count: u64,
}

impl OpStats {
    /// Nothing measured yet.
    pub fn new(op: Op) -> Self {
        Self {
            op,
            success_count: 0,
            physical_count: 0,
            error_count: 0,
            read_bytes: 0,
            written_bytes: 0,
            service: Latency::new(),
            response: Latency::new(),
            early_count: 0,
            late_count: 0,
            open_count: 0,
            missed_count: 0,
            given_up_count: 0,
            late_error_count: 0,
        }
    }

    /// What is wrong with the number of its response times; `None`: each has its reason.
    pub fn response_fault(&self) -> Option<String> {
        let bounds = [self.open_count, self.missed_count, self.given_up_count];
        let unseen = bounds.iter().try_fold(0u64, |sum, n| sum.checked_add(*n));
        if unseen != Some(self.response.at_least_count()) {
            return Some(format!(
                "{} lower bounds among the response times of {} are not the sum of {bounds:?}",
                self.response.at_least_count(),
                self.op
            ));
        }
        let intended = self.success_count.checked_sub(self.early_count);
        let known = intended.and_then(|n| n.checked_add(self.late_count));
        let all = known.and_then(|n| n.checked_add(unseen.unwrap_or(0)));
        (all != Some(self.response.count())).then(|| {
            format!(
                "{} response times of {} are not its {} successes, less {} intended before RUN, with {} ended after it and {} not seen to end",
                self.response.count(),
                self.op,
                self.success_count,
                self.early_count,
                self.late_count,
                unseen.unwrap_or(0),
            )
        })
    }

    /// Adds the figures of the same operation from elsewhere.
    pub fn merge(&mut self, other: &Self) {
        self.success_count = self.success_count.saturating_add(other.success_count);
        self.physical_count = self.physical_count.saturating_add(other.physical_count);
        self.error_count = self.error_count.saturating_add(other.error_count);
        self.read_bytes = self.read_bytes.saturating_add(other.read_bytes);
        self.written_bytes = self.written_bytes.saturating_add(other.written_bytes);
        self.service.merge(&other.service);
        self.response.merge(&other.response);
        self.early_count = self.early_count.saturating_add(other.early_count);
        self.late_count = self.late_count.saturating_add(other.late_count);
        self.open_count = self.open_count.saturating_add(other.open_count);
        self.missed_count = self.missed_count.saturating_add(other.missed_count);
        self.given_up_count = self.given_up_count.saturating_add(other.given_up_count);
        self.late_error_count = self.late_error_count.saturating_add(other.late_error_count);
    }

    /// Forgets everything, keeps the memory.
    pub fn clear(&mut self) {
        self.success_count = 0;
        self.physical_count = 0;
        self.error_count = 0;
        self.read_bytes = 0;
        self.written_bytes = 0;
        self.service.clear();
        self.response.clear();
        self.early_count = 0;
        self.late_count = 0;
        self.open_count = 0;
        self.missed_count = 0;
        self.given_up_count = 0;
        self.late_error_count = 0;
    }
}

/// One second of the run, summed over all procs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Whole seconds since RUN began; negative in WARMUP.
    pub second: i64,
    /// Logical operations that succeeded in it.
    pub success_count: u64,
    /// Logical operations that failed in it.
    pub error_count: u64,
    /// Bytes read in it.
    pub read_bytes: u64,
    /// Bytes written in it.
    pub written_bytes: u64,
    /// Sum of the service times, in nanoseconds.
    pub service_sum_ns: u64,
    /// Sum of the response times, in nanoseconds; 0 in records of versions that did not
    /// keep it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub response_sum_ns: u64,
    /// Longest response time, in nanoseconds.
    pub response_max_ns: u64,
    /// Service times by power of two: entry i counts those of 2^i to 2^(i+1) microseconds
    /// (entry 0 also the shorter, the last also the longer ones).
    pub service_log2_us: [u32; 24],
    /// Response times by bucket and group of operations; empty in records of versions that did
    /// not keep them.
    #[serde(default, skip_serializing_if = "Responses::is_empty")]
    pub responses: Responses,
    /// Operations under way when the second ended. Of drivers that block, one per thread:
    /// an agent that is late says it of the moment at which it looks.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub open_count: u64,
    /// How long ago the oldest of them was intended to start, in nanoseconds.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub open_age_max_ns: u64,
}

impl Interval {
    /// Adds the same second of another shard or client.
    pub fn merge(&mut self, other: &Self) {
        self.success_count = self.success_count.saturating_add(other.success_count);
        self.error_count = self.error_count.saturating_add(other.error_count);
        self.read_bytes = self.read_bytes.saturating_add(other.read_bytes);
        self.written_bytes = self.written_bytes.saturating_add(other.written_bytes);
        self.service_sum_ns = self.service_sum_ns.saturating_add(other.service_sum_ns);
        self.response_sum_ns = self.response_sum_ns.saturating_add(other.response_sum_ns);
        self.response_max_ns = self.response_max_ns.max(other.response_max_ns);
        self.open_count = self.open_count.saturating_add(other.open_count);
        self.open_age_max_ns = self.open_age_max_ns.max(other.open_age_max_ns);
        for (mine, theirs) in self.service_log2_us.iter_mut().zip(other.service_log2_us) {
            *mine = mine.saturating_add(theirs);
        }
        self.responses.merge(&other.responses);
    }

    /// The mean service time in nanoseconds; zero when nothing succeeded.
    pub fn service_mean_ns(&self) -> f64 {
        match self.success_count {
            0 => 0.0,
            n => self.service_sum_ns as f64 / n as f64,
        }
    }

    /// The mean response time in nanoseconds; zero when nothing succeeded.
    pub fn response_mean_ns(&self) -> f64 {
        match self.success_count {
            0 => 0.0,
            n => self.response_sum_ns as f64 / n as f64,
        }
    }

    /// The entry of [`Interval::service_log2_us`] for a latency in nanoseconds.
    #[inline]
    pub const fn log2_slot(latency_ns: u64) -> usize {
        let us = latency_ns / 1_000;
        let slot = match us.checked_ilog2() {
            Some(slot) => slot as usize,
            None => 0,
        };
        if slot < 24 { slot } else { 23 }
    }
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

/// One proc's share of the work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProcStats {
    /// Its number in the whole run, from 0.
    pub proc: u32,
    /// Logical operations that succeeded.
    pub success_count: u64,
    /// Logical operations that failed.
    pub error_count: u64,
    /// Sum of the service times, in nanoseconds.
    pub service_sum_ns: u64,
    /// Longest service time, in nanoseconds.
    pub service_max_ns: u64,
    /// Operations it was wanted to start in the window.
    pub wanted_count: u64,
}

/// What the procs of one component did together, over all clients.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ComponentStats {
    /// Which component of the benchmark, from 0.
    pub component: u32,
    /// Procs of it that made load.
    pub proc_count: u32,
    /// Operations that they were wanted to start in the window; 0: as many as possible.
    pub wanted_count: u64,
    /// Figures per operation. Those of a background component are here only.
    pub ops: Vec<OpStats>,
}

impl ComponentStats {
    /// Logical operations that succeeded.
    pub fn success_count(&self) -> u64 {
        total(self.ops.iter().map(|o| o.success_count))
    }

    fn merge(&mut self, other: &Self) {
        self.proc_count = self.proc_count.saturating_add(other.proc_count);
        self.wanted_count = self.wanted_count.saturating_add(other.wanted_count);
        merge_ops(&mut self.ops, &other.ops);
    }
}

/// One proc's figures per operation (netmist's client logs).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProcOps {
    /// Its number in the whole run, from 0.
    pub proc: u32,
    /// Bytes of its data set that INIT made or found.
    pub data_bytes: u64,
    /// Directories that INIT made or found.
    pub dir_count: u64,
    /// Files that INIT made or found.
    pub file_count: u64,
    /// Per operation that it tried.
    pub ops: Vec<ProcOp>,
    /// How often each file was accessed, by its path below the run's directory
    /// (FILE_ACCESS_LIST only).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accesses: Vec<(String, u64)>,
}

/// One operation of one proc.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProcOp {
    /// Which operation.
    pub op: Op,
    /// How many succeeded.
    pub success_count: u64,
    /// How many failed.
    pub error_count: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Sum of the service times of the successful ones, in nanoseconds.
    pub service_sum_ns: u64,
}

fn merge_ops(mine: &mut Vec<OpStats>, theirs: &[OpStats]) {
    for other in theirs {
        match mine.binary_search_by_key(&other.op, |s| s.op) {
            Ok(at) => mine[at].merge(other),
            Err(at) => mine.insert(at, other.clone()),
        }
    }
}

/// Puts the procs of another shard or client among these, in the order of their
/// numbers. A shard of one proc is put in its place: sorting anew for each of
/// thousands would take longer than they ran.
fn merge_procs<T: Clone>(mine: &mut Vec<T>, theirs: &[T], number: impl Fn(&T) -> u32) {
    if let [one] = theirs {
        let at = mine.partition_point(|p| number(p) <= number(one));
        return mine.insert(at, one.clone());
    }
    mine.extend_from_slice(theirs);
    mine.sort_by_key(number);
}

/// A sum that a hostile record cannot make overflow.
fn total(counts: impl Iterator<Item = u64>) -> u64 {
    counts.fold(0, u64::saturating_add)
}

/// Everything that one client (or all of them) measured at one load point.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct PointStats {
    /// Length of the measured window, in nanoseconds.
    pub window_ns: u64,
    /// Figures per operation.
    pub ops: Vec<OpStats>,
    /// Actual start minus intended start, all operations.
    pub lateness: Latency,
    /// The generator's own wake-ups: woken minus due, without what the server
    /// (a busy proc) added.
    pub wakeup: Latency,
    /// Series by second, WARMUP included.
    pub intervals: Vec<Interval>,
    /// When operations ended, by second: until the process that saw it has found
    /// `silence` in it.
    #[serde(skip)]
    pub replies: Vec<Replies>,
    /// The longest time in RUN without a reply to one client, while operations were under
    /// way; `None`: none of a second or more, or not looked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub silence: Option<Silence>,
    /// Per proc.
    pub procs: Vec<ProcStats>,
    /// Composites: per component.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub components: Vec<ComponentStats>,
    /// Composites: per proc and operation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub proc_ops: Vec<ProcOps>,
    /// The driver's own counters (physical calls by procedure, retransmissions,
    /// verifier changes, short reads ...), by name.
    pub counters: BTreeMap<String, u64>,
    /// Failed operations by "op: status of the reply".
    pub errors: BTreeMap<String, u64>,
    /// Operations made outside of the mix so that a measured one could be done.
    pub preparation_count: u64,
    /// Open pacing: the most operations that were waiting to start or in flight, all procs.
    pub backlog_max: u64,
    /// Open pacing: those that were waiting when the window closed.
    pub backlog_end: u64,
    /// Open pacing: intended operations dropped because the backlog was full.
    pub dropped_count: u64,
    /// Closed pacing: how often a proc fell so far behind that its schedule was moved.
    pub rescheduled_count: u64,
    /// Size of the file set when RUN ended, in bytes.
    pub fileset_bytes: u64,
    /// Size of its accessed part at creation, in bytes.
    pub accessed_base_bytes: u64,
    /// Size of its accessed part when RUN ended, in bytes.
    pub accessed_end_bytes: u64,
    /// Processor time that the generator's threads took in the window, in nanoseconds.
    pub generator_cpu_ns: u64,
    /// Threads that made the load.
    pub shard_count: u32,
    /// The transfer sizes in use: largest read and write, in bytes.
    pub transfer_bytes: (u32, u32),
}

impl PointStats {
    /// The entry for `op`, made when it is missing.
    pub fn op_mut(&mut self, op: Op) -> &mut OpStats {
        let at = match self.ops.binary_search_by_key(&op, |s| s.op) {
            Ok(at) => at,
            Err(at) => {
                self.ops.insert(at, OpStats::new(op));
                at
            }
        };
        &mut self.ops[at]
    }

    /// The entry for `op`.
    pub fn op(&self, op: Op) -> Option<&OpStats> {
        self.ops.iter().find(|s| s.op == op)
    }

    /// Adds what another shard or client measured at the same point.
    pub fn merge(&mut self, other: &Self) {
        self.window_ns = self.window_ns.max(other.window_ns);
        merge_ops(&mut self.ops, &other.ops);
        for theirs in &other.components {
            let known = |c: &ComponentStats| c.component;
            match self
                .components
                .binary_search_by_key(&theirs.component, known)
            {
                Ok(at) => self.components[at].merge(theirs),
                Err(at) => self.components.insert(at, theirs.clone()),
            }
        }
        merge_procs(&mut self.proc_ops, &other.proc_ops, |p| p.proc);
        self.lateness.merge(&other.lateness);
        self.wakeup.merge(&other.wakeup);
        for theirs in &other.intervals {
            match self
                .intervals
                .binary_search_by_key(&theirs.second, |i| i.second)
            {
                Ok(at) => self.intervals[at].merge(theirs),
                Err(at) => self.intervals.insert(at, theirs.clone()),
            }
        }
        for theirs in &other.replies {
            match self
                .replies
                .binary_search_by_key(&theirs.second, |r| r.second)
            {
                Ok(at) => self.replies[at].merge(theirs),
                Err(at) => self.replies.insert(at, *theirs),
            }
        }
        let silences = [self.silence, other.silence].into_iter().flatten();
        self.silence = silences.max_by_key(|s| s.length_ns);
        merge_procs(&mut self.procs, &other.procs, |p| p.proc);
        for (name, n) in &other.counters {
            let sum = self.counters.entry(name.clone()).or_default();
            *sum = sum.saturating_add(*n);
        }
        for (name, n) in &other.errors {
            let sum = self.errors.entry(name.clone()).or_default();
            *sum = sum.saturating_add(*n);
        }
        self.preparation_count = self
            .preparation_count
            .saturating_add(other.preparation_count);
        self.backlog_max = self.backlog_max.saturating_add(other.backlog_max);
        self.backlog_end = self.backlog_end.saturating_add(other.backlog_end);
        self.dropped_count = self.dropped_count.saturating_add(other.dropped_count);
        self.rescheduled_count = self
            .rescheduled_count
            .saturating_add(other.rescheduled_count);
        self.fileset_bytes = self.fileset_bytes.saturating_add(other.fileset_bytes);
        self.accessed_base_bytes = self
            .accessed_base_bytes
            .saturating_add(other.accessed_base_bytes);
        self.accessed_end_bytes = self
            .accessed_end_bytes
            .saturating_add(other.accessed_end_bytes);
        self.generator_cpu_ns = self.generator_cpu_ns.saturating_add(other.generator_cpu_ns);
        self.shard_count = self.shard_count.saturating_add(other.shard_count);
        self.transfer_bytes.0 = self.transfer_bytes.0.max(other.transfer_bytes.0);
        self.transfer_bytes.1 = self.transfer_bytes.1.max(other.transfer_bytes.1);
    }

    /// Bytes read that were compared with what had been written.
    pub fn checked_bytes(&self) -> u64 {
        *self.counters.get(CHECKED_BYTES).unwrap_or(&0)
    }

    /// Bytes read that were to be compared and that cannot be verified.
    pub fn undecided_bytes(&self) -> u64 {
        *self.counters.get(UNDECIDED_BYTES).unwrap_or(&0)
    }

    /// Logical operations that succeeded.
    pub fn success_count(&self) -> u64 {
        total(self.ops.iter().map(|o| o.success_count))
    }

    /// Physical operations that they took.
    pub fn physical_count(&self) -> u64 {
        total(self.ops.iter().map(|o| o.physical_count))
    }

    /// Logical operations that failed.
    pub fn error_count(&self) -> u64 {
        total(self.ops.iter().map(|o| o.error_count))
    }

    /// Operations of RUN that were still open when the wait for replies was over.
    pub fn open_count(&self) -> u64 {
        total(self.ops.iter().map(|o| o.open_count))
    }

    /// Closed pacing: starts that were due in RUN and never made.
    pub fn missed_count(&self) -> u64 {
        total(self.ops.iter().map(|o| o.missed_count))
    }

    /// Operations that were intended in RUN and failed after it.
    pub fn late_error_count(&self) -> u64 {
        total(self.ops.iter().map(|o| o.late_error_count))
    }

    /// Successful logical operations per second of the window.
    pub fn achieved_ops_per_sec(&self) -> f64 {
        match self.window_ns {
            0 => 0.0,
            ns => self.success_count() as f64 / (ns as f64 / 1e9),
        }
    }

    /// Service times of all operations together.
    pub fn service(&self) -> Latency {
        self.ops.iter().map(|o| &o.service).sum()
    }

    /// Response times of all operations together.
    pub fn response(&self) -> Latency {
        self.ops.iter().map(|o| &o.response).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Nanos;

    #[test]
    fn merging_points_adds_everything() {
        let mut a = PointStats {
            window_ns: 1_000_000_000,
            ..PointStats::default()
        };
        a.op_mut(Op::Read).success_count = 5;
        a.intervals.push(Interval {
            second: 1,
            success_count: 5,
            ..Interval::default()
        });
        let mut b = PointStats::default();
        b.op_mut(Op::Getattr).success_count = 2;
        b.op_mut(Op::Read).service.record(Nanos(7));
        b.intervals.push(Interval {
            second: 0,
            success_count: 2,
            ..Interval::default()
        });
        b.counters.insert("READ".into(), 3);
        a.merge(&b);
        assert_eq!(a.success_count(), 7);
        assert_eq!(a.achieved_ops_per_sec(), 7.0);
        assert_eq!(a.counters["READ"], 3);
        let seconds: Vec<_> = a.intervals.iter().map(|i| i.second).collect();
        assert_eq!(seconds, [0, 1]);
        assert_eq!(
            a.ops.iter().map(|o| o.op).collect::<Vec<_>>(),
            [Op::Getattr, Op::Read]
        );
    }

    #[test]
    fn log2_slots() {
        assert_eq!(Interval::log2_slot(0), 0);
        assert_eq!(Interval::log2_slot(1_999), 0);
        assert_eq!(Interval::log2_slot(2_000), 1);
        assert_eq!(Interval::log2_slot(u64::MAX), 23);
    }
}
