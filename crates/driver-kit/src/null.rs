//! The null driver for agents: every claim succeeds, nothing is claimed.

use crate::claim::lease::LeaseWatch;
use crate::claim::{ClaimRole, RenewResult};
use crate::driver::{ClaimReport, Driver, ReleaseScope};
use crate::spec::DriverSpec;
use crate::survey::{Survey, Surveyed};
use filermark_engine::driver::{Claim, DriverError};
use filermark_engine::null::NullDriver;
use filermark_model::plan::{DriverPlan, MountPoint, NullPlan};
use std::sync::Arc;

/// The null driver in the list of drivers.
pub static DRIVER: DriverSpec = DriverSpec {
    name: NullPlan::DRIVER,
    open,
    survey,
    validate: None,
};

fn open(plan: &DriverPlan) -> Option<Arc<dyn Driver>> {
    NullPlan::of(plan)?;
    Some(Arc::new(NullDriver))
}

/// There is nothing to look at.
fn survey(plan: &DriverPlan, _: &Survey<'_>) -> Option<Surveyed> {
    NullPlan::of(plan).map(|_| Surveyed::default())
}

impl Driver for NullDriver {
    fn name(&self) -> &'static str {
        NullPlan::DRIVER
    }

    fn claim_watched(
        &self,
        _: &MountPoint,
        _: &Claim,
        _: &dyn LeaseWatch,
    ) -> Result<ClaimReport, DriverError> {
        Ok(ClaimReport::default())
    }

    fn release_watched(
        &self,
        _: &MountPoint,
        _: &Claim,
        _: ReleaseScope,
        _: &dyn LeaseWatch,
    ) -> Result<ClaimReport, DriverError> {
        Ok(ClaimReport::default())
    }

    /// There is no marker that could be lost.
    fn renew(&self, _: &MountPoint, _: &Claim, _: ClaimRole) -> Result<RenewResult, DriverError> {
        Ok(RenewResult::Done)
    }
}
