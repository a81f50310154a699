//! The energy report: the efficiency figures of merged logs as a page, a text, tables and a
//! workbook.
//!
//! [`html()`], [`text()`], [`csv()`], [`xlsx()`] and [`json()`] render one
//! [`Reduction`](filermark_energy_data::reduce::Reduction). They read no file and no clock,
//! and compute none of its figures. Made-up figures are marked in each of them. Efficiency
//! with few digits ([`efficiency`](figures::efficiency())) is cut, never rounded up.

mod charts;
mod csv;
mod figures;
mod findings;
mod group_similar;
mod html;
mod json;
mod labels;
mod names;
mod plan;
mod rows;
mod text;
mod xlsx;

#[cfg(test)]
mod tests;

pub use csv::{CSV_COLUMNS, csv};
pub use figures::{cut, efficiency};
pub use html::{TEMPLATES, html, html_by, templates};
pub use json::{FORMAT, json};
pub use labels::{NO_PROGRAMME_RESULT, SIMULATED};
pub use text::text;
pub use xlsx::{WorkbookError, xlsx};
