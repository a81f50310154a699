//! What was written and not committed, where a server is to lose it: what was there before.

use super::inode::Body;
use super::table::Table;
use super::types::FileId;
use super::{MAX_FILE_SIZE, MemFs};
use std::collections::HashMap;
use std::sync::atomic::Ordering;

/// What a write has replaced.
#[derive(Debug)]
struct ReplacedData {
    offset: u64,
    data: Vec<u8>,
    size: u64,
}

/// Per file the writes that no COMMIT has confirmed, in their order.
#[derive(Debug, Default)]
pub(super) struct Uncommitted {
    files: HashMap<FileId, Vec<ReplacedData>>,
}

impl Uncommitted {
    /// All of a file is safe from now on.
    pub(super) fn settle(&mut self, id: FileId) {
        if !self.files.is_empty() {
            self.files.remove(&id);
        }
    }

    pub(super) fn has(&self, id: FileId) -> bool {
        self.files.contains_key(&id)
    }
}

impl Table {
    /// Notes what a write of `len` bytes is going to replace.
    pub(super) fn keep_before(&mut self, id: FileId, offset: u64, len: usize) {
        let Ok(inode) = self.get(id) else { return };
        let Body::Regular(content) = &inode.body else {
            return;
        };
        let (mut data, size) = (Vec::new(), content.size());
        content.read(offset, len as u32, &mut data);
        let before = ReplacedData { offset, data, size };
        self.uncommitted.files.entry(id).or_default().push(before);
    }

    /// Takes back all writes that were not committed; gives their number.
    fn revert(&mut self) -> u64 {
        let mut count = 0;
        for (id, writes) in std::mem::take(&mut self.uncommitted.files) {
            let now = self.now();
            let Ok(inode) = self.get_mut(id) else {
                continue;
            };
            let Body::Regular(content) = &mut inode.body else {
                continue;
            };
            let charged = content.charged();
            count += writes.len() as u64;
            for before in writes.into_iter().rev() {
                content.write(before.offset.min(MAX_FILE_SIZE), &before.data);
                content.set_size(before.size);
            }
            let charged_now = content.charged();
            inode.touch(now);
            self.used_bytes = (self.used_bytes + charged_now).saturating_sub(charged);
        }
        count
    }
}

impl MemFs {
    /// Restarts like a server that had written nothing to its disk but what was committed:
    /// the write verifier changes, and what [`MemFs::write_unstable`] wrote since the last
    /// COMMIT of its file is gone. Gives the number of writes that were lost.
    pub fn revert_uncommitted(&self) -> u64 {
        let mut table = self.write_lock();
        self.write_verifier.fetch_add(1, Ordering::AcqRel);
        table.revert()
    }
}
