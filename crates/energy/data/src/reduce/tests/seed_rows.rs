//! The seed's table, and meters with too few digits for it.

use super::*;
use std::collections::BTreeMap;

/// The seed's ten rows, to the digit.
const SHOWN: [&str; 10] = [
    "2.00", "3.32", "4.65", "5.97", "7.29", "8.61", "9.92", "11.22", "12.53", "13.83",
];

fn shown(point: &PointEfficiency) -> String {
    let cut = (point.mib_per_s_per_w.expect("efficiency") * 100.0).floor() / 100.0;
    format!("{cut:.2}")
}

/// Samples around a RUN (1 MiB/s and 900 W here) do not affect it at any offset of the
/// readings: RUN is half open.
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

/// A figure with this number of significant digits, as a meter prints it.
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
fn power_of_three_digits_is_reported_and_gives_other_rows_than_the_seeds() {
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
        let message = &found[0].message;
        assert!(
            message.contains("steps of 10 W") && message.contains("shown to 1 W"),
            "{message}"
        );
    }
}

/// Row 6 of the seed, 13000 MiB/s over 1510 W, is 8.609: 8.61 results from the power that is
/// shown as 1510 W, not from 1510 W.
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
fn columns_that_disagree_with_the_power_are_reported_and_not_used() {
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
fn the_seeds_swbuild_comes_out() {
    let reduced = swbuild(&["10.0.0.248/24-25"]).reduce();
    assert_eq!(reduced.traffic_from, TrafficFrom::Sflow);
    assert_eq!(reduced.best, Some(9));
    for ((point, (mib, watts)), row) in reduced.points.iter().zip(SWBUILD).zip(SHOWN) {
        let traffic = point.traffic_mib_per_s.expect("traffic");
        // A sample whose interval began before RUN is not wholly in it.
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
