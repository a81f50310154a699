//! The lines of the charts, downsampled to the resolution of a chart.

use super::steps::Steps;
use super::types::Parts;
use super::{Series, SeriesKind};
use crate::log::MergedRun;
use filermark_results::Timestamp;

/// Most values of a line.
const LEN_MAX: usize = 1500;
/// Most lines of single meters, or of single interfaces.
const SINGLES_MAX: usize = 8;

/// All lines between two times.
pub(super) fn series(
    parts: &Parts,
    run: &MergedRun,
    (from, to): (Timestamp, Timestamp),
) -> Vec<Series> {
    let axis = Axis::of(parts, from.unix_seconds(), to.unix_seconds());
    let all = |parts: &super::types::PartMap| -> Vec<(String, Steps)> {
        let part = |(label, part): (&String, &super::types::MeterSeries)| {
            (label.clone(), part.all.clone())
        };
        parts.iter().map(part).collect()
    };
    let mut found = Vec::new();
    let groups = [
        (all(&parts.power), SeriesKind::Power, SeriesKind::Meter, "W"),
        (
            parts.traffic.clone().into_iter().collect(),
            SeriesKind::Traffic,
            SeriesKind::Interface,
            "MiB/s",
        ),
    ];
    for (singles, sum_kind, single_kind, unit) in groups {
        if singles.is_empty() {
            continue;
        }
        let steps: Vec<Steps> = singles.iter().map(|(_, steps)| steps.clone()).collect();
        let label = match sum_kind {
            SeriesKind::Power => "power of the server",
            _ => "traffic to and from the server",
        };
        found.push(axis.line(sum_kind, label, unit, &Steps::sum(&steps)));
        if singles.len() > 1 {
            let singles = singles.iter().take(SINGLES_MAX);
            found.extend(singles.map(|(label, s)| axis.line(single_kind, label, unit, s)));
        }
    }
    found.extend(throughput(run));
    for (parts, kind, unit) in [
        (&parts.temperature, SeriesKind::Temperature, "°C"),
        (&parts.humidity, SeriesKind::Humidity, "%"),
    ] {
        let singles = all(parts).into_iter().take(SINGLES_MAX);
        found.extend(singles.map(|(label, steps)| axis.line(kind, &label, unit, &steps)));
    }
    found
}

/// Equal stretches of time.
struct Axis {
    from: f64,
    to: f64,
    count: usize,
}

impl Axis {
    /// As fine as the finest source, and no finer than a chart can show.
    fn of(parts: &Parts, from: f64, to: f64) -> Self {
        let meters = parts.power.values().map(|part| part.all.interval_s());
        let ports = parts.traffic.values().map(Steps::interval_s);
        let finest = meters.chain(ports).filter(|s| *s > 0.0);
        let finest = finest.fold(f64::MAX, f64::min).min(60.0);
        let count = ((to - from) / finest).ceil();
        Self {
            from,
            to,
            count: (count.clamp(1.0, LEN_MAX as f64)) as usize,
        }
    }

    fn line(&self, kind: SeriesKind, label: &str, unit: &str, steps: &Steps) -> Series {
        let width = (self.to - self.from) / self.count as f64;
        let buckets = steps.buckets(self.from, self.to, self.count);
        let moment = |i: usize| self.from + width * (i as f64 + 0.5);
        let values = buckets.into_iter().enumerate();
        Series {
            kind,
            label: label.into(),
            unit: unit.into(),
            values: values
                .map(|(i, value)| (Timestamp::from_unix_seconds(moment(i)), value))
                .collect(),
        }
    }
}

/// What clients read and wrote, load point by load point, with gaps between.
fn throughput(run: &MergedRun) -> Option<Series> {
    let total: usize = run
        .points
        .iter()
        .map(|p| p.throughput_mib_per_s.len())
        .sum();
    let every = total.div_ceil(LEN_MAX).max(1);
    let mut values = Vec::new();
    for point in &run.points {
        let Some((began, step)) = point.measured().map(|m| m.0).zip(point.throughput_step_s) else {
            continue;
        };
        let moment = |i: usize| began.plus_seconds(step * i as f64);
        for (i, few) in point.throughput_mib_per_s.chunks(every).enumerate() {
            let mean = few.iter().sum::<f64>() / few.len() as f64;
            values.push((moment(i * every), Some(mean)));
        }
        values.push((moment(point.throughput_mib_per_s.len()), None));
    }
    (!values.is_empty()).then(|| Series {
        kind: SeriesKind::Throughput,
        label: "read and written by the clients".into(),
        unit: "MiB/s".into(),
        values,
    })
}
