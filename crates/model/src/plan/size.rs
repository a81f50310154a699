//! The size of the I/O set of a classical benchmark at a load.

use super::RunPlan;
use crate::fileset::{FileSet, FileSums};
use crate::op::Op;
use crate::units::OpsPerSec;

impl RunPlan {
    /// Files of the I/O set at a load: by bytes per unit of load over the mean file size; at
    /// least one per proc. Without a rate (0) the bytes are those of FILESET_MB.
    pub fn io_file_count(&self, load: OpsPerSec) -> u64 {
        let Some(classic) = self.benchmark.classic() else {
            return 0;
        };
        let mib = match load.0 > 0.0 {
            true => load.0 * classic.fileset.mb_per_op,
            false => self.fileset.mib as f64,
        };
        let bytes = mib * (1u64 << 20) as f64;
        let files = bytes / classic.file_sizes.mean_bytes().max(1.0);
        (files.round() as u64).max(u64::from(self.proc_count()))
    }

    /// What the I/O files of a classical benchmark add up to at a load: size by size, as INIT
    /// makes them.
    pub fn io_sums(&self, load: OpsPerSec) -> FileSums {
        let Some(classic) = self.benchmark.classic() else {
            return FileSums::default();
        };
        let set = FileSet::new(self.seed, classic);
        set.sums(
            self.io_file_count(load),
            self.proc_count(),
            &classic.read_sizes,
        )
    }

    /// By how much the I/O files of a classical benchmark come to grow while a load point
    /// runs, in bytes: what is written behind their ends in WARMUP and RUN. INIT cuts them
    /// back. Without a rate (LOAD=max) they are not known: 0.
    pub fn io_growth_bytes(&self, load: OpsPerSec) -> u64 {
        let Some(classic) = self.benchmark.classic() else {
            return 0;
        };
        let seconds = self.phases.warmup.as_secs_f64() + self.phases.runtime.as_secs_f64();
        let writes = load.0 * seconds * self.benchmark.mix.percent(Op::Write) / 100.0;
        let appended = writes * classic.fileset.append_pcnt / 100.0;
        (appended * classic.write_sizes.mean_bytes()) as u64
    }

    /// The bytes that the I/O files take at most at a load: as they are made, and a tenth or
    /// what is appended to them, whichever is more (manual M, section 3.1).
    pub fn io_space_bytes(&self, load: OpsPerSec) -> u64 {
        let created = self.io_sums(load).created_bytes;
        let growth = (created / 10).max(self.io_growth_bytes(load));
        created.saturating_add(growth)
    }

    /// Size of the I/O set of a classical benchmark at a load when it is made, in bytes.
    pub fn io_bytes(&self, load: OpsPerSec) -> u64 {
        self.io_sums(load).created_bytes
    }
}
