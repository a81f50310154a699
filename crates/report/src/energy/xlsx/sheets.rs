//! The sheets of the workbook.

use super::super::figures::{cut, mean, sound};
use super::super::rows::{self, best, mib_per_s};
use super::super::{csv::traffic_word, findings as found, words};
use filermark_energy::reduce::{
    BestFoot, DriveEfficiency, PointEfficiency, Reduction, Series, SeriesKind, Stats,
    WorkloadReduction,
};
use filermark_model::NOT_A_SPEC_RESULT;
use filermark_results::Timestamp;
use filermark_results::text::{one_line, severity_word};
use rust_xlsxwriter::{Format, Worksheet, XlsxError};
use std::collections::{BTreeMap, BTreeSet};

/// Most characters of a sheet's name, as spreadsheets have it.
const NAME_CHARS_MAX: usize = 31;
/// Most characters of a cell.
const CELL_CHARS_MAX: usize = 32_000;
/// Most rows of the series; a sheet holds some more than a million.
const SERIES_ROWS_MAX: usize = 200_000;
/// Most columns of the series.
const SERIES_COLUMNS_MAX: usize = 64;
/// The row of the heads: above are title and notice.
const HEAD_ROW: u32 = 3;
/// 1970-01-01 as spreadsheets count days.
const UNIX_EPOCH_DAYS: f64 = 25_569.0;

type Done = Result<(), XlsxError>;

/// Names of sheets, each given once.
#[derive(Default)]
pub struct Names(BTreeSet<String>);

impl Names {
    /// A name that no other sheet has, without what spreadsheets forbid in one.
    fn claim(&mut self, wanted: &str) -> String {
        let clean: String = one_line(wanted)
            .chars()
            .map(|c| if "[]:*?/\\'".contains(c) { '-' } else { c })
            // Spreadsheets count in UTF-16.
            .filter(|c| c.len_utf16() == 1)
            .collect();
        let clean = match clean.trim() {
            "" => "run",
            clean if clean.eq_ignore_ascii_case("history") => "run history",
            clean => clean,
        };
        for number in 1..=u32::MAX {
            let behind = match number {
                1 => String::new(),
                n => format!(" {n}"),
            };
            let room = NAME_CHARS_MAX - behind.len();
            let kept: String = clean.chars().take(room).collect();
            let name = format!("{kept}{behind}");
            if self.0.insert(name.to_lowercase()) {
                return name;
            }
        }
        clean.to_owned()
    }
}

/// What a cell holds.
enum Cell {
    Text(String),
    /// A number and its format.
    Number(Option<f64>, &'static str),
    /// A point in time.
    Time(Option<Timestamp>),
}

const WHOLE: &str = "0";
const SHORT: &str = "0.00";
const LONG: &str = "0.000000";
const SHARE: &str = "0.0%";

fn text(text: impl Into<String>) -> Cell {
    Cell::Text(text.into())
}

/// MiB/s per W, cut to two decimals: a spreadsheet would round it.
fn cut_cell(value: Option<f64>) -> Cell {
    let cut = sound(value).and_then(|v| cut(v, 2).parse().ok());
    Cell::Number(cut, SHORT)
}

/// Title, notice and heads; gives the row behind them.
fn begin(sheet: &mut Worksheet, name: &str, title: &str, heads: &[&str]) -> Result<u32, XlsxError> {
    sheet.set_name(name)?;
    let bold = Format::new().set_bold();
    sheet.write_string_with_format(0, 0, title, &bold)?;
    let notice = format!("{NOT_A_SPEC_RESULT} {}", words::NO_PROGRAMME_RESULT);
    sheet.write_string(1, 0, notice)?;
    let head = Format::new().set_bold().set_text_wrap();
    for (column, text) in (0..).zip(heads) {
        sheet.write_string_with_format(HEAD_ROW, column, *text, &head)?;
        sheet.set_column_width(column, 14)?;
    }
    sheet.set_freeze_panes(HEAD_ROW + 1, 1)?;
    Ok(HEAD_ROW + 1)
}

fn write_row(sheet: &mut Worksheet, row: u32, cells: &[Cell]) -> Done {
    for (column, cell) in (0..).zip(cells) {
        match cell {
            Cell::Text(text) => {
                let text: String = one_line(text).chars().take(CELL_CHARS_MAX).collect();
                sheet.write_string(row, column, text)?;
            }
            Cell::Number(value, form) => {
                if let Some(value) = sound(*value) {
                    let form = Format::new().set_num_format(*form);
                    sheet.write_number_with_format(row, column, value, &form)?;
                }
            }
            Cell::Time(at) => {
                if let Some(at) = at {
                    let days = at.unix_seconds() / 86_400.0 + UNIX_EPOCH_DAYS;
                    let form = Format::new().set_num_format("yyyy-mm-dd hh:mm:ss.000");
                    sheet.write_number_with_format(row, column, days, &form)?;
                }
            }
        }
    }
    Ok(())
}

fn write_rows(sheet: &mut Worksheet, first: u32, rows: impl Iterator<Item = Vec<Cell>>) -> Done {
    for (row, cells) in (first..).zip(rows) {
        write_row(sheet, row, &cells)?;
    }
    Ok(())
}

/// A title, with the mark of made-up figures.
fn title(text: &str, simulated: bool) -> String {
    match simulated {
        true => format!("{text} ({})", words::SIMULATED),
        false => text.to_owned(),
    }
}

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
    write_rows(sheet, row, reduction.workloads.iter().map(summary_row))
}

fn summary_row(run: &WorkloadReduction) -> Vec<Cell> {
    let point = best(run);
    vec![
        text(words::title(run)),
        text(words::name(&run.name)),
        cut_cell(point.and_then(|p| p.mib_per_s_per_w)),
        Cell::Number(point.and_then(|p| p.mib_per_s_per_w), LONG),
        Cell::Number(point.map(|p| f64::from(p.number)), WHOLE),
        Cell::Number(point.and_then(|p| p.load), "General"),
        text(words::name(&run.load_unit)),
        Cell::Number(point.and_then(|p| mib_per_s(run, p)), SHORT),
        Cell::Number(point.and_then(|p| mean(p.power_w)), SHORT),
        Cell::Number(point.and_then(|p| p.ops_per_s_per_w), LONG),
        Cell::Number(mean(run.idle), SHORT),
        Cell::Number(run.ready_idle_gb_per_w, SHORT),
        Cell::Number(run.drives.map(f64::from), WHOLE),
        text(traffic_word(run.traffic_from)),
        text(rows::figures_word(run)),
    ]
}

pub fn workload(sheet: &mut Worksheet, names: &mut Names, run: &WorkloadReduction) -> Done {
    let benchmark = words::title(run);
    let name = match run.benchmark.eq_ignore_ascii_case(&run.name) {
        true => benchmark.clone(),
        false => format!("{benchmark} {}", run.name),
    };
    let heading = format!("{benchmark}, run {}", words::name(&run.name));
    let traffic_head = words::traffic_head(run.traffic_from);
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
        "counts",
        "RUN began (UTC)",
        "RUN ended (UTC)",
        "figures",
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
        text(words::validity(point.valid)),
        Cell::Time(point.began),
        Cell::Time(point.ended),
        text(rows::figures_word(run)),
    ]
}

/// Every series of every run on one time axis: a row for each run and time.
pub fn series(sheet: &mut Worksheet, names: &mut Names, reduction: &Reduction) -> Done {
    let columns = series_columns(reduction);
    let mut heads = vec![
        "Workload".to_owned(),
        "Run".to_owned(),
        "Time (UTC)".to_owned(),
        "seconds since the run's begin".to_owned(),
        "figures".to_owned(),
    ];
    heads.extend(columns.iter().map(|(kind, label)| match label.is_empty() {
        true => words::column(*kind).to_owned(),
        false => format!("{}: {label}", words::column(*kind)),
    }));
    let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
    let mut row = begin(
        sheet,
        &names.claim("Series"),
        &title("Series", reduction.simulated),
        &heads,
    )?;
    sheet.set_column_width(2, 24)?;
    for run in &reduction.workloads {
        let began = rows::began(run);
        for (at, values) in by_time(run, &columns) {
            if row as usize > SERIES_ROWS_MAX {
                let said = format!("cut: more than {SERIES_ROWS_MAX} rows; the JSON has all");
                return write_row(sheet, row, &[text(said)]);
            }
            let seconds = began.map(|began| at.seconds_since(began));
            let mut cells = vec![
                text(words::title(run)),
                text(words::name(&run.name)),
                Cell::Time(Some(at)),
                Cell::Number(seconds, "0.000"),
                text(rows::figures_word(run)),
            ];
            cells.extend(values.into_iter().map(|v| Cell::Number(v, SHORT)));
            write_row(sheet, row, &cells)?;
            row += 1;
        }
    }
    Ok(())
}

/// The columns of all runs: sums by their kind, all else by kind and label.
fn series_columns(reduction: &Reduction) -> Vec<(SeriesKind, String)> {
    use SeriesKind as K;
    let mut columns = vec![
        (K::Power, String::new()),
        (K::Traffic, String::new()),
        (K::Throughput, String::new()),
    ];
    let all = reduction.workloads.iter().flat_map(|r| &r.series);
    for series in all.map(column_of) {
        if !columns.contains(&series) && columns.len() < SERIES_COLUMNS_MAX {
            columns.push(series);
        }
    }
    columns
}

fn column_of(series: &Series) -> (SeriesKind, String) {
    match series.kind {
        SeriesKind::Power | SeriesKind::Traffic | SeriesKind::Throughput => {
            (series.kind, String::new())
        }
        kind => (kind, words::name(&series.label)),
    }
}

fn by_time(
    run: &WorkloadReduction,
    columns: &[(SeriesKind, String)],
) -> BTreeMap<Timestamp, Vec<Option<f64>>> {
    let mut rows: BTreeMap<Timestamp, Vec<Option<f64>>> = BTreeMap::new();
    for series in &run.series {
        let wanted = column_of(series);
        let Some(place) = columns.iter().position(|c| *c == wanted) else {
            continue;
        };
        for (at, value) in &series.values {
            let row = rows.entry(*at).or_insert_with(|| vec![None; columns.len()]);
            if let Some(cell) = row.get_mut(place) {
                *cell = *value;
            }
        }
    }
    rows
}

pub fn findings(sheet: &mut Worksheet, names: &mut Names, reduction: &Reduction) -> Done {
    let row = begin(
        sheet,
        &names.claim("Findings"),
        &title("Findings", reduction.simulated),
        &["Severity", "Rule", "Run", "Load point", "What"],
    )?;
    sheet.set_column_width(4, 100)?;
    let rows = found::placed(reduction).into_iter().map(|placed| {
        let point = (placed.point > 0).then(|| f64::from(placed.point));
        vec![
            text(severity_word(placed.finding.severity)),
            text(words::rule(placed.finding.rule)),
            text(found::run_name(reduction, &placed).unwrap_or_default()),
            Cell::Number(point, WHOLE),
            text(found::message(&placed)),
        ]
    });
    write_rows(sheet, row, rows)
}

pub fn best_foot(sheet: &mut Worksheet, names: &mut Names, reduction: &Reduction) -> Done {
    let plans = &reduction.best_foot;
    let is_simulated = |plan: &BestFoot| rows::plan_is_simulated(reduction, plan);
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
        let measured = rows::drives_table(plan)
            .rows
            .into_iter()
            .zip(&plan.measured);
        let mut all: Vec<Vec<Cell>> = measured
            .map(|(row, one)| drive_row(plan, one, row.cells.last()))
            .collect();
        let sentences = rows::range_sentences(plan);
        let next = plan.next.iter().map(|n| format!("Next: {n}"));
        all.extend(sentences.into_iter().chain(next).map(|sentence| {
            let benchmark = text(words::name(&plan.benchmark));
            let none = || Cell::Number(None, WHOLE);
            vec![benchmark, none(), none(), none(), none(), text(sentence)]
        }));
        all
    };
    write_rows(sheet, row, plans.iter().flat_map(of_plan))
}

fn drive_row(plan: &BestFoot, one: &DriveEfficiency, standing: Option<&String>) -> Vec<Cell> {
    vec![
        text(words::name(&plan.benchmark)),
        Cell::Number(Some(f64::from(one.drives)), WHOLE),
        cut_cell(Some(one.mib_per_s_per_w)),
        Cell::Number(Some(one.mib_per_s_per_w), LONG),
        text(words::name(&one.run)),
        text(standing.cloned().unwrap_or_default()),
    ]
}

pub fn sources(sheet: &mut Worksheet, names: &mut Names, reduction: &Reduction) -> Done {
    let row = begin(
        sheet,
        &names.claim("Sources"),
        &title("Sources", reduction.simulated),
        &[
            "Workload", "Run", "Source", "Read at", "Of", "Clock", "Samples", "Figures",
        ],
    )?;
    sheet.set_column_width(3, 40)?;
    sheet.set_column_width(5, 50)?;
    let of_run = |run: &WorkloadReduction| {
        let (title, name) = (words::title(run), words::name(&run.name));
        let row = |source: &filermark_energy::reduce::SourceView| {
            vec![
                text(title.clone()),
                text(name.clone()),
                text(source.name.clone()),
                text(source.location.clone()),
                text(source.role.clone()),
                text(source.clock.clone()),
                Cell::Number(Some(source.samples as f64), WHOLE),
                text(match source.simulated {
                    true => words::SIMULATED,
                    false => "measured",
                }),
            ]
        };
        run.sources.iter().map(row).collect::<Vec<_>>()
    };
    write_rows(sheet, row, reduction.workloads.iter().flat_map(of_run))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sheets_have_names_that_spreadsheets_take() {
        let mut names = Names::default();
        assert_eq!(names.claim("Summary"), "Summary");
        assert_eq!(names.claim("summary"), "summary 2");
        assert_eq!(names.claim("a/b:c*d?e[f]g\\h'"), "a-b-c-d-e-f-g-h-");
        assert_eq!(names.claim("  "), "run");
        assert_eq!(names.claim("History"), "run history");
        let long = names.claim(&"x".repeat(40));
        assert_eq!(long.len(), 31);
        let second = names.claim(&"x".repeat(50));
        assert_eq!((second.len(), second.ends_with("x 2")), (31, true));
    }
}
