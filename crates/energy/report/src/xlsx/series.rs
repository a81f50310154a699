//! The sheet of series.

use super::super::{labels, names as called_names, rows};
use super::cells::{Cell, Done, Names, SHORT, begin, text, title, write_row};
use filermark_energy_data::reduce::{Reduction, Series, SeriesKind, WorkloadReduction};
use filermark_results::Timestamp;
use rust_xlsxwriter::Worksheet;
use std::collections::BTreeMap;

/// Most rows of the series; a sheet holds some more than a million.
const SERIES_ROWS_MAX: usize = 200_000;
/// Most columns of the series.
const SERIES_COLUMNS_MAX: usize = 64;

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
        true => labels::column(*kind).to_owned(),
        false => format!("{}: {label}", labels::column(*kind)),
    }));
    let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
    let mut row = begin(
        sheet,
        &names.claim("Series"),
        &title("Series", reduction.simulated),
        &heads,
    )?;
    sheet.set_column_width(2, 24)?;
    let called = called_names::of_runs(&reduction.workloads);
    for (run, called) in reduction.workloads.iter().zip(&called) {
        let began = rows::began(run);
        for (at, values) in by_time(run, &columns) {
            if row as usize > SERIES_ROWS_MAX {
                let note = format!("cut: more than {SERIES_ROWS_MAX} rows; the JSON has all");
                return write_row(sheet, row, &[text(note)]);
            }
            let seconds = began.map(|began| at.seconds_since(began));
            let mut cells = vec![
                text(called.title.clone()),
                text(called.run.clone()),
                Cell::Time(Some(at)),
                Cell::Number(seconds, "0.000"),
                text(rows::figures_label(run)),
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
        kind => (kind, labels::name(&series.label)),
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
