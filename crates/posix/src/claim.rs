//! What the claim of a run directory needs of a mounted file system. The rules are
//! [`filermark_driver_kit::claim`]'s, and who calls them is in
//! [`filermark_driver_kit::run_dirs`]. Everything blocks; nothing here is measured.

pub(crate) mod backend;
mod probe;
#[cfg(test)]
mod tests;

use crate::run_dir;
use crate::sys::Dir;
pub use backend::Mounted;
use backend::error;
use filermark_driver_kit::driver::ClaimReport;
use filermark_driver_kit::run_dirs::MountSession;
use filermark_engine::driver::{Claim, DriverError};
use filermark_model::plan::MountPoint;
use filermark_model::survey::Space;

/// The directory of a mount point, open.
#[derive(Debug)]
pub struct MountDir {
    mount: MountPoint,
    pub(crate) top: Dir,
}

impl MountDir {
    /// Opens the directory of a mount point. May take half a minute where a file system does
    /// not answer.
    ///
    /// # Errors
    /// Missing, no directory, no permission, hanging: one sentence.
    pub(crate) fn open(mount: &MountPoint) -> Result<Self, DriverError> {
        Ok(Self {
            mount: mount.clone(),
            top: run_dir::reach(mount)?,
        })
    }
}

impl MountSession for MountDir {
    type Dir = Dir;
    type Backend<'a> = Mounted<'a>;

    fn backend<'a>(&'a mut self, claim: &'a Claim) -> Mounted<'a> {
        let place = format!("{}/{}", self.mount, claim.dir_name);
        Mounted::new(place, &claim.dir_name, &self.top)
    }

    fn report(&mut self, claimed: Option<&Dir>) -> ClaimReport {
        let dir = claimed.unwrap_or(&self.top);
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
            transfer_bytes: (1 << 20, 1 << 20),
            space: space.map(Into::into),
            server_facts: facts,
            ..ClaimReport::default()
        }
    }

    fn lacking(&mut self, claim: &Claim, dir: &Dir) -> Result<Vec<String>, DriverError> {
        probe::lacking(dir).map_err(|e| {
            let place = format!("{}/{}", self.mount, claim.dir_name);
            error(&place, "probe the file system", e)
        })
    }

    fn space(&mut self) -> Result<Option<Space>, DriverError> {
        let space = self.top.space();
        space
            .map(|space| Some(space.into()))
            .map_err(|e| DriverError {
                place: self.mount.to_string(),
                step: "get its free space (statvfs)".to_owned(),
                reason: e.to_string(),
                advice: String::new(),
            })
    }
}
