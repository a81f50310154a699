//! Counters of the driver besides the operations themselves.

use super::calls::Kind;
use filermark_driver_kit::tally::take_counts;
pub(crate) use filermark_model::plan::SmbCounter as Tally;
use std::collections::BTreeMap;

/// Names of the kinds of calls, in the order of the enum.
const KINDS: [&str; 18] = [
    "ECHO",
    "OPEN",
    "CLOSE",
    "READ",
    "WRITE",
    "FLUSH",
    "LOCK",
    "QUERY_FILE",
    "QUERY_SECURITY",
    "SET_TIMES",
    "SET_SIZE",
    "SET_DELETE",
    "QUERY_PATH",
    "QUERY_FS",
    "FIND",
    "MAKE_DIR",
    "REMOVE_FILE",
    "REMOVE_DIR",
];

/// The counters of one shard.
#[derive(Debug)]
pub(crate) struct Counters {
    kinds: [u64; KINDS.len()],
    tallies: [u64; Tally::COUNT],
}

impl Counters {
    pub(crate) fn new() -> Self {
        Self {
            kinds: [0; KINDS.len()],
            tallies: [0; Tally::COUNT],
        }
    }

    /// Counts a call that is sent.
    #[inline]
    pub(crate) fn call(&mut self, kind: Kind) {
        self.kinds[kind as usize] += 1;
    }

    #[inline]
    pub(crate) fn add(&mut self, tally: Tally) {
        self.add_many(tally, 1);
    }

    #[inline]
    pub(crate) fn add_many(&mut self, tally: Tally, count: u64) {
        self.tallies[tally as usize] += count;
    }

    /// Adds counters with these names, and resets them.
    pub(crate) fn take_named(
        names: &[String],
        counts: &mut [u64],
        into: &mut BTreeMap<String, u64>,
    ) {
        take_counts(names.iter().map(String::as_str), counts, into);
    }

    /// Adds all counters that are not zero to `into`, and resets them.
    pub(crate) fn take(&mut self, into: &mut BTreeMap<String, u64>) {
        take_counts(KINDS, &mut self.kinds, into);
        take_counts(Tally::ALL.iter().map(|c| c.name), &mut self.tallies, into);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_counter_has_a_declaration_or_is_a_kind_of_call() {
        let mut counters = Counters::new();
        counters.kinds.fill(1);
        counters.tallies.fill(1);
        let mut all = BTreeMap::new();
        counters.take(&mut all);
        for declared in Tally::ALL {
            assert_eq!(all.remove(declared.name), Some(1), "{}", declared.name);
        }
        assert_eq!(all.len(), KINDS.len());
        assert!(KINDS.iter().all(|kind| all.contains_key(*kind)));
    }
}
