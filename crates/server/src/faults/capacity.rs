//! `--capacity-ops`: a server with a known highest rate. It serves one operation at a time, and each
//! takes the inverse of the rate; operations that come faster wait in a queue, so that response times
//! rise below the rate and the throughput stays at it above.

use super::spec::{Item, SpecError, items};
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};

/// The highest rate that can be set, in op/s: one operation per microsecond.
const OPS_MAX: u64 = 1_000_000;
const SECOND_NS: u64 = 1_000_000_000;

/// `400`, `400/30s:200`, `400/30s:200/90s:400`: operations per second, and from which time after the
/// first operation another rate holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CapacitySpec {
    /// From when, in ns after the first operation, and how long one operation takes, in ns; by time.
    steps: Vec<(u64, u64)>,
}

impl FromStr for CapacitySpec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<CapacitySpec, SpecError> {
        let hint = "write for example 400 (op/s) or 400/30s:200 (200 op/s from 30 s on)";
        let Some(item) = items(hint, text).next() else {
            return Ok(CapacitySpec::default());
        };
        let whole = Item {
            text: text.trim(),
            hint,
        };
        if item.text != whole.text {
            return Err(whole.error("give one rate without a comma"));
        }
        let service_ns = |text: &str| -> Result<u64, SpecError> {
            let ops = whole.count(text.trim())?;
            match ops <= OPS_MAX {
                true => Ok(SECOND_NS / ops),
                false => Err(whole.error(format!("{OPS_MAX} op/s is the most"))),
            }
        };
        let mut parts = whole.text.split('/');
        let first = parts.next().unwrap_or_default();
        let mut steps = vec![(0, service_ns(first)?)];
        for part in parts {
            let (time, ops) = part
                .split_once(':')
                .ok_or_else(|| whole.error("a change is written TIME:RATE, for example 30s:200"))?;
            let from_ns = whole.time_ns(time)?;
            if steps.last().is_some_and(|(before, _)| *before >= from_ns) {
                return Err(whole.error("each change must be later than the one before"));
            }
            steps.push((from_ns, service_ns(ops)?));
        }
        Ok(CapacitySpec { steps })
    }
}

/// The server of the operations of a run.
#[derive(Debug)]
pub(super) struct Capacity {
    spec: CapacitySpec,
    /// When the first operation came in, in ns; 0: none yet.
    first_at: AtomicU64,
    /// When the queue of operations is empty again, in ns.
    free_at: AtomicU64,
}

impl Capacity {
    pub fn new(spec: CapacitySpec) -> Capacity {
        Capacity {
            spec,
            first_at: AtomicU64::new(0),
            free_at: AtomicU64::new(0),
        }
    }

    /// When the operation that came in at `received_ns` has been served.
    pub fn served_ns(&self, received_ns: u64) -> u64 {
        let first =
            self.first_at
                .compare_exchange(0, received_ns, Ordering::Relaxed, Ordering::Relaxed);
        let first = first.err().unwrap_or(received_ns);
        let end = |free: u64| {
            let begin = free.max(received_ns);
            begin.saturating_add(self.service_ns(begin.saturating_sub(first)))
        };
        let free = self
            .free_at
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |free| Some(end(free)));
        end(free.unwrap_or(received_ns))
    }

    /// How long an operation takes that begins so long after the first one.
    fn service_ns(&self, since_first_ns: u64) -> u64 {
        let mut steps = self.spec.steps.iter().rev();
        let step = steps.find(|(from_ns, _)| *from_ns <= since_first_ns);
        step.map_or(0, |(_, service_ns)| *service_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn capacity(text: &str) -> Capacity {
        Capacity::new(text.parse().expect("a rate"))
    }

    #[test]
    fn operations_wait_for_those_before_them() {
        let at_400 = capacity("400");
        let times: Vec<u64> = [1, 1, 1].map(|at| at_400.served_ns(at)).to_vec();
        assert_eq!(times, [2_500_001, 5_000_001, 7_500_001]);
        // The queue is empty again.
        assert_eq!(at_400.served_ns(9_000_000), 11_500_000);
    }

    #[test]
    fn the_rate_changes_after_the_first_operation() {
        let falls = capacity("1000/1s:100");
        let begin = 50 * SECOND_NS;
        assert_eq!(falls.served_ns(begin), begin + 1_000_000);
        let later = begin + SECOND_NS;
        assert_eq!(falls.served_ns(later), later + 10_000_000);
        // An operation that waits until the change takes the new time.
        let queued = capacity("2/1s:1");
        let ends: Vec<u64> = (0..3).map(|_| queued.served_ns(begin) - begin).collect();
        assert_eq!(ends, [SECOND_NS / 2, SECOND_NS, 2 * SECOND_NS]);
    }

    #[test]
    fn what_is_no_rate_is_refused() {
        for text in [
            "",
            "0",
            "x",
            "400/",
            "400/30s",
            "400/30s:0",
            "400/30:200",
            "400/2s:3/1s:4",
            "1,200",
            "2000000",
        ] {
            assert!(text.parse::<CapacitySpec>().is_err(), "{text}");
        }
        assert!(" 400/30s:200/90s:400 ".parse::<CapacitySpec>().is_ok());
    }
}
