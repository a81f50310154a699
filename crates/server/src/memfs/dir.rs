//! The names in one directory.
//!
//! Every entry gets a cookie that is never given again, and listings go in the
//! order of the cookies: what stays in the directory is listed once and only
//! once, however much is added or removed in between.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::sync::Arc;

/// Cookie of `.` in a listing.
pub(super) const COOKIE_DOT: u64 = 1;
/// Cookie of `..` in a listing.
pub(super) const COOKIE_DOT_DOT: u64 = 2;

/// What the maps and allocations of one name take in memory beside its bytes, at most: a
/// reference and an entry in a hash map that is half full, the same in a B-tree whose nodes
/// are half full, and the header of the shared name. Rounded up.
const ENTRY_BYTES: u64 = 256;
/// A directory that has lost three quarters of its names gives memory back.
const SHRINK_FROM: usize = 64;

/// What a name is charged against the capacity.
pub(super) fn charge_of_name(name: &[u8]) -> u64 {
    ENTRY_BYTES + name.len() as u64
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    number: u64,
    cookie: u64,
}

/// Names and where they lead (inode numbers).
#[derive(Debug)]
pub(super) struct DirData {
    /// Inode number of the directory above; its own for the root.
    pub(super) parent: u64,
    names: HashMap<Arc<[u8]>, Entry>,
    order: BTreeMap<u64, (Arc<[u8]>, u64)>,
    next_cookie: u64,
}

impl DirData {
    pub(super) fn new(parent: u64) -> DirData {
        DirData {
            parent,
            names: HashMap::new(),
            order: BTreeMap::new(),
            next_cookie: COOKIE_DOT_DOT + 1,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.names.len()
    }

    pub(super) fn get(&self, name: &[u8]) -> Option<u64> {
        self.names.get(name).map(|entry| entry.number)
    }

    /// Adds a name, or lets an existing one lead elsewhere (it keeps its cookie then).
    pub(super) fn put(&mut self, name: &[u8], number: u64) {
        if let Some(entry) = self.names.get_mut(name) {
            entry.number = number;
            if let Some(listed) = self.order.get_mut(&entry.cookie) {
                listed.1 = number;
            }
            return;
        }
        let (name, cookie): (Arc<[u8]>, u64) = (name.into(), self.next_cookie);
        self.next_cookie += 1;
        self.names.insert(name.clone(), Entry { number, cookie });
        self.order.insert(cookie, (name, number));
    }

    pub(super) fn remove(&mut self, name: &[u8]) -> Option<u64> {
        let entry = self.names.remove(name)?;
        self.order.remove(&entry.cookie);
        if self.names.capacity() > SHRINK_FROM && self.names.len() < self.names.capacity() / 4 {
            self.names.shrink_to(self.names.len() * 2);
        }
        Some(entry.number)
    }

    /// The entries behind a cookie: (cookie, name, inode number).
    pub(super) fn after(&self, cookie: u64) -> impl Iterator<Item = (u64, &Arc<[u8]>, u64)> {
        self.order
            .range((Bound::Excluded(cookie), Bound::Unbounded))
            .map(|(cookie, (name, number))| (*cookie, name, *number))
    }
}
