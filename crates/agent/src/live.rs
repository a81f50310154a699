//! What the shards say while they work, summed up for the prime: how far INIT is,
//! what every second brought, and that the agent is alive. What a phase has brought is
//! told before its answer ([`Flusher`]).

use super::streams::Reports;
use filermark_engine::recorder::LiveEvents;
use filermark_link::message::Report;
use filermark_model::stats::Interval;
use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::time::{Duration, Instant};

/// How often something is told; a second is told when nothing was added to it between
/// two of these.
const TELL: Duration = Duration::from_millis(500);
/// Seconds that may wait to be told: a shard that is far behind loses its words.
const SECONDS_MAX: usize = 64;
/// Longest wait for the last words of a phase to be told.
const FLUSH_MAX: Duration = Duration::from_secs(1);

#[derive(Default)]
struct SecondTotals {
    /// With whether something was added since it was last looked.
    seconds: BTreeMap<i64, (Interval, bool)>,
    task_count: u64,
    bytes: u64,
}

impl SecondTotals {
    fn add(&mut self, word: LiveEvents) {
        match word {
            LiveEvents::Second(interval) => {
                let (sum, fresh) = self.seconds.entry(interval.second).or_default();
                sum.second = interval.second;
                sum.merge(&interval);
                *fresh = true;
                if self.seconds.len() > SECONDS_MAX {
                    self.seconds.pop_first();
                }
            }
            LiveEvents::Population { task_count, bytes } => {
                self.task_count += task_count;
                self.bytes += bytes;
            }
        }
    }

    /// What is to be told now.
    fn take(&mut self) -> Vec<Report> {
        let mut reports = Vec::new();
        if (self.task_count, self.bytes) != (0, 0) {
            reports.push(Report::Progress {
                task_count: std::mem::take(&mut self.task_count),
                bytes: std::mem::take(&mut self.bytes),
            });
        }
        self.seconds.retain(|_, (interval, fresh)| {
            let wait = std::mem::take(fresh);
            if !wait {
                reports.push(Report::Second {
                    interval: interval.clone(),
                });
            }
            wait
        });
        if reports.is_empty() {
            reports.push(Report::Alive);
        }
        reports
    }

    /// All that there is, also seconds to which something may still be added.
    fn take_all(&mut self) -> Vec<Report> {
        for (_, fresh) in self.seconds.values_mut() {
            *fresh = false;
        }
        self.take()
    }
}

/// Whoever asks is told when all is told.
type FlushRequest = SyncSender<()>;

/// Has everything told that the shards have said. A second that comes after the answer
/// to its load point would count for the next one.
pub(super) struct Flusher {
    ask: Sender<FlushRequest>,
    live: SyncSender<LiveEvents>,
}

impl Flusher {
    /// For the thread that hears what comes from `live`; the receiver is for [`tell`].
    pub fn new(live: SyncSender<LiveEvents>) -> (Self, Receiver<FlushRequest>) {
        let (ask, asked) = channel();
        (Self { ask, live }, asked)
    }

    /// Waits till all that was said before is told, but not for ever.
    pub fn flush(&self) {
        let (done, told) = sync_channel(1);
        if self.ask.send(done).is_err() {
            return;
        }
        // Nothing was done: this only wakes. If it does not fit, nobody sleeps.
        let _ = self.live.try_send(LiveEvents::Population {
            task_count: 0,
            bytes: 0,
        });
        let _ = told.recv_timeout(FLUSH_MAX);
    }
}

/// Tells the shards' words in sums until they and the link have ended.
pub(super) fn forward_intervals(
    words: &Receiver<LiveEvents>,
    asked: &Receiver<FlushRequest>,
    reports: &Reports,
) {
    let mut sums = SecondTotals::default();
    let mut tell_at = Instant::now() + TELL;
    loop {
        match words.recv_timeout(tell_at.saturating_duration_since(Instant::now())) {
            Ok(word) => sums.add(word),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        if let Ok(done) = asked.try_recv() {
            while let Ok(word) = words.try_recv() {
                sums.add(word);
            }
            if sums.take_all().iter().any(|report| !reports.send(report)) {
                return;
            }
            let _ = done.try_send(());
        }
        if Instant::now() >= tell_at {
            tell_at = Instant::now() + TELL;
            if sums.take().iter().any(|report| !reports.send(report)) {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(second: i64, success_count: u64) -> LiveEvents {
        LiveEvents::Second(Interval {
            second,
            success_count,
            ..Interval::default()
        })
    }

    #[test]
    fn a_second_is_told_once_and_whole() {
        let mut sums = SecondTotals::default();
        assert!(matches!(sums.take()[..], [Report::Alive]));
        sums.add(second(3, 5));
        sums.add(second(3, 6));
        assert!(matches!(sums.take()[..], [Report::Alive]), "more may come");
        sums.add(second(4, 1));
        let told = sums.take();
        let [Report::Second { interval }] = &told[..] else {
            panic!("{told:?}");
        };
        assert_eq!((interval.second, interval.success_count), (3, 11));
        sums.add(LiveEvents::Population {
            task_count: 2,
            bytes: 9,
        });
        assert!(matches!(
            sums.take()[..],
            [
                Report::Progress {
                    task_count: 2,
                    bytes: 9
                },
                Report::Second { .. }
            ]
        ));
        assert!(matches!(sums.take()[..], [Report::Alive]));
    }

    #[test]
    fn the_last_second_is_told_before_the_answer() {
        let mut sums = SecondTotals::default();
        sums.add(second(8, 5));
        sums.add(second(9, 5));
        let told = sums.take_all();
        assert!(matches!(
            told[..],
            [Report::Second { .. }, Report::Second { .. }]
        ));
        assert!(
            matches!(sums.take()[..], [Report::Alive]),
            "nothing is left"
        );
    }

    #[test]
    fn seconds_do_not_pile_up() {
        let mut sums = SecondTotals::default();
        for s in 0..1000 {
            sums.add(second(s, 1));
        }
        assert_eq!(sums.seconds.len(), SECONDS_MAX);
    }
}
