//! Version 4.0: LOCK and LOCKU, which the owner of a file's locks numbers (RFC 7530 sections 9.1.7, 16.10 and 16.12),
//! and the end of such owners (section 16.37). One of these calls is under way at a time. The first LOCK is an
//! operation of the owner of the open, too, so the file is not closed meanwhile.

use super::compounds::StateCall;
use super::owners::{LockOwner, OwnerName};
use super::state::{Released, SessionCall, Sessions};
use super::work_calls::Work;
use crate::driver::calls::Call;
use crate::driver::core::Core;
use filermark_engine::driver::Action;
use filermark_onc::nfs4::*;

impl Core<Sessions> {
    /// The proc and the key of the file of a LOCK or LOCKU; `None`: it is no such call of version 4.0.
    fn locks_of(&self, slot: u32) -> Option<(u32, u32)> {
        let call = self.calls.get(slot);
        match call.own.kind {
            Some(StateCall::Work(Work::Lock | Work::Unlock)) if !self.own.has_sessions() => {
                let (proc, key) = (self.ops.get(call.op).proc, self.key_of(slot));
                let opens = &self.own.opens[proc as usize];
                let is_here = opens.get(key).is_some_and(|of| of.turn == Some(call.xid));
                // The file may have been renamed or replaced meanwhile.
                let key = match is_here {
                    true => key,
                    false => opens.with_turn(call.xid).unwrap_or(key),
                };
                Some((proc, key))
            }
            _ => None,
        }
    }

    /// The key of the file, if another LOCK or LOCKU of it is under way.
    pub(super) fn other_turn(&self, slot: u32) -> Option<u32> {
        let (proc, key) = self.locks_of(slot)?;
        let taken = self.own.opens[proc as usize].get(key)?.turn?;
        (taken != self.calls.get(slot).xid).then_some(key)
    }

    /// A LOCK or LOCKU is about to be encoded: others wait for its reply.
    pub(super) fn begin_turn(&mut self, slot: u32) {
        let Some((proc, key)) = self.locks_of(slot) else {
            return;
        };
        let call = self.calls.get(slot);
        let is_lock = call.own.kind == Some(StateCall::Work(Work::Lock));
        let held = self.own.works[call.op as usize].stateid;
        let owners = &mut self.own.free_owners[proc as usize];
        let Some(file) = self.own.opens[proc as usize].find(key) else {
            return;
        };
        if is_lock {
            file.lock.get_or_insert_with(|| owners.new_lock_owner());
            file.turn = Some(call.xid);
        } else if file.lock.is_some_and(|lock| has_locked(&lock, &held)) {
            file.turn = Some(call.xid);
        }
    }

    /// The owner that numbers this call, and that of the open where it numbers the call, too.
    fn numbering(
        &mut self,
        slot: u32,
    ) -> Option<(&mut LockOwner, Option<&mut super::owners::Owner>)> {
        let (proc, key) = self.locks_of(slot)?;
        let xid = self.calls.get(slot).xid;
        let file = self.own.opens[proc as usize].find(key)?;
        let lock = file.lock.as_mut().filter(|_| file.turn == Some(xid))?;
        let opener = file.owner.as_mut().filter(|_| lock.stateid.is_none());
        Some((lock, opener))
    }

    /// The server has answered a call; `false`: it is no LOCK or LOCKU.
    pub(super) fn settle_locks(&mut self, slot: u32, status: Nfsstat4) -> bool {
        if let Some((lock, opener)) = self.numbering(slot) {
            lock.answered(status);
            if let Some(owner) = opener {
                owner.answered(status);
            }
        }
        self.locks_of(slot).is_some()
    }

    /// LOCK or LOCKU has succeeded.
    pub(super) fn note_locks(&mut self, slot: u32, stateid: Stateid4) {
        if let Some((lock, _)) = self.numbering(slot) {
            lock.stateid = Some(stateid);
        }
    }

    /// A call does not hold up others any more: it has ended, or is sent later as another one.
    pub(super) fn end_turn(&mut self, slot: u32) {
        let Some((proc, key)) = self.locks_of(slot) else {
            return;
        };
        let xid = self.calls.get(slot).xid;
        match self.own.opens[proc as usize].find(key) {
            Some(file) if file.turn.is_some_and(|turn| turn != xid) => return,
            Some(file) => file.turn = None,
            // The server has lost it meanwhile.
            None => {}
        }
        self.wake(proc, key);
        let earlier = self.key_of(slot);
        if earlier != key {
            self.wake(proc, earlier);
        }
        self.close_detached(proc, Some(key));
    }

    /// LOCK or LOCKU was not answered, or its number is not the one that the server expects: which one that is is
    /// not known. The file is closed, and what it has locked goes with it. Returns whether it was closed.
    pub(super) fn lose_locks(&mut self, slot: u32, is_answered: bool) -> bool {
        let Some((_, opener)) = self.numbering(slot) else {
            return false;
        };
        let is_opener_lost = opener.is_some() && !is_answered;
        let Some((proc, key)) = self.locks_of(slot) else {
            return false;
        };
        let conn = self.calls.get(slot).conn;
        if let Some(file) = self.own.opens[proc as usize].find(key) {
            if is_opener_lost {
                file.owner = None;
            }
            file.turn = None;
        }
        self.close(None, conn, proc, key)
    }

    /// LOCK: who locks, and with what state.
    pub(super) fn encode_lock(
        &self,
        call: &Call<SessionCall>,
        proc: u32,
        key: u32,
        lock: LockArgs<'_>,
        compound: &mut CompoundWriter<'_, Operation>,
    ) {
        let file = self.own.opens[proc as usize].get(key);
        let Some((file, owner)) = file.and_then(|file| Some((file, file.lock?))) else {
            compound.op(&lock);
            return;
        };
        let name = OwnerName::of_locks(self.own.owners[proc as usize], owner.number);
        let lock_seqid = owner.seqid;
        let locker = match (owner.stateid, lock.locker) {
            (Some(lock_stateid), _) => Locker4::Existing(ExistLockOwner4 {
                lock_stateid,
                lock_seqid,
            }),
            (None, Locker4::New(first)) => Locker4::New(OpenToLockOwner4 {
                open_seqid: file.owner.map_or(0, |owner| owner.seqid),
                lock_seqid,
                lock_owner: StateOwner4 {
                    clientid: self.clientid(call.conn),
                    owner: name.as_bytes(),
                },
                ..first
            }),
            (None, existing) => existing,
        };
        compound.op(&LockArgs { locker, ..lock });
    }

    /// LOCKU: the state of the locks, and the number. What the server has lost has no number.
    pub(super) fn unlocked_state(
        &self,
        call: &Call<SessionCall>,
        op: (u32, Action),
        held: Stateid4,
    ) -> (Stateid4, u32) {
        let (proc, Action::V4(action)) = op else {
            return (held, 0);
        };
        let key = super::opens::of_object(action.object());
        let file = self.own.opens[proc as usize].get(key);
        let file = file.filter(|file| file.turn == Some(call.xid));
        match file.and_then(|file| file.lock) {
            Some(lock) => (lock.stateid.unwrap_or(held), lock.seqid),
            None => (held, 0),
        }
    }

    /// The file of this owner of locks is closed: RELEASE_LOCKOWNER.
    pub(super) fn release_owner(&mut self, released: Released) {
        let Released { conn, proc, number } = released;
        if self.own_call(conn, None, StateCall::ReleaseOwner { proc, number }) {
            self.own.client(conn).closing += 1;
        } else {
            self.own.released.push(released);
        }
    }

    /// Begins the RELEASE_LOCKOWNERs for which there was no capacity.
    pub(super) fn release_owners(&mut self) {
        for _ in 0..self.own.released.len() {
            if let Some(released) = self.own.released.pop() {
                self.release_owner(released);
            }
        }
    }
}

/// Whether the state of an operation is that of these locks.
fn has_locked(lock: &LockOwner, held: &Stateid4) -> bool {
    lock.stateid.is_some_and(|of| of.other == held.other)
}
