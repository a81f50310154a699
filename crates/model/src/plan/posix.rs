//! Settings of the driver of mounted file systems.

use super::Labels;
use serde::{Deserialize, Serialize};

/// Settings of the driver of mounted file systems.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PosixPlan {
    /// Never call fsync (`-F`, DISABLE_FSYNCS).
    pub no_fsync: bool,
    /// Files that a proc may keep open (MAX_FD, shared by all procs of a client);
    /// `None`: 64, or as many as the limits of the system allow, if fewer.
    pub open_files_max: Option<u32>,
    /// Leave files that an earlier run with the same suffix kept, where they have the
    /// right size, instead of making them anew (`-K`, UNLINK_FILES=0).
    pub reuse_kept: bool,
    /// Before each WARMUP take the run's files out of the client's cache (DROP_CACHES).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub drop_caches: bool,
    /// The programs behind custom1 and custom2; empty: there is none.
    #[serde(default)]
    pub custom: [Vec<String>; 2],
}

impl PosixPlan {
    /// Its fields in the words of the parameters.
    pub const LABELS: Labels = &[("drop_caches", "DROP_CACHES")];
}
