//! Student's t distribution, as far as a comparison needs it, and Holm's procedure for
//! many tests at one error rate.
//!
//! The tail is the regularised incomplete beta function by its continued fraction
//! (Abramowitz and Stegun 26.5.8, 26.7.1); the tests compare with tables.

use std::f64::consts::PI;

/// Degrees of freedom above which the normal distribution is used.
const DF_MAX: f64 = 1e6;
/// Terms of the continued fraction, more than are ever needed.
const TERMS_MAX: u32 = 300;
/// Steps to a quantile, more than are ever needed.
const STEPS_MAX: u32 = 100;
/// The limit of convergence.
const EPSILON: f64 = 1e-14;

/// The probability of a |t| at least as large as this one, with `df` degrees of freedom.
/// NaN counts as no evidence: 1.
pub fn two_sided(t: f64, df: f64) -> f64 {
    let df = df.clamp(0.5, DF_MAX);
    if !t.is_finite() {
        return if t.is_nan() { 1.0 } else { 0.0 };
    }
    incomplete_beta(df / (df + t * t), 0.5 * df, 0.5).clamp(0.0, 1.0)
}

/// The t that is exceeded on both sides together with probability `p`: Newton's method within
/// a bracket.
pub fn quantile(p: f64, df: f64) -> f64 {
    let (p, df) = (p.clamp(1e-12, 1.0), df.clamp(0.5, DF_MAX));
    let density_at_0 = ln_gamma(0.5 * (df + 1.0)) - ln_gamma(0.5 * df) - 0.5 * (df * PI).ln();
    let density = |t: f64| (density_at_0 - 0.5 * (df + 1.0) * (t * t / df).ln_1p()).exp();
    let (mut low, mut high, mut t) = (0.0, f64::INFINITY, 2.0f64);
    for _ in 0..STEPS_MAX {
        let beyond = two_sided(t, df) - p;
        if beyond > 0.0 {
            low = t;
        } else {
            high = t;
        }
        let next = t + beyond / (2.0 * density(t));
        let next = match next > low && next < high && next < 4.0 * t {
            true => next,
            false if high.is_finite() => 0.5 * (low + high),
            false => 2.0 * t,
        };
        let is_near = (next - t).abs() <= 1e-11 * t;
        t = next;
        if is_near {
            break;
        }
    }
    t
}

/// The p-values of tests with weights as Holm's step-down procedure adjusts them, in
/// the same order: rejecting those below 5 % makes one false rejection or more in at
/// most 5 % of all cases, whatever the dependence of the tests (Holm 1979, with weights).
/// A test with more weight loses less power to the others.
pub fn holm(tests: &[(f64, f64)]) -> Vec<f64> {
    let rank = |at: &usize| tests[*at].0 / tests[*at].1;
    let mut order: Vec<usize> = (0..tests.len()).collect();
    order.sort_by(|a, b| rank(a).total_cmp(&rank(b)));
    let mut left: f64 = tests.iter().map(|(_, weight)| weight).sum();
    let mut adjusted = vec![1.0; tests.len()];
    let mut least = 0.0f64;
    for at in order {
        let (p, weight) = tests[at];
        least = least.max((p * left / weight).min(1.0));
        adjusted[at] = least;
        left -= weight;
    }
    adjusted
}

/// I_x(a, b).
fn incomplete_beta(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return x.clamp(0.0, 1.0);
    }
    let ln_front = ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (1.0 - x).ln();
    if x < (a + 1.0) / (a + b + 2.0) {
        ln_front.exp() * fraction(x, a, b) / a
    } else {
        1.0 - ln_front.exp() * fraction(1.0 - x, b, a) / b
    }
}

/// The continued fraction of the incomplete beta function (Lentz's method).
fn fraction(x: f64, a: f64, b: f64) -> f64 {
    let away_from_zero = |v: f64| if v.abs() < 1e-300 { 1e-300 } else { v };
    let mut c = 1.0;
    let mut d = 1.0 / away_from_zero(1.0 - (a + b) * x / (a + 1.0));
    let mut result = d;
    for m in 1..TERMS_MAX {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let mut factor = 1.0;
        for term in [even, odd] {
            d = 1.0 / away_from_zero(1.0 + term * d);
            c = away_from_zero(1.0 + term / c);
            factor = c * d;
            result *= factor;
        }
        if (factor - 1.0).abs() < EPSILON {
            break;
        }
    }
    result
}

/// ln Γ(x), x > 0: Lanczos' approximation, g = 7, nine terms.
fn ln_gamma(x: f64) -> f64 {
    const TERMS: [f64; 9] = [
        0.999_999_999_999_809_9,
        676.520_368_121_885_1,
        -1_259.139_216_722_402_8,
        771.323_428_777_653_1,
        -176.615_029_162_140_6,
        12.507_343_278_686_905,
        -0.138_571_095_265_720_12,
        9.984_369_578_019_572e-6,
        1.505_632_735_149_311_6e-7,
    ];
    let x = x - 1.0;
    let rest = TERMS.iter().enumerate().skip(1);
    let sum = rest.fold(TERMS[0], |sum, (i, term)| sum + term / (x + i as f64));
    let t = x + 7.5;
    0.5 * (2.0 * PI).ln() + (x + 0.5) * t.ln() - t + sum.ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_match_the_tables() {
        // (two-sided p, df, t): any table of Student's t.
        let table = [
            (0.05, 1.0, 12.706),
            (0.05, 2.0, 4.303),
            (0.05, 3.0, 3.182),
            (0.05, 10.0, 2.228),
            (0.01, 20.0, 2.845),
            (0.001, 30.0, 3.646),
            (0.05, 1e7, 1.960),
            (0.5, 4.0, 0.741),
            (0.001, 1.0, 636.6192),
            (1.0, 4.0, 0.0),
        ];
        for (p, df, t) in table {
            assert!(
                (quantile(p, df) - t).abs() < 6e-4,
                "{p} {df}: {}",
                quantile(p, df)
            );
            assert!((two_sided(t, df) - p).abs() < 2e-4, "{p} {df}");
        }
        assert_eq!(
            (two_sided(0.0, 3.0), two_sided(f64::INFINITY, 3.0)),
            (1.0, 0.0)
        );
        assert_eq!(two_sided(f64::NAN, 3.0), 1.0);
        assert!((ln_gamma(5.0) - 24f64.ln()).abs() < 1e-12);
    }

    #[test]
    fn holm_steps_down() {
        // The worked example of many textbooks.
        let adjusted = holm(&[(0.01, 1.0), (0.04, 1.0), (0.03, 1.0), (0.005, 1.0)]);
        let rounded: Vec<f64> = adjusted.iter().map(|p| (p * 1e6).round() / 1e6).collect();
        assert_eq!(rounded, [0.03, 0.06, 0.06, 0.02]);
        assert!(holm(&[]).is_empty());
        assert_eq!(holm(&[(0.9, 1.0), (0.8, 1.0)]), [1.0, 1.0]);
        // Three quarters for the first test; the second gets the rest.
        assert_eq!(holm(&[(0.03, 3.0), (0.04, 1.0)]), [0.04, 0.04]);
    }
}
