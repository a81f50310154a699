//! The contents of the view: the run, and the energy data.

use super::state::ViewState;
use filermark_cli_kit::companion::Status;
use filermark_cli_kit::view::{Content, DrawTime, Style};
use filermark_prime::Progress;
use std::time::Duration;

/// A run, and the energy data.
pub struct RunContent {
    state: ViewState,
    beside: Option<Box<dyn Status>>,
}

impl RunContent {
    /// A run that has not begun.
    pub fn new(state: ViewState) -> Self {
        Self {
            state,
            beside: None,
        }
    }

    /// Handles an event of the run, `passed` after the view began.
    pub fn on_progress(&mut self, progress: &Progress<'_>, passed: Duration) {
        self.state.on_progress(progress, passed);
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
        let mut lines = self.state.lines(now, style);
        let beside = self.beside.iter();
        lines.extend(beside.flat_map(|status| status.lines(style)));
        lines
    }
}
