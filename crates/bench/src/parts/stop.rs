//! Response times around a stop of the server process (SIGSTOP) in RUN, calculated and measured.
//! `engine/src/shard/tests/stop.rs` tests it under a virtual clock, exactly.

use crate::figure::{Figure, Figures};
use crate::measured::{MeasuredOrReason, figures_only};
use crate::plan::{Bench, plan};
use crate::server::{ServerProcess, ServerSpec};
use filermark_model::PointStats;
use rustix::process::Signal;
use std::time::{Duration, Instant};

const WARMUP: Duration = Duration::from_millis(200);
const WINDOW: Duration = Duration::from_secs(4);
/// From the beginning of RUN to that of the stop.
const STOP_AFTER: Duration = Duration::from_secs(1);
const STOP: Duration = Duration::from_secs(1);
const PROCS: u32 = 8;
/// Of all procs, op/s.
const RATE: f64 = 2_000.0;

/// One round: it takes four seconds, and is compared with calculated figures.
const ROUNDS_MAX: u32 = 1;

/// Measures both pacings.
pub fn measure(rounds: u32) -> MeasuredOrReason {
    figures_only(both(rounds))
}

fn both(rounds: u32) -> Figures {
    let rounds = rounds.min(ROUNDS_MAX);
    let mut figures = Vec::new();
    for pacing in ["closed", "open"] {
        let mut rows: Vec<(String, Vec<f64>)> = Vec::new();
        for _ in 0..rounds {
            let (stats, stopped) = stopped_run(pacing)?;
            let pairs = expected(&stats, pacing, stopped)
                .into_iter()
                .zip(of(&stats));
            for (at, ((name, calculated), measured)) in pairs.enumerate() {
                for (side, value) in [("calculated", calculated), ("measured", measured)] {
                    let place = 2 * at + usize::from(side == "measured");
                    if rows.len() <= place {
                        rows.push((format!("{pacing}: {name}, {side}"), Vec::new()));
                    }
                    rows[place].1.push(value);
                }
            }
        }
        let rows = rows.into_iter();
        figures.extend(rows.map(|(name, rounds)| Figure::new(name, "ms", rounds)));
    }
    Ok(figures)
}

/// A run whose server is stopped for [`STOP`]; and the actual length of the stop.
fn stopped_run(pacing: &str) -> Result<(PointStats, Duration), String> {
    let server = ServerProcess::start(ServerSpec::default())?;
    let port = server.address.port();
    let options = [("PACING", pacing), ("SHARDS", "1"), ("BACKLOG_MAX", "4096")];
    let mut bench = Bench::start(plan(PROCS, "127.0.0.1:/export", (port, port), &options)?)?;
    bench.init(RATE)?;
    std::thread::scope(|scope| {
        let stopper = scope.spawn(|| {
            std::thread::sleep(WARMUP + STOP_AFTER);
            let stopped = server.signal(Signal::STOP);
            let began = Instant::now();
            std::thread::sleep(STOP);
            let continued = server.signal(Signal::CONT);
            stopped.and(continued).map(|()| began.elapsed())
        });
        let stats = bench.run(RATE, WARMUP, WINDOW);
        let stopped = stopper.join().map_err(|_| "the stopping thread panicked")?;
        Ok((stats?, stopped?))
    })
}

/// Mean, 99 %, 99.9 % and maximum, in milliseconds. For uniform arrivals response times fall
/// linearly from the length of the stop; less steeply with closed pacing.
fn expected(stats: &PointStats, pacing: &str, stopped: Duration) -> [(&'static str, f64); 4] {
    let service = stats.service().percentile_ns(50.0) as f64 / 1e9;
    let fall = match pacing {
        "closed" => 1.0 - RATE / f64::from(PROCS) * service,
        _ => 1.0,
    };
    let (stop, window) = (stopped.as_secs_f64(), WINDOW.as_secs_f64());
    let top = |part: f64| (stop + service - part * window * fall) * 1e3;
    let mean = service + stop * stop / (2.0 * window * fall);
    [
        ("mean response", mean * 1e3),
        ("99 %", top(0.01)),
        ("99.9 %", top(0.001)),
        ("longest", top(0.0)),
    ]
}

fn of(stats: &PointStats) -> [f64; 4] {
    let response = stats.response();
    let at = |percentile| response.percentile(percentile);
    let figures = [response.mean(), at(99.0), at(99.9), response.max()];
    figures.map(|figure| figure.ms().value)
}
