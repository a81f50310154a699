//! The load points as CSV: one row each, fixed columns, described in
//! docs/src/reference/energy-formats.md.

use super::figures::{efficiency, mean, sound};
use super::rows::mib_per_s;
use filermark_energy_data::reduce::Reduction;
use filermark_energy_data::reduce::{PointEfficiency, Stats, TrafficFrom, WorkloadReduction};
use filermark_model::NOT_A_SPEC_RESULT;
use filermark_results::Timestamp;
use filermark_results::text::one_line;

/// The columns, in their order; units last. Readers use the names: columns may be added at
/// the end.
pub const CSV_COLUMNS: [&str; 50] = [
    "run",
    "benchmark",
    "point",
    "load",
    "load_unit",
    "mib_per_s",
    "power_w_mean",
    "mib_per_s_per_w",
    "mib_per_s_per_w_uncut",
    "ops_per_s_per_w",
    "joules_per_op",
    "achieved_ops_per_s",
    "latency_ms_mean",
    "traffic_from",
    "traffic_mib_per_s_mean",
    "traffic_mib_per_s_min",
    "traffic_mib_per_s_max",
    "traffic_coverage",
    "client_mib_per_s",
    "power_w_min",
    "power_w_p5",
    "power_w_p50",
    "power_w_p95",
    "power_w_max",
    "power_w_deviation",
    "power_drift",
    "power_coverage",
    "power_samples",
    "power_interval_s",
    "client_power_w_mean",
    "temperature_c_mean",
    "humidity_pcnt_mean",
    "valid",
    "best",
    "began",
    "ended",
    "drives",
    "findings",
    "simulated",
    "notice",
    "energy",
    "product_vendor",
    "product_name",
    "product_model",
    "product_serial",
    "product_firmware",
    "product_configuration",
    "place",
    "measured_by",
    "instruments",
];

/// The table, with its header.
pub fn csv(reduction: &Reduction) -> String {
    let mut out = CSV_COLUMNS.join(",");
    out.push('\n');
    for run in &reduction.workloads {
        for (place, point) in run.points.iter().enumerate() {
            let cells = cells(run, point, run.best == Some(place));
            let quoted: Vec<String> = cells.iter().map(|c| quoted(c)).collect();
            out.push_str(&quoted.join(","));
            out.push('\n');
        }
    }
    out
}

/// The cells of a load point, in the order of [`CSV_COLUMNS`].
fn cells(run: &WorkloadReduction, point: &PointEfficiency, is_best: bool) -> [String; 50] {
    let power = |of: fn(Stats) -> f64| number(point.power_w.map(of));
    let traffic = |of: fn(Stats) -> f64| number(point.traffic_mib_per_s.map(of));
    let optional = |text: &Option<String>| text.as_deref().map_or(String::new(), outside);
    let lab = &run.lab;
    [
        outside(&run.name),
        outside(&run.benchmark),
        point.number.to_string(),
        number(point.load),
        outside(&run.load_unit),
        number(mib_per_s(run, point)),
        power(|s| s.mean),
        sound(point.mib_per_s_per_w).map_or(String::new(), |v| efficiency(Some(v))),
        number(point.mib_per_s_per_w),
        number(point.ops_per_s_per_w),
        number(point.joules_per_op),
        number(point.achieved_ops_per_s),
        number(point.latency_ms_mean),
        traffic_source_name(run.traffic_from).to_owned(),
        traffic(|s| s.mean),
        traffic(|s| s.min),
        traffic(|s| s.max),
        traffic(|s| s.coverage),
        number(point.client_mib_per_s),
        power(|s| s.min),
        power(|s| s.p5),
        power(|s| s.p50),
        power(|s| s.p95),
        power(|s| s.max),
        power(|s| s.deviation),
        power(|s| s.drift),
        power(|s| s.coverage),
        point
            .power_w
            .map_or(String::new(), |s| s.samples.to_string()),
        power(|s| s.interval_s),
        number(mean(point.client_power_w)),
        number(mean(point.temperature_c)),
        number(mean(point.humidity_pcnt)),
        point.valid.map_or(String::new(), |v| v.to_string()),
        is_best.to_string(),
        time(point.began),
        time(point.ended),
        run.drives.map_or(String::new(), |d| d.to_string()),
        findings(point),
        run.simulated.to_string(),
        NOT_A_SPEC_RESULT.to_owned(),
        super::labels::energy_verdict(run, point).to_owned(),
        optional(&lab.product.vendor),
        optional(&lab.product.name),
        optional(&lab.product.model),
        optional(&lab.product.serial),
        optional(&lab.product.firmware),
        optional(&lab.product.configuration),
        optional(&lab.place),
        optional(&lab.measured_by),
        outside(&instruments(run)),
    ]
}

/// A text from outside, on one line. What a spreadsheet would take for a formula gets an
/// apostrophe in front. Figures do not pass through here.
fn outside(text: &str) -> String {
    let line = one_line(text);
    let would_run = |text: &str| text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    match would_run(text) || would_run(&line) {
        true => format!("'{line}"),
        false => line,
    }
}

/// Every source with a field of its instrument: `wt310: make Yokogawa, model WT310E`.
fn instruments(run: &WorkloadReduction) -> String {
    let one = |source: &filermark_energy_data::reduce::SourceView| {
        let fields = source.instrument.fields().into_iter();
        let fields = fields.filter_map(|(name, value)| Some(format!("{name} {}", value.as_ref()?)));
        let fields: Vec<String> = fields.collect();
        (!fields.is_empty()).then(|| format!("{}: {}", source.name, fields.join(", ")))
    };
    let all: Vec<String> = run.sources.iter().filter_map(one).collect();
    all.join("; ")
}

/// All digits of a figure; empty without one.
fn number(value: Option<f64>) -> String {
    sound(value).map_or(String::new(), |v| v.to_string())
}

fn time(at: Option<Timestamp>) -> String {
    at.map_or(String::new(), |at| at.to_string())
}

/// The rules of the point's findings, each once.
fn findings(point: &PointEfficiency) -> String {
    let mut rules: Vec<&str> = point
        .findings
        .iter()
        .map(|f| super::labels::rule(f.rule))
        .collect();
    rules.sort_unstable();
    rules.dedup();
    rules.join(" ")
}

/// The source of MiB/s, with its name in the JSON.
pub const fn traffic_source_name(from: TrafficFrom) -> &'static str {
    match from {
        TrafficFrom::Sflow => "sflow",
        TrafficFrom::Clients => "clients",
        TrafficFrom::Nowhere => "nowhere",
    }
}

/// A cell quoted as in RFC 4180.
fn quoted(cell: &str) -> String {
    match cell.contains(['"', ',', '\n', '\r']) {
        true => format!("\"{}\"", cell.replace('"', "\"\"")),
        false => cell.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_characters_are_quoted() {
        assert_eq!(quoted("a,\"b\""), "\"a,\"\"b\"\"\"");
        assert_eq!(quoted("plain"), "plain");
        for formula in ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1"] {
            assert!(outside(formula).starts_with('\''), "{formula}");
        }
        assert_eq!(outside("=HYPERLINK(1)"), "'=HYPERLINK(1)");
        assert_eq!(outside("run-1"), "run-1");
        assert_eq!(number(Some(-0.5)), "-0.5");
        assert_eq!(number(Some(f64::NAN)), "");
        assert_eq!(number(Some(0.1)), "0.1");
    }
}
