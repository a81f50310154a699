//! Computes the figures of a record: verdict, peak, overall response time, percentiles.

use super::types::{Run, RunFigures, Verification};
use filermark_results::{Curve, fingerprint};

pub(super) fn check(run: &Run<'_>, verification: &mut Verification) -> RunFigures {
    let record = &run.record;
    let curve = Curve::of_record(record);
    let mut faults = Vec::new();
    // The same figures are computed by different code.
    let near = |a: Option<f64>, b: Option<f64>| match (a, b) {
        (Some(a), Some(b)) => (a - b).abs() <= 1e-9 * a.abs().max(1.0),
        (a, b) => a.is_none() && b.is_none(),
    };
    if !near(record.ort_ms(), curve.ort_ms()) {
        faults.push("the overall response time of the record and of its curve differ".to_owned());
    }
    let achieved = |point: &filermark_results::PointRecord| {
        point
            .measured()
            .map(filermark_model::PointStats::achieved_ops_per_sec)
    };
    let peak = record.peak().and_then(achieved);
    if !near(peak, curve.peak().map(|p| p.achieved)) {
        faults.push("the peak of the record and of its curve differ".to_owned());
    }
    let measured = record
        .points
        .iter()
        .filter_map(|p| Some((p, p.measured()?)));
    for (point, _) in measured.filter(|(_, stats)| is_response_short(stats)) {
        faults.push(format!(
            "load point {}: the 99th percentile of the response time is below that of the service time",
            point.load.number
        ));
    }
    let verdict = record.verdict();
    let written = record.end.as_ref().and_then(|end| end.verdict.as_deref());
    if let Some(written) = written.filter(|word| *word != verdict.label()) {
        faults.push(format!(
            "its last line has the verdict {}, but its findings give {}",
            filermark_model::text::one_line(written),
            verdict.label()
        ));
    }
    let figures = RunFigures {
        record: run.name.to_owned(),
        suffix: record.run.suffix.clone(),
        fingerprint: fingerprint(&record.run.plan),
        verdict: verdict.label().to_owned(),
        metric: curve.metric.clone(),
        peak: curve.peak_value(),
        ort_ms: curve.ort_ms(),
    };
    verification.conclude(run.name, sentence(&figures, &curve), faults);
    figures
}

/// Whether response times are shorter than service times, which they include. The response
/// times lack operations intended before RUN and have operations that ended after RUN: the
/// ranks may differ by as many.
fn is_response_short(stats: &filermark_model::PointStats) -> bool {
    let (service, response) = (stats.service(), stats.response());
    let early: f64 = stats.ops.iter().map(|o| o.early_count as f64).sum();
    let count = service.count() as f64;
    let more = (response.count() as f64 - (count - early)).max(0.0);
    let rank = 0.99 * (count - early + more) - more;
    let percentile = (100.0 * rank / count.max(1.0)).clamp(0.0, 99.0);
    service.percentile_ns(percentile) as f64 > response.percentile_ns(99.0) as f64 * 1.001
}

fn sentence(figures: &RunFigures, curve: &Curve) -> String {
    let Some(peak) = figures.peak else {
        return format!(
            "{}: no load point counts, no peak, no overall response time",
            figures.verdict
        );
    };
    let ort = figures.ort_ms.map_or_else(String::new, |ort| {
        format!(", overall response time {ort:.2} ms")
    });
    let p99 = curve.peak().and_then(|p| p.service_ms_p99).unwrap_or(0.0);
    format!(
        "{}: peak {peak:.0} {}{ort}, 99th percentile at the peak {p99:.2} ms",
        figures.verdict, figures.metric
    )
}
