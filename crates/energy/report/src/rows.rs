//! The tables of the energy report as texts; page and terminal show the same cells.

use super::figures::{efficiency, fixed, loads, mean, percent, plain, short, sound};
use super::labels;
use super::names::{self, RunNames};
use filermark_energy_data::reduce::{
    PointEfficiency, Reduction, Stats, TrafficFrom, WorkloadReduction,
};
use filermark_results::Timestamp;
use serde::Serialize;

/// A table: the head of its first column, (head, unit) of the others, and the rows.
#[derive(Debug, Serialize)]
pub struct Table {
    pub first: &'static str,
    pub heads: Vec<(String, String)>,
    pub rows: Vec<Row>,
}

/// A row: its first cell, the other cells, and a class of the style sheet.
#[derive(Debug, Serialize)]
pub struct Row {
    pub first: String,
    pub cells: Vec<String>,
    pub class: &'static str,
}

pub fn heads(heads: &[(&str, &str)]) -> Vec<(String, String)> {
    let owned = |(head, unit): &(&str, &str)| ((*head).to_owned(), (*unit).to_owned());
    heads.iter().map(owned).collect()
}

/// MiB/s from which the efficiency of a point is computed.
pub fn mib_per_s(run: &WorkloadReduction, point: &PointEfficiency) -> Option<f64> {
    match run.traffic_from {
        TrafficFrom::Sflow => mean(point.traffic_mib_per_s),
        TrafficFrom::Clients => sound(point.client_mib_per_s),
        TrafficFrom::Nowhere => None,
    }
}

/// The best load point of a run.
pub fn best(run: &WorkloadReduction) -> Option<&PointEfficiency> {
    run.points.get(run.best?)
}

/// The class of a load point's row.
fn class(run: &WorkloadReduction, place: usize, point: &PointEfficiency) -> &'static str {
    match (run.best == Some(place), point.valid) {
        (true, _) => "peak",
        (false, Some(false)) => "invalid",
        _ => "",
    }
}

/// The reduction table with the seed's columns, and no others.
pub fn reduction_table(run: &WorkloadReduction) -> Table {
    let row = |(place, point): (usize, &PointEfficiency)| Row {
        first: point.number.to_string(),
        cells: vec![
            plain(mib_per_s(run, point)),
            plain(mean(point.power_w)),
            efficiency(point.mib_per_s_per_w),
        ],
        class: class(run, place, point),
    };
    Table {
        first: "Run #",
        heads: heads(&[
            (labels::traffic_head(run.traffic_from), ""),
            ("Avg Power", ""),
            ("MiB/sec/Watt", ""),
        ]),
        rows: run.points.iter().enumerate().map(row).collect(),
    }
}

/// The other figures of the load points.
pub fn point_table(run: &WorkloadReduction) -> Table {
    let unit = labels::name(&run.load_unit);
    let mut all = vec![("load".to_owned(), unit)];
    all.extend(heads(&[
        ("achieved", "op/s"),
        ("clients", "MiB/s"),
        ("latency", "ms"),
        ("least", "W"),
        ("5\u{a0}%", "W"),
        ("median", "W"),
        ("95\u{a0}%", "W"),
        ("most", "W"),
        ("clients' power", "W"),
        ("ops", "op/s per W"),
        ("per op", "J"),
        ("drift", "%"),
        ("coverage", "%"),
        ("inlet", "°C"),
        ("humidity", "%"),
        ("run counts", ""),
        ("energy", ""),
    ]));
    let row = |(place, point): (usize, &PointEfficiency)| Row {
        first: point.number.to_string(),
        cells: point_cells(run, point),
        class: class(run, place, point),
    };
    let mut table = Table {
        first: "#",
        heads: all,
        rows: run.points.iter().enumerate().map(row).collect(),
    };
    drop_empty(&mut table, &["clients' power", "inlet", "humidity"]);
    table
}

/// Removes optional columns without a figure in any row.
fn drop_empty(table: &mut Table, optional: &[&str]) {
    for column in (0..table.heads.len()).rev() {
        let is_optional = optional.contains(&table.heads[column].0.as_str());
        let is_empty = |row: &Row| {
            row.cells
                .get(column)
                .is_none_or(|c| c == super::figures::NONE)
        };
        if is_optional && table.rows.iter().all(is_empty) {
            table.heads.remove(column);
            for row in &mut table.rows {
                if column < row.cells.len() {
                    row.cells.remove(column);
                }
            }
        }
    }
}

fn point_cells(run: &WorkloadReduction, point: &PointEfficiency) -> Vec<String> {
    let power = |of: fn(Stats) -> f64| short(point.power_w.map(of));
    vec![
        loads(point.load),
        short(point.achieved_ops_per_s),
        short(point.client_mib_per_s),
        fixed(point.latency_ms_mean, 2),
        power(|s| s.min),
        power(|s| s.p5),
        power(|s| s.p50),
        power(|s| s.p95),
        power(|s| s.max),
        short(mean(point.client_power_w)),
        fixed(point.ops_per_s_per_w, 3),
        fixed(point.joules_per_op, 3),
        percent(point.power_w.map(|s| s.drift)),
        percent(point.power_w.map(|s| s.coverage)),
        fixed(mean(point.temperature_c), 1),
        fixed(mean(point.humidity_pcnt), 1),
        labels::run_counts(point.valid).to_owned(),
        labels::energy_verdict(run, point).to_owned(),
    ]
}

/// The summary of the seed: a column for each workload, maximum efficiency in the first row.
pub fn summary_table(runs: &[WorkloadReduction]) -> Table {
    let called = names::of_runs(runs);
    let row = |first: &str, cell: &dyn Fn(&WorkloadReduction) -> String| Row {
        first: first.to_owned(),
        cells: runs.iter().map(cell).collect(),
        class: "",
    };
    let of_best = |of: &dyn Fn(&WorkloadReduction, &PointEfficiency) -> String,
                   run: &WorkloadReduction| {
        best(run).map_or(super::figures::NONE.to_owned(), |point| of(run, point))
    };
    let maximum = |run: &WorkloadReduction| {
        let value = best(run).and_then(|p| sound(p.mib_per_s_per_w));
        match value {
            None => super::figures::NONE.to_owned(),
            value => format!("{} MiB/sec/Watt", efficiency(value)),
        }
    };
    let load = |run: &WorkloadReduction, point: &PointEfficiency| {
        format!("{} ({})", point.number, labels::load(run, point.load))
    };
    let drives = |run: &WorkloadReduction| loads(run.drives.map(f64::from));
    let mut rows = vec![
        row("Maximum Efficiency", &maximum),
        row("Figures", &|r| figures_label(r).to_owned()),
        row("at load point", &|r| of_best(&load, r)),
        row("MiB/s", &|r| of_best(&|r, p| plain(mib_per_s(r, p)), r)),
        row("W", &|r| of_best(&|_, p| plain(mean(p.power_w)), r)),
        row("op/s per W", &|r| {
            of_best(&|_, p| fixed(p.ops_per_s_per_w, 3), r)
        }),
        row("Idle power, W", &|r| plain(mean(r.idle))),
        row("Ready idle, GB/W", &|r| efficiency(r.ready_idle_gb_per_w)),
        row("Drives", &drives),
        row("Traffic from", &|r| {
            labels::traffic_from(r.traffic_from).to_owned()
        }),
    ];
    rows.push(Row {
        first: "Run".to_owned(),
        cells: called.iter().map(|c| c.run.clone()).collect(),
        class: "",
    });
    rows[0].class = "peak";
    Table {
        first: "Workloads",
        heads: called
            .into_iter()
            .map(|c| (c.title, String::new()))
            .collect(),
        rows,
    }
}

/// Whether the figures of a run are measured.
pub fn figures_label(run: &WorkloadReduction) -> &'static str {
    let is_silent = |p: &PointEfficiency| p.power_w.is_none() && p.traffic_mib_per_s.is_none();
    match (run.simulated, run.points.iter().all(is_silent)) {
        (true, _) => labels::SIMULATED,
        (false, true) => "none",
        (false, false) => "measured",
    }
}

/// The sources of all runs.
pub fn sources_table(reduction: &Reduction) -> Table {
    let called = names::of_runs(&reduction.workloads);
    let of_run = |(run, called): (&WorkloadReduction, &RunNames)| {
        let title = &called.title;
        let row = |s: &filermark_energy_data::reduce::SourceView| Row {
            first: names::source(run, &s.name),
            cells: vec![
                title.clone(),
                labels::name(&s.location),
                labels::name(&s.role),
                filermark_results::text::one_line(&s.clock),
                filermark_report::parts::count(s.samples),
                labels::source_figures(s).to_owned(),
            ]
            .into_iter()
            .chain(
                s.instrument
                    .fields()
                    .map(|(_, value)| text_or_dash(value.as_ref())),
            )
            .collect(),
            class: "",
        };
        run.sources.iter().map(row).collect::<Vec<_>>()
    };
    let mut table = Table {
        first: "source",
        heads: heads(&[
            ("workload", ""),
            ("read at", ""),
            ("of", ""),
            ("clock", ""),
            ("samples", ""),
            ("figures", ""),
            ("make", ""),
            ("model", ""),
            ("serial", ""),
            ("firmware", ""),
            ("calibrated", ""),
        ]),
        rows: reduction
            .workloads
            .iter()
            .zip(&called)
            .flat_map(of_run)
            .collect(),
    };
    let plate = ["make", "model", "serial", "firmware", "calibrated"];
    drop_empty(&mut table, &plate);
    table
}

/// A text of the user's, on one line; `–` where it was not given.
fn text_or_dash(text: Option<&String>) -> String {
    text.map_or(super::figures::NONE.to_owned(), |text| {
        filermark_results::text::one_line(text)
    })
}

/// The worksheet without the figures of load points: a column for each run. The instruments
/// are in the table of sources.
pub fn worksheet_table(runs: &[WorkloadReduction]) -> Table {
    let called = names::of_runs(runs);
    let row = |first: &str, cell: &dyn Fn(&WorkloadReduction) -> String| Row {
        first: first.to_owned(),
        cells: runs.iter().map(cell).collect(),
        class: "",
    };
    let texts = runs.first().map(|run| run.lab.texts()).unwrap_or_default();
    let of_lab = texts.iter().enumerate().map(|(at, (_, head, _))| {
        row(head, &|run| {
            text_or_dash(run.lab.texts().get(at).and_then(|text| text.2.as_ref()))
        })
    });
    let mut rows: Vec<Row> = of_lab.collect();
    let spread = |run: &WorkloadReduction, of: fn(&PointEfficiency) -> Option<Stats>| {
        let stats = || run.points.iter().filter_map(of);
        let least = stats().map(|s| s.min).reduce(f64::min);
        let most = stats().map(|s| s.max).reduce(f64::max);
        match least.zip(most) {
            Some(_) => format!("{} to {}", fixed(least, 1), fixed(most, 1)),
            None => super::figures::NONE.to_owned(),
        }
    };
    let day = |run: &WorkloadReduction| began(run).map(Timestamp::readable);
    rows.extend([
        row("Storage devices", &|r| loads(r.drives.map(f64::from))),
        row("Raw capacity, GB", &|r| loads(r.raw_capacity_gb)),
        row("Nominal voltage, V", &|r| loads(r.lab.nominal_voltage_v)),
        row("Measured from", &|r| text_or_dash(day(r).as_ref())),
        row("Load points", &|r| r.points.len().to_string()),
        row("Inlet in RUN, °C", &|r| spread(r, |p| p.temperature_c)),
        row("Humidity in RUN, %", &|r| spread(r, |p| p.humidity_pcnt)),
        row("Interfaces of the server", &|r| {
            let ports = r.lab.ports.join(", ");
            text_or_dash((!ports.is_empty()).then_some(&ports))
        }),
    ]);
    Table {
        first: "Worksheet",
        heads: called
            .into_iter()
            .map(|c| (c.title, String::new()))
            .collect(),
        rows,
    }
}

/// Most rows of the table of phases.
pub const PHASE_ROWS_MAX: usize = 1_000;

/// When each phase began, and how long it was.
pub fn phase_table(run: &WorkloadReduction) -> Table {
    let row = |p: &filermark_energy_data::reduce::PhaseSpan| Row {
        first: match p.point {
            0 => "–".to_owned(),
            n => n.to_string(),
        },
        cells: vec![
            p.phase.name().to_owned(),
            p.began.readable(),
            fixed(Some(p.ended.seconds_since(p.began)), 1),
        ],
        class: "",
    };
    Table {
        first: "point",
        heads: heads(&[("phase", ""), ("began", ""), ("took", "s")]),
        rows: run.phases.iter().take(PHASE_ROWS_MAX).map(row).collect(),
    }
}

/// The time of the first measurement.
pub fn began(run: &WorkloadReduction) -> Option<Timestamp> {
    let series = run.series.iter().filter_map(|s| s.values.first());
    let phases = run.phases.iter().map(|p| p.began);
    let points = run.points.iter().filter_map(|p| p.began);
    phases.chain(series.map(|v| v.0)).chain(points).min()
}
