//! File buckets: which operation of a mounted file system may touch which files
//! (seed 002, "Internal request op type to file buckets").

use crate::op::Op;
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
    /// How many there are (facts.md 3.7: 24).
    pub const COUNT: usize = 24;
    /// Those whose files hold data from INIT on: eleven, which is the factor of
    /// facts.md 3.7. Which eleven is our own reading: the sequential, whole-file,
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
    /// The factor of the space that a run may come to need (facts.md 3.7: 12): the
    /// files of APPEND may double.
    pub const MAX_FACTOR: u64 = 12;
    /// Buckets whose names come and go: `mkdir`, `create`, `unlink2`. INIT makes no
    /// directories of the first, and of each of the other two every second name.
    pub const POOLS: u64 = 3;
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

    /// For tables indexed by bucket.
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// Whether its files hold data from INIT on.
    pub const fn holds_data(self) -> bool {
        matches!(self.0, 0..=6 | 10 | 15..=17)
    }

    /// The buckets whose files `op` may touch; empty for operations that mounted
    /// file systems do not have.
    pub const fn candidates(op: Op) -> &'static [Bucket] {
        match op {
            Op::Read | Op::Write => SEQUENTIAL,
            Op::ReadFile | Op::WriteFile => WHOLE,
            Op::ReadRandom | Op::WriteRandom => RANDOM,
            Op::Rmw => &[Bucket(4), Bucket(5), Bucket(6)],
            Op::Mkdir | Op::Rmdir => &[Self::MKDIR],
            Op::Create | Op::Unlink => &[Self::UNLINK],
            Op::Unlink2 => &[Self::UNLINK2],
            Op::Append => &[Self::APPEND],
            Op::Locking => &[Self::LOCKING],
            Op::Access | Op::Stat | Op::Chmod | Op::Readdir | Op::Statfs | Op::Pathconf => STANDING,
            Op::MmapWrite | Op::MmapRead => MAPPED,
            Op::Copyfile => &[Self::COPYFILE],
            Op::Rename => &[Self::RENAME],
            Op::Custom1 => &[Bucket(21)],
            Op::Custom2 => &[Bucket(22)],
            _ => &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_the_seeds() {
        assert_eq!(Bucket::all().filter(|b| b.holds_data()).count(), 11);
        assert!(
            Bucket::all()
                .filter(|b| b.holds_data())
                .eq(Bucket::WITH_DATA.iter().copied())
        );
        for op in Op::POSIX {
            assert!(!Bucket::candidates(*op).is_empty(), "{op}");
        }
        let stat: Vec<u8> = Bucket::candidates(Op::Stat)
            .iter()
            .map(|b| b.number())
            .collect();
        let missing: Vec<u8> = (0..24).filter(|n| !stat.contains(n)).collect();
        assert_eq!(missing, [7, 8, 21, 22, 23]);
        assert_eq!(Bucket::new(24), None);
    }
}
