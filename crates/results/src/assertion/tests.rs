use super::*;
use crate::testing;
use proptest::prelude::*;

fn parsed(text: &str) -> Result<Vec<Assertion>, String> {
    let parsed = text.parse::<Assertions>();
    parsed.map(|all| all.0).map_err(|e| e.to_string())
}

#[test]
fn limits_have_units() {
    let limit = |text: &str| parsed(text).map(|all| all[0].limit);
    for (text, value) in [
        ("p99<5ms", 5.0),
        ("p99.9 <= 500us", 0.5),
        ("mean<1s", 1000.0),
        ("max < 1.5 s", 1500.0),
        ("ops>=2k", 2000.0),
        ("ops>2000", 2000.0),
        ("mib>1.5G", 1536.0),
        ("errors=0", 0.0),
        ("errors<0.1%", 0.1),
        ("ort<2ms", 2.0),
        ("p50@3>1us", 1e-3),
    ] {
        assert_eq!(limit(text), Ok(value), "{text}");
    }
    let both = parsed("p99<5ms, errors@2==0").expect("two");
    assert_eq!((both.len(), both[1].point), (2, Some(2)));
    assert_eq!(both[1].comparison, Comparison::Equal);
}

#[test]
fn errors_name_the_part_and_its_place() {
    for (text, words) in [
        ("", "there is no comparison"),
        ("p99", "there is no comparison"),
        ("p99<5", "give a time with its unit"),
        ("p100<5ms", "there is no figure 'p100'"),
        ("latency<5ms", "there is no figure 'latency'"),
        ("ops>=2ms", "give op/s"),
        ("ops>=", "give op/s"),
        ("errors<x%", "give a number of operations"),
        ("p99@0<5ms", "from 1"),
        ("p99<5ms, ops", "'ops' at character 10"),
        ("p99<5ms,,", "at character 9"),
    ] {
        let error = parsed(text).expect_err(text);
        assert!(error.contains(words), "{text}: {error}");
    }
    let many = vec!["errors=0"; COUNT_MAX + 1].join(",");
    assert!(parsed(&many).is_err());
}

#[test]
fn the_peak_is_checked_unless_a_point_is_named() {
    let record = testing::record();
    let failure = |text: &str| parsed(text).expect(text)[0].failure(&record);
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
            .contains("too few")
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

proptest! {
    #[test]
    fn any_text_is_read_without_panic(text in "\\PC{0,80}") {
        let _ = text.parse::<Assertions>();
    }

    #[test]
    fn what_is_shown_is_read_again(p in 1u32..999, limit in 1u32..10_000) {
        let text = format!("p{}<={limit}us", f64::from(p) / 10.0);
        let read = parsed(&text).expect("a condition");
        prop_assert_eq!(read[0].figure, AssertedFigure::Percentile(f64::from(p) / 10.0));
        prop_assert_eq!(read[0].to_string(), text);
    }
}
