//! What a report of a run record is made with.

use crate::charts::{CHARTS, Chart};
use crate::templates::Templates;
use filermark_results::Historical;

/// For whom a report is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Edition {
    /// Everybody.
    #[default]
    Public,
    /// Those who check it: with all findings one by one, each with its figure, limit
    /// and source, and all details open.
    Reviewer,
}

/// What a report of a run record is made with.
#[derive(Clone, Copy, Debug)]
pub struct ReportOptions<'a> {
    /// What pages and texts are laid out by.
    pub templates: &'a Templates,
    /// For whom it is made.
    pub edition: Edition,
    /// Published systems of old, which nothing is compared with.
    pub beside: Option<&'a Historical>,
    /// What a drawing shows.
    pub chart: &'static Chart,
}

impl<'a> ReportOptions<'a> {
    /// For everybody, without systems of old.
    pub const fn new(templates: &'a Templates) -> Self {
        Self {
            templates,
            edition: Edition::Public,
            beside: None,
            chart: &CHARTS[0],
        }
    }
}
