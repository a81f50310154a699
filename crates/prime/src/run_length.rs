//! How long RUN takes: the length in the plan, or until the data set has been read and
//! written once (netmist without a rate: manual N, section 10). The prime decides, from the
//! seconds of all clients, and sends all agents the same length. Components in the
//! background do not count: agents report no seconds of them.

use filermark_model::stats::Interval;
use filermark_model::{LoadPoint, Nanos, RunPlan};

const SECOND: u64 = 1_000_000_000;

/// The RUN of one load point.
#[derive(Debug)]
pub(crate) struct RunLength {
    least: Nanos,
    /// The longest that it may take; `None`: it has a fixed length.
    most: Option<Nanos>,
    /// Shortest time from the decision to the end of RUN, so that every agent receives it in
    /// time.
    lead: Nanos,
    data_bytes: u64,
    moved_bytes: u64,
    /// The length, once it is decided.
    length: Option<Nanos>,
}

impl RunLength {
    /// From the plan; `lead` is the time that an order needs to reach every agent.
    pub fn new(plan: &RunPlan, point: LoadPoint, lead: Nanos) -> Self {
        Self {
            least: plan.phases.runtime,
            most: plan.phases.runtime_max.map(|_| plan.phases.longest_run()),
            lead: lead.max(Nanos(SECOND)),
            data_bytes: match plan.phases.runtime_max {
                Some(_) => plan.bytes_to_touch(point),
                None => 0,
            },
            moved_bytes: 0,
            length: None,
        }
    }

    /// How long RUN takes; the longest possible until it is decided.
    pub fn length(&self) -> Nanos {
        self.length.or(self.most).unwrap_or(self.least)
    }

    /// How long RUN takes, where that is known from the beginning.
    pub fn fixed(&self) -> Option<Nanos> {
        self.most.is_none().then_some(self.least)
    }

    /// Adds one client's second of RUN, which has taken `passed` until now. Returns the length
    /// once, when it is decided and shorter than the limit.
    pub fn add_interval(&mut self, second: &Interval, passed: Nanos) -> Option<Nanos> {
        let most = self.most?;
        if self.length.is_some() || second.second < 0 {
            return None;
        }
        for bytes in [second.read_bytes, second.written_bytes] {
            self.moved_bytes = self.moved_bytes.saturating_add(bytes);
        }
        if self.moved_bytes < self.data_bytes {
            return None;
        }
        let soon = (passed + self.lead)
            .0
            .div_ceil(SECOND)
            .saturating_mul(SECOND);
        let length = self.least.max(Nanos(soon));
        (length < most).then(|| *self.length.insert(length))
    }

    /// The share of RUN that is over after this time, from 0 to 1: of its shortest length and
    /// of the data, until its end is known.
    pub fn share(&self, passed: Nanos) -> f64 {
        let of = |part: f64, all: f64| match all > 0.0 {
            true => (part / all).clamp(0.0, 1.0),
            false => 1.0,
        };
        let by_time = |length: Nanos| of(passed.as_secs_f64(), length.as_secs_f64());
        match self.most.filter(|_| self.length.is_none()) {
            None => by_time(self.length()),
            Some(most) => {
                let data = of(self.moved_bytes as f64, self.data_bytes as f64);
                let done = by_time(self.least).min(data).min(SHARE_MAX);
                done.max(by_time(most))
            }
        }
    }
}

/// The largest share that is reported while the end is not known.
const SHARE_MAX: f64 = 0.99;

#[cfg(test)]
mod tests {
    use super::*;
    use filermark_results::testing::composite::composite_record;

    const DATA: u64 = 1_000_000;

    fn run(runtime_max: Option<u64>) -> RunLength {
        let mut plan = composite_record().run.plan;
        plan.phases.runtime = Nanos::from_secs(30);
        plan.phases.runtime_max = runtime_max.map(Nanos::from_secs);
        let point = plan.points[0];
        let mut run = RunLength::new(&plan, point, Nanos::from_millis(200));
        assert_eq!(run.data_bytes > 0, runtime_max.is_some());
        run.data_bytes = DATA;
        run
    }

    /// When the length was decided, and the length, at this many bytes a second.
    fn decided(run: &mut RunLength, bytes: u64) -> Option<(u64, Nanos)> {
        (0..600).find_map(|at| {
            let second = Interval {
                second: at as i64,
                read_bytes: bytes / 4,
                written_bytes: bytes - bytes / 4,
                ..Interval::default()
            };
            let length = run.add_interval(&second, Nanos::from_millis(1_000 * at + 3_500))?;
            Some((at, length))
        })
    }

    #[test]
    fn it_goes_on_until_the_data_set_has_been_touched() {
        let seconds = Nanos::from_secs;
        let mut fixed = run(None);
        assert_eq!(decided(&mut fixed, DATA), None);
        assert_eq!(
            (fixed.length(), fixed.fixed()),
            (seconds(30), Some(seconds(30)))
        );
        assert!((fixed.share(seconds(15)) - 0.5).abs() < 1e-9);
        // Touched in time: the shortest length.
        let mut quick = run(Some(600));
        assert_eq!(quick.length(), seconds(600));
        assert_eq!(decided(&mut quick, DATA / 10), Some((9, seconds(30))));
        assert_eq!((quick.length(), quick.fixed()), (seconds(30), None));
        // In its hundredth second, which the prime receives 2.5 s later; a second of lead.
        let mut slow = run(Some(600));
        assert_eq!(decided(&mut slow, DATA / 100), Some((99, seconds(104))));
        assert_eq!(decided(&mut slow, DATA), None, "only once");
        // Never touched: the limit.
        let mut never = run(Some(600));
        assert_eq!(decided(&mut never, DATA / 1_000), None);
        assert_eq!(never.length(), seconds(600));
        // WARMUP does not count.
        let mut warm = run(Some(600));
        let second = Interval {
            second: -1,
            read_bytes: DATA,
            ..Interval::default()
        };
        assert_eq!(warm.add_interval(&second, Nanos::ZERO), None);
        assert_eq!(warm.moved_bytes, 0);
    }

    #[test]
    fn the_share_is_of_time_and_data_until_the_end_is_known() {
        let seconds = Nanos::from_secs;
        let mut run = run(Some(600));
        assert_eq!(run.share(seconds(30)), 30.0 / 600.0, "no data yet");
        run.moved_bytes = DATA / 2;
        assert_eq!(run.share(seconds(30)), 0.5);
        assert_eq!(run.share(seconds(6)), 0.2);
        assert_eq!(run.share(seconds(600)), 1.0);
        run.moved_bytes = DATA;
        assert_eq!(run.share(seconds(30)), 0.99);
        run.length = Some(seconds(40));
        assert_eq!(run.share(seconds(30)), 0.75);
    }
}
