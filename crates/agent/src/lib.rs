//! The agent: carries out the prime's orders on one client host.
//!
//! Four threads: one reads orders, one writes reports, one works (`work`), one merges the
//! shards' notifications meanwhile (`live`); the calling one decides
//! ([`filermark_link::agent_state`]).

pub mod clock_check;
mod free_space;
#[cfg(test)]
mod hung_threads_tests;
mod inspect;
mod lease;
pub mod lengths;
mod live;
mod pulse;
mod reads;
mod space_used;
mod space_watch;
mod streams;
mod threads;
pub mod validate;
mod work;

pub use threads::ThreadLauncher;

use filermark_engine::clock::Clock;
use filermark_engine::driver::StopFlag;
use filermark_link::agent_state::{AgentAction, AgentState, LongTask};
use filermark_link::identity;
use filermark_link::message::Hello;
use filermark_link::secure::seal::Opener;
use lengths::SharedDurations;
use std::io::{Read, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, sync_channel};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use streams::{AgentInput, Reports, read_orders, spawn};

/// Orders that may wait for the agent.
const ORDERS_MAX: usize = 64;
/// Interval of the agent's timer.
const TICK: Duration = Duration::from_millis(200);
/// How long the last reports may take to be sent.
const LAST_REPORTS_MAX: Duration = Duration::from_secs(2);

/// Serves one prime until the link ends.
pub fn serve(orders: impl Read + Send + 'static, reports: impl Write + Send + 'static) {
    serve_until(orders, reports, &StopFlag::new());
}

/// Serves one prime until the link ends, or `quit` is raised on this host.
pub fn serve_until(
    orders: impl Read + Send + 'static,
    reports: impl Write + Send + 'static,
    quit: &StopFlag,
) {
    let (sender, inputs) = sync_channel(ORDERS_MAX);
    let (reports, written) = Reports::to(reports, sender.clone());
    let stop = StopFlag::new();
    let clock = Clock::real();
    let relay = sender.clone();
    let began = spawn("agent-orders", move || read_orders(orders, &relay));
    let opener = Opener::new();
    let hello = identity::agent_hello(&opener);
    let lengths = SharedDurations::default();
    let tasks = work::begin(
        reports.clone(),
        opener,
        stop.clone(),
        clock.clone(),
        lengths.clone(),
        move |report| {
            let _ = sender.send(AgentInput::Done(Box::new(report)));
        },
    );
    let (true, Ok(tasks)) = (began, tasks) else {
        return;
    };
    let agent = Agent {
        hello,
        clock,
        stop,
        reports,
        tasks,
        lengths,
    };
    agent.live(&inputs, quit);
    drop(agent);
    // The writer ends with the last report; a blocked link is abandoned.
    let _ = written.recv_timeout(LAST_REPORTS_MAX);
}

struct Agent {
    hello: Hello,
    clock: Clock,
    stop: StopFlag,
    reports: Reports,
    tasks: Sender<LongTask>,
    lengths: SharedDurations,
}

impl Agent {
    fn live(&self, inputs: &Receiver<AgentInput>, quit: &StopFlag) {
        let mut state = AgentState::new(self.hello.clone(), self.clock.now());
        loop {
            let input = inputs.recv_timeout(TICK);
            let now = self.clock.now();
            let mut actions = match input {
                Ok(AgentInput::Order(order)) => {
                    tracing::debug!(target: "filermark_clients", order = order.name(), "order");
                    state.handle_order(*order, now, unix_ns())
                }
                Ok(AgentInput::LinkEnded) => state.link_ended(),
                Ok(AgentInput::Done(report)) => state.done(*report),
                Err(RecvTimeoutError::Timeout) => state.tick(now),
                Err(RecvTimeoutError::Disconnected) => return,
            };
            if quit.is_raised() {
                actions.extend(state.handle_end_request("it was asked to exit on its host"));
            }
            for action in actions {
                match action {
                    AgentAction::Send(report) => {
                        if !self.reports.send(&report) {
                            // A report that cannot be sent any more: the prime is gone.
                            self.stop.raise();
                        }
                    }
                    AgentAction::Begin(task) => {
                        self.stop.lower();
                        self.lengths.clear();
                        let _ = self.tasks.send(task);
                    }
                    AgentAction::EndWarmup(warmup) => self.lengths.end_warmup(warmup, now),
                    AgentAction::EndRun(runtime) => self.lengths.end_run(runtime, now),
                    AgentAction::Stop => self.stop.raise(),
                    AgentAction::End => return,
                }
            }
        }
    }
}

fn unix_ns() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |t| t.as_nanos() as u64)
}
