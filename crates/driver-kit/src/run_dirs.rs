//! Run directories: one implementation of [`Driver`] for all drivers that use them. A driver
//! supplies the connection to a mount point. The rules of claiming are in [`crate::claim`].

use crate::claim::lease::{LeaseWatch, SystemWatch};
use crate::claim::{self as rules, ClaimRole, Emptied, RenewResult, RunDirBackend};
use crate::driver::{ClaimReport, Driver, FetchedBytes, ReleaseScope};
use crate::nonces::Nonces;
use filermark_engine::driver::{Claim, DriverError, LoadDriver};
use filermark_model::plan::MountPoint;
use filermark_model::survey::Space;

/// A connection to a mount point, for the blocking work before and after a run.
pub trait MountSession {
    /// A directory in it that was found.
    type Dir;
    /// Access to the run directory in it, for the rules of claiming.
    type Backend<'a>: RunDirBackend<Dir = Self::Dir>
    where
        Self: 'a;

    /// The run directory of a claim.
    fn backend<'a>(&'a mut self, claim: &'a Claim) -> Self::Backend<'a>;

    /// What is known about the mount point: server, limits, space. `claimed` is the run
    /// directory that was just claimed.
    fn report(&mut self, claimed: Option<&Self::Dir>) -> ClaimReport;

    /// Features that the file system of a claimed directory lacks; one sentence each.
    ///
    /// # Errors
    /// It cannot be used at all.
    fn lacking(&mut self, _claim: &Claim, _dir: &Self::Dir) -> Result<Vec<String>, DriverError> {
        Ok(Vec::new())
    }

    /// The space of its file system; `None`: the server does not report it.
    ///
    /// # Errors
    /// It could not be asked.
    fn space(&mut self) -> Result<Option<Space>, DriverError>;

    /// Ends it. `is_needed`: the run still uses the mount point, or its files remain there.
    fn close(&mut self, _is_needed: bool) {}
}

/// A driver that uses run directories. It implements [`Driver`].
pub trait RunDirDriver: LoadDriver {
    /// A connection to a mount point.
    type Session<'a>: MountSession
    where
        Self: 'a;

    /// Its name in messages.
    fn label(&self) -> &'static str;

    /// Connects to a mount point. Blocking.
    ///
    /// # Errors
    /// Unreachable, refused: see [`DriverError`].
    fn reach(&self, mount: &MountPoint) -> Result<Self::Session<'_>, DriverError>;

    /// The nonces of its claims, if it needs them.
    fn nonces(&self) -> Option<&Nonces> {
        None
    }

    /// Whether files of an earlier run are kept and used again.
    fn keeps_files(&self) -> bool {
        false
    }

    /// The run directory, for messages.
    fn run_dir_text(&self, mount: &MountPoint, claim: &Claim) -> String {
        format!("{}/{}", mount.path, claim.dir_name)
    }

    /// Forgets the location of a mount point's run directory before it is claimed again or
    /// removed.
    fn forget(&self, _mount: &MountPoint) {}

    /// Called for a mount point that was claimed.
    fn note_claimed(&self, _mount: &MountPoint, _session: Self::Session<'_>) {}

    /// Checks that the claim can be released.
    ///
    /// # Errors
    /// What was claimed cannot be reached, and remains.
    fn check_release(&self, _mount: &MountPoint, _claim: &Claim) -> Result<(), DriverError> {
        Ok(())
    }

    /// Connects to a mount point to renew a marker.
    ///
    /// # Errors
    /// As [`Self::reach`].
    fn reach_to_renew(&self, mount: &MountPoint) -> Result<Self::Session<'_>, DriverError> {
        self.reach(mount)
    }

    /// Called after a renewal with its session.
    fn note_renewed(&self, _mount: &MountPoint, _session: Self::Session<'_>, _is_done: bool) {}

    /// As [`Driver::fetched`].
    fn fetched_bytes(&self, _mount: &MountPoint) -> Option<FetchedBytes> {
        None
    }
}

/// Claims the run directory at a mount point; also returns the directory.
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
        // Removed only if it contains nothing but the marker.
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
/// The server refused, or the directory now belongs to another run; names what remains.
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

/// The error that a mount point could not be reached, so that its run directory remains.
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
