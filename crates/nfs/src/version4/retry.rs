//! Waits before a call that the server was not ready for (NFS4ERR_DELAY, NFS4ERR_GRACE) is sent again.

use filermark_model::Nanos;
use filermark_onc::nfs4::Nfsstat4;
use std::time::Duration;

/// The first wait after NFS4ERR_DELAY; each is twice the one before.
pub const DELAY_FIRST: Nanos = Nanos::from_millis(10);
/// The longest one.
pub const DELAY_LONGEST: Nanos = Nanos::from_millis(100);
const GRACE: Duration = Duration::from_secs(1);

/// The waits of one call: each longer than the one before, all together within a limit.
#[derive(Debug, Clone)]
pub struct RetryWaits {
    next_delay: Duration,
    waited: Duration,
    limit: Duration,
}

impl RetryWaits {
    /// No more than `limit` in all.
    pub const fn new(limit: Duration) -> Self {
        Self {
            next_delay: Duration::from_nanos(DELAY_FIRST.0),
            waited: Duration::ZERO,
            limit,
        }
    }

    /// Whether a call with this status is to be sent again after a wait.
    #[inline]
    pub const fn is_temporary(status: Nfsstat4) -> bool {
        matches!(status, Nfsstat4::Delay | Nfsstat4::Grace)
    }

    /// How long to wait; `None`: this status is final, or the limit is reached.
    pub fn next(&mut self, status: Nfsstat4) -> Option<Duration> {
        let wait = match status {
            Nfsstat4::Delay => self.next_delay,
            Nfsstat4::Grace => GRACE,
            _ => return None,
        };
        let wait = wait.min(self.limit.saturating_sub(self.waited));
        if wait.is_zero() {
            return None;
        }
        if status == Nfsstat4::Delay {
            self.next_delay = (self.next_delay * 2).min(Duration::from_nanos(DELAY_LONGEST.0));
        }
        self.waited += wait;
        Some(wait)
    }

    /// How long the waits were together.
    pub const fn waited(&self) -> Duration {
        self.waited
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_and_end_at_the_limit() {
        let mut waits = RetryWaits::new(Duration::from_millis(300));
        let ms = |wait: Option<Duration>| wait.map(|w| w.as_millis());
        let all: Vec<_> = (0..7).map(|_| ms(waits.next(Nfsstat4::Delay))).collect();
        let expected = [Some(10), Some(20), Some(40), Some(80), Some(100), Some(50)];
        assert_eq!(all[..6], expected);
        assert_eq!(all[6], None);
        assert_eq!(waits.waited(), Duration::from_millis(300));
        assert_eq!(waits.next(Nfsstat4::Noent), None);
    }

    #[test]
    fn the_grace_period_is_waited_for_in_seconds() {
        let mut waits = RetryWaits::new(Duration::from_secs(90));
        assert_eq!(waits.next(Nfsstat4::Grace), Some(GRACE));
        assert_eq!(waits.next(Nfsstat4::Delay), Some(Duration::from_millis(10)));
    }
}
