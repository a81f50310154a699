//! Run directories of the drivers that have some: one implementation of [`Driver`], over what a
//! driver does to reach a mount point. The rules of claiming are in [`crate::claim`].

use crate::claim::lease::{LeaseWatch, SystemWatch};
use crate::claim::{self as rules, ClaimRole, Emptied, RenewResult, RunDirBackend};
use crate::driver::{ClaimReport, Driver, FetchedBytes, ReleaseScope};
use crate::nonces::Nonces;
use filermark_engine::driver::{Claim, DriverError, LoadDriver};
use filermark_model::plan::MountPoint;
use filermark_model::survey::Space;

/// A mount point that a driver has reached, for the blocking work around a run.
pub trait MountSession {
    /// A directory in it that was found.
    type Dir;
    /// The run directory in it, as the rules of claiming see it.
    type Backend<'a>: RunDirBackend<Dir = Self::Dir>
    where
        Self: 'a;

    /// The run directory of a claim.
    fn backend<'a>(&'a mut self, claim: &'a Claim) -> Self::Backend<'a>;

    /// What the mount point says of itself: server, limits, space. `claimed` is the run
    /// directory that was just claimed.
    fn report(&mut self, claimed: Option<&Self::Dir>) -> ClaimReport;

    /// What the file system of a claimed directory lacks; one sentence each.
    ///
    /// # Errors
    /// It cannot be worked on at all.
    fn lacking(&mut self, _claim: &Claim, _dir: &Self::Dir) -> Result<Vec<String>, DriverError> {
        Ok(Vec::new())
    }

    /// The space of its file system; `None`: the server does not state it.
    ///
    /// # Errors
    /// It could not be asked.
    fn space(&mut self) -> Result<Option<Space>, DriverError>;

    /// Ends it. `is_needed`: the run goes on working on the mount point, or something of it is
    /// still there.
    fn close(&mut self, _is_needed: bool) {}
}

/// A driver that works in run directories. [`Driver`] follows from it.
pub trait RunDirDriver: LoadDriver {
    /// A mount point that it has reached.
    type Session<'a>: MountSession
    where
        Self: 'a;

    /// Its name in messages.
    fn label(&self) -> &'static str;

    /// Reaches a mount point. Blocking.
    ///
    /// # Errors
    /// Unreachable, refused: see [`DriverError`].
    fn reach(&self, mount: &MountPoint) -> Result<Self::Session<'_>, DriverError>;

    /// The nonces of what it has claimed, if it needs them.
    fn nonces(&self) -> Option<&Nonces> {
        None
    }

    /// Whether files that an earlier run left stay, and are used again.
    fn keeps_files(&self) -> bool {
        false
    }

    /// The run directory, for people.
    fn run_dir_text(&self, mount: &MountPoint, claim: &Claim) -> String {
        format!("{}/{}", mount.path, claim.dir_name)
    }

    /// Forgets where the run directory of a mount point is: it is about to be claimed anew, or
    /// removed.
    fn forget(&self, _mount: &MountPoint) {}

    /// Notes a mount point that was claimed.
    fn note_claimed(&self, _mount: &MountPoint, _session: Self::Session<'_>) {}

    /// Looks whether there is something that can be released.
    ///
    /// # Errors
    /// What was claimed is out of reach, and stays.
    fn check_release(&self, _mount: &MountPoint, _claim: &Claim) -> Result<(), DriverError> {
        Ok(())
    }

    /// Reaches a mount point to renew a marker.
    ///
    /// # Errors
    /// As [`Self::reach`].
    fn reach_to_renew(&self, mount: &MountPoint) -> Result<Self::Session<'_>, DriverError> {
        self.reach(mount)
    }

    /// Notes how a renewal ended, of which `session` is what is left.
    fn note_renewed(&self, _mount: &MountPoint, _session: Self::Session<'_>, _is_done: bool) {}

    /// As [`Driver::fetched`].
    fn fetched_bytes(&self, _mount: &MountPoint) -> Option<FetchedBytes> {
        None
    }
}

/// Claims the run directory at a mount point that was reached; also gives the directory.
///
/// # Errors
/// Refused, read-only, full, not ours, in use: one sentence each.
pub fn claim_in<S: MountSession>(
    session: &mut S,
    claim: &Claim,
    keep: bool,
    watch: &dyn LeaseWatch,
) -> Result<(ClaimReport, S::Dir), DriverError> {
    let claimed = claim_open(session, claim, keep, watch);
    session.close(true);
    claimed
}

fn claim_open<S: MountSession>(
    session: &mut S,
    claim: &Claim,
    keep: bool,
    watch: &dyn LeaseWatch,
) -> Result<(ClaimReport, S::Dir), DriverError> {
    let claimed = rules::claim(&mut session.backend(claim), claim, keep, watch)?;
    let lacking = session.lacking(claim, &claimed.dir).inspect_err(|_| {
        // Nothing but the marker is in it where no other client is at work.
        if claimed.emptied == Emptied::default() {
            let rest = ReleaseScope::Rest;
            let _ = rules::release(&mut session.backend(claim), claim, rest, watch);
        }
    })?;
    let mut report = with(session.report(Some(&claimed.dir)), claimed.emptied);
    report.lacking.extend(lacking);
    report.nonce = claimed.nonce;
    Ok((report, claimed.dir))
}

/// Removes the marker and the run directory, and what is ours in it.
///
/// # Errors
/// The server refused, or the directory belongs to another run by now; names what stays.
pub fn release_in<S: MountSession>(
    session: &mut S,
    claim: &Claim,
    scope: ReleaseScope,
    watch: &dyn LeaseWatch,
) -> Result<ClaimReport, DriverError> {
    let released = rules::release(&mut session.backend(claim), claim, scope, watch);
    let released = released.map(|emptied| with(session.report(None), emptied));
    session.close(released.is_err());
    released
}

/// The error of a mount point that could not be reached to remove its run directory.
pub fn stays(mut error: DriverError, run_dir: &str) -> DriverError {
    error.advice = match error.advice.is_empty() {
        true => format!("{run_dir} stays"),
        false => format!("{run_dir} stays; {}", error.advice),
    };
    error
}

fn with(report: ClaimReport, emptied: Emptied) -> ClaimReport {
    ClaimReport {
        removed_count: emptied.removed_count,
        not_ours: emptied.not_ours,
        not_removed: emptied.not_removed,
        occupied: emptied.occupied,
        ..report
    }
}

impl<D: RunDirDriver> Driver for D {
    fn name(&self) -> &'static str {
        self.label()
    }

    fn claim_watched(
        &self,
        mount: &MountPoint,
        claim: &Claim,
        watch: &dyn LeaseWatch,
    ) -> Result<ClaimReport, DriverError> {
        self.forget(mount);
        let mut session = self.reach(mount)?;
        let (report, _) = claim_in(&mut session, claim, self.keeps_files(), watch)?;
        if let Some(nonces) = self.nonces() {
            nonces.note(mount, &report);
        }
        self.note_claimed(mount, session);
        Ok(report)
    }

    fn release_watched(
        &self,
        mount: &MountPoint,
        claim: &Claim,
        reach: ReleaseScope,
        watch: &dyn LeaseWatch,
    ) -> Result<ClaimReport, DriverError> {
        self.forget(mount);
        self.check_release(mount, claim)?;
        let reached = self.reach(mount);
        let mut session = reached.map_err(|e| stays(e, &self.run_dir_text(mount, claim)))?;
        release_in(&mut session, claim, reach, watch)
    }

    fn renew(
        &self,
        mount: &MountPoint,
        claim: &Claim,
        turn: ClaimRole,
    ) -> Result<RenewResult, DriverError> {
        let mut session = self.reach_to_renew(mount)?;
        let renewed = rules::renew(&mut session.backend(claim), claim, turn, &SystemWatch);
        session.close(true);
        self.note_renewed(mount, session, renewed.is_ok());
        renewed
    }

    fn space(&self, mount: &MountPoint) -> Result<Option<Space>, DriverError> {
        let mut session = self.reach(mount)?;
        let space = session.space();
        session.close(false);
        space
    }

    fn fetched(&self, mount: &MountPoint) -> Option<FetchedBytes> {
        self.fetched_bytes(mount)
    }
}
