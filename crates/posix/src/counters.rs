//! What the driver counts beside the operations themselves.

use filermark_driver_kit::tallies;
use filermark_driver_kit::tally::take_counts;
use std::collections::BTreeMap;

tallies! {
    Opens = "opens", "Files opened because no handle was kept, within the operation that needed it.";
    DirOpens = "dir_opens", "Bucket directories opened likewise, for naming only.";
    Fsyncs = "fsyncs", "fsync and msync of transfers that commit.";
    DirectFallbacks = "direct_fallbacks", "Transfers that were to bypass the cache and went through it.";
    ShortReads = "short_reads", "Reads that returned less than was asked, before the end of the file.";
    EarlyEofs = "early_eofs", "Reads that met the end of the file before bytes that had been written.";
    ShortWrites = "short_writes", "Writes that took less than was given.";
    LockWaits = "lock_waits", "Locks that somebody else had at first.";
    ReusedFiles = "reused_files", "Files of an earlier run that had the right size and stayed.";
    CustomStarts = "custom_starts", "Starts of the programs behind custom1 and custom2.";
    CheckedBytes = "checked_bytes", "Bytes read that were compared with what had been written.";
    UndecidedBytes = "undecided_bytes", "Bytes that were to be compared and do not show whether they are right.";
    VerifyErrors = "verify_errors", "Reads whose data was not what had been written.";
}

/// The counters of one shard.
#[derive(Debug)]
pub(crate) struct Counters([u64; NAMES.len()]);

impl Counters {
    pub(crate) fn new() -> Self {
        Self([0; NAMES.len()])
    }

    #[inline]
    pub(crate) fn add(&mut self, tally: Tally) {
        self.add_many(tally, 1);
    }

    #[inline]
    pub(crate) fn add_many(&mut self, tally: Tally, count: u64) {
        self.0[tally as usize] += count;
    }

    /// Adds everything that is not zero to `into`, and begins anew.
    pub(crate) fn take(&mut self, into: &mut BTreeMap<String, u64>) {
        take_counts(NAMES.iter().copied(), &mut self.0, into);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_taken_once() {
        let mut counters = Counters::new();
        counters.add(Tally::Opens);
        counters.add(Tally::VerifyErrors);
        let mut all = BTreeMap::from([("opens".to_owned(), 2)]);
        counters.take(&mut all);
        counters.take(&mut all);
        assert_eq!(all["opens"], 3);
        assert_eq!(all["verify_errors"], 1);
        assert_eq!(all.len(), 2);
    }
}
