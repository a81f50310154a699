//! The lateness of each check of the watchdog.

use super::is_gap;
use filermark_model::Nanos;
use filermark_model::stall::Stalls;

/// The gaps between checks. Reads no clock: the time is an argument.
#[derive(Debug)]
pub(super) struct StallDetector {
    run_start: Nanos,
    /// When the next check is due.
    due: Nanos,
    /// Most that the host is known to have been suspended.
    suspended: Nanos,
    stalls: Stalls,
}

impl StallDetector {
    /// What lies before `run_start` is not counted. `suspended` is how long the host
    /// had been suspended before.
    pub(super) fn new(run_start: Nanos, due: Nanos, suspended: Nanos) -> Self {
        Self {
            run_start,
            due,
            suspended,
            stalls: Stalls::default(),
        }
    }

    /// Sets the start of RUN, as it is known now.
    pub(super) fn begin_run_at(&mut self, run_start: Nanos) {
        self.run_start = run_start;
    }

    pub(super) fn run_start(&self) -> Nanos {
        self.run_start
    }

    /// Sets when the next check is due.
    pub(super) fn expect(&mut self, due: Nanos) {
        self.due = due;
    }

    /// A check at `now`; by then the host has been suspended so long in all. The clock
    /// of `now` stood meanwhile.
    pub(super) fn check(&mut self, now: Nanos, suspended: Nanos) {
        let slept = suspended.since(self.suspended);
        self.suspended = self.suspended.max(suspended);
        let late = now.since(self.due);
        if now < self.run_start || !is_gap(late + slept) {
            return;
        }
        let in_run = now.since(self.due.max(self.run_start));
        let gap = in_run + slept;
        let stalls = &mut self.stalls;
        stalls.gap_count += 1;
        stalls.gap_sum_ns = stalls.gap_sum_ns.saturating_add(gap.0);
        stalls.gap_max_ns = stalls.gap_max_ns.max(gap.0);
        stalls.suspended_ns = stalls.suspended_ns.saturating_add(slept.0);
    }

    pub(super) fn stalls(&self) -> Stalls {
        self.stalls
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Nanos {
        Nanos::from_millis(ms)
    }

    /// The stalls of checks at these times, each due 10 ms after the one before; RUN
    /// begins at 1,000 ms.
    fn seen(checks_ms: &[u64]) -> Stalls {
        let mut gaps = StallDetector::new(ms(1_000), ms(checks_ms[0]), ms(7));
        for at in checks_ms {
            gaps.check(ms(*at), ms(7));
            gaps.expect(ms(at + 10));
        }
        gaps.stalls()
    }

    #[test]
    fn what_is_late_by_more_than_fifty_milliseconds_is_a_gap() {
        assert_eq!(seen(&[1_000, 1_010, 1_070, 1_130]), Stalls::default());
        let stalls = seen(&[1_000, 1_010, 1_071, 1_081, 3_091, 3_101]);
        assert_eq!(
            (stalls.gap_count, stalls.gap_sum_ns, stalls.gap_max_ns),
            (2, ms(51 + 2_000).0, ms(2_000).0)
        );
        assert_eq!(stalls.suspended_ns, 0);
    }

    #[test]
    fn of_a_gap_that_begins_in_warmup_only_the_part_in_run_counts() {
        assert_eq!(seen(&[0, 500, 510, 990]), Stalls::default(), "all before");
        let stalls = seen(&[0, 510, 1_200]);
        assert_eq!((stalls.gap_count, stalls.gap_sum_ns), (1, ms(200).0));
    }

    #[test]
    fn a_suspension_is_a_gap_though_the_clock_stood() {
        let mut gaps = StallDetector::new(ms(0), ms(10), ms(100));
        // Read too small once: nothing was suspended.
        gaps.check(ms(10), ms(20));
        gaps.expect(ms(20));
        gaps.check(ms(20), ms(100));
        assert_eq!(gaps.stalls(), Stalls::default());
        gaps.expect(ms(30));
        gaps.check(ms(32), ms(5_100));
        let stalls = gaps.stalls();
        assert_eq!((stalls.gap_count, stalls.suspended_ns), (1, ms(5_000).0));
        assert_eq!(stalls.gap_sum_ns, ms(5_002).0);
    }

    #[test]
    fn the_largest_times_are_accepted() {
        let mut gaps = StallDetector::new(ms(0), ms(10), ms(0));
        for _ in 0..3 {
            gaps.check(Nanos::MAX, Nanos::MAX);
            gaps.expect(ms(0));
        }
        assert_eq!(gaps.stalls().gap_sum_ns, u64::MAX);
    }
}
