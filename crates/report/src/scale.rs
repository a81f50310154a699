//! Axes: positions of figures, and ticks.

/// Ratio of values from which on an axis is logarithmic: below, a linear one is
/// easier to read.
pub const LOG_FROM_RATIO: f64 = 30.0;

/// One axis.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
    log: bool,
}

impl Scale {
    /// A linear axis from `low` to the next round figure above `high`, drawn
    /// between the positions `from` and `to`.
    pub fn linear(low: f64, high: f64, from: f64, to: f64) -> Self {
        let high = if high > low { high } else { low + 1.0 };
        let step = nice_step((high - low) / 5.0);
        Self {
            low,
            high: ((high - low) / step - 1e-9).ceil() * step + low,
            from,
            to,
            log: false,
        }
    }

    /// A linear axis of exactly these bounds.
    pub fn exact(low: f64, high: f64, from: f64, to: f64) -> Self {
        let high = if high > low { high } else { low + 1.0 };
        let log = false;
        Self {
            low,
            high,
            from,
            to,
            log,
        }
    }

    /// A logarithmic axis that covers `low` to `high`, both above zero.
    pub fn log(low: f64, high: f64, from: f64, to: f64) -> Self {
        let low = low.max(1e-9);
        let high = high.max(low * 2.0);
        Self {
            low: round_down_125(low),
            high: round_up_125(high),
            from,
            to,
            log: true,
        }
    }

    /// Whether it is logarithmic.
    pub fn is_log(&self) -> bool {
        self.log
    }

    /// The highest value on it.
    pub fn high(&self) -> f64 {
        self.high
    }

    /// The lowest value on it.
    pub fn low(&self) -> f64 {
        self.low
    }

    /// The position of a value; values off the axis go to its ends.
    pub fn at(&self, value: f64) -> f64 {
        let share = if self.log {
            (value.max(self.low) / self.low).ln() / (self.high / self.low).ln()
        } else {
            (value - self.low) / (self.high - self.low)
        };
        self.from + (self.to - self.from) * share.clamp(0.0, 1.0)
    }

    /// The ticks: round figures, about `wanted` of them.
    pub fn ticks(&self, wanted: usize) -> Vec<f64> {
        if self.log {
            return self.log_ticks(wanted);
        }
        let step = nice_step((self.high - self.low) / wanted.max(1) as f64);
        let first = (self.low / step - 1e-9).ceil() as i64;
        let last = (self.high / step + 1e-9).floor() as i64;
        (first..=last).map(|i| i as f64 * step).collect()
    }

    fn log_ticks(&self, wanted: usize) -> Vec<f64> {
        let decades = (self.high / self.low).log10();
        let marks: &[f64] = if decades * 3.0 <= wanted as f64 * 1.5 {
            &[1.0, 2.0, 5.0]
        } else {
            &[1.0]
        };
        let first = self.low.log10().floor() as i32;
        let last = self.high.log10().ceil() as i32;
        let all = (first..=last).flat_map(|e| marks.iter().map(move |m| m * 10f64.powi(e)));
        all.filter(|v| *v >= self.low * 0.999 && *v <= self.high * 1.001)
            .collect()
    }
}

/// 1, 2, 2.5 or 5 times a power of ten, at least `raw`.
pub fn nice_step(raw: f64) -> f64 {
    round_up(raw.max(1e-12), &[1.0, 2.0, 2.5, 5.0])
}

fn round_up_125(value: f64) -> f64 {
    round_up(value, &[1.0, 2.0, 5.0])
}

fn round_up(value: f64, marks: &[f64]) -> f64 {
    let power = 10f64.powf(value.log10().floor());
    for mark in marks {
        if value <= mark * power * (1.0 + 1e-9) {
            return mark * power;
        }
    }
    10.0 * power
}

fn round_down_125(value: f64) -> f64 {
    let power = 10f64.powf(value.log10().floor());
    for mark in [5.0, 2.0] {
        if value >= mark * power * (1.0 - 1e-9) {
            return mark * power;
        }
    }
    power
}

/// A tick's figure without unneeded digits.
pub fn tick_label(value: f64) -> String {
    let decimals = (0..=3)
        .find(|d| {
            let scaled = value * 10f64.powi(*d);
            (scaled - scaled.round()).abs() < 1e-6 * scaled.abs().max(1.0)
        })
        .unwrap_or(4);
    crate::format::number(value, decimals as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linear_axes_end_on_round_figures() {
        let s = Scale::linear(0.0, 1_003.0, 0.0, 100.0);
        assert_eq!(s.high(), 1_250.0);
        assert_eq!(s.ticks(5), [0.0, 250.0, 500.0, 750.0, 1_000.0, 1_250.0]);
        assert_eq!(s.at(625.0), 50.0);
        assert_eq!(s.at(9_999.0), 100.0);
        assert_eq!(Scale::linear(0.0, 0.0, 0.0, 1.0).at(0.0), 0.0);
    }

    #[test]
    fn log_axes_hold_their_values() {
        let s = Scale::log(0.23, 198.0, 0.0, 100.0);
        assert_eq!((s.low(), s.high()), (0.2, 200.0));
        assert!((s.at(0.2 * 1000f64.sqrt()) - 50.0).abs() < 1e-9);
        assert_eq!(
            s.ticks(6),
            [0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0]
        );
        assert_eq!(s.ticks(3), [1.0, 10.0, 100.0]);
        assert_eq!(s.at(0.0), 0.0);
    }

    #[test]
    fn labels_are_short() {
        assert_eq!(tick_label(1_500.0), "1,500");
        assert_eq!(tick_label(0.2), "0.2");
        assert_eq!(tick_label(0.05), "0.05");
    }
}
