//! The oldest write of a proc that may be under way, in constant memory.
//!
//! Writes belong to cohorts. New writes join one cohort, while the one before only loses members;
//! when that is empty, the next write begins a new cohort. So the result is exact while one write
//! at a time is under way, and never newer than the oldest one. Where writes always overlap, it is
//! at most two cohorts old: it is newer than every write that had ended when the oldest member of
//! the older cohort began.

/// Writes under way, or of unknown outcome.
#[derive(Clone, Copy, Debug, Default)]
struct Cohort {
    count: u64,
    /// The oldest generation of those that joined it.
    oldest: u64,
}

impl Cohort {
    fn join(&mut self, generation: u64) {
        self.oldest = match self.count {
            0 => generation,
            _ => self.oldest.min(generation),
        };
        self.count += 1;
    }

    fn leave(&mut self) {
        self.count = self.count.saturating_sub(1);
    }

    fn oldest(&self) -> Option<u64> {
        (self.count > 0).then_some(self.oldest)
    }
}

/// The cohort that a write has joined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct CohortNumber(u8);

/// The writes of a proc that are under way, or of unknown outcome.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OpenWrites {
    cohorts: [Cohort; 2],
    /// The one that new writes join.
    joined: CohortNumber,
    /// Writes whose data is sent again.
    again: Cohort,
}

impl OpenWrites {
    /// Whether none is under way.
    pub(super) fn is_empty(&self) -> bool {
        self.oldest().is_none()
    }

    /// A write begins.
    #[inline]
    pub(super) fn begin(&mut self, generation: u64) -> CohortNumber {
        let other = CohortNumber(1 - self.joined.0);
        if self.cohorts[usize::from(other.0)].count == 0 {
            self.joined = other;
        }
        self.cohorts[usize::from(self.joined.0)].join(generation);
        self.joined
    }

    /// A write has ended for certain.
    #[inline]
    pub(super) fn end(&mut self, of: CohortNumber) {
        self.cohorts[usize::from(of.0)].leave();
    }

    /// Data of a write that had ended is sent again.
    pub(super) fn begin_again(&mut self, generation: u64) {
        self.again.join(generation);
    }

    /// Data that was sent again has arrived.
    pub(super) fn end_again(&mut self) {
        self.again.leave();
    }

    /// No older write is under way.
    #[inline]
    pub(super) fn oldest(&self) -> Option<u64> {
        let [first, second] = self.cohorts.map(|cohort| cohort.oldest());
        [first, second, self.again.oldest()]
            .into_iter()
            .flatten()
            .min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn one_write_at_a_time_is_the_oldest() {
        let mut open = OpenWrites::default();
        for generation in 1..10 {
            assert!(open.is_empty());
            let cohort = open.begin(generation);
            assert_eq!(open.oldest(), Some(generation));
            open.end(cohort);
        }
    }

    #[test]
    fn data_that_is_sent_again_is_under_way() {
        let mut open = OpenWrites::default();
        let cohort = open.begin(9);
        open.begin_again(4);
        assert_eq!(open.oldest(), Some(4));
        open.end(cohort);
        assert_eq!(open.oldest(), Some(4));
        open.end_again();
        assert!(open.is_empty());
    }

    proptest! {
        /// Never newer than the oldest one under way, and, if none of them takes longer than
        /// `depth` others, not older than a few turns of the queue.
        #[test]
        fn writes_that_always_overlap(depth in 2_usize..40, ends in prop::collection::vec(any::<prop::sample::Index>(), 400)) {
            let mut open = OpenWrites::default();
            let mut under_way: Vec<(u64, CohortNumber)> = Vec::new();
            let mut last = 0;
            for end in ends {
                while under_way.len() < depth {
                    last += 1;
                    under_way.push((last, open.begin(last)));
                }
                let exact = under_way.iter().map(|w| w.0).min().expect("some");
                let oldest = open.oldest().expect("some");
                prop_assert!(oldest <= exact);
                prop_assert!(last - oldest <= 5 * depth as u64, "{oldest} of {exact}, {last}");
                // The oldest one ends if it is late, else any.
                let place = match last - exact >= 2 * depth as u64 {
                    true => under_way.iter().position(|w| w.0 == exact).expect("some"),
                    false => end.index(under_way.len()),
                };
                let (_, cohort) = under_way.remove(place);
                open.end(cohort);
            }
        }
    }
}
