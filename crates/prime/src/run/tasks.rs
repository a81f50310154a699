//! Orders that make or remove files, and their results.

use super::state::{MARGIN, Run};
use super::types::Progress;
use crate::space_used;
use crate::stop_if::StopConditions;
use filermark_engine::engine::{CLEANUP_LIMIT_MIN, CLEANUP_SILENCE_S_MAX};
use filermark_link::agents::{AgentEvent, Agents, OrderError};
use filermark_link::message::{Leftover, Order, Report, TaskTotals};
use filermark_model::launch::OnLost;
use filermark_model::survey::Space;
use filermark_model::{LoadPoint, Nanos};
use filermark_results::record::{Phase, SpaceChange, SpaceUse};

impl Run<'_> {
    /// CLEANUP between load points and before the end: each agent removes the files of its
    /// own procs.
    pub fn clean_up(
        &mut self,
        agents: &mut Agents,
        point: Option<LoadPoint>,
    ) -> Result<(), OrderError> {
        let limit = self.cleanup_limit() + self.cleanup_limit() + MARGIN;
        let phase = self.begin_phase(point, Phase::Cleanup, None);
        let living = agents.living();
        let done = self.order_tasks(
            agents,
            &living,
            &|_| Order::Cleanup,
            limit,
            OnLost::Continue,
            &mut StopConditions::default(),
        );
        self.end_phase(
            phase,
            done.as_ref().map(TaskSummary::describe).unwrap_or_default(),
            done.as_ref().err(),
        );
        self.report_losses(agents);
        done.map(|_| ())
    }

    /// Whether objects are removed one by one, so that a pause means a server that does not answer.
    pub fn has_steps(&self) -> bool {
        !self.options.plan.driver.facts().blocks
    }

    /// How long the removal of the file set may take.
    pub fn cleanup_limit(&self) -> Nanos {
        self.options.plan.phases.init_timeout.max(CLEANUP_LIMIT_MIN)
    }

    /// Gives an order that makes or removes files, and adds up the results. Ends it when a
    /// condition of `guard` holds, and a CLEANUP of a server that does not answer.
    pub fn order_tasks(
        &mut self,
        agents: &mut Agents,
        who: &[usize],
        order: &dyn Fn(usize) -> Order,
        limit: Nanos,
        on_lost: OnLost,
        guard: &mut StopConditions,
    ) -> Result<TaskSummary, OrderError> {
        let mut done = TaskSummary::default();
        let abort_request = agents.abort_request();
        let (mut task_count, mut bytes) = (0, 0);
        let mut living = agents.living().len();
        let mut idle = IdleClock::default();
        let is_cleanup = who
            .first()
            .is_some_and(|at| matches!(order(*at), Order::Cleanup));
        let silence_max = (is_cleanup && self.has_steps()).then_some(CLEANUP_SILENCE_S_MAX);
        agents.order(who, order, limit, on_lost, &mut |now, event| match event {
            AgentEvent::Report(
                _,
                Report::Progress {
                    task_count: more,
                    bytes: written,
                },
            ) => {
                task_count = u64::saturating_add(task_count, *more);
                bytes = u64::saturating_add(bytes, *written);
                idle.restart(now);
                (self.options.observe)(Progress::Tasks { task_count, bytes });
            }
            AgentEvent::Report(
                at,
                Report::Space {
                    file_system,
                    free_bytes,
                    total_bytes,
                },
            ) => {
                let space = Space {
                    free_bytes: *free_bytes,
                    total_bytes: *total_bytes,
                };
                if let Some(reason) = guard.add_space(at, file_system, space) {
                    let error = OrderError::Emergency { reason };
                    abort_request.borrow_mut().get_or_insert(error);
                }
            }
            AgentEvent::Answer(_, report) => done.add(report),
            AgentEvent::Report(at, Report::Waiting { sentence }) => {
                self.report_waiting(at, sentence.clone());
            }
            AgentEvent::Lost(_) => {
                living = living.saturating_sub(1);
                self.report_agent_count(living);
            }
            AgentEvent::Tick => {
                if let Some(seconds) = idle.tick(now) {
                    (self.options.observe)(Progress::Idle { seconds });
                    if silence_max.is_some_and(|most| seconds >= most) {
                        let error = OrderError::Silent { seconds };
                        abort_request.borrow_mut().get_or_insert(error);
                    }
                }
            }
            _ => {}
        })?;
        Ok(done)
    }
}

/// Counts the whole seconds in which no object was made or removed.
#[derive(Debug, Default)]
struct IdleClock {
    since: Option<Nanos>,
    reported: u32,
}

impl IdleClock {
    fn restart(&mut self, now: Nanos) {
        (self.since, self.reported) = (Some(now), 0);
    }

    /// The seconds, each time another one is over.
    fn tick(&mut self, now: Nanos) -> Option<u32> {
        let since = *self.since.get_or_insert(now);
        let seconds = u32::try_from(now.since(since).0 / 1_000_000_000).unwrap_or(u32::MAX);
        (seconds > self.reported).then(|| {
            self.reported = seconds;
            seconds
        })
    }
}

/// The results of an order that makes or removes files, all agents together.
#[derive(Debug, Default)]
pub(super) struct TaskSummary {
    tasks: TaskTotals,
    /// What remains.
    pub leftovers: Vec<Leftover>,
    /// INIT: free space before and after.
    space: Vec<SpaceChange>,
}

impl TaskSummary {
    fn add(&mut self, report: Report) {
        let tasks = match report {
            Report::Populated { tasks, space } => {
                space_used::merge(&mut self.space, space);
                tasks
            }
            Report::Cleaned { tasks, left_behind } => {
                self.leftovers.extend(left_behind);
                tasks
            }
            _ => return,
        };
        self.tasks.task_count = self.tasks.task_count.saturating_add(tasks.task_count);
        self.tasks.failed_count = self.tasks.failed_count.saturating_add(tasks.failed_count);
        self.tasks.bytes = self.tasks.bytes.saturating_add(tasks.bytes);
        let uncached = &mut self.tasks.uncached_count;
        *uncached = uncached.saturating_add(tasks.uncached_count);
        self.tasks.elapsed_ns = self.tasks.elapsed_ns.max(tasks.elapsed_ns);
    }

    /// Objects that were made or removed.
    pub fn task_count(&self) -> u64 {
        self.tasks.task_count
    }

    /// What INIT wrote, and how the free space changed, where servers report it.
    pub fn space_use(&self) -> Option<SpaceUse> {
        (!self.space.is_empty()).then(|| SpaceUse {
            written_bytes: self.tasks.bytes,
            file_systems: self.space.clone(),
        })
    }

    pub fn describe(&self) -> String {
        let tasks = &self.tasks;
        let seconds = (tasks.elapsed_ns as f64 / 1e9).max(1e-3);
        let mut text = format!(
            "{} objects, {:.0}/s",
            tasks.task_count,
            tasks.task_count as f64 / seconds
        );
        if tasks.bytes > 0 {
            let mib = tasks.bytes as f64 / (1u64 << 20) as f64;
            text.push_str(&format!(", {mib:.1} MiB, {:.1} MiB/s", mib / seconds));
        }
        if tasks.uncached_count > 0 {
            text.push_str(&format!(
                ", {} files taken out of the clients' caches",
                tasks.uncached_count
            ));
        }
        if tasks.failed_count > 0 {
            text.push_str(&format!(", {} refused", tasks.failed_count));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::IdleClock;
    use filermark_model::Nanos;

    #[test]
    fn each_second_without_an_object_is_counted_once() {
        let mut idle = IdleClock::default();
        let mut tick = |ms| idle.tick(Nanos::from_millis(ms));
        assert_eq!(tick(5_000), None, "it begins here");
        assert_eq!(tick(5_999), None);
        assert_eq!(tick(6_000), Some(1));
        assert_eq!(tick(6_500), None);
        assert_eq!(tick(8_100), Some(3));
        idle.restart(Nanos::from_millis(8_200));
        assert_eq!(idle.tick(Nanos::from_millis(9_100)), None);
        assert_eq!(idle.tick(Nanos::from_millis(9_300)), Some(1));
    }
}
