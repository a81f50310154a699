//! Version 4.0: owners of opens and locks number their operations, and the server keeps the last reply of each
//! (RFC 7530 sections 9.1.7 and 9.1.8).

use super::clients::Client;
use crate::memfs::FileId;
use filermark_onc::nfs4::{Clientid4, Nfsstat4};
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Most owners of all clients.
const OWNERS_MAX: usize = 1 << 18;
/// Most owners of a client: one client does not take those of the others.
const OWNERS_OF_CLIENT_MAX: usize = 1 << 16;

/// An owner.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct OwnerKey {
    pub(crate) clientid: Clientid4,
    /// Of locks, not of opens.
    pub(crate) is_of_locks: bool,
    pub(crate) owner: Box<[u8]>,
}

/// The last operation of an owner.
#[derive(Debug, Default)]
pub(crate) struct Numbering {
    last: Option<u32>,
    reply: Box<[u8]>,
    /// The current file after it.
    file: Option<FileId>,
    /// The state that it has closed.
    closed: Option<[u8; 12]>,
}

/// What was answered to the last operation of an owner.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kept<'n> {
    /// Its results, behind the number of the operation.
    pub(crate) results: &'n [u8],
    /// The current file after it.
    pub(crate) file: Option<FileId>,
}

impl Numbering {
    /// Looks at the number of an operation. `Some`: it is the last one, sent again.
    ///
    /// # Errors
    /// BAD_SEQID.
    pub(crate) fn check(&self, seqid: u32) -> Result<Option<Kept<'_>>, Nfsstat4> {
        match self.last {
            None => Ok(None),
            Some(last) if seqid == last => Ok(Some(Kept {
                results: &self.reply,
                file: self.file,
            })),
            Some(last) if seqid == last.wrapping_add(1) => Ok(None),
            Some(_) => Err(Nfsstat4::BadSeqid),
        }
    }

    /// An operation was executed: keeps its results, unless it has used no number.
    pub(crate) fn executed(&mut self, seqid: u32, reply: &[u8], file: Option<FileId>) {
        self.last = Some(seqid);
        self.reply = reply.into();
        self.file = file;
    }
}

#[derive(Debug, Default)]
struct Table {
    owners: HashMap<OwnerKey, Arc<Mutex<Numbering>>>,
    /// How many owners each client has.
    counts: HashMap<Clientid4, usize>,
    /// The states that owners have closed with their last operation.
    closed: HashMap<[u8; 12], OwnerKey>,
}

/// The owners of all clients.
#[derive(Debug)]
pub(crate) struct Owners {
    table: Mutex<Table>,
    /// Most owners of all clients, and of one.
    limits: (usize, usize),
}

impl Default for Owners {
    fn default() -> Self {
        Self {
            table: Mutex::default(),
            limits: (OWNERS_MAX, OWNERS_OF_CLIENT_MAX),
        }
    }
}

impl Owners {
    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The numbers of an owner; it stays locked while an operation is executed.
    ///
    /// # Errors
    /// RESOURCE: the client has too many, or all clients together.
    pub(crate) fn of(&self, key: &OwnerKey) -> Result<Arc<Mutex<Numbering>>, Nfsstat4> {
        let table = &mut *self.table();
        if let Some(known) = table.owners.get(key) {
            return Ok(known.clone());
        }
        let (of_all, of_client) = self.limits;
        let count = table.counts.entry(key.clientid).or_default();
        if table.owners.len() >= of_all || *count >= of_client {
            return Err(Nfsstat4::Resource);
        }
        *count += 1;
        Ok(table.owners.entry(key.clone()).or_default().clone())
    }

    /// The owner that has closed this state with its last operation.
    pub(crate) fn of_closed(&self, other: &[u8; 12]) -> Option<OwnerKey> {
        self.table().closed.get(other).cloned()
    }

    /// The owner's operation has closed this state, or none.
    pub(crate) fn note_closed(
        &self,
        key: &OwnerKey,
        numbering: &mut Numbering,
        other: Option<[u8; 12]>,
    ) {
        if numbering.closed.is_none() && other.is_none() {
            return;
        }
        let table = &mut *self.table();
        if let Some(earlier) = std::mem::replace(&mut numbering.closed, other) {
            table.closed.remove(&earlier);
        }
        if let Some(other) = other {
            table.closed.insert(other, key.clone());
        }
    }

    /// An owner that will not be used any more.
    pub(crate) fn forget(&self, key: &OwnerKey) {
        let table = &mut *self.table();
        if table.owners.remove(key).is_some()
            && let Some(count) = table.counts.get_mut(&key.clientid)
        {
            *count -= 1;
        }
    }

    /// Drops the owners of clients that have ended.
    pub(super) fn end_clients(&self, ended: &[Arc<Client>]) {
        if ended.is_empty() {
            return;
        }
        let ended: HashSet<Clientid4> = ended.iter().map(|client| client.id).collect();
        let table = &mut *self.table();
        table.owners.retain(|key, _| !ended.contains(&key.clientid));
        table.counts.retain(|id, _| !ended.contains(id));
        table.closed.retain(|_, key| !ended.contains(&key.clientid));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(clientid: Clientid4, number: u32) -> OwnerKey {
        OwnerKey {
            clientid,
            is_of_locks: true,
            owner: number.to_be_bytes().into(),
        }
    }

    #[test]
    fn a_client_with_too_many_owners_leaves_owners_to_others() {
        let owners = Owners {
            limits: (5, 3),
            ..Owners::default()
        };
        let is_refused = |client, number| owners.of(&key(client, number)).is_err();
        for number in 0..3 {
            assert!(!is_refused(1, number));
        }
        assert!(is_refused(1, 3) && !is_refused(1, 2), "known ones stay");
        assert!(!is_refused(2, 0) && !is_refused(2, 1));
        assert!(is_refused(2, 2), "all clients together");
        owners.forget(&key(1, 0));
        owners.forget(&key(1, 9));
        assert!(!is_refused(1, 3) && is_refused(1, 4));
    }
}
