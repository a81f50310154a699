//! The driver that completes every operation at once: it has no parameters.

use super::entry::DriverParams;
use filermark_model::plan::{DriverPlan, NullPlan};

/// What it adds to the parameters.
pub(super) static DRIVER: DriverParams =
    DriverParams::new(NullPlan::DRIVER, |_, _| DriverPlan::NULL);
