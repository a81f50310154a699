//! Progress on stderr during a run: the live view on a terminal, a line per event elsewhere, a
//! line per second or nothing on request. netmist's console, where it was asked for, replaces the
//! lines of phases.

use crate::cli::ViewArgs;
use crate::console::Console;
use crate::live::{self, Facts, PointFacts, PointState, RunContent, ViewState};
use crate::log_copy::LogCopy;
use filermark_cli_kit::companion::Status;
use filermark_cli_kit::output::colour_wanted;
use filermark_cli_kit::view::{self, LiveView};
use filermark_model::plan::SEARCH_NUMBERS;
use filermark_model::stats::Interval;
use filermark_model::units::counted;
use filermark_prime::Progress;
use filermark_results::Timestamp;
use std::time::{Duration, Instant};

/// How often the view shows the energy data.
const SEEN_EVERY: Duration = Duration::from_millis(500);
/// How often without the view.
const REPORTED_EVERY: Duration = Duration::from_secs(30);

/// What shows the progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgressForm {
    /// A live view, if stderr is a suitable terminal; otherwise a line per event.
    View,
    /// A line per event.
    Events,
    /// A line per event, and one per second.
    Seconds,
    /// Nothing but messages.
    Quiet,
}

impl ProgressForm {
    /// The form that the options ask for; `view`: whether there may be a live view.
    pub const fn of(args: ViewArgs, view: bool) -> Self {
        match (args.quiet, args.lines) {
            (true, _) => Self::Quiet,
            (false, true) => Self::Seconds,
            (false, false) if view => Self::View,
            (false, false) => Self::Events,
        }
    }
}

/// How progress is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProgressStyle {
    /// What shows it.
    pub form: ProgressForm,
    /// No colours (`--no-color`).
    pub no_color: bool,
    /// Print the console of the 2014 generation, where the benchmark has one.
    pub console: bool,
}

/// Shows the progress of a run.
pub struct ProgressReporter {
    /// `None`: plain lines.
    view: Option<LiveView<RunContent>>,
    /// A line per second.
    seconds: Option<SecondLines>,
    quiet: bool,
    colour: bool,
    point_count: usize,
    console: Option<Console>,
    copy: LogCopy,
    clients: ClientCountNotice,
    silence: SilenceNotice,
    /// When the energy data were last shown.
    seen: Option<Instant>,
}

impl ProgressReporter {
    /// For a run. Permanent lines also go to `copy`.
    pub fn new(
        facts: Facts,
        style: ProgressStyle,
        console: Option<Console>,
        copy: LogCopy,
    ) -> Self {
        let (point_count, silence) = (facts.points.len(), SilenceNotice::of(facts.blocks));
        let drawn = view::wanted();
        let colour = drawn && !style.no_color && colour_wanted();
        let state = || ViewState::new(facts.clone());
        let view = (drawn && style.form == ProgressForm::View)
            .then(|| LiveView::start(RunContent::new(state()), colour))
            .flatten();
        let seconds = (style.form == ProgressForm::Seconds)
            .then(|| SecondLines::new(state(), Instant::now()));
        Self {
            view,
            seconds,
            quiet: style.form == ProgressForm::Quiet,
            colour,
            point_count,
            console,
            copy,
            clients: ClientCountNotice::default(),
            silence,
            seen: None,
        }
    }

    /// For a run that began so long ago; its steps come with their own times.
    pub fn attach(facts: Facts, style: ProgressStyle, begun_before: Duration) -> Self {
        let mut reporter = Self::new(facts, style, None, LogCopy::default());
        if let Some(view) = &mut reporter.view {
            view.change(|run, _| run.begun_before(begun_before));
        }
        reporter
    }

    /// Handles one step of the run.
    pub fn on_progress(&mut self, progress: &Progress<'_>) {
        self.on_progress_at(progress, None);
    }

    /// Handles one step; `at` is its time since the run began, `None`: now.
    pub fn on_progress_at(&mut self, progress: &Progress<'_>, at: Option<Duration>) {
        if let Some(console) = &mut self.console {
            let text = console.on_progress(progress, Timestamp::now());
            self.text(&text, &text);
        }
        if let Some(view) = &self.view {
            view.change(|run, passed| run.on_progress(progress, at.unwrap_or(passed)));
        }
        if let Some(seconds) = &mut self.seconds
            && let Some(line) = seconds.on_progress(progress, Instant::now())
        {
            self.line(&line);
        }
        if self.quiet {
            if let Progress::Remark(remark) = progress {
                self.line(remark);
            }
            return;
        }
        match progress {
            Progress::PhaseBegan { point, phase, .. }
                if self.view.is_none() && self.console.is_none() =>
            {
                self.line(&match point {
                    Some(point) if point.number > SEARCH_NUMBERS => format!(
                        "[search {}] {} {phase}",
                        point.number - SEARCH_NUMBERS,
                        point.requested
                    ),
                    Some(point) => format!(
                        "[{}/{}] {} {phase}",
                        point.number,
                        self.point_count,
                        point.requested_text()
                    ),
                    None => phase.to_string(),
                });
            }
            Progress::SearchTried(_, tried) => {
                let line = |colour| filermark_report::search_line(tried, colour);
                let (shown, plain) = (line(self.colour), line(false));
                self.text(&format!("{shown}\n"), &format!("{plain}\n"));
            }
            Progress::SearchEnded(plan) => self.point_count = plan.points.len(),
            Progress::PointEnded(record, point) => {
                let line = |colour| filermark_report::progress_line(record, point, colour);
                let (shown, plain) = (line(self.colour), line(false));
                self.text(&format!("{shown}\n"), &format!("{plain}\n"));
            }
            Progress::Agents { living, all } if self.view.is_none() => {
                if let Some(line) = self.clients.receive(*living, *all) {
                    self.line(&line);
                }
            }
            Progress::Remark(remark) => self.line(remark),
            Progress::Second(second) if self.view.is_none() && self.seconds.is_none() => {
                if let Some(line) = self.silence.receive(second) {
                    self.line(&line);
                }
            }
            _ => {}
        }
    }

    /// The load points of the sweep, after a search.
    pub fn set_points(&mut self, points: Vec<PointFacts>) {
        self.point_count = points.len();
        if let Some(view) = &self.view {
            view.change(|run, _| run.set_points(points));
        }
    }

    /// Handles the end of a load point without its record; `line` describes it.
    pub fn end_point(&mut self, number: u32, state: PointState, at: Duration, line: &str) {
        if let Some(view) = &self.view {
            view.change(|run, _| run.end_point(number, state, at));
        }
        self.line(line);
    }

    /// Shows the energy data if that is due; `status` is called only then.
    pub fn beside(&mut self, status: impl FnOnce() -> Box<dyn Status>) {
        let now = Instant::now();
        let every = match self.view {
            Some(_) => SEEN_EVERY,
            None => REPORTED_EVERY,
        };
        let due = self.seen.is_none_or(|seen| now - seen >= every);
        if !due {
            return;
        }
        self.seen = Some(now);
        match &self.view {
            Some(view) => {
                let status = status();
                view.change(|run, _| run.set_status(status));
            }
            None => {
                self.line(&status().line());
            }
        }
    }

    /// Ends the live view.
    pub fn rest(&mut self) {
        self.view = None;
    }

    /// Prints a permanent line.
    pub fn line(&mut self, text: &str) {
        let text = format!("{text}\n");
        self.text(&text, &text);
    }

    /// Prints permanent lines; the copy has them without colours.
    fn text(&mut self, shown: &str, plain: &str) {
        if shown.is_empty() {
            return;
        }
        view::print_stderr(shown);
        if let Some(why) = self.copy.add(plain) {
            view::print_stderr(&format!("{why}\n"));
        }
    }
}

/// The lines of `--lines`: one for each second of WARMUP and RUN, and in INIT and CLEANUP one a
/// second at most.
struct SecondLines {
    state: ViewState,
    began: Instant,
    printed: Option<Instant>,
}

impl SecondLines {
    const fn new(state: ViewState, began: Instant) -> Self {
        Self {
            state,
            began,
            printed: None,
        }
    }

    fn on_progress(&mut self, progress: &Progress<'_>, now: Instant) -> Option<String> {
        let passed = now - self.began;
        self.state.on_progress(progress, passed);
        let is_due = match progress {
            Progress::Second(_) => true,
            Progress::Tasks { .. } => self
                .printed
                .is_none_or(|printed| now - printed >= Duration::from_secs(1)),
            _ => false,
        };
        if !is_due {
            return None;
        }
        self.printed = Some(now);
        Some(self.state.second_line(passed))
    }
}

/// Decides when a plain line about a silent server is due: after some seconds without a reply,
/// then each time after twice as many, and when it answers again.
#[derive(Debug, Default)]
struct SilenceNotice {
    seconds: u32,
    /// Seconds at which it is reported next.
    due: u32,
    /// Operations are system calls that block, so that the run never gives up.
    blocks: bool,
}

impl SilenceNotice {
    /// Seconds without a reply before the first report; a low load has such pauses.
    const FIRST: u32 = 5;

    fn of(blocks: bool) -> Self {
        Self {
            blocks,
            ..Self::default()
        }
    }

    fn receive(&mut self, second: &Interval) -> Option<String> {
        if second.success_count.saturating_add(second.error_count) > 0 {
            let (seconds, output_text, blocks) =
                (self.seconds, self.due > Self::FIRST, self.blocks);
            *self = Self::of(blocks);
            return output_text.then(|| match blocks {
                true => format!("operations end again after {seconds} s"),
                false => format!("the server answers again after {seconds} s"),
            });
        }
        self.seconds = self.seconds.saturating_add(1);
        self.due = self.due.max(Self::FIRST);
        if self.seconds < self.due {
            return None;
        }
        self.due = self.due.saturating_mul(2);
        let seconds = self.seconds;
        let open = live::open_operations(second);
        let open = open.map_or_else(String::new, |open| format!(", {open}"));
        if self.blocks {
            return Some(format!(
                "no operation has ended for {seconds} s{open}; Ctrl-C ends"
            ));
        }
        let left = live::silence_left(seconds);
        Some(format!(
            "no reply for {seconds} s{open}; if the server does not answer, the run ends in {left}; Ctrl-C ends"
        ))
    }
}

/// Decides when a plain line about the clients is due: when all are connected, and when some are
/// lost. With a single client no line is needed.
#[derive(Debug, Default)]
struct ClientCountNotice {
    reported: usize,
    printed_count: Option<usize>,
}

impl ClientCountNotice {
    fn receive(&mut self, living: usize, all: usize) -> Option<String> {
        let before = std::mem::replace(&mut self.reported, living);
        let due = living == all || living <= before;
        if all < 2 || !due || self.printed_count.replace(living) == Some(living) {
            return None;
        }
        let there = if living == 1 { "is" } else { "are" };
        Some(format!(
            "{living} of {} {there} there",
            counted(all as u64, "client")
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::{ClientCountNotice, SilenceNotice};
    use filermark_model::stats::Interval;

    #[test]
    fn a_silent_server_is_reported_with_growing_pauses() {
        let mut silence = SilenceNotice::default();
        let mut receive = |success_count| {
            silence.receive(&Interval {
                success_count,
                ..Interval::default()
            })
        };
        assert_eq!(receive(7), None);
        let output_text: Vec<u32> = (1..=25).filter(|_| receive(0).is_some()).collect();
        assert_eq!(output_text, [5, 10, 20]);
        let again = receive(3);
        assert_eq!(
            again.as_deref(),
            Some("the server answers again after 25 s")
        );
        assert_eq!(receive(3), None);
        let output_text = (0..5).filter_map(|_| receive(0)).last().expect("a line");
        assert_eq!(
            output_text,
            "no reply for 5 s; if the server does not answer, the run ends in 1:55; Ctrl-C ends"
        );
    }

    #[test]
    fn open_operations_are_reported_with_it() {
        let mut silence = SilenceNotice::default();
        let second = Interval {
            open_count: 16,
            open_age_max_ns: 5_900_000_000,
            ..Interval::default()
        };
        let output_text = (0..5).filter_map(|_| silence.receive(&second)).last();
        let output_text = output_text.expect("a line");
        let want = "no reply for 5 s, 16 operations open, oldest 5 s; if the server";
        assert!(output_text.starts_with(want), "{output_text}");
        // The wait for a system call has no limit.
        let mut silence = SilenceNotice::of(true);
        let output_text = (0..5).filter_map(|_| silence.receive(&second)).last();
        let want = "no operation has ended for 5 s, 16 operations open, oldest 5 s; Ctrl-C ends";
        assert_eq!(output_text.as_deref(), Some(want));
        let answered = Interval {
            success_count: 1,
            ..Interval::default()
        };
        let output_text = silence.receive(&answered);
        assert_eq!(
            output_text.as_deref(),
            Some("operations end again after 5 s")
        );
    }

    fn lines_of(received: &[(usize, usize)]) -> Vec<String> {
        let mut clients = ClientCountNotice::default();
        let lines = received.iter();
        lines
            .filter_map(|(n, all)| clients.receive(*n, *all))
            .collect()
    }

    #[test]
    fn clients_are_reported_when_all_are_there_and_when_some_are_lost() {
        assert_eq!(
            lines_of(&[(1, 3), (2, 3), (3, 3), (2, 3), (2, 3), (1, 3)]),
            [
                "3 of 3 clients are there",
                "2 of 3 clients are there",
                "1 of 3 clients is there"
            ]
        );
        assert_eq!(
            lines_of(&[(1, 3), (2, 3), (2, 3)]),
            ["2 of 3 clients are there"]
        );
        assert_eq!(lines_of(&[(0, 2)]), ["0 of 2 clients are there"]);
        assert!(lines_of(&[(1, 1), (0, 1)]).is_empty());
    }
}
