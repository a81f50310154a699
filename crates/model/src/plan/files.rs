//! What the run may do with the file set, and the space that it needs.

use super::Labels;
use serde::{Deserialize, Serialize};

/// What the run may do with the file set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileSetPlan {
    /// Leave it on the server at the end (KEEP).
    pub keep: bool,
    /// Let a load point grow the file set of the one before (REUSE); off: made anew.
    pub reuse: bool,
    /// Compare all that is read with what was written, not only a sample (VERIFY).
    pub verify: bool,
    /// Population operations in flight per proc-owning shard in INIT and CLEANUP.
    pub init_window: u32,
    /// Composites: all procs of a workload share one tree (`-X`, SHARING_MODE).
    #[serde(default)]
    pub sharing: bool,
    /// Composites: count how often every file was accessed (`-Y`, FILE_ACCESS_LIST).
    #[serde(default)]
    pub access_list: bool,
    /// Composites: the point does not count unless as many bytes were read and written
    /// as the data set has (netmist's minimum run time).
    #[serde(default)]
    pub touch_all: bool,
    /// Classical benchmarks without a requested rate (LOAD=max): the size of the file set, in
    /// binary megabytes (FILESET_MB); 0: it follows from the load.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub mib: u64,
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

impl FileSetPlan {
    /// Its fields in the words of the parameters.
    pub const LABELS: Labels = &[
        ("keep", "KEEP"),
        ("reuse", "REUSE"),
        ("verify", "VERIFY"),
        ("init_window", "INIT_WINDOW"),
        ("sharing", "SHARING_MODE"),
        ("mib", "FILESET_MB"),
    ];
}

impl Default for FileSetPlan {
    fn default() -> Self {
        Self {
            keep: false,
            reuse: true,
            verify: false,
            init_window: 64,
            sharing: false,
            access_list: false,
            touch_all: false,
            mib: 0,
        }
    }
}

/// How the server's space and memory are held against the file set.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SpacePlan {
    /// Refuse a run whose file set does not fit (SPACE_CHECK).
    pub check: bool,
    /// Share of each file system that has to stay free, in percent (SPACE_RESERVE).
    pub reserve_pcnt: f64,
    /// Memory that the server is declared to have, in bytes (SERVER_MEMORY).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_memory_bytes: Option<u64>,
}

impl Default for SpacePlan {
    fn default() -> Self {
        Self {
            check: true,
            reserve_pcnt: 5.0,
            server_memory_bytes: None,
        }
    }
}
