//! The talk on stderr while a run goes on: a line that renews itself on a
//! terminal, a line per event elsewhere. Composite benchmarks have netmist's
//! console in the place of the lines that tell phases.

use crate::console::Console;
use crate::copies::Copy;
use filermark_cluster::Progress;
use filermark_model::Bytes;
use filermark_results::{Phase, Timestamp};
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// How often a renewed line may change.
const RENEW: Duration = Duration::from_millis(200);

/// Tells how a run goes.
pub struct Talk {
    terminal: bool,
    colour: bool,
    points: usize,
    heading: String,
    began: Instant,
    expected: Option<Duration>,
    renewed: Instant,
    open_line: bool,
    console: Option<Console>,
    copy: Copy,
}

impl Talk {
    /// For a run with so many load points. What stays on the screen goes to `copy`
    /// too.
    pub fn new(points: usize, no_color: bool, console: Option<Console>, copy: Copy) -> Self {
        let terminal = std::io::stderr().is_terminal();
        Self {
            terminal,
            colour: terminal && !no_color && colour_wanted(),
            points,
            heading: String::new(),
            began: Instant::now(),
            expected: None,
            renewed: Instant::now(),
            open_line: false,
            console,
            copy,
        }
    }

    /// Hears what goes on.
    pub fn hear(&mut self, progress: Progress<'_>) {
        if let Some(console) = &mut self.console {
            let text = console.hear(&progress, Timestamp::now());
            self.text(&text, &text);
        }
        match progress {
            Progress::PhaseBegan {
                point,
                phase,
                expected,
            } => self.phase(point, phase, expected),
            Progress::Tasks { task_count, bytes } => {
                self.renew(&format!("{task_count} objects, {}", Bytes(bytes)));
            }
            Progress::Second(second) => {
                let mean_ms = second.service_mean_ns() / 1e6;
                self.renew(&format!("{} op/s, {mean_ms:.2} ms", second.success_count));
            }
            Progress::PointEnded(record, point) => {
                let line = |colour| filermark_report::progress_line(record, point, colour);
                let (shown, plain) = (line(self.colour), line(false));
                self.text(&format!("{shown}\n"), &format!("{plain}\n"));
            }
            Progress::Remark(remark) => self.line(remark),
            Progress::Agents { .. }
            | Progress::Percent { .. }
            | Progress::Heartbeat(_)
            | Progress::Script(_) => {}
        }
    }

    /// Ends a line that was being renewed.
    pub fn rest(&mut self) {
        if self.open_line {
            eprint!("\r\x1b[K");
            self.open_line = false;
        }
    }

    /// A line that stays.
    pub fn line(&mut self, text: &str) {
        let text = format!("{text}\n");
        self.text(&text, &text);
    }

    /// Whole lines that stay, or none; the copy has them without colours.
    fn text(&mut self, shown: &str, plain: &str) {
        if shown.is_empty() {
            return;
        }
        self.rest();
        eprint!("{shown}");
        if let Some(why) = self.copy.add(plain) {
            eprintln!("{why}");
        }
    }

    fn phase(
        &mut self,
        point: Option<filermark_model::LoadPoint>,
        phase: Phase,
        expected: Option<Duration>,
    ) {
        self.heading = match point {
            Some(point) => format!(
                "[{}/{}] {} {phase}",
                point.number, self.points, point.requested
            ),
            None => phase.to_string(),
        };
        self.began = Instant::now();
        self.expected = expected;
        self.renewed = Instant::now();
        if self.terminal {
            self.show("");
        } else if self.console.is_none() {
            self.line(&self.heading.clone());
        }
    }

    fn renew(&mut self, text: &str) {
        if self.terminal && self.renewed.elapsed() >= RENEW {
            self.renewed = Instant::now();
            self.show(text);
        }
    }

    fn show(&mut self, text: &str) {
        let passed = self.began.elapsed().as_secs();
        let time = match self.expected {
            Some(all) => format!("{passed}/{} s", all.as_secs()),
            None => format!("{passed} s"),
        };
        eprint!("\r\x1b[K{} {time} {text}", self.heading);
        let _ = std::io::stderr().flush();
        self.open_line = true;
    }
}

/// Whether NO_COLOR leaves colours alone (no-color.org).
pub fn colour_wanted() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty())
}
