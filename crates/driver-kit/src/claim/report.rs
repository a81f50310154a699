//! The options and results of claims.

use filermark_model::survey::Space;

/// How much of a run's directory is removed when it is released.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReleaseScope {
    /// Everything that the run made, on all clients.
    All,
    /// The directory only if it contains nothing but the marker: other clients may still use
    /// it.
    Rest,
    /// Everything that was left by a run whose ID begins with that of the claim.
    Leftovers,
}

/// What was found when a directory was claimed or released.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClaimReport {
    /// Leftovers of an earlier run of ours that were removed.
    pub removed_count: u64,
    /// Names that are not ours and were not removed, with their place.
    pub not_ours: Vec<String>,
    /// Directories of ours that the server did not remove, with their places.
    pub not_removed: Vec<String>,
    /// The nonce in the owner files of the run directory's directories.
    pub nonce: String,
    /// Names in the run directory that a run may need, and that remain because of those.
    pub occupied: Vec<String>,
    /// Largest read and write transfer in use, in bytes.
    pub transfer_bytes: (u32, u32),
    /// Space of the file system, as the server reports it.
    pub space: Option<Space>,
    /// What the plan requires and the platform or file system does not have, with what is
    /// done instead; one sentence each.
    pub lacking: Vec<String>,
    /// What is known about the server, for the record: name, value.
    pub server_facts: Vec<(String, String)>,
}
