//! What goes wrong with the agents of a simulation.

use super::world::{SimEvent, SimState};
use filermark_link::message::Report;
use filermark_model::Nanos;
use filermark_model::stats::Interval;

/// What goes wrong with one agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Its process is gone, the link ends.
    Killed,
    /// Its host is gone without a word.
    HostGone,
    /// Nothing of it runs for so long.
    Frozen(Nanos),
    /// No bytes pass any more, and nobody says so.
    Blackhole,
    /// The link ends on both sides, the agent lives.
    Reset,
    /// It says something that is no message.
    Nonsense,
    /// What it is doing never ends; it goes on saying that it is alive.
    Hung,
    /// From now on what it tells is well-formed and cannot be.
    Lies,
}

impl SimState {
    /// Something will go wrong.
    pub fn plan_fault(&mut self, host: usize, fault: Fault, at: Nanos) {
        self.faults.push((host, fault, at));
        self.at(at.since(self.now), SimEvent::Fault(host, fault));
    }

    pub(super) fn break_host(&mut self, at: usize, fault: Fault) {
        let way = Nanos(self.rng.below(self.latency_max.0));
        match fault {
            Fault::Killed => {
                self.die(at);
                if std::mem::take(&mut self.hosts[at].link) {
                    self.at(way, SimEvent::PrimeHearsEnd(at, "the link ended"));
                }
            }
            Fault::HostGone => {
                self.die(at);
                self.hosts[at].link = false;
            }
            Fault::Frozen(span) => self.hosts[at].frozen_until = self.now + span,
            Fault::Blackhole => self.hosts[at].link = false,
            Fault::Reset => {
                if std::mem::take(&mut self.hosts[at].link) {
                    self.at(way, SimEvent::PrimeHearsEnd(at, "reset by peer"));
                    self.at(way, SimEvent::AgentHearsEnd(at));
                }
            }
            Fault::Nonsense => self.send_to_prime(at, b"\0\0\0\x09\0hello the".to_vec()),
            Fault::Hung => self.hosts[at].hung = true,
            Fault::Lies => {
                self.hosts[at].lies = true;
                for _ in 0..2 {
                    for second in [i64::MAX, i64::MIN] {
                        let interval = Interval {
                            second,
                            success_count: u64::MAX,
                            ..Interval::default()
                        };
                        self.tell(at, &Report::Second { interval });
                    }
                    let (task_count, bytes) = (u64::MAX, u64::MAX);
                    self.tell(at, &Report::Progress { task_count, bytes });
                }
            }
        }
    }

    pub(super) fn die(&mut self, at: usize) {
        self.end_load(at);
        self.hosts[at].dead = true;
    }
}
