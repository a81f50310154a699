//! The state of a proc's tree: where sequential operations are, how far files
//! have grown, which names exist.

use super::{FileSizes, Sharing};
use crate::pool::Pool;
use filermark_model::{Bucket, Mix, Op};

/// Names that are created and removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TreePool {
    /// Directories of `mkdir` and `rmdir`.
    Dirs,
    /// Empty files of `create` and `unlink`.
    Files,
    /// Files with data, of `unlink2`.
    Full,
}

impl TreePool {
    /// The pool whose names are in a bucket.
    pub fn of(bucket: Bucket) -> Option<Self> {
        [Self::Dirs, Self::Files, Self::Full]
            .into_iter()
            .find(|pool| pool.bucket() == bucket)
    }

    /// Where its names are.
    pub const fn bucket(self) -> Bucket {
        match self {
            Self::Dirs => Bucket::MKDIR,
            Self::Files => Bucket::UNLINK,
            Self::Full => Bucket::UNLINK2,
        }
    }
}

/// The change to a tree's state when an operation's outcome is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TreePendingEffect {
    /// A name was to be made.
    Make(TreePool, u16),
    /// A name was to be removed.
    Remove(TreePool, u16),
    /// A file was to change between its two names.
    Rename(u32),
    /// A file was to have this size: by append, truncation.
    Grow(u32, u64),
    /// A file was to have the size of another one: by copy, from and to.
    Copy(u32, u32),
}

/// The state of one tree.
#[derive(Debug, Default)]
pub struct TreeState {
    sharing: Option<Sharing>,
    pools: Vec<Pool>,
    /// Read and write places per file of the two sequential buckets.
    offsets: Vec<u64>,
    /// Whether a file of the rename bucket has its second name.
    renamed: Vec<bool>,
    /// Sizes of the append bucket.
    grown: Vec<u64>,
    /// Sizes of the copyfile bucket.
    copied: Vec<u64>,
}

impl TreeState {
    /// The state of a tree as INIT makes it, for the operations of a mix.
    pub fn new(mix: &Mix, sizes: &FileSizes, sharing: Sharing) -> Self {
        let has = |op: Op| mix.percent(op) > 0.0;
        let files = sizes.count() as usize;
        let names = sizes.count().min(Bucket::POOL_MAX) as u16;
        let list = |wanted: bool, bucket: Bucket| match wanted {
            true => (0..sizes.count())
                .map(|n| sizes.created(bucket, n))
                .collect(),
            false => Vec::new(),
        };
        Self {
            sharing: Some(sharing),
            pools: (0..3).map(|_| Pool::new(0, names)).collect(),
            offsets: vec![
                0;
                if has(Op::Read) || has(Op::Write) {
                    4 * files
                } else {
                    0
                }
            ],
            renamed: vec![false; if has(Op::Rename) { files } else { 0 }],
            grown: list(has(Op::Append), Bucket::APPEND),
            copied: list(has(Op::Copyfile), Bucket::COPYFILE),
        }
    }

    /// A pool.
    pub fn pool(&mut self, pool: TreePool) -> Option<&mut Pool> {
        self.pools.get_mut(pool as usize)
    }

    /// Names per pool.
    pub fn pool_count(&self) -> u64 {
        let of = |p: &Pool| p.live_count() + p.free_count();
        self.pools.iter().map(of).max().unwrap_or(0) as u64
    }

    /// How many names of a pool INIT makes: every second one `[own]`.
    pub fn initial_count(&self, pool: TreePool) -> u64 {
        match pool {
            TreePool::Dirs => 0,
            TreePool::Files | TreePool::Full => self.pool_count() / 2,
        }
    }

    /// Takes the `n`-th name that INIT makes.
    pub fn take_initial(&mut self, pool: TreePool, n: u64) -> Option<u16> {
        if n >= self.initial_count(pool) {
            return None;
        }
        let names = self.pool(pool)?;
        let slot = names.take_free()?;
        names.put_live(slot);
        Some(slot)
    }

    /// The file number of a slot: in shared trees every proc has names of its own.
    pub fn number(&self, slot: u16) -> u64 {
        let sharing = self.sharing.unwrap_or(Sharing::ALONE);
        u64::from(slot) * u64::from(sharing.count) + u64::from(sharing.index)
    }

    /// Where a sequential operation on a file of `size` bytes continues, for at most
    /// `length` bytes; starts again at the end of the file.
    pub fn advance(&mut self, key: usize, size: u64, length: u32) -> (u64, u32) {
        let Some(place) = self.offsets.get_mut(key) else {
            return (0, u64::from(length).min(size) as u32);
        };
        if *place >= size {
            *place = 0;
        }
        let offset = *place;
        let length = u64::from(length).min(size - offset) as u32;
        *place = offset + u64::from(length);
        (offset, length)
    }

    /// Whether a file of the rename bucket has its second name.
    pub fn is_renamed(&self, number: u64) -> bool {
        self.renamed.get(number as usize).copied().unwrap_or(false)
    }

    /// The size of a file of the append bucket.
    pub fn grown(&self, number: u64) -> u64 {
        self.grown.get(number as usize).copied().unwrap_or(0)
    }

    /// The size of a file of the copyfile bucket.
    pub fn copied(&self, number: u64) -> u64 {
        self.copied.get(number as usize).copied().unwrap_or(0)
    }

    /// Applies the pending effect of an operation.
    pub fn settle(&mut self, effect: TreePendingEffect, worked: bool) {
        match effect {
            TreePendingEffect::Make(pool, slot) => self.put(pool, slot, worked),
            TreePendingEffect::Remove(pool, slot) => self.put(pool, slot, !worked),
            TreePendingEffect::Rename(number) if worked => {
                if let Some(renamed) = self.renamed.get_mut(number as usize) {
                    *renamed = !*renamed;
                }
            }
            TreePendingEffect::Grow(number, size) if worked => {
                if let Some(grown) = self.grown.get_mut(number as usize) {
                    *grown = size;
                }
            }
            TreePendingEffect::Copy(from, to) if worked => {
                let size = self.copied(u64::from(from));
                if let Some(copied) = self.copied.get_mut(to as usize) {
                    *copied = size;
                }
            }
            TreePendingEffect::Rename(_)
            | TreePendingEffect::Grow(..)
            | TreePendingEffect::Copy(..) => {}
        }
    }

    fn put(&mut self, pool: TreePool, slot: u16, exists: bool) {
        if let Some(names) = self.pool(pool) {
            match exists {
                true => names.put_live(slot),
                false => names.put_free(slot),
            }
        }
    }
}
