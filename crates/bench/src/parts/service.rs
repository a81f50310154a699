//! The accuracy of service times: against the delay that is configured in the server, and against
//! the times that tshark takes from the packets; over NFSv3 and over NFSv4.1.

use crate::figure::{Bar, Figure, Figures};
use crate::measured::{Measured, MeasuredOrReason};
use crate::plan::{Bench, plan};
use crate::server::{ServerProcess, ServerSpec};
use filermark_model::{Mix, Op, PointStats};
use filermark_testbed::{Capture, ProcedureTimes, Sandbox};
use std::sync::Arc;
use std::time::Duration;

const PROCS: u32 = 16;
const RATE: f64 = 4_000.0;
const WINDOW: Duration = Duration::from_millis(1000);
/// Operations of one call each, so that both sides count the same; over version 4.1 each is a COMPOUND.
const OPS: [(Op, f64); 4] = [
    (Op::Getattr, 40.0),
    (Op::Lookup, 30.0),
    (Op::Access, 20.0),
    (Op::Fsstat, 10.0),
];

/// Measures several delays.
pub fn measure(_: u32) -> MeasuredOrReason {
    let sandbox = Sandbox::new().map_err(|e| e.to_string())?;
    let mut measured = Measured::default();
    for (version, delays_us) in [(V3, &[0, 500, 2_000][..]), (V41, &[0, 500])] {
        for delay_us in delays_us {
            measured.add(with_delay(&sandbox, version, *delay_us)?);
        }
    }
    Ok(measured)
}

/// A version of NFS: the value of NFS_VERSION, and the version of the RPC program.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Version {
    text: &'static str,
    number: u32,
}

const V3: Version = Version {
    text: "3",
    number: 3,
};
const V41: Version = Version {
    text: "4.1",
    number: 4,
};

fn with_delay(sandbox: &Arc<Sandbox>, version: Version, delay_us: u32) -> Figures {
    let spec = ServerSpec {
        delay_us,
        // The canned replies with a delay are of version 3 alone.
        stores: version != V3,
        ..ServerSpec::default()
    };
    let server = ServerProcess::start_in(sandbox, spec)?;
    let port = server.address.port();
    let options = [("NFS_VERSION", version.text)];
    let stats = || -> Result<(PointStats, Vec<ProcedureTimes>), String> {
        let mut plan = plan(PROCS, "127.0.0.1:/export", (port, port), &options)?;
        plan.benchmark.mix = Mix::new(OPS).map_err(|e| e.to_string())?;
        let mut bench = Bench::start(plan)?;
        bench.init(100.0)?;
        // INIT and the look-ups before it are not in the capture.
        let capture = Capture::start(sandbox, "lo", &[port]).map_err(|e| e.to_string())?;
        let stats = bench.run(RATE, Duration::ZERO, WINDOW)?;
        let captured = capture.stop().map_err(|e| e.to_string())?;
        if captured.dropped() > 0 {
            return Err(format!("the capture lost {} packets", captured.dropped()));
        }
        Ok((
            stats,
            captured
                .times_of(version.number)
                .map_err(|e| e.to_string())?,
        ))
    };
    let (stats, times) = sandbox.run(stats)?;
    compare((version, delay_us), &stats, &times)
}

fn compare(
    (version, delay_us): (Version, u32),
    stats: &PointStats,
    times: &[ProcedureTimes],
) -> Figures {
    let delay = match version {
        V3 => format!("delay {delay_us} us"),
        _ => format!("NFSv{}, delay {delay_us} us", version.text),
    };
    let calls: u64 = times.iter().map(|t| t.calls).sum();
    let sum_us: f64 = times.iter().map(|t| t.mean_us * t.calls as f64).sum();
    let count: u64 = stats.ops.iter().map(|op| op.service.count()).sum();
    let sum_ns: u64 = stats.ops.iter().map(|op| op.service.sum_ns()).sum();
    let (captured, measured) = (sum_us / calls as f64, sum_ns as f64 / 1e3 / count as f64);
    let figure =
        |what: &str, unit, value| Figure::new(format!("{delay}: {what}"), unit, vec![value]);
    let mut figures = vec![
        figure("calls in the capture that were not counted", "calls", {
            calls as f64 - count as f64
        }),
        figure("mean of tshark", "us", captured),
        figure("mean of Filermark", "us", measured),
        figure(
            "mean of Filermark, without the delay",
            "us",
            measured - f64::from(delay_us),
        ),
    ];
    if version != V3 {
        let off = (measured - captured).abs();
        let bar = Bar::AtMost((captured * 0.02).max(5.0));
        figures.push(figure("COMPOUND, difference to tshark", "us", off).bar(bar));
        return Ok(figures);
    }
    for op in &stats.ops {
        let name = op.op.name();
        let Some(row) = times.iter().find(|t| t.name.eq_ignore_ascii_case(name)) else {
            return Err(format!("no {name} in the capture"));
        };
        let off = (op.service.mean_ns() / 1e3 - row.mean_us).abs();
        let bar = (row.mean_us * 0.02).max(5.0);
        figures.push(
            figure(&format!("{name}, difference to tshark"), "us", off).bar(Bar::AtMost(bar)),
        );
    }
    Ok(figures)
}
