//! The work of an agent on its host: the engine, and the run's directories. One task at a time,
//! on its own thread; the result of a task is its report.

use super::clock_check::ClockSampler;
use super::free_space;
use super::inspect::{ProbeFiles, inspect};
use super::lease::{Lease, WaitReporter, blocking_dirs};
use super::lengths::SharedDurations;
use super::live;
use super::pulse::HeartbeatSampler;
use super::reads::{CounterSampler, CounterSource};
use super::space_used;
use super::space_watch::FreeSpaceMonitor;
use super::streams::Reports;
use filermark_driver_kit::claim::{ClaimRole, is_of_others};
use filermark_driver_kit::driver::{Driver, ReleaseScope};
use filermark_driver_kit::survey::is_kept;
use filermark_engine::clock::Clock;
use filermark_engine::driver::{Claim, DriverError, StopFlag};
use filermark_engine::engine::{Engine, EngineEnd, EngineSetup, HANG_MAX};
use filermark_engine::interrupt_guard;
use filermark_engine::recorder::LiveEvents;
use filermark_engine::shard::{PhaseError, RunTimes, TaskReport, Timetable};
use filermark_engine::watchdog::Watchdog;
use filermark_link::agent_state::LongTask;
use filermark_link::facts::InspectRequest;
use filermark_link::message::{ClientShare, FreeSpace, Leftover, Report, TaskTotals};
use filermark_link::plan_password;
use filermark_link::secure::seal::Opener;
use filermark_link::watchdog::no_watchdog;
use filermark_model::plan::{MountPoint, PhasePlan};
use filermark_model::{LoadPoint, Nanos, RunPlan};
use filermark_results::{Environment, MountFacts};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::mpsc::{Sender, SyncSender, channel, sync_channel};
use std::time::Instant;

/// Events of the shards that may wait; more are dropped.
const LIVE_QUEUE: usize = 4096;

/// Begins to process tasks; `done` is called with the report of each. Ends when the sender of
/// tasks is dropped.
pub(super) fn begin(
    reports: Reports,
    opener: Opener,
    stop: StopFlag,
    clock: Clock,
    lengths: SharedDurations,
    done: impl Fn(Report) + Send + 'static,
) -> std::io::Result<Sender<LongTask>> {
    let (sender, tasks) = channel::<LongTask>();
    let (live, events) = sync_channel(LIVE_QUEUE);
    let (flusher, flush_requests) = live::Flusher::new(live.clone());
    let live_reports = reports.clone();
    std::thread::Builder::new()
        .name("agent-live".into())
        .spawn(move || live::forward_intervals(&events, &flush_requests, &live_reports))?;
    std::thread::Builder::new()
        .name("agent-work".into())
        .spawn(move || {
            let mut work = AgentWorker {
                stop,
                opener,
                reports,
                live,
                flusher,
                clock,
                lengths,
                prepared: None,
                probes: ProbeFiles::default(),
            };
            let _interrupt_guard = interrupt_guard::interrupt_on(&work.stop);
            while let Ok(task) = tasks.recv() {
                let report = work.carry_out(task);
                work.flusher.flush();
                done(report);
            }
        })?;
    Ok(sender)
}

struct PreparedRun {
    plan: Arc<RunPlan>,
    /// The index of this client in the plan.
    client: usize,
    driver: Arc<dyn Driver>,
    claim: Claim,
    mounts: Vec<MountPoint>,
    /// The file systems behind them, if they report their space.
    file_systems: Vec<FreeSpace>,
    engine: Option<Engine>,
    /// The leases of the claimed directories.
    leases: Vec<Lease>,
}

struct AgentWorker {
    stop: StopFlag,
    /// Decrypts what the prime has encrypted for this agent.
    opener: Opener,
    reports: Reports,
    live: SyncSender<LiveEvents>,
    flusher: live::Flusher,
    clock: Clock,
    lengths: SharedDurations,
    prepared: Option<PreparedRun>,
    /// Preflight's probe files that are not removed yet.
    probes: ProbeFiles,
}

impl AgentWorker {
    fn carry_out(&mut self, task: LongTask) -> Report {
        match task {
            LongTask::Inspect(request) => self.inspect(*request),
            LongTask::Prepare(share) => self.prepare(share),
            LongTask::Init { point, watch_space } => self.init(point, &watch_space),
            LongTask::Run {
                point,
                warmup_at,
                watch_space,
                phases,
            } => self.run(point, warmup_at, &watch_space, phases),
            LongTask::Cleanup => self.cleanup(),
            LongTask::Release { orphans } => self.release(orphans),
            LongTask::Sweep(mut share) => match plan_password::open(&mut share, &mut self.opener) {
                Ok(()) => self.sweep(share),
                Err(reason) => failed(reason),
            },
            LongTask::FinalCleanup => self.final_cleanup(),
        }
    }

    fn inspect(&mut self, mut request: InspectRequest) -> Report {
        if let InspectRequest::Host {
            driver, password, ..
        }
        | InspectRequest::Validate {
            driver, password, ..
        } = &mut request
            && let Err(reason) = plan_password::open_into(driver, password.take(), &mut self.opener)
        {
            return failed(reason);
        }
        let facts = inspect(request, &mut self.probes, &self.stop);
        Report::Inspected(Box::new(facts))
    }

    fn prepare(&mut self, mut share: ClientShare) -> Report {
        if let Err(reason) = plan_password::open(&mut share, &mut self.opener) {
            return failed(reason);
        }
        let (plan, client, claim) = parts(share);
        let driver = match filermark_drivers::open(&plan.driver) {
            Ok(driver) => driver,
            Err(reason) => return failed(reason),
        };
        let missing = plan
            .benchmark
            .mix
            .shares()
            .iter()
            .find(|(op, _)| !driver.capabilities().ops.contains(*op));
        if let Some((op, _)) = missing {
            return failed(format!(
                "the {} driver does not support '{op}', which the mix contains",
                driver.name()
            ));
        }
        let mounts = mounts_of(&plan, client);
        let prepared = self.prepared.insert(PreparedRun {
            plan,
            client: client as usize,
            driver,
            claim,
            mounts,
            file_systems: Vec::new(),
            engine: None,
            leases: Vec::new(),
        });
        let watch = WaitReporter {
            reports: &self.reports,
            stop: &self.stop,
        };
        match prepared.connect(client, &self.clock, &watch, &self.live) {
            Ok(report) => report,
            Err(report) => report,
        }
    }

    fn init(&mut self, point: LoadPoint, watch_space: &[String]) -> Report {
        let (driver, file_systems) = match &self.prepared {
            Some(p) => (p.driver.clone(), p.file_systems.clone()),
            None => return failed("not prepared".into()),
        };
        let before = space_used::query(&*driver, &file_systems);
        let (watched, reports) = (driver.clone(), self.reports.clone());
        let _space = FreeSpaceMonitor::begin(watched, &file_systems, watch_space, reports);
        self.with_engine(|engine| {
            let began = Instant::now();
            let done = engine.init(point)?;
            let tasks = tasks(done, began);
            let after = space_used::query(&*driver, &file_systems);
            let space = space_used::changes(&file_systems, &before, &after);
            Ok(Report::Populated { tasks, space })
        })
    }

    fn run(
        &mut self,
        point: LoadPoint,
        warmup_start: Nanos,
        watch_space: &[String],
        phases: Option<PhasePlan>,
    ) -> Report {
        let Some(plan) = self.prepared.as_ref().map(|p| p.plan.clone()) else {
            return failed("not prepared".into());
        };
        let (phases, reports) = (phases.unwrap_or(plan.phases), self.reports.clone());
        let client = self.prepared.as_ref().map(CounterSource::of);
        let lengths = self.lengths.clone();
        let _space = self.prepared.as_ref().and_then(|p| {
            let (driver, reports) = (p.driver.clone(), reports.clone());
            FreeSpaceMonitor::begin(driver, &p.file_systems, watch_space, reports)
        });
        self.with_engine(|engine| {
            let late = engine.clock().now().since(warmup_start);
            let run_start = warmup_start + phases.warmup;
            let latest = RunTimes {
                warmup_start,
                run_start,
                run_end: run_start + phases.longest_run(),
            };
            let timetable = match phases.runtime_max {
                Some(_) => Timetable::with_open_end(latest),
                None => Timetable::from(latest),
            };
            lengths.begin(&timetable);
            let counts = engine.live_counts();
            let reads = client.and_then(|client| {
                CounterSampler::begin(client, engine.clock(), timetable.clone())
            });
            let watchdog = match Watchdog::begin(engine.clock(), timetable.run_start()) {
                Ok(watchdog) => watchdog,
                Err(e) => return Ok(failed(no_watchdog(&e))),
            };
            let heartbeats = plan.heartbeat.zip(counts).map(|(interval, counts)| {
                let reports = reports.clone();
                let send = move |heartbeat| reports.send(&Report::Heartbeat(heartbeat));
                HeartbeatSampler::begin(counts, engine.clock(), timetable.clone(), interval, send)
            });
            let check = plan
                .clock_service
                .as_ref()
                .map(|s| ClockSampler::begin(s, engine.clock(), timetable.clone()));
            let stats = engine.run(point, timetable)?;
            let stalls = watchdog.finish();
            // The last heartbeat is sent before the results.
            drop(heartbeats);
            let reads = reads.map_or_else(Vec::new, |reads| reads.finish(&stats));
            let phases = lengths.finish();
            Ok(Report::Measured {
                stats: Box::new(stats),
                clock: check.map(ClockSampler::finish),
                late_ns: late.0,
                warmup_ns: phases.warmup.0,
                runtime_ns: phases.runtime.0,
                run_late_ns: phases.late.0,
                stalls,
                reads,
            })
        })
    }

    fn with_engine(
        &mut self,
        action: impl FnOnce(&mut Engine) -> Result<Report, PhaseError>,
    ) -> Report {
        let Some(prepared) = &mut self.prepared else {
            return failed("not prepared".into());
        };
        if let Some(lost) = prepared.lost() {
            return failed(lost);
        }
        let Some(engine) = &mut prepared.engine else {
            return failed("not prepared".into());
        };
        let report = action(engine).unwrap_or_else(|e| phase_failed(&e));
        match prepared.lost() {
            Some(lost) => failed(lost),
            None => report,
        }
    }

    /// Removes what this agent's procs created.
    fn cleanup(&mut self) -> Report {
        let began = Instant::now();
        match self.prepared.as_mut().map(PreparedRun::clean_up) {
            None => cleaned(TaskReport::default(), began, Vec::new()),
            Some(Ok(done)) => cleaned(done, began, Vec::new()),
            Some(Err(report)) => report,
        }
    }

    /// Removes the run's directories with everything in them: what procs could not remove, and
    /// what lost clients created.
    fn release(&mut self, orphans: Vec<MountPoint>) -> Report {
        let began = Instant::now();
        let Some(mut prepared) = self.prepared.take() else {
            return cleaned(TaskReport::default(), began, Vec::new());
        };
        // Its threads and open files first.
        let on_server = prepared.end_engine();
        self.stop.lower();
        prepared.mounts.extend(orphans);
        let (task_count, mut left_behind) = prepared.release(ReleaseScope::All);
        left_behind.extend(on_server);
        let done = TaskReport {
            task_count,
            ..TaskReport::default()
        };
        cleaned(done, began, left_behind)
    }

    /// Removes what an earlier run left.
    fn sweep(&self, share: ClientShare) -> Report {
        let began = Instant::now();
        let (plan, client, claim) = parts(share);
        let driver = match filermark_drivers::open(&plan.driver) {
            Ok(driver) => driver,
            Err(reason) => return failed(reason),
        };
        let mut done = TaskReport::default();
        let mut left = Vec::new();
        let watch = WaitReporter {
            reports: &self.reports,
            stop: &self.stop,
        };
        for mount in mounts_of(&plan, client) {
            match driver.release_watched(&mount, &claim, ReleaseScope::Leftovers, &watch) {
                Ok(report) => {
                    done.task_count += report.removed_count;
                    left.extend(report.not_ours.into_iter().map(Leftover::entry));
                    left.extend(report.not_removed.into_iter().map(Leftover::not_removed));
                }
                Err(e) => {
                    done.failed_count += 1;
                    left.push(not_removed(&mount, &claim, &e));
                }
            }
        }
        cleaned(done, began, left)
    }

    /// The prime is gone: removes what this agent created, and nothing that other agents may
    /// still use.
    fn final_cleanup(&mut self) -> Report {
        let began = Instant::now();
        self.probes.remove_all();
        let Some(mut prepared) = self.prepared.take() else {
            return cleaned(TaskReport::default(), began, Vec::new());
        };
        if prepared.plan.fileset.keep {
            prepared.end_lease();
            let left = prepared.end_engine();
            return cleaned(TaskReport::default(), began, left);
        }
        let lost = prepared.lost_by_now();
        let done = match &lost {
            None => prepared.remove_made().unwrap_or_default(),
            Some(_) => TaskReport::default(),
        };
        let on_server = prepared.end_engine();
        self.stop.lower();
        let alone = prepared.plan.clients.len() == 1;
        let (_, mut left) = prepared.release(if alone {
            ReleaseScope::All
        } else {
            ReleaseScope::Rest
        });
        // The reduced scope may leave what this agent's procs created without listing it.
        if !alone && left.is_empty() {
            left.extend(lost.map(Leftover::ours));
        }
        left.extend(on_server);
        for Leftover { sentence, .. } in &left {
            tracing::warn!(target: "filermark_clients", "left behind: {sentence}");
        }
        cleaned(done, began, left)
    }
}

impl CounterSource {
    fn of(prepared: &PreparedRun) -> Self {
        Self {
            plan: prepared.plan.clone(),
            client: prepared.client,
            driver: prepared.driver.clone(),
            mounts: prepared.mounts.clone(),
        }
    }
}

/// The plan, the index of this client in it, and the run's directory.
fn parts(share: ClientShare) -> (Arc<RunPlan>, u32, Claim) {
    let claim = Claim {
        dir_name: share.dir_name,
        run_id: share.run_id,
    };
    (Arc::new(*share.plan), share.client, claim)
}

/// The client's mount points, each once.
fn mounts_of(plan: &RunPlan, client: u32) -> Vec<MountPoint> {
    let client = plan.clients.get(client as usize);
    let mut mounts = client.map_or_else(Vec::new, |c| c.mounts.clone());
    mounts.sort();
    mounts.dedup();
    mounts
}

impl PreparedRun {
    fn connect(
        &mut self,
        client: u32,
        clock: &Clock,
        watch: &WaitReporter<'_>,
        live: &SyncSender<LiveEvents>,
    ) -> Result<Report, Report> {
        let mut environment = Environment::collect(env!("CARGO_PKG_VERSION"));
        let mut remarks = Vec::new();
        let mut facts = Vec::new();
        let mut missing_support = Vec::new();
        let mut free = free_space::ClientSpace::by(&self.plan.driver);
        let mounts = std::mem::take(&mut self.mounts);
        for mount in mounts {
            let kept = is_kept(&self.plan.driver, &mount, &self.claim.dir_name);
            let mut found = self
                .driver
                .claim_watched(&mount, &self.claim, watch)
                .map_err(|e| match watch.stop.is_raised() {
                    // Only the user raises it at this time.
                    true => phase_failed(&PhaseError::Stopped),
                    false => failed(e.to_string()),
                })?;
            let blocking = blocking_dirs(&self.plan, client, &mount, (&self.claim, &found));
            if found.removed_count > 0 {
                // The space of the removed leftovers is free now.
                let now = self.driver.space(&mount).ok().flatten();
                found.space = now.or(found.space);
                remarks.push(format!(
                    "{mount}: removed {} leftovers of an earlier run",
                    found.removed_count
                ));
            }
            remarks.extend(
                found
                    .not_ours
                    .iter()
                    .map(|f| format!("{f}: not created by Filermark, not changed")),
            );
            let not_removed_iter = found.not_removed.iter();
            remarks.extend(
                not_removed_iter.map(|place| format!("{place}: the server did not remove it")),
            );
            missing_support.extend(found.lacking.iter().map(|what| format!("{mount}: {what}")));
            free.add(&mount, kept, &environment.host, &found);
            facts.push(MountFacts {
                mount: mount.to_string(),
                facts: found.server_facts,
            });
            // Only claimed directories are released.
            self.mounts.push(mount.clone());
            let (driver, stop) = (self.driver.clone(), watch.stop.clone());
            let lease = Lease::begin(driver, &self.claim, &mount, stop).map_err(|e| {
                failed(format!(
                    "{mount}/{}: the lease of the run's directory cannot be renewed: the thread \
                     for it could not be started: {e}; check the limit of processes (ulimit -u)",
                    self.claim.dir_name
                ))
            })?;
            self.leases.push(lease);
            if let Some(reason) = blocking {
                return Err(failed(reason));
            }
        }
        let engine = Engine::start(EngineSetup {
            plan: self.plan.clone(),
            client: client as usize,
            driver: self.driver.clone(),
            claim: self.claim.clone(),
            clock: clock.clone(),
            stop: watch.stop.clone(),
            live: Some(live.clone()),
            hang_max: HANG_MAX,
        })
        .map_err(|e| phase_failed(&e))?;
        environment.mounts = facts;
        if let Some(port) = self.plan.driver.facts().port {
            environment.resolve_servers(self.mounts.iter().map(|m| m.host.as_str()), port);
        }
        let shard_count = engine.shard_count() as u32;
        self.engine = Some(engine);
        self.file_systems = free.into_free();
        Ok(Report::Ready {
            environment: Box::new(environment),
            shard_count,
            remarks,
            free: self.file_systems.clone(),
            lacking: missing_support,
        })
    }

    /// The files stay, and the markers state that no run uses them any more.
    fn end_lease(&mut self) {
        self.end_leases();
        for mount in &self.mounts {
            if let Err(e) = self.driver.renew(mount, &self.claim, ClaimRole::End) {
                tracing::debug!(target: "filermark_clients", "end of the lease: {e}");
            }
        }
    }

    /// Removes what its procs created, unless another run has, or may have, taken the directory
    /// over: names may be the same there.
    fn clean_up(&mut self) -> Result<TaskReport, Report> {
        if let Some(lost) = self.lost_by_now() {
            return Err(failed(lost));
        }
        self.remove_made()
    }

    fn remove_made(&mut self) -> Result<TaskReport, Report> {
        // The reading of the markers may have taken long.
        if interrupt_guard::stop_requested() {
            return Err(phase_failed(&PhaseError::Stopped));
        }
        match self.engine.as_mut().map(Engine::cleanup) {
            None => Ok(TaskReport::default()),
            Some(done) => done.map_err(|e| phase_failed(&e)),
        }
    }

    /// Why this agent must stop, if another run has taken one of its directories over.
    fn lost(&self) -> Option<String> {
        self.leases.iter().find_map(Lease::lost)
    }

    /// Why nothing may be removed, after every marker was read again.
    fn lost_by_now(&self) -> Option<String> {
        let leases = self.leases.iter();
        leases
            .filter_map(|lease| lease.lost_by_now(&self.driver, &self.claim))
            .next()
    }

    fn end_leases(&mut self) {
        for lease in self.leases.drain(..) {
            lease.end();
        }
    }

    /// Ends the load; returns what the server may keep for it.
    fn end_engine(&mut self) -> Vec<Leftover> {
        let ended = self
            .engine
            .take()
            .map_or_else(EngineEnd::default, Engine::end);
        let count = ended.clients;
        let sentence = || {
            let servers: BTreeSet<&str> = self.mounts.iter().map(|m| m.host.as_str()).collect();
            let servers = Vec::from_iter(servers).join(", ");
            let clients = match count {
                1 => "1 client".to_owned(),
                _ => format!("{count} clients"),
            };
            Leftover::not_ours(format!(
                "{servers}: the server did not confirm the end of {clients} of NFSv4, and may keep that, \
                 with what was open, until the lease expires"
            ))
        };
        let kept = (count > 0).then(sentence);
        kept.into_iter()
            .chain(ended.hung.into_iter().map(Leftover::ours))
            .collect()
    }

    /// Returns how many objects were removed, and what stays. The leases end first: the removal
    /// renews them itself.
    fn release(&mut self, scope: ReleaseScope) -> (u64, Vec<Leftover>) {
        let mut removed_count = 0;
        let mut left = Vec::new();
        for mount in &self.mounts {
            if let Some(at) = self.leases.iter().position(|lease| lease.mount == *mount) {
                self.leases.swap_remove(at).end();
            }
            match self.driver.release(mount, &self.claim, scope) {
                Ok(report) => {
                    removed_count += report.removed_count;
                    if !report.not_ours.is_empty() {
                        let place = mount.below(&self.claim.dir_name);
                        left.push(Leftover::ours(format!(
                            "{place}: it holds what is not this run's (listed) and remains \
                             until that is gone"
                        )));
                    }
                    left.extend(report.not_ours.into_iter().map(Leftover::entry));
                    left.extend(report.not_removed.into_iter().map(Leftover::not_removed));
                }
                Err(e) => left.push(not_removed(mount, &self.claim, &e)),
            }
        }
        (removed_count, left)
    }
}

/// A run's directory that stays, and why. The host is included, also if the server failed.
fn not_removed(mount: &MountPoint, claim: &Claim, error: &DriverError) -> Leftover {
    let (below, shown) = (mount.below(&claim.dir_name), mount.to_string());
    let sentence = match error.place.starts_with(&shown) {
        true => error.to_string(),
        // The host alone: the place has it, too.
        false if shown.starts_with(&error.place) => {
            let mut error = error.clone();
            error.place = below;
            error.to_string()
        }
        false => format!("{below}: {error}"),
    };
    match is_of_others(error) {
        true => Leftover::not_ours(sentence),
        false => Leftover::ours(sentence),
    }
}

fn cleaned(report: TaskReport, began: Instant, left_behind: Vec<Leftover>) -> Report {
    Report::Cleaned {
        tasks: tasks(report, began),
        left_behind,
    }
}

fn tasks(report: TaskReport, began: Instant) -> TaskTotals {
    TaskTotals {
        task_count: report.task_count,
        failed_count: report.failed_count,
        bytes: report.bytes,
        uncached_count: report.uncached_count,
        elapsed_ns: began.elapsed().as_nanos() as u64,
    }
}

fn failed(reason: String) -> Report {
    Report::Failed {
        reason,
        stopped: false,
    }
}

fn phase_failed(error: &PhaseError) -> Report {
    Report::Failed {
        reason: error.to_string(),
        stopped: *error == PhaseError::Stopped,
    }
}
