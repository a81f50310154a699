//! A proc's directory tree on a mounted file system: turns an operation of the mix
//! into an action on a particular file, by the seed's table of buckets.
//!
//! File, place and size are drawn here; the driver carries out the
//! operation. Sequential operations keep their place per file, random ones
//! are aligned as the definition requires. Our own interpretations of what the seed
//! does not define are marked `[own]` and described in docs/src/reference/posix-ops.md.

mod choose;
mod sizes;
mod tree_state;

pub use sizes::FileSizes;
pub use tree_state::{TreePendingEffect, TreePool};

use crate::driver::TreeSetup;
use crate::file_action::{FileAction, FileKind, FileRef};
use filermark_model::bucket::Buckets;
use filermark_model::composite::Component;
use filermark_model::{Bucket, Op};
use std::sync::Arc;
use tree_state::TreeState;

/// Bytes in the files that `unlink2` removes, at most `[own]`.
const UNLINK2_BYTES_MAX: u64 = 64 << 10;

/// How a tree is shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sharing {
    /// Procs of its component in the whole run, at the largest load; 1: the tree is
    /// the proc's own. Names that are created and removed are divided among them.
    pub count: u32,
    /// Which of them this one is, from 0.
    pub index: u32,
    /// Procs that make the files of this tree: those on its mount point that run
    /// at every load point.
    pub filler_count: u32,
    /// Which of them this one is, from 0; that many or more: none.
    pub filler_index: u32,
}

impl Sharing {
    /// The tree is the proc's own.
    pub const ALONE: Self = Self {
        count: 1,
        index: 0,
        filler_count: 1,
        filler_index: 0,
    };
}

/// The parts of a tree slice.
#[derive(Debug)]
pub struct TreeParts {
    /// Name, workload and contents of the tree.
    pub setup: Arc<TreeSetup>,
    /// The seed of the run, from which sizes derive.
    pub seed: u64,
    /// Number of the tree for its contents: the proc's, or the component's where it
    /// is shared.
    pub tree_number: u32,
    /// Which procs share it.
    pub sharing: Sharing,
    /// Keep existing files that have the right size.
    pub reuse: bool,
    /// Count how often every file was accessed.
    pub access_list: bool,
}

/// A proc's tree.
#[derive(Debug)]
pub struct TreeSlice {
    setup: Arc<TreeSetup>,
    dirs: u32,
    files_per_dir: u32,
    sizes: FileSizes,
    made: Buckets,
    tree_number: u32,
    sharing: Sharing,
    reuse: bool,
    populated: bool,
    /// The next step of INIT or CLEANUP.
    cursor: u64,
    data_bytes: u64,
    state: TreeState,
    /// Accesses per bucket and file; empty: not counted.
    accesses: Vec<u32>,
}

impl TreeSlice {
    /// A tree that does not exist yet.
    pub fn new(component: &Component, parts: TreeParts) -> Self {
        let sizes = FileSizes::new(component, parts.seed ^ u64::from(parts.tree_number));
        let files = component.files_per_bucket();
        let counted = if parts.access_list { files } else { 0 };
        let mut slice = Self {
            dirs: component.dir_count.max(1),
            files_per_dir: component.files_per_dir.max(1),
            sizes,
            made: component.made_buckets(),
            tree_number: parts.tree_number,
            sharing: parts.sharing,
            reuse: parts.reuse || parts.sharing != Sharing::ALONE,
            populated: false,
            cursor: 0,
            data_bytes: 0,
            state: TreeState::default(),
            accesses: vec![0; counted as usize * Bucket::COUNT],
            setup: parts.setup,
        };
        slice.forget();
        slice
    }

    /// Resets the state: nothing of it exists any more.
    pub fn forget(&mut self) {
        self.populated = false;
        self.data_bytes = 0;
        self.state = TreeState::new(&self.setup.workload.mix, &self.sizes, self.sharing);
    }

    /// Name, workload and contents.
    pub fn setup(&self) -> &TreeSetup {
        &self.setup
    }

    /// Bytes that INIT made or found.
    pub fn data_bytes(&self) -> u64 {
        self.data_bytes
    }

    /// Directories and files that INIT makes.
    pub fn counts(&self) -> (u64, u64) {
        let dirs = 1 + u64::from(self.dirs) * (1 + Bucket::COUNT as u64);
        let made = Bucket::all().filter(|b| self.made.contains(*b));
        let files = made.map(|bucket| match TreePool::of(bucket) {
            Some(pool) => self.state.initial_count(pool),
            None => self.sizes.count(),
        });
        (dirs, files.sum())
    }

    /// Files that were accessed, with how often: path below the run's directory.
    pub fn accesses(&self) -> Vec<(String, u64)> {
        let files = self.sizes.count() as usize;
        let name = |at: usize| {
            let bucket = Bucket::new((at / files.max(1)) as u8).map_or(0, Bucket::number);
            let (dir, file) = self.place((at % files.max(1)) as u64);
            format!("{}/d{dir:04}/b{bucket:02}/f{file:07}", self.setup.name)
        };
        let counted = self.accesses.iter().enumerate().filter(|(_, n)| **n > 0);
        counted.map(|(at, n)| (name(at), u64::from(*n))).collect()
    }

    /// RUN begins: drops the accesses of WARMUP.
    pub fn begin_run(&mut self) {
        self.accesses.fill(0);
    }

    /// INIT (or CLEANUP) begins.
    pub fn begin(&mut self, emptying: bool) {
        self.cursor = match self.populated && !emptying {
            true => u64::MAX,
            false => 0,
        };
        if !emptying {
            self.populated = true;
        }
    }

    /// The next action of INIT.
    pub fn make(&mut self) -> Option<FileAction> {
        loop {
            let step = self.cursor;
            self.cursor = step.checked_add(1)?;
            if step == 0 {
                return Some(FileAction::MakeTree);
            }
            if step <= u64::from(self.dirs) {
                let dir = (step - 1) as u32;
                return Some(FileAction::MakeDirs { dir });
            }
            let item = step - 1 - u64::from(self.dirs);
            let files = self.sizes.count().max(self.state.pool_count());
            let bucket = Bucket::new(u8::try_from(item / files).ok()?)?;
            if let Some(action) = self.fill(bucket, item % files) {
                return Some(action);
            }
        }
    }

    /// The next action of CLEANUP.
    pub fn next_removal(&mut self) -> Option<FileAction> {
        let step = self.cursor;
        self.cursor = step.saturating_add(1);
        match step {
            _ if !self.populated => None,
            dir if dir < u64::from(self.dirs) => Some(FileAction::RemoveDirs { dir: dir as u32 }),
            end if end == u64::from(self.dirs) => Some(FileAction::RemoveTree),
            _ => None,
        }
    }

    /// How a file of a bucket is made; `None`: it does not exist at the start, or
    /// another proc of a shared tree makes it.
    fn fill(&mut self, bucket: Bucket, number: u64) -> Option<FileAction> {
        if !self.made.contains(bucket) {
            return None;
        }
        let pool = TreePool::of(bucket);
        let (number, size) = match pool {
            Some(TreePool::Dirs) => return None,
            Some(pool) => {
                let slot = self.state.take_initial(pool, number)?;
                let size = match pool {
                    TreePool::Full => self.unlink2_bytes(),
                    TreePool::Dirs | TreePool::Files => 0,
                };
                (self.state.number(slot), size)
            }
            None => {
                let (count, index) = (self.sharing.filler_count, self.sharing.filler_index);
                let mine = number % u64::from(count.max(1)) == u64::from(index);
                if number >= self.sizes.count() || !mine {
                    return None;
                }
                (number, self.sizes.created(bucket, number))
            }
        };
        if self.sizes.holds_data(bucket) {
            self.data_bytes += size;
        }
        let file = self.file(bucket, number);
        Some(FileAction::Fill {
            file,
            content: self.content(bucket, number),
            size,
            reuse: self.reuse,
        })
    }

    fn unlink2_bytes(&self) -> u64 {
        let wanted = self.setup.workload.mix.percent(Op::Unlink2) > 0.0;
        match wanted {
            true => self.sizes.mean_bytes().min(UNLINK2_BYTES_MAX),
            false => 0,
        }
    }

    /// Directory and file number of the n-th file of a bucket. Names of shared
    /// pools continue after the bucket's own files.
    fn place(&self, number: u64) -> (u32, u32) {
        let per_dir = u64::from(self.files_per_dir);
        match number < self.sizes.count() {
            true => ((number / per_dir) as u32, (number % per_dir) as u32),
            false => ((number % u64::from(self.dirs)) as u32, number as u32),
        }
    }

    fn file(&self, bucket: Bucket, number: u64) -> FileRef {
        self.named(bucket, number, FileKind::File)
    }

    fn named(&self, bucket: Bucket, number: u64, kind: FileKind) -> FileRef {
        let (dir, file) = self.place(number);
        FileRef {
            dir,
            bucket,
            kind,
            file,
        }
    }

    /// The file's number for its contents: no two files of a run have the same.
    fn content(&self, bucket: Bucket, number: u64) -> u64 {
        u64::from(self.tree_number) << 32 | u64::from(bucket.number()) << 27 | number
    }
}

#[cfg(test)]
mod tests;
