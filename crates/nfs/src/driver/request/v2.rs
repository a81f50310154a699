//! The requests in version 2; results are converted to those of version 3. The operations
//! are those of version 3; one that version 2 does not have is refused before it begins.
#![deny(clippy::wildcard_enum_match_arm)]

use super::super::calls::Call;
use super::super::core::Core;
use super::super::encode::{DIR_MODE, FILE_MODE, NameTarget, narrow, symlink_text};
use super::super::ops::LogicalOp;
use super::super::reply::{CallOutcome, verdict};
use super::{created, fills, in_version2, looked_up, new_size};
use crate::version2::{self, wire};
use filermark_engine::driver::Action;
use filermark_model::NfsOp;
use filermark_onc::nfs2::*;
use filermark_onc::nfs3::Nfsstat3;
use filermark_onc::xdr::{Decode, DecodeError, Decoder, Encoder};

impl NameTarget<'_> {
    fn args_v2(&self) -> Diropargs<'_> {
        Diropargs {
            dir: wire(narrow(self.dir)),
            name: self.text.as_bytes(),
        }
    }
}

/// An offset or a length as 32 bits; `submit` refuses files larger than 2 GiB.
const fn word(value: u64) -> u32 {
    if value > u32::MAX as u64 {
        u32::MAX
    } else {
        value as u32
    }
}

impl Core {
    /// Appends the call in this slot to `out`.
    pub(in crate::driver) fn encode_v2(&self, slot: u32, out: &mut Vec<u8>) {
        let call = self.calls.get(slot);
        let op = self.ops.get(call.op);
        let (t, xid) = (&self.template, call.xid);
        match in_version2(call.procedure) {
            Some(Procedure::Getattr) => {
                let file = wire(narrow(self.object(op)));
                t.call(out, xid, &GetattrArgs { file })
            }
            Some(Procedure::Setattr) => {
                let attributes = match new_size(op) {
                    Some(size) => Sattr::size(word(size)),
                    None => Sattr::mode(DIR_MODE),
                };
                let file = wire(narrow(self.object(op)));
                t.call(out, xid, &SetattrArgs { file, attributes })
            }
            Some(Procedure::Readlink) => {
                let file = wire(narrow(self.object(op)));
                t.call(out, xid, &ReadlinkArgs { file })
            }
            Some(Procedure::Read) => {
                let args = ReadArgs {
                    file: wire(narrow(self.object(op))),
                    offset: word(call.offset),
                    count: call.length,
                    totalcount: 0,
                };
                t.call(out, xid, &args)
            }
            Some(Procedure::Readdir) => {
                let args = ReaddirArgs {
                    dir: wire(narrow(self.object(op))),
                    cookie: word(call.offset),
                    count: self.file_system(op.proc).readdir_bytes,
                };
                t.call(out, xid, &args)
            }
            Some(Procedure::Statfs) => {
                let file = wire(narrow(self.root(op)));
                t.call(out, xid, &StatfsArgs { file })
            }
            Some(Procedure::Create) => {
                let attributes = match fills(op) {
                    true => Sattr {
                        size: 0,
                        ..Sattr::mode(FILE_MODE)
                    },
                    false => Sattr::mode(FILE_MODE),
                };
                let place = self.place(op);
                let location = place.args_v2();
                let args = CreateArgs {
                    location,
                    attributes,
                };
                t.call(out, xid, &args)
            }
            Some(Procedure::Mkdir) => {
                let place = self.place(op);
                let what = place.args_v2();
                let args = MkdirArgs {
                    location: what,
                    attributes: Sattr::mode(DIR_MODE),
                };
                t.call(out, xid, &args)
            }
            Some(Procedure::Symlink) => {
                let place = self.place(op);
                let what = place.args_v2();
                let args = SymlinkArgs {
                    from: what,
                    to: &symlink_text(&place.text),
                    attributes: Sattr::mode(0o777),
                };
                t.call(out, xid, &args)
            }
            Some(Procedure::Remove) => {
                let place = self.place(op);
                let what = place.args_v2();
                t.call(out, xid, &RemoveArgs { what })
            }
            Some(Procedure::Rmdir) => {
                let place = self.place(op);
                let what = place.args_v2();
                t.call(out, xid, &RmdirArgs { what })
            }
            Some(Procedure::Rename) => {
                let place = self.place(op);
                let what = place.args_v2();
                let to = self.new_place(op);
                let args = RenameArgs {
                    from: what,
                    to: to.args_v2(),
                };
                t.call(out, xid, &args)
            }
            Some(Procedure::Link) => {
                let place = self.place(op);
                let what = place.args_v2();
                let args = LinkArgs {
                    from: wire(narrow(self.object(op))),
                    to: what,
                };
                t.call(out, xid, &args)
            }
            Some(Procedure::Lookup) => {
                let place = self.place(op);
                let what = place.args_v2();
                t.call(out, xid, &LookupArgs { what })
            }
            Some(Procedure::Write) => self.encode_write_v2(call, op, out),
            // `submit` refuses operations that version 2 does not have; ROOT and WRITECACHE are
            // obsolete.
            Some(Procedure::Null | Procedure::Root | Procedure::Writecache) | None => {
                t.call(out, xid, &NullArgs {})
            }
        };
    }

    /// WRITE. The data is generated directly into `out`.
    fn encode_write_v2(&self, call: &Call, op: &LogicalOp, out: &mut Vec<u8>) -> usize {
        let (file, number) = self.written_file(call, op);
        let record = self
            .template
            .begin(out, call.xid, Procedure::Write.to_u32());
        let mut e = Encoder::new(out);
        e.put(&wire(narrow(file)));
        e.u32(0);
        e.u32(word(call.offset));
        e.u32(0);
        e.u32(call.length);
        let length = call.length as usize;
        self.append_contents(call, number, out);
        out.extend_from_slice(&[0; 3][..length.wrapping_neg() & 3]);
        record.finish(out)
    }

    /// Decodes the results after a reply's header and judges the call in this slot.
    pub(in crate::driver) fn judge_v2(
        &mut self,
        slot: u32,
        d: &mut Decoder<'_>,
    ) -> Result<CallOutcome, DecodeError> {
        let call = self.calls.get(slot);
        let (procedure, offset, length) = (call.procedure, call.offset, call.length);
        Ok(match in_version2(procedure) {
            Some(Procedure::Getattr) => verdict(&version2::getattr(AttrstatRes::decode(d)?)),
            Some(Procedure::Setattr) => verdict(&version2::setattr(AttrstatRes::decode(d)?)),
            Some(Procedure::Readlink) => verdict(&version2::readlink(ReadlinkRes::decode(d)?)),
            Some(Procedure::Statfs) => verdict(&version2::statfs(StatfsRes::decode(d)?)),
            Some(Procedure::Lookup) => {
                self.found(slot, looked_up(version2::lookup(DiropRes::decode(d)?)))
            }
            Some(Procedure::Create | Procedure::Mkdir) => {
                self.made(slot, created(version2::create(DiropRes::decode(d)?)))
            }
            Some(Procedure::Symlink) => {
                self.made(slot, created(version2::symlink(StatRes::decode(d)?)))
            }
            Some(Procedure::Remove | Procedure::Rmdir) => {
                let verdict = verdict(&version2::remove(StatRes::decode(d)?));
                self.accept_replay(slot, verdict, Nfsstat3::Noent)
            }
            Some(Procedure::Rename) => {
                let verdict = verdict(&version2::rename(StatRes::decode(d)?));
                self.renamed(slot, verdict)
            }
            Some(Procedure::Link) => {
                let verdict = verdict(&version2::link(StatRes::decode(d)?));
                self.linked(slot, verdict)
            }
            Some(Procedure::Read) => {
                self.has_read(slot, version2::read(ReadRes::decode(d)?, offset))
            }
            Some(Procedure::Write) => {
                self.has_written(slot, version2::write(AttrstatRes::decode(d)?, length))
            }
            Some(Procedure::Readdir) => self.has_listed_v2(slot, ReaddirRes::decode(d)?),
            Some(Procedure::Null | Procedure::Root | Procedure::Writecache) | None => {
                CallOutcome::Ok
            }
        })
    }
}

/// Whether version 2 has a procedure for it and files of that size.
pub(in crate::driver) const fn is_in_v2(op: NfsOp, action: Action) -> bool {
    let end = if let Action::Read { offset, length, .. } | Action::Write { offset, length, .. } =
        action
    {
        offset.saturating_add(length as u64)
    } else if let Action::Fill { size, .. }
    | Action::Setattr {
        size: Some(size), ..
    } = action
    {
        size
    } else {
        0
    };
    in_version2(super::first_call(op)).is_some() && end <= FILE_BYTES_MAX
}
