//! Load points of many runs as tables for other programs: CSV (RFC 4180) and JSON lines.
//!
//! *Wide*: a line per load point, a column per figure. *Long*: a line per figure, of the load
//! point, of each of its operations, and of each second of RUN. The columns are described in
//! docs/src/howto/keep-results.md.

use crate::entry::run_id;
use filermark_model::op::Op;
use filermark_model::{Latency, PointStats};
use filermark_results::assertion::percentile_ms;
use filermark_results::csv::{field, response_at_least};
use filermark_results::figures::Throughput;
use filermark_results::{PointRecord, RunRecord};
use serde_json::{Map, Value};

/// Columns that every line begins with.
const RUN_COLUMNS: [&str; 10] = [
    "run_id",
    "suffix",
    "started",
    "benchmark",
    "run_verdict",
    "point",
    "requested_ops_per_sec",
    "requested_units",
    "point_verdict",
    "response_at_least",
];
/// Columns of the long form after them.
const LONG_COLUMNS: [&str; 4] = ["op", "second", "figure", "value"];
/// Percentiles of the service time: name and percent.
const PERCENTILES: [(&str, f64); 6] = [
    ("service_ms_p50", 50.0),
    ("service_ms_p90", 90.0),
    ("service_ms_p95", 95.0),
    ("service_ms_p99", 99.0),
    ("service_ms_p999", 99.9),
    ("service_ms_p9999", 99.99),
];

/// The tables' forms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A line per load point.
    Wide,
    /// A line per figure.
    Long,
}

/// A figure of a load point: its name, and its value if there is one.
type Figure = (&'static str, Option<f64>);

/// The heading of a table.
pub fn head(shape: Shape) -> String {
    let more: Vec<&str> = match shape {
        Shape::Long => LONG_COLUMNS.to_vec(),
        // The figures of a load point that was not measured have the same names.
        Shape::Wide => figures_of(&PointStats::default())
            .into_iter()
            .map(|(name, _)| name)
            .collect(),
    };
    line(RUN_COLUMNS.iter().chain(&more).copied())
}

/// The lines of a run.
pub fn lines(record: &RunRecord, shape: Shape) -> String {
    let mut out = String::new();
    for point in &record.points {
        let front = front(record, point);
        let front = || front.iter().map(shown).collect::<Vec<_>>();
        match shape {
            Shape::Wide => {
                let mut cells = front();
                let empty = PointStats::default();
                let is_measured = point.measured().is_some();
                let figures = figures_of(point.measured().unwrap_or(&empty));
                let value =
                    |v: Option<f64>| v.filter(|_| is_measured).map_or(String::new(), number);
                cells.extend(figures.into_iter().map(|(_, v)| value(v)));
                out += &line(cells.iter().map(String::as_str));
            }
            Shape::Long => {
                for (op, second, figure, value) in long(point) {
                    let mut cells = front();
                    cells.extend([op, second, figure.to_owned(), number(value)]);
                    out += &line(cells.iter().map(String::as_str));
                }
            }
        }
    }
    out
}

/// The lines of a run as JSON, with the names of the columns; a figure without a value is
/// missing. The schema of a line is `crates/history/schema/export-v1.json`.
pub fn json_lines(record: &RunRecord, shape: Shape) -> String {
    let mut out = String::new();
    for point in &record.points {
        let front: Map<String, Value> = front(record, point).into_iter().collect();
        let mut push = |more: Map<String, Value>| {
            let mut line = front.clone();
            line.extend(more);
            line.retain(|_, value| !value.is_null());
            out.push_str(&Value::Object(line).to_string());
            out.push('\n');
        };
        match (shape, point.measured()) {
            (Shape::Wide, None) => push(Map::new()),
            (Shape::Wide, Some(stats)) => {
                let figures = figures_of(stats).into_iter();
                push(
                    figures
                        .map(|(name, v)| (name.to_owned(), v.into()))
                        .collect(),
                );
            }
            (Shape::Long, _) => {
                for (op, second, figure, value) in long(point) {
                    let mut more = Map::new();
                    if !op.is_empty() {
                        more.insert("op".into(), op.into());
                    }
                    if let Ok(second) = second.parse::<i64>() {
                        more.insert("second".into(), second.into());
                    }
                    more.insert("figure".into(), figure.into());
                    more.insert("value".into(), value.into());
                    push(more);
                }
            }
        }
    }
    out
}

fn front(record: &RunRecord, point: &PointRecord) -> Vec<(String, Value)> {
    let run = &record.run;
    let is_composite = run.plan.benchmark.composite().is_some();
    // LOAD=max: no rate is requested, and the units are procs.
    let requested = Some(point.load.requested.0).filter(|rate| *rate > 0.0);
    let units = Some(point.load.units).filter(|_| is_composite && requested.is_some());
    let bounds = point
        .measured()
        .map(|stats| response_at_least(&stats.response()));
    let values: [Value; 10] = [
        run_id(record).into(),
        run.suffix.clone().into(),
        run.started.to_string().into(),
        run.plan.benchmark.name.clone().into(),
        record.verdict().label().into(),
        point.load.number.into(),
        requested.into(),
        units.into(),
        point.word().into(),
        bounds.filter(|names| !names.is_empty()).into(),
    ];
    let names = RUN_COLUMNS.iter().map(|name| (*name).to_owned());
    names.zip(values).collect()
}

/// The figures of a load point.
fn figures_of(stats: &PointStats) -> Vec<Figure> {
    let service = stats.service();
    let moved = Throughput::of(stats);
    let mut figures: Vec<Figure> = vec![
        ("achieved_ops_per_sec", Some(stats.achieved_ops_per_sec())),
        ("success_count", Some(stats.success_count() as f64)),
        ("error_count", Some(stats.error_count() as f64)),
        ("window_s", Some(stats.window_ns as f64 / 1e9)),
        ("read_mib_per_sec", Some(moved.read / 1024.0)),
        ("written_mib_per_sec", Some(moved.write / 1024.0)),
        ("fileset_bytes", Some(stats.fileset_bytes as f64)),
    ];
    figures.extend(latencies(&service));
    let response = stats.response();
    figures.push(("response_ms_mean", mean_ms(&response)));
    figures.push(("response_ms_p99", percentile_ms(&response, 99.0)));
    figures
}

/// Mean, percentiles and maximum of the service time. A percentile with fewer than ten
/// operations above it has no value.
fn latencies(service: &Latency) -> Vec<Figure> {
    let mut figures: Vec<Figure> = vec![("service_ms_mean", mean_ms(service))];
    let percentile =
        |(name, percent): &(&'static str, f64)| (*name, percentile_ms(service, *percent));
    figures.extend(PERCENTILES.iter().map(percentile));
    let max = (service.count() > 0).then(|| service.max_ns() as f64 / 1e6);
    figures.push(("service_ms_max", max));
    figures
}

fn mean_ms(latency: &Latency) -> Option<f64> {
    (latency.count() > 0).then(|| latency.mean_ns() / 1e6)
}

/// The lines of a load point in the long form: operation, second, figure, value.
fn long(point: &PointRecord) -> Vec<(String, String, &'static str, f64)> {
    let Some(stats) = point.measured() else {
        return Vec::new();
    };
    let mut lines = Vec::new();
    let mut add = |op: &str, second: &str, figures: Vec<Figure>| {
        let known = figures.into_iter().filter_map(|(name, v)| Some((name, v?)));
        lines.extend(known.map(|(name, v)| (op.to_owned(), second.to_owned(), name, v)));
    };
    add("", "", figures_of(stats));
    for op in &stats.ops {
        let mut figures: Vec<Figure> = vec![
            ("success_count", Some(op.success_count as f64)),
            ("error_count", Some(op.error_count as f64)),
            ("read_bytes", Some(op.read_bytes as f64)),
            ("written_bytes", Some(op.written_bytes as f64)),
        ];
        figures.extend(latencies(&op.service));
        add(op_name(op.op), "", figures);
    }
    for second in &stats.intervals {
        let has_any = second.success_count > 0;
        let figures = vec![
            ("success_count", Some(second.success_count as f64)),
            ("error_count", Some(second.error_count as f64)),
            ("read_bytes", Some(second.read_bytes as f64)),
            ("written_bytes", Some(second.written_bytes as f64)),
            (
                "service_ms_mean",
                has_any.then(|| second.service_mean_ns() / 1e6),
            ),
            (
                "response_ms_max",
                has_any.then(|| second.response_max_ns as f64 / 1e6),
            ),
        ];
        add("", &second.second.to_string(), figures);
    }
    lines
}

fn op_name(op: Op) -> &'static str {
    op.name()
}

/// A line of cells (RFC 4180).
pub(crate) fn line<'a>(cells: impl Iterator<Item = &'a str>) -> String {
    cells.map(field).collect::<Vec<_>>().join(",") + "\r\n"
}

/// A text of the user as a cell: a spreadsheet must not take it for a formula.
pub(crate) fn cell(text: &str) -> String {
    match text.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        true => format!("'{text}"),
        false => text.to_owned(),
    }
}

fn shown((_, value): &(String, Value)) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => cell(text),
        other => other.to_string(),
    }
}

/// A figure without exponent and without needless digits.
fn number(value: f64) -> String {
    let text = format!("{value:.6}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use filermark_results::testing;

    fn rows(text: &str) -> Vec<Vec<String>> {
        let mut reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .from_reader(text.as_bytes());
        let records = reader.records().map(|r| r.expect("a row of equal length"));
        records
            .map(|r| r.iter().map(str::to_owned).collect())
            .collect()
    }

    #[test]
    fn wide_has_a_line_per_load_point_and_long_one_per_figure() {
        for record in [testing::record(), testing::composite::composite_record()] {
            let wide = head(Shape::Wide) + &lines(&record, Shape::Wide);
            let wide = rows(&wide);
            assert_eq!(wide.len(), record.points.len() + 1);
            let long = head(Shape::Long) + &lines(&record, Shape::Long);
            let long = rows(&long);
            // The sums agree.
            let at = |name: &str| wide[0].iter().position(|c| c == name).expect("a column");
            let total: f64 = long
                .iter()
                .filter(|row| !row[10].is_empty() && row[12] == "success_count" && row[5] == "1")
                .map(|row| row[13].parse::<f64>().expect("a number"))
                .sum();
            let count: f64 = wide[1][at("success_count")].parse().expect("a number");
            assert_eq!(total, count);
            assert!(long.iter().any(|row| row[11] == "0"), "seconds are in it");
        }
    }

    #[test]
    fn json_lines_match_the_schema_and_have_the_same_figures() {
        let schema = include_str!("../schema/export-v1.json");
        let record = testing::record();
        for shape in [Shape::Wide, Shape::Long] {
            let text = json_lines(&record, shape);
            for line in text.lines().take(200) {
                let value = serde_json::from_str(line).expect("JSON");
                crate::entry::check_schema(schema, &value);
            }
        }
        let json = json_lines(&record, Shape::Wide);
        let json: Vec<Value> = json
            .lines()
            .map(|line| serde_json::from_str(line).expect("JSON"))
            .collect();
        let table = rows(&(head(Shape::Wide) + &lines(&record, Shape::Wide)));
        assert_eq!(json.len(), record.points.len());
        for (line, row) in json.iter().zip(&table[1..]) {
            for (name, cell) in table[0].iter().zip(row) {
                match (&line[name], cell.parse::<f64>()) {
                    (Value::Null, _) => assert_eq!(cell, "", "{name}"),
                    (Value::Number(n), Ok(cell)) => {
                        let n = n.as_f64().expect("a number");
                        assert!((n - cell).abs() <= 1e-6, "{name}: {n} and {cell}");
                    }
                    (Value::String(text), _) => assert_eq!(cell, text, "{name}"),
                    (other, _) => panic!("{name}: {other} and {cell}"),
                }
            }
        }
    }

    /// A figure that depends on operations which were not seen to end is a lower bound.
    #[test]
    fn lower_bounds_are_named_and_units_without_a_rate_are_left_out() {
        let mut record = testing::record();
        let point = record
            .points
            .iter_mut()
            .find(|p| p.measured().is_some())
            .expect("a measured one");
        let stats = point.stats.as_mut().expect("figures");
        let op = stats.ops.iter_mut().find(|op| op.success_count > 0);
        let op = op.expect("an operation");
        for _ in 0..op.success_count {
            op.response
                .record_at_least(filermark_model::Nanos(9_000_000_000));
        }
        let number = point.load.number;
        let row = |text: &str| {
            let lines = text
                .lines()
                .map(|line| serde_json::from_str(line).expect("JSON"));
            lines
                .map(|line: Value| line)
                .find(|line| line["point"] == number)
        };
        let line = row(&json_lines(&record, Shape::Wide)).expect("its line");
        assert_eq!(line["response_at_least"], "mean p99", "{line}");
        let mut record = testing::composite::composite_record();
        for point in &mut record.points {
            point.load.requested.0 = 0.0;
        }
        assert!(!json_lines(&record, Shape::Wide).contains("requested"));
    }

    #[test]
    fn texts_of_users_are_no_formulas_and_are_quoted() {
        let mut record = testing::record();
        record.run.suffix = "=1+1,\"x\"".into();
        let text = lines(&record, Shape::Wide);
        assert_eq!(rows(&text)[0][1], "'=1+1,\"x\"");
        assert_eq!(number(0.25), "0.25");
        assert_eq!(number(1_000_000.0), "1000000");
        assert_eq!(number(0.0), "0");
    }
}
