//! The view at moments of a run, compared with a golden file.

use super::facts::Facts;
use super::state::ViewState;
use filermark_cli_kit::view::{Charset, DrawTime, Style, columns};
use filermark_model::stats::Interval;
use filermark_model::{LoadPoint, Nanos, RunPlan};
use filermark_prime::Progress;
use filermark_results::testing;
use filermark_results::{Phase, PointRecord, RunRecord};
use jiff::civil::date;
use std::fmt::Write;
use std::time::Duration;

/// A simulated run, and its views.
struct Scenario {
    record: RunRecord,
    state: ViewState,
    frames: String,
}

impl Scenario {
    fn of(record: RunRecord, change: impl FnOnce(&mut RunPlan)) -> Self {
        let mut plan = record.run.plan.clone();
        change(&mut plan);
        let state = ViewState::new(Facts::of(&plan, "mine"));
        Self {
            record,
            state,
            frames: String::new(),
        }
    }

    fn point(&self, number: usize) -> LoadPoint {
        self.record.run.plan.points[number - 1]
    }

    fn receive(&mut self, seconds: f64, progress: &Progress<'_>) {
        self.state
            .on_progress(progress, Duration::from_secs_f64(seconds));
    }

    fn begin(&mut self, seconds: f64, point: Option<usize>, phase: Phase, expected: u64) {
        let point = point.map(|number| self.point(number));
        let expected = (expected > 0).then(|| Duration::from_secs(expected));
        self.receive(
            seconds,
            &Progress::PhaseBegan {
                point,
                phase,
                expected,
            },
        );
    }

    fn tasks(&mut self, task_count: u64, bytes: u64) {
        self.receive(0.0, &Progress::Tasks { task_count, bytes });
    }

    fn second(&mut self, success_count: u64, error_count: u64) {
        let second = Interval {
            success_count,
            error_count,
            read_bytes: success_count.saturating_mul(20_000),
            written_bytes: success_count.saturating_mul(8_000),
            service_sum_ns: success_count.saturating_mul(287_000),
            response_max_ns: 3_104_000,
            ..Interval::default()
        };
        self.receive(0.0, &Progress::Second(&second));
    }

    fn end(&mut self, seconds: f64, number: usize) {
        let record = self.record.clone();
        let point: &PointRecord = &record.points[number - 1];
        self.receive(seconds, &Progress::PointEnded(&record, point));
    }

    fn lines(&self, seconds: f64, style: Style) -> Vec<String> {
        let passed = Duration::from_secs_f64(seconds);
        let start = date(2026, 11, 21).at(18, 30, 0, 0);
        let wall = start.in_tz("UTC").expect("a time zone");
        let wall = wall.saturating_add(jiff::SignedDuration::try_from(passed).expect("short"));
        self.state.lines(&DrawTime { passed, wall }, style)
    }

    fn show(&mut self, what: &str, seconds: f64, style: Style) {
        let lines = self.lines(seconds, style);
        assert!((3..=5).contains(&lines.len()), "{lines:#?}");
        for line in &lines {
            assert!(columns(line) <= style.width, "{line}");
        }
        let _ = writeln!(self.frames, "== {what}");
        for line in lines {
            let _ = writeln!(self.frames, "{}", line.replace('\x1b', "^["));
        }
    }
}

const WIDE: Style = Style {
    width: 79,
    colour: false,
    charset: Charset::Unicode,
};

#[test]
fn a_silent_server_is_reported_and_run_does_not_pass_its_end() {
    let mut case = Scenario::of(testing::record(), |_| {});
    case.begin(0.0, Some(1), Phase::Run, 30);
    case.second(100, 0);
    let lines = case.lines(2.0, WIDE).join("\n");
    assert!(
        lines.contains("mean ") && !lines.contains("silent"),
        "{lines}"
    );
    case.second(0, 0);
    let lines = case.lines(3.0, WIDE).join("\n");
    assert!(!lines.contains("mean "), "nothing was measured: {lines}");
    for _ in 0..17 {
        case.second(0, 0);
    }
    let lines = case.lines(20.0, WIDE).join("\n");
    let output_text = "server silent for 18 s; gives up in 1:42; Ctrl-C ends";
    assert!(lines.contains(output_text), "{lines}");
    let lines = case.lines(39.0, WIDE).join("\n");
    let over = "0:30 of 0:30, waiting for replies, 0:09";
    assert!(lines.contains(over), "{lines}");
    assert!(lines.contains("55 s at most for what is open"), "{lines}");
}

/// The load points of a search are not in the plan.
#[test]
fn a_silent_server_is_reported_during_a_search() {
    let mut case = Scenario::of(testing::record(), |plan| plan.points.clear());
    let tried = LoadPoint {
        number: 10_002,
        ..case.point(1)
    };
    case.receive(
        0.0,
        &Progress::PhaseBegan {
            point: Some(tried),
            phase: Phase::Run,
            expected: Some(Duration::from_secs(30)),
        },
    );
    case.second(100, 0);
    let lines = case.lines(2.0, WIDE).join("\n");
    assert!(lines.contains("100 of 100 op/s"), "{lines}");
    assert!(lines.contains("  search 2, 100 op/s"), "{lines}");
    for _ in 0..18 {
        case.second(0, 0);
    }
    let silent = "server silent for 18 s; gives up in 1:42; Ctrl-C ends";
    let lines = case.lines(20.0, WIDE).join("\n");
    assert!(lines.contains(silent), "{lines}");
    let line = case.state.one_line(Duration::from_secs(20));
    let want = format!("[search 2] 100 op/s RUN 0:20 of 0:30: {silent}");
    assert_eq!(line, Some(want));
    // The search has ended.
    let plan = case.record.run.plan.clone();
    case.receive(21.0, &Progress::SearchEnded(&plan));
    let lines = case.lines(21.0, WIDE).join("\n");
    assert!(!lines.contains("search"), "{lines}");
}

#[test]
fn one_line_has_what_is_open_before_what_comes_next() {
    let mut case = Scenario::of(testing::record(), |_| {});
    case.begin(0.0, Some(1), Phase::Run, 30);
    let open = Interval {
        open_count: 4,
        open_age_max_ns: 18_000_000_000,
        ..Interval::default()
    };
    for _ in 0..18 {
        case.receive(0.0, &Progress::Second(&open));
    }
    let line = case.state.one_line(Duration::from_secs(20));
    let want = "[1/12] 100 op/s RUN 0:20 of 0:30: server silent for 18 s, \
                4 operations open, oldest 18 s; gives up in 1:42; Ctrl-C ends";
    assert_eq!(line.as_deref(), Some(want));
}

#[test]
fn an_init_or_cleanup_that_waits_is_shown() {
    let mut case = Scenario::of(testing::record(), |_| {});
    case.begin(0.0, Some(1), Phase::Init, 0);
    case.receive(0.0, &Progress::Idle { seconds: 4 });
    let lines = case.lines(5.0, WIDE).join("\n");
    assert!(!lines.contains("waiting"), "{lines}");
    case.receive(0.0, &Progress::Idle { seconds: 18 });
    let lines = case.lines(20.0, WIDE).join("\n");
    let want = " waiting no step has ended for 18 s; gives up within ";
    assert!(lines.contains(want), "{lines}");
    case.tasks(3, 0);
    assert!(!case.lines(21.0, WIDE).join("\n").contains("waiting"));
    case.begin(60.0, None, Phase::Cleanup, 0);
    case.receive(0.0, &Progress::Idle { seconds: 7 });
    let lines = case.lines(70.0, WIDE).join("\n");
    let want = "no step has ended for 7 s; gives up within 1:53;";
    assert!(lines.contains(want), "{lines}");
}

#[test]
fn operations_that_are_open_for_seconds_are_shown_under_load() {
    let mut case = Scenario::of(testing::record(), |_| {});
    case.begin(0.0, Some(1), Phase::Run, 30);
    let second = Interval {
        success_count: 10,
        open_count: 16,
        open_age_max_ns: 18_200_000_000,
        ..Interval::default()
    };
    case.receive(0.0, &Progress::Second(&second));
    let lines = case.lines(20.0, WIDE).join("\n");
    assert!(
        lines.contains("   16 operations open, oldest 18 s"),
        "{lines}"
    );
    case.second(10, 0);
    let lines = case.lines(21.0, WIDE).join("\n");
    assert!(!lines.contains("operations open"), "{lines}");
}

/// On a mounted file system the wait for a system call has no limit.
#[test]
fn a_mounted_file_system_that_blocks_is_reported() {
    let mut case = Scenario::of(testing::composite::composite_record(), |_| {});
    case.begin(0.0, Some(1), Phase::Run, 30);
    let second = Interval {
        open_count: 3,
        open_age_max_ns: 18_200_000_000,
        ..Interval::default()
    };
    for _ in 0..18 {
        case.receive(0.0, &Progress::Second(&second));
    }
    let lines = case.lines(20.0, WIDE).join("\n");
    let output_text = "nothing has ended for 18 s; Ctrl-C ends";
    assert!(lines.contains(output_text), "{lines}");
    assert!(
        lines.contains("   3 operations open, oldest 18 s"),
        "{lines}"
    );
}

/// A sweep of twelve points of which two are measured.
fn sweep() -> String {
    let mut case = Scenario::of(testing::record(), |plan| plan.fileset.reuse = true);
    case.show("the agents are being started", 0.0, WIDE);
    case.receive(1.0, &Progress::Agents { living: 1, all: 2 });
    case.show("one is there", 1.0, WIDE);
    case.receive(2.0, &Progress::Agents { living: 2, all: 2 });
    case.show("both are there", 2.5, WIDE);
    case.begin(3.0, Some(1), Phase::Init, 0);
    case.show("INIT, nothing known", 4.0, WIDE);
    let bytes = case.state.facts.points[0].init_bytes;
    case.tasks(1_234, bytes / 4);
    case.show("INIT, a quarter done", 13.0, WIDE);
    case.begin(43.0, Some(1), Phase::Warmup, 5);
    case.show("WARMUP", 45.0, WIDE);
    case.begin(48.0, Some(1), Phase::Run, 30);
    for n in 0..40 {
        case.second(60 + n, u64::from(n == 39));
    }
    case.show("RUN", 63.0, WIDE);
    case.show("RUN, narrow", 63.0, Style { width: 50, ..WIDE });
    case.show("RUN, wide", 63.0, Style { width: 140, ..WIDE });
    let ascii = Style {
        charset: Charset::Ascii,
        ..WIDE
    };
    case.show("RUN, without UTF-8", 63.0, ascii);
    case.receive(64.0, &Progress::Agents { living: 1, all: 2 });
    case.show("RUN, one client lost", 64.0, WIDE);
    case.end(78.0, 1);
    case.show("between", 78.5, WIDE);
    case.begin(79.0, Some(2), Phase::Init, 0);
    case.tasks(10, 100);
    case.show("the second INIT, a guess", 89.0, WIDE);
    case.begin(119.0, Some(2), Phase::Warmup, 5);
    case.begin(124.0, Some(2), Phase::Run, 30);
    case.end(154.0, 2);
    case.end(154.5, 11);
    case.begin(155.0, Some(12), Phase::Init, 0);
    let colour = Style {
        colour: true,
        ..WIDE
    };
    case.show("the last INIT, in colour", 156.0, colour);
    case.end(157.0, 12);
    case.begin(158.0, None, Phase::Cleanup, 0);
    case.tasks(600, 0);
    case.show("CLEANUP after a failure", 159.0, WIDE);
    case.frames
}

/// A composite whose file set is made again for every point, and too many points for a picture.
fn others() -> String {
    let record = testing::composite::composite_record();
    let mut case = Scenario::of(record, |plan| {
        for point in &mut plan.points {
            point.requested.0 = 0.0;
        }
        plan.phases.runtime = Nanos::from_secs(40_000);
    });
    case.receive(0.0, &Progress::Agents { living: 1, all: 1 });
    case.begin(1.0, Some(2), Phase::Init, 0);
    case.begin(2.0, Some(2), Phase::Warmup, 300);
    case.begin(302.0, Some(2), Phase::Run, 40_000);
    case.second(1_234_567, 0);
    case.show("as fast as it goes, long", 303.0, WIDE);
    case.state.stop();
    case.show("stopping", 304.0, WIDE);
    case.end(305.0, 2);
    case.begin(306.0, Some(2), Phase::Cleanup, 0);
    case.tasks(1, 0);
    case.show("CLEANUP between load points", 307.0, WIDE);
    let mut actual = case.frames;

    let mut many = Scenario::of(testing::record(), |plan| {
        let first = plan.points[0];
        let numbered = |number| LoadPoint { number, ..first };
        plan.points = (1..=500).map(numbered).collect();
    });
    many.begin(1.0, Some(1), Phase::Init, 0);
    many.end(2.0, 1);
    many.begin(3.0, Some(2), Phase::Init, 0);
    many.show("many load points", 3.0, WIDE);
    actual.push_str(&many.frames);
    actual
}

#[test]
fn the_view_matches_the_golden_file() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/live.txt");
    let actual = sweep() + &others();
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(path, &actual).expect("the golden file is written");
    }
    let golden = std::fs::read_to_string(path).expect("the golden file");
    assert_eq!(
        actual, golden,
        "if that is meant: UPDATE_GOLDEN=1 cargo test"
    );
}

#[test]
fn every_width_and_order_of_events_is_accepted() {
    let mut case = Scenario::of(testing::record(), |_| {});
    case.begin(5.0, None, Phase::Cleanup, 0);
    case.begin(1.0, Some(3), Phase::Run, 0);
    case.second(u64::MAX, u64::MAX);
    case.tasks(u64::MAX, u64::MAX);
    for width in [0, 1, 7, 20, 300] {
        let lines = case.lines(0.0, Style { width, ..WIDE });
        assert!(lines.iter().all(|line| columns(line) <= width), "{lines:?}");
    }
    let mut empty = Scenario::of(testing::record(), |plan| plan.points.clear());
    empty.end(1.0, 1);
    assert!(empty.lines(9e9, WIDE).len() >= 3);
}
