//! The search for the highest load (LOAD=search).

use super::LoadPoint;
use crate::units::{Nanos, OpsPerSec};
use serde::{Deserialize, Serialize};

/// Numbers of the load points of a search begin above this, so that those of the sweep are
/// as in other runs.
pub const SEARCH_NUMBERS: u32 = 10_000;
/// Load points of the sweep after a search.
pub const SWEEP_POINTS: u64 = 10;

/// How the highest load is searched for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SearchPlan {
    /// The load of the first probe.
    pub first: u64,
    /// All loads are multiples of this: one op/s for each proc.
    pub step: u64,
    /// The highest load that is tried.
    pub max: u64,
    /// The result is at most this far below a load that does not hold, in percent.
    pub tolerance_pcnt: f64,
    /// A load holds if this share of its rate is achieved, in percent.
    pub achieved_pcnt_min: f64,
    /// Length of WARMUP of a probe.
    pub probe_warmup: Nanos,
    /// Length of RUN of a probe.
    pub probe_runtime: Nanos,
    /// Whether a sweep up to the load that was found follows (SEARCH_SWEEP).
    pub sweep: bool,
    /// What a load has to keep in addition to the rules (GOAL).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goal: Option<String>,
}

impl SearchPlan {
    /// The load point of a load that is tried; `nth` counts from 1.
    pub fn point(&self, nth: u32, load: u64) -> LoadPoint {
        self.load_point(SEARCH_NUMBERS.saturating_add(nth), load)
    }

    /// The load points of the sweep up to a load: evenly spaced (`entered`), and rounded down to
    /// whole op/s for each proc (`requested`); the highest is the load itself. Without a sweep it is the load alone.
    pub fn sweep_points(&self, load: u64) -> Vec<LoadPoint> {
        let step = self.step.max(1);
        if !self.sweep || load < step {
            return vec![self.load_point(1, load)];
        }
        let count = SWEEP_POINTS.min(load / step);
        (1..=count)
            .map(|nth| {
                let load = load as f64 * nth as f64 / count as f64;
                self.load_point_at(nth as u32, load)
            })
            .collect()
    }

    fn load_point(&self, number: u32, load: u64) -> LoadPoint {
        self.load_point_at(number, load as f64)
    }

    fn load_point_at(&self, number: u32, load: f64) -> LoadPoint {
        let step = self.step.max(1);
        LoadPoint {
            number,
            entered: OpsPerSec(load),
            requested: OpsPerSec((load as u64 / step * step) as f64),
            units: 0.0,
            proc_count: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(step: u64, sweep: bool) -> SearchPlan {
        SearchPlan {
            first: 10 * step,
            step,
            max: 1_000_000,
            tolerance_pcnt: 3.0,
            achieved_pcnt_min: 98.0,
            probe_warmup: Nanos::from_secs(2),
            probe_runtime: Nanos::from_secs(5),
            sweep,
            goal: None,
        }
    }

    #[test]
    fn the_sweep_is_evenly_spaced_and_ends_at_the_load() {
        let tops = |step, load| {
            let points = plan(step, true).sweep_points(load);
            let gap = points[0].entered.0;
            for (nth, point) in (1..).zip(&points) {
                assert_eq!(point.number, nth);
                assert!((point.entered.0 - gap * f64::from(nth)).abs() < 1e-6);
                assert_eq!(point.requested.0 as u64 % step, 0);
            }
            (points.len(), points[points.len() - 1].requested.0)
        };
        assert_eq!(tops(32, 1184), (10, 1184.0));
        assert_eq!(tops(4, 392), (10, 392.0));
        assert_eq!(tops(4, 32), (8, 32.0));
        assert_eq!(tops(4, 4), (1, 4.0));
        assert_eq!(tops(1, 997), (10, 997.0));
    }

    #[test]
    fn without_a_sweep_the_load_is_the_only_point() {
        let points = plan(4, false).sweep_points(392);
        assert_eq!(points, [plan(4, false).load_point(1, 392)]);
    }
}
