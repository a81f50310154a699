//! The drivers that this program has. Agents, `validate` and the benchmark program find
//! the driver of a plan here, by its name.

use filermark_driver_kit::driver::Driver;
use filermark_driver_kit::spec::DriverSpec;
use filermark_model::plan::DriverPlan;
use std::sync::Arc;

pub use filermark_posix::takes_direct;

macro_rules! list {
    ($([$($entry:tt)+])+) => {
        /// All of them: those of the list in `model/src/plan/driver.rs`.
        pub static DRIVERS: &[&DriverSpec] = &[$(&$($entry)+::DRIVER),+];
    };
}
filermark_model::for_each_driver!(list);

/// The driver of a plan; `None`: this program does not have it.
pub fn find(plan: &DriverPlan) -> Option<&'static DriverSpec> {
    find_in(DRIVERS, plan)
}

/// The driver of a plan in a list of drivers.
pub fn find_in<'a>(drivers: &[&'a DriverSpec], plan: &DriverPlan) -> Option<&'a DriverSpec> {
    let name = plan.name();
    drivers.iter().copied().find(|driver| driver.name == name)
}

/// Makes the driver of a plan, with its settings. It connects to nothing yet.
///
/// # Errors
/// This program does not have it.
pub fn open(plan: &DriverPlan) -> Result<Arc<dyn Driver>, String> {
    find(plan)
        .and_then(|driver| (driver.open)(plan))
        .ok_or_else(|| format!("this build has no driver '{}'", plan.name()))
}
