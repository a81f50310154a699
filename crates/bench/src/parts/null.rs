//! The engine by itself: on the null driver every operation succeeds at once.

use crate::alloc;
use crate::figure::{Bar, Figure};
use crate::measured::{Measured, MeasuredOrReason};
use crate::plan::{Bench, plan};
use crate::turns::{Bars, Contender, Turn, compare};
use filermark_engine::clock::Clock;
use filermark_engine::sys::thread_cpu;
use filermark_model::{Benchmark, Latency, PointStats, Rng};
use std::hint::black_box;
use std::time::{Duration, Instant};

const WARMUP: Duration = Duration::from_millis(300);
const WINDOW: Duration = Duration::from_millis(500);
/// Never reached, op/s. A higher rate makes the end of a run slower: with 1e9 a run of 1.3 s takes
/// 20 s in a debug build, with this rate 2 s.
const RATE: f64 = 5e7;
/// Excluded at both ends of the window when allocations are counted.
const MARGIN: Duration = Duration::from_millis(200);
/// Operations of the bare loop between two checks of the end of the window.
const BATCH: u32 = 1024;
/// Besides the steps of the bare loop the engine paces, chooses the objects, keeps their state and
/// fills two more histograms.
const OF_BARE: Bars = Bars {
    cpu_at_most: Some(2.5),
    rate_at_least: Some(0.4),
};

/// Closed and open pacing, few procs and many, compared with the bare loop; allocations.
pub fn measure(rounds: u32) -> MeasuredOrReason {
    let mut measured = Measured::default();
    for (procs, pacing) in [(16, "closed"), (16, "open"), (1000, "closed")] {
        let of = format!("{procs} procs, {pacing}");
        let mut allocations = Vec::new();
        let ours = || {
            let (stats, taken) = once(procs, pacing)?;
            let ops = stats.success_count() as f64;
            let share = 1.0 - 2.0 * MARGIN.as_secs_f64() / WINDOW.as_secs_f64();
            allocations.push(taken as f64 / (ops * share));
            Ok(Turn {
                ops,
                seconds: stats.window_ns as f64 / 1e9,
                cpu_ns: stats.generator_cpu_ns as f64,
            })
        };
        let contenders = vec![
            Contender::filermark(ours),
            Contender::other("bare loop", OF_BARE, bare),
        ];
        measured.add(compare(&of, "op/s", rounds, contenders)?);
        let allocated = Figure::new(format!("{of}: allocations"), "per op", allocations);
        measured.add(allocated.bar(Bar::AtMost(0.0)));
    }
    Ok(measured)
}

/// The steps of an operation that every generator needs: drawing it, two readings of the
/// clock, recording a service time and a response time.
fn bare() -> Result<Turn, String> {
    let benchmark = Benchmark::shipped("general-nfs3").map_err(|e| e.to_string())?;
    let (mix, clock) = (benchmark.mix.sampler(), Clock::real());
    let (mut rng, mut service, mut response) = (Rng::new(1, 1), Latency::new(), Latency::new());
    Turn::measure(
        || thread_cpu().0,
        || {
            let began = Instant::now();
            let mut count = 0;
            while began.elapsed() < WINDOW {
                for _ in 0..BATCH {
                    black_box(mix.draw(&mut rng));
                    let submitted = clock.now();
                    let took = clock.now().since(submitted);
                    service.record(took);
                    response.record(took);
                }
                count += u64::from(BATCH);
            }
            black_box((service.count(), response.count()));
            Ok(count as f64)
        },
    )
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
    let taken = counter
        .join()
        .map_err(|_| "the counting thread panicked".to_owned())?;
    Ok((stats, taken))
}
