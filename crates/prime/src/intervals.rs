//! Merges the seconds of a run from all agents for the live view. A second is complete
//! when every agent has reported its part, or when one is two seconds ahead.

use filermark_model::stats::Interval;
use std::collections::{BTreeMap, BTreeSet};

/// How far the fastest agent may be ahead of the slowest.
const WAIT: i64 = 2;

/// The seconds that are not complete.
#[derive(Debug, Default)]
pub(crate) struct IntervalMerger {
    agents: BTreeSet<usize>,
    open: BTreeMap<i64, (Interval, BTreeSet<usize>)>,
    /// The last one that was returned.
    last_complete: Option<i64>,
}

impl IntervalMerger {
    /// For these agents.
    pub fn of(agents: &[usize]) -> Self {
        Self {
            agents: agents.iter().copied().collect(),
            ..Self::default()
        }
    }

    /// Adds one agent's part; returns the seconds that are now complete.
    pub fn add(&mut self, agent: usize, part: &Interval) -> Vec<Interval> {
        if self.last_complete.is_some_and(|last| part.second <= last) {
            return Vec::new();
        }
        let (sum, reporters) = self.open.entry(part.second).or_default();
        sum.second = part.second;
        sum.merge(part);
        reporters.insert(agent);
        self.take_complete()
    }

    /// The agent is lost: its parts are not waited for any more.
    pub fn forget(&mut self, agent: usize) {
        self.agents.remove(&agent);
    }

    /// At the end of the load point: the seconds that are still incomplete.
    pub fn end(&mut self) -> Vec<Interval> {
        std::mem::take(&mut self.open)
            .into_values()
            .map(|(sum, _)| sum)
            .collect()
    }

    fn take_complete(&mut self) -> Vec<Interval> {
        let newest = self.open.keys().next_back().copied().unwrap_or(0);
        let mut complete = Vec::new();
        while let Some(first) = self.open.first_entry() {
            let (_, reporters) = first.get();
            if !reporters.is_superset(&self.agents) && newest.saturating_sub(*first.key()) < WAIT {
                break;
            }
            let (second, (sum, _)) = first.remove_entry();
            self.last_complete = Some(second);
            complete.push(sum);
        }
        complete
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(second: i64, success_count: u64) -> Interval {
        Interval {
            second,
            success_count,
            ..Interval::default()
        }
    }

    fn counts(complete: Vec<Interval>) -> Vec<(i64, u64)> {
        complete
            .iter()
            .map(|i| (i.second, i.success_count))
            .collect()
    }

    #[test]
    fn a_second_is_complete_when_all_agents_have_reported_it() {
        let mut seconds = IntervalMerger::of(&[0, 1]);
        assert!(seconds.add(0, &part(-1, 5)).is_empty());
        assert_eq!(counts(seconds.add(1, &part(-1, 6))), [(-1, 11)]);
        assert!(seconds.add(1, &part(-1, 9)).is_empty(), "too late");
        seconds.add(0, &part(0, 1));
        seconds.add(0, &part(1, 1));
        assert_eq!(
            counts(seconds.add(0, &part(2, 1))),
            [(0, 1)],
            "the wait is limited"
        );
        seconds.forget(1);
        assert_eq!(
            counts(seconds.add(0, &part(3, 4))),
            [(1, 1), (2, 1), (3, 4)]
        );
        seconds.agents.insert(1);
        seconds.add(0, &part(4, 2));
        assert_eq!(counts(seconds.end()), [(4, 2)]);
    }
}
