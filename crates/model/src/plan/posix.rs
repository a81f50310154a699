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
    /// Files per proc where the plan says nothing (manual N has no figure) `[own]`.
    pub const OPEN_FILES_DEFAULT: u32 = 64;
    /// Open files of everything else in the process: sockets, logs, pipes, libraries.
    pub const OPEN_FILES_RESERVED: u64 = 256;
    /// A tree's top, two directories, two files, the pipes of the custom programs, and
    /// one that is open only for a moment.
    pub const OPEN_FILES_NEEDED_PER_PROC: u64 = 10;
    /// The same without the directories and files that a proc keeps open.
    pub const OPEN_FILES_ASIDE_PER_PROC: u64 = 6;

    /// Files that a proc may keep open.
    pub fn open_files_wanted(&self) -> u64 {
        u64::from(self.open_files_max.unwrap_or(Self::OPEN_FILES_DEFAULT)).max(2)
    }

    /// Open files that each proc cannot do without, and with how many it never has to close
    /// what it will need again.
    pub fn open_files_per_proc(&self) -> (u64, u64) {
        let best = Self::OPEN_FILES_ASIDE_PER_PROC + 2 * self.open_files_wanted();
        let needed = Self::OPEN_FILES_NEEDED_PER_PROC;
        (needed, best.max(needed))
    }

    /// Its fields in the words of the parameters.
    pub const LABELS: Labels = &[("drop_caches", "DROP_CACHES")];
}
