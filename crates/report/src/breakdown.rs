//! The figures behind the views beyond the classical ones, as texts for the template: the
//! content of each chart is also in a table, for users who cannot see charts.
//!
//! Measurements by other instruments have their own page (`energy`).

use crate::charts::{ClientFigures, PERCENTILES, knee_point, percentiles};
use crate::format::{count, ms, number, rate};
use crate::knee::KNEE_TERM;
use crate::labels;
use filermark_model::Finding;
use filermark_model::text::one_line;
use filermark_results::text::severity_label;
use filermark_results::{ClientSummary, PointRecord, RunRecord};
use serde::Serialize;

/// Most clients in a table.
const CLIENTS_MAX: usize = 200;
/// Most clients of a load point for which all load points are in one table.
const FEW_CLIENTS: usize = 4;

/// The knee as text.
#[derive(Serialize)]
pub struct KneeView {
    /// Its position, or that there is none.
    #[serde(rename = "said")]
    pub text: String,
    pub is_there: bool,
    pub term: &'static str,
}

/// A row of the table of percentiles.
#[derive(Serialize)]
pub struct PercentileRow {
    pub number: u32,
    pub load: String,
    pub verdict: &'static str,
    /// Service, then response.
    pub cells: Vec<String>,
}

/// The clients of a load point.
#[derive(Serialize)]
pub struct ClientsView {
    pub number: u32,
    pub load: String,
    pub verdict: &'static str,
    pub is_peak: bool,
    pub rows: Vec<ClientRow>,
    /// The number of clients left out, which were the fastest.
    pub more: usize,
}

/// A client at a load point.
#[derive(Clone, Serialize)]
pub struct ClientRow {
    /// The load point's number.
    pub point: u32,
    pub name: String,
    pub cells: Vec<String>,
    pub has_errors: bool,
}

/// The heads of the table of percentiles: (head, unit), once per latency.
pub fn percentile_heads() -> Vec<(String, &'static str)> {
    let heads = PERCENTILES
        .iter()
        .map(|(_, label, _)| (label.replace(' ', "\u{a0}"), "ms"));
    heads.collect()
}

/// Percentiles of service and response times of every measured load point.
pub fn percentile_rows(record: &RunRecord) -> Vec<PercentileRow> {
    let row = |point: &PointRecord| {
        let stats = point.measured()?;
        let both = [stats.service(), stats.response()];
        Some(PercentileRow {
            number: point.load.number,
            load: labels::load(record, point.load),
            verdict: point.word(),
            cells: both
                .iter()
                .flat_map(percentiles)
                .map(|f| f.text(ms))
                .collect(),
        })
    };
    record.points.iter().filter_map(row).collect()
}

/// A finding as the record has it.
#[derive(Serialize)]
pub struct FindingRow {
    pub place: String,
    /// See [`FINDING_HEADS`].
    pub cells: Vec<String>,
}

/// The heads of the table of all findings, after the place.
pub const FINDING_HEADS: [(&str, &str); 6] = [
    ("severity", ""),
    ("rule", ""),
    ("figure", ""),
    ("limit", ""),
    ("limit from", ""),
    ("what", ""),
];

/// All findings one by one, for reviewers.
pub fn all_findings(record: &RunRecord) -> Vec<FindingRow> {
    let row = |place: String, f: &Finding| {
        let figure = |f: Option<f64>| f.map_or("–".to_owned(), |f| number(f, 3));
        FindingRow {
            place,
            cells: vec![
                severity_label(f.severity).to_owned(),
                f.rule.name().to_owned(),
                figure(f.value),
                figure(f.limit),
                f.source.as_deref().map_or("–".to_owned(), one_line),
                one_line(&f.message),
            ],
        }
    };
    let of_run = record.run_findings().map(|f| row("run".to_owned(), f));
    let of_point = |p: &'_ PointRecord| -> Vec<FindingRow> {
        let place = format!("point {}", p.load.number);
        p.findings.iter().map(|f| row(place.clone(), f)).collect()
    };
    of_run
        .chain(record.points.iter().flat_map(of_point))
        .collect()
}

/// The knee; `None` if too little was measured.
pub fn knee_view(record: &RunRecord) -> Option<KneeView> {
    record.valid_points().next()?;
    let point = knee_point(record);
    let text = match point {
        Some((point, stats)) => format!(
            "The knee is at load point {}: {} op/s, mean service time {} ms.",
            point.load.number,
            rate(stats.achieved_ops_per_sec()),
            ms(stats.service().mean_ns()),
        ),
        None => "The load points that count show no knee.".to_owned(),
    };
    Some(KneeView {
        text,
        is_there: point.is_some(),
        term: KNEE_TERM,
    })
}

/// The heads of the table of clients, after the client: (head, unit).
pub const CLIENT_HEADS: [(&str, &str); 9] = [
    ("procs", ""),
    ("rate", "op/s"),
    ("of all", "%"),
    ("mean", "ms"),
    ("slowest operation, 99\u{a0}%", "ms"),
    ("errors", "ops"),
    ("processor", "% of one"),
    ("wake-ups late", "µs"),
    ("99\u{a0}%", "µs"),
];

/// Which of them the errors are, from 1.
pub const CLIENT_ERRORS_COLUMN: usize = 6;

/// The clients of every measured load point.
pub fn clients_views(record: &RunRecord) -> Vec<ClientsView> {
    let peak = record.peak().map(|p| p.load.number);
    let view = |point: &PointRecord| {
        point.measured()?;
        let mut clients: Vec<(&ClientSummary, ClientFigures)> = point
            .clients
            .iter()
            .map(|c| (c, ClientFigures::of(c)))
            .collect();
        let total: f64 = clients.iter().map(|c| c.1.ops_per_sec).sum();
        let more = clients.len().saturating_sub(CLIENTS_MAX);
        if more > 0 {
            clients.sort_by(|a, b| b.1.mean_ms.total_cmp(&a.1.mean_ms));
            clients.truncate(CLIENTS_MAX);
        }
        Some(ClientsView {
            number: point.load.number,
            load: labels::load(record, point.load),
            verdict: point.word(),
            is_peak: peak == Some(point.load.number),
            rows: clients
                .iter()
                .map(|(c, f)| client_row(record, point.load.number, c, f, total))
                .collect(),
            more,
        })
    };
    let views = record.points.iter().filter_map(view);
    views.filter(|v| !v.rows.is_empty()).collect()
}

/// The rows of all load points, if one table is short enough.
pub fn few_clients(views: &[ClientsView]) -> Vec<ClientRow> {
    match views.iter().all(|v| v.rows.len() <= FEW_CLIENTS) {
        true => views.iter().flat_map(|v| &v.rows).cloned().collect(),
        false => Vec::new(),
    }
}

fn client_row(
    record: &RunRecord,
    point: u32,
    client: &ClientSummary,
    figures: &ClientFigures,
    total: f64,
) -> ClientRow {
    let protocol = record.run.plan.benchmark.protocol;
    let slowest = figures.p99.map_or("–".to_owned(), |(op, p99)| {
        format!("{} ({})", ms(p99 * 1e6), protocol.op_name(op))
    });
    ClientRow {
        point,
        name: one_line(&client.name),
        has_errors: figures.error_count > 0,
        cells: vec![
            count(u64::from(client.proc_count)),
            rate(figures.ops_per_sec),
            number(100.0 * figures.ops_per_sec / total.max(1e-9), 1),
            ms(figures.mean_ms * 1e6),
            slowest,
            count(figures.error_count),
            number(figures.cpu_pcnt, 1),
            number(figures.wakeup_p50_us, 0),
            number(figures.wakeup_p99_us, 0),
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use filermark_results::testing;

    #[test]
    fn every_measured_point_has_its_percentiles_and_clients() {
        let record = testing::record();
        let rows = percentile_rows(&record);
        assert_eq!(rows.len(), 11);
        assert!(
            rows.iter()
                .all(|r| r.cells.len() == 2 * percentile_heads().len())
        );
        let views = clients_views(&record);
        assert!(!views.is_empty());
        assert_eq!(CLIENT_HEADS[CLIENT_ERRORS_COLUMN - 1].0, "errors");
        for row in views.iter().flat_map(|v| &v.rows) {
            assert_eq!(row.cells.len(), CLIENT_HEADS.len());
        }
    }

    #[test]
    fn the_shares_of_the_clients_are_a_whole() {
        let mut record = testing::record();
        let one = record.points[0].clients[0].clone();
        record.points[0].clients = vec![one; 300];
        let views = clients_views(&record);
        assert_eq!((views[0].rows.len(), views[0].more), (200, 100));
        assert_eq!(views[0].rows[0].cells[2], "0.3");
    }
}
