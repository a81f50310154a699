//! Actions: what a driver is asked to do, and on which objects.

use crate::file_action::FileAction;
use crate::name::{Name, NameKind};
use crate::session_action::{SessionAction, SessionTask};
use crate::v4_action::V4Action;
use filermark_model::NfsOp;

/// A number for an object of one proc.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectId(pub u32);

/// The proc's own directory.
pub const PROC_DIR: ObjectId = ObjectId(0);

/// What a driver is to do. The fields name the objects. Where an action creates an
/// object, the driver keeps what it needs to find it again under `object`.
///
/// The operations of NFS come first. An NFS driver gets what they have in common from
/// [`Action::subject`]. A driver of a protocol with open files gets its own from
/// [`Action::session_task`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields are the terms of the protocol")]
pub enum Action {
    Null,
    Getattr {
        object: ObjectId,
    },
    /// Sets the mode (harmlessly) or, with `size`, truncates or extends.
    Setattr {
        object: ObjectId,
        size: Option<u64>,
    },
    /// Finds `name` in `dir`; the result is kept under `object`.
    Lookup {
        dir: ObjectId,
        name: Name,
        object: ObjectId,
    },
    Access {
        object: ObjectId,
    },
    Readlink {
        object: ObjectId,
    },
    /// Reads a range of what has been written; `file` is the file's number for the contents (see [`DataSource`](crate::data::DataSource)).
    Read {
        object: ObjectId,
        file: u64,
        offset: u64,
        length: u32,
    },
    /// Writes a range; complete when it is stable, or when the driver has arranged that it
    /// will be (see [`ShardDriver::make_stable`](crate::driver::ShardDriver::make_stable)).
    Write {
        object: ObjectId,
        file: u64,
        offset: u64,
        length: u32,
    },
    Commit {
        object: ObjectId,
    },
    Create {
        dir: ObjectId,
        name: Name,
        object: ObjectId,
    },
    Mkdir {
        dir: ObjectId,
        name: Name,
        object: ObjectId,
    },
    /// Makes a link whose text is fixed by `name`.
    Symlink {
        dir: ObjectId,
        name: Name,
        object: ObjectId,
    },
    /// Makes a FIFO.
    Mknod {
        dir: ObjectId,
        name: Name,
        object: ObjectId,
    },
    Remove {
        dir: ObjectId,
        name: Name,
    },
    Rmdir {
        dir: ObjectId,
        name: Name,
    },
    /// Renames within `dir`; what the driver keeps for `object` moves to `new_object`.
    Rename {
        dir: ObjectId,
        name: Name,
        object: ObjectId,
        new_name: Name,
        new_object: ObjectId,
    },
    /// Gives `object` a second name `new_name` in `dir`, kept under `new_object`.
    Link {
        object: ObjectId,
        dir: ObjectId,
        new_name: Name,
        new_object: ObjectId,
    },
    /// Lists a part of a directory: continues where this proc's last listing of the
    /// same directory ended, else begins. [`Outcome::end`](crate::driver::Outcome::end)
    /// marks the last part.
    Readdir {
        dir: ObjectId,
        plus: bool,
    },
    Fsstat,
    Fsinfo,
    Pathconf,
    /// An operation that only version 4 has.
    V4(V4Action),
    /// INIT: makes proc directory 0 below the run directory (it may exist).
    MakeProcDir {
        name: Name,
    },
    /// INIT: makes a file and fills it; stable when complete. An existing file is truncated
    /// and filled again. `object` is `None` when it is not used again.
    Fill {
        dir: ObjectId,
        name: Name,
        object: Option<ObjectId>,
        file: u64,
        size: u64,
    },
    /// CLEANUP: removes proc directory 0.
    RemoveProcDir {
        name: Name,
    },
    /// An operation on a mounted file system.
    File(FileAction),
    /// An operation of a protocol with open files.
    Session(SessionAction),
}

/// What an operation of NFS works on, as it was chosen. Which members count depends on the
/// operation's [`OpTarget`](filermark_model::OpTarget).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chosen {
    /// The object; for a name that is looked up or created, the object that it stands for.
    pub(crate) object: ObjectId,
    /// The directory.
    pub(crate) dir: ObjectId,
    /// The name in it.
    pub(crate) name: Name,
    /// A free name in it.
    pub(crate) new_name: Name,
    /// The object that the free name stands for.
    pub(crate) new_object: ObjectId,
    /// The file's number for its contents.
    pub(crate) file: u64,
    /// A range of the file, in bytes.
    pub(crate) offset: u64,
    /// Its length, in bytes.
    pub(crate) length: u32,
    /// Bytes that the file certainly has.
    pub(crate) bytes: u32,
    /// The number of an extended attribute.
    pub(crate) attribute: u16,
    /// A hole is looked for.
    pub(crate) is_hole: bool,
}

impl Default for Chosen {
    /// The proc's own directory.
    fn default() -> Self {
        Self {
            object: PROC_DIR,
            dir: PROC_DIR,
            name: Name::new(NameKind::Small, 0),
            new_name: Name::new(NameKind::Small, 0),
            new_object: PROC_DIR,
            file: 0,
            offset: 0,
            length: 0,
            bytes: 0,
            attribute: 0,
            is_hole: false,
        }
    }
}

/// A directory whose handle an NFS driver looks up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DirRef {
    /// The run's directory.
    RunDir,
    /// One of the proc's objects.
    Object(ObjectId),
}

/// The object of an NFS action: the handles and names that its calls are made with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subject {
    /// The operation. INIT and CLEANUP make a directory by `mkdir` and remove it by
    /// `rmdir`; filling a file begins with `create`.
    pub op: NfsOp,
    /// The object.
    pub object: Option<ObjectId>,
    /// The second object, which the first is copied to.
    pub target: Option<ObjectId>,
    /// The name, and the directory that it is in.
    pub name: Option<(DirRef, Name)>,
    /// The second name in the same directory.
    pub new_name: Option<Name>,
}

impl Subject {
    const fn of(op: NfsOp) -> Self {
        Self {
            op,
            object: None,
            target: None,
            name: None,
            new_name: None,
        }
    }

    const fn object(op: NfsOp, object: ObjectId) -> Self {
        Self {
            object: Some(object),
            ..Self::of(op)
        }
    }

    const fn name(op: NfsOp, dir: ObjectId, name: Name) -> Self {
        Self {
            name: Some((DirRef::Object(dir), name)),
            ..Self::of(op)
        }
    }

    const fn in_run_dir(op: NfsOp, name: Name) -> Self {
        Self {
            name: Some((DirRef::RunDir, name)),
            ..Self::of(op)
        }
    }
}

impl Action {
    /// The action of an operation on what was chosen for it.
    pub(crate) const fn of(op: NfsOp, chosen: &Chosen) -> Self {
        let Chosen {
            object, dir, name, ..
        } = *chosen;
        let (new_name, new_object) = (chosen.new_name, chosen.new_object);
        let (file, offset, length) = (chosen.file, chosen.offset, chosen.length);
        let attribute = chosen.attribute;
        match op {
            NfsOp::Null => Self::Null,
            NfsOp::Getattr => Self::Getattr { object },
            NfsOp::Setattr => Self::Setattr { object, size: None },
            NfsOp::Lookup => Self::Lookup { dir, name, object },
            NfsOp::Access => Self::Access { object },
            NfsOp::Readlink => Self::Readlink { object },
            NfsOp::Read => Self::Read {
                object,
                file,
                offset,
                length,
            },
            NfsOp::Write => Self::Write {
                object,
                file,
                offset,
                length,
            },
            NfsOp::Create => Self::Create { dir, name, object },
            NfsOp::Mkdir => Self::Mkdir { dir, name, object },
            NfsOp::Symlink => Self::Symlink { dir, name, object },
            NfsOp::Mknod => Self::Mknod { dir, name, object },
            NfsOp::Remove => Self::Remove { dir, name },
            NfsOp::Rmdir => Self::Rmdir { dir, name },
            NfsOp::Rename => Self::Rename {
                dir,
                name,
                object,
                new_name,
                new_object,
            },
            NfsOp::Link => Self::Link {
                object,
                dir,
                new_name,
                new_object,
            },
            NfsOp::Readdir => Self::Readdir { dir, plus: false },
            NfsOp::Readdirplus => Self::Readdir { dir, plus: true },
            NfsOp::Fsstat => Self::Fsstat,
            NfsOp::Fsinfo => Self::Fsinfo,
            NfsOp::Pathconf => Self::Pathconf,
            NfsOp::Commit => Self::Commit { object },
            NfsOp::Open => Self::V4(V4Action::Open { dir, name, object }),
            NfsOp::Lock => Self::V4(V4Action::Lock { object }),
            NfsOp::Allocate => Self::V4(V4Action::Allocate {
                object,
                offset,
                length,
            }),
            NfsOp::Deallocate => Self::V4(V4Action::Deallocate {
                object,
                offset,
                length,
            }),
            NfsOp::Seek => Self::V4(V4Action::Seek {
                object,
                file,
                offset,
                bytes: chosen.bytes,
                is_hole: chosen.is_hole,
            }),
            NfsOp::ReadPlus => Self::V4(V4Action::ReadPlus {
                object,
                file,
                offset,
                length,
            }),
            NfsOp::Copy => Self::V4(V4Action::Copy {
                object,
                target: new_object,
                file,
                offset,
                length,
            }),
            NfsOp::Clone => Self::V4(V4Action::Clone {
                object,
                target: new_object,
                file,
                offset,
                length,
                bytes: chosen.bytes,
            }),
            NfsOp::Getxattr => Self::V4(V4Action::Getxattr { object, attribute }),
            NfsOp::Setxattr => Self::V4(V4Action::Setxattr { object, attribute }),
            NfsOp::Listxattrs => Self::V4(V4Action::Listxattrs { object }),
            NfsOp::Removexattr => Self::V4(V4Action::Removexattr { object, attribute }),
        }
    }

    /// The object and names, for NFS drivers; `None`: it is not an operation of NFS.
    #[inline]
    pub const fn subject(&self) -> Option<Subject> {
        Some(match *self {
            Self::Null => Subject::of(NfsOp::Null),
            Self::Getattr { object } => Subject::object(NfsOp::Getattr, object),
            Self::Setattr { object, .. } => Subject::object(NfsOp::Setattr, object),
            Self::Lookup { dir, name, .. } => Subject::name(NfsOp::Lookup, dir, name),
            Self::Access { object } => Subject::object(NfsOp::Access, object),
            Self::Readlink { object } => Subject::object(NfsOp::Readlink, object),
            Self::Read { object, .. } => Subject::object(NfsOp::Read, object),
            Self::Write { object, .. } => Subject::object(NfsOp::Write, object),
            Self::Commit { object } => Subject::object(NfsOp::Commit, object),
            Self::Create { dir, name, .. } | Self::Fill { dir, name, .. } => {
                Subject::name(NfsOp::Create, dir, name)
            }
            Self::Mkdir { dir, name, .. } => Subject::name(NfsOp::Mkdir, dir, name),
            Self::MakeProcDir { name } => Subject::in_run_dir(NfsOp::Mkdir, name),
            Self::Symlink { dir, name, .. } => Subject::name(NfsOp::Symlink, dir, name),
            Self::Mknod { dir, name, .. } => Subject::name(NfsOp::Mknod, dir, name),
            Self::Remove { dir, name } => Subject::name(NfsOp::Remove, dir, name),
            Self::Rmdir { dir, name } => Subject::name(NfsOp::Rmdir, dir, name),
            Self::RemoveProcDir { name } => Subject::in_run_dir(NfsOp::Rmdir, name),
            Self::Rename {
                dir,
                name,
                new_name,
                ..
            } => Subject {
                new_name: Some(new_name),
                ..Subject::name(NfsOp::Rename, dir, name)
            },
            Self::Link {
                object,
                dir,
                new_name,
                ..
            } => Subject {
                object: Some(object),
                ..Subject::name(NfsOp::Link, dir, new_name)
            },
            Self::Readdir { dir, plus: false } => Subject::object(NfsOp::Readdir, dir),
            Self::Readdir { dir, plus: true } => Subject::object(NfsOp::Readdirplus, dir),
            Self::Fsstat => Subject::of(NfsOp::Fsstat),
            Self::Fsinfo => Subject::of(NfsOp::Fsinfo),
            Self::Pathconf => Subject::of(NfsOp::Pathconf),
            Self::V4(V4Action::Open { dir, name, object }) => Subject {
                object: Some(object),
                ..Subject::name(NfsOp::Open, dir, name)
            },
            Self::V4(action) => Subject {
                target: action.target(),
                ..Subject::object(action.op(), action.object())
            },
            Self::File(_) | Self::Session(_) => return None,
        })
    }

    /// The task for a driver of a protocol with open files; `None`: an operation of
    /// another protocol.
    #[inline]
    pub const fn session_task(&self) -> Option<SessionTask> {
        Some(match *self {
            Self::Session(action) => SessionTask::Operation(action),
            Self::MakeProcDir { .. } => SessionTask::MakeProcDir,
            Self::RemoveProcDir { .. } => SessionTask::RemoveProcDir,
            Self::Mkdir { dir, name, object } => SessionTask::MakeDir { dir, name, object },
            Self::Rmdir { dir, name } => SessionTask::RemoveDir { dir, name },
            Self::Remove { dir, name } => SessionTask::RemoveFile { dir, name },
            Self::Fill { dir, name, .. } => SessionTask::Fill { dir, name },
            Self::Null
            | Self::Getattr { .. }
            | Self::Setattr { .. }
            | Self::Lookup { .. }
            | Self::Access { .. }
            | Self::Readlink { .. }
            | Self::Read { .. }
            | Self::Write { .. }
            | Self::Commit { .. }
            | Self::Create { .. }
            | Self::Symlink { .. }
            | Self::Mknod { .. }
            | Self::Rename { .. }
            | Self::Link { .. }
            | Self::Readdir { .. }
            | Self::Fsstat
            | Self::Fsinfo
            | Self::Pathconf
            | Self::V4(_)
            | Self::File(_) => return None,
        })
    }

    /// Whether INIT makes a directory of the file set with it, in contrast to an operation.
    pub const fn makes_dir(&self) -> bool {
        matches!(self, Self::MakeProcDir { .. })
            || matches!(self, Self::Mkdir { name, .. } if matches!(name.kind, NameKind::Dir))
    }

    /// Whether it fills an owner file: with the text of `OwnerTexts` of the driver kit, not
    /// with the contents of files.
    #[inline]
    pub const fn fills_owner(&self) -> bool {
        matches!(self, Self::Fill { name, .. } if matches!(name.kind, NameKind::Owner))
    }
}
