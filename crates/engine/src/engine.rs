//! An agent's engine: its shards, each on a thread of its own, and the phases
//! of a load point over all of them.

use crate::assign_procs::{AssignedProc, members};
use crate::clock::Clock;
use crate::data::{DataSource, VerifyLevel};
use crate::driver::{Capabilities, Claim, DriverError, LoadDriver, ShardSetup, StopFlag};
use crate::live_counts::LiveCounts;
use crate::open_ops::{OpenOp, OpenOps, OpenOpsSampler};
use crate::proc::Operations;
use crate::recorder::LiveEvents;
use crate::shard::{PhaseError, RunTimes, Shard, ShardParts, ShardProc, TaskReport, Timetable};
use crate::shared_recorder::{GroupSetup, SharedRecorder};
use filermark_model::plan::{MountPoint, PacingMode};
use filermark_model::silence;
use filermark_model::{LoadPoint, Nanos, PointStats, RunPlan};
use std::cell::Cell;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, TryRecvError, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// CLEANUP may take as long as INIT (INIT_TIMEOUT), and at least this long: what
/// took an hour to make is not removed in ten minutes.
pub const CLEANUP_LIMIT_MIN: Nanos = Nanos::from_secs(600);

/// CLEANUP ends when no object was removed for so long, in seconds: the server is gone. Drivers
/// whose operations block remove whole trees in a step, and have no such limit.
pub const CLEANUP_SILENCE_S_MAX: u32 = 120;

/// Groups of counters per core and component, for blocking shards.
const GROUPS_PER_CORE: usize = 2;

/// Between two checks whether shards have answered, and the increment per shard.
const GATHER_PAUSE: Duration = Duration::from_millis(2);
const GATHER_PAUSE_PER_SHARD: Duration = Duration::from_micros(5);

/// How long a shard may take to answer, or to end, after a stop was requested: more than the 5 s of
/// `shard::tasks`, less than the 10 s that the prime waits for an agent. One that takes longer is
/// inside a system call that does not return.
pub const HANG_MAX: Duration = Duration::from_secs(8);
/// How many times as long a shard may take to end if no stop was requested before.
const UNSTOPPED_FACTOR: u32 = 8;

/// The shards of one agent.
pub struct Engine {
    shards: Vec<Handle>,
    plan: Arc<RunPlan>,
    stop: StopFlag,
    clock: Clock,
    live: Option<SyncSender<LiveEvents>>,
    live_counts: Option<Arc<LiveCounts>>,
    /// What the shards have under way, where each blocks.
    open_ops: Arc<OpenOps>,
    client: usize,
    driver: Arc<dyn LoadDriver>,
    claim: Claim,
    hang_max: Duration,
}

/// What may be left when an engine has ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EngineEnd {
    /// Clients that the server may keep, as [`crate::driver::ShardDriver::end`] has it.
    pub clients: u64,
    /// Threads that have not returned from the kernel, and what they do.
    pub hung: Vec<String>,
}

struct Handle {
    /// Its number.
    shard: usize,
    /// It did not answer in time, and gets no more commands.
    is_hung: Cell<bool>,
    /// The first of its procs' numbers: of blocking shards the only one.
    first_proc: u32,
    component: u32,
    /// Composites: the tree that its proc works in.
    tree: Option<(MountPoint, String)>,
    operations: Arc<Operations>,
    commands: Sender<Command>,
    replies: Receiver<Reply>,
    thread: Option<JoinHandle<u64>>,
    /// The clients that the server has of it, once it is open.
    clients: Arc<AtomicU64>,
}

enum Command {
    Init(u64),
    /// `false`: another shard does it for the same tree.
    DropCaches(bool),
    Run(LoadPoint, Timetable, Option<Arc<SharedRecorder>>),
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
    pub driver: Arc<dyn LoadDriver>,
    /// The run's directory.
    pub claim: Claim,
    /// The agent's clock.
    pub clock: Clock,
    /// The agent's request to stop.
    pub stop: StopFlag,
    /// Where the shards report their progress.
    pub live: Option<SyncSender<LiveEvents>>,
    /// How long a shard may take to answer after a stop: [`HANG_MAX`].
    pub hang_max: Duration,
}

impl Engine {
    /// Starts the threads and connects all procs.
    ///
    /// # Errors
    /// The first connection or mount that failed.
    pub fn start(setup: EngineSetup) -> Result<Self, PhaseError> {
        let plan = setup.plan.clone();
        let data = Arc::new(contents(&plan, &setup.claim));
        let capabilities = setup.driver.capabilities();
        let members = members(&plan, setup.client, &data);
        let live_counts = plan.heartbeat.map(|_| {
            let numbers = members.iter().map(|m| m.setup.number).collect();
            Arc::new(LiveCounts::new(numbers))
        });
        // None where there are more clients than procs.
        let count = match members.len() {
            0 => 0,
            procs => shard_count(&plan, procs, capabilities),
        };
        let mut procs_by_shard: Vec<Vec<AssignedProc>> = (0..count).map(|_| Vec::new()).collect();
        for (at, member) in members.into_iter().enumerate() {
            procs_by_shard[at % count].push(member);
        }
        let open_ops = OpenOps::new(count);
        let mut shards = Vec::with_capacity(count);
        for (shard, procs) in procs_by_shard.into_iter().enumerate() {
            let parts = ShardSetup {
                shard: shard as u32,
                shard_count: count as u32,
                clock: setup.clock.clone(),
                data: data.clone(),
                procs: procs.iter().map(|m| m.setup.clone()).collect(),
                claim: setup.claim.clone(),
                stop: setup.stop.clone(),
            };
            let mine = ShardParams {
                open_op: open_op(&plan, capabilities, &procs, OpenOp::of(&open_ops, shard)),
                ..ShardParams::of(procs, live_counts.clone())?
            };
            shards.push(spawn(parts, &setup, mine)?);
        }
        let engine = Self {
            shards,
            plan,
            stop: setup.stop,
            clock: setup.clock,
            live: setup.live,
            live_counts,
            open_ops,
            client: setup.client,
            driver: setup.driver,
            claim: setup.claim,
            hang_max: setup.hang_max,
        };
        for reply in engine.gather(u32::MAX) {
            match reply? {
                Reply::Open(Ok(_)) => {}
                // Only the user raises it at this time.
                Reply::Open(Err(_)) if engine.stop.is_raised() => return Err(PhaseError::Stopped),
                Reply::Open(Err(error)) => return Err(PhaseError::Driver(error)),
                Reply::Tasks(_) | Reply::Run(_) => return Err(unexpected_reply()),
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
        let procs = self.plan.proc_count_at(point);
        self.send(procs, |_| Command::Init(files));
        let mut report = self.gather_tasks(procs)?;
        let drops = self.driver.drops_caches();
        if report.bytes > 0 || drops {
            self.settle()?;
        }
        if drops {
            report.uncached_count = self.drop_caches(procs)?;
        }
        Ok(report)
    }

    /// Removes from this host's cache what INIT, or the load point before, has left; of
    /// procs that share a tree only the first does it.
    fn drop_caches(&mut self, procs: u32) -> Result<u64, PhaseError> {
        let mut known = BTreeSet::new();
        self.send(procs, |shard| {
            Command::DropCaches(known.insert(shard.tree.clone()))
        });
        Ok(self.gather_tasks(procs)?.uncached_count)
    }

    /// WARMUP and RUN of a load point.
    ///
    /// # Errors
    /// The first shard's reason; the others have stopped.
    pub fn run(
        &mut self,
        point: LoadPoint,
        times: impl Into<Timetable>,
    ) -> Result<PointStats, PhaseError> {
        let timetable = times.into();
        let procs = self.plan.proc_count_at(point);
        let groups = self.groups(procs, timetable.latest());
        let mut turns: Vec<_> = groups.iter().map(|of| of.iter().cycle()).collect();
        self.send(procs, |shard| {
            let group = turns
                .get_mut(shard.component as usize)
                .and_then(|turn| turn.next().cloned());
            Command::Run(point, timetable.clone(), group)
        });
        let mut all = PointStats::default();
        let mut first_error = None;
        let origin = timetable.latest().run_start;
        let groups: Vec<_> = groups.into_iter().flatten().collect();
        let live = self.live.as_ref();
        let mut open = OpenOpsSampler::begin(&self.open_ops, &self.clock, live, &groups, origin);
        for reply in self.gather_watching(procs, || open.sample()) {
            match reply {
                Ok(Reply::Run(stats)) => match *stats {
                    Ok(stats) => all.merge(&stats),
                    Err(e) => self.note(&mut first_error, e),
                },
                Ok(_) => self.note(&mut first_error, unexpected_reply()),
                Err(e) => self.note(&mut first_error, e),
            }
        }
        open.finish(&mut all, timetable.times().run_start);
        if !self.shards.iter().any(|s| s.first_proc < procs) {
            all.window_ns = self.wait_idle(&timetable)?;
        }
        let times = timetable.times();
        let replies = std::mem::take(&mut all.replies);
        all.silence = silence::longest(&replies, times.run_start, times.run_end);
        self.complete_components(&mut all, point);
        first_error.map_or(Ok(all), Err)
    }

    /// A client that has no proc at this load stays idle until RUN ends. Gives
    /// the length of RUN in nanoseconds.
    fn wait_idle(&self, timetable: &Timetable) -> Result<u64, PhaseError> {
        while self.clock.now() < timetable.times().run_end {
            if self.stop.is_raised() {
                return Err(PhaseError::Stopped);
            }
            std::thread::sleep(GATHER_PAUSE);
        }
        let times = timetable.times();
        Ok(times.run_end.since(times.run_start).0)
    }

    /// CLEANUP of everything that the procs have made. Works also after a stop was
    /// requested: the request is withdrawn first.
    ///
    /// # Errors
    /// The first shard's reason.
    pub fn cleanup(&mut self) -> Result<TaskReport, PhaseError> {
        self.stop.lower();
        self.send(u32::MAX, |_| Command::Cleanup);
        self.gather_tasks(u32::MAX)
    }

    /// Once per mount point, after all shards: if each of many procs did it, the file
    /// system would write again what the others are still adding to.
    fn settle(&self) -> Result<(), PhaseError> {
        let mut mounts: Vec<_> = self.plan.procs_of(self.client);
        mounts.sort_by(|a, b| a.1.cmp(&b.1));
        mounts.dedup_by(|a, b| a.1 == b.1);
        for (_, mount) in &mounts {
            self.driver.settle(mount, &self.claim)?;
        }
        Ok(())
    }

    /// Every proc's operations so far, when heartbeats are wanted.
    pub fn live_counts(&self) -> Option<Arc<LiveCounts>> {
        self.live_counts.clone()
    }

    /// The agent's clock.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Threads that make load.
    pub fn shard_count(&self) -> usize {
        self.shards.len()
    }

    /// Sends a command to the shards whose procs are among the first `procs`.
    fn send(&self, procs: u32, mut command: impl FnMut(&Handle) -> Command) {
        let shards = self.shards.iter().filter(|s| s.first_proc < procs);
        for shard in shards.filter(|s| !s.is_hung.get()) {
            // A shard that has ended is noticed when its reply is missing.
            let _ = shard.commands.send(command(shard));
        }
    }

    /// Counters for blocking shards: some groups per component, whose members take
    /// turns. None for the others.
    fn groups(&self, procs: u32, times: RunTimes) -> Vec<Vec<Arc<SharedRecorder>>> {
        let Some(composite) = self.plan.benchmark.composite() else {
            return Vec::new();
        };
        let most = crate::sys::core_count() * GROUPS_PER_CORE;
        let seconds = times.run_end.since(times.warmup_start).0 / 1_000_000_000;
        let of = |(at, component): (usize, &filermark_model::composite::Component)| {
            let is_one = |s: &&Handle| s.first_proc < procs && s.component as usize == at;
            let mine: Vec<_> = self.shards.iter().filter(is_one).collect();
            let groups = mine.len().min(most);
            (0..groups)
                .map(|group| {
                    let setup = GroupSetup {
                        mix: mine[group].operations.mix(),
                        component: at as u32,
                        background: component.workload.attributes.background,
                        unpaced: mine.iter().skip(group).step_by(groups).all(|s| {
                            self.plan
                                .proc(s.first_proc)
                                .is_none_or(|p| p.ops_per_sec.is_none())
                        }),
                        proc_count: (group..mine.len()).step_by(groups).count(),
                        depth: component.workload.attributes.depth,
                        seconds: seconds as usize + 1,
                        live: self.live.clone().filter(|_| {
                            // What is not counted is not reported either.
                            !component.workload.attributes.background
                        }),
                    };
                    SharedRecorder::new(setup, times)
                })
                .collect()
        };
        composite.components.iter().enumerate().map(of).collect()
    }

    /// Fills in what the counters do not have: how many procs a component had, and
    /// how many operations were intended.
    fn complete_components(&self, all: &mut PointStats, point: LoadPoint) {
        let procs = self.plan.proc_count_at(point);
        let seconds = all.window_ns as f64 / 1e9;
        for component in &mut all.components {
            let is_one = |s: &&Handle| s.first_proc < procs && s.component == component.component;
            let mine = self.shards.iter().filter(is_one);
            let rates = mine.map(|s| self.plan.rate_of_proc(s.first_proc, point));
            component.proc_count = rates.clone().count() as u32;
            let total: Option<f64> = rates.map(|r| r.map(|r| r.0)).sum();
            component.wanted_count = (total.unwrap_or(0.0) * seconds).round() as u64;
        }
    }

    fn gather_tasks(&mut self, procs: u32) -> Result<TaskReport, PhaseError> {
        let mut all = TaskReport::default();
        let mut first_error = None;
        for reply in self.gather(procs) {
            match reply {
                Ok(Reply::Tasks(Ok(report))) => {
                    all.task_count += report.task_count;
                    all.failed_count += report.failed_count;
                    all.bytes += report.bytes;
                    all.uncached_count += report.uncached_count;
                }
                Ok(Reply::Tasks(Err(e))) | Err(e) => self.note(&mut first_error, e),
                Ok(_) => self.note(&mut first_error, unexpected_reply()),
            }
        }
        first_error.map_or(Ok(all), Err)
    }

    /// Keeps the first error that is not a consequence of the stop, and stops the other shards.
    fn note(&self, first: &mut Option<PhaseError>, error: PhaseError) {
        self.stop.raise();
        match first {
            None | Some(PhaseError::Stopped) => *first = Some(error),
            Some(_) => {}
        }
    }

    /// One reply of every shard whose procs are among the first `procs`, in the order
    /// in which they come.
    fn gather(&self, procs: u32) -> impl Iterator<Item = Result<Reply, PhaseError>> + '_ {
        self.gather_watching(procs, || {})
    }

    /// As [`Self::gather`]; `poll` is called every few milliseconds meanwhile.
    fn gather_watching<'a>(
        &'a self,
        procs: u32,
        mut poll: impl FnMut() + 'a,
    ) -> impl Iterator<Item = Result<Reply, PhaseError>> + 'a {
        let among = |s: &&Handle| s.first_proc < procs;
        let mut waiting: Vec<&Handle> = self.shards.iter().filter(among).collect();
        let mut limit = StopLimit::new(self.hang_max);
        std::iter::from_fn(move || {
            loop {
                let is_over = limit.is_over(self.stop.is_raised());
                if waiting.is_empty() {
                    return None;
                }
                for at in 0..waiting.len() {
                    let shard = waiting[at];
                    let reply = match shard.replies.try_recv() {
                        // A late one answers an earlier command.
                        _ if shard.is_hung.get() => Err(self.hung(shard, limit.max)),
                        Ok(reply) => Ok(reply),
                        Err(TryRecvError::Empty) if is_over => Err(self.hung(shard, limit.max)),
                        Err(TryRecvError::Empty) => continue,
                        Err(TryRecvError::Disconnected) => Err(PhaseError::Died("no reply".into())),
                    };
                    waiting.swap_remove(at);
                    return Some(reply);
                }
                poll();
                // The more there are, the longer: the checks must not take processor time
                // from the load.
                let pause = GATHER_PAUSE + GATHER_PAUSE_PER_SHARD * waiting.len() as u32;
                std::thread::sleep(pause);
            }
        })
    }
}

impl Engine {
    /// Ends all shards, and what the server keeps for them. A thread that does not return from the
    /// kernel is left.
    pub fn end(mut self) -> EngineEnd {
        self.end_shards()
    }

    fn end_shards(&mut self) -> EngineEnd {
        // No process waits for the end of a run that was not stopped, and many sessions take their time.
        let max = match self.stop.is_raised() {
            true => self.hang_max,
            false => self.hang_max * UNSTOPPED_FACTOR,
        };
        self.stop.raise();
        for shard in &mut self.shards {
            let (closed, _) = channel();
            shard.commands = closed;
        }
        let mut limit = StopLimit::new(max);
        let runs = |shard: &&Handle| shard.thread.as_ref().is_some_and(|t| !t.is_finished());
        // One that hangs already was waited for.
        let waits = |shard: &Handle| runs(&shard) && !shard.is_hung.get();
        while self.shards.iter().any(waits) && !limit.is_over(true) {
            std::thread::sleep(GATHER_PAUSE);
        }
        let hung = self.shards.iter().filter(runs);
        let mut end = EngineEnd {
            clients: 0,
            hung: hung
                .map(|shard| self.hung(shard, max).to_string())
                .collect(),
        };
        for shard in &mut self.shards {
            let all = shard.clients.load(Ordering::Acquire);
            end.clients += match shard.thread.take() {
                Some(thread) if thread.is_finished() => clients_left(thread, &shard.clients),
                Some(_) => all,
                None => 0,
            };
        }
        end
    }

    /// A shard that does not answer; it gets no more commands.
    fn hung(&self, shard: &Handle, max: Duration) -> PhaseError {
        shard.is_hung.set(true);
        let call = self.open_ops.call_text(shard.shard);
        let call = call.unwrap_or_else(|| "it is not known in which operation".to_owned());
        PhaseError::Hung {
            seconds: max.as_secs(),
            call: format!(
                "thread shard-{} (procs from {}): {call}",
                shard.shard, shard.first_proc
            ),
        }
    }
}

/// How long shards are waited for after a stop was requested.
struct StopLimit {
    max: Duration,
    since: Option<Instant>,
}

impl StopLimit {
    fn new(max: Duration) -> Self {
        Self { max, since: None }
    }

    fn is_over(&mut self, is_stopped: bool) -> bool {
        if !is_stopped {
            self.since = None;
            return false;
        }
        self.since.get_or_insert_with(Instant::now).elapsed() >= self.max
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        let _ = self.end_shards();
    }
}

/// How many clients the server may keep of a shard. A thread that has panicked has ended nothing there.
fn clients_left(thread: JoinHandle<u64>, clients: &AtomicU64) -> u64 {
    let all = |_| clients.load(Ordering::Acquire);
    thread.join().unwrap_or_else(all)
}

fn unexpected_reply() -> PhaseError {
    PhaseError::Died("an unexpected reply".into())
}

/// One thread per core, two at least; one per proc for drivers that block.
fn shard_count(plan: &RunPlan, procs: usize, driver: Capabilities) -> usize {
    // Procs of composites are of several kinds, each with its own rate.
    if driver.blocking || plan.benchmark.composite().is_some() {
        return procs;
    }
    let wanted = plan
        .shards
        .map_or_else(|| crate::sys::core_count().max(2), |n| n as usize);
    let most = driver.shards_max.map_or(usize::MAX, |n| n as usize);
    wanted.min(most).clamp(1, procs)
}

/// The contents of a run's files. A driver that continues with an earlier run's files
/// creates their contents with that run's identity ([`DataSource::of_earlier`]).
fn contents(plan: &RunPlan, claim: &Claim) -> DataSource {
    let checking = match plan.fileset.verify {
        true => VerifyLevel::All,
        false => VerifyLevel::Sample,
    };
    DataSource::of_run(plan.seed, &claim.nonce(), checking)
        .overlapping(plan.pacing.mode == PacingMode::Open || has_depth(plan))
}

/// Whether procs have several operations under way, by their workload.
fn has_depth(plan: &RunPlan) -> bool {
    let composite = plan.benchmark.composite();
    let mut components = composite.iter().flat_map(|all| &all.components);
    components.any(|c| c.workload.attributes.depth > 1)
}

/// How many operations each proc of a shard has under way, where its workload says so.
fn depth_of(setup: &ShardSetup) -> Option<u32> {
    let trees = setup.procs.iter().filter_map(|proc| proc.tree.as_ref());
    let depths = trees.map(|tree| tree.workload.attributes.depth);
    depths.max().filter(|depth| *depth > 1)
}

/// Where a blocking shard publishes what is under way; `None` for other shards.
fn open_op(
    plan: &RunPlan,
    driver: Capabilities,
    procs: &[AssignedProc],
    own: OpenOp,
) -> Option<OpenOp> {
    let component = procs.first().map_or(0, |member| member.component as usize);
    let composite = plan.benchmark.composite();
    let component = composite.and_then(|all| all.components.get(component));
    let is_background = component.is_some_and(|c| c.workload.attributes.background);
    driver.blocking.then(|| own.background(is_background))
}

fn spawn(parts: ShardSetup, setup: &EngineSetup, mine: ShardParams) -> Result<Handle, PhaseError> {
    let (first_proc, component) = (mine.first_proc, mine.component);
    let (operations, tree) = (mine.operations.clone(), mine.tree.clone());
    let clients = mine.clients.clone();
    let (commands, orders) = channel();
    let (answers, replies) = channel();
    let driver = setup.driver.clone();
    let plan = setup.plan.clone();
    let live = setup.live.clone();
    let shard = parts.shard as usize;
    let name = format!("shard-{shard}");
    let thread = std::thread::Builder::new()
        .name(name)
        .spawn(move || serve(parts, driver, plan, mine, live, orders, answers))
        .map_err(|e| PhaseError::Died(e.to_string()))?;
    Ok(Handle {
        shard,
        is_hung: Cell::new(false),
        first_proc,
        component,
        tree,
        operations,
        commands,
        replies,
        thread: Some(thread),
        clients,
    })
}

/// What only one shard has.
struct ShardParams {
    first_proc: u32,
    component: u32,
    tree: Option<(MountPoint, String)>,
    procs: Vec<ShardProc>,
    operations: Arc<Operations>,
    live_counts: Option<Arc<LiveCounts>>,
    open_op: Option<OpenOp>,
    clients: Arc<AtomicU64>,
}

impl ShardParams {
    /// The parameters of a shard with these procs.
    fn of(
        procs: Vec<AssignedProc>,
        live_counts: Option<Arc<LiveCounts>>,
    ) -> Result<Self, PhaseError> {
        let Some(first) = procs.first() else {
            return Err(PhaseError::Died("a shard without procs".into()));
        };
        let tree = first.setup.tree.as_ref();
        Ok(Self {
            first_proc: first.setup.number,
            component: first.component,
            tree: tree.map(|tree| (first.setup.mount.clone(), tree.name.clone())),
            operations: first.operations.clone(),
            procs: procs.into_iter().map(|m| m.proc).collect(),
            live_counts,
            open_op: None,
            clients: Arc::default(),
        })
    }
}

/// A shard's thread: connects, then carries out commands until the channel is closed. Returns how many
/// clients the server may keep.
fn serve(
    setup: ShardSetup,
    driver: Arc<dyn LoadDriver>,
    plan: Arc<RunPlan>,
    mine: ShardParams,
    live: Option<SyncSender<LiveEvents>>,
    orders: Receiver<Command>,
    answers: Sender<Reply>,
) -> u64 {
    crate::sys::minimize_timer_slack();
    let first_proc = setup.procs.first().map_or(0, |p| p.number);
    let interrupt_guard = crate::interrupt_guard::interrupt_on(&setup.stop);
    let opened = driver.open_shard(setup.clone());
    drop(interrupt_guard);
    let shard_driver = match opened {
        Ok(shard_driver) => shard_driver,
        Err(e) => {
            let _ = answers.send(Reply::Open(Err(e)));
            return 0;
        }
    };
    let depth = depth_of(&setup);
    mine.clients
        .store(shard_driver.clients(), Ordering::Release);
    let mut shard = Shard::new(ShardParts {
        driver: shard_driver,
        blocking: depth.is_none()
            && (driver.capabilities().blocking || plan.benchmark.composite().is_some()),
        depth,
        open_op: mine.open_op,
        explain: driver,
        clock: setup.clock,
        stop: setup.stop,
        procs: mine.procs,
        operations: mine.operations,
        live_counts: mine.live_counts,
        pacing: plan.pacing,
        seed: plan.seed,
        live,
    });
    let _ = answers.send(Reply::Open(Ok(shard.transfer_bytes())));
    let window = plan.fileset.init_window as usize;
    while let Some(order) = shard.next_order(&orders) {
        let reply = match order {
            Command::Init(files) => {
                Reply::Tasks(shard.init(files, window, plan.phases.init_timeout))
            }
            Command::DropCaches(true) => Reply::Tasks(shard.drop_caches()),
            Command::DropCaches(false) => Reply::Tasks(Ok(TaskReport::default())),
            Command::Cleanup => {
                let limit = plan.phases.init_timeout.max(CLEANUP_LIMIT_MIN);
                Reply::Tasks(shard.cleanup(window, limit))
            }
            Command::Run(point, timetable, group) => {
                let rate = plan.rate_of_proc(first_proc, point).map(|r| r.0);
                let mut result = shard.run_counted(rate, timetable, group);
                if let Ok(stats) = &mut result {
                    stats.counters.append(&mut shard.take_counters());
                }
                Reply::Run(Box::new(result))
            }
        };
        if answers.send(reply).is_err() {
            break;
        }
    }
    shard.end()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clients_of_a_shard_that_panicked_are_left() {
        let clients = AtomicU64::new(3);
        let ended = std::thread::spawn(|| 1);
        assert_eq!(clients_left(ended, &clients), 1);
        // Without a message on stderr.
        let panicked = std::thread::spawn(|| std::panic::resume_unwind(Box::new(())));
        assert_eq!(clients_left(panicked, &clients), 3);
    }
}
