//! The load points as comma-separated values (RFC 4180), for spreadsheets.

use crate::record::{PointRecord, RunRecord};
use crate::sfssum::reasons;
use std::fmt::Write as _;

const HEAD: &str = "point,requested_ops_per_s,achieved_ops_per_s,verdict,ops,physical_ops,errors,window_s,service_ms_mean,service_ms_p50,service_ms_p95,service_ms_p99,service_ms_p999,service_ms_max,response_ms_mean,response_ms_p99,read_mib_per_s,written_mib_per_s,fileset_kib,reasons";
/// Figures between the verdict and the reasons.
const FIGURE_COUNT: usize = 15;

/// The whole file.
pub fn csv(record: &RunRecord) -> String {
    let mut out = format!("{HEAD}\r\n");
    for point in &record.points {
        let _ = write!(out, "{},{},", point.load.number, point.load.requested.0);
        figures(&mut out, point);
        let reasons = match point.failure() {
            Some(reason) => reason.to_owned(),
            None => reasons(point),
        };
        let _ = write!(out, ",{}\r\n", field(&reasons));
    }
    out
}

fn figures(out: &mut String, point: &PointRecord) {
    let Some(stats) = point.measured() else {
        let _ = write!(out, ",failed{}", ",".repeat(FIGURE_COUNT));
        return;
    };
    let (service, response) = (stats.service(), stats.response());
    let seconds = (stats.window_ns as f64 / 1e9).max(1e-9);
    let ms = |percentile| service.percentile_ns(percentile) as f64 / 1e6;
    let mib = |bytes: u64| bytes as f64 / f64::from(1u32 << 20) / seconds;
    let verdict = if point.is_valid() { "valid" } else { "invalid" };
    let _ = write!(
        out,
        "{:.3},{verdict},{},{},{},{seconds:.3},{:.4},{:.4},{:.4},{:.4},{:.4},{:.4},{:.4},{:.4},{:.3},{:.3},{}",
        stats.achieved_ops_per_sec(),
        stats.success_count(),
        stats.physical_count(),
        stats.error_count(),
        service.mean_ns() / 1e6,
        ms(50.0),
        ms(95.0),
        ms(99.0),
        ms(99.9),
        service.max_ns() as f64 / 1e6,
        response.mean_ns() / 1e6,
        response.percentile_ns(99.0) as f64 / 1e6,
        mib(stats.ops.iter().map(|o| o.read_bytes).sum()),
        mib(stats.ops.iter().map(|o| o.written_bytes).sum()),
        stats.fileset_bytes / 1024,
    );
}

/// A text as one field.
fn field(text: &str) -> String {
    if text.contains(['"', ',', '\r', '\n']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn fields_are_quoted_where_they_must_be() {
        assert_eq!(field("a b"), "a b");
        assert_eq!(field("a,\"b\""), "\"a,\"\"b\"\"\"");
    }

    #[test]
    fn every_line_has_every_column() {
        let columns = HEAD.split(',').count();
        for line in csv(&testing::record()).lines() {
            // Commas within quotes are no borders.
            let outside: String = line.split('"').step_by(2).collect();
            assert_eq!(outside.split(',').count(), columns, "{line}");
        }
    }
}
