//! How many calls a second one thread makes, against a server with canned replies in another
//! process: the driver and a bare loop of the same calls, in turns.

mod bare;

use crate::figure::FiguresOrSkip;
use crate::figure::{Bar, Figure};
use crate::plan::{Bench, claim, nfs3, plan};
use crate::server::{ServerProcess, ServerSpec};
use crate::turns::{Bars, Contender, Turn, compare};
use crate::{alloc, cpu};
use bare::BareLoop;
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
const WINDOW: Nanos = Nanos::from_millis(700);
/// Longest wait for a reply.
const PATIENCE: Nanos = Nanos::from_secs(5);
/// Far above what is possible, op/s.
const RATE: f64 = 5e5;
/// What the driver may take beside the bare loop, which neither decodes a reply nor reads a clock.
/// With 256 calls in a message the loop takes 0.1 us for each, which no program that decodes,
/// counts and times every reply comes near to: no bar.
const OF_BARE: Bars = Bars {
    cpu_at_most: Some(1.5),
    rate_at_least: Some(0.75),
};

/// GETATTR through the driver alone, and the whole mix through the engine.
pub fn measure(rounds: u32) -> FiguresOrSkip {
    let server = ServerProcess::start(ServerSpec::default())?;
    let mut figures = Vec::new();
    for (connections, depth) in [(1, 32), (1, 256), (32, 1), (256, 1)] {
        let bars = match depth {
            256 => Bars::default(),
            _ => OF_BARE,
        };
        figures.extend(getattrs(&server, (connections, depth), bars, rounds)?);
    }
    figures.extend(mix(&server, rounds)?);
    Ok(figures)
}

fn getattrs(
    server: &ServerProcess,
    (connections, depth): (u32, u32),
    bars: Bars,
    rounds: u32,
) -> FiguresOrSkip {
    let of = format!("{connections} connections x {depth} GETATTR");
    let mut allocations = Vec::new();
    // Connected anew for each turn, so that nothing of the other one is under way in it.
    let ours = || {
        let mut flood = SaturatedShard::open(server, connections, depth)?;
        flood.keep_up(WARMUP)?;
        let taken = alloc::taken_count();
        let turn = Turn::measure(cpu::process_ns, || Ok(flood.keep_up(WINDOW)?.0 as f64))?;
        allocations.push((alloc::taken_count() - taken) as f64 / turn.ops);
        flood.drain()?;
        Ok(turn)
    };
    let bare = || {
        let mut bare = BareLoop::open(server.address, connections, depth)?;
        bare.keep_up(Duration::from_nanos(WARMUP.0))?;
        let window = Duration::from_nanos(WINDOW.0);
        Turn::measure(cpu::process_ns, || Ok(bare.keep_up(window)? as f64))
    };
    let contenders = vec![
        Contender::own("filermark", ours),
        Contender::other("bare loop", bars, bare),
    ];
    let mut figures = compare(&of, "op/s", rounds, contenders)?;
    let allocated = Figure::new(format!("{of}: allocations"), "per op", allocations);
    figures.push(allocated.bar(Bar::AtMost(0.0)));
    Ok(figures)
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
        let (mut rates, mut cpu_us) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            let warmup = Duration::from_nanos(WARMUP.0);
            let stats = bench.run(RATE, warmup, Duration::from_nanos(WINDOW.0))?;
            if stats.error_count() > 0 {
                return Err(format!("failed operations: {:?}", stats.errors));
            }
            rates.push(stats.achieved_ops_per_sec());
            cpu_us.push(stats.generator_cpu_ns as f64 / 1e3 / stats.success_count() as f64);
        }
        let of = format!("engine, general-nfs3, {procs} procs, {pacing}");
        figures.push(Figure::new(format!("{of}: rate"), "op/s", rates).bar(Bar::More));
        figures.push(Figure::new(
            format!("{of}: processor time"),
            "us/op",
            cpu_us,
        ));
    }
    Ok(figures)
}
