use super::*;
use crate::testing;

fn failure(text: &str, record: &RunRecord) -> Option<String> {
    let all = text.parse::<Assertions>().expect(text);
    super::failure(&all.0[0], record)
}

#[test]
fn the_peak_is_checked_unless_a_point_is_named() {
    let record = testing::record();
    let failure = |text: &str| failure(text, &record);
    let peak = record.peak().expect("a peak");
    let rate = peak.measured().expect("figures").achieved_ops_per_sec();
    assert_eq!(failure(&format!("ops>{}", rate - 1.0)), None);
    let why = failure(&format!("ops<{}", rate - 1.0)).expect("not below");
    assert!(
        why.contains(&format!("load point {}", peak.load.number)),
        "{why}"
    );
    assert_eq!(failure("ops@1>1"), None);
    assert!(
        failure("ops@999>1")
            .expect("none")
            .contains("no load point 999")
    );
    // Too few operations for such a percentile: the condition does not hold.
    assert!(
        failure("p99.9999999<10s")
            .expect("unknown")
            .contains("fewer than ten")
    );
}

#[test]
fn a_condition_may_be_about_one_operation() {
    let record = testing::compare::Simulated::default().run("one", 1);
    let failure = |text: &str| failure(text, &record);
    let peak = record.peak().expect("a peak");
    let stats = peak.measured().expect("figures");
    let own = stats.ops.iter().find(|own| own.success_count > 0);
    let own = own.expect("an operation");
    let rate = own.success_count as f64 / (stats.window_ns as f64 / 1e9);
    let mean = own.service.mean_ns() / 1e6;
    assert_eq!(
        failure(&format!("{}.ops>={:.6}", own.op, rate * 0.999)),
        None
    );
    assert!(failure(&format!("{}.ops>{:.6}", own.op, rate * 1.001)).is_some());
    assert_eq!(
        failure(&format!("{}.mean<{:.6}ms", own.op, mean * 1.001)),
        None
    );
    assert!(failure(&format!("{}.mean<{:.6}ms", own.op, mean * 0.999)).is_some());
    let mut failing = testing::compare::Simulated::default().run("two", 1);
    for point in &mut failing.points {
        for own in &mut point.stats.as_mut().expect("figures").ops {
            own.success_count = 0;
            own.error_count = 5;
            own.service.clear();
        }
    }
    for figure in ["mean", "max", "p50"] {
        let text = format!("getattr.{figure}@1<5s");
        assert!(super::failure(&text.parse::<Assertions>().expect("one").0[0], &failing).is_some());
    }
    let why = failure("mknod.errors=0").expect("there is none");
    assert!(why.contains("has no mknod"), "{why}");
}

#[test]
fn a_percentile_needs_ten_operations_above_it() {
    let mut latency = Latency::new();
    for n in 0..1_000 {
        latency.record(filermark_model::Nanos(1_000_000 + n));
    }
    assert!(percentile_ms(&latency, 99.0).is_some());
    assert!(percentile_ms(&latency, 99.1).is_none());
    assert!(percentile_ms(&Latency::new(), 50.0).is_none());
}
