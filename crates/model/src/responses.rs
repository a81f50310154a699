//! Response times of one second, counted by bucket and by group of operations: live figures for
//! the metrics of a run. Fixed memory, merges exactly.

use crate::op::OpGroup;
use serde::de::{Error as _, SeqAccess, Visitor};
use serde::ser::SerializeSeq;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// The upper bounds of the buckets in nanoseconds, inclusive; one more bucket has the rest.
pub const BOUNDS_NS: [u64; 19] = {
    const US: u64 = 1_000;
    const MS: u64 = 1_000_000;
    const S: u64 = 1_000_000_000;
    [
        50 * US,
        100 * US,
        200 * US,
        500 * US,
        MS,
        2 * MS,
        5 * MS,
        10 * MS,
        20 * MS,
        50 * MS,
        100 * MS,
        200 * MS,
        500 * MS,
        S,
        2 * S,
        5 * S,
        10 * S,
        30 * S,
        60 * S,
    ]
};

/// The number of buckets.
pub const BUCKET_COUNT: usize = BOUNDS_NS.len() + 1;

/// Counts by bucket. Zeros at the end are not written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BucketCounts(pub [u32; BUCKET_COUNT]);

/// The response times of the operations of one group that succeeded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupResponses {
    /// Their sum, in nanoseconds.
    pub sum_ns: u64,
    /// How many lie in each bucket.
    pub counts: BucketCounts,
}

/// The response times of all groups. Groups without operations are not written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Responses {
    /// Of [`OpGroup::Lookups`].
    #[serde(skip_serializing_if = "GroupResponses::is_empty")]
    pub lookups: GroupResponses,
    /// Of [`OpGroup::Reads`].
    #[serde(skip_serializing_if = "GroupResponses::is_empty")]
    pub reads: GroupResponses,
    /// Of [`OpGroup::Writes`].
    #[serde(skip_serializing_if = "GroupResponses::is_empty")]
    pub writes: GroupResponses,
    /// Of [`OpGroup::Changes`].
    #[serde(skip_serializing_if = "GroupResponses::is_empty")]
    pub changes: GroupResponses,
}

impl Responses {
    /// Counts a response time in nanoseconds.
    #[inline]
    pub fn count(&mut self, group: OpGroup, response_ns: u64) {
        let group = self.group_mut(group);
        group.sum_ns = group.sum_ns.saturating_add(response_ns);
        let count = &mut group.counts.0[bucket(response_ns)];
        *count = count.saturating_add(1);
    }

    /// Those of a group.
    pub const fn group(&self, group: OpGroup) -> &GroupResponses {
        match group {
            OpGroup::Lookups => &self.lookups,
            OpGroup::Reads => &self.reads,
            OpGroup::Writes => &self.writes,
            OpGroup::Changes => &self.changes,
        }
    }

    const fn group_mut(&mut self, group: OpGroup) -> &mut GroupResponses {
        match group {
            OpGroup::Lookups => &mut self.lookups,
            OpGroup::Reads => &mut self.reads,
            OpGroup::Writes => &mut self.writes,
            OpGroup::Changes => &mut self.changes,
        }
    }

    /// Adds those of another shard or client.
    pub fn merge(&mut self, other: &Self) {
        for group in OpGroup::ALL {
            let (mine, theirs) = (self.group_mut(group), other.group(group));
            mine.sum_ns = mine.sum_ns.saturating_add(theirs.sum_ns);
            for (mine, theirs) in mine.counts.0.iter_mut().zip(theirs.counts.0) {
                *mine = mine.saturating_add(theirs);
            }
        }
    }

    /// Whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        OpGroup::ALL.iter().all(|g| self.group(*g).is_empty())
    }

    /// How many response times were counted.
    pub fn success_count(&self) -> u64 {
        let counts = OpGroup::ALL.map(|g| self.group(g).counts.0);
        counts.iter().flatten().map(|n| u64::from(*n)).sum()
    }

    /// Their sum in nanoseconds.
    pub fn sum_ns(&self) -> u64 {
        let sums = OpGroup::ALL.map(|g| self.group(g).sum_ns);
        sums.into_iter().fold(0, u64::saturating_add)
    }
}

impl GroupResponses {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The bucket of a response time.
#[inline]
fn bucket(response_ns: u64) -> usize {
    BOUNDS_NS.partition_point(|bound| *bound < response_ns)
}

impl Serialize for BucketCounts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let len = self.0.iter().rposition(|n| *n > 0).map_or(0, |at| at + 1);
        let mut seq = serializer.serialize_seq(Some(len))?;
        for count in &self.0[..len] {
            seq.serialize_element(count)?;
        }
        seq.end()
    }
}

impl<'de> Deserialize<'de> for BucketCounts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(CountsVisitor)
    }
}

struct CountsVisitor;

impl<'de> Visitor<'de> for CountsVisitor {
    type Value = BucketCounts;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at most {BUCKET_COUNT} counts")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<BucketCounts, A::Error> {
        let mut counts = BucketCounts::default();
        let mut len = 0;
        while let Some(count) = seq.next_element()? {
            let place = counts.0.get_mut(len);
            *place.ok_or_else(|| A::Error::invalid_length(len + 1, &self))? = count;
            len += 1;
        }
        Ok(counts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_response_time_is_in_the_first_bucket_that_includes_it() {
        assert!(BOUNDS_NS.is_sorted());
        for (response_ns, wanted) in [
            (0, 0),
            (50_000, 0),
            (50_001, 1),
            (1_000_000, 4),
            (60_000_000_000, 18),
            (60_000_000_001, 19),
            (u64::MAX, 19),
        ] {
            assert_eq!(bucket(response_ns), wanted, "{response_ns}");
        }
    }

    #[test]
    fn counts_of_shards_merge_and_do_not_overflow() {
        let mut all = Responses::default();
        assert!(all.is_empty());
        all.count(OpGroup::Reads, 60_000);
        let mut other = Responses::default();
        other.count(OpGroup::Reads, 70_000);
        other.count(OpGroup::Changes, u64::MAX);
        all.merge(&other);
        assert_eq!(all.reads.sum_ns, 130_000);
        assert_eq!(all.reads.counts.0[..3], [0, 2, 0]);
        assert_eq!((all.success_count(), all.sum_ns()), (3, u64::MAX));
        other.reads.counts.0 = [u32::MAX; BUCKET_COUNT];
        all.merge(&other);
        assert_eq!(all.reads.counts.0[1], u32::MAX);
    }

    #[test]
    fn only_what_was_counted_is_written_and_longer_lists_are_refused() {
        let mut some = Responses::default();
        assert_eq!(serde_json::to_string(&some).unwrap(), "{}");
        some.count(OpGroup::Writes, 150_000);
        let text = serde_json::to_string(&some).unwrap();
        assert_eq!(text, r#"{"writes":{"sum_ns":150000,"counts":[0,0,1]}}"#);
        assert_eq!(serde_json::from_str::<Responses>(&text).unwrap(), some);
        let long = format!(
            r#"{{"reads":{{"sum_ns":1,"counts":[{}1]}}}}"#,
            "0,".repeat(20)
        );
        let why = serde_json::from_str::<Responses>(&long).unwrap_err();
        assert!(why.to_string().contains("at most 20 counts"), "{why}");
        for bad in [r#"{"reads":{"sum_ns":1,"counts":[-1]}}"#, r#"{"reads":[]}"#] {
            assert!(serde_json::from_str::<Responses>(bad).is_err(), "{bad}");
        }
    }
}
