//! The prime: starts the agents, gives the orders of a run, gathers and judges.
//!
//! It never trusts an agent's clock, and every wait has a limit.

use crate::launch::{Launched, Launcher, Leash};
use crate::link::{self, LinkError};
use crate::message::{Hello, Order, PROTOCOL, Report};
use crate::sweep::Sweep;
use filermark_engine::driver::StopFlag;
use filermark_model::launch::LaunchPlan;
use filermark_model::stats::Interval;
use filermark_model::{LoadPoint, RunPlan};
use filermark_results::record::{Phase, PointRecord};
use filermark_results::{Heartbeat, Outcome, RunRecord, ScriptRecord};
use std::io::Write;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::{Duration, Instant};

/// An agent that has not said anything for so long is lost.
const SILENCE_MAX: Duration = Duration::from_secs(15);
/// How long agents may take to stop a phase when asked.
const STOP_MAX: Duration = Duration::from_secs(30);
/// How often the prime looks around while it waits.
const LOOK: Duration = Duration::from_millis(10);

/// What a run needs besides its plan.
pub struct RunOptions<'a> {
    /// The plan.
    pub plan: RunPlan,
    /// End of the names of the result files.
    pub suffix: String,
    /// Directory of the result files; made when missing.
    pub dir: PathBuf,
    /// Directory of the procs' logs, where it is another one.
    pub client_log_dir: Option<PathBuf>,
    /// Raised when the user wishes to stop.
    pub stop: StopFlag,
    /// Where the agents are to be.
    pub launch: LaunchPlan,
    /// How agents are started.
    pub launcher: &'a dyn Launcher,
    /// Told what goes on.
    pub observe: &'a mut dyn FnMut(Progress<'_>),
}

/// What goes on.
#[derive(Debug)]
pub enum Progress<'a> {
    /// A phase begins.
    PhaseBegan {
        /// The load point; `None` for the CLEANUP at the end.
        point: Option<LoadPoint>,
        /// The phase.
        phase: Phase,
        /// How long it will take, where that is known.
        expected: Option<Duration>,
    },
    /// INIT or CLEANUP went on; sums since the phase began.
    Tasks {
        /// Tasks done.
        task_count: u64,
        /// Bytes written.
        bytes: u64,
    },
    /// A second of WARMUP or RUN is over.
    Second(&'a Interval),
    /// Another tenth of WARMUP or RUN is over.
    Percent {
        /// The load point.
        point: LoadPoint,
        /// WARMUP or RUN.
        phase: Phase,
        /// How much of it is over: 10, 20 and so on to 100.
        percent: u32,
    },
    /// How fast every proc has been since the heartbeat before.
    Heartbeat(&'a Heartbeat),
    /// A script of the user's has ended, well or not.
    Script(&'a ScriptRecord),
    /// A load point is over; it is in the record.
    PointEnded(&'a RunRecord, &'a PointRecord),
    /// Something worth telling.
    Remark(&'a str),
}

/// How a run went.
#[derive(Debug)]
pub struct RunOutcome {
    /// Everything, as it is in the file.
    pub record: RunRecord,
    /// The record's file.
    pub record_path: PathBuf,
    /// The classical files that were written.
    pub files: Vec<PathBuf>,
}

impl RunOutcome {
    /// How the run ended.
    pub fn outcome(&self) -> Outcome {
        self.record
            .end
            .as_ref()
            .map_or(Outcome::Interrupted, |end| end.outcome.clone())
    }
}

/// Why there is not even a record.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The result directory or the record cannot be written.
    #[error("{0}")]
    Record(String),
}

/// Runs a plan from INIT of the first load point to the last CLEANUP.
///
/// # Errors
/// Only when no record can be written; everything else is in the record.
pub fn run(options: RunOptions<'_>) -> Result<RunOutcome, RunError> {
    Sweep::begin(options)?.carry_out()
}

/// Why an order was not carried out by all agents.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OrderError {
    /// An agent says why.
    #[error("{reason}")]
    Failed {
        /// Its sentence.
        reason: String,
    },
    /// The user wished to stop.
    #[error("stopped on request")]
    Stopped,
    /// An agent is lost.
    #[error("client {client}: the agent is lost: {reason}")]
    Lost {
        /// Its host.
        client: String,
        /// How that was noticed.
        reason: String,
    },
}

/// The agents of a run, as the prime sees them.
pub(crate) struct Agents {
    agents: Vec<AgentLink>,
    stop: StopFlag,
}

struct AgentLink {
    client: String,
    to_agent: Box<dyn Write + Send>,
    reports: Receiver<Result<Report, LinkError>>,
    heard: Instant,
    leash: Box<dyn Leash>,
    lost: bool,
}

impl Agents {
    /// Starts one agent per client and greets it.
    pub fn launch(
        plan: &LaunchPlan,
        launcher: &dyn Launcher,
        stop: StopFlag,
    ) -> Result<Self, OrderError> {
        let mut agents = Vec::new();
        for (number, host) in plan.hosts.iter().enumerate() {
            let lost = |reason: String| OrderError::Lost {
                client: host.client.clone(),
                reason,
            };
            let Launched {
                from_agent,
                to_agent,
                leash,
            } = launcher.launch(number, host).map_err(lost)?;
            let reports = link::receive_on_thread("prime-reports", from_agent)
                .map_err(|e| lost(e.to_string()))?;
            agents.push(AgentLink {
                client: host.client.clone(),
                to_agent,
                reports,
                heard: Instant::now(),
                leash,
                lost: false,
            });
        }
        let mut all = Self { agents, stop };
        for report in all.order(
            |_| Order::Hello(Hello::own()),
            Duration::from_secs(30),
            &mut |_, _| {},
        )? {
            match report {
                Report::Hello(hello) if hello.protocol == PROTOCOL => {}
                _ => {
                    return Err(OrderError::Failed {
                        reason: "an agent of another version answered; install the same version everywhere".into(),
                    });
                }
            }
        }
        Ok(all)
    }

    /// Gives every agent an order and waits for all answers. `look` is called
    /// for every word in between, and with `None` every few milliseconds.
    pub fn order(
        &mut self,
        order: impl Fn(usize) -> Order,
        limit: Duration,
        look: &mut dyn FnMut(usize, Option<&Report>),
    ) -> Result<Vec<Report>, OrderError> {
        let began = Instant::now();
        for (at, agent) in self.agents.iter_mut().enumerate() {
            agent.heard = began;
            if let Err(e) = link::send(&mut agent.to_agent, &order(at)) {
                agent.lost = true;
                return Err(agent.is_lost(e.to_string()));
            }
        }
        let mut answers: Vec<Option<Report>> = self.agents.iter().map(|_| None).collect();
        let mut error = None;
        let mut stopping: Option<Instant> = None;
        loop {
            let waiting = self.hear_all(&mut answers, &mut error, look);
            if !waiting {
                return match error {
                    Some(error) => Err(error),
                    None => Ok(answers.into_iter().flatten().collect()),
                };
            }
            look(0, None);
            let now = Instant::now();
            if stopping.is_none()
                && (self.stop.is_raised() || error.is_some() || now - began > limit)
            {
                if now - began > limit {
                    let reason = format!("no answer within {} s", limit.as_secs());
                    keep_first(&mut error, OrderError::Failed { reason });
                } else if error.is_none() {
                    error = Some(OrderError::Stopped);
                }
                stopping = Some(now);
                self.tell_stop();
            }
            if stopping.is_some_and(|since| now - since > STOP_MAX) {
                for (agent, answer) in self.agents.iter_mut().zip(&answers) {
                    agent.lost |= answer.is_none();
                }
                return Err(error.unwrap_or(OrderError::Stopped));
            }
            std::thread::sleep(LOOK);
        }
    }

    /// Takes in everything that has come. Says whether an answer is missing.
    fn hear_all(
        &mut self,
        answers: &mut [Option<Report>],
        error: &mut Option<OrderError>,
        look: &mut dyn FnMut(usize, Option<&Report>),
    ) -> bool {
        let mut waiting = false;
        for (at, (agent, answer)) in self.agents.iter_mut().zip(answers).enumerate() {
            while answer.is_none() && !agent.lost {
                match agent.hear() {
                    Ok(Some(report)) if is_word(&report) => look(at, Some(&report)),
                    Ok(Some(report)) => {
                        if let Report::Failed { reason, stopped } = &report {
                            let reason = reason.clone();
                            let why = match stopped {
                                true => OrderError::Stopped,
                                false => OrderError::Failed { reason },
                            };
                            keep_first(error, why);
                        }
                        *answer = Some(report);
                    }
                    Ok(None) => {
                        waiting = true;
                        break;
                    }
                    Err(why) => keep_first(error, why),
                }
            }
        }
        waiting
    }

    /// Takes in what the agents say while they have no order: their signs of life
    /// must not pile up while scripts are waited for.
    pub fn idle(&mut self) -> Result<(), OrderError> {
        for agent in self.agents.iter_mut().filter(|a| !a.lost) {
            while agent.hear()?.is_some() {}
        }
        Ok(())
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.agents.len()
    }

    fn tell_stop(&mut self) {
        tracing::debug!(target: "filermark_cluster::signal", agents = self.agents.len(), "telling all agents to stop");
        for agent in self.agents.iter_mut().filter(|a| !a.lost) {
            let _ = link::send(&mut agent.to_agent, &Order::Stop);
        }
    }

    /// Whether all agents have gone.
    pub fn all_lost(&self) -> bool {
        self.agents.iter().all(|a| a.lost)
    }

    /// Says goodbye and waits till the agents have ended.
    pub fn dismiss(mut self) {
        for agent in &mut self.agents {
            let _ = link::send(&mut agent.to_agent, &Order::Goodbye);
        }
        for agent in &mut self.agents {
            if !agent.lost {
                agent.leash.let_go(STOP_MAX);
            }
        }
    }
}

impl AgentLink {
    /// The next report, if one is there.
    fn hear(&mut self) -> Result<Option<Report>, OrderError> {
        let why = match self.reports.try_recv() {
            Ok(Ok(report)) => {
                self.heard = Instant::now();
                return Ok(Some(report));
            }
            Ok(Err(e)) => e.to_string(),
            Err(TryRecvError::Disconnected) => "the link ended".into(),
            Err(TryRecvError::Empty) if self.heard.elapsed() < SILENCE_MAX => return Ok(None),
            Err(TryRecvError::Empty) => format!("not a word for {} s", SILENCE_MAX.as_secs()),
        };
        self.lost = true;
        Err(self.is_lost(why))
    }

    fn is_lost(&self, reason: String) -> OrderError {
        OrderError::Lost {
            client: self.client.clone(),
            reason,
        }
    }
}

/// A reason that says something wins over "stopped".
fn keep_first(error: &mut Option<OrderError>, why: OrderError) {
    match error {
        None | Some(OrderError::Stopped) => *error = Some(why),
        Some(_) => {}
    }
}

/// Words that come while an order is carried out, as against its answer.
fn is_word(report: &Report) -> bool {
    matches!(
        report,
        Report::Alive | Report::Progress { .. } | Report::Second { .. } | Report::Heartbeat(_)
    )
}
