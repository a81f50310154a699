//! What an NFSv4 server keeps between calls: clients with their leases, sessions with their reply caches,
//! opens, locks and delegations (RFC 8881 sections 2.4, 2.10 and 8 to 10), the ends of copies, owners of version 4.0 with their
//! last replies (RFC 7530 section 9.1). Everything is in memory and has limits.
//!
//! It knows neither messages nor the content of files: `protocol` decodes and encodes, and holds the files
//! that are open in the file system. Times come from a [`Clock`], so that tests need not wait for a lease.

mod back;
mod clients;
mod clock;
mod files;
mod locks;
mod offloads;
mod owners;
mod recall;
mod session;
mod share;

pub(crate) use back::{Answered, Back, Callback, Outlet};
pub(crate) use clients::{Client, ClientRequest, Clients, SessionRequest};
pub(crate) use clock::Clock;
pub(crate) use files::{
    DelegationCounts, DelegationKind, FileUse, Files, Granted, Holder, LockRequest, Locker,
    NotGranted, NotLocked, NotOpened, OpenRequest, Undelegated, Wish,
};
pub(crate) use locks::{Range, RangeKind};
pub(crate) use offloads::Offloads;
pub(crate) use owners::{OwnerKey, Owners};
pub(crate) use recall::{GrantingCall, Notice, Recall};
pub(crate) use session::{Begun, Limits, Session};
pub(crate) use share::Share;

use crate::memfs::FileId;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// How long a client may be silent, in seconds (the attribute `lease_time`).
pub(crate) const LEASE_S: u32 = 90;
const LEASE_NS: u64 = LEASE_S as u64 * 1_000_000_000;
/// How often expired clients are looked for, at most.
const SWEEP_NS: u64 = 1_000_000_000;

/// All state of one server.
#[derive(Debug)]
pub(crate) struct State4 {
    pub(crate) clients: Clients,
    pub(crate) files: Files,
    /// Version 4.0.
    pub(crate) owners: Owners,
    /// Version 4.2.
    pub(crate) offloads: Offloads,
    pub(crate) clock: Clock,
    /// Numbers callbacks.
    pub(crate) callback_xid: AtomicU32,
    next_sweep_ns: AtomicU64,
}

impl State4 {
    /// No state. `epoch` differs from that of earlier servers; `cache_bytes_max` is the most memory for
    /// kept replies.
    pub(crate) fn new(epoch: u64, cache_bytes_max: u64, clock: Clock) -> State4 {
        State4 {
            clients: Clients::new(epoch, cache_bytes_max),
            files: Files::new(epoch as u32),
            owners: Owners::default(),
            offloads: Offloads::new(epoch as u32),
            clock,
            callback_xid: AtomicU32::new(epoch as u32),
            next_sweep_ns: AtomicU64::new(0),
        }
    }

    /// Ends the clients whose leases have expired, if it is time to look for them. Returns the files that
    /// they had open, each as often as it was open.
    pub(crate) fn sweep(&self, now_ns: u64) -> Vec<FileId> {
        let due_ns = self.next_sweep_ns.load(Ordering::Relaxed);
        let next_ns = now_ns.saturating_add(SWEEP_NS);
        let is_due = now_ns >= due_ns
            && self
                .next_sweep_ns
                .compare_exchange(due_ns, next_ns, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok();
        if !is_due {
            return Vec::new();
        }
        self.files.revoke_overdue(now_ns);
        let oldest_ns = now_ns.saturating_sub(LEASE_NS);
        let ended = self.clients.end_expired(oldest_ns);
        self.end_clients(&ended)
    }

    /// Ends what clients that have ended had. Returns their open files, each as often as it was open.
    pub(crate) fn end_clients(&self, ended: &[Arc<Client>]) -> Vec<FileId> {
        self.owners.end_clients(ended);
        self.offloads
            .end_clients(|id| ended.iter().any(|client| client.id == id));
        self.files.end_clients(ended)
    }
}
