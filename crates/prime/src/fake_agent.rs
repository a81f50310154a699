//! Fake agents: the real protocol over the real frames, without an engine. For tests and
//! for measuring a prime with more agents than there are hosts.

use filermark_engine::clock::Clock;
use filermark_link::agent_state::{AgentAction, AgentState, LongTask};
use filermark_link::frame::{self, Deframer, MAGIC};
use filermark_link::identity;
use filermark_link::local::LocalStream;
use filermark_link::message::{Report, TaskTotals};
use filermark_link::plan_password;
use filermark_link::secure::seal::Opener;
use filermark_link::start::{AgentHandle, LaunchedAgent, Launcher};
use filermark_model::launch::HostPlan;
use filermark_model::plan::PhasePlan;
use filermark_model::stats::{Interval, ProcStats};
use filermark_model::{Nanos, Op, PointStats};
use filermark_results::Environment;
use std::io::{self, Read, Write};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How often it sends a report while it makes load, and checks the time.
const BEAT: Duration = Duration::from_secs(1);
/// Operations per proc and second in its figures.
pub const OPS_PER_PROC: u64 = 10;

/// Serves one prime over a socket until the prime ends the session or the link ends.
///
/// # Errors
/// The socket failed.
pub fn serve(mut link: LocalStream) -> io::Result<()> {
    link.set_read_timeout(Some(BEAT / 4))?;
    link.write_all(MAGIC)?;
    let clock = Clock::real();
    let opener = Opener::new();
    let mut agent = FakeAgent {
        state: AgentState::new(identity::agent_hello(&opener), clock.now()),
        opener,
        clock,
        link: link.try_clone()?,
        phases: None,
        warmup: Nanos(0),
        runtime: Nanos(0),
        procs: 0..0,
        prepared: None,
        load: None,
        heartbeat_at: Nanos(0),
    };
    let mut deframer = Deframer::of_prime();
    let mut bytes = vec![0; 64 << 10];
    loop {
        let mut acts = match link.read(&mut bytes) {
            Ok(0) => agent.state.link_ended(),
            Ok(count) => {
                deframer.push(&bytes[..count]);
                agent.handle_bytes(&mut deframer)
            }
            Err(e)
                if matches!(
                    e.kind(),
                    // The end of the wait: on Unix and on Windows.
                    io::ErrorKind::WouldBlock
                        | io::ErrorKind::TimedOut
                        | io::ErrorKind::Interrupted
                ) =>
            {
                agent.state.tick(agent.clock.now())
            }
            Err(_) => agent.state.link_ended(),
        };
        acts.extend(agent.go_on());
        if agent.act(acts) {
            return Ok(());
        }
    }
}

struct FakeAgent {
    state: AgentState,
    opener: Opener,
    clock: Clock,
    link: LocalStream,
    phases: Option<PhasePlan>,
    /// The length of WARMUP: the longest until the prime has set it.
    warmup: Nanos,
    /// The length of RUN: the longest until the prime has set it.
    runtime: Nanos,
    procs: std::ops::Range<u32>,
    /// The frame with its figures, and the lengths of WARMUP and RUN that they are of. Made in
    /// INIT: the agents of a measurement are on the host of the prime, and what they take of it at
    /// the end of RUN would be measured as the prime's.
    prepared: Option<(Nanos, Nanos, Vec<u8>)>,
    /// When WARMUP began, and how many seconds were reported since.
    load: Option<(Nanos, i64)>,
    heartbeat_at: Nanos,
}

impl FakeAgent {
    fn handle_bytes(&mut self, deframer: &mut Deframer) -> Vec<AgentAction> {
        let mut acts = Vec::new();
        loop {
            match deframer.next_frame().map(|f| f.map(|f| f.decode())) {
                Ok(Some(Ok(order))) => {
                    let unix = SystemTime::now().duration_since(UNIX_EPOCH);
                    let unix_ns = unix.map_or(0, |t| t.as_nanos() as u64);
                    acts.extend(self.state.handle_order(order, self.clock.now(), unix_ns));
                }
                Ok(None) => return acts,
                Ok(Some(Err(_))) | Err(_) => {
                    acts.extend(self.state.link_ended());
                    return acts;
                }
            }
        }
    }

    /// Sends what is due by now: keepalives, seconds, the figures at the end of RUN.
    fn go_on(&mut self) -> Vec<AgentAction> {
        let now = self.clock.now();
        let Some((began, reported)) = self.load else {
            if now < self.heartbeat_at {
                return Vec::new();
            }
            self.heartbeat_at = now + Nanos(BEAT.as_nanos() as u64);
            return vec![AgentAction::Send(Report::Alive)];
        };
        let Some(phases) = self.phases else {
            return Vec::new();
        };
        let mut acts = Vec::new();
        let warmup_seconds = (phases.warmup.0 / 1_000_000_000) as i64;
        let passed = (now.since(began).0 / 1_000_000_000) as i64;
        if passed > reported {
            let mut interval = Interval {
                second: reported - warmup_seconds,
                success_count: u64::from(self.procs.end - self.procs.start) * OPS_PER_PROC,
                ..Interval::default()
            };
            interval.service_sum_ns = interval.success_count * 200_000;
            let interval = Box::new(interval);
            acts.push(AgentAction::Send(Report::Second { interval }));
            self.load = Some((began, reported + 1));
        }
        if now >= began + self.warmup + self.runtime {
            self.load = None;
            let measured = self.measured();
            acts.extend(self.state.done(measured));
        }
        acts
    }

    fn measured(&self) -> Report {
        let seconds = self.runtime.0 / 1_000_000_000;
        let per_proc = seconds * OPS_PER_PROC;
        let total = u64::from(self.procs.end - self.procs.start) * per_proc;
        let mut stats = operations(total);
        stats.window_ns = self.runtime.0;
        stats.procs = self
            .procs
            .clone()
            .map(|proc| ProcStats {
                proc,
                success_count: per_proc,
                wanted_count: per_proc,
                service_sum_ns: per_proc * 200_000,
                ..ProcStats::default()
            })
            .collect();
        Report::Measured {
            stats: Box::new(stats),
            clock: None,
            late_ns: 0,
            warmup_ns: self.warmup.0,
            runtime_ns: self.runtime.0,
            run_late_ns: 0,
            stalls: filermark_model::stall::Stalls::default(),
            reads: Vec::new(),
        }
    }

    /// Makes its figures of a RUN of this length before they are due.
    fn prepare_figures(&mut self) {
        let Some(phases) = self.phases else { return };
        (self.warmup, self.runtime) = (phases.warmup, phases.longest_run());
        let frame = frame::encode(&self.measured()).unwrap_or_default();
        self.prepared = Some((self.warmup, self.runtime, frame));
    }

    fn frame_of(&mut self, report: &Report) -> Vec<u8> {
        let lengths = (self.warmup, self.runtime);
        match self
            .prepared
            .take_if(|_| matches!(report, Report::Measured { .. }))
        {
            Some((warmup, runtime, frame)) if (warmup, runtime) == lengths => frame,
            _ => frame::encode(report).unwrap_or_default(),
        }
    }

    /// Returns whether the session has ended.
    fn act(&mut self, acts: Vec<AgentAction>) -> bool {
        let mut acts = std::collections::VecDeque::from(acts);
        while let Some(act) = acts.pop_front() {
            match act {
                AgentAction::Send(report) => {
                    let frame = self.frame_of(&report);
                    // The next read notices a closed link.
                    let _ = self.link.write_all(&frame);
                }
                AgentAction::Begin(task) => {
                    if let Some(report) = self.begin(task) {
                        acts.extend(self.state.done(report));
                    }
                }
                AgentAction::EndWarmup(warmup) => self.warmup = warmup,
                AgentAction::EndRun(runtime) => self.runtime = runtime,
                AgentAction::Stop => {
                    self.load = None;
                    acts.extend(self.state.done(Report::Failed {
                        reason: "stopped".into(),
                        stopped: true,
                    }));
                }
                AgentAction::End => return true,
            }
        }
        false
    }

    /// The result of a task; `None`: it takes time.
    fn begin(&mut self, task: LongTask) -> Option<Report> {
        let cleaned = Report::Cleaned {
            tasks: TaskTotals::default(),
            left_behind: Vec::new(),
        };
        Some(match task {
            LongTask::Prepare(mut share) => {
                if let Err(reason) = plan_password::open(&mut share, &mut self.opener) {
                    return Some(Report::Failed {
                        reason,
                        stopped: false,
                    });
                }
                let (plan, client) = (share.plan, share.client);
                let numbers = plan.procs_of(client as usize);
                let first = numbers.first().map_or(0, |(number, _)| *number);
                self.procs = first..first + numbers.len() as u32;
                self.phases = Some(plan.phases);
                ready(format!("fake-{client}"))
            }
            LongTask::Inspect(_) => Report::Failed {
                reason: "a fake agent has nothing to inspect".into(),
                stopped: false,
            },
            LongTask::Init { .. } => {
                self.prepare_figures();
                Report::Populated {
                    tasks: TaskTotals::default(),
                    space: Vec::new(),
                }
            }
            LongTask::Run {
                warmup_at, phases, ..
            } => {
                let phases = phases.or(self.phases);
                self.load = Some((warmup_at, 0));
                self.warmup = phases.map_or(Nanos(0), |p| p.warmup);
                self.runtime = phases.map_or(Nanos(0), |p| p.longest_run());
                return None;
            }
            LongTask::Cleanup
            | LongTask::Release { .. }
            | LongTask::Sweep(_)
            | LongTask::FinalCleanup => cleaned,
        })
    }
}

/// The figures of this many operations. Those of all agents are equal and made once: an agent
/// takes megabytes for its histograms while it records, and a thousand of them are in this process.
fn operations(total: u64) -> PointStats {
    static MADE: Mutex<Vec<(u64, PointStats)>> = Mutex::new(Vec::new());
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, stats)) = made.iter().find(|(count, _)| *count == total) {
        return stats.clone();
    }
    let mut stats = PointStats {
        shard_count: 1,
        ..PointStats::default()
    };
    for i in 0..total {
        let op = stats.op_mut(Op::NFS3[(i % 18) as usize]);
        op.success_count += 1;
        op.physical_count += 1;
        let latency = Nanos(100_000 + i.wrapping_mul(7919) % 900_000);
        op.service.record(latency);
        op.response.record(latency);
    }
    // What was read takes as much memory as it has different latencies.
    let text = serde_json::to_vec(&stats).unwrap_or_default();
    let stats: PointStats = serde_json::from_slice(&text).unwrap_or(stats);
    made.push((total, stats.clone()));
    stats
}

/// The answer of a host without remarks.
pub(crate) fn ready(host: String) -> Report {
    Report::Ready {
        environment: Box::new(Environment {
            host,
            core_count: 8,
            ..Environment::default()
        }),
        shard_count: 1,
        remarks: Vec::new(),
        free: Vec::new(),
        lacking: Vec::new(),
    }
}

/// Fake agents behind a local stream, on threads of this or another process.
pub struct FakeLauncher<F>(pub F);

impl<F: Fn(usize) -> io::Result<LocalStream> + Send + Sync> Launcher for FakeLauncher<F> {
    fn launch(&self, client: usize, _host: &HostPlan) -> Result<LaunchedAgent, String> {
        let link = (self.0)(client).and_then(|link| Ok((link.try_clone()?, link)));
        let (from_agent, to_agent) = link.map_err(|e| e.to_string())?;
        Ok(LaunchedAgent {
            from_agent: Box::new(from_agent),
            to_agent: Box::new(to_agent),
            handle: Box::new(DetachedHandle),
        })
    }
}

/// Fake agents end by themselves.
struct DetachedHandle;

impl AgentHandle for DetachedHandle {
    fn final_output(&mut self) -> Option<String> {
        None
    }
    fn release(&mut self, _: Duration) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Progress, RunOptions, run};
    use filermark_engine::driver::StopFlag;
    use filermark_link::links::ThreadLinks;
    use filermark_model::launch::LaunchPlan;
    use filermark_model::plan::{ClientPlan, DriverPlan, MountPoint};
    use filermark_results::Outcome;
    use std::sync::Arc;

    /// The prime, its threads and queues, with many agents. The benchmark program measures
    /// the cost.
    #[test]
    fn a_prime_holds_many_agents_and_all_their_figures() {
        const AGENTS: usize = 120;
        const PROCS: u32 = 10;
        let nowhere = MountPoint {
            host: "null".into(),
            path: "/".into(),
        };
        let client = |at: usize| ClientPlan {
            name: format!("p{at}"),
            mounts: vec![nowhere.clone(); PROCS as usize],
        };
        let mut plan = filermark_results::testing::plan();
        plan.driver = DriverPlan::NULL;
        plan.clients = (0..AGENTS).map(client).collect();
        plan.procs_per_client = PROCS;
        plan.points.truncate(1);
        plan.phases.warmup = Nanos::from_secs(1);
        plan.phases.runtime = Nanos::from_secs(3);
        let launch = LaunchPlan::local(plan.clients.iter().map(|c| c.name.clone()));
        let dir = tempfile::tempdir().expect("a directory");
        let mut seconds = Vec::new();
        let launcher = FakeLauncher(|_| {
            let (ours, theirs) = filermark_link::local::local_pair()?;
            std::thread::Builder::new().spawn(move || serve(theirs))?;
            Ok(ours)
        });
        let board = ThreadLinks::launch(&launch, Arc::new(launcher));
        let options = RunOptions {
            plan,
            launch,
            suffix: "many".into(),
            dir: dir.path().into(),
            stop_command: "filermark stop".into(),
            inputs: Vec::new(),
            goes_on: false,
            client_log_dir: None,
            heartbeat_log: None,
            reports: &[],
            stop: StopFlag::new(),
            observe: &mut |progress| {
                if let Progress::Second(second) = progress {
                    seconds.push((second.second, second.success_count));
                }
            },
        };
        let record = run(options, Box::new(board)).expect("a record").record;
        assert_eq!(record.end.expect("an end").outcome, Outcome::Complete);
        let all = AGENTS as u64 * u64::from(PROCS) * OPS_PER_PROC;
        let stats = record.points[0].measured().expect("measured");
        assert_eq!(stats.success_count(), 3 * all);
        assert_eq!(stats.procs.len(), AGENTS * PROCS as usize);
        let numbers: Vec<u32> = stats.procs.iter().map(|p| p.proc).collect();
        assert!(numbers.is_sorted(), "{numbers:?}");
        assert_eq!(record.points[0].clients.len(), AGENTS);
        // Every second once, some with the figures of all agents.
        let numbers: Vec<i64> = seconds.iter().map(|(s, _)| *s).collect();
        assert!(numbers.windows(2).all(|w| w[0] < w[1]), "{numbers:?}");
        assert!(
            seconds.iter().filter(|(_, n)| *n == all).count() >= 2,
            "{seconds:?}"
        );
    }
}
