//! An entry of the list of drivers: the name of a driver, and the functions that the rest
//! of the program calls.

use crate::driver::Driver;
use crate::survey::{Survey, Surveyed};
use crate::validation::{CheckResult, Level, Report};
use filermark_engine::driver::{Claim, DriverError, StopFlag};
use filermark_model::plan::{DriverPlan, MountPoint};
use std::sync::Arc;

/// A driver. The functions return `None` for a plan of another driver.
#[derive(Debug)]
pub struct DriverSpec {
    /// Its name in plans and records.
    pub name: &'static str,
    /// Makes it, with the settings of a plan. Does not connect.
    pub open: fn(&DriverPlan) -> Option<Arc<dyn Driver>>,
    /// Inspects the mount points of a plan before a run. Leaves no files behind.
    pub survey: SurveyFn,
    /// Runs the checks of its protocol. Absent: there is no protocol to check.
    pub validate: Option<ValidateFn>,
}

/// Inspects mount points with the settings of a plan.
pub type SurveyFn = fn(&DriverPlan, &Survey<'_>) -> Option<Surveyed>;

/// Runs checks with the settings of a plan.
pub type ValidateFn = fn(&DriverPlan, Validate<'_>) -> Option<Validated>;

/// What is to be validated, and how.
pub struct Validate<'a> {
    /// The mount point.
    pub mount: &'a MountPoint,
    /// The directory that is claimed for it.
    pub claim: &'a Claim,
    /// How many checks are run.
    pub level: Level,
    /// Ends it after the present check when raised.
    pub stop: &'a StopFlag,
    /// Gets each result when it is known.
    pub sink: &'a mut dyn FnMut(&CheckResult),
}

/// The result of a validation.
#[derive(Debug)]
pub struct Validated {
    /// The results; or why nothing could be checked.
    pub report: Result<Report, DriverError>,
    /// Whether the server has refused the user.
    pub user_is_refused: bool,
}
