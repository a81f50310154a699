//! Whether a condition of STOP_IF holds: checked with every second of WARMUP and RUN, for
//! all clients together; free space also in INIT.

use filermark_link::limits::SPACE_INTERVAL;
use filermark_link::watched_space::SpaceReporters;
use filermark_model::Bytes;
use filermark_model::LoadPoint;
use filermark_model::RunPlan;
use filermark_model::stats::Interval;
use filermark_model::stop_if::{StopCondition, StopFigure};
use filermark_model::survey::Space;
use std::collections::BTreeMap;

/// Lowest requested rate, in op/s, at which a second without a reply counts as silence.
const SILENCE_RATE_MIN: f64 = 1.0;

/// The conditions of a part of a load point: INIT, or WARMUP and RUN.
#[derive(Debug, Default)]
pub(crate) struct StopConditions {
    conditions: Vec<ConditionState>,
    watchers: SpaceReporters,
    /// Whether a second without a reply counts.
    silence_counts: bool,
    /// Consecutive seconds without a reply.
    silent_seconds: u32,
}

#[derive(Debug)]
struct ConditionState {
    condition: StopCondition,
    /// The second since which it holds, and for how many seconds.
    since: i64,
    seconds: u32,
    /// Free space: for how many seconds each file system has been below the limit.
    low: BTreeMap<String, u32>,
}

impl StopConditions {
    /// The conditions of the plan at a load point; `watchers` report the free space.
    pub fn new(plan: &RunPlan, point: LoadPoint, watchers: SpaceReporters) -> Self {
        let held = |condition: &StopCondition| ConditionState {
            condition: *condition,
            since: 0,
            seconds: 0,
            low: BTreeMap::new(),
        };
        let rate = point.requested.0;
        Self {
            conditions: plan.stop_if.iter().map(held).collect(),
            watchers,
            silence_counts: rate <= 0.0 || rate >= SILENCE_RATE_MIN,
            silent_seconds: 0,
        }
    }

    /// Continues the times for which free space has been below a limit.
    pub fn continued_from(mut self, before: Self) -> Self {
        for (held, before) in self.conditions.iter_mut().zip(before.conditions) {
            held.low = before.low;
        }
        self
    }

    /// The file systems that an agent has to watch.
    pub fn watched_by(&self, agent: usize) -> Vec<String> {
        self.watchers.get(&agent).cloned().unwrap_or_default()
    }

    /// Adds the next second. Returns the reason when the run has to end.
    pub fn add_interval(&mut self, second: &Interval) -> Option<String> {
        let answered = second.success_count.saturating_add(second.error_count);
        self.silent_seconds = match answered {
            0 if self.silence_counts => self.silent_seconds.saturating_add(1),
            _ => 0,
        };
        let silent = self.silent_seconds;
        self.conditions.iter_mut().find_map(|held| {
            if held.condition.figure == StopFigure::Free {
                return None;
            }
            // Without a finished operation there is no share of failures.
            let Some(value) = figure(held.condition.figure, second, silent) else {
                held.seconds = 0;
                return None;
            };
            if value <= held.condition.limit {
                held.seconds = 0;
                return None;
            }
            if held.seconds == 0 {
                held.since = second.second;
            }
            held.seconds = held.seconds.saturating_add(1);
            (held.seconds >= held.condition.seconds).then(|| held.describe(value, silent))
        })
    }

    /// Adds the free space of a file system as an agent reports it. Returns the reason when
    /// the run has to end. Reports of file systems that the agent does not watch are ignored.
    pub fn add_space(&mut self, agent: usize, name: &str, space: Space) -> Option<String> {
        let own = self.watchers.get(&agent)?;
        if !own.iter().any(|watched| watched == name) {
            return None;
        }
        let percent = match space.total_bytes {
            0 => return None,
            total => 100.0 * space.free_bytes as f64 / total as f64,
        };
        let free = |held: &&mut ConditionState| held.condition.figure == StopFigure::Free;
        self.conditions.iter_mut().filter(free).find_map(|held| {
            if percent >= held.condition.limit {
                held.low.remove(name);
                return None;
            }
            let seconds = held.low.entry(name.to_owned()).or_default();
            *seconds = seconds.saturating_add(SPACE_INTERVAL.as_secs() as u32);
            (*seconds >= held.condition.seconds).then(|| {
                format!(
                    "STOP_IF {}: {percent:.1} % of {name} is free ({} of {}): the run was ended to protect the server",
                    held.condition,
                    Bytes(space.free_bytes),
                    Bytes(space.total_bytes)
                )
            })
        })
    }
}

impl ConditionState {
    fn describe(&self, value: f64, silent: u32) -> String {
        let figure = self.condition.figure;
        let now = match figure {
            StopFigure::Errors => format!("{value:.1} % of the operations failed"),
            StopFigure::Free => format!("{value:.1} % is free"),
            _ if silent > 0 => format!("nothing was answered for {silent} s"),
            StopFigure::Mean => format!("the mean service time was {:.3} s", value / 1e9),
            StopFigure::Percentile { .. } => {
                format!(
                    "{figure} of the service times was {:.3} s at least",
                    value / 1e9
                )
            }
        };
        let since = match self.since {
            0.. => format!("second {} of RUN", self.since),
            before => format!("{} s before RUN", before.unsigned_abs()),
        };
        format!(
            "STOP_IF {}: {now}, and above the limit since {since}: the run was ended to protect the server",
            self.condition
        )
    }
}

/// The figure of a second; `None`: the second does not have it.
fn figure(figure: StopFigure, second: &Interval, silent_seconds: u32) -> Option<f64> {
    let silence = || (silent_seconds > 0).then(|| f64::from(silent_seconds) * 1e9);
    match figure {
        StopFigure::Free => None,
        StopFigure::Errors => {
            let all = second.success_count.saturating_add(second.error_count);
            (all > 0).then(|| 100.0 * second.error_count as f64 / all as f64)
        }
        StopFigure::Mean if second.success_count > 0 => Some(second.service_mean_ns()),
        StopFigure::Percentile { percent } if second.success_count > 0 => {
            Some(percentile_min_ns(second, percent))
        }
        StopFigure::Mean | StopFigure::Percentile { .. } => silence(),
    }
}

/// Lower bound of a percentile of a second's service times, in nanoseconds: that of its
/// class. Each class is twice as wide as the one before.
fn percentile_min_ns(second: &Interval, percent: f64) -> f64 {
    let counts = &second.service_log2_us;
    let total: u64 = counts.iter().map(|n| u64::from(*n)).sum();
    let rank = (total as f64 * percent / 100.0).ceil().max(1.0) as u64;
    let mut below = 0;
    for (class, count) in counts.iter().enumerate() {
        below += u64::from(*count);
        if below >= rank {
            return match class {
                0 => 0.0,
                class => (1u64 << class) as f64 * 1e3,
            };
        }
    }
    0.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guard(figure: StopFigure, limit: f64, seconds: u32) -> StopConditions {
        let mut plan = filermark_results::testing::plan();
        plan.stop_if = vec![StopCondition {
            figure,
            limit,
            seconds,
        }];
        let point = plan.points[0];
        let names = ["a", "b"].map(str::to_owned).to_vec();
        StopConditions::new(&plan, point, SpaceReporters::from([(0, names)]))
    }

    /// A second with this number of operations of this service time, and errors.
    fn second(second: i64, count: u64, service_ns: u64, error_count: u64) -> Interval {
        let mut interval = Interval {
            second,
            success_count: count,
            error_count,
            service_sum_ns: count * service_ns,
            ..Interval::default()
        };
        interval.service_log2_us[Interval::log2_slot(service_ns)] = count as u32;
        interval
    }

    const P99: StopFigure = StopFigure::Percentile { percent: 99.0 };

    #[test]
    fn a_condition_has_to_hold_for_consecutive_seconds() {
        let mut guard = guard(P99, 2e9, 3);
        for at in 0..2 {
            assert_eq!(guard.add_interval(&second(at, 10, 3_000_000_000, 0)), None);
        }
        assert_eq!(
            guard.add_interval(&second(2, 10, 1_000_000, 0)),
            None,
            "interrupted"
        );
        assert_eq!(guard.add_interval(&second(3, 10, 3_000_000_000, 0)), None);
        assert_eq!(guard.add_interval(&second(4, 10, 3_000_000_000, 0)), None);
        let why = guard
            .add_interval(&second(5, 10, 3_000_000_000, 0))
            .expect("it holds");
        assert!(
            why.starts_with("STOP_IF p99>2s for 3s: p99 of the service times was 2.097 s at least, and above the limit since second 3 of RUN"),
            "{why}"
        );
    }

    #[test]
    fn a_few_slow_operations_do_not_change_the_percentile() {
        let mut guard = guard(P99, 1e6, 1);
        let mut mixed = second(0, 1_000, 100_000, 0);
        mixed.service_log2_us[20] = 5;
        assert_eq!(guard.add_interval(&mixed), None);
        mixed.service_log2_us[20] = 50;
        assert!(guard.add_interval(&mixed).is_some());
    }

    #[test]
    fn silence_counts_with_its_length() {
        let mut silent = guard(P99, 2e9, 2);
        for at in -2..1 {
            assert_eq!(silent.add_interval(&second(at, 0, 0, 0)), None);
        }
        let why = silent.add_interval(&second(1, 0, 0, 0)).expect("it holds");
        assert!(why.contains("nothing was answered for 4 s"), "{why}");
        let mut errors = guard(StopFigure::Errors, 0.0, 1);
        assert_eq!(errors.add_interval(&second(0, 0, 0, 0)), None);
    }

    #[test]
    fn errors_are_a_share() {
        let mut guard = guard(StopFigure::Errors, 5.0, 2);
        assert_eq!(guard.add_interval(&second(-3, 95, 1_000, 5)), None);
        assert_eq!(guard.add_interval(&second(-2, 90, 1_000, 10)), None);
        let why = guard.add_interval(&second(-1, 0, 0, 10)).expect("it holds");
        assert!(
            why.contains(
                "100.0 % of the operations failed, and above the limit since 2 s before RUN"
            ),
            "{why}"
        );
    }

    #[test]
    fn free_space_is_watched_for_each_file_system() {
        let mut guard = guard(StopFigure::Free, 5.0, 10);
        let space = |free_bytes| Space {
            free_bytes,
            total_bytes: 1 << 30,
        };
        let (low, enough) = (space(20 << 20), space(1 << 29));
        assert_eq!(guard.add_space(0, "a", low), None);
        assert_eq!(guard.add_space(0, "b", low), None, "another one");
        assert_eq!(guard.add_interval(&second(0, 10, 1_000, 0)), None);
        assert_eq!(guard.add_space(0, "b", enough), None);
        assert_eq!(guard.add_space(0, "b", low), None, "counted from zero");
        let why = guard.add_space(0, "a", low).expect("it holds");
        assert_eq!(
            why,
            "STOP_IF free<5% for 10s: 2.0 % of a is free (20.0 MiB of 1.0 GiB): the run was ended to protect the server"
        );
        let unknown = Space {
            free_bytes: 0,
            total_bytes: 0,
        };
        assert_eq!(guard.add_space(0, "a", unknown), None);
    }

    #[test]
    fn reports_of_file_systems_that_an_agent_does_not_watch_are_ignored() {
        let mut guard = guard(StopFigure::Free, 5.0, 5);
        let of = |free_bytes| Space {
            free_bytes,
            total_bytes: 100,
        };
        assert_eq!(guard.add_space(0, "c", of(0)), None, "no such file system");
        assert_eq!(guard.add_space(1, "a", of(0)), None, "another agent's");
        assert!(guard.conditions[0].low.is_empty());
        assert!(guard.add_space(0, "a", of(0)).is_some());
        assert_eq!(
            (guard.watched_by(0).len(), guard.watched_by(1).len()),
            (2, 0)
        );
    }

    #[test]
    fn extreme_seconds_cause_no_panic() {
        let mut guard = guard(P99, 2e9, 1);
        let mut extreme = second(i64::MIN, u64::MAX, 0, u64::MAX);
        extreme.service_log2_us = [u32::MAX; 24];
        extreme.service_sum_ns = u64::MAX;
        let _ = guard.add_interval(&extreme);
    }
}
