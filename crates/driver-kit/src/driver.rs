//! The contract between agents and a driver: claims, leases, free space, counters of the
//! host. What the engine asks of a driver is [`LoadDriver`].

use crate::claim::lease::{LeaseWatch, SystemWatch};
pub use crate::claim::report::{ClaimReport, ReleaseScope};
use crate::claim::{ClaimRole, RenewResult};
use filermark_engine::driver::{Claim, DriverError, LoadDriver};
use filermark_model::client_reads::ReadCounter;
use filermark_model::plan::MountPoint;
use filermark_model::survey::Space;

/// How many bytes have come from beyond this host's memory for a mounted file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchedBytes {
    /// Names the counter: mount points with the same share it.
    pub source: String,
    /// The type of the file system.
    pub file_system: String,
    /// What counts.
    pub counter: ReadCounter,
    /// The bytes so far; `None`: not known.
    pub bytes: Option<u64>,
}

/// Speaks one protocol: what an agent asks of it around the load.
pub trait Driver: LoadDriver {
    /// Its name.
    fn name(&self) -> &'static str;

    /// Reaches the mount point, makes the run's directory there and marks it as
    /// ours. A directory of that name with the marker of an earlier run is emptied of
    /// what is ours; one with this very run's is joined as it is; one with entries
    /// but without the marker is refused, and so is one whose run is still under way.
    /// Blocking; what takes long because of that is told to `watch`.
    ///
    /// # Errors
    /// Unreachable, refused, read-only, not ours, in use: see [`DriverError`].
    fn claim_watched(
        &self,
        mount: &MountPoint,
        claim: &Claim,
        watch: &dyn LeaseWatch,
    ) -> Result<ClaimReport, DriverError>;

    /// Removes the marker and the run's directory, and what is ours and still in
    /// it, as far as `reach` goes. Foreign names are left and told. Blocking. Others
    /// may be doing the same: what is gone already is no error.
    ///
    /// # Errors
    /// The server could not be reached or refused; names what stays.
    fn release_watched(
        &self,
        mount: &MountPoint,
        claim: &Claim,
        reach: ReleaseScope,
        watch: &dyn LeaseWatch,
    ) -> Result<ClaimReport, DriverError>;

    /// [`Self::claim_watched`], with nobody to tell.
    ///
    /// # Errors
    /// As there.
    fn claim(&self, mount: &MountPoint, claim: &Claim) -> Result<ClaimReport, DriverError> {
        self.claim_watched(mount, claim, &SystemWatch)
    }

    /// [`Self::release_watched`], with nobody to tell.
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

    /// Counts up the heartbeat of the marker, if that is this process's turn. Blocking,
    /// over a connection of its own.
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

    /// Asks for the space of the file system behind a mount point; `None`: the server
    /// does not state it. Blocking; may make a connection of its own.
    ///
    /// # Errors
    /// The server could not be asked.
    fn space(&self, _mount: &MountPoint) -> Result<Option<Space>, DriverError> {
        Ok(None)
    }

    /// What the system has counted by now for a claimed mount point. Never asks the
    /// server. `None`: there is no cache of this host that could answer.
    fn fetched(&self, _mount: &MountPoint) -> Option<FetchedBytes> {
        None
    }
}
