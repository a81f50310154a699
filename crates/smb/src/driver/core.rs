//! The state of a shard without its sockets: procs, operations, calls.
//!
//! It puts calls into the queues of connections and judges their outcome; it does not access
//! connections.

use super::calls::{Call, FileId, Kind};
use super::channels::Channels;
use super::counters::Counters;
use super::ops::LogicalOp;
use filermark_driver_kit::marker::OwnerTexts;
use filermark_driver_kit::sockets::{Calls, LoopState, Ops};
use filermark_engine::data::History;
use filermark_engine::driver::ObjectId;
use filermark_engine::name::{Name, NameKind};
use filermark_engine::session_action::{HandleId, ProcPath};
use std::fmt::Write as _;

/// Most files of one proc that can be open at once.
const HANDLES_MAX: usize = 1 << 16;

/// Settings of the driver; the same for all connections of a shard.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    /// Most reads and writes of one operation under way at once.
    pub(crate) reads_max: u32,
    pub(crate) writes_max: u32,
    /// Largest transfer that the user allows, in bytes.
    pub(crate) block_max: u32,
    /// Sessions work with the channels that the server binds.
    pub(crate) fewer_channels: bool,
}

/// A proc of the shard.
#[derive(Debug)]
pub(crate) struct Proc {
    /// Its connection; with several channels the first of its session.
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

    /// Keeps the name of a directory that was created or is about to be.
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

    pub(crate) fn has_dir(&self, object: ObjectId) -> bool {
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

    /// Forgets the open files: their connection was closed.
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

/// The state of a session, according to a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SessionState {
    /// It is valid.
    Valid,
    /// It has expired: the user must be authenticated again.
    Expired,
    /// The server has ended it, or its tree: a new connection is necessary.
    Deleted,
}

/// Timers; a session with one channel has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Timer {
    /// A lost channel is to be made again.
    MakeChannel { conn: u32 },
    /// A call that was sent again is tried once more.
    Replay { xid: u32 },
}

/// The state of a shard.
#[derive(Debug)]
pub(crate) struct Core {
    /// State shared with the loop: clock, stop flag, completions.
    pub(crate) state: LoopState<Timer>,
    pub(crate) settings: Settings,
    /// The contents of files, and what has been written.
    pub(crate) history: History,
    pub(crate) owners: OwnerTexts,
    pub(crate) procs: Vec<Proc>,
    pub(crate) ops: Ops<LogicalOp>,
    pub(crate) calls: Calls<Call>,
    /// The channels of sessions that have several.
    pub(crate) channels: Channels,
    /// How often each connection has ended. Files that were open before are closed.
    pub(crate) epochs: Vec<u32>,
    /// Largest read and write of each connection, in bytes.
    pub(crate) transfers: Vec<(u32, u32)>,
    pub(crate) counters: Counters,
    /// A buffer for paths.
    pub(crate) path: String,
    /// The state of the session according to the current message.
    pub(crate) session: SessionState,
    /// The time of day when the clock was at zero, in 100 ns since 1601 (MS-DTYP 2.3.3).
    pub(crate) filetime_base: u64,
}

impl Core {
    /// Appends the data of a write: the contents of a file, or an owner file.
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

    /// Puts a call of `op` into the queue of its connection. A slot is free: an operation has
    /// that of a call that has just ended, or [`Core::submit`] has checked it.
    pub(crate) fn call(&mut self, op: u32, kind: Kind, offset: u64, length: u32) {
        let logical = self.ops.get_mut(op);
        let conn = (self.channels).next(self.procs[logical.proc as usize].conn);
        if let Some(call) = self.calls.begin(op, conn, self.state.now) {
            call.kind = kind;
            call.offset = offset;
            call.length = length;
            logical.outstanding += 1;
        }
    }

    /// Sends a call again that was refused because the session has expired, after the renewal.
    #[cold]
    pub(crate) fn call_again(&mut self, slot: u32) {
        let call = self.calls.get_mut(slot);
        call.status = 0;
        call.received = 0;
        self.calls.requeue(slot);
        self.session = SessionState::Expired;
    }

    /// Reduces a transfer that waits for credits to `bytes`; the rest becomes a new call.
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

    /// Notes the end of a connection (of all channels), with which its open files are lost.
    pub(crate) fn end_epoch(&mut self, conn: u32) {
        self.epochs[conn as usize] = self.epochs[conn as usize].wrapping_add(1);
        for proc in self.procs.iter_mut().filter(|p| p.conn == conn) {
            proc.forget_files();
        }
    }

    /// Whether the file of a call was lost with an earlier connection. (The same id may be a
    /// different file now.)
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
        assert!(proc.has_dir(ObjectId(3)) && !proc.has_dir(ObjectId(2)));
        proc.forget_objects(ObjectId(0));
        assert!(!proc.has_dir(ObjectId(3)));
    }
}
