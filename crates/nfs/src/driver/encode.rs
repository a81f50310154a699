//! Calls as bytes. Nothing is kept of what was encoded: a retransmission is
//! encoded again from the operation, with the same xid.

mod v2;

use super::calls::Call;
use super::core::Core;
use super::ops::LogicalOp;
use filermark_engine::driver::{Action, ObjectId, PROC_DIR};
use filermark_engine::name::{Name, NameText};
use filermark_model::benchmark::CommitPolicy;
use filermark_model::plan::NfsVersion;
use filermark_onc::nfs3::*;
use filermark_onc::xdr::Encoder;

/// Mode of the files that are made.
const FILE_MODE: u32 = 0o644;
/// Mode of the directories that are made; also what SETATTR sets, since it harms
/// neither a file nor a directory.
const DIR_MODE: u32 = 0o755;
/// READDIRPLUS: bytes of names and cookies, as other clients ask for them.
const DIRCOUNT: u32 = 4096;
/// Every right that ACCESS knows.
const ALL_RIGHTS: u32 = access::READ
    | access::LOOKUP
    | access::MODIFY
    | access::EXTEND
    | access::DELETE
    | access::EXECUTE;

/// The name that an operation works on, which may be in the run's directory.
struct NameTarget<'a> {
    dir: FileHandle<'a>,
    text: NameText,
}

impl NameTarget<'_> {
    fn args(&self) -> Diropargs3<'_> {
        Diropargs3 {
            dir: self.dir,
            name: self.text.as_bytes(),
        }
    }
}

impl Core {
    /// Appends the call in this slot to `out`.
    pub(crate) fn encode(&self, slot: u32, out: &mut Vec<u8>) {
        if self.settings.version == NfsVersion::V2 {
            return self.encode_v2(slot, out);
        }
        let call = self.calls.get(slot);
        let op = self.ops.get(call.op);
        match call.procedure {
            Procedure::Null
            | Procedure::Getattr
            | Procedure::Setattr
            | Procedure::Access
            | Procedure::Readlink
            | Procedure::Fsstat
            | Procedure::Fsinfo
            | Procedure::Pathconf => self.encode_on_object(call, op, out),
            Procedure::Read | Procedure::Write | Procedure::Commit => {
                self.encode_transfer(call, op, out)
            }
            Procedure::Readdir | Procedure::Readdirplus => self.encode_listing(call, op, out),
            _ => self.encode_on_name(call, op, out),
        };
    }

    fn encode_on_object(&self, call: &Call, op: &LogicalOp, out: &mut Vec<u8>) -> usize {
        let object = self.handle(op.proc, object_of(op.action));
        let root = self.file_system(op.proc).root.handle();
        let t = &self.template;
        match call.procedure {
            Procedure::Null => t.call(out, call.xid, &NullArgs {}),
            Procedure::Setattr => {
                let new_attributes = match op.action {
                    Action::Setattr {
                        size: Some(size), ..
                    } => Sattr3::size(size),
                    _ => Sattr3::mode(DIR_MODE),
                };
                let args = SetattrArgs {
                    object,
                    new_attributes,
                    guard: None,
                };
                t.call(out, call.xid, &args)
            }
            Procedure::Access => {
                let access = ALL_RIGHTS;
                t.call(out, call.xid, &AccessArgs { object, access })
            }
            Procedure::Readlink => t.call(out, call.xid, &ReadlinkArgs { symlink: object }),
            Procedure::Fsstat => t.call(out, call.xid, &FsstatArgs { fsroot: root }),
            Procedure::Fsinfo => t.call(out, call.xid, &FsinfoArgs { fsroot: root }),
            Procedure::Pathconf => t.call(out, call.xid, &PathconfArgs { object: root }),
            _ => t.call(out, call.xid, &GetattrArgs { object }),
        }
    }

    fn encode_transfer(&self, call: &Call, op: &LogicalOp, out: &mut Vec<u8>) -> usize {
        let (file, number) = self.written_file(call, op);
        let (offset, count) = (call.offset, call.length);
        match call.procedure {
            Procedure::Read => self.template.call(
                out,
                call.xid,
                &ReadArgs {
                    file,
                    offset,
                    count,
                },
            ),
            Procedure::Write => self.encode_write(call, (file, number), out),
            _ => self.template.call(
                out,
                call.xid,
                &CommitArgs {
                    file,
                    offset,
                    count,
                },
            ),
        }
    }

    /// The file that data goes to or comes from: its handle, and its number for what is
    /// written.
    fn written_file(&self, call: &Call, op: &LogicalOp) -> (FileHandle<'_>, u64) {
        let of_another = match call.procedure {
            Procedure::Write if op.resending => op.target.object,
            Procedure::Commit => op.target.object,
            _ => None,
        };
        if let Some(object) = of_another {
            return (self.handle(op.proc, object), op.target.file);
        }
        let file = match op.action {
            Action::Fill { .. } => self.ops.handle(call.op),
            _ => None,
        };
        let file = file.unwrap_or_else(|| self.handle(op.proc, object_of(op.action)));
        let number = match op.action {
            Action::Write { file, .. } | Action::Fill { file, .. } => file,
            _ => 0,
        };
        (file, number)
    }

    /// WRITE, with the data put where it goes without a copy in between.
    fn encode_write(
        &self,
        call: &Call,
        (file, number): (FileHandle<'_>, u64),
        out: &mut Vec<u8>,
    ) -> usize {
        let record = self
            .template
            .begin(out, call.xid, Procedure::Write.to_u32());
        let mut e = Encoder::new(out);
        e.put(&file);
        e.u64(call.offset);
        e.u32(call.length);
        e.put(&self.asked_stability(call));
        e.u32(call.length);
        let length = call.length as usize;
        self.append_contents(call, number, out);
        out.extend_from_slice(&[0; 3][..length.wrapping_neg() & 3]);
        record.finish(out)
    }

    /// What INIT writes is committed at its end, whatever becomes of the writes of the mix.
    pub(super) fn asked_stability(&self, call: &Call) -> StableHow {
        let is_fill = matches!(self.ops.get(call.op).action, Action::Fill { .. });
        match self.settings.commit {
            CommitPolicy::FileSync if !is_fill => StableHow::FileSync,
            _ => StableHow::Unstable,
        }
    }

    /// What is written: the contents of a file, or an owner file.
    fn append_contents(&self, call: &Call, number: u64, out: &mut Vec<u8>) {
        let op = self.ops.get(call.op);
        match op.action.fills_owner() {
            false => {
                let generation = match op.resending {
                    true => op.target.generation,
                    false => op.mark.generation,
                };
                let length = call.length as usize;
                (self.history.data()).append(number, call.offset, generation, length, out);
            }
            true => self
                .owners
                .append(op.proc, number, (call.offset, call.length), out),
        }
    }

    fn encode_listing(&self, call: &Call, op: &LogicalOp, out: &mut Vec<u8>) -> usize {
        let dir = self.handle(op.proc, object_of(op.action));
        let (cookie, cookieverf) = (call.offset, op.verf);
        let maxcount = self.file_system(op.proc).readdir_bytes;
        if call.procedure == Procedure::Readdir {
            let args = ReaddirArgs {
                dir,
                cookie,
                cookieverf,
                count: maxcount,
            };
            return self.template.call(out, call.xid, &args);
        }
        let args = ReaddirplusArgs {
            dir,
            cookie,
            cookieverf,
            dircount: DIRCOUNT.min(maxcount),
            maxcount,
        };
        self.template.call(out, call.xid, &args)
    }

    fn encode_on_name(&self, call: &Call, op: &LogicalOp, out: &mut Vec<u8>) -> usize {
        let t = &self.template;
        let place = self.place(op);
        match call.procedure {
            Procedure::Create => {
                let how = match op.action {
                    Action::Fill { .. } => Createhow3::Unchecked(Sattr3 {
                        size: Some(0),
                        ..Sattr3::mode(FILE_MODE)
                    }),
                    _ => Createhow3::Guarded(Sattr3::mode(FILE_MODE)),
                };
                let location = place.args();
                t.call(out, call.xid, &CreateArgs { location, how })
            }
            Procedure::Mkdir => {
                let args = MkdirArgs {
                    location: place.args(),
                    attributes: Sattr3::mode(DIR_MODE),
                };
                t.call(out, call.xid, &args)
            }
            Procedure::Symlink => {
                let args = SymlinkArgs {
                    location: place.args(),
                    symlink_attributes: Sattr3::mode(0o777),
                    symlink_data: &symlink_text(&place.text),
                };
                t.call(out, call.xid, &args)
            }
            Procedure::Mknod => {
                let args = MknodArgs {
                    location: place.args(),
                    what: Mknoddata3::Fifo(Sattr3::mode(FILE_MODE)),
                };
                t.call(out, call.xid, &args)
            }
            Procedure::Remove => {
                let object = place.args();
                t.call(out, call.xid, &RemoveArgs { object })
            }
            Procedure::Rmdir => {
                let object = place.args();
                t.call(out, call.xid, &RmdirArgs { object })
            }
            Procedure::Rename => {
                let to = self.new_place(op);
                let args = RenameArgs {
                    from: place.args(),
                    to: to.args(),
                };
                t.call(out, call.xid, &args)
            }
            Procedure::Link => {
                let args = LinkArgs {
                    file: self.handle(op.proc, object_of(op.action)),
                    link: place.args(),
                };
                t.call(out, call.xid, &args)
            }
            _ => {
                let what = place.args();
                t.call(out, call.xid, &LookupArgs { what })
            }
        }
    }

    fn place(&self, op: &LogicalOp) -> NameTarget<'_> {
        let in_dir = |dir, name: Name| NameTarget {
            dir: self.handle(op.proc, dir),
            text: name.text(),
        };
        match op.action {
            Action::Lookup { dir, name, .. }
            | Action::Create { dir, name, .. }
            | Action::Mkdir { dir, name, .. }
            | Action::Symlink { dir, name, .. }
            | Action::Mknod { dir, name, .. }
            | Action::Remove { dir, name }
            | Action::Rmdir { dir, name }
            | Action::Rename { dir, name, .. }
            | Action::Fill { dir, name, .. } => in_dir(dir, name),
            Action::Link { dir, new_name, .. } => in_dir(dir, new_name),
            Action::MakeProcDir { name } | Action::RemoveProcDir { name } => NameTarget {
                dir: self.file_system(op.proc).run_dir.handle(),
                text: name.text(),
            },
            _ => self.new_place(op),
        }
    }

    /// The second name of RENAME; for anything else, a name that is not used.
    fn new_place(&self, op: &LogicalOp) -> NameTarget<'_> {
        let name = match op.action {
            Action::Rename { new_name, .. } => new_name,
            _ => Name::new(filermark_engine::name::NameKind::Small, 0),
        };
        NameTarget {
            dir: self.handle(op.proc, object_of(op.action)),
            text: name.text(),
        }
    }
}

/// The object whose handle an action is sent with, where it is one; the
/// directory for actions on names.
fn object_of(action: Action) -> ObjectId {
    match action {
        Action::Getattr { object }
        | Action::Setattr { object, .. }
        | Action::Access { object }
        | Action::Readlink { object }
        | Action::Read { object, .. }
        | Action::Write { object, .. }
        | Action::Commit { object }
        | Action::Link { object, .. } => object,
        Action::Readdir { dir, .. } | Action::Rename { dir, .. } => dir,
        _ => PROC_DIR,
    }
}

/// What a symbolic link says: a name of its own length class, fixed by its name.
fn symlink_text(name: &NameText) -> [u8; 32] {
    let mut text = *b"../filermark/no/such/file/000000";
    let name = name.as_bytes();
    if let Some(end) = text.len().checked_sub(name.len()) {
        text[end..].copy_from_slice(name);
    }
    text
}
