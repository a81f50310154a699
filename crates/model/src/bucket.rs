//! File buckets: which operation of a mounted file system may touch which files
//! (manual N, "Internal request op type to file buckets").

use crate::op::{Op, PosixOp};
use serde::{Deserialize, Serialize};

/// One of the 24 directories that every directory of a proc has, one per kind of
/// operation; the number is the seed's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Bucket(u8);

/// Buckets of the sequential readers and writers.
const SEQUENTIAL: &[Bucket] = &[Bucket(0), Bucket(2)];
/// Buckets of those that move whole files.
const WHOLE: &[Bucket] = &[Bucket(1), Bucket(3)];
/// Buckets of the random readers and writers.
const RANDOM: &[Bucket] = &[Bucket(4), Bucket(5)];
/// Buckets of the mapped readers and writers.
const MAPPED: &[Bucket] = &[Bucket(15), Bucket(16)];
/// Buckets that the operations on names and attributes go to: all whose files stay.
const STANDING: &[Bucket] = &[
    Bucket(0),
    Bucket(1),
    Bucket(2),
    Bucket(3),
    Bucket(4),
    Bucket(5),
    Bucket(6),
    Bucket(9),
    Bucket(10),
    Bucket(11),
    Bucket(12),
    Bucket(13),
    Bucket(14),
    Bucket(15),
    Bucket(16),
    Bucket(17),
    Bucket(18),
    Bucket(19),
    Bucket(20),
];

impl Bucket {
    /// How many there are (sources.md 3.7: 24).
    pub const COUNT: usize = 24;
    /// Those whose files hold data from INIT on: eleven, which is the factor of
    /// sources.md 3.7. Which eleven is our own reading: the sequential, whole-file,
    /// random, rmw, append, mapped and copyfile ones.
    pub const WITH_DATA: &'static [Bucket] = &[
        Bucket(0),
        Bucket(1),
        Bucket(2),
        Bucket(3),
        Bucket(4),
        Bucket(5),
        Bucket(6),
        Bucket(10),
        Bucket(15),
        Bucket(16),
        Bucket(17),
    ];
    /// The factor of the space that a run may come to need (sources.md 3.7: 12): the
    /// files of APPEND may double.
    pub const MAX_FACTOR: u64 = 12;
    /// Buckets whose names come and go: `mkdir`, `create`, `unlink2`. INIT makes no
    /// directories of the first, and of each of the other two every second name.
    pub const POOL_BUCKETS: &'static [Bucket] = &[Self::MKDIR, Self::UNLINK, Self::UNLINK2];
    /// Most names that come and go, per pool and proc.
    pub const POOL_MAX: u64 = 4_096;
    /// Directories made by `mkdir`.
    pub const MKDIR: Bucket = Bucket(7);
    /// Empty files made by `create`, removed by `unlink`.
    pub const UNLINK: Bucket = Bucket(8);
    /// Files that `append` writes to.
    pub const APPEND: Bucket = Bucket(10);
    /// Files that `locking` locks.
    pub const LOCKING: Bucket = Bucket(11);
    /// Files that `copyfile` copies.
    pub const COPYFILE: Bucket = Bucket(17);
    /// Files that `rename` renames.
    pub const RENAME: Bucket = Bucket(18);
    /// Files with data that `unlink2` removes.
    pub const UNLINK2: Bucket = Bucket(23);

    /// All of them.
    pub fn all() -> impl Iterator<Item = Bucket> {
        (0..Self::COUNT as u8).map(Bucket)
    }

    /// A bucket by the seed's number; `None` beyond 23.
    pub const fn new(number: u8) -> Option<Self> {
        match (number as usize) < Self::COUNT {
            true => Some(Self(number)),
            false => None,
        }
    }

    /// The seed's number.
    pub const fn number(self) -> u8 {
        self.0
    }

    /// The buckets of which `op` reads or writes data, where only the buckets that a mix
    /// reaches are made. Those of `rmw` are the random ones: by manual N, section 4, files
    /// of five kinds hold data in a mix with `rmw`, and its own kind is not one of them.
    pub const fn moved_by(op: Op) -> &'static [Bucket] {
        let Some(of_tree) = op.posix() else {
            return &[];
        };
        match of_tree {
            PosixOp::Rmw => RANDOM,
            PosixOp::Read
            | PosixOp::Write
            | PosixOp::ReadFile
            | PosixOp::WriteFile
            | PosixOp::ReadRandom
            | PosixOp::WriteRandom
            | PosixOp::Append
            | PosixOp::MmapWrite
            | PosixOp::MmapRead
            | PosixOp::Copyfile => Self::candidates(op),
            PosixOp::Mkdir
            | PosixOp::Rmdir
            | PosixOp::Create
            | PosixOp::Unlink
            | PosixOp::Unlink2
            | PosixOp::Locking
            | PosixOp::Access
            | PosixOp::Stat
            | PosixOp::Chmod
            | PosixOp::Readdir
            | PosixOp::Rename
            | PosixOp::Statfs
            | PosixOp::Pathconf
            | PosixOp::Custom1
            | PosixOp::Custom2 => &[],
        }
    }

    /// For tables indexed by bucket.
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// The buckets whose files `op` may touch; empty for operations that mounted
    /// file systems do not have.
    pub const fn candidates(op: Op) -> &'static [Bucket] {
        let Some(op) = op.posix() else {
            return &[];
        };
        match op {
            PosixOp::Read | PosixOp::Write => SEQUENTIAL,
            PosixOp::ReadFile | PosixOp::WriteFile => WHOLE,
            PosixOp::ReadRandom | PosixOp::WriteRandom => RANDOM,
            PosixOp::Rmw => &[Bucket(4), Bucket(5), Bucket(6)],
            PosixOp::Mkdir | PosixOp::Rmdir => &[Self::MKDIR],
            PosixOp::Create | PosixOp::Unlink => &[Self::UNLINK],
            PosixOp::Unlink2 => &[Self::UNLINK2],
            PosixOp::Append => &[Self::APPEND],
            PosixOp::Locking => &[Self::LOCKING],
            PosixOp::Access
            | PosixOp::Stat
            | PosixOp::Chmod
            | PosixOp::Readdir
            | PosixOp::Statfs
            | PosixOp::Pathconf => STANDING,
            PosixOp::MmapWrite | PosixOp::MmapRead => MAPPED,
            PosixOp::Copyfile => &[Self::COPYFILE],
            PosixOp::Rename => &[Self::RENAME],
            PosixOp::Custom1 => &[Bucket(21)],
            PosixOp::Custom2 => &[Bucket(22)],
        }
    }
}

/// A set of buckets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Buckets(u32);

impl Buckets {
    /// All of them.
    pub const ALL: Self = Self((1 << Bucket::COUNT) - 1);
    /// Those with data where all are made.
    pub fn with_data() -> Self {
        Bucket::WITH_DATA.iter().copied().collect()
    }

    /// Whether a bucket is one of them.
    pub const fn contains(self, bucket: Bucket) -> bool {
        self.0 & 1 << bucket.0 != 0
    }

    /// How many they are.
    pub const fn count(self) -> u64 {
        self.0.count_ones() as u64
    }
}

impl FromIterator<Bucket> for Buckets {
    fn from_iter<I: IntoIterator<Item = Bucket>>(all: I) -> Self {
        Self(all.into_iter().fold(0, |set, b| set | 1 << b.0))
    }
}

/// Which buckets of a tree INIT makes files in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MadeBuckets {
    /// All, and eleven of them with data: the file sets of the 2014 generation.
    #[default]
    All,
    /// Those that an operation of the mix may touch; data where one moves data.
    Reached,
}

impl MadeBuckets {
    /// Whether all are made, which definitions of the 2014 generation do not say.
    pub const fn is_all(&self) -> bool {
        matches!(self, Self::All)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_the_seeds() {
        assert_eq!(Buckets::with_data().count(), 11);
        assert_eq!(Bucket::all().collect::<Buckets>(), Buckets::ALL);
        for op in Op::POSIX {
            let candidates = Bucket::candidates(*op);
            assert!(!candidates.is_empty(), "{op}");
            let moved = Bucket::moved_by(*op);
            assert!(moved.iter().all(|b| candidates.contains(b)), "{op}");
            assert!(
                moved.iter().all(|b| Buckets::with_data().contains(*b)),
                "{op}"
            );
        }
        let numbers = |op| -> Vec<u8> {
            let buckets = Bucket::candidates(op);
            buckets.iter().map(|b| b.number()).collect()
        };
        let table: [(Op, &[u8]); 17] = [
            (Op::Write, &[0, 2]),
            (Op::WriteFile, &[1, 3]),
            (Op::Read, &[0, 2]),
            (Op::ReadFile, &[1, 3]),
            (Op::WriteRandom, &[4, 5]),
            (Op::ReadRandom, &[4, 5]),
            (Op::Rmw, &[4, 5, 6]),
            (Op::Mkdir, &[7]),
            (Op::Unlink, &[8]),
            (Op::Append, &[10]),
            (Op::Locking, &[11]),
            (Op::MmapWrite, &[15, 16]),
            (Op::MmapRead, &[15, 16]),
            (Op::Copyfile, &[17]),
            (Op::Rename, &[18]),
            (Op::Custom1, &[21]),
            (Op::Custom2, &[22]),
        ];
        for (op, want) in table {
            assert_eq!(numbers(op), want, "{op}");
        }
        let standing: Vec<u8> = (0..=6).chain(9..=20).collect();
        for op in [
            Op::Stat,
            Op::Access,
            Op::Chmod,
            Op::Readdir,
            Op::Statfs,
            Op::Pathconf,
        ] {
            assert_eq!(numbers(op), standing, "{op}");
        }
        assert_eq!(Bucket::new(24), None);
    }
}
