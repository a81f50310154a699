//! Events on the screen.

use crate::events::{Event, Line, PointEnded, PointWanted, RunBegan, Second};
use crate::live::{Facts, PointFacts, PointState};
use crate::progress::{ProgressReporter, ProgressStyle};
use filermark_model::stats::Interval;
use filermark_model::text::one_line;
use filermark_model::units::counted;
use filermark_model::{LoadPoint, OpsPerSec};
use filermark_prime::Progress;
use filermark_report::{ms, rate};
use jiff::Timestamp;
use std::time::Duration;

/// A run that is shown from its events.
pub struct Shown {
    reporter: ProgressReporter,
    began: Timestamp,
    points: Vec<PointWanted>,
}

impl Shown {
    /// From its first event; `None`: the line is another one.
    pub fn begin(line: &Line<Event>, style: ProgressStyle) -> Option<Self> {
        let Event::RunBegan(run) = &line.event else {
            return None;
        };
        let began: Timestamp = line.at.parse().ok()?;
        let before = Duration::try_from(Timestamp::now().duration_since(began));
        let before = before.unwrap_or_default();
        let mut reporter = ProgressReporter::attach(facts(run), style, before);
        let clock = began.to_zoned(jiff::tz::TimeZone::system());
        reporter.line(&format!(
            "{} {}, begun {}",
            one_line(&run.benchmark),
            one_line(&run.suffix),
            clock.strftime("%Y-%m-%d %H:%M:%S")
        ));
        Some(Self {
            reporter,
            began,
            points: run.points.clone(),
        })
    }

    /// Shows an event. Returns whether it was the last one.
    pub fn receive(&mut self, line: &Line<Event>) -> bool {
        let at = line.at.parse::<Timestamp>().ok();
        let at = at.and_then(|at| Duration::try_from(at.duration_since(self.began)).ok());
        let at = at.unwrap_or_default();
        match &line.event {
            Event::Agents {
                living_count,
                all_count,
            } => self.step(
                &Progress::Agents {
                    living: *living_count,
                    all: *all_count,
                },
                at,
            ),
            Event::PhaseBegan {
                point,
                phase,
                requested_ops_per_sec,
                expected_seconds,
                ..
            } => self.step(
                &Progress::PhaseBegan {
                    point: point.map(|number| self.load_point(number, *requested_ops_per_sec)),
                    phase: *phase,
                    expected: expected_seconds.and_then(|s| Duration::try_from_secs_f64(s).ok()),
                },
                at,
            ),
            Event::Tasks {
                task_count,
                written_bytes,
                ..
            } => self.step(
                &Progress::Tasks {
                    task_count: *task_count,
                    bytes: *written_bytes,
                },
                at,
            ),
            Event::Second(second) => self.step(&Progress::Second(&interval(second)), at),
            Event::Remark { message } => self.step(&Progress::Remark(&one_line(message)), at),
            Event::PointsPlanned { points } => {
                self.points.clone_from(points);
                self.reporter.set_points(points.iter().map(fact).collect());
            }
            Event::PointEnded(ended) => {
                let line = point_line(ended, self.points.len());
                let state = state(ended);
                self.reporter.end_point(ended.point, state, at, &line);
            }
            Event::RunEnded(end) => {
                self.reporter.rest();
                let verdict = end.verdict.as_deref().map(one_line);
                let peak = end.peak_ops_per_sec;
                let peak = peak.map(|peak| format!("peak {} op/s", rate(peak)));
                let parts = [Some(end.outcome.word().into()), verdict, peak];
                let parts: Vec<String> = parts.into_iter().flatten().collect();
                self.reporter.line(&parts.join(", "));
                let reason = end.reason.iter().chain(&end.record_path);
                reason.for_each(|text| self.reporter.line(&one_line(text)));
                return true;
            }
            Event::RunBegan(_)
            | Event::Percent { .. }
            | Event::Heartbeat { .. }
            | Event::Power { .. }
            | Event::Script { .. } => {}
        }
        false
    }

    /// Prints a line above the view.
    pub fn line(&mut self, text: &str) {
        self.reporter.line(text);
    }

    fn step(&mut self, progress: &Progress<'_>, at: Duration) {
        self.reporter.on_progress_at(progress, Some(at));
    }

    /// A load point with the rate of its event; those of earlier versions have none.
    fn load_point(&self, number: u32, requested: Option<f64>) -> LoadPoint {
        let wanted = self.points.iter().find(|p| p.point == number);
        let planned = wanted.and_then(|p| p.requested_ops_per_sec);
        let rate = OpsPerSec(requested.or(planned).unwrap_or(0.0));
        LoadPoint {
            number,
            entered: rate,
            requested: rate,
            units: 0.0,
            proc_count: 0,
        }
    }
}

fn facts(run: &RunBegan) -> Facts {
    let span = |seconds: f64| Duration::try_from_secs_f64(seconds).unwrap_or_default();
    Facts {
        benchmark: one_line(&run.benchmark),
        suffix: one_line(&run.suffix),
        client_count: run.client_count,
        points: run.points.iter().map(fact).collect(),
        warmup: span(run.warmup_seconds),
        run: span(run.run_seconds),
        run_is_open: run.run_max_seconds.is_some(),
        keep: run.keep,
        reuse: run.reuse,
        blocks: run.blocks,
        close_max: span(run.close_max_seconds),
        // Events have no idle seconds of INIT.
        init_max: Duration::ZERO,
    }
}

fn fact(point: &PointWanted) -> PointFacts {
    PointFacts {
        number: point.point,
        name: one_line(&point.name),
        requested_ops_per_sec: point.requested_ops_per_sec,
        init_bytes: point.init_bytes,
        fileset_bytes: point.fileset_bytes,
    }
}

fn interval(second: &Second) -> Interval {
    let ns = |ms: f64| (ms * 1e6) as u64;
    let mut interval = Interval {
        second: second.second,
        success_count: second.success_count,
        error_count: second.error_count,
        read_bytes: second.read_bytes,
        written_bytes: second.written_bytes,
        service_sum_ns: ns(second.service_sum_ms),
        response_sum_ns: ns(second.response_sum_ms),
        response_max_ns: ns(second.response_max_ms.unwrap_or(0.0)),
        responses: second.responses,
        open_count: second.open_count,
        open_age_max_ns: ns(second.open_age_max_ms),
        ..Interval::default()
    };
    let entries = interval.service_log2_us.iter_mut();
    for (entry, count) in entries.zip(&second.service_log2_us) {
        *entry = *count;
    }
    interval
}

fn state(ended: &PointEnded) -> PointState {
    match (&ended.figures, ended.counts()) {
        (None, _) => PointState::Failed,
        (Some(_), false) => PointState::Invalid,
        (Some(_), true) => PointState::Valid,
    }
}

/// As the run prints it.
fn point_line(ended: &PointEnded, point_count: usize) -> String {
    let head = format!(
        "point {:>2} of {point_count}: {}",
        ended.point,
        one_line(&ended.name)
    );
    let verdict = one_line(&ended.verdict);
    let Some(figures) = &ended.figures else {
        let reason = ended.reason.as_deref().unwrap_or_default();
        return format!("{head} {verdict}: {}", one_line(reason));
    };
    let invalid = ended.findings.iter().filter(|f| f.invalidates());
    let rules: Vec<_> = invalid.map(|f| f.rule.name()).collect();
    let rules = match rules.is_empty() {
        true => String::new(),
        false => format!(" ({})", rules.join(", ")),
    };
    let errors = match figures.error_count {
        0 => String::new(),
        count => format!(", {}", counted(count, "error")),
    };
    format!(
        "{head} requested, {} op/s achieved, mean {} ms, 99 % {} ms{errors}  {verdict}{rules}",
        rate(figures.achieved_ops_per_sec),
        ms(figures.service_mean_ms * 1e6),
        ms(figures.service_p99_ms * 1e6),
    )
}
