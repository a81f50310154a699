//! Sums up what happens often, so that a log has a sentence of it once a minute at most.

use std::collections::BTreeMap;
use std::time::Duration;

/// Least time between two sentences about the same.
const APART: Duration = Duration::from_secs(60);
/// Most things that are told of within a minute; agents can be made up, and whoever counts
/// has sums of his own.
const TOPICS_MAX: usize = 1024;

/// Counts of things by their topic.
#[derive(Debug)]
pub(super) struct LogThrottle<K> {
    entries: BTreeMap<K, Entry>,
}

#[derive(Debug, Default)]
struct Entry {
    /// What may be taken off again is negative.
    sum: i64,
    reported: Option<Duration>,
}

impl<K: Ord + Copy> LogThrottle<K> {
    pub const fn new() -> Self {
        Self {
            entries: BTreeMap::new(),
        }
    }

    /// So many more; or fewer, where what was missing has come late.
    pub fn add(&mut self, topic: K, count: i64) {
        if count == 0 {
            return;
        }
        if self.entries.len() >= TOPICS_MAX && !self.entries.contains_key(&topic) {
            return;
        }
        self.entries.entry(topic).or_default().sum += count;
    }

    /// What is to be said now: topics of which nothing was said for a minute. At the end:
    /// all that was not said yet.
    pub fn due(&mut self, now: Duration, end: bool) -> Vec<(K, u64)> {
        let quiet = |said: Option<Duration>| said.is_none_or(|said| now >= said + APART);
        let mut due = Vec::new();
        for (topic, entry) in &mut self.entries {
            if entry.sum > 0 && (end || quiet(entry.reported)) {
                due.push((*topic, entry.sum.unsigned_abs()));
                *entry = Entry {
                    sum: 0,
                    reported: Some(now),
                };
            }
        }
        self.entries
            .retain(|_, entry| entry.sum != 0 || !quiet(entry.reported));
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn a_sentence_a_minute_with_the_sum() {
        let mut ration = LogThrottle::new();
        ration.add("a", 3);
        ration.add("b", 2);
        ration.add("b", -2);
        assert_eq!(ration.due(s(1), false), [("a", 3)]);
        ration.add("a", 4);
        ration.add("b", 1);
        assert_eq!(ration.due(s(2), false), [("b", 1)]);
        ration.add("a", 5);
        assert_eq!(ration.due(s(60), false), []);
        assert_eq!(ration.due(s(61), false), [("a", 9)]);
        ration.add("a", 1);
        assert_eq!(ration.due(s(62), true), [("a", 1)]);
        assert_eq!(ration.due(s(200), false), []);
        assert!(ration.entries.is_empty());
    }

    #[test]
    fn topics_have_a_limit() {
        let mut ration = LogThrottle::new();
        for topic in 0..5000 {
            ration.add(topic, 1);
        }
        assert_eq!(ration.due(s(0), false).len(), TOPICS_MAX);
    }
}
