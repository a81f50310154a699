//! The difference of one figure between two sides, with its interval and verdict.
//!
//! A difference is a ratio: it is computed from logarithms and shown in percent.
//! Two sides differ by more than the noise within their runs, so the variance has
//! two parts: the variance within the runs ([`super::interval_variance`]), and the spread
//! between runs, which is assumed until repeats show it.

use super::interval_variance::Figure;
use super::student;
use serde::Serialize;

/// The chance that an interval misses, and that a family of tests is wrong.
pub const ALPHA: f64 = 0.05;
/// Degrees of freedom of the assumed spread between runs.
pub(super) const ASSUMED_DF: f64 = 20.0;
/// The least of them, where repeats scatter much more.
const CONTRADICTED_DF: f64 = 1.0;

/// The verdict on one figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Judgement {
    /// The second side is better.
    Faster,
    /// The second side is worse.
    Slower,
    /// The difference is not larger than chance can make it, or too small to matter.
    /// This does not show that there is none.
    NoDifferenceShown,
}

impl Judgement {
    /// For people.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Faster => "faster",
            Self::Slower => "slower",
            Self::NoDifferenceShown => "no difference shown",
        }
    }
}

/// Which figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Achieved rate, op/s.
    AchievedRate,
    /// Mean service time, ms.
    ServiceMean,
    /// 99th percentile of the service time, ms.
    ServiceP99,
    /// Mean response time, ms.
    ResponseMean,
    /// Highest achieved rate of the load points with figures on both sides, op/s. They need
    /// not count: near a limit it is chance whether the highest one counts, so the peak of
    /// valid points would change by a whole load point between equal runs.
    HighestRate,
    /// Overall response time, ms.
    Ort,
}

impl Kind {
    /// Its name for people.
    pub const fn words(self) -> &'static str {
        match self {
            Self::AchievedRate => "achieved rate",
            Self::ServiceMean => "mean service time",
            Self::ServiceP99 => "99 % of service times",
            Self::ResponseMean => "mean response time",
            Self::HighestRate => "highest achieved rate",
            Self::Ort => "overall response time",
        }
    }

    /// Its name where space is short.
    pub const fn short(self) -> &'static str {
        match self {
            Self::AchievedRate => "rate",
            Self::ServiceMean => "service",
            Self::ServiceP99 => "service 99 %",
            Self::ResponseMean => "response",
            Self::HighestRate => "highest rate",
            Self::Ort => "ORT",
        }
    }

    /// The unit of its values.
    pub const fn unit(self) -> &'static str {
        if self.is_rate() { "op/s" } else { "ms" }
    }

    /// Whether more is better.
    pub const fn is_rate(self) -> bool {
        matches!(self, Self::AchievedRate | Self::HighestRate)
    }

    /// From the unit of the records to that of [`Kind::unit`].
    pub(super) const fn scale(self) -> f64 {
        if self.is_rate() { 1.0 } else { 1e-6 }
    }

    /// Its weight among the tests over the sweep: the figures that decide the verdict have most.
    pub(super) const fn weight(self) -> f64 {
        match self {
            Self::ServiceMean | Self::AchievedRate => 4.0,
            _ => 1.0,
        }
    }

    /// Its spread between runs, as a multiple of that of a mean.
    pub(super) const fn spread_factor(self) -> f64 {
        match self {
            Self::ServiceP99 => 2.0,
            _ => 1.0,
        }
    }

    /// Whether it depends on few operations: a single stall of a second changes it, which
    /// does not predict the next run.
    pub(super) const fn is_of_the_tail(self) -> bool {
        matches!(self, Self::ServiceP99 | Self::ResponseMean)
    }

    /// Its spread at a single load point, as a multiple of that over the sweep: near the
    /// knee a slightly slower server has a much longer queue.
    pub(super) const fn point_spread_factor(self) -> f64 {
        if self.is_rate() { 1.0 } else { 2.0 }
    }
}

/// A difference of one figure: AFTER against BEFORE.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// The figure.
    pub kind: Kind,
    /// The unit of `before` and `after`.
    pub unit: &'static str,
    /// The figure before: where there are several points or records, their geometric mean.
    pub before: f64,
    /// And after.
    pub after: f64,
    /// By how much it grew, in percent of before.
    pub change_pcnt: f64,
    /// Lower end of the 95 % interval of that.
    pub low_pcnt: f64,
    /// Upper end.
    pub high_pcnt: f64,
    /// The probability of such a difference by chance, not adjusted for many tests.
    pub p_value: f64,
    /// The p-value adjusted for the number of tests in its table (Holm).
    pub adjusted_p_value: f64,
    /// The verdict.
    pub verdict: Judgement,
    /// The standard error of the logarithm of the change, and its degrees of freedom.
    #[serde(skip)]
    pub(super) error: StandardError,
}

/// The uncertainty of a difference.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct StandardError {
    /// Of the logarithm of the change.
    pub value: f64,
    /// Its degrees of freedom.
    pub df: f64,
    /// The part of the logarithm that the clients' own delays can explain.
    pub allowance: f64,
    /// The standard deviation of one run's logarithm.
    pub one_run: f64,
}

impl Difference {
    /// `+12.3 % (+4.0 to +21.5)`.
    pub fn text(&self) -> String {
        format!(
            "{} % ({} to {})",
            signed(self.change_pcnt),
            signed(self.low_pcnt),
            signed(self.high_pcnt)
        )
    }

    /// Sets the verdict from the adjusted p-value and the threshold.
    pub(super) fn decide(&mut self, adjusted: f64, alpha: f64, threshold_pcnt: f64) {
        self.adjusted_p_value = adjusted;
        self.verdict = self.judged(adjusted, alpha, threshold_pcnt);
    }

    /// The verdict in a family of tests of its own.
    pub(super) fn judged(&self, adjusted: f64, alpha: f64, threshold_pcnt: f64) -> Judgement {
        // As a ratio: a half and a double are equally far.
        let least = (threshold_pcnt / 100.0).ln_1p();
        let ratio = (self.change_pcnt / 100.0).ln_1p();
        match adjusted < alpha && ratio.abs() >= least {
            false => Judgement::NoDifferenceShown,
            true if (ratio > 0.0) == self.kind.is_rate() => Judgement::Faster,
            true => Judgement::Slower,
        }
    }
}

/// Percent with a sign and a sensible number of digits.
pub fn signed(pcnt: f64) -> String {
    match pcnt {
        p if !p.is_finite() || p >= 1e5 => "more than +99999".into(),
        p if p.abs() >= 99.95 => format!("{p:+.0}"),
        p => {
            let text = format!("{p:+.1}");
            // No "-0.0".
            if text == "-0.0" { "+0.0".into() } else { text }
        }
    }
}

/// A variance and its degrees of freedom.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spread {
    pub variance: f64,
    pub df: f64,
}

impl Spread {
    /// The sum of two variances (Welch and Satterthwaite).
    pub fn plus(self, other: Self) -> Self {
        let variance = self.variance + other.variance;
        let part = |s: Self| s.variance * s.variance / s.df.max(1.0);
        let parts = part(self) + part(other);
        Self {
            variance,
            df: if parts > 0.0 {
                variance * variance / parts
            } else {
                self.df + other.df
            },
        }
    }

    pub fn times(self, factor: f64) -> Self {
        Self {
            variance: self.variance * factor,
            df: self.df,
        }
    }

    /// The sample variance of values about the mean of their own group.
    pub fn of_groups(groups: &[&[f64]]) -> Option<Self> {
        let squares = |group: &&[f64]| {
            let mean = mean(group);
            group.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>()
        };
        let count = |group: &&[f64]| group.len().saturating_sub(1);
        let df: usize = groups.iter().map(count).sum();
        let sum: f64 = groups.iter().map(squares).sum();
        (df > 0).then(|| Self {
            variance: sum / df as f64,
            df: df as f64,
        })
    }

    /// The assumption corrected by what repeats show: pooled by degrees of freedom. The weight of
    /// an assumption that is too small falls with the square of the ratio of the variances.
    fn corrected(self, shown: Option<Self>) -> Self {
        let Some(shown) = shown else {
            return self;
        };
        let ratio = match shown.variance > self.variance {
            true => self.variance / shown.variance,
            false => 1.0,
        };
        let assumed_df = (self.df * ratio * ratio).max(CONTRADICTED_DF.min(self.df));
        let df = assumed_df + shown.df;
        Self {
            variance: (self.variance * assumed_df + shown.variance * shown.df) / df,
            df,
        }
    }
}

pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// What is known of a figure on one side: its logarithm in each record, and the variance
/// within each record.
#[derive(Clone, Debug, Default)]
pub struct SideEstimate {
    pub logs: Vec<f64>,
    pub within: Vec<Spread>,
}

impl SideEstimate {
    pub fn of(figures: impl Iterator<Item = Figure>) -> Self {
        let mut side = Self::default();
        for figure in figures {
            side.push(figure.value.ln(), figure.variance, figure.df);
        }
        side
    }

    pub fn push(&mut self, log: f64, variance: f64, df: f64) {
        self.logs.push(log);
        self.within.push(Spread { variance, df });
    }

    /// The mean variance within the records.
    fn within(&self) -> Spread {
        let n = self.within.len().max(1) as f64;
        let all = self.within.iter().copied().reduce(Spread::plus);
        all.unwrap_or_default().times(1.0 / n)
    }
}

/// Further uncertainty in the interval.
#[derive(Clone, Copy, Debug, Default)]
pub struct ExtraUncertainty {
    /// Standard deviation of the logarithm between runs, assumed.
    pub spread: f64,
    /// Variance of the difference that the scatter over load points shows.
    pub scatter: Option<Spread>,
    /// The part of the logarithm that the clients' own delays can explain.
    pub allowance: f64,
}

/// The difference of two sides; `None` where one has no figure.
pub fn difference(
    kind: Kind,
    before: &SideEstimate,
    after: &SideEstimate,
    uncertainty: ExtraUncertainty,
) -> Option<Difference> {
    let (b, a) = (before.logs.len() as f64, after.logs.len() as f64);
    if b == 0.0 || a == 0.0 {
        return None;
    }
    let share = 1.0 / b + 1.0 / a;
    let assumed = Spread {
        variance: uncertainty.spread * uncertainty.spread,
        df: ASSUMED_DF,
    };
    let within = before.within().times(0.5).plus(after.within().times(0.5));
    let scatter = uncertainty.scatter.map(|s| s.times(1.0 / share));
    let own = match scatter {
        Some(scatter) if scatter.variance > within.variance => scatter,
        _ => within,
    };
    let shown = Spread::of_groups(&[&before.logs, &after.logs]);
    let one = assumed.plus(own).corrected(shown);
    let deviation = (one.variance * share).sqrt();
    let (before, after) = (mean(&before.logs), mean(&after.logs));
    let log = after - before;
    let half = student::quantile(ALPHA, one.df) * deviation + uncertainty.allowance;
    let beyond = (log.abs() - uncertainty.allowance).max(0.0);
    let p_value = match deviation > 0.0 {
        true => student::two_sided(beyond / deviation, one.df),
        false if beyond > 1e-9 => 0.0,
        false => 1.0,
    };
    let pcnt = |log: f64| 100.0 * log.exp_m1();
    Some(Difference {
        kind,
        unit: kind.unit(),
        before: before.exp() * kind.scale(),
        after: after.exp() * kind.scale(),
        change_pcnt: finite(pcnt(log)),
        low_pcnt: finite(pcnt(log - half)),
        high_pcnt: finite(pcnt(log + half)),
        p_value,
        adjusted_p_value: p_value,
        verdict: Judgement::NoDifferenceShown,
        error: StandardError {
            value: deviation,
            df: one.df,
            allowance: uncertainty.allowance,
            one_run: one.variance.sqrt(),
        },
    })
}

/// JSON has no infinity.
fn finite(value: f64) -> f64 {
    if value.is_nan() {
        0.0
    } else {
        value.clamp(-100.0, 1e9)
    }
}

/// Adjusts a table of differences for their number and judges each.
pub fn decide(table: &mut [&mut Difference], threshold_pcnt: f64) {
    let p_values: Vec<_> = table.iter().map(|d| (d.p_value, 1.0)).collect();
    for (difference, adjusted) in table.iter_mut().zip(student::holm(&p_values)) {
        difference.decide(adjusted, ALPHA, threshold_pcnt);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side(values: &[f64]) -> SideEstimate {
        SideEstimate::of(values.iter().map(|value| Figure {
            value: value * 1e6,
            variance: 1e-6,
            df: 11.0,
        }))
    }

    fn judged(before: &[f64], after: &[f64], spread: f64) -> Difference {
        let uncertainty = ExtraUncertainty {
            spread,
            ..ExtraUncertainty::default()
        };
        let mut d =
            difference(Kind::ServiceMean, &side(before), &side(after), uncertainty).unwrap();
        d.decide(d.p_value, ALPHA, 5.0);
        d
    }

    #[test]
    fn the_spread_between_runs_determines_the_interval() {
        let d = judged(&[1.0], &[1.10], 0.02);
        assert!((d.change_pcnt - 10.0).abs() < 1e-9);
        assert!(
            (3.0..4.5).contains(&d.low_pcnt) && (16.0..18.0).contains(&d.high_pcnt),
            "{d:?}"
        );
        assert_eq!(d.verdict, Judgement::Slower);
        assert_eq!(judged(&[1.0], &[0.9], 0.02).verdict, Judgement::Faster);
        assert_eq!(
            judged(&[1.0], &[1.10], 0.06).verdict,
            Judgement::NoDifferenceShown
        );
        // Significant, but below the threshold.
        let small = judged(&[1.0], &[1.03], 0.001);
        assert!(small.low_pcnt > 0.0);
        assert_eq!(small.verdict, Judgement::NoDifferenceShown);
    }

    #[test]
    fn repeats_correct_the_assumed_spread() {
        // Similar repeats: a smaller difference is detected.
        let alike = judged(&[1.0, 1.002, 0.998], &[1.061, 1.059, 1.06], 0.02);
        assert_eq!(alike.verdict, Judgement::Slower);
        assert_eq!(
            judged(&[1.0], &[1.06], 0.02).verdict,
            Judgement::NoDifferenceShown
        );
        // Scattered repeats: the assumption has little weight.
        let wild = judged(&[1.0, 1.3, 0.8], &[1.1, 1.5, 1.0], 0.001);
        assert_eq!(wild.verdict, Judgement::NoDifferenceShown);
        assert!(wild.low_pcnt < -20.0, "{wild:?}");
    }

    #[test]
    fn differences_that_the_client_can_explain_are_not_the_servers() {
        let uncertainty = ExtraUncertainty {
            spread: 0.02,
            allowance: 0.3,
            ..ExtraUncertainty::default()
        };
        let d = difference(Kind::ServiceMean, &side(&[1.0]), &side(&[1.2]), uncertainty).unwrap();
        assert_eq!(d.p_value, 1.0);
        assert!(d.low_pcnt < 0.0);
        assert!(difference(Kind::ServiceMean, &side(&[]), &side(&[1.2]), uncertainty).is_none());
    }

    #[test]
    fn figures_have_few_digits() {
        assert_eq!(
            [
                signed(12.34),
                signed(-0.01),
                signed(250.4),
                signed(f64::INFINITY)
            ],
            ["+12.3", "+0.0", "+250", "more than +99999"]
        );
    }
}
