//! Faults of the agents of a simulation.

use super::world::{SimEvent, SimState};
use filermark_link::message::Report;
use filermark_model::Nanos;
use filermark_model::stats::Interval;

/// A fault of one agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Its process is killed, the link ends.
    Killed,
    /// Its host is lost, without an end of the link.
    HostGone,
    /// It does not run for this time.
    Frozen(Nanos),
    /// No bytes pass any more, without an error.
    Blackhole,
    /// The link ends on both sides, the agent still runs.
    Reset,
    /// It sends bytes that are no message.
    Garbage,
    /// Its task never ends; it still sends keepalives.
    Hung,
    /// From now on its reports are well-formed and impossible.
    FalseReports,
}

impl SimState {
    /// Schedules a fault.
    pub fn plan_fault(&mut self, host: usize, fault: Fault, at: Nanos) {
        self.faults.push((host, fault, at));
        self.at(at.since(self.now), SimEvent::Fault(host, fault));
    }

    pub(super) fn apply_fault(&mut self, at: usize, fault: Fault) {
        let delay = Nanos(self.rng.below(self.latency_max.0));
        match fault {
            Fault::Killed => {
                self.die(at);
                if std::mem::take(&mut self.hosts[at].link) {
                    self.at(delay, SimEvent::LinkEndAtPrime(at, "the link ended"));
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
                    self.at(delay, SimEvent::LinkEndAtPrime(at, "reset by peer"));
                    self.at(delay, SimEvent::LinkEndAtAgent(at));
                }
            }
            Fault::Garbage => self.send_to_prime(at, b"\0\0\0\x09\0hello the".to_vec()),
            Fault::Hung => self.hosts[at].hung = true,
            Fault::FalseReports => {
                self.hosts[at].sends_false_reports = true;
                for _ in 0..2 {
                    for second in [i64::MAX, i64::MIN] {
                        let interval = Interval {
                            second,
                            success_count: u64::MAX,
                            ..Interval::default()
                        };
                        let interval = Box::new(interval);
                        self.report(at, &Report::Second { interval });
                    }
                    let (task_count, bytes) = (u64::MAX, u64::MAX);
                    self.report(at, &Report::Progress { task_count, bytes });
                }
            }
        }
    }

    pub(super) fn die(&mut self, at: usize) {
        self.end_load(at);
        self.hosts[at].dead = true;
    }
}
