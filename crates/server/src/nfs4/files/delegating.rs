//! Delegations (RFC 8881 section 10.2 to 10.4): when they are granted, what is in their way, how they end.
//!
//! A delegation is a state of a file beside opens and locks, in the same part: an OPEN sees all that
//! conflicts with it under one lock. What others want to do with the file waits until the client has
//! returned the delegation, or until it is revoked.

use super::{Client, Files, Nfsstat4, Open, Shard, State, Stateid4, compare};
use crate::memfs::FileId;
use crate::nfs4::LEASE_NS;
use crate::nfs4::recall::{GrantingCall, Recall};
use crate::nfs4::share::Share;
use filermark_onc::nfs4::{Clientid4, share};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, RwLockReadGuard};

/// A recall that the client has not answered is sent again after so long, if a call waits for it.
const RESEND_NS: u64 = 100_000_000;
/// So long after a recall no delegation of the file is granted: others are to have their turn.
const COOLING_NS: u64 = 10_000_000_000;
/// Files are distinguished by so many places, as far as recent recalls are concerned.
const COOLING_PLACES: usize = 1024;

/// Kind of a delegation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DelegationKind {
    Read,
    Write,
}

impl DelegationKind {
    /// What its stateid allows: bits of `share`.
    const fn access(self) -> u32 {
        match self {
            DelegationKind::Read => share::READ,
            DelegationKind::Write => share::BOTH,
        }
    }
}

/// Which delegations an OPEN may get.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wish {
    pub(crate) read: bool,
    pub(crate) write: bool,
    pub(crate) call: GrantingCall,
}

/// Why there is no delegation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotGranted {
    /// Others use the file, or have wanted to use it a short time ago; or the client has one already.
    Contention,
    /// This server grants none of this kind, or has too many.
    Resource,
    /// The client has one for reading and wants to write.
    Upgrade,
}

/// What OPEN returns of delegations.
pub(crate) type Granted = Result<(DelegationKind, Stateid4), NotGranted>;

/// What a client wants to do with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileUse {
    /// Data or attributes are read. In its way are delegations for writing.
    Read,
    /// Something is changed. In its way are all delegations.
    Change,
}

#[derive(Debug, Clone, Copy)]
struct Recalled {
    since_ns: u64,
    sent_ns: u64,
    /// The client has confirmed it.
    is_answered: bool,
}

/// A delegation.
#[derive(Debug)]
pub(super) struct Delegation {
    pub(super) file: FileId,
    pub(super) client: Arc<Client>,
    kind: DelegationKind,
    call: GrantingCall,
    recalled: Option<Recalled>,
    /// It stays until the client has confirmed that with FREE_STATEID.
    pub(super) is_revoked: bool,
}

/// Its stateid never changes.
pub(super) const SEQID: u32 = 1;

impl Delegation {
    pub(super) const fn access(&self) -> u32 {
        self.kind.access()
    }

    fn is_in_the_way(&self, client: Option<Clientid4>, wanted: FileUse) -> bool {
        !self.is_revoked
            && Some(self.client.id) != client
            && (self.kind == DelegationKind::Write || wanted == FileUse::Change)
    }
}

/// What was done with delegations so far.
#[derive(Debug, Default)]
pub(crate) struct DelegationCounts {
    pub(crate) read: AtomicU64,
    pub(crate) write: AtomicU64,
    pub(crate) recalled: AtomicU64,
    pub(crate) returned: AtomicU64,
    pub(crate) revoked: AtomicU64,
}

/// All delegations of one server, beside the states of files.
#[derive(Debug)]
pub(super) struct Delegations {
    pub(super) counts: DelegationCounts,
    /// Of those that exist: under recall.
    recalled: AtomicU64,
    /// When a file was recalled last.
    cooling: [AtomicU64; COOLING_PLACES],
}

impl Default for Delegations {
    fn default() -> Delegations {
        Delegations {
            counts: DelegationCounts::default(),
            recalled: AtomicU64::new(0),
            cooling: std::array::from_fn(|_| AtomicU64::new(0)),
        }
    }
}

impl Delegations {
    fn place(&self, file: FileId) -> &AtomicU64 {
        &self.cooling[file.number as usize % COOLING_PLACES]
    }

    fn is_cooling(&self, file: FileId, now_ns: u64) -> bool {
        let last_ns = self.place(file).load(Ordering::Relaxed);
        last_ns > 0 && now_ns.saturating_sub(last_ns) < COOLING_NS
    }

    /// A delegation has ended, however.
    pub(super) fn ended(&self, delegation: &Delegation) {
        if delegation.recalled.is_some() && !delegation.is_revoked {
            self.recalled.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// As long as it lives, no delegation of the files is granted.
#[derive(Debug)]
#[must_use = "delegations can be granted again when it is dropped"]
pub(crate) struct Undelegated<'f> {
    parts: [Option<(usize, RwLockReadGuard<'f, Shard>)>; 2],
}

impl Undelegated<'_> {
    /// The same as [`Files::check_anonymous`], of one of its files: a thread must not take a lock for reading
    /// that it has already.
    ///
    /// # Errors
    /// LOCKED.
    pub(crate) fn check_anonymous(&self, file: FileId, access: u32) -> Result<(), Nfsstat4> {
        let mut parts = self.parts.iter().flatten();
        let part = parts.find(|(number, _)| *number == Files::shard_of(file));
        part.map_or(Ok(()), |(_, shard)| shard.check_anonymous(file, access))
    }
}

impl Shard {
    pub(super) fn check_anonymous(&self, file: FileId, access: u32) -> Result<(), Nfsstat4> {
        let mut opens = self.opens(file);
        match opens.any(|(_, open)| open.share.deny & access != 0) {
            true => Err(Nfsstat4::Locked),
            false => Ok(()),
        }
    }

    fn delegations(&self, file: FileId) -> impl Iterator<Item = (u64, &super::Delegation)> {
        self.of_file(file).filter_map(|(id, state)| match state {
            State::Delegation(delegation) => Some((id, delegation)),
            _ => None,
        })
    }

    fn delegation_mut(&mut self, id: u64) -> Option<&mut Delegation> {
        match self.states.get_mut(&id) {
            Some(State::Delegation(delegation)) => Some(delegation),
            _ => None,
        }
    }

    fn is_undelegated(&self, file: FileId, client: Option<Clientid4>, wanted: FileUse) -> bool {
        !self
            .delegations(file)
            .any(|(_, delegation)| delegation.is_in_the_way(client, wanted))
    }

    fn revoke(&mut self, id: u64, of: &Delegations) {
        let Some(delegation) = self.delegation_mut(id) else {
            return;
        };
        of.ended(delegation);
        delegation.is_revoked = true;
        delegation.client.state_is_revoked();
        of.counts.revoked.fetch_add(1, Ordering::Relaxed);
    }
}

impl Files {
    /// What was done with delegations so far.
    pub(crate) fn delegation_counts(&self) -> &DelegationCounts {
        &self.delegations.counts
    }

    /// Recalls what is in the way; returns the recalls to be sent now. `None`: nothing is in the way.
    pub(super) fn recall(
        &self,
        shard: &mut Shard,
        (file, client): (FileId, Option<Clientid4>),
        wanted: FileUse,
        now_ns: u64,
    ) -> Option<Vec<Recall>> {
        let in_the_way = shard.delegations(file).filter_map(|(id, delegation)| {
            let is_in_the_way = delegation.is_in_the_way(client, wanted);
            is_in_the_way.then_some(id)
        });
        let ids: Vec<u64> = in_the_way.collect();
        let (mut recalls, mut left) = (Vec::new(), false);
        for id in ids {
            if self.is_overdue(shard, id, now_ns) {
                shard.revoke(id, &self.delegations);
                continue;
            }
            left = true;
            recalls.extend(self.recall_one(shard, id, now_ns));
        }
        left.then_some(recalls)
    }

    fn is_overdue(&self, shard: &mut Shard, id: u64, now_ns: u64) -> bool {
        let recalled = shard.delegation_mut(id).and_then(|d| d.recalled);
        recalled.is_some_and(|recalled| now_ns.saturating_sub(recalled.since_ns) > LEASE_NS)
    }

    fn recall_one(&self, shard: &mut Shard, id: u64, now_ns: u64) -> Option<Recall> {
        let stateid = self.stateid(id, SEQID);
        let delegation = shard.delegation_mut(id)?;
        let place = self.delegations.place(delegation.file);
        place.store(now_ns.max(1), Ordering::Relaxed);
        match &mut delegation.recalled {
            None => {
                let counts = &self.delegations.counts;
                counts.recalled.fetch_add(1, Ordering::Relaxed);
                self.delegations.recalled.fetch_add(1, Ordering::Relaxed);
                delegation.recalled = Some(Recalled {
                    since_ns: now_ns,
                    sent_ns: now_ns,
                    is_answered: false,
                });
            }
            Some(recalled) => {
                let waited_ns = now_ns.saturating_sub(recalled.sent_ns);
                if recalled.is_answered || waited_ns < RESEND_NS {
                    return None;
                }
                recalled.sent_ns = now_ns;
            }
        }
        Some(Recall {
            clientid: delegation.client.id,
            stateid,
            file: delegation.file,
            call: delegation.call,
        })
    }

    /// Waits for no one: `Ok` if no delegation of others is in the way of this use of one or two files, and
    /// none is granted while the result lives.
    ///
    /// # Errors
    /// The recalls to be sent now; the use has to be tried again later.
    pub(crate) fn undelegated(
        &self,
        files: [Option<FileId>; 2],
        client: Option<Clientid4>,
        wanted: FileUse,
        now_ns: u64,
    ) -> Result<Undelegated<'_>, Vec<Recall>> {
        let mut recalls = Vec::new();
        // The second time after what was in the way was revoked.
        for _ in 0..2 {
            let parts = self.parts(files);
            let is_free = |file: &FileId| {
                let part = parts
                    .iter()
                    .flatten()
                    .find(|(shard, _)| *shard == Files::shard_of(*file));
                part.is_none_or(|(_, shard)| shard.is_undelegated(*file, client, wanted))
            };
            if files.iter().flatten().all(is_free) {
                return Ok(Undelegated { parts });
            }
            drop(parts);
            for file in files.into_iter().flatten() {
                let shard = &mut *self.write(Files::shard_of(file));
                let found = self.recall(shard, (file, client), wanted, now_ns);
                recalls.extend(found.unwrap_or_default());
            }
        }
        Err(recalls)
    }

    /// The parts of these files, each once and in order, so that no two threads wait for each other.
    fn parts(
        &self,
        files: [Option<FileId>; 2],
    ) -> [Option<(usize, RwLockReadGuard<'_, Shard>)>; 2] {
        let mut numbers = files.map(|file| file.map(Files::shard_of));
        numbers.sort();
        if numbers[0] == numbers[1] {
            numbers[0] = None;
        }
        numbers.map(|number| number.map(|number| (number, self.read(number))))
    }

    /// Grants a delegation to the client that has just opened the file, if nothing is against it.
    pub(super) fn grant(
        &self,
        shard: &mut Shard,
        (client, file): (&Arc<Client>, FileId),
        (share, wish): (Share, &Wish),
        now_ns: u64,
    ) -> Granted {
        let writes = share.access & share::WRITE != 0;
        let kind = match writes {
            true if wish.write => DelegationKind::Write,
            false if wish.read => DelegationKind::Read,
            _ => return Err(NotGranted::Resource),
        };
        for (_, delegation) in shard.delegations(file) {
            if delegation.is_revoked {
                continue;
            }
            let is_own = delegation.client.id == client.id;
            return Err(
                match is_own && delegation.kind == DelegationKind::Read && writes {
                    true => NotGranted::Upgrade,
                    // Several clients may read.
                    false if !is_own && kind == DelegationKind::Read => continue,
                    false => NotGranted::Contention,
                },
            );
        }
        let is_against = |open: &Open| {
            open.client.id != client.id
                && (writes || open.share.access & share::WRITE != 0 || open.share.deny != 0)
        };
        let is_used = shard.opens(file).any(|(_, open)| is_against(open));
        if is_used || self.delegations.is_cooling(file, now_ns) {
            return Err(NotGranted::Contention);
        }
        let id = self.new_id(file);
        let delegation = Delegation {
            file,
            client: client.clone(),
            kind,
            call: wish.call,
            recalled: None,
            is_revoked: false,
        };
        let added = shard.add(id, State::Delegation(delegation));
        added.map_err(|_| NotGranted::Resource)?;
        let counts = &self.delegations.counts;
        let count = match kind {
            DelegationKind::Read => &counts.read,
            DelegationKind::Write => &counts.write,
        };
        count.fetch_add(1, Ordering::Relaxed);
        Ok((kind, self.stateid(id, SEQID)))
    }

    /// The client has confirmed a recall.
    pub(crate) fn recall_answered(&self, stateid: &Stateid4) {
        let Ok(id) = self.id(stateid) else { return };
        let shard = &mut *self.write(id as usize);
        if let Some(delegation) = shard.delegation_mut(id)
            && let Some(recalled) = &mut delegation.recalled
        {
            recalled.is_answered = true;
        }
    }

    /// Checks that a stateid is that of a delegation of the file.
    ///
    /// # Errors
    /// What is wrong with the stateid.
    pub(crate) fn check_delegation(
        &self,
        stateid: &Stateid4,
        of: (&Client, FileId),
    ) -> Result<(), Nfsstat4> {
        let shard = &*self.read(Files::shard_of(of.1));
        match self.find_of_file(shard, stateid, of)?.1 {
            State::Delegation(_) => Ok(()),
            _ => Err(Nfsstat4::BadStateid),
        }
    }

    /// DELEGRETURN.
    ///
    /// # Errors
    /// What is wrong with the stateid.
    pub(crate) fn return_delegation(
        &self,
        stateid: &Stateid4,
        of: (&Client, FileId),
    ) -> Result<(), Nfsstat4> {
        let shard = &mut *self.write(Files::shard_of(of.1));
        let (id, state) = self.find_of_file(shard, stateid, of)?;
        if !matches!(state, State::Delegation(_)) {
            return Err(Nfsstat4::BadStateid);
        }
        if let Some(State::Delegation(delegation)) = shard.remove(id) {
            self.delegations.ended(&delegation);
        }
        let counts = &self.delegations.counts;
        counts.returned.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// FREE_STATEID of a delegation that was revoked. `None`: it is none.
    pub(super) fn free_revoked(
        &self,
        shard: &mut Shard,
        stateid: &Stateid4,
        client: &Client,
    ) -> Option<Result<(), Nfsstat4>> {
        let id = self.id(stateid).ok()?;
        let delegation = shard.delegation_mut(id)?;
        if !delegation.is_revoked || delegation.client.id != client.id {
            return None;
        }
        Some(compare(stateid.seqid, SEQID).map(|()| drop(shard.remove(id))))
    }

    /// Revokes what clients have not returned within the lease time after a recall.
    pub(crate) fn revoke_overdue(&self, now_ns: u64) {
        if self.delegations.recalled.load(Ordering::Relaxed) == 0 {
            return;
        }
        for number in 0..super::SHARDS {
            let shard = &mut *self.write(number);
            let ids: Vec<u64> = shard.states.keys().copied().collect();
            for id in ids {
                let is_live = shard.delegation_mut(id).is_some_and(|d| !d.is_revoked);
                if is_live && self.is_overdue(shard, id, now_ns) {
                    shard.revoke(id, &self.delegations);
                }
            }
        }
    }
}
