//! The result as lines of `key: value`: for `grep`, `awk` and the like.
//!
//! Keys and figures are those of the JSON summary, without the tables of operations,
//! components and counters; a list's entries are counted from 1. A key keeps its meaning as long as `format` stays the same.

use crate::json::json_summary;
use filermark_model::text::one_line;
use filermark_results::RunRecord;
use serde_json::Value;

/// Members of the JSON summary that are left out of this short form.
const LEFT_OUT: [&str; 5] = ["ops", "counters", "errors", "components", "latency_bands"];

/// A run's summary, one `key: value` per line; unknown values are left out.
pub fn key_values(record: &RunRecord) -> String {
    let summary = json_summary(record);
    let mut out = String::new();
    // The most used keys come first.
    let valid = record.valid_points().count();
    for (key, value) in [
        ("kind", Value::from("run")),
        ("point_count", record.points.len().into()),
        ("valid_point_count", valid.into()),
        ("peak_point", record.peak().map(|p| p.load.number).into()),
    ] {
        line(&mut out, key, &value);
    }
    line(&mut out, "", &summary);
    out
}

/// A JSON object, one `key: value` per line.
pub(crate) fn flatten(value: &Value) -> String {
    let mut out = String::new();
    line(&mut out, "", value);
    out
}

fn line(out: &mut String, key: &str, value: &Value) {
    let deeper = |name: &str| match key {
        "" => name.to_owned(),
        key => format!("{key}.{name}"),
    };
    match value {
        Value::Null => {}
        Value::Object(members) => {
            let short = members
                .iter()
                .filter(|(name, _)| !LEFT_OUT.contains(&name.as_str()));
            for (name, member) in short {
                line(out, &deeper(&one_line(name)), member);
            }
        }
        Value::Array(entries) => {
            for (number, entry) in (1..).zip(entries) {
                let number: usize = number;
                line(out, &deeper(&number.to_string()), entry);
            }
        }
        Value::String(text) => {
            out.push_str(&format!("{key}: {}\n", one_line(text)));
        }
        plain => out.push_str(&format!("{key}: {plain}\n")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use filermark_results::testing;

    #[test]
    fn what_scripts_ask_for_has_its_key() {
        let text = key_values(&testing::record());
        for line in [
            "kind: run",
            "format: 1",
            "point_count: 12",
            "valid_point_count: 10",
            "peak_point: 10",
            "suffix: mine",
            "benchmark.name: general-nfs3",
            "verdict: INVALID",
            "points.1.valid: true",
            "points.11.valid: false",
        ] {
            assert!(text.lines().any(|l| l == line), "{line}\n{text}");
        }
        for key in [
            "peak_ops_per_sec: ",
            "ort_ms: ",
            "points.10.service_ms.mean: ",
        ] {
            let of = |l: &str| l.strip_prefix(key).and_then(|v| v.parse::<f64>().ok());
            assert!(text.lines().filter_map(of).count() == 1, "{key}\n{text}");
        }
        assert!(text.lines().all(|l| l.contains(": ")), "{text}");
    }
}
