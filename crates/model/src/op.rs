//! The logical operations that a mix may name.
//!
//! A logical operation is what the mix counts and the result credits; a driver
//! turns it into one or more physical operations of its protocol. The names are
//! those of the classical mix files (manual M, section 3.3.1, MIXFILE) and of the
//! netmist workloads (manual N, section 1). Where both know a name (read, write,
//! create, access ...) it is one operation; how it is done is its driver's affair.

use serde::{Deserialize, Serialize};
use std::fmt;

macro_rules! ops {
    ($($variant:ident = $name:literal, $doc:literal;)*) => {
        /// A logical operation.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[repr(u8)]
        pub enum Op { $(#[doc = $doc] #[serde(rename = $name)] $variant,)* }

        impl Op {
            /// All of them, in the order of the tables.
            pub const ALL: &'static [Op] = &[$(Op::$variant),*];

            /// The name in mix files and records.
            pub const fn name(self) -> &'static str {
                match self { $(Op::$variant => $name,)* }
            }
        }
    };
}

ops! {
    Null = "null", "Nothing at all: the cost of a round trip.";
    Getattr = "getattr", "Read the attributes of an object.";
    Setattr = "setattr", "Change the attributes of an object.";
    Lookup = "lookup", "Find a name in a directory.";
    Access = "access", "Ask which accesses are granted.";
    Readlink = "readlink", "Read a symbolic link.";
    Read = "read", "Read a range of a file.";
    Write = "write", "Write a range of a file, stable when it returns.";
    Create = "create", "Create a file.";
    Mkdir = "mkdir", "Create a directory.";
    Symlink = "symlink", "Create a symbolic link.";
    Mknod = "mknod", "Create a special file (a FIFO).";
    Remove = "remove", "Remove a file.";
    Rmdir = "rmdir", "Remove a directory.";
    Rename = "rename", "Rename a file.";
    Link = "link", "Give a file a second name.";
    Readdir = "readdir", "List a directory, names only.";
    Readdirplus = "readdirplus", "List a directory with attributes.";
    Fsstat = "fsstat", "Read the dynamic figures of the file system.";
    Fsinfo = "fsinfo", "Read the static figures of the file system.";
    Pathconf = "pathconf", "Read the POSIX limits of the file system.";
    Commit = "commit", "Make earlier writes stable.";
    ReadFile = "read_file", "Read a whole file, from its first byte to its last.";
    MmapRead = "mmap_read", "Read a range of a file through a memory mapping.";
    ReadRandom = "read_random", "Read a range at a random place of a file.";
    WriteFile = "write_file", "Write a whole file over, from its first byte to its last.";
    MmapWrite = "mmap_write", "Write a range of a file through a memory mapping.";
    WriteRandom = "write_random", "Write a range at a random place of a file.";
    Rmw = "rmw", "Read a range at a random place of a file, change it and write it back.";
    Unlink = "unlink", "Remove an empty file.";
    Unlink2 = "unlink2", "Remove a file that holds data.";
    Append = "append", "Write at the end of a file.";
    Locking = "locking", "Lock a range of a file, then unlock it.";
    Stat = "stat", "Read the attributes of a file by its name.";
    Chmod = "chmod", "Change the permissions of a file.";
    Statfs = "statfs", "Read the figures of the file system.";
    Copyfile = "copyfile", "Copy a whole file.";
    Custom1 = "custom1", "Whatever the first program of the user's own does.";
    Custom2 = "custom2", "Whatever the second program of the user's own does.";
    Echo = "echo", "Ask the server for an echo: the cost of a round trip in a session.";
    Lock = "lock", "Lock a range of an open file, or unlock it.";
    QuerySecurity = "query_security", "Read the security descriptor of an open file.";
    QueryFs = "query_fs", "Read the figures of the file system.";
    QueryFile = "query_file", "Read the attributes of an open file.";
    QueryPath = "query_path", "Read the attributes of a file by its path.";
    SetFile = "set_file", "Change the attributes, the size or the fate of an open file.";
    Find = "find", "List a directory by a pattern.";
    Open = "open", "Open a file or a directory, or make one.";
    Close = "close", "Close what is open.";
    Flush = "flush", "Make what was written to an open file stable.";
}

impl Op {
    /// How many there are.
    pub const COUNT: usize = Self::ALL.len();

    /// Those that NFS version 3 has; the names of the classical mix files.
    pub const NFS3: &'static [Op] = &[
        Op::Null,
        Op::Getattr,
        Op::Setattr,
        Op::Lookup,
        Op::Access,
        Op::Readlink,
        Op::Read,
        Op::Write,
        Op::Create,
        Op::Mkdir,
        Op::Symlink,
        Op::Mknod,
        Op::Remove,
        Op::Rmdir,
        Op::Rename,
        Op::Link,
        Op::Readdir,
        Op::Readdirplus,
        Op::Fsstat,
        Op::Fsinfo,
        Op::Pathconf,
        Op::Commit,
    ];

    /// Those that NFS version 2 has, but for ROOT and WRITECACHE, which RFC 1094 calls
    /// obsolete and unused; `fsstat` is its STATFS.
    pub const NFS2: &'static [Op] = &[
        Op::Null,
        Op::Getattr,
        Op::Setattr,
        Op::Lookup,
        Op::Readlink,
        Op::Read,
        Op::Write,
        Op::Create,
        Op::Mkdir,
        Op::Symlink,
        Op::Remove,
        Op::Rmdir,
        Op::Rename,
        Op::Link,
        Op::Readdir,
        Op::Fsstat,
    ];

    /// Those of mounted file systems, in the order of the netmist tables (manual N,
    /// appendix; `rmdir` and `unlink2` are of the 2014 generation, sources.md 3.8).
    pub const POSIX: &'static [Op] = &[
        Op::Read,
        Op::ReadFile,
        Op::MmapRead,
        Op::ReadRandom,
        Op::Write,
        Op::WriteFile,
        Op::MmapWrite,
        Op::WriteRandom,
        Op::Rmw,
        Op::Mkdir,
        Op::Rmdir,
        Op::Create,
        Op::Unlink,
        Op::Unlink2,
        Op::Append,
        Op::Locking,
        Op::Access,
        Op::Stat,
        Op::Chmod,
        Op::Readdir,
        Op::Copyfile,
        Op::Rename,
        Op::Statfs,
        Op::Pathconf,
        Op::Custom1,
        Op::Custom2,
    ];

    /// Those of SMB, in the order of the classical CIFS table (manual M, section 2.2.2).
    pub const SMB: &'static [Op] = &[
        Op::Echo,
        Op::Lock,
        Op::QuerySecurity,
        Op::Read,
        Op::QueryFs,
        Op::QueryFile,
        Op::QueryPath,
        Op::SetFile,
        Op::Find,
        Op::Write,
        Op::Open,
        Op::Close,
        Op::Flush,
    ];

    /// The position in [`Op::ALL`], for tables indexed by operation.
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Looks a name up as mix files spell it (lower case).
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|op| op.name() == name)
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A set of operations, e.g. those that a driver can do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpSet(u128);

const _: () = assert!(Op::COUNT <= u128::BITS as usize, "a bit per operation");

impl OpSet {
    /// No operation.
    pub const EMPTY: Self = Self(0);
    /// Every operation.
    pub const ALL: Self = Self::of(Op::ALL);
    /// Those of NFS version 3.
    pub const NFS3: Self = Self::of(Op::NFS3);
    /// Those of NFS version 2.
    pub const NFS2: Self = Self::of(Op::NFS2);
    /// Those of mounted file systems.
    pub const POSIX: Self = Self::of(Op::POSIX);
    /// Those of SMB.
    pub const SMB: Self = Self::of(Op::SMB);

    const fn of(ops: &[Op]) -> Self {
        let mut set = Self::EMPTY;
        let mut at = 0;
        while at < ops.len() {
            set = set.with(ops[at]);
            at += 1;
        }
        set
    }

    /// The same set with `op` in it.
    pub const fn with(self, op: Op) -> Self {
        Self(self.0 | Self::bit(op.index()))
    }
    /// Whether `op` is in it.
    pub const fn contains(self, op: Op) -> bool {
        self.0 & Self::bit(op.index()) != 0
    }

    const fn bit(index: usize) -> u128 {
        1 << index
    }
}

impl FromIterator<Op> for OpSet {
    fn from_iter<I: IntoIterator<Item = Op>>(ops: I) -> Self {
        ops.into_iter().fold(Self::EMPTY, Self::with)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_round_trip() {
        for op in Op::ALL {
            assert_eq!(Op::from_name(op.name()), Some(*op));
            assert_eq!(Op::ALL[op.index()], *op);
        }
        assert_eq!(Op::from_name("READ"), None);
    }

    #[test]
    fn sets_hold_what_was_put_in() {
        let set: OpSet = [Op::Read, Op::Commit].into_iter().collect();
        assert!(set.contains(Op::Read) && set.contains(Op::Commit));
        assert!(!set.contains(Op::Write));
        assert!(Op::ALL.iter().all(|op| OpSet::ALL.contains(*op)));
    }

    #[test]
    fn sets_have_a_bit_for_operations_beyond_the_64th() {
        assert_eq!(OpSet::bit(100), 1 << 100);
        assert_ne!(OpSet::bit(64), OpSet::bit(0));
    }

    #[test]
    fn nfs3_has_the_operations_of_the_classical_mix_files_in_their_order() {
        assert_eq!(Op::NFS3.len(), 22);
        assert!(Op::NFS3.iter().enumerate().all(|(at, op)| op.index() == at));
    }
}
