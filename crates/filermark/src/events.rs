//! The events of a run for other programs (`--events`): the contents of the live view, as JSON
//! lines with a published schema.
//!
//! [`Events`] makes them from a run's progress with `make`, [`event`] declares them, `sink` writes
//! them, and the metrics (`--metrics`) count them and offer them over HTTP from a `log`. This must
//! not delay or end a run.

mod event;
mod log;
mod make;
mod sink;
#[cfg(test)]
mod tests;

use crate::live::Facts;
use crate::metrics::Metrics;
use event::{Ending, SCHEMA_VERSION};
pub use event::{Event, Line, PointEnded, PointWanted, RunBegan, RunEnded, Second, read_line};
use filermark_cli_kit::companion::Power;
use filermark_model::stats::PointStats;
use filermark_model::{NOT_A_SPEC_RESULT, RunPlan};
use filermark_prime::Progress;
use filermark_results::{Outcome, Phase, PointRecord, RunRecord, Verdict};
pub use log::EventLog;
use sink::EventWriter;
pub use sink::Target;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Shortest interval of `tasks` events.
const TASKS_EVERY: Duration = Duration::from_secs(1);
/// Shortest interval of `power` events.
const POWER_EVERY: Duration = Duration::from_secs(1);

/// Writes the progress as events.
pub struct Events {
    /// `None`: events go to the metrics only.
    sink: Option<EventWriter>,
    metrics: Option<Metrics>,
    facts: Facts,
    seq: u64,
    began: Instant,
    /// The present load point and phase.
    point: Option<u32>,
    phase: Option<Phase>,
    /// Sums of tasks that were not written yet, and when the last ones were written.
    tasks: Option<(u64, u64)>,
    tasks_written: Option<Instant>,
    power_written: Option<Instant>,
}

/// How a run ended, for the last event.
pub struct RunEnd<'a> {
    /// `None`: there is no record.
    pub record: Option<&'a RunRecord>,
    /// The error after it, or why there is no record.
    pub reason: Option<String>,
    /// The exit code.
    pub exit_code: u8,
    /// The run record.
    pub record_path: Option<&'a Path>,
    /// The page.
    pub report_path: Option<PathBuf>,
}

impl Events {
    /// Opens the output; the events also go to the metrics.
    ///
    /// # Errors
    /// It cannot be opened, or has no reader.
    pub fn open(
        target: Option<&Target>,
        metrics: Option<Metrics>,
        facts: Facts,
    ) -> Result<Self, String> {
        Ok(Self {
            sink: target.map(EventWriter::open).transpose()?,
            metrics,
            facts,
            seq: 0,
            began: Instant::now(),
            point: None,
            phase: None,
            tasks: None,
            tasks_written: None,
            power_written: None,
        })
    }

    /// The first event.
    pub fn begin(&mut self, plan: &RunPlan, suffix: &str, record_path: &Path) {
        let began = RunBegan {
            schema: SCHEMA_VERSION,
            program: "filermark".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            notice: NOT_A_SPEC_RESULT.into(),
            suffix: suffix.to_owned(),
            benchmark: plan.benchmark.name.clone(),
            benchmark_version: plan.benchmark.version,
            fingerprint: filermark_results::fingerprint(plan),
            client_count: plan.clients.len(),
            proc_count: plan.proc_count(),
            points: self.points_wanted(plan),
            warmup_seconds: plan.phases.warmup.as_secs_f64(),
            run_seconds: plan.phases.runtime.as_secs_f64(),
            run_max_seconds: self
                .facts
                .run_is_open
                .then(|| plan.phases.longest_run().as_secs_f64()),
            keep: self.facts.keep,
            reuse: self.facts.reuse,
            blocks: self.facts.blocks,
            close_max_seconds: self.facts.close_max.as_secs_f64(),
            record_path: shown(record_path),
        };
        self.write(&Event::RunBegan(began));
    }

    fn points_wanted(&self, plan: &RunPlan) -> Vec<PointWanted> {
        let points = self.facts.points.iter().zip(&plan.points);
        let wanted = points.map(|(fact, point)| make::wanted(fact, plan.proc_count_at(*point)));
        wanted.collect()
    }

    /// Power, where it is measured: once a second at most; `power` is called only then.
    pub fn beside(&mut self, power: impl FnOnce() -> Power) {
        let written = self.power_written;
        if written.is_some_and(|last| last.elapsed() < POWER_EVERY) {
            return;
        }
        self.power_written = Some(Instant::now());
        let Power {
            power_w,
            client_power_w,
        } = power();
        if power_w.is_some() || client_power_w.is_some() {
            self.write(&Event::Power {
                power_w,
                client_power_w,
            });
        }
    }

    /// Handles one step of the run.
    pub fn on_progress(&mut self, progress: &Progress<'_>) {
        if let Progress::Tasks { task_count, bytes } = progress {
            self.tasks = Some((*task_count, *bytes));
            let last = self.tasks_written;
            if last.is_none_or(|last| last.elapsed() >= TASKS_EVERY) {
                self.write_tasks();
            }
            return;
        }
        if matches!(
            progress,
            Progress::PhaseBegan { .. } | Progress::PointEnded(..)
        ) {
            self.write_tasks();
        }
        if let Progress::PhaseBegan { point, phase, .. } = progress {
            self.point = point.map(|p| p.number);
            self.phase = Some(*phase);
            self.tasks_written = None;
        }
        if let Progress::SearchEnded(plan) = progress {
            self.facts = Facts::of(plan, &self.facts.suffix);
        }
        if let Some(event) = self.event(progress) {
            self.write(&event);
        }
    }

    fn write_tasks(&mut self) {
        let (Some((task_count, written_bytes)), Some(phase)) = (self.tasks.take(), self.phase)
        else {
            return;
        };
        self.tasks_written = Some(Instant::now());
        self.write(&Event::Tasks {
            point: self.point,
            phase,
            task_count,
            written_bytes,
        });
    }

    fn event(&self, progress: &Progress<'_>) -> Option<Event> {
        Some(match progress {
            Progress::Agents { living, all } => Event::Agents {
                living_count: *living,
                all_count: *all,
            },
            Progress::PhaseBegan {
                point,
                phase,
                expected,
            } => make::phase_began(*point, *phase, *expected),
            Progress::Second(second) => Event::Second(Box::new(make::second(self.point?, second))),
            Progress::Percent {
                point,
                phase,
                percent,
            } => Event::Percent {
                point: point.number,
                phase: *phase,
                over_percent: *percent,
            },
            Progress::Heartbeat(beat) => make::heartbeat(beat),
            Progress::Script(script) => make::script_ended(script),
            Progress::PointEnded(_, point) => Event::PointEnded(Box::new(self.point_ended(point))),
            Progress::Remark(message) => Event::Remark {
                message: (*message).to_owned(),
            },
            Progress::SearchTried(record, tried) => Event::Remark {
                message: filermark_report::search_line(record, tried, false),
            },
            Progress::SearchEnded(plan) => Event::PointsPlanned {
                points: self.points_wanted(plan),
            },
            Progress::Tasks { .. } | Progress::Idle { .. } | Progress::Host(_) => return None,
        })
    }

    fn point_ended(&self, point: &PointRecord) -> PointEnded {
        let fact = self.facts.at(point.load.number);
        let fact = fact.and_then(|at| self.facts.points.get(at));
        PointEnded {
            point: point.load.number,
            name: fact.map_or_else(String::new, |f| f.name.clone()),
            verdict: point.word().into(),
            reason: point.failure().map(str::to_owned),
            requested_ops_per_sec: fact.and_then(|f| f.requested_ops_per_sec),
            figures: point.measured().map(make::figures),
            findings: point.findings.clone(),
        }
    }

    /// The last event. Returns a remark about the output, if there is one.
    ///
    /// # Errors
    /// The events could not be written. A reader that has closed the output is no error.
    pub fn end(mut self, end: RunEnd<'_>) -> Result<Option<String>, String> {
        self.write_tasks();
        let outcome = end.record.map(|record| match &record.end {
            Some(end) => &end.outcome,
            None => &Outcome::Interrupted,
        });
        let failure = match outcome {
            Some(Outcome::Failed { reason }) => Some(reason.clone()),
            _ => None,
        };
        let reason = failure.or(end.reason);
        let verdict = end.record.map(RunRecord::verdict);
        let peak = end.record.and_then(RunRecord::peak);
        let outcome = match (outcome, &reason) {
            (Some(Outcome::Interrupted), _) => Ending::Interrupted,
            (Some(Outcome::Complete), None) => Ending::Complete,
            // Stopped before the record was made.
            (None, _) if end.exit_code > 128 => Ending::Interrupted,
            _ => Ending::Failed,
        };
        self.write(&Event::RunEnded(RunEnded {
            outcome,
            reason,
            exit_code: end.exit_code,
            verdict: verdict.as_ref().map(|v| Verdict::label(v).into()),
            verdict_reasons: verdict.map_or(Vec::new(), |v| v.reasons().to_vec()),
            peak_ops_per_sec: peak
                .and_then(PointRecord::measured)
                .map(PointStats::achieved_ops_per_sec),
            ort_ms: end.record.and_then(RunRecord::ort_ms),
            wall_seconds: self.began.elapsed().as_secs_f64(),
            record_path: end.record_path.map(shown),
            report_path: end.report_path.as_deref().map(shown),
        }));
        self.sink.map_or(Ok(None), EventWriter::close)
    }

    /// The error of the output, once.
    pub fn take_write_error(&mut self) -> Option<String> {
        self.sink.as_mut()?.take_write_error()
    }

    fn write(&mut self, event: &Event) {
        let Some(line) = line(event, self.seq, jiff::Timestamp::now()) else {
            return;
        };
        self.seq += 1;
        if let Some(metrics) = &self.metrics {
            metrics.receive(event, &line);
        }
        if let Some(sink) = &self.sink {
            sink.push(line, event.is_passing());
        }
    }
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// An event as a line; `None`: it cannot be encoded as JSON.
fn line(event: &Event, seq: u64, at: jiff::Timestamp) -> Option<String> {
    let line = Line {
        at: format!("{at:.3}"),
        seq,
        event,
    };
    let text = serde_json::to_string(&line).ok()?;
    Some(text + "\n")
}
