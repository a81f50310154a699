//! The agent: carries out the prime's orders on one client host.
//!
//! It trusts the link only: when the link ends or nothing more comes, the load
//! stops and what the run made is removed (unless KEEP), without being told.

use crate::beats::Pulse;
use crate::clock_check::Check;
use crate::link::{self, LinkError};
use crate::message::{Hello, Order, PROTOCOL, Report, Tasks};
use crate::space;
use filermark_engine::clock::Clock;
use filermark_engine::driver::{Claim, Driver, StopFlag};
use filermark_engine::engine::{Engine, EngineSetup};
use filermark_engine::null::NullDriver;
use filermark_engine::recorder::Live;
use filermark_engine::shard::{PhaseError, RunTimes, TaskReport};
use filermark_model::plan::{DriverPlan, MountPoint};
use filermark_model::stats::Interval;
use filermark_model::{LoadPoint, Nanos, RunPlan};
use filermark_nfs::driver::Nfs3Driver;
use filermark_posix::PosixDriver;
use filermark_results::{Environment, MountFacts};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Words of the shards that may wait; more are dropped.
const LIVE_QUEUE: usize = 4096;
/// How often the agent gives a sign of life.
const ALIVE: Duration = Duration::from_secs(1);

/// Serves one prime until the link ends.
pub fn serve(orders: impl Read + Send + 'static, reports: impl Write + Send + 'static) {
    let stop = StopFlag::new();
    let reports = Reports(Arc::new(Mutex::new(Box::new(reports))));
    let Some(orders) = relay_orders(orders, stop.clone()) else {
        return;
    };
    let (live, words) = sync_channel(LIVE_QUEUE);
    let teller = {
        let reports = reports.clone();
        std::thread::Builder::new()
            .name("agent-live".into())
            .spawn(move || tell_live(&words, &reports))
    };
    let mut agent = Agent {
        stop,
        reports,
        live,
        prepared: None,
    };
    agent.obey(&orders);
    agent.tidy_up();
    drop(agent);
    if let Ok(teller) = teller {
        let _ = teller.join();
    }
}

/// Reads orders on a thread; `Stop` and the end of the link raise the flag at once.
fn relay_orders(stream: impl Read + Send + 'static, stop: StopFlag) -> Option<Receiver<Order>> {
    let (sender, receiver) = sync_channel(64);
    std::thread::Builder::new()
        .name("agent-orders".into())
        .spawn(move || {
            let mut stream = stream;
            loop {
                match link::receive::<Order>(&mut stream) {
                    Ok(Order::Stop) => {
                        tracing::debug!(target: "filermark_cluster::signal", "the prime says stop");
                        stop.raise();
                    }
                    Ok(order) => {
                        if sender.send(order).is_err() {
                            return;
                        }
                    }
                    Err(_) => {
                        stop.raise();
                        return;
                    }
                }
            }
        })
        .ok()?;
    Some(receiver)
}

#[derive(Clone)]
struct Reports(Arc<Mutex<Box<dyn Write + Send>>>);

impl Reports {
    fn send(&self, report: &Report) -> Result<(), LinkError> {
        let mut stream = self.0.lock().unwrap_or_else(|e| e.into_inner());
        link::send(&mut *stream, report)
    }
}

/// Sums the shards' words up and passes them on; else gives signs of life.
fn tell_live(words: &Receiver<Live>, reports: &Reports) {
    let mut seconds: BTreeMap<i64, Interval> = BTreeMap::new();
    let mut tasks = (0u64, 0u64);
    let mut tell_at = Instant::now() + ALIVE / 4;
    loop {
        match words.recv_timeout(tell_at.saturating_duration_since(Instant::now())) {
            Ok(Live::Second(interval)) => {
                let sum = seconds.entry(interval.second).or_default();
                sum.second = interval.second;
                sum.merge(&interval);
            }
            Ok(Live::Population { task_count, bytes }) => {
                tasks.0 += task_count;
                tasks.1 += bytes;
            }
            Err(RecvTimeoutError::Timeout) => {
                let mut sent = reports.send(&Report::Alive);
                if tasks != (0, 0) {
                    let (task_count, bytes) = std::mem::take(&mut tasks);
                    sent =
                        sent.and_then(|()| reports.send(&Report::Progress { task_count, bytes }));
                }
                for (_, interval) in std::mem::take(&mut seconds) {
                    sent = sent.and_then(|()| reports.send(&Report::Second { interval }));
                }
                if sent.is_err() {
                    return;
                }
                tell_at = Instant::now() + ALIVE / 4;
            }
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

struct Prepared {
    plan: Arc<RunPlan>,
    driver: Arc<dyn Driver>,
    claim: Claim,
    mounts: Vec<MountPoint>,
    engine: Option<Engine>,
}

struct Agent {
    stop: StopFlag,
    reports: Reports,
    live: SyncSender<Live>,
    prepared: Option<Prepared>,
}

impl Agent {
    fn obey(&mut self, orders: &Receiver<Order>) {
        while let Ok(order) = orders.recv() {
            tracing::debug!(target: "filermark_cluster", order = order.name(), "order");
            let report = match order {
                Order::Hello(hello) => self.greet(&hello),
                Order::Prepare {
                    plan,
                    client,
                    dir_name,
                    run_id,
                } => self.prepare(*plan, client, Claim { dir_name, run_id }),
                Order::Init { point } => self.init(point),
                Order::Run { point, start_in_ns } => self.run(point, Nanos(start_in_ns)),
                Order::Cleanup { release } => self.cleanup(release),
                Order::Stop => continue,
                Order::Goodbye => return,
            };
            if self.reports.send(&report).is_err() {
                return;
            }
        }
    }

    fn greet(&self, hello: &Hello) -> Report {
        if hello.protocol != PROTOCOL {
            return failed(format!(
                "the prime speaks protocol {} (version {}), this agent {} (version {}): install the same version on both",
                hello.protocol,
                hello.version,
                PROTOCOL,
                Hello::own().version
            ));
        }
        Report::Hello(Hello::own())
    }

    fn prepare(&mut self, plan: RunPlan, client: u32, claim: Claim) -> Report {
        let plan = Arc::new(plan);
        let driver: Arc<dyn Driver> = match &plan.driver {
            DriverPlan::Nfs3(settings) => Arc::new(Nfs3Driver::new(settings.clone())),
            DriverPlan::Posix(settings) => Arc::new(PosixDriver::new(settings.clone())),
            DriverPlan::Null => Arc::new(NullDriver),
        };
        let missing = plan
            .benchmark
            .mix
            .shares()
            .iter()
            .find(|(op, _)| !driver.capabilities().ops.contains(*op));
        if let Some((op, _)) = missing {
            return failed(format!(
                "the {} driver cannot do '{op}', which the mix asks for",
                driver.name()
            ));
        }
        let mut mounts = plan
            .clients
            .get(client as usize)
            .map_or_else(Vec::new, |c| c.mounts.clone());
        mounts.sort();
        mounts.dedup();
        let prepared = self.prepared.insert(Prepared {
            plan,
            driver,
            claim,
            mounts,
            engine: None,
        });
        match prepared.connect(client, &self.stop, &self.live) {
            Ok(report) => report,
            Err(report) => report,
        }
    }

    fn init(&mut self, point: LoadPoint) -> Report {
        self.with_engine(|engine| {
            let began = Instant::now();
            let done = engine.init(point)?;
            Ok(Report::Populated(tasks(done, began)))
        })
    }

    fn run(&mut self, point: LoadPoint, start_in: Nanos) -> Report {
        let Some(plan) = self.prepared.as_ref().map(|p| p.plan.clone()) else {
            return failed("no plan yet".into());
        };
        let (phases, reports) = (plan.phases, self.reports.clone());
        self.with_engine(|engine| {
            let warmup_start = engine.clock().now() + start_in;
            let run_start = warmup_start + phases.warmup;
            let times = RunTimes {
                warmup_start,
                run_start,
                run_end: run_start + phases.runtime,
            };
            let counts = engine.live_counts();
            let pulse = plan.heartbeat.zip(counts).map(|(interval, counts)| {
                let reports = reports.clone();
                let tell = move |beat| reports.send(&Report::Heartbeat(beat)).is_ok();
                Pulse::begin(counts, engine.clock(), times, interval, tell)
            });
            let check = plan
                .clock_service
                .as_ref()
                .map(|s| Check::begin(s, engine.clock(), times.run_start, times.run_end));
            let stats = engine.run(point, times)?;
            // The last heartbeat goes before the figures.
            drop(pulse);
            Ok(Report::Measured {
                stats: Box::new(stats),
                clock: check.map(Check::finish),
            })
        })
    }

    fn with_engine(
        &mut self,
        act: impl FnOnce(&mut Engine) -> Result<Report, PhaseError>,
    ) -> Report {
        match self.prepared.as_mut().and_then(|p| p.engine.as_mut()) {
            Some(engine) => act(engine).unwrap_or_else(|e| phase_failed(&e)),
            None => failed("not prepared".into()),
        }
    }

    fn cleanup(&mut self, release: bool) -> Report {
        self.stop.lower();
        let began = Instant::now();
        let Some(prepared) = &mut self.prepared else {
            return Report::Cleaned {
                tasks: Tasks::default(),
                left_behind: Vec::new(),
            };
        };
        let mut left_behind = Vec::new();
        let done = match prepared.engine.as_mut().map(Engine::cleanup) {
            Some(Ok(done)) => done,
            // Between load points nothing else sweeps up.
            Some(Err(e)) if !release => return phase_failed(&e),
            Some(Err(e)) => {
                tracing::debug!(target: "filermark_cluster", "CLEANUP: {e}");
                TaskReport::default()
            }
            None => TaskReport::default(),
        };
        if release {
            // What is still there is swept up mount by mount, without the shards.
            prepared.engine = None;
            self.stop.lower();
            left_behind = prepared.release();
            self.prepared = None;
        }
        Report::Cleaned {
            tasks: tasks(done, began),
            left_behind,
        }
    }

    /// The link is gone or the prime said goodbye: leaves nothing behind.
    fn tidy_up(&mut self) {
        let keep = self.prepared.as_ref().is_some_and(|p| p.plan.fileset.keep);
        if keep {
            self.prepared = None;
        } else if self.prepared.is_some() {
            self.cleanup(true);
        }
    }
}

impl Prepared {
    fn connect(
        &mut self,
        client: u32,
        stop: &StopFlag,
        live: &SyncSender<Live>,
    ) -> Result<Report, Report> {
        let mut environment = Environment::collect(env!("CARGO_PKG_VERSION"));
        let mut remarks = Vec::new();
        let mut facts = Vec::new();
        let mut lacking = Vec::new();
        let mut free = space::Seen::by(&self.plan.driver);
        let mounts = std::mem::take(&mut self.mounts);
        for mount in mounts {
            let kept = space::is_kept(&self.plan.driver, &mount, &self.claim.dir_name);
            let found = self
                .driver
                .claim(&mount, &self.claim)
                .map_err(|e| failed(e.to_string()))?;
            if found.removed_count > 0 {
                remarks.push(format!(
                    "{mount}: removed {} leftovers of an earlier run",
                    found.removed_count
                ));
            }
            remarks.extend(
                found
                    .foreign
                    .iter()
                    .map(|f| format!("{f}: not ours, left alone")),
            );
            lacking.extend(found.lacking.iter().map(|what| format!("{mount}: {what}")));
            free.add(&mount, kept, &environment.host, &found);
            facts.push(MountFacts {
                mount: mount.to_string(),
                facts: found.server_facts,
            });
            // Only what was claimed is released.
            self.mounts.push(mount);
        }
        let engine = Engine::start(EngineSetup {
            plan: self.plan.clone(),
            client: client as usize,
            driver: self.driver.clone(),
            claim: self.claim.clone(),
            clock: Clock::real(),
            stop: stop.clone(),
            live: Some(live.clone()),
        })
        .map_err(|e| phase_failed(&e))?;
        environment.mounts = facts;
        let port = match &self.plan.driver {
            DriverPlan::Nfs3(settings) => settings.nfs_port.unwrap_or(2049),
            DriverPlan::Null | DriverPlan::Posix(_) => 0,
        };
        if port != 0 {
            environment.resolve_servers(self.mounts.iter().map(|m| m.host.as_str()), port);
        }
        let shard_count = engine.shard_count() as u32;
        self.engine = Some(engine);
        Ok(Report::Ready {
            environment: Box::new(environment),
            shard_count,
            remarks,
            free: free.into_free(),
            lacking,
        })
    }

    fn release(&self) -> Vec<String> {
        let mut left = Vec::new();
        for mount in &self.mounts {
            match self.driver.release(mount, &self.claim) {
                Ok(report) => left.extend(report.foreign),
                Err(e) => left.push(format!("{mount}/{}: {e}", self.claim.dir_name)),
            }
        }
        left
    }
}

fn tasks(report: TaskReport, began: Instant) -> Tasks {
    Tasks {
        task_count: report.task_count,
        failed_count: report.failed_count,
        bytes: report.bytes,
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
