//! A file system in memory with the semantics that NFSv3 promises (RFC 1813).
//!
//! It knows inodes, names, times, permissions and space. The wire format, sockets and faults
//! are in other modules, which it does not use.
//!
//! One reader-writer lock guards everything: the operations that change nothing (the bulk
//! of any load) share it, and each operation is atomic, so that the attributes it returns
//! belong to exactly that operation.

mod data;
mod dir;
mod files;
mod holds;
mod inode;
mod lookup;
mod names;
mod ranges;
mod rename;
mod table;
#[cfg(test)]
mod tests;
mod types;
mod uncommitted;
mod xattrs;

pub use ranges::CopyRange;
pub use rename::DirEntryName;
pub use table::{LINK_MAX, NAME_MAX, PATH_MAX};
pub use types::*;
pub use xattrs::{XATTR_BYTES_MAX, XattrSet};

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use table::Table;

/// The largest size a file can have, in bytes.
pub const MAX_FILE_SIZE: u64 = data::MAX_FILE_SIZE;

/// Limits and modes of a file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FsConfig {
    /// Bytes that fit, of content, names and inodes; beyond that `NoSpc`.
    pub capacity_bytes: u64,
    /// Inodes, and names, that fit; beyond that `NoSpc`.
    pub max_files: u64,
    /// Refuse every change.
    pub read_only: bool,
    /// Permission bits of the root directory.
    pub root_mode: u32,
}

impl Default for FsConfig {
    fn default() -> FsConfig {
        FsConfig {
            capacity_bytes: 4 << 30,
            max_files: 4 << 20,
            read_only: false,
            root_mode: 0o777,
        }
    }
}

/// The file system.
#[derive(Debug)]
pub struct MemFs {
    table: RwLock<Table>,
    read_only: bool,
    write_verifier: AtomicU64,
    no_space_count: AtomicU64,
}

impl MemFs {
    /// An empty file system: a root directory that belongs to root.
    pub fn new(config: FsConfig) -> MemFs {
        MemFs {
            table: RwLock::new(Table::new(
                config.capacity_bytes,
                config.max_files,
                config.root_mode,
            )),
            read_only: config.read_only,
            write_verifier: AtomicU64::new(table::clock_ns()),
            no_space_count: AtomicU64::new(0),
        }
    }

    /// The handle of the root directory.
    pub fn root(&self) -> FileId {
        self.read().root()
    }

    /// The verifier that WRITE and COMMIT return. It identifies one run of the server:
    /// where it changes, clients must send uncommitted data again.
    pub fn write_verifier(&self) -> u64 {
        self.write_verifier.load(Ordering::Acquire)
    }

    /// Changes the write verifier, as a restart would; the data stays.
    pub fn change_write_verifier(&self) {
        self.write_verifier.fetch_add(1, Ordering::AcqRel);
    }

    /// How many changes found no space.
    pub fn no_space_count(&self) -> u64 {
        self.no_space_count.load(Ordering::Relaxed)
    }

    fn count_refusal<T>(&self, result: &Result<T, FsError>) {
        if matches!(result, Err(FsError::NoSpc)) {
            self.no_space_count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Whether changes are refused.
    pub fn is_read_only(&self) -> bool {
        self.read_only
    }

    // A panic under the lock would be a bug of ours; the table is still whole enough to
    // serve on, and a benchmark must not hang on it.
    fn read(&self) -> RwLockReadGuard<'_, Table> {
        self.table.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write_lock(&self) -> RwLockWriteGuard<'_, Table> {
        self.table.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs one look at `id`; its attributes come along even where the look fails.
    fn look<T>(
        &self,
        id: FileId,
        body: impl FnOnce(&Table) -> Result<T, FsError>,
    ) -> (Option<Attr>, Result<T, FsError>) {
        let table = self.read();
        let result = body(&table);
        (table.attr(id), result)
    }

    /// Runs one change around `id` and takes its attributes on both sides of it.
    fn change<T>(
        &self,
        id: FileId,
        body: impl FnOnce(&mut Table) -> Result<T, FsError>,
    ) -> Changed<T> {
        let mut table = self.write_lock();
        let before = table.pre_attr(id);
        let result = match before {
            None => Err(FsError::Stale),
            Some(_) if self.read_only => Err(FsError::RoFs),
            Some(_) => body(&mut table),
        };
        self.count_refusal(&result);
        Changed {
            wcc: Wcc {
                before,
                after: table.attr(id),
            },
            result,
        }
    }
}
