//! The layouts of open files (RFC 8881 section 12, RFC 8435): for which file there is one, and who uses it.
//!
//! A layout belongs to the open file: it is asked for once, for reading and for writing, when the first
//! call needs it, and is returned with the CLOSE, or before that when the server recalls it or a data
//! server fails. An entry of the table stays as long as a file, a call or a return under way has it.

use filermark_onc::nfs4::flexfiles::ff_flags;
use filermark_onc::nfs4::{Deviceid4, Fh4, Layoutiomode4, Nfsstat4, Operation, Stateid4};

/// What a call does with the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    Read,
    Write,
}

impl Access {
    pub(super) const ALL: [Self; 2] = [Self::Read, Self::Write];

    pub(super) const fn iomode(self) -> Layoutiomode4 {
        match self {
            Self::Read => Layoutiomode4::Read,
            Self::Write => Layoutiomode4::Rw,
        }
    }
}

/// How far a layout is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PartState {
    /// It was not asked for.
    Unasked,
    /// LAYOUTGET is under way.
    Asked,
    /// It is known, and GETDEVICEINFO is under way.
    AwaitsDevice,
    /// Calls go to this data server.
    Held(u32),
    /// There is none: calls go to the metadata server.
    Refused,
}

/// A layout for one access.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    pub(super) state: PartState,
    pub(super) device: Deviceid4,
    /// The file on the data server.
    pub(super) handle: Fh4,
    /// User and group for the data server: the number of their credential.
    pub(super) credential: u32,
    /// Bits of `ff_flags`.
    pub(super) flags: u32,
    /// There were several handles; which one is right follows from the versions of the data server.
    pub(super) is_ambiguous: bool,
}

/// Whether layouts of a file are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    Good,
    /// The server has recalled them: they are returned, and asked for again.
    Recalled,
    /// A data server has failed: they are returned, and the file has none until it is closed.
    Failed,
    /// The server does not know them any more.
    Gone,
}

/// What a data server has answered, for the metadata server (`ff_ioerr4`, RFC 8435 section 9.1.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TransferError {
    pub(super) offset: u64,
    pub(super) length: u64,
    pub(super) device: Deviceid4,
    pub(super) status: Nfsstat4,
    pub(super) operation: Operation,
}

/// The layouts of a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct FileLayout {
    /// The state of all of them, once one was granted.
    pub(super) stateid: Option<Stateid4>,
    parts: [Part; 2],
    pub(super) standing: Standing,
    /// Calls under way to data servers.
    pub(super) users: u32,
    /// The open file, and calls that return them.
    holders: u32,
    /// The last byte that was written and that LAYOUTCOMMIT is to report (RFC 8881 section 18.42).
    pub(super) last_write: Option<u64>,
    /// The last byte that the LAYOUTCOMMIT under way reports.
    pub(super) reported: Option<u64>,
    /// LAYOUTCOMMIT was refused since the last write: only the CLOSE reports it once more.
    pub(super) is_commit_refused: bool,
    /// A COMMIT has failed since they were recalled: they are returned all the same, and what it was to cover is
    /// written again.
    pub(super) is_unsettled: bool,
    /// The first error of a data server.
    pub(super) error: Option<TransferError>,
}

/// Where a call is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Route {
    MetadataServer,
    /// To this data server, with the layout for this access.
    DataServer(u32, Access),
    /// It waits for a layout that was asked for.
    Wait,
    /// A layout for this access is to be asked for.
    Ask(Access),
}

impl FileLayout {
    fn new(state: PartState) -> Option<Self> {
        let part = Part {
            state,
            device: [0; 16],
            handle: Fh4::new(&[])?,
            credential: 0,
            flags: 0,
            is_ambiguous: false,
        };
        Some(Self {
            stateid: None,
            parts: [part; 2],
            standing: Standing::Good,
            users: 0,
            holders: 1,
            last_write: None,
            reported: None,
            is_commit_refused: false,
            is_unsettled: false,
            error: None,
        })
    }

    pub(super) const fn part(&self, access: Access) -> &Part {
        &self.parts[access as usize]
    }

    pub(super) const fn part_mut(&mut self, access: Access) -> &mut Part {
        &mut self.parts[access as usize]
    }

    /// Where a call with this access is sent. One LAYOUTGET of a file is under way at a time, since the
    /// next one has the state that it returns (RFC 8881 section 12.5.3).
    pub(super) fn route(&self, access: Access) -> Route {
        let is_asked =
            |part: &Part| matches!(part.state, PartState::Asked | PartState::AwaitsDevice);
        if self.standing != Standing::Good {
            return Route::MetadataServer;
        }
        if self.parts.iter().any(is_asked) {
            return Route::Wait;
        }
        let writing = self.part(Access::Write);
        if let (Access::Read, PartState::Held(server)) = (access, writing.state)
            && writing.flags & ff_flags::NO_READ_IO == 0
        {
            return Route::DataServer(server, Access::Write);
        }
        match self.part(access).state {
            PartState::Unasked => Route::Ask(access),
            PartState::Held(server) => Route::DataServer(server, access),
            PartState::Asked | PartState::AwaitsDevice => Route::Wait,
            PartState::Refused => Route::MetadataServer,
        }
    }

    /// Whether they are to be returned now.
    pub(super) fn is_due(&self) -> bool {
        let is_ended = matches!(self.standing, Standing::Recalled | Standing::Failed);
        is_ended && self.users == 0 && self.stateid.is_some()
    }

    /// They were returned, or are lost, and the file is open still.
    pub(super) fn reset(&mut self) {
        let state = match self.standing {
            Standing::Recalled => PartState::Unasked,
            Standing::Good | Standing::Failed | Standing::Gone => PartState::Refused,
        };
        for part in &mut self.parts {
            part.state = state;
        }
        self.standing = Standing::Good;
        self.stateid = None;
        self.last_write = None;
        self.is_commit_refused = false;
        self.is_unsettled = false;
        self.error = None;
    }
}

/// All layouts of a shard.
#[derive(Debug, Default)]
pub(super) struct Layouts {
    entries: Vec<FileLayout>,
    free: Vec<u32>,
}

impl Layouts {
    /// An entry for a file; `None`: there can be no more. Without layouts on the server all calls of the
    /// file go to the metadata server.
    pub(super) fn add(&mut self, has_layouts: bool) -> Option<u32> {
        let entry = FileLayout::new(match has_layouts {
            true => PartState::Unasked,
            false => PartState::Refused,
        })?;
        if let Some(place) = self.free.pop() {
            *self.get_mut(place)? = entry;
            return Some(place);
        }
        self.entries.push(entry);
        u32::try_from(self.entries.len() - 1).ok()
    }

    pub(super) fn get(&self, place: u32) -> Option<&FileLayout> {
        self.entries.get(place as usize)
    }

    pub(super) fn get_mut(&mut self, place: u32) -> Option<&mut FileLayout> {
        self.entries.get_mut(place as usize)
    }

    /// One more call to a data server uses it.
    pub(super) fn acquire(&mut self, place: u32) {
        if let Some(entry) = self.get_mut(place) {
            entry.users += 1;
        }
    }

    /// Such a call has ended; returns whether the layouts are to be returned now.
    pub(super) fn release(&mut self, place: u32) -> bool {
        let Some(entry) = self.get_mut(place) else {
            return false;
        };
        entry.users = entry.users.saturating_sub(1);
        let is_due = entry.is_due();
        self.drop_unused(place);
        is_due
    }

    /// A call that is to return them has them, too.
    pub(super) fn hold(&mut self, place: u32) {
        if let Some(entry) = self.get_mut(place) {
            entry.holders += 1;
        }
    }

    /// The file is closed, or the call that was to return them has ended.
    pub(super) fn let_go(&mut self, place: u32) {
        if let Some(entry) = self.get_mut(place) {
            entry.holders = entry.holders.saturating_sub(1);
            self.drop_unused(place);
        }
    }

    /// The server has lost them; returns whether there were any.
    pub(super) fn lose(&mut self, place: u32) -> bool {
        let Some(entry) = self.get_mut(place) else {
            return false;
        };
        entry.standing = Standing::Gone;
        let was_granted = entry.stateid.take().is_some();
        self.let_go(place);
        was_granted
    }

    fn drop_unused(&mut self, place: u32) {
        let is_used = |entry: &FileLayout| entry.users > 0 || entry.holders > 0;
        if !self.get(place).is_some_and(is_used) {
            self.free.push(place);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(layouts: &mut Layouts, access: Access, flags: u32) -> u32 {
        let place = layouts.add(true).expect("space");
        let entry = layouts.get_mut(place).expect("added");
        entry.stateid = Some(Stateid4::ANONYMOUS);
        entry.part_mut(access).state = PartState::Held(3);
        entry.part_mut(access).flags = flags;
        place
    }

    #[test]
    fn a_layout_for_writing_serves_for_reading_unless_its_flags_refuse_that() {
        let mut layouts = Layouts::default();
        for (flags, expected) in [
            (0, Route::DataServer(3, Access::Write)),
            (ff_flags::NO_READ_IO, Route::Ask(Access::Read)),
        ] {
            let place = held(&mut layouts, Access::Write, flags);
            let entry = layouts.get(place).expect("added");
            assert_eq!(entry.route(Access::Read), expected);
            assert_eq!(
                entry.route(Access::Write),
                Route::DataServer(3, Access::Write)
            );
        }
        let place = held(&mut layouts, Access::Read, 0);
        let entry = layouts.get_mut(place).expect("added");
        assert_eq!(entry.route(Access::Write), Route::Ask(Access::Write));
        entry.part_mut(Access::Write).state = PartState::Asked;
        assert_eq!(entry.route(Access::Read), Route::Wait, "one at a time");
    }

    #[test]
    fn what_is_recalled_is_due_when_no_call_uses_it_and_is_asked_for_again() {
        let mut layouts = Layouts::default();
        let place = held(&mut layouts, Access::Read, 0);
        layouts.acquire(place);
        let entry = layouts.get_mut(place).expect("added");
        entry.standing = Standing::Recalled;
        assert!(!entry.is_due());
        assert_eq!(entry.route(Access::Read), Route::MetadataServer);
        assert!(layouts.release(place));
        let entry = layouts.get_mut(place).expect("held by the file");
        entry.reset();
        assert_eq!(entry.route(Access::Read), Route::Ask(Access::Read));
        entry.standing = Standing::Failed;
        entry.reset();
        assert_eq!(entry.route(Access::Read), Route::MetadataServer);
    }

    #[test]
    fn an_entry_is_used_again_when_nothing_has_it() {
        let mut layouts = Layouts::default();
        let place = held(&mut layouts, Access::Read, 0);
        layouts.acquire(place);
        assert!(layouts.lose(place));
        assert_eq!(layouts.add(true), Some(1), "a call uses the first one");
        assert!(!layouts.release(place), "it is gone, not due");
        assert_eq!(layouts.add(false), Some(place));
        let entry = layouts.get(place).expect("added");
        assert_eq!(entry.route(Access::Write), Route::MetadataServer);
    }
}
