//! Figures of the energy report as text.

use filermark_energy_data::reduce::{Stats, efficiency_decimals, shown_decimals};
use filermark_report::parts::number;

/// Shown where there is no figure.
pub const NONE: &str = "–";

/// A figure with this number of decimals, cut and not rounded.
///
/// Used for efficiency: a figure that is rounded up claims more than was measured. The
/// training's table is cut, too (slides E, "Data reduction"): 1502 W and 5000 MiB/s are
/// 3.3289 MiB/s per W, and it has 3.32. The value is rounded to nine decimals first, so that
/// 1.9999999999999998 is 2.00.
pub fn cut(value: f64, decimals: usize) -> String {
    let text = format!("{value:.9}");
    match text.split_once('.') {
        Some((whole, fraction)) if decimals > 0 => {
            format!("{whole}.{}", &fraction[..decimals.min(fraction.len())])
        }
        Some((whole, _)) => whole.to_owned(),
        None => text,
    }
}

/// MiB/s per W, [`cut`] and never rounded up: two decimals, and three significant digits
/// below 1, so that small servers have digits at all. NaN and infinity are `–`.
pub fn efficiency(value: Option<f64>) -> String {
    sound(value).map_or(NONE.into(), |v| cut(v, efficiency_decimals(v)))
}

/// The figure, if it is finite.
pub fn sound(value: Option<f64>) -> Option<f64> {
    value.filter(|v| v.is_finite())
}

/// The mean, if it is finite.
pub fn mean(stats: Option<Stats>) -> Option<f64> {
    sound(stats.map(|s| s.mean))
}

/// With this number of decimals and thousands separators; `–` where there is none.
pub fn fixed(value: Option<f64>, decimals: usize) -> String {
    sound(value).map_or(NONE.into(), |v| number(v, decimals))
}

/// About three digits, or all in front of the point, with thousands separators.
pub fn short(value: Option<f64>) -> String {
    sound(value).map_or(NONE.into(), |v| number(v, shown_decimals(v)))
}

/// As [`short`], without separators, as in the seed's table.
pub fn plain(value: Option<f64>) -> String {
    sound(value).map_or(NONE.into(), |v| {
        let decimals = shown_decimals(v);
        format!("{v:.decimals$}")
    })
}

/// A load or a count: without decimals where it is a whole number.
pub fn loads(value: Option<f64>) -> String {
    match sound(value) {
        Some(v) if v.fract() == 0.0 => number(v, 0),
        value => short(value),
    }
}

/// A share as percent.
pub fn percent(share: Option<f64>) -> String {
    fixed(share.map(|s| s * 100.0), 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use filermark_energy_data::reduce::testing::{SEED_ROWS, reduction};

    #[test]
    fn efficiency_is_cut_and_never_rounded_up() {
        for (value, shown) in [
            (3.3289, "3.32"),
            (2.0, "2.00"),
            (1.999_999_999_999_999_8, "2.00"),
            (1.999_99, "1.99"),
            (0.0, "0.00"),
            (8.61, "8.61"),
            (123_456.789, "123456.78"),
        ] {
            assert_eq!(cut(value, 2), shown, "{value}");
        }
        assert_eq!(cut(7.99, 0), "7");
        for (value, shown) in [
            (3.3289, "3.32"),
            (1.0, "1.00"),
            (0.999_999_999_9, "1.00"),
            (0.999_99, "0.999"),
            (0.5, "0.500"),
            (0.033_49, "0.0334"),
            (0.009_05, "0.00905"),
            (0.009_059_9, "0.00905"),
            (0.000_012_349, "0.0000123"),
            (0.000_000_012_3, "0.000000012"),
            (1e-12, "0.00"),
            (0.0, "0.00"),
            (-0.033_49, "-0.0334"),
        ] {
            assert_eq!(efficiency(Some(value)), shown, "{value}");
        }
        assert_eq!(efficiency(None), NONE);
        assert_eq!(efficiency(Some(f64::NAN)), NONE);
        assert_eq!(efficiency(Some(f64::INFINITY)), NONE);
    }

    #[test]
    fn the_seeds_table_is_reproduced_exactly() {
        let reduction = reduction();
        let points = &reduction.workloads[0].points;
        assert_eq!(points.len(), SEED_ROWS.len());
        for (point, (run, mib_per_s, power_w, shown)) in points.iter().zip(SEED_ROWS) {
            assert_eq!(point.number, run);
            assert_eq!(plain(mean(point.traffic_mib_per_s)), mib_per_s);
            assert_eq!(plain(mean(point.power_w)), power_w);
            assert_eq!(efficiency(point.mib_per_s_per_w), shown, "run {run}");
        }
    }

    #[test]
    fn figures_have_about_three_digits() {
        for (value, shown) in [
            (0.0, "0.00"),
            (0.1234, "0.123"),
            (1.239, "1.24"),
            (35.26, "35.3"),
            (1_499.85, "1500"),
            (-12.5, "-12.5"),
        ] {
            assert_eq!(plain(Some(value)), shown);
        }
        assert_eq!(short(Some(21_000.0)), "21,000");
        assert_eq!(percent(Some(0.875)), "87.5");
        assert_eq!(short(Some(f64::NAN)), NONE);
    }
}
