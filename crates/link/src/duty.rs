//! What an agent does next: the dialogue with the prime, without streams, threads or
//! clocks of its own, so that a simulation can drive it.
//!
//! It trusts the link only: when the link ends, or nothing more comes, the load stops
//! and what this agent made is removed, without being told.

use crate::facts::InspectRequest;
use crate::message::{ClientShare, Hello, Order, PROTOCOL, Report};
use filermark_model::plan::MountPoint;
use filermark_model::{LoadPoint, Nanos};

/// A prime that has not said anything for so long is lost. It says something every
/// two seconds. With the time to clean up, this stays below 30 s.
pub const SILENCE_MAX: Nanos = Nanos::from_secs(15);

/// An agent that is alone removes what it made for so long at most: a server that does
/// not answer must not keep it for ever.
const TIDY_MAX: Nanos = Nanos::from_secs(60);

/// Something that takes time; one at a time.
#[derive(Clone, Debug)]
pub enum LongTask {
    /// Look at the host, for preflight.
    Inspect(Box<InspectRequest>),
    /// Reach the servers, claim the run's directory, start the engine.
    Prepare(ClientShare),
    /// INIT.
    Init {
        /// The load point.
        point: LoadPoint,
        /// File systems whose free space is looked at meanwhile.
        watch_space: Vec<String>,
    },
    /// WARMUP and RUN.
    Run {
        /// The load point.
        point: LoadPoint,
        /// When WARMUP begins, by this agent's clock.
        warmup_at: Nanos,
        /// File systems whose free space is looked at meanwhile.
        watch_space: Vec<String>,
    },
    /// CLEANUP of what this agent's procs made.
    Cleanup,
    /// Give the run's directory back with everything in it.
    Release {
        /// Mount points of others that cannot do it.
        orphans: Vec<MountPoint>,
    },
    /// Remove what a run of this name has left on a client's mount points.
    Sweep(ClientShare),
    /// The prime is gone or said goodbye: leave nothing of this agent's behind.
    TidyUp,
}

/// What is to be done now.
#[derive(Debug)]
pub enum AgentAction {
    /// Tell the prime.
    Tell(Report),
    /// Begin something; [`AgentState::done`] is called when it has ended.
    Begin(LongTask),
    /// The load is steady: WARMUP takes so long.
    EndWarmup(Nanos),
    /// The data set has been touched: RUN takes so long.
    EndRun(Nanos),
    /// What is under way is to stop soon.
    Stop,
    /// Nothing more is to be done.
    End,
}

/// Where an agent is in its life.
#[derive(Debug)]
pub struct AgentState {
    own: Hello,
    last_message_at: Nanos,
    /// A task is under way.
    busy: bool,
    /// The prime is gone or wants no more.
    leaving: bool,
    tidied: bool,
    /// When it was first seen to be removing what it made.
    tidy_since: Option<Nanos>,
}

impl AgentState {
    /// An agent that nobody has told anything yet.
    pub fn new(own: Hello, now: Nanos) -> Self {
        Self {
            own,
            last_message_at: now,
            busy: false,
            leaving: false,
            tidied: false,
            tidy_since: None,
        }
    }

    /// The prime says something. `unix_ns` is the time of day.
    pub fn handle_order(&mut self, order: Order, now: Nanos, unix_ns: u64) -> Vec<AgentAction> {
        self.last_message_at = now;
        if self.leaving {
            return Vec::new();
        }
        match order {
            Order::Hello(hello) => self.handle_hello(&hello),
            Order::Time { seq } => vec![AgentAction::Tell(Report::Time {
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
            // What it was to stop, or to go on with, has ended by itself.
            Order::Stop | Order::BeginRun { .. } | Order::EndRun { .. } => Vec::new(),
            Order::Goodbye => self.leave(None),
            order if self.busy => self.leave(Some(format!(
                "the order '{}' came while another was under way",
                order.name()
            ))),
            order => match task_of(order) {
                Some(task) => self.begin(task),
                None => Vec::new(),
            },
        }
    }

    fn handle_hello(&self, hello: &Hello) -> Vec<AgentAction> {
        // The prime compares the rest: it is the one that can say what to do.
        let answer = match hello.protocol == PROTOCOL {
            true => Report::Hello(self.own.clone()),
            false => Report::Failed {
                reason: format!(
                    "the prime speaks protocol {} (version {}), this agent {PROTOCOL} (version {}): bring the same version there with `filermark install`",
                    hello.protocol, hello.version, self.own.version
                ),
                stopped: false,
            },
        };
        vec![AgentAction::Tell(answer)]
    }

    /// A task has ended.
    pub fn done(&mut self, report: Report) -> Vec<AgentAction> {
        self.busy = false;
        match (self.leaving, self.tidied) {
            (false, _) => vec![AgentAction::Tell(report)],
            (true, false) => self.tidy_up(),
            // The prime may be listening still: what stays is to be known.
            (true, true) => vec![AgentAction::Tell(report), AgentAction::End],
        }
    }

    /// The link has ended, or what came over it makes no sense.
    pub fn link_ended(&mut self) -> Vec<AgentAction> {
        self.leave(None)
    }

    /// Somebody on this host wants the agent to end.
    pub fn handle_end_request(&mut self, why: &str) -> Vec<AgentAction> {
        self.leave(Some(why.to_owned()))
    }

    /// Time has passed.
    pub fn tick(&mut self, now: Nanos) -> Vec<AgentAction> {
        if self.tidied {
            let since = *self.tidy_since.get_or_insert(now);
            return match now.since(since) > TIDY_MAX {
                true => vec![AgentAction::Stop],
                false => Vec::new(),
            };
        }
        if now.since(self.last_message_at) > SILENCE_MAX {
            return self.leave(Some("the prime is silent".into()));
        }
        Vec::new()
    }

    /// Whether it is on its way out.
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
        let word = why.map(|reason| AgentAction::Tell(Report::Leaving { reason }));
        let next = match self.busy {
            true => vec![AgentAction::Stop],
            false => self.tidy_up(),
        };
        word.into_iter().chain(next).collect()
    }

    fn tidy_up(&mut self) -> Vec<AgentAction> {
        self.tidied = true;
        self.begin(LongTask::TidyUp)
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
        } => LongTask::Run {
            point,
            warmup_at: Nanos(warmup_at_ns),
            watch_space,
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
            host: "here".into(),
            key: String::new(),
        }
    }

    fn shown(acts: &[AgentAction]) -> Vec<String> {
        let name = |act: &AgentAction| {
            let text = format!("{act:?}");
            text.split(['{', '(', ' '])
                .take(2)
                .collect::<Vec<_>>()
                .join(" ")
        };
        acts.iter().map(name).collect()
    }

    fn duty() -> AgentState {
        AgentState::new(hello(), Nanos(0))
    }

    #[test]
    fn an_order_is_carried_out_and_answered() {
        let mut duty = duty();
        assert_eq!(
            shown(&duty.handle_order(Order::Hello(hello()), Nanos(1), 0)),
            ["Tell Hello"]
        );
        assert_eq!(
            shown(&duty.handle_order(Order::Cleanup, Nanos(2), 0)),
            ["Begin Cleanup)"]
        );
        // The clock is told also in the middle of something.
        assert_eq!(
            shown(&duty.handle_order(Order::Time { seq: 1 }, Nanos(3), 0)),
            ["Tell Time"]
        );
        assert_eq!(
            shown(&duty.handle_order(Order::Stop, Nanos(3), 0)),
            ["Stop"]
        );
        assert_eq!(shown(&duty.done(Report::Alive)), ["Tell Alive)"]);
        assert!(
            duty.handle_order(Order::Stop, Nanos(4), 0).is_empty(),
            "nothing is under way"
        );
        assert_eq!(
            shown(&duty.handle_order(Order::Goodbye, Nanos(5), 0)),
            ["Begin TidyUp)"]
        );
        assert_eq!(shown(&duty.done(Report::Alive)), ["Tell Alive)", "End"]);
    }

    #[test]
    fn without_a_link_everything_stops_and_is_tidied_up() {
        let mut duty = duty();
        duty.handle_order(Order::Cleanup, Nanos(2), 0);
        assert_eq!(shown(&duty.link_ended()), ["Stop"]);
        assert!(duty.link_ended().is_empty(), "once is enough");
        assert!(
            duty.handle_order(Order::Cleanup, Nanos(3), 0).is_empty(),
            "too late"
        );
        assert_eq!(shown(&duty.done(Report::Alive)), ["Begin TidyUp)"]);
        assert_eq!(shown(&duty.done(Report::Alive)), ["Tell Alive)", "End"]);
    }

    #[test]
    fn a_silent_prime_is_given_up() {
        let mut duty = duty();
        duty.handle_order(Order::Alive, Nanos::from_secs(10), 0);
        assert!(duty.tick(Nanos::from_secs(25)).is_empty());
        let acts = duty.tick(Nanos::from_secs(26));
        assert_eq!(shown(&acts), ["Tell Leaving", "Begin TidyUp)"]);
        assert!(duty.is_leaving() && duty.tick(Nanos::from_secs(99)).is_empty());
    }

    #[test]
    fn an_agent_alone_removes_for_a_minute_at_most() {
        let mut duty = duty();
        duty.link_ended();
        assert!(duty.tick(Nanos::from_secs(5)).is_empty());
        assert!(duty.tick(Nanos::from_secs(64)).is_empty());
        assert_eq!(shown(&duty.tick(Nanos::from_secs(66))), ["Stop"]);
        // What it does next is told again.
        assert_eq!(shown(&duty.tick(Nanos::from_secs(67))), ["Stop"]);
    }

    #[test]
    fn two_orders_at_once_make_no_sense() {
        let mut duty = duty();
        duty.handle_order(Order::Cleanup, Nanos(2), 0);
        assert_eq!(
            shown(&duty.handle_order(Order::Cleanup, Nanos(2), 0)),
            ["Tell Leaving", "Stop"]
        );
    }
}
