//! The smallest change that a comparison can detect, and the repeats that a wanted one takes.
//!
//! A change is detected where its estimate is beyond two limits: that of Student's t at the error
//! rate of the figure, and the threshold. The estimate scatters by its standard error, so a change
//! is detected in [`POWER_PCNT`] of 100 comparisons where it is larger than the greater limit by
//! the corresponding quantile (Cohen, "Statistical Power Analysis for the Behavioral Sciences",
//! 1988, chapter 2, with two quantiles of Student's t instead of the noncentral t).

use super::difference::{ALPHA, Difference, Kind};
use super::student;
use super::verdict::SWEEP_SHARE;
use serde::Serialize;

/// True changes that are detected, of 100.
pub const POWER_PCNT: f64 = 90.0;
/// Repeats on each side that detect a change of 10 % at a deviation of 2 %.
pub const REPEATS_STATED: usize = 3;
/// The most repeats on each side that are planned.
pub const REPEATS_MAX: usize = 100;
/// The weight of a figure that decides, and that of all figures over the sweep.
const WEIGHTS: (f64, f64) = (4.0, 12.0);
/// Degrees of freedom of the assumed spread, where repeats do not confirm it.
const ASSUMED_DF_LEAST: f64 = 1.0;

/// The changes that a comparison can detect.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Sensitivity {
    /// Repeats before that are used.
    pub repeats_before: usize,
    /// Repeats after that are used.
    pub repeats_after: usize,
    /// The figure over the sweep that this is about.
    pub figure: Kind,
    /// Standard deviation of that figure between runs, in percent: measured and assumed together.
    pub deviation_pcnt: f64,
    /// The smallest increase that is detected in [`POWER_PCNT`] of 100 comparisons, in percent.
    pub detectable_pcnt: f64,
    /// Share of true changes of that size that are detected, in percent.
    pub power_pcnt: f64,
    /// Whether a side has fewer than [`REPEATS_STATED`] repeats.
    pub is_too_few: bool,
}

impl Sensitivity {
    /// Of the figures over the sweep: the mean service time, or the achieved rate where there is none.
    pub(super) fn of(
        sweep: &[Difference],
        repeats: (usize, usize),
        threshold_pcnt: f64,
    ) -> Option<Self> {
        let of = |kind| sweep.iter().find(|d| d.kind == kind);
        let difference = of(Kind::ServiceMean).or(of(Kind::AchievedRate))?;
        let error = difference.error;
        let threshold = (threshold_pcnt / 100.0).ln_1p();
        let log = detectable(error.value, error.df, error.allowance, threshold);
        Some(Self {
            repeats_before: repeats.0,
            repeats_after: repeats.1,
            figure: difference.kind,
            deviation_pcnt: pcnt(error.one_run),
            detectable_pcnt: pcnt(log),
            power_pcnt: POWER_PCNT,
            is_too_few: repeats.0.min(repeats.1) < REPEATS_STATED,
        })
    }

    /// In a sentence.
    pub fn text(&self) -> String {
        format!(
            "detects a change of {} % or more of the {} in {} of 100 cases ({} before, {} after; deviation between runs {:.1} %)",
            digits(self.detectable_pcnt),
            self.figure.words(),
            self.power_pcnt,
            filermark_model::units::counted(self.repeats_before as u64, "repeat"),
            self.repeats_after,
            self.deviation_pcnt
        )
    }

    /// A remark where there are too few repeats.
    pub fn remark(&self) -> Option<String> {
        self.is_too_few.then(|| {
            let undetected = match self.detectable_pcnt < DETECTABLE_PCNT_MAX {
                true => format!(
                    "a change of less than {} % can remain undetected",
                    digits(self.detectable_pcnt)
                ),
                false => "a change of any size can remain undetected".to_owned(),
            };
            format!(
                "too few repeats: {} before and {} after; {undetected}; {REPEATS_STATED} on each side detect 10 % at a deviation of 2 % (filermark plan --power)",
                self.repeats_before, self.repeats_after
            )
        })
    }
}

/// Changes from here on are not stated as a number, in percent.
const DETECTABLE_PCNT_MAX: f64 = 1e5;

/// Percent with a sensible number of digits.
fn digits(pcnt: f64) -> String {
    super::signed(pcnt).trim_start_matches('+').to_owned()
}

/// JSON has no infinity.
fn pcnt(log: f64) -> f64 {
    (100.0 * log.exp_m1()).min(1e9)
}

/// The smallest logarithm of a change that is detected in [`POWER_PCNT`] of 100 comparisons.
fn detectable(error: f64, df: f64, allowance: f64, threshold: f64) -> f64 {
    let p = ALPHA * SWEEP_SHARE * WEIGHTS.0 / WEIGHTS.1;
    let limit = (student::quantile(p, df) * error + allowance).max(threshold);
    limit + student::quantile(2.0 * (1.0 - POWER_PCNT / 100.0), df) * error
}

/// The JSON Schema of a [`RepeatPlan`].
pub const REPEAT_PLAN_SCHEMA: &str = include_str!("../../schema/repeat-plan-v1.json");

/// Repeats for a wanted sensitivity.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RepeatPlan {
    /// The version of the JSON form: 1.
    pub format: u32,
    /// The change that is to be detected, in percent.
    pub change_pcnt: f64,
    /// Standard deviation of a figure between runs, in percent: `--spread` of the comparison.
    pub deviation_pcnt: f64,
    /// The threshold of the comparison, in percent.
    pub threshold_pcnt: f64,
    /// Repeats on each side.
    pub repeats: usize,
    /// The change that these detect, in percent.
    pub detectable_pcnt: f64,
    /// Share of true changes of that size that are detected, in percent.
    pub power_pcnt: f64,
}

impl RepeatPlan {
    /// The fewest repeats on each side that detect a change; `None`: more than [`REPEATS_MAX`]. A
    /// threshold above half of the change is lowered to that: a change that is as large as the
    /// threshold is below it in half of all comparisons.
    pub fn new(change_pcnt: f64, deviation_pcnt: f64, threshold_pcnt: f64) -> Option<Self> {
        let threshold_pcnt = threshold_pcnt.min(0.5 * change_pcnt);
        let change = (change_pcnt / 100.0).ln_1p();
        let reach = |repeats: usize| detectable_with(repeats, deviation_pcnt, threshold_pcnt);
        let repeats = (1..=REPEATS_MAX).find(|n| reach(*n) <= change)?;
        Some(Self {
            format: 1,
            change_pcnt,
            deviation_pcnt,
            threshold_pcnt,
            repeats,
            detectable_pcnt: pcnt(reach(repeats)),
            power_pcnt: POWER_PCNT,
        })
    }
}

/// The logarithm of the change that so many repeats on each side detect.
fn detectable_with(repeats: usize, deviation_pcnt: f64, threshold_pcnt: f64) -> f64 {
    let deviation = (deviation_pcnt / 100.0).ln_1p();
    let error = deviation * (2.0 / repeats as f64).sqrt();
    let df = match repeats {
        1 => super::difference::ASSUMED_DF,
        n => ASSUMED_DF_LEAST + 2.0 * (n - 1) as f64,
    };
    detectable(error, df, 0.0, (threshold_pcnt / 100.0).ln_1p())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_that_has_no_number_is_of_any_size() {
        let of = |detectable_pcnt| Sensitivity {
            repeats_before: 1,
            repeats_after: 1,
            figure: Kind::ServiceMean,
            deviation_pcnt: 20.0,
            detectable_pcnt,
            power_pcnt: POWER_PCNT,
            is_too_few: true,
        };
        let remark = |pcnt| of(pcnt).remark().expect("too few");
        assert!(remark(1e9).contains("; a change of any size can remain undetected;"));
        assert!(remark(300.0).contains("; a change of less than 300 % can remain undetected;"));
    }
}
