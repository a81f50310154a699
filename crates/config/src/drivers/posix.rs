//! Parameters of the driver of mounted file systems.

use super::entry::{DriverParams, DriverRequest};
use crate::params::{self, Param};
use crate::reading::{Reading, reuse};
use filermark_model::plan::{DriverPlan, PosixPlan};

/// What it adds to the parameters. Those of 2014 and Filermark's own for composites are declared
/// together (`params/composite.rs`).
pub(super) static DRIVER: DriverParams = DriverParams::new(PosixPlan::DRIVER, settings);

fn settings(r: &mut Reading<'_>, _: &DriverRequest<'_>) -> DriverPlan {
    let values = r.values;
    DriverPlan::Posix(PosixPlan {
        no_fsync: values.get(&params::DISABLE_FSYNCS),
        open_files_max: values.get(&params::MAX_FD),
        reuse_kept: reuse(values),
        drop_caches: values.get(&params::DROP_CACHES),
        custom: [
            command(r, &params::CUSTOM1_CMD),
            command(r, &params::CUSTOM2_CMD),
        ],
    })
}

/// A program and its arguments.
fn command(r: &mut Reading<'_>, parameter: &Param<Vec<String>>) -> Vec<String> {
    let name = parameter.name;
    let words = r.values.get(parameter);
    if words.first().is_some_and(|w| w.starts_with('-')) {
        r.refuse(
            parameter,
            format!("{name} begins with an option, not with a program"),
            format!("write {name}=\"program argument ...\""),
        );
    }
    words
}
