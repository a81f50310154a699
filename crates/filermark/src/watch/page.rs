//! The web page of a run: a document, a style sheet and a script, which reads the state as JSON
//! once a second. Nothing is loaded from another host, and nothing can be changed from there.

use crate::events::{Event, Line, PointEnded, PointWanted, Second};
use crate::http::{Request, Response};
use filermark_model::{LoadPoint, OpsPerSec};
use jiff::Timestamp;
use serde::Serialize;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

const DOCUMENT: &str = include_str!("page/page.html");
const STYLE: &str = include_str!("page/page.css");
const SCRIPT: &str = include_str!("page/page.js");
/// The most seconds, phases and remarks that are kept, the newest.
const SECONDS_MAX: usize = 600;
const PHASES_MAX: usize = 100;
const REMARKS_MAX: usize = 50;
/// What the page may load.
const POLICY: &[(&str, &str)] = &[(
    "Content-Security-Policy",
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; \
     base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
)];

/// The page of one run.
#[derive(Clone, Default)]
pub struct Page(Arc<Mutex<PageState>>);

/// What the page shows.
#[derive(Clone, Debug, Default, Serialize)]
pub struct PageState {
    benchmark: String,
    suffix: String,
    /// When the run began.
    began: String,
    /// What is going on, in words.
    status: String,
    is_over: bool,
    connected_count: usize,
    client_count: usize,
    points: Vec<PointRow>,
    seconds: VecDeque<SecondRow>,
    phases: VecDeque<PhaseRow>,
    remarks: VecDeque<String>,
    /// The load point that is a step of a search, and the number of the step.
    #[serde(skip)]
    search_step: Option<(u32, u32)>,
}

/// A load point, planned or measured.
#[derive(Clone, Debug, Default, Serialize)]
struct PointRow {
    point: u32,
    name: String,
    requested: Option<f64>,
    achieved: Option<f64>,
    mean_ms: Option<f64>,
    p99_ms: Option<f64>,
    /// The verdict, or empty.
    verdict: String,
    /// Whether it was measured and counts.
    counts: bool,
    findings: Vec<String>,
}

/// A second of load.
#[derive(Clone, Debug, Serialize)]
struct SecondRow {
    /// Since the run began.
    at_s: f64,
    point: u32,
    /// The step of a search, in place of the load point.
    search_step: Option<u32>,
    rate: u64,
    errors: u64,
    mean_ms: Option<f64>,
    max_ms: Option<f64>,
    open: u64,
}

/// The beginning of a phase.
#[derive(Clone, Debug, Serialize)]
struct PhaseRow {
    at_s: f64,
    point: Option<u32>,
    search_step: Option<u32>,
    phase: &'static str,
}

impl Page {
    /// Adds an event.
    pub fn receive(&self, line: &Line<Event>) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.receive(line);
    }

    /// Answers a request.
    pub fn answer(&self, request: &Request) -> Response {
        let html = "text/html; charset=utf-8";
        let mut response = match request.path.as_str() {
            "/" => Response::of(html, DOCUMENT.into()),
            "/page.css" => Response::of("text/css; charset=utf-8", STYLE.into()),
            "/page.js" => Response::of("text/javascript; charset=utf-8", SCRIPT.into()),
            "/state.json" => {
                let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
                let state = state.clone();
                let text = serde_json::to_string(&state).unwrap_or_default();
                Response::of("application/json", text)
            }
            _ => Response::text(404, "not found; the page is at /"),
        };
        response.headers = POLICY;
        response
    }
}

impl PageState {
    fn receive(&mut self, line: &Line<Event>) {
        match &line.event {
            Event::RunBegan(run) => {
                *self = Self {
                    benchmark: run.benchmark.clone(),
                    suffix: run.suffix.clone(),
                    began: line.at.clone(),
                    status: "starting".into(),
                    client_count: run.client_count,
                    points: run.points.iter().map(planned).collect(),
                    ..Self::default()
                }
            }
            Event::PointsPlanned { points } => self.points = points.iter().map(planned).collect(),
            Event::Agents {
                living_count,
                all_count,
            } => (self.connected_count, self.client_count) = (*living_count, *all_count),
            Event::PhaseBegan {
                point,
                phase,
                search_step,
                requested_ops_per_sec,
                ..
            } => {
                self.status = match (point, search_step) {
                    (_, Some(step)) => {
                        let load = OpsPerSec(requested_ops_per_sec.unwrap_or(0.0));
                        let load = LoadPoint {
                            requested: load,
                            ..LoadPoint::MAX
                        };
                        let load = load.requested_text();
                        format!("{phase} of search step {step}, {load}")
                    }
                    (Some(point), None) => format!("{phase} of load point {point}"),
                    (None, None) => phase.to_string(),
                };
                self.search_step = point.zip(*search_step);
                let row = PhaseRow {
                    at_s: self.since_begin(&line.at),
                    point: *point,
                    search_step: *search_step,
                    phase: phase.name(),
                };
                keep(&mut self.phases, PHASES_MAX, row);
            }
            Event::Second(second) => {
                let step = self.search_step.filter(|(point, _)| *point == second.point);
                let mut row = second_row(second, self.since_begin(&line.at));
                row.search_step = step.map(|(_, step)| step);
                keep(&mut self.seconds, SECONDS_MAX, row);
            }
            Event::PointEnded(ended) => self.end_point(ended),
            Event::Remark { message } => keep(&mut self.remarks, REMARKS_MAX, message.clone()),
            Event::RunEnded(end) => {
                self.is_over = true;
                self.status = match &end.verdict {
                    Some(verdict) => format!("{}, {verdict}", end.outcome.word()),
                    None => end.outcome.word().into(),
                };
                if let Some(reason) = &end.reason {
                    keep(&mut self.remarks, REMARKS_MAX, reason.clone());
                }
            }
            Event::Tasks { .. }
            | Event::Percent { .. }
            | Event::Heartbeat { .. }
            | Event::Power { .. }
            | Event::Script { .. } => {}
        }
    }

    fn since_begin(&self, at: &str) -> f64 {
        let times = (self.began.parse::<Timestamp>(), at.parse::<Timestamp>());
        match times {
            (Ok(began), Ok(at)) => at.duration_since(began).as_secs_f64().max(0.0),
            _ => 0.0,
        }
    }

    fn end_point(&mut self, ended: &PointEnded) {
        let figures = ended.figures.as_ref();
        let findings = ended.findings.iter();
        let row = PointRow {
            point: ended.point,
            name: ended.name.clone(),
            requested: ended.requested_ops_per_sec,
            achieved: figures.map(|f| f.achieved_ops_per_sec),
            mean_ms: figures.map(|f| f.service_mean_ms),
            p99_ms: figures.map(|f| f.service_p99_ms),
            verdict: ended.verdict.to_string(),
            counts: ended.counts(),
            findings: findings
                .map(|f| format!("{}: {}", f.rule.name(), f.message))
                .chain(ended.reason.clone())
                .collect(),
        };
        match self.points.iter_mut().find(|p| p.point == ended.point) {
            Some(place) => *place = row,
            None => self.points.push(row),
        }
    }
}

fn planned(point: &PointWanted) -> PointRow {
    PointRow {
        point: point.point,
        name: point.name.clone(),
        requested: point.requested_ops_per_sec,
        ..PointRow::default()
    }
}

fn second_row(second: &Second, at_s: f64) -> SecondRow {
    SecondRow {
        at_s,
        point: second.point,
        search_step: None,
        rate: second.success_count,
        errors: second.error_count,
        mean_ms: second.service_mean_ms,
        max_ms: second.response_max_ms,
        open: second.open_count,
    }
}

fn keep<T>(list: &mut VecDeque<T>, most: usize, row: T) {
    if list.len() >= most {
        list.pop_front();
    }
    list.push_back(row);
}
