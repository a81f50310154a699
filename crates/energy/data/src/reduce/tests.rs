use super::steps::{Piece, Steps};
use super::*;
use crate::log::{
    ClockFacts, EventKind, Head, Instrument, Lab, Log, LogEvent, LogLine, LogWriter, MergedPoint,
    MergedRun, PhaseBegin, Port, PortSample, Readings, Role, Source, SourceKind, Tag, Traffic,
};
use crate::reading::Quantity;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::path::Path;

/// MiB/s and W of the ten load points of slides E, "Data reduction. Example SWBUILD". The
/// seed shows W without decimals and an efficiency that is cut, not rounded: all ten rows
/// come out if W has 0.15 less than is shown.
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

/// A lab: what is merged already, line by line.
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
    // A third of a sample off the load points' begins, as it happens.
    swbuild_at(ports, 1.7, &|lines, seconds, watts| {
        lines.reading(1, seconds, Quantity::Power, watts);
    })
}

/// The same with samples so many seconds behind the beats of a 5 s grid, on which RUNs
/// begin and end; `read` writes what the meter says.
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
        // What the counters say is of the 5 s before; of which most lie in its middle.
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

/// The seed's ten rows, to the digit.
const SHOWN: [&str; 10] = [
    "2.00", "3.32", "4.65", "5.97", "7.29", "8.61", "9.92", "11.22", "12.53", "13.83",
];

fn shown(point: &PointEfficiency) -> String {
    let cut = (point.mib_per_s_per_w.expect("efficiency") * 100.0).floor() / 100.0;
    format!("{cut:.2}")
}

/// Whatever lies around a RUN (1 MiB/s and 900 W here) gets into nothing of it, wherever
/// the readings lie: RUN is half open.
#[test]
fn the_seeds_rows_come_out_at_every_phase_of_the_samples() {
    for tenths in 0..50 {
        let offset_s = f64::from(tenths) / 10.0;
        let power = |lines: &mut Lines, seconds, watts| {
            lines.reading(1, seconds, Quantity::Power, watts);
        };
        let reduced = swbuild_at(&["24-25"], offset_s, &power).reduce();
        for ((point, (mib, watts)), row) in reduced.points.iter().zip(SWBUILD).zip(SHOWN) {
            let power = point.power_w.expect("power");
            let of = (offset_s, point.number);
            assert!(close(Some(power.mean), watts), "{of:?}: {power:?}");
            assert_eq!((power.min, power.max), (watts, watts), "{of:?}");
            assert_eq!((power.samples, power.coverage), (60, 1.0), "{of:?}");
            let traffic = point.traffic_mib_per_s.expect("traffic");
            assert!(
                (traffic.min / mib - 1.0).abs() < 1e-6,
                "{of:?}: {traffic:?}"
            );
            assert!(
                (traffic.max / mib - 1.0).abs() < 1e-6,
                "{of:?}: {traffic:?}"
            );
            assert_eq!(shown(point), row, "{of:?}");
            assert!(point.findings.is_empty(), "{of:?}: {:?}", point.findings);
        }
    }
}

/// A figure with so many significant digits, as a meter prints it.
fn printed(value: f64, digits: usize) -> f64 {
    format!("{value:.*e}", digits - 1)
        .parse()
        .expect("a figure")
}

/// Voltage, current and power factor of a power, with the digits of the seed's meter.
fn factors(watts: f64) -> [(Quantity, f64); 3] {
    let (volts, factor) = (230.29, 0.9387);
    [
        (Quantity::Voltage, volts),
        (Quantity::Current, printed(watts / volts / factor, 5)),
        (Quantity::PowerFactor, factor),
    ]
}

#[test]
fn power_of_three_digits_is_told_and_shows_other_rows_than_the_seeds() {
    let read = |lines: &mut Lines, seconds, watts| {
        lines.reading(1, seconds, Quantity::Power, printed(watts, 3));
    };
    let reduced = swbuild_at(&["24-25"], 1.7, &read).reduce();
    let off = reduced.points.iter().zip(SHOWN);
    let off: Vec<u32> = off
        .filter(|(point, row)| shown(point) != *row)
        .map(|(point, _)| point.number)
        .collect();
    assert_eq!(off, [2, 3, 4, 5, 6, 7, 8, 9, 10]);
    for point in &reduced.points {
        let found = of_rule(&point.findings, EnergyRule::Resolution);
        assert_eq!(found[0].severity, Severity::Warning);
        let told = &found[0].message;
        assert!(
            told.contains("steps of 10 W") && told.contains("shown to 1 W"),
            "{told}"
        );
    }
}

/// Row 6 of the seed, 13000 MiB/s over 1510 W, is 8.609: 8.61 comes out of the power that is
/// shown as 1510 W, not of 1510 W.
#[test]
fn voltage_current_and_power_factor_make_the_seeds_rows_where_the_power_has_three_digits() {
    for tenths in 0..50 {
        let read = |lines: &mut Lines, seconds, watts| {
            let mut values: BTreeMap<Quantity, f64> = factors(watts).into();
            values.insert(Quantity::Power, printed(watts, 3));
            lines.push(LogLine::Readings(Readings {
                source: 1,
                at: at(seconds),
                values,
                tag: Some(tag(seconds)),
            }));
        };
        let reduced = swbuild_at(&["24-25"], f64::from(tenths) / 10.0, &read).reduce();
        for ((point, (_, watts)), row) in reduced.points.iter().zip(SWBUILD).zip(SHOWN) {
            assert_eq!(shown(point), row, "{tenths}");
            let power = point.power_w.expect("power").mean;
            assert!((power - watts).abs() < 0.02, "{power} W");
            assert!(point.findings.is_empty(), "{:?}", point.findings);
        }
        let found = of_rule(&reduced.findings, EnergyRule::Resolution);
        assert_eq!(found[0].severity, Severity::Note);
        assert!(found[0].message.contains("and is used"), "{found:?}");
        assert!(reduced.sources[0].power_of_product);
    }
}

#[test]
fn columns_that_do_not_make_the_power_are_told_and_not_used() {
    let read = |lines: &mut Lines, seconds: f64, watts| {
        // Another element's current.
        let mut values: BTreeMap<Quantity, f64> = factors(watts * 1.1).into();
        values.insert(Quantity::Power, printed(watts, 3));
        lines.push(LogLine::Readings(Readings {
            source: 1,
            at: at(seconds),
            values,
            tag: Some(tag(seconds)),
        }));
    };
    let reduced = swbuild_at(&["24-25"], 1.7, &read).reduce();
    let found = of_rule(&reduced.findings, EnergyRule::Resolution);
    assert_eq!(found[0].severity, Severity::Warning);
    assert!(found[0].message.contains("does not fit"), "{found:?}");
    let power = reduced.points[0].power_w.expect("power").mean;
    assert_eq!(power, 1500.0);
}

#[test]
fn what_a_worksheet_lacks_is_told_and_an_old_calibration_too() {
    let mut lab = lab(&["24-25"]);
    let lacks = |lab: &Lab, instrument: Instrument| {
        let mut lines = Lines::new(lab.clone(), run(1));
        let LogLine::Source(mut source) = source(1, SourceKind::Meter, Role::Server) else {
            panic!("a source");
        };
        source.instrument = Box::new(instrument);
        lines.push(LogLine::Source(source));
        for second in 0..400 {
            lines.reading(1, f64::from(second), Quantity::Power, 500.25);
        }
        let reduced = lines.reduce();
        let found = of_rule(&reduced.findings, EnergyRule::Disclosure);
        let told = |f: &&EnergyFinding| (f.severity, f.message.clone());
        found.iter().map(told).collect::<Vec<_>>()
    };
    let found = lacks(&lab, Instrument::default());
    assert_eq!((found.len(), found[0].0), (1, Severity::Note));
    for word in [
        "product.vendor",
        "product.firmware",
        "place",
        "make/model/serial/calibrated of meter source 1",
    ] {
        assert!(found[0].1.contains(word), "{word}: {found:?}");
    }
    for field in lab.product.fields_mut() {
        *field = Some("said".into());
    }
    lab.place = Some("here".into());
    lab.measured_by = Some("us".into());
    let mut instrument = Instrument {
        make: Some("Yokogawa".into()),
        model: Some("WT310E".into()),
        serial: Some("C3".into()),
        firmware: None,
        calibrated: Some("2017-11-06".into()),
    };
    assert_eq!(lacks(&lab, instrument.clone()), []);
    for (day, words) in [
        ("2016-01-01", "(limit 366)"),
        ("2019-01-01", "after the measurement"),
    ] {
        instrument.calibrated = Some(day.into());
        let found = lacks(&lab, instrument.clone());
        assert_eq!((found.len(), found[0].0), (1, Severity::Warning));
        assert!(found[0].1.contains(words), "{found:?}");
    }
}

#[test]
fn the_seeds_swbuild_comes_out() {
    let reduced = swbuild(&["10.0.0.248/24-25"]).reduce();
    assert_eq!(reduced.traffic_from, TrafficFrom::Sflow);
    assert_eq!(reduced.best, Some(9));
    for ((point, (mib, watts)), row) in reduced.points.iter().zip(SWBUILD).zip(SHOWN) {
        let traffic = point.traffic_mib_per_s.expect("traffic");
        // A sample whose interval began before RUN is not wholly of it.
        assert!((traffic.mean / mib - 1.0).abs() < 1e-6, "{traffic:?}");
        assert!(close(point.power_w.map(|p| p.mean), watts), "{point:?}");
        assert_eq!(shown(point), row);
        assert!(point.findings.is_empty(), "{:?}", point.findings);
        let ops = point.achieved_ops_per_s.expect("ops");
        assert!(close(point.joules_per_op, watts / ops));
        assert!(close(point.ops_per_s_per_w, ops / watts));
    }
    assert!(close(reduced.idle.map(|s| s.mean), 900.0));
    assert!(!reduced.simulated);
}

#[test]
fn without_a_choice_of_interfaces_the_clients_count_and_it_is_said() {
    let reduced = swbuild(&[]).reduce();
    assert_eq!(reduced.traffic_from, TrafficFrom::Clients);
    let point = &reduced.points[9];
    assert!(point.traffic_mib_per_s.is_none());
    assert!(close(point.mib_per_s_per_w, 19_000.0 / 1517.85));
    let ports: Vec<_> = of_rule(&reduced.findings, EnergyRule::Ports);
    assert!(ports[0].message.contains("10.0.0.248/3 "), "{ports:?}");
}

#[test]
fn a_chosen_interface_that_nobody_heard_of_is_no_result() {
    let reduced = swbuild(&["24", "25", "99"]).reduce();
    let found = of_rule(&reduced.findings, EnergyRule::Ports);
    assert_eq!(found[0].severity, Severity::Invalid);
    assert!(found[0].message.contains("99"), "{found:?}");
}

fn of_rule(findings: &[EnergyFinding], rule: EnergyRule) -> Vec<&EnergyFinding> {
    findings.iter().filter(|f| f.rule == rule).collect()
}

/// One load point with meters that say `watts` every `step` seconds of RUN.
/// A meter: its number, its role, what it says at a second.
type Metered<'a> = (u32, Role, &'a dyn Fn(f64) -> Option<f64>);

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

#[test]
fn chosen_interfaces_that_are_silent_are_no_reason_to_count_the_clients() {
    let mut lines = Lines::new(lab(&["24"]), run(1));
    lines.source(1, SourceKind::Meter, Role::Server);
    lines.source(9, SourceKind::Sflow, Role::Server);
    for second in 0..400 {
        lines.reading(1, f64::from(second), Quantity::Power, 500.0);
    }
    let reduced = lines.reduce();
    assert_eq!(reduced.traffic_from, TrafficFrom::Sflow);
    assert_eq!(
        (reduced.best, reduced.points[0].mib_per_s_per_w),
        (None, None)
    );
    let ports = of_rule(&reduced.findings, EnergyRule::Ports);
    assert!(ports[0].message.contains("never heard of: 24"), "{ports:?}");
}

#[test]
fn the_switch_is_held_against_the_clients() {
    // Port 3 sees all of it again: both ends of the link are chosen.
    let twice = swbuild(&["24-25", "3"]).reduce();
    let found = of_rule(&twice.findings, EnergyRule::Ports);
    assert!(found[0].message.contains("counted twice"), "{found:?}");
    let half = swbuild(&["25"]).reduce();
    let found = of_rule(&half.findings, EnergyRule::Ports);
    assert!(
        found[0].message.contains("a link to the server missing"),
        "{found:?}"
    );
}

#[test]
fn interfaces_of_one_name_are_two() {
    let mut lines = Lines::new(lab(&["lag"]), run(1));
    lines.source(1, SourceKind::Meter, Role::Server);
    lines.source(9, SourceKind::Sflow, Role::Server);
    for (port, if_index) in [(0, 24), (1, 25)] {
        lines.push(LogLine::Port(Port {
            port,
            source: 9,
            agent: [10, 0, 0, 248].into(),
            sub_agent: 0,
            if_index,
            name: Some("lag".into()),
            speed_bits_per_s: None,
        }));
    }
    for second in (0..400).step_by(5) {
        let seconds = f64::from(second);
        lines.reading(1, seconds, Quantity::Power, 500.0);
        lines.traffic(0, seconds, 1000.0);
        lines.traffic(1, seconds, 900.0);
    }
    let traffic = lines.reduce().points[0].traffic_mib_per_s;
    assert!((traffic.expect("traffic").mean - 1900.0).abs() < 0.01);
}

/// Two sources with the same name and place, as two logs of one meter have.
fn same_meter(second: &dyn Fn(f64) -> Option<f64>) -> WorkloadReduction {
    let mut lines = Lines::new(lab(&[]), run(1));
    for id in [1, 2] {
        lines.push(LogLine::Source(Source {
            id,
            kind: SourceKind::Meter,
            name: "wt".into(),
            location: "wt.csv".into(),
            role: Role::Server,
            simulated: false,
            interval_s: Some(1.0),
            digits: Default::default(),
            instrument: Default::default(),
            clock: ClockFacts::default(),
        }));
    }
    for time in 0..400 {
        let time = f64::from(time);
        lines.reading(1, time, Quantity::Power, 500.0 + time % 2.0);
        if let Some(watts) = second(time) {
            lines.reading(2, time, Quantity::Power, watts);
        }
    }
    lines.reduce()
}

#[test]
fn one_meter_in_two_logs_is_one_and_two_that_look_like_one_are_told() {
    let twice = same_meter(&|time| Some(500.0 + time % 2.0));
    assert!((twice.points[0].power_w.expect("power").mean - 500.5).abs() < 0.01);
    assert!(
        of_rule(&twice.findings, EnergyRule::Data).is_empty(),
        "{:?}",
        twice.findings
    );
    let two = same_meter(&|_| Some(300.0));
    let found = of_rule(&two.findings, EnergyRule::Data);
    assert_eq!((found[0].severity, two.best), (Severity::Invalid, None));
    assert!(
        found[0].message.contains("are they two meters"),
        "{found:?}"
    );
}

#[test]
fn one_place_under_two_names_and_power_below_zero_do_not_count() {
    let mut lines = Lines::new(lab(&[]), run(1));
    for (id, name) in [(1, "a"), (2, "b")] {
        lines.push(LogLine::Source(Source {
            id,
            kind: SourceKind::Meter,
            name: name.into(),
            location: "scpi://10.0.0.5:10001".into(),
            role: Role::Server,
            simulated: false,
            interval_s: Some(1.0),
            digits: Default::default(),
            instrument: Default::default(),
            clock: ClockFacts::default(),
        }));
    }
    for time in 0..400 {
        lines.reading(1, f64::from(time), Quantity::Power, 500.0);
        lines.reading(2, f64::from(time), Quantity::Power, -200.0);
    }
    let reduced = lines.reduce();
    let found = of_rule(&reduced.findings, EnergyRule::Data);
    assert!(
        found[0].message.contains("under several names (a, b)"),
        "{found:?}"
    );
    let found = of_rule(&reduced.points[0].findings, EnergyRule::Data);
    assert!(found[0].message.contains("not above 0 W"), "{found:?}");
    assert_eq!(reduced.best, None);
}

#[test]
fn a_clock_that_was_set_is_told_wherever_its_event_seems_to_lie() {
    for seconds in [-5000.0, 100.0, 9000.0] {
        let mut lines = swbuild(&["24-25"]);
        lines.push(LogLine::Event(LogEvent {
            at: at(seconds),
            source: None,
            what: EventKind::ClockJump,
            message: "the clock was set by 3600 s".into(),
        }));
        assert_eq!(
            of_rule(&lines.reduce().findings, EnergyRule::Clock).len(),
            1
        );
    }
}

#[test]
fn meters_of_the_server_add_up_and_those_of_clients_do_not() {
    let reduced = metered(
        &[
            (1, Role::Server, &|_| Some(300.0)),
            (2, Role::Server, &|_| Some(250.0)),
            (3, Role::Client, &|_| Some(80.0)),
            (4, Role::Other, &|_| Some(1000.0)),
        ],
        1,
    );
    let point = &reduced.points[0];
    assert!(close(point.power_w.map(|p| p.mean), 550.0));
    assert!(close(point.client_power_w.map(|p| p.mean), 80.0));
    assert!(close(point.joules_per_op, 550.0 / 5000.0));
}

#[test]
fn a_meter_that_stops_makes_a_gap_and_never_a_lower_sum() {
    let stops = |s: f64| (s < 250.0).then_some(250.0);
    let reduced = metered(
        &[
            (1, Role::Server, &|_| Some(300.0)),
            (2, Role::Server, &stops),
        ],
        1,
    );
    let power = reduced.points[0].power_w.expect("the part that is known");
    assert!(close(Some(power.mean), 550.0) && close(Some(power.min), 550.0));
    assert!((power.coverage - 201.0 / 300.0).abs() < 0.01, "{power:?}");
    let gap = of_rule(&reduced.points[0].findings, EnergyRule::Gap);
    assert!(gap[0].message.contains("66 %"), "{gap:?}");

    let reduced = metered(
        &[
            (1, Role::Server, &|_| Some(300.0)),
            (2, Role::Server, &|_| None),
        ],
        1,
    );
    let point = &reduced.points[0];
    assert!(point.power_w.is_none() && point.mib_per_s_per_w.is_none());
    let none = of_rule(&point.findings, EnergyRule::NoData);
    assert!(none[0].message.contains("source 2"), "{none:?}");
}

#[test]
fn rules_of_the_programme_speak() {
    let reduced = metered(&[(1, Role::Server, &|s| Some(500.0 + s))], 10);
    let found = &reduced.points[0].findings;
    let message = |rule| of_rule(found, rule)[0].message.clone();
    assert!(message(EnergyRule::SampleInterval).contains("10.0 s apart"));
    assert!(message(EnergyRule::Stability).contains("+42"), "{found:?}");

    let mut lines = Lines::new(lab(&[]), run(1));
    lines.source(1, SourceKind::Meter, Role::Server);
    lines.source(2, SourceKind::Sensor, Role::Server);
    for second in 0..400 {
        let seconds = f64::from(second);
        lines.reading(1, seconds, Quantity::Power, 500.0);
        lines.reading(1, seconds + 0.1, Quantity::Voltage, 200.0);
        lines.reading(1, seconds + 0.2, Quantity::Frequency, 50.4);
        lines.reading(2, seconds, Quantity::Temperature, 31.5);
        lines.reading(2, seconds + 0.1, Quantity::Humidity, 12.0);
    }
    lines.push(LogLine::Event(LogEvent {
        at: at(200.0),
        source: Some(1),
        what: EventKind::Restart,
        message: "counted from zero again".into(),
    }));
    let reduced = lines.reduce();
    let found = &reduced.points[0].findings;
    let messages = |rule| of_rule(found, rule).len();
    assert_eq!(messages(EnergyRule::Environment), 2, "{found:?}");
    assert_eq!(messages(EnergyRule::Supply), 1, "{found:?}");
    let supply = &of_rule(found, EnergyRule::Supply)[0].message;
    assert!(supply.contains("13.0 % off 230 V"), "{supply}");
    assert_eq!(messages(EnergyRule::Data), 1, "{found:?}");
}

#[test]
fn runs_at_one_time_do_not_count_and_logs_without_runs_are_refused() {
    let two = vec![swbuild(&["24"]).log(), swbuild(&["24"]).log()];
    // Logs of one path are one log's runs; give the second another.
    let [first, second] = <[_; 2]>::try_from(two).unwrap_or_else(|_| unreachable!());
    let text = |mut log: Log<std::io::Cursor<Vec<u8>>>| {
        let mut lines = Vec::new();
        while let Some(line) = log.next_line().expect("a line") {
            lines.push(line);
        }
        lines
    };
    let mut writer = LogWriter::new(Vec::new(), Path::new("other"));
    for line in text(second) {
        if !matches!(line, LogLine::End(_)) {
            writer.line(&line).expect("memory");
        }
    }
    let other = writer.end(at(0.0)).expect("memory");
    let other = Log::new(std::io::Cursor::new(other), Path::new("other"));
    let reduced = reduce_logs(vec![first, other], &ReduceOptions::default()).expect("reduced");
    for workload in &reduced.workloads {
        let overlap = of_rule(&workload.findings, EnergyRule::Overlap);
        assert_eq!(overlap[0].severity, Severity::Invalid);
    }
    let missing = of_rule(&reduced.findings, EnergyRule::Coverage);
    assert!(missing[0].message.ends_with("missing: VDA, VDI, DATABASE"));
}

fn with_drives(drives: u32, mib_per_s_per_w: f64) -> WorkloadReduction {
    let mut workload = metered(&[(1, Role::Server, &|_| Some(500.0))], 5);
    workload.drives = Some(drives);
    workload.points[0].mib_per_s_per_w = Some(mib_per_s_per_w);
    workload.name = format!("with {drives}");
    workload
}

#[test]
fn best_foot_forward_says_what_is_best_and_what_to_measure_next() {
    let of = |figures: &[(u32, f64)]| {
        let runs: Vec<_> = figures.iter().map(|(d, e)| with_drives(*d, *e)).collect();
        best_foot::best_foot(&runs).remove(0)
    };
    let foot = of(&[(24, 10.0), (12, 7.0), (48, 8.0)]);
    assert_eq!(
        foot.measured.iter().map(|m| m.drives).collect::<Vec<_>>(),
        [12, 24, 48]
    );
    assert_eq!((foot.best, foot.enclosed), (Some(1), true));
    let (low, high) = (
        foot.low.clone().expect("low"),
        foot.high.clone().expect("high"),
    );
    // 24 * 0.6 = 14.4, 24 * 1.15 = 27.6.
    assert_eq!((low.drives_wanted, high.drives_wanted), (14, 28));
    // From 10 to 7 over 12 drives: 8.5 is halfway. From 10 to 8 over 24: three quarters.
    assert_eq!(low.drives_15_pcnt_below, Some(18.0));
    assert_eq!(high.drives_15_pcnt_below, Some(42.0));
    assert_eq!(foot.next.len(), 2, "{:?}", foot.next);

    let done = of(&[(14, 9.0), (24, 10.0), (28, 9.5)]);
    assert_eq!(done.low.as_ref().and_then(|p| p.by_drives), Some(0));
    assert!(done.next.is_empty(), "{:?}", done.next);

    let rising = of(&[(12, 7.0), (24, 10.0)]);
    assert!(!rising.enclosed);
    assert!(rising.next[0].starts_with("measure with more than 24"));
    assert!(best_foot::best_foot(&[metered(&[(1, Role::Server, &|_| Some(1.0))], 5)]).is_empty());
}

#[test]
fn steps_hold_no_longer_than_their_interval() {
    let steps = Steps::of_moments(&[(0.0, 1.0), (1.0, 1.0), (2.0, 1.0), (10.0, 1.0)], None);
    let stats = steps
        .clone()
        .cut(0.0, 10.0)
        .stats(0.0, 10.0)
        .expect("stats");
    // 0 to 3.25, and 8.75 to 10.
    assert!((stats.coverage - 0.45).abs() < 1e-9, "{stats:?}");
    let buckets = steps.buckets(0.0, 10.0, 10);
    assert_eq!(
        buckets.iter().filter(|b| b.is_none()).count(),
        6,
        "{buckets:?}"
    );
    assert!(Steps::default().stats(0.0, 1.0).is_none());
    assert!(steps.stats(1.0, 1.0).is_none());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// The mean of a sum is the sum of the means, however the samples lie.
    #[test]
    fn sums_of_steps_add_up(
        a in prop::collection::vec((0.1f64..10.0, 0.0f64..1000.0), 1..40),
        b in prop::collection::vec((0.1f64..10.0, 0.0f64..1000.0), 1..40),
    ) {
        let steps = |parts: &[(f64, f64)]| {
            let mut from = 0.0;
            let pieces = parts.iter().map(|(length, value)| {
                let piece = Piece { from, to: from + length, value: *value };
                from = piece.to;
                piece
            });
            Steps::of_pieces(pieces.collect::<Vec<_>>()).0
        };
        let (a, b) = (steps(&a), steps(&b));
        let end = |s: &Steps| (0..).map(|i| f64::from(i) * 0.1).find(|t| s.clone().cut(*t, 1e9).is_empty());
        let both = end(&a).unwrap_or(0.0).min(end(&b).unwrap_or(0.0)) - 0.2;
        prop_assume!(both > 0.1);
        let mean = |s: Steps| s.cut(0.0, both).stats(0.0, both).map(|s| s.mean).unwrap_or(f64::NAN);
        let sum = Steps::sum(&[a.clone(), b.clone()]);
        let (sum, parts) = (mean(sum), mean(a) + mean(b));
        prop_assert!((sum - parts).abs() < 1e-3 * parts.max(1.0), "{sum} {parts}");
    }

    #[test]
    fn nothing_that_a_log_says_makes_a_figure_that_is_none(
        moments in prop::collection::vec((-1e9f64..1e9, -1e12f64..1e12), 0..50),
        from in -1e9f64..1e9,
        to in -1e9f64..1e9,
    ) {
        let mut moments = moments;
        moments.sort_by(|a, b| a.0.total_cmp(&b.0));
        let steps = Steps::of_moments(&moments, None).cut(from, to);
        if let Some(stats) = steps.stats(from, to) {
            prop_assert!(stats.mean.is_finite() && stats.drift.is_finite());
            prop_assert!((0.0..=1.0).contains(&stats.coverage));
            prop_assert!(stats.min <= stats.p50 && stats.p50 <= stats.max);
        }
        prop_assert!(steps.buckets(from, to, 10).len() <= 10);
    }
}
