//! Heartbeats: every so often each proc's rate is told (`-G`, `-q`,
//! HEARTBEAT_NOTIFICATIONS). Agents take them while load is made, on a thread
//! ([`Pulse`]); the prime puts those of all agents together ([`Beats`]).

use crate::clock_check::wait_until;
use crate::message::Beat;
use filermark_engine::clock::Clock;
use filermark_engine::live_counts::LiveCounts;
use filermark_engine::shard::Timetable;
use filermark_model::{LoadPoint, Nanos};
use filermark_results::{Heartbeat, Phase, Timestamp};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

/// Shortest interval: more often would be load of its own.
const INTERVAL_MIN: Nanos = Nanos::from_millis(100);
/// Heartbeats that may wait for an agent's part.
const OPEN_MAX: usize = 64;

/// The taking of heartbeats of one load point; ends when it is dropped.
pub(crate) struct Pulse {
    over: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Pulse {
    /// Takes heartbeats from `counts` and gives them to `tell`, till that says no.
    pub fn begin(
        counts: Arc<LiveCounts>,
        clock: &Clock,
        timetable: Timetable,
        interval: Nanos,
        tell: impl FnMut(Beat) -> bool + Send + 'static,
    ) -> Self {
        let (over, ended) = channel::<()>();
        let clock = clock.clone();
        let mut tell = tell;
        let work = move || {
            let mut taken = Taken::new(counts);
            let mut ticks = Ticks::new(timetable, interval);
            loop {
                let due = || ticks.due().map_or(Nanos::ZERO, |tick| tick.at);
                let over = !wait_until(&clock, due, &ended);
                let Some(tick) = ticks.take() else {
                    return;
                };
                // One that falls together with the end of RUN is still taken.
                if over && clock.now() < tick.at {
                    return;
                }
                let beat = taken.take(&tick, clock.now());
                if tick.number > 0 && !tell(beat) {
                    return;
                }
            }
        };
        // Without a thread there are no heartbeats, and nothing else is missing.
        let thread = std::thread::Builder::new()
            .name("agent-pulse".into())
            .spawn(work);
        Self {
            over: Some(over),
            thread: thread.ok(),
        }
    }
}

impl Drop for Pulse {
    fn drop(&mut self) {
        self.over.take();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// When counts are to be read: at the beginning of each phase (number 0, which
/// only sets the mark) and then after each interval.
#[derive(Clone, Copy)]
struct Tick {
    at: Nanos,
    phase: Phase,
    number: u32,
}

struct Ticks {
    timetable: Timetable,
    interval: Nanos,
    next: Tick,
}

impl Ticks {
    fn new(timetable: Timetable, interval: Nanos) -> Self {
        Self {
            interval: interval.max(INTERVAL_MIN),
            next: Tick {
                at: timetable.latest().warmup_start,
                phase: Phase::Warmup,
                number: 0,
            },
            timetable,
        }
    }

    /// The next one, as far as the beginning of RUN is known.
    fn due(&mut self) -> Option<Tick> {
        let times = self.timetable.times();
        let end = match self.next.phase {
            Phase::Warmup => times.run_start,
            _ => times.run_end,
        };
        if self.next.at > end {
            if self.next.phase != Phase::Warmup {
                return None;
            }
            self.next = Tick {
                at: times.run_start,
                phase: Phase::Run,
                number: 0,
            };
        }
        Some(self.next)
    }

    fn take(&mut self) -> Option<Tick> {
        let tick = self.due()?;
        self.next = Tick {
            at: tick.at + self.interval,
            phase: tick.phase,
            number: tick.number + 1,
        };
        Some(tick)
    }
}

/// The counts when they were last read.
struct Taken {
    counts: Arc<LiveCounts>,
    before: Vec<(u32, u64)>,
    at: Nanos,
}

impl Taken {
    fn new(counts: Arc<LiveCounts>) -> Self {
        Self {
            counts,
            before: Vec::new(),
            at: Nanos::ZERO,
        }
    }

    fn take(&mut self, tick: &Tick, now: Nanos) -> Beat {
        let mut counted = Vec::with_capacity(self.before.len());
        self.counts.snapshot(&mut counted);
        let before = self
            .before
            .iter()
            .map(|(_, n)| *n)
            .chain(std::iter::repeat(0));
        let procs = counted.iter().zip(before);
        let procs = procs.map(|((number, n), before)| (*number, n.saturating_sub(before)));
        let beat = Beat {
            phase: tick.phase,
            number: tick.number,
            elapsed_ns: now.since(self.at).0,
            procs: procs.collect(),
        };
        self.before = counted;
        self.at = now;
        beat
    }
}

/// Puts the heartbeats of all agents together.
pub(crate) struct Beats {
    point: LoadPoint,
    proc_count: u32,
    agent_count: usize,
    /// Who tells heartbeats; nobody waits for the others.
    tellers: BTreeSet<usize>,
    interval: Nanos,
    open: Vec<Open>,
}

struct Open {
    /// When its first part came.
    at: Timestamp,
    phase: Phase,
    number: u32,
    heard: Vec<bool>,
    ops_per_sec: Vec<f64>,
}

impl Beats {
    /// Of a load point with so many procs on these agents.
    pub fn new(point: LoadPoint, proc_count: u32, tellers: &[usize], interval: Nanos) -> Self {
        Self {
            point,
            proc_count,
            agent_count: tellers.iter().max().map_or(0, |most| most + 1),
            tellers: tellers.iter().copied().collect(),
            interval: interval.max(INTERVAL_MIN),
            open: Vec::new(),
        }
    }

    /// Takes in one agent's part; gives the heartbeats that are now complete. One
    /// that an agent's part has overtaken, or that waits for long, is complete too.
    pub fn hear(&mut self, agent: usize, beat: &Beat) -> Vec<Heartbeat> {
        if agent >= self.agent_count {
            return Vec::new();
        }
        let is_it = |o: &Open| (o.phase, o.number) == (beat.phase, beat.number);
        let at = match self.open.iter().position(is_it) {
            Some(at) => at,
            None => {
                self.open.push(Open {
                    at: Timestamp::now(),
                    phase: beat.phase,
                    number: beat.number,
                    heard: vec![false; self.agent_count],
                    ops_per_sec: vec![0.0; self.proc_count as usize],
                });
                self.open.len() - 1
            }
        };
        self.open[at].add(agent, beat);
        let complete = self.tellers.iter().all(|t| self.open[at].heard[*t]);
        let done = if complete { at + 1 } else { 0 };
        let done = done.max(self.open.len().saturating_sub(OPEN_MAX));
        self.close(done)
    }

    /// This one is lost: nobody waits for it.
    pub fn forget(&mut self, agent: usize) {
        self.tellers.remove(&agent);
    }

    /// What is not complete and never will be.
    pub fn end(&mut self) -> Vec<Heartbeat> {
        self.close(self.open.len())
    }

    fn close(&mut self, count: usize) -> Vec<Heartbeat> {
        let closed: Vec<_> = self.open.drain(..count).collect();
        closed.into_iter().map(|open| self.record(open)).collect()
    }

    fn record(&self, open: Open) -> Heartbeat {
        Heartbeat {
            at: open.at,
            point: self.point.number,
            phase: open.phase,
            seconds: self.interval.as_secs_f64() * f64::from(open.number),
            ops_per_sec: open.ops_per_sec,
        }
    }
}

impl Open {
    fn add(&mut self, agent: usize, beat: &Beat) {
        self.heard[agent] = true;
        let seconds = (beat.elapsed_ns as f64 / 1e9).max(1e-9);
        for (number, ops) in &beat.procs {
            if let Some(rate) = self.ops_per_sec.get_mut(*number as usize) {
                *rate = *ops as f64 / seconds;
            }
        }
    }
}
