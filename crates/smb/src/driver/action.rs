//! What actions come to: their first call, and where and on what it is.
#![deny(clippy::wildcard_enum_match_arm)]

use super::calls::{FileId, Kind};
use super::core::{Core, Proc};
use filermark_engine::driver::{Action, PROC_DIR};
use filermark_engine::session_action::{
    AttributeChange, OpenFor, ProcPath, SessionAction, SessionTask,
};

/// The first call of an action: what it is, on which file, and where.
#[derive(Clone, Copy, Debug)]
pub(crate) struct First {
    pub(crate) kind: Kind,
    pub(crate) file: FileId,
    /// Of a transfer or a lock; or the new size.
    pub(crate) offset: u64,
    pub(crate) length: u64,
}

impl First {
    /// A call that is on no open file.
    const fn of(kind: Kind) -> Self {
        Self {
            kind,
            file: FileId::NONE,
            offset: 0,
            length: 0,
        }
    }

    /// A call on an open file; `None`: it is not open.
    fn on(file: Option<FileId>, kind: Kind) -> Option<Self> {
        let file = file?;
        Some(Self {
            file,
            ..Self::of(kind)
        })
    }

    fn at(self, offset: u64, length: u64) -> Self {
        Self {
            offset,
            length,
            ..self
        }
    }
}

/// The first call of an action; `None`: what it works on is not there, or the action
/// is none of SMB's.
pub(crate) fn first_call(proc: &mut Proc, action: Action) -> Option<First> {
    let below = |proc: &Proc, dir, kind| proc.knows_dir(dir).then_some(First::of(kind));
    match action.session_task()? {
        SessionTask::Operation(action) => first_of_session(proc, action),
        SessionTask::MakeProcDir => Some(First::of(Kind::MakeDir)),
        SessionTask::RemoveProcDir => Some(First::of(Kind::RemoveDir)),
        SessionTask::MakeDir { dir, name, object } => {
            proc.keep_dir(object, name);
            below(proc, dir, Kind::MakeDir)
        }
        SessionTask::RemoveDir { dir, .. } => below(proc, dir, Kind::RemoveDir),
        SessionTask::RemoveFile { dir, .. } => below(proc, dir, Kind::RemoveFile),
        SessionTask::Fill { dir, .. } => below(proc, dir, Kind::Open),
    }
}

/// The first call of an action of a protocol with open files.
fn first_of_session(proc: &Proc, action: SessionAction) -> Option<First> {
    let below = |dir, kind| proc.knows_dir(dir).then_some(First::of(kind));
    let on = |handle, kind| First::on(proc.file(handle), kind);
    match action {
        SessionAction::Echo => Some(First::of(Kind::Echo)),
        SessionAction::QueryFs => Some(First::of(Kind::QueryFs)),
        SessionAction::Open { place, .. } | SessionAction::Truncate { place, .. } => {
            below(place.dir, Kind::Open)
        }
        SessionAction::QueryPath { place } => below(place.dir, Kind::QueryPath),
        SessionAction::Find { dir } => below(dir, Kind::Find),
        SessionAction::Close { handle } => on(handle, Kind::Close),
        SessionAction::Read {
            handle,
            offset,
            length,
            ..
        } => on(handle, Kind::Read).map(|first| first.at(offset, length.into())),
        SessionAction::Write {
            handle,
            offset,
            length,
            ..
        } => on(handle, Kind::Write).map(|first| first.at(offset, length.into())),
        SessionAction::Flush { handle } => on(handle, Kind::Flush),
        SessionAction::Lock {
            handle,
            offset,
            length,
            ..
        } => on(handle, Kind::Lock).map(|first| first.at(offset, length)),
        SessionAction::QueryFile { handle } => on(handle, Kind::QueryFile),
        SessionAction::QuerySecurity { handle } => on(handle, Kind::QuerySecurity),
        SessionAction::SetFile { handle, setting } => match setting {
            AttributeChange::Times => on(handle, Kind::SetTimes),
            AttributeChange::Size(bytes) => {
                on(handle, Kind::SetSize).map(|first| first.at(bytes, 0))
            }
            AttributeChange::Delete => on(handle, Kind::SetDelete),
        },
    }
}

/// The proc's own directory.
const OWN: ProcPath = ProcPath {
    dir: PROC_DIR,
    name: None,
};

/// The place that an action of a protocol with open files is about.
const fn place_of_session(action: SessionAction) -> ProcPath {
    match action {
        SessionAction::Open { place, .. }
        | SessionAction::QueryPath { place }
        | SessionAction::Truncate { place, .. } => place,
        SessionAction::Find { dir } => ProcPath { dir, name: None },
        // These begin no call on a path.
        SessionAction::Echo
        | SessionAction::Close { .. }
        | SessionAction::Read { .. }
        | SessionAction::Write { .. }
        | SessionAction::Flush { .. }
        | SessionAction::Lock { .. }
        | SessionAction::QueryFile { .. }
        | SessionAction::QuerySecurity { .. }
        | SessionAction::SetFile { .. }
        | SessionAction::QueryFs => OWN,
    }
}

impl Core {
    /// The place that a call on a path is about.
    pub(crate) fn place_of(&self, op: u32) -> ProcPath {
        let task = self.ops.get(op).action.session_task();
        task.map_or(OWN, |task| match task {
            SessionTask::Operation(action) => place_of_session(action),
            SessionTask::MakeDir { dir, name, .. }
            | SessionTask::RemoveDir { dir, name }
            | SessionTask::RemoveFile { dir, name }
            | SessionTask::Fill { dir, name } => ProcPath {
                dir,
                name: Some(name),
            },
            SessionTask::MakeProcDir | SessionTask::RemoveProcDir => OWN,
        })
    }

    /// What a file is opened for; `None`: to be filled, or cut, by an operation of
    /// its own.
    pub(crate) fn open_for(&self, op: u32) -> Option<OpenFor> {
        if let Action::Session(SessionAction::Open { how, .. }) = self.ops.get(op).action {
            return Some(how);
        }
        None
    }

    /// Whether the operation makes its file anew.
    pub(crate) fn fills(&self, op: u32) -> bool {
        matches!(self.ops.get(op).action, Action::Fill { .. })
    }

    /// The number by which the contents of the file of a transfer are known.
    pub(crate) fn contents_of(&self, op: u32) -> u64 {
        if let Action::Session(
            SessionAction::Read { file, .. } | SessionAction::Write { file, .. },
        )
        | Action::Fill { file, .. } = self.ops.get(op).action
        {
            return file;
        }
        0
    }

    /// Whether a lock is given back.
    pub(crate) fn unlocks(&self, op: u32) -> bool {
        matches!(
            self.ops.get(op).action,
            Action::Session(SessionAction::Lock { unlock: true, .. })
        )
    }
}
