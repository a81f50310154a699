//! The rate of one thread against a server with canned replies in another process: GETATTR through
//! the driver compared with a bare loop of the same calls, and a whole mix through the engine.

use super::bare_nfs::{BareLoop, Call};
use super::bare_ring::BareRing;
use super::nfs_shard::SaturatedShard;
use crate::cpu;
use crate::figure::{Bar, Figure, Figures};
use crate::measured::{Measured, MeasuredOrReason};
use crate::plan::{Bench, plan};
use crate::server::{ServerProcess, ServerSpec};
use crate::turns::{Bars, Contender, Turn, compare};
use filermark_engine::driver::{Action, PROC_DIR};
use filermark_model::Nanos;
use filermark_net::{SocketEngine, SocketRing, open_files_limit};
use std::time::Duration;

const WARMUP: Nanos = Nanos::from_millis(200);
const WINDOW: Nanos = Nanos::from_millis(700);
/// Never reached, op/s.
const RATE: f64 = 5e5;
/// Open files of the bare loops.
const FILES_WANTED: u64 = 20_000;
/// The bare loop neither decodes a reply nor reads a clock.
const OF_BARE: Bars = Bars {
    cpu_at_most: Some(1.5),
    rate_at_least: Some(0.75),
};
/// From so many connections on, bare loops are within 15 % of each other.
const MANY: u32 = 1000;
const OF_BARE_MANY: Bars = Bars {
    cpu_at_most: Some(1.15),
    rate_at_least: None,
};
/// With 256 calls in a message the bare loop takes 0.1 us per call, which no program that decodes,
/// counts and times every reply can reach.
const NO_BARS_FROM_DEPTH: u32 = 256;

/// GETATTR through the driver alone, and the mix through the engine.
pub fn measure(rounds: u32) -> MeasuredOrReason {
    open_files_limit(FILES_WANTED);
    let server = ServerProcess::start(ServerSpec::default())?;
    let mut measured = Measured::default();
    for (connections, depth) in [(1, 32), (1, 256), (32, 1), (256, 1), (1000, 1), (10_000, 1)] {
        measured.add(getattrs(&server, (connections, depth), rounds)?);
    }
    measured.add(mix(&server, rounds)?);
    Ok(measured)
}

fn getattrs(
    server: &ServerProcess,
    (connections, depth): (u32, u32),
    rounds: u32,
) -> MeasuredOrReason {
    let of = format!("GETATTR, {connections} x {depth}");
    let shape = (connections, depth);
    let bars = match (connections, depth) {
        (_, NO_BARS_FROM_DEPTH..) => Bars::default(),
        (MANY.., _) => OF_BARE_MANY,
        _ => OF_BARE,
    };
    let mut allocations = Vec::new();
    let mut contenders = vec![
        Contender::filermark(|| {
            let (turn, each) = filermark(server, shape, SocketEngine::Reactor)?;
            allocations.push(each);
            Ok(turn)
        }),
        Contender::other("bare loop", bars, || {
            let mut bare = BareLoop::open(server.address, shape, Call::Getattr)?;
            bare.keep_up(Duration::from_nanos(WARMUP.0))?;
            let window = Duration::from_nanos(WINDOW.0);
            Turn::measure(cpu::process_ns, || Ok(bare.keep_up(window)? as f64))
        }),
    ];
    match SocketRing::new() {
        Ok(_) => {
            contenders.push(Contender::other("bare io_uring", Bars::default(), || {
                let mut bare = BareRing::open(server.address, shape, Call::Getattr)?;
                bare.keep_up(Duration::from_nanos(WARMUP.0))?;
                let window = Duration::from_nanos(WINDOW.0);
                Turn::measure(cpu::process_ns, || Ok(bare.keep_up(window)? as f64))
            }));
            contenders.push(Contender::other(
                "the driver by io_uring",
                Bars::default(),
                || Ok(filermark(server, shape, SocketEngine::Ring)?.0),
            ));
        }
        Err(error) => eprintln!("no io_uring: {error}"),
    }
    let mut measured = Measured::from(compare(&of, "op/s", rounds, contenders)?);
    let allocated = Figure::new(format!("{of}: allocations"), "per op", allocations);
    measured.add(allocated.bar(Bar::AtMost(0.0)));
    Ok(measured)
}

/// A turn of the driver by one engine, and the allocations of each operation.
fn filermark(
    server: &ServerProcess,
    shape: (u32, u32),
    engine: SocketEngine,
) -> Result<(Turn, f64), String> {
    let action = Action::Getattr { object: PROC_DIR };
    SocketEngine::prescribe(Some(engine));
    let turn = SaturatedShard::turn(server, shape, (action, 0), WINDOW);
    SocketEngine::prescribe(None);
    turn
}

/// The engine with the mix of `general-nfs3`, at a rate that is never reached.
fn mix(server: &ServerProcess, rounds: u32) -> Figures {
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
