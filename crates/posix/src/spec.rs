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
    name: PosixPlan::DRIVER,
    open,
    survey,
    validate: None,
};

fn open(plan: &DriverPlan) -> Option<Arc<dyn Driver>> {
    Some(Arc::new(PosixDriver::new(PosixPlan::of(plan)?.clone())))
}

fn survey(plan: &DriverPlan, what: &Survey<'_>) -> Option<Surveyed> {
    PosixPlan::of(plan)?;
    Some(look(plan, what))
}
