//! Encodes calls. The bytes are not kept: a retransmission is encoded again from the
//! operation, with the same xid.
#![deny(clippy::wildcard_enum_match_arm)]

use super::calls::Call;
use super::core::Core;
use super::ops::LogicalOp;
use filermark_engine::driver::{Action, DirRef, ObjectId, PROC_DIR};
use filermark_engine::name::{Name, NameKind, NameText};
use filermark_model::benchmark::CommitPolicy;
use filermark_model::plan::NfsVersion;
use filermark_onc::nfs3::*;
use filermark_onc::xdr::Encoder;

/// Mode of created files.
pub(super) const FILE_MODE: u32 = 0o644;
/// Mode of created directories. SETATTR sets it, too, because files and directories stay
/// usable with it.
pub(super) const DIR_MODE: u32 = 0o755;
/// READDIRPLUS: bytes of names and cookies, the number that other clients request.
const DIRCOUNT: u32 = 4096;
/// All rights of ACCESS.
pub(super) const ALL_RIGHTS: u32 = access::READ
    | access::LOOKUP
    | access::MODIFY
    | access::EXTEND
    | access::DELETE
    | access::EXECUTE;

/// The directory and name of an operation's object; the directory may be the run's.
pub(super) struct NameTarget<'a> {
    pub(super) dir: FileHandle<'a>,
    pub(super) text: NameText,
}

impl NameTarget<'_> {
    pub(super) fn args(&self) -> Diropargs3<'_> {
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
        self.encode_v3(call, op, out);
    }

    /// The handle of an operation's object; for operations on names, of the directory.
    pub(super) fn object(&self, op: &LogicalOp) -> FileHandle<'_> {
        self.handle(op.proc, object_of(op.action))
    }

    /// The root of an operation's file system.
    pub(super) fn root(&self, op: &LogicalOp) -> FileHandle<'_> {
        self.file_system(op.proc).root.handle()
    }

    pub(super) fn encode_read(&self, call: &Call, op: &LogicalOp, out: &mut Vec<u8>) -> usize {
        let args = ReadArgs {
            file: self.written_file(call, op).0,
            offset: call.offset,
            count: call.length,
        };
        self.template.call(out, call.xid, &args)
    }

    pub(super) fn encode_commit(&self, call: &Call, op: &LogicalOp, out: &mut Vec<u8>) -> usize {
        let args = CommitArgs {
            file: self.written_file(call, op).0,
            offset: call.offset,
            count: call.length,
        };
        self.template.call(out, call.xid, &args)
    }

    /// The file of a transfer: its handle, and its number for the contents of a write.
    pub(super) fn written_file(&self, call: &Call, op: &LogicalOp) -> (FileHandle<'_>, u64) {
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

    /// WRITE. The data is generated directly into `out`.
    pub(super) fn encode_write(&self, call: &Call, op: &LogicalOp, out: &mut Vec<u8>) -> usize {
        let (file, number) = self.written_file(call, op);
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

    /// INIT always writes UNSTABLE, because a fill ends with a COMMIT; the policy applies to
    /// the writes of the mix.
    pub(super) fn asked_stability(&self, call: &Call) -> StableHow {
        let is_fill = matches!(self.ops.get(call.op).action, Action::Fill { .. });
        match self.settings.commit {
            CommitPolicy::FileSync if !is_fill => StableHow::FileSync,
            CommitPolicy::FileSync | CommitPolicy::PerWrite | CommitPolicy::Deferred(_) => {
                StableHow::Unstable
            }
        }
    }

    /// Appends the data of a WRITE: the contents of a file, or an owner file.
    pub(super) fn append_contents(&self, call: &Call, number: u64, out: &mut Vec<u8>) {
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

    pub(super) fn encode_readdir(&self, call: &Call, op: &LogicalOp, out: &mut Vec<u8>) -> usize {
        let args = ReaddirArgs {
            dir: self.object(op),
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
            dir: self.object(op),
            cookie: call.offset,
            cookieverf: op.verf,
            dircount: DIRCOUNT.min(maxcount),
            maxcount,
        };
        self.template.call(out, call.xid, &args)
    }

    /// The directory and name of an operation's object.
    pub(super) fn place(&self, op: &LogicalOp) -> NameTarget<'_> {
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
    pub(super) fn new_place(&self, op: &LogicalOp) -> NameTarget<'_> {
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

/// The object whose handle an action is sent with; the proc's directory if it has none.
fn object_of(action: Action) -> ObjectId {
    let object = action.subject().and_then(|subject| subject.object);
    object.unwrap_or(PROC_DIR)
}

/// The target of a symbolic link. Its length is constant, and its end is the link's name.
pub(super) fn symlink_text(name: &NameText) -> [u8; 32] {
    let mut text = *b"../filermark/no/such/file/000000";
    let name = name.as_bytes();
    if let Some(end) = text.len().checked_sub(name.len()) {
        text[end..].copy_from_slice(name);
    }
    text
}
