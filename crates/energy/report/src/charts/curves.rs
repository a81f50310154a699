//! Efficiency and power over load, a line for each run.

use super::xy::{Line, Mark, Sheet, xy_chart};
use crate::figures::{efficiency, mean, short, sound};
use crate::labels;
use crate::names::{self, RunNames};
use filermark_energy_data::reduce::{PointEfficiency, WorkloadReduction};
use filermark_report::parts::ChartWidth;

/// Colours of runs; with more runs they repeat.
const CLASSES: [&str; 6] = ["c0", "c2", "c1", "c3", "q5", "q2"];
/// Most runs in one chart; the tables have all.
const RUNS_MAX: usize = 24;

/// What is shown over load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Curve {
    /// MiB/s per W.
    Efficiency,
    /// Operations per second per W.
    Operations,
    /// Power in W.
    Power,
}

impl Curve {
    fn value(self, point: &PointEfficiency) -> Option<f64> {
        match self {
            Self::Efficiency => sound(point.mib_per_s_per_w),
            Self::Operations => sound(point.ops_per_s_per_w),
            Self::Power => mean(point.power_w),
        }
    }

    const fn id(self) -> &'static str {
        match self {
            Self::Efficiency => "efficiency",
            Self::Operations => "ops-per-w",
            Self::Power => "power",
        }
    }

    const fn unit(self) -> &'static str {
        match self {
            Self::Efficiency => "MiB/s per W",
            Self::Operations => "op/s per W",
            Self::Power => "W",
        }
    }

    const fn title(self) -> &'static str {
        match self {
            Self::Efficiency => "Efficiency over load, MiB/s per W",
            Self::Operations => "Efficiency over load, operations per second per W",
            Self::Power => "Power over load",
        }
    }

    fn text(self, value: f64) -> String {
        match self {
            Self::Efficiency => efficiency(Some(value)),
            Self::Operations | Self::Power => short(Some(value)),
        }
    }
}

/// A line for each run over percent of its greatest load; `None` where no load point has
/// the figure.
pub fn curves_chart(runs: &[WorkloadReduction], curve: Curve, fit: ChartWidth) -> Option<String> {
    let called = names::of_runs(runs);
    let all = runs.iter().zip(&called);
    let with_figures = all.filter(|(run, called)| !marks(run, called, curve).is_empty());
    let lines: Vec<Line> = with_figures
        .take(RUNS_MAX)
        .enumerate()
        .map(|(i, (run, called))| Line {
            class: CLASSES[i % CLASSES.len()],
            label: label(run, called),
            marks: marks(run, called, curve),
        })
        .collect();
    let sheet = Sheet {
        id: curve.id(),
        fit,
        title: curve.title(),
        x_title: "load, % of the greatest",
        y_title: curve.unit(),
        guides: &[],
        whole_x: false,
        from_0: curve != Curve::Power,
        has_legend: true,
    };
    xy_chart(&sheet, &lines)
}

/// The label of the run, with the mark of made-up figures.
fn label(run: &WorkloadReduction, called: &RunNames) -> String {
    match run.simulated {
        true => format!("{} ({})", called.title, labels::SIMULATED),
        false => called.title.clone(),
    }
}

fn marks(run: &WorkloadReduction, called: &RunNames, curve: Curve) -> Vec<Mark> {
    let loads = load_percents(run);
    let mark = |(point, load): (&PointEfficiency, Option<f64>)| {
        let value = curve.value(point)?;
        let valid = point.valid != Some(false);
        Some(Mark {
            x: load?,
            y: value,
            valid,
            title: format!(
                "{} load point {}{}, {}: {} {}",
                called.title,
                point.number,
                if valid { "" } else { ", does not count" },
                labels::load(run, point.load),
                curve.text(value),
                curve.unit()
            ),
        })
    };
    run.points.iter().zip(loads).filter_map(mark).collect()
}

/// The loads as percent of the greatest; by the load points' numbers where any load is
/// not known.
fn load_percents(run: &WorkloadReduction) -> Vec<Option<f64>> {
    let loads: Option<Vec<f64>> = run.points.iter().map(|p| sound(p.load)).collect();
    let loads = loads.filter(|l| l.iter().all(|l| *l >= 0.0) && l.iter().any(|l| *l > 0.0));
    let loads = loads.unwrap_or_else(|| run.points.iter().map(|p| f64::from(p.number)).collect());
    let greatest = loads.iter().copied().fold(0.0, f64::max);
    let percent = |load: f64| (greatest > 0.0).then(|| 100.0 * load / greatest);
    loads.into_iter().map(percent).collect()
}
