//! This driver in the list of drivers.

use crate::driver::PosixDriver;
use crate::survey::look;
use filermark_driver_kit::driver::Driver;
use filermark_driver_kit::spec::DriverSpec;
use filermark_driver_kit::survey::{Survey, Surveyed};
use filermark_model::plan::{DriverPlan, PosixPlan};
use std::sync::Arc;

/// The driver of mounted file systems.
pub static DRIVER: DriverSpec = DriverSpec {
    name: "posix",
    open,
    survey,
    validate: None,
};

const fn settings(plan: &DriverPlan) -> Option<&PosixPlan> {
    match plan {
        DriverPlan::Posix(settings) => Some(settings),
        _ => None,
    }
}

fn open(plan: &DriverPlan) -> Option<Arc<dyn Driver>> {
    Some(Arc::new(PosixDriver::new(settings(plan)?.clone())))
}

fn survey(plan: &DriverPlan, what: &Survey<'_>) -> Option<Surveyed> {
    settings(plan)?;
    Some(look(plan, what))
}
