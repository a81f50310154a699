//! `--events`: the events of a run for other programs, which cannot disturb it.

use crate::load_guard::beside_others;
use crate::second_client::{Peek, assert_empty, serve};
use crate::stopped::children;
use crate::sweep::{Started, Sweep};
use filermark_server::ServerOptions;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::process::{Signal, kill_process};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const SCHEMA: &str = include_str!("../../schema/events-v1.json");

/// The lines, each checked against the published schema.
fn checked(text: &str) -> Vec<Value> {
    let mut schemas = boon::Schemas::new();
    let mut compiler = boon::Compiler::new();
    let schema: Value = serde_json::from_str(SCHEMA).expect("the schema is JSON");
    let name = "mem://events.json";
    compiler.add_resource(name, schema).expect("it is taken");
    let index = compiler
        .compile(name, &mut schemas)
        .expect("a sound schema");
    let check = |line: &str| {
        let value: Value = serde_json::from_str(line).expect("every line is JSON");
        if let Err(e) = schemas.validate(&value, index) {
            panic!("{line}\n{e:#}");
        }
        value
    };
    text.lines().map(check).collect()
}

fn of_type<'a>(events: &'a [Value], kind: &str) -> Vec<&'a Value> {
    events.iter().filter(|e| e["type"] == kind).collect()
}

fn read(path: &Path) -> Vec<Value> {
    checked(&std::fs::read_to_string(path).expect("the events"))
}

fn fifo(sweep: &Sweep) -> PathBuf {
    let path = sweep.dir().join("fifo");
    mknodat(CWD, &path, FileType::Fifo, Mode::from_raw_mode(0o600), 0).expect("a FIFO");
    path
}

#[test]
fn the_events_of_a_run_agree_with_its_record() {
    let _turn = beside_others();
    let server = serve(ServerOptions::default());
    let sweep = Sweep::on(&server)
        .set("LOAD", "100 200")
        .set("WARMUP_TIME", 1)
        .set("RUNTIME", 2)
        .arg("--events")
        .arg("events");
    let ended = sweep.succeed();
    let record = ended.record();
    let events = read(&sweep.dir().join("events"));

    let first = &events[0];
    assert_eq!(
        (&first["type"], &first["suffix"]),
        (&"run_began".into(), &"s".into())
    );
    assert_eq!(first["fingerprint"], record.run.fingerprint);
    assert_eq!(first["points"][1]["requested_ops_per_sec"], 200.0);
    let seqs: Vec<u64> = events.iter().filter_map(|e| e["seq"].as_u64()).collect();
    assert_eq!(seqs, (0..events.len() as u64).collect::<Vec<_>>());

    let phase = |e: &&Value| format!("{} {}", e["point"], e["phase"]).replace('"', "");
    let phases: Vec<String> = of_type(&events, "phase_began").iter().map(phase).collect();
    let wanted = [
        "1 INIT",
        "1 WARMUP",
        "1 RUN",
        "2 INIT",
        "2 WARMUP",
        "2 RUN",
        "null CLEANUP",
    ];
    assert_eq!(phases, wanted);

    // Every second of every load point, with the figures of the record.
    let actual: Vec<_> = of_type(&events, "second")
        .iter()
        .map(|e| {
            (
                e["point"].as_u64(),
                e["second"].as_i64(),
                e["success_count"].as_u64(),
            )
        })
        .collect();
    let intervals = record.points.iter().flat_map(|point| {
        let number = u64::from(point.load.number);
        let stats = point.measured().expect("measured");
        let all = stats.intervals.iter().filter(|i| i.success_count > 0);
        all.map(move |i| (Some(number), Some(i.second), Some(i.success_count)))
    });
    let mut kept: Vec<_> = intervals.collect();
    // Operations may end after RUN, in an additional second.
    kept.retain(|(_, second, _)| second.is_some_and(|s| s < 2));
    let list: Vec<_> = actual
        .into_iter()
        .filter(|(_, s, _)| s.is_some_and(|s| s < 2))
        .collect();
    assert_eq!(list, kept);

    for (event, point) in of_type(&events, "point_ended").iter().zip(&record.points) {
        let stats = point.measured().expect("measured");
        let figures = &event["figures"];
        assert_eq!(figures["success_count"], stats.success_count());
        assert_eq!(
            figures["achieved_ops_per_sec"],
            stats.achieved_ops_per_sec()
        );
        assert_eq!(event["verdict"], point.word());
    }
    assert_eq!(of_type(&events, "percent").len(), 40);
    let tasks = of_type(&events, "tasks");
    assert!(tasks.iter().any(|e| e["phase"] == "CLEANUP"), "{tasks:#?}");
    let last = events.last().expect("the last");
    assert_eq!(
        (&last["type"], &last["outcome"]),
        (&"run_ended".into(), &"complete".into())
    );
    assert_eq!(
        (&last["exit_code"], &last["record_path"]),
        (&0.into(), &"result/s.run.jsonl".into())
    );
    assert_empty(&server);
}

#[test]
fn events_take_stdout_and_the_summary_goes_to_stderr() {
    let _turn = beside_others();
    let server = serve(ServerOptions::default());
    let sweep = Sweep::on(&server).arg("--events").arg("-");
    let ended = sweep.succeed();
    let events = checked(&ended.stdout);
    assert_eq!(events.last().expect("the last")["type"], "run_ended");
    assert!(ended.stderr.contains("peak "), "{}", ended.stderr);
    let both = sweep.elsewhere().arg("--json").fail(2);
    both.assert_sentence(&["--events -", "--json", "a file"]);
}

#[test]
fn slow_the_demo_prints_events() {
    let _turn = beside_others();
    let demo = Sweep::bare()
        .command("demo")
        .arg("--seconds")
        .arg("0.2")
        .args("--assert")
        .arg("ops>=1");
    let demo = demo.arg("--events").arg("-").succeed();
    assert_eq!(of_type(&checked(&demo.stdout), "point_ended").len(), 10);
}

#[test]
fn a_run_that_fails_or_is_interrupted_reports_it() {
    let _turn = beside_others();
    let server = serve(ServerOptions::default());
    let sweep = Sweep::on(&server).set("RUNTIME", 20);
    let sweep = sweep.arg("--events").arg("events");
    let mut started = sweep.start();
    started.wait_for("] 100 op/s RUN");
    started.signal(Signal::INT);
    assert_eq!(started.wait().code, 130);
    let events = read(&sweep.dir().join("events"));
    let last = events.last().expect("the last");
    assert_eq!(
        (&last["outcome"], &last["exit_code"]),
        (&"interrupted".into(), &130.into())
    );
    assert_eq!(of_type(&events, "point_ended")[0]["verdict"], "FAILED");
    // The same suffix again is refused, and the events of this run are kept.
    sweep.fail(2).assert_sentence(&["exists already"]);
    assert_eq!(read(&sweep.dir().join("events")), events);
    // A run that was refused because of the server's directory has no record if an earlier one
    // has left files.
    std::fs::remove_file(sweep.result("s.run.jsonl")).expect("moved away");
    let mut peek = Peek::into(&server);
    peek.make_dir("filermark.s");
    peek.make_file("filermark.s/thesis.txt", b"ten years of work");
    sweep.fail(1);
    let events = read(&sweep.dir().join("events"));
    let last = events.last().expect("the last");
    assert_eq!(
        (&last["outcome"], &last["record_path"]),
        (&"failed".into(), &Value::Null)
    );
    let reason = last["reason"].as_str().expect("a reason");
    assert!(reason.contains("thesis.txt"), "{reason}");
}

#[test]
fn a_reader_that_goes_away_does_not_end_the_run() {
    let _turn = beside_others();
    let server = serve(ServerOptions::default());
    let sweep = Sweep::on(&server).arg("--events").arg("fifo");
    let path = fifo(&sweep);
    let started = sweep.start();
    let file = std::fs::File::open(path).expect("the run opens its end");
    let mut line = String::new();
    BufReader::new(file).read_line(&mut line).expect("a line");
    assert_eq!(checked(&line)[0]["type"], "run_began");
    let ended = started.wait();
    assert!(ended.is_complete(), "{}", ended.stderr);
    let text = ended.stderr.matches("the reader has closed it").count();
    assert_eq!(text, 1, "{}", ended.stderr);
    assert_empty(&server);
}

#[test]
fn a_fifo_that_no_one_reads_is_reported_before_the_server_is_touched() {
    let _turn = beside_others();
    let server = serve(ServerOptions::default());
    let sweep = Sweep::on(&server).arg("--events").arg("fifo");
    fifo(&sweep);
    let began = Instant::now();
    let ended = sweep.fail(1);
    ended.assert_sentence(&["--events fifo", "start the reader first"]);
    assert!(began.elapsed() < Duration::from_secs(30));
    assert!(!sweep.result("s.run.jsonl").exists());
    assert_eq!(server.stats().nfs_total(), 0);
    let nowhere = Sweep::on(&server).arg("--events").arg("no/such/place");
    nowhere
        .fail(1)
        .assert_sentence(&["no/such/place", "choose another file"]);
}

fn kill_one_agent(started: &Started) {
    let agents = children(started.pid());
    assert_eq!(agents.len(), 2, "an agent per client");
    kill_process(agents[1], Signal::KILL).expect("send a signal");
}

#[test]
fn a_lost_client_is_reported_and_the_others_continue_when_on_lost_is_continue() {
    let _turn = beside_others();
    let server = serve(ServerOptions::default());
    let sweep = Sweep::on(&server)
        .set("LOAD", 80)
        .set("CLIENTS", "a b")
        .set("LAUNCHER", "local")
        .set("RUNTIME", 3);
    let going_on = sweep.clone().arg("--on-lost").arg("continue");
    let going_on = going_on.arg("--events").arg("events");
    let mut started = going_on.start();
    started.wait_for("2 of 2 clients are there");
    started.wait_for("] 80 op/s RUN");
    kill_one_agent(&started);
    started.wait_for("1 of 2 clients is there");
    let ended = started.wait();
    assert!(ended.is_complete(), "{}", ended.stderr);
    let text = ended.stderr.matches("1 of 2 clients is there").count();
    assert_eq!(text, 1, "{}", ended.stderr);
    assert!(ended.stderr.contains("INVALID"), "{}", ended.stderr);
    let given = ended.record().run.plan.parameters;
    assert!(
        given.contains(&("ON_LOST".into(), "continue".into())),
        "{given:?}"
    );
    let events = read(&going_on.dir().join("events"));
    let living = |e: &&Value| e["living_count"].as_u64().expect("a count");
    let counts: Vec<u64> = of_type(&events, "agents").iter().map(living).collect();
    assert!(counts.contains(&2) && counts.ends_with(&[1]), "{counts:?}");
    assert_eq!(of_type(&events, "point_ended")[0]["verdict"], "INVALID");
    assert_empty(&server);

    let mut started = sweep.elsewhere().arg("--on-lost").arg("end").start();
    started.wait_for("] 80 op/s RUN");
    kill_one_agent(&started);
    assert_eq!(started.wait().code, 1);
    assert_empty(&server);
    let wrong = sweep.elsewhere().arg("--on-lost").arg("sideways").run();
    assert_eq!(wrong.code, 2, "{}", wrong.stderr);
}
