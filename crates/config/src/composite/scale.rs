//! Auto-scaling: file sizes that follow from memory (manual N, sections 5, 10 and 13).
//!
//! The files of one bucket of a proc (directories x files per directory) are
//! made as large as the larger of two shares: the client's memory over its
//! procs, and the adjustable aggregate data set over all procs. The size is
//! rounded up to 8 KiB. That gives the 528 KiB of section 13 and the 352 KiB of
//! section 19. The totals that those sections print count 5 and 6 such buckets with
//! data, those that METADATA moves data in; the 2014 generation counts 11 and 12
//! (sources.md 3.7), see `MadeBuckets`.

/// File sizes are whole multiples of this, in bytes.
const STEP_BYTES: u64 = 8 << 10;
/// netmist's values of CLIENT_MEM and AGGR_CAP where they are not set (sources.md 3.1).
pub(crate) const MEM_BYTES_DEFAULT: u64 = 1 << 30;

/// The figures that file sizes are scaled by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Scale {
    /// Memory of a client, in bytes.
    pub client_mem_bytes: u64,
    /// Least data of all procs together, in bytes.
    pub aggregate_bytes: u64,
    /// Procs that share a client's memory.
    pub procs_per_client: u64,
    /// Procs in the run.
    pub procs: u64,
}

impl Scale {
    /// Memory per proc, in bytes.
    pub fn mem_per_proc(self) -> u64 {
        self.client_mem_bytes / self.procs_per_client.max(1)
    }

    /// The file size in bytes, for so many files in a bucket of a proc.
    pub fn file_bytes(self, files_per_bucket: u64) -> u64 {
        let aggregate = self.aggregate_bytes / self.procs.max(1);
        let per_proc = self.mem_per_proc().max(aggregate);
        let file = per_proc.div_ceil(files_per_bucket.max(1)).max(1);
        file.div_ceil(STEP_BYTES).saturating_mul(STEP_BYTES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIB: u64 = 1 << 10;
    const GIB: u64 = 1 << 30;

    #[test]
    fn the_file_sizes_of_the_manuals_examples() {
        // Section 13: 10 procs, 2 on each of 5 clients of 1 GiB, 10 x 100 files.
        let section_13 = Scale {
            client_mem_bytes: GIB,
            aggregate_bytes: GIB,
            procs_per_client: 2,
            procs: 10,
        };
        assert_eq!(section_13.mem_per_proc(), 512 << 20);
        assert_eq!(section_13.file_bytes(1000), 528 * KIB);
        // Section 19: 5 GiB of memory; 15 procs on the client fit its 352 kbytes.
        let section_19 = Scale {
            client_mem_bytes: 5 * GIB,
            procs_per_client: 15,
            ..section_13
        };
        assert_eq!(section_19.file_bytes(1000), 352 * KIB);
        // The appendix's VDA: -b #g -d #, one file of 1 GiB per bucket.
        let vda = Scale {
            client_mem_bytes: 7 * GIB,
            aggregate_bytes: 7 * GIB,
            procs_per_client: 7,
            procs: 28,
        };
        assert_eq!(vda.file_bytes(1), GIB);
    }

    #[test]
    fn the_larger_share_counts_and_extreme_figures_are_accepted() {
        let scale = Scale {
            client_mem_bytes: GIB,
            aggregate_bytes: 100 * GIB,
            procs_per_client: 1,
            procs: 10,
        };
        assert_eq!(scale.file_bytes(1), 10 * GIB);
        let odd = Scale {
            client_mem_bytes: u64::MAX,
            aggregate_bytes: 0,
            procs_per_client: 0,
            procs: 0,
        };
        assert_eq!(odd.file_bytes(0), u64::MAX);
        assert_eq!(odd.file_bytes(u64::MAX), 8 * KIB);
    }
}
