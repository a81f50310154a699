//! Reductions of synthetic merged logs. Shared helpers are here.

use super::*;
use crate::log::{
    ClockFacts, EventKind, Head, Instrument, Lab, Log, LogEvent, LogLine, LogWriter, MergedPoint,
    MergedRun, PhaseBegin, Port, PortSample, Readings, Role, Source, SourceKind, Tag, Traffic,
};
use crate::reading::Quantity;
use std::path::Path;

mod drives;
mod findings;
mod interfaces;
mod meters;
mod seed_rows;
mod step_series;

/// MiB/s and W of the ten load points of slides E, "Data reduction. Example SWBUILD". The
/// seed shows W without decimals and an efficiency that is cut, not rounded: all ten rows
/// are reproduced if W is 0.15 below the figure shown.
const SWBUILD: [(f64, f64); 10] = [
    (3000.0, 1499.85),
    (5000.0, 1501.85),
    (7000.0, 1503.85),
    (9000.0, 1505.85),
    (11000.0, 1507.85),
    (13000.0, 1509.85),
    (15000.0, 1511.85),
    (17000.0, 1513.85),
    (19000.0, 1515.85),
    (21000.0, 1517.85),
];
/// Length of RUN, and from one load point to the next, in seconds.
const RUN_S: f64 = 300.0;
const POINT_S: f64 = 400.0;
const BEGAN_S: f64 = 1_520_190_000.0;

fn at(seconds: f64) -> Timestamp {
    Timestamp::from_unix_seconds(BEGAN_S + seconds)
}

/// A merged log, written line by line.
struct Lines(LogWriter<Vec<u8>>);

impl Lines {
    fn new(lab: Lab, run: MergedRun) -> Self {
        let mut lines = Self(LogWriter::new(Vec::new(), Path::new("test")));
        lines.push(LogLine::Energy(Box::new(Head {
            schema: crate::log::SCHEMA_VERSION,
            program: "filermark".into(),
            version: "0".into(),
            started: at(-100.0),
            host: "lab".into(),
            notice: filermark_model::NOT_A_SPEC_RESULT.into(),
            lab,
        })));
        lines.push(LogLine::Run(Box::new(run)));
        lines
    }

    fn push(&mut self, line: LogLine) {
        self.0.line(&line).expect("memory");
    }

    fn source(&mut self, id: u32, kind: SourceKind, role: Role) {
        self.push(source(id, kind, role));
    }

    fn port(&mut self, port: u32, if_index: u32) {
        self.push(LogLine::Port(Port {
            port,
            source: 9,
            agent: [10, 0, 0, 248].into(),
            sub_agent: 0,
            if_index,
            name: None,
            speed_bits_per_s: None,
        }));
    }

    fn reading(&mut self, source: u32, seconds: f64, quantity: Quantity, value: f64) {
        self.push(LogLine::Readings(Readings {
            source,
            at: at(seconds),
            values: [(quantity, value)].into(),
            tag: Some(tag(seconds)),
        }));
    }

    /// A sample of 5 s that ends at `seconds`.
    fn traffic(&mut self, port: u32, seconds: f64, mib_per_s: f64) {
        let bytes = (mib_per_s * 5.0 * 1_048_576.0 / 2.0) as u64;
        self.push(LogLine::Traffic(Traffic {
            source: 9,
            at: at(seconds),
            tag: Some(tag(seconds)),
            samples: vec![PortSample {
                after_us: 0,
                interval_us: 5_000_000,
                port,
                in_bytes: Some(bytes),
                out_bytes: Some(bytes),
                bad_packets: Some(0),
            }],
        }));
    }

    fn log(self) -> Log<std::io::Cursor<Vec<u8>>> {
        let text = self.0.end(at(10_000.0)).expect("memory");
        Log::new(std::io::Cursor::new(text), Path::new("test"))
    }

    fn reduce(self) -> WorkloadReduction {
        let reduced = reduce_logs(vec![self.log()], &ReduceOptions::default());
        reduced.expect("a reduction").workloads.remove(0)
    }
}

fn source(id: u32, kind: SourceKind, role: Role) -> LogLine {
    LogLine::Source(Source {
        id,
        kind,
        name: format!("source {id}"),
        location: format!("here/{id}"),
        role,
        simulated: false,
        interval_s: Some(5.0),
        digits: Default::default(),
        instrument: Default::default(),
        clock: ClockFacts {
            bound_s: Some(0.1),
            ..ClockFacts::default()
        },
    })
}

/// Only whether it is RUN matters to the reduction.
fn tag(seconds: f64) -> Tag {
    let point = (seconds / POINT_S).floor();
    let into = seconds - point * POINT_S;
    Tag {
        run: 0,
        point: if seconds < 0.0 { 0 } else { point as u32 + 1 },
        phase: match into {
            _ if seconds < 0.0 => EnergyPhase::PreTest,
            s if s < 50.0 => EnergyPhase::Warmup,
            s if s < 50.0 + RUN_S => EnergyPhase::Run,
            _ => EnergyPhase::Post,
        },
    }
}

fn run(points: u32) -> MergedRun {
    let point = |number: u32| {
        let begin = POINT_S * f64::from(number - 1);
        let phase = |phase, seconds: f64| PhaseBegin {
            phase,
            at: at(begin + seconds),
        };
        MergedPoint {
            number,
            load: Some(f64::from(number) * 10.0),
            achieved_ops_per_s: Some(f64::from(number) * 5000.0),
            client_mib_per_s: Some(f64::from(number) * 1900.0),
            latency_ms_mean: Some(1.0),
            valid: Some(true),
            phases: vec![
                phase(EnergyPhase::Pre, 0.0),
                phase(EnergyPhase::Warmup, 0.0),
                phase(EnergyPhase::Run, 50.0),
                phase(EnergyPhase::RunTail, 50.0 + RUN_S * 0.9),
                phase(EnergyPhase::Post, 50.0 + RUN_S),
            ],
            run_ended: Some(at(begin + 50.0 + RUN_S)),
            throughput_mib_per_s: Vec::new(),
            throughput_step_s: None,
        }
    };
    MergedRun {
        run: 0,
        name: "swbuild".into(),
        location: "swbuild.run.jsonl".into(),
        fingerprint: String::new(),
        benchmark: "SWBUILD".into(),
        load_unit: "BUILD".into(),
        began: at(0.0),
        ended: Some(at(POINT_S * f64::from(points))),
        cut_after: Vec::new(),
        points: (1..=points).map(point).collect(),
    }
}

fn lab(ports: &[&str]) -> Lab {
    Lab {
        ports: ports.iter().map(|p| (*p).to_owned()).collect(),
        ..Lab::default()
    }
}

/// The seed's SWBUILD: two interfaces face the server, a third does not; a sample every 5 s.
fn swbuild(ports: &[&str]) -> Lines {
    // Samples are 1.7 s after the begins of load points.
    swbuild_at(ports, 1.7, &|lines, seconds, watts| {
        lines.reading(1, seconds, Quantity::Power, watts);
    })
}

/// The seed's SWBUILD with samples `offset_s` after a 5 s grid, on which RUNs begin and end;
/// `read` writes the reading of the meter.
fn swbuild_at(ports: &[&str], offset_s: f64, read: &dyn Fn(&mut Lines, f64, f64)) -> Lines {
    let mut lines = Lines::new(lab(ports), run(10));
    lines.source(1, SourceKind::Meter, Role::Server);
    lines.source(9, SourceKind::Sflow, Role::Server);
    for (port, if_index) in [(0, 24), (1, 25), (2, 3)] {
        lines.port(port, if_index);
    }
    for second in (-100..4000).step_by(5) {
        let seconds = f64::from(second) + offset_s;
        read(&mut lines, seconds, figures(seconds).1);
        // The counters are of the 5 s before; the middle of that decides.
        let mib = figures(seconds - 2.5).0;
        lines.traffic(0, seconds, mib * 0.75);
        lines.traffic(1, seconds, mib * 0.25);
        lines.traffic(2, seconds, mib);
    }
    lines
}

/// MiB/s and W; between RUNs something else, which must not get into a mean.
fn figures(seconds: f64) -> (f64, f64) {
    let point = (seconds / POINT_S).floor();
    let into = seconds - point * POINT_S;
    match seconds >= 0.0 && (50.0..50.0 + RUN_S).contains(&into) {
        true => SWBUILD[(point as usize).min(9)],
        false => (1.0, 900.0),
    }
}

fn close(found: Option<f64>, wanted: f64) -> bool {
    found.is_some_and(|found| (found / wanted - 1.0).abs() < 1e-9)
}

fn of_rule(findings: &[EnergyFinding], rule: EnergyRule) -> Vec<&EnergyFinding> {
    findings.iter().filter(|f| f.rule == rule).collect()
}

/// A meter: its number, its role, its power at a second.
type Metered<'a> = (u32, Role, &'a dyn Fn(f64) -> Option<f64>);

/// One load point with meters that are read every `step` seconds of RUN.
fn metered(meters: &[Metered<'_>], step: usize) -> WorkloadReduction {
    let mut lines = Lines::new(lab(&[]), run(1));
    for (id, role, _) in meters {
        lines.source(*id, SourceKind::Meter, *role);
    }
    for second in (0..400).step_by(step) {
        for (id, _, watts) in meters {
            if let Some(watts) = watts(f64::from(second)) {
                lines.reading(*id, f64::from(second), Quantity::Power, watts);
            }
        }
    }
    lines.reduce()
}
