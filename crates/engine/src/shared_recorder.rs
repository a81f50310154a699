//! Counting for blocking shards: each has one proc and a thread, and there may be
//! thousands, so histograms are shared by groups of them.
//!
//! A proc keeps what it measured in a small batch of its own and adds it to the group when
//! that is full or a second is over: no lock and no allocation per operation, and a
//! proc takes a few kilobytes instead of the megabytes of its histograms.

use crate::driver::Status;
use crate::recorder::{
    Figures, FinishedOp, LiveEvents, SECONDS_MAX, UnfinishedOp, count_in, second_of,
};
use crate::run_times::{RunTimes, saved_seconds};
use filermark_model::silence::Replies;
use filermark_model::stats::{ComponentStats, Interval};
use filermark_model::{Mix, Nanos, Op, PointStats};
use std::sync::mpsc::{SyncSender, TrySendError};
use std::sync::{Arc, Mutex, MutexGuard};

/// Operations that a proc keeps in its batch.
const BATCH: usize = 128;
/// A second is reported when it has been over for so long, in seconds: procs add their
/// batches once a second, or when they wake.
pub(crate) const REPORT_DELAY: i64 = 2;

/// What a group of procs counts into.
pub struct SharedRecorder {
    inner: Mutex<Inner>,
    component: u32,
    background: bool,
}

struct Inner {
    figures: Option<Figures>,
    first_second: i64,
    intervals: Vec<Interval>,
    /// What ended in each of these seconds.
    replies: Vec<Replies>,
    reported_count: usize,
    live: Option<SyncSender<LiveEvents>>,
    /// When RUN begins at the latest; seconds count from here until it has begun.
    origin: Nanos,
    /// Seconds that it began before that.
    saved_seconds: i64,
    /// Procs that have not finished yet.
    open_count: usize,
}

/// What the procs of a group have in common.
pub struct GroupSetup<'a> {
    /// The operations.
    pub mix: &'a Mix,
    /// Which component they belong to.
    pub component: u32,
    /// Not counted in the overall result.
    pub background: bool,
    /// None of them has a schedule.
    pub unpaced: bool,
    /// How many procs there are.
    pub proc_count: usize,
    /// Most operations that each of them has under way.
    pub depth: u32,
    /// Seconds of WARMUP and RUN.
    pub seconds: usize,
    /// Where each second is reported.
    pub live: Option<SyncSender<LiveEvents>>,
}

impl GroupSetup<'_> {
    /// Most operations that its procs have under way.
    fn in_flight(&self) -> usize {
        self.proc_count.saturating_mul(self.depth.max(1) as usize)
    }
}

impl SharedRecorder {
    /// Counters of a group; allocates all of its memory.
    pub fn new(setup: GroupSetup<'_>, latest: RunTimes) -> Arc<Self> {
        let first_second = second_of(latest.warmup_start, latest.run_start);
        let seconds = setup.seconds.saturating_add(16).min(SECONDS_MAX);
        let interval = |at: usize| Interval {
            second: first_second + at as i64,
            ..Interval::default()
        };
        Arc::new(Self {
            inner: Mutex::new(Inner {
                figures: Some(match setup.unpaced {
                    true => Figures::unpaced(setup.mix, setup.in_flight()),
                    false => Figures::new(setup.mix),
                }),
                first_second,
                intervals: (0..seconds).map(interval).collect(),
                replies: (0..seconds)
                    .map(|at| Replies::none(first_second + at as i64))
                    .collect(),
                reported_count: 0,
                live: setup.live,
                origin: latest.run_start,
                saved_seconds: 0,
                open_count: setup.proc_count,
            }),
            component: setup.component,
            background: setup.background,
        })
    }

    /// Reports the seconds that have been over for a while, also where all procs are inside
    /// system calls and add no batch.
    pub(crate) fn flush(&self, now: Nanos) {
        self.lock().report_seconds(now);
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(|e| e.into_inner())
    }
}

/// One operation that a proc measured.
#[derive(Clone, Copy)]
struct Sample {
    ended: FinishedOp,
    measured: bool,
}

/// The connection of one proc to the counters of its group.
pub struct Batch {
    shared: Arc<SharedRecorder>,
    samples: Vec<Sample>,
    measuring: bool,
}

impl Batch {
    /// An empty batch.
    pub fn new(shared: Arc<SharedRecorder>) -> Self {
        Self {
            shared,
            samples: Vec::with_capacity(BATCH),
            measuring: false,
        }
    }

    /// WARMUP is over, RUN began then.
    pub fn begin_run(&mut self, run_start: Nanos) {
        self.measuring = true;
        let mut inner = self.shared.lock();
        inner.saved_seconds = saved_seconds(inner.origin, run_start);
    }

    /// Adds an operation that has ended.
    #[inline]
    pub fn record(&mut self, ended: &FinishedOp) {
        self.samples.push(Sample {
            ended: *ended,
            measured: self.measuring,
        });
        if self.samples.len() >= BATCH {
            self.hand_over(ended.outcome.done);
        }
    }

    /// Counts operations of RUN that were not seen to end, with the time that each had
    /// waited.
    pub fn record_unseen(&mut self, why: UnfinishedOp, waited: impl Iterator<Item = (Op, Nanos)>) {
        let mut inner = self.shared.lock();
        if let Some(figures) = &mut inner.figures {
            for (op, waited) in waited {
                figures.count_unseen(op, waited, why);
            }
        }
    }

    /// Sets when the oldest operation that is still under way was intended.
    pub fn note_open_since(&mut self, since: Nanos) {
        if let Some(last) = self.shared.lock().replies.last_mut() {
            last.note(since, since, false);
        }
    }

    /// Adds the batch to the group; gives the instant at which the current second ends.
    pub fn roll(&mut self, now: Nanos) -> Nanos {
        let origin = self.hand_over(now);
        let second = second_of(now, origin);
        let next = origin.0 as i128 + (second as i128 + 1) * 1_000_000_000;
        Nanos(next.max(0) as u64)
    }

    fn hand_over(&mut self, now: Nanos) -> Nanos {
        let mut inner = self.shared.lock();
        for sample in self.samples.drain(..) {
            inner.count(&sample);
        }
        inner.report_seconds(now);
        inner.origin
    }

    /// Adds the rest. The last proc of a group returns its figures; the others
    /// return none.
    pub fn finish(mut self, now: Nanos, text: impl Fn(Status) -> String) -> PointStats {
        self.hand_over(now);
        let mut inner = self.shared.lock();
        inner.open_count = inner.open_count.saturating_sub(1);
        if inner.open_count > 0 {
            return PointStats::default();
        }
        inner.report_seconds(Nanos::MAX);
        let Some(figures) = inner.figures.take() else {
            return PointStats::default();
        };
        let mut point = figures.finish(text);
        let counts = |i: &Interval| i.success_count + i.error_count > 0;
        let last = inner
            .intervals
            .iter()
            .rposition(counts)
            .map_or(0, |at| at + 1);
        inner.intervals.truncate(last);
        let saved = inner.saved_seconds;
        for interval in &mut inner.intervals {
            interval.second += saved;
        }
        point.replies = std::mem::take(&mut inner.replies);
        for replies in &mut point.replies {
            replies.second += saved;
        }
        point.components = vec![ComponentStats {
            component: self.shared.component,
            ops: point.ops.clone(),
            ..ComponentStats::default()
        }];
        if self.shared.background {
            point.ops.clear();
            point.errors.clear();
            point.lateness.clear();
            point.wakeup.clear();
        } else {
            point.intervals = std::mem::take(&mut inner.intervals);
        }
        point
    }
}

impl Inner {
    fn count(&mut self, sample: &Sample) {
        let ended = &sample.ended;
        let outcome = &ended.outcome;
        let second = second_of(outcome.done, self.origin);
        let last = self.intervals.len().saturating_sub(1);
        let at = (second - self.first_second).clamp(0, last as i64) as usize;
        let (Some(interval), Some(replies)) =
            (self.intervals.get_mut(at), self.replies.get_mut(at))
        else {
            return;
        };
        ended.add_to(replies);
        if !ended.in_window && !ended.in_response {
            return;
        }
        if sample.measured {
            if let Some(figures) = &mut self.figures {
                figures.count(interval, ended);
            }
        } else if outcome.status == Status::Ok {
            let service = outcome.done.since(outcome.sent);
            let response = outcome.done.since(ended.intended);
            count_in(interval, ended, service, response);
        } else {
            interval.error_count += 1;
        }
    }

    /// Reports the seconds that have been over for a while.
    fn report_seconds(&mut self, now: Nanos) {
        let until = match now {
            Nanos::MAX => i64::MAX,
            now => second_of(now, self.origin) - REPORT_DELAY,
        };
        while let Some(interval) = self.intervals.get(self.reported_count) {
            if interval.second > until {
                return;
            }
            let empty = interval.success_count + interval.error_count == 0;
            if let Some(live) = self.live.as_ref().filter(|_| !empty) {
                let second = LiveEvents::Second(interval.clone());
                // Sent next time: the length of RUN may depend on it.
                if let Err(TrySendError::Full(_)) = live.try_send(second) {
                    return;
                }
            }
            self.reported_count += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::Outcome;

    fn stat(sent: u64, done: u64) -> FinishedOp {
        FinishedOp {
            op: Op::Stat,
            intended: Nanos(sent),
            was_free: true,
            in_window: true,
            in_response: true,
            outcome: Outcome {
                status: Status::Ok,
                sent: Nanos(sent),
                done: Nanos(done),
                physical: 1,
                read_bytes: 10,
                written_bytes: 0,
                end: true,
            },
        }
    }

    #[test]
    fn a_group_sums_up_and_only_its_last_proc_returns_it() {
        let mix = Mix::new([(Op::Stat, 100.0)]).unwrap();
        let (live, words) = std::sync::mpsc::sync_channel(64);
        let setup = GroupSetup {
            mix: &mix,
            component: 3,
            background: false,
            unpaced: false,
            proc_count: 2,
            depth: 1,
            seconds: 4,
            live: Some(live),
        };
        let second = 1_000_000_000;
        let latest = RunTimes {
            warmup_start: Nanos(second),
            run_start: Nanos(2 * second),
            run_end: Nanos(6 * second),
        };
        let shared = SharedRecorder::new(setup, latest);
        let mut procs = [Batch::new(shared.clone()), Batch::new(shared)];
        for proc in &mut procs {
            // One in WARMUP, 200 in the first second of RUN.
            proc.record(&stat(second, second + 5));
            proc.begin_run(Nanos(2 * second));
            for _ in 0..200 {
                let at = 2 * second + 7;
                proc.record(&stat(at, at + 100));
            }
        }
        let [mut a, b] = procs;
        a.record_unseen(
            UnfinishedOp::Missed,
            std::iter::once((Op::Stat, Nanos(second))),
        );
        let first = a.finish(Nanos(3 * second), |_| String::new());
        assert_eq!(first.success_count(), 0);
        let all = b.finish(Nanos(3 * second), |_| String::new());
        assert_eq!(all.success_count(), 400);
        assert_eq!((all.missed_count(), all.response().count()), (1, 401));
        assert_eq!(all.components[0].component, 3);
        assert_eq!(all.components[0].success_count(), 400);
        let seconds: Vec<_> = all
            .intervals
            .iter()
            .map(|i| (i.second, i.success_count))
            .collect();
        assert_eq!(seconds, [(-1, 2), (0, 400)]);
        for interval in &all.intervals {
            let lookups = interval.responses.lookups;
            assert_eq!(u64::from(lookups.counts.0[0]), interval.success_count);
            assert_eq!(lookups.sum_ns, interval.response_sum_ns);
        }
        let reported: Vec<_> = words.try_iter().collect();
        assert_eq!(reported.len(), 2);
    }
}
