//! How many calls a second one thread makes, against a server with canned
//! replies in another process.

use crate::figure::FiguresOrSkip;
use crate::figure::{Bar, Figure};
use crate::plan::{Bench, claim, nfs3, plan};
use crate::server::{ServerProcess, ServerSpec};
use crate::{alloc, cpu};
use filermark_driver_kit::driver::Driver;
use filermark_engine::clock::Clock;
use filermark_engine::data::{DataSource, VerifyLevel};
use filermark_engine::driver::{
    Action, Completion, LoadDriver, PROC_DIR, ProcSetup, Request, ShardDriver, ShardSetup, Status,
    StopFlag, Submit,
};
use filermark_engine::name::{Name, NameKind};
use filermark_model::Nanos;
use filermark_nfs::driver::NfsDriver;
use std::sync::Arc;
use std::time::Duration;

const WARMUP: Nanos = Nanos::from_millis(200);
const WINDOW: Nanos = Nanos::from_millis(1000);
/// Longest wait for a reply.
const PATIENCE: Nanos = Nanos::from_secs(5);
/// Far above what is possible, op/s.
const RATE: f64 = 5e5;

/// GETATTR through the driver alone, and the whole mix through the engine.
pub fn measure(rounds: u32) -> FiguresOrSkip {
    let server = ServerProcess::start(ServerSpec::default())?;
    let mut figures = Vec::new();
    for (connections, depth, bar) in [
        (1, 32, Bar::AtLeast(500_000.0)),
        (1, 256, Bar::More),
        (32, 1, Bar::AtLeast(150_000.0)),
        (256, 1, Bar::More),
    ] {
        figures.extend(getattrs(&server, connections, depth, bar, rounds)?);
    }
    figures.extend(mix(&server, rounds)?);
    Ok(figures)
}

/// What a round came to.
#[derive(Default)]
struct Round {
    rates: Vec<f64>,
    cpu_us: Vec<f64>,
    allocations: Vec<f64>,
}

impl Round {
    fn add(&mut self, count: f64, seconds: f64, cpu_ns: u64, taken: u64) {
        self.rates.push(count / seconds);
        self.cpu_us.push(cpu_ns as f64 / 1e3 / count);
        self.allocations.push(taken as f64 / count);
    }

    fn figures(self, of: &str, bar: Bar) -> Vec<Figure> {
        let name = |what: &str| format!("{of}: {what}");
        vec![
            Figure::new(name("rate"), "op/s", self.rates).bar(bar),
            Figure::new(name("processor time"), "us/op", self.cpu_us),
            Figure::new(name("allocations"), "per op", self.allocations).bar(Bar::AtMost(0.0)),
        ]
    }
}

fn getattrs(
    server: &ServerProcess,
    connections: u32,
    depth: u32,
    bar: Bar,
    rounds: u32,
) -> FiguresOrSkip {
    let mut flood = SaturatedShard::open(server, connections, depth)?;
    flood.keep_up(WARMUP)?;
    let mut all = Round::default();
    for _ in 0..rounds {
        let (taken, cpu_ns) = (alloc::taken_count(), cpu::process_ns());
        let (count, took) = flood.keep_up(WINDOW)?;
        let (taken, cpu_ns) = (alloc::taken_count() - taken, cpu::process_ns() - cpu_ns);
        all.add(count as f64, took.as_secs_f64(), cpu_ns, taken);
    }
    flood.drain()?;
    let of = format!("{connections} connections x {depth} GETATTR");
    Ok(all.figures(&of, bar))
}

/// A shard of the NFS driver on this thread, kept busy.
struct SaturatedShard {
    shard: Box<dyn ShardDriver>,
    clock: Clock,
    done: Vec<Completion>,
    depth: u32,
    procs: u32,
}

impl SaturatedShard {
    /// Connects, makes each proc's directory and sends the first calls.
    fn open(server: &ServerProcess, procs: u32, depth: u32) -> Result<Self, String> {
        let port = server.address.port();
        let plan = plan(procs, "127.0.0.1:/export", (port, port), &[])?;
        let driver = NfsDriver::new(nfs3(&plan)?);
        let mounts = &plan.clients[0].mounts;
        let claim = claim();
        let claimed = driver.claim(&mounts[0], &claim);
        claimed.map_err(|e| e.to_string())?;
        let clock = Clock::real();
        let shard = driver.open_shard(ShardSetup {
            shard: 0,
            shard_count: 1,
            clock: clock.clone(),
            data: Arc::new(DataSource::new(1, VerifyLevel::Nothing)),
            procs: (0..)
                .zip(mounts)
                .map(|(number, mount)| ProcSetup {
                    number,
                    mount: mount.clone(),
                    tree: None,
                })
                .collect(),
            claim,
            stop: StopFlag::new(),
        });
        let mut flood = Self {
            shard: shard.map_err(|e| e.to_string())?,
            clock,
            done: Vec::with_capacity(4096),
            depth,
            procs,
        };
        for proc in 0..procs {
            let name = Name::new(NameKind::ProcDir, proc);
            flood.submit(proc * depth, Action::MakeProcDir { name })?;
        }
        flood.wait_for(procs)?;
        for token in 0..procs * depth {
            flood.submit(token, Action::Getattr { object: PROC_DIR })?;
        }
        Ok(flood)
    }

    fn submit(&mut self, token: u32, action: Action) -> Result<(), String> {
        let request = Request {
            token,
            proc: token / self.depth,
            action,
        };
        match self.shard.submit(&request) {
            Submit::Queued => Ok(()),
            other => Err(format!("a request was not queued: {other:?}")),
        }
    }

    fn poll(&mut self) -> Result<(), String> {
        self.shard.flush();
        let deadline = self.clock.now() + PATIENCE;
        self.shard
            .poll(deadline, &mut self.done)
            .map_err(|e| e.to_string())?;
        match self.done.iter().find(|d| d.outcome.status != Status::Ok) {
            Some(bad) => Err(format!("a call failed: {:?}", bad.outcome.status)),
            None if self.done.is_empty() => Err("no reply".into()),
            None => Ok(()),
        }
    }

    fn wait_for(&mut self, count: u32) -> Result<(), String> {
        let mut came = 0;
        while came < count {
            self.poll()?;
            came += self.done.drain(..).count() as u32;
        }
        Ok(())
    }

    /// Answers every completion with a new call for this long. Gives how many
    /// were completed, and the time.
    fn keep_up(&mut self, span: Nanos) -> Result<(u64, Nanos), String> {
        let began = self.clock.now();
        let mut count = 0;
        loop {
            self.poll()?;
            count += self.done.len() as u64;
            let mut done = std::mem::take(&mut self.done);
            for completion in done.drain(..) {
                self.submit(completion.token, Action::Getattr { object: PROC_DIR })?;
            }
            self.done = done;
            let took = self.clock.now().since(began);
            if took >= span {
                return Ok((count, took));
            }
        }
    }

    fn drain(&mut self) -> Result<(), String> {
        self.wait_for(self.procs * self.depth)
    }
}

/// The whole engine with the mix, as much as goes.
fn mix(server: &ServerProcess, rounds: u32) -> FiguresOrSkip {
    let port = server.address.port();
    let mut figures = Vec::new();
    for (procs, pacing) in [(64, "closed"), (16, "open")] {
        let plan = plan(
            procs,
            "127.0.0.1:/export",
            (port, port),
            &[("PACING", pacing), ("SHARDS", "1")],
        )?;
        let mut bench = Bench::start(plan)?;
        bench.init(10_000.0)?;
        let mut all = Round::default();
        for _ in 0..rounds {
            let warmup = Duration::from_nanos(WARMUP.0);
            let stats = bench.run(RATE, warmup, Duration::from_nanos(WINDOW.0))?;
            let ops = stats.success_count() as f64;
            if stats.error_count() > 0 {
                return Err(format!("failed operations: {:?}", stats.errors));
            }
            let window_s = stats.window_ns as f64 / 1e9;
            all.add(ops, window_s, stats.generator_cpu_ns, 0);
        }
        let of = format!("engine, general-nfs3, {procs} procs, {pacing}");
        figures.extend(all.figures(&of, Bar::More).into_iter().take(2));
    }
    Ok(figures)
}
