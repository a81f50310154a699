//! Ctrl-C: the results so far are kept, and no files are left on the server.

use crate::load_guard::{OF_THE_MACHINE, beside_others};
use crate::second_client::{Peek, assert_empty, serve};
use crate::sweep::{PROGRAM, Started, Sweep};
use filermark_model::Rule;
use filermark_results::{Outcome, Phase};
use filermark_server::{RunningServer, ServerOptions};
use filermark_testbed::{BUSY_LIMIT, Hostile, Replies};
use rustix::process::{Pid, Signal, kill_process};
use std::process::Command;
use std::time::{Duration, Instant};

/// Waits until the named load point is in its RUN phase.
pub fn wait_for_run(started: &mut Started, point: &str) {
    started.wait_for(&format!("[{point}] "));
    let words = format!("[{point}]");
    started.wait_until("RUN", |s| {
        s.stderr()
            .lines()
            .any(|l| l.starts_with(&words) && l.ends_with("RUN"))
    });
}

fn assert_interrupted(ended: &crate::sweep::Ended) {
    assert_ended_by(ended, 130);
}

fn assert_ended_by(ended: &crate::sweep::Ended, code: i32) {
    assert_eq!(ended.code, code, "{}", ended.stderr);
    ended.assert_sanitized();
    let record = ended.record();
    let end = record.end.expect("an end");
    assert_eq!(end.outcome, Outcome::Interrupted);
    assert!(
        ended.stderr.contains("the run was interrupted"),
        "{}",
        ended.stderr
    );
    // A run without a load point has no results.
    if record.points.is_empty() {
        assert!(!ended.path("sfslog.s").exists() && !ended.path("s.html").exists());
        return;
    }
    for front in ["sfslog", "sfsres", "html"] {
        assert!(ended.file(front).contains("interrupted"), "{front}");
    }
}

fn interrupt_in_run(signal: Signal, server: &RunningServer) {
    let sweep = Sweep::on(server).set("LOAD", "40 80 120").set("RUNTIME", 2);
    let mut started = sweep.start();
    wait_for_run(&mut started, "2/3");
    started.signal(signal);
    let ended = started.wait();
    // 128 plus the signal's number, as in shells.
    let code = if signal == Signal::TERM { 143 } else { 130 };
    assert_ended_by(&ended, code);
    let record = ended.record();
    assert_eq!(record.points.len(), 2, "the third was never begun");
    let first = record.points[0]
        .measured()
        .expect("the first point is kept");
    assert!(first.success_count() > 50);
    assert!(
        record.points[1]
            .failure()
            .is_some_and(|why| why.contains("interrupted"))
    );
    let sfssum = ended.file("sfssum");
    assert!(
        sfssum
            .lines()
            .next()
            .is_some_and(|l| l.trim_start().starts_with("40 ")),
        "{sfssum}"
    );
    assert_empty(server);
}

#[test]
fn ctrl_c_in_run_keeps_the_results_and_leaves_the_server_clean() {
    let _turn = beside_others();
    let server = serve(ServerOptions::default());
    interrupt_in_run(Signal::INT, &server);
}

#[test]
fn sigterm_ends_a_run_the_same_way() {
    let _turn = beside_others();
    let server = serve(ServerOptions::default());
    interrupt_in_run(Signal::TERM, &server);
}

#[test]
fn ctrl_c_in_init_removes_what_was_made() {
    let _turn = beside_others();
    // Each CREATE is slow, so that INIT takes some time.
    let delay = "CREATE=30ms".parse().expect("a delay");
    let server = serve(ServerOptions {
        delay,
        queue: true,
        ..ServerOptions::default()
    });
    let sweep = Sweep::on(&server).set("LOAD", 400);
    let mut started = sweep.start();
    started.wait_until("files", |_| server.stats().nfs[8] > 70);
    assert!(Peek::into(&server).tree("").len() > 10);
    started.signal(Signal::INT);
    let ended = started.wait();
    assert_interrupted(&ended);
    let record = ended.record();
    assert!(record.points.iter().all(|p| p.measured().is_none()));
    assert_empty(&server);
}

#[test]
fn ctrl_c_with_keep_leaves_the_file_set() {
    let _turn = beside_others();
    let server = serve(ServerOptions::default());
    let sweep = Sweep::on(&server).set("RUNTIME", 20).set("KEEP", "on");
    let mut started = sweep.start();
    wait_for_run(&mut started, "1/1");
    started.signal(Signal::INT);
    assert_interrupted(&started.wait());
    assert!(Peek::into(&server).tree("").len() > 50);
    sweep
        .elsewhere()
        .set("KEEP", "off")
        .set("RUNTIME", 1)
        .succeed();
    assert_empty(&server);
}

#[test]
fn the_second_ctrl_c_exits_at_once() {
    let _turn = beside_others();
    // CLEANUP takes long here.
    let server = slow_to_remove();
    let mut started = Sweep::on(&server).set("RUNTIME", 20).start();
    wait_for_run(&mut started, "1/1");
    started.signal(Signal::INT);
    started.wait_for("CLEANUP");
    started.signal(Signal::INT);
    let ended = started.wait();
    assert_eq!(ended.code, 130, "{}", ended.stderr);
    // It did not wait for the end of CLEANUP.
    assert!(!Peek::into(&server).tree("").is_empty());
    let command = "filermark stop -o ";
    assert!(
        ended.stderr.contains(command) && ended.stderr.contains(" -s s"),
        "{}",
        ended.stderr
    );
    // Its agent detects that and cleans up by itself.
    wait_until_empty(&server);
}

/// The other files are those of the end of the last load point: the record has further lines, and
/// they were not made again.
#[test]
fn what_a_run_that_was_interrupted_twice_left_is_as_its_record_makes_it() {
    let _turn = beside_others();
    let server = slow_to_remove();
    let sweep = Sweep::on(&server).set("LOAD", "100 120");
    let mut started = sweep.start();
    wait_for_run(&mut started, "2/2");
    started.signal(Signal::INT);
    started.wait_for("CLEANUP: removes");
    started.signal(Signal::INT);
    let ended = started.wait();
    assert_eq!(ended.code, 130, "{}", ended.stderr);
    assert_eq!(ended.record().end, None, "it left at once");
    let verify = || {
        let record = sweep.result("s.run.jsonl");
        let actual = Command::new(PROGRAM).arg("verify").arg(record).output();
        String::from_utf8(actual.expect("verify").stdout).expect("text")
    };
    let outcome = verify();
    let faults: Vec<&str> = outcome.lines().filter(|l| l.starts_with("FAIL")).collect();
    assert!(
        matches!(faults[..], [fault] if fault.contains("s.run.jsonl: has no end")),
        "{outcome}"
    );
    for name in ["sfsres.s", "s.html"] {
        let line = format!("ok    {name}: as s.run.jsonl made it when load point ");
        assert!(outcome.contains(&line), "{name}: {outcome}");
    }
    // Changes are still found.
    let page = sweep.result("s.html");
    let changed = std::fs::read_to_string(&page)
        .expect("the page")
        .replacen("100", "999", 1);
    std::fs::write(&page, changed).expect("written");
    let shown = verify();
    assert!(shown.contains("FAIL  s.html: not as"), "{shown}");
    wait_until_empty(&server);
}

/// A server on which CLEANUP takes some seconds.
fn slow_to_remove() -> RunningServer {
    serve(ServerOptions {
        delay: "REMOVE=50ms".parse().expect("a delay"),
        queue: true,
        ..ServerOptions::default()
    })
}

fn wait_until_empty(server: &RunningServer) {
    let deadline = Instant::now() + BUSY_LIMIT;
    while !Peek::into(server).tree("").is_empty() {
        assert!(
            Instant::now() < deadline,
            "{:?}",
            Peek::into(server).tree("")
        );
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn the_first_ctrl_c_does_not_break_the_last_cleanup_off() {
    let _turn = beside_others();
    let server = slow_to_remove();
    let mut started = Sweep::on(&server).start();
    started.wait_for("CLEANUP");
    started.signal(Signal::INT);
    let ended = started.wait();
    // All points were measured, and all files removed; the exit code is that of the signal.
    assert_eq!(ended.code, 130, "{}", ended.stderr);
    let end = ended.record().end.expect("an end");
    assert_eq!(end.outcome, Outcome::Complete);
    assert!(!ended.stderr.contains("left behind"), "{}", ended.stderr);
    assert_empty(&server);
}

#[test]
fn an_agent_that_is_asked_to_end_cleans_up_before_it_does() {
    let _turn = beside_others();
    let server = slow_to_remove();
    let mut started = Sweep::on(&server).set("RUNTIME", 20).start();
    wait_for_run(&mut started, "1/1");
    let agents = children(started.pid());
    assert_eq!(agents.len(), 1, "{agents:?}");
    kill_process(agents[0], Signal::TERM).expect("an agent");
    let ended = started.wait();
    assert_ne!(ended.code, 0, "{}", ended.stderr);
    assert!(
        ended.stderr.contains("asked to exit on its host"),
        "{}",
        ended.stderr
    );
    assert!(!ended.stderr.contains("left behind"), "{}", ended.stderr);
    wait_until_empty(&server);
}

/// The processes that a process has started; none where it has ended.
pub fn children(pid: u32) -> Vec<Pid> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter();
    let lists = tasks
        .flatten()
        .flatten()
        .map(|task| std::fs::read_to_string(task.path().join("children")).unwrap_or_default());
    let pids: Vec<i32> = lists
        .flat_map(|l| l.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
        .filter_map(|pid| pid.parse().ok())
        .collect();
    pids.into_iter().filter_map(Pid::from_raw).collect()
}

#[test]
fn stop_removes_what_a_run_of_this_plan_left_and_nothing_else() {
    let _turn = beside_others();
    let server = serve(ServerOptions::default());
    let suffix = format!("left-{}", std::process::id());
    let kept = Sweep::on(&server).suffix(&suffix).set("KEEP", "on");
    kept.succeed();
    let left = Peek::into(&server).tree("").len();
    assert!(left > 50);
    // The file set was to be kept; and with another plan it is foreign.
    let stop = |sweep: Sweep| {
        sweep
            .elsewhere()
            .command("stop")
            .set("CLIENTS", "localhost")
    };
    let output = stop(kept.clone()).fail(1);
    assert!(
        output.stdout.contains("FAILED") && output.stdout.contains("KEEP=on"),
        "{}",
        output.stdout
    );
    let command = output.stdout.split('`').nth(1).expect("a command");
    assert!(
        command.starts_with("filermark stop ")
            && command.ends_with(&format!("-s {suffix} --force")),
        "{command}"
    );
    let result = stop(kept.clone().set("KEEP", "off")).fail(1);
    assert!(
        result.stdout.contains("it belongs to run") && result.stdout.contains("--force"),
        "{}",
        result.stdout
    );
    assert_eq!(Peek::into(&server).tree("").len(), left, "untouched");
    let ended = stop(kept.set("KEEP", "off").arg("--force")).succeed();
    assert!(ended.stdout.contains("removed "), "{}", ended.stdout);
    assert_empty(&server);
}

#[test]
fn serve_prints_its_address_and_its_counters() {
    let _turn = beside_others();
    let serve = Sweep::bare()
        .command("serve")
        .arg("--listen")
        .arg("127.0.0.1:0")
        .arg("--delay")
        .arg("ACCESS=uniform:10us-20us")
        .arg("--json");
    let mut server = serve.start();
    server.wait_for("mount -t nfs");
    let output_text = server.stderr();
    let port = output_text
        .split("port=")
        .nth(1)
        .and_then(|rest| rest.split(',').next());
    let port: u16 = port
        .and_then(|p| p.parse().ok())
        .unwrap_or_else(|| panic!("no port in {output_text}"));
    let address = ([127, 0, 0, 1], port).into();
    let ended = Sweep::at(address).set("RUNTIME", 1).succeed();
    let left = Peek::at(address, address, "/export").tree("");
    assert!(left.is_empty(), "{left:?}");
    server.signal(Signal::INT);
    let server = server.wait();
    assert_eq!(server.code, 0, "{}", server.stderr);
    let counts = server.json();
    // ACCESS is called in RUN only; the last calls may have ended after it.
    assert_eq!(counts["ACCESS"], ended.counter("ACCESS"), "{counts}");
    let count = |name: &str| counts[name].as_u64().unwrap_or(0);
    assert_eq!(
        count("CREATE") + count("SYMLINK"),
        count("REMOVE"),
        "{counts}"
    );
    assert_eq!(count("MKDIR"), count("RMDIR"), "{counts}");
    // Each delayed reply is in the figures of the delays' accuracy.
    let held_back = &counts["held_back"];
    assert_eq!(held_back["count"], counts["ACCESS"], "{counts}");
    let lateness = |name: &str| held_back[name].as_u64().expect(name);
    assert!(lateness("lateness_ns_mean") <= lateness("lateness_ns_max"));
    assert!(lateness("lateness_ns_p99") <= lateness("lateness_ns_max"));
}

/// From Ctrl-C to the end: the time for a phase to stop, a minute of clean-up, and a margin for
/// busy machines.
const STOPPED_MAX: Duration = Duration::from_secs(10 + 60 + 20);

/// A short run through a server that can be made to misbehave.
fn through(hostile: &Hostile) -> Sweep {
    Sweep::at(hostile.address())
}

#[test]
fn ctrl_c_ends_a_run_while_a_server_answers_byte_by_byte() {
    let _turn = beside_others();
    let server = serve(ServerOptions::default());
    let hostile = Hostile::before(server.addrs()[0]).expect("a proxy");
    hostile.set(Replies::Bytes);
    let mut started = through(&hostile).start();
    // The run checks the server, which takes minutes.
    started.wait_until("a connection", |_| hostile.connection_count() > 0);
    let wished = Instant::now();
    started.signal(Signal::TERM);
    let ended = started.wait();
    assert!(wished.elapsed() < STOPPED_MAX, "{:?}", wished.elapsed());
    assert_ended_by(&ended, 143);
}

#[test]
fn slow_ctrl_c_ends_a_run_whose_server_is_silent_in_init() {
    let _turn = beside_others();
    let server = serve(ServerOptions {
        delay: "CREATE=30ms".parse().expect("a delay"),
        queue: true,
        ..ServerOptions::default()
    });
    let hostile = Hostile::before(server.addrs()[0]).expect("a proxy");
    let mut started = through(&hostile).set("LOAD", 400).start();
    started.wait_until("files", |_| server.stats().nfs[8] > 20);
    hostile.set(Replies::Drop);
    let wished = Instant::now();
    started.signal(Signal::INT);
    let ended = started.wait();
    assert!(wished.elapsed() < STOPPED_MAX, "{:?}", wished.elapsed());
    assert_interrupted(&ended);
    // Remaining files are named, with the command that removes them.
    let left = ended.stderr.lines().find(|l| l.contains("left behind"));
    let left = left.unwrap_or_else(|| panic!("{}", ended.stderr));
    assert!(left.contains("`filermark stop -o "), "{left}");
    assert!(ended.stderr.contains("within 60 s"), "{}", ended.stderr);
    let record = ended.record();
    let findings = &record.end.as_ref().expect("an end").findings;
    assert!(findings.iter().any(|f| f.rule == Rule::LeftBehind));
}

#[test]
fn a_condition_of_stop_if_ends_the_run_cleanly() {
    let _turn = beside_others();
    // Most calls of RUN take longer than the condition allows, on any machine; INIT makes none of
    // them.
    let delay = "LOOKUP=50ms,READ=50ms,GETATTR=50ms,ACCESS=50ms,READDIRPLUS=50ms";
    let server = serve(ServerOptions {
        delay: delay.parse().expect("a delay"),
        queue: true,
        ..ServerOptions::default()
    });
    let sweep = Sweep::on(&server)
        .set("LOAD", "20 40")
        .set("FILE_COUNT", 4)
        .set("RUNTIME", 100)
        .set("STOP_IF", "p50>20ms for 2s, errors>50%");
    let ended = sweep.fail(1);
    let record = ended.record();
    assert_eq!(record.points.len(), 1, "the second was never begun");
    let findings = record.points[0].findings.iter();
    let findings: Vec<_> = findings
        .filter(|finding| !OF_THE_MACHINE.contains(&finding.rule))
        .collect();
    let [finding] = findings[..] else {
        panic!("{findings:?}");
    };
    assert_eq!(finding.rule, Rule::EmergencyStop);
    assert!(
        finding
            .message
            .starts_with("STOP_IF p50>20ms for 2s: p50 of the service times was 0.0"),
        "{finding}"
    );
    assert!(
        ended.stderr.contains("STOP_IF p50>20ms"),
        "{}",
        ended.stderr
    );
    assert_empty(&server);
}

#[test]
fn too_little_free_space_ends_a_run() {
    let _turn = beside_others();
    let server = serve(ServerOptions::default());
    let sweep = Sweep::on(&server)
        .set("LOAD", 20)
        .set("FILE_COUNT", 4)
        .set("RUNTIME", 100)
        .set("STOP_IF", "free<99.9999% for 5s");
    let ended = sweep.fail(1);
    let record = ended.record();
    let findings = &record.points[0].findings;
    let stop = findings.iter().find(|f| f.rule == Rule::EmergencyStop);
    let message = &stop.expect("the reason").message;
    assert!(
        message.starts_with("STOP_IF free<99.9999% for 5s: "),
        "{message}"
    );
    assert!(message.contains(" is free ("), "{message}");
    assert_empty(&server);
}

/// INIT is when a file system fills up.
#[test]
fn too_little_free_space_ends_init() {
    let _turn = beside_others();
    // INIT takes longer than the condition, on any machine.
    let server = serve(ServerOptions {
        delay: "CREATE=50ms".parse().expect("a delay"),
        queue: true,
        ..ServerOptions::default()
    });
    let sweep = Sweep::on(&server)
        .set("LOAD", 20)
        .set("FILE_COUNT", 500)
        .set("INIT_WINDOW", 1)
        .set("STOP_IF", "free<99.9999% for 5s");
    let ended = sweep.fail(1);
    let record = ended.record();
    let [point] = &record.points[..] else {
        panic!("{:?}", record.points);
    };
    let [stop] = &point.findings[..] else {
        panic!("{:?}", point.findings);
    };
    assert_eq!(stop.rule, Rule::EmergencyStop);
    let begins = "STOP_IF free<99.9999% for 5s: ";
    assert!(stop.message.starts_with(begins), "{stop}");
    ended.assert_sentence(&[begins, "the run was ended to protect the server"]);
    let phases: Vec<Phase> = record.phases.iter().map(|p| p.phase).collect();
    assert_eq!(phases, [Phase::Init, Phase::Cleanup]);
    assert_empty(&server);
}

#[test]
fn a_condition_on_free_space_that_cannot_be_queried_is_reported_as_useless() {
    let _turn = beside_others();
    let sweep = Sweep::short()
        .set("DRIVER", "null")
        .set("STOP_IF", "free<5%");
    let actual = "STOP_IF: a condition on free space cannot be evaluated at client ";
    let ended = sweep.run();
    let record = ended.record();
    let findings = &record.end.as_ref().expect("an end").findings;
    let found = findings.iter().filter(|f| f.message.starts_with(actual));
    let rules: Vec<Rule> = found.map(|f| f.rule).collect();
    assert_eq!(rules, [Rule::Lacking], "once: {findings:?}");
    assert_eq!(ended.stderr.matches(actual).count(), 1, "{}", ended.stderr);
    let before = sweep.elsewhere().command("preflight").run();
    let output_text = format!("{}{}", before.stdout, before.stderr);
    assert!(output_text.contains(actual), "{output_text}");
}

#[test]
fn a_wrong_stop_if_is_refused() {
    let ended = Sweep::short()
        .set("DRIVER", "null")
        .set("STOP_IF", "p99<2s")
        .fail(2);
    assert!(
        ended
            .stderr
            .contains("STOP_IF: 'p99<2s' is not a condition; a figure and its limit"),
        "{}",
        ended.stderr
    );
}
