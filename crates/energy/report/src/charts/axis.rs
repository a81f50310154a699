//! The y axes of the energy charts.

use filermark_report::parts::Area;
use filermark_report::parts::{Scale, nice_step};

/// A range smaller than this share of its highest value gets an axis that does not begin
/// at 0: power changes little with load, and that change must be visible.
const NARROW_SHARE: f64 = 0.25;

/// A y axis for these values, and a note for its title.
pub fn y_axis(low: f64, high: f64, area: &Area) -> (Scale, &'static str) {
    let span = high - low;
    if low > 0.0 && span < high * NARROW_SHARE {
        // A constant line is in the middle of an axis of some percent.
        let margin = (span * 0.15).max(high * 0.01);
        let step = nice_step((span + 2.0 * margin) / 5.0);
        let from = ((low - margin) / step).floor() * step;
        let scale = Scale::linear(from.max(0.0), high + margin, area.bottom, area.top);
        return (scale, if from > 0.0 { ", not from 0" } else { "" });
    }
    let scale = Scale::linear(low.min(0.0), high, area.bottom, area.top);
    (scale, "")
}

/// The least and the greatest of finite values.
pub fn span(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    let mut values = values.filter(|v| v.is_finite());
    let first = values.next()?;
    Some(values.fold((first, first), |(low, high), v| (low.min(v), high.max(v))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_that_does_not_begin_at_0_is_marked() {
        let area = Area {
            left: 0.0,
            top: 0.0,
            right: 100.0,
            bottom: 100.0,
        };
        let (scale, note) = y_axis(1_500.0, 1_518.0, &area);
        assert!(
            scale.low() > 1_400.0 && scale.low() <= 1_500.0,
            "{}",
            scale.low()
        );
        assert!(scale.high() >= 1_518.0);
        assert_eq!(note, ", not from 0");
        let (scale, note) = y_axis(2.0, 13.8, &area);
        assert_eq!((scale.low(), note), (0.0, ""));
        let (scale, _) = y_axis(0.0, 0.0, &area);
        assert_eq!(scale.at(0.0), 100.0);
        assert_eq!(
            span([f64::NAN, 2.0, f64::INFINITY, 1.0].into_iter()),
            Some((1.0, 2.0))
        );
        assert_eq!(span([f64::NAN].into_iter()), None);
    }
}
