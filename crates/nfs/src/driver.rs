//! The NFS load driver: many procs, few threads, no waiting.
//!
//! | module | what it has |
//! |---|---|
//! | `open` | which connections a shard has and who uses them |
//! | `variant` | what versions do differently: without state (2 and 3), with sessions (4.1, 4.2) |
//! | `stateless` | versions 2 and 3 on the loop |
//! | `sessions` | versions 4.1 and 4.2 on the loop |
//! | `protocol`, `records` | what the loop of [`filermark_driver_kit::sockets`] asks of it; bytes into records |
//! | `contexts`, `protect` | Kerberos: contexts with servers; calls and replies are protected in them |
//! | `core` | the state behind: procs, operations, calls; touches no socket |
//! | `request` | per operation: its first call, its arguments, what its results mean |
//! | `begin`, `encode` | how actions begin; calls as bytes |
//! | `reply`, `transfer`, `readdir` | what replies mean and what comes next |
//! | `commit`, `uncommitted`, `ranges` | when COMMIT is called, what was lost before it; what waits for one |
//! | `stale_reads` | reads that show something else than was written |
//! | `request::v2` | the same requests in version 2; what they share is in `version2.rs` |
//! | `ended_calls` | replies to what is over |
//! | `calls`, `ops`, `handles`, `counters`, `status` | the tables |
//!
//! A request becomes an entry in a table and a call in its connection's queue; the loop
//! encodes what is queued per connection and hands it over in one write. Nothing is kept of
//! the bytes: a retransmission is encoded again. Nothing is allocated per operation once the
//! tables have grown to what is under way at once.

mod begin;
mod calls;
mod commit;
mod contexts;
mod core;
mod counters;
mod encode;
mod ended_calls;
mod handles;
mod open;
mod ops;
mod protect;
mod protocol;
mod ranges;
mod readdir;
mod records;
mod reply;
mod request;
mod sessions;
mod stale_reads;
mod stateless;
mod status;
mod transfer;
mod uncommitted;
mod variant;

#[cfg(test)]
mod tests;

use crate::claim::MountedExport;
use crate::client::AnyFh;
use crate::target::Target;
use filermark_driver_kit::nonces::Nonces;
use filermark_driver_kit::run_dirs::RunDirDriver;
use filermark_engine::driver::{Capabilities, DriverError, LoadDriver, ShardDriver, ShardSetup};
use filermark_model::plan::{Connections, DriverSettings, MountPoint, NfsPlan, NfsVersion};
use open::MountState;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The NFS driver of an agent: it opens shards, claims directories and surveys servers.
#[derive(Debug)]
pub struct NfsDriver {
    plan: NfsPlan,
    /// Mount points that were found already, with the run's directory, so that
    /// not every shard asks anew. Locked only while shards are opened.
    mounts: Mutex<HashMap<(MountPoint, String), MountState>>,
    /// Mount points that were claimed, for renewals: a handle that MNT gave once is good
    /// until the server says otherwise.
    claimed: Mutex<HashMap<MountPoint, Arc<Target>>>,
    nonces: Nonces,
}

impl NfsDriver {
    /// A driver with these settings. Nothing is reached yet.
    pub fn new(plan: NfsPlan) -> Self {
        Self {
            plan,
            mounts: Mutex::new(HashMap::new()),
            claimed: Mutex::new(HashMap::new()),
            nonces: Nonces::default(),
        }
    }

    /// Where a mount point is, and the handle of the run's directory in it.
    fn place(&self, mount: &MountPoint, dir_name: &str) -> Result<MountState, DriverError> {
        let key = (mount.clone(), dir_name.to_owned());
        let mut places = self.mounts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = places.get(&key) {
            return Ok(known.clone());
        }
        let target = Target::resolve(mount, &self.plan)?;
        let run_dir = self.find_run_dir(&target, dir_name)?;
        let place = MountState::new(&target, run_dir);
        places.insert(key, place.clone());
        Ok(place)
    }

    fn find_run_dir(&self, target: &Target, dir_name: &str) -> Result<AnyFh, DriverError> {
        let place = || format!("{}/{dir_name}", target.mount);
        let mut client = target.file_client(&self.plan);
        let found = client.lookup(&target.root, dir_name.as_bytes());
        let reason = match found {
            Ok(Ok(found)) => return Ok(found.object),
            Ok(Err(failed)) => failed.status.to_string(),
            Err(error) => error.to_string(),
        };
        Err(DriverError {
            place: place(),
            step: "find the run's directory".to_owned(),
            reason,
            advice: "has something removed it since the run began?".to_owned(),
        })
    }

    fn claimed(&self) -> MutexGuard<'_, HashMap<MountPoint, Arc<Target>>> {
        self.claimed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RunDirDriver for NfsDriver {
    type Session<'a> = MountedExport<'a>;

    fn label(&self) -> &'static str {
        match self.plan.version {
            NfsVersion::V2 => "nfs2",
            NfsVersion::V3 => "nfs3",
            NfsVersion::V40 => "nfs40",
            NfsVersion::V41 => "nfs41",
            NfsVersion::V42 => "nfs42",
        }
    }

    fn nonces(&self) -> Option<&Nonces> {
        Some(&self.nonces)
    }

    fn reach(&self, mount: &MountPoint) -> Result<MountedExport<'_>, DriverError> {
        MountedExport::mount(&self.plan, mount)
    }

    fn forget(&self, mount: &MountPoint) {
        let mut places = self.mounts.lock().unwrap_or_else(PoisonError::into_inner);
        places.retain(|(known, _), _| known != mount);
    }

    fn note_claimed(&self, mount: &MountPoint, session: MountedExport<'_>) {
        self.claimed().insert(mount.clone(), session.target);
    }

    fn reach_to_renew(&self, mount: &MountPoint) -> Result<MountedExport<'_>, DriverError> {
        let known = self.claimed().get(mount).cloned();
        match known {
            Some(target) => Ok(MountedExport::at(&self.plan, target)),
            None => self.reach(mount),
        }
    }

    fn note_renewed(&self, mount: &MountPoint, session: MountedExport<'_>, is_done: bool) {
        match is_done {
            true => self.claimed().insert(mount.clone(), session.target),
            // The next one looks for the server anew.
            false => self.claimed().remove(mount),
        };
    }
}

impl LoadDriver for NfsDriver {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            ops: self.plan.ops(),
            blocking: false,
            // A shared connection is one shard's.
            shards_max: match self.plan.connections {
                Connections::PerProc => None,
                Connections::Shared(count) => Some(count.max(1)),
            },
        }
    }

    fn open_shard(&self, setup: ShardSetup) -> Result<Box<dyn ShardDriver>, DriverError> {
        Ok(match self.plan.version.minor_version() {
            Some(minor) => Box::new(self.shard4(setup, minor)?),
            None => Box::new(self.shard(setup)?),
        })
    }

    fn status_text(&self, code: u32) -> String {
        status::text(self.plan.version, code)
    }

    fn fatal_advice(&self, code: u32) -> Option<&'static str> {
        status::fatal_advice(code)
    }
}
