//! How the cost of an operation grows with what there is beside it: procs, connections, files,
//! clients, load points. Nothing may make it grow with their number.
//!
//! Each row is measured with the other numbers small. The picture of docs/src/reference/speed.md is
//! drawn from the figures (`cargo run -p filermark-report --example growth`).

use super::agents::{self, Shape};
use super::nfs_shard::SaturatedShard;
use crate::figure::{Bar, Figure, Figures};
use crate::measured::{MeasuredOrReason, figures_only};
use crate::plan::{Bench, plan, with_small_files};
use crate::server::{ServerProcess, ServerSpec};
use filermark_engine::driver::{Action, PROC_DIR};
use filermark_model::Nanos;
use std::time::Duration;

const WARMUP: Duration = Duration::from_millis(150);
const WINDOW: Duration = Duration::from_millis(300);
/// Procs where another number is varied.
const PROCS: u32 = 16;
/// Never reached, op/s.
const RATE: f64 = 5e7;
const PROC_COUNTS: [u32; 5] = [1, 10, 100, 1_000, 10_000];
/// From ten on: one waits for each reply, and has one of them in each system call.
const CONNECTION_COUNTS: [u32; 4] = [10, 100, 1_000, 10_000];
const FILE_COUNTS: [u64; 4] = [1_000, 10_000, 100_000, 1_000_000];
/// From a hundred on: with ten, most is what the prime takes without any.
const CLIENT_COUNTS: [usize; 3] = [100, 300, 1_000];
/// Load points before the one that is measured; each takes 15 ms.
const POINT_COUNTS: [u32; 4] = [1, 10, 100, 500];
const POINT_WARMUP: Duration = Duration::from_millis(5);
const POINT_WINDOW: Duration = Duration::from_millis(10);
/// RUN with simulated clients, in seconds, and procs on each of them.
const CLIENT_RUN_SECONDS: u64 = 7;
const CLIENT_PROCS: u32 = 100;
/// How many times as much an operation may cost at the largest number as at the smallest.
const GROWTH_MAX: f64 = 1.5;

/// All rows; those of clients and of load points in one round.
pub fn measure(rounds: u32) -> MeasuredOrReason {
    figures_only(all(rounds))
}

fn all(rounds: u32) -> Figures {
    let mut figures = Vec::new();
    let on_null = |counts: &[u32]| counts.iter().map(|n| (u64::from(*n), *n, 1_000)).collect();
    figures.extend(engine("procs", on_null(&PROC_COUNTS), rounds)?);
    let files = FILE_COUNTS.map(|n| (n, PROCS, n)).to_vec();
    figures.extend(engine("files", files, rounds)?);
    figures.extend(connections(rounds)?);
    figures.extend(load_points()?);
    figures.extend(clients()?);
    Ok(figures)
}

fn row(what: &str, count: u64, unit: &'static str, rounds: Vec<f64>) -> Figure {
    Figure::new(format!("{what}: {count}"), unit, rounds)
}

/// The quotient of the last row and the first.
fn growth(what: &str, rows: &[Figure]) -> Figure {
    let cost = |row: Option<&Figure>| row.map_or(f64::NAN, Figure::median);
    let grown = cost(rows.last()) / cost(rows.first());
    let figure = Figure::new(format!("{what}: growth"), "x", vec![grown]);
    figure.bar(Bar::AtMost(GROWTH_MAX))
}

/// The engine on the null driver, for (number, procs, files).
fn engine(what: &str, cases: Vec<(u64, u32, u64)>, rounds: u32) -> Figures {
    let mut rows = Vec::new();
    for (number, procs, files) in cases {
        let mut bench = null_bench(procs, files)?;
        let mut costs = Vec::new();
        for _ in 0..rounds {
            costs.push(point(&mut bench, WARMUP, WINDOW)?);
        }
        rows.push(row(what, number, "us/op", costs));
    }
    rows.push(growth(what, &rows));
    Ok(rows)
}

/// Processor time of an operation at a load point, in microseconds.
fn point(bench: &mut Bench, warmup: Duration, window: Duration) -> Result<f64, String> {
    let stats = bench.run(RATE, warmup, window)?;
    Ok(stats.generator_cpu_ns as f64 / 1e3 / stats.success_count().max(1) as f64)
}

/// A shard on the null driver with so many procs and files of 1 KiB.
fn null_bench(procs: u32, files: u64) -> Result<Bench, String> {
    let options = [
        ("DRIVER", "null"),
        ("SHARDS", "1"),
        ("FILESET_MB_PER_OP", "1"),
    ];
    let mut plan = plan(procs, "nowhere:/null", (1, 1), &options)?;
    with_small_files(&mut plan)?;
    let mut bench = Bench::start(plan)?;
    bench.init(files as f64 / 1_024.0)?;
    Ok(bench)
}

/// GETATTR with one call under way on each connection.
fn connections(rounds: u32) -> Figures {
    let server = ServerProcess::start(ServerSpec::default())?;
    let work = (Action::Getattr { object: PROC_DIR }, 0);
    let span = Nanos(WINDOW.as_nanos() as u64);
    let mut rows = Vec::new();
    for count in CONNECTION_COUNTS {
        let mut costs = Vec::new();
        for _ in 0..rounds {
            let (turn, _) = SaturatedShard::turn(&server, (count, 1), work, span)?;
            costs.push(turn.cpu_us());
        }
        rows.push(row("connections", u64::from(count), "us/op", costs));
    }
    rows.push(growth("connections", &rows));
    Ok(rows)
}

/// The same engine after other load points.
fn load_points() -> Figures {
    let mut bench = null_bench(PROCS, 1_000)?;
    let (mut rows, mut done) = (Vec::new(), 0);
    for count in POINT_COUNTS {
        while done + 1 < count {
            point(&mut bench, POINT_WARMUP, POINT_WINDOW)?;
            done += 1;
        }
        let cost = point(&mut bench, WARMUP, WINDOW)?;
        done += 1;
        rows.push(row("load points", u64::from(count), "us/op", vec![cost]));
    }
    rows.push(growth("load points", &rows));
    Ok(rows)
}

/// The prime in RUN with simulated clients: processor time per client and second.
fn clients() -> Figures {
    let mut rows = Vec::new();
    for count in CLIENT_COUNTS {
        let shape = Shape {
            agents: count,
            procs: CLIENT_PROCS,
            run_seconds: CLIENT_RUN_SECONDS,
        };
        let counted = agents::one_in_own_dir(shape)?;
        let us = counted.cpu_cores * 1e6 / count as f64;
        rows.push(row("clients", count as u64, "us/s each", vec![us]));
    }
    rows.push(growth("clients", &rows));
    Ok(rows)
}
