//! The requests of version 3: for each operation its first call, for each procedure its
//! arguments and the outcome of its results. `v2` encodes the same requests in version 2.
//! Transfers, COMMIT and listings continue in modules of their own.
#![deny(clippy::wildcard_enum_match_arm)]

mod v2;

pub(super) use v2::is_in_v2;

use super::calls::Call;
use super::core::Core;
use super::encode::{ALL_RIGHTS, DIR_MODE, FILE_MODE, narrow, symlink_text, wide};
use super::ops::LogicalOp;
use super::reply::{CallOutcome, verdict};
use filermark_engine::driver::Action;
use filermark_model::NfsOp;
use filermark_onc::nfs2;
use filermark_onc::nfs3::*;
use filermark_onc::nfs4::FileHandle4;
use filermark_onc::xdr::{Decode, DecodeError, Decoder};

/// The procedure that an operation calls first.
pub(crate) const fn first_call(op: NfsOp) -> Procedure {
    match op {
        NfsOp::Null => Procedure::Null,
        NfsOp::Getattr => Procedure::Getattr,
        NfsOp::Setattr => Procedure::Setattr,
        NfsOp::Lookup => Procedure::Lookup,
        NfsOp::Access => Procedure::Access,
        NfsOp::Readlink => Procedure::Readlink,
        NfsOp::Read => Procedure::Read,
        NfsOp::Write => Procedure::Write,
        NfsOp::Create => Procedure::Create,
        NfsOp::Mkdir => Procedure::Mkdir,
        NfsOp::Symlink => Procedure::Symlink,
        NfsOp::Mknod => Procedure::Mknod,
        NfsOp::Remove => Procedure::Remove,
        NfsOp::Rmdir => Procedure::Rmdir,
        NfsOp::Rename => Procedure::Rename,
        NfsOp::Link => Procedure::Link,
        NfsOp::Readdir => Procedure::Readdir,
        NfsOp::Readdirplus => Procedure::Readdirplus,
        NfsOp::Fsstat => Procedure::Fsstat,
        NfsOp::Fsinfo => Procedure::Fsinfo,
        NfsOp::Pathconf => Procedure::Pathconf,
        NfsOp::Commit => Procedure::Commit,
        // Read by READ_PLUS.
        NfsOp::ReadPlus => Procedure::Read,
        // Version 4 alone has them: their calls are no procedures.
        NfsOp::Open
        | NfsOp::Lock
        | NfsOp::Allocate
        | NfsOp::Deallocate
        | NfsOp::Seek
        | NfsOp::Copy
        | NfsOp::Clone
        | NfsOp::Getxattr
        | NfsOp::Setxattr
        | NfsOp::Listxattrs
        | NfsOp::Removexattr => Procedure::Null,
    }
}

/// The equivalent procedure of version 2; `None`: version 2 has none.
pub(super) const fn in_version2(procedure: Procedure) -> Option<nfs2::Procedure> {
    Some(match procedure {
        Procedure::Null => nfs2::Procedure::Null,
        Procedure::Getattr => nfs2::Procedure::Getattr,
        Procedure::Setattr => nfs2::Procedure::Setattr,
        Procedure::Lookup => nfs2::Procedure::Lookup,
        Procedure::Readlink => nfs2::Procedure::Readlink,
        Procedure::Read => nfs2::Procedure::Read,
        Procedure::Write => nfs2::Procedure::Write,
        Procedure::Create => nfs2::Procedure::Create,
        Procedure::Mkdir => nfs2::Procedure::Mkdir,
        Procedure::Symlink => nfs2::Procedure::Symlink,
        Procedure::Remove => nfs2::Procedure::Remove,
        Procedure::Rmdir => nfs2::Procedure::Rmdir,
        Procedure::Rename => nfs2::Procedure::Rename,
        Procedure::Link => nfs2::Procedure::Link,
        Procedure::Readdir => nfs2::Procedure::Readdir,
        Procedure::Fsstat => nfs2::Procedure::Statfs,
        Procedure::Access
        | Procedure::Mknod
        | Procedure::Readdirplus
        | Procedure::Fsinfo
        | Procedure::Pathconf
        | Procedure::Commit => return None,
    })
}

impl Core {
    /// Appends a call with its arguments to `out`.
    pub(super) fn encode_v3(&self, call: &Call, op: &LogicalOp, out: &mut Vec<u8>) -> usize {
        let (t, xid) = (&self.template, call.xid);
        match call.procedure {
            Procedure::Null => t.call(out, xid, &NullArgs {}),
            Procedure::Getattr => {
                let object = narrow(self.object(op));
                t.call(out, xid, &GetattrArgs { object })
            }
            Procedure::Setattr => t.call(out, xid, &self.setattr_args(op)),
            Procedure::Access => {
                let (object, access) = (narrow(self.object(op)), ALL_RIGHTS);
                t.call(out, xid, &AccessArgs { object, access })
            }
            Procedure::Readlink => {
                let symlink = narrow(self.object(op));
                t.call(out, xid, &ReadlinkArgs { symlink })
            }
            Procedure::Fsstat => {
                let fsroot = narrow(self.root(op));
                t.call(out, xid, &FsstatArgs { fsroot })
            }
            Procedure::Fsinfo => {
                let fsroot = narrow(self.root(op));
                t.call(out, xid, &FsinfoArgs { fsroot })
            }
            Procedure::Pathconf => {
                let object = narrow(self.root(op));
                t.call(out, xid, &PathconfArgs { object })
            }
            Procedure::Read => {
                self.encode_read((&self.template, self.written_file(call, op).0), call, out)
            }
            Procedure::Write => {
                let (file, number) = self.written_file(call, op);
                self.encode_write((&self.template, file), number, call, out)
            }
            Procedure::Commit => {
                self.encode_commit((&self.template, self.written_file(call, op).0), call, out)
            }
            Procedure::Readdir => self.encode_readdir(call, op, out),
            Procedure::Readdirplus => self.encode_readdirplus(call, op, out),
            Procedure::Create => {
                let place = self.place(op);
                let (location, how) = (place.args(), create_how(op));
                t.call(out, xid, &CreateArgs { location, how })
            }
            Procedure::Mkdir => {
                let place = self.place(op);
                let args = MkdirArgs {
                    location: place.args(),
                    attributes: Sattr3::mode(DIR_MODE),
                };
                t.call(out, xid, &args)
            }
            Procedure::Symlink => {
                let place = self.place(op);
                let args = SymlinkArgs {
                    location: place.args(),
                    symlink_attributes: Sattr3::mode(0o777),
                    symlink_data: &symlink_text(&place.text),
                };
                t.call(out, xid, &args)
            }
            Procedure::Mknod => {
                let place = self.place(op);
                let args = MknodArgs {
                    location: place.args(),
                    what: Mknoddata3::Fifo(Sattr3::mode(FILE_MODE)),
                };
                t.call(out, xid, &args)
            }
            Procedure::Remove => {
                let place = self.place(op);
                let object = place.args();
                t.call(out, xid, &RemoveArgs { object })
            }
            Procedure::Rmdir => {
                let place = self.place(op);
                let object = place.args();
                t.call(out, xid, &RmdirArgs { object })
            }
            Procedure::Rename => {
                let place = self.place(op);
                let to = self.new_place(op);
                let args = RenameArgs {
                    from: place.args(),
                    to: to.args(),
                };
                t.call(out, xid, &args)
            }
            Procedure::Link => {
                let place = self.place(op);
                let args = LinkArgs {
                    file: narrow(self.object(op)),
                    link: place.args(),
                };
                t.call(out, xid, &args)
            }
            Procedure::Lookup => {
                let place = self.place(op);
                let what = place.args();
                t.call(out, xid, &LookupArgs { what })
            }
        }
    }

    /// The arguments of SETATTR: a size, or the usual mode.
    fn setattr_args(&self, op: &LogicalOp) -> SetattrArgs<'_> {
        let new_attributes = match new_size(op) {
            Some(size) => Sattr3::size(size),
            None => Sattr3::mode(DIR_MODE),
        };
        SetattrArgs {
            object: narrow(self.object(op)),
            new_attributes,
            guard: None,
        }
    }

    /// Decodes the results after a reply's header and judges the call in this slot.
    pub(super) fn judge_v3(
        &mut self,
        slot: u32,
        d: &mut Decoder<'_>,
    ) -> Result<CallOutcome, DecodeError> {
        let procedure = self.calls.get(slot).procedure;
        Ok(match procedure {
            Procedure::Null => CallOutcome::Ok,
            Procedure::Getattr => verdict(&GetattrRes::decode(d)?),
            Procedure::Setattr => {
                let verdict = verdict(&SetattrRes::decode(d)?);
                self.resized(slot, verdict)
            }
            Procedure::Access => verdict(&AccessRes::decode(d)?),
            Procedure::Readlink => verdict(&ReadlinkRes::decode(d)?),
            Procedure::Fsstat => verdict(&FsstatRes::decode(d)?),
            Procedure::Fsinfo => verdict(&FsinfoRes::decode(d)?),
            Procedure::Pathconf => verdict(&PathconfRes::decode(d)?),
            Procedure::Lookup => self.found(slot, looked_up(LookupRes::decode(d)?)),
            Procedure::Create | Procedure::Mkdir | Procedure::Symlink | Procedure::Mknod => {
                self.made(slot, created(CreateRes::decode(d)?))
            }
            Procedure::Remove | Procedure::Rmdir => {
                let verdict = verdict(&RemoveRes::decode(d)?);
                self.accept_replay(slot, verdict, Nfsstat3::Noent)
            }
            Procedure::Rename => {
                let verdict = verdict(&RenameRes::decode(d)?);
                self.renamed(slot, verdict)
            }
            Procedure::Link => {
                let verdict = verdict(&LinkRes::decode(d)?);
                self.linked(slot, verdict)
            }
            Procedure::Read => self.has_read(slot, ReadRes::decode(d)?),
            Procedure::Write => self.has_written(slot, WriteRes::decode(d)?),
            Procedure::Commit => self.has_committed(slot, CommitRes::decode(d)?),
            Procedure::Readdir => self.has_listed(slot, ReaddirRes::decode(d)?),
            Procedure::Readdirplus => self.has_listed_plus(slot, ReaddirplusRes::decode(d)?),
        })
    }
}

/// The handle of a LOOKUP.
fn looked_up(results: LookupRes<'_>) -> Result<FileHandle4<'_>, Nfsstat3> {
    match results {
        Ok(ok) => Ok(wide(ok.object)),
        Err(failed) => Err(failed.status),
    }
}

/// The handle of a CREATE, MKDIR, SYMLINK or MKNOD.
fn created(results: CreateRes<'_>) -> Result<Option<FileHandle4<'_>>, Nfsstat3> {
    match results {
        Ok(ok) => Ok(ok.obj.map(wide)),
        Err(failed) => Err(failed.status),
    }
}

/// The size that SETATTR sets, if it sets one.
pub(crate) fn new_size(op: &LogicalOp) -> Option<u64> {
    if let Action::Setattr { size, .. } = op.action {
        return size;
    }
    None
}

/// CREATE of INIT truncates an existing file, that of the mix creates a new one.
pub(crate) fn fills(op: &LogicalOp) -> bool {
    matches!(op.action, Action::Fill { .. })
}

fn create_how(op: &LogicalOp) -> Createhow3 {
    if fills(op) {
        return Createhow3::Unchecked(Sattr3 {
            size: Some(0),
            ..Sattr3::mode(FILE_MODE)
        });
    }
    Createhow3::Guarded(Sattr3::mode(FILE_MODE))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The procedures have the numbers that the table of operations has.
    #[test]
    fn calls_agree_with_the_table_of_operations() {
        let of_version3 = |op: &&NfsOp| op.op().nfs4_number().is_none();
        for op in NfsOp::ALL.iter().filter(of_version3) {
            let procedure = first_call(*op);
            let number = op.op().nfs3_number().map(u32::from);
            assert_eq!(Some(procedure.to_u32()), number, "{op:?}");
            let number = op.op().nfs2_number().map(u32::from);
            assert_eq!(in_version2(procedure).map(|p| p.to_u32()), number, "{op:?}");
        }
    }
}
