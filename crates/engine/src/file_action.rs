//! Requests to a driver of mounted file systems: netmist's operations on
//! the files of a proc's tree, and those that make and remove the tree.
//!
//! The engine determines file, range and kind of transfer; the driver does that
//! by the means of its platform. Files are named by where they are in the tree:
//!
//! ```text
//! filermark.SUFFIX/               the run's directory, owned by the marker in it
//!     CL0_SWBUILD/                one tree per proc (SM_SWBUILD: shared by all of a workload)
//!         d0000/ ...              its directories
//!             b00/ ... b23/       one per bucket of operations
//!                 f0000000 ...    its files (r0000000: renamed; m0000000/: made by mkdir)
//! ```

use filermark_model::Bucket;

/// A file (or name) of a proc's tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FileRef {
    /// Directory of the tree, from 0.
    pub dir: u32,
    /// Bucket in it.
    pub bucket: Bucket,
    /// What it is called there.
    pub kind: FileKind,
    /// File of the bucket, from 0.
    pub file: u32,
}

/// What a name in a bucket stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FileKind {
    /// `f`: a file under its first name.
    File,
    /// `r`: a file under the name that `rename` gives it.
    Renamed,
    /// `m`: a directory that `mkdir` makes.
    MadeDir,
    /// `c`: what `copyfile` makes where a tree has one file only.
    Copy,
}

impl FileKind {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::File, Self::Renamed, Self::MadeDir, Self::Copy];

    /// The letter that its names begin with.
    pub const fn letter(self) -> u8 {
        match self {
            Self::File => b'f',
            Self::Renamed => b'r',
            Self::MadeDir => b'm',
            Self::Copy => b'c',
        }
    }
}

/// How a transfer goes to the file system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Io {
    /// Bypass the client's cache. Where file system, offset or length do not allow
    /// it, the driver widens or falls back, and counts that.
    pub direct: bool,
    /// Through a file opened with O_SYNC.
    pub sync: bool,
    /// fsync before the operation is complete.
    pub commit: bool,
}

/// A request on a file of the proc's tree. `content` is the file's number for its
/// contents (see [`crate::data::DataSource`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields are the terms of the system calls")]
pub enum FileAction {
    /// Reads a range; sequential and random alike.
    Read {
        file: FileRef,
        content: u64,
        offset: u64,
        length: u32,
        io: Io,
    },
    /// Reads `size` bytes from the first on, in transfers whose sizes are drawn from
    /// the workload's read table by a stream that is seeded with `seed`.
    ReadFile {
        file: FileRef,
        content: u64,
        size: u64,
        seed: u64,
        io: Io,
    },
    /// Maps a range, reads every page of it, unmaps.
    MmapRead {
        file: FileRef,
        content: u64,
        offset: u64,
        length: u32,
    },
    /// Writes a range; sequential, random and appended alike.
    Write {
        file: FileRef,
        content: u64,
        offset: u64,
        length: u32,
        io: Io,
    },
    /// Writes `size` bytes from the first on; sizes drawn as with `ReadFile`, from the write table.
    WriteFile {
        file: FileRef,
        content: u64,
        size: u64,
        seed: u64,
        io: Io,
    },
    /// Maps a range, writes all of it, unmaps; with `commit` after msync.
    MmapWrite {
        file: FileRef,
        content: u64,
        offset: u64,
        length: u32,
        commit: bool,
    },
    /// Reads a range, then writes it.
    Rmw {
        file: FileRef,
        content: u64,
        offset: u64,
        length: u32,
        io: Io,
    },
    /// Locks a byte range, blocking until it is free, and unlocks it.
    Lock {
        file: FileRef,
        offset: u64,
        length: u64,
        exclusive: bool,
    },
    Access {
        file: FileRef,
    },
    Stat {
        file: FileRef,
    },
    Chmod {
        file: FileRef,
        mode: u32,
    },
    /// Lists the whole directory of a bucket: opens, reads to the end, closes.
    Readdir {
        dir: u32,
        bucket: Bucket,
    },
    Statfs {
        file: FileRef,
    },
    Pathconf {
        file: FileRef,
    },
    /// Copies `size` bytes of one file over another one, in transfers drawn as with `ReadFile`.
    Copy {
        from: FileRef,
        to: FileRef,
        size: u64,
        seed: u64,
    },
    Rename {
        from: FileRef,
        to: FileRef,
    },
    Mkdir {
        file: FileRef,
    },
    Rmdir {
        file: FileRef,
    },
    /// Makes a new empty file: there is none of that name.
    Create {
        file: FileRef,
    },
    Unlink {
        file: FileRef,
    },
    /// The user's own program: custom1 is 0, custom2 is 1.
    Custom {
        which: u8,
        file: FileRef,
    },

    /// INIT: the top directory of the proc's tree; it may exist.
    MakeTree,
    /// INIT: a directory of the tree and its 24 bucket directories; they may exist.
    MakeDirs {
        dir: u32,
    },
    /// INIT: makes a file and fills it. With `reuse`, an existing file of the right size stays.
    Fill {
        file: FileRef,
        content: u64,
        size: u64,
        reuse: bool,
    },
    /// Preparation: cuts a file to a size.
    Truncate {
        file: FileRef,
        size: u64,
    },
    /// CLEANUP: empties the bucket directories of a directory, and removes them and it.
    /// Only names of the patterns above; others are left.
    RemoveDirs {
        dir: u32,
    },
    /// CLEANUP: the top directory; not an error when others still use it.
    RemoveTree,
}

/// Digits of a directory's number in its name.
pub const DIR_DIGITS: usize = 4;
/// Digits of a file's number in its name.
pub const FILE_DIGITS: usize = 7;
/// Most directories per proc.
pub const DIR_COUNT_MAX: u32 = 9_999;
/// Most files per directory and bucket.
pub const FILES_PER_DIR_MAX: u32 = 9_999_999;

/// The name of a proc's tree: its own (`CL3_VDA1`), or the shared one (`SM_VDA1`);
/// manual N, section 4.
pub fn tree_name(proc: u32, workload: &str, shared: bool) -> String {
    match shared {
        true => format!("SM_{workload}"),
        false => format!("CL{proc}_{workload}"),
    }
}

/// Whether a name below the run's directory is a tree's.
pub fn is_tree_name(name: &str) -> bool {
    let workload = match name.strip_prefix("SM_") {
        Some(workload) => workload,
        None => match name.strip_prefix("CL").and_then(|n| n.split_once('_')) {
            Some((number, workload))
                if !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()) =>
            {
                workload
            }
            _ => return false,
        },
    };
    !workload.is_empty()
        && workload
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'_')
}
