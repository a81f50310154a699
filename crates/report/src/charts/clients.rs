//! The clients over load: the rate, the latency and the processor time of each.

use super::ChartWidth;
use super::lines::{ChartSheet, Line, lines_chart};
use super::percentiles::marks;
use filermark_model::figure;
use filermark_model::text::one_line;
use filermark_results::{ClientSummary, RunRecord};

/// Most clients with a line of their own; of more the least, the median and the
/// most are drawn.
const LINES_MAX: usize = 32;

/// A client's figures at a load point.
#[derive(Clone, Debug)]
pub struct ClientFigures {
    pub ops_per_sec: f64,
    /// Of all operations together.
    pub mean_ms: f64,
    /// The 99th percentile of the operation with the highest one (of those that are at least
    /// a hundredth of all): a client's summary has none over all operations.
    pub p99: Option<(filermark_model::Op, f64)>,
    pub error_count: u64,
    /// Of one processor.
    pub cpu_pcnt: f64,
    pub wakeup_p50_us: f64,
    pub wakeup_p99_us: f64,
}

impl ClientFigures {
    /// Of a client's summary.
    pub fn of(client: &ClientSummary) -> Self {
        let window_ns = (client.window_ns as f64).max(1.0);
        let sum = |of: &dyn Fn(&filermark_results::record::ClientOp) -> f64| -> f64 {
            client.ops.iter().map(of).sum()
        };
        let done = sum(&|o| o.success_count as f64);
        let time_ns = sum(&|o| o.success_count as f64 * o.service_ns_mean);
        let p99 = client
            .ops
            .iter()
            .filter(|o| o.success_count as f64 >= done / 100.0 && o.success_count > 0)
            .max_by_key(|o| o.service_ns_p99)
            .map(|o| (o.op, o.service_ns_p99 as f64 / 1e6));
        Self {
            ops_per_sec: done / (window_ns / 1e9),
            mean_ms: time_ns / done.max(1.0) / 1e6,
            p99,
            error_count: client
                .ops
                .iter()
                .fold(0, |n, o| o.error_count.saturating_add(n)),
            cpu_pcnt: 100.0 * client.generator_cpu_ns as f64 / window_ns,
            wakeup_p50_us: client.wakeup_ns_p50 as f64 / 1e3,
            wakeup_p99_us: client.wakeup_ns_p99 as f64 / 1e3,
        }
    }
}

/// A figure of a client: (title, unit, which).
type Figure = (&'static str, &'static str, fn(&ClientFigures) -> f64);
const FIGURES: [Figure; 5] = [
    ("Rate", "op/s", |c| c.ops_per_sec),
    ("Mean service time", "ms", |c| c.mean_ms),
    ("99 % of its slowest operation", "ms", |c| {
        c.p99.map_or(0.0, |p| p.1)
    }),
    ("Processor time, of one processor", "%", |c| c.cpu_pcnt),
    ("Wake-ups late, 99 %", "µs", |c| c.wakeup_p99_us),
];

/// One small chart per figure, over load: (title, chart).
pub fn client_charts(record: &RunRecord) -> Vec<(&'static str, String)> {
    let mut names: Vec<(u32, String)> = Vec::new();
    for client in record.points.iter().flat_map(|p| &p.clients) {
        if let Err(at) = names.binary_search_by_key(&client.client, |n| n.0) {
            names.insert(at, (client.client, one_line(&client.name)));
        }
    }
    let marks = marks(record);
    let chart = |(i, (title, unit, of)): (usize, &Figure)| {
        let id = format!("clients-{i}");
        let sheet = ChartSheet {
            id: &id,
            size: (ChartWidth::Multiple.width(), 190.0),
            title: &format!("{title} of the clients over load"),
            unit,
            has_legend: false,
            holds: None,
        };
        let lines = match names.len() <= LINES_MAX {
            true => each(record, &names, *of),
            false => spread(record, *of),
        };
        Some((*title, lines_chart(sheet, &marks, &lines)?))
    };
    FIGURES.iter().enumerate().filter_map(chart).collect()
}

/// The clients of the measured points, in the order of the marks.
fn clients(record: &RunRecord) -> impl Iterator<Item = &Vec<ClientSummary>> {
    let measured = record.points.iter().filter(|p| p.measured().is_some());
    measured.map(|p| &p.clients)
}

fn each(record: &RunRecord, names: &[(u32, String)], of: fn(&ClientFigures) -> f64) -> Vec<Line> {
    let line = |(i, (number, name)): (usize, &(u32, String))| Line {
        class: ["thin c0", "thin c1", "thin c2", "thin c3"][i % 4],
        label: name.clone(),
        values: clients(record)
            .map(|all| all.iter().find(|c| c.client == *number))
            .map(|c| c.map(|c| figure::Figure::exact(of(&ClientFigures::of(c)))))
            .collect(),
    };
    names.iter().enumerate().map(line).collect()
}

fn spread(record: &RunRecord, of: fn(&ClientFigures) -> f64) -> Vec<Line> {
    let sorted: Vec<Vec<f64>> = clients(record)
        .map(|all| {
            let mut all: Vec<f64> = all.iter().map(|c| of(&ClientFigures::of(c))).collect();
            all.sort_by(f64::total_cmp);
            all
        })
        .collect();
    let line = |(class, label, share): (&'static str, &str, f64)| Line {
        class,
        label: label.to_owned(),
        values: sorted
            .iter()
            .map(|all| {
                all.get((all.len().saturating_sub(1) as f64 * share).round() as usize)
                    .copied()
                    .map(figure::Figure::exact)
            })
            .collect(),
    };
    [
        ("thin c2", "most", 1.0),
        ("thin c0", "median", 0.5),
        ("thin c1", "least", 0.0),
    ]
    .map(line)
    .into()
}
