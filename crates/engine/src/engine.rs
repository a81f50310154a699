//! An agent's engine: its shards, each on a thread of its own, and the phases
//! of a load point over all of them.

use crate::clock::Clock;
use crate::data::DataSource;
use crate::driver::{Capabilities, Claim, Driver, DriverError, ProcSetup, ShardSetup, StopFlag};
use crate::proc::Workload;
use crate::recorder::Live;
use crate::shard::{PhaseError, RunTimes, Shard, ShardParts, TaskReport};
use filermark_model::{LoadPoint, Nanos, PointStats, RunPlan};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel};
use std::thread::JoinHandle;

/// CLEANUP may take as long as INIT (INIT_TIMEOUT), and so long at least: what
/// took an hour to make is not removed in ten minutes.
pub const CLEANUP_LIMIT_MIN: Nanos = Nanos::from_secs(600);

/// The shards of one agent.
pub struct Engine {
    shards: Vec<Handle>,
    plan: Arc<RunPlan>,
    stop: StopFlag,
    clock: Clock,
}

struct Handle {
    commands: Sender<Command>,
    replies: Receiver<Reply>,
    thread: Option<JoinHandle<()>>,
}

enum Command {
    Init(u64),
    Run(LoadPoint, RunTimes),
    Cleanup,
}

enum Reply {
    Open(Result<(u32, u32), DriverError>),
    Tasks(Result<TaskReport, PhaseError>),
    Run(Box<Result<PointStats, PhaseError>>),
}

/// What an engine is started with.
pub struct EngineSetup {
    /// The plan.
    pub plan: Arc<RunPlan>,
    /// Which of the plan's clients this is.
    pub client: usize,
    /// The driver.
    pub driver: Arc<dyn Driver>,
    /// The run's directory.
    pub claim: Claim,
    /// The agent's clock.
    pub clock: Clock,
    /// The agent's wish to stop.
    pub stop: StopFlag,
    /// Where the shards tell how it goes.
    pub live: Option<SyncSender<Live>>,
}

impl Engine {
    /// Starts the threads and connects all procs.
    ///
    /// # Errors
    /// The first connection or mount that failed.
    pub fn start(setup: EngineSetup) -> Result<Self, PhaseError> {
        let plan = setup.plan.clone();
        let Some(classic) = plan.benchmark.classic() else {
            return Err(out_of_turn());
        };
        let workload = Arc::new(Workload::new(&plan.benchmark.mix, classic, plan.seed));
        let data = Arc::new(DataSource::new(plan.seed, plan.fileset.verify));
        let procs = procs_of(&plan, setup.client);
        let count = shard_count(&plan, procs.len(), setup.driver.capabilities());
        let mut shards = Vec::with_capacity(count);
        for shard in 0..count {
            let mine = procs.iter().skip(shard).step_by(count).cloned().collect();
            let parts = ShardSetup {
                shard: shard as u32,
                shard_count: count as u32,
                clock: setup.clock.clone(),
                data: data.clone(),
                procs: mine,
                claim: setup.claim.clone(),
                stop: setup.stop.clone(),
            };
            shards.push(spawn(parts, &setup, workload.clone())?);
        }
        let engine = Self {
            shards,
            plan,
            stop: setup.stop,
            clock: setup.clock,
        };
        for reply in engine.gather() {
            match reply? {
                Reply::Open(opened) => opened.map(|_| ()).map_err(PhaseError::Driver)?,
                _ => return Err(out_of_turn()),
            }
        }
        Ok(engine)
    }

    /// INIT of a load point.
    ///
    /// # Errors
    /// The first shard's reason; the others have stopped.
    pub fn init(&mut self, point: LoadPoint) -> Result<TaskReport, PhaseError> {
        let files = self.plan.io_file_count(point.requested);
        self.send(|| Command::Init(files));
        self.gather_tasks()
    }

    /// WARMUP and RUN of a load point.
    ///
    /// # Errors
    /// The first shard's reason; the others have stopped.
    pub fn run(&mut self, point: LoadPoint, times: RunTimes) -> Result<PointStats, PhaseError> {
        self.send(|| Command::Run(point, times));
        let mut all = PointStats::default();
        let mut first_error = None;
        for reply in self.gather() {
            match reply {
                Ok(Reply::Run(stats)) => match *stats {
                    Ok(stats) => all.merge(&stats),
                    Err(e) => self.note(&mut first_error, e),
                },
                Ok(_) => self.note(&mut first_error, out_of_turn()),
                Err(e) => self.note(&mut first_error, e),
            }
        }
        first_error.map_or(Ok(all), Err)
    }

    /// CLEANUP of everything that the procs have made. Works also when the wish
    /// to stop was raised: it is lowered first.
    ///
    /// # Errors
    /// The first shard's reason.
    pub fn cleanup(&mut self) -> Result<TaskReport, PhaseError> {
        self.stop.lower();
        self.send(|| Command::Cleanup);
        self.gather_tasks()
    }

    /// The agent's clock.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Threads that make load.
    pub fn shard_count(&self) -> usize {
        self.shards.len()
    }

    fn send(&self, command: impl Fn() -> Command) {
        for shard in &self.shards {
            // A shard that is gone is noticed when its reply is missing.
            let _ = shard.commands.send(command());
        }
    }

    fn gather_tasks(&mut self) -> Result<TaskReport, PhaseError> {
        let mut all = TaskReport::default();
        let mut first_error = None;
        for reply in self.gather() {
            match reply {
                Ok(Reply::Tasks(Ok(report))) => {
                    all.task_count += report.task_count;
                    all.failed_count += report.failed_count;
                    all.bytes += report.bytes;
                }
                Ok(Reply::Tasks(Err(e))) | Err(e) => self.note(&mut first_error, e),
                Ok(_) => self.note(&mut first_error, out_of_turn()),
            }
        }
        first_error.map_or(Ok(all), Err)
    }

    /// Keeps the first reason that says something, and stops the other shards.
    fn note(&self, first: &mut Option<PhaseError>, error: PhaseError) {
        self.stop.raise();
        match first {
            None | Some(PhaseError::Stopped) => *first = Some(error),
            Some(_) => {}
        }
    }

    /// One reply of every shard, in the order in which they come.
    fn gather(&self) -> impl Iterator<Item = Result<Reply, PhaseError>> + '_ {
        let mut waiting: Vec<&Handle> = self.shards.iter().collect();
        std::iter::from_fn(move || {
            loop {
                if waiting.is_empty() {
                    return None;
                }
                for at in 0..waiting.len() {
                    match waiting[at].replies.try_recv() {
                        Ok(reply) => {
                            waiting.swap_remove(at);
                            return Some(Ok(reply));
                        }
                        Err(std::sync::mpsc::TryRecvError::Empty) => {}
                        Err(std::sync::mpsc::TryRecvError::Disconnected) => {
                            waiting.swap_remove(at);
                            return Some(Err(PhaseError::Died("no reply".into())));
                        }
                    }
                }
                std::thread::sleep(std::time::Duration::from_millis(2));
            }
        })
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.stop.raise();
        for shard in &mut self.shards {
            let (closed, _) = channel();
            shard.commands = closed;
        }
        for shard in &mut self.shards {
            if let Some(thread) = shard.thread.take() {
                let _ = thread.join();
            }
        }
    }
}

fn out_of_turn() -> PhaseError {
    PhaseError::Died("a reply out of turn".into())
}

/// The procs of one client: their numbers in the run and what they work on.
fn procs_of(plan: &RunPlan, client: usize) -> Vec<ProcSetup> {
    let first = client as u32 * plan.procs_per_client;
    let mounts = plan.clients.get(client).map_or(&[][..], |c| &c.mounts[..]);
    (0..plan.procs_per_client)
        .zip(mounts)
        .map(|(at, mount)| ProcSetup {
            number: first + at,
            mount: mount.clone(),
            tree: None,
        })
        .collect()
}

/// One thread per core, two at least; one per proc for drivers that block.
fn shard_count(plan: &RunPlan, procs: usize, driver: Capabilities) -> usize {
    if driver.blocking {
        return procs.max(1);
    }
    let wanted = plan
        .shards
        .map_or_else(|| crate::sys::core_count().max(2), |n| n as usize);
    let most = driver.shards_max.map_or(usize::MAX, |n| n as usize);
    wanted.min(most).clamp(1, procs.max(1))
}

fn spawn(
    parts: ShardSetup,
    setup: &EngineSetup,
    workload: Arc<Workload>,
) -> Result<Handle, PhaseError> {
    let (commands, orders) = channel();
    let (answers, replies) = channel();
    let driver = setup.driver.clone();
    let plan = setup.plan.clone();
    let live = setup.live.clone();
    let name = format!("shard-{}", parts.shard);
    let thread = std::thread::Builder::new()
        .name(name)
        .spawn(move || serve(parts, driver, plan, workload, live, orders, answers))
        .map_err(|e| PhaseError::Died(e.to_string()))?;
    Ok(Handle {
        commands,
        replies,
        thread: Some(thread),
    })
}

/// A shard's thread: connects, then does what it is told until nobody tells it any more.
fn serve(
    setup: ShardSetup,
    driver: Arc<dyn Driver>,
    plan: Arc<RunPlan>,
    workload: Arc<Workload>,
    live: Option<SyncSender<Live>>,
    orders: Receiver<Command>,
    answers: Sender<Reply>,
) {
    crate::sys::sharpen_timers();
    let opened = driver.open_shard(setup.clone());
    let shard_driver = match opened {
        Ok(shard_driver) => shard_driver,
        Err(e) => {
            let _ = answers.send(Reply::Open(Err(e)));
            return;
        }
    };
    let mut shard = Shard::new(ShardParts {
        driver: shard_driver,
        explain: driver,
        clock: setup.clock,
        stop: setup.stop,
        procs: setup
            .procs
            .iter()
            .map(|p| (p.number, p.mount.to_string()))
            .collect(),
        proc_count: plan.proc_count(),
        workload,
        pacing: plan.pacing,
        seed: plan.seed,
        live,
    });
    let _ = answers.send(Reply::Open(Ok(shard.transfer_bytes())));
    let window = plan.fileset.init_window as usize;
    while let Ok(order) = orders.recv() {
        let reply = match order {
            Command::Init(files) => {
                Reply::Tasks(shard.init(files, window, plan.phases.init_timeout))
            }
            Command::Cleanup => {
                let limit = plan.phases.init_timeout.max(CLEANUP_LIMIT_MIN);
                Reply::Tasks(shard.cleanup(window, limit))
            }
            Command::Run(point, times) => {
                let rate = plan.rate_per_proc(point.requested).0;
                let mut result = shard.run(rate, times);
                if let Ok(stats) = &mut result {
                    stats.counters.append(&mut shard.take_counters());
                }
                Reply::Run(Box::new(result))
            }
        };
        if answers.send(reply).is_err() {
            return;
        }
    }
}
