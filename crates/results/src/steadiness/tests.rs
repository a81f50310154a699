use super::*;
use filermark_model::Rng;
use filermark_model::stats::Interval;

const SEEDS: u64 = 1_000;

/// A draw of the normal distribution (Box and Muller).
fn normal(rng: &mut Rng) -> f64 {
    let radius = (2.0 * rng.exponential()).sqrt();
    radius * (std::f64::consts::TAU * rng.unit()).cos()
}

fn white(seed: u64, n: usize, noise: f64, level: impl Fn(usize) -> f64) -> Vec<f64> {
    let mut rng = Rng::new(seed, 0);
    let value = |i| level(i) * (1.0 + noise * normal(&mut rng));
    (0..n).map(value).collect()
}

/// First-order autoregressive noise with this standard deviation.
fn autoregressive(seed: u64, n: usize, noise: f64, phi: f64) -> Vec<f64> {
    let mut rng = Rng::new(seed, 1);
    let step = noise * (1.0 - phi * phi).sqrt();
    let mut state = noise * normal(&mut rng);
    let value = |_| {
        state = phi * state + step * normal(&mut rng);
        1_000.0 * (1.0 + state)
    };
    (0..n).map(value).collect()
}

/// How many of the series, of a thousand, are reported.
fn reported(make: impl Fn(u64) -> Vec<f64>) -> usize {
    let real = |seed: &u64| change(&make(*seed)).is_some_and(|c| c.is_real());
    (0..SEEDS).filter(real).count()
}

fn drift(n: usize, share: f64) -> impl Fn(usize) -> f64 + Copy {
    move |i| 1_000.0 * (1.0 + share * i as f64 / (n - 1) as f64)
}

#[test]
fn white_noise_is_steady() {
    // Two statistics of one series: half of ALPHA, 5 of 1,000, is the most expected.
    for (n, noise) in [(30, 0.02), (30, 0.2), (60, 0.1), (120, 0.5)] {
        let count = reported(|seed| white(seed, n, noise, |_| 1_000.0));
        assert!(count <= 10, "n={n} noise={noise}: {count}");
    }
}

#[test]
fn autocorrelated_noise_is_mostly_steady() {
    for (n, phi) in [(30, 0.3), (60, 0.5), (60, 0.8), (120, 0.8)] {
        let count = reported(|seed| autoregressive(seed, n, 0.1, phi));
        assert!(count <= 50, "n={n} phi={phi}: {count}");
    }
}

#[test]
fn drift_is_reported_from_five_percent_on() {
    for (share, least, most) in [(0.03, 0, 5), (0.06, 900, 1_000), (0.2, 1_000, 1_000)] {
        for (n, noise) in [(60, 0.01), (120, 0.015)] {
            let count = reported(|seed| white(seed, n, noise, drift(n, share)));
            assert!((least..=most).contains(&count), "{share} n={n}: {count}");
            let down = reported(|seed| white(seed, n, noise, drift(n, -share)));
            assert!((least..=most).contains(&down), "{share} n={n}: {down}");
        }
    }
}

#[test]
fn a_step_is_reported() {
    for at in [20, 30] {
        let level = |i| if i < at { 1_000.0 } else { 1_200.0 };
        let count = reported(|seed| white(seed, 60, 0.05, level));
        assert!(count >= 990, "at {at}: {count}");
    }
}

#[test]
fn periodic_load_is_steady() {
    // Whole and partial periods, far shorter than the series.
    for (n, period) in [(60, 5.0), (60, 7.3), (120, 23.7)] {
        let wave =
            |i: usize| 1_000.0 * (1.0 + 0.2 * (std::f64::consts::TAU * i as f64 / period).sin());
        let count = reported(|seed| white(seed, n, 0.02, wave));
        assert!(count <= 10, "n={n} period={period}: {count}");
    }
}

#[test]
fn one_outlier_is_no_trend() {
    for at in [0, 3, 30, 59] {
        for value in [0.0, 20_000.0] {
            let count = reported(|seed| {
                let mut series = white(seed, 60, 0.03, |_| 1_000.0);
                series[at] = value;
                series
            });
            assert!(count <= 10, "{value} at {at}: {count}");
        }
    }
}

#[test]
fn series_without_noise_or_values_are_handled() {
    assert!(!change(&[7.0; 60]).unwrap().is_real());
    assert_eq!(change(&[0.0; 60]), None);
    assert_eq!(change(&[1.0; SECONDS_MIN - 1]), None);
    assert_eq!(change(&[]), None);
    assert_eq!(change(&[f64::NAN; 60]), None);
    let step: Vec<f64> = (0..60).map(|i| if i < 30 { 1.0 } else { 2.0 }).collect();
    assert!(change(&step).unwrap().is_real());
    // A server that stopped in the middle, and one that began there.
    let stopped: Vec<f64> = (0..60).map(|i| if i < 25 { 9.0 } else { 0.0 }).collect();
    assert!(change(&stopped).unwrap().is_real());
    // An hour and a day are averaged first.
    let day: Vec<f64> = (0..86_400).map(|i| 1_000.0 + i as f64 / 100.0).collect();
    let found = change(&day).unwrap();
    assert!((found.trend - 0.6).abs() < 0.05, "{found:?}");
}

#[test]
fn slope_and_test_agree_with_worked_figures() {
    // Slopes 1, 1, 4/3, 3/2, 3/2, 2.
    let slope = theil_sen(&[1.0, 2.0, 4.0, 5.0]);
    assert!((slope - 17.0 / 12.0).abs() < 1e-12, "{slope}");
    // S = 45 of 45 pairs, variance 125, z = 44 / 125^0.5 = 3.935.
    let rising: Vec<f64> = (0..10).map(f64::from).collect();
    let p = mann_kendall(&rising, 1.0);
    assert!((p - 8.3e-5).abs() < 2e-6, "{p}");
    assert_eq!(ranks(&[3.0, 1.0, 3.0, 2.0]), [3.5, 1.0, 3.5, 2.0]);
    assert_eq!(median(&mut [4.0, 1.0, 3.0]), 3.0);
}

#[test]
fn steadiness_uses_the_whole_seconds_of_run() {
    let mut stats = PointStats {
        window_ns: 40_500_000_000,
        ..PointStats::default()
    };
    for second in -10..41 {
        let rising = 1_000_000 + 20_000 * second.max(0) as u64;
        stats.intervals.push(Interval {
            second,
            success_count: if second < 0 { 1 } else { 100 },
            service_sum_ns: 100_000_000,
            response_sum_ns: 100 * rising,
            ..Interval::default()
        });
    }
    let found = of_point(&stats);
    assert_eq!(found.second_count, 40);
    assert!(!found.rate.unwrap().is_real());
    assert!(found.response.unwrap().is_real());
    // Records without sums of response times: the service time is used.
    for interval in &mut stats.intervals {
        interval.response_sum_ns = 0;
    }
    assert!(!of_point(&stats).response.unwrap().is_real());
}
