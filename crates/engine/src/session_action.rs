//! Actions of a driver of a protocol with open files (SMB).
//!
//! A file or directory is named by the directory that it is in, which the driver keeps
//! as an object, and its name there. The result of an open is kept under a number of
//! the proc's own ([`HandleId`]): one per walker of the proc's sequence of operations,
//! so that a number is taken again only after its file was closed.

use crate::action::ObjectId;
use crate::name::Name;

/// The number of an open file or directory, per proc, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct HandleId(pub u32);

/// A file or directory below a proc's directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ProcPath {
    /// The directory that it is in.
    pub dir: ObjectId,
    /// Its name there; `None`: the directory itself.
    pub name: Option<Name>,
}

/// The purpose of an open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OpenFor {
    /// Attributes and the security descriptor; a file or a directory.
    Attributes,
    /// Reading.
    Read,
    /// Reading and writing.
    Update,
    /// Writing, after truncation to zero bytes.
    Replace,
    /// A new file that is deleted when it is closed.
    Temporary,
}

/// What is set on an open file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AttributeChange {
    /// Times and attributes.
    Times,
    /// Its size, in bytes.
    Size(u64),
    /// Delete on close.
    Delete,
}

/// A request on an open file, or on a path. `file` is the file's number for its
/// contents (see [`crate::data::DataSource`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields are the terms of the protocol")]
pub enum SessionAction {
    Echo,
    Open {
        place: ProcPath,
        handle: HandleId,
        how: OpenFor,
    },
    Close {
        handle: HandleId,
    },
    /// Reads a range of what has been written.
    Read {
        handle: HandleId,
        file: u64,
        offset: u64,
        length: u32,
    },
    Write {
        handle: HandleId,
        file: u64,
        offset: u64,
        length: u32,
    },
    Flush {
        handle: HandleId,
    },
    /// Locks a range exclusively, without waiting; or unlocks it.
    Lock {
        handle: HandleId,
        offset: u64,
        length: u64,
        unlock: bool,
    },
    QueryFile {
        handle: HandleId,
    },
    QuerySecurity {
        handle: HandleId,
    },
    SetFile {
        handle: HandleId,
        setting: AttributeChange,
    },
    QueryPath {
        place: ProcPath,
    },
    QueryFs,
    /// The first part of a listing, with a pattern that matches all names.
    Find {
        dir: ObjectId,
    },
    /// Preparation: truncates a file that is not open to a size, in bytes.
    Truncate {
        place: ProcPath,
        size: u64,
    },
}

/// The task of a driver of a protocol with open files: an operation, or a task of INIT
/// or CLEANUP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields are those of the actions")]
pub enum SessionTask {
    /// An operation.
    Operation(SessionAction),
    /// Makes the proc's own directory; it may exist.
    MakeProcDir,
    /// Removes it.
    RemoveProcDir,
    /// Makes a directory, which is kept under `object`; it may exist.
    MakeDir {
        dir: ObjectId,
        name: Name,
        object: ObjectId,
    },
    /// Removes a directory.
    RemoveDir { dir: ObjectId, name: Name },
    /// Removes a file.
    RemoveFile { dir: ObjectId, name: Name },
    /// Makes a file, or truncates an existing one, and fills it.
    Fill { dir: ObjectId, name: Name },
}
