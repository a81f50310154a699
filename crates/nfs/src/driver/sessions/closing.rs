//! When files are closed: to make space, before a REMOVE, at the end of a fill, after a RENAME, when nothing uses them.

use super::compounds::StateCall;
use super::opens::{self, OpenState};
use super::state::{Closing, Released, Sessions};
use crate::driver::core::Core;
use filermark_engine::driver::{Action, ObjectId};

impl Core<Sessions> {
    /// Closes the file that was not used for the longest time, if the proc has too many open. One with data that
    /// needs a COMMIT with its layout stays open. If all have such data, or more than so many files are open because
    /// of that, one of them is committed, and a later OPEN closes it. What cannot be committed stays open: the limits
    /// of held data are those of such files.
    pub(super) fn make_space(&mut self, op: u32, conn: u32) {
        let proc = self.ops.get(op).proc;
        let is_beyond = self.own.opens[proc as usize].count() > opens::OPENS_MAX;
        let mut last = None;
        let mut held = None;
        let mut is_closed = false;
        while let Some(idle) = self.own.opens[proc as usize].surplus(last) {
            let (key, layout) = (idle.key, idle.layout);
            if layout.is_none_or(|layout| !self.has_uncommitted((proc, key), layout)) {
                is_closed = self.close(Some(op), conn, proc, key);
                break;
            }
            held = held.or_else(|| self.uncommitted_object(proc, key));
            last = Some(idle);
        }
        if let Some(object) = held.filter(|_| is_beyond || !is_closed) {
            self.settle_file(proc, object);
        }
    }

    /// The object of a file, if data of it is held and no operation commits it.
    fn uncommitted_object(&mut self, proc: u32, key: u32) -> Option<ObjectId> {
        let object = opens::object_of(key)?;
        let held = self.uncommitted.find(proc, object)?;
        let is_idle = held.committer().is_none() && !held.ranges.is_empty();
        is_idle.then_some(object)
    }

    /// Begins the CLOSE of an open file; `false`: not now.
    pub(super) fn close(&mut self, op: Option<u32>, conn: u32, proc: u32, key: u32) -> bool {
        let handle = self.handle_of(proc, key);
        let Some(file) = self.own.opens[proc as usize].find(key) else {
            return false;
        };
        let OpenState::Open(stateid) = file.state else {
            return false;
        };
        if file.turn.is_some() || file.is_asking {
            return false;
        }
        let lock_owner = file.lock.map(|lock| lock.number);
        let (owner, is_delegated) = (file.owner, file.delegation.is_some());
        let layout = file.layout;
        if is_delegated && !self.return_delegation(op, conn, proc, key) {
            return false;
        }
        let closing = Closing {
            owner,
            lock_owner,
            layout,
            ..Closing::new(stateid, handle, (proc, key))
        };
        let place = self.own.keep_closing(closing);
        let granted = layout.and_then(|place| self.own.layouts.get(place));
        let granted = granted.filter(|granted| granted.stateid.is_some());
        let kind = match granted.map(|granted| granted.last_write.is_some()) {
            Some(commits) => StateCall::CloseReturning(place, commits),
            None => StateCall::Close(place),
        };
        if !self.own_call(conn, op, kind) {
            self.own.forget_closing(place);
            return false;
        }
        if let Some(file) = self.own.opens[proc as usize].find(key) {
            file.state = OpenState::Closing;
            file.is_sent = false;
            file.lock = None;
            file.layout = None;
        }
        self.own.client(conn).closing += 1;
        true
    }

    /// Closes an open file whose key stands for another file from now on. If that has to wait for a call about its
    /// layouts or locks, or for capacity, it has a key of its own until then.
    pub(super) fn close_replaced(&mut self, conn: u32, proc: u32, key: u32) {
        let handle = self.handle_of(proc, key);
        if !self.close(None, conn, proc, key) {
            self.own.opens[proc as usize].detach(key, handle);
            self.wake(proc, key);
        }
    }

    /// A call about a file has ended: closes the file if it was replaced meanwhile. If there is no capacity for
    /// that, it is closed at the end.
    pub(super) fn close_detached(&mut self, proc: u32, key: Option<u32>) {
        if let Some(key) = key.filter(|key| opens::is_detached(*key)) {
            let conn = self.procs[proc as usize].conn;
            self.close(None, conn, proc, key);
        }
    }

    /// A CLOSE has ended, whatever its outcome.
    pub(super) fn closed(&mut self, conn: u32, place: u32) {
        let client = self.own.client(conn);
        client.closing = client.closing.saturating_sub(1);
        let Some(closing) = self.own.forget_closing(place) else {
            return;
        };
        if let Some(place) = closing.layout {
            self.own.layouts.let_go(place);
        }
        let (proc, key) = (closing.proc, closing.key);
        let opens = &mut self.own.opens[proc as usize];
        if opens
            .find(key)
            .is_some_and(|f| f.state == OpenState::Closing)
        {
            opens.remove(key);
        }
        if let Some(number) = closing.lock_owner {
            self.release_owner(Released { conn, proc, number });
        }
        self.wake(proc, key);
    }

    /// All calls of an operation that fills a file have ended: the file is closed.
    pub(super) fn close_filled(&mut self, op: u32) {
        let logical = self.ops.get(op);
        if let Action::Fill { .. } = logical.action {
            let (proc, key) = (logical.proc, opens::of_fill(op));
            let conn = self.procs[proc as usize].conn;
            if !self.close(Some(op), conn, proc, key) {
                self.own.opens[proc as usize].remove(key);
            }
        }
    }

    /// Closes what is open and not in use; whether a file is open still.
    pub(super) fn close_idle(&mut self) -> bool {
        self.release_owners();
        for proc in 0..self.procs.len() as u32 {
            self.close_from(proc, ObjectId(0));
        }
        !self.own.opens.iter().all(opens::ProcOpens::is_empty)
    }

    /// Closes the files of objects from `from` on that are not in use.
    pub(super) fn close_from(&mut self, proc: u32, from: ObjectId) {
        let Some(conn) = self.procs.get(proc as usize).map(|p| p.conn) else {
            return;
        };
        while let Some(key) = self.own.opens[proc as usize].idle(from) {
            if !self.close(None, conn, proc, key) {
                return;
            }
        }
    }

    /// What was open as one object is open as another one, after a RENAME.
    pub(super) fn rename_open(&mut self, op: u32) {
        let logical = self.ops.get(op);
        let Action::Rename {
            dir,
            object,
            new_name,
            new_object,
            ..
        } = logical.action
        else {
            return;
        };
        let proc = logical.proc;
        let (from, to) = (opens::of_object(object), opens::of_object(new_object));
        let opens = &mut self.own.opens[proc as usize];
        // The end of a call that was begun during the RENAME finds the file by its key.
        let is_moving = opens.is_moving(from);
        if !is_moving && (from == to || opens.find(to).is_none()) {
            return opens.rename(from, to, Some((dir, new_name)));
        }
        let conn = self.procs[proc as usize].conn;
        for key in [from, to] {
            self.close_replaced(conn, proc, key);
        }
    }
}
