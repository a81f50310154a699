//! The chart over time as a table.

use super::axis::span;
use super::timeline::{drawn, is_part, time_unit, times};
use crate::figures::short;
use crate::rows::{Row, Table};
use crate::{labels, names};
use filermark_energy_data::reduce::{Series, WorkloadReduction};

/// Rows of the table of the chart.
const SLICES: usize = 24;
/// Columns of that table.
const SLICE_COLUMNS_MAX: usize = 6;

/// The chart's figures for screen readers: the time in equal parts, and the least and the
/// greatest value of every line that is not a part of another.
pub fn slices_table(run: &WorkloadReduction) -> Option<Table> {
    let all = drawn(run);
    let (from, to) = times(run, &all)?;
    let whole: Vec<&Series> = all.iter().copied().filter(|s| !is_part(s.kind)).collect();
    let columns: Vec<&Series> = whole.into_iter().take(SLICE_COLUMNS_MAX).collect();
    if columns.is_empty() {
        return None;
    }
    let (unit_s, unit) = time_unit(to - from);
    let length = (to - from) / SLICES as f64;
    let row = |slice: usize| {
        let begin = from + length * slice as f64;
        // The very last value belongs to the last part.
        let end = if slice + 1 == SLICES {
            f64::INFINITY
        } else {
            begin + length
        };
        let cell = |s: &&Series| {
            let within = s.values.iter().filter(|(at, _)| {
                let at = at.unix_seconds();
                at >= begin && at < end
            });
            match span(within.filter_map(|(_, v)| *v)) {
                None => crate::figures::NONE.to_owned(),
                Some((low, high)) => format!("{} to {}", short(Some(low)), short(Some(high))),
            }
        };
        Row {
            first: format!("{:.1}", length * slice as f64 / unit_s),
            cells: columns.iter().map(cell).collect(),
            class: "",
        }
    };
    Some(Table {
        first: unit,
        heads: columns
            .iter()
            .map(|s| (names::source(run, &s.label), labels::name(&s.unit)))
            .collect(),
        rows: (0..SLICES).map(row).collect(),
    })
}
