//! What a client asks of a server, in terms that SMB1 and SMB2 share; the codecs
//! ([`Codec`](crate::codec::Codec)) turn it into messages.

use crate::smb2::query::BasicInfo;
use crate::smb2::{FileId, LockRange, OplockLevel, RequestedOplock};
use std::fmt::Debug;

/// How a path is opened. The numbers are the same in both protocols (MS-SMB2 2.2.13,
/// MS-CIFS 2.2.4.64). Where SMB1 has a command for a path, it uses the path alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Open<'a> {
    /// From the share's root, with backslashes and none in front; empty: the root.
    pub path: &'a str,
    /// See [`access`](crate::smb2::file::access).
    pub access: u32,
    /// See [`attributes`](crate::smb2::file::attributes); for new files.
    pub attributes: u32,
    /// See [`share`](crate::smb2::file::share).
    pub share: u32,
    /// See [`disposition`](crate::smb2::file::disposition).
    pub disposition: u32,
    /// See [`options`](crate::smb2::file::options).
    pub options: u32,
    /// What the client may keep; SMB1 has no leases and asks for nothing instead.
    pub oplock: RequestedOplock,
}

/// What a query is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target<'a> {
    /// An open file.
    File(FileId),
    /// A path; SMB2 opens and closes it in the same frame.
    Path(Open<'a>),
}

/// Facts about a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileInfo {
    /// Times and attributes.
    Basic,
    /// Sizes and links.
    Standard,
    /// All of them.
    All,
}

/// Facts about a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FsInfo {
    /// Its size, and what is free for this user and for all users, where the server
    /// distinguishes them.
    Space,
    /// Its size and free space, by the level that every server of SMB1 has.
    PlainSpace,
}

/// What is set of an open file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change<'a> {
    /// Times and attributes; 0 leaves one as it is.
    Basic(BasicInfo),
    /// Its size in bytes.
    EndOfFile(u64),
    /// Whether it is removed when it is closed.
    Delete(bool),
    /// A new name in the same directory.
    Rename {
        /// The directory, from the share's root.
        dir: &'a str,
        /// The name in it.
        name: &'a str,
        /// A file of that name is replaced.
        replace: bool,
    },
}

/// The data of a WRITE. It is appended to the message in place, without a copy between.
pub trait Data: Debug {
    /// How many bytes it has.
    fn length(&self) -> u32;
    /// Appends them.
    fn append(&self, out: &mut Vec<u8>);
}

impl Data for &[u8] {
    fn length(&self) -> u32 {
        self.len() as u32
    }

    fn append(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self);
    }
}

/// Where a part of a listing begins: behind this entry. SMB2 servers remember it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct After<'a> {
    /// Name of the last entry that came.
    pub name: &'a str,
    /// Its index.
    pub index: u32,
}

/// A request. With SMB1 it is one message; with SMB2 it is one frame, in which an
/// operation on a path is a compound of several messages.
#[derive(Clone, Copy, Debug)]
pub enum Request<'a> {
    /// Asks for nothing but an answer.
    Echo,
    /// Opens or makes a file or a directory.
    Open(Open<'a>),
    /// Closes a file.
    Close {
        /// Which.
        file: FileId,
        /// Whether its facts are requested; SMB1 returns none.
        facts: bool,
    },
    /// Reads.
    Read {
        /// The open file.
        file: FileId,
        /// From where.
        offset: u64,
        /// How many bytes at most.
        length: u32,
    },
    /// Writes.
    Write {
        /// The open file.
        file: FileId,
        /// To where.
        offset: u64,
        /// What.
        data: &'a dyn Data,
    },
    /// Brings a file to stable storage.
    Flush {
        /// The open file.
        file: FileId,
    },
    /// Locks ranges, or unlocks them: all of one kind.
    Lock {
        /// The open file.
        file: FileId,
        /// One at least.
        ranges: &'a [LockRange],
    },
    /// Facts about a file.
    Query {
        /// Which.
        target: Target<'a>,
        /// Kinds of facts: at most [`Codec::INFOS_MAX`](crate::codec::Codec::INFOS_MAX).
        infos: &'a [FileInfo],
        /// Longest answer, in bytes.
        most: u32,
    },
    /// Facts about a file system.
    QueryFs {
        /// Something in it; SMB1 asks for the share's.
        target: Target<'a>,
        /// Kind of facts.
        info: FsInfo,
        /// Longest answer, in bytes.
        most: u32,
    },
    /// Parts of a security descriptor.
    QuerySecurity {
        /// The open file.
        file: FileId,
        /// See [`part`](crate::smb2::security::part).
        parts: u32,
        /// Longest answer, in bytes.
        most: u32,
    },
    /// Sets something of an open file.
    Set {
        /// Which.
        file: FileId,
        /// What.
        change: Change<'a>,
    },
    /// The attributes and the size of what has a path, itself and not what it leads to.
    Look {
        /// The path, opened for its attributes.
        open: Open<'a>,
        /// Longest answer, in bytes (SMB1).
        most: u32,
    },
    /// The first part of a listing, which ends with it.
    List {
        /// The directory, opened for reading.
        open: Open<'a>,
        /// Entries at most (SMB1).
        count: u16,
        /// Longest answer, in bytes.
        most: u32,
    },
    /// Begins a listing. SMB1 answers with its first entries.
    ListBegin {
        /// The directory, opened for reading.
        open: Open<'a>,
        /// Which names (SMB1).
        pattern: &'a str,
        /// Entries at most (SMB1).
        count: u16,
        /// Longest answer, in bytes (SMB1).
        most: u32,
    },
    /// The next part of a listing.
    ListNext {
        /// The open directory, or the search (SMB1).
        list: FileId,
        /// Which names (SMB2).
        pattern: &'a str,
        /// Where it goes on (SMB1).
        after: After<'a>,
        /// Entries at most (SMB1).
        count: u16,
        /// Longest answer, in bytes.
        most: u32,
    },
    /// Ends a listing.
    ListEnd {
        /// The open directory, or the search (SMB1).
        list: FileId,
    },
    /// Makes a directory.
    MakeDir(Open<'a>),
    /// Removes a file. SMB2: by `DELETE_ON_CLOSE` where the open has it, else by SET_INFO,
    /// which a server can refuse.
    RemoveFile(Open<'a>),
    /// Removes an empty directory; as above.
    RemoveDir(Open<'a>),
    /// Waits for a change in an open directory.
    Watch {
        /// Which.
        dir: FileId,
        /// See [`filter`](crate::smb2::notify::filter).
        filter: u32,
        /// Directories below as well.
        tree: bool,
        /// Longest answer, in bytes.
        most: u32,
    },
    /// Gives an oplock back that was broken. SMB1 servers do not answer it.
    Acknowledge {
        /// The open file.
        file: FileId,
        /// What is left of it.
        level: OplockLevel,
    },
    /// Leaves the share.
    TreeDisconnect,
    /// Ends the session.
    Logoff,
}
