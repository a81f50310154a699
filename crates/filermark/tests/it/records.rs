//! `list`, `show`, `tag`, `trend` and `export` over a directory of records.

use crate::sweep::PROGRAM;
use filermark_results::testing::compare::Simulated;
use filermark_results::{Line, RunRecord, Timestamp};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};
use tempfile::TempDir;

/// Writes records of a server that is a tenth faster from the fifth run on.
fn records() -> TempDir {
    let dir = tempfile::tempdir().expect("a directory");
    let results = dir.path().join("result");
    std::fs::create_dir(&results).expect("a directory");
    for number in 0..10u64 {
        let server = Simulated {
            service_us: if number < 5 { 400.0 } else { 330.0 },
            ..Simulated::default()
        };
        let mut record = server.run(&format!("r{number}"), number);
        record.run.started = Timestamp::from_unix_seconds(1.79e9 + 86_400.0 * number as f64);
        write(&record, &results);
    }
    dir
}

fn write(record: &RunRecord, dir: &Path) {
    let suffix = &record.run.suffix;
    let mut lines = vec![Line::Run(Box::new(record.run.clone()))];
    let points = record.points.iter().cloned();
    lines.extend(points.map(|p| Line::Point(Box::new(p))));
    lines.extend(record.end.clone().map(Line::End));
    let text: String = lines
        .iter()
        .map(|line| serde_json::to_string(line).expect("JSON") + "\n")
        .collect();
    std::fs::write(dir.join(format!("{suffix}.run.jsonl")), text).expect("it is written");
}

/// Runs the program without a home directory, 80 columns wide, into a pipe.
fn filermark(dir: &TempDir, args: &[&str]) -> Output {
    Command::new(PROGRAM)
        .args(args)
        .current_dir(dir.path())
        .env_remove("HOME")
        .env("NO_COLOR", "1")
        .env("COLUMNS", "80")
        .output()
        .expect("filermark starts")
}

#[track_caller]
fn stdout(dir: &TempDir, args: &[&str]) -> String {
    let output = filermark(dir, args);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{args:?}: {stderr}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

fn rows(text: &str) -> Vec<Value> {
    let lines = text.lines();
    lines.map(|l| serde_json::from_str(l).expect(l)).collect()
}

/// The runs of a table; what belongs to one is indented below it.
fn runs(table: &str) -> usize {
    let lines = table.lines().skip(1);
    lines.filter(|line| !line.starts_with(' ')).count()
}

#[test]
fn runs_are_listed_filtered_and_tagged() {
    let dir = records();
    let table = stdout(&dir, &["list"]);
    assert_eq!(runs(&table), 10, "{table}");
    assert!(
        table.lines().all(|line| line.chars().count() <= 80),
        "{table}"
    );
    let before = std::fs::read(dir.path().join("result/r3.run.jsonl")).expect("a record");
    let tag = ["tag", "result/r3.run.jsonl", "result/r4.run.jsonl"];
    stdout(
        &dir,
        &[&tag[..], &["--add", "fw=9", "--note", "new disks"]].concat(),
    );
    stdout(
        &dir,
        &[
            "tag",
            "result/r4.run.jsonl",
            "--remove",
            "fw=9",
            "--note",
            "",
        ],
    );
    let after = std::fs::read(dir.path().join("result/r3.run.jsonl")).expect("a record");
    assert_eq!(before, after, "a record is never changed");
    let tagged = rows(&stdout(&dir, &["list", "--tag", "fw=9", "--json"]));
    assert_eq!(tagged.len(), 1);
    assert_eq!(tagged[0]["suffix"], "r3");
    assert_eq!(tagged[0]["note"], "new disks");
    let day = tagged[0]["started"].as_str().expect("a time")[..10].to_owned();
    let since = rows(&stdout(&dir, &["list", "--since", &day, "--json"]));
    assert_eq!(since.len(), 7);
    let last = rows(&stdout(&dir, &["list", "--last", "2", "--json"]));
    assert_eq!(last[1]["suffix"], "r9");
    let one = rows(&stdout(&dir, &["list", "--suffix", "7", "--json"]));
    assert_eq!((one.len(), &one[0]["suffix"]), (1, &"r7".into()));
    let shown = stdout(&dir, &["show", "result/r3.run.jsonl"]);
    assert!(shown.contains("note: new disks"), "{shown}");
    assert!(shown.contains("not a SPEC result"), "{shown}");
    let json: Value =
        serde_json::from_str(&stdout(&dir, &["show", "--json", "result/r3.run.jsonl"]))
            .expect("JSON");
    assert_eq!(json["tags"], serde_json::json!(["fw=9"]));
}

#[test]
fn tags_of_several_processes_at_once_are_all_kept() {
    let dir = records();
    let tags: Vec<String> = (0..8).map(|n| format!("t{n}")).collect();
    let start = |tag: &String| {
        Command::new(PROGRAM)
            .args(["tag", "result/r0.run.jsonl", "--add", tag])
            .current_dir(dir.path())
            .spawn()
            .expect("filermark starts")
    };
    let children: Vec<_> = tags.iter().map(start).collect();
    for mut child in children {
        assert!(child.wait().expect("it ends").success());
    }
    let listed = rows(&stdout(&dir, &["list", "--tag", "t0", "--json"]));
    assert_eq!(listed[0]["tags"], serde_json::json!(tags));
}

#[test]
fn a_trend_names_the_run_from_which_on_the_figure_changed() {
    let dir = records();
    let text = stdout(&dir, &["trend", "--figure", "mean@2"]);
    assert!(text.contains("change at r5: "), "{text}");
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
    let json = stdout(&dir, &["trend", "--figure", "mean@2", "-f", "json"]);
    let json: Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["points"].as_array().map(Vec::len), Some(10));
    assert_eq!(json["changes"][0]["at"], 5);
    let failed = filermark(&dir, &["trend", "--figure", "mean@2", "--fail-on-change"]);
    assert_eq!(failed.status.code(), Some(3));
    let wrong = filermark(&dir, &["trend", "--figure", "speed"]);
    assert_eq!(wrong.status.code(), Some(2));
    let message = String::from_utf8_lossy(&wrong.stderr).into_owned();
    assert!(message.contains("there is no figure 'speed'"), "{message}");
}

#[test]
fn load_points_of_all_runs_are_in_one_table() {
    let dir = records();
    let wide = stdout(&dir, &["export"]);
    assert_eq!(wide.lines().count(), 10 * 5 + 1, "{wide}");
    stdout(&dir, &["export", "--long", "-o", "long.csv", "--last", "1"]);
    let long = std::fs::read_to_string(dir.path().join("long.csv")).expect("the table");
    let heads: Vec<&str> = long.lines().next().expect("a heading").split(',').collect();
    assert_eq!(heads[10..], ["op", "second", "figure", "value"]);
    assert!(
        long.lines().skip(1).all(|line| line.contains("/r9,r9,")),
        "{heads:?}"
    );
    let lines = rows(&stdout(
        &dir,
        &["export", "-f", "jsonl", "result/r0.run.jsonl"],
    ));
    assert_eq!(lines.len(), 5);
    assert!(lines[0]["service_ms_p99"].is_number(), "{}", lines[0]);
}

/// Neither a record, selected or not, nor a file of tags is overwritten.
#[test]
fn an_export_is_never_written_over_a_record() {
    let dir = records();
    stdout(&dir, &["tag", "result/r3.run.jsonl", "--add", "kept"]);
    let selected = ["export", "--last", "1", "-o"];
    for name in [
        "r0.run.jsonl",
        "r9.run.jsonl",
        "filermark-tags.json",
        "new.run.jsonl",
    ] {
        let path = format!("result/{name}");
        let before = std::fs::read(dir.path().join(&path)).ok();
        let output = filermark(&dir, &[&selected[..], &[&path]].concat());
        assert_eq!(output.status.code(), Some(2), "{name}");
        assert_eq!(std::fs::read(dir.path().join(&path)).ok(), before, "{name}");
    }
}

/// Copies of records count once: a series of equal figures would show changes between them.
#[test]
fn a_run_counts_once_however_often_its_record_is_found() {
    let dir = records();
    let backup = dir.path().join("result/backup");
    std::fs::create_dir(&backup).expect("a directory");
    for number in 0..10 {
        let name = format!("r{number}.run.jsonl");
        std::fs::copy(dir.path().join("result").join(&name), backup.join(&name)).expect("a copy");
    }
    let output = filermark(
        &dir,
        &[
            "trend", "--figure", "mean@2", "-f", "json", "result", "./result",
        ],
    );
    let json: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(json["points"].as_array().map(Vec::len), Some(10));
    assert_eq!(json["changes"].as_array().map(Vec::len), Some(1));
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(stderr.contains("the same run as "), "{stderr}");
    assert!(
        stderr.contains("more records of runs that were found"),
        "{stderr}"
    );
}

/// A check of nothing does not succeed.
#[test]
fn a_trend_that_judges_nothing_fails_the_check() {
    let dir = records();
    let args = ["trend", "--fail-on-change", "--figure", "p99@77"];
    assert_eq!(filermark(&dir, &args).status.code(), Some(1));
}

/// A filter that no run matches is named; it is not the figure that is missing.
#[test]
fn a_trend_of_no_run_names_the_filter() {
    let dir = records();
    let ended = |args: &[&str]| {
        let output = filermark(&dir, &[&["trend"], args].concat());
        assert!(output.stdout.is_empty(), "{args:?}");
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.code(), stderr)
    };
    for format in ["text", "json", "csv"] {
        let none = ["--suffix", "-mix", "--valid", "-f", format];
        let (code, stderr) = ended(&none);
        assert_eq!(code, Some(2), "{stderr}");
        assert!(
            stderr.contains("no run matches --suffix --valid"),
            "{stderr}"
        );
    }
    let (code, stderr) = ended(&["--figure", "p99@77"]);
    assert_eq!(code, Some(0));
    assert!(stderr.contains("no run has the figure"), "{stderr}");
    std::fs::create_dir(dir.path().join("empty")).expect("a directory");
    let (code, stderr) = ended(&["empty", "--suffix", "x"]);
    assert_eq!(code, Some(2), "{stderr}");
    assert!(stderr.contains("no run was found"), "{stderr}");
    // What could not be read may be what was meant.
    std::fs::write(dir.path().join("empty/a.run.jsonl"), "{}\n").expect("written");
    let (code, stderr) = ended(&["empty"]);
    assert_eq!(code, Some(1), "{stderr}");
    let listed = filermark(&dir, &["list", "--suffix", "-mix"]);
    assert_eq!(listed.status.code(), Some(0));
    let stderr = String::from_utf8_lossy(&listed.stderr).into_owned();
    assert!(stderr.contains("no run matches --suffix"), "{stderr}");
}

/// Servers on other ports of a host are other targets.
#[test]
fn a_trend_does_not_mix_the_ports_of_a_host() {
    let dir = records();
    let path = dir.path().join("result/r2.run.jsonl");
    let text = std::fs::read_to_string(&path).expect("a record");
    let (first, rest) = text.split_once('\n').expect("lines");
    let mut header: Value = serde_json::from_str(first).expect("JSON");
    header["plan"]["driver"]["nfs_port"] = 2050.into();
    std::fs::write(&path, format!("{header}\n{rest}")).expect("written");
    let output = filermark(&dir, &["trend", "--figure", "mean@2", "-f", "json"]);
    let json: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(json["points"].as_array().map(Vec::len), Some(9));
    let reason = json["left_out"][0]["reason"].as_str().expect("a reason");
    assert!(
        reason.starts_with("another target than the newest run: ")
            && reason.ends_with(" port 2050"),
        "{reason}"
    );
    let listed = rows(&stdout(&dir, &["list", "--target", "port 2050", "--json"]));
    assert_eq!((listed.len(), &listed[0]["suffix"]), (1, &"r2".into()));
}

#[test]
fn what_is_no_record_is_named_and_the_others_are_listed() {
    let dir = records();
    std::fs::write(dir.path().join("result/broken.run.jsonl"), "{}\n").expect("written");
    let output = filermark(&dir, &["list"]);
    assert_eq!(output.status.code(), Some(1));
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        stderr.contains("broken.run.jsonl: not a run record"),
        "{stderr}"
    );
    let table = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(runs(&table), 10, "{table}");
    let none = filermark(&dir, &["list", "absent"]);
    assert_eq!(none.status.code(), Some(2));
    std::fs::write(dir.path().join("result/filermark-tags.json"), "[]").expect("written");
    let tags = filermark(&dir, &["list"]);
    let stderr = String::from_utf8_lossy(&tags.stderr).into_owned();
    assert!(
        stderr.contains("filermark-tags.json: not a file of tags"),
        "{stderr}"
    );
    assert_eq!(tags.status.code(), Some(1));
    let table = String::from_utf8_lossy(&tags.stdout).into_owned();
    assert_eq!(runs(&table), 10, "the records are listed: {table}");
    let by_tag = filermark(&dir, &["list", "--tag", "x"]);
    assert_eq!(by_tag.status.code(), Some(1));
    assert!(by_tag.stdout.is_empty());
}
