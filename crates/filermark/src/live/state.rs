//! The state of the view, built from a run's progress. A pure model: it does not use a terminal or
//! a clock; `passed` is the time since the run began.

use super::estimate::{RemainingTime, RunPosition, TimeEstimator};
use super::facts::{Facts, PointFacts, SHARE_MIN};
use filermark_engine::engine::CLEANUP_SILENCE_S_MAX;
use filermark_model::LoadPoint;
use filermark_model::plan::SEARCH_NUMBERS;
use filermark_model::stats::Interval;
use filermark_prime::Progress;
use filermark_results::{Phase, PointRecord};
use std::collections::VecDeque;
use std::time::Duration;

/// Length of the sparkline in seconds.
pub(super) const SPARK_SECONDS: usize = 30;

/// How many seconds without a reply are shown, and how many operations must be due meanwhile.
const SILENCE_MIN: u32 = 3;
const OPS_MISSED_MIN: f64 = 5.0;

/// How many seconds without an object made or removed are shown; a large file may take some.
pub const IDLE_MIN: u32 = 5;

/// The state of a load point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PointState {
    /// It has not begun.
    ToCome,
    /// It is under way.
    Now,
    /// It counts.
    Valid,
    /// It was measured and does not count.
    Invalid,
    /// It was not measured completely.
    Failed,
}

impl PointState {
    /// Of a load point that is over.
    fn of(point: &PointRecord) -> Self {
        match (point.measured(), point.is_valid()) {
            (None, _) => Self::Failed,
            (Some(_), true) => Self::Valid,
            (Some(_), false) => Self::Invalid,
        }
    }
}

/// The present activity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CurrentStage {
    /// Agents are being started, server and directories checked.
    Starting,
    /// A phase.
    In(Phase),
    /// Between phases: scripts, result files.
    Between,
}

/// The state of the view.
#[derive(Clone, Debug)]
pub struct ViewState {
    pub(super) facts: Facts,
    guess: TimeEstimator,
    /// Connected agents, and all agents.
    pub(super) clients: (usize, usize),
    /// The most that were connected: once all were, a missing one is lost.
    pub(super) clients_seen: usize,
    pub(super) marks: Vec<PointState>,
    pub(super) stage: CurrentStage,
    /// The index of its load point.
    pub(super) at: Option<usize>,
    /// The load point, if it is not in the plan: a step of a search.
    search_step: Option<LoadPoint>,
    /// When the phase began, since the run began.
    pub(super) began: Duration,
    expected: Option<Duration>,
    /// Objects and bytes that INIT has made or CLEANUP removed in this phase.
    pub(super) tasks: (u64, u64),
    /// Existing objects, made by the INITs so far.
    made_count: u64,
    /// Successes in the last seconds of the load point, the newest last.
    pub(super) successes: VecDeque<u64>,
    /// The last second.
    pub(super) last: Option<Interval>,
    /// Consecutive seconds without a reply.
    pub(super) silent_seconds: u32,
    /// Seconds of INIT or CLEANUP without an object made or removed.
    pub(super) idle_seconds: u32,
    /// The run is being ended early.
    pub(super) stopping: bool,
}

impl ViewState {
    /// At the beginning of a run.
    pub fn new(facts: Facts) -> Self {
        Self {
            guess: TimeEstimator::default(),
            clients: (0, facts.client_count),
            clients_seen: 0,
            marks: vec![PointState::ToCome; facts.points.len()],
            stage: CurrentStage::Starting,
            at: None,
            search_step: None,
            began: Duration::ZERO,
            expected: None,
            tasks: (0, 0),
            made_count: 0,
            successes: VecDeque::with_capacity(SPARK_SECONDS),
            last: None,
            silent_seconds: 0,
            idle_seconds: 0,
            stopping: false,
            facts,
        }
    }

    /// Handles an event.
    pub fn on_progress(&mut self, progress: &Progress<'_>, passed: Duration) {
        match progress {
            Progress::Agents { living, all } => {
                self.clients = (*living, *all);
                self.clients_seen = self.clients_seen.max(*living);
            }
            Progress::PhaseBegan {
                point,
                phase,
                expected,
            } => {
                self.end_phase(Some(*phase), passed);
                if let Some(point) = point {
                    self.at = self.facts.at(point.number);
                    self.search_step = self.at.is_none().then_some(*point);
                }
                self.begin_phase(*phase, point.is_none(), *expected);
            }
            Progress::Tasks { task_count, bytes } => {
                self.tasks = (*task_count, *bytes);
                self.idle_seconds = 0;
            }
            Progress::Idle { seconds } => self.idle_seconds = *seconds,
            Progress::Second(second) => {
                if self.successes.len() == SPARK_SECONDS {
                    self.successes.pop_front();
                }
                self.successes.push_back(second.success_count);
                self.last = Some((*second).clone());
                self.silent_seconds = match second.success_count.saturating_add(second.error_count)
                {
                    0 => self.silent_seconds.saturating_add(1),
                    _ => 0,
                };
            }
            Progress::PointEnded(_, point) => {
                self.end_point(point.load.number, PointState::of(point), passed);
            }
            Progress::SearchEnded(plan) => {
                self.set_points(Facts::of(plan, &self.facts.suffix).points);
            }
            Progress::SearchTried(..)
            | Progress::Percent { .. }
            | Progress::Heartbeat(_)
            | Progress::Script(_)
            | Progress::Host(_)
            | Progress::Remark(_) => {}
        }
    }

    /// The user has asked to stop.
    pub fn stop(&mut self) {
        self.stopping = true;
    }

    fn begin_phase(&mut self, phase: Phase, last: bool, expected: Option<Duration>) {
        self.stage = CurrentStage::In(phase);
        self.expected = expected;
        if phase == Phase::Init {
            self.successes.clear();
            self.last = None;
            self.silent_seconds = 0;
            self.mark(PointState::Now);
        }
        // The end may come early, because of a failure before any INIT.
        if last && self.marks.contains(&PointState::ToCome) {
            self.stopping = true;
        }
    }

    /// Keeps the time of the phase that ends, when the next one begins.
    fn end_phase(&mut self, next: Option<Phase>, passed: Duration) {
        let seconds = passed.saturating_sub(self.began).as_secs_f64();
        let point = self.at.and_then(|at| self.facts.points.get(at));
        match (self.stage, point) {
            (CurrentStage::In(Phase::Init), Some(point)) => {
                if next == Some(Phase::Warmup) {
                    self.guess.learn_init(seconds, point.init_bytes);
                }
                self.made_count += self.tasks.0;
            }
            (CurrentStage::In(Phase::Cleanup), Some(point)) => {
                self.guess.learn_cleanup(seconds, point.fileset_bytes);
                self.made_count = 0;
            }
            _ => {}
        }
        self.began = passed;
        self.expected = None;
        self.tasks = (0, 0);
        self.idle_seconds = 0;
    }

    /// Replaces the load points, after a search.
    pub fn set_points(&mut self, points: Vec<PointFacts>) {
        self.marks = vec![PointState::ToCome; points.len()];
        self.facts.points = points;
        self.search_step = None;
    }

    /// A load point is over.
    pub fn end_point(&mut self, number: u32, mark: PointState, passed: Duration) {
        self.end_phase(None, passed);
        self.stage = CurrentStage::Between;
        self.at = self.facts.at(number).or(self.at);
        self.mark(mark);
        // A load point that fails is the last one.
        self.stopping |= mark == PointState::Failed;
    }

    fn mark(&mut self, mark: PointState) {
        if let Some(place) = self.at.and_then(|at| self.marks.get_mut(at)) {
            *place = mark;
        }
    }

    /// The load point, if it is in the plan.
    pub(super) fn point(&self) -> Option<&PointFacts> {
        self.at.and_then(|at| self.facts.points.get(at))
    }

    /// The present step of a search: its number and its load.
    pub(super) fn search_step(&self) -> Option<(u32, String)> {
        let step = self.search_step?;
        let number = step.number.saturating_sub(SEARCH_NUMBERS);
        Some((number, step.requested_text()))
    }

    /// The requested rate of the load point; `None`: as fast as possible.
    pub(super) fn requested(&self) -> Option<f64> {
        match (self.point(), self.search_step) {
            (Some(point), _) => point.requested_ops_per_sec,
            (None, Some(step)) => (!step.is_max()).then_some(step.requested.0),
            (None, None) => None,
        }
    }

    /// How long there was no reply, if the requested rate is high enough.
    pub(super) fn silence(&self) -> Option<u32> {
        if self.point().is_none() && self.search_step.is_none() {
            return None;
        }
        let often = self
            .requested()
            .is_none_or(|rate| rate * f64::from(self.silent_seconds) >= OPS_MISSED_MIN);
        (often && self.silent_seconds >= SILENCE_MIN).then_some(self.silent_seconds)
    }

    /// How long no step of INIT or CLEANUP has ended, and how long it goes on at
    /// most; `None`: it goes on as it should. A step of a mounted file system is a whole tree,
    /// so that a pause between two has no meaning.
    pub fn idle(&self, passed: Duration) -> Option<(u32, Duration)> {
        let in_phase = self.in_phase(passed);
        let left = match self.stage {
            CurrentStage::In(Phase::Init) => self.facts.init_max.saturating_sub(in_phase),
            CurrentStage::In(Phase::Cleanup) => {
                let seconds = CLEANUP_SILENCE_S_MAX.saturating_sub(self.idle_seconds);
                Duration::from_secs(seconds.into())
            }
            _ => return None,
        };
        (!self.facts.blocks && self.idle_seconds >= IDLE_MIN).then_some((self.idle_seconds, left))
    }

    /// RUN is over, and the run waits for open operations.
    pub(super) fn is_draining(&self, passed: Duration) -> bool {
        self.stage == CurrentStage::In(Phase::Run)
            && self.expected.is_some_and(|e| self.in_phase(passed) > e)
    }

    /// The time since the phase began.
    pub(super) fn in_phase(&self, passed: Duration) -> Duration {
        passed.saturating_sub(self.began)
    }

    /// The whole time of the phase, and whether that is only an estimate.
    pub(super) fn phase_length(&self) -> Option<(Duration, bool)> {
        if let Some(expected) = self.expected {
            return Some((expected, false));
        }
        let at = self.at?;
        let guessed = match self.stage {
            CurrentStage::In(Phase::Init) => self.guess.init_seconds(&self.facts, at),
            CurrentStage::In(Phase::Cleanup) => self.guess.cleanup_seconds(&self.facts, at),
            _ => None,
        };
        let seconds = Duration::try_from_secs_f64(guessed?).ok()?;
        Some((seconds, true))
    }

    /// The share of the phase that is over, up to 1: by the work done, if that is known, otherwise
    /// by the time.
    pub(super) fn phase_share(&self, passed: Duration) -> Option<f64> {
        let (task_count, bytes) = self.tasks;
        let done = match (self.stage, self.at) {
            (CurrentStage::In(Phase::Init), Some(at)) => self.facts.share(at, bytes),
            (CurrentStage::In(Phase::Cleanup), _) if self.made_count > 0 && task_count > 0 => {
                Some((task_count as f64 / self.made_count as f64).min(1.0))
            }
            _ => None,
        };
        let by_time = || {
            let (length, _) = self.phase_length()?;
            let share = self.in_phase(passed).as_secs_f64() / length.as_secs_f64();
            Some(share.clamp(0.0, 1.0)).filter(|s| s.is_finite())
        };
        done.or_else(by_time)
    }

    /// The remaining time of the run.
    pub(super) fn left(&self, passed: Duration) -> RemainingTime {
        let in_phase = self.in_phase(passed).as_secs_f64();
        let more = || {
            // Of a RUN without a fixed length only the shortest length is known.
            let least = (self.stage == CurrentStage::In(Phase::Run)).then_some(self.facts.run);
            let length = self.expected.or(least).unwrap_or_default().as_secs_f64();
            (length - in_phase).max(0.0)
        };
        let at = self.at.unwrap_or(0);
        // The progress of a removal is a better estimate than the time of another one.
        if self.stage == CurrentStage::In(Phase::Cleanup)
            && self.is_last(at)
            && let Some(share) = self.phase_share(passed).filter(|s| *s >= SHARE_MIN)
        {
            return RemainingTime {
                seconds: in_phase * (1.0 - share) / share,
                at_least: false,
            };
        }
        let place = match self.stage {
            CurrentStage::Starting => RunPosition::Before(0),
            CurrentStage::In(Phase::Cleanup) if self.is_last(at) => RunPosition::End(at, in_phase),
            _ if self.stopping => RunPosition::End(at, 0.0),
            CurrentStage::In(Phase::Cleanup) => RunPosition::After(at, in_phase),
            CurrentStage::Between => RunPosition::After(at, 0.0),
            CurrentStage::In(Phase::Warmup) => RunPosition::Warmup(at, more()),
            CurrentStage::In(Phase::Run) => RunPosition::Run(at, more()),
            CurrentStage::In(Phase::Init | Phase::Validate) => {
                RunPosition::Init(at, in_phase, self.tasks.1)
            }
        };
        self.guess.left(&self.facts, place)
    }

    fn is_last(&self, at: usize) -> bool {
        self.stopping || at + 1 >= self.facts.points.len()
    }
}
