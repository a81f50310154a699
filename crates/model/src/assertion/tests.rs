use super::*;
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
    assert_eq!((both.len(), both[1].what.point), (2, Some(2)));
    assert_eq!(both[1].comparison, Comparison::Equal);
}

#[test]
fn a_figure_may_be_of_one_operation() {
    let what = |text: &str| parsed(text).map(|all| all[0].what);
    let read_p999 = PointFigure {
        figure: AssertedFigure::Percentile(99.9),
        op: Some(Op::Read),
        point: Some(2),
    };
    assert_eq!(what("read.p99.9@2<5ms"), Ok(read_p999));
    assert_eq!(what("READ.mean<5ms").map(|w| w.op), Ok(Some(Op::Read)));
    assert_eq!(what("p99.9<5ms").map(|w| w.op), Ok(None));
    assert_eq!(
        what("getattr.errors<1%").map(|w| w.figure),
        Ok(AssertedFigure::ErrorShare)
    );
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
        ("ort@2<5ms", "ort is a figure of the run"),
        ("raed.p99<5ms", "there is no operation 'raed'"),
        ("read.mib>5", "mib is not a figure of one operation"),
        ("read.<5ms", "there is no figure ''"),
    ] {
        let error = parsed(text).expect_err(text);
        assert!(error.contains(words), "{text}: {error}");
    }
    let huge = format!("p99<{}s", "9".repeat(400));
    assert!(parsed(&huge).is_err());
    let many = vec!["errors=0"; COUNT_MAX + 1].join(",");
    assert!(parsed(&many).is_err());
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
        prop_assert_eq!(read[0].what.figure, AssertedFigure::Percentile(f64::from(p) / 10.0));
        prop_assert_eq!(read[0].to_string(), text);
    }
}
