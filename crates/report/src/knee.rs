//! The knee of a latency curve, by one definition that is printed with it.

/// Fewest points for a knee: two on either side.
const POINTS_MIN: usize = 4;
/// Least distance from the chord, with scaled axes: a smaller bend may be
/// chance.
const DISTANCE_MIN: f64 = 0.2;
/// How much the latency must grow from the knee to the end of the curve.
const GROWTH_MIN: f64 = 1.5;

/// The definition as text.
pub const KNEE_TERM: &str = "Of at least four load points that count, the one whose mean service time lies farthest below the straight line from the first to the last of them, both axes scaled to their range (the Kneedle method). It is shown where that distance is at least 0.2 and the mean grows by at least half after it.";

/// The knee of (rate, latency) points: its index. `None` if the curve has none.
/// The definition is [`KNEE_TERM`]; points may come in any order.
pub fn knee(points: &[(f64, f64)]) -> Option<usize> {
    let mut order: Vec<usize> = (0..points.len()).collect();
    order.retain(|i| points[*i].0.is_finite() && points[*i].1.is_finite());
    order.sort_by(|a, b| points[*a].0.total_cmp(&points[*b].0));
    if order.len() < POINTS_MIN {
        return None;
    }
    let (first, last) = (points[*order.first()?], points[*order.last()?]);
    let (width, height) = (last.0 - first.0, last.1 - first.1);
    if width <= 0.0 || height <= 0.0 {
        return None;
    }
    let distance = |i: usize| {
        let (x, y) = points[i];
        (x - first.0) / width - (y - first.1) / height
    };
    let inner = order.get(1..order.len() - 1)?.iter().copied();
    let best = inner.max_by(|a, b| distance(*a).total_cmp(&distance(*b)))?;
    let grows = last.1 >= points[best].1 * GROWTH_MIN;
    (distance(best) >= DISTANCE_MIN && grows).then_some(best)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_knee_of_a_queue_is_where_it_bends() {
        // Mean latency of a queue with one server of 1,000 op/s.
        let points: Vec<(f64, f64)> = (1..=19)
            .map(|i| f64::from(i) * 50.0)
            .map(|rate| (rate, 1_000.0 / (1_000.0 - rate)))
            .collect();
        let at = knee(&points).map(|i| points[i].0);
        // The largest distance of y = 1 / (1 - x) from its chord over 0.05 to 0.95
        // is where its slope is that of the chord: x = 0.78.
        assert!(at == Some(800.0) || at == Some(750.0), "{at:?}");
        let mut reversed = points.clone();
        reversed.reverse();
        assert_eq!(knee(&reversed).map(|i| reversed[i].0), at);
    }

    #[test]
    fn curves_without_a_knee_have_none() {
        let line: Vec<_> = (1..9).map(|i| (f64::from(i), f64::from(i))).collect();
        assert_eq!(knee(&line), None);
        let flat: Vec<_> = (1..9).map(|i| (f64::from(i), 1.0)).collect();
        assert_eq!(knee(&flat), None);
        // It bends, but by a tenth only.
        assert_eq!(
            knee(&[(1.0, 1.0), (2.0, 1.0), (3.0, 1.0), (4.0, 1.1)]),
            None
        );
        // Too few points, and invalid ones.
        assert_eq!(knee(&[(1.0, 1.0), (2.0, 1.0), (3.0, 9.0)]), None);
        assert_eq!(
            knee(&[(f64::NAN, 1.0), (2.0, 1.0), (3.0, 9.0), (4.0, 10.0)]),
            None
        );
        assert_eq!(
            knee(&[(1.0, 1.0), (2.0, 1.0), (3.0, 1.1), (4.0, 9.0)]),
            Some(2)
        );
    }
}
