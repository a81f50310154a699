//! The state of a shard without its sockets: procs, operations, calls.
//!
//! It puts calls into the queues of connections and judges replies; it does not access
//! connections.
#![deny(clippy::wildcard_enum_match_arm)]

use super::calls::Call;
use super::contexts::Contexts;
use super::counters::{Counted, Counters};
use super::ended_calls::EndedCalls;
use super::handles::Handles;
use super::ops::{INTERNAL, Ops, SETTLING};
use super::records::RecordSplitter;
use super::uncommitted::UncommittedWrites;
use super::variant::{ConnTimer, Stateless, Variant};
use filermark_driver_kit::marker::OwnerTexts;
use filermark_driver_kit::sockets::{Calls, LoopState};
use filermark_engine::data::History;
use filermark_engine::driver::{Action, Completion, ObjectId, Status};
use filermark_model::Nanos;
use filermark_model::benchmark::CommitPolicy;
use filermark_model::plan::NfsVersion;
use filermark_onc::nfs3::{Procedure, Verf};
use filermark_onc::nfs4::{Fh4, FileHandle4};
use filermark_onc::template::CallTemplate;
use std::collections::HashMap;

impl Cursor {
    pub(crate) const START: Self = Self {
        cookie: 0,
        verf: [0; 8],
    };
}

/// Settings of the driver; the same for all connections of a shard.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub(crate) version: NfsVersion,
    /// Most READs and WRITEs of one operation under way at once.
    pub(crate) reads_max: u32,
    pub(crate) writes_max: u32,
    /// When COMMIT is called for the data of logical writes.
    pub(crate) commit: CommitPolicy,
    /// Every call is a datagram and is retransmitted by itself.
    pub(crate) datagrams: bool,
    pub(crate) jukebox_delay: Nanos,
    pub(crate) jukebox_retries: u16,
}

/// A file system that procs of the shard use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FileSystem {
    pub(crate) root: Fh4,
    /// The run's directory.
    pub(crate) run_dir: Fh4,
    /// Largest READ and WRITE, in bytes.
    pub(crate) rsize: u32,
    pub(crate) wsize: u32,
    /// Largest answer to READDIR and READDIRPLUS, in bytes.
    pub(crate) readdir_bytes: u32,
    /// The server has layouts of flexible files for it (`fs_layout_types`, RFC 8881 section 5.12.1).
    pub(crate) has_layouts: bool,
}

/// A proc of the shard.
#[derive(Debug)]
pub(crate) struct Proc {
    pub(crate) file_system: u32,
    pub(crate) conn: u32,
    pub(crate) handles: Handles,
    /// How many files the driver itself commits for it.
    pub(crate) settling: u32,
}

/// A timer of the shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Timer {
    /// A call that was refused with NFS3ERR_JUKEBOX is repeated.
    Jukebox { xid: u32 },
    /// A timer of a connection.
    OfConn { conn: u32, timer: ConnTimer },
    /// It is looked for contexts of Kerberos that are being established.
    Contexts,
}

/// The latest known write verifier of a file system.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct KnownVerf {
    /// Number of verifiers known so far; 0: none.
    pub(crate) number: u32,
    pub(crate) verf: Verf,
}

/// Where a listing continues.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor {
    pub(crate) cookie: u64,
    pub(crate) verf: Verf,
}

/// A handle without bytes, which no server returns.
pub(super) const NO_HANDLE: FileHandle4<'static> = match FileHandle4::new(&[]) {
    Some(handle) => handle,
    None => panic!("checked by the compiler"),
};

/// The state of a shard.
#[derive(Debug)]
pub(crate) struct Core<V: Variant = Stateless> {
    /// What only this variant has.
    pub(crate) own: V,
    /// State shared with the loop: clock, stop flag, timers, completions.
    pub(crate) state: LoopState<Timer>,
    pub(crate) settings: Settings,
    /// The contents of files, and what has been written.
    pub(crate) history: History,
    pub(crate) owners: OwnerTexts,
    pub(crate) template: CallTemplate,
    pub(crate) file_systems: Vec<FileSystem>,
    /// Per file system.
    pub(crate) verfs: Vec<KnownVerf>,
    pub(crate) procs: Vec<Proc>,
    pub(crate) ops: Ops,
    /// Data that was answered UNSTABLE and waits for a COMMIT.
    pub(crate) uncommitted: UncommittedWrites,
    pub(crate) calls: Calls<Call<V::Call>>,
    /// Ended calls for which more replies may arrive.
    pub(crate) ended_calls: EndedCalls,
    pub(crate) records: RecordSplitter,
    /// The contexts in which calls are protected; `None`: they are not.
    pub(crate) contexts: Option<Box<Contexts>>,
    /// Unfinished listings, by proc, directory and whether it is READDIRPLUS.
    pub(crate) cursors: HashMap<(u32, ObjectId, bool), Cursor>,
    pub(crate) counters: Counters,
    /// The counters at the end of RUN.
    pub(crate) counted_in_run: Option<Counted>,
}

/// The range that a call transfers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) offset: u64,
    pub(crate) length: u32,
}

impl Span {
    pub(crate) const NONE: Self = Self {
        offset: 0,
        length: 0,
    };
}

impl<V: Variant> Core<V> {
    /// Puts a call of `op` into the queue of its connection. Does nothing when no slot is
    /// free: an operation always has a call under way, or the slot of one that has just
    /// ended, so that it continues later.
    pub(crate) fn call(&mut self, op: u32, procedure: Procedure, span: Span) {
        let conn = self.proc_of(op).conn;
        let own = V::call_of(self.ops.get(op));
        self.call_on(op, conn, (procedure, span), own);
    }

    /// The same for any connection, or another one of its client; returns whether a slot was free.
    pub(crate) fn call_on(
        &mut self,
        op: u32,
        conn: u32,
        (procedure, span): (Procedure, Span),
        own: V::Call,
    ) -> bool {
        let conn = V::route(self, conn);
        let logical = self.ops.get_mut(op);
        let proc = &self.procs[logical.proc as usize];
        let begun = self.calls.begin(op, conn, self.state.now);
        let is_begun = begun.is_some();
        if let Some(call) = begun {
            call.own = own;
            call.procedure = procedure;
            call.offset = span.offset;
            call.length = span.length;
            call.rewrite = logical.rewrite;
            if matches!(procedure, Procedure::Write | Procedure::Commit) {
                call.verf_number = self.verfs[proc.file_system as usize].number;
            }
            logical.outstanding += 1;
        }
        is_begun
    }

    pub(crate) fn proc_of(&mut self, op: u32) -> &mut Proc {
        let proc = self.ops.get(op).proc;
        &mut self.procs[proc as usize]
    }

    /// The file system of a proc.
    #[inline]
    pub(crate) fn file_system(&self, proc: u32) -> &FileSystem {
        &self.file_systems[self.procs[proc as usize].file_system as usize]
    }

    /// The handle of an object of the proc; an empty one if it has none.
    /// (Operations on objects without a handle are refused before they begin.)
    #[inline]
    pub(crate) fn handle(&self, proc: u32, object: ObjectId) -> FileHandle4<'_> {
        let known = self.procs[proc as usize].handles.get(object);
        known.unwrap_or(NO_HANDLE)
    }

    /// The latest known write verifier of the file system of a call.
    pub(crate) fn file_system_verf(&mut self, slot: u32) -> &mut KnownVerf {
        let proc = self.ops.get(self.calls.get(slot).op).proc;
        let file_system = self.procs[proc as usize].file_system;
        &mut self.verfs[file_system as usize]
    }

    pub(crate) fn start_timer(&mut self, at: Nanos, timer: Timer) {
        self.state.start_timer(at, timer);
    }

    /// Ends an operation that has no call under way.
    pub(crate) fn complete(&mut self, op: u32, now: Nanos) {
        self.end_suspects(op);
        self.end_commit(op);
        let ended = self.ops.get_mut(op);
        ended.note_done(now);
        let written = if let Action::Write {
            file,
            offset,
            length,
            ..
        } = ended.action
        {
            Some((file, offset, u64::from(length)))
        } else if let Action::Fill { file, size, .. } = ended.action {
            Some((file, 0, size))
        } else {
            None
        };
        if let Some(range) = written {
            let is_answered = ended.outcome.status == Status::Ok || ended.is_held;
            let certain = is_answered && !ended.resent;
            self.history
                .end_write(ended.proc, ended.mark, range, certain);
        }
        match ended.token {
            SETTLING => {
                let proc = &mut self.procs[ended.proc as usize];
                proc.settling = proc.settling.saturating_sub(1);
            }
            INTERNAL => {}
            token => self.state.done.push(Completion {
                token,
                outcome: ended.outcome,
            }),
        }
        self.ops.end(op);
    }
}
