//! Cells, rows, heads and names of sheets.

use super::super::figures::{efficiency, sound};
use super::super::labels;
use filermark_model::NOT_A_SPEC_RESULT;
use filermark_results::Timestamp;
use filermark_results::text::one_line;
use rust_xlsxwriter::{Format, Worksheet, XlsxError};
use std::collections::BTreeSet;

/// Most characters of a sheet's name in spreadsheets.
const NAME_CHARS_MAX: usize = 31;
/// Most characters of a cell.
const CELL_CHARS_MAX: usize = 32_000;
/// The row of the heads: above are title and notice.
const HEAD_ROW: u32 = 3;
/// 1970-01-01 as spreadsheets count days.
const UNIX_EPOCH_DAYS: f64 = 25_569.0;

pub type Done = Result<(), XlsxError>;

/// Names of sheets, each given once.
#[derive(Default)]
pub struct Names(BTreeSet<String>);

impl Names {
    /// A name that no other sheet has, without what spreadsheets forbid in one.
    pub fn claim(&mut self, wanted: &str) -> String {
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
            let suffix = match number {
                1 => String::new(),
                n => format!(" {n}"),
            };
            let width_left = NAME_CHARS_MAX - suffix.len();
            let kept: String = clean.chars().take(width_left).collect();
            let name = format!("{kept}{suffix}");
            if self.0.insert(name.to_lowercase()) {
                return name;
            }
        }
        clean.to_owned()
    }
}

/// What a cell holds.
pub enum Cell {
    Text(String),
    /// A number and its format.
    Number(Option<f64>, &'static str),
    /// A point in time.
    Time(Option<Timestamp>),
}

pub const WHOLE: &str = "0";
pub const SHORT: &str = "0.00";
pub const LONG: &str = "0.000000";
pub const SHARE: &str = "0.0%";

pub fn text(text: impl Into<String>) -> Cell {
    Cell::Text(text.into())
}

/// MiB/s per W with the digits that the other forms show: a spreadsheet would round it.
pub fn cut_cell(value: Option<f64>) -> Cell {
    let cut = sound(value).and_then(|v| efficiency(Some(v)).parse().ok());
    let is_small = cut.is_some_and(|v: f64| v != 0.0 && v.abs() < 1.0);
    Cell::Number(cut, if is_small { "General" } else { SHORT })
}

/// Writes title, notice and heads; returns the row after them.
pub fn begin(
    sheet: &mut Worksheet,
    name: &str,
    title: &str,
    heads: &[&str],
) -> Result<u32, XlsxError> {
    sheet.set_name(name)?;
    let bold = Format::new().set_bold();
    sheet.write_string_with_format(0, 0, title, &bold)?;
    let notice = format!("{NOT_A_SPEC_RESULT} {}", labels::NO_PROGRAMME_RESULT);
    sheet.write_string(1, 0, notice)?;
    let head = Format::new().set_bold().set_text_wrap();
    for (column, text) in (0..).zip(heads) {
        sheet.write_string_with_format(HEAD_ROW, column, *text, &head)?;
        sheet.set_column_width(column, 14)?;
    }
    sheet.set_freeze_panes(HEAD_ROW + 1, 1)?;
    Ok(HEAD_ROW + 1)
}

pub fn write_row(sheet: &mut Worksheet, row: u32, cells: &[Cell]) -> Done {
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

pub fn write_rows(
    sheet: &mut Worksheet,
    first: u32,
    rows: impl Iterator<Item = Vec<Cell>>,
) -> Done {
    for (row, cells) in (first..).zip(rows) {
        write_row(sheet, row, &cells)?;
    }
    Ok(())
}

/// A title, with the mark of made-up figures.
pub fn title(text: &str, simulated: bool) -> String {
    match simulated {
        true => format!("{text} ({})", labels::SIMULATED),
        false => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_sheets_are_valid_and_unique() {
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
