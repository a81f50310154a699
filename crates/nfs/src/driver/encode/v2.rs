//! Calls of version 2. The plan above is that of version 3: procedures have its names,
//! and what version 2 lacks is never asked for, since its mixes have no such operation.

use super::super::calls::Call;
use super::super::core::Core;
use super::super::ops::LogicalOp;
use super::{DIR_MODE, FILE_MODE, NameTarget, object_of, symlink_text};
use crate::version2::wire;
use filermark_engine::driver::Action;
use filermark_onc::nfs2::*;
use filermark_onc::nfs3::Procedure as Called;
use filermark_onc::xdr::Encoder;

impl NameTarget<'_> {
    fn args_v2(&self) -> Diropargs<'_> {
        Diropargs {
            dir: wire(self.dir),
            name: self.text.as_bytes(),
        }
    }
}

/// An offset or a length; files end at 2 GiB, which the plan has seen to.
const fn word(value: u64) -> u32 {
    if value > u32::MAX as u64 {
        u32::MAX
    } else {
        value as u32
    }
}

impl Core {
    /// Appends the call in this slot to `out`.
    pub(super) fn encode_v2(&self, slot: u32, out: &mut Vec<u8>) {
        let call = self.calls.get(slot);
        let op = self.ops.get(call.op);
        match call.procedure {
            Called::Create
            | Called::Mkdir
            | Called::Symlink
            | Called::Remove
            | Called::Rmdir
            | Called::Rename
            | Called::Link
            | Called::Lookup => self.encode_on_name_v2(call, op, out),
            Called::Write => self.encode_write_v2(call, op, out),
            _ => self.encode_on_object_v2(call, op, out),
        };
    }

    fn encode_on_object_v2(&self, call: &Call, op: &LogicalOp, out: &mut Vec<u8>) -> usize {
        let file = wire(self.handle(op.proc, object_of(op.action)));
        let (t, xid) = (&self.template, call.xid);
        match call.procedure {
            Called::Getattr => t.call(out, xid, &GetattrArgs { file }),
            Called::Setattr => {
                let attributes = match op.action {
                    Action::Setattr {
                        size: Some(size), ..
                    } => Sattr::size(word(size)),
                    _ => Sattr::mode(DIR_MODE),
                };
                t.call(out, xid, &SetattrArgs { file, attributes })
            }
            Called::Readlink => t.call(out, xid, &ReadlinkArgs { file }),
            Called::Read => {
                let args = ReadArgs {
                    file,
                    offset: word(call.offset),
                    count: call.length,
                    totalcount: 0,
                };
                t.call(out, xid, &args)
            }
            Called::Readdir => {
                let args = ReaddirArgs {
                    dir: file,
                    cookie: word(call.offset),
                    count: self.file_system(op.proc).readdir_bytes,
                };
                t.call(out, xid, &args)
            }
            Called::Fsstat => {
                let file = wire(self.file_system(op.proc).root.handle());
                t.call(out, xid, &StatfsArgs { file })
            }
            // `submit` lets nothing else through.
            _ => t.call(out, xid, &NullArgs {}),
        }
    }

    /// WRITE, with the data put where it goes without a copy in between.
    fn encode_write_v2(&self, call: &Call, op: &LogicalOp, out: &mut Vec<u8>) -> usize {
        let (file, number) = self.written_file(call, op);
        let record = self
            .template
            .begin(out, call.xid, Procedure::Write.to_u32());
        let mut e = Encoder::new(out);
        e.put(&wire(file));
        e.u32(0);
        e.u32(word(call.offset));
        e.u32(0);
        e.u32(call.length);
        let length = call.length as usize;
        self.append_contents(call, number, out);
        out.extend_from_slice(&[0; 3][..length.wrapping_neg() & 3]);
        record.finish(out)
    }

    fn encode_on_name_v2(&self, call: &Call, op: &LogicalOp, out: &mut Vec<u8>) -> usize {
        let place = self.place(op);
        let what = place.args_v2();
        let (t, xid) = (&self.template, call.xid);
        match call.procedure {
            Called::Create => {
                let attributes = match op.action {
                    Action::Fill { .. } => Sattr {
                        size: 0,
                        ..Sattr::mode(FILE_MODE)
                    },
                    _ => Sattr::mode(FILE_MODE),
                };
                let location = what;
                let args = CreateArgs {
                    location,
                    attributes,
                };
                t.call(out, xid, &args)
            }
            Called::Mkdir => {
                let args = MkdirArgs {
                    location: what,
                    attributes: Sattr::mode(DIR_MODE),
                };
                t.call(out, xid, &args)
            }
            Called::Symlink => {
                let args = SymlinkArgs {
                    from: what,
                    to: &symlink_text(&place.text),
                    attributes: Sattr::mode(0o777),
                };
                t.call(out, xid, &args)
            }
            Called::Remove => t.call(out, xid, &RemoveArgs { what }),
            Called::Rmdir => t.call(out, xid, &RmdirArgs { what }),
            Called::Rename => {
                let to = self.new_place(op);
                let args = RenameArgs {
                    from: what,
                    to: to.args_v2(),
                };
                t.call(out, xid, &args)
            }
            Called::Link => {
                let args = LinkArgs {
                    from: wire(self.handle(op.proc, object_of(op.action))),
                    to: what,
                };
                t.call(out, xid, &args)
            }
            _ => t.call(out, xid, &LookupArgs { what }),
        }
    }
}
