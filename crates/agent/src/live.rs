//! Merges the notifications of the shards while they work, for the prime: the progress of INIT,
//! the results of each second, and that the agent is alive. The results of a phase are sent
//! before its report ([`Flusher`]).

use super::streams::Reports;
use filermark_engine::recorder::LiveEvents;
use filermark_link::message::Report;
use filermark_model::stats::Interval;
use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::time::{Duration, Instant};

/// Interval between two reports. A second is sent when nothing was added to it between two of
/// them.
const REPORT_INTERVAL: Duration = Duration::from_millis(500);
/// Seconds that may wait to be sent: the oldest second of a shard that is far behind is
/// dropped.
const SECONDS_MAX: usize = 64;
/// Longest wait until the last events of a phase are sent.
const FLUSH_MAX: Duration = Duration::from_secs(1);

#[derive(Default)]
struct SecondTotals {
    /// With whether something was added since the last report.
    seconds: BTreeMap<i64, (Interval, bool)>,
    task_count: u64,
    bytes: u64,
}

impl SecondTotals {
    fn add(&mut self, event: LiveEvents) {
        match event {
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

    /// The reports that are due now.
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
                    interval: Box::new(interval.clone()),
                });
            }
            wait
        });
        if reports.is_empty() {
            reports.push(Report::Alive);
        }
        reports
    }

    /// All reports, also those of seconds to which something may still be added.
    fn take_all(&mut self) -> Vec<Report> {
        for (_, fresh) in self.seconds.values_mut() {
            *fresh = false;
        }
        self.take()
    }
}

/// Answered when everything is sent.
type FlushRequest = SyncSender<()>;

/// Has all events of the shards sent. A second that is sent after the report of its load point
/// would count for the next one.
pub(super) struct Flusher {
    ask: Sender<FlushRequest>,
    live: SyncSender<LiveEvents>,
}

impl Flusher {
    /// `live` is the channel of the shards; the receiver is for [`forward_intervals`].
    pub fn new(live: SyncSender<LiveEvents>) -> (Self, Receiver<FlushRequest>) {
        let (ask, asked) = channel();
        (Self { ask, live }, asked)
    }

    /// Waits until all earlier events are sent, up to a limit.
    pub fn flush(&self) {
        let (done, flushed) = sync_channel(1);
        if self.ask.send(done).is_err() {
            return;
        }
        // An empty event, which wakes the receiver. If the channel is full, the receiver is
        // awake.
        let _ = self.live.try_send(LiveEvents::Population {
            task_count: 0,
            bytes: 0,
        });
        let _ = flushed.recv_timeout(FLUSH_MAX);
    }
}

/// Sends sums of the shards' events until the shards or the link have ended.
pub(super) fn forward_intervals(
    events: &Receiver<LiveEvents>,
    asked: &Receiver<FlushRequest>,
    reports: &Reports,
) {
    let mut sums = SecondTotals::default();
    let mut report_at = Instant::now() + REPORT_INTERVAL;
    loop {
        match events.recv_timeout(report_at.saturating_duration_since(Instant::now())) {
            Ok(event) => sums.add(event),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        if let Ok(done) = asked.try_recv() {
            while let Ok(event) = events.try_recv() {
                sums.add(event);
            }
            if sums.take_all().iter().any(|report| !reports.send(report)) {
                return;
            }
            let _ = done.try_send(());
        }
        if Instant::now() >= report_at {
            report_at = Instant::now() + REPORT_INTERVAL;
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
    fn a_second_is_sent_once_and_whole() {
        let mut sums = SecondTotals::default();
        assert!(matches!(sums.take()[..], [Report::Alive]));
        sums.add(second(3, 5));
        sums.add(second(3, 6));
        assert!(
            matches!(sums.take()[..], [Report::Alive]),
            "more may be added"
        );
        sums.add(second(4, 1));
        let flushed = sums.take();
        let [Report::Second { interval }] = &flushed[..] else {
            panic!("{flushed:?}");
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
    fn the_last_second_is_sent_before_the_report() {
        let mut sums = SecondTotals::default();
        sums.add(second(8, 5));
        sums.add(second(9, 5));
        let flushed = sums.take_all();
        assert!(matches!(
            flushed[..],
            [Report::Second { .. }, Report::Second { .. }]
        ));
        assert!(
            matches!(sums.take()[..], [Report::Alive]),
            "no second is left"
        );
    }

    #[test]
    fn the_number_of_waiting_seconds_is_bounded() {
        let mut sums = SecondTotals::default();
        for s in 0..1000 {
            sums.add(second(s, 1));
        }
        assert_eq!(sums.seconds.len(), SECONDS_MAX);
    }
}
