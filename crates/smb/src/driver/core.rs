//! The state of a shard without its sockets: procs, operations, calls.
//!
//! It makes calls, which wait in the queues of connections, and judges what came of them; it
//! never touches a connection itself.

use super::calls::{Call, FileId, Kind};
use super::counters::Counters;
use super::ops::LogicalOp;
use filermark_driver_kit::marker::OwnerTexts;
use filermark_driver_kit::sockets::{Calls, LoopState, Ops};
use filermark_engine::data::History;
use filermark_engine::driver::ObjectId;
use filermark_engine::name::{Name, NameKind};
use filermark_engine::session_action::{HandleId, ProcPath};
use std::convert::Infallible;
use std::fmt::Write as _;

/// Most files of one proc that can be open at once.
const HANDLES_MAX: usize = 1 << 16;

/// How the driver behaves; the same for all connections of a shard.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    /// Reads and writes of one operation under way at once.
    pub(crate) reads_max: u32,
    pub(crate) writes_max: u32,
    /// Largest transfer that the user allows, in bytes.
    pub(crate) block_max: u32,
}

/// A proc of the shard.
#[derive(Debug)]
pub(crate) struct Proc {
    pub(crate) conn: u32,
    /// Path of its directory from the share on, without a backslash at either end.
    pub(crate) base: Box<str>,
    /// Names of the directories in it, by object.
    dirs: Vec<Option<Name>>,
    /// What is open, by the engine's number.
    handles: Vec<FileId>,
}

impl Proc {
    /// A proc that works below `run_dir`.
    pub(crate) fn new(number: u32, conn: u32, run_dir: &str) -> Self {
        let mut base = String::from(run_dir);
        push_name(&mut base, Name::new(NameKind::ProcDir, number));
        Self {
            conn,
            base: base.into(),
            dirs: Vec::new(),
            handles: Vec::new(),
        }
    }

    /// A directory that was made or is about to be.
    pub(crate) fn keep_dir(&mut self, object: ObjectId, name: Name) {
        let at = object.0 as usize;
        if at > filermark_model::benchmark::FileSetRule::DIR_COUNT_MAX as usize {
            return;
        }
        if self.dirs.len() <= at {
            self.dirs.resize(at + 1, None);
        }
        self.dirs[at] = Some(name);
    }

    pub(crate) fn knows_dir(&self, object: ObjectId) -> bool {
        object.0 == 0
            || self
                .dirs
                .get(object.0 as usize)
                .is_some_and(Option::is_some)
    }

    pub(crate) fn forget_objects(&mut self, from: ObjectId) {
        self.dirs.truncate(from.0 as usize);
    }

    /// Puts the path of a place into `out`.
    pub(crate) fn path(&self, place: ProcPath, out: &mut String) {
        out.clear();
        out.push_str(&self.base);
        if let Some(Some(name)) = self.dirs.get(place.dir.0 as usize) {
            push_name(out, *name);
        }
        if let Some(name) = place.name {
            push_name(out, name);
        }
    }

    #[inline]
    pub(crate) fn file(&self, handle: HandleId) -> Option<FileId> {
        let file = self.handles.get(handle.0 as usize).copied()?;
        (file != FileId::NONE).then_some(file)
    }

    pub(crate) fn set_file(&mut self, handle: HandleId, file: FileId) {
        let at = handle.0 as usize;
        if at >= HANDLES_MAX {
            return;
        }
        if self.handles.len() <= at {
            self.handles.resize(at + 1, FileId::NONE);
        }
        self.handles[at] = file;
    }

    /// The connection on which its files were open is gone.
    pub(crate) fn forget_files(&mut self) {
        self.handles.clear();
    }
}

fn push_name(path: &mut String, name: Name) {
    let text = name.text();
    let text = std::str::from_utf8(text.as_bytes()).unwrap_or_default();
    // Writing to a string cannot fail.
    let _ = match path.is_empty() {
        true => write!(path, "{text}"),
        false => write!(path, "\\{text}"),
    };
}

/// What a reply says of the session that it came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SessionState {
    /// It is there.
    Valid,
    /// It has expired: the user is to be proved anew.
    Expired,
    /// The server has ended it, or its tree: the connection is to be made anew.
    Deleted,
}

/// It has no timers of its own.
pub(crate) type Timer = Infallible;

/// See the module.
#[derive(Debug)]
pub(crate) struct Core {
    /// What it shares with the loop: the clock, the wish to stop, completions.
    pub(crate) state: LoopState<Timer>,
    pub(crate) settings: Settings,
    /// The contents of files, and what has been written.
    pub(crate) history: History,
    pub(crate) owners: OwnerTexts,
    pub(crate) procs: Vec<Proc>,
    pub(crate) ops: Ops<LogicalOp>,
    pub(crate) calls: Calls<Call>,
    /// How often each connection has ended: what was open on an earlier one is gone.
    pub(crate) epochs: Vec<u32>,
    /// Largest transfers of each connection, in bytes: reads, writes.
    pub(crate) transfers: Vec<(u32, u32)>,
    pub(crate) counters: Counters,
    /// Paths are put together here.
    pub(crate) path: String,
    /// What the message being looked at has said of its session.
    pub(crate) session: SessionState,
    /// The time of day when the clock was at zero, in 100 ns since 1601 (MS-DTYP 2.3.3).
    pub(crate) filetime_base: u64,
}

impl Core {
    /// What is written: the contents of a file, or an owner file.
    pub(crate) fn append_contents(&self, call: &Call, out: &mut Vec<u8>) {
        let number = self.contents_of(call.op);
        let op = self.ops.get(call.op);
        match op.action.fills_owner() {
            false => {
                let (generation, length) = (op.mark.generation, call.length as usize);
                (self.history.data()).append(number, call.offset, generation, length, out);
            }
            true => self
                .owners
                .append(op.proc, number, (call.offset, call.length), out),
        }
    }

    /// Puts a call of `op` into the queue of its connection. (There is room: an operation has
    /// the slot of a call that has just ended, or [`Core::submit`] has seen to it.)
    pub(crate) fn call(&mut self, op: u32, kind: Kind, offset: u64, length: u32) {
        let logical = self.ops.get_mut(op);
        let conn = self.procs[logical.proc as usize].conn;
        if let Some(call) = self.calls.begin(op, conn, self.state.now) {
            call.kind = kind;
            call.offset = offset;
            call.length = length;
            logical.outstanding += 1;
        }
    }

    /// A call that found the session expired goes once more, when it is renewed.
    #[cold]
    pub(crate) fn call_again(&mut self, slot: u32) {
        let call = self.calls.get_mut(slot);
        call.status = 0;
        call.received = 0;
        self.calls.requeue(slot);
        self.session = SessionState::Expired;
    }

    /// Makes a transfer that waits for credits so small that `bytes` pay for it; the rest
    /// becomes a call of its own.
    #[cold]
    pub(crate) fn split(&mut self, slot: u32, bytes: u32) {
        if self.calls.free_slots() == 0 {
            return;
        }
        let call = self.calls.get_mut(slot);
        if !matches!(call.kind, Kind::Read | Kind::Write) || bytes == 0 || call.length <= bytes {
            return;
        }
        let rest = call.length - bytes;
        call.length = bytes;
        let (op, kind, offset) = (call.op, call.kind, call.offset + u64::from(bytes));
        self.call(op, kind, offset, rest);
    }

    /// The connection has ended, and with it all that was open on it.
    pub(crate) fn end_epoch(&mut self, conn: u32) {
        self.epochs[conn as usize] = self.epochs[conn as usize].wrapping_add(1);
        for proc in self.procs.iter_mut().filter(|p| p.conn == conn) {
            proc.forget_files();
        }
    }

    /// Whether the file that a call is on was lost with an earlier connection. (The same
    /// number may be another file by now.)
    pub(crate) fn is_on_lost_file(&self, call: &Call) -> bool {
        let op = self.ops.get(call.op);
        let conn = self.procs[op.proc as usize].conn;
        call.kind.is_on_file() && op.epoch != self.epochs[conn as usize]
    }

    /// The connection that an operation's proc uses.
    #[inline]
    pub(crate) fn conn_of(&self, op: u32) -> u32 {
        self.procs[self.ops.get(op).proc as usize].conn
    }

    /// The time of day, in 100 ns since 1601.
    pub(crate) fn filetime(&self) -> u64 {
        self.filetime_base + self.state.now.0 / 100
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_put_together_from_names() {
        let mut proc = Proc::new(7, 0, r"sub\filermark.x");
        let mut path = String::new();
        let file = Name::new(NameKind::File, 12);
        proc.keep_dir(ObjectId(3), Name::new(NameKind::Dir, 2));
        for (dir, name, wanted) in [
            (0, None, r"sub\filermark.x\p000007"),
            (3, None, r"sub\filermark.x\p000007\d0002"),
            (3, Some(file), r"sub\filermark.x\p000007\d0002\f0000000012"),
        ] {
            proc.path(
                ProcPath {
                    dir: ObjectId(dir),
                    name,
                },
                &mut path,
            );
            assert_eq!(path, wanted);
        }
        assert!(proc.knows_dir(ObjectId(3)) && !proc.knows_dir(ObjectId(2)));
        proc.forget_objects(ObjectId(0));
        assert!(!proc.knows_dir(ObjectId(3)));
    }
}
