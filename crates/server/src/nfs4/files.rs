//! The opens, locks and delegations of files, by stateid (RFC 8881 sections 8.2, 9 and 10).
//!
//! Files are in parts by number, each under a lock of its own. READ and WRITE share that lock, so that
//! threads do not wait for each other; OPEN, CLOSE and LOCK have it alone.

mod delegating;
mod locking;
mod owned;
#[cfg(test)]
mod tests;

pub(crate) use delegating::{
    DelegationCounts, DelegationKind, FileUse, Granted, NotGranted, Undelegated, Wish,
};
pub(crate) use locking::{Holder, LockRequest, Locker, NotLocked};

use super::clients::Client;
use super::locks::Ranges;
use super::recall::Recall;
use super::share::Share;
use crate::memfs::FileId;
use delegating::{Delegation, Delegations};
use filermark_onc::nfs4::{Nfsstat4, Stateid4, share};
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

const SHARDS: usize = 16;
/// Most opens and owners of locks of one part.
const STATES_MAX: usize = 1 << 16;
/// Most locked ranges of one part.
const RANGES_MAX: usize = 1 << 18;

/// A file that an owner has open.
#[derive(Debug)]
struct Open {
    file: FileId,
    client: Arc<Client>,
    owner: Box<[u8]>,
    seqid: u32,
    share: Share,
}

/// The locks of an owner in a file.
#[derive(Debug)]
struct Locks {
    file: FileId,
    client: Arc<Client>,
    owner: Box<[u8]>,
    seqid: u32,
    /// The open with which they were made.
    open: u64,
    ranges: Ranges,
}

#[derive(Debug)]
enum State {
    Open(Open),
    Locks(Locks),
    Delegation(Delegation),
}

impl State {
    fn file(&self) -> FileId {
        match self {
            State::Open(open) => open.file,
            State::Locks(locks) => locks.file,
            State::Delegation(delegation) => delegation.file,
        }
    }

    fn client(&self) -> &Arc<Client> {
        match self {
            State::Open(open) => &open.client,
            State::Locks(locks) => &locks.client,
            State::Delegation(delegation) => &delegation.client,
        }
    }

    fn seqid(&self) -> u32 {
        match self {
            State::Open(open) => open.seqid,
            State::Locks(locks) => locks.seqid,
            State::Delegation(_) => delegating::SEQID,
        }
    }

    fn is_revoked(&self) -> bool {
        matches!(self, State::Delegation(delegation) if delegation.is_revoked)
    }
}

/// One part of the files.
#[derive(Debug, Default)]
struct Shard {
    states: HashMap<u64, State>,
    files: HashMap<FileId, Vec<u64>>,
    /// Locked ranges of all states.
    ranges: usize,
}

/// An OPEN of a file that is there.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OpenRequest<'a> {
    pub(crate) client: &'a Arc<Client>,
    pub(crate) file: FileId,
    pub(crate) owner: &'a [u8],
    pub(crate) share: Share,
    /// The file is cut to no bytes.
    pub(crate) truncates: bool,
    /// `None`: no delegation is to be granted.
    pub(crate) wish: Option<Wish>,
    pub(crate) now_ns: u64,
}

impl OpenRequest<'_> {
    /// What it does to delegations of others.
    fn file_use(&self) -> FileUse {
        let changes = self.share.access & share::WRITE != 0 || self.share.deny & share::READ != 0;
        match changes || self.truncates {
            true => FileUse::Change,
            false => FileUse::Read,
        }
    }
}

/// What OPEN made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Opened {
    pub(crate) stateid: Stateid4,
    /// The owner did not have the file open before.
    pub(crate) is_new: bool,
    /// `None`: none was asked for.
    pub(crate) delegation: Option<Granted>,
}

/// Why a file was not opened.
#[derive(Debug)]
pub(crate) enum NotOpened {
    /// Delegations are in the way: the recalls to be sent now.
    Delegated(Vec<Recall>),
    Status(Nfsstat4),
}

impl From<Nfsstat4> for NotOpened {
    fn from(status: Nfsstat4) -> NotOpened {
        NotOpened::Status(status)
    }
}

/// All opens, locks and delegations of one server.
#[derive(Debug)]
pub(crate) struct Files {
    shards: [RwLock<Shard>; SHARDS],
    delegations: Delegations,
    made: AtomicU64,
    epoch: u32,
}

/// The next seqid of a stateid; 0 has a meaning of its own.
const fn next(seqid: u32) -> u32 {
    match seqid.wrapping_add(1) {
        0 => 1,
        next => next,
    }
}

/// Compares the seqid of a stateid with the present one (RFC 8881 section 8.2.2).
fn compare(sent: u32, is: u32) -> Result<(), Nfsstat4> {
    match sent {
        0 => Ok(()),
        _ if sent == is => Ok(()),
        _ if sent < is => Err(Nfsstat4::OldStateid),
        _ => Err(Nfsstat4::BadStateid),
    }
}

impl Shard {
    fn of_file(&self, file: FileId) -> impl Iterator<Item = (u64, &State)> {
        let ids = self.files.get(&file).map_or(&[][..], Vec::as_slice);
        ids.iter()
            .filter_map(|id| Some((*id, self.states.get(id)?)))
    }

    fn opens(&self, file: FileId) -> impl Iterator<Item = (u64, &Open)> {
        self.of_file(file).filter_map(|(id, state)| match state {
            State::Open(open) => Some((id, open)),
            _ => None,
        })
    }

    fn locks(&self, file: FileId) -> impl Iterator<Item = (u64, &Locks)> {
        self.of_file(file).filter_map(|(id, state)| match state {
            State::Locks(locks) => Some((id, locks)),
            _ => None,
        })
    }

    fn open_mut(&mut self, id: u64) -> Result<&mut Open, Nfsstat4> {
        match self.states.get_mut(&id) {
            Some(State::Open(open)) => Ok(open),
            _ => Err(Nfsstat4::BadStateid),
        }
    }

    fn add(&mut self, id: u64, state: State) -> Result<(), Nfsstat4> {
        if self.states.len() >= STATES_MAX {
            return Err(Nfsstat4::Delay);
        }
        // Under the lock of the part: a thread that ends the client afterwards finds the state.
        if !state.client().count_state() {
            return Err(Nfsstat4::Expired);
        }
        self.files.entry(state.file()).or_default().push(id);
        self.states.insert(id, state);
        Ok(())
    }

    fn remove(&mut self, id: u64) -> Option<State> {
        let state = self.states.remove(&id)?;
        match state.is_revoked() {
            true => state.client().revoked_state_ended(),
            false => state.client().count_state_ended(),
        }
        if let State::Locks(locks) = &state {
            self.ranges -= locks.ranges.len();
        }
        if let Some(ids) = self.files.get_mut(&state.file()) {
            ids.retain(|other| *other != id);
            if ids.is_empty() {
                self.files.remove(&state.file());
            }
        }
        Some(state)
    }
}

impl Files {
    pub(super) fn new(epoch: u32) -> Files {
        Files {
            shards: Default::default(),
            delegations: Delegations::default(),
            made: AtomicU64::new(0),
            epoch,
        }
    }

    fn shard_of(file: FileId) -> usize {
        file.number as usize % SHARDS
    }

    fn read(&self, shard: usize) -> RwLockReadGuard<'_, Shard> {
        let shard = self.shards[shard % SHARDS].read();
        shard.unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self, shard: usize) -> RwLockWriteGuard<'_, Shard> {
        let shard = self.shards[shard % SHARDS].write();
        shard.unwrap_or_else(PoisonError::into_inner)
    }

    /// A new number for a state of this file. It has the number of the part in it.
    fn new_id(&self, file: FileId) -> u64 {
        let made = self.made.fetch_add(1, Ordering::Relaxed) + 1;
        made * SHARDS as u64 + Files::shard_of(file) as u64
    }

    fn stateid(&self, id: u64, seqid: u32) -> Stateid4 {
        let mut other = [0; 12];
        other[..4].copy_from_slice(&self.epoch.to_be_bytes());
        other[4..].copy_from_slice(&id.to_be_bytes());
        Stateid4 { seqid, other }
    }

    /// The number in a stateid of this server.
    fn id(&self, stateid: &Stateid4) -> Result<u64, Nfsstat4> {
        let [a, b, c, d, id @ ..] = stateid.other;
        if u32::from_be_bytes([a, b, c, d]) != self.epoch {
            return Err(Nfsstat4::BadStateid);
        }
        Ok(u64::from_be_bytes(id))
    }

    fn find<'s>(
        &self,
        shard: &'s Shard,
        stateid: &Stateid4,
        client: &Client,
    ) -> Result<(u64, &'s State), Nfsstat4> {
        let id = self.id(stateid)?;
        let state = shard.states.get(&id).ok_or(Nfsstat4::BadStateid)?;
        if state.client().id != client.id {
            return Err(Nfsstat4::BadStateid);
        }
        if state.is_revoked() {
            return Err(Nfsstat4::DelegRevoked);
        }
        compare(stateid.seqid, state.seqid())?;
        Ok((id, state))
    }

    /// Finds a state of this file.
    fn find_of_file<'s>(
        &self,
        shard: &'s Shard,
        stateid: &Stateid4,
        (client, file): (&Client, FileId),
    ) -> Result<(u64, &'s State), Nfsstat4> {
        let (id, state) = self.find(shard, stateid, client)?;
        match state.file() == file {
            true => Ok((id, state)),
            false => Err(Nfsstat4::BadStateid),
        }
    }

    /// OPEN of a file (RFC 8881 section 18.16). An owner that has it open gets the union of both.
    ///
    /// # Errors
    /// Delegations that are in the way; SHARE_DENIED, and where there are too many states DELAY.
    pub(crate) fn open(&self, request: &OpenRequest<'_>) -> Result<Opened, NotOpened> {
        let OpenRequest { client, file, .. } = *request;
        let shard = &mut *self.write(Files::shard_of(file));
        let by = (file, Some(client.id));
        if let Some(recalls) = self.recall(shard, by, request.file_use(), request.now_ns) {
            return Err(NotOpened::Delegated(recalls));
        }
        let (stateid, is_new) = self.add_open(shard, request)?;
        let of = (client, file);
        let granted = request
            .wish
            .map(|wish| self.grant(shard, of, (request.share, &wish), request.now_ns));
        Ok(Opened {
            stateid,
            is_new,
            delegation: granted,
        })
    }

    /// The state of an OPEN, and whether it is new.
    fn add_open(
        &self,
        shard: &mut Shard,
        request: &OpenRequest<'_>,
    ) -> Result<(Stateid4, bool), Nfsstat4> {
        let OpenRequest {
            client,
            file,
            owner,
            share,
            ..
        } = *request;
        let is_same = |open: &Open| open.client.id == client.id && *open.owner == *owner;
        let mut own = None;
        for (id, open) in shard.opens(file) {
            if is_same(open) {
                own = Some(id);
            } else if open.share.conflicts(share) {
                return Err(Nfsstat4::ShareDenied);
            }
        }
        if let Some(id) = own {
            let open = shard.open_mut(id)?;
            open.share = open.share.union(share);
            open.seqid = next(open.seqid);
            return Ok((self.stateid(id, open.seqid), false));
        }
        let id = self.new_id(file);
        let open = Open {
            file,
            client: client.clone(),
            owner: owner.into(),
            seqid: 1,
            share,
        };
        shard.add(id, State::Open(open))?;
        Ok((self.stateid(id, 1), true))
    }

    /// OPEN_DOWNGRADE.
    ///
    /// # Errors
    /// INVAL: more than the open has. Else what is wrong with the stateid.
    pub(crate) fn downgrade(
        &self,
        stateid: &Stateid4,
        of: (&Client, FileId),
        share: Share,
    ) -> Result<Stateid4, Nfsstat4> {
        let shard = &mut *self.write(Files::shard_of(of.1));
        let (id, _) = self.find_of_file(shard, stateid, of)?;
        let open = shard.open_mut(id)?;
        if !share.is_within(open.share) {
            return Err(Nfsstat4::Inval);
        }
        open.share = share;
        open.seqid = next(open.seqid);
        Ok(self.stateid(id, open.seqid))
    }

    /// CLOSE. The locks that were made with the open end, too.
    ///
    /// # Errors
    /// What is wrong with the stateid.
    pub(crate) fn close(&self, stateid: &Stateid4, of: (&Client, FileId)) -> Result<(), Nfsstat4> {
        let shard = &mut *self.write(Files::shard_of(of.1));
        let (id, state) = self.find_of_file(shard, stateid, of)?;
        if !matches!(state, State::Open(_)) {
            return Err(Nfsstat4::BadStateid);
        }
        let made_with_it = shard.locks(of.1).filter(|(_, locks)| locks.open == id);
        let locks: Vec<u64> = made_with_it.map(|(id, _)| id).collect();
        for id in locks {
            shard.remove(id);
        }
        shard.remove(id);
        Ok(())
    }

    /// Checks that a stateid allows this access to the file: bits of `share`.
    ///
    /// # Errors
    /// OPENMODE: the file was not opened for it. Else what is wrong with the stateid.
    #[inline]
    pub(crate) fn check_access(
        &self,
        stateid: &Stateid4,
        of: (&Client, FileId),
        access: u32,
    ) -> Result<(), Nfsstat4> {
        let shard = &*self.read(Files::shard_of(of.1));
        let (_, state) = self.find_of_file(shard, stateid, of)?;
        let allowed = match state {
            State::Open(open) => open.share.access,
            State::Locks(locks) => match shard.states.get(&locks.open) {
                Some(State::Open(open)) => open.share.access,
                _ => return Err(Nfsstat4::BadStateid),
            },
            State::Delegation(delegation) => delegation.access(),
        };
        match access & !allowed {
            0 => Ok(()),
            _ => Err(Nfsstat4::Openmode),
        }
    }

    /// Checks that no open denies this access to those without an open.
    ///
    /// # Errors
    /// LOCKED.
    pub(crate) fn check_anonymous(&self, file: FileId, access: u32) -> Result<(), Nfsstat4> {
        self.read(Files::shard_of(file))
            .check_anonymous(file, access)
    }

    /// TEST_STATEID of one stateid.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn test(&self, stateid: &Stateid4, client: &Client) -> Result<(), Nfsstat4> {
        let shard = self.id(stateid)? as usize % SHARDS;
        self.find(&self.read(shard), stateid, client).map(drop)
    }

    /// FREE_STATEID: of locks without ranges, and of what was revoked.
    ///
    /// # Errors
    /// LOCKS_HELD of everything else that exists. Else what is wrong with the stateid.
    pub(crate) fn free(&self, stateid: &Stateid4, client: &Client) -> Result<(), Nfsstat4> {
        let shard = self.id(stateid)? as usize % SHARDS;
        let shard = &mut *self.write(shard);
        if let Some(freed) = self.free_revoked(shard, stateid, client) {
            return freed;
        }
        let (id, state) = self.find(shard, stateid, client)?;
        match state {
            State::Locks(locks) if locks.ranges.is_empty() => {
                shard.remove(id);
                Ok(())
            }
            _ => Err(Nfsstat4::LocksHeld),
        }
    }

    /// Ends all states of clients that have ended. Returns their open files, each as often as it was open.
    pub(crate) fn end_clients(&self, clients: &[Arc<Client>]) -> Vec<FileId> {
        let with_states = clients
            .iter()
            .filter(|client| client.has_states() || client.has_revoked());
        let ended: HashSet<u64> = with_states.map(|client| client.id).collect();
        let mut closed = Vec::new();
        if ended.is_empty() {
            return closed;
        }
        for shard in 0..SHARDS {
            let shard = &mut *self.write(shard);
            let is_of_them = |(_, state): &(&u64, &State)| ended.contains(&state.client().id);
            let ids: Vec<u64> = shard
                .states
                .iter()
                .filter(is_of_them)
                .map(|(id, _)| *id)
                .collect();
            for id in ids {
                match shard.remove(id) {
                    Some(State::Open(open)) => closed.push(open.file),
                    Some(State::Delegation(delegation)) => self.delegations.ended(&delegation),
                    Some(State::Locks(_)) | None => {}
                }
            }
        }
        closed
    }
}
