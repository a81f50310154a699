//! The interface between agents and a driver: claims, leases, free space, counters of the
//! host. [`LoadDriver`] is the interface to the engine.

use crate::claim::lease::{LeaseWatch, SystemWatch};
pub use crate::claim::report::{ClaimReport, ReleaseScope};
use crate::claim::{ClaimRole, RenewResult};
use filermark_engine::driver::{Claim, DriverError, LoadDriver};
use filermark_model::client_reads::ReadCounter;
use filermark_model::plan::MountPoint;
use filermark_model::survey::Space;

/// How many bytes of a mounted file system were not read from this host's memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchedBytes {
    /// Identifies the counter: mount points with the same source share it.
    pub source: String,
    /// The type of the file system.
    pub file_system: String,
    /// The kind of counter.
    pub counter: ReadCounter,
    /// The bytes until now; `None`: not known.
    pub bytes: Option<u64>,
}

/// A driver of one protocol: what an agent needs of it before and after the load.
pub trait Driver: LoadDriver {
    /// Its name.
    fn name(&self) -> &'static str;

    /// Connects to the mount point, makes the run's directory there and marks it as ours. If
    /// a directory of that name has the marker of an earlier run, what is ours in it is
    /// removed; one with the marker of this run is used as it is; one with entries but
    /// without the marker is refused, and so is one whose run is still under way. Blocking;
    /// `watch` gets a message before long waits.
    ///
    /// # Errors
    /// Unreachable, refused, read-only, not ours, in use: see [`DriverError`].
    fn claim_watched(
        &self,
        mount: &MountPoint,
        claim: &Claim,
        watch: &dyn LeaseWatch,
    ) -> Result<ClaimReport, DriverError>;

    /// Removes the marker and the run's directory, and what is still ours in it, within
    /// `reach`. Foreign names are left and reported. Blocking. Other clients may do the same:
    /// what is missing already is no error.
    ///
    /// # Errors
    /// The server could not be reached or refused; names what remains.
    fn release_watched(
        &self,
        mount: &MountPoint,
        claim: &Claim,
        reach: ReleaseScope,
        watch: &dyn LeaseWatch,
    ) -> Result<ClaimReport, DriverError>;

    /// [`Self::claim_watched`] with the [`SystemWatch`].
    ///
    /// # Errors
    /// As there.
    fn claim(&self, mount: &MountPoint, claim: &Claim) -> Result<ClaimReport, DriverError> {
        self.claim_watched(mount, claim, &SystemWatch)
    }

    /// [`Self::release_watched`] with the [`SystemWatch`].
    ///
    /// # Errors
    /// As there.
    fn release(
        &self,
        mount: &MountPoint,
        claim: &Claim,
        reach: ReleaseScope,
    ) -> Result<ClaimReport, DriverError> {
        self.release_watched(mount, claim, reach, &SystemWatch)
    }

    /// Increments the heartbeat of the marker, if this process has to. Blocking, over a
    /// separate connection.
    ///
    /// # Errors
    /// The server could not be reached or refused.
    fn renew(
        &self,
        _mount: &MountPoint,
        _claim: &Claim,
        _turn: ClaimRole,
    ) -> Result<RenewResult, DriverError> {
        Ok(RenewResult::Missing)
    }

    /// The space of the file system of a mount point; `None`: the server does not report it.
    /// Blocking; may use a separate connection.
    ///
    /// # Errors
    /// The server could not be asked.
    fn space(&self, _mount: &MountPoint) -> Result<Option<Space>, DriverError> {
        Ok(None)
    }

    /// The system's counters for a claimed mount point. Sends no request to the server.
    /// `None`: this host has no cache of it.
    fn fetched(&self, _mount: &MountPoint) -> Option<FetchedBytes> {
        None
    }
}
