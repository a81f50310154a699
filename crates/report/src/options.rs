//! The options of a report of a run record.

use crate::charts::{CHARTS, Chart};
use crate::templates::Templates;
use filermark_results::Historical;

/// The readers of a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Edition {
    /// All readers.
    #[default]
    Public,
    /// Reviewers: with all findings one by one, each with its figure, limit
    /// and source, and all details open.
    Reviewer,
}

/// The options of a report of a run record.
#[derive(Clone, Copy, Debug)]
pub struct ReportOptions<'a> {
    /// The templates of pages and texts.
    pub templates: &'a Templates,
    /// Its readers.
    pub edition: Edition,
    /// Published historical systems; nothing is compared with them.
    pub historical: Option<&'a Historical>,
    /// The chart of a drawing.
    pub chart: &'static Chart,
    /// Further percentiles of JSON.
    pub percentiles: &'a [f64],
}

impl<'a> ReportOptions<'a> {
    /// For all readers, without historical systems.
    pub const fn new(templates: &'a Templates) -> Self {
        Self {
            templates,
            edition: Edition::Public,
            historical: None,
            chart: &CHARTS[0],
            percentiles: &[],
        }
    }
}
