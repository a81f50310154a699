//! Sums up frequent events, so that a log has each at most once a minute.

use std::collections::BTreeMap;
use std::time::Duration;

/// Least time between two events of a topic.
const APART: Duration = Duration::from_secs(60);
/// Most topics within a minute, since agents can be forged. The totals are counted elsewhere.
const TOPICS_MAX: usize = 1024;

/// Counts of things by their topic.
#[derive(Debug)]
pub(super) struct LogThrottle<K> {
    entries: BTreeMap<K, Entry>,
}

#[derive(Debug, Default)]
struct Entry {
    /// Negative where counts were subtracted.
    sum: i64,
    reported: Option<Duration>,
}

impl<K: Ord + Copy> LogThrottle<K> {
    pub const fn new() -> Self {
        Self {
            entries: BTreeMap::new(),
        }
    }

    /// Adds to the sum of a topic; negative for datagrams that arrived late.
    pub fn add(&mut self, topic: K, count: i64) {
        if count == 0 {
            return;
        }
        if self.entries.len() >= TOPICS_MAX && !self.entries.contains_key(&topic) {
            return;
        }
        self.entries.entry(topic).or_default().sum += count;
    }

    /// The sums to be reported now: topics without an event for a minute. At the end: all that
    /// were not reported yet.
    pub fn due(&mut self, now: Duration, end: bool) -> Vec<(K, u64)> {
        let is_due = |reported: Option<Duration>| reported.is_none_or(|at| now >= at + APART);
        let mut due = Vec::new();
        for (topic, entry) in &mut self.entries {
            if entry.sum > 0 && (end || is_due(entry.reported)) {
                due.push((*topic, entry.sum.unsigned_abs()));
                *entry = Entry {
                    sum: 0,
                    reported: Some(now),
                };
            }
        }
        self.entries
            .retain(|_, entry| entry.sum != 0 || !is_due(entry.reported));
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
    fn a_topic_is_reported_once_a_minute_with_its_sum() {
        let mut throttle = LogThrottle::new();
        throttle.add("a", 3);
        throttle.add("b", 2);
        throttle.add("b", -2);
        assert_eq!(throttle.due(s(1), false), [("a", 3)]);
        throttle.add("a", 4);
        throttle.add("b", 1);
        assert_eq!(throttle.due(s(2), false), [("b", 1)]);
        throttle.add("a", 5);
        assert_eq!(throttle.due(s(60), false), []);
        assert_eq!(throttle.due(s(61), false), [("a", 9)]);
        throttle.add("a", 1);
        assert_eq!(throttle.due(s(62), true), [("a", 1)]);
        assert_eq!(throttle.due(s(200), false), []);
        assert!(throttle.entries.is_empty());
    }

    #[test]
    fn topics_have_a_limit() {
        let mut throttle = LogThrottle::new();
        for topic in 0..5000 {
            throttle.add(topic, 1);
        }
        assert_eq!(throttle.due(s(0), false).len(), TOPICS_MAX);
    }
}
