//! One case of a simulation: its state from a seed, the run, and what has to hold at the
//! end.

use super::board::SimBoard;
use super::fault::Fault;
use super::world::{FIXED_WARMUP, SimState};
use crate::run::{Progress, RunOptions, RunOutcome, run};
use filermark_engine::driver::StopFlag;
use filermark_model::launch::{LaunchPlan, OnLost};
use filermark_model::plan::{ClientPlan, DriverPlan, MountPoint, SearchLoad, SearchPlan};
use filermark_model::stop_if::{StopCondition, StopFigure};
use filermark_model::{Nanos, Rng, RunPlan};
use std::cell::RefCell;
use std::panic::AssertUnwindSafe;
use std::rc::Rc;

/// Seeds per test, unless the environment says otherwise.
const SEEDS: u64 = 100;

fn plan(hosts: usize, points: usize, runtime: Nanos) -> RunPlan {
    let mut plan = filermark_results::testing::plan();
    plan.driver = match hosts % 2 {
        // With a password.
        0 => DriverPlan::Smb(filermark_results::testing::smb_plan("geheim")),
        _ => DriverPlan::NULL,
    };
    plan.clients = (0..hosts)
        .map(|at| ClientPlan {
            name: format!("h{at}"),
            mounts: vec![MountPoint {
                host: "null".into(),
                path: "/".into(),
            }],
        })
        .collect();
    plan.procs_per_client = 1;
    plan.points.truncate(points);
    plan.phases.warmup = FIXED_WARMUP;
    plan.phases.runtime = runtime;
    plan.phases.init_timeout = Nanos::from_secs(20);
    plan.findings.clear();
    plan
}

pub(super) struct Case {
    pub world: Rc<RefCell<SimState>>,
    pub hosts: usize,
    pub on_lost: OnLost,
    pub stop: StopFlag,
    pub runtime: Nanos,
    pub searches: bool,
    pub dir: tempfile::TempDir,
}

impl Case {
    pub fn new(seed: u64) -> Self {
        let mut rng = Rng::new(seed, 0x52);
        let hosts = 1 + rng.below(5) as usize;
        let on_lost = match rng.percent(40.0) {
            true => OnLost::Continue,
            false => OnLost::End,
        };
        Self {
            world: Rc::new(RefCell::new(SimState::new(seed, hosts))),
            hosts,
            on_lost,
            stop: StopFlag::new(),
            runtime: Nanos::from_secs(5),
            searches: false,
            // In memory, if possible: every record is synced to disk.
            dir: tempfile::tempdir_in("/dev/shm")
                .or_else(|_| tempfile::tempdir())
                .expect("a directory"),
        }
    }

    /// Sets the length of RUN.
    pub fn lasting(mut self, runtime: Nanos) -> Self {
        self.runtime = runtime;
        self.world.borrow_mut().load_span = runtime + Nanos::from_secs(2);
        self
    }

    /// LOAD=search; probes are as long as other load points.
    pub fn searching(mut self) -> Self {
        self.searches = true;
        self
    }

    /// WARMUP until the load is steady, but no longer than this; response times fall for some
    /// seconds.
    pub fn until_steady(self, longest: Nanos, falls_for: u64) -> Self {
        self.world.borrow_mut().until_steady = Some((longest, falls_for));
        self
    }

    /// RUN until the data is touched, but no longer than this.
    pub fn until_touched(self, longest: Nanos) -> Self {
        self.world.borrow_mut().open_end = Some(longest);
        self
    }

    pub fn plan(&self) -> RunPlan {
        let mut plan = plan(self.hosts, 2, self.runtime);
        if self.searches {
            let step = self.hosts as u64;
            plan.points.clear();
            // All simulated operations are of one kind.
            plan.limits.mix_deviation_pcnt_max = 100.0;
            plan.search = Some(SearchPlan {
                load: SearchLoad::Ops,
                first: 10 * step,
                step,
                max: 10_000,
                tolerance_pcnt: 3.0,
                achieved_pcnt_min: 98.0,
                probe_warmup: plan.phases.warmup,
                probe_runtime: plan.phases.runtime,
                sweep: true,
                goal: None,
            });
        }
        if let Some((longest, _)) = self.world.borrow().until_steady {
            plan.phases.warmup = longest;
            plan.phases.warmup_until_steady = true;
        }
        plan.phases.runtime_max = self.world.borrow().open_end;
        if self.world.borrow().free_pcnt.is_some() {
            plan.stop_if = vec![StopCondition {
                figure: StopFigure::Free,
                limit: 5.0,
                seconds: 10,
            }];
        }
        plan
    }

    /// A second piece of the run, with new agents.
    pub fn begin_again(&mut self, seed: u64, set: impl FnOnce(&mut SimState, usize)) {
        let mut world = SimState::new(seed, self.hosts);
        set(&mut world, self.hosts);
        self.world = Rc::new(RefCell::new(world));
        self.stop = StopFlag::new();
    }

    pub fn run(&self) -> RunOutcome {
        self.run_observed(false, &mut |_| {})
    }

    /// Runs it, or continues it.
    pub fn run_observed(&self, goes_on: bool, observe: &mut dyn FnMut(Progress<'_>)) -> RunOutcome {
        let names = (0..self.hosts).map(|at| format!("h{at}"));
        let options = RunOptions {
            plan: self.plan(),
            launch: LaunchPlan {
                on_lost: self.on_lost,
                ..LaunchPlan::local(names)
            },
            suffix: "sim".into(),
            dir: self.dir.path().into(),
            stop_command: "filermark stop".into(),
            inputs: Vec::new(),
            goes_on,
            client_log_dir: None,
            heartbeat_log: None,
            reports: &[],
            stop: self.stop.clone(),
            observe,
        };
        run(options, Box::new(SimBoard(self.world.clone()))).expect("a record")
    }

    /// Asserts that all agents have ended and no files are left.
    pub fn assert_clean(&self) {
        let mut world = self.world.borrow_mut();
        world.run_for(Nanos::from_secs(200));
        let survivors = |w: &SimState| w.hosts.iter().any(|h| !h.dead);
        for (at, host) in world.hosts.iter().enumerate() {
            assert!(
                host.dead || host.ended || is_hung(&world, at),
                "h{at} goes on"
            );
            assert!(!host.loads || is_hung(&world, at), "h{at} makes load");
        }
        if survivors(&world) && !(0..self.hosts).any(|at| is_hung(&world, at)) {
            let dead: Vec<usize> = (0..self.hosts).filter(|at| world.hosts[*at].dead).collect();
            let left: Vec<usize> = world
                .files
                .iter()
                .copied()
                .filter(|f| !dead.contains(f))
                .collect();
            assert!(left.is_empty(), "files of {left:?} are left");
        }
    }
}

pub(super) fn is_hung(world: &SimState, at: usize) -> bool {
    world
        .faults
        .iter()
        .any(|(host, fault, _)| *host == at && *fault == Fault::Hung)
}

/// Runs a test for many seeds; prints the one that fails.
pub(super) fn for_seeds(test: impl Fn(u64)) {
    let number = |name: &str| std::env::var(name).ok().and_then(|v| v.parse::<u64>().ok());
    let seeds = match number("FILERMARK_SIM_SEED") {
        Some(one) => one..one + 1,
        None => 0..number("FILERMARK_SIM_SEEDS").unwrap_or(SEEDS),
    };
    for seed in seeds {
        let outcome = std::panic::catch_unwind(AssertUnwindSafe(|| test(seed)));
        if let Err(panic) = outcome {
            eprintln!("seed {seed} fails; replay it with FILERMARK_SIM_SEED={seed}");
            std::panic::resume_unwind(panic);
        }
    }
}
