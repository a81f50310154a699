//! This driver in the list of drivers.

use crate::driver::NfsDriver;
use crate::survey::servers;
use crate::validate::validate;
use filermark_driver_kit::driver::Driver;
use filermark_driver_kit::spec::{DriverSpec, Validate, Validated};
use filermark_driver_kit::survey::{Survey, Surveyed};
use filermark_model::plan::{DriverPlan, NfsPlan};
use std::sync::Arc;

/// The driver of NFS.
pub static DRIVER: DriverSpec = DriverSpec {
    name: NfsPlan::DRIVER,
    open,
    survey,
    validate: Some(check),
};

fn open(plan: &DriverPlan) -> Option<Arc<dyn Driver>> {
    Some(Arc::new(NfsDriver::new(NfsPlan::of(plan)?.clone())))
}

fn survey(plan: &DriverPlan, what: &Survey<'_>) -> Option<Surveyed> {
    Some(servers::look(NfsPlan::of(plan)?, what))
}

fn check(plan: &DriverPlan, what: Validate<'_>) -> Option<Validated> {
    let plan = NfsPlan::of(plan)?;
    let report = validate(
        plan, what.mount, what.claim, what.level, what.stop, what.sink,
    );
    Some(Validated {
        report,
        // NFS has no login.
        user_is_refused: false,
    })
}
