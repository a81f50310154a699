//! The energy report as a workbook: the tables as numbers, for calculations.
//!
//! The same reduction gives the same bytes: the workbook contains no creation time.

mod cells;
mod series;
mod sheets;

use filermark_energy_data::reduce::Reduction;
use rust_xlsxwriter::{DocProperties, ExcelDateTime, Workbook, XlsxError};

/// The workbook cannot be made: a defect, or more than a workbook holds.
#[derive(Debug, thiserror::Error)]
#[error("the workbook cannot be made: {0}")]
pub struct WorkbookError(#[from] XlsxError);

/// The workbook: Summary, a sheet for each run, Series, Findings, Best foot,
/// Worksheet, Sources.
///
/// # Errors
/// A sheet cannot be written.
pub fn xlsx(reduction: &Reduction) -> Result<Vec<u8>, WorkbookError> {
    let mut book = Workbook::new();
    let fixed = ExcelDateTime::from_ymd(2000, 1, 1)?;
    let properties = DocProperties::new()
        .set_title("Filermark energy report")
        .set_comment(filermark_model::NOT_A_SPEC_RESULT)
        .set_creation_datetime(&fixed);
    book.set_properties(&properties);
    let mut names = cells::Names::default();
    sheets::summary(book.add_worksheet(), &mut names, reduction)?;
    let called = super::names::of_runs(&reduction.workloads);
    for (run, called) in reduction.workloads.iter().zip(&called) {
        sheets::workload(book.add_worksheet(), &mut names, run, called)?;
    }
    series::series(book.add_worksheet(), &mut names, reduction)?;
    sheets::findings(book.add_worksheet(), &mut names, reduction)?;
    sheets::best_foot(book.add_worksheet(), &mut names, reduction)?;
    sheets::worksheet(book.add_worksheet(), &mut names, reduction)?;
    sheets::sources(book.add_worksheet(), &mut names, reduction)?;
    Ok(book.save_to_buffer()?)
}
