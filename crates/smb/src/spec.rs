//! This driver in the list of drivers.

use crate::driver::SmbDriver;
use crate::login::LoginRefusals;
use crate::survey::shares;
use crate::validate::validate;
use filermark_driver_kit::driver::Driver;
use filermark_driver_kit::spec::{DriverSpec, Validate, Validated};
use filermark_driver_kit::survey::{Survey, Surveyed};
use filermark_model::plan::{DriverPlan, SmbPlan};
use std::sync::Arc;

/// The driver of SMB.
pub static DRIVER: DriverSpec = DriverSpec {
    name: SmbPlan::DRIVER,
    open,
    survey,
    validate: Some(check),
};

fn open(plan: &DriverPlan) -> Option<Arc<dyn Driver>> {
    Some(Arc::new(SmbDriver::new(SmbPlan::of(plan)?.clone())))
}

fn survey(plan: &DriverPlan, what: &Survey<'_>) -> Option<Surveyed> {
    Some(shares::look(SmbPlan::of(plan)?, what))
}

fn check(plan: &DriverPlan, what: Validate<'_>) -> Option<Validated> {
    let plan = SmbPlan::of(plan)?;
    let refusals = LoginRefusals::default();
    let report = validate(
        plan, what.mount, what.claim, what.level, what.stop, &refusals, what.sink,
    );
    Some(Validated {
        report,
        user_is_refused: refusals.is_refused(),
    })
}
