//! The search for the highest load (LOAD=search).

use super::LoadPoint;
use crate::units::{Nanos, OpsPerSec, counted};
use serde::{Deserialize, Serialize};

/// Numbers of the load points of a search begin above this, so that those of the sweep are
/// as in other runs.
pub const SEARCH_NUMBERS: u32 = 10_000;
/// Load points of the sweep after a search.
pub const SWEEP_POINTS: u64 = 10;

/// What the loads of a search are.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SearchLoad {
    /// op/s, the same for each proc.
    #[default]
    Ops,
    /// Composites: units of the business metric; more units are more procs.
    Units {
        /// The unit's name (BUILD, STREAM).
        name: String,
        /// The rate of a unit, in op/s; 0: none is requested.
        ops_per_unit: f64,
        /// Procs of a unit.
        procs_per_unit: u32,
    },
    /// netmist: op/s in all; the rates of the procs keep their ratios.
    Rates {
        /// The sum of the rates that the plan's procs have, in op/s.
        ops_per_sec: f64,
    },
}

impl SearchLoad {
    fn is_ops(&self) -> bool {
        *self == Self::Ops
    }
}

/// How the highest load is searched for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SearchPlan {
    /// What the loads are.
    #[serde(default, skip_serializing_if = "SearchLoad::is_ops")]
    pub load: SearchLoad,
    /// The load of the first probe.
    pub first: u64,
    /// All loads are multiples of this: one op/s for each proc, or one unit.
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

/// How long a search and its sweep take, without INIT and CLEANUP, with a server whose speed
/// does not vary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct SearchTime {
    /// The least WARMUP and RUN of all load points together.
    #[serde(rename = "least_ns")]
    pub least: Nanos,
    /// The most of them.
    #[serde(rename = "most_ns")]
    pub most: Nanos,
    /// The fewest load points.
    pub points_least: u64,
    /// The most load points.
    pub points_most: u64,
    /// The most load points of the search alone, also with a server whose speed varies.
    pub tries_max: u64,
}

impl SearchPlan {
    /// The load point of a load that is tried; `nth` counts from 1.
    pub fn point(&self, nth: u32, load: u64) -> LoadPoint {
        self.load_point(SEARCH_NUMBERS.saturating_add(nth), load)
    }

    /// The load of a load point, in the unit of the search.
    pub fn load_of(&self, point: LoadPoint) -> u64 {
        match self.load {
            SearchLoad::Units { .. } => point.units as u64,
            SearchLoad::Ops | SearchLoad::Rates { .. } => point.entered.0 as u64,
        }
    }

    /// A rate in the unit of the search; 0: the load has no rate.
    pub fn load_of_rate(&self, ops_per_sec: f64) -> f64 {
        match self.load {
            SearchLoad::Units { ops_per_unit, .. } if ops_per_unit > 0.0 => {
                ops_per_sec / ops_per_unit
            }
            SearchLoad::Units { .. } => 0.0,
            SearchLoad::Ops | SearchLoad::Rates { .. } => ops_per_sec,
        }
    }

    /// The plural of the unit of its loads: `op/s`, `BUILDs`.
    pub fn unit(&self) -> String {
        match &self.load {
            SearchLoad::Units { name, .. } => format!("{name}s"),
            SearchLoad::Ops | SearchLoad::Rates { .. } => "op/s".to_owned(),
        }
    }

    /// A load in words: `400 op/s`, `1 BUILD`.
    pub fn shown(&self, load: u64) -> String {
        match &self.load {
            SearchLoad::Units { name, .. } => counted(load, name),
            SearchLoad::Ops | SearchLoad::Rates { .. } => format!("{load} op/s"),
        }
    }

    /// The share of its own rate that a proc has at a load point: 1, except in netmist's
    /// searches.
    pub fn rate_scale(&self, point: LoadPoint) -> f64 {
        match self.load {
            SearchLoad::Rates { ops_per_sec } if ops_per_sec > 0.0 => {
                point.requested.0 / ops_per_sec
            }
            _ => 1.0,
        }
    }

    /// Procs of the smallest load; `None`: all of them.
    pub fn proc_count_min(&self) -> Option<u32> {
        match self.load {
            SearchLoad::Units { procs_per_unit, .. } => Some(procs_per_unit),
            SearchLoad::Ops | SearchLoad::Rates { .. } => None,
        }
    }

    /// The load points of the sweep up to a load: evenly spaced (`entered`), and rounded down to
    /// whole op/s for each proc (`requested`), or to whole units; the highest is the load
    /// itself. Without a sweep it is the load alone.
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
        if let SearchLoad::Units {
            ops_per_unit,
            procs_per_unit,
            ..
        } = self.load
        {
            let units = load as u64;
            let requested = OpsPerSec(units as f64 * ops_per_unit);
            let procs = units.saturating_mul(u64::from(procs_per_unit));
            return LoadPoint {
                number,
                entered: requested,
                requested,
                units: units as f64,
                proc_count: u32::try_from(procs).unwrap_or(u32::MAX),
            };
        }
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
            load: SearchLoad::Ops,
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
    fn loads_in_units_are_whole_units_with_their_procs() {
        let plan = SearchPlan {
            load: SearchLoad::Units {
                name: "BUILD".into(),
                ops_per_unit: 500.0,
                procs_per_unit: 5,
            },
            ..plan(1, true)
        };
        let units = |load| {
            let points = plan.sweep_points(load);
            let units = points.iter().map(|p| p.units as u64);
            units.collect::<Vec<_>>()
        };
        assert_eq!(units(3), [1, 2, 3]);
        assert_eq!(units(19), [1, 3, 5, 7, 9, 11, 13, 15, 17, 19]);
        let point = plan.point(1, 7);
        assert_eq!((point.proc_count, point.requested.0), (35, 3_500.0));
        assert_eq!((plan.load_of(point), plan.load_of_rate(3_500.0)), (7, 7.0));
        assert_eq!(plan.shown(1), "1 BUILD");
        assert_eq!(
            (plan.shown(7), plan.unit()),
            ("7 BUILDs".into(), "BUILDs".into())
        );
    }

    #[test]
    fn netmists_rates_are_scaled() {
        let plan = SearchPlan {
            load: SearchLoad::Rates { ops_per_sec: 40.0 },
            ..plan(4, true)
        };
        assert_eq!(plan.rate_scale(plan.point(1, 100)), 2.5);
    }

    #[test]
    fn without_a_sweep_the_load_is_the_only_point() {
        let points = plan(4, false).sweep_points(392);
        assert_eq!(points, [plan(4, false).load_point(1, 392)]);
    }
}
