//! Version 4.0: the numbers of the owners of a client of the checks (RFC 7530 sections 9.1.7 to 9.1.11). In a session
//! there are none, and all of this is unused.

use super::client::{Client, putfh};
use crate::client::{ClientError, Reply4, next_result};
use filermark_onc::nfs4::*;
use std::collections::BTreeMap;

/// An owner of opens or of locks.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Owner {
    is_of_locks: bool,
    name: Vec<u8>,
}

impl Owner {
    pub(super) fn of_opens(name: &[u8]) -> Self {
        Self {
            is_of_locks: false,
            name: name.to_vec(),
        }
    }

    pub(super) fn of_locks(name: &[u8]) -> Self {
        Self {
            is_of_locks: true,
            name: name.to_vec(),
        }
    }
}

/// What is known of the owners and their states.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    /// The number of the next operation.
    next: BTreeMap<Owner, u32>,
    /// Whose states these are, by their part that stays the same, and the latest of each.
    states: BTreeMap<[u8; 12], (Owner, Stateid4)>,
}

impl Numbers {
    /// The number of the owner's next operation.
    pub(super) fn next(&self, owner: &Owner) -> u32 {
        self.next.get(owner).copied().unwrap_or_default()
    }

    /// The owner of a state; one without a name: it is not known.
    pub(super) fn owner_of(&self, stateid: &Stateid4) -> Owner {
        let known = self.states.get(&stateid.other);
        known.map_or_else(|| Owner::of_opens(b""), |(owner, _)| owner.clone())
    }

    /// The server has answered an operation of an owner, perhaps with the new version of a state.
    pub(super) fn answered<T>(&mut self, owner: &Owner, answer: &Result<T, Nfsstat4>) {
        let status = answer.as_ref().err().copied().unwrap_or(Nfsstat4::Ok);
        if status.uses_seqid() {
            let next = self.next(owner).wrapping_add(1);
            self.next.insert(owner.clone(), next);
        }
    }

    /// The latest version of a state.
    pub(super) fn note(&mut self, owner: &Owner, stateid: Stateid4) {
        self.states.insert(stateid.other, (owner.clone(), stateid));
    }

    fn latest(&self, stateid: &Stateid4) -> Stateid4 {
        let known = self.states.get(&stateid.other);
        known.map_or(*stateid, |(_, latest)| *latest)
    }

    /// What a server does not count although it has to: the number is used again.
    fn step_back(&mut self, owner: &Owner) {
        if let Some(next) = self.next.get_mut(owner) {
            *next = next.wrapping_sub(1);
        }
    }
}

impl Client {
    /// Whether calls are made in a session.
    pub(super) fn has_session(&mut self) -> Result<bool, ClientError> {
        Ok(self.nfs.session()?.session.minor().has_sessions())
    }

    /// Version 4.0: the client ID; in a session it is not used.
    pub(super) fn clientid(&mut self) -> Result<Clientid4, ClientError> {
        let session = &self.nfs.session()?.session;
        match session.minor().has_sessions() {
            true => Ok(0),
            false => Ok(session.clientid()),
        }
    }

    /// An operation of an owner. `args`: with this number.
    pub(super) fn numbered<A, T>(
        &mut self,
        owner: &Owner,
        object: &Fh4,
        args: impl Fn(u32) -> A,
        take: impl FnMut(A::Res<'_>) -> Result<T, Nfsstat4>,
    ) -> Reply4<T>
    where
        A: Arguments<Operation = Operation>,
    {
        if self.has_session()? {
            return self.on(object, &args(0), take);
        }
        let seqid = self.numbers.next(owner);
        let answer = self.on(object, &args(seqid), take)?;
        self.numbers.answered(owner, &answer);
        Ok(answer)
    }

    /// OPEN_CONFIRM, which the server asks for with the first OPEN of an owner (RFC 7530 section 16.18).
    pub(super) fn confirm(&mut self, owner: &Owner, file: &Fh4, of: Stateid4) -> Reply4<Stateid4> {
        let args = |seqid| OpenConfirmArgs {
            open_stateid: of,
            seqid,
        };
        self.numbered(owner, file, args, |res| res.map(|ok| ok.open_stateid))
    }

    /// OPEN_DOWNGRADE to this access.
    pub(super) fn downgrade(
        &mut self,
        file: &Fh4,
        open_stateid: Stateid4,
        share_access: u32,
    ) -> Reply4<Stateid4> {
        let owner = self.numbers.owner_of(&open_stateid);
        let args = |seqid| OpenDowngradeArgs {
            open_stateid,
            seqid,
            share_access,
            share_deny: 0,
        };
        let answer = self.numbered(&owner, file, args, |res| res.map(|ok| ok.open_stateid))?;
        if let Ok(stateid) = answer {
            self.numbers.note(&owner, stateid);
        }
        Ok(answer)
    }

    /// The latest version of a state: 0 in a session (RFC 8881 section 8.2.2), else what the server returned last.
    pub(super) fn latest(&self, stateid: Stateid4) -> Stateid4 {
        match self.has_numbers {
            true => self.numbers.latest(&stateid),
            false => Stateid4 {
                seqid: 0,
                ..stateid
            },
        }
    }

    /// The owner of a state goes on with the number before, if the server says that its number is wrong.
    pub(super) fn goes_back<T>(
        &mut self,
        stateid: &Stateid4,
        answer: &Result<T, Nfsstat4>,
    ) -> bool {
        let is_wrong = self.has_numbers && matches!(answer, Err(Nfsstat4::BadSeqid));
        if is_wrong {
            let owner = self.numbers.owner_of(stateid);
            self.numbers.step_back(&owner);
        }
        is_wrong
    }

    /// RELEASE_LOCKOWNER (RFC 7530 section 16.37).
    pub(super) fn release(&mut self, name: &[u8]) -> Reply4<()> {
        let args = ReleaseLockownerArgs {
            lock_owner: StateOwner4 {
                clientid: self.clientid()?,
                owner: name,
            },
        };
        let write = |compound: &mut CompoundWriter<'_, Operation>| {
            compound.op(&args);
        };
        self.nfs.compound(true, write, |compound| {
            next_result!(compound, ReleaseLockownerArgs<'_>);
            Ok(Ok(()))
        })
    }

    /// The owners of locks end with the check; opens have ended before.
    pub(super) fn release_all(&mut self) {
        let owners = self.numbers.next.keys().filter(|owner| owner.is_of_locks);
        let names: Vec<Vec<u8>> = owners.map(|owner| owner.name.clone()).collect();
        for name in names {
            // What is refused ends with the lease.
            let _ = self.release(&name);
        }
        // The next check has another client ID, whose owners begin again.
        self.numbers = Numbers::default();
    }

    /// OPEN and GETFH in version 4.0.
    pub(super) fn open_numbered(
        &mut self,
        dir: &Fh4,
        name: &[u8],
        args: &OpenArgs<'_>,
    ) -> Reply4<super::client::Opened> {
        let owner = Owner::of_opens(name);
        let (seqid, clientid) = (self.numbers.next(&owner), self.clientid()?);
        let args = OpenArgs {
            seqid,
            share_access: args.share_access & share::BOTH,
            owner: StateOwner4 {
                clientid,
                owner: name,
            },
            ..*args
        };
        let write = |compound: &mut CompoundWriter<'_, Operation>| {
            compound.op(&putfh(dir)).op(&args).op(&GetfhArgs {});
        };
        let mut of_open = None;
        let opened = self.nfs.compound(true, write, |compound| {
            next_result!(compound, PutfhArgs<'_>);
            let ok = compound.read::<OpenArgs<'_>>()?;
            of_open = Some(ok.as_ref().map(drop).map_err(|status| *status));
            let ok = match ok {
                Ok(ok) => ok,
                Err(status) => return Ok(Err(status)),
            };
            let asks = ok.rflags & open_result::CONFIRM != 0;
            let (stateid, attrset, cinfo) = (ok.stateid, ok.attrset, ok.cinfo);
            let file = next_result!(compound, GetfhArgs).object.to_fh();
            let opened = super::client::Opened {
                stateid,
                file,
                attrset,
                cinfo,
            };
            Ok(Ok((opened, asks)))
        })?;
        if let Some(answer) = of_open {
            self.numbers.answered(&owner, &answer);
        }
        let (mut opened, asks) = match opened {
            Ok(opened) => opened,
            Err(status) => return Ok(Err(status)),
        };
        if asks {
            match self.confirm(&owner, &opened.file, opened.stateid)? {
                Ok(stateid) => opened.stateid = stateid,
                Err(status) => return Ok(Err(status)),
            }
        }
        self.numbers.note(&owner, opened.stateid);
        Ok(Ok(opened))
    }
}
