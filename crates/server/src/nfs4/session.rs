//! One session: its limits, and slots with the reply cache (RFC 8881 section 2.10.6).

use super::back::Back;
use super::clients::Client;
use filermark_onc::nfs4::{Nfsstat4, SequenceArgs, Sessionid4};
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};

/// The limits that were granted for calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Limits {
    /// Longest request, in bytes, with its RPC header.
    pub(crate) request_bytes: u32,
    /// Longest reply, in bytes, with its RPC header.
    pub(crate) response_bytes: u32,
    /// Longest reply that is kept, in bytes, with its RPC header.
    pub(crate) cached_bytes: u32,
    /// Most operations in a COMPOUND.
    pub(crate) operations: u32,
    /// Slots.
    pub(crate) slots: u32,
}

/// The last request of a slot.
#[derive(Debug, Default)]
pub(crate) struct Slot {
    sequenceid: u32,
    /// A digest of the request: another one with the same number is no retry.
    fingerprint: u64,
    reply: LastReply,
}

#[derive(Debug, Default)]
enum LastReply {
    /// There was no request.
    #[default]
    Never,
    NotKept,
    Kept(Box<[u8]>),
}

impl Slot {
    /// Makes this the last request. Until [`Slot::keep`], its reply is not kept.
    pub(crate) fn start(&mut self, sequenceid: u32, fingerprint: u64) {
        self.sequenceid = sequenceid;
        self.fingerprint = fingerprint;
        self.reply = LastReply::NotKept;
    }

    /// Keeps the reply: the results, without the RPC header.
    pub(crate) fn keep(&mut self, reply: &[u8]) {
        self.reply = LastReply::Kept(reply.into());
    }

    /// The reply that was kept.
    pub(crate) fn kept(&self) -> Option<&[u8]> {
        match &self.reply {
            LastReply::Kept(reply) => Some(reply),
            LastReply::Never | LastReply::NotKept => None,
        }
    }
}

/// A request that has its slot, which stays locked while the request is served.
#[derive(Debug)]
pub(crate) enum Begun<'s> {
    /// To be executed.
    New(MutexGuard<'s, Slot>),
    /// The slot's last request, sent again.
    Retry(MutexGuard<'s, Slot>),
}

/// A session.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) id: Sessionid4,
    pub(crate) client: Arc<Client>,
    pub(crate) limits: Limits,
    /// The channel for callbacks; `None`: the client wants none, or the server does.
    pub(crate) back: Option<Back>,
    slots: Box<[Mutex<Slot>]>,
}

impl Session {
    pub(crate) fn new(
        id: Sessionid4,
        client: Arc<Client>,
        limits: Limits,
        back: Option<Back>,
    ) -> Session {
        Session {
            id,
            client,
            limits,
            back,
            slots: (0..limits.slots).map(|_| Mutex::default()).collect(),
        }
    }

    /// The last slot.
    pub(crate) const fn highest_slotid(&self) -> u32 {
        self.limits.slots - 1
    }

    /// Finds the slot of a request and compares its sequence number (RFC 8881 section 2.10.6.1). It waits for
    /// no other request.
    ///
    /// # Errors
    /// The status for SEQUENCE, which is DELAY if the slot's request is being served on another connection
    /// (section 2.10.6.2). The slot is as it was.
    pub(crate) fn begin(
        &self,
        args: &SequenceArgs,
        fingerprint: u64,
    ) -> Result<Begun<'_>, Nfsstat4> {
        let slot = self.slots.get(args.slotid as usize);
        let slot = slot.ok_or(Nfsstat4::Badslot)?;
        if args.highest_slotid >= self.limits.slots {
            return Err(Nfsstat4::BadHighSlot);
        }
        let slot = match slot.try_lock() {
            Ok(slot) => slot,
            Err(TryLockError::Poisoned(slot)) => slot.into_inner(),
            Err(TryLockError::WouldBlock) => return Err(Nfsstat4::Delay),
        };
        if args.sequenceid == slot.sequenceid.wrapping_add(1) {
            return Ok(Begun::New(slot));
        }
        let was_used = !matches!(slot.reply, LastReply::Never);
        if args.sequenceid != slot.sequenceid || !was_used {
            return Err(Nfsstat4::SeqMisordered);
        }
        if fingerprint != slot.fingerprint {
            return Err(Nfsstat4::SeqFalseRetry);
        }
        Ok(Begun::Retry(slot))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(slots: u32) -> Session {
        let limits = Limits {
            request_bytes: 1000,
            response_bytes: 1000,
            cached_bytes: 1000,
            operations: 8,
            slots,
        };
        Session::new([1; 16], Arc::new(Client::for_tests(1)), limits, None)
    }

    fn args(slotid: u32, sequenceid: u32) -> SequenceArgs {
        SequenceArgs {
            sessionid: [1; 16],
            sequenceid,
            slotid,
            highest_slotid: slotid,
            cachethis: true,
        }
    }

    fn new(session: &Session, slotid: u32, sequenceid: u32, reply: Option<&[u8]>) {
        match session.begin(&args(slotid, sequenceid), 7) {
            Ok(Begun::New(mut slot)) => {
                slot.start(sequenceid, 7);
                if let Some(reply) = reply {
                    slot.keep(reply);
                }
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_slot_goes_on_by_one_and_knows_its_last_request() {
        let session = session(2);
        new(&session, 0, 1, Some(b"one"));
        new(&session, 0, 2, None);
        let refused = |args: &SequenceArgs, print| session.begin(args, print).err();
        for (sequenceid, status) in [
            (1, Some(Nfsstat4::SeqMisordered)),
            (4, Some(Nfsstat4::SeqMisordered)),
            (2, None),
            (3, None),
        ] {
            assert_eq!(refused(&args(0, sequenceid), 7), status, "{sequenceid}");
        }
        assert_eq!(refused(&args(0, 2), 8), Some(Nfsstat4::SeqFalseRetry));
        // A slot without a request has none that could be sent again.
        assert_eq!(refused(&args(1, 0), 0), Some(Nfsstat4::SeqMisordered));
        assert_eq!(refused(&args(2, 1), 0), Some(Nfsstat4::Badslot));
        let high = SequenceArgs {
            highest_slotid: 2,
            ..args(0, 3)
        };
        assert_eq!(refused(&high, 7), Some(Nfsstat4::BadHighSlot));
    }

    #[test]
    fn the_last_reply_is_kept_where_it_was_asked_for() {
        let session = session(1);
        new(&session, 0, 1, Some(b"one"));
        let kept = || match session.begin(&args(0, 1), 7) {
            Ok(Begun::Retry(slot)) => slot.kept().map(<[u8]>::to_vec),
            other => panic!("{other:?}"),
        };
        assert_eq!(kept(), Some(b"one".to_vec()));
        assert_eq!(kept(), Some(b"one".to_vec()));
        new(&session, 0, 2, None);
        match session.begin(&args(0, 2), 7) {
            Ok(Begun::Retry(slot)) => assert_eq!(slot.kept(), None),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn requests_in_a_slot_that_is_in_use_are_to_come_later() {
        let session = session(2);
        let held = session.begin(&args(0, 1), 7);
        assert!(matches!(held, Ok(Begun::New(_))));
        for sequenceid in [0, 1, 2] {
            let refused = session.begin(&args(0, sequenceid), 7).err();
            assert_eq!(refused, Some(Nfsstat4::Delay), "{sequenceid}");
        }
        assert!(session.begin(&args(1, 1), 7).is_ok(), "another slot");
        drop(held);
        new(&session, 0, 1, None);
    }

    #[test]
    fn sequence_numbers_wrap() {
        let session = session(1);
        let Ok(Begun::New(mut slot)) = session.begin(&args(0, 1), 7) else {
            panic!("not new");
        };
        slot.start(u32::MAX, 7);
        drop(slot);
        assert!(matches!(session.begin(&args(0, 0), 7), Ok(Begun::New(_))));
    }
}
