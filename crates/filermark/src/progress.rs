//! Progress on stderr during a run: the live view on a terminal, a line per event elsewhere, or
//! a line per second (`--lines`). `netmist` and `--console 2014` have netmist's console instead
//! of the lines of phases.

use crate::console::Console;
use crate::live::{self, Facts, IDLE_MIN, PointFacts, PointState, RunContent, ViewState};
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

/// How much is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProgressMode {
    /// A live view, if stderr is a suitable terminal, otherwise a line per event.
    #[default]
    View,
    /// A line per second (`--lines`).
    Lines,
    /// Only problems (`--quiet`).
    Quiet,
}

/// How progress is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProgressStyle {
    /// How much.
    pub mode: ProgressMode,
    /// Whether stderr may have a live view.
    pub view: bool,
    /// No colours (`--no-color`).
    pub no_color: bool,
    /// Print the console of the 2014 generation, where the benchmark has one.
    pub console: bool,
}

/// Shows the progress of a run.
pub struct ProgressReporter {
    /// `None`: plain lines.
    view: Option<LiveView<RunContent>>,
    /// Without a view.
    seconds: Option<SecondLines>,
    every_second: bool,
    is_quiet: bool,
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
        let every_second = style.mode == ProgressMode::Lines;
        let mut seconds = Some(SecondLines::new(&facts, every_second));
        let view = (drawn && style.view && style.mode == ProgressMode::View)
            .then(|| LiveView::start(RunContent::new(ViewState::new(facts)), colour))
            .flatten();
        if view.is_some() {
            seconds = None;
        }
        Self {
            view,
            seconds,
            every_second,
            is_quiet: style.mode == ProgressMode::Quiet,
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
            && let Some(line) = seconds.receive(progress)
        {
            self.line(&line);
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
            Progress::SearchTried(record, tried) => {
                let line = |colour| filermark_report::search_line(record, tried, colour);
                let (shown, plain) = (line(self.colour), line(false));
                self.text(&format!("{shown}\n"), &format!("{plain}\n"));
            }
            Progress::SearchEnded(plan) => self.point_count = plan.points.len(),
            Progress::PointEnded(record, point) => {
                let line = |colour| filermark_report::progress_line(record, point, colour);
                let (shown, plain) = (line(self.colour), line(false));
                let shown = view::wrapped(&shown);
                self.text(&format!("{shown}\n"), &format!("{plain}\n"));
            }
            Progress::Agents { living, all } if self.view.is_none() => {
                if let Some(line) = self.clients.receive(*living, *all) {
                    self.line(&line);
                }
            }
            Progress::Remark(remark) => self.line(remark),
            Progress::Second(second) if self.view.is_none() && !self.every_second => {
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
            None if self.is_quiet => {}
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

    /// Prints a permanent line about a problem, also with `--quiet`.
    pub fn problem(&mut self, text: &str) {
        if self.is_quiet {
            view::print_stderr_line(text);
        }
        self.line(text);
    }

    /// Prints permanent lines; the copy has them without colours, also with `--quiet`.
    fn text(&mut self, shown: &str, plain: &str) {
        if shown.is_empty() {
            return;
        }
        if !self.is_quiet {
            view::print_stderr(shown);
        }
        if let Some(why) = self.copy.add(plain) {
            view::print_stderr(&format!("{why}\n"));
        }
    }
}

/// The lines of `--lines`, one per second; without it, those of an INIT or CLEANUP in which no
/// object is made or removed.
struct SecondLines {
    state: ViewState,
    began: Instant,
    /// `--lines`.
    every_second: bool,
    /// When the last one was printed, since the run began.
    printed: Option<Duration>,
    /// Idle seconds at which they are reported next, without `--lines`.
    idle_due: u32,
}

impl SecondLines {
    /// Least time between the lines of INIT and CLEANUP, whose progress comes from each client.
    const APART: Duration = Duration::from_millis(950);

    fn new(facts: &Facts, every_second: bool) -> Self {
        Self {
            state: ViewState::new(facts.clone()),
            began: Instant::now(),
            every_second,
            printed: None,
            idle_due: IDLE_MIN,
        }
    }

    fn receive(&mut self, progress: &Progress<'_>) -> Option<String> {
        self.receive_at(progress, self.began.elapsed())
    }

    fn receive_at(&mut self, progress: &Progress<'_>, passed: Duration) -> Option<String> {
        self.state.on_progress(progress, passed);
        let is_early = |at: Duration| passed.saturating_sub(at) < Self::APART;
        let is_due = match progress {
            Progress::PhaseBegan { .. } => {
                self.idle_due = IDLE_MIN;
                false
            }
            Progress::Second(_) => self.every_second,
            Progress::Tasks { .. } => {
                self.idle_due = IDLE_MIN;
                self.every_second && !self.printed.is_some_and(is_early)
            }
            Progress::Idle { .. } if self.every_second => !self.printed.is_some_and(is_early),
            Progress::Idle { seconds } if *seconds >= self.idle_due => {
                self.idle_due = self.idle_due.saturating_mul(2);
                self.state.idle(passed).is_some()
            }
            _ => false,
        };
        if !is_due {
            return None;
        }
        self.printed = Some(passed);
        self.state.one_line(passed)
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
            "no reply for {seconds} s{open}; if the server does not answer, the run gives up in {left}; Ctrl-C ends"
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
    use super::{ClientCountNotice, SecondLines, SilenceNotice};
    use crate::live::Facts;
    use filermark_model::stats::Interval;
    use filermark_prime::Progress;
    use filermark_results::{Phase, testing};
    use std::time::Duration;

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
            "no reply for 5 s; if the server does not answer, the run gives up in 1:55; Ctrl-C ends"
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

    /// INIT that begins at 0 s, with objects made until 1 s and none after it.
    fn lines_of_init(every_second: bool) -> Vec<String> {
        let plan = testing::plan();
        let mut lines = SecondLines::new(&Facts::of(&plan, "s"), every_second);
        let began = Progress::PhaseBegan {
            point: Some(plan.points[0]),
            phase: Phase::Init,
            expected: None,
        };
        let tasks = |task_count| Progress::Tasks {
            task_count,
            bytes: 0,
        };
        let mut out = Vec::new();
        out.extend(lines.receive_at(&began, Duration::ZERO));
        for (ms, made) in [(300, 5), (600, 8), (1_300, 20)] {
            out.extend(lines.receive_at(&tasks(made), Duration::from_millis(ms)));
        }
        for seconds in 1..=11 {
            let passed = Duration::from_millis(1_300 + u64::from(seconds) * 1_000);
            out.extend(lines.receive_at(&Progress::Idle { seconds }, passed));
        }
        out
    }

    #[test]
    fn an_init_that_waits_is_reported_with_growing_pauses() {
        let lines = lines_of_init(false);
        assert_eq!(lines.len(), 2, "{lines:#?}");
        let want = "[1/12] 100 op/s INIT 0:06: no step has ended for 5 s; gives up within ";
        assert!(lines[0].starts_with(want), "{lines:#?}");
        assert!(lines[0].ends_with("; Ctrl-C ends"), "{lines:#?}");
        assert!(lines[1].contains("INIT 0:11: no step has ended for 10 s;"));
    }

    #[test]
    fn each_second_has_a_line_where_that_is_wanted() {
        let lines = lines_of_init(true);
        assert_eq!(lines.len(), 13, "{lines:#?}");
        assert_eq!(lines[0], "[1/12] 100 op/s INIT 0:00: 5 objects, 0 B");
        assert!(lines[1].starts_with("[1/12] 100 op/s INIT 0:01: 20 objects"));
        assert!(lines[12].contains("no step has ended for 11 s;"));
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
