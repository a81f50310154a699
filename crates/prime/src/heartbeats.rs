//! Heartbeats: the rate of each proc at a fixed interval (`-G`, `-q`,
//! HEARTBEAT_NOTIFICATIONS). Agents measure them while load is made; the prime merges those
//! of all agents ([`HeartbeatMerger`]).

use filermark_link::limits::HEARTBEAT_INTERVAL_MIN;
use filermark_link::message::AgentHeartbeat;
use filermark_model::{LoadPoint, Nanos};
use filermark_results::{Heartbeat, Phase, Timestamp};
use std::collections::BTreeSet;

/// The most heartbeats that wait for an agent's part.
const OPEN_MAX: usize = 64;

/// Merges the heartbeats of all agents.
pub(crate) struct HeartbeatMerger {
    point: LoadPoint,
    proc_count: u32,
    agent_count: usize,
    /// The agents whose parts are waited for.
    expected: BTreeSet<usize>,
    interval: Nanos,
    open: Vec<PendingHeartbeat>,
}

struct PendingHeartbeat {
    /// When its first part arrived.
    at: Timestamp,
    phase: Phase,
    number: u32,
    received: Vec<bool>,
    ops_per_sec: Vec<f64>,
}

impl HeartbeatMerger {
    /// For a load point with `proc_count` procs on these agents.
    pub fn new(point: LoadPoint, proc_count: u32, agents: &[usize], interval: Nanos) -> Self {
        Self {
            point,
            proc_count,
            agent_count: agents.iter().max().map_or(0, |most| most + 1),
            expected: agents.iter().copied().collect(),
            interval: interval.max(HEARTBEAT_INTERVAL_MIN),
            open: Vec::new(),
        }
    }

    /// Adds one agent's part; returns the heartbeats that are now complete. One that comes
    /// before a complete one, or that has waited too long, counts as complete.
    pub fn add_heartbeat(&mut self, agent: usize, beat: &AgentHeartbeat) -> Vec<Heartbeat> {
        if agent >= self.agent_count {
            return Vec::new();
        }
        let is_it = |o: &PendingHeartbeat| (o.phase, o.number) == (beat.phase, beat.number);
        let at = match self.open.iter().position(is_it) {
            Some(at) => at,
            None => {
                self.open.push(PendingHeartbeat {
                    at: Timestamp::now(),
                    phase: beat.phase,
                    number: beat.number,
                    received: vec![false; self.agent_count],
                    ops_per_sec: vec![0.0; self.proc_count as usize],
                });
                self.open.len() - 1
            }
        };
        self.open[at].add(agent, beat);
        let complete = self.expected.iter().all(|t| self.open[at].received[*t]);
        let done = if complete { at + 1 } else { 0 };
        let done = done.max(self.open.len().saturating_sub(OPEN_MAX));
        self.close(done)
    }

    /// The agent is lost: its parts are not waited for any more.
    pub fn forget(&mut self, agent: usize) {
        self.expected.remove(&agent);
    }

    /// At the end of the load point: the heartbeats that are still incomplete.
    pub fn end(&mut self) -> Vec<Heartbeat> {
        self.close(self.open.len())
    }

    fn close(&mut self, count: usize) -> Vec<Heartbeat> {
        let closed: Vec<_> = self.open.drain(..count).collect();
        closed.into_iter().map(|open| self.record(open)).collect()
    }

    fn record(&self, open: PendingHeartbeat) -> Heartbeat {
        Heartbeat {
            at: open.at,
            point: self.point.number,
            phase: open.phase,
            seconds: self.interval.as_secs_f64() * f64::from(open.number),
            ops_per_sec: open.ops_per_sec,
        }
    }
}

impl PendingHeartbeat {
    fn add(&mut self, agent: usize, beat: &AgentHeartbeat) {
        self.received[agent] = true;
        let seconds = (beat.elapsed_ns as f64 / 1e9).max(1e-9);
        for (number, ops) in &beat.procs {
            if let Some(rate) = self.ops_per_sec.get_mut(*number as usize) {
                *rate = *ops as f64 / seconds;
            }
        }
    }
}
