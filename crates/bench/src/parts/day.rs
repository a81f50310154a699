//! Merging a day of 100 interfaces and a meter, a sample per second, with a run; reducing it.

use crate::figure::{Bar, Figure, Figures};
use crate::measured::{MeasuredOrReason, figures_only};
use filermark_energy_data::Quantity;
use filermark_energy_data::log::{
    EnergyPhase, Head, Lab, Log, LogLine, LogWriter, MergedPoint, MergedRun, PhaseBegin, Port,
    PortSample, Readings, Role, SCHEMA_VERSION, Source, SourceKind, Traffic,
};
use filermark_energy_data::merge::{MergeOptions, merge};
use filermark_energy_data::reduce::{ReduceOptions, reduce_files};
use filermark_results::Timestamp;
use std::path::Path;
use std::time::Instant;

const PORTS: u32 = 100;
const SECONDS: i64 = 86_400;
/// Load points of the run, evenly over the day.
const POINTS: u32 = 10;
/// Longest time of a merge that is accepted, in seconds.
const MERGE_S_MAX: f64 = 5.0;
const BEGAN_S: f64 = 1_800_000_000.0;

/// Merges the day, then reduces it with one interface chosen.
pub fn measure(rounds: u32) -> MeasuredOrReason {
    figures_only(merge_and_reduce(rounds))
}

fn merge_and_reduce(rounds: u32) -> Figures {
    let dir = tempfile::tempdir().map_err(text)?;
    let (log, merged) = (dir.path().join("day"), dir.path().join("merged"));
    write(&log).map_err(text)?;
    let mib = log.metadata().map_err(text)?.len() as f64 / 1_048_576.0;
    let (mut merging, mut reducing) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        let _ = std::fs::remove_file(&merged);
        let began = Instant::now();
        let open = Log::open(&log).map_err(text)?;
        let out = LogWriter::create(&merged).map_err(text)?;
        let options = MergeOptions {
            lab: Lab {
                ports: vec!["1".into()],
                ..Lab::default()
            },
            ..MergeOptions::default()
        };
        let done = merge(head(), &[run()], vec![open], &options, out).map_err(text)?;
        merging.push(began.elapsed().as_secs_f64());
        let samples = u64::from(PORTS) * SECONDS as u64;
        if done.0.tagged < samples {
            return Err("samples are missing".into());
        }
        let began = Instant::now();
        let paths = [merged.clone()];
        reduce_files(&paths, &ReduceOptions::default()).map_err(text)?;
        reducing.push(began.elapsed().as_secs_f64());
    }
    Ok(vec![
        Figure::new("a day of 100 interfaces, merged with a run", "s", merging)
            .bar(Bar::AtMost(MERGE_S_MAX)),
        Figure::new(
            "a merged day, reduced with one interface chosen",
            "s",
            reducing,
        ),
        Figure::new("log of a day", "MiB", vec![mib]),
    ])
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

fn at(second: f64) -> Timestamp {
    Timestamp::from_unix_seconds(BEGAN_S + second)
}

fn head() -> Head {
    Head {
        schema: SCHEMA_VERSION,
        program: "filermark".into(),
        version: "bench".into(),
        started: at(0.0),
        host: "bench".into(),
        notice: String::new(),
        lab: Lab::default(),
    }
}

fn write(path: &Path) -> Result<(), filermark_energy_data::log::WriteError> {
    let mut log = LogWriter::create(path)?;
    log.line(&LogLine::Energy(Box::new(head())))?;
    for (id, kind) in [(0, SourceKind::Meter), (1, SourceKind::Sflow)] {
        log.line(&LogLine::Source(Source {
            id,
            kind,
            name: format!("source {id}"),
            location: "synthetic".into(),
            role: Role::Server,
            simulated: true,
            interval_s: Some(1.0),
            digits: Default::default(),
            instrument: Default::default(),
            clock: Default::default(),
        }))?;
    }
    for port in 0..PORTS {
        log.line(&LogLine::Port(Port {
            port,
            source: 1,
            agent: [10, 0, 0, 248].into(),
            sub_agent: 0,
            if_index: port + 1,
            name: None,
            speed_bits_per_s: Some(100_000_000_000),
        }))?;
    }
    for second in 0..SECONDS {
        log.line(&LogLine::Traffic(Traffic {
            source: 1,
            at: at(second as f64),
            tag: None,
            samples: (0..PORTS).map(|port| sample(second, port)).collect(),
        }))?;
        log.line(&LogLine::Readings(Readings {
            source: 0,
            at: at(second as f64),
            values: [(Quantity::Power, 500.0)].into(),
            tag: None,
        }))?;
    }
    log.end(at(SECONDS as f64)).map(drop)
}

fn sample(second: i64, port: u32) -> PortSample {
    let bytes = 100_000_000 + (second as u64 * 7919 + u64::from(port) * 104_729) % 9_000_000;
    PortSample {
        after_us: i64::from(port) * 1000,
        interval_us: 1_000_000,
        port,
        in_bytes: Some(bytes),
        out_bytes: Some(bytes / 3),
        bad_packets: Some(0),
    }
}

fn run() -> MergedRun {
    let length = SECONDS as f64 / f64::from(POINTS);
    let point = |number: u32| {
        let begin = length * f64::from(number - 1);
        let phase = |phase, share: f64| PhaseBegin {
            phase,
            at: at(begin + length * share),
        };
        MergedPoint {
            number,
            load: Some(f64::from(number)),
            achieved_ops_per_s: Some(1000.0),
            client_mib_per_s: None,
            latency_ms_mean: None,
            valid: Some(true),
            phases: vec![
                phase(EnergyPhase::Pre, 0.0),
                phase(EnergyPhase::Init, 0.1),
                phase(EnergyPhase::Warmup, 0.3),
                phase(EnergyPhase::Run, 0.4),
                phase(EnergyPhase::RunTail, 0.85),
                phase(EnergyPhase::Post, 0.9),
            ],
            run_ended: Some(at(begin + length * 0.9)),
            throughput_mib_per_s: Vec::new(),
            throughput_step_s: None,
        }
    };
    MergedRun {
        run: 0,
        name: "day".into(),
        location: "synthetic".into(),
        fingerprint: String::new(),
        benchmark: "none".into(),
        load_unit: "op/s".into(),
        began: at(0.0),
        ended: Some(at(SECONDS as f64)),
        cut_after: Vec::new(),
        points: (1..=POINTS).map(point).collect(),
    }
}
