//! The live view on a terminal.

use crate::load_guard::beside_others;
use crate::second_client::{Peek, assert_empty, serve};
use crate::sweep::Sweep;
use crate::terminal::Terminal;
use filermark_server::{RunningServer, ServerOptions};
use filermark_testbed::{Faulty, FaultyOptions, Kind, Mounts, available};
use std::time::{Duration, Instant};

/// A text that is only in the view.
const VIEW: [&str; 5] = [" general-nfs3 s ", " points ", " RUN ", " rate ", " ends "];

fn sweep(server: &RunningServer) -> Sweep {
    Sweep::on(server).set("LOAD", "40 80 120").set("RUNTIME", 2)
}

fn count(lines: &[String], front: &str) -> usize {
    lines.iter().filter(|l| l.starts_with(front)).count()
}

/// Whether the whole view of a RUN is shown.
fn is_drawn(lines: &[String]) -> bool {
    VIEW.iter().all(|front| count(lines, front) == 1)
}

fn assert_gone(lines: &[String]) {
    for front in VIEW.iter().chain(&[" stopping ", " CLEANUP "]) {
        assert_eq!(count(lines, front), 0, "{front:?} stays: {lines:#?}");
    }
}

#[test]
fn the_view_is_drawn_over_itself_and_results_stay() {
    let _turn = beside_others();
    let server = serve(ServerOptions::default());
    let mut terminal = Terminal::start(&sweep(&server), 100, &[]);
    let settings = format!("{:?}", terminal.settings());
    terminal.wait_until("the second RUN", |lines| {
        is_drawn(lines) && lines.iter().any(|l| l.contains("2 of 3, 80 op/s"))
    });
    let lines = terminal.lines();
    assert!(lines[0].contains("not standard"), "{lines:#?}");
    let place = |front: &str| lines.iter().position(|l| l.starts_with(front));
    assert!(place("point  1 of 3") < place(VIEW[0]), "{lines:#?}");
    assert_eq!(place(VIEW[4]), Some(lines.len() - 1), "{lines:#?}");
    let rate = &lines[place(VIEW[3]).expect("the rate")];
    assert!(
        rate.contains(" of 80 op/s") || rate.contains("no second"),
        "{rate}"
    );
    assert!(terminal.wait().success(), "{:#?}", terminal.lines());

    let lines = terminal.lines();
    assert_gone(&lines);
    for n in 1..=3 {
        assert_eq!(count(&lines, &format!("point  {n} of 3")), 1, "{lines:#?}");
    }
    assert_eq!(count(&lines, "report: "), 1, "{lines:#?}");
    assert_eq!(terminal.cursor_column(), 0);
    assert_eq!(format!("{:?}", terminal.settings()), settings);
    assert!(terminal.sent().contains("\x1b[32mVALID"));
    assert_empty(&server);
}

#[test]
fn ctrl_c_removes_the_view_and_restores_the_terminal() {
    let _turn = beside_others();
    let server = serve(ServerOptions::default());
    let mut terminal = Terminal::start(&sweep(&server).set("RUNTIME", 20), 80, &[]);
    let settings = format!("{:?}", terminal.settings());
    terminal.wait_until("RUN", is_drawn);
    terminal.type_keys("\x03");
    assert_eq!(terminal.wait().code(), Some(130), "{:#?}", terminal.lines());
    let lines = terminal.lines();
    assert_gone(&lines);
    assert_eq!(
        count(&lines, "the run was interrupted: the results so far"),
        1,
        "{lines:#?}"
    );
    assert_eq!(count(&lines, "point  1 of 3"), 1, "{lines:#?}");
    assert!(!lines.iter().any(|l| l.contains("^C")), "{lines:#?}");
    assert_eq!(terminal.cursor_column(), 0);
    assert_eq!(format!("{:?}", terminal.settings()), settings);
    assert_empty(&server);
}

#[test]
fn the_second_ctrl_c_removes_it_too() {
    let _turn = beside_others();
    let delay = "REMOVE=20ms".parse().expect("a delay");
    let server = serve(ServerOptions {
        delay,
        queue: true,
        ..ServerOptions::default()
    });
    let mut terminal = Terminal::start(&sweep(&server).set("RUNTIME", 20), 80, &[]);
    terminal.wait_until("RUN", is_drawn);
    terminal.type_keys("\x03");
    terminal.wait_until("CLEANUP", |lines| count(lines, " CLEANUP ") == 1);
    terminal.type_keys("\x03");
    assert_eq!(terminal.wait().code(), Some(130));
    let lines = terminal.lines();
    assert_gone(&lines);
    assert_eq!(count(&lines, "ended at once"), 1, "{lines:#?}");
    assert_eq!(terminal.cursor_column(), 0);
    // The agent detects that, and cleans up before it ends.
    let began = Instant::now();
    while !Peek::into(&server).tree("").is_empty() {
        assert!(began.elapsed() < Duration::from_secs(60), "it does not");
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn a_lost_terminal_ends_the_run_normally() {
    let _turn = beside_others();
    let server = serve(ServerOptions::default());
    let sweep = sweep(&server).set("RUNTIME", 20);
    let sweep = sweep.arg("--events").arg("events");
    let mut terminal = Terminal::start(&sweep, 80, &[]);
    terminal.wait_until("RUN", is_drawn);
    let status = terminal.hang_up();
    assert_eq!(status.code(), Some(129));
    let events = std::fs::read_to_string(sweep.dir().join("events")).expect("events");
    let last = events.lines().last().expect("the last");
    assert!(
        last.contains("\"interrupted\"") && last.contains("report_path"),
        "{last}"
    );
    assert!(sweep.result("s.html").is_file());
    assert_empty(&server);
}

#[test]
fn it_fits_the_width_also_when_that_changes() {
    let _turn = beside_others();
    let server = serve(ServerOptions::default());
    let mut terminal = Terminal::start(&sweep(&server).set("RUNTIME", 20), 90, &[]);
    terminal.wait_until("RUN", is_drawn);
    terminal.resize(44);
    let narrow = |lines: &[String]| {
        let rate = lines.iter().rev().find(|l| l.starts_with(VIEW[3]));
        rate.is_some_and(|rate| rate.chars().count() == 43)
    };
    terminal.wait_until("a narrow view", narrow);
    let frame = terminal.lines();
    let view = &frame[frame.len() - 5..];
    assert!(
        view.iter().all(|line| line.chars().count() < 44),
        "{view:#?}"
    );
    terminal.type_keys("\x03");
    assert_eq!(terminal.wait().code(), Some(130));
}

/// The load point was measured. A busy machine may make it INVALID (exit code 4).
#[track_caller]
fn assert_measured(terminal: &mut Terminal) {
    let code = terminal.wait().code();
    assert!(
        matches!(code, Some(0 | 4)),
        "{code:?} {:#?}",
        terminal.lines()
    );
}

#[test]
fn a_simple_terminal_gets_plain_lines() {
    let _turn = beside_others();
    let server = serve(ServerOptions::default());
    let sweep = Sweep::on(&server);
    let mut dumb = Terminal::start(&sweep, 100, &[("TERM", "dumb")]);
    assert_measured(&mut dumb);
    assert_eq!(
        count(&dumb.lines(), "[1/1] 100 op/s RUN"),
        1,
        "{:#?}",
        dumb.lines()
    );
    assert!(!dumb.sent().contains('\x1b'), "nothing but text");
    let quiet = sweep.elsewhere();
    let mut black = Terminal::start(&quiet, 100, &[("NO_COLOR", "1")]);
    assert_measured(&mut black);
    assert!(black.sent().contains(" rate "), "it is drawn all the same");
    assert!(!black.sent().contains("\x1b[0m"), "without colours");
    let mut flagged = Terminal::start(&sweep.elsewhere().arg("--no-color"), 100, &[]);
    assert_measured(&mut flagged);
    assert!(!flagged.sent().contains("\x1b[0m"), "without colours");
}

/// A mounted file system whose calls do not return: every thread of the load is in one.
#[test]
fn calls_that_block_on_a_mounted_file_system_are_reported_with_their_age() {
    let _turn = beside_others();
    let Some(mounts) = available(Mounts::new()) else {
        return;
    };
    let Some(faulty) = available(Faulty::mount(&mounts, FaultyOptions::default())) else {
        return;
    };
    let sweep = Sweep::composite("SWBUILD", &mounts, faulty.scratch().path()).set("RUNTIME", 10);
    let mut terminal = Terminal::start(&sweep, 100, &[]);
    terminal.wait_until("RUN", |lines| count(lines, " RUN ") == 1);
    for kind in Kind::ALL {
        faulty.delay(*kind, Duration::from_secs(86_400));
    }
    // RUN may be over by then: it is not until the calls return.
    terminal.wait_until("what is open, and for how long", |lines| {
        let ends = lines.iter().rev().find(|line| line.starts_with(" ends "));
        let rate = lines.iter().rev().find(|line| line.starts_with(" rate "));
        let age = ends.and_then(|line| {
            let (_, open) = line.split_once("operations open, oldest ")?;
            open.trim_end().strip_suffix(" s")?.parse::<u64>().ok()
        });
        let is_reported = |line: &&String| line.contains("nothing has ended for ");
        age.is_some_and(|seconds| seconds >= 5) && rate.filter(is_reported).is_some()
    });
    faulty.end_delays();
    assert!(
        matches!(terminal.wait().code(), Some(0 | 1 | 4)),
        "{:#?}",
        terminal.lines()
    );
    let record = filermark_results::read_record(&sweep.result("s.run.jsonl"));
    let record = record.expect("the run record");
    let stats = record.points[0].stats.as_ref().expect("figures");
    let procs = record.run.plan.procs.len() as u64;
    let seconds = &stats.intervals;
    let most = seconds.iter().map(|s| s.open_count).max().unwrap_or(0);
    assert!(most > 0 && most <= procs, "{seconds:#?}");
}
