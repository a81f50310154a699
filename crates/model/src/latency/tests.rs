//! Figures, merges and the text form of latencies.

mod forms;

use super::*;

fn of(values_us: &[u64]) -> Latency {
    let mut latency = Latency::new();
    for us in values_us {
        latency.record(Nanos::from_micros(*us));
    }
    latency
}

#[test]
fn figures_of_a_small_sample() {
    let l = of(&[100, 200, 300, 400]);
    assert_eq!(l.mean_ns(), 250_000.0);
    assert!((l.std_dev_ns() - 129_099.0).abs() < 1.0);
    assert!((l.mean_confidence95_ns() - 126_517.0).abs() < 2.0);
    assert!((l.percentile_ns(50.0) as f64 / 200_000.0 - 1.0).abs() < 0.001);
    assert_eq!(Latency::new().mean_ns(), 0.0);
}

#[test]
fn merging_is_the_same_as_recording_together() {
    let mut a = of(&[1, 10, 100]);
    a.merge(&of(&[1000, 10_000]));
    let b = of(&[1, 10, 100, 1000, 10_000]);
    assert_eq!(
        (a.count(), a.sum_ns(), a.max_ns()),
        (5, b.sum_ns(), b.max_ns())
    );
    assert_eq!(a.percentile_ns(99.0), b.percentile_ns(99.0));
}

#[test]
fn the_text_form_round_trips_and_nonsense_is_refused() {
    let a = of(&[3, 70, 70, 9000]);
    let back = Latency::from_wire(&a.to_wire()).unwrap();
    assert_eq!(back.count(), 4);
    assert_eq!(back.percentile_ns(75.0), a.percentile_ns(75.0));
    let bad = Wire {
        sum_ns: 0,
        sum_sq_us: 0.0,
        at_least_count: 0,
        at_least_ns_min: 0,
        hdr: "AAAA".into(),
    };
    assert!(Latency::from_wire(&bad).is_err());
}

#[test]
fn only_figures_that_depend_on_a_lower_bound_are_lower_bounds() {
    let mut a = of(&[100; 90]);
    for ms in [5, 9] {
        a.record_at_least(Nanos::from_millis(ms));
    }
    let mut merged = of(&[100, 200]);
    merged.merge(&a);
    merged.merge(&of(&[50]));
    for latency in [&a, &merged, &Latency::from_wire(&merged.to_wire()).unwrap()] {
        assert_eq!(latency.at_least_count(), 2);
        assert!(!latency.percentile(50.0).at_least);
        assert!(latency.percentile(99.0).at_least);
        assert!(latency.mean().at_least && latency.max().at_least);
    }
    // A known latency above them: its rank is theirs, too.
    merged.record(Nanos::from_secs(1));
    assert!(merged.percentile(100.0).at_least && merged.max().at_least);
    merged.clear();
    assert!(!merged.mean().at_least && !merged.percentile(50.0).at_least);
    // What the histogram cannot distinguish from its longest is at least that.
    merged.record(Nanos::from_secs(2_000));
    assert!(merged.max().at_least && merged.percentile(50.0).at_least);
}

#[test]
fn lower_bounds_that_cannot_be_are_refused() {
    let mut a = of(&[100; 3]);
    a.record_at_least(Nanos::from_millis(5));
    let error_of = |change: fn(&mut Wire)| {
        let mut wire = a.to_wire();
        change(&mut wire);
        Latency::from_wire(&wire).unwrap_err()
    };
    assert!(error_of(|w| w.at_least_count = 5).contains("5 lower bounds"));
    assert!(error_of(|w| w.at_least_count = u64::MAX).contains("lower bounds"));
    assert!(error_of(|w| w.at_least_count = 0).contains("0 lower bounds"));
    assert!(error_of(|w| w.at_least_ns_min = 0).contains("lower bounds"));
    assert!(error_of(|w| w.at_least_ns_min = u64::MAX).contains("lower bounds"));
}

#[test]
fn what_is_subtracted_was_never_there() {
    let mut a = of(&[1, 10, 100, 100]);
    a.subtract(&[Nanos::from_micros(100), Nanos::from_micros(1)]);
    let b = of(&[10, 100]);
    assert_eq!((a.count(), a.sum_ns()), (b.count(), b.sum_ns()));
    assert_eq!((a.min_ns(), a.max_ns()), (b.min_ns(), b.max_ns()));
    assert!((a.std_dev_ns() - b.std_dev_ns()).abs() < 1.0);
}

#[test]
fn counts_up_to_a_bound_add_up() {
    let l = of(&[5, 20, 20, 21, 40, 999, 1_000, 2_000_000_000]);
    let at_most = |us| l.count_at_most(Nanos::from_micros(us));
    assert_eq!((at_most(0), at_most(4), at_most(5)), (0, 0, 1));
    assert_eq!((at_most(20), at_most(40), at_most(1_000)), (3, 5, 7));
    assert_eq!(at_most(120_000_000), 7);
    assert_eq!(l.count_at_most(Nanos::MAX), 8);
    assert_eq!(Latency::new().count_at_most(Nanos::MAX), 0);
    // However the bounds lie, nothing is lost between them.
    let bounds: Vec<u64> = (0..60).map(|i| 1_000 << (i / 2)).collect();
    let mut sum = 0;
    for pair in bounds.windows(2) {
        sum += l.count_at_most(Nanos(pair[1])) - l.count_at_most(Nanos(pair[0]));
    }
    let outside = l.count() - l.count_at_most(Nanos(*bounds.last().unwrap()));
    assert_eq!(l.count_at_most(Nanos(bounds[0])) + sum + outside, 8);
}

#[test]
fn very_long_latencies_saturate() {
    let mut l = Latency::new();
    l.record(Nanos(u64::MAX));
    assert_eq!(l.count(), 1);
}
