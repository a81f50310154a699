//! How long the reply to a call may take, by how often the call was sent.

use super::calls::STAGES;
use filermark_model::Nanos;

/// How long a reply may take, one wait per stage.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReplyTimeouts {
    stages: [Nanos; STAGES],
    last: u8,
}

impl ReplyTimeouts {
    /// Always the same.
    pub(crate) const fn constant(wait: Nanos) -> Self {
        Self {
            stages: [wait; STAGES],
            last: 0,
        }
    }

    /// `first`, doubled with each stage up to `most`.
    pub(crate) fn doubling(first: Nanos, most: Nanos) -> Self {
        let mut waits = Self::constant(first.min(most));
        for stage in 1..STAGES {
            let before = waits.stages[stage - 1];
            if before >= most {
                break;
            }
            waits.stages[stage] = Nanos(before.0.saturating_mul(2)).min(most);
            waits.last = stage as u8;
        }
        waits
    }

    /// The wait of this stage.
    #[inline]
    pub(crate) fn of(&self, stage: u8) -> Nanos {
        self.stages[usize::from(stage.min(self.last))]
    }

    /// The stage behind this one; the last one is its own.
    pub(crate) fn after(&self, stage: u8) -> u8 {
        stage.saturating_add(1).min(self.last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_most_and_stay_there() {
        let waits = ReplyTimeouts::doubling(Nanos(1_100), Nanos(10_000));
        let seen: Vec<u64> = (0..8).map(|stage| waits.of(stage).0).collect();
        assert_eq!(
            seen,
            [1_100, 2_200, 4_400, 8_800, 10_000, 10_000, 10_000, 10_000]
        );
        assert_eq!(
            (waits.after(0), waits.after(4), waits.after(200)),
            (1, 4, 4)
        );
        let short = ReplyTimeouts::doubling(Nanos(5_000), Nanos(3_000));
        assert_eq!((short.of(0), short.of(9)), (Nanos(3_000), Nanos(3_000)));
        assert_eq!(short.after(0), 0);
        let long = ReplyTimeouts::doubling(Nanos(1), Nanos::MAX);
        assert_eq!(long.after(u8::MAX), STAGES as u8 - 1);
    }
}
