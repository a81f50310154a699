//! The list of mounts that DUMP returns.

use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Mounts that DUMP lists at most; further ones work but are not listed.
const MAX_LISTED: usize = 1024;

/// Clients and the directories that they mount, as known from MNT and UMNT.
#[derive(Debug, Default)]
pub(super) struct Mounts(Mutex<Vec<(IpAddr, Vec<u8>)>>);

impl Mounts {
    pub(super) fn list(&self) -> MutexGuard<'_, Vec<(IpAddr, Vec<u8>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn add(&self, client: IpAddr, path: &[u8]) {
        let mut list = self.list();
        let known = list.iter().any(|(c, p)| *c == client && p == path);
        if !known && list.len() < MAX_LISTED {
            list.push((client, path.to_vec()));
        }
    }
}
