//! Copies whose end the server reports after the reply to COPY (RFC 7862 sections 4.4, 15.8 and 15.9), until the client
//! has taken the report, cancels it, or ends.

use super::recall::GrantingCall;
use crate::memfs::FileId;
use filermark_onc::nfs4::{Clientid4, Nfsstat4, Stateid4, WriteResponse4};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Most copies of the server whose end was not taken. Beyond that COPY is answered when it has ended.
const OFFLOADS_MAX: usize = 1024;
/// How often a client that asks for a later callback is called.
const CALLS_MAX: u8 = 16;

/// A copy that has ended.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Offload {
    pub(crate) clientid: Clientid4,
    pub(crate) stateid: Stateid4,
    /// The target.
    pub(crate) file: FileId,
    /// Its COPY.
    pub(crate) call: GrantingCall,
    /// What was copied, or why nothing was.
    pub(crate) ended: Result<WriteResponse4, Nfsstat4>,
    /// How often the client was called.
    pub(crate) calls: u8,
}

/// The copies of a server.
#[derive(Debug)]
pub(crate) struct Offloads {
    /// In all stateids; other than in those of opens.
    epoch: u32,
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    last: u64,
    copies: BTreeMap<[u8; 12], Offload>,
}

impl Offloads {
    /// None. `epoch` differs from that of earlier servers.
    pub(crate) fn new(epoch: u32) -> Self {
        Self {
            epoch: !epoch,
            table: Mutex::default(),
        }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps the end of a copy until it is taken; `None`: there are too many.
    pub(crate) fn add(
        &self,
        clientid: Clientid4,
        file: FileId,
        call: GrantingCall,
        ended: Result<WriteResponse4, Nfsstat4>,
    ) -> Option<Offload> {
        let table = &mut *self.table();
        if table.copies.len() >= OFFLOADS_MAX {
            return None;
        }
        table.last += 1;
        let mut other = [0; 12];
        other[..4].copy_from_slice(&self.epoch.to_be_bytes());
        other[4..].copy_from_slice(&table.last.to_be_bytes());
        let offload = Offload {
            clientid,
            stateid: Stateid4 { seqid: 1, other },
            file,
            call,
            ended,
            calls: 0,
        };
        table.copies.insert(other, offload);
        Some(offload)
    }

    /// A copy of a client.
    pub(crate) fn find(&self, clientid: Clientid4, stateid: &Stateid4) -> Option<Offload> {
        let found = self.table().copies.get(&stateid.other).copied();
        found.filter(|offload| offload.clientid == clientid)
    }

    /// The client knows the end of a copy, or does not want to; returns whether it was kept.
    pub(crate) fn forget(&self, clientid: Clientid4, stateid: &Stateid4) -> bool {
        let table = &mut *self.table();
        let is_its = |offload: &Offload| offload.clientid == clientid;
        let is_kept = table.copies.get(&stateid.other).is_some_and(is_its);
        if is_kept {
            table.copies.remove(&stateid.other);
        }
        is_kept
    }

    /// The client asks for a later callback; `None`: it has asked too often, and can ask for the end itself.
    pub(crate) fn call_again(&self, offload: &Offload) -> Option<Offload> {
        let table = &mut *self.table();
        let known = table.copies.get_mut(&offload.stateid.other)?;
        known.calls = known.calls.saturating_add(1);
        (known.calls < CALLS_MAX).then_some(*known)
    }

    /// Drops those of clients that have ended.
    pub(crate) fn end_clients(&self, is_ended: impl Fn(Clientid4) -> bool) {
        let table = &mut *self.table();
        table
            .copies
            .retain(|_, offload| !is_ended(offload.clientid));
    }
}
