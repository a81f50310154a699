//! The handles of a shard's procs: where their trees are, which bucket directories
//! and files are open.
//!
//! Every name is reached through a handle of its bucket directory, which was opened
//! without following links or entering other mounts; a name call is then one short
//! system call.

use crate::cache::Cache;
use crate::counters::{Counters, Tally};
use crate::limits::FdShare;
use crate::names;
use crate::owned::Owned;
use crate::run_dir::RunDir;
use crate::sys::{Dir, Errno, File, OpenMode, Result};
use filermark_engine::data::{DataSource, History};
use filermark_engine::driver::TreeSetup;
use filermark_engine::file_action::{DIR_COUNT_MAX, FILES_PER_DIR_MAX, FileKind, FileRef};
use filermark_model::Bucket;
use std::ffi::CString;
use std::sync::Arc;

/// Procs of one shard; their index is part of the keys.
pub(crate) const PROCS_MAX: usize = 1 << 17;

/// One proc.
#[derive(Debug)]
pub(crate) struct Proc {
    pub(crate) place: Arc<RunDir>,
    pub(crate) tree: Arc<TreeSetup>,
    tree_name: CString,
    /// The top of its tree, once it was needed.
    top: Option<Dir>,
    /// What offsets and lengths past the cache must be multiples of, in bytes; 0: the
    /// file system does not do it. Found by trying.
    pub(crate) direct_align: u64,
    /// What has been written to its tree.
    pub(crate) history: History,
}

impl Proc {
    pub(crate) fn new(
        place: Arc<RunDir>,
        tree: Arc<TreeSetup>,
        data: Arc<DataSource>,
    ) -> Result<Self> {
        let direct_align = place.dir.direct_unit();
        Ok(Self {
            history: History::new(data, 1),
            tree_name: CString::new(tree.name.as_str()).map_err(|_| Errno::INVAL)?,
            place,
            tree,
            top: None,
            direct_align,
        })
    }

    /// The top of the tree.
    pub(crate) fn top(&mut self) -> Result<&Dir> {
        if self.top.is_none() {
            self.top = Some(self.place.dir.open_dir(&self.tree_name)?);
        }
        self.top.as_ref().ok_or(Errno::NOENT)
    }

    /// Makes the top of the tree; being there already is fine, if it is this run's.
    pub(crate) fn make_top(&mut self) -> Result<()> {
        // It may be another one than the last time.
        self.top = None;
        let owned = self.owned(&[&self.tree.name]);
        self.top = Some(owned.make(&self.place.dir, &self.tree_name)?);
        Ok(())
    }

    /// Removes the top of the tree, unless something is in it.
    pub(crate) fn remove_top(&mut self) -> Result<()> {
        self.top = None;
        let owned = self.owned(&[&self.tree.name]);
        owned.remove(&self.place.dir, &self.tree_name)
    }

    /// What the owner file of a directory below the run directory holds.
    pub(crate) fn owned(&self, names: &[&str]) -> Owned {
        let mut path = self.place.dir_name.clone();
        for name in names {
            path.push('/');
            path.push_str(name);
        }
        Owned::of(&path, &self.place.nonce)
    }
}

/// All handles of a shard.
#[derive(Debug)]
pub(crate) struct Handles {
    pub(crate) procs: Vec<Proc>,
    dirs: Cache<Dir>,
    files: Cache<File>,
}

impl Handles {
    pub(crate) fn new(procs: Vec<Proc>, share: FdShare) -> Self {
        Self {
            procs,
            dirs: Cache::new(share.dirs),
            files: Cache::new(share.files),
        }
    }

    /// A proc by its index.
    #[inline]
    pub(crate) fn proc(&mut self, proc: u32) -> Result<&mut Proc> {
        self.procs.get_mut(proc as usize).ok_or(Errno::INVAL)
    }

    /// The slot of a bucket directory, opened if need be.
    #[inline]
    pub(crate) fn dir(
        &mut self,
        proc: u32,
        dir: u32,
        bucket: Bucket,
        counters: &mut Counters,
    ) -> Result<DirSlot> {
        if dir > DIR_COUNT_MAX {
            return Err(Errno::INVAL);
        }
        let key = dir_key(proc, dir, bucket);
        if let Some(slot) = self.dirs.find(key) {
            return Ok(DirSlot(slot));
        }
        let path = names::bucket_path(dir, bucket)?;
        let opened = self.proc(proc)?.top()?.open_dir(path.as_c_str())?;
        counters.add(Tally::DirOpens);
        Ok(DirSlot(self.dirs.put(key, opened)))
    }

    /// The directory in a slot that was just given.
    #[inline]
    pub(crate) fn dir_at(&self, slot: DirSlot) -> Result<&Dir> {
        self.dirs.at(slot.0).ok_or(Errno::INVAL)
    }

    /// The slot of a file, opened if need be; a copy is made if need be.
    #[inline]
    pub(crate) fn file(
        &mut self,
        proc: u32,
        file: FileRef,
        class: OpenMode,
        counters: &mut Counters,
    ) -> Result<FileSlot> {
        if let Some(slot) = self.open_file(proc, file, class) {
            return Ok(slot);
        }
        if !has_key(file) {
            return Err(Errno::INVAL);
        }
        let name = names::file(file)?;
        let dir = self.dir(proc, file.dir, file.bucket, counters)?;
        let create = file.kind == FileKind::Copy;
        let opened = self
            .dir_at(dir)?
            .open_file(name.as_c_str(), class, create)?;
        counters.add(Tally::Opens);
        let key = file_key(proc, file, class);
        Ok(FileSlot(self.files.put(key, opened)))
    }

    /// The slot of a file that is open.
    #[inline]
    pub(crate) fn open_file(
        &mut self,
        proc: u32,
        file: FileRef,
        class: OpenMode,
    ) -> Option<FileSlot> {
        if !has_key(file) {
            return None;
        }
        self.files.find(file_key(proc, file, class)).map(FileSlot)
    }

    /// Notes from now on which slots of files lose what was open in them.
    pub(crate) fn note_closed_files(&mut self) {
        self.files.note_removed();
    }

    /// A slot that has lost its file, perhaps to another one; each once.
    pub(crate) fn take_closed_file(&mut self) -> Option<u32> {
        self.files.take_removed()
    }

    /// The file in a slot that was just given.
    #[inline]
    pub(crate) fn file_at(&self, slot: FileSlot) -> Result<&File> {
        self.files.at(slot.0).ok_or(Errno::INVAL)
    }

    /// Closes a file, because its name will stand for another one or none.
    pub(crate) fn forget_file(&mut self, proc: u32, file: FileRef) {
        for class in OpenMode::ALL {
            self.files.remove(file_key(proc, file, class));
        }
    }

    /// Closes everything in a directory of a proc's tree.
    pub(crate) fn forget_dir(&mut self, proc: u32, dir: u32) {
        let mine = |key: u64| key >> DIR_SHIFT == u64::from(proc) << DIR_BITS | u64::from(dir);
        self.files.retain(|key| !mine(key));
        self.dirs.retain(|key| !mine(key));
    }

    /// Closes everything of a proc.
    pub(crate) fn forget_proc(&mut self, proc: u32) {
        let mine = |key: u64| key >> (DIR_SHIFT + DIR_BITS) == u64::from(proc);
        self.files.retain(|key| !mine(key));
        self.dirs.retain(|key| !mine(key));
    }
}

/// Where a directory is in the cache, until the next one is opened but one.
#[derive(Clone, Copy)]
pub(crate) struct DirSlot(u32);

/// Where a file is in the cache, until the next one is opened but one.
#[derive(Clone, Copy)]
pub(crate) struct FileSlot(u32);

impl FileSlot {
    /// Its number, below the number of files that may be open.
    pub(crate) fn number(self) -> u32 {
        self.0
    }
}

// A key: proc, directory (14 bits), bucket (5), file (24), kind (2), class (2). The
// largest numbers of directories and files fit; larger ones have no names.
const DIR_BITS: u32 = 14;
const FILE_BITS: u32 = 24;
const BUCKET_SHIFT: u32 = FILE_BITS + 4;
const DIR_SHIFT: u32 = BUCKET_SHIFT + 5;

fn dir_key(proc: u32, dir: u32, bucket: Bucket) -> u64 {
    u64::from(proc) << (DIR_SHIFT + DIR_BITS)
        | u64::from(dir) << DIR_SHIFT
        | (bucket.number() as u64) << BUCKET_SHIFT
}

/// Whether the numbers of a file fit a key; larger ones have no names.
#[inline]
fn has_key(file: FileRef) -> bool {
    file.dir <= DIR_COUNT_MAX && file.file <= FILES_PER_DIR_MAX
}

fn file_key(proc: u32, file: FileRef, class: OpenMode) -> u64 {
    dir_key(proc, file.dir, file.bucket)
        | u64::from(file.file) << 4
        | (file.kind as u64) << 2
        | class.number()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_numbers_do_not_run_into_each_other() {
        let last = Bucket::new(23).expect("bucket");
        let file = FileRef {
            dir: DIR_COUNT_MAX,
            bucket: last,
            kind: FileKind::Copy,
            file: FILES_PER_DIR_MAX,
        };
        let proc = PROCS_MAX as u32 - 1;
        let key = file_key(proc, file, OpenMode::new(true, true));
        assert_eq!(key >> (DIR_SHIFT + DIR_BITS), u64::from(proc));
        assert_eq!(key >> BUCKET_SHIFT & 31, 23);
        assert_eq!(key >> 4 & 0xff_ffff, u64::from(FILES_PER_DIR_MAX));
        let other = FileRef { file: 0, ..file };
        assert_ne!(file_key(proc, other, OpenMode::default()), key);
        const { assert!(DIR_COUNT_MAX < 1 << DIR_BITS && FILES_PER_DIR_MAX < 1 << FILE_BITS) };
    }
}
