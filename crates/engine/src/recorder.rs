//! Where a shard counts: per operation, per second, per error. Takes all of its
//! memory at the start.

use crate::driver::{Outcome, Status};
use filermark_model::stats::Interval;
use filermark_model::{Latency, Mix, Nanos, Op, OpStats, PointStats};
use std::sync::mpsc::SyncSender;

/// Different (operation, failure) pairs that are told apart; more count as the last.
const ERROR_KINDS_MAX: usize = 64;
/// Seconds of time series that are kept.
pub(crate) const SECONDS_MAX: usize = 100_000;

/// What a shard tells while it works; dropped when nobody keeps up.
#[derive(Clone, Debug)]
pub enum Live {
    /// A second of WARMUP or RUN is over.
    Second(Interval),
    /// INIT or CLEANUP went on: tasks and bytes done since the last word.
    Population {
        /// Tasks done.
        task_count: u64,
        /// Bytes written by them.
        bytes: u64,
    },
}

/// What happened to the schedules.
#[derive(Clone, Copy, Debug, Default)]
pub struct PaceCounts {
    /// Operations made outside of the mix.
    pub preparation_count: u64,
    /// Intended operations that were dropped.
    pub dropped_count: u64,
    /// Schedules that were moved.
    pub rescheduled_count: u64,
    /// Most operations waiting, in any check.
    pub backlog_max: u64,
}

/// Counts and latencies per operation, and errors.
pub(crate) struct Figures {
    ops: Vec<Option<Box<OpStats>>>,
    lateness: Latency,
    wakeup: Latency,
    errors: Vec<(Op, Status, u64)>,
    /// There is no schedule: an operation is intended when it starts, so that its
    /// response time is its service time and nothing is late.
    unpaced: bool,
}

impl Figures {
    /// The same for procs without a schedule: one histogram is written per operation
    /// and not four.
    pub(crate) fn unpaced(mix: &Mix) -> Self {
        Self {
            unpaced: true,
            ..Self::new(mix)
        }
    }

    pub(crate) fn new(mix: &Mix) -> Self {
        let mut ops: Vec<_> = Op::ALL.iter().map(|_| None).collect();
        for (op, _) in mix.shares() {
            ops[op.index()] = Some(Box::new(OpStats::new(*op)));
        }
        Self {
            ops,
            lateness: Latency::new(),
            wakeup: Latency::new(),
            errors: Vec::with_capacity(ERROR_KINDS_MAX),
            unpaced: false,
        }
    }

    fn clear(&mut self) {
        for op in self.ops.iter_mut().flatten() {
            op.clear();
        }
        self.lateness.clear();
        self.wakeup.clear();
        self.errors.clear();
    }

    /// Counts an operation that was intended at `intended`, also in its second.
    #[inline]
    pub(crate) fn count(
        &mut self,
        now: &mut Interval,
        op: Op,
        intended: Nanos,
        was_free: bool,
        outcome: &Outcome,
    ) {
        let Some(stats) = &mut self.ops[op.index()] else {
            return;
        };
        if outcome.status != Status::Ok {
            stats.error_count += 1;
            now.error_count += 1;
            return self.count_error(op, outcome.status);
        }
        let service = outcome.done.since(outcome.sent);
        let response = outcome.done.since(intended);
        let late = outcome.sent.since(intended);
        stats.success_count += 1;
        stats.physical_count += u64::from(outcome.physical);
        stats.read_bytes += outcome.read_bytes;
        stats.written_bytes += outcome.written_bytes;
        stats.service.record(service);
        if self.unpaced {
            return count_in(now, outcome, service, service);
        }
        stats.response.record(response);
        self.lateness.record(late);
        if was_free {
            self.wakeup.record(late);
        }
        count_in(now, outcome, service, response);
    }

    #[cold]
    fn count_error(&mut self, op: Op, status: Status) {
        let known = self.errors.iter().position(|e| (e.0, e.1) == (op, status));
        match known {
            Some(at) => self.errors[at].2 += 1,
            None if self.errors.len() < ERROR_KINDS_MAX => self.errors.push((op, status, 1)),
            None => self.errors[ERROR_KINDS_MAX - 1].2 += 1,
        }
    }

    /// Everything counted, as plain data; `text` explains a failure.
    pub(crate) fn finish(mut self, text: impl Fn(Status) -> String) -> PointStats {
        for op in self.ops.iter_mut().flatten().filter(|_| self.unpaced) {
            op.response = op.service.clone();
        }
        let mut point = PointStats {
            ops: self.ops.drain(..).flatten().map(|op| *op).collect(),
            lateness: self.lateness,
            wakeup: self.wakeup,
            ..PointStats::default()
        };
        for (op, status, n) in self.errors {
            *point
                .errors
                .entry(format!("{op}: {}", text(status)))
                .or_default() += n;
        }
        point
    }
}

/// Counts a successful operation in its second.
#[inline]
pub(crate) fn count_in(now: &mut Interval, outcome: &Outcome, service: Nanos, response: Nanos) {
    now.success_count += 1;
    now.read_bytes += outcome.read_bytes;
    now.written_bytes += outcome.written_bytes;
    now.service_sum_ns += service.0;
    now.response_sum_ns += response.0;
    now.response_max_ns = now.response_max_ns.max(response.0);
    now.service_log2_us[Interval::log2_slot(service.0)] += 1;
}

/// The counters of one shard.
pub struct Recorder {
    figures: Figures,
    intervals: Vec<Interval>,
    current: Interval,
    live: Option<SyncSender<Live>>,
    /// When RUN begins; seconds count from here.
    run_start: Nanos,
}

impl Recorder {
    /// Counters for the operations of `mix`; each second also goes to `live`.
    pub fn new(mix: &Mix, seconds: usize, live: Option<SyncSender<Live>>) -> Self {
        Self {
            figures: Figures::new(mix),
            intervals: Vec::with_capacity(seconds.saturating_add(16).min(SECONDS_MAX)),
            current: Interval::default(),
            live,
            run_start: Nanos::ZERO,
        }
    }

    /// Says when RUN will begin; the series starts at `now`.
    pub fn begin(&mut self, now: Nanos, run_start: Nanos) {
        self.run_start = run_start;
        self.current = Interval {
            second: second_of(now, run_start),
            ..Interval::default()
        };
    }

    /// WARMUP is over: forgets what was counted but the series by second.
    pub fn begin_run(&mut self) {
        self.figures.clear();
    }

    /// Closes the seconds that have passed; gives the instant at which the
    /// current one ends.
    pub fn roll(&mut self, now: Nanos) -> Nanos {
        let second = second_of(now, self.run_start);
        while self.current.second < second {
            let next = self.current.second + 1;
            let done = std::mem::replace(
                &mut self.current,
                Interval {
                    second: next,
                    ..Interval::default()
                },
            );
            if let Some(live) = &self.live {
                let _ = live.try_send(Live::Second(done.clone()));
            }
            if self.intervals.len() < self.intervals.capacity() {
                self.intervals.push(done);
            }
        }
        let next = self.run_start.0 as i128 + (second as i128 + 1) * 1_000_000_000;
        Nanos(next.max(0) as u64)
    }

    /// Counts an operation that was intended at `intended`.
    #[inline]
    pub fn record(&mut self, op: Op, intended: Nanos, was_free: bool, outcome: &Outcome) {
        self.figures
            .count(&mut self.current, op, intended, was_free, outcome);
    }

    /// Everything counted, as plain data; `text` explains a failure.
    pub fn finish(mut self, text: impl Fn(Status) -> String) -> PointStats {
        let last_counts = self.current.success_count + self.current.error_count > 0;
        if last_counts && self.intervals.len() < self.intervals.capacity() {
            self.intervals.push(self.current);
        }
        let mut point = self.figures.finish(text);
        point.intervals = self.intervals;
        point
    }
}

pub(crate) fn second_of(now: Nanos, run_start: Nanos) -> i64 {
    let ns = now.0 as i128 - run_start.0 as i128;
    ns.div_euclid(1_000_000_000) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(sent: u64, done: u64, status: Status) -> Outcome {
        Outcome {
            status,
            sent: Nanos(sent),
            done: Nanos(done),
            physical: 1,
            read_bytes: 10,
            written_bytes: 0,
            end: false,
        }
    }

    #[test]
    fn counts_go_to_operation_second_and_error() {
        let mix = Mix::new([(Op::Read, 100.0)]).unwrap();
        let (sender, receiver) = std::sync::mpsc::sync_channel(8);
        let mut r = Recorder::new(&mix, 4, Some(sender));
        r.begin(Nanos(500_000_000), Nanos::from_secs(1));
        r.record(Op::Read, Nanos(1), true, &outcome(2, 3, Status::Ok));
        assert_eq!(r.roll(Nanos::from_secs(1)), Nanos::from_secs(2));
        r.begin_run();
        let at = 1_500_000_000;
        r.record(
            Op::Read,
            Nanos(at),
            true,
            &outcome(at + 100, at + 300, Status::Ok),
        );
        r.record(
            Op::Read,
            Nanos(at),
            false,
            &outcome(at, at, Status::Refused(5)),
        );
        r.record(Op::Getattr, Nanos(at), false, &outcome(at, at, Status::Ok));
        let p = r.finish(|s| format!("{s:?}"));
        assert_eq!((p.success_count(), p.error_count()), (1, 1));
        assert_eq!(p.ops[0].service.mean_ns(), 200.0);
        assert_eq!(p.ops[0].response.mean_ns(), 300.0);
        assert_eq!(p.errors["read: Refused(5)"], 1);
        let seconds: Vec<_> = p
            .intervals
            .iter()
            .map(|i| (i.second, i.success_count))
            .collect();
        assert_eq!(seconds, [(-1, 1), (0, 1)]);
        assert!(matches!(receiver.try_recv(), Ok(Live::Second(i)) if i.second == -1));
    }
}
