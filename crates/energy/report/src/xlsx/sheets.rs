//! The sheets of tables.

use super::super::figures::mean;
use super::super::names::{RunNames, of_runs};
use super::super::rows::{self, best, mib_per_s};
use super::super::{csv::traffic_source_name, findings as found, labels, plan};
use super::cells::{
    Cell, Done, LONG, Names, SHARE, SHORT, WHOLE, begin, cut_cell, text, title, write_rows,
};
use filermark_energy_data::reduce::{
    BestFoot, DriveEfficiency, PointEfficiency, Reduction, Stats, WorkloadReduction,
};
use filermark_results::text::severity_label;
use rust_xlsxwriter::Worksheet;

pub fn summary(sheet: &mut Worksheet, names: &mut Names, reduction: &Reduction) -> Done {
    let row = begin(
        sheet,
        &names.claim("Summary"),
        &title("Maximum efficiency", reduction.simulated),
        &[
            "Workload",
            "Run",
            "Maximum efficiency, MiB/sec/Watt (cut)",
            "MiB/s per W, all digits",
            "at load point",
            "load",
            "load unit",
            "MiB/s",
            "W",
            "op/s per W",
            "Idle power, W",
            "Ready idle, GB/W",
            "Drives",
            "Traffic from",
            "Figures",
        ],
    )?;
    let called = of_runs(&reduction.workloads);
    let rows = reduction.workloads.iter().zip(&called);
    write_rows(sheet, row, rows.map(summary_row))
}

fn summary_row((run, called): (&WorkloadReduction, &RunNames)) -> Vec<Cell> {
    let point = best(run);
    vec![
        text(called.title.clone()),
        text(called.run.clone()),
        cut_cell(point.and_then(|p| p.mib_per_s_per_w)),
        Cell::Number(point.and_then(|p| p.mib_per_s_per_w), LONG),
        Cell::Number(point.map(|p| f64::from(p.number)), WHOLE),
        Cell::Number(point.and_then(|p| p.load), "General"),
        text(labels::name(&run.load_unit)),
        Cell::Number(point.and_then(|p| mib_per_s(run, p)), SHORT),
        Cell::Number(point.and_then(|p| mean(p.power_w)), SHORT),
        Cell::Number(point.and_then(|p| p.ops_per_s_per_w), LONG),
        Cell::Number(mean(run.idle), SHORT),
        Cell::Number(run.ready_idle_gb_per_w, SHORT),
        Cell::Number(run.drives.map(f64::from), WHOLE),
        text(traffic_source_name(run.traffic_from)),
        text(rows::figures_label(run)),
    ]
}

pub fn workload(
    sheet: &mut Worksheet,
    names: &mut Names,
    run: &WorkloadReduction,
    called: &RunNames,
) -> Done {
    let has_run =
        called.title.contains(&called.run) || run.benchmark.eq_ignore_ascii_case(&run.name);
    let name = match has_run {
        true => called.title.clone(),
        false => format!("{} {}", called.title, called.run),
    };
    let heading = called.both();
    let traffic_head = labels::traffic_head(run.traffic_from);
    let heads = [
        "Run #",
        traffic_head,
        "Avg Power",
        "MiB/sec/Watt",
        "MiB/s per W, all digits",
        "load",
        "achieved op/s",
        "clients' MiB/s",
        "latency mean, ms",
        "power least, W",
        "power 5 %, W",
        "power median, W",
        "power 95 %, W",
        "power most, W",
        "power deviation, W",
        "power drift",
        "power coverage",
        "power samples",
        "clients' power, W",
        "op/s per W",
        "J per op",
        "inlet, °C",
        "humidity, %",
        "run counts",
        "RUN began (UTC)",
        "RUN ended (UTC)",
        "figures",
        "energy",
    ];
    let row = begin(
        sheet,
        &names.claim(&name),
        &title(&heading, run.simulated),
        &heads,
    )?;
    sheet.set_column_width(24, 24)?;
    sheet.set_column_width(25, 24)?;
    write_rows(sheet, row, run.points.iter().map(|p| point_row(run, p)))
}

fn point_row(run: &WorkloadReduction, point: &PointEfficiency) -> Vec<Cell> {
    let power = |of: fn(Stats) -> f64, form| Cell::Number(point.power_w.map(of), form);
    vec![
        Cell::Number(Some(f64::from(point.number)), WHOLE),
        Cell::Number(mib_per_s(run, point), WHOLE),
        Cell::Number(mean(point.power_w), WHOLE),
        cut_cell(point.mib_per_s_per_w),
        Cell::Number(point.mib_per_s_per_w, LONG),
        Cell::Number(point.load, "General"),
        Cell::Number(point.achieved_ops_per_s, SHORT),
        Cell::Number(point.client_mib_per_s, SHORT),
        Cell::Number(point.latency_ms_mean, "0.000"),
        power(|s| s.min, SHORT),
        power(|s| s.p5, SHORT),
        power(|s| s.p50, SHORT),
        power(|s| s.p95, SHORT),
        power(|s| s.max, SHORT),
        power(|s| s.deviation, SHORT),
        power(|s| s.drift, SHARE),
        power(|s| s.coverage, SHARE),
        power(|s| s.samples as f64, WHOLE),
        Cell::Number(mean(point.client_power_w), SHORT),
        Cell::Number(point.ops_per_s_per_w, LONG),
        Cell::Number(point.joules_per_op, LONG),
        Cell::Number(mean(point.temperature_c), "0.0"),
        Cell::Number(mean(point.humidity_pcnt), "0.0"),
        text(labels::run_counts(point.valid)),
        Cell::Time(point.began),
        Cell::Time(point.ended),
        text(rows::figures_label(run)),
        text(labels::energy_verdict(run, point)),
    ]
}

pub fn findings(sheet: &mut Worksheet, names: &mut Names, reduction: &Reduction) -> Done {
    let row = begin(
        sheet,
        &names.claim("Findings"),
        &title("Findings", reduction.simulated),
        &["Severity", "Rule", "Run", "Load point", "What"],
    )?;
    sheet.set_column_width(4, 100)?;
    let called = of_runs(&reduction.workloads);
    let rows = found::placed(reduction).into_iter().map(|placed| {
        let point = (placed.point > 0).then(|| f64::from(placed.point));
        vec![
            text(severity_label(placed.finding.severity)),
            text(labels::rule(placed.finding.rule)),
            text(found::run_name(&called, &placed).unwrap_or_default()),
            Cell::Number(point, WHOLE),
            text(found::message(&placed)),
        ]
    });
    write_rows(sheet, row, rows)
}

pub fn best_foot(sheet: &mut Worksheet, names: &mut Names, reduction: &Reduction) -> Done {
    let plans = &reduction.best_foot;
    let is_simulated = |plan: &BestFoot| plan::plan_is_simulated(reduction, plan);
    let row = begin(
        sheet,
        &names.claim("Best foot"),
        &title("Best foot forward", plans.iter().any(is_simulated)),
        &[
            "Benchmark",
            "Drives",
            "MiB/sec/Watt (cut)",
            "MiB/s per W, all digits",
            "Run",
            "is",
        ],
    )?;
    sheet.set_column_width(5, 60)?;
    let of_plan = |plan: &BestFoot| {
        let measured = plan::drives_table(plan)
            .rows
            .into_iter()
            .zip(&plan.measured);
        let mut all: Vec<Vec<Cell>> = measured
            .map(|(row, one)| drive_row(plan, one, row.cells.last()))
            .collect();
        let sentences = plan::range_sentences(plan);
        let next = plan.next.iter().map(|n| format!("Next: {n}"));
        all.extend(sentences.into_iter().chain(next).map(|sentence| {
            let benchmark = text(labels::name(&plan.benchmark));
            let none = || Cell::Number(None, WHOLE);
            vec![benchmark, none(), none(), none(), none(), text(sentence)]
        }));
        all
    };
    write_rows(sheet, row, plans.iter().flat_map(of_plan))
}

fn drive_row(plan: &BestFoot, one: &DriveEfficiency, standing: Option<&String>) -> Vec<Cell> {
    vec![
        text(labels::name(&plan.benchmark)),
        Cell::Number(Some(f64::from(one.drives)), WHOLE),
        cut_cell(Some(one.mib_per_s_per_w)),
        Cell::Number(Some(one.mib_per_s_per_w), LONG),
        text(labels::name(&one.run)),
        text(standing.cloned().unwrap_or_default()),
    ]
}

pub fn worksheet(sheet: &mut Worksheet, names: &mut Names, reduction: &Reduction) -> Done {
    let table = rows::worksheet_table(&reduction.workloads);
    let mut heads = vec!["Worksheet"];
    heads.extend(table.heads.iter().map(|(head, _)| head.as_str()));
    let row = begin(
        sheet,
        &names.claim("Worksheet"),
        &title("Worksheet", reduction.simulated),
        &heads,
    )?;
    sheet.set_column_width(0, 28)?;
    let cells = table.rows.iter().map(|row| {
        let cells = row.cells.iter().cloned().map(text);
        std::iter::once(text(row.first.clone()))
            .chain(cells)
            .collect()
    });
    write_rows(sheet, row, cells)
}

pub fn sources(sheet: &mut Worksheet, names: &mut Names, reduction: &Reduction) -> Done {
    let row = begin(
        sheet,
        &names.claim("Sources"),
        &title("Sources", reduction.simulated),
        &[
            "Workload",
            "Run",
            "Source",
            "Read at",
            "Of",
            "Clock",
            "Samples",
            "Figures",
            "Make",
            "Model",
            "Serial",
            "Firmware",
            "Calibrated",
        ],
    )?;
    sheet.set_column_width(3, 40)?;
    sheet.set_column_width(5, 50)?;
    let called = of_runs(&reduction.workloads);
    let of_run = |(run, called): (&WorkloadReduction, &RunNames)| {
        let row = |source: &filermark_energy_data::reduce::SourceView| {
            vec![
                text(called.title.clone()),
                text(called.run.clone()),
                text(source.name.clone()),
                text(source.location.clone()),
                text(source.role.clone()),
                text(source.clock.clone()),
                Cell::Number(Some(source.samples as f64), WHOLE),
                text(labels::source_figures(source)),
            ]
            .into_iter()
            .chain(
                source
                    .instrument
                    .fields()
                    .map(|(_, value)| text(value.clone().unwrap_or_default())),
            )
            .collect::<Vec<Cell>>()
        };
        run.sources.iter().map(row).collect::<Vec<_>>()
    };
    let runs = reduction.workloads.iter().zip(&called);
    write_rows(sheet, row, runs.flat_map(of_run))
}
