//! A session: its limits and its slots, and what SEQUENCE means in each COMPOUND (RFC 8881 section 18.46).

use super::channel::ChannelLimits;
use super::slots::SlotTable;
use filermark_model::plan::MinorVersion;
use filermark_onc::nfs4::{
    Clientid4, Nfsstat4, SequenceArgs, SequenceRes, Sessionid4, seq4_status,
};

/// A session that the server created. It belongs to a client ID and may be used over several connections.
#[derive(Debug, Clone)]
pub struct Session {
    minor: MinorVersion,
    sessionid: Sessionid4,
    clientid: Clientid4,
    /// Sequence number of the client ID's next CREATE_SESSION.
    create_sequence: u32,
    fore: ChannelLimits,
    back: ChannelLimits,
    slots: SlotTable,
}

/// What the result of SEQUENCE means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SequenceOutcome {
    /// The COMPOUND was executed as far as its other results show. The slot is free.
    Executed {
        /// What the server states about the client.
        status_flags: StatusFlags,
    },
    /// NFS4ERR_DELAY: the same call is to be sent again later, with the same slot and sequence number.
    /// The slot stays in use.
    Later,
    /// The connection is not bound to the session: BIND_CONN_TO_SESSION is to be sent, then the same
    /// call. The slot stays in use.
    NotBound,
    /// There is no such session any more. A new one is to be created for the same client ID, which may
    /// turn out to be lost, too.
    SessionLost(Nfsstat4),
    /// The client ID is lost with all its state.
    ClientLost(Nfsstat4),
    /// The server has executed the call before and not kept its reply. The slot is free, the outcome of
    /// the call is unknown.
    ReplyNotKept,
    /// The server refuses the call as it is. The slot is free.
    Refused(Nfsstat4),
    /// The result belongs to another session, slot or call. The slot stays in use: the session is not to
    /// be used any more.
    OtherCall,
}

impl Session {
    /// A session as CREATE_SESSION of this minor version granted it; of version 4.0 a client ID alone.
    pub(super) fn new(
        minor: MinorVersion,
        sessionid: Sessionid4,
        clientid: Clientid4,
        create_sequence: u32,
        fore: ChannelLimits,
        back: ChannelLimits,
    ) -> Self {
        Self {
            minor,
            sessionid,
            clientid,
            create_sequence,
            fore,
            back,
            slots: SlotTable::new(fore.slots),
        }
    }

    /// The minor version of all its calls and callbacks.
    pub const fn minor(&self) -> MinorVersion {
        self.minor
    }

    /// The session's number.
    pub const fn sessionid(&self) -> Sessionid4 {
        self.sessionid
    }

    /// The client ID that it belongs to.
    pub const fn clientid(&self) -> Clientid4 {
        self.clientid
    }

    /// Sequence number of the client ID's next CREATE_SESSION.
    pub const fn create_sequence(&self) -> u32 {
        self.create_sequence
    }

    /// Limits for calls, as granted.
    pub const fn fore(&self) -> &ChannelLimits {
        &self.fore
    }

    /// Limits for callbacks, as granted.
    pub const fn back(&self) -> &ChannelLimits {
        &self.back
    }

    /// The slots.
    pub const fn slots(&self) -> &SlotTable {
        &self.slots
    }

    /// Takes a slot for a call; `None`: all are in use, the caller waits for an answer.
    #[inline]
    pub fn take_slot(&mut self) -> Option<u32> {
        self.slots.take()
    }

    /// Frees a slot whose call was not sent.
    pub fn cancel(&mut self, slotid: u32) {
        self.slots.release(slotid, false);
    }

    /// The first operation of a COMPOUND in this slot. `cachethis`: the server shall keep the reply, as is
    /// needed for calls that must not be executed twice. Two calls of this function return the same
    /// sequence number until there is a result.
    #[inline]
    pub fn sequence(&self, slotid: u32, cachethis: bool) -> SequenceArgs {
        SequenceArgs {
            sessionid: self.sessionid,
            sequenceid: self.slots.sequenceid(slotid).unwrap_or_default(),
            slotid,
            highest_slotid: self.slots.highest_in_use().max(slotid),
            cachethis,
        }
    }

    /// Evaluates the result of SEQUENCE of the call in this slot. A reply without one (a COMPOUND that
    /// failed before its first operation) is an `Err` with the status of the COMPOUND. `next` is the status
    /// of the result behind it, if there is one.
    #[inline]
    pub fn sequence_result(
        &mut self,
        slotid: u32,
        result: &SequenceRes,
        next: Option<Nfsstat4>,
    ) -> SequenceOutcome {
        let ok = match result {
            Ok(ok) => ok,
            Err(status) => return self.sequence_failed(slotid, *status),
        };
        let expected = self.slots.sequenceid(slotid);
        let is_ours = ok.sessionid == self.sessionid
            && ok.slotid == slotid
            && Some(ok.sequenceid) == expected
            && self.slots.is_in_use(slotid);
        if !is_ours {
            return SequenceOutcome::OtherCall;
        }
        self.slots.release(slotid, true);
        let highest = ok.target_highest_slotid.min(ok.highest_slotid);
        self.slots.set_highest(highest);
        // A server may answer so behind SEQUENCE, too (the Linux kernel's does).
        if next == Some(Nfsstat4::RetryUncachedRep) {
            return SequenceOutcome::ReplyNotKept;
        }
        SequenceOutcome::Executed {
            status_flags: StatusFlags(ok.status_flags),
        }
    }

    fn sequence_failed(&mut self, slotid: u32, status: Nfsstat4) -> SequenceOutcome {
        let outcome = match status {
            Nfsstat4::Delay => return SequenceOutcome::Later,
            Nfsstat4::ConnNotBoundToSession => return SequenceOutcome::NotBound,
            Nfsstat4::Badsession | Nfsstat4::Deadsession => SequenceOutcome::SessionLost(status),
            Nfsstat4::StaleClientid | Nfsstat4::Expired => SequenceOutcome::ClientLost(status),
            Nfsstat4::RetryUncachedRep => SequenceOutcome::ReplyNotKept,
            _ => SequenceOutcome::Refused(status),
        };
        // The server counts a call whose reply it has not kept, and no other that fails here.
        let counted = outcome == SequenceOutcome::ReplyNotKept;
        self.slots.release(slotid, counted);
        outcome
    }
}

/// `sr_status_flags`: bits of [`seq4_status`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct StatusFlags(pub u32);

impl StatusFlags {
    const fn any(self, bits: u32) -> bool {
        self.0 & bits != 0
    }

    /// Opens, locks or delegations were revoked: what was opened is to be opened again.
    pub const fn is_state_revoked(self) -> bool {
        self.any(
            seq4_status::EXPIRED_ALL_STATE_REVOKED
                | seq4_status::EXPIRED_SOME_STATE_REVOKED
                | seq4_status::ADMIN_STATE_REVOKED
                | seq4_status::RECALLABLE_STATE_REVOKED,
        )
    }

    /// The server has restarted and kept the session, but not what was opened.
    pub const fn is_reclaim_needed(self) -> bool {
        self.any(seq4_status::RESTART_RECLAIM_NEEDED)
    }

    /// A file system has moved to another server.
    pub const fn is_lease_moved(self) -> bool {
        self.any(seq4_status::LEASE_MOVED)
    }

    /// The server cannot send callbacks.
    pub const fn is_callback_path_down(self) -> bool {
        self.any(
            seq4_status::CB_PATH_DOWN
                | seq4_status::CB_PATH_DOWN_SESSION
                | seq4_status::BACKCHANNEL_FAULT,
        )
    }
}

#[cfg(test)]
mod tests;
