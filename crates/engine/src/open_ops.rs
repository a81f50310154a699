//! Operations of blocking shards that are under way, as seen from other threads.
//!
//! The thread of such a shard is inside a system call and cannot report. So each shard
//! stores in an atomic word of its own when the operation under way was intended: one relaxed
//! store before it and one after it. The thread that waits for the shards reads these
//! words at the end of each second. A shard with a depth has several operations under way besides
//! the one that it is inside of: it publishes their number, and the oldest, ten times a second.
//!
//! What the call is and which file it is on is stored, too, for a message if it never returns.

use crate::action_text::FileCall;
use crate::clock::Clock;
use crate::driver::Action;
use crate::recorder::{LiveEvents, SECONDS_MAX, second_of};
use crate::run_times::saved_seconds;
use crate::shared_recorder::{REPORT_DELAY, SharedRecorder};
use filermark_model::stats::Interval;
use filermark_model::{Nanos, PointStats};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::SyncSender;

/// An operation that is open for less is not reported while the load runs.
const AGE_MIN: Nanos = Nanos::from_secs(1);

/// What a shard publishes, on a cache line of its own.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Published {
    /// 0 while the thread is inside of no operation, else one more than the nanoseconds at which
    /// that was intended.
    inside: AtomicU64,
    /// Other operations under way.
    others: AtomicU64,
    /// When the oldest of them was intended.
    oldest: AtomicU64,
    /// The call that the thread is inside of, as [`FileCall::pack`] makes it, and its proc; 0: none.
    call: [AtomicU64; 2],
    proc: AtomicU64,
}

/// What each blocking shard of an agent has under way.
#[derive(Debug)]
pub struct OpenOps(Vec<Published>);

impl OpenOps {
    /// For this many shards.
    pub fn new(shard_count: usize) -> Arc<Self> {
        Arc::new(Self(
            (0..shard_count).map(|_| Published::default()).collect(),
        ))
    }

    /// How many operations are under way, and the age of the oldest.
    pub fn sample(&self, now: Nanos) -> (u64, Nanos) {
        let read = |of: &Published| {
            let inside = of.inside.load(Ordering::Relaxed).checked_sub(1);
            let others = of.others.load(Ordering::Relaxed);
            let oldest = (others > 0).then(|| of.oldest.load(Ordering::Relaxed));
            let begun = inside.into_iter().chain(oldest).min()?;
            let count = others.saturating_add(u64::from(inside.is_some()));
            Some((count, now.since(Nanos(begun))))
        };
        let open = self.0.iter().filter_map(read);
        open.fold((0, Nanos::ZERO), |(count, oldest), (more, age)| {
            (count + more, oldest.max(age))
        })
    }

    /// The call that the thread of a shard is inside of; `None`: it is in none, or not known.
    pub fn call_text(&self, shard: usize) -> Option<String> {
        let of = self.0.get(shard)?;
        let words = [0, 1].map(|at: usize| of.call[at].load(Ordering::Relaxed));
        let proc = of.proc.load(Ordering::Relaxed) as u32;
        FileCall::unpack(words).map(|call| call.text(proc))
    }
}

/// Where one blocking shard publishes what it has under way.
#[derive(Clone, Debug)]
pub struct OpenOp {
    all: Arc<OpenOps>,
    shard: usize,
    /// Its operations are in no figures.
    is_background: bool,
}

impl OpenOp {
    /// The word of one of the shards.
    pub fn of(all: &Arc<OpenOps>, shard: usize) -> Self {
        Self {
            all: all.clone(),
            shard,
            is_background: false,
        }
    }

    /// Operations of background load are not counted.
    pub fn background(self, is_background: bool) -> Self {
        Self {
            is_background,
            ..self
        }
    }

    fn own(&self) -> Option<&Published> {
        self.all.0.get(self.shard)
    }

    /// The thread is inside an operation that was intended then.
    #[inline]
    pub fn begin(&self, intended: Nanos) {
        self.set(intended.0.saturating_add(1));
    }

    /// So many operations are under way, the oldest of which was intended then; none of them is
    /// the one that the thread is inside of.
    pub fn publish(&self, count: u64, oldest: Nanos) {
        if let Some(own) = self.own().filter(|_| !self.is_background) {
            own.oldest.store(oldest.0, Ordering::Relaxed);
            own.others.store(count, Ordering::Relaxed);
        }
    }

    /// It has ended.
    #[inline]
    pub fn end(&self) {
        self.set(0);
    }

    /// The thread makes the calls of an action of a proc, in any phase.
    #[inline]
    pub fn enter(&self, proc: u32, action: &Action) {
        let (Some(own), Action::File(action)) = (self.own(), action) else {
            return;
        };
        let [first, second] = FileCall::of(action).pack();
        own.proc.store(u64::from(proc), Ordering::Relaxed);
        own.call[1].store(second, Ordering::Relaxed);
        own.call[0].store(first, Ordering::Relaxed);
    }

    /// It has made them.
    #[inline]
    pub fn leave(&self) {
        if let Some(own) = self.own() {
            own.call[0].store(0, Ordering::Relaxed);
        }
    }

    #[inline]
    fn set(&self, word: u64) {
        if let Some(own) = self.own().filter(|_| !self.is_background) {
            own.inside.store(word, Ordering::Relaxed);
        }
    }
}

/// Samples the open operations at the end of each second of WARMUP and RUN.
pub(crate) struct OpenOpsSampler<'a> {
    all: &'a OpenOps,
    clock: &'a Clock,
    live: Option<&'a SyncSender<LiveEvents>>,
    /// The counters of the shards. Their seconds are sent before those of this sampler: the
    /// receiver gets each second once, and in order.
    groups: &'a [Arc<SharedRecorder>],
    /// Seconds count from here: the latest start of RUN.
    origin: Nanos,
    /// The second under way.
    second: i64,
    seen: Vec<Interval>,
    /// How many of `seen` were reported, or are below the limit.
    reported_count: usize,
}

impl<'a> OpenOpsSampler<'a> {
    /// Starts sampling now.
    pub fn begin(
        all: &'a OpenOps,
        clock: &'a Clock,
        live: Option<&'a SyncSender<LiveEvents>>,
        groups: &'a [Arc<SharedRecorder>],
        origin: Nanos,
    ) -> Self {
        Self {
            second: second_of(clock.now(), origin),
            all,
            clock,
            live,
            groups,
            origin,
            seen: Vec::new(),
            reported_count: 0,
        }
    }

    /// Must be called more often than once a second.
    pub fn sample(&mut self) {
        let now = self.clock.now();
        let second = second_of(now, self.origin);
        if second <= self.second {
            return;
        }
        self.second = second;
        let (open_count, age) = self.all.sample(now);
        if open_count > 0 && self.seen.len() < SECONDS_MAX {
            self.seen.push(Interval {
                second: second - 1,
                open_count,
                open_age_max_ns: age.0,
                ..Interval::default()
            });
        }
        for group in self.groups {
            group.flush(now);
        }
        self.flush(second - REPORT_DELAY);
    }

    /// Reports what was seen until a second, at the time when groups of procs report theirs.
    fn flush(&mut self, until: i64) {
        while let Some(interval) = self.seen.get(self.reported_count) {
            if interval.second > until {
                return;
            }
            let is_reported = interval.open_age_max_ns >= AGE_MIN.0;
            if let Some(live) = self.live.filter(|_| is_reported) {
                let _ = live.try_send(LiveEvents::Second(interval.clone()));
            }
            self.reported_count += 1;
        }
    }

    /// The load is over: reports the rest, and adds what was seen to the series. RUN began
    /// at `run_start`.
    pub fn finish(mut self, stats: &mut PointStats, run_start: Nanos) {
        self.flush(i64::MAX);
        let saved = saved_seconds(self.origin, run_start);
        let mut seen = self.seen.iter().peekable();
        for interval in &mut stats.intervals {
            while seen
                .next_if(|s| s.second + saved < interval.second)
                .is_some()
            {}
            if let Some(open) = seen.next_if(|s| s.second + saved == interval.second) {
                interval.open_count = open.open_count;
                interval.open_age_max_ns = open.open_age_max_ns;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::{Outcome, Status};
    use crate::recorder::FinishedOp;
    use crate::run_times::RunTimes;
    use crate::shared_recorder::{Batch, GroupSetup};
    use filermark_model::{Mix, Op};
    use std::sync::mpsc::sync_channel;

    #[test]
    fn a_shard_with_a_depth_publishes_how_many_are_open() {
        let all = OpenOps::new(2);
        let shards = [0, 1].map(|shard| OpenOp::of(&all, shard));
        let now = Nanos::from_secs(9);
        shards[0].publish(32, Nanos::from_secs(4));
        shards[1].begin(Nanos::from_secs(2));
        assert_eq!(all.sample(now), (33, Nanos::from_secs(7)));
        shards[1].end();
        // A call that waits, beside them.
        shards[0].begin(Nanos::from_secs(3));
        assert_eq!(all.sample(now), (33, Nanos::from_secs(6)));
        shards[0].publish(1, Nanos::from_secs(1));
        assert_eq!(all.sample(now), (2, Nanos::from_secs(8)));
        shards[0].end();
        assert_eq!(all.sample(now), (1, Nanos::from_secs(8)));
        shards[0].publish(0, now);
        assert_eq!(all.sample(now), (0, Nanos::ZERO));
        let background = OpenOp::of(&all, 1).background(true);
        background.begin(Nanos::ZERO);
        background.publish(3, Nanos::ZERO);
        assert_eq!(all.sample(now), (0, Nanos::ZERO));
    }

    #[test]
    fn seconds_have_the_open_operations_and_their_age() {
        let clock = Clock::virtual_at_zero();
        let all = OpenOps::new(3);
        let (live, words) = sync_channel(64);
        // RUN begins at 2 s at the latest, and did at 1 s.
        let mut watch = OpenOpsSampler::begin(&all, &clock, Some(&live), &[], Nanos::from_secs(2));
        let shards = [0, 1, 2].map(|shard| OpenOp::of(&all, shard));
        shards[0].begin(Nanos::ZERO);
        shards[0].end();
        shards[1].begin(Nanos::from_millis(500));
        for ms in 1..=60 {
            clock.sleep_until(Nanos::from_millis(ms * 100));
            if ms == 25 {
                shards[2].begin(Nanos::from_millis(2_400));
            }
            if ms == 45 {
                shards[1].end();
            }
            watch.sample();
        }
        let reported = |words: &std::sync::mpsc::Receiver<LiveEvents>| -> Vec<_> {
            let of = |word| match word {
                LiveEvents::Second(i) => (i.second, i.open_count, i.open_age_max_ns / 1_000_000),
                other => panic!("{other:?}"),
            };
            words.try_iter().map(of).collect()
        };
        // The first has been open for half a second then, which is below the limit.
        let first = [(-1, 1, 1_500), (0, 2, 2_500), (1, 2, 3_500), (2, 1, 2_600)];
        assert_eq!(reported(&words), first);
        let mut stats = PointStats {
            intervals: [-1, 0, 1, 9]
                .map(|second| Interval {
                    second,
                    success_count: 7,
                    ..Interval::default()
                })
                .to_vec(),
            ..PointStats::default()
        };
        watch.finish(&mut stats, Nanos::from_secs(1));
        assert_eq!(reported(&words), [(3, 1, 3_600)]);
        let series = stats.intervals.iter();
        let series: Vec<_> = series
            .map(|i| {
                (
                    i.second,
                    i.success_count,
                    i.open_count,
                    i.open_age_max_ns / 1_000_000,
                )
            })
            .collect();
        let want = [
            (-1, 7, 1, 500),
            (0, 7, 1, 1_500),
            (1, 7, 2, 2_500),
            (9, 7, 0, 0),
        ];
        assert_eq!(series, want);
    }

    /// A server that answers for a moment and then not for seconds: the second with the
    /// answers is reported before those without, though its proc is inside a system call.
    #[test]
    fn seconds_with_answers_are_reported_before_later_ones_without() {
        let second = Nanos::from_secs(1).0;
        let at = |tenths: u64| Nanos(second + tenths * second / 10);
        let latest = RunTimes {
            warmup_start: at(0),
            run_start: at(0),
            run_end: at(300),
        };
        let mix = Mix::new([(Op::Stat, 100.0)]).expect("a mix");
        let (live, words) = sync_channel(64);
        let setup = GroupSetup {
            mix: &mix,
            component: 0,
            background: false,
            unpaced: false,
            proc_count: 1,
            depth: 1,
            seconds: 30,
            live: Some(live.clone()),
        };
        let groups = [SharedRecorder::new(setup, latest)];
        let mut proc = Batch::new(groups[0].clone());
        proc.begin_run(at(0));
        let clock = Clock::virtual_at_zero();
        clock.sleep_until(at(0));
        let all = OpenOps::new(1);
        let shard = OpenOp::of(&all, 0);
        let mut watch = OpenOpsSampler::begin(&all, &clock, Some(&live), &groups, at(0));
        shard.begin(at(0));
        for tenth in 1..150 {
            clock.sleep_until(at(tenth));
            if tenth % 50 == 3 {
                proc.record(&answered(at(tenth)));
                let _ = proc.roll(at(tenth));
                shard.begin(at(tenth));
            }
            watch.sample();
        }
        let reported: Vec<(i64, u64)> = words
            .try_iter()
            .map(|word| match word {
                LiveEvents::Second(i) => (i.second, i.success_count),
                other => panic!("{other:?}"),
            })
            .collect();
        assert!(
            reported.is_sorted_by_key(|(second, _)| *second),
            "{reported:?}"
        );
        let answers: Vec<i64> = reported.iter().filter(|t| t.1 > 0).map(|t| t.0).collect();
        assert_eq!(answers, [0, 5, 10], "{reported:?}");
        assert!(reported.len() > 9, "{reported:?}");
    }

    fn answered(done: Nanos) -> FinishedOp {
        let outcome = Outcome {
            status: Status::Ok,
            sent: done,
            done,
            physical: 1,
            read_bytes: 0,
            written_bytes: 0,
            end: false,
        };
        FinishedOp {
            op: Op::Stat,
            intended: done,
            was_free: true,
            in_window: true,
            in_response: true,
            outcome,
        }
    }

    #[test]
    fn an_operation_intended_at_the_extreme_times_is_seen() {
        let all = OpenOps::new(1);
        let shard = OpenOp::of(&all, 0);
        assert_eq!(all.sample(Nanos(5)), (0, Nanos::ZERO));
        shard.begin(Nanos::ZERO);
        assert_eq!(all.sample(Nanos(5)), (1, Nanos(5)));
        shard.begin(Nanos::MAX);
        assert_eq!(all.sample(Nanos(5)), (1, Nanos::ZERO));
        // A shard without a word publishes nothing.
        OpenOp::of(&all, 1).begin(Nanos::ZERO);
    }
}
