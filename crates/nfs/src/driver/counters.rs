//! Counters of the driver besides the operations themselves.

use crate::version2;
use filermark_driver_kit::tally::take_counts;
use filermark_model::counter::COMPOUNDS;
pub(crate) use filermark_model::plan::NfsCounter as Tally;
use filermark_model::plan::NfsVersion;
use filermark_onc::nfs3::Procedure;
use filermark_onc::nfs4::Operation;
use std::collections::BTreeMap;

/// The counters of one shard.
#[derive(Debug)]
pub(crate) struct Counters {
    version: NfsVersion,
    procedures: [u64; Procedure::COUNT],
    /// Version 4: COMPOUNDs, and the operations in them.
    compounds: u64,
    operations: [u64; Operation::COUNT],
    tallies: [u64; Tally::COUNT],
}

/// The values of [`Counters`] at some time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counted {
    procedures: [u64; Procedure::COUNT],
    tallies: [u64; Tally::COUNT],
}

impl Counters {
    /// Counters with the procedure names of `version`.
    pub(crate) fn new(version: NfsVersion) -> Self {
        Self {
            version,
            procedures: [0; Procedure::COUNT],
            compounds: 0,
            operations: [0; Operation::COUNT],
            tallies: [0; Tally::COUNT],
        }
    }

    /// Counts a call that is sent for the first time.
    #[inline]
    pub(crate) fn call(&mut self, procedure: Procedure) {
        self.procedures[procedure as usize] += 1;
    }

    /// Counts a COMPOUND with these operations that is sent for the first time.
    #[inline]
    pub(crate) fn compound(&mut self, operations: &[Operation]) {
        self.compounds += 1;
        for operation in operations {
            if let Some(count) = self.operations.get_mut(place_of(*operation)) {
                *count += 1;
            }
        }
    }

    #[inline]
    pub(crate) fn add(&mut self, tally: Tally) {
        self.add_many(tally, 1);
    }

    #[inline]
    pub(crate) fn add_many(&mut self, tally: Tally, count: u64) {
        self.tallies[tally as usize] += count;
    }

    /// The current values.
    pub(crate) fn values(&self) -> Counted {
        Counted {
            procedures: self.procedures,
            tallies: self.tallies,
        }
    }

    /// Discards what was counted since the end of RUN, at which the values were `before`,
    /// except for the outcome of its writes. Of version 4 the CLOSEs belong to RUN, too.
    pub(crate) fn discard_after_run(&mut self, before: &Counted) {
        let since = std::mem::replace(&mut self.tallies, before.tallies);
        let commits = self.procedures[Procedure::Commit as usize];
        self.procedures = before.procedures;
        self.procedures[Procedure::Commit as usize] = commits;
        for kept in [
            Tally::WriteCommits,
            Tally::EndCommits,
            Tally::CommitFailures,
            Tally::UncommittedWrites,
            Tally::DelegationsRecalled,
            Tally::DelegationsReturned,
            Tally::DelegationsRevoked,
            Tally::LayoutsRecalled,
            Tally::LayoutsReturned,
            Tally::LayoutsLost,
            Tally::DataServerCommits,
        ] {
            self.tallies[kept as usize] = since[kept as usize];
        }
        let lost = Tally::LostWrites as usize;
        self.add_many(Tally::EndLostWrites, since[lost] - before.tallies[lost]);
    }

    /// Adds all counters that are not zero to `into`, and resets them.
    pub(crate) fn take(&mut self, into: &mut BTreeMap<String, u64>) {
        let version = self.version;
        let procedures = Procedure::ALL.iter();
        let procedures = procedures.map(|p| version2::procedure_name(version, *p));
        take_counts(procedures, &mut self.procedures, into);
        let operations = Operation::ALL.iter().map(|o| o.name());
        take_counts(operations, &mut self.operations, into);
        let compounds = std::slice::from_mut(&mut self.compounds);
        take_counts([COMPOUNDS], compounds, into);
        take_counts(Tally::ALL.iter().map(|c| c.name), &mut self.tallies, into);
    }
}

/// The place of an operation in [`Operation::ALL`]: the numbers follow each other, but for
/// ILLEGAL, which is never sent.
const fn place_of(operation: Operation) -> usize {
    (operation.to_u32() - Operation::ALL[0].to_u32()) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_counter_has_a_declaration_or_is_a_procedure() {
        for version in [NfsVersion::V2, NfsVersion::V3] {
            let mut counters = Counters::new(version);
            counters.procedures.fill(1);
            counters.tallies.fill(1);
            let mut all = BTreeMap::new();
            counters.take(&mut all);
            for declared in Tally::ALL {
                assert_eq!(all.remove(declared.name), Some(1), "{}", declared.name);
            }
            let procedures = Procedure::ALL.iter();
            let names = procedures.map(|p| version2::procedure_name(version, *p));
            assert!(names.clone().all(|name| all.contains_key(name)));
            assert!(
                all.keys()
                    .all(|name| names.clone().any(|known| known == name))
            );
        }
    }

    #[test]
    fn counters_are_taken_once() {
        let mut counters = Counters::new(NfsVersion::V3);
        counters.call(Procedure::Commit);
        counters.add(Tally::VerifyErrors);
        counters.add(Tally::VerifyErrors);
        let mut all = BTreeMap::from([("COMMIT".to_owned(), 2)]);
        counters.take(&mut all);
        counters.take(&mut all);
        assert_eq!(all["COMMIT"], 3);
        assert_eq!(all["verify_errors"], 2);
        assert_eq!(all.len(), 2);
        let mut counters = Counters::new(NfsVersion::V2);
        counters.call(Procedure::Fsstat);
        counters.take(&mut all);
        assert_eq!(all["STATFS"], 1);
    }
}
