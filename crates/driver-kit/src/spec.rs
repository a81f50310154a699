//! A driver as the list of drivers has it: its name, and the functions by which the rest of
//! the program reaches it.

use crate::driver::Driver;
use crate::survey::{Survey, Surveyed};
use crate::validation::{CheckResult, Level, Report};
use filermark_engine::driver::{Claim, DriverError, StopFlag};
use filermark_model::plan::{DriverPlan, MountPoint};
use std::sync::Arc;

/// A driver. The functions give `None` for a plan of another driver.
#[derive(Debug)]
pub struct DriverSpec {
    /// Its name, as plans and records have it.
    pub name: &'static str,
    /// Makes it, with the settings of a plan. Nothing is reached yet.
    pub open: fn(&DriverPlan) -> Option<Arc<dyn Driver>>,
    /// Looks at what a plan works on, before a run. Nothing is left behind.
    pub survey: SurveyFn,
    /// Runs the checks of its protocol. Absent: there is no protocol to check.
    pub validate: Option<ValidateFn>,
}

/// Looks at mount points with the settings of a plan.
pub type SurveyFn = fn(&DriverPlan, &Survey<'_>) -> Option<Surveyed>;

/// Runs checks with the settings of a plan.
pub type ValidateFn = fn(&DriverPlan, Validate<'_>) -> Option<Validated>;

/// What is to be validated, and how.
pub struct Validate<'a> {
    /// Where.
    pub mount: &'a MountPoint,
    /// The directory that is claimed for it.
    pub claim: &'a Claim,
    /// How thorough.
    pub level: Level,
    /// Ends it after the present check when raised.
    pub stop: &'a StopFlag,
    /// Gets each result when it is known.
    pub sink: &'a mut dyn FnMut(&CheckResult),
}

/// What came of a validation.
#[derive(Debug)]
pub struct Validated {
    /// The results; or why nothing could be checked.
    pub report: Result<Report, DriverError>,
    /// Whether the server has refused the user.
    pub user_is_refused: bool,
}
