//! Waking up in time for replies that are held back.
//!
//! A thread that sleeps until a moment runs again some tens of microseconds after it, since the
//! processor has to leave its idle state first. `Wakeup` measures by how much, asks to be woken
//! that much earlier, and has the rest waited out awake.

/// The longest time to be woken early, in ns. What is beyond it comes from other work on the
/// machine, which waiting awake would only delay further.
const MAX_EARLY_NS: u64 = 50_000;
/// Each wait moves the estimate by one part in so many.
const SHARE: u64 = 8;

/// The estimate of one thread.
#[derive(Debug, Default)]
pub(super) struct Wakeup {
    early_ns: u64,
}

impl Wakeup {
    /// How long to sleep at `now_ns` for what is due at `due_ns`; 0: not at all.
    pub(super) fn sleep_ns(&self, now_ns: u64, due_ns: u64) -> u64 {
        due_ns.saturating_sub(now_ns).saturating_sub(self.early_ns)
    }

    /// A sleep of `asked_ns` that nothing cut short took `took_ns`.
    pub(super) fn slept(&mut self, asked_ns: u64, took_ns: u64) {
        let over_ns = took_ns.saturating_sub(asked_ns).min(MAX_EARLY_NS);
        self.early_ns = (self.early_ns * (SHARE - 1) + over_ns).div_ceil(SHARE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_learns_how_late_it_is_woken_up_to_a_limit() {
        let mut wakeup = Wakeup::default();
        assert_eq!(wakeup.sleep_ns(1_000, 501_000), 500_000);
        for _ in 0..100 {
            wakeup.slept(500_000, 530_000);
        }
        let sleep_ns = wakeup.sleep_ns(1_000, 501_000);
        assert!((469_900..470_100).contains(&sleep_ns), "{sleep_ns}");
        assert_eq!(
            wakeup.sleep_ns(1_000, 11_000),
            0,
            "what is near is waited for awake"
        );
        assert_eq!(wakeup.sleep_ns(2_000, 1_000), 0);
        for _ in 0..100 {
            wakeup.slept(500_000, 90_000_000);
        }
        assert_eq!(wakeup.sleep_ns(0, 500_000), 450_000);
        for _ in 0..100 {
            wakeup.slept(500_000, 400_000);
        }
        assert!(wakeup.sleep_ns(0, 500_000) > 499_000);
    }
}
