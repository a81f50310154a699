//! The files of a run, and that they agree.

use crate::load_guard::beside_others;
use crate::second_client::{Peek, assert_empty, serve};
use crate::sweep::{Ended, Sweep};
use filermark_results::Outcome;
use filermark_results::record::{Phase, SCHEMA};
use filermark_server::ServerOptions;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Every line of the record's file against the published schema.
fn assert_schema(text: &str) {
    let mut schemas = boon::Schemas::new();
    let mut compiler = boon::Compiler::new();
    let schema: Value = serde_json::from_str(SCHEMA).expect("the schema is JSON");
    compiler
        .add_resource("mem://record.json", schema)
        .expect("the schema is taken");
    let index = compiler
        .compile("mem://record.json", &mut schemas)
        .expect("a sound schema");
    for line in text.lines() {
        let value: Value = serde_json::from_str(line).expect("every line is JSON");
        if let Err(e) = schemas.validate(&value, index) {
            panic!("{line}\n{e:#}");
        }
    }
}

#[test]
fn a_run_leaves_all_its_files_and_they_agree() {
    let _turn = beside_others();
    let server = serve(ServerOptions::default());
    let sweep = Sweep::on(&server)
        .suffix("mine")
        .set("LOAD", "100 200")
        .arg("--json");
    let ended = sweep.succeed();
    let names = [
        "sfssum.mine",
        "sfslog.mine",
        "sfsres.mine",
        "sfsc0001.mine",
        "mine.run.jsonl",
        "mine.html",
    ];
    for name in names {
        assert!(sweep.result(name).is_file(), "no {name}: {}", ended.stderr);
        assert!(
            ended.stderr.contains(name),
            "{name} is not reported: {}",
            ended.stderr
        );
    }
    let record = ended.record();
    assert_eq!(
        record.end.as_ref().map(|e| &e.outcome),
        Some(&Outcome::Complete)
    );
    assert_eq!(record.points.len(), 2);
    let text = std::fs::read_to_string(sweep.result("mine.run.jsonl")).expect("the record");
    assert_schema(&text);

    let json = ended.json();
    let sfssum = ended.file("sfssum");
    let lines: Vec<Vec<&str>> = sfssum
        .lines()
        .filter(|l| !l.starts_with('#'))
        .map(|l| l.split_whitespace().collect())
        .collect();
    assert_eq!(lines.len(), 2, "{sfssum}");
    for (point, (line, value)) in record
        .points
        .iter()
        .zip(lines.iter().zip(json["points"].as_array().expect("points")))
    {
        let stats = point.measured().expect("measured");
        assert_eq!(stats.error_count(), 0);
        assert_eq!(line.len(), 14, "14 columns: {line:?}");
        assert_eq!(line[0], format!("{:.0}", point.load.requested.0));
        assert_eq!(line[1], format!("{:.0}", stats.achieved_ops_per_sec()));
        assert_eq!(line[3], stats.success_count().to_string());
        assert_eq!(value["success_count"], stats.success_count());
        assert_eq!(value["requested_ops_per_sec"], point.load.requested.0);
        assert_eq!(value["ops"].as_array().map(Vec::len), Some(stats.ops.len()));
        assert_eq!(value["valid"], point.is_valid());
    }
    for front in ["sfslog", "sfsres", "sfsc0001", "html"] {
        let file = ended.file(front);
        assert!(file.contains("not a SPEC result"), "{front}");
    }
    let sfslog = ended.file("sfslog");
    let total = record.points[1]
        .measured()
        .expect("measured")
        .success_count();
    assert!(
        sfslog.contains(&format!("TOTAL LOGICAL NFS OPERATIONS: {total}")),
        "{sfslog}"
    );
    let page = ended.file("html");
    assert!(page.contains("</html>") && page.matches("<svg").count() >= 3);
    assert_empty(&server);
}

#[test]
fn the_phases_come_in_order_and_are_in_sfsres() {
    let _turn = beside_others();
    let server = serve(ServerOptions::default());
    let sweep = Sweep::on(&server)
        .set("LOAD", "40 80")
        .set("WARMUP_TIME", 0.5)
        .set("REUSE", "off");
    let ended = sweep.succeed();
    let record = ended.record();
    let phases: Vec<_> = record.phases.iter().map(|p| (p.point, p.phase)).collect();
    let wanted = [
        (1, Phase::Init),
        (1, Phase::Warmup),
        (1, Phase::Run),
        (1, Phase::Cleanup),
        (2, Phase::Init),
        (2, Phase::Warmup),
        (2, Phase::Run),
        (0, Phase::Cleanup),
    ];
    assert_eq!(phases, wanted);
    // REUSE=off: the second point makes its file set again, a larger one.
    let created = |n: usize| ended.point(n).stats.map_or(0, |s| s.fileset_bytes);
    assert!(
        created(2) > created(1) && created(1) > 0,
        "{} {}",
        created(1),
        created(2)
    );
    let sfsres = ended.file("sfsres");
    let at = |words: &str| {
        sfsres
            .find(words)
            .unwrap_or_else(|| panic!("no {words:?} in {sfsres}"))
    };
    assert!(at("load point 1: INIT took") < at("load point 1: WARMUP took"));
    assert!(at("load point 1: RUN took") < at("load point 2: INIT took"));
    assert_empty(&server);
}

#[test]
fn a_report_is_made_again_from_the_record_alone() {
    let _turn = beside_others();
    let server = serve(ServerOptions::default());
    let sweep = Sweep::on(&server);
    let first = sweep.succeed();
    let record = sweep.result("s.run.jsonl").display().to_string();
    let again = sweep
        .elsewhere()
        .command("report")
        .arg(record)
        .arg("-d")
        .arg("result")
        .succeed();
    for front in ["sfssum", "sfslog", "sfsres", "sfsc0001", "html"] {
        assert_eq!(first.file(front), again.file(front), "{front}");
    }
    assert!(again.stdout.contains("100"), "{}", again.stdout);
}

#[test]
fn a_record_is_never_overwritten() {
    let _turn = beside_others();
    let server = serve(ServerOptions::default());
    let sweep = Sweep::on(&server);
    sweep.succeed();
    let files = |ended: Option<&Ended>| {
        let _ = ended;
        ["s.run.jsonl", "sfssum.s", "sfslog.s", "s.html"]
            .map(|n| std::fs::read(sweep.result(n)).expect("a result"))
    };
    let before = files(None);
    let calls = server.stats();
    let events = sweep.write("events", "mine");
    let with_events = sweep
        .clone()
        .arg("--events")
        .arg(events.display().to_string());
    let ended = with_events.fail(2);
    ended.assert_sentence(&["result/s.run.jsonl", "exists already", "another suffix"]);
    assert_eq!(std::fs::read(&events).expect("events"), b"mine");
    assert!(before == files(Some(&ended)), "a result has changed");
    assert_eq!(server.stats(), calls, "the server was asked");
}

/// A run that is refused before it has made files does not change the record and the files of an
/// earlier run.
#[test]
fn a_refused_run_touches_no_earlier_results() {
    let _turn = beside_others();
    let server = serve(ServerOptions::default());
    let mut peek = Peek::into(&server);
    let sweep = Sweep::on(&server);
    let files = || {
        let names = std::fs::read_dir(sweep.result("")).expect("the results");
        let paths = names.map(|entry| entry.expect("an entry").path());
        let read = |path: PathBuf| (path.clone(), std::fs::read(&path).expect("a result"));
        paths.map(read).collect::<BTreeMap<_, _>>()
    };
    // A run that failed in INIT has a record without a load point that was measured, and a
    // run that was refused one without any.
    peek.make_dir("filermark.s");
    peek.make_file("filermark.s/thesis.txt", b"ten years of work");
    sweep.fail(1);
    let before = files();
    assert!(
        before.keys().any(|p| p.ends_with("s.run.jsonl")),
        "{before:?}"
    );
    let refused = || {
        let ended = sweep.fail(1);
        ended.assert_sentence(&["127.0.0.1:/export/filermark.s", "thesis.txt"]);
        assert!(
            ended
                .stderr
                .contains("record: none; the files of an earlier run 's'"),
            "{}",
            ended.stderr
        );
    };
    refused();
    assert_eq!(files(), before);

    // Nor if the record was moved away and the other files were not.
    peek.remove("filermark.s/thesis.txt");
    sweep.succeed();
    std::fs::remove_file(sweep.result("s.run.jsonl")).expect("moved away");
    let before = files();
    peek.make_dir("filermark.s");
    peek.make_file("filermark.s/thesis.txt", b"ten years of work");
    refused();
    assert_eq!(files(), before);

    // A run that is not refused has its record and its files.
    peek.remove("filermark.s/thesis.txt");
    let ended = sweep.succeed();
    assert!(ended.is_complete() && ended.file("sfssum").contains("100"));
}

#[test]
fn a_result_directory_that_cannot_be_written_is_reported_before_the_server_is_touched() {
    let _turn = beside_others();
    let server = serve(ServerOptions::default());
    let sweep = Sweep::on(&server);
    // Also root cannot make a directory below a file.
    sweep.write("result", "in the way");
    sweep
        .fail(1)
        .assert_sentence(&["result", "cannot make the result directory", "-d"]);
    let sweep = Sweep::on(&server).arg("-d").arg("/proc/nowhere");
    sweep
        .fail(1)
        .assert_sentence(&["/proc/nowhere", "result directory"]);
    assert_eq!(server.stats().nfs_total(), 0);
}

#[test]
fn a_plan_touches_nothing() {
    let _turn = beside_others();
    let server = serve(ServerOptions::default());
    let sweep = Sweep::on(&server)
        .command("plan")
        .set("LOAD", "100 200 300");
    let ended = sweep.succeed();
    assert!(ended.stdout.contains("fingerprint"), "{}", ended.stdout);
    for load in ["100", "200", "300"] {
        assert!(ended.stdout.contains(load), "{}", ended.stdout);
    }
    let json = sweep.clone().arg("--json").succeed().json();
    assert_eq!(json["plan"]["points"].as_array().map(Vec::len), Some(3));
    let print = json["fingerprint"]
        .as_str()
        .expect("a fingerprint")
        .to_owned();
    assert!(ended.stdout.contains(&print), "{}", ended.stdout);
    assert_eq!(server.stats(), filermark_server::ServerStats::default());
    assert!(!sweep.result("").exists(), "a plan makes no directory");
}

#[test]
fn slow_the_demo_needs_nothing_and_ends_with_the_path_of_its_report() {
    let _turn = beside_others();
    // An earlier record is not overwritten.
    let sweep = Sweep::bare()
        .suffix("demo2")
        .command("demo")
        .arg("--seconds")
        .arg("0.2");
    std::fs::create_dir_all(sweep.result("")).expect("the result directory");
    std::fs::write(sweep.result("demo.run.jsonl"), "mine").expect("an earlier record");
    let ended = sweep.succeed();
    let record = ended.record();
    assert_eq!(record.points.len(), 10);
    assert!(record.points.iter().all(|p| p.measured().is_some()));
    let last = ended.stderr.lines().last().expect("words");
    assert_eq!(last, "report: result/demo2.html");
    assert!(ended.file("html").contains("</html>"));
}
