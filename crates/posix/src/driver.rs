//! The driver itself: claims directories, opens shards.

use crate::claim::MountDir;
use crate::custom::CustomPrograms;
use crate::fetched::Meter;
use crate::handles::{Handles, PROCS_MAX, Proc};
use crate::limits;
use crate::run_dir::{self, RunDir};
use crate::shard::{Depth, PosixShard, ShardParts, UnderWay};
use crate::status;
use crate::sys::raise_file_limit;
use filermark_driver_kit::driver::FetchedBytes;
use filermark_driver_kit::run_dirs::RunDirDriver;
use filermark_engine::driver::{
    Capabilities, Claim, DriverError, LoadDriver, ProcSetup, ShardDriver, ShardSetup,
};
use filermark_model::plan::{DriverSettings, MountPoint, PosixPlan};
use std::collections::HashMap;
use std::ffi::CString;
use std::sync::{Arc, Mutex, PoisonError};

/// Works on mounted file systems; see the crate.
#[derive(Debug)]
pub struct PosixDriver {
    plan: PosixPlan,
    /// Descriptors that this process may have; `None`: no limit.
    open_files: Option<u64>,
    /// Run directories that were found already, so that not every shard opens its
    /// own. Locked only while shards are opened.
    run_dirs: Mutex<HashMap<(MountPoint, String), Arc<RunDir>>>,
    /// Which directory every claimed mount point led to.
    tops: Mutex<HashMap<MountPoint, (u64, u64)>>,
    /// What counts the bytes that come for every claimed mount point.
    meters: Mutex<HashMap<MountPoint, Meter>>,
}

impl PosixDriver {
    /// A driver with these settings. Raises the soft limit of open files to the hard
    /// one; nothing else is touched yet.
    pub fn new(plan: PosixPlan) -> Self {
        Self {
            plan,
            open_files: raise_file_limit(),
            run_dirs: Mutex::new(HashMap::new()),
            tops: Mutex::new(HashMap::new()),
            meters: Mutex::new(HashMap::new()),
        }
    }

    fn place(&self, mount: &MountPoint, claim: &Claim) -> Result<Arc<RunDir>, DriverError> {
        let key = (mount.clone(), claim.dir_name.clone());
        let mut places = self.run_dirs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = places.get(&key) {
            return Ok(known.clone());
        }
        let top = run_dir::reach(mount)?;
        let found = RunDir::open(&top, mount, claim).map_err(|e| DriverError {
            place: format!("{mount}/{}", claim.dir_name),
            step: "open the run's directory".to_owned(),
            reason: e.to_string(),
            advice: "check whether it was removed or unmounted since the run began".to_owned(),
        })?;
        let found = Arc::new(found);
        places.insert(key, found.clone());
        Ok(found)
    }

    /// Whether a mount point leads elsewhere by now, where nothing of ours is: then
    /// nothing can be removed, and what was made stays on a file system that is out of
    /// sight.
    fn unmounted(&self, mount: &MountPoint, claim: &Claim) -> Option<DriverError> {
        let mut tops = self.tops.lock().unwrap_or_else(PoisonError::into_inner);
        let was = tops.remove(mount)?;
        drop(tops);
        let top = run_dir::reach(mount).ok()?;
        let name = CString::new(claim.dir_name.as_str()).ok()?;
        if top.id().ok()? == was || top.open_dir(&name).is_ok() {
            return None;
        }
        Some(DriverError {
            place: format!("{mount}/{}", claim.dir_name),
            step: "remove the run's directory".to_owned(),
            reason: "the path leads to another directory now; the file system that the run \
                     worked on has been unmounted"
                .to_owned(),
            advice: format!(
                "mount it again and remove {} on it, if it is still there",
                claim.dir_name
            ),
        })
    }

    fn proc(&self, setup: &ProcSetup, claim: &Claim) -> Result<Proc, DriverError> {
        let refuse = |reason: &str, advice: &str| DriverError {
            place: setup.mount.to_string(),
            step: format!("set up proc {}", setup.number),
            reason: reason.to_owned(),
            advice: advice.to_owned(),
        };
        let tree = setup.tree.clone().ok_or_else(|| {
            refuse(
                "the benchmark has no workload objects, which the driver of mounted file systems needs",
                "use a benchmark with workload objects, such as SWBUILD",
            )
        })?;
        let place = self.place(&setup.mount, claim)?;
        let own = claim.nonce();
        let data = match self.plan.reuse_kept && place.nonce != own {
            true => Arc::new(tree.data.of_earlier(&place.nonce, &own)),
            false => tree.data.clone(),
        };
        Proc::new(place, tree, data).map_err(|e| refuse(&e.to_string(), ""))
    }
}

impl RunDirDriver for PosixDriver {
    type Session<'a> = MountDir;

    fn label(&self) -> &'static str {
        PosixPlan::DRIVER
    }

    fn reach(&self, mount: &MountPoint) -> Result<MountDir, DriverError> {
        MountDir::open(mount)
    }

    fn keeps_files(&self) -> bool {
        self.plan.reuse_kept
    }

    fn forget(&self, mount: &MountPoint) {
        let mut places = self.run_dirs.lock().unwrap_or_else(PoisonError::into_inner);
        places.retain(|(known, _), _| known != mount);
    }

    /// Notes where a claimed mount point leads to, and what counts there.
    fn note_claimed(&self, mount: &MountPoint, session: MountDir) {
        if let Ok(id) = session.top.id() {
            let mut tops = self.tops.lock().unwrap_or_else(PoisonError::into_inner);
            tops.insert(mount.clone(), id);
        }
        let mut meters = self.meters.lock().unwrap_or_else(PoisonError::into_inner);
        meters.insert(mount.clone(), Meter::of(&session.top));
    }

    fn check_release(&self, mount: &MountPoint, claim: &Claim) -> Result<(), DriverError> {
        self.unmounted(mount, claim).map_or(Ok(()), Err)
    }

    fn fetched_bytes(&self, mount: &MountPoint) -> Option<FetchedBytes> {
        let meters = self.meters.lock().unwrap_or_else(PoisonError::into_inner);
        meters.get(mount).map(Meter::read)
    }
}

impl LoadDriver for PosixDriver {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            ops: self.plan.ops(),
            blocking: true,
            shards_max: None,
        }
    }

    fn settle(&self, mount: &MountPoint, claim: &Claim) -> Result<(), DriverError> {
        let synced = self.place(mount, claim)?.dir.sync_all();
        synced.map_err(|e| DriverError {
            place: mount.to_string(),
            step: "INIT: write the file set to storage (syncfs)".to_owned(),
            reason: e.to_string(),
            advice: status::fatal_advice(e.0).unwrap_or("").to_owned(),
        })
    }

    fn drops_caches(&self) -> bool {
        self.plan.drop_caches
    }

    fn open_shard(&self, setup: ShardSetup) -> Result<Box<dyn ShardDriver>, DriverError> {
        let mut share = limits::share(
            self.open_files,
            &self.plan,
            setup.shard_count,
            setup.procs.len(),
        )?;
        let depth = Depth::of(&setup);
        if depth.is_some() {
            share.files = share.files.min(UnderWay::FILES_MAX);
        }
        let procs = setup.procs.iter().take(PROCS_MAX);
        let procs: Vec<Proc> = procs
            .map(|proc| self.proc(proc, &setup.claim))
            .collect::<Result<_, _>>()?;
        let mut handles = Handles::new(procs, share);
        let under_way = depth
            .map(|depth| UnderWay::open(depth, &mut handles, share.files, setup.clock.clone()));
        let under_way = under_way.transpose()?;
        Ok(Box::new(PosixShard::new(ShardParts {
            handles,
            under_way,
            customs: CustomPrograms::new(&self.plan.custom),
            no_fsync: self.plan.no_fsync,
            clock: setup.clock,
            stop: setup.stop,
        })))
    }

    fn status_text(&self, code: u32) -> String {
        status::text(code)
    }

    fn fatal_advice(&self, code: u32) -> Option<&'static str> {
        status::fatal_advice(code)
    }
}
