//! What the claim of a run directory needs of a share. The rules are
//! [`filermark_driver_kit::claim`]'s, and who calls them is in
//! [`filermark_driver_kit::run_dirs`]. Everything blocks; nothing here is measured.

mod backend;

use crate::client::Client;
use crate::login::LoginRefusals;
use crate::target::Target;
pub use backend::Share;
use filermark_driver_kit::driver::ClaimReport;
use filermark_driver_kit::run_dirs::MountSession;
use filermark_driver_kit::sockets::engine_fact;
use filermark_engine::driver::{Claim, DriverError};
use filermark_model::plan::{MountPoint, SmbPlan, Transport};
use filermark_model::survey::Space;
use std::net::SocketAddr;

/// A session on the share of a mount point.
#[derive(Debug)]
pub struct ShareSession<'a> {
    pub(crate) client: Client,
    plan: &'a SmbPlan,
    pub(crate) target: Target,
    /// Where the server was reached.
    pub address: SocketAddr,
}

impl<'a> ShareSession<'a> {
    /// Logs in to the server of a mount point and enters the share.
    ///
    /// # Errors
    /// As [`Client::connect`], and: the mount point names no share.
    pub fn connect(
        plan: &'a SmbPlan,
        mount: &MountPoint,
        refusals: &LoginRefusals,
    ) -> Result<Self, DriverError> {
        let target = Target::of(mount)?;
        let (client, address) = Client::connect(&target, plan, refusals)?;
        Ok(Self {
            client,
            plan,
            target,
            address,
        })
    }
}

impl MountSession for ShareSession<'_> {
    type Dir = String;
    type Backend<'a>
        = Share<'a>
    where
        Self: 'a;

    fn backend<'a>(&'a mut self, claim: &'a Claim) -> Share<'a> {
        Share::new(&mut self.client, self.plan, &self.target, claim)
    }

    fn report(&mut self, _: Option<&String>) -> ClaimReport {
        let limits = self.client.limits();
        let most = self.plan.block_size_max.unwrap_or(u32::MAX);
        let files = self.client.files();
        // What a server does not return stays unknown.
        let space = files.space(&self.target.dir).ok();
        let mut facts = vec![("smb address".to_owned(), files.peer().to_string())];
        facts.extend(files.server_facts());
        if let Some(space) = space {
            facts.push(("total bytes".to_owned(), space.total.to_string()));
            facts.push(("free bytes".to_owned(), space.free.to_string()));
        }
        facts.push(engine_fact(Transport::Tcp, false));
        ClaimReport {
            transfer_bytes: (limits.read_max.min(most), limits.write_max.min(most)),
            space: space.map(Into::into),
            server_facts: facts,
            ..ClaimReport::default()
        }
    }

    fn space(&mut self) -> Result<Option<Space>, DriverError> {
        // A server that does not state it is no error.
        let space = self.client.files().space(&self.target.dir).ok();
        Ok(space.map(Into::into))
    }

    fn close(&mut self, _: bool) {
        self.client.files().log_off();
    }
}
