//! Whether a condition of STOP_IF holds: looked at with every second of WARMUP and RUN,
//! all clients together; free space also in INIT.

use crate::facts::FreeSpace;
use crate::limits::{FILE_SYSTEMS_MAX, SPACE_INTERVAL};
use filermark_driver_kit::driver::Space;
use filermark_model::Bytes;
use filermark_model::LoadPoint;
use filermark_model::RunPlan;
use filermark_model::plan::Target;
use filermark_model::stats::Interval;
use filermark_model::stop_if::{StopCondition, StopFigure};
use std::collections::{BTreeMap, BTreeSet};

/// Requested rate, in op/s, from which on a second without a reply is silence.
const SILENCE_RATE_MIN: f64 = 1.0;

/// Mount points that a sentence names.
const NAMED_MAX: usize = 3;

/// Which file systems each agent looks at, by their names.
pub(crate) type Watchers = BTreeMap<usize, Vec<String>>;

/// The conditions of a part of a load point: INIT, or WARMUP and RUN.
#[derive(Debug, Default)]
pub(crate) struct StopIf {
    conditions: Vec<Held>,
    watchers: Watchers,
    /// A second in which nothing is answered counts.
    silence_counts: bool,
    /// Seconds in a row in which nothing was answered.
    silent_seconds: u32,
}

#[derive(Debug)]
struct Held {
    condition: StopCondition,
    /// The second since which it holds, and for how many.
    since: i64,
    seconds: u32,
    /// Free space: for how many seconds each file system has been below the limit.
    low: BTreeMap<String, u32>,
}

impl StopIf {
    /// The plan's, at a load point; free space is heard from these agents.
    pub fn new(plan: &RunPlan, point: LoadPoint, watchers: Watchers) -> Self {
        let held = |condition: &StopCondition| Held {
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

    /// The same; free space has been below a limit for as long as `before` has heard.
    pub fn going_on_from(mut self, before: Self) -> Self {
        for (held, before) in self.conditions.iter_mut().zip(before.conditions) {
            held.low = before.low;
        }
        self
    }

    /// What an agent is to look at meanwhile.
    pub fn watched_by(&self, agent: usize) -> Vec<String> {
        self.watchers.get(&agent).cloned().unwrap_or_default()
    }

    /// Takes the next second in; why the run is to end, when it is.
    pub fn hear(&mut self, second: &Interval) -> Option<String> {
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
            // What ends no operation says nothing about how many fail.
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
            (held.seconds >= held.condition.seconds).then(|| held.sentence(value, silent))
        })
    }

    /// Takes in how much of a file system is free, by an agent's word; why the run is to
    /// end, when it is. Nothing is heard of a file system that the agent was not told to
    /// look at.
    pub fn hear_space(&mut self, agent: usize, name: &str, space: Space) -> Option<String> {
        let told = self.watchers.get(&agent)?;
        if !told.iter().any(|watched| watched == name) {
            return None;
        }
        let percent = match space.total_bytes {
            0 => return None,
            total => 100.0 * space.free_bytes as f64 / total as f64,
        };
        let free = |held: &&mut Held| held.condition.figure == StopFigure::Free;
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

/// Whether the plan has a condition on free space.
pub(crate) fn is_space_watched(plan: &RunPlan) -> bool {
    let free = |c: &StopCondition| c.figure == StopFigure::Free;
    plan.stop_if.iter().any(free)
}

/// The file systems whose space each of these agents is to look at: each file system is
/// asked for by one agent.
pub(crate) fn space_watchers(agents: &[usize], free: &BTreeMap<usize, Vec<FreeSpace>>) -> Watchers {
    let mut seen = BTreeSet::new();
    let mut watchers = Watchers::new();
    for at in agents {
        for there in free.get(at).into_iter().flatten() {
            // Another agent may know the size where this one does not.
            let is_known = there.total_bytes > 0 && seen.len() < FILE_SYSTEMS_MAX;
            if is_known && seen.insert(&there.file_system) {
                let mine = watchers.entry(*at).or_default();
                mine.push(there.file_system.clone());
            }
        }
    }
    watchers
}

/// Where a condition on free space cannot hold, by what these clients (by their numbers)
/// know of free space, in one sentence. `None`: nowhere, or there is no such condition.
pub(crate) fn unwatched(plan: &RunPlan, free: &BTreeMap<usize, Vec<FreeSpace>>) -> Option<String> {
    if !is_space_watched(plan) {
        return None;
    }
    let agents: Vec<usize> = free.keys().copied().collect();
    let watchers = space_watchers(&agents, free);
    let watched: BTreeSet<&String> = watchers.values().flatten().collect();
    let mut places = BTreeSet::new();
    for (at, known) in free {
        let Some(client) = plan.clients.get(*at) else {
            continue;
        };
        for mount in &client.mounts {
            let leads_there = |there: &&FreeSpace| there.mounts.contains(mount);
            let mut there = known.iter().filter(leads_there);
            let name = mount.to_string();
            if there.any(|there| watched.contains(&there.file_system)) || watched.contains(&name) {
                continue;
            }
            places.insert(match plan.driver.facts().target {
                Target::Server => name,
                _ => format!("client {}, {name}", client.name),
            });
        }
    }
    let more = match places.len().saturating_sub(NAMED_MAX) {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    let named: Vec<String> = places.into_iter().take(NAMED_MAX).collect();
    (!named.is_empty()).then(|| {
        format!(
            "STOP_IF: a condition on free space cannot hold at {}{more}: free space and size are not stated there, or there are more than {FILE_SYSTEMS_MAX} file systems; watch the space on the server",
            named.join("; ")
        )
    })
}

impl Held {
    fn sentence(&self, value: f64, silent: u32) -> String {
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

/// The figure of a second; `None`: it has none.
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

/// What a percentile of a second's service times is at least: the lower bound of its
/// class, in nanoseconds. Classes double.
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
    use filermark_model::plan::{ClientPlan, MountPoint};

    fn guard(figure: StopFigure, limit: f64, seconds: u32) -> StopIf {
        let mut plan = filermark_results::testing::plan();
        plan.stop_if = vec![StopCondition {
            figure,
            limit,
            seconds,
        }];
        let point = plan.points[0];
        let names = ["a", "b"].map(str::to_owned).to_vec();
        StopIf::new(&plan, point, Watchers::from([(0, names)]))
    }

    /// A second with so many operations of this service time, and errors.
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
    fn a_condition_has_to_hold_for_its_seconds_in_a_row() {
        let mut guard = guard(P99, 2e9, 3);
        for at in 0..2 {
            assert_eq!(guard.hear(&second(at, 10, 3_000_000_000, 0)), None);
        }
        assert_eq!(guard.hear(&second(2, 10, 1_000_000, 0)), None, "broken");
        assert_eq!(guard.hear(&second(3, 10, 3_000_000_000, 0)), None);
        assert_eq!(guard.hear(&second(4, 10, 3_000_000_000, 0)), None);
        let why = guard
            .hear(&second(5, 10, 3_000_000_000, 0))
            .expect("it holds");
        assert!(
            why.starts_with("STOP_IF p99>2s for 3s: p99 of the service times was 2.097 s at least, and above the limit since second 3 of RUN"),
            "{why}"
        );
    }

    #[test]
    fn a_few_slow_ones_do_not_move_the_percentile() {
        let mut guard = guard(P99, 1e6, 1);
        let mut mixed = second(0, 1_000, 100_000, 0);
        mixed.service_log2_us[20] = 5;
        assert_eq!(guard.hear(&mixed), None);
        mixed.service_log2_us[20] = 50;
        assert!(guard.hear(&mixed).is_some());
    }

    #[test]
    fn silence_counts_with_its_length() {
        let mut silent = guard(P99, 2e9, 2);
        for at in -2..1 {
            assert_eq!(silent.hear(&second(at, 0, 0, 0)), None);
        }
        let why = silent.hear(&second(1, 0, 0, 0)).expect("it holds");
        assert!(why.contains("nothing was answered for 4 s"), "{why}");
        let mut errors = guard(StopFigure::Errors, 0.0, 1);
        assert_eq!(errors.hear(&second(0, 0, 0, 0)), None);
    }

    #[test]
    fn errors_are_a_share() {
        let mut guard = guard(StopFigure::Errors, 5.0, 2);
        assert_eq!(guard.hear(&second(-3, 95, 1_000, 5)), None);
        assert_eq!(guard.hear(&second(-2, 90, 1_000, 10)), None);
        let why = guard.hear(&second(-1, 0, 0, 10)).expect("it holds");
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
        assert_eq!(guard.hear_space(0, "a", low), None);
        assert_eq!(guard.hear_space(0, "b", low), None, "another one");
        assert_eq!(guard.hear(&second(0, 10, 1_000, 0)), None);
        assert_eq!(guard.hear_space(0, "b", enough), None);
        assert_eq!(guard.hear_space(0, "b", low), None, "begins anew");
        let why = guard.hear_space(0, "a", low).expect("it holds");
        assert_eq!(
            why,
            "STOP_IF free<5% for 10s: 2.0 % of a is free (20.0 MiB of 1.0 GiB): the run was ended to protect the server"
        );
        let unknown = Space {
            free_bytes: 0,
            total_bytes: 0,
        };
        assert_eq!(guard.hear_space(0, "a", unknown), None);
    }

    #[test]
    fn nobody_speaks_of_file_systems_that_are_not_its_own_to_watch() {
        let mut guard = guard(StopFigure::Free, 5.0, 5);
        let of = |free_bytes| Space {
            free_bytes,
            total_bytes: 100,
        };
        assert_eq!(guard.hear_space(0, "c", of(0)), None, "no such file system");
        assert_eq!(guard.hear_space(1, "a", of(0)), None, "another agent's");
        assert!(guard.conditions[0].low.is_empty());
        assert!(guard.hear_space(0, "a", of(0)).is_some());
        assert_eq!(
            (guard.watched_by(0).len(), guard.watched_by(1).len()),
            (2, 0)
        );
    }

    #[test]
    fn where_free_space_is_not_known_a_condition_on_it_cannot_hold() {
        let mut plan = filermark_results::testing::plan();
        let clients = plan.clients.clone();
        let known = |total_bytes| -> BTreeMap<usize, Vec<FreeSpace>> {
            let there = |mount: &MountPoint| FreeSpace {
                mounts: vec![mount.clone()],
                file_system: mount.to_string(),
                bytes: 1,
                total_bytes,
                kept: false,
            };
            let of_client = |client: &ClientPlan| client.mounts.iter().map(there).collect();
            clients.iter().map(of_client).enumerate().collect()
        };
        let (size_unknown, known) = (known(0), known(9));
        let mounts = plan.clients.iter().flat_map(|client| &client.mounts);
        let name = mounts.map(ToString::to_string).next().expect("a mount");
        assert_eq!(
            unwatched(&plan, &size_unknown),
            None,
            "nothing is asked for"
        );
        plan.stop_if = vec![StopCondition {
            figure: StopFigure::Free,
            limit: 5.0,
            seconds: 10,
        }];
        assert_eq!(unwatched(&plan, &known), None);
        let said = unwatched(&plan, &size_unknown).expect("nobody can ask");
        assert!(said.contains(&format!("cannot hold at {name}")), "{said}");
        assert_eq!(unwatched(&plan, &BTreeMap::new()), None, "nobody was asked");
    }

    #[test]
    fn each_file_system_is_asked_for_by_one_agent() {
        let there = |name: &str, total_bytes| FreeSpace {
            mounts: Vec::new(),
            file_system: name.into(),
            bytes: 1,
            total_bytes,
            kept: false,
        };
        let free = BTreeMap::from([
            (0, vec![there("a", 9), there("b", 0)]),
            (1, vec![there("a", 9), there("c", 9)]),
            (2, vec![there("d", 9)]),
        ]);
        let watchers = space_watchers(&[0, 1], &free);
        let want = BTreeMap::from([(0, vec!["a".to_owned()]), (1, vec!["c".to_owned()])]);
        assert_eq!(watchers, want);
        assert!(space_watchers(&[2], &BTreeMap::new()).is_empty());
    }

    #[test]
    fn hostile_seconds_do_no_harm() {
        let mut guard = guard(P99, 2e9, 1);
        let mut absurd = second(i64::MIN, u64::MAX, 0, u64::MAX);
        absurd.service_log2_us = [u32::MAX; 24];
        absurd.service_sum_ns = u64::MAX;
        let _ = guard.hear(&absurd);
    }
}
