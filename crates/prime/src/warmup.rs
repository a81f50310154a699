//! How long WARMUP takes: the length in the plan, or until the load is steady
//! (WARMUP_TIME=auto). The prime decides, from the seconds of all clients together, and
//! sends all agents the same length.

use filermark_model::stats::Interval;
use filermark_model::{Finding, Nanos, RunPlan};
use filermark_model::{Rule, Severity};
use filermark_results::record::WarmupRecord;
use filermark_results::steadiness::{self, SECONDS_MIN};
use std::collections::VecDeque;

const SECOND: Nanos = Nanos::from_secs(1);

/// The warm-up of one load point.
#[derive(Debug)]
pub(crate) struct Warmup {
    longest: Nanos,
    until_steady: bool,
    /// Shortest time from the decision to the beginning of RUN, so that every agent receives
    /// it in time.
    lead: Nanos,
    /// The last whole seconds, without a gap.
    last: VecDeque<Interval>,
    /// The length, once it is decided.
    length: Option<Nanos>,
}

impl Warmup {
    /// From the plan; `lead` is the time that an order needs to reach every agent.
    pub fn new(plan: &RunPlan, lead: Nanos) -> Self {
        Self {
            longest: plan.phases.warmup,
            until_steady: plan.phases.warmup_until_steady,
            lead: lead.max(SECOND),
            last: VecDeque::with_capacity(SECONDS_MIN),
            length: None,
        }
    }

    /// How long WARMUP takes; the longest possible until it is decided.
    pub fn length(&self) -> Nanos {
        self.length.unwrap_or(self.longest)
    }

    /// Renumbers a second from the actual beginning of RUN. Agents count from its latest
    /// possible beginning.
    pub fn renumber(&self, second: &mut Interval) {
        let saved = self.longest.since(self.length()).0 / SECOND.0;
        second.second = second.second.saturating_add(saved as i64);
    }

    /// Adds the next complete second, as numbered by agents; WARMUP has taken `passed` until
    /// now. Returns the length once, when it is decided and shorter than the limit.
    pub fn add_interval(&mut self, second: &Interval, passed: Nanos) -> Option<Nanos> {
        if !self.until_steady || self.length.is_some() || second.second >= 0 {
            return None;
        }
        self.keep(second);
        if self.last.len() < SECONDS_MIN || !steadiness::is_steady(self.last.iter()) {
            return None;
        }
        // Seconds are whole, counted from the latest beginning of RUN.
        let left = self.longest.since(passed + self.lead);
        let length = self.longest.since(Nanos(left.0 / SECOND.0 * SECOND.0));
        self.length = Some(length);
        self.last.clear();
        (length < self.longest).then_some(length)
    }

    /// Keeps a second, and an empty one for each that no agent has reported.
    fn keep(&mut self, second: &Interval) {
        let mut next = self
            .last
            .back()
            .map_or(second.second, |last| last.second.saturating_add(1));
        if second.second < next {
            return;
        }
        next = next.max(second.second.saturating_sub(SECONDS_MIN as i64));
        for number in next..=second.second {
            if self.last.len() >= SECONDS_MIN {
                self.last.pop_front();
            }
            let silent = || Interval {
                second: number,
                ..Interval::default()
            };
            self.last.push_back(match number == second.second {
                true => second.clone(),
                false => silent(),
            });
        }
    }

    /// For the record; `None`: the length was fixed.
    pub fn record(&self) -> Option<WarmupRecord> {
        self.until_steady.then(|| WarmupRecord {
            length_ns: self.length().0,
            steady: self.length.is_some(),
        })
    }

    /// The finding that the load was not steady when WARMUP reached its limit.
    pub fn finding(&self) -> Option<Finding> {
        let limit = self.longest.as_secs_f64();
        let is_over = self.until_steady && self.length.is_none();
        is_over.then(|| {
            let why = match limit < SECONDS_MIN as f64 {
                true => format!("{SECONDS_MIN} s are needed to see whether it is"),
                false => "check what the server did meanwhile".to_owned(),
            };
            let message = format!(
                "rate and mean response time were not steady when WARMUP had reached its limit of {limit} s: raise WARMUP_TIME_MAX; {why}"
            );
            Finding::new(Rule::WarmupLimit, Severity::Warning, message)
                .with_limit(limit, limit, "WARMUP_TIME_MAX of this run")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn warmup(until_steady: bool) -> Warmup {
        let mut plan = filermark_results::testing::plan();
        plan.phases.warmup = Nanos::from_secs(300);
        plan.phases.warmup_until_steady = until_steady;
        Warmup::new(&plan, Nanos::from_millis(200))
    }

    /// A second with the mean response time `mean_us`, with noise of 1 %.
    fn second(at: u64, mean_us: f64) -> Interval {
        let noise = 1.0 + 0.01 * (((at * 7919) % 11) as f64 / 5.0 - 1.0);
        Interval {
            second: at as i64 - 300,
            success_count: 1_000,
            response_sum_ns: (1e6 * mean_us * noise) as u64,
            ..Interval::default()
        }
    }

    /// When the length was decided, and the length.
    fn decided(warmup: &mut Warmup, mean_us: impl Fn(u64) -> f64) -> Option<(u64, Nanos)> {
        (0..299).find_map(|at| {
            let passed = Nanos::from_millis(1_000 * at + 1_500);
            let length = warmup.add_interval(&second(at, mean_us(at)), passed)?;
            Some((at, length))
        })
    }

    #[test]
    fn it_lasts_until_the_load_is_steady() {
        let mut fixed = warmup(false);
        assert_eq!(decided(&mut fixed, |_| 200.0), None);
        assert_eq!((fixed.record(), fixed.finding()), (None, None));
        let mut at_once = warmup(true);
        // Received at 30.5 s, a second of lead, whole seconds.
        assert_eq!(
            decided(&mut at_once, |_| 200.0),
            Some((29, Nanos::from_secs(32)))
        );
        let record = at_once.record().expect("a record");
        assert_eq!((record.length_ns, record.steady), (32_000_000_000, true));
        assert_eq!(at_once.finding(), None);
        let mut later = second(33, 1.0);
        at_once.renumber(&mut later);
        assert_eq!(later.second, 1);
        // Falls for 90 s, from 2 ms to 200 us.
        let mut filled = warmup(true);
        let falling = |at: u64| 200.0 + 20.0 * 90u64.saturating_sub(at) as f64;
        let (at, length) = decided(&mut filled, falling).expect("steady in the end");
        assert!((90..=125).contains(&at), "{at}");
        assert!(length.as_secs_f64() >= at as f64 + 2.5, "{length:?}");
    }

    #[test]
    fn a_load_that_is_never_steady_reaches_the_limit() {
        let mut drifts = warmup(true);
        assert_eq!(decided(&mut drifts, |at| 100.0 + at as f64 * 5.0), None);
        let record = drifts.record().expect("a record");
        assert_eq!((record.length_ns, record.steady), (300_000_000_000, false));
        let finding = drifts.finding().expect("a finding");
        assert_eq!(finding.rule, Rule::WarmupLimit);
        assert!(
            finding.message.contains("limit of 300 s"),
            "{}",
            finding.message
        );
    }

    #[test]
    fn seconds_without_a_reply_are_not_steady() {
        let mut silent = warmup(true);
        for at in (0..299).filter(|at| !(20..25).contains(at)) {
            let length =
                silent.add_interval(&second(at, 200.0), Nanos::from_millis(at * 1_000 + 1_500));
            assert_eq!(length.is_some(), at == 54, "{at}");
        }
        let mut nothing = warmup(true);
        let none = |at| Interval {
            second: at,
            ..Interval::default()
        };
        for at in [i64::MIN, -300, -2, -1, 0, i64::MAX] {
            assert_eq!(nothing.add_interval(&none(at), Nanos::MAX), None);
        }
    }
}
