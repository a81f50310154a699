//! Types in the interface of the file system: identities, attributes, errors.
//!
//! The terms follow RFC 1813; the wire format is in `protocol`.

use thiserror::Error;

/// Why an operation was refused. Each maps onto one `nfsstat3` of RFC 1813, section 2.6.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Error)]
#[allow(missing_docs)] // the message is the documentation
pub enum FsError {
    #[error("not the owner")]
    Perm,
    #[error("no such file or directory")]
    NoEnt,
    #[error("permission denied")]
    Acces,
    #[error("file exists")]
    Exist,
    #[error("not a directory")]
    NotDir,
    #[error("is a directory")]
    IsDir,
    #[error("invalid argument")]
    Inval,
    #[error("file too large")]
    FBig,
    #[error("no space left")]
    NoSpc,
    #[error("read-only file system")]
    RoFs,
    #[error("too many hard links")]
    MLink,
    #[error("name too long")]
    NameTooLong,
    #[error("directory not empty")]
    NotEmpty,
    #[error("stale file handle")]
    Stale,
    #[error("guard ctime does not match")]
    NotSync,
    #[error("cookie is not valid")]
    BadCookie,
    #[error("type not supported")]
    BadType,
    #[error("offset beyond the end of the file")]
    BeyondEnd,
    #[error("no such extended attribute")]
    NoXattr,
}

/// Names one life of one inode. The number is the `fileid`; a number that is used
/// again gets another generation, so that old handles are found to be stale.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileId {
    /// Inode number, from 1 (the root).
    pub number: u64,
    /// Which life of that number.
    pub generation: u64,
}

/// The type of a file-system object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum FileKind {
    Regular,
    Directory,
    BlockDevice,
    CharDevice,
    Symlink,
    Socket,
    Fifo,
}

/// All attributes of an object (RFC 1813 `fattr3`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attr {
    /// What it is.
    pub kind: FileKind,
    /// Permission bits, including set-id and sticky.
    pub mode: u32,
    /// Number of names.
    pub nlink: u32,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Size in bytes.
    pub size: u64,
    /// Bytes charged against the capacity.
    pub used: u64,
    /// Major and minor number of a device, else zeros.
    pub rdev: (u32, u32),
    /// Inode number.
    pub fileid: u64,
    /// Last access, ns since 1970.
    pub atime_ns: u64,
    /// Last change of the content, ns since 1970.
    pub mtime_ns: u64,
    /// Last change of content or attributes, ns since 1970; never goes back.
    pub ctime_ns: u64,
}

/// The attributes before a change (RFC 1813 `wcc_attr`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PreAttr {
    /// Size in bytes.
    pub size: u64,
    /// Last change of the content, ns since 1970.
    pub mtime_ns: u64,
    /// Last change of content or attributes, ns since 1970.
    pub ctime_ns: u64,
}

/// Attributes on both sides of a change, taken under one lock (`wcc_data`).
/// Both are `None` where the handle was stale.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Wcc {
    /// Before.
    pub before: Option<PreAttr>,
    /// After.
    pub after: Option<Attr>,
}

/// What a changing operation leaves: the attributes, also where it failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed<T> {
    /// Of the file, or of the directory that holds the name.
    pub wcc: Wcc,
    /// The outcome.
    pub result: Result<T, FsError>,
}

/// How to set a time (RFC 1813 `set_atime`, `set_mtime`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SetTime {
    /// Leave it.
    #[default]
    Keep,
    /// The server's clock.
    Now,
    /// The client's, ns since 1970.
    To(u64),
}

/// The attributes to set (RFC 1813 `sattr3`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SetAttr {
    /// Permission bits.
    pub mode: Option<u32>,
    /// Owner.
    pub uid: Option<u32>,
    /// Group.
    pub gid: Option<u32>,
    /// Size in bytes: cuts or extends with a hole.
    pub size: Option<u64>,
    /// Access time.
    pub atime: SetTime,
    /// Modification time.
    pub mtime: SetTime,
}

/// How CREATE treats an existing name (RFC 1813 `createhow3`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CreateHow {
    /// Take an existing file; only a size in the attributes is applied to it.
    Unchecked(SetAttr),
    /// An existing name is an error.
    Guarded(SetAttr),
    /// As guarded, but the same verifier again finds the file it made before. The attributes are those of
    /// a file that is made.
    Exclusive(u64, SetAttr),
}

/// What SEEK looks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum SeekFor {
    Data,
    Hole,
}

/// What MKNOD can make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum SpecialKind {
    BlockDevice(u32, u32),
    CharDevice(u32, u32),
    Socket,
    Fifo,
}

/// A new or found object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ObjectAttr {
    /// Its handle.
    pub id: FileId,
    /// Its attributes.
    pub attr: Attr,
}

/// What READ says besides the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadEnd {
    /// Bytes delivered.
    pub count: u32,
    /// The read touched or passed the end of the file.
    pub eof: bool,
}

/// One name in a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirEntry {
    /// The name.
    pub name: std::sync::Arc<[u8]>,
    /// Continue after this entry with this cookie.
    pub cookie: u64,
    /// The object.
    pub id: FileId,
    /// Its attributes, if they were requested.
    pub attr: Option<Attr>,
}

/// A part of a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    /// Entries in the order of their cookies.
    pub entries: Vec<DirEntry>,
    /// Nothing follows.
    pub eof: bool,
    /// To be sent along with the next cookie.
    pub verifier: u64,
}

/// What a caller may do with an object; already includes the rules for root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Rights {
    pub read: bool,
    pub write: bool,
    pub execute: bool,
    pub directory: bool,
}

/// The figures of FSSTAT.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FsStat {
    /// Capacity in bytes.
    pub total_bytes: u64,
    /// Free bytes.
    pub free_bytes: u64,
    /// Most inodes.
    pub total_files: u64,
    /// Inodes left.
    pub free_files: u64,
}

/// The caller: the identity of AUTH_SYS after mapping.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cred<'a> {
    /// User; 0 bypasses the permission checks.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Further groups.
    pub groups: &'a [u32],
}

impl Cred<'static> {
    /// The superuser.
    pub const ROOT: Cred<'static> = Cred {
        uid: 0,
        gid: 0,
        groups: &[],
    };
    /// The identity of callers with AUTH_NONE.
    pub const ANONYMOUS: Cred<'static> = Cred {
        uid: 65534,
        gid: 65534,
        groups: &[],
    };
}

impl Cred<'_> {
    /// Whether the caller bypasses permission checks.
    pub fn is_root(&self) -> bool {
        self.uid == 0
    }

    /// Whether the caller belongs to the group.
    pub fn in_group(&self, gid: u32) -> bool {
        self.gid == gid || self.groups.contains(&gid)
    }
}
