//! A client of the checks: the blocking client, and the operations on state that checks need.
//! It knows what it has open, so that nothing stays on the server.

use super::locking::Range;
use super::numbers::Numbers;
use crate::client::{ClientError, NFS_V4, Nfs4Client, Reply4, next_result};
use crate::target::{Target, credential};
use filermark_model::plan::{MinorVersion, NfsPlan};
use filermark_onc::nfs4::*;

/// The owner of opens and locks where it does not matter.
pub(super) const OWNER: &[u8] = b"owner";
/// Another owner of the same client.
pub(super) const OTHER: &[u8] = b"another owner";

/// The minor version of a plan.
pub(super) fn minor_of(plan: &NfsPlan) -> MinorVersion {
    plan.version.minor_version().unwrap_or_default()
}

/// A client with a client ID and, but for version 4.0, a session of its own.
#[derive(Debug)]
pub(in crate::validate) struct Client {
    pub(super) nfs: Nfs4Client,
    held: Vec<Held>,
    /// Version 4.0: owners number their operations.
    pub(super) has_numbers: bool,
    pub(super) numbers: Numbers,
}

/// What is open or locked.
#[derive(Clone, Copy, Debug)]
struct Held {
    file: Fh4,
    stateid: Stateid4,
    /// The range of a lock.
    locked: Option<Range>,
}

/// What an OPEN is to do.
#[derive(Clone, Copy, Debug)]
pub(super) struct Opening<'a> {
    pub(super) owner: &'a [u8],
    /// Bits of [`share`].
    pub(super) access: u32,
    /// Bits of [`share`].
    pub(super) deny: u32,
    pub(super) how: Openflag4<'a>,
    pub(super) claim: OpenClaim4<'a>,
}

impl<'a> Opening<'a> {
    /// Opens the name, which exists.
    pub(super) const fn of(name: &'a [u8], access: u32) -> Self {
        Self {
            owner: OWNER,
            access,
            deny: 0,
            how: Openflag4::NoCreate,
            claim: OpenClaim4::Null(name),
        }
    }

    /// Creates the name and opens it for reading and writing.
    pub(super) const fn new_file(name: &'a [u8], how: Createhow4<'a>) -> Self {
        Self {
            how: Openflag4::Create(how),
            ..Self::of(name, share::BOTH)
        }
    }

    /// The same by another owner.
    pub(super) const fn by(mut self, owner: &'a [u8]) -> Self {
        self.owner = owner;
        self
    }

    /// The same with bits of `share_deny`.
    pub(super) const fn denying(mut self, deny: u32) -> Self {
        self.deny = deny;
        self
    }

    pub(super) fn args(&self) -> OpenArgs<'a> {
        OpenArgs {
            seqid: 0,
            share_access: self.access | share::WANT_NO_DELEG,
            share_deny: self.deny,
            owner: owner(self.owner),
            openhow: self.how,
            claim: self.claim,
        }
    }
}

/// A file that was opened.
#[derive(Clone, Copy, Debug)]
pub(super) struct Opened {
    pub(super) stateid: Stateid4,
    pub(super) file: Fh4,
    pub(super) attrset: Bitmap4,
    pub(super) cinfo: ChangeInfo4,
}

pub(super) const fn owner(name: &[u8]) -> StateOwner4<'_> {
    StateOwner4 {
        clientid: 0,
        owner: name,
    }
}

pub(super) fn putfh(object: &Fh4) -> PutfhArgs<'_> {
    PutfhArgs {
        object: object.handle(),
    }
}

/// The first attributes of what is made: a mode.
pub(super) fn of_mode(mode: u32) -> Attributes<'static> {
    Attributes {
        mode: Some(mode),
        ..Attributes::default()
    }
}

/// Whether the reply of an operation is to be kept for a retry: not if it may be long.
const fn is_kept(operation: Operation) -> bool {
    !matches!(
        operation,
        Operation::Read
            | Operation::ReadPlus
            | Operation::Readdir
            | Operation::Readlink
            | Operation::Getattr
            | Operation::Getxattr
            | Operation::Listxattrs
    )
}

impl Client {
    /// A client that connects when it is first used.
    pub(super) fn new(target: &Target, plan: &NfsPlan) -> Self {
        let (address, options) = (target.nfs_address, target.nfs_options(plan));
        Self {
            nfs: Nfs4Client::new(minor_of(plan), address, credential(plan), options),
            held: Vec::new(),
            has_numbers: !minor_of(plan).has_sessions(),
            numbers: Numbers::default(),
        }
    }

    /// NULL.
    pub(super) fn null(&mut self) -> Result<(), ClientError> {
        self.nfs.rpc().call_raw(NFS_V4, PROC_NULL, &[]).map(drop)
    }

    /// Unlocks and closes what is left, and ends session and client ID. What fails there ends with
    /// the lease.
    pub(super) fn end(&mut self) {
        let mut held = std::mem::take(&mut self.held);
        held.sort_by_key(|held| held.locked.is_none());
        for Held {
            file,
            stateid,
            locked,
        } in held
        {
            let stateid = self.latest(stateid);
            let give_up = |client: &mut Self| match locked {
                Some(range) => client.unlock(&file, stateid, range),
                None => client.close(&file, stateid),
            };
            let mut given_up = give_up(self);
            if let Ok(answer) = &given_up
                && self.goes_back(&stateid, answer)
            {
                given_up = give_up(self);
            }
            if let Err(error) = given_up {
                tracing::debug!(target: "filermark_nfs::rpc", %error, "state is left");
                break;
            }
        }
        if self.has_numbers {
            self.release_all();
        }
        self.nfs.end();
    }

    /// The name of the client (`co_ownerid`).
    pub(super) fn ownerid(&self) -> Vec<u8> {
        self.nfs.ownerid().to_vec()
    }

    /// Notes what is open, or locked with this range, and is to be given up in the end. An open is noted
    /// once, and each range of a lock.
    pub(super) fn hold(&mut self, file: Fh4, stateid: Stateid4, locked: Option<Range>) {
        let is_same = |held: &Held| held.stateid.other == stateid.other && held.locked == locked;
        self.held.retain(|held| !is_same(held));
        self.held.push(Held {
            file,
            stateid,
            locked,
        });
    }

    /// One operation on an object: SEQUENCE, PUTFH and the operation.
    pub(super) fn on<A, T>(
        &mut self,
        object: &Fh4,
        args: &A,
        mut take: impl FnMut(A::Res<'_>) -> Result<T, Nfsstat4>,
    ) -> Reply4<T>
    where
        A: Arguments<Operation = Operation>,
    {
        let write = |compound: &mut CompoundWriter<'_, Operation>| {
            compound.op(&putfh(object)).op(args);
        };
        self.nfs.compound(is_kept(A::OPERATION), write, |compound| {
            next_result!(compound, PutfhArgs<'_>);
            Ok(take(compound.read::<A>()?))
        })
    }

    /// OPEN, and GETFH.
    pub(super) fn open(&mut self, dir: &Fh4, opening: &Opening<'_>) -> Reply4<Opened> {
        let args = opening.args();
        if self.has_numbers {
            let opened = self.open_numbered(dir, opening.owner, &args)?;
            if let Ok(opened) = &opened {
                self.hold(opened.file, opened.stateid, None);
            }
            return Ok(opened);
        }
        let write = |compound: &mut CompoundWriter<'_, Operation>| {
            compound.op(&putfh(dir)).op(&args).op(&GetfhArgs {});
        };
        let opened = self.nfs.compound(true, write, |compound| {
            next_result!(compound, PutfhArgs<'_>);
            let ok = next_result!(compound, OpenArgs<'_>);
            let file = next_result!(compound, GetfhArgs).object.to_fh();
            Ok(Ok(Opened {
                stateid: ok.stateid,
                file,
                attrset: ok.attrset,
                cinfo: ok.cinfo,
            }))
        })?;
        if let Ok(opened) = &opened {
            self.hold(opened.file, opened.stateid, None);
        }
        Ok(opened)
    }

    /// CLOSE.
    pub(super) fn close(&mut self, file: &Fh4, open_stateid: Stateid4) -> Reply4<Stateid4> {
        let owner = self.numbers.owner_of(&open_stateid);
        let args = |seqid| CloseArgs {
            seqid,
            open_stateid,
        };
        let closed = self.numbered(&owner, file, args, |res| res.map(|ok| ok.open_stateid))?;
        if closed.is_ok() {
            self.held
                .retain(|held| held.stateid.other != open_stateid.other);
        }
        Ok(closed)
    }

    /// A CLOSE by hand has succeeded.
    pub(super) fn closed_by_hand(&mut self, stateid: &Stateid4) {
        let owner = self.numbers.owner_of(stateid);
        self.numbers.answered(&owner, &Ok(()));
        self.unlocked_by_hand(stateid);
    }

    /// Nothing is to be given up of this state.
    pub(super) fn unlocked_by_hand(&mut self, stateid: &Stateid4) {
        self.held.retain(|held| held.stateid.other != stateid.other);
    }

    /// Creates a file of mode 644 that must be new, and closes it.
    pub(super) fn create(&mut self, dir: &Fh4, name: &[u8]) -> Reply4<Option<Fh4>> {
        let mode = of_mode(0o644);
        let how = Createhow4::Guarded(Fattr4::new(&mode));
        let opened = match self.open(dir, &Opening::new_file(name, how))? {
            Ok(opened) => opened,
            Err(status) => return Ok(Err(status)),
        };
        let closed = self.close(&opened.file, opened.stateid)?;
        Ok(closed.map(|_| Some(opened.file)))
    }

    /// CREATE of an object that is no file, mode 755.
    pub(super) fn make(&mut self, dir: &Fh4, name: &[u8], objtype: Createtype4<'_>) -> Reply4<Fh4> {
        let mode = of_mode(0o755);
        let args = CreateArgs {
            objtype,
            objname: name,
            createattrs: Fattr4::new(&mode),
        };
        let write = |compound: &mut CompoundWriter<'_, Operation>| {
            compound.op(&putfh(dir)).op(&args).op(&GetfhArgs {});
        };
        self.nfs.compound(true, write, |compound| {
            next_result!(compound, PutfhArgs<'_>);
            next_result!(compound, CreateArgs<'_>);
            Ok(Ok(next_result!(compound, GetfhArgs).object.to_fh()))
        })
    }

    /// REMOVE.
    pub(super) fn remove(&mut self, dir: &Fh4, target: &[u8]) -> Reply4<ChangeInfo4> {
        self.on(dir, &RemoveArgs { target }, |res| res.map(|ok| ok.cinfo))
    }

    /// LINK.
    pub(super) fn link(&mut self, file: &Fh4, dir: &Fh4, newname: &[u8]) -> Reply4<()> {
        let write = |compound: &mut CompoundWriter<'_, Operation>| {
            compound.op(&putfh(file)).op(&SavefhArgs {});
            compound.op(&putfh(dir)).op(&LinkArgs { newname });
        };
        self.nfs.compound(true, write, |compound| {
            next_result!(compound, PutfhArgs<'_>);
            next_result!(compound, SavefhArgs);
            next_result!(compound, PutfhArgs<'_>);
            next_result!(compound, LinkArgs<'_>);
            Ok(Ok(()))
        })
    }

    /// GETATTR.
    pub(super) fn getattr<T>(
        &mut self,
        object: &Fh4,
        attr_request: Bitmap4,
        take: impl Fn(&Attributes<'_>) -> T,
    ) -> Reply4<T> {
        let write = |compound: &mut CompoundWriter<'_, Operation>| {
            compound
                .op(&putfh(object))
                .op(&GetattrArgs { attr_request });
        };
        self.nfs.compound(false, write, |compound| {
            next_result!(compound, PutfhArgs<'_>);
            let ok = next_result!(compound, GetattrArgs);
            Ok(Ok(take(&ok.obj_attributes.attributes()?)))
        })
    }

    /// SETATTR. Returns what was set.
    pub(super) fn setattr(
        &mut self,
        object: &Fh4,
        stateid: Stateid4,
        values: &Attributes<'_>,
    ) -> Reply4<Bitmap4> {
        let args = SetattrArgs {
            stateid,
            obj_attributes: Fattr4::new(values),
        };
        self.on(object, &args, |res| match res.status {
            Nfsstat4::Ok => Ok(res.attrsset),
            status => Err(status),
        })
    }

    /// READ: whether it reached the end, and the data.
    pub(super) fn read(
        &mut self,
        file: &Fh4,
        stateid: Stateid4,
        offset: u64,
        count: u32,
    ) -> Reply4<(bool, Vec<u8>)> {
        let args = ReadArgs {
            stateid,
            offset,
            count,
        };
        self.on(file, &args, |res| res.map(|ok| (ok.eof, ok.data.to_vec())))
    }

    /// WRITE.
    pub(super) fn write(
        &mut self,
        file: &Fh4,
        stateid: Stateid4,
        offset: u64,
        data: &[u8],
        stable: StableHow,
    ) -> Reply4<WriteOk> {
        let args = WriteArgs {
            stateid,
            offset,
            stable,
            data,
        };
        self.on(file, &args, |res| res)
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.end();
    }
}
