//! The nonces of claimed run directories.

use crate::claim::report::ClaimReport;
use filermark_engine::driver::Claim;
use filermark_model::plan::MountPoint;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// The nonces of the run directories that a driver has claimed.
#[derive(Debug, Default)]
pub struct Nonces(Mutex<HashMap<MountPoint, String>>);

impl Nonces {
    /// Keeps the nonce of a claim.
    pub fn note(&self, mount: &MountPoint, report: &ClaimReport) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(mount.clone(), report.nonce.clone());
    }

    /// The nonce of a mount point.
    pub fn of(&self, mount: &MountPoint, claim: &Claim) -> String {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(mount).cloned().unwrap_or_else(|| claim.nonce())
    }
}
