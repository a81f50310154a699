//! Chosen interfaces, and the traffic of the clients.

use super::*;

#[test]
fn without_chosen_interfaces_the_clients_count_is_used_with_a_warning() {
    let reduced = swbuild(&[]).reduce();
    assert_eq!(reduced.traffic_from, TrafficFrom::Clients);
    let point = &reduced.points[9];
    assert!(point.traffic_mib_per_s.is_none());
    assert!(close(point.mib_per_s_per_w, 19_000.0 / 1517.85));
    let ports: Vec<_> = of_rule(&reduced.findings, EnergyRule::Ports);
    assert!(ports[0].message.contains("10.0.0.248/3 "), "{ports:?}");
}

#[test]
fn a_chosen_interface_without_counters_gives_no_result() {
    let reduced = swbuild(&["24", "25", "99"]).reduce();
    let found = of_rule(&reduced.findings, EnergyRule::Ports);
    assert_eq!(found[0].severity, Severity::Invalid);
    assert!(found[0].message.contains("99"), "{found:?}");
}

#[test]
fn silent_interfaces_are_not_replaced_by_the_clients_count() {
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
    assert!(
        ports[0].message.contains("for chosen interfaces: 24"),
        "{ports:?}"
    );
}

#[test]
fn the_switch_is_compared_with_the_clients() {
    // Port 3 counts all of it again: both ends of the link are chosen.
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
