//! The view's lines, from a [`ViewState`], a width and the time. The text depends on nothing else.

use super::state::{CurrentStage, PointState, SPARK_SECONDS, ViewState};
use filermark_cli_kit::view::{Charset, DrawTime, Line, Paint, Style, clock, ms, number};
use filermark_engine::shard::SILENCE_MAX;
use filermark_model::Bytes;
use filermark_model::stats::Interval;
use filermark_model::units::counted;
use filermark_results::Phase;
use jiff::{SignedDuration, Zoned};
use std::time::Duration;

/// Columns of the text next to the bar of a phase.
const BESIDE_BAR: usize = 40;
/// Smallest and largest width of a useful bar.
const BAR_COLUMNS: (usize, usize) = (10, 24);
/// Smallest useful number of sparks.
const SPARKS_MIN: usize = 8;
/// Columns before them.
const SPARKS_APART: usize = 3;

impl ViewState {
    /// The present view, three to five lines.
    pub fn lines(&self, now: &DrawTime, style: Style) -> Vec<String> {
        let mut lines = vec![
            self.title(now.passed),
            self.sweep(style),
            self.phase(now.passed, style),
        ];
        lines.extend(self.idle_or_rate(now.passed));
        lines.push(self.end(now));
        let text = lines.iter().map(|l| l.render(style.width, style.colour));
        text.collect()
    }

    fn title(&self, passed: Duration) -> Line {
        let facts = &self.facts;
        let mut line = Line::default();
        let name = format!(" {} {}", facts.benchmark, facts.suffix);
        line.add(Paint::Strong, name).add(Paint::Plain, "   ");
        let (living, all) = self.clients;
        let lost = match self.clients_seen >= all {
            true => all.saturating_sub(living),
            false => 0,
        };
        let clients = counted(all as u64, "client");
        match (lost, living) {
            (0, 1) if all == 1 => line.add(Paint::Plain, clients),
            (0, _) => line.add(Paint::Plain, format!("{living} of {clients}")),
            (n, _) => line.add(Paint::Bad, format!("{living} of {clients}, {n} lost")),
        };
        line.add(Paint::Plain, format!("   {}", clock(passed)));
        line
    }

    /// The load points and their states.
    fn sweep(&self, style: Style) -> Line {
        let mut line = Line::new("points");
        if self.marks.len() + BESIDE_BAR > style.width {
            self.add_counts(&mut line);
        } else {
            for mark in &self.marks {
                let (paint, shown) = mark.shown(style.charset);
                line.add(paint, shown);
            }
        }
        let all = self.facts.points.len();
        match (self.point(), self.search_step()) {
            (Some(point), _) => {
                line.add(Paint::Plain, format!("  {} of {all}, ", point.number));
                line.add(Paint::Strong, point.name.clone())
            }
            (None, Some((number, name))) => {
                line.add(Paint::Plain, format!("  search {number}, "));
                line.add(Paint::Strong, name)
            }
            (None, None) => line.add(Paint::Plain, format!("  {}", counted(all as u64, "point"))),
        };
        line
    }

    /// As text, if there are too many points for a picture.
    fn add_counts(&self, line: &mut Line) {
        let words = [
            (PointState::Valid, Paint::Good, "valid"),
            (PointState::Invalid, Paint::Bad, "invalid"),
            (PointState::Failed, Paint::Bad, "failed"),
            (PointState::ToCome, Paint::Plain, "to come"),
        ];
        let count = |mark: PointState| self.marks.iter().filter(|m| **m == mark).count();
        let mut front = "";
        for (mark, paint, word) in words {
            let n = count(mark);
            if n > 0 {
                line.add(paint, format!("{front}{n} {word}"));
                front = ", ";
            }
        }
        if front.is_empty() {
            line.add(Paint::Plain, counted(1, "point"));
        }
    }

    fn phase(&self, passed: Duration, style: Style) -> Line {
        let CurrentStage::In(phase) = self.stage else {
            return self.no_phase();
        };
        let mut line = Line::new(phase.name());
        let (least, most) = BAR_COLUMNS;
        let columns = style.width.saturating_sub(BESIDE_BAR).clamp(least, most);
        if let Some(share) = self.phase_share(passed) {
            let (full, empty) = style.charset.bar(share, columns);
            line.add(Paint::Plain, full)
                .add(Paint::Faint, empty)
                .add(Paint::Plain, "  ");
        }
        let in_phase = self.in_phase(passed);
        // RUN may last longer than planned: what it waits for is shown by name.
        let over = match self.phase_length() {
            Some((length, false)) => in_phase.checked_sub(length),
            _ => None,
        };
        let gone = clock(in_phase - over.unwrap_or_default());
        line.add(
            Paint::Plain,
            match self.phase_length() {
                Some((length, false)) => format!("{gone} of {}", clock(length)),
                Some((length, true)) => format!("{gone} of about {}", clock(length)),
                None => gone,
            },
        );
        let over = over.filter(|over| over.as_secs() > 0);
        if let Some(over) = over.filter(|_| phase == Phase::Run) {
            let text = format!(", waiting for replies, {}", clock(over));
            line.add(Paint::Plain, text);
        } else if matches!(phase, Phase::Warmup | Phase::Run) {
            self.add_sparks(&mut line, style);
        }
        line
    }

    /// The rates of the last seconds that fit.
    fn add_sparks(&self, line: &mut Line, style: Style) {
        let width_left = style.width.saturating_sub(line.columns() + SPARKS_APART);
        if width_left < SPARKS_MIN || self.successes.is_empty() {
            return;
        }
        let seen = self.successes.len();
        let shown = width_left.min(SPARK_SECONDS).min(seen);
        let figures = self.successes.iter().skip(seen - shown);
        let highest = figures.clone().max().copied().unwrap_or(0) as f64;
        let most = highest.max(self.requested().unwrap_or(0.0));
        line.add(Paint::Plain, " ".repeat(SPARKS_APART));
        line.add(Paint::Plain, style.charset.sparks(figures, most));
    }

    fn no_phase(&self) -> Line {
        let (living, all) = self.clients;
        let mut line = Line::new(if self.stage == CurrentStage::Between {
            ""
        } else {
            "start"
        });
        line.add(
            Paint::Plain,
            match self.stage {
                CurrentStage::Between => "results are being written",
                _ if living < all => "waiting for the agents on the clients",
                _ => "looking at the server and the directories",
            },
        );
        line
    }

    /// What INIT or CLEANUP waits for, or [`Self::rate`].
    fn idle_or_rate(&self, passed: Duration) -> Option<Line> {
        let Some((seconds, left)) = self.idle(passed) else {
            return self.rate(passed);
        };
        let mut line = Line::new("waiting");
        line.add(Paint::Bad, format!("no step has ended for {seconds} s"));
        let next = format!("; gives up within {}; Ctrl-C ends", clock(left));
        line.add(Paint::Plain, next);
        Some(line)
    }

    /// One line about this second, for `--lines`.
    pub fn one_line(&self, passed: Duration) -> Option<String> {
        let CurrentStage::In(phase) = self.stage else {
            return None;
        };
        let mut line = Line::default();
        let all = self.facts.points.len();
        match (self.point(), self.search_step()) {
            (Some(point), _) => {
                let place = format!("[{}/{all}] {} ", point.number, point.name);
                line.add(Paint::Plain, place);
            }
            (None, Some((number, name))) => {
                line.add(Paint::Plain, format!("[search {number}] {name} "));
            }
            (None, None) => {}
        }
        let in_phase = clock(self.in_phase(passed));
        line.add(
            Paint::Plain,
            match self.phase_length() {
                Some((length, false)) => format!("{phase} {in_phase} of {}: ", clock(length)),
                _ => format!("{phase} {in_phase}: "),
            },
        );
        let mut figures = self.idle_or_rate(passed)?;
        figures.drop_label();
        let text = line.render(usize::MAX, false);
        let open = self.last.as_ref().and_then(open_operations);
        let is_loaded = matches!(phase, Phase::Warmup | Phase::Run);
        let open = open.filter(|_| is_loaded);
        let open = open.map_or_else(String::new, |open| format!(", {open}"));
        let figures = figures.render(usize::MAX, false);
        // What is open stands before what comes next.
        let (stated, next) = figures.split_at(figures.find(';').unwrap_or(figures.len()));
        Some(format!("{text} {stated}{open}{next}"))
    }

    /// Operations per second, or objects made or removed.
    fn rate(&self, passed: Duration) -> Option<Line> {
        match self.stage {
            CurrentStage::In(Phase::Warmup | Phase::Run) => Some(self.ops()),
            CurrentStage::In(Phase::Init) => Some(self.made(passed)),
            CurrentStage::In(Phase::Cleanup) => {
                let mut line = Line::new("removed");
                line.add(Paint::Plain, objects(self.tasks.0));
                Some(line)
            }
            _ => None,
        }
    }

    fn made(&self, passed: Duration) -> Line {
        let mut line = Line::new("made");
        let (task_count, bytes) = self.tasks;
        let seconds = self.in_phase(passed).as_secs_f64();
        line.add(
            Paint::Plain,
            format!("{}, {}", objects(task_count), Bytes(bytes)),
        );
        if seconds >= 1.0 && bytes > 0 {
            let speed = mib(bytes) / seconds;
            line.add(Paint::Plain, format!(", {} MiB/s", number(speed, 1)));
        }
        line
    }

    fn ops(&self) -> Line {
        let mut line = Line::new("rate");
        let Some(last) = &self.last else {
            line.add(Paint::Plain, "no second is over yet");
            return line;
        };
        if let Some(seconds) = self.silence() {
            if self.facts.blocks {
                line.add(Paint::Bad, format!("nothing has ended for {seconds} s"));
                line.add(Paint::Plain, "; Ctrl-C ends");
                return line;
            }
            let left = silence_left(seconds);
            line.add(Paint::Bad, format!("server silent for {seconds} s"));
            line.add(Paint::Plain, format!("; gives up in {left}; Ctrl-C ends"));
            return line;
        }
        let rate = number(last.success_count as f64, 0);
        line.add(Paint::Strong, rate);
        if let Some(requested) = self.requested() {
            line.add(Paint::Plain, format!(" of {}", number(requested, 0)));
        }
        let moved = mib(last.read_bytes.saturating_add(last.written_bytes));
        line.add(Paint::Plain, format!(" op/s, {} MiB/s", number(moved, 1)));
        // Without an operation there is no mean.
        if last.success_count > 0 {
            line.add(
                Paint::Plain,
                format!(
                    ", mean {} ms, max {} ms",
                    ms(last.service_mean_ns()),
                    ms(last.response_max_ns as f64),
                ),
            );
        }
        if last.error_count > 0 {
            line.add(Paint::Plain, ", ");
            line.add(Paint::Bad, counted(last.error_count, "error"));
        }
        line
    }

    fn end(&self, now: &DrawTime) -> Line {
        let left = self.left(now.passed);
        let mut line = Line::new(if self.stopping { "stopping" } else { "ends" });
        if !self.stopping && self.is_draining(now.passed) {
            let seconds = self.facts.close_max.as_secs();
            let text = format!("{seconds} s at most for what is open; Ctrl-C ends");
            line.add(Paint::Plain, text);
            return line;
        }
        let span = Duration::try_from_secs_f64(left.seconds).unwrap_or_default();
        let at = wall_time(&now.wall, span);
        let is_loaded = matches!(self.stage, CurrentStage::In(Phase::Warmup | Phase::Run));
        let last = self.last.as_ref().filter(|_| is_loaded);
        let open = last.and_then(open_operations);
        let text = match (left.at_least, self.stopping) {
            (true, true) => "removing what was made".to_owned(),
            (true, false) if open.is_some() => format!("not before {at}"),
            (true, false) => format!("not before {at}; INIT will show more"),
            (false, _) => format!("about {at}, in {}", clock(span)),
        };
        let space = if self.stopping { " " } else { "" };
        line.add(Paint::Plain, format!("{space}{text}"));
        if let Some(open) = open {
            line.add(Paint::Bad, format!("   {open}"));
        }
        line
    }
}

/// Operations that are open for longer than a second: `16 operations open, oldest 18 s`.
pub fn open_operations(second: &Interval) -> Option<String> {
    let age_s = second.open_age_max_ns / 1_000_000_000;
    let count = counted(second.open_count, "operation");
    (age_s > 0).then(|| format!("{count} open, oldest {age_s} s"))
}

/// How long the run still waits for a server that has been silent for this time.
pub fn silence_left(seconds: u32) -> String {
    let limit = SILENCE_MAX.0 / 1_000_000_000;
    clock(Duration::from_secs(limit.saturating_sub(seconds.into())))
}

/// The wall-clock time after a span, as precise as the estimate.
fn wall_time(now: &Zoned, span: Duration) -> String {
    let Ok(then) =
        SignedDuration::try_from(span).map_or_else(|_| Ok(now.clone()), |s| now.checked_add(s))
    else {
        return "some day".into();
    };
    let form = match (then.date() == now.date(), span.as_secs()) {
        (true, 0..3_600) => "%H:%M:%S",
        (true, _) => "%H:%M",
        (false, 0..500_000) => "%a %H:%M",
        (false, _) => "%Y-%m-%d",
    };
    then.strftime(form).to_string()
}

fn objects(count: u64) -> String {
    let s = if count == 1 { "" } else { "s" };
    format!("{} object{s}", number(count as f64, 0))
}

fn mib(bytes: u64) -> f64 {
    Bytes(bytes).as_mib_f64()
}

impl PointState {
    fn shown(self, charset: Charset) -> (Paint, &'static str) {
        let (paint, unicode, ascii) = match self {
            Self::ToCome => (Paint::Faint, "·", "."),
            Self::Now => (Paint::Strong, "▶", ">"),
            Self::Valid => (Paint::Good, "✓", "v"),
            Self::Invalid => (Paint::Bad, "✗", "x"),
            Self::Failed => (Paint::Bad, "!", "!"),
        };
        match charset {
            Charset::Unicode => (paint, unicode),
            Charset::Ascii => (paint, ascii),
        }
    }
}
