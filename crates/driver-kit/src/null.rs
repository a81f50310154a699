//! The null driver for agents: every claim succeeds, nothing is claimed.

use crate::claim::lease::Watch;
use crate::driver::{ClaimReport, Driver, Reach};
use filermark_engine::driver::{Claim, DriverError};
use filermark_engine::null::NullDriver;
use filermark_model::plan::MountPoint;

impl Driver for NullDriver {
    fn name(&self) -> &'static str {
        "null"
    }

    fn claim_watched(
        &self,
        _: &MountPoint,
        _: &Claim,
        _: &dyn Watch,
    ) -> Result<ClaimReport, DriverError> {
        Ok(ClaimReport::default())
    }

    fn release_watched(
        &self,
        _: &MountPoint,
        _: &Claim,
        _: Reach,
        _: &dyn Watch,
    ) -> Result<ClaimReport, DriverError> {
        Ok(ClaimReport::default())
    }
}
