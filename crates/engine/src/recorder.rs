//! Counters of a shard: per operation, per second, per error. All of its
//! memory is allocated at the start.

use crate::driver::{Outcome, Status};
use crate::run_times::saved_seconds;
use filermark_model::silence::Replies;
use filermark_model::stats::Interval;
use filermark_model::{Latency, Mix, Nanos, Op, OpStats, PointStats};
use std::sync::mpsc::SyncSender;

/// Distinct (operation, failure) pairs that are counted separately; more count as the last.
const ERROR_KINDS_MAX: usize = 64;
/// Seconds of time series that are kept.
pub(crate) const SECONDS_MAX: usize = 100_000;

/// What a shard reports while it works; dropped when the receiver is too slow.
#[derive(Clone, Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "a box would be allocated while load is generated"
)]
pub enum LiveEvents {
    /// A second of WARMUP or RUN is over. Its number counts from the latest instant at
    /// which RUN might begin.
    Second(Interval),
    /// INIT or CLEANUP made progress: tasks and bytes done since the last event.
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

/// An operation that has ended, and which figures count it: possibly none.
#[derive(Clone, Copy, Debug)]
pub struct FinishedOp {
    /// Which operation.
    pub op: Op,
    /// When it was to start; without a schedule: when it was sent.
    pub intended: Nanos,
    /// Its proc was free at that time.
    pub was_free: bool,
    /// It ended in the window: throughput, service times, errors and the series.
    pub in_window: bool,
    /// It was intended in the window: response times.
    pub in_response: bool,
    /// How it ended.
    pub outcome: Outcome,
}

impl FinishedOp {
    /// Adds it to what ended in its second.
    #[inline]
    pub(crate) fn add_to(&self, second: &mut Replies) {
        let Outcome {
            status, sent, done, ..
        } = self.outcome;
        let answered = !matches!(status, Status::TimedOut | Status::Disconnected);
        // Without an object nothing was sent.
        if status != Status::NoObject {
            second.note(sent, done, answered);
        }
    }
}

/// Why an operation that was intended in RUN was not seen to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnfinishedOp {
    /// It was still under way when the wait for replies was over, or (open pacing)
    /// never started.
    Open,
    /// Closed pacing: it was due and never started.
    Missed,
    /// The driver gave it up.
    TimedOut,
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
    /// Of these: service times of operations that were sent before RUN.
    early: Vec<(Op, Nanos)>,
}

impl Figures {
    /// Figures of procs without a schedule: one histogram is written per operation
    /// instead of four. At most `in_flight` operations are under way at a time.
    pub(crate) fn unpaced(mix: &Mix, in_flight: usize) -> Self {
        Self {
            unpaced: true,
            early: Vec::with_capacity(in_flight),
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
            early: Vec::new(),
        }
    }

    fn clear(&mut self) {
        for op in self.ops.iter_mut().flatten() {
            op.clear();
        }
        self.lateness.clear();
        self.wakeup.clear();
        self.errors.clear();
        self.early.clear();
    }

    /// Counts an operation in the figures that it is in, also in its second.
    #[inline]
    pub(crate) fn count(&mut self, now: &mut Interval, ended: &FinishedOp) {
        let outcome = &ended.outcome;
        if outcome.status != Status::Ok {
            return self.count_failed(now, ended);
        }
        let Some(stats) = &mut self.ops[ended.op.index()] else {
            return;
        };
        let service = outcome.done.since(outcome.sent);
        let response = outcome.done.since(ended.intended);
        if !(ended.in_window && ended.in_response) {
            return self.count_at_edge(now, ended);
        }
        let late = outcome.sent.since(ended.intended);
        succeed(stats, outcome, service);
        if self.unpaced {
            return count_in(now, ended, service, service);
        }
        stats.response.record(response);
        self.count_lateness(late, ended.was_free);
        count_in(now, ended, service, response);
    }

    #[inline]
    fn count_lateness(&mut self, late: Nanos, was_free: bool) {
        self.lateness.record(late);
        if was_free {
            self.wakeup.record(late);
        }
    }

    /// Counts a successful operation that is in one kind of figures only: intended
    /// before RUN and ended in it, or intended in RUN and ended after it.
    #[cold]
    fn count_at_edge(&mut self, now: &mut Interval, ended: &FinishedOp) {
        let outcome = &ended.outcome;
        let Some(stats) = &mut self.ops[ended.op.index()] else {
            return;
        };
        let service = outcome.done.since(outcome.sent);
        let response = outcome.done.since(ended.intended);
        if ended.in_response {
            stats.late_count += 1;
            stats.response.record(response);
        }
        if ended.in_window {
            stats.early_count += 1;
            succeed(stats, outcome, service);
            match self.unpaced {
                true => self.early.push((ended.op, service)),
                false => self.count_lateness(outcome.sent.since(ended.intended), ended.was_free),
            }
            count_in(now, ended, service, response);
        }
    }

    /// Counts an operation that failed. The wait for an operation that was never answered
    /// counts: it is a lower bound of its response time.
    #[cold]
    fn count_failed(&mut self, now: &mut Interval, ended: &FinishedOp) {
        let status = ended.outcome.status;
        if ended.in_response && matches!(status, Status::TimedOut | Status::Disconnected) {
            let waited = ended.outcome.done.since(ended.intended);
            self.count_unseen(ended.op, waited, UnfinishedOp::TimedOut);
        }
        if let Some(stats) = &mut self.ops[ended.op.index()] {
            if !ended.in_window {
                stats.late_error_count += 1;
                return;
            }
            stats.error_count += 1;
            now.error_count += 1;
            self.count_error(ended.op, status);
        }
    }

    /// Counts an operation that was not seen to end, with the time that it had waited.
    #[cold]
    pub(crate) fn count_unseen(&mut self, op: Op, waited: Nanos, why: UnfinishedOp) {
        let Some(stats) = &mut self.ops[op.index()] else {
            return;
        };
        stats.response.record_at_least(waited);
        match why {
            UnfinishedOp::Open => stats.open_count += 1,
            UnfinishedOp::Missed => stats.missed_count += 1,
            UnfinishedOp::TimedOut => stats.given_up_count += 1,
        }
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
        for stats in self.ops.iter_mut().flatten().filter(|_| self.unpaced) {
            let early = self.early.iter().filter(|(op, _)| *op == stats.op);
            let early: Vec<Nanos> = early.map(|(_, service)| *service).collect();
            let mut response = stats.service.clone();
            response.subtract(&early);
            stats.response.merge(&response);
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

/// Counts what a successful operation did, and its service time.
#[inline]
fn succeed(stats: &mut OpStats, outcome: &Outcome, service: Nanos) {
    stats.success_count += 1;
    stats.physical_count += u64::from(outcome.physical);
    stats.read_bytes += outcome.read_bytes;
    stats.written_bytes += outcome.written_bytes;
    stats.service.record(service);
}

/// Counts a successful operation in its second.
#[inline]
pub(crate) fn count_in(now: &mut Interval, ended: &FinishedOp, service: Nanos, response: Nanos) {
    let outcome = &ended.outcome;
    now.success_count += 1;
    now.read_bytes += outcome.read_bytes;
    now.written_bytes += outcome.written_bytes;
    now.service_sum_ns += service.0;
    now.response_sum_ns += response.0;
    now.response_max_ns = now.response_max_ns.max(response.0);
    now.service_log2_us[Interval::log2_slot(service.0)] += 1;
    now.responses.count(ended.op.group(), response.0);
}

/// The counters of one shard.
pub struct Recorder {
    figures: Figures,
    intervals: Vec<Interval>,
    current: Interval,
    /// What ended in each second, and in the current one.
    replies: Vec<Replies>,
    current_second: Replies,
    live: Option<SyncSender<LiveEvents>>,
    /// When RUN begins at the latest; seconds count from here until it has begun.
    origin: Nanos,
    /// Seconds that it began before that.
    saved_seconds: i64,
}

impl Recorder {
    /// Counters for the operations of `mix`; each second also goes to `live`.
    pub fn new(mix: &Mix, seconds: usize, live: Option<SyncSender<LiveEvents>>) -> Self {
        let seconds = seconds.saturating_add(16).min(SECONDS_MAX);
        Self {
            figures: Figures::new(mix),
            intervals: Vec::with_capacity(seconds),
            current: Interval::default(),
            replies: Vec::with_capacity(seconds),
            current_second: Replies::none(0),
            live,
            origin: Nanos::ZERO,
            saved_seconds: 0,
        }
    }

    /// Sets the latest start of RUN; the series starts at `now`.
    pub fn begin(&mut self, now: Nanos, latest_run_start: Nanos) {
        self.origin = latest_run_start;
        let second = second_of(now, latest_run_start);
        self.current = Interval {
            second,
            ..Interval::default()
        };
        self.current_second = Replies::none(second);
    }

    /// WARMUP is over, RUN began then: resets all counters but the series by second.
    pub fn begin_run(&mut self, run_start: Nanos) {
        self.saved_seconds = saved_seconds(self.origin, run_start);
        self.figures.clear();
    }

    /// Records the number of open operations and the age of the oldest for the second that ends.
    pub fn note_open(&mut self, count: u64, oldest: Nanos) {
        self.current.open_count = count;
        self.current.open_age_max_ns = oldest.0;
    }

    /// Closes the seconds that have passed; gives the instant at which the
    /// current one ends.
    pub fn roll(&mut self, now: Nanos) -> Nanos {
        let second = second_of(now, self.origin);
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
                let _ = live.try_send(LiveEvents::Second(done.clone()));
            }
            if self.intervals.len() < self.intervals.capacity() {
                self.intervals.push(done);
            }
            let replies = std::mem::replace(&mut self.current_second, Replies::none(next));
            if self.replies.len() < self.replies.capacity() {
                self.replies.push(replies);
            }
        }
        let next = self.origin.0 as i128 + (second as i128 + 1) * 1_000_000_000;
        Nanos(next.max(0) as u64)
    }

    /// Counts an operation that has ended.
    #[inline]
    pub fn record(&mut self, ended: &FinishedOp) {
        ended.add_to(&mut self.current_second);
        if ended.in_window || ended.in_response {
            self.figures.count(&mut self.current, ended);
        }
    }

    /// Sets when the oldest operation that is still under way was intended.
    pub fn note_open_since(&mut self, since: Nanos) {
        self.current_second.note(since, since, false);
    }

    /// Counts operations that were not seen to end, with the time that each had waited.
    pub fn record_unseen(&mut self, why: UnfinishedOp, waited: impl Iterator<Item = (Op, Nanos)>) {
        for (op, waited) in waited {
            self.figures.count_unseen(op, waited, why);
        }
    }

    /// Everything counted, as plain data; `text` explains a failure.
    pub fn finish(mut self, text: impl Fn(Status) -> String) -> PointStats {
        let last_counts = self.current.success_count + self.current.error_count > 0;
        if last_counts && self.intervals.len() < self.intervals.capacity() {
            self.intervals.push(self.current);
        }
        for interval in &mut self.intervals {
            interval.second += self.saved_seconds;
        }
        self.replies.push(self.current_second);
        for replies in &mut self.replies {
            replies.second += self.saved_seconds;
        }
        let mut point = self.figures.finish(text);
        point.intervals = self.intervals;
        point.replies = self.replies;
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

    fn ended(op: Op, intended: u64, sent: u64, done: u64, status: Status) -> FinishedOp {
        FinishedOp {
            op,
            intended: Nanos(intended),
            was_free: true,
            in_window: true,
            in_response: true,
            outcome: Outcome {
                status,
                sent: Nanos(sent),
                done: Nanos(done),
                physical: 1,
                read_bytes: 10,
                written_bytes: 0,
                end: false,
            },
        }
    }

    #[test]
    fn counts_go_to_operation_second_and_error() {
        let mix = Mix::new([(Op::Read, 100.0)]).unwrap();
        let (sender, receiver) = std::sync::mpsc::sync_channel(8);
        let mut r = Recorder::new(&mix, 4, Some(sender));
        r.begin(Nanos(500_000_000), Nanos::from_secs(1));
        r.record(&ended(Op::Read, 1, 2, 3, Status::Ok));
        assert_eq!(r.roll(Nanos::from_secs(1)), Nanos::from_secs(2));
        r.begin_run(Nanos::from_secs(1));
        let at = 1_500_000_000;
        r.record(&ended(Op::Read, at, at + 100, at + 300, Status::Ok));
        r.record(&ended(Op::Read, at, at, at, Status::Refused(5)));
        r.record(&ended(Op::Getattr, at, at, at, Status::Ok));
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
        assert!(matches!(receiver.try_recv(), Ok(LiveEvents::Second(i)) if i.second == -1));
    }

    /// What is at an edge of RUN is in one kind of figures; what was not seen to end is
    /// a lower bound. With and without a schedule.
    #[test]
    fn each_operation_is_in_the_figures_that_it_belongs_to() {
        let mix = Mix::new([(Op::Read, 100.0)]).unwrap();
        for mut figures in [Figures::new(&mix), Figures::unpaced(&mix, 2)] {
            let mut now = Interval::default();
            let read = |sent: u64, done: u64, status| ended(Op::Read, sent, sent, done, status);
            figures.count(&mut now, &read(1_000, 1_500, Status::Ok));
            let mut early = read(1_000, 9_000, Status::Ok);
            early.in_response = false;
            figures.count(&mut now, &early);
            let mut late = read(1_000, 8_000, Status::Ok);
            late.in_window = false;
            figures.count(&mut now, &late);
            late.outcome.status = Status::Refused(5);
            figures.count(&mut now, &late);
            figures.count(&mut now, &read(1_000, 31_000, Status::TimedOut));
            figures.count_unseen(Op::Read, Nanos(70_000), UnfinishedOp::Open);
            figures.count_unseen(Op::Read, Nanos(60_000), UnfinishedOp::Missed);
            let point = figures.finish(|s| format!("{s:?}"));
            let read = &point.ops[0];
            assert_eq!(read.response_fault(), None);
            assert_eq!((read.early_count, read.late_count), (1, 1));
            assert_eq!((read.success_count, read.error_count), (2, 1));
            assert_eq!(read.late_error_count, 1);
            let unseen = (read.open_count, read.missed_count, read.given_up_count);
            assert_eq!(unseen, (1, 1, 1));
            assert_eq!(read.service.sum_ns(), 500 + 8_000);
            let response = [500, 7_000, 30_000, 70_000, 60_000];
            assert_eq!(read.response.sum_ns(), response.iter().sum::<u64>());
            assert_eq!(read.response.count(), 5);
            assert_eq!(now.success_count, 2);
        }
    }
}
