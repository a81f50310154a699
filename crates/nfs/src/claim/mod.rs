//! Claiming a run directory on a server, and giving it back.
//!
//! The rules are [`filermark_driver_kit::claim`]'s; what they need of NFS is in `backend`.
//! Everything blocks; nothing here is measured.

mod backend;

use crate::target::Target;
use backend::Export;
use filermark_driver_kit::claim::lease::{LeaseWatch, SystemWatch};
use filermark_driver_kit::claim::{self as rules, ClaimRole, Emptied, RenewResult};
use filermark_driver_kit::driver::{ClaimReport, ReleaseScope};
use filermark_engine::driver::{Claim, DriverError};
use filermark_model::plan::{MountPoint, NfsPlan};
use filermark_onc::nfs3::Fh;

/// Reaches `mount`, makes the run's directory and marks it as ours: what
/// [`Driver::claim`](filermark_driver_kit::driver::Driver::claim) promises. Also tells where
/// the server was reached.
///
/// # Errors
/// Unreachable, refused, read-only, full, not ours, in use: one sentence each.
pub fn claim(
    plan: &NfsPlan,
    mount: &MountPoint,
    claim: &Claim,
    watch: &dyn LeaseWatch,
) -> Result<(ClaimReport, Target), DriverError> {
    let target = Target::resolve(mount, plan)?;
    let (report, _) = claim_on(plan, &target, claim, watch)?;
    Ok((report, target))
}

/// [`claim`] on a target that is resolved already, with nobody to tell; also the
/// directory's handle.
///
/// # Errors
/// As [`claim`].
pub fn claim_at(
    plan: &NfsPlan,
    target: &Target,
    claim: &Claim,
) -> Result<(ClaimReport, Fh), DriverError> {
    claim_on(plan, target, claim, &SystemWatch)
}

fn claim_on(
    plan: &NfsPlan,
    target: &Target,
    claim: &Claim,
    watch: &dyn LeaseWatch,
) -> Result<(ClaimReport, Fh), DriverError> {
    let mut export = Export::new(plan, target, claim);
    let claimed = rules::claim(&mut export, claim, false, watch)?;
    let mut report = report(target, claimed.emptied);
    report.nonce = claimed.nonce;
    Ok((report, claimed.dir))
}

/// Removes the marker and the run's directory, and what is ours in it: what
/// [`Driver::release`](filermark_driver_kit::driver::Driver::release) promises.
///
/// # Errors
/// The server could not be reached or refused, or the directory belongs to
/// another run by now; names what stays.
pub fn release(
    plan: &NfsPlan,
    mount: &MountPoint,
    claim: &Claim,
    reach: ReleaseScope,
    watch: &dyn LeaseWatch,
) -> Result<ClaimReport, DriverError> {
    let target = Target::resolve(mount, plan).map_err(|mut error| {
        error.advice = format!("{}/{} stays; {}", mount.path, claim.dir_name, error.advice);
        error
    })?;
    release_on(plan, &target, claim, reach, watch)
}

/// [`release`] on a target that is resolved already, with nobody to tell.
///
/// # Errors
/// As [`release`].
pub fn release_at(
    plan: &NfsPlan,
    target: &Target,
    claim: &Claim,
    reach: ReleaseScope,
) -> Result<ClaimReport, DriverError> {
    release_on(plan, target, claim, reach, &SystemWatch)
}

fn release_on(
    plan: &NfsPlan,
    target: &Target,
    claim: &Claim,
    reach: ReleaseScope,
    watch: &dyn LeaseWatch,
) -> Result<ClaimReport, DriverError> {
    let mut export = Export::new(plan, target, claim);
    let emptied = rules::release(&mut export, claim, reach, watch)?;
    target.unmount(plan);
    Ok(report(target, emptied))
}

/// Renews the marker: what [`Driver::renew`](filermark_driver_kit::driver::Driver::renew)
/// promises.
///
/// # Errors
/// The server could not be reached or refused.
pub fn renew(
    plan: &NfsPlan,
    target: &Target,
    claim: &Claim,
    turn: ClaimRole,
) -> Result<RenewResult, DriverError> {
    rules::renew(
        &mut Export::new(plan, target, claim),
        claim,
        turn,
        &SystemWatch,
    )
}

fn report(target: &Target, emptied: Emptied) -> ClaimReport {
    ClaimReport {
        removed_count: emptied.removed_count,
        not_ours: emptied.not_ours,
        not_removed: emptied.not_removed,
        occupied: emptied.occupied,
        nonce: String::new(),
        transfer_bytes: (target.rsize, target.wsize),
        space: target.space(),
        server_facts: target.facts(),
        lacking: target.warnings(),
    }
}
