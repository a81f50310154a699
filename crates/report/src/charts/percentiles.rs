//! Percentiles over load, of service and of response times.

use super::ChartWidth;
use super::lines::{ChartSheet, Line, Mark, lines_chart, span};
use filermark_model::{Figure, Latency, PointStats};
use filermark_results::{PointRecord, RunRecord};

/// The percentiles: (class, label, percent); 100: the longest.
pub const PERCENTILES: [(&str, &str, f64); 6] = [
    ("q1", "50 %", 50.0),
    ("q2", "90 %", 90.0),
    ("q3", "95 %", 95.0),
    ("q4", "99 %", 99.0),
    ("q5", "99.9 %", 99.9),
    ("q6", "longest", 100.0),
];

/// One of the two latencies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Reply minus sent.
    Service,
    /// Reply minus intended start.
    Response,
}

impl Measure {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Service => "service",
            Self::Response => "response",
        }
    }

    fn of(self, stats: &PointStats) -> Latency {
        match self {
            Self::Service => stats.service(),
            Self::Response => stats.response(),
        }
    }
}

/// The percentiles of a latency in the order of [`PERCENTILES`], in nanoseconds.
pub fn percentiles(latency: &Latency) -> [Figure; 6] {
    PERCENTILES.map(|(_, _, percent)| match percent {
        p if p < 100.0 => latency.percentile(p),
        _ => latency.max(),
    })
}

/// The measured load points as marks.
pub fn marks(record: &RunRecord) -> Vec<Mark> {
    let mark = |p: &PointRecord| {
        Some(Mark {
            number: p.load.number,
            valid: p.is_valid(),
            achieved: p.measured()?.achieved_ops_per_sec(),
        })
    };
    record.points.iter().filter_map(mark).collect()
}

fn lines(record: &RunRecord, measure: Measure) -> Vec<Line> {
    let measured = record.points.iter().filter_map(PointRecord::measured);
    let all: Vec<[Figure; 6]> = measured.map(|s| percentiles(&measure.of(s))).collect();
    let line = |(i, (class, label, _)): (usize, (&'static str, &str, f64))| Line {
        class,
        label: label.to_owned(),
        values: all.iter().map(|p| Some(p[i].ms())).collect(),
    };
    // The longest first: the order in the chart, from the top.
    PERCENTILES
        .into_iter()
        .enumerate()
        .map(line)
        .rev()
        .collect()
}

/// The percentiles of one latency over the achieved rate. Both charts have one scale,
/// so that they can be compared by eye.
pub fn percentiles_chart(record: &RunRecord, measure: Measure, fit: ChartWidth) -> Option<String> {
    let (service, response) = (
        lines(record, Measure::Service),
        lines(record, Measure::Response),
    );
    let (a, b) = (span(&service)?, span(&response)?);
    let sheet = ChartSheet {
        id: &format!("percentiles-{}-{}", measure.as_str(), fit.as_str()),
        size: (fit.width(), 360.0),
        title: &format!("Percentiles of the {} time over load", measure.as_str()),
        unit: "ms",
        has_legend: true,
        holds: Some((a.0.min(b.0), a.1.max(b.1))),
    };
    let lines = match measure {
        Measure::Service => service,
        Measure::Response => response,
    };
    lines_chart(sheet, &marks(record), &lines)
}

/// Mean and 99 % of both latencies over the achieved rate: the difference is
/// the time that operations waited before they were sent.
pub fn waiting_chart(record: &RunRecord, fit: ChartWidth) -> Option<String> {
    type PercentileChart = fn(&PointStats) -> Figure;
    let all: [(&'static str, &str, PercentileChart); 4] = [
        ("response", "response, mean", |s| s.response().mean()),
        ("service", "service, mean", |s| s.service().mean()),
        ("response p99", "response, 99 %", |s| {
            s.response().percentile(99.0)
        }),
        ("p99", "service, 99 %", |s| s.service().percentile(99.0)),
    ];
    let lines = all.map(|(class, label, of)| {
        let measured = record.points.iter().filter_map(PointRecord::measured);
        Line {
            class,
            label: label.to_owned(),
            values: measured.map(|s| Some(of(s).ms())).collect(),
        }
    });
    let sheet = ChartSheet {
        id: &format!("waiting-{}", fit.as_str()),
        size: (fit.width(), 330.0),
        title: "Service against response time over load",
        unit: "ms",
        has_legend: true,
        holds: None,
    };
    lines_chart(sheet, &marks(record), &lines)
}
