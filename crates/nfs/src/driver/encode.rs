//! Encodes calls. The bytes are not kept: a retransmission is encoded again from the
//! operation, with the same xid.
#![deny(clippy::wildcard_enum_match_arm)]

use super::calls::Call;
use super::core::Core;
use super::ops::LogicalOp;
use super::variant::Variant;
use filermark_engine::driver::{Action, DirRef, ObjectId, PROC_DIR};
use filermark_engine::name::{Name, NameKind, NameText};
use filermark_model::benchmark::CommitPolicy;
use filermark_model::plan::NfsVersion;
use filermark_onc::nfs3::*;
use filermark_onc::nfs4::FileHandle4;
use filermark_onc::template::CallTemplate;
use filermark_onc::xdr::Encoder;

/// Mode of created files.
pub(crate) const FILE_MODE: u32 = 0o644;
/// Mode of created directories. SETATTR sets it, too, because files and directories stay
/// usable with it.
pub(crate) const DIR_MODE: u32 = 0o755;
/// READDIRPLUS: bytes of names and cookies, the number that other clients request.
const DIRCOUNT: u32 = 4096;
/// A handle without bytes.
const NO_HANDLE: FileHandle<'static> = match FileHandle::new(&[]) {
    Some(handle) => handle,
    None => panic!("checked by the compiler"),
};
/// All rights of ACCESS.
pub(crate) const ALL_RIGHTS: u32 = access::READ
    | access::LOOKUP
    | access::MODIFY
    | access::EXTEND
    | access::DELETE
    | access::EXECUTE;

/// The directory and name of an operation's object; the directory may be the run's.
pub(crate) struct NameTarget<'a> {
    pub(crate) dir: FileHandle4<'a>,
    pub(crate) text: NameText,
}

impl NameTarget<'_> {
    pub(super) fn args(&self) -> Diropargs3<'_> {
        Diropargs3 {
            dir: narrow(self.dir),
            name: self.text.as_bytes(),
        }
    }
}

impl<V: Variant> Core<V> {
    /// The handle of an operation's object; for operations on names, of the directory.
    pub(crate) fn object(&self, op: &LogicalOp) -> FileHandle4<'_> {
        self.handle(op.proc, object_of(op.action))
    }

    /// The root of an operation's file system.
    pub(crate) fn root(&self, op: &LogicalOp) -> FileHandle4<'_> {
        self.file_system(op.proc).root.handle()
    }

    /// The file of a transfer: its handle, and its number for the contents of a write.
    pub(crate) fn written_file(
        &self,
        call: &Call<V::Call>,
        op: &LogicalOp,
    ) -> (FileHandle4<'_>, u64) {
        let is_of_target = call.procedure == Procedure::Commit
            || (call.procedure == Procedure::Write && op.resending);
        if let Some(object) = op.target.object.filter(|_| is_of_target) {
            return (self.handle(op.proc, object), op.target.file);
        }
        if let Action::Fill { file: number, .. } = op.action {
            let made = self.ops.handle(call.op);
            return (made.unwrap_or_else(|| self.object(op)), number);
        }
        let number = if let Action::Write { file, .. } = op.action {
            file
        } else {
            0
        };
        (self.object(op), number)
    }

    /// INIT always writes UNSTABLE, because a fill ends with a COMMIT; the policy applies to
    /// the writes of the mix.
    pub(crate) fn asked_stability(&self, call: &Call<V::Call>) -> StableHow {
        let is_fill = matches!(self.ops.get(call.op).action, Action::Fill { .. });
        match self.settings.commit {
            CommitPolicy::FileSync if !is_fill => StableHow::FileSync,
            CommitPolicy::FileSync | CommitPolicy::PerWrite | CommitPolicy::Deferred(_) => {
                StableHow::Unstable
            }
        }
    }

    /// Appends the data of a WRITE: the contents of a file, or an owner file.
    pub(crate) fn append_contents(&self, call: &Call<V::Call>, number: u64, out: &mut Vec<u8>) {
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

    /// The directory and name of an operation's object.
    pub(crate) fn place(&self, op: &LogicalOp) -> NameTarget<'_> {
        let Some((dir, name)) = op.action.subject().and_then(|subject| subject.name) else {
            return self.new_place(op);
        };
        let dir = match dir {
            DirRef::RunDir => self.file_system(op.proc).run_dir.handle(),
            DirRef::Object(dir) => self.handle(op.proc, dir),
        };
        let text = name.text();
        NameTarget { dir, text }
    }

    /// The second name of RENAME; for other operations, an unused name.
    pub(crate) fn new_place(&self, op: &LogicalOp) -> NameTarget<'_> {
        let subject = op.action.subject();
        let dir = match subject.and_then(|subject| subject.name) {
            Some((DirRef::Object(dir), _)) => dir,
            Some((DirRef::RunDir, _)) | None => PROC_DIR,
        };
        let name = subject.and_then(|subject| subject.new_name);
        NameTarget {
            dir: self.handle(op.proc, dir),
            text: name.unwrap_or(Name::new(NameKind::Small, 0)).text(),
        }
    }
}

/// READ, WRITE and COMMIT of version 3, with the header and the handle that a server wants.
impl<V: Variant> Core<V> {
    pub(super) fn encode_read(
        &self,
        (template, file): (&CallTemplate, FileHandle4<'_>),
        call: &Call<V::Call>,
        out: &mut Vec<u8>,
    ) -> usize {
        let args = ReadArgs {
            file: narrow(file),
            offset: call.offset,
            count: call.length,
        };
        template.call(out, call.xid, &args)
    }

    pub(super) fn encode_commit(
        &self,
        (template, file): (&CallTemplate, FileHandle4<'_>),
        call: &Call<V::Call>,
        out: &mut Vec<u8>,
    ) -> usize {
        let args = CommitArgs {
            file: narrow(file),
            offset: call.offset,
            count: call.length,
        };
        template.call(out, call.xid, &args)
    }

    /// WRITE of the file with this number. The data is generated directly into `out`.
    pub(super) fn encode_write(
        &self,
        (template, file): (&CallTemplate, FileHandle4<'_>),
        number: u64,
        call: &Call<V::Call>,
        out: &mut Vec<u8>,
    ) -> usize {
        let record = template.begin(out, call.xid, Procedure::Write.to_u32());
        let mut e = Encoder::new(out);
        e.put(&narrow(file));
        e.u64(call.offset);
        e.u32(call.length);
        e.put(&self.asked_stability(call));
        e.u32(call.length);
        let length = call.length as usize;
        self.append_contents(call, number, out);
        out.extend_from_slice(&[0; 3][..length.wrapping_neg() & 3]);
        record.finish(out)
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
        self.encode_v3(call, op, out);
    }

    pub(super) fn encode_readdir(&self, call: &Call, op: &LogicalOp, out: &mut Vec<u8>) -> usize {
        let args = ReaddirArgs {
            dir: narrow(self.object(op)),
            cookie: call.offset,
            cookieverf: op.verf,
            count: self.file_system(op.proc).readdir_bytes,
        };
        self.template.call(out, call.xid, &args)
    }

    pub(super) fn encode_readdirplus(
        &self,
        call: &Call,
        op: &LogicalOp,
        out: &mut Vec<u8>,
    ) -> usize {
        let maxcount = self.file_system(op.proc).readdir_bytes;
        let args = ReaddirplusArgs {
            dir: narrow(self.object(op)),
            cookie: call.offset,
            cookieverf: op.verf,
            dircount: DIRCOUNT.min(maxcount),
            maxcount,
        };
        self.template.call(out, call.xid, &args)
    }
}

/// A handle of these versions; one that is too long, which no server of them returns, is sent
/// without bytes.
pub(super) fn narrow(handle: FileHandle4<'_>) -> FileHandle<'_> {
    FileHandle::new(handle.as_bytes()).unwrap_or(NO_HANDLE)
}

/// A handle as the tables have it.
pub(super) fn wide(handle: FileHandle<'_>) -> FileHandle4<'_> {
    FileHandle4::new(handle.as_bytes()).unwrap_or(super::core::NO_HANDLE)
}

/// The object whose handle an action is sent with; the proc's directory if it has none.
fn object_of(action: Action) -> ObjectId {
    let object = action.subject().and_then(|subject| subject.object);
    object.unwrap_or(PROC_DIR)
}

/// The target of a symbolic link. Its length is constant, and its end is the link's name.
pub(crate) fn symlink_text(name: &NameText) -> [u8; 32] {
    let mut text = *b"../filermark/no/such/file/000000";
    let name = name.as_bytes();
    if let Some(end) = text.len().checked_sub(name.len()) {
        text[end..].copy_from_slice(name);
    }
    text
}
