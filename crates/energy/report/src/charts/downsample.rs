//! Shortens long series for drawing: the least and the greatest value of every column of the
//! drawing stay, and so do gaps.

/// A value of a series: seconds, and what was measured; `None` is a gap.
pub type Value = (f64, Option<f64>);

/// The stretches without a gap, by time. Above two values for each of `columns` equal
/// parts of `from..to`, only the least and the most of each part remain; a part with a gap
/// in it ends a stretch.
pub fn stretches(values: &[Value], from: f64, to: f64, columns: usize) -> Vec<Vec<(f64, f64)>> {
    let columns = columns.max(1);
    let short: Vec<Value> = match values.len() <= 2 * columns {
        true => values.to_vec(),
        false => thinned(values, from, to, columns),
    };
    let mut all = vec![Vec::new()];
    for (at, value) in short {
        match value.filter(|v| v.is_finite() && at.is_finite()) {
            None => all.push(Vec::new()),
            Some(value) => {
                if let Some(last) = all.last_mut() {
                    last.push((at, value));
                }
            }
        }
    }
    all.retain(|stretch| !stretch.is_empty());
    all
}

fn thinned(values: &[Value], from: f64, to: f64, columns: usize) -> Vec<Value> {
    let column = |at: f64| {
        let share = (at - from) / (to - from).max(1e-9);
        ((share.clamp(0.0, 1.0) * columns as f64) as usize).min(columns - 1)
    };
    let mut out = Vec::with_capacity(4 * columns);
    for part in values.chunk_by(|a, b| column(a.0) == column(b.0)) {
        let there = || part.iter().filter_map(|(at, v)| Some((*at, (*v)?)));
        let there = || there().filter(|(_, v)| v.is_finite());
        let least = there().min_by(|a, b| a.1.total_cmp(&b.1));
        let most = there().max_by(|a, b| a.1.total_cmp(&b.1));
        if let (Some(least), Some(most)) = (least, most) {
            let (first, second) = match least.0 <= most.0 {
                true => (least, most),
                false => (most, least),
            };
            out.push((first.0, Some(first.1)));
            if first != second {
                out.push((second.0, Some(second.1)));
            }
        }
        if let Some((at, _)) = part.iter().find(|(_, v)| v.is_none_or(|v| !v.is_finite())) {
            out.push((*at, None));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extremes_and_gaps_stay() {
        let mut values: Vec<Value> = (0..100_000).map(|i| (f64::from(i), Some(10.0))).collect();
        values[33_333].1 = Some(99.0);
        values[66_666].1 = Some(-5.0);
        for value in &mut values[50_000..50_010] {
            value.1 = None;
        }
        values[70_000].1 = Some(f64::NAN);
        let all = stretches(&values, 0.0, 100_000.0, 500);
        assert_eq!(all.len(), 3);
        let count: usize = all.iter().map(Vec::len).sum();
        assert!((500..=1_000).contains(&count), "{count}");
        let has = |v: f64| all.iter().flatten().any(|(_, value)| *value == v);
        assert!(has(99.0) && has(-5.0) && !all.iter().flatten().any(|(_, v)| v.is_nan()));
        for stretch in &all {
            assert!(stretch.windows(2).all(|w| w[0].0 <= w[1].0));
        }
    }

    #[test]
    fn short_series_stay_as_they_are() {
        let values = [
            (0.0, Some(1.0)),
            (1.0, None),
            (2.0, Some(3.0)),
            (3.0, Some(4.0)),
        ];
        let all = stretches(&values, 0.0, 3.0, 100);
        assert_eq!(all, [vec![(0.0, 1.0)], vec![(2.0, 3.0), (3.0, 4.0)]]);
        assert!(stretches(&[], 0.0, 0.0, 0).is_empty());
        // Many gaps give no more stretches than columns.
        let holes: Vec<Value> = (0..10_000)
            .map(|i| (f64::from(i), (i % 2 == 0).then_some(1.0)))
            .collect();
        assert!(stretches(&holes, 0.0, 10_000.0, 100).len() <= 100);
    }
}
