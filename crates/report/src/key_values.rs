//! Results as key and value, a pair a line: for scripts that have no JSON.
//!
//! `key=value`, keys of small letters, digits and `_`, values to the end of the line.
//! Keys are never renamed; new ones may come.

use filermark_results::Curve;
use filermark_results::figures::plain;
use filermark_results::text::one_line;

/// Pairs that are being gathered.
#[derive(Clone, Debug, Default)]
pub struct KeyValues(String);

impl KeyValues {
    /// Adds a pair; one without a value is left out.
    pub fn push(&mut self, key: &str, value: &str) {
        if !value.is_empty() {
            self.0.push_str(&format!("{key}={}\n", one_line(value)));
        }
    }

    /// All of them.
    pub fn into_text(self) -> String {
        self.0
    }
}

/// Adds the pairs of one result: `benchmark`, `metric`, `protocol`, `verdict`, `points`,
/// `valid_points`, `peak`, `peak_ops_per_sec`, `peak_response_ms`, `ort_ms`, `ort_method`,
/// and for each load point `point1_load`, `..._ops_per_sec`, `..._response_ms`,
/// `..._valid`; all behind `prefix`.
pub fn curve_key_values(out: &mut KeyValues, prefix: &str, curve: &Curve, verdict: &str) {
    let mut push = |key: &str, value: &str| out.push(&format!("{prefix}{key}"), value);
    push("benchmark", &curve.benchmark);
    push("metric", &curve.metric);
    push("protocol", &curve.protocol);
    push("verdict", verdict);
    push("points", &curve.points.len().to_string());
    push("valid_points", &curve.valid_points().count().to_string());
    if let (Some(peak), Some(value)) = (curve.peak(), curve.peak_value()) {
        push("peak", &plain(value));
        push("peak_ops_per_sec", &format!("{:.3}", peak.achieved));
        push("peak_response_ms", &format!("{:.3}", peak.mean_ms));
    }
    if let Some(ort) = curve.ort_ms() {
        push("ort_ms", &format!("{ort:.2}"));
    }
    push("ort_method", curve.ort_method.name());
    for (number, point) in (1..).zip(&curve.points) {
        let mut point_push = |key: &str, value: &str| push(&format!("point{number}_{key}"), value);
        point_push("load", &plain(point.load));
        point_push("ops_per_sec", &format!("{:.3}", point.achieved));
        point_push("response_ms", &format!("{:.3}", point.mean_ms));
        point_push("valid", if point.is_valid { "yes" } else { "no" });
        point_push("reason", &point.reason);
    }
}

/// A curve alone, of a summary file: all pairs, and the notice.
pub fn curve_summary(curve: &Curve, verdict: &str) -> String {
    let mut out = KeyValues::default();
    curve_key_values(&mut out, "", curve, verdict);
    out.push("notice", filermark_model::NOT_A_SPEC_RESULT);
    out.into_text()
}
