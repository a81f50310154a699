//! Phases of a run: when they begin and end, for the record, the logs, the monitor script
//! and the observer.

use super::state::Run;
use super::types::Progress;
use crate::scripts;
use filermark_link::agents::OrderError;
use filermark_model::LoadPoint;
use filermark_results::Timestamp;
use filermark_results::live::{OpenPhase as LivePhase, RunEvent};
use filermark_results::record::{Line, Phase, PhaseRecord, SpaceUse};
use std::time::{Duration, Instant};

/// A phase that has begun.
pub(super) struct OpenPhase {
    point: Option<LoadPoint>,
    phase: Phase,
    began: Timestamp,
    since: Instant,
    /// When each tenth was over, as in the record.
    percents: Vec<Timestamp>,
}

impl OpenPhase {
    fn run_event(&self) -> RunEvent {
        RunEvent::Phase(LivePhase {
            point: self.point.map_or(0, |p| p.number),
            phase: self.phase,
            began: self.began,
            since: self.since,
            percents: self.percents.clone(),
        })
    }
}

impl Run<'_> {
    pub fn begin_phase(
        &mut self,
        point: Option<LoadPoint>,
        phase: Phase,
        expected: Option<Duration>,
    ) -> OpenPhase {
        (self.options.observe)(Progress::PhaseBegan {
            point,
            phase,
            expected,
        });
        let open = OpenPhase {
            point,
            phase,
            began: Timestamp::now(),
            since: Instant::now(),
            percents: Vec::new(),
        };
        self.journal.push_live(|| open.run_event());
        self.notify_monitor(point, phase, true);
        open
    }

    /// Another tenth of a phase is over.
    pub fn add_tenth(&mut self, open: &mut OpenPhase, is_fixed: bool) {
        if !is_fixed {
            open.percents.push(Timestamp::now());
        }
        self.journal.push_live(|| open.run_event());
    }

    pub fn end_phase(&mut self, open: OpenPhase, detail: String, failure: Option<&OrderError>) {
        self.push_phase(open, detail, failure, None);
    }

    pub fn push_phase(
        &mut self,
        open: OpenPhase,
        detail: String,
        failure: Option<&OrderError>,
        space: Option<SpaceUse>,
    ) {
        self.notify_monitor(open.point, open.phase, false);
        self.journal.push(Line::Phase(PhaseRecord {
            point: open.point.map_or(0, |p| p.number),
            phase: open.phase,
            began: open.began,
            ended: Timestamp::now(),
            seconds: open.since.elapsed().as_secs_f64(),
            detail,
            failure: failure.map(ToString::to_string),
            space,
            percents: open.percents,
        }));
    }

    fn notify_monitor(&mut self, point: Option<LoadPoint>, phase: Phase, begins: bool) {
        let (load, point) = point.map_or((0.0, 0), |p| (p.requested.0, p.number));
        self.scripts.notify_monitor(scripts::PhaseEvent {
            phase,
            begins,
            load,
            point,
        });
        let ended = self.scripts.take_ended();
        self.keep_scripts(ended);
    }
}
