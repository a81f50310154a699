//! What claims are asked for, and what they find.

use filermark_model::survey::Space;

/// How much of a run's directory is removed when it is given back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReleaseScope {
    /// Everything that the run made, whichever client it was.
    All,
    /// The directory only if nothing but the marker is in it: other clients may still
    /// be at work there.
    Rest,
    /// Everything that was left there by a run whose identity begins with the claim's.
    Leftovers,
}

/// What was found when a directory was claimed or released.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClaimReport {
    /// Leftovers of an earlier run of ours that were removed.
    pub removed_count: u64,
    /// Names that are not ours and were left alone, with their place.
    pub not_ours: Vec<String>,
    /// Directories of ours that the server did not remove, with their places.
    pub not_removed: Vec<String>,
    /// What the owner files of the run directory's directories hold.
    pub nonce: String,
    /// Names in the run directory that a run may need, and that stay because of those.
    pub occupied: Vec<String>,
    /// Largest read and write transfer in use, in bytes.
    pub transfer_bytes: (u32, u32),
    /// Space of the file system, as the server states it.
    pub space: Option<Space>,
    /// What the platform or file system lacks of what the plan asks for, and what is
    /// done instead; one sentence each.
    pub lacking: Vec<String>,
    /// What the server is and says of itself, for the record: name, value.
    pub server_facts: Vec<(String, String)>,
}
