//! Claiming a run directory on a mounted file system, and giving it back.
//!
//! The rules are [`filermark_driver_kit::claim`]'s; what they need of a mounted file system
//! is in `backend`. Everything blocks; nothing here is measured.

pub(crate) mod backend;
mod probe;
#[cfg(test)]
mod tests;

use crate::run_dir;
use crate::sys::Dir;
use backend::{Mounted, error};
use filermark_driver_kit::claim::lease::{LeaseWatch, SystemWatch};
use filermark_driver_kit::claim::{self as rules, ClaimRole, Emptied, RenewResult};
use filermark_driver_kit::driver::{ClaimReport, ReleaseScope};
use filermark_engine::driver::{Claim, DriverError};
use filermark_model::plan::{MountPoint, PosixPlan};

/// Makes the run's directory below `mount` and marks it as ours: what
/// [`Driver::claim`](filermark_driver_kit::driver::Driver::claim) promises. With
/// `plan.reuse_kept`, what an earlier run left stays.
///
/// # Errors
/// Missing, read-only, full, no permission, not ours, in use: one sentence each.
pub(crate) fn claim(
    plan: &PosixPlan,
    mount: &MountPoint,
    claim: &Claim,
    watch: &dyn LeaseWatch,
) -> Result<ClaimReport, DriverError> {
    let top = run_dir::reach(mount)?;
    let mut mounted = mounted(mount, claim, &top);
    let claimed = rules::claim(&mut mounted, claim, plan.reuse_kept, watch)?;
    let lacking = probe::lacking(&claimed.dir).map_err(|e| {
        // Nothing but the marker is in it where no other client is at work.
        if claimed.emptied == Emptied::default() {
            let _ = rules::release(&mut mounted, claim, ReleaseScope::Rest, watch);
        }
        error(&mounted.place, "see what the file system can do", e)
    })?;
    let mut found = report(&claimed.dir, claimed.emptied);
    found.lacking = lacking;
    found.nonce = claimed.nonce;
    Ok(found)
}

/// Removes the marker and the run's directory, and what is ours in it: what
/// [`Driver::release`](filermark_driver_kit::driver::Driver::release) promises.
///
/// # Errors
/// The directory cannot be reached or emptied, or belongs to another run by now;
/// names what stays.
pub(crate) fn release(
    mount: &MountPoint,
    claim: &Claim,
    reach: ReleaseScope,
    watch: &dyn LeaseWatch,
) -> Result<ClaimReport, DriverError> {
    let top = run_dir::reach(mount).map_err(|mut error| {
        error.advice = format!("{}/{} stays; {}", mount.path, claim.dir_name, error.advice);
        error
    })?;
    let emptied = rules::release(&mut mounted(mount, claim, &top), claim, reach, watch)?;
    Ok(report(&top, emptied))
}

/// Renews the marker: what [`Driver::renew`](filermark_driver_kit::driver::Driver::renew)
/// promises.
///
/// # Errors
/// What the file system said.
pub(crate) fn renew(
    mount: &MountPoint,
    claim: &Claim,
    turn: ClaimRole,
) -> Result<RenewResult, DriverError> {
    let top = run_dir::reach(mount)?;
    rules::renew(&mut mounted(mount, claim, &top), claim, turn, &SystemWatch)
}

/// What a mount point leads to and how much is free there; touches nothing. May take
/// half a minute where a file system does not answer.
///
/// # Errors
/// Missing, no directory, no permission, hanging: one sentence.
pub fn survey(mount: &MountPoint) -> Result<ClaimReport, DriverError> {
    run_dir::reach(mount).map(|top| report(&top, Emptied::default()))
}

fn mounted<'a>(mount: &MountPoint, claim: &'a Claim, top: &'a Dir) -> Mounted<'a> {
    Mounted::new(format!("{mount}/{}", claim.dir_name), &claim.dir_name, top)
}

fn report(dir: &Dir, emptied: Emptied) -> ClaimReport {
    let mut facts = dir.mount_facts();
    let space = dir.space().ok();
    if let Some(space) = space {
        let figures = [
            ("block bytes", space.block_bytes),
            ("total bytes", space.total_bytes),
            ("free bytes", space.free_bytes),
            ("free files", space.free_files),
        ];
        facts.extend(figures.map(|(name, value)| (name.to_owned(), value.to_string())));
    }
    ClaimReport {
        removed_count: emptied.removed_count,
        not_ours: emptied.not_ours,
        not_removed: emptied.not_removed,
        occupied: emptied.occupied,
        nonce: String::new(),
        transfer_bytes: (1 << 20, 1 << 20),
        space: space.map(Into::into),
        lacking: Vec::new(),
        server_facts: facts,
    }
}
