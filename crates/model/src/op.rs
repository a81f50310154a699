//! The logical operations that a mix may name.
//!
//! A logical operation is what the mix counts and the result credits; a driver
//! turns it into one or more physical operations of its protocol. The names are
//! those of the classical mix files (manual M, section 3.3.1, MIXFILE) and of the
//! netmist workloads (manual N, section 1). Where both have a name (read, write,
//! create, access ...) it is one operation, which each driver carries out in its way.
//!
//! All that is known of an operation is in its row of [`Op`]'s table.

use serde::{Deserialize, Serialize};
use std::fmt;

/// `-`: the protocol does not have the operation.
macro_rules! number {
    (-) => {
        None
    };
    (($number:literal $($more:tt)*)) => {
        Some($number)
    };
    // NFS: version 3 does not have it.
    (($since:ident $($more:tt)*)) => {
        None
    };
    ($number:literal) => {
        Some($number)
    };
}

/// The number of an operation of NFS version 4 that version 3 does not have.
macro_rules! number4 {
    (($since:ident $number:literal $target:ident)) => {
        Some($number)
    };
    ($other:tt) => {
        None
    };
}

/// Whether an operation of NFS version 4 is one of minor version 2 alone.
macro_rules! needs_minor2 {
    ((v42 $number:literal $target:ident)) => {
        true
    };
    ($other:tt) => {
        false
    };
}

macro_rules! target {
    (-) => {
        None
    };
    (($number:literal $target:ident)) => {
        Some(OpTarget::$target)
    };
    (($since:ident $number:literal $target:ident)) => {
        Some(OpTarget::$target)
    };
}

macro_rules! commands {
    (-) => {
        None
    };
    (($place:literal $smb1:literal $smb2:literal)) => {
        Some([$smb1, $smb2])
    };
}

/// A type of the operations that one protocol has, for matches that name each of them and
/// no other.
macro_rules! part {
    ($(#[$meta:meta])* $name:ident $from:ident [$($variant:ident)*] ($skipped:ident -) $($rows:tt)*) => {
        part! { $(#[$meta])* $name $from [$($variant)*] $($rows)* }
    };
    ($(#[$meta:meta])* $name:ident $from:ident [$($variant:ident)*] ($next:ident $number:tt) $($rows:tt)*) => {
        part! { $(#[$meta])* $name $from [$($variant)* $next] $($rows)* }
    };
    ($(#[$meta:meta])* $name:ident $from:ident [$($variant:ident)*]) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name { $(#[doc = concat!("[`Op::", stringify!($variant), "`].")] $variant,)* }

        impl $name {
            /// All of them, in the order of [`Op::ALL`].
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// The operation.
            #[inline]
            pub const fn op(self) -> Op {
                match self { $(Self::$variant => Op::$variant,)* }
            }
        }

        impl Op {
            /// The same operation as one of this protocol; `None`: it has no such operation.
            #[inline]
            pub const fn $from(self) -> Option<$name> {
                match self {
                    $(Self::$variant => Some($name::$variant),)*
                    _ => None,
                }
            }
        }
    };
}

macro_rules! ops {
    ($(
        $variant:ident $name:literal $group:ident $nfs2:tt $nfs3:tt $posix:tt $smb:tt $doc:literal;
    )*) => {
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

            /// The operations that it resembles, for reports.
            pub const fn group(self) -> OpGroup {
                match self { $(Op::$variant => OpGroup::$group,)* }
            }

            /// The number of its procedure in NFS version 2 (RFC 1094, section 2.2).
            pub const fn nfs2_number(self) -> Option<u8> {
                NFS2_NUMBERS[self.index()]
            }

            /// The number of its procedure in NFS version 3 (RFC 1813, section 3.3).
            pub const fn nfs3_number(self) -> Option<u8> {
                NFS3_NUMBERS[self.index()]
            }

            /// The number of its operation in NFS version 4 (RFC 8881 section 18, RFC 7862 section 15,
            /// RFC 8276 section 8.4), if it is one that version 3 does not have.
            pub const fn nfs4_number(self) -> Option<u8> {
                NFS4_NUMBERS[self.index()]
            }

            /// Whether only minor version 2 of NFS version 4 has it.
            pub const fn needs_nfs42(self) -> bool {
                match self { $(Op::$variant => needs_minor2!($nfs3),)* }
            }

            /// The commands of SMB1 and of SMB 2 and 3 that it is called by.
            pub const fn smb_commands(self) -> Option<[&'static str; 2]> {
                match self { $(Op::$variant => commands!($smb),)* }
            }
        }

        const NFS2_NUMBERS: Numbers = [$(number!($nfs2)),*];
        const NFS3_NUMBERS: Numbers = [$(number!($nfs3)),*];
        const NFS4_NUMBERS: Numbers = [$(number4!($nfs3)),*];
        const POSIX_NUMBERS: Numbers = [$(number!($posix)),*];
        const SMB_NUMBERS: Numbers = [$(number!($smb)),*];
        const TARGETS: [Option<OpTarget>; Op::COUNT] = [$(target!($nfs3)),*];

        part! {
            /// The operations of NFS.
            NfsOp nfs [] $(($variant $nfs3))*
        }
        part! {
            /// The operations of mounted file systems.
            PosixOp posix [] $(($variant $posix))*
        }
    };
}

// What is known of each operation: its name in mix files; its group in reports; in NFS
// versions 2 and 3 the number of its procedure, and what it works on (`v4`: version 3 does
// not have it, and this is the number of its operation in version 4; `v42`: only minor
// version 2 has it); its place in the
// table of mounted file systems (netmist's; `rmdir` and `unlink2` are of the 2014
// generation, sources.md 3.8); its place in the table of SMB (manual M, section 2.2.2) and
// what stands for it over SMB1, and over SMB 2 and 3 (MS-SMB2 2.2; those on paths are
// chains of CREATE, what is named here, and CLOSE).
ops! {
    // Variant    name             group    v2   NFSv3              mounted SMB
    Null          "null"           Lookups  0    (0 Nothing)        -   -   "Nothing at all: the cost of a round trip.";
    Getattr       "getattr"        Lookups  1    (1 Object)         -   -   "Read the attributes of an object.";
    Setattr       "setattr"        Changes  2    (2 File)           -   -   "Change the attributes of an object.";
    Lookup        "lookup"         Lookups  4    (3 Name)           -   -   "Find a name in a directory.";
    Access        "access"         Lookups  -    (4 Object)         17  -   "Ask which accesses are granted.";
    Readlink      "readlink"       Lookups  5    (5 Symlink)        -   -   "Read a symbolic link.";
    Read          "read"           Reads    6    (6 DataRead)       1   (4 "READ_ANDX" "READ") "Read a range of a file.";
    Write         "write"          Writes   8    (7 DataWritten)    5   (10 "WRITE_ANDX" "WRITE") "Write a range of a file, stable when it returns.";
    Create        "create"         Changes  9    (8 NewFile)        12  -   "Create a file.";
    Mkdir         "mkdir"          Changes  14   (9 NewDirectory)   10  -   "Create a directory.";
    Symlink       "symlink"        Changes  13   (10 NewSymlink)    -   -   "Create a symbolic link.";
    Mknod         "mknod"          Changes  -    (11 NewFile)       -   -   "Create a special file (a FIFO).";
    Remove        "remove"         Changes  10   (12 OldFile)       -   -   "Remove a file.";
    Rmdir         "rmdir"          Changes  15   (13 OldDirectory)  11  -   "Remove a directory.";
    Rename        "rename"         Changes  11   (14 Rename)        22  -   "Rename a file.";
    Link          "link"           Changes  12   (15 NewLink)       -   -   "Give a file a second name.";
    Readdir       "readdir"        Lookups  16   (16 Directory)     20  -   "List a directory, names only.";
    Readdirplus   "readdirplus"    Lookups  -    (17 Directory)     -   -   "List a directory with attributes.";
    Fsstat        "fsstat"         Lookups  17   (18 Nothing)       -   -   "Read the dynamic figures of the file system.";
    Fsinfo        "fsinfo"         Lookups  -    (19 Nothing)       -   -   "Read the static figures of the file system.";
    Pathconf      "pathconf"       Lookups  -    (20 Nothing)       24  -   "Read the POSIX limits of the file system.";
    Commit        "commit"         Writes   -    (21 AccessedFile)  -   -   "Make earlier writes stable.";
    ReadFile      "read_file"      Reads    -    -                  2   -   "Read a whole file, from its first byte to its last.";
    MmapRead      "mmap_read"      Reads    -    -                  3   -   "Read a range of a file through a memory mapping.";
    ReadRandom    "read_random"    Reads    -    -                  4   -   "Read a range at a random place of a file.";
    WriteFile     "write_file"     Writes   -    -                  6   -   "Write a whole file over, from its first byte to its last.";
    MmapWrite     "mmap_write"     Writes   -    -                  7   -   "Write a range of a file through a memory mapping.";
    WriteRandom   "write_random"   Writes   -    -                  8   -   "Write a range at a random place of a file.";
    Rmw           "rmw"            Writes   -    -                  9   -   "Read a range at a random place of a file, change it and write it back.";
    Unlink        "unlink"         Changes  -    -                  13  -   "Remove an empty file.";
    Unlink2       "unlink2"        Changes  -    -                  14  -   "Remove a file that holds data.";
    Append        "append"         Writes   -    -                  15  -   "Write at the end of a file.";
    Locking       "locking"        Changes  -    -                  16  -   "Lock a range of a file, then unlock it.";
    Stat          "stat"           Lookups  -    -                  18  -   "Read the attributes of a file by its name.";
    Chmod         "chmod"          Changes  -    -                  19  -   "Change the permissions of a file.";
    Statfs        "statfs"         Lookups  -    -                  23  -   "Read the figures of the file system.";
    Copyfile      "copyfile"       Writes   -    -                  21  -   "Copy a whole file.";
    Custom1       "custom1"        Changes  -    -                  25  -   "Whatever the first program of the user's own does.";
    Custom2       "custom2"        Changes  -    -                  26  -   "Whatever the second program of the user's own does.";
    Echo          "echo"           Lookups  -    -                  -   (1 "ECHO" "ECHO") "Ask the server for an echo: the cost of a round trip in a session.";
    Lock          "lock"           Changes  -    (v4 12 AccessedFile) - (2 "LOCKING_ANDX" "LOCK") "Lock a range of an open file, or unlock it.";
    QuerySecurity "query_security" Lookups  -    -                  -   (3 "NT_TRANSACT_QUERY_SECURITY_DESC" "QUERY_INFO_SECURITY") "Read the security descriptor of an open file.";
    QueryFs       "query_fs"       Lookups  -    -                  -   (5 "TRANS2_QUERY_FS_INFORMATION" "QUERY_INFO_FILESYSTEM") "Read the figures of the file system.";
    QueryFile     "query_file"     Lookups  -    -                  -   (6 "TRANS2_QUERY_FILE_INFORMATION" "QUERY_INFO_FILE") "Read the attributes of an open file.";
    QueryPath     "query_path"     Lookups  -    -                  -   (7 "TRANS2_QUERY_PATH_INFORMATION" "QUERY_INFO_PATH") "Read the attributes of a file by its path.";
    SetFile       "set_file"       Changes  -    -                  -   (8 "TRANS2_SET_FILE_INFORMATION" "SET_INFO_FILE") "Change the attributes, the size or the deletion of an open file.";
    Find          "find"           Lookups  -    -                  -   (9 "TRANS2_FIND_FIRST2" "QUERY_DIRECTORY") "List a directory by a pattern.";
    Open          "open"           Changes  -    (v4 18 Name)       -   (11 "NT_CREATE_ANDX" "CREATE") "Open a file or a directory, or make one.";
    Close         "close"          Changes  -    -                  -   (12 "CLOSE" "CLOSE") "Close what is open.";
    Flush         "flush"          Writes   -    -                  -   (13 "FLUSH" "FLUSH") "Make what was written to an open file stable.";
    Allocate      "allocate"       Writes   -    (v42 59 ScratchRange) - - "Reserve space for a range of a file.";
    Deallocate    "deallocate"     Writes   -    (v42 62 ScratchRange) - - "Make a hole in a file.";
    Seek          "seek"           Lookups  -    (v42 69 DataSought) -  -   "Find the next data or the next hole in a file.";
    ReadPlus      "read_plus"      Reads    -    (v42 68 DataRead)  -   -   "Read a range of a file, whose holes are not transferred.";
    Copy          "copy"           Writes   -    (v42 60 DataCopied) -  -   "Copy a range of a file to another one, within the server.";
    Clone         "clone"          Writes   -    (v42 71 DataCopied) -  -   "Copy a range of a file to another one by sharing its blocks.";
    Getxattr      "getxattr"       Lookups  -    (v42 72 OldAttribute) - -  "Read an extended attribute.";
    Setxattr      "setxattr"       Changes  -    (v42 73 NewAttribute) - -  "Set an extended attribute.";
    Listxattrs    "listxattrs"     Lookups  -    (v42 74 ScratchFile) - -   "List the extended attributes of a file.";
    Removexattr   "removexattr"    Changes  -    (v42 75 OldAttribute) - -  "Remove an extended attribute.";
}

/// Groups of operations that resemble each other, for reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpGroup {
    /// They read names, attributes and figures.
    Lookups,
    /// They read data.
    Reads,
    /// They write data.
    Writes,
    /// They change names and attributes, open and close.
    Changes,
}

impl OpGroup {
    /// All of them, in the order of reports.
    pub const ALL: [Self; 4] = [Self::Lookups, Self::Reads, Self::Writes, Self::Changes];

    /// Its word in metrics, as in [`crate::responses::Responses`].
    pub const fn word(self) -> &'static str {
        match self {
            Self::Lookups => "lookups",
            Self::Reads => "reads",
            Self::Writes => "writes",
            Self::Changes => "changes",
        }
    }

    /// What reports call it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Lookups => "Names and attributes",
            Self::Reads => "Reads",
            Self::Writes => "Writes",
            Self::Changes => "Changes, opens and closes",
        }
    }
}

/// What an operation of NFS works on in the file set of a classical benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpTarget {
    /// Nothing, or the file system as a whole.
    Nothing,
    /// Any file or directory.
    Object,
    /// Any file.
    File,
    /// A file of those that hold data and are read and written.
    AccessedFile,
    /// A symbolic link.
    Symlink,
    /// A directory, of which a part is listed.
    Directory,
    /// A name that exists.
    Name,
    /// Data of an accessed file, which is read.
    DataRead,
    /// Data of an accessed file, which is written.
    DataWritten,
    /// A free name for a file.
    NewFile,
    /// A free name for a directory.
    NewDirectory,
    /// A free name for a symbolic link.
    NewSymlink,
    /// Any file, and a free name for it.
    NewLink,
    /// A name that was made for a file.
    OldFile,
    /// A name that was made for a directory.
    OldDirectory,
    /// A name that was made for a file, and a free one.
    Rename,
    /// A file whose contents are not checked.
    ScratchFile,
    /// A range of such a file.
    ScratchRange,
    /// Data of an accessed file, in which data or a hole is looked for.
    DataSought,
    /// Data of an accessed file, which is copied to a file whose contents are not checked.
    DataCopied,
    /// An extended attribute that can be set.
    NewAttribute,
    /// An extended attribute that was set.
    OldAttribute,
}

impl NfsOp {
    /// What it works on.
    #[inline]
    pub const fn target(self) -> OpTarget {
        match TARGETS[self.op().index()] {
            Some(target) => target,
            None => OpTarget::Nothing,
        }
    }
}

/// The numbers of the operations in a protocol, or in its table; `None`: it does not have
/// the operation.
type Numbers = [Option<u8>; Op::COUNT];

const NFS41_NUMBERS: Numbers = of_version4(false);
const NFS42_NUMBERS: Numbers = of_version4(true);

/// Those of version 3, and those of version 4 without or with minor version 2.
const fn of_version4(has_minor2: bool) -> Numbers {
    let mut all = NFS3_NUMBERS;
    let mut at = 0;
    while at < all.len() {
        if NFS4_NUMBERS[at].is_some() && (has_minor2 || !Op::ALL[at].needs_nfs42()) {
            all[at] = NFS4_NUMBERS[at];
        }
        at += 1;
    }
    all
}

const fn count(numbers: &Numbers) -> usize {
    let (mut at, mut count) = (0, 0);
    while at < numbers.len() {
        count += numbers[at].is_some() as usize;
        at += 1;
    }
    count
}

/// The operations that have a number, in the order of [`Op::ALL`].
const fn having<const COUNT: usize>(numbers: &Numbers) -> [Op; COUNT] {
    let mut all = [Op::Null; COUNT];
    let (mut at, mut found) = (0, 0);
    while at < numbers.len() {
        if numbers[at].is_some() {
            all[found] = Op::ALL[at];
            found += 1;
        }
        at += 1;
    }
    all
}

/// The operations that have a number, by number.
const fn by_number<const COUNT: usize>(numbers: &Numbers) -> [Op; COUNT] {
    let mut all = [Op::Null; COUNT];
    let (mut number, mut found) = (0, 0);
    while number < u8::MAX {
        let (mut at, before) = (0, found);
        while at < numbers.len() {
            if let Some(of_op) = numbers[at]
                && of_op == number
            {
                all[found] = Op::ALL[at];
                found += 1;
            }
            at += 1;
        }
        assert!(
            found <= before + 1,
            "a number of its own for each operation"
        );
        number += 1;
    }
    all
}

impl Op {
    /// How many there are.
    pub const COUNT: usize = Self::ALL.len();

    /// Those that NFS version 3 has; the names of the classical mix files.
    pub const NFS3: &'static [Op] = &having::<{ count(&NFS3_NUMBERS) }>(&NFS3_NUMBERS);

    /// Those that NFS version 2 has, but for ROOT and WRITECACHE, which RFC 1094 calls
    /// obsolete and unused; `fsstat` is its STATFS.
    pub const NFS2: &'static [Op] = &having::<{ count(&NFS2_NUMBERS) }>(&NFS2_NUMBERS);

    /// Those that NFS version 4.1 has: those of version 3, and those with open files.
    pub const NFS41: &'static [Op] = &having::<{ count(&NFS41_NUMBERS) }>(&NFS41_NUMBERS);

    /// Those that NFS version 4.2 has.
    pub const NFS42: &'static [Op] = &having::<{ count(&NFS42_NUMBERS) }>(&NFS42_NUMBERS);

    /// Those of mounted file systems, in the order of the netmist tables (manual N,
    /// appendix).
    pub const POSIX: &'static [Op] = &by_number::<{ count(&POSIX_NUMBERS) }>(&POSIX_NUMBERS);

    /// Those of SMB, in the order of the classical CIFS table (manual M, section 2.2.2).
    pub const SMB: &'static [Op] = &by_number::<{ count(&SMB_NUMBERS) }>(&SMB_NUMBERS);

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
    /// Those of NFS version 4.1.
    pub const NFS41: Self = Self::of(Op::NFS41);
    /// Those of NFS version 4.2.
    pub const NFS42: Self = Self::of(Op::NFS42);
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
        let numbers = Op::NFS3.iter().filter_map(|op| op.nfs3_number());
        assert!(numbers.eq(0..22));
    }

    #[test]
    fn each_minor_version_has_the_operations_of_the_one_before() {
        let sets = [OpSet::NFS3, OpSet::NFS41, OpSet::NFS42];
        for op in Op::NFS42 {
            let has = sets.map(|set| set.contains(*op));
            let expected = match (op.nfs4_number(), op.needs_nfs42()) {
                (None, _) => [true; 3],
                (Some(_), false) => [false, true, true],
                (Some(_), true) => [false, false, true],
            };
            assert_eq!(has, expected, "{op}");
        }
        assert_eq!((Op::NFS41.len(), Op::NFS42.len()), (24, 34));
        assert_eq!(Op::ReadPlus.nfs4_number(), Some(68));
    }

    #[test]
    fn the_operations_of_a_protocol_have_types_of_their_own() {
        assert!(
            NfsOp::ALL
                .iter()
                .map(|op| op.op())
                .eq(Op::NFS42.iter().copied())
        );
        assert_eq!(PosixOp::ALL.len(), Op::POSIX.len());
        for op in Op::ALL {
            let number = op.nfs3_number().or(op.nfs4_number());
            assert_eq!(op.nfs().map(NfsOp::op), number.map(|_| *op));
            assert!(op.nfs4_number().is_some() || !op.needs_nfs42(), "{op}");
            let is_posix = Op::POSIX.contains(op);
            assert_eq!(op.posix().map(PosixOp::op), is_posix.then_some(*op));
            assert!(op.nfs2_number().is_none() || op.nfs().is_some(), "{op}");
        }
        assert_eq!(NfsOp::Readdirplus.target(), OpTarget::Directory);
    }
}
