//! The SMB load driver: many procs, few threads, no waiting.
//!
//! | module | what it has |
//! |---|---|
//! | `open` | which connections a shard has and who uses them |
//! | `protocol` | what the loop of [`filermark_driver_kit::sockets`] asks of it |
//! | `session` | what is sent and received on a connection: the handshake, then calls and replies; touches no socket |
//! | `window` | which message belongs to which call; credits |
//! | `channels`, `failover` | several connections of one session; what becomes of the calls of a lost one |
//! | `core` | the state behind: procs, operations, calls; touches no socket |
//! | `action` | what actions come to: their first call, and what it is on |
//! | `begin` | which calls an operation makes, one after another |
//! | `wire` | calls as requests of either protocol, and what the replies mean |
//! | `calls`, `ops`, `counters`, `status` | the tables |
//!
//! A request becomes an entry in a table and a call in its connection's queue; the loop
//! encodes what is queued per connection and hands it over in one write. Nothing is allocated
//! per operation once the tables have grown to what is under way at once.

mod action;
mod begin;
mod calls;
mod channels;
mod core;
mod counters;
mod failover;
mod open;
mod ops;
mod protocol;
mod session;
mod status;
pub(crate) mod window;
mod wire;

use crate::claim::ShareSession;
use crate::login::LoginRefusals;
use crate::target::Target;
use filermark_driver_kit::nonces::Nonces;
use filermark_driver_kit::run_dirs::RunDirDriver;
use filermark_engine::driver::{
    Capabilities, Claim, DriverError, LoadDriver, ShardDriver, ShardSetup,
};
use filermark_model::plan::{Connections, DriverSettings, MountPoint, SmbPlan};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The SMB driver of an agent: it opens shards, claims directories and surveys servers.
#[derive(Debug)]
pub struct SmbDriver {
    plan: SmbPlan,
    refusals: LoginRefusals,
    /// Where servers were reached, so that not every shard looks anew. Locked only while
    /// shards are opened.
    addresses: Mutex<HashMap<String, SocketAddr>>,
    nonces: Nonces,
}

impl SmbDriver {
    /// A driver with these settings. Nothing is reached yet.
    pub fn new(plan: SmbPlan) -> Self {
        Self {
            plan,
            refusals: LoginRefusals::default(),
            addresses: Mutex::new(HashMap::new()),
            nonces: Nonces::default(),
        }
    }

    fn known_addresses(&self) -> MutexGuard<'_, HashMap<String, SocketAddr>> {
        self.addresses
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// The address of a target's server: the one that a claim has reached, else the first.
    fn address(&self, target: &Target) -> Result<SocketAddr, DriverError> {
        let mut known = self.known_addresses();
        if let Some(address) = known.get(&target.mount.host) {
            return Ok(*address);
        }
        let all = target.addresses(&self.plan)?;
        let first = *all.first().ok_or_else(|| DriverError {
            place: target.mount.host.clone(),
            step: "find its address".into(),
            reason: "it has none".into(),
            advice: String::new(),
        })?;
        known.insert(target.mount.host.clone(), first);
        Ok(first)
    }
}

impl RunDirDriver for SmbDriver {
    type Session<'a> = ShareSession<'a>;

    fn label(&self) -> &'static str {
        "smb"
    }

    fn nonces(&self) -> Option<&Nonces> {
        Some(&self.nonces)
    }

    fn reach(&self, mount: &MountPoint) -> Result<ShareSession<'_>, DriverError> {
        ShareSession::connect(&self.plan, mount, &self.refusals)
    }

    fn run_dir_text(&self, mount: &MountPoint, claim: &Claim) -> String {
        Target::run_dir_text(mount, &claim.dir_name)
    }

    fn note_claimed(&self, mount: &MountPoint, session: ShareSession<'_>) {
        let mut known = self.known_addresses();
        known.insert(mount.host.clone(), session.address);
    }
}

impl LoadDriver for SmbDriver {
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
        Ok(Box::new(self.shard(setup)?))
    }

    fn status_text(&self, code: u32) -> String {
        status::text(code)
    }

    fn fatal_advice(&self, code: u32) -> Option<&'static str> {
        status::fatal_advice(code)
    }
}
