//! What the claim of a run directory needs of an export. The rules are
//! [`filermark_driver_kit::claim`]'s, and who calls them is in
//! [`filermark_driver_kit::run_dirs`]. Everything blocks; nothing here is measured.

mod backend;
pub(crate) mod probe;

use crate::client::AnyFh;
use crate::target::Target;
pub use backend::Export;
use filermark_driver_kit::claim::PROBE_PREFIX;
use filermark_driver_kit::driver::ClaimReport;
use filermark_driver_kit::run_dirs::MountSession;
use filermark_driver_kit::sockets::engine_fact;
use filermark_engine::driver::{Claim, DriverError};
use filermark_model::plan::{MountPoint, NfsPlan};
use filermark_model::survey::Space;
use std::sync::Arc;

/// An export that was mounted, with the settings that it was mounted with.
#[derive(Debug)]
pub struct MountedExport<'a> {
    plan: &'a NfsPlan,
    /// Where it is. Its handle is good until the server says otherwise.
    pub target: Arc<Target>,
}

impl<'a> MountedExport<'a> {
    /// Mounts an export.
    ///
    /// # Errors
    /// As [`Target::resolve`].
    pub fn mount(plan: &'a NfsPlan, mount: &MountPoint) -> Result<Self, DriverError> {
        let target = Arc::new(Target::resolve(mount, plan)?);
        Ok(Self { plan, target })
    }

    /// An export that was mounted before.
    pub const fn at(plan: &'a NfsPlan, target: Arc<Target>) -> Self {
        Self { plan, target }
    }
}

impl MountSession for MountedExport<'_> {
    type Dir = AnyFh;
    type Backend<'a>
        = Export<'a>
    where
        Self: 'a;

    fn backend<'a>(&'a mut self, claim: &'a Claim) -> Export<'a> {
        Export::new(self.plan, &self.target, claim)
    }

    fn report(&mut self, _: Option<&AnyFh>) -> ClaimReport {
        let target = &self.target;
        let mut facts = target.facts();
        facts.push(engine_fact(target.transport, target.tls.is_some()));
        ClaimReport {
            transfer_bytes: (target.rsize, target.wsize),
            space: target.space(),
            server_facts: facts,
            lacking: target.warnings(),
            ..ClaimReport::default()
        }
    }

    /// Operations of the mix that the server does not have.
    fn lacking(&mut self, _: &Claim, dir: &AnyFh) -> Result<Vec<String>, DriverError> {
        let name = format!("{PROBE_PREFIX}0");
        probe::probe(self.plan, &self.target, (dir, &name))?;
        Ok(Vec::new())
    }

    fn space(&mut self) -> Result<Option<Space>, DriverError> {
        Ok(self.target.space())
    }

    /// The server notes a mount until it is taken back.
    fn close(&mut self, is_needed: bool) {
        if !is_needed {
            self.target.unmount(self.plan);
        }
    }
}
