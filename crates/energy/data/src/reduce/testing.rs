//! A made-up reduction for the tests of the crate that renders it: the seed's SWBUILD table
//! (slides E, "Data reduction"), a workload with gaps and without a switch, a simulated one,
//! one without any figure, and five numbers of drives.

use super::{
    BestFoot, DriveEfficiency, EnergyFinding, EnergyRule, PhaseSpan, PointEfficiency, RangePoint,
    Reduction, Series, SeriesKind, SourceView, Stats, TrafficFrom, WorkloadReduction,
};
use crate::log::{EnergyPhase, Instrument, Lab, Product};
use filermark_model::Severity;
use filermark_results::Timestamp;

/// 2018-03-12 13:14:26 UTC, a time of the seed's.
const BEGAN_UNIX_S: f64 = 1_520_860_466.0;
/// Seconds of a load point: INIT 60, WARMUP 300, RUN 270, RUN_TAIL 30, POST 60.
const POINT_S: f64 = 720.0;
/// Seconds before the first load point.
const PRE_TEST_S: f64 = 600.0;
/// Seconds between samples of a series: thinned, as the reduction thins long ones.
const STEP_S: f64 = 30.0;
/// The difference between the power and the figure in the seed's table. Its ten rows result only if
/// power is shown rounded and the quotient cut, and, with the same difference in all rows,
/// only from 0.128 to 0.198 W below the figure shown.
const HIDDEN_W: f64 = 0.15;

/// The seed's table: run, MiB/s, W and MiB/s per W as printed.
pub const SEED_ROWS: [(u32, &str, &str, &str); 10] = [
    (1, "3000", "1500", "2.00"),
    (2, "5000", "1502", "3.32"),
    (3, "7000", "1504", "4.65"),
    (4, "9000", "1506", "5.97"),
    (5, "11000", "1508", "7.29"),
    (6, "13000", "1510", "8.61"),
    (7, "15000", "1512", "9.92"),
    (8, "17000", "1514", "11.22"),
    (9, "19000", "1516", "12.53"),
    (10, "21000", "1518", "13.83"),
];

/// The parameters of a made-up run.
struct Shape {
    name: &'static str,
    benchmark: &'static str,
    load_unit: &'static str,
    /// MiB/s and W of the first load point, and what each further one adds.
    mib_per_s: (f64, f64),
    power_w: (f64, f64),
    ops_per_s: f64,
    load: f64,
    day: f64,
}

/// The whole reduction.
pub fn reduction() -> Reduction {
    let mut all = Reduction {
        workloads: vec![swbuild(), vdi(), vda(), database()],
        best_foot: vec![best_foot()],
        findings: vec![finding(
            EnergyRule::Simulated,
            Severity::Warning,
            "the figures of run vda are made up by the simulator; do not publish them",
        )],
        simulated: true,
    };
    all.workloads[0].findings = vec![finding(
        EnergyRule::Clock,
        Severity::Note,
        "the clock of meter wt310 is 0.8 s behind the prime's, ± 0.2 s; its times were set right",
    )];
    all
}

/// The seed's SWBUILD table as it is printed, with meters, interfaces and climate.
fn swbuild() -> WorkloadReduction {
    let shape = Shape {
        name: "swbuild",
        benchmark: "swbuild",
        load_unit: "BUILDS",
        mib_per_s: (3000.0, 2000.0),
        power_w: (1500.0 - HIDDEN_W, 2.0),
        ops_per_s: 500.0,
        load: 10.0,
        day: 0.0,
    };
    let mut run = workload(&shape, TrafficFrom::Sflow);
    let part = |s: &Series, kind, label: &str, share: f64| Series {
        kind,
        label: label.into(),
        unit: s.unit.clone(),
        values: s
            .values
            .iter()
            .map(|(at, v)| (*at, v.map(|v| v * share)))
            .collect(),
    };
    let meters = [
        part(&run.series[0], SeriesKind::Meter, "wt310 element 1", 0.52),
        part(&run.series[0], SeriesKind::Meter, "wt310 element 2", 0.48),
    ];
    let interfaces = [(24, 0.6), (25, 0.4)].map(|(i, share)| {
        let label = format!("10.0.0.248 interface {i}");
        part(&run.series[1], SeriesKind::Interface, &label, share)
    });
    run.series.extend(meters);
    run.series.extend(interfaces);
    run.series.push(climate(
        &shape,
        SeriesKind::Temperature,
        "inlet",
        "°C",
        22.4,
    ));
    run.series
        .push(climate(&shape, SeriesKind::Humidity, "inlet", "%", 41.0));
    for point in &mut run.points {
        point.temperature_c = Some(stats(22.4));
        point.humidity_pcnt = Some(stats(41.0));
    }
    run.idle = Some(stats(1_420.5));
    run.raw_capacity_gb = Some(72_000.0);
    run.ready_idle_gb_per_w = Some(72_000.0 / 1_420.5);
    run.events = vec![(
        at(&shape, PRE_TEST_S + POINT_S * 3.5),
        "switch 10.0.0.248: 2 datagrams were lost".into(),
    )];
    run
}

/// No switch was read, and the meter was silent for a while; load point 4 does not count.
fn vdi() -> WorkloadReduction {
    let shape = Shape {
        name: "vdi",
        benchmark: "vdi",
        load_unit: "DESKTOPS",
        mib_per_s: (2_850.0, 2_850.0),
        power_w: (1_502.0, 2.0),
        ops_per_s: 200.0,
        load: 25.0,
        day: 1.0,
    };
    let mut run = workload(&shape, TrafficFrom::Clients);
    run.series.retain(|s| s.kind != SeriesKind::Traffic);
    for (i, (_, value)) in run.series[0].values.iter_mut().enumerate() {
        if (83..130).contains(&i) {
            *value = None;
        }
    }
    for point in &mut run.points {
        point.traffic_mib_per_s = None;
    }
    let silent = &mut run.points[3];
    silent.valid = Some(false);
    silent.power_w = None;
    (silent.mib_per_s_per_w, silent.ops_per_s_per_w) = (None, None);
    silent.joules_per_op = None;
    silent.findings = vec![
        finding(
            EnergyRule::NoData,
            Severity::Invalid,
            "no sample of power over RUN: the meter was silent; look at its cable and measure again",
        ),
        finding(
            EnergyRule::PointInvalid,
            Severity::Invalid,
            "the load point is INVALID by the run's own rules",
        ),
    ];
    for (point, coverage) in [(2, 0.3), (4, 0.8)] {
        if let Some(power) = &mut run.points[point].power_w {
            power.coverage = coverage;
        }
        run.points[point].findings.push(finding(
            EnergyRule::Gap,
            Severity::Warning,
            "samples of power are there for a part of RUN only, at least 95 % are wanted",
        ));
    }
    run.events = vec![
        (
            at(&shape, 83.0 * STEP_S),
            "meter wt310 does not answer".into(),
        ),
        (at(&shape, 130.0 * STEP_S), "meter wt310 is back".into()),
    ];
    run
}

/// Made up by the simulator.
fn vda() -> WorkloadReduction {
    let shape = Shape {
        name: "vda",
        benchmark: "vda",
        load_unit: "STREAMS",
        mib_per_s: (3_090.0, 3_090.0),
        power_w: (1_511.5, 2.0),
        ops_per_s: 90.0,
        load: 9.0,
        day: 2.0,
    };
    let mut run = workload(&shape, TrafficFrom::Sflow);
    run.simulated = true;
    for source in &mut run.sources {
        source.simulated = true;
        source.location = "sim:idle=1500".into();
    }
    run.findings = vec![finding(
        EnergyRule::Simulated,
        Severity::Invalid,
        "wt310 made its figures up; not a measurement",
    )];
    run
}

/// Two load points without power and traffic.
fn database() -> WorkloadReduction {
    let shape = Shape {
        name: "database",
        benchmark: "database",
        load_unit: "DATABASES",
        mib_per_s: (2_600.0, 2_600.0),
        power_w: (1_495.0, 2.0),
        ops_per_s: 160.0,
        load: 4.0,
        day: 3.0,
    };
    let mut run = workload(&shape, TrafficFrom::Nowhere);
    run.points.truncate(2);
    run.phases.retain(|p| p.point <= 2);
    run.series.clear();
    run.sources.clear();
    run.best = None;
    for point in &mut run.points {
        (point.traffic_mib_per_s, point.client_mib_per_s) = (None, None);
        (point.power_w, point.client_power_w) = (None, None);
        (point.mib_per_s_per_w, point.ops_per_s_per_w) = (None, None);
        (point.joules_per_op, point.valid) = (None, None);
    }
    run.findings = vec![finding(
        EnergyRule::Coverage,
        Severity::Warning,
        "2 load points, 10 evenly spaced ones are wanted",
    )];
    run
}

fn workload(shape: &Shape, traffic_from: TrafficFrom) -> WorkloadReduction {
    let points: Vec<PointEfficiency> = (1..=10).map(|n| point(shape, n)).collect();
    let mut series = vec![
        series(shape, SeriesKind::Power, "power of the server", "W"),
        series(
            shape,
            SeriesKind::Traffic,
            "traffic of the chosen interfaces",
            "MiB/s",
        ),
        series(
            shape,
            SeriesKind::Throughput,
            "read and written by clients",
            "MiB/s",
        ),
    ];
    series.retain(|s| s.kind != SeriesKind::Traffic || traffic_from == TrafficFrom::Sflow);
    WorkloadReduction {
        name: shape.name.into(),
        benchmark: shape.benchmark.into(),
        load_unit: shape.load_unit.into(),
        drives: Some(24),
        raw_capacity_gb: None,
        lab: lab(),
        best: Some(points.len() - 1),
        points,
        traffic_from,
        idle: None,
        ready_idle_gb_per_w: None,
        sources: vec![SourceView {
            name: "wt310".into(),
            location: "scpi://wt310:10001".into(),
            role: "server".into(),
            simulated: false,
            samples: 1_560,
            clock: "0.8 s behind, ± 0.2 s (asked before and after)".into(),
            power_of_product: true,
            instrument: Instrument {
                make: Some("Yokogawa".into()),
                model: Some("WT310E".into()),
                serial: Some("C3TB12345".into()),
                firmware: None,
                calibrated: Some("2017-11-06".into()),
            },
        }],
        series,
        phases: phases(shape),
        events: Vec::new(),
        findings: Vec::new(),
        simulated: false,
    }
}

/// The fields of the worksheet, without `measured_by`.
fn lab() -> Lab {
    Lab {
        product: Product {
            vendor: Some("Example Storage".into()),
            name: Some("Filer 9".into()),
            model: Some("F9-24".into()),
            serial: Some("0042".into()),
            firmware: Some("9.1.4".into()),
            configuration: Some("2 controllers, 24 drives of 4 TB".into()),
        },
        place: Some("Lab 2, Cologne".into()),
        ..Lab::default()
    }
}

fn point(shape: &Shape, number: u32) -> PointEfficiency {
    let steps = f64::from(number - 1);
    let mib_per_s = shape.mib_per_s.0 + steps * shape.mib_per_s.1;
    let power_w = shape.power_w.0 + steps * shape.power_w.1;
    let ops_per_s = shape.ops_per_s * (steps + 1.0);
    let began = PRE_TEST_S + steps * POINT_S + 360.0;
    PointEfficiency {
        number,
        load: Some(shape.load * (steps + 1.0)),
        achieved_ops_per_s: Some(ops_per_s),
        latency_ms_mean: Some(0.8 + steps * 0.31),
        client_mib_per_s: Some(mib_per_s * 0.96),
        valid: Some(true),
        began: Some(at(shape, began)),
        ended: Some(at(shape, began + 300.0)),
        traffic_mib_per_s: Some(stats(mib_per_s)),
        power_w: Some(stats(power_w)),
        client_power_w: None,
        temperature_c: None,
        humidity_pcnt: None,
        mib_per_s_per_w: Some(mib_per_s / power_w),
        ops_per_s_per_w: Some(ops_per_s / power_w),
        joules_per_op: Some(power_w / ops_per_s),
        findings: Vec::new(),
    }
}

/// A steady figure around its mean.
fn stats(mean: f64) -> Stats {
    Stats {
        mean,
        min: mean * 0.99,
        p5: mean * 0.994,
        p50: mean,
        p95: mean * 1.006,
        max: mean * 1.01,
        deviation: mean * 0.003,
        drift: 0.0012,
        samples: 60,
        coverage: 1.0,
        interval_s: 5.0,
    }
}

/// Seconds after the run's beginning.
fn at(shape: &Shape, seconds: f64) -> Timestamp {
    Timestamp::from_unix_seconds(BEGAN_UNIX_S + shape.day * 86_400.0 + seconds)
}

fn phases(shape: &Shape) -> Vec<PhaseSpan> {
    let mut all = vec![PhaseSpan {
        point: 0,
        phase: EnergyPhase::PreTest,
        began: at(shape, 0.0),
        ended: at(shape, PRE_TEST_S),
    }];
    let of_point = [
        (EnergyPhase::Init, 60.0),
        (EnergyPhase::Warmup, 300.0),
        (EnergyPhase::Run, 270.0),
        (EnergyPhase::RunTail, 30.0),
        (EnergyPhase::Post, 60.0),
    ];
    for point in 1..=10 {
        let mut from = PRE_TEST_S + f64::from(point - 1) * POINT_S;
        for (phase, seconds) in of_point {
            all.push(PhaseSpan {
                point,
                phase,
                began: at(shape, from),
                ended: at(shape, from + seconds),
            });
            from += seconds;
        }
    }
    all
}

/// A line: idle, then rising to each load point.
fn series(shape: &Shape, kind: SeriesKind, label: &str, unit: &str) -> Series {
    let count = ((PRE_TEST_S + 10.0 * POINT_S) / STEP_S) as usize;
    let value = |i: usize| {
        let seconds = i as f64 * STEP_S;
        let ripple = ((i * 7919) % 101) as f64 / 50.0 - 1.0;
        let load = (seconds - PRE_TEST_S) / POINT_S;
        let makes_load = load >= 0.0 && (load.fract() * POINT_S) < 660.0;
        let step = load.max(0.0).floor();
        match (kind, makes_load) {
            (SeriesKind::Power, true) => shape.power_w.0 + step * shape.power_w.1 + ripple * 4.0,
            (SeriesKind::Power, false) => shape.power_w.0 - 80.0 + ripple * 3.0,
            (SeriesKind::Throughput, true) => {
                (shape.mib_per_s.0 + step * shape.mib_per_s.1) * (0.96 + ripple * 0.02)
            }
            (_, true) => (shape.mib_per_s.0 + step * shape.mib_per_s.1) * (1.0 + ripple * 0.03),
            (_, false) => 2.0 + ripple,
        }
    };
    Series {
        kind,
        label: label.into(),
        unit: unit.into(),
        values: (0..count)
            .map(|i| (at(shape, i as f64 * STEP_S), Some(value(i))))
            .collect(),
    }
}

fn climate(shape: &Shape, kind: SeriesKind, label: &str, unit: &str, mean: f64) -> Series {
    let value = |i: usize| mean + (i as f64 / 25.0).sin() * 0.6;
    Series {
        kind,
        label: label.into(),
        unit: unit.into(),
        values: (0..260)
            .map(|i| (at(shape, i as f64 * 30.0), Some(value(i))))
            .collect(),
    }
}

fn finding(rule: EnergyRule, severity: Severity, message: &str) -> EnergyFinding {
    EnergyFinding {
        rule,
        severity,
        message: message.into(),
    }
}

/// Five numbers of drives; 24 are the best.
fn best_foot() -> BestFoot {
    let measured = [
        (12, 9.42),
        (16, 12.108),
        (24, 13.835),
        (28, 13.206),
        (36, 11.31),
    ];
    BestFoot {
        benchmark: "swbuild".into(),
        measured: measured
            .map(|(drives, mib_per_s_per_w)| DriveEfficiency {
                drives,
                mib_per_s_per_w,
                run: format!("swbuild{drives}"),
            })
            .to_vec(),
        best: Some(2),
        enclosed: true,
        low: Some(RangePoint {
            drives_wanted: 14,
            by_drives: None,
            drives_15_pcnt_below: Some(15.4),
        }),
        high: Some(RangePoint {
            drives_wanted: 28,
            by_drives: Some(3),
            drives_15_pcnt_below: Some(34.1),
        }),
        next: vec!["measure with 14 drives: -40 % of the best".into()],
    }
}
