//! Run plans for the parts, resolved from parameters as in the program.

use filermark_config::{Sources, resolve};
use filermark_driver_kit::driver::{Driver, ReleaseScope};
use filermark_engine::clock::Clock;
use filermark_engine::driver::{Claim, StopFlag};
use filermark_engine::engine::{Engine, EngineSetup};
use filermark_engine::shard::RunTimes;
use filermark_model::benchmark::Work;
use filermark_model::composite::Component;
use filermark_model::dist::SizeShare;
use filermark_model::plan::{DriverPlan, NfsPlan};
use filermark_model::{LoadPoint, Nanos, OpsPerSec, PointStats, RunPlan, SizeDistribution};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A plan: `procs` procs on one mount point, with these parameters.
///
/// # Errors
/// A parameter is wrong or missing.
pub fn plan(
    procs: u32,
    mount: &str,
    ports: (u16, u16),
    options: &[(&str, &str)],
) -> Result<RunPlan, String> {
    let mut sources = Sources::from_rc(None).map_err(|e| e.to_string())?;
    let load = (procs * 10).to_string();
    for (name, value) in [
        ("LOAD", &*load),
        ("NUM_RUNS", "1"),
        ("PROCS", &procs.to_string()),
        ("MNT_POINTS", mount),
        ("NFS_PORT", &ports.0.to_string()),
        ("MOUNT_PORT", &ports.1.to_string()),
        ("FILESET_MB_PER_OP", "0.001"),
    ]
    .into_iter()
    .chain(options.iter().copied())
    {
        sources.set("filermark-bench", name, value);
    }
    match resolve(&sources) {
        Ok(resolved) => Ok(resolved.plan),
        Err(errors) => Err(errors.iter().map(|e| format!("{e}; ")).collect()),
    }
}

/// Gives the plan files of 1 KiB: where only their number matters.
///
/// # Errors
/// It is not a plan of a classical benchmark.
pub fn with_small_files(plan: &mut RunPlan) -> Result<(), String> {
    let classic = plan.benchmark.classic_mut();
    let small = SizeShare {
        kib: 1.0,
        percent: 100.0,
    };
    classic.ok_or("a classical benchmark")?.file_sizes =
        SizeDistribution::new(vec![small]).map_err(|e| format!("sizes: {e}"))?;
    Ok(())
}

/// A plan for this number of procs without a rate that work in a mounted directory; `change` adapts
/// their only component.
///
/// # Errors
/// A parameter is wrong or missing.
pub fn mounted_plan(
    procs: u32,
    dir: &Path,
    change: impl FnOnce(&mut Component),
) -> Result<RunPlan, String> {
    let mut sources = Sources::from_rc(None).map_err(|e| e.to_string())?;
    let mount = format!("localhost:{}", dir.display());
    let load = procs.to_string();
    for (name, value) in [
        ("BENCHMARK", "METADATA"),
        ("LOAD", &*load),
        ("CLIENT_MOUNTPOINTS", &*mount),
    ] {
        sources.set("filermark-bench", name, value);
    }
    let resolved = resolve(&sources);
    let mut plan = resolved
        .map(|resolved| resolved.plan)
        .map_err(|errors| errors.iter().map(|e| format!("{e}; ")).collect::<String>())?;
    if let Work::Composite(composite) = &mut plan.benchmark.work {
        change(&mut composite.components[0]);
    }
    for proc in &mut plan.procs {
        proc.ops_per_sec = None;
    }
    Ok(plan)
}

/// The settings of the NFS driver in a plan.
///
/// # Errors
/// The plan is for another driver.
pub fn nfs3(plan: &RunPlan) -> Result<NfsPlan, String> {
    match &plan.driver {
        DriverPlan::Nfs(settings) => Ok(settings.clone()),
        _ => Err("the plan is for another driver".into()),
    }
}

/// An engine and its run directory; the engine is stopped and the directory released on drop.
pub struct Bench {
    /// The plan.
    pub plan: Arc<RunPlan>,
    driver: Arc<dyn Driver>,
    claim: Claim,
    claimed: bool,
    engine: Option<Engine>,
}

impl Bench {
    /// Claims the plan's first mount point and connects all procs.
    ///
    /// # Errors
    /// Those of the driver.
    pub fn start(plan: RunPlan) -> Result<Self, String> {
        let mut bench = Self::new(plan)?;
        let mount = &bench.plan.clients[0].mounts[0];
        let claimed = bench.driver.claim(mount, &bench.claim);
        claimed.map_err(|e| e.to_string())?;
        bench.claimed = true;
        bench.connect()
    }

    fn new(plan: RunPlan) -> Result<Self, String> {
        let driver = filermark_drivers::open(&plan.driver)?;
        Ok(Self {
            plan: Arc::new(plan),
            driver,
            claim: claim(),
            claimed: false,
            engine: None,
        })
    }

    fn connect(mut self) -> Result<Self, String> {
        let engine = Engine::start(EngineSetup {
            plan: self.plan.clone(),
            client: 0,
            driver: self.driver.clone(),
            claim: self.claim.clone(),
            clock: Clock::real(),
            stop: StopFlag::new(),
            live: None,
            hang_max: filermark_engine::engine::HANG_MAX,
        });
        self.engine = Some(engine.map_err(|e| e.to_string())?);
        Ok(self)
    }

    fn engine(&mut self) -> Result<&mut Engine, String> {
        self.engine.as_mut().ok_or_else(|| "no engine".to_owned())
    }

    /// INIT for a load. Returns the bytes written, the number of tasks and the time.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn init(&mut self, rate: f64) -> Result<(u64, u64, Duration), String> {
        let began = Instant::now();
        let done = self.engine()?.init(point(rate));
        let done = done.map_err(|e| e.to_string())?;
        Ok((done.bytes, done.task_count, began.elapsed()))
    }

    /// WARMUP and RUN at a load, in op/s of all procs.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn run(
        &mut self,
        rate: f64,
        warmup: Duration,
        window: Duration,
    ) -> Result<PointStats, String> {
        let engine = self.engine()?;
        let warmup_start = engine.clock().now() + Nanos::from_millis(5);
        let run_start = warmup_start + Nanos(warmup.as_nanos() as u64);
        let times = RunTimes {
            warmup_start,
            run_start,
            run_end: run_start + Nanos(window.as_nanos() as u64),
        };
        engine.run(point(rate), times).map_err(|e| e.to_string())
    }

    /// CLEANUP of the files of INIT and RUN.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn cleanup(&mut self) -> Result<(), String> {
        let done = self.engine()?.cleanup();
        done.map(drop).map_err(|e| e.to_string())
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        self.engine = None;
        if self.claimed {
            let mount = &self.plan.clients[0].mounts[0];
            // The server ends with the part, and its files with it.
            let _ = self.driver.release(mount, &self.claim, ReleaseScope::All);
        }
    }
}

/// The claim of the run directory of all parts.
pub fn claim() -> Claim {
    Claim {
        dir_name: "filermark.bench".into(),
        run_id: format!("bench-{}", std::process::id()),
    }
}

fn point(rate: f64) -> LoadPoint {
    LoadPoint {
        number: 1,
        entered: OpsPerSec(rate),
        requested: OpsPerSec(rate),
        units: 0.0,
        proc_count: 0,
    }
}
