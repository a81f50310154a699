//! The server of the tests in version 4.0: client IDs, owners of opens and locks with numbers and their last replies.

use super::server::{Deed, Seen, State};
use filermark_onc::nfs4::*;
use std::collections::{BTreeMap, BTreeSet};

/// An owner of opens or locks.
struct OwnerState {
    seqid: u32,
    is_confirmed: bool,
    /// The last reply.
    kept: Vec<u8>,
}

/// What only version 4.0 has.
#[derive(Default)]
pub(super) struct State40 {
    /// Whether OPEN_CONFIRM is asked for.
    pub(super) confirms: bool,
    owners: BTreeMap<Vec<u8>, OwnerState>,
    /// The owner and the seqid of each state, also of those that are closed.
    states: BTreeMap<[u8; 12], (Vec<u8>, u32)>,
    /// The verifiers that clients have had.
    pub(super) verifiers: BTreeSet<Verf>,
    /// What was opened: directory and name.
    pub(super) opened: Vec<(Vec<u8>, Vec<u8>)>,
    /// By the owner of locks: how many are held.
    held: BTreeMap<Vec<u8>, usize>,
    /// By the state of an open: the owners of its locks.
    lockers: BTreeMap<[u8; 12], Vec<Vec<u8>>>,
    /// The owners of locks that were released.
    pub(super) released: usize,
    /// Operations with a number that was not the next one.
    pub(super) wrong_numbers: usize,
}

impl State40 {
    pub(super) fn latest(&self, other: &[u8; 12]) -> u32 {
        self.states.get(other).map_or(0, |(_, seqid)| *seqid)
    }

    /// No owner of locks holds any, or has one that was closed.
    pub(super) fn holds_nothing(&self) -> bool {
        self.held.values().all(|count| *count == 0)
    }

    pub(super) fn owners(&self) -> usize {
        self.owners.len()
    }

    /// The owner and the number of the operation behind PUTFH, where it has one.
    fn numbered(&self, ops: &[Args<'_>]) -> Option<(Vec<u8>, u32)> {
        let of = |stateid: &Stateid4| Some(self.states.get(&stateid.other)?.0.clone());
        match ops.get(1)? {
            Args::Open(args) => Some((args.owner.owner.to_vec(), args.seqid)),
            Args::OpenConfirm(args) => Some((of(&args.open_stateid)?, args.seqid)),
            Args::Close(args) => Some((of(&args.open_stateid)?, args.seqid)),
            Args::Locku(args) => Some((of(&args.lock_stateid)?, args.seqid)),
            Args::Lock(args) => match &args.locker {
                Locker4::New(new) => Some((of(&new.open_stateid)?, new.open_seqid)),
                Locker4::Existing(known) => Some((of(&known.lock_stateid)?, known.lock_seqid)),
            },
            _ => None,
        }
    }
}

/// The statuses that use no number (RFC 7530 section 9.1.7), as far as the tests have them.
fn is_counted(status: Nfsstat4) -> bool {
    ![
        Nfsstat4::StaleClientid,
        Nfsstat4::StaleStateid,
        Nfsstat4::BadStateid,
        Nfsstat4::BadSeqid,
        Nfsstat4::Resource,
        Nfsstat4::Moved,
    ]
    .contains(&status)
}

/// What becomes of a number.
enum Numbered {
    New,
    Replay(Vec<u8>),
    Wrong,
}

impl State {
    /// A COMPOUND of version 4.0; `None`: the connection ends.
    pub(super) fn without_session(
        &mut self,
        ops: &[Args<'_>],
        mut reply: Vec<u8>,
    ) -> Option<Vec<Vec<u8>>> {
        let header = reply.clone();
        let names: Vec<Operation> = ops.iter().map(Args::operation).collect();
        let deed = self.deed(&names);
        match deed {
            Deed::CloseBefore => return None,
            Deed::Silent => return Some(Vec::new()),
            Deed::Garbage => return Some(vec![reply]),
            Deed::Forget(_) => {
                self.clients.clear();
                self.opens.clear();
                self.v40.owners.clear();
            }
            _ => {}
        }
        let mut compound = CompoundResWriter::<Operation>::begin(&mut reply, b"");
        if let Deed::Bare(status) = deed {
            compound.finish_as(status);
            return Some(vec![reply]);
        }
        let numbered = self.v40.numbered(ops);
        match self.check_number(numbered.as_ref(), &names) {
            Numbered::New => {}
            Numbered::Replay(kept) => {
                self.replays += 1;
                return Some(vec![[&header[..], &kept[..]].concat()]);
            }
            Numbered::Wrong => {
                self.v40.wrong_numbers += 1;
                compound.result::<PutfhArgs<'_>>(&Ok(()));
                compound.fail(names[1], Nfsstat4::BadSeqid);
                compound.finish();
                return Some(vec![reply]);
            }
        }
        let is_confirmation = names.contains(&Operation::OpenConfirm);
        self.executed.push(names);
        let mut current: Vec<u8> = Vec::new();
        let mut last = (0, Nfsstat4::Ok);
        for (at, op) in ops.iter().enumerate() {
            let status = match deed {
                Deed::Fail(place, status) if place == at => compound.fail(op.operation(), status),
                _ => self.execute40(op, &mut current, &mut compound),
            };
            last = (at, status);
            if status != Nfsstat4::Ok {
                break;
            }
        }
        compound.finish();
        if let Some((owner, seqid)) = numbered
            && (last.0 > 1 || last.0 == 1 && is_counted(last.1))
        {
            let is_confirmed = !self.v40.confirms;
            let state = self.v40.owners.entry(owner).or_insert(OwnerState {
                seqid,
                is_confirmed,
                kept: Vec::new(),
            });
            state.seqid = seqid;
            state.is_confirmed |= is_confirmation && last.1 == Nfsstat4::Ok;
            state.kept = reply[header.len()..].to_vec();
            if let Some(Args::Lock(args)) = ops.get(1)
                && let Locker4::New(new) = &args.locker
            {
                let kept = reply[header.len()..].to_vec();
                let owner = OwnerState {
                    seqid: new.lock_seqid,
                    is_confirmed: true,
                    kept,
                };
                self.v40.owners.insert(new.lock_owner.owner.to_vec(), owner);
            }
        }
        match deed {
            Deed::CloseAfter => None,
            _ => Some(vec![reply]),
        }
    }

    /// What the script says; the set-up is always good.
    fn deed(&mut self, names: &[Operation]) -> Deed {
        let first = names.first();
        if let Some(Operation::Setclientid | Operation::SetclientidConfirm) = first {
            return Deed::Good;
        }
        let seen = Seen {
            nth: self.seen,
            conn: self.present,
            ops: names.to_vec(),
        };
        self.seen += 1;
        (self.script)(&seen)
    }

    fn check_number(&self, numbered: Option<&(Vec<u8>, u32)>, names: &[Operation]) -> Numbered {
        let Some((owner, seqid)) = numbered else {
            return Numbered::New;
        };
        let Some(known) = self.v40.owners.get(owner) else {
            return Numbered::New;
        };
        let is_new = !known.is_confirmed && names.contains(&Operation::Open);
        match *seqid {
            same if same == known.seqid => Numbered::Replay(known.kept.clone()),
            next if next == known.seqid.wrapping_add(1) || is_new => Numbered::New,
            _ => Numbered::Wrong,
        }
    }

    fn execute40(
        &mut self,
        op: &Args<'_>,
        current: &mut Vec<u8>,
        compound: &mut CompoundResWriter<'_, Operation>,
    ) -> Nfsstat4 {
        match op {
            Args::Setclientid(args) => {
                self.single.push(Operation::Setclientid);
                self.v40.verifiers.insert(args.client.verifier);
                let clientid = self.next;
                self.next += 1;
                compound.result::<SetclientidArgs<'_>>(&Ok(SetclientidOk {
                    clientid,
                    setclientid_confirm: [3; 8],
                }))
            }
            Args::SetclientidConfirm(args) => {
                assert_eq!(args.setclientid_confirm, [3; 8]);
                self.clients.insert(args.clientid);
                compound.result::<SetclientidConfirmArgs>(&Ok(()))
            }
            Args::Renew(args) => match self.clients.contains(&args.clientid) {
                true => compound.result::<RenewArgs>(&Ok(())),
                false => compound.fail(Operation::Renew, Nfsstat4::StaleClientid),
            },
            Args::Open(args) => self.open40(args, current, compound),
            Args::OpenConfirm(args) => {
                let mut stateid = args.open_stateid;
                let is_of_file = self.files.get(&stateid.other) == Some(current);
                let known = self.v40.states.get_mut(&stateid.other);
                let Some(known) = known.filter(|known| is_of_file && known.1 == stateid.seqid)
                else {
                    return compound.fail(Operation::OpenConfirm, Nfsstat4::BadStateid);
                };
                known.1 += 1;
                stateid.seqid = known.1;
                compound.result::<OpenConfirmArgs>(&Ok(OpenConfirmOk {
                    open_stateid: stateid,
                }))
            }
            Args::Close(args)
                if args.open_stateid.seqid != self.v40.latest(&args.open_stateid.other) =>
            {
                compound.fail(Operation::Close, Nfsstat4::OldStateid)
            }
            Args::Close(args) => {
                // What is locked goes with the open (RFC 7530 section 16.2.4).
                let status = self.execute(op, current, compound);
                if status == Nfsstat4::Ok {
                    let lockers = self.v40.lockers.remove(&args.open_stateid.other);
                    for owner in lockers.into_iter().flatten() {
                        self.v40.held.insert(owner, 0);
                    }
                }
                status
            }
            Args::Lock(args) => match self.lock40(&args.locker, current) {
                Ok(lock_stateid) => compound.result::<LockArgs<'_>>(&Ok(LockOk { lock_stateid })),
                Err(status) => compound.fail(Operation::Lock, status),
            },
            Args::Locku(args) => match self.next_of(&args.lock_stateid) {
                Ok((owner, lock_stateid)) => {
                    *self.v40.held.get_mut(&owner).expect("locked") -= 1;
                    compound.result::<LockuArgs>(&Ok(LockuOk { lock_stateid }))
                }
                Err(status) => compound.fail(Operation::Locku, status),
            },
            Args::ReleaseLockowner(args) => {
                assert!(self.clients.contains(&args.lock_owner.clientid));
                let owner = args.lock_owner.owner;
                let held = self.v40.held.remove(owner).unwrap_or_default();
                assert_eq!(held, 0, "it holds nothing");
                self.v40.owners.remove(owner);
                self.v40.released += 1;
                compound.result::<ReleaseLockownerArgs<'_>>(&Ok(()))
            }
            other => self.execute(other, current, compound),
        }
    }

    /// The next version of a state, and its owner.
    fn next_of(&mut self, stateid: &Stateid4) -> Result<(Vec<u8>, Stateid4), Nfsstat4> {
        let known = self.v40.states.get_mut(&stateid.other);
        let (owner, seqid) = known.ok_or(Nfsstat4::BadStateid)?;
        if *seqid != stateid.seqid {
            return Err(Nfsstat4::OldStateid);
        }
        *seqid += 1;
        let seqid = *seqid;
        Ok((owner.clone(), Stateid4 { seqid, ..*stateid }))
    }

    fn lock40(&mut self, locker: &Locker4<'_>, current: &[u8]) -> Result<Stateid4, Nfsstat4> {
        let (owner, stateid) = match locker {
            Locker4::Existing(known) => self.next_of(&known.lock_stateid)?,
            Locker4::New(new) => {
                let other = &new.open_stateid.other;
                if !self.opens.contains_key(other)
                    || self.files.get(other).map(Vec::as_slice) != Some(current)
                {
                    return Err(Nfsstat4::BadStateid);
                }
                assert!(self.clients.contains(&new.lock_owner.clientid));
                let mut other = [8; 12];
                other[..8].copy_from_slice(&self.next.to_be_bytes());
                self.next += 1;
                let owner = new.lock_owner.owner.to_vec();
                let lockers = self.v40.lockers.entry(new.open_stateid.other);
                lockers.or_default().push(owner.clone());
                assert!(
                    !self.v40.held.contains_key(&owner),
                    "it has a state already"
                );
                self.v40.states.insert(other, (owner.clone(), 1));
                (owner, Stateid4 { seqid: 1, other })
            }
        };
        *self.v40.held.entry(owner).or_default() += 1;
        Ok(stateid)
    }

    fn open40(
        &mut self,
        args: &OpenArgs<'_>,
        current: &mut Vec<u8>,
        compound: &mut CompoundResWriter<'_, Operation>,
    ) -> Nfsstat4 {
        assert_eq!(args.share_access, share::BOTH, "no bits of later versions");
        let OpenClaim4::Null(name) = args.claim else {
            panic!("{:?} is not of version 4.0", args.claim);
        };
        if !self.clients.contains(&args.owner.clientid) {
            return compound.fail(Operation::Open, Nfsstat4::StaleClientid);
        }
        self.v40.opened.push((current.clone(), name.to_vec()));
        *current = name.to_vec();
        let owner = args.owner.owner.to_vec();
        let stateid = self.open(&owner);
        self.files.insert(stateid.other, current.clone());
        let known = self.v40.owners.get(&owner);
        let is_confirmed = known.is_some_and(|known| known.is_confirmed);
        self.v40
            .states
            .insert(stateid.other, (owner, stateid.seqid));
        let asks = self.v40.confirms && !is_confirmed;
        compound.result::<OpenArgs<'_>>(&Ok(OpenOk {
            stateid,
            cinfo: ChangeInfo4::default(),
            rflags: if asks { open_result::CONFIRM } else { 0 },
            attrset: Bitmap4::EMPTY,
            delegation: OpenDelegation4::None,
        }))
    }
}
