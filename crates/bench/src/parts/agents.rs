//! A prime with 1,000 agents and 100,000 procs. The agents are simulated by another process, over
//! the real protocol.

use crate::cpu::{peak_bytes, process_ns};
use crate::figure::{Bar, Figure, Figures};
use crate::measured::{MeasuredOrReason, figures_only};
use filermark_engine::driver::StopFlag;
use filermark_link::links::ThreadLinks;
use filermark_model::launch::LaunchPlan;
use filermark_model::plan::{ClientPlan, DriverPlan, MountPoint};
use filermark_model::{Nanos, RunPlan};
use filermark_prime::fake_agent::{self, FakeLauncher};
use filermark_prime::{Progress, RunOptions, run};
use filermark_results::{Outcome, Phase};
use std::io::Read;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The first argument that makes this program simulate the agents.
pub const COMMAND: &str = "serve-agents";

/// What is simulated.
#[derive(Clone, Copy)]
pub struct Shape {
    /// Agents.
    pub agents: usize,
    /// Procs on each.
    pub procs: u32,
    /// RUN.
    pub run_seconds: u64,
}

const SHAPE: Shape = Shape {
    agents: 1_000,
    procs: 100,
    run_seconds: 10,
};

/// Serves agents at a socket until standard input ends.
pub fn serve(mut words: impl Iterator<Item = String>) -> ExitCode {
    let Some(Ok(listener)) = words.next().map(UnixListener::bind) else {
        return ExitCode::FAILURE;
    };
    let serve_all = move || {
        for link in listener.incoming().flatten() {
            let builder = std::thread::Builder::new().stack_size(512 << 10);
            let _ = builder.spawn(move || fake_agent::serve(link));
        }
    };
    std::thread::spawn(serve_all);
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
    ExitCode::SUCCESS
}

struct SimulatedAgents {
    child: Child,
    socket: PathBuf,
}

impl SimulatedAgents {
    fn start(dir: &Path) -> Result<Self, String> {
        let socket = dir.join("agents");
        let own = std::env::current_exe().map_err(|e| format!("find this program: {e}"))?;
        let child = Command::new(own)
            .arg(COMMAND)
            .arg(&socket)
            .stdin(Stdio::piped())
            .spawn()
            .map_err(|e| format!("start the agents: {e}"))?;
        let agents = Self { child, socket };
        let since = Instant::now();
        while !agents.socket.exists() {
            if since.elapsed() > Duration::from_secs(5) {
                return Err("the process of the agents did not make its socket within 5 s".into());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(agents)
    }
}

impl Drop for SimulatedAgents {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

fn plan(shape: Shape) -> RunPlan {
    let nowhere = MountPoint {
        host: "null".into(),
        path: "/".into(),
    };
    let mut plan = filermark_results::testing::plan();
    plan.driver = DriverPlan::NULL;
    plan.clients = (0..shape.agents)
        .map(|at| ClientPlan {
            name: format!("client-{at:04}"),
            mounts: vec![nowhere.clone(); shape.procs as usize],
        })
        .collect();
    plan.procs_per_client = shape.procs;
    plan.points.truncate(1);
    plan.phases.warmup = Nanos::from_secs(2);
    plan.phases.runtime = Nanos::from_secs(shape.run_seconds);
    plan
}

/// What was counted in a run.
#[derive(Default)]
pub struct CountedRun {
    ready: Option<Duration>,
    run: Option<(Instant, u64)>,
    seconds: u32,
    /// Processor time of the prime in RUN, in cores.
    pub cpu_cores: f64,
    collected: Option<Duration>,
}

/// One run, and what was counted.
fn one(shape: Shape, dir: &Path) -> Result<CountedRun, String> {
    let agents = SimulatedAgents::start(dir)?;
    let plan = plan(shape);
    let launch = LaunchPlan::local(plan.clients.iter().map(|c| c.name.clone()));
    let socket = agents.socket.clone();
    let began = Instant::now();
    let launcher = FakeLauncher(move |_| UnixStream::connect(&socket));
    let board = ThreadLinks::launch(&launch, Arc::new(launcher));
    let mut counted = CountedRun::default();
    let options = RunOptions {
        plan,
        launch,
        suffix: "agents".into(),
        dir: dir.into(),
        stop_command: "filermark stop".into(),
        inputs: Vec::new(),
        goes_on: false,
        client_log_dir: None,
        heartbeat_log: None,
        reports: &[],
        stop: StopFlag::new(),
        observe: &mut |progress| match progress {
            Progress::PhaseBegan {
                phase: Phase::Init, ..
            } => counted.ready = Some(began.elapsed()),
            Progress::PhaseBegan {
                phase: Phase::Run, ..
            } => counted.run = Some((Instant::now(), process_ns())),
            Progress::Second(second) if second.second >= 0 => {
                counted.seconds += 1;
                // The last seconds arrive together with the results.
                if let Some((since, cpu)) = counted.run
                    && second.second < shape.run_seconds as i64 - 3
                {
                    let passed = since.elapsed().as_nanos() as f64;
                    counted.cpu_cores = (process_ns() - cpu) as f64 / passed;
                }
            }
            Progress::PointEnded(..) => {
                let run = counted.run.map(|(since, _)| since.elapsed());
                counted.collected =
                    run.map(|r| r.saturating_sub(Duration::from_secs(shape.run_seconds)));
            }
            _ => {}
        },
    };
    let record = run(options, Box::new(board))
        .map_err(|e| e.to_string())?
        .record;
    match record.end.map(|e| e.outcome) {
        Some(Outcome::Complete) => Ok(counted),
        other => Err(format!("the run did not complete: {other:?}")),
    }
}

/// One run in a directory that is removed.
///
/// # Errors
/// The agents do not start, or the run fails.
pub fn one_in_own_dir(shape: Shape) -> Result<CountedRun, String> {
    let dir = tempfile::TempDir::new().map_err(|e| format!("make a directory: {e}"))?;
    one(shape, dir.path())
}

/// One round: it takes 15 s.
const ROUNDS_MAX: u32 = 1;

/// Measures the start, RUN and the collection of the results.
pub fn measure(rounds: u32) -> MeasuredOrReason {
    figures_only(figures(rounds))
}

fn figures(rounds: u32) -> Figures {
    let rounds = rounds.min(ROUNDS_MAX);
    let all = (0..rounds).map(|_| one_in_own_dir(SHAPE));
    let all = all.collect::<Result<Vec<_>, _>>()?;
    let seconds = |span: Option<Duration>| span.map_or(f64::NAN, |s| s.as_secs_f64());
    let each = |figure: &dyn Fn(&CountedRun) -> f64| all.iter().map(figure).collect::<Vec<_>>();
    let procs = SHAPE.agents * SHAPE.procs as usize;
    let title = format!("{} agents, {procs} procs", SHAPE.agents);
    Ok(vec![
        Figure::new(
            format!("{title}: ready for INIT"),
            "s",
            each(&|w| seconds(w.ready)),
        )
        .bar(Bar::AtMost(30.0)),
        Figure::new(
            "processor time of the prime in RUN",
            "cores",
            each(&|w| w.cpu_cores),
        )
        .bar(Bar::AtMost(0.25)),
        Figure::new(
            "maximum memory of the prime",
            "MiB",
            vec![peak_bytes() as f64 / 1048576.0],
        )
        .bar(Bar::AtMost(1024.0)),
        Figure::new(
            "share of the seconds of RUN that were reported",
            "",
            each(&|w| f64::from(w.seconds) / SHAPE.run_seconds as f64),
        ),
        Figure::new(
            "from the end of RUN to the record of the point",
            "s",
            each(&|w| seconds(w.collected)),
        ),
    ])
}
