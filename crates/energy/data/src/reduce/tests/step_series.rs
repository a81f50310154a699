//! Figures over time as steps.

use crate::reduce::steps::{Piece, Steps};
use proptest::prelude::*;

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

    /// The mean of a sum is the sum of the means for all samples.
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
    fn no_log_gives_a_figure_that_is_not_finite(
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
