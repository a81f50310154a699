//! Samples heartbeats while load is generated: the rate of each proc, at an interval (`-G`,
//! `-q`, HEARTBEAT_NOTIFICATIONS). The prime combines those of all agents.

use super::clock_check::wait_until;
use filermark_engine::clock::Clock;
use filermark_engine::live_counts::LiveCounts;
use filermark_engine::shard::Timetable;
use filermark_link::limits::HEARTBEAT_INTERVAL_MIN;
use filermark_link::message::AgentHeartbeat;
use filermark_model::Nanos;
use filermark_results::Phase;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

/// Samples the heartbeats of one load point, until it is dropped.
pub(crate) struct HeartbeatSampler {
    over: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl HeartbeatSampler {
    /// Samples heartbeats from `counts` and passes them to `send`, until that returns `false`.
    pub fn begin(
        counts: Arc<LiveCounts>,
        clock: &Clock,
        timetable: Timetable,
        interval: Nanos,
        send: impl FnMut(AgentHeartbeat) -> bool + Send + 'static,
    ) -> Self {
        let (over, ended) = channel::<()>();
        let clock = clock.clone();
        let mut send = send;
        let work = move || {
            let mut snapshot = CountSnapshot::new(counts);
            let mut schedule = SampleSchedule::new(timetable, interval);
            loop {
                let due = || schedule.due().map_or(Nanos::ZERO, |tick| tick.at);
                let over = !wait_until(&clock, due, &ended);
                let Some(tick) = schedule.take() else {
                    return;
                };
                // One that coincides with the end of RUN is still sampled.
                if over && clock.now() < tick.at {
                    return;
                }
                let heartbeat = snapshot.take(&tick, clock.now());
                if tick.number > 0 && !send(heartbeat) {
                    return;
                }
            }
        };
        // Without a thread there are no heartbeats; nothing else depends on it.
        let thread = std::thread::Builder::new()
            .name("agent-pulse".into())
            .spawn(work);
        Self {
            over: Some(over),
            thread: thread.ok(),
        }
    }
}

impl Drop for HeartbeatSampler {
    fn drop(&mut self) {
        self.over.take();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// When the counts are read: at the beginning of each phase (number 0, which only sets the
/// base) and then after each interval.
#[derive(Clone, Copy)]
struct SampleTime {
    at: Nanos,
    phase: Phase,
    number: u32,
}

struct SampleSchedule {
    timetable: Timetable,
    interval: Nanos,
    next: SampleTime,
}

impl SampleSchedule {
    fn new(timetable: Timetable, interval: Nanos) -> Self {
        Self {
            interval: interval.max(HEARTBEAT_INTERVAL_MIN),
            next: SampleTime {
                at: timetable.latest().warmup_start,
                phase: Phase::Warmup,
                number: 0,
            },
            timetable,
        }
    }

    /// The next one, if the beginning of RUN is known.
    fn due(&mut self) -> Option<SampleTime> {
        let times = self.timetable.times();
        let end = match self.next.phase {
            Phase::Warmup => times.run_start,
            _ => times.run_end,
        };
        if self.next.at > end {
            if self.next.phase != Phase::Warmup {
                return None;
            }
            self.next = SampleTime {
                at: times.run_start,
                phase: Phase::Run,
                number: 0,
            };
        }
        Some(self.next)
    }

    fn take(&mut self) -> Option<SampleTime> {
        let tick = self.due()?;
        self.next = SampleTime {
            at: tick.at + self.interval,
            phase: tick.phase,
            number: tick.number + 1,
        };
        Some(tick)
    }
}

/// The counts at the last reading.
struct CountSnapshot {
    counts: Arc<LiveCounts>,
    before: Vec<(u32, u64)>,
    at: Nanos,
}

impl CountSnapshot {
    fn new(counts: Arc<LiveCounts>) -> Self {
        Self {
            counts,
            before: Vec::new(),
            at: Nanos::ZERO,
        }
    }

    fn take(&mut self, tick: &SampleTime, now: Nanos) -> AgentHeartbeat {
        let mut counted = Vec::with_capacity(self.before.len());
        self.counts.snapshot(&mut counted);
        let before = self
            .before
            .iter()
            .map(|(_, n)| *n)
            .chain(std::iter::repeat(0));
        let procs = counted.iter().zip(before);
        let procs = procs.map(|((number, n), before)| (*number, n.saturating_sub(before)));
        let heartbeat = AgentHeartbeat {
            phase: tick.phase,
            number: tick.number,
            elapsed_ns: now.since(self.at).0,
            procs: procs.collect(),
        };
        self.before = counted;
        self.at = now;
        heartbeat
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use filermark_engine::shard::RunTimes;

    #[test]
    fn both_phases_are_counted_from_their_own_beginning() {
        let clock = Clock::real();
        let start = clock.now() + Nanos::from_millis(20);
        let at = |ms| start + Nanos::from_millis(ms);
        let times = RunTimes {
            warmup_start: start,
            run_start: at(1_000),
            run_end: at(2_200),
        };
        let counts = Arc::new(LiveCounts::new(vec![4]));
        let (sender, receiver) = channel();
        let send = move |heartbeat| sender.send(heartbeat).is_ok();
        let pulse = HeartbeatSampler::begin(
            counts.clone(),
            &clock,
            times.into(),
            Nanos::from_millis(400),
            send,
        );
        let mut total = 0;
        let mut count = |ms, n| {
            clock.sleep_until(at(ms));
            total += n;
            counts.set(0, total);
        };
        count(200, 10);
        // After the last whole interval of WARMUP: belongs to neither phase.
        count(900, 5);
        count(1_200, 7);
        clock.sleep_until(at(2_200));
        drop(pulse);
        let sent: Vec<AgentHeartbeat> = receiver.iter().collect();
        let phases: Vec<_> = sent.iter().map(|b| (b.phase, b.number)).collect();
        let (warmup, run) = (Phase::Warmup, Phase::Run);
        assert_eq!(
            phases,
            [(warmup, 1), (warmup, 2), (run, 1), (run, 2), (run, 3)]
        );
        let done = |phase| -> u64 {
            let all = sent.iter().filter(|b| b.phase == phase);
            all.flat_map(|b| &b.procs).map(|(_, n)| n).sum()
        };
        assert_eq!(sent[0].procs[0].0, 4);
        assert_eq!((done(warmup), done(run)), (10, 7));
    }
}
