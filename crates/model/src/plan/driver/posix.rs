//! The driver of mounted file systems: its settings, what the program has to know of it, its
//! counters.

use crate::counter::{CounterDecl, counters, shared};
use crate::op::{Op, OpSet};
use crate::plan::Labels;
use crate::plan::facts::{DriverFacts, DriverSettings, DriverText, Target};
use crate::protocol::ProtocolDecl;
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
}

/// A mounted file system.
pub(super) const POSIX: ProtocolDecl = ProtocolDecl {
    title: "a mounted file system",
    sfssum_name: "POSIX",
    driver_word: "posix",
    fs_word: None,
    benchmark: None,
    ops: Op::POSIX,
    op_names: |_| None,
    is_sequential: false,
    nfs_version: None,
};

impl DriverSettings for PosixPlan {
    fn facts(&self) -> DriverFacts {
        DriverFacts {
            target: Target::Mounted,
            blocks: true,
            host_cache: true,
            reuses_kept: self.reuse_kept,
            no_fsync: self.no_fsync,
            open_files_per_proc: self.open_files_per_proc(),
            open_files_reserved: Self::OPEN_FILES_RESERVED,
            ..DriverFacts::default()
        }
    }

    fn describe(&self) -> DriverText {
        DriverText::of("mounted file systems, by system calls")
    }

    fn ops(&self) -> OpSet {
        OpSet::POSIX
    }

    fn counters(&self) -> &'static [CounterDecl] {
        PosixCounter::ALL
    }

    fn labels(&self) -> Labels {
        &[("drop_caches", "DROP_CACHES")]
    }
}

counters! {
    /// What the driver of mounted file systems counts beside the operations.
    PosixCounter {
        ShortReads = shared::SHORT_READS;
        ShortWrites = shared::SHORT_WRITES;
        LockWaits = CounterDecl::new("lock_waits", "Locks that another process had at first.")
            .notes("locks that another process had at first, and were waited for");
        DirectFallbacks = CounterDecl::new(
            "direct_fallbacks",
            "Transfers that were to bypass the cache and went through it.",
        )
        .lacks("transfers that were to bypass the client's cache (O_DIRECT) went through it: the file system refused, or their place or length did not fit its blocks");
        AsyncTransfers = CounterDecl::new(
            "async_transfers",
            "Reads, writes and fsyncs by io_uring; the others were system calls that wait.",
        );
        UnregisteredTransfers = CounterDecl::new(
            "unregistered_transfers",
            "Transfers by io_uring whose buffer was not registered with the kernel.",
        )
        .notes("transfers by io_uring had buffers that were not registered with the kernel (the limit of locked memory), which costs processor time");
        Opens = CounterDecl::new(
            "opens",
            "Files opened because no handle was kept, within the operation that needed it.",
        );
        DirOpens = CounterDecl::new(
            "dir_opens",
            "Bucket directories opened because no handle was kept, for naming only.",
        );
        Fsyncs = CounterDecl::new("fsyncs", "fsync and msync of transfers that commit.");
        EarlyEofs = shared::EARLY_EOF_READS;
        ReusedFiles = CounterDecl::new(
            "reused_files",
            "Files of an earlier run that had the right size and stayed.",
        );
        CustomStarts = CounterDecl::new(
            "custom_starts",
            "Starts of the programs behind custom1 and custom2.",
        );
        CheckedBytes = shared::CHECKED;
        UndecidedBytes = shared::UNDECIDED;
        VerifyErrors = shared::WRONG_READS;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_of_mounted_file_systems_are_facts() {
        let posix = PosixPlan {
            no_fsync: true,
            open_files_max: Some(9),
            reuse_kept: true,
            ..PosixPlan::default()
        };
        let facts = posix.facts();
        assert_eq!(facts.target, Target::Mounted);
        assert!(facts.blocks && facts.no_fsync && facts.reuses_kept);
        assert_eq!(facts.open_files_per_proc, (10, 24));
        assert_eq!((facts.transport, facts.port), (None, None));
    }
}
