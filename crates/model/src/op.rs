//! The logical operations that a mix may name.
//!
//! A logical operation is what the mix counts and the result credits; a driver
//! turns it into one or more physical operations of its protocol. The names are
//! those of the classical mix files (seed 001, section 3.3.1, MIXFILE).

use serde::{Deserialize, Serialize};
use std::fmt;

/// What kind of object an operation works on; the engine picks one of that kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// Nothing but the connection (NULL).
    Nothing,
    /// The file system as a whole (its root).
    FileSystem,
    /// Any object that exists.
    AnyObject,
    /// A name that exists, in its directory.
    ExistingName,
    /// A file of the accessed part of the file set, to read from.
    ReadFile,
    /// A file of the accessed part of the file set, to write to.
    WriteFile,
    /// A directory that has entries.
    Directory,
    /// A symbolic link that exists.
    Symlink,
    /// A name for a file that does not exist yet.
    NewFile,
    /// A name for a directory that does not exist yet.
    NewDirectory,
    /// A name for a symbolic link that does not exist yet.
    NewSymlink,
    /// A name for a special file that does not exist yet.
    NewNode,
    /// A file outside of the I/O set that exists, to be removed.
    DoomedFile,
    /// An empty directory that exists, to be removed.
    DoomedDirectory,
    /// A file that exists and a free name beside it.
    FileAndNewName,
}

macro_rules! ops {
    ($($variant:ident = $name:literal, $needs:ident, $doc:literal;)*) => {
        /// A logical operation.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "lowercase")]
        #[repr(u8)]
        pub enum Op { $(#[doc = $doc] $variant,)* }

        impl Op {
            /// All of them, in the order of the tables.
            pub const ALL: &'static [Op] = &[$(Op::$variant),*];

            /// The name in mix files and records.
            pub const fn name(self) -> &'static str {
                match self { $(Op::$variant => $name,)* }
            }

            /// What the engine must supply for it.
            pub const fn needs(self) -> Needs {
                match self { $(Op::$variant => Needs::$needs,)* }
            }
        }
    };
}

ops! {
    Null = "null", Nothing, "Nothing at all: the cost of a round trip.";
    Getattr = "getattr", AnyObject, "Read the attributes of an object.";
    Setattr = "setattr", AnyObject, "Change the attributes of an object.";
    Lookup = "lookup", ExistingName, "Find a name in a directory.";
    Access = "access", AnyObject, "Ask which accesses are granted.";
    Readlink = "readlink", Symlink, "Read a symbolic link.";
    Read = "read", ReadFile, "Read a range of a file.";
    Write = "write", WriteFile, "Write a range of a file, stable when it returns.";
    Create = "create", NewFile, "Create a file.";
    Mkdir = "mkdir", NewDirectory, "Create a directory.";
    Symlink = "symlink", NewSymlink, "Create a symbolic link.";
    Mknod = "mknod", NewNode, "Create a special file (a FIFO).";
    Remove = "remove", DoomedFile, "Remove a file.";
    Rmdir = "rmdir", DoomedDirectory, "Remove a directory.";
    Rename = "rename", FileAndNewName, "Rename a file.";
    Link = "link", FileAndNewName, "Give a file a second name.";
    Readdir = "readdir", Directory, "List a directory, names only.";
    Readdirplus = "readdirplus", Directory, "List a directory with attributes.";
    Fsstat = "fsstat", FileSystem, "Read the dynamic figures of the file system.";
    Fsinfo = "fsinfo", FileSystem, "Read the static figures of the file system.";
    Pathconf = "pathconf", FileSystem, "Read the POSIX limits of the file system.";
    Commit = "commit", WriteFile, "Make earlier writes stable.";
}

impl Op {
    /// How many there are.
    pub const COUNT: usize = Self::ALL.len();

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
pub struct OpSet(u64);

impl OpSet {
    /// No operation.
    pub const EMPTY: Self = Self(0);
    /// Every operation.
    pub const ALL: Self = Self((1 << Op::COUNT) - 1);

    /// The same set with `op` in it.
    pub const fn with(self, op: Op) -> Self {
        Self(self.0 | 1 << op as u8)
    }
    /// Whether `op` is in it.
    pub const fn contains(self, op: Op) -> bool {
        self.0 & (1 << op as u8) != 0
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
}
