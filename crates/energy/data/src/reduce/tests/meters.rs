//! Several meters: sums, gaps, and one meter in two logs.

use super::*;

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
fn a_meter_in_two_logs_is_one_and_contradicting_logs_are_reported() {
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
