//! A curve for programs: of a summary file or of a submission, with the names of the
//! record's summary ([`crate::json_summary`]), as JSON and as `key: value`.

use crate::keys::flatten;
use filermark_model::NOT_A_SPEC_RESULT;
use filermark_results::{Curve, CurvePoint, Summary};
use serde_json::{Value, json};

/// The notice with figures of other programs.
const NOT_OURS: &str =
    "These are the figures of a file that Filermark did not write; they have not been judged.";

/// The notice if the rows are not in the order of their load.
const UNSORTED: &str = "The rows are not in the order of their load; the overall response time takes them in that order.";

/// A curve as JSON; `verdict` as the source has it.
pub fn curve_json(curve: &Curve, verdict: &str) -> Value {
    let peak = curve.peak();
    let is_classical = curve.is_classical();
    let points = (1..).zip(&curve.points);
    json!({
        "benchmark": {"name": curve.benchmark},
        "protocol": curve.protocol,
        "unit": (!is_classical).then_some(&curve.metric),
        "verdict": verdict,
        "point_count": curve.points.len(),
        "valid_point_count": curve.valid_points().count(),
        "peak_units": peak.filter(|_| !is_classical).map(|p| p.load),
        "peak_ops_per_sec": peak.map(|p| p.achieved),
        "peak_service_ms": peak.map(|p| p.mean_ms),
        "ort_ms": curve.ort_ms().map(two_decimals),
        "ort_method": curve.ort_method.name(),
        "points": points.map(|(number, p)| point(curve, number, p)).collect::<Vec<_>>(),
    })
}

/// An ORT is published to two decimals, and the figures of summary files are not more precise.
fn two_decimals(figure: f64) -> f64 {
    (figure * 100.0).round() / 100.0
}

fn point(curve: &Curve, number: usize, point: &CurvePoint) -> Value {
    let mut value = json!({
        "number": number,
        "units": (!curve.is_classical()).then_some(point.load),
        "requested_ops_per_sec": point.requested,
        "achieved_ops_per_sec": point.achieved,
        "service_ms": {"mean": point.mean_ms, "p99": point.service_ms_p99},
        "response_ms": {"p99": point.response_ms_p99},
        "success_count": point.op_count,
        "error_count": point.error_count,
        "window_s": point.seconds,
        "read_kib_per_sec": point.read_kib_per_sec,
        "written_kib_per_sec": point.write_kib_per_sec,
        "valid": point.is_valid,
        "reason": Some(&point.reason).filter(|reason| !reason.is_empty()),
    });
    if point.response_ms_p99_at_least {
        value["response_ms"]["at_least"] = json!(["p99"]);
    }
    value
}

/// A summary file as JSON.
pub fn summary_file_json(summary: &Summary) -> Value {
    let curve = &summary.curve;
    let mut value = curve_json(curve, summary.verdict_label());
    if !summary.is_ours {
        // Another program's file may mark points that do not count, but not those that count.
        for point in value["points"].as_array_mut().into_iter().flatten() {
            if point["valid"] == true {
                point["valid"] = Value::Null;
            }
        }
        let marked = curve.points.len() - curve.valid_points().count();
        value["valid_point_count"] = Value::Null;
        value["invalid_point_count"] = marked.into();
    }
    value["format"] = 1.into();
    value["kind"] = "sfssum".into();
    value["notice"] = match summary.is_ours {
        false => NOT_OURS.into(),
        true => NOT_A_SPEC_RESULT.into(),
    };
    if !curve.is_sorted() {
        value["remark"] = UNSORTED.into();
    }
    value
}

/// A summary file, one `key: value` per line.
pub fn summary_file_keys(summary: &Summary) -> String {
    flatten(&summary_file_json(summary))
}
