//! The generator by itself: every operation succeeds at once.

use crate::alloc;
use crate::figure::FiguresOrSkip;
use crate::figure::{Bar, Figure};
use crate::plan::{Bench, plan};
use filermark_model::PointStats;
use std::time::Duration;

const WARMUP: Duration = Duration::from_millis(300);
const WINDOW: Duration = Duration::from_millis(1000);
/// Far above what is possible, op/s; not more, since a run of 1.3 s takes 20 s at 1e9 and 2 s at
/// this rate (debug build).
const RATE: f64 = 5e7;
/// Kept clear of the borders of the window when allocations are counted.
const MARGIN: Duration = Duration::from_millis(200);

/// M op/s per core, closed and open, few procs and many; allocations per op.
pub fn measure(rounds: u32) -> FiguresOrSkip {
    let mut figures = Vec::new();
    for (procs, pacing, bar) in [
        (16, "closed", Bar::AtLeast(5.0)),
        (16, "open", Bar::More),
        (1000, "closed", Bar::More),
    ] {
        let (mut rates, mut allocations, mut cpu) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..rounds {
            let (stats, taken) = once(procs, pacing)?;
            let ops = stats.success_count() as f64;
            let cpu_ns = stats.generator_cpu_ns as f64;
            // Per second of processor time: another program may share the core.
            rates.push(ops / cpu_ns * 1e3);
            cpu.push(cpu_ns / ops);
            let share = 1.0 - 2.0 * MARGIN.as_secs_f64() / WINDOW.as_secs_f64();
            allocations.push(taken as f64 / (ops * share));
        }
        let of = format!("{procs} procs, {pacing}");
        figures.push(Figure::new(format!("{of}: rate"), "M op/s per core", rates).bar(bar));
        figures.push(Figure::new(format!("{of}: processor time"), "ns/op", cpu));
        figures.push(
            Figure::new(format!("{of}: allocations"), "per op", allocations).bar(Bar::AtMost(0.0)),
        );
    }
    Ok(figures)
}

/// One load point; also the allocations within its window.
fn once(procs: u32, pacing: &str) -> Result<(PointStats, u64), String> {
    let plan = plan(
        procs,
        "nowhere:/null",
        (1, 1),
        &[("DRIVER", "null"), ("SHARDS", "1"), ("PACING", pacing)],
    )?;
    let mut bench = Bench::start(plan)?;
    bench.init(10_000.0)?;
    let counter = std::thread::spawn(|| {
        std::thread::sleep(WARMUP + MARGIN);
        let before = alloc::taken_count();
        std::thread::sleep(WINDOW - 2 * MARGIN);
        alloc::taken_count() - before
    });
    let stats = bench.run(RATE, WARMUP, WINDOW)?;
    let taken = counter.join().map_err(|_| "the counter died".to_owned())?;
    Ok((stats, taken))
}
