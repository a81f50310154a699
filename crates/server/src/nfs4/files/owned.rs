//! Version 4.0: whose a state is, as no session says it, and RELEASE_LOCKOWNER (RFC 7530 sections 9.1.4 and 16.37).

use super::{Client, Files, Nfsstat4, SHARDS, State, Stateid4};
use crate::nfs4::owners::OwnerKey;
use std::sync::Arc;

impl Files {
    /// Looks at the state of a stateid.
    fn looked_at<T>(
        &self,
        stateid: &Stateid4,
        look: impl FnOnce(&State) -> T,
    ) -> Result<T, Nfsstat4> {
        if stateid.other[..4] != self.epoch.to_be_bytes() {
            return Err(Nfsstat4::StaleStateid);
        }
        // 0 is the latest one in later versions alone.
        if stateid.seqid == 0 {
            return Err(Nfsstat4::BadStateid);
        }
        let id = self.id(stateid)?;
        let shard = self.read(id as usize % SHARDS);
        shard.states.get(&id).map(look).ok_or(Nfsstat4::BadStateid)
    }

    /// The client of a state.
    ///
    /// # Errors
    /// STALE_STATEID, BAD_STATEID.
    pub(crate) fn client_of(&self, stateid: &Stateid4) -> Result<Arc<Client>, Nfsstat4> {
        self.looked_at(stateid, |state| state.client().clone())
    }

    /// The owner of a state.
    ///
    /// # Errors
    /// STALE_STATEID, BAD_STATEID.
    pub(crate) fn owner_of(&self, stateid: &Stateid4) -> Result<OwnerKey, Nfsstat4> {
        self.looked_at(stateid, |state| {
            let (is_of_locks, owner) = match state {
                State::Open(open) => (false, &open.owner),
                State::Locks(locks) => (true, &locks.owner),
                // It belongs to a client, and clients of this version get none.
                State::Delegation(_) => return Err(Nfsstat4::BadStateid),
            };
            Ok(OwnerKey {
                clientid: state.client().id,
                is_of_locks,
                owner: owner.clone(),
            })
        })?
    }

    /// RELEASE_LOCKOWNER.
    ///
    /// # Errors
    /// LOCKS_HELD.
    pub(crate) fn release_owner(&self, client: &Client, owner: &[u8]) -> Result<(), Nfsstat4> {
        let is_of_owner = |state: &State| match state {
            State::Locks(locks) => locks.client.id == client.id && *locks.owner == *owner,
            State::Open(_) | State::Delegation(_) => false,
        };
        let holds = |state: &State| match state {
            State::Locks(locks) => !locks.ranges.is_empty(),
            State::Open(_) | State::Delegation(_) => false,
        };
        for shard in 0..SHARDS {
            let shard = &mut *self.write(shard);
            let own = shard.states.iter().filter(|(_, state)| is_of_owner(state));
            let own: Vec<(u64, bool)> = own.map(|(id, state)| (*id, holds(state))).collect();
            if own.iter().any(|(_, holds)| *holds) {
                return Err(Nfsstat4::LocksHeld);
            }
            for (id, _) in own {
                shard.remove(id);
            }
        }
        Ok(())
    }
}
