//! The driver itself: claims directories, opens shards.

use filermark_engine::driver::{
    Capabilities, Claim, ClaimReport, Driver, DriverError, ShardDriver, ShardSetup,
};
use filermark_model::OpSet;
use filermark_model::plan::{MountPoint, PosixPlan};

/// Works on mounted file systems.
#[derive(Debug)]
pub struct PosixDriver {
    _plan: PosixPlan,
}

impl PosixDriver {
    /// A driver with these settings.
    pub fn new(plan: PosixPlan) -> Self {
        Self { _plan: plan }
    }
}

fn not_yet(mount: &MountPoint) -> DriverError {
    DriverError {
        place: mount.to_string(),
        step: "claim".into(),
        reason: "not built yet".into(),
        advice: String::new(),
    }
}

impl Driver for PosixDriver {
    fn name(&self) -> &'static str {
        "posix"
    }
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            ops: OpSet::POSIX,
            blocking: true,
            shards_max: None,
        }
    }
    fn claim(&self, mount: &MountPoint, _: &Claim) -> Result<ClaimReport, DriverError> {
        Err(not_yet(mount))
    }
    fn release(&self, mount: &MountPoint, _: &Claim) -> Result<ClaimReport, DriverError> {
        Err(not_yet(mount))
    }
    fn open_shard(&self, setup: ShardSetup) -> Result<Box<dyn ShardDriver>, DriverError> {
        Err(not_yet(&setup.procs[0].mount))
    }
    fn status_text(&self, code: u32) -> String {
        format!("errno {code}")
    }
    fn fatal_advice(&self, _: u32) -> Option<&'static str> {
        None
    }
}
