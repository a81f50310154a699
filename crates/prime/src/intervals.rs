//! The seconds of a run, put together from all agents for the live view. A second is
//! told once: when every agent has told its part, or when one is two seconds ahead.

use filermark_model::stats::Interval;
use std::collections::{BTreeMap, BTreeSet};

/// How far the quickest may be ahead of the slowest.
const WAIT: i64 = 2;

/// Seconds under way.
#[derive(Debug, Default)]
pub(crate) struct IntervalMerger {
    agents: BTreeSet<usize>,
    open: BTreeMap<i64, (Interval, BTreeSet<usize>)>,
    /// The last one that was told.
    reported_until: Option<i64>,
}

impl IntervalMerger {
    /// Of these agents.
    pub fn of(agents: &[usize]) -> Self {
        Self {
            agents: agents.iter().copied().collect(),
            ..Self::default()
        }
    }

    /// Takes in one agent's part; gives the seconds that are whole now.
    pub fn add(&mut self, agent: usize, part: &Interval) -> Vec<Interval> {
        if self.reported_until.is_some_and(|told| part.second <= told) {
            return Vec::new();
        }
        let (sum, heard) = self.open.entry(part.second).or_default();
        sum.second = part.second;
        sum.merge(part);
        heard.insert(agent);
        self.take_complete()
    }

    /// This one is lost: nobody waits for it.
    pub fn forget(&mut self, agent: usize) {
        self.agents.remove(&agent);
    }

    /// What is left.
    pub fn end(&mut self) -> Vec<Interval> {
        std::mem::take(&mut self.open)
            .into_values()
            .map(|(sum, _)| sum)
            .collect()
    }

    fn take_complete(&mut self) -> Vec<Interval> {
        let newest = self.open.keys().next_back().copied().unwrap_or(0);
        let mut whole = Vec::new();
        while let Some(first) = self.open.first_entry() {
            let (_, heard) = first.get();
            if !heard.is_superset(&self.agents) && newest.saturating_sub(*first.key()) < WAIT {
                break;
            }
            let (second, (sum, _)) = first.remove_entry();
            self.reported_until = Some(second);
            whole.push(sum);
        }
        whole
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

    fn told(whole: Vec<Interval>) -> Vec<(i64, u64)> {
        whole.iter().map(|i| (i.second, i.success_count)).collect()
    }

    #[test]
    fn a_second_is_told_when_all_have_told_it() {
        let mut seconds = IntervalMerger::of(&[0, 1]);
        assert!(seconds.add(0, &part(-1, 5)).is_empty());
        assert_eq!(told(seconds.add(1, &part(-1, 6))), [(-1, 11)]);
        assert!(seconds.add(1, &part(-1, 9)).is_empty(), "too late");
        seconds.add(0, &part(0, 1));
        seconds.add(0, &part(1, 1));
        assert_eq!(
            told(seconds.add(0, &part(2, 1))),
            [(0, 1)],
            "nobody waits for ever"
        );
        seconds.forget(1);
        assert_eq!(told(seconds.add(0, &part(3, 4))), [(1, 1), (2, 1), (3, 4)]);
        seconds.agents.insert(1);
        seconds.add(0, &part(4, 2));
        assert_eq!(told(seconds.end()), [(4, 2)]);
    }
}
