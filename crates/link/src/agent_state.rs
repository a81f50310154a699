//! The state machine of an agent: its dialogue with the prime, without streams, threads or
//! clocks, so that a simulation can drive it.
//!
//! It depends on the link only: when the link ends, or no message arrives for some time, the
//! load stops and the files that this agent created are removed, without an order.

use crate::facts::InspectRequest;
use crate::message::{ClientShare, Hello, Order, PROTOCOL, Report};
use filermark_model::plan::{MountPoint, PhasePlan};
use filermark_model::{LoadPoint, Nanos};

/// A prime that has sent no message for this long is lost. It sends one every two seconds. With
/// the time to clean up, this stays below 30 s.
pub const SILENCE_MAX: Nanos = Nanos::from_secs(15);

/// An agent without a prime removes its files for this long at most: a server that does not
/// answer must not block it forever.
const FINAL_CLEANUP_MAX: Nanos = Nanos::from_secs(60);

/// A task that takes time; one at a time.
#[derive(Clone, Debug)]
pub enum LongTask {
    /// Inspect the host, for preflight.
    Inspect(Box<InspectRequest>),
    /// Connect to the servers, claim the run's directory, start the engine.
    Prepare(ClientShare),
    /// INIT.
    Init {
        /// The load point.
        point: LoadPoint,
        /// File systems whose free space is monitored meanwhile.
        watch_space: Vec<String>,
    },
    /// WARMUP and RUN.
    Run {
        /// The load point.
        point: LoadPoint,
        /// When WARMUP begins, by this agent's clock.
        warmup_at: Nanos,
        /// File systems whose free space is monitored meanwhile.
        watch_space: Vec<String>,
        /// Lengths of the phases other than those of the plan.
        phases: Option<PhasePlan>,
    },
    /// CLEANUP of what this agent's procs created.
    Cleanup,
    /// Remove the run's directory with all of its contents.
    Release {
        /// Mount points of other clients that cannot do it.
        orphans: Vec<MountPoint>,
    },
    /// Remove what a run of this name has left on a client's mount points.
    Sweep(ClientShare),
    /// The prime is gone or has sent `Goodbye`: remove all that this agent created.
    FinalCleanup,
}

/// What the agent does next.
#[derive(Debug)]
pub enum AgentAction {
    /// Send a report to the prime.
    Send(Report),
    /// Begin a task; [`AgentState::done`] is called when it has ended.
    Begin(LongTask),
    /// The load is steady: WARMUP takes this long.
    EndWarmup(Nanos),
    /// The data set has been touched: RUN takes this long.
    EndRun(Nanos),
    /// Stop the current task soon.
    Stop,
    /// Exit.
    End,
}

/// The state of an agent.
#[derive(Debug)]
pub struct AgentState {
    own: Hello,
    last_message_at: Nanos,
    /// A task is in progress.
    busy: bool,
    /// The prime is gone or has ended the run.
    leaving: bool,
    is_final_cleanup: bool,
    /// Since when it has been removing what it created.
    cleanup_since: Option<Nanos>,
}

impl AgentState {
    /// An agent that has received no message yet.
    pub fn new(own: Hello, now: Nanos) -> Self {
        Self {
            own,
            last_message_at: now,
            busy: false,
            leaving: false,
            is_final_cleanup: false,
            cleanup_since: None,
        }
    }

    /// Handles an order of the prime. `unix_ns` is the time of day.
    pub fn handle_order(&mut self, order: Order, now: Nanos, unix_ns: u64) -> Vec<AgentAction> {
        self.last_message_at = now;
        if self.leaving {
            return Vec::new();
        }
        match order {
            Order::Hello(hello) => self.handle_hello(&hello),
            Order::Time { seq } => vec![AgentAction::Send(Report::Time {
                seq,
                clock_ns: now.0,
                unix_ns,
            })],
            Order::Alive => Vec::new(),
            Order::BeginRun { warmup_ns } if self.busy => {
                vec![AgentAction::EndWarmup(Nanos(warmup_ns))]
            }
            Order::EndRun { runtime_ns } if self.busy => {
                vec![AgentAction::EndRun(Nanos(runtime_ns))]
            }
            Order::Stop if self.busy => vec![AgentAction::Stop],
            // The task that it refers to has ended already.
            Order::Stop | Order::BeginRun { .. } | Order::EndRun { .. } => Vec::new(),
            Order::Goodbye => self.leave(None),
            order if self.busy => self.leave(Some(format!(
                "the order '{}' came while another one was in progress",
                order.name()
            ))),
            order => match task_of(order) {
                Some(task) => self.begin(task),
                None => Vec::new(),
            },
        }
    }

    fn handle_hello(&self, hello: &Hello) -> Vec<AgentAction> {
        // The prime compares the rest, because it prints the advice.
        let answer = match hello.protocol == PROTOCOL {
            true => Report::Hello(self.own.clone()),
            false => Report::Failed {
                reason: format!(
                    "the prime uses protocol {} (version {}), this agent {PROTOCOL} (version {}): install the same version there with `filermark install`",
                    hello.protocol, hello.version, self.own.version
                ),
                stopped: false,
            },
        };
        vec![AgentAction::Send(answer)]
    }

    /// A task has ended.
    pub fn done(&mut self, report: Report) -> Vec<AgentAction> {
        self.busy = false;
        match (self.leaving, self.is_final_cleanup) {
            (false, _) => vec![AgentAction::Send(report)],
            (true, false) => self.final_cleanup(),
            // The prime may still read: it needs to know what is left.
            (true, true) => vec![AgentAction::Send(report), AgentAction::End],
        }
    }

    /// The link has ended, or invalid data arrived on it.
    pub fn link_ended(&mut self) -> Vec<AgentAction> {
        self.leave(None)
    }

    /// A user or process on this host requests the end of the agent.
    pub fn handle_end_request(&mut self, why: &str) -> Vec<AgentAction> {
        self.leave(Some(why.to_owned()))
    }

    /// Time has passed.
    pub fn tick(&mut self, now: Nanos) -> Vec<AgentAction> {
        if self.is_final_cleanup {
            let since = *self.cleanup_since.get_or_insert(now);
            return match now.since(since) > FINAL_CLEANUP_MAX {
                true => vec![AgentAction::Stop],
                false => Vec::new(),
            };
        }
        if now.since(self.last_message_at) > SILENCE_MAX {
            return self.leave(Some("the prime is silent".into()));
        }
        Vec::new()
    }

    /// Whether it is exiting.
    pub fn is_leaving(&self) -> bool {
        self.leaving
    }

    fn begin(&mut self, task: LongTask) -> Vec<AgentAction> {
        self.busy = true;
        vec![AgentAction::Begin(task)]
    }

    fn leave(&mut self, why: Option<String>) -> Vec<AgentAction> {
        if std::mem::replace(&mut self.leaving, true) {
            return Vec::new();
        }
        let report = why.map(|reason| AgentAction::Send(Report::Leaving { reason }));
        let next = match self.busy {
            true => vec![AgentAction::Stop],
            false => self.final_cleanup(),
        };
        report.into_iter().chain(next).collect()
    }

    fn final_cleanup(&mut self) -> Vec<AgentAction> {
        self.is_final_cleanup = true;
        self.begin(LongTask::FinalCleanup)
    }
}

fn task_of(order: Order) -> Option<LongTask> {
    Some(match order {
        Order::Inspect(request) => LongTask::Inspect(request),
        Order::Prepare(share) => LongTask::Prepare(share),
        Order::Init { point, watch_space } => LongTask::Init { point, watch_space },
        Order::Run {
            point,
            warmup_at_ns,
            watch_space,
            phases,
        } => LongTask::Run {
            point,
            warmup_at: Nanos(warmup_at_ns),
            watch_space,
            phases,
        },
        Order::Cleanup => LongTask::Cleanup,
        Order::Release { orphans } => LongTask::Release { orphans },
        Order::Sweep(share) => LongTask::Sweep(share),
        Order::Hello(_)
        | Order::Time { .. }
        | Order::BeginRun { .. }
        | Order::EndRun { .. }
        | Order::Stop
        | Order::Alive
        | Order::Goodbye => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hello() -> Hello {
        Hello {
            protocol: PROTOCOL,
            version: "1".into(),
            build: String::new(),
            commit: String::new(),
            profile: String::new(),
            host: "here".into(),
            key: String::new(),
        }
    }

    fn shown(actions: &[AgentAction]) -> Vec<String> {
        let name = |act: &AgentAction| {
            let text = format!("{act:?}");
            text.split(['{', '(', ' '])
                .take(2)
                .collect::<Vec<_>>()
                .join(" ")
        };
        actions.iter().map(name).collect()
    }

    fn agent() -> AgentState {
        AgentState::new(hello(), Nanos(0))
    }

    #[test]
    fn an_order_is_carried_out_and_answered() {
        let mut agent = agent();
        assert_eq!(
            shown(&agent.handle_order(Order::Hello(hello()), Nanos(1), 0)),
            ["Send Hello"]
        );
        assert_eq!(
            shown(&agent.handle_order(Order::Cleanup, Nanos(2), 0)),
            ["Begin Cleanup)"]
        );
        // The clock is reported during a task too.
        assert_eq!(
            shown(&agent.handle_order(Order::Time { seq: 1 }, Nanos(3), 0)),
            ["Send Time"]
        );
        assert_eq!(
            shown(&agent.handle_order(Order::Stop, Nanos(3), 0)),
            ["Stop"]
        );
        assert_eq!(shown(&agent.done(Report::Alive)), ["Send Alive)"]);
        assert!(
            agent.handle_order(Order::Stop, Nanos(4), 0).is_empty(),
            "no task is in progress"
        );
        assert_eq!(
            shown(&agent.handle_order(Order::Goodbye, Nanos(5), 0)),
            ["Begin FinalCleanup)"]
        );
        assert_eq!(shown(&agent.done(Report::Alive)), ["Send Alive)", "End"]);
    }

    #[test]
    fn without_a_link_the_load_stops_and_files_are_removed() {
        let mut agent = agent();
        agent.handle_order(Order::Cleanup, Nanos(2), 0);
        assert_eq!(shown(&agent.link_ended()), ["Stop"]);
        assert!(agent.link_ended().is_empty(), "once is enough");
        assert!(
            agent.handle_order(Order::Cleanup, Nanos(3), 0).is_empty(),
            "too late"
        );
        assert_eq!(shown(&agent.done(Report::Alive)), ["Begin FinalCleanup)"]);
        assert_eq!(shown(&agent.done(Report::Alive)), ["Send Alive)", "End"]);
    }

    #[test]
    fn a_silent_prime_is_lost() {
        let mut agent = agent();
        agent.handle_order(Order::Alive, Nanos::from_secs(10), 0);
        assert!(agent.tick(Nanos::from_secs(25)).is_empty());
        let actions = agent.tick(Nanos::from_secs(26));
        assert_eq!(shown(&actions), ["Send Leaving", "Begin FinalCleanup)"]);
        assert!(agent.is_leaving() && agent.tick(Nanos::from_secs(99)).is_empty());
    }

    #[test]
    fn an_agent_without_a_prime_removes_for_a_minute_at_most() {
        let mut agent = agent();
        agent.link_ended();
        assert!(agent.tick(Nanos::from_secs(5)).is_empty());
        assert!(agent.tick(Nanos::from_secs(64)).is_empty());
        assert_eq!(shown(&agent.tick(Nanos::from_secs(66))), ["Stop"]);
        // Its next task is stopped too.
        assert_eq!(shown(&agent.tick(Nanos::from_secs(67))), ["Stop"]);
    }

    #[test]
    fn a_second_order_at_the_same_time_is_an_error() {
        let mut agent = agent();
        agent.handle_order(Order::Cleanup, Nanos(2), 0);
        assert_eq!(
            shown(&agent.handle_order(Order::Cleanup, Nanos(2), 0)),
            ["Send Leaving", "Stop"]
        );
    }
}
