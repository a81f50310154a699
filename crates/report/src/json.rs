//! The result in short for other programs (`--json`).

use filermark_model::NOT_A_SPEC_RESULT;
use filermark_model::{Latency, PointStats};
use filermark_results::{PointRecord, RunRecord};
use serde_json::{Value, json};

/// The version of this form; a change that breaks readers raises it.
const FORMAT: u32 = 1;

/// The summary as JSON: the run, the verdict with its reasons, peak, ORT, and
/// per load point the figures and findings. Names end in their units.
pub fn json_summary(record: &RunRecord) -> Value {
    let run = &record.run;
    let verdict = record.verdict();
    let peak = record.peak().and_then(PointRecord::measured);
    json!({
        "format": FORMAT,
        "program": run.program,
        "version": run.version,
        "notice": NOT_A_SPEC_RESULT,
        "suffix": run.suffix,
        "started": run.started,
        "fingerprint": run.fingerprint,
        "benchmark": {"name": run.plan.benchmark.name, "version": run.plan.benchmark.version},
        "verdict": verdict.word(),
        "reasons": verdict.reasons(),
        "peak_ops_per_sec": peak.map(PointStats::achieved_ops_per_sec),
        "ort_ms": record.ort_ms(),
        "findings": record.run_findings().collect::<Vec<_>>(),
        "points": record.points.iter().map(point).collect::<Vec<_>>(),
        "wall_seconds": record.end.as_ref().map(|e| e.wall_seconds),
        "cut": record.cut,
    })
}

fn point(point: &PointRecord) -> Value {
    let mut value = json!({
        "number": point.load.number,
        "requested_ops_per_sec": point.load.requested.0,
        "valid": point.is_valid(),
        "failure": point.failure(),
        "findings": point.findings,
    });
    if let Some(stats) = point.measured() {
        value["achieved_ops_per_sec"] = stats.achieved_ops_per_sec().into();
        value["window_s"] = (stats.window_ns as f64 / 1e9).into();
        value["success_count"] = stats.success_count().into();
        value["physical_count"] = stats.physical_count().into();
        value["error_count"] = stats.error_count().into();
        value["service_ms"] = latency(&stats.service());
        value["response_ms"] = latency(&stats.response());
        value["lateness_ms"] = latency(&stats.lateness);
        value["fileset_bytes"] = stats.fileset_bytes.into();
        let op = |o: &filermark_model::OpStats| {
            json!({
                "op": o.op,
                "success_count": o.success_count,
                "physical_count": o.physical_count,
                "error_count": o.error_count,
                "read_bytes": o.read_bytes,
                "written_bytes": o.written_bytes,
                "service_ms": latency(&o.service),
                "response_ms": latency(&o.response),
            })
        };
        value["ops"] = stats.ops.iter().map(op).collect();
        value["counters"] = json!(stats.counters);
        value["errors"] = json!(stats.errors);
    }
    value
}

fn latency(latency: &Latency) -> Value {
    let at = |percentile| latency.percentile_ns(percentile) as f64 / 1e6;
    json!({
        "mean": latency.mean_ns() / 1e6,
        "std_dev": latency.std_dev_ns() / 1e6,
        "p50": at(50.0),
        "p95": at(95.0),
        "p99": at(99.0),
        "p999": at(99.9),
        "max": latency.max_ns() as f64 / 1e6,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use filermark_results::testing;

    #[test]
    fn the_summary_has_the_figures_that_scripts_ask_for() {
        let value = json_summary(&testing::record());
        assert_eq!(value["verdict"], "PARTLY VALID");
        assert_eq!(value["points"].as_array().unwrap().len(), 12);
        assert!((value["peak_ops_per_sec"].as_f64().unwrap() - 1000.0).abs() < 1.0);
        assert!(value["points"][3]["service_ms"]["p99"].as_f64().unwrap() > 1.0);
        assert_eq!(value["points"][10]["valid"], false);
        assert!(value["points"][11]["failure"].is_string());
        assert!(value["points"][11]["success_count"].is_null());
        let mut empty = testing::record();
        empty.points.clear();
        assert!(json_summary(&empty)["ort_ms"].is_null());
    }
}
