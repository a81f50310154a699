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
    open: BTreeMap<i64, OpenSecond>,
    /// The last one that was returned.
    last_complete: Option<i64>,
}

/// A second that is not complete.
#[derive(Debug)]
struct OpenSecond {
    sum: Interval,
    reporters: BTreeSet<usize>,
    /// Agents that have not reported it.
    missing_count: usize,
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
        let open = self.open.entry(part.second).or_insert_with(|| OpenSecond {
            sum: Interval {
                second: part.second,
                ..Interval::default()
            },
            reporters: BTreeSet::new(),
            missing_count: self.agents.len(),
        });
        open.sum.merge(part);
        if open.reporters.insert(agent) && self.agents.contains(&agent) {
            open.missing_count -= 1;
        }
        self.take_complete()
    }

    /// The agent is lost: its parts are not waited for any more.
    pub fn forget(&mut self, agent: usize) {
        if self.agents.remove(&agent) {
            let open = self.open.values_mut();
            for open in open.filter(|open| !open.reporters.contains(&agent)) {
                open.missing_count -= 1;
            }
        }
    }

    /// At the end of the load point: the seconds that are still incomplete.
    pub fn end(&mut self) -> Vec<Interval> {
        std::mem::take(&mut self.open)
            .into_values()
            .map(|open| open.sum)
            .collect()
    }

    fn take_complete(&mut self) -> Vec<Interval> {
        let newest = self.open.keys().next_back().copied().unwrap_or(0);
        let mut complete = Vec::new();
        while let Some(first) = self.open.first_entry() {
            let is_complete = first.get().missing_count == 0;
            if !is_complete && newest.saturating_sub(*first.key()) < WAIT {
                break;
            }
            let (second, open) = first.remove_entry();
            self.last_complete = Some(second);
            complete.push(open.sum);
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

    #[test]
    fn an_agent_counts_once_and_a_lost_one_not_at_all() {
        let mut seconds = IntervalMerger::of(&[0, 1, 2]);
        assert!(seconds.add(0, &part(0, 1)).is_empty());
        assert!(seconds.add(0, &part(0, 1)).is_empty(), "the same again");
        assert!(seconds.add(7, &part(0, 1)).is_empty(), "not one of them");
        seconds.forget(0);
        assert!(seconds.add(0, &part(0, 1)).is_empty(), "it is lost");
        seconds.forget(2);
        seconds.forget(2);
        assert_eq!(counts(seconds.add(1, &part(0, 1))), [(0, 5)]);
    }
}
