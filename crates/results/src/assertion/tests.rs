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
fn a_percentile_needs_ten_operations_above_it() {
    let mut latency = Latency::new();
    for n in 0..1_000 {
        latency.record(filermark_model::Nanos(1_000_000 + n));
    }
    assert!(percentile_ms(&latency, 99.0).is_some());
    assert!(percentile_ms(&latency, 99.1).is_none());
    assert!(percentile_ms(&Latency::new(), 50.0).is_none());
}
