//! What the view shows, built from a run's progress. A pure model: it knows no
//! terminal and reads no clock; `passed` is the time since the run began.

use super::estimate::{RemainingTime, RunPosition, TimeEstimator};
use super::facts::{Facts, SHARE_MIN};
use filermark_model::stats::Interval;
use filermark_prime::Progress;
use filermark_results::{Phase, PointRecord};
use std::collections::VecDeque;
use std::time::Duration;

/// Seconds that the sparkline goes back.
pub(super) const SPARK_SECONDS: usize = 30;

/// Seconds without a reply before they are shown, and operations that were due meanwhile.
const SILENCE_MIN: u32 = 3;
const OPS_MISSED_MIN: f64 = 5.0;

/// What became of a load point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PointState {
    /// It is still to come.
    ToCome,
    /// It is under way.
    Now,
    /// It counts.
    Valid,
    /// It was measured and does not count.
    Invalid,
    /// It was not measured to its end.
    Failed,
}

/// What goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CurrentStage {
    /// Agents are being started, server and directories looked at.
    Starting,
    /// A phase.
    In(Phase),
    /// Between phases: scripts, files of results.
    Between,
}

/// Everything that the view shows.
#[derive(Clone, Debug)]
pub struct ViewState {
    pub(super) facts: Facts,
    guess: TimeEstimator,
    /// Agents that are there; all of them.
    pub(super) clients: (usize, usize),
    /// The most that were there: after all were there, a missing one is lost.
    pub(super) clients_seen: usize,
    pub(super) marks: Vec<PointState>,
    pub(super) stage: CurrentStage,
    /// The load point that it is about, by its index.
    pub(super) at: Option<usize>,
    /// When the phase began, since the run began.
    pub(super) began: Duration,
    expected: Option<Duration>,
    /// Objects that INIT has made or CLEANUP removed, and the bytes, in this phase.
    pub(super) tasks: (u64, u64),
    /// Objects that are there, made by the INITs so far.
    made_count: u64,
    /// Successes in the last seconds of the load point, the newest last.
    pub(super) successes: VecDeque<u64>,
    /// The last second.
    pub(super) last: Option<Interval>,
    /// Seconds in a row in which nothing was answered.
    pub(super) silent_seconds: u32,
    /// The run is being ended before its time.
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
            began: Duration::ZERO,
            expected: None,
            tasks: (0, 0),
            made_count: 0,
            successes: VecDeque::with_capacity(SPARK_SECONDS),
            last: None,
            silent_seconds: 0,
            stopping: false,
            facts,
        }
    }

    /// Takes in what goes on.
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
                }
                self.begin_phase(*phase, point.is_none(), *expected);
            }
            Progress::Tasks { task_count, bytes } => self.tasks = (*task_count, *bytes),
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
            Progress::PointEnded(_, point) => self.end_point(point, passed),
            Progress::Percent { .. }
            | Progress::Heartbeat(_)
            | Progress::Script(_)
            | Progress::Host(_)
            | Progress::Remark(_) => {}
        }
    }

    /// The user wishes to stop.
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
        // The end may come before its time, because of a failure before any INIT.
        if last && self.marks.contains(&PointState::ToCome) {
            self.stopping = true;
        }
    }

    /// Learns from the phase that ends, with the one that follows.
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
    }

    fn end_point(&mut self, point: &PointRecord, passed: Duration) {
        self.end_phase(None, passed);
        self.stage = CurrentStage::Between;
        self.at = self.facts.at(point.load.number).or(self.at);
        let mark = match (point.measured(), point.is_valid()) {
            (None, _) => PointState::Failed,
            (Some(_), true) => PointState::Valid,
            (Some(_), false) => PointState::Invalid,
        };
        self.mark(mark);
        // A load point that fails is the last one.
        self.stopping |= mark == PointState::Failed;
    }

    fn mark(&mut self, mark: PointState) {
        if let Some(place) = self.at.and_then(|at| self.marks.get_mut(at)) {
            *place = mark;
        }
    }

    /// How long nothing has been answered, where operations are asked for often enough
    /// that this says something.
    pub(super) fn silence(&self) -> Option<u32> {
        let point = self.at.and_then(|at| self.facts.points.get(at))?;
        let often = point
            .requested_ops_per_sec
            .is_none_or(|rate| rate * f64::from(self.silent_seconds) >= OPS_MISSED_MIN);
        (often && self.silent_seconds >= SILENCE_MIN).then_some(self.silent_seconds)
    }

    /// RUN is over, and what is still open is waited for.
    pub(super) fn is_draining(&self, passed: Duration) -> bool {
        self.stage == CurrentStage::In(Phase::Run)
            && self.expected.is_some_and(|e| self.in_phase(passed) > e)
    }

    /// How long the phase has gone on.
    pub(super) fn in_phase(&self, passed: Duration) -> Duration {
        passed.saturating_sub(self.began)
    }

    /// How long the phase will take in all, and whether that is only a guess.
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

    /// How much of the phase is over, up to 1: by what was done, where that is known,
    /// otherwise by the time.
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

    /// What is left of the run.
    pub(super) fn left(&self, passed: Duration) -> RemainingTime {
        let in_phase = self.in_phase(passed).as_secs_f64();
        let more = || {
            // Of a RUN of open length only the least is known.
            let least = (self.stage == CurrentStage::In(Phase::Run)).then_some(self.facts.run);
            let length = self.expected.or(least).unwrap_or_default().as_secs_f64();
            (length - in_phase).max(0.0)
        };
        let at = self.at.unwrap_or(0);
        // How far a removal is says more than how long another one took.
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
