//! The first call of each action, with its file, path and range.
#![deny(clippy::wildcard_enum_match_arm)]

use super::calls::{FileId, Kind};
use super::core::{Core, Proc};
use filermark_engine::driver::{Action, PROC_DIR};
use filermark_engine::session_action::{
    AttributeChange, OpenFor, ProcPath, SessionAction, SessionTask,
};

/// The first call of an action: its kind, file and range.
#[derive(Clone, Copy, Debug)]
pub(crate) struct First {
    pub(crate) kind: Kind,
    pub(crate) file: FileId,
    /// The range of a transfer or a lock; SET_SIZE: the new size.
    pub(crate) offset: u64,
    pub(crate) length: u64,
}

impl First {
    /// A call without an open file.
    const fn of(kind: Kind) -> Self {
        Self {
            kind,
            file: FileId::NONE,
            offset: 0,
            length: 0,
        }
    }

    /// A call on an open file; `None`: the file is not open.
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

/// The first call of an action; `None`: its object does not exist, or SMB does not have the
/// action.
pub(crate) fn first_call(proc: &mut Proc, action: Action) -> Option<First> {
    let below = |proc: &Proc, dir, kind| proc.has_dir(dir).then_some(First::of(kind));
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
    let below = |dir, kind| proc.has_dir(dir).then_some(First::of(kind));
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

/// The path of an action of a protocol with open files.
const fn place_of_session(action: SessionAction) -> ProcPath {
    match action {
        SessionAction::Open { place, .. }
        | SessionAction::QueryPath { place }
        | SessionAction::Truncate { place, .. } => place,
        SessionAction::Find { dir } => ProcPath { dir, name: None },
        // Their calls have no path.
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
    /// The path of a call.
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

    /// What a file is opened for; `None`: an operation opens it to fill or truncate it.
    pub(crate) fn open_for(&self, op: u32) -> Option<OpenFor> {
        if let Action::Session(SessionAction::Open { how, .. }) = self.ops.get(op).action {
            return Some(how);
        }
        None
    }

    /// Whether the operation creates and fills its file.
    pub(crate) fn fills(&self, op: u32) -> bool {
        matches!(self.ops.get(op).action, Action::Fill { .. })
    }

    /// The number of a transfer's file, from which its contents are generated.
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

    /// Whether the operation unlocks.
    pub(crate) fn unlocks(&self, op: u32) -> bool {
        matches!(
            self.ops.get(op).action,
            Action::Session(SessionAction::Lock { unlock: true, .. })
        )
    }
}
