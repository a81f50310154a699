//! Resolution: from all sources to one plan, or to all mistakes at once.

use crate::classic::Classic;
use crate::composite::Composite;
use crate::composite::choose::{BenchmarkChoice, choose};
use crate::error::ConfigError;
use crate::given::gather;
use crate::params;
use crate::plan::build::build;
use crate::reading::{Reading, Reports};
use crate::resolved::Resolved;
use crate::sources::Sources;
use std::path::PathBuf;

/// Resolves an rc file and options into a plan.
///
/// # Errors
/// Everything that is wrong, in the order of the text.
pub fn resolve(sources: &Sources) -> Result<Resolved, Vec<ConfigError>> {
    let mut reports = Reports::default();
    sources.begin_inputs();
    let values = gather(sources, &mut reports.errors);
    let work_dir = PathBuf::from(values.get(&params::WORK_DIR));
    let mut r = Reading {
        values: &values,
        sources,
        reports,
    };
    match choose(&mut r, &work_dir) {
        BenchmarkChoice::Classic => build(&mut Classic { work_dir }, r),
        BenchmarkChoice::Composite(chosen) => build(&mut Composite { chosen }, r),
    }
}
