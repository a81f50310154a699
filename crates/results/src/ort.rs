//! The overall response time (ORT): one figure for a whole curve, the area
//! under response time over achieved throughput.
//!
//! The formulas of the generations were derived from published results
//! (sources.md 1.7 and 2.5); those results are the tests below.

use serde::Serialize;

/// How the overall response time of a curve is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum OrtMethod {
    /// From the origin, divided by the peak ([`ort_2008`]).
    #[serde(rename = "2008")]
    FromOrigin,
    /// From the first point, divided by the distance to the peak ([`ort_2020`]).
    #[serde(rename = "2020")]
    FromFirst,
}

impl OrtMethod {
    /// Of a classical or of a composite benchmark.
    pub const fn of(is_composite: bool) -> Self {
        match is_composite {
            true => Self::FromFirst,
            false => Self::FromOrigin,
        }
    }

    /// The generation that it is named after.
    pub const fn name(self) -> &'static str {
        match self {
            Self::FromOrigin => "2008",
            Self::FromFirst => "2020",
        }
    }

    /// The ORT of the points that count: (achieved, response time), in the order of their
    /// load. The only point of a composite with a requested rate has its own response time.
    ///
    /// `has_rates`: a rate was requested at all of them. At full speed (LOAD=max) the response
    /// time follows from the number of procs, and one point is no curve: there is no ORT of one
    /// point without a rate, and none from the origin.
    pub fn ort(self, points: &[(f64, f64)], has_rates: bool) -> Option<f64> {
        match (self, points) {
            (Self::FromOrigin, _) if !has_rates => None,
            (Self::FromOrigin, _) => ort_2008(points),
            (Self::FromFirst, [(_, only)]) => has_rates.then_some(*only),
            (Self::FromFirst, _) => ort_2020(points),
        }
    }
}

/// ORT by the 2008 formula, in the unit of the response times: trapezoids from the
/// origin (0, 0), divided by the peak.
///
/// `points` are (achieved, response time), in the order of the requested load,
/// and only those that count. Points after the one with the highest achieved
/// rate are left out: with a rate that falls they would *subtract* area
/// and improve the figure of an overloaded server. `None` without points, or when nothing
/// was achieved.
pub fn ort_2008(points: &[(f64, f64)]) -> Option<f64> {
    let used = up_to_peak(points);
    let (peak, _) = *used.last()?;
    let mut area = 0.0;
    let mut last = (0.0, 0.0);
    for point in used {
        area += trapezoid(last, *point);
        last = *point;
    }
    (peak > 0.0).then(|| area / peak)
}

/// ORT by the 2020 formula: trapezoids from the first point, divided by the distance
/// from the first to the peak. `None` for fewer than two rising points.
pub fn ort_2020(points: &[(f64, f64)]) -> Option<f64> {
    let used = up_to_peak(points);
    let (first, last) = (used.first()?, used.last()?);
    let area: f64 = used.windows(2).map(|w| trapezoid(w[0], w[1])).sum();
    let width = last.0 - first.0;
    (width > 0.0).then(|| area / width)
}

fn trapezoid(a: (f64, f64), b: (f64, f64)) -> f64 {
    0.5 * (b.0 - a.0) * (b.1 + a.1)
}

fn up_to_peak(points: &[(f64, f64)]) -> &[(f64, f64)] {
    let mut peak_at = 0;
    for (i, point) in points.iter().enumerate() {
        if point.0 > points[peak_at].0 {
            peak_at = i;
        }
    }
    &points[..points.len().min(peak_at + 1)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_point_at_full_speed_has_none() {
        let curve = [(100.0, 1.0), (200.0, 3.0)];
        let (first, composite) = (OrtMethod::of(false), OrtMethod::of(true));
        assert_eq!(first.ort(&curve[1..], true), Some(1.5));
        assert_eq!(composite.ort(&curve[1..], true), Some(3.0));
        for method in [first, composite] {
            assert_eq!(method.ort(&curve[1..], false), None);
            assert_eq!(method.ort(&[], true), None);
        }
        // More procs at each point: a curve.
        assert_eq!(composite.ort(&curve, false), Some(2.0));
        assert_eq!(first.ort(&curve, false), None);
    }

    type Golden = (&'static str, f64, &'static [(f64, f64)]);

    /// Published factual results, quoted from sources.md 2.5; the last one is the example of
    /// manual M, section 4.4.
    const GOLDEN_2008: &[Golden] = &[
        (
            "NetApp FAS3140, sfs2008-20081215-00112",
            2.75,
            &[
                (4000., 0.9),
                (8003., 1.2),
                (12008., 1.4),
                (16019., 1.7),
                (20021., 2.0),
                (24036., 2.4),
                (28043., 3.1),
                (32044., 4.1),
                (36090., 5.8),
                (40011., 10.0),
            ],
        ),
        (
            "Apple Xserve, sfs2008-20080222-00087",
            1.37,
            &[
                (798., 0.8),
                (1597., 0.8),
                (2403., 0.9),
                (3203., 1.0),
                (4006., 1.0),
                (4810., 1.2),
                (5609., 1.3),
                (6417., 1.9),
                (7219., 2.4),
                (8053., 4.7),
            ],
        ),
        (
            "HDS, sources.md 2.5",
            0.75,
            &[
                (122542., 0.3),
                (245273., 0.3),
                (368143., 0.3),
                (491136., 0.4),
                (613918., 0.4),
                (737914., 0.5),
                (860669., 0.7),
                (984360., 0.8),
                (1107794., 1.0),
                (1222089., 6.0),
            ],
        ),
        (
            "the guide's example, manual M section 4.4",
            3.34,
            &[
                (321., 1.5),
                (640., 1.8),
                (962., 2.1),
                (1283., 2.3),
                (1605., 2.5),
                (1924., 3.1),
                (2241., 4.0),
                (2571., 5.8),
                (2894., 8.9),
                (3011., 11.3),
            ],
        ),
    ];

    #[test]
    fn published_2008_results_are_reproduced() {
        for (name, published, points) in GOLDEN_2008 {
            let ort = ort_2008(points).unwrap();
            assert!((ort - published).abs() < 0.005, "{name}: {ort}");
        }
        // To three digits, as sources.md 1.7 and 2.5 computed them.
        let three = |i: usize| (ort_2008(GOLDEN_2008[i].2).unwrap() * 1e3).round() / 1e3;
        assert_eq!((three(0), three(1)), (2.751, 1.374));
        assert_eq!((three(2), three(3)), (0.751, 3.343));
    }

    #[test]
    fn published_2020_results_are_reproduced() {
        // Sangfor, sources.md 2.5.
        let points = [
            (250., 0.135),
            (500., 0.169),
            (750., 0.197),
            (1000., 0.198),
            (1250., 0.263),
            (1500., 0.303),
            (1750., 0.404),
            (2000., 0.536),
            (2250., 0.866),
            (2500., 2.478),
        ];
        let ort = ort_2020(&points).unwrap();
        assert!((ort - 0.471).abs() < 0.0005, "{ort}");
        // The origin makes a difference: the two formulas must not be confused.
        assert!((ort_2008(&points).unwrap() - ort).abs() > 0.02);
    }

    #[test]
    fn points_beyond_the_peak_do_not_improve_the_ort() {
        let upto = [(100., 1.0), (200., 2.0)];
        let beyond = [(100., 1.0), (200., 2.0), (150., 30.0)];
        assert_eq!(ort_2008(&upto), Some((50. + 150.) / 200.));
        assert_eq!(ort_2008(&beyond), ort_2008(&upto));
        assert_eq!(ort_2020(&beyond), Some(1.5));
    }

    #[test]
    fn no_points_give_no_ort() {
        assert_eq!(ort_2008(&[]), None);
        assert_eq!(ort_2008(&[(0.0, 1.0)]), None);
        assert_eq!(ort_2020(&[]), None);
        assert_eq!(ort_2020(&[(5.0, 1.0)]), None);
        assert_eq!(ort_2008(&[(10.0, 4.0)]), Some(2.0));
    }
}
