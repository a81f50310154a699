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
        Some(entry.number)
    }

    /// The entries behind a cookie: (cookie, name, inode number).
    pub(super) fn after(&self, cookie: u64) -> impl Iterator<Item = (u64, &Arc<[u8]>, u64)> {
        self.order
            .range((Bound::Excluded(cookie), Bound::Unbounded))
            .map(|(cookie, (name, number))| (*cookie, name, *number))
    }
}
