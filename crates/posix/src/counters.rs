//! What the driver counts beside the operations themselves.

use filermark_driver_kit::tally::take_counts;
pub(crate) use filermark_model::plan::PosixCounter as Tally;
use std::collections::BTreeMap;

/// The counters of one shard.
#[derive(Debug)]
pub(crate) struct Counters([u64; Tally::COUNT]);

impl Counters {
    pub(crate) fn new() -> Self {
        Self([0; Tally::COUNT])
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
        take_counts(Tally::ALL.iter().map(|c| c.name), &mut self.0, into);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_counter_has_a_declaration() {
        let mut counters = Counters::new();
        counters.0.fill(1);
        let mut all = BTreeMap::new();
        counters.take(&mut all);
        let declared = Tally::ALL
            .iter()
            .map(|counter| (counter.name.to_owned(), 1));
        assert_eq!(all, declared.collect());
    }

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
