//! Error rates by simulation: repeats of one server and of a changed one, reduced to their figures,
//! through the functions that the program calls. The rates are in `docs/src/howto/compare.md`.

use super::conclusion::{Conclusion, Subject};
use super::interval_variance::{Figure, Figures};
use super::point_validity::{PointNote, PointValidity};
use super::points::{Cell, Pair};
use super::repeats::used;
use super::sensitivity::{REPEATS_STATED, RepeatPlan};
use super::verdict::Overall;
use super::{SPREAD_PCNT, THRESHOLD_PCNT};
use filermark_model::Rng;
use filermark_model::benchmark::Protocol;
use std::collections::BTreeMap;

/// Comparisons of each kind.
const COMPARISONS: usize = 1_000;
/// Those of cases that have no limit of one in a hundred.
const FEWER: usize = 300;
/// Load points of a run.
const POINTS: u32 = 4;
/// Standard deviation of a latency between the load points of a run, and within a run.
const BETWEEN_POINTS: f64 = 0.01;
/// Blocks of a run, minus one.
const DF: f64 = 11.0;

/// A simulated run: at each load point the logarithms of rate and latency.
#[derive(Clone, Copy, Debug)]
struct Run {
    rate: [f64; POINTS as usize],
    latency: [f64; POINTS as usize],
}

/// What is simulated.
#[derive(Clone, Copy, Debug)]
struct Case {
    repeats: usize,
    deviation_pcnt: f64,
    /// The deviation that the comparison assumes.
    spread_pcnt: f64,
    /// The change of the server after: its latencies grow, its rate falls.
    change_pcnt: f64,
    threshold_pcnt: f64,
    comparisons: usize,
    /// Whether a repeat of each comparison runs at half the rate.
    is_disturbed: bool,
    seed: u64,
}

impl Case {
    const fn new(repeats: usize, change_pcnt: f64) -> Self {
        Self {
            repeats,
            deviation_pcnt: SPREAD_PCNT,
            spread_pcnt: SPREAD_PCNT,
            change_pcnt,
            threshold_pcnt: THRESHOLD_PCNT,
            comparisons: COMPARISONS,
            is_disturbed: false,
            seed: 18,
        }
    }

    fn run(&self, is_after: bool, rng: &mut Rng) -> Run {
        let change = if is_after {
            (self.change_pcnt / 100.0).ln_1p()
        } else {
            0.0
        };
        let own = change + (self.deviation_pcnt / 100.0) * normal(rng);
        let mut run = Run {
            rate: [0.0; POINTS as usize],
            latency: [0.0; POINTS as usize],
        };
        for at in 0..POINTS as usize {
            run.latency[at] = own + BETWEEN_POINTS * normal(rng);
        }
        // Pacing holds the rate; at the last load point the server is at its limit.
        run.rate[POINTS as usize - 1] = -own;
        run
    }

    /// The verdicts of all comparisons, counted.
    fn verdicts(&self) -> BTreeMap<&'static str, usize> {
        let mut rng = Rng::new(self.seed, 0x7369_6d75);
        let mut counts = BTreeMap::new();
        for number in 0..self.comparisons {
            let mut side = |is_after| -> Vec<Run> {
                (0..self.repeats)
                    .map(|_| self.run(is_after, &mut rng))
                    .collect()
            };
            let (mut before, mut after) = (side(false), side(true));
            if self.is_disturbed {
                let disturbed = if number % 2 == 0 {
                    &mut before[0]
                } else {
                    &mut after[0]
                };
                for at in 0..POINTS as usize {
                    disturbed.rate[at] -= std::f64::consts::LN_2;
                    disturbed.latency[at] += std::f64::consts::LN_2;
                }
            }
            *counts
                .entry(self.verdict(&before, &after).text())
                .or_default() += 1;
        }
        counts
    }

    fn verdict(&self, before: &[Run], after: &[Run]) -> Overall {
        let before: Vec<&Run> = before.iter().collect();
        let after: Vec<&Run> = after.iter().collect();
        let spread = (self.spread_pcnt / 100.0).ln_1p();
        let used = used(&before, &after, spread, false, pairs);
        let subject = Subject {
            protocol: Protocol::Nfs3,
            is_composite: false,
            spread,
            threshold_pcnt: self.threshold_pcnt,
            repeats: (used.before.len(), used.after.len()),
        };
        Conclusion::of(&used.pairs, &subject).verdict
    }

    /// The share of comparisons with this verdict, in percent.
    fn share(&self, wanted: Overall) -> f64 {
        let counts = self.verdicts();
        eprintln!("{self:?}: {counts:?}");
        let count = counts.get(wanted.text()).copied().unwrap_or(0);
        100.0 * count as f64 / self.comparisons as f64
    }
}

fn pairs(before: &[&Run], after: &[&Run]) -> Vec<Pair<'static>> {
    let cells = |runs: &[&Run], at: usize| -> Vec<Cell<'static>> {
        let each = runs.iter();
        each.map(|run| Cell {
            point: None,
            figures: figures(run, at),
        })
        .collect()
    };
    let of = |number: u32| {
        let at = number as usize - 1;
        Pair {
            number,
            load: format!("{} op/s", load(at)),
            requested: Some(load(at)),
            before: cells(before, at),
            after: cells(after, at),
            standing: (PointValidity::Valid, PointValidity::Valid),
            marks: (PointNote::default(), PointNote::default()),
            in_invalid_run: false,
        }
    };
    (1..=POINTS).map(of).collect()
}

fn load(at: usize) -> f64 {
    1_000.0 * (at + 1) as f64
}

fn figures(run: &Run, at: usize) -> Figures {
    let figure = |value: f64, deviation: f64| {
        Some(Figure {
            value,
            variance: deviation * deviation,
            df: DF,
        })
    };
    let latency = 1e6 * run.latency[at].exp();
    Figures {
        achieved: figure(load(at) * run.rate[at].exp(), 0.002),
        service_mean: figure(latency, BETWEEN_POINTS),
        service_p99: figure(3.0 * latency, 2.0 * BETWEEN_POINTS),
        response_mean: figure(1.1 * latency, BETWEEN_POINTS),
        ..Figures::default()
    }
}

/// A standard normal variate (Box and Muller).
fn normal(rng: &mut Rng) -> f64 {
    let (a, b) = (1.0 - rng.unit(), rng.unit());
    (-2.0 * a.ln()).sqrt() * (std::f64::consts::TAU * b).cos()
}

#[test]
fn at_the_stated_repeats_false_alarms_are_rare_and_ten_percent_are_detected() {
    let same = Case::new(REPEATS_STATED, 0.0).share(Overall::NoDifferenceShown);
    assert!(same >= 99.0, "{same} % without a difference");
    let seen = Case::new(REPEATS_STATED, 10.0).share(Overall::Slower);
    assert!(seen >= 90.0, "{seen} % detected");
}

#[test]
fn one_disturbed_repeat_hides_nothing_and_invents_nothing() {
    let disturbed = |change| Case {
        is_disturbed: true,
        ..Case::new(REPEATS_STATED, change)
    };
    let same = disturbed(0.0).share(Overall::NoDifferenceShown);
    assert!(same >= 99.0, "{same} % without a difference");
    let seen = disturbed(10.0).share(Overall::Slower);
    assert!(seen >= 90.0, "{seen} % detected");
}

#[test]
fn the_planned_repeats_detect_the_planned_change() {
    for (change, deviation) in [(5.0, 2.0), (10.0, 4.0)] {
        let plan = RepeatPlan::new(change, deviation, THRESHOLD_PCNT).expect("a plan");
        let case = |change_pcnt| Case {
            deviation_pcnt: deviation,
            spread_pcnt: deviation,
            threshold_pcnt: plan.threshold_pcnt,
            ..Case::new(plan.repeats, change_pcnt)
        };
        let seen = case(change).share(Overall::Slower);
        assert!(seen >= 90.0, "{plan:?}: {seen} % detected");
        let same = case(0.0).share(Overall::NoDifferenceShown);
        assert!(same >= 99.0, "{plan:?}: {same} % without a difference");
    }
}

/// A server whose runs differ by twice the assumption: repeats show that.
#[test]
fn a_deviation_above_the_assumption_causes_few_false_alarms() {
    let case = Case {
        deviation_pcnt: 2.0 * SPREAD_PCNT,
        comparisons: FEWER,
        ..Case::new(REPEATS_STATED, 0.0)
    };
    let same = case.share(Overall::NoDifferenceShown);
    assert!(same >= 88.0, "{same} % without a difference");
}

#[test]
fn fewer_repeats_cause_few_false_alarms_as_well() {
    for repeats in [1, 2] {
        let case = Case {
            comparisons: FEWER,
            ..Case::new(repeats, 0.0)
        };
        let same = case.share(Overall::NoDifferenceShown);
        assert!(
            same >= 98.0,
            "{repeats} repeats: {same} % without a difference"
        );
    }
}
