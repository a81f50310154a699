//! The resolution of figures: the smallest step that their digits can show.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Most significant digits of a meter that an `f64` is searched for.
const DIGITS_MAX: usize = 9;
/// Least number of figures that show how fine a column is, where its text is not known.
const FIGURES_MIN: usize = 10;

/// A column is as fine as at least one figure in this many: a single cell with more digits
/// than the others does not decide.
const FIGURES_PER_FINE: u64 = 10;
/// Most different forms of figures that are counted of a column.
const FORMS_MAX: usize = 1024;

/// How fine the figures of a column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Digits {
    /// Most significant digits that a figure has.
    pub count: u32,
    /// The finest decimal place that a figure has: -1 are tenths.
    pub place: i32,
}

impl Digits {
    /// Of a figure as it was written: `5.35E+02` has 3 digits and whole units, `230.30` has
    /// 5 and hundredths. `None`: it is not a figure, or zero.
    pub fn of_text(text: &str) -> Option<Self> {
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.trim().parse::<i32>().ok()?),
            None => (text, 0),
        };
        let mantissa = mantissa.trim().trim_start_matches(['+', '-']);
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = || whole.bytes().chain(fraction.bytes());
        if digits().any(|digit| !digit.is_ascii_digit()) || exponent.abs() > 300 {
            return None;
        }
        let count = digits().skip_while(|digit| *digit == b'0').count();
        (count > 0).then(|| Self {
            count: count as u32,
            place: exponent - fraction.len() as i32,
        })
    }

    /// Of figures whose text is not known. Trailing zeros do not count, so a few figures may
    /// make a column seem coarser than it is. `None`: there are too few, or all are equal.
    pub fn of_values(values: impl Iterator<Item = f64> + Clone) -> Option<Self> {
        let first = values.clone().next()?;
        let differ = values.clone().any(|value| value != first);
        if !differ || values.clone().count() < FIGURES_MIN {
            return None;
        }
        Self::finest_of(values)
    }

    /// As [`of_values`](Self::of_values) for any number of figures: they are at least so fine.
    pub fn finest_of(values: impl Iterator<Item = f64>) -> Option<Self> {
        values.filter_map(Self::of_value).reduce(Self::finer)
    }

    fn of_value(value: f64) -> Option<Self> {
        if value == 0.0 || !value.is_finite() {
            return None;
        }
        let text = format!("{value:.*e}", DIGITS_MAX - 1);
        let (mantissa, exponent) = text.split_once('e')?;
        Self::of_text(&format!(
            "{}e{exponent}",
            mantissa.trim_end_matches('0').trim_end_matches('.')
        ))
    }

    /// The finer of both, in digits and in places.
    #[must_use]
    pub fn finer(self, other: Self) -> Self {
        Self {
            count: self.count.max(other.count),
            place: self.place.min(other.place),
        }
    }

    /// The digits after multiplication by a power of ten; `None`: `factor` is another number.
    pub fn times(self, factor: f64) -> Option<Self> {
        let places = factor.abs().log10();
        let whole = places.round();
        ((places - whole).abs() < 1e-9).then(|| Self {
            place: self.place + whole as i32,
            ..self
        })
    }

    /// The step between adjacent figures near this one. With a fixed number of digits, steps
    /// are wider for larger figures.
    pub fn step_at(self, value: f64) -> f64 {
        let of_place = 10f64.powi(self.place);
        if value == 0.0 || !value.is_finite() {
            return of_place;
        }
        let highest = value.abs().log10().floor() as i32;
        of_place.max(10f64.powi(highest + 1 - self.count as i32))
    }

    /// Half a step as a share of a figure: the largest rounding error.
    pub fn share_at(self, value: f64) -> f64 {
        match value == 0.0 {
            true => 1.0,
            false => self.step_at(value) / 2.0 / value.abs(),
        }
    }
}

/// The forms of the figures of a column, as they are written.
#[derive(Clone, Debug, Default)]
pub struct Forms {
    /// How many figures have a form: with an exponent or without, digits, place.
    counts: BTreeMap<(bool, u32, i32), u64>,
}

impl Forms {
    /// Counts a figure; `has_exponent`: it is written as `5.35E+02`.
    pub fn add(&mut self, digits: Digits, has_exponent: bool) {
        let form = (has_exponent, digits.count, digits.place);
        if self.counts.len() < FORMS_MAX || self.counts.contains_key(&form) {
            *self.counts.entry(form).or_default() += 1;
        }
    }

    /// How fine the column is. Figures with an exponent have a fixed number of digits, those
    /// without a fixed number of decimals; the form of most figures decides. `None`: there
    /// are no figures.
    pub fn digits(&self) -> Option<Digits> {
        let of = |exponent: bool| {
            let forms = self
                .counts
                .iter()
                .filter(move |(form, _)| form.0 == exponent);
            forms.map(|((_, count, place), figures)| (*count, *place, *figures))
        };
        let total = |exponent| of(exponent).map(|(.., figures)| figures).sum::<u64>();
        let has_exponent = total(true) > total(false);
        let forms = || of(has_exponent);
        let enough = total(has_exponent).div_ceil(FIGURES_PER_FINE);
        if has_exponent {
            let most = |least: u32| -> u64 {
                let such = forms().filter(|(count, ..)| *count >= least);
                such.map(|(.., figures)| figures).sum()
            };
            let count = (forms()
                .map(|(count, ..)| count)
                .filter(|c| most(*c) >= enough))
            .max()?;
            let within = forms().filter(|(own, ..)| *own <= count);
            let place = within.map(|(_, place, _)| place).min()?;
            return Some(Digits { count, place });
        }
        let most = |finest: i32| -> u64 {
            let such = forms().filter(|(_, place, _)| *place <= finest);
            such.map(|(.., figures)| figures).sum()
        };
        let place = (forms()
            .map(|(_, place, _)| place)
            .filter(|p| most(*p) >= enough))
        .min()?;
        let within = forms().filter(|(_, own, _)| *own >= place);
        let count = within.map(|(count, ..)| count).max()?;
        Some(Digits { count, place })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The digits of a column with these figures and how often each occurs.
    fn column(figures: &[(&str, usize)]) -> Option<Digits> {
        let mut forms = Forms::default();
        for (text, count) in figures {
            for _ in 0..*count {
                forms.add(Digits::of_text(text).expect("digits"), text.contains('E'));
            }
        }
        forms.digits()
    }

    #[test]
    fn a_single_figure_does_not_decide_how_fine_a_column_is() {
        let digits = |count, place| Some(Digits { count, place });
        assert_eq!(column(&[]), None);
        assert_eq!(column(&[("5.35E+02", 50), ("1.50E+03", 50)]), digits(3, 0));
        for stray in ["535.25", "1.50012E+03", "1500"] {
            let all = [("5.35E+02", 50), ("1.50E+03", 50), (stray, 1)];
            let found = column(&all).expect("digits");
            assert_eq!(found.step_at(1500.0), 10.0, "{stray}: {found:?}");
        }
        // Decimals are fixed, also where few figures are as large as the largest.
        assert_eq!(column(&[("99.5", 98), ("1000.5", 2)]), digits(5, -1));
        assert_eq!(column(&[("99.5", 98), ("99.5123", 1)]), digits(3, -1));
        // Zeros at the end that are not written.
        assert_eq!(column(&[("230.3", 10), ("230.25", 90)]), digits(5, -2));
        assert_eq!(column(&[("535.2", 1)]), digits(4, -1));
    }

    #[test]
    fn digits_are_those_of_the_text() {
        for (text, count, place) in [
            ("5.35E+02", 3, 0),
            ("1.50e+03", 3, 1),
            ("230.30", 5, -2),
            ("0.9387", 4, -4),
            ("-1.97E+02", 3, 0),
            ("1500", 4, 0),
        ] {
            assert_eq!(
                Digits::of_text(text),
                Some(Digits { count, place }),
                "{text}"
            );
        }
        for text in ["", "0", "0.00", "NaN", "1e999", "x"] {
            assert_eq!(Digits::of_text(text), None, "{text}");
        }
    }

    #[test]
    fn steps_are_wider_where_figures_are_larger() {
        let digits = Digits::of_text("5.35E+02").expect("digits");
        assert_eq!(digits.step_at(535.0), 1.0);
        assert_eq!(digits.step_at(1510.0), 10.0);
        // A fixed number of decimals does not become finer below.
        let fixed = Digits::of_text("535.2").expect("digits");
        assert_eq!((fixed.step_at(535.2), fixed.step_at(9.0)), (0.1, 0.1));
        assert_eq!(digits.times(1000.0).expect("a power of ten").place, 3);
        assert_eq!(digits.times(3.0), None);
    }

    #[test]
    fn digits_of_values_are_known_where_they_differ() {
        let coarse = [1500.0, 1510.0].iter().copied().cycle().take(20);
        let digits = Digits::of_values(coarse).expect("digits");
        assert_eq!(digits.step_at(1500.0), 10.0);
        let fine = (0..20).map(|i| 1500.0 + f64::from(i) * 0.01);
        let digits = Digits::of_values(fine).expect("digits");
        assert!((digits.step_at(1500.0) - 0.01).abs() < 1e-12);
        assert_eq!(
            Digits::of_values([200.0].iter().copied().cycle().take(20)),
            None
        );
        assert_eq!(Digits::of_values([200.0, 201.0].iter().copied()), None);
    }
}
