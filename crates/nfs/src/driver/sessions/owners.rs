//! Version 4.0: the owners of opens, whose operations are numbered (RFC 7530 section 9.1.7). Every file that is open
//! has an owner of its own, so that an OPEN or CLOSE waits for no other one. An owner whose file is closed
//! opens another one.

use filermark_onc::nfs4::{Nfsstat4, Stateid4};

/// What the name of an owner begins with.
const PREFIX: &[u8; 9] = b"filermark";
/// What the numbers of owners of locks have in names, so that these differ from those of opens.
const OF_LOCKS: u32 = 1 << 31;

/// An owner of opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Owner {
    /// Number among the owners of a proc.
    pub(super) number: u32,
    /// The number of its next operation. A call that is sent again has the same one: the server answers as
    /// before.
    pub(super) seqid: u32,
}

impl Owner {
    /// The server has answered an operation of it.
    pub(super) fn answered(&mut self, status: Nfsstat4) {
        if status.uses_seqid() {
            self.seqid = self.seqid.wrapping_add(1);
        }
    }
}

/// The owner of the locks of an open file. It is used for this file alone, and released when that is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LockOwner {
    /// Number among the lock owners of a proc.
    pub(super) number: u32,
    /// The number of its next operation.
    pub(super) seqid: u32,
    /// The state of its locks; `None`: it has locked nothing yet, so LOCK has the state of the open.
    pub(super) stateid: Option<Stateid4>,
}

impl LockOwner {
    /// The server has answered an operation of it.
    pub(super) fn answered(&mut self, status: Nfsstat4) {
        if status.uses_seqid() {
            self.seqid = self.seqid.wrapping_add(1);
        }
    }
}

/// The owners of a proc that have nothing open.
#[derive(Debug, Default)]
pub(crate) struct ProcOwners {
    free: Vec<Owner>,
    made: u32,
    /// Owners of locks, of which each has a number of its own.
    lock_owners: u32,
}

impl ProcOwners {
    /// An owner for an OPEN.
    pub(super) fn take(&mut self) -> Owner {
        self.free.pop().unwrap_or_else(|| {
            self.made = self.made.wrapping_add(1);
            Owner {
                number: self.made,
                seqid: 0,
            }
        })
    }

    /// An owner for the locks of a file.
    pub(super) fn new_lock_owner(&mut self) -> LockOwner {
        self.lock_owners = self.lock_owners.wrapping_add(1);
        LockOwner {
            number: self.lock_owners,
            seqid: 0,
            stateid: None,
        }
    }

    /// What the owner had open is closed, or was not opened. One of which the server may have executed another
    /// operation is dropped instead: the number of its next one is not known.
    pub(super) fn put_back(&mut self, owner: Owner) {
        self.free.push(owner);
    }
}

/// The name of an owner of opens or locks: of a proc, with a number where a proc has several.
#[derive(Clone, Copy, Debug)]
pub(super) struct OwnerName {
    bytes: [u8; PREFIX.len() + 8],
    len: usize,
}

impl OwnerName {
    pub(super) fn new(proc: u32, number: Option<u32>) -> Self {
        let mut bytes = [0; PREFIX.len() + 8];
        let (prefix, numbers) = bytes.split_at_mut(PREFIX.len());
        prefix.copy_from_slice(PREFIX);
        numbers[..4].copy_from_slice(&proc.to_be_bytes());
        numbers[4..].copy_from_slice(&number.unwrap_or_default().to_be_bytes());
        let len = match number {
            Some(_) => bytes.len(),
            None => bytes.len() - 4,
        };
        Self { bytes, len }
    }

    /// That of an owner of locks of version 4.0.
    pub(super) fn of_locks(proc: u32, number: u32) -> Self {
        Self::new(proc, Some(number | OF_LOCKS))
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_counts_what_the_server_counts() {
        let mut owner = ProcOwners::default().take();
        for (status, expected) in [
            (Nfsstat4::Ok, 1),
            (Nfsstat4::Delay, 2),
            (Nfsstat4::Exist, 3),
            (Nfsstat4::BadSeqid, 3),
            (Nfsstat4::StaleClientid, 3),
            (Nfsstat4::Resource, 3),
            (Nfsstat4::Expired, 4),
        ] {
            owner.answered(status);
            assert_eq!(owner.seqid, expected, "{status}");
        }
        owner.seqid = u32::MAX;
        owner.answered(Nfsstat4::Ok);
        assert_eq!(owner.seqid, 0);
    }

    #[test]
    fn owners_are_used_again_and_all_have_names_of_their_own() {
        let mut owners = ProcOwners::default();
        let (a, b) = (owners.take(), owners.take());
        let name = |proc, owner: Option<Owner>| {
            let number = owner.map(|owner| owner.number);
            OwnerName::new(proc, number).as_bytes().to_vec()
        };
        assert_ne!(name(1, Some(a)), name(1, Some(b)));
        assert_ne!(name(1, Some(a)), name(2, Some(a)));
        assert_eq!(name(3, None), b"filermark\0\0\0\x03");
        owners.put_back(a);
        assert_eq!(owners.take(), a);
        assert_ne!(owners.take(), b);
    }
}
