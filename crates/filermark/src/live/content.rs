//! The contents of the view: the run, and the energy data.

use super::facts::PointFacts;
use super::state::{PointState, ViewState};
use filermark_cli_kit::companion::Status;
use filermark_cli_kit::view::{Content, DrawTime, Style};
use filermark_prime::Progress;
use std::time::Duration;

/// A run, and the energy data.
pub struct RunContent {
    state: ViewState,
    beside: Option<Box<dyn Status>>,
    /// How long before the view the run began.
    begun_before: Duration,
}

impl RunContent {
    /// A run that has not begun.
    pub fn new(state: ViewState) -> Self {
        Self {
            state,
            beside: None,
            begun_before: Duration::ZERO,
        }
    }

    /// Handles an event of the run, `passed` after the view began.
    pub fn on_progress(&mut self, progress: &Progress<'_>, passed: Duration) {
        self.state.on_progress(progress, passed);
    }

    /// The run began so long before the view.
    pub fn begun_before(&mut self, before: Duration) {
        self.begun_before = before;
    }

    /// Replaces the load points, after a search.
    pub fn set_points(&mut self, points: Vec<PointFacts>) {
        self.state.set_points(points);
    }

    /// Handles the end of a load point, `passed` after the run began.
    pub fn end_point(&mut self, number: u32, state: PointState, passed: Duration) {
        self.state.end_point(number, state, passed);
    }

    /// Sets the present state of the energy data.
    pub fn set_status(&mut self, status: Box<dyn Status>) {
        self.beside = Some(status);
    }
}

impl Content for RunContent {
    fn stop(&mut self) {
        self.state.stop();
    }

    fn lines(&self, now: &DrawTime, style: Style) -> Vec<String> {
        let since_begin = DrawTime {
            passed: now.passed.saturating_add(self.begun_before),
            wall: now.wall.clone(),
        };
        let mut lines = self.state.lines(&since_begin, style);
        let beside = self.beside.iter();
        lines.extend(beside.flat_map(|status| status.lines(style)));
        lines
    }
}
