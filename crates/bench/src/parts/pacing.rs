//! The achieved rate compared with the requested one, and the lateness of procs compared with that
//! of a bare sleep.

use crate::figure::{Bar, Figure, Figures};
use crate::measured::{Measured, MeasuredOrReason};
use crate::plan::{Bench, plan};
use crate::server::{ServerProcess, ServerSpec};
use filermark_engine::sys::minimize_timer_slack;
use filermark_model::{Latency, Nanos};
use filermark_net::{Reactor, Ready};
use std::time::{Duration, Instant};

/// Multiples of the interval of a proc, at every load below.
const WARMUP: Duration = Duration::from_millis(128);
const WINDOW: Duration = Duration::from_millis(640);

/// Pacing, procs, and loads that these can reach: a proc that waits for each reply makes a few
/// thousand op/s at most.
const CASES: &[(&str, u32, &[f64])] = &[
    ("closed", 8, &[1_000.0, 5_000.0, 20_000.0]),
    ("closed", 64, &[1_000.0, 20_000.0, 50_000.0]),
    ("open", 8, &[20_000.0]),
    ("open", 64, &[5_000.0, 50_000.0]),
];

/// Measures several loads.
pub fn measure(rounds: u32) -> MeasuredOrReason {
    let server = ServerProcess::start(ServerSpec::default())?;
    let port = server.address.port();
    let mut bare_sleep = BareSleep::new()?;
    let mut measured = Measured::default();
    for (pacing, procs, rates) in CASES {
        let options = [("PACING", *pacing), ("SHARDS", "1")];
        let plan = plan(*procs, "127.0.0.1:/export", (port, port), &options)?;
        let mut bench = Bench::start(plan)?;
        bench.init(1_000.0)?;
        for rate in *rates {
            let of = format!("{pacing}, {procs} procs, {rate} op/s");
            measured.add(point(&mut bench, &mut bare_sleep, &of, *rate, rounds)?);
        }
    }
    Ok(measured)
}

/// Sleeps of a millisecond in an event loop that does nothing else.
struct BareSleep {
    reactor: Reactor,
    ready: Vec<Ready>,
}

impl BareSleep {
    fn new() -> Result<Self, String> {
        minimize_timer_slack();
        Ok(Self {
            reactor: Reactor::new().map_err(failed)?,
            ready: Vec::new(),
        })
    }

    /// The lateness of sleeps, in microseconds: the median.
    fn late_us(&mut self) -> Result<f64, String> {
        const SLEEP: Duration = Duration::from_millis(1);
        const SLEEPS: u32 = 100;
        let mut late = Latency::new();
        for _ in 0..SLEEPS {
            let began = Instant::now();
            let waited = self.reactor.wait(Some(SLEEP), &mut self.ready);
            waited.map_err(failed)?;
            let over = began.elapsed().saturating_sub(SLEEP);
            late.record(Nanos(over.as_nanos() as u64));
        }
        Ok(late.percentile_ns(50.0) as f64 / 1e3)
    }
}

fn failed(error: std::io::Error) -> String {
    format!("an event queue: {error}")
}

fn point(
    bench: &mut Bench,
    bare_sleep: &mut BareSleep,
    of: &str,
    rate: f64,
    rounds: u32,
) -> Figures {
    let (mut bare, mut ratio) = (vec![], vec![]);
    let (mut off, mut median, mut p99, mut cpu) = (vec![], vec![], vec![], vec![]);
    for _ in 0..rounds {
        let slept = bare_sleep.late_us()?;
        let stats = bench.run(rate, WARMUP, WINDOW)?;
        let ops = stats.success_count() as f64;
        let achieved = ops * 1e9 / stats.window_ns as f64;
        off.push((achieved / rate - 1.0).abs() * 100.0);
        let late = stats.wakeup.percentile_ns(50.0) as f64 / 1e3;
        median.push(late);
        bare.push(slept);
        ratio.push(late / slept.max(f64::MIN_POSITIVE));
        p99.push(stats.wakeup.percentile_ns(99.0) as f64 / 1e3);
        cpu.push(stats.generator_cpu_ns as f64 / 1e3 / ops);
    }
    let name = |what: &str| format!("{of}: {what}");
    Ok(vec![
        Figure::new(name("off the rate"), "%", off).bar(Bar::AtMost(0.5)),
        Figure::new(name("lateness, median"), "us", median),
        Figure::new(name("lateness of a bare sleep, median"), "us", bare),
        Figure::new(name("lateness, ratio to a bare sleep"), "x", ratio).bar(Bar::AtMost(1.0)),
        Figure::new(name("lateness, p99"), "us", p99),
        Figure::new(name("processor time"), "us/op", cpu),
    ])
}
