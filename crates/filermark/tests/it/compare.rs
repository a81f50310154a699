//! `compare` on real runs: of two equal servers, and of a slower one.

use crate::filermark;
use crate::load_guard::{alone, beside_others, when_quiet};
use crate::second_client::serve;
use crate::sweep::Sweep;
use filermark_results::compare::SCHEMA;
use filermark_server::ServerOptions;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Output;

/// The record of a short sweep of three load points against a server of this delay.
fn measured(dir: &Path, suffix: &str, delay: &str) -> PathBuf {
    let server = serve(ServerOptions {
        delay: delay.parse().expect("a delay"),
        ..ServerOptions::default()
    });
    let sweep = Sweep::on(&server)
        .set("LOAD", "40 80 120")
        .set("RUNTIME", 2)
        .suffix(suffix);
    sweep.succeed();
    let record = dir.join(format!("{suffix}.run.jsonl"));
    std::fs::copy(sweep.result(&format!("{suffix}.run.jsonl")), &record).expect("copy");
    record
}

fn compare(dir: &Path, args: &[&str]) -> Output {
    let mut line = vec!["compare"];
    line.extend(args);
    filermark(dir, &line)
}

fn code(output: &Output) -> i32 {
    output.status.code().expect("an exit code")
}

fn text(output: &[u8]) -> String {
    String::from_utf8_lossy(output).into_owned()
}

/// The comparison as JSON, checked against its schema.
fn json(output: &Output) -> Value {
    let value: Value = serde_json::from_slice(&output.stdout).expect("JSON on stdout");
    let mut schemas = boon::Schemas::new();
    let mut compiler = boon::Compiler::new();
    let name = "urn:filermark:comparison:1";
    let schema = serde_json::from_str(SCHEMA).expect("a schema");
    compiler.add_resource(name, schema).expect("a schema");
    let index = compiler.compile(name, &mut schemas).expect("a schema");
    let valid = schemas
        .validate(&value, index)
        .map_err(|e| format!("{e:#}"));
    valid.expect("as the schema says");
    value
}

/// A record with its first line changed.
fn with_header(record: &Path, name: &str, change: impl Fn(&mut Value)) -> PathBuf {
    let whole = std::fs::read_to_string(record).expect("a record");
    let (first, rest) = whole.split_once('\n').expect("lines");
    let mut header: Value = serde_json::from_str(first).expect("JSON");
    change(&mut header);
    let path = record.with_file_name(name);
    std::fs::write(&path, format!("{header}\n{rest}")).expect("write");
    path
}

#[test]
fn alone_servers_that_are_alike_show_no_difference_and_a_slower_one_does() {
    let _turn = alone();
    let dir = tempfile::tempdir().expect("a directory");
    let dir = dir.path();
    when_quiet(|| {
        let off = |what: &str, output: &Output| Err(format!("{what}:\n{}", text(&output.stdout)));
        measured(dir, "one", "2ms");
        measured(dir, "two", "2ms");
        measured(dir, "slow", "8ms");
        let (one, two, slow) = ("one.run.jsonl", "two.run.jsonl", "slow.run.jsonl");
        let same = compare(dir, &[one, two, "--fail-on", "any", "--details"]);
        if code(&same) != 0 {
            return off("two that are alike", &same);
        }
        let output_text = text(&same.stdout);
        assert!(
            output_text.contains("verdict: no difference shown"),
            "{output_text}"
        );
        // Each listened on another port.
        assert!(
            output_text.contains("only places differ") && output_text.contains("NFS_PORT"),
            "{output_text}"
        );
        let slower = compare(dir, &[one, slow, "--format", "json"]);
        if code(&slower) != 3 {
            return off("a slower one", &slower);
        }
        let value = json(&slower);
        assert_eq!(value["against"][0]["verdict"], "slower");
        let sweep = value["against"][0]["sweep"].as_array().expect("rows");
        let service = sweep.iter().find(|d| d["kind"] == "service_mean");
        let change = service.expect("a row")["change_pcnt"]
            .as_f64()
            .expect("a figure");
        assert!((100.0..350.0).contains(&change), "{change}");
        // The verdict is about the second side, and only a verdict of --fail-on fails.
        for (args, wanted) in [
            (vec![slow, one], 0),
            (vec![slow, one, "--fail-on", "any"], 3),
            (vec![one, slow, "--fail-on", "never"], 0),
            (vec![one, two, slow], 3),
            (vec!["one.run.jsonl,two.run.jsonl", slow], 3),
        ] {
            let ended = compare(dir, &args);
            if code(&ended) != wanted {
                return off(&format!("{args:?}"), &ended);
            }
        }
        let page = compare(
            dir,
            &[
                one,
                slow,
                "-f",
                "html",
                "-o",
                "c.html",
                "--fail-on",
                "never",
            ],
        );
        assert_eq!((code(&page), page.stdout.len()), (0, 0));
        let page = std::fs::read_to_string(dir.join("c.html")).expect("the page");
        assert!(page.contains(">slower<") && page.contains("curves-service-wide"));
        Ok(())
    });
    patterns(dir);
    refusals(dir);
}

/// Repeats by patterns, which the program expands: the verdict on one screen, and CSV.
fn patterns(dir: &Path) {
    let given = [
        "--base",
        "o*.run.jsonl",
        "t?o.run.jsonl",
        "--new",
        "[s]low.run.jsonl",
    ];
    let ended = compare(dir, &given);
    let screen = text(&ended.stdout);
    assert_eq!(code(&ended), 3, "{screen}{}", text(&ended.stderr));
    assert!(screen.lines().count() <= 24, "{screen}");
    for line in screen.lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
    for expected in [
        "base one",
        "base two",
        "new  slow",
        "verdict: slower",
        "too few repeats: 2 before and 1 after",
    ] {
        assert!(screen.contains(expected), "{expected}: {screen}");
    }
    let json_form = json(&compare(dir, &[&given[..], &["-f", "json"]].concat()));
    assert_eq!(json_form["sides"][0]["runs"][1]["file"], "two");
    let csv = text(&compare(dir, &[&given[..], &["-f", "csv"]].concat()).stdout);
    let columns = |line: &str| line.matches(',').count();
    assert!(csv.lines().count() > 10, "{csv}");
    assert!(csv.lines().all(|line| columns(line) == 14), "{csv}");
    let empty = compare(dir, &["--base", "none*", "--new", "slow.run.jsonl"]);
    let why = text(&empty.stderr);
    assert_eq!(code(&empty), 2, "{why}");
    assert!(why.contains("none*: this pattern names no file"), "{why}");
    let half = compare(dir, &["--base", "one.run.jsonl"]);
    assert_eq!(code(&half), 2);
}

/// Refused comparisons of existing records, with the reason.
fn refusals(dir: &Path) {
    let one = dir.join("one.run.jsonl");
    with_header(&one, "longer.run.jsonl", |header| {
        header["plan"]["phases"]["runtime"] = 60_000_000_000u64.into();
        header["fingerprint"] = "other".into();
    });
    with_header(&one, "newer.run.jsonl", |header| {
        header["schema"] = 99.into()
    });
    let refused = compare(dir, &["one.run.jsonl", "longer.run.jsonl"]);
    let output_text = text(&refused.stderr);
    assert_eq!(
        (code(&refused), refused.stdout.len()),
        (2, 0),
        "{output_text}"
    );
    for expected in [
        "longer did different work than one",
        "RUNTIME: 2 s in one, 60 s in longer",
        "--force",
    ] {
        assert!(output_text.contains(expected), "{output_text}");
    }
    let forced = compare(
        dir,
        &["one.run.jsonl", "longer.run.jsonl", "--force", "--details"],
    );
    let output_text = text(&forced.stdout);
    assert_eq!(code(&forced), 0, "{output_text}");
    assert!(
        output_text.contains("FORCED") && output_text.contains("RUNTIME: 2 s -> 60 s"),
        "{output_text}"
    );
    for (bad, why) in [
        ("newer.run.jsonl", "schema version 99"),
        ("gone.run.jsonl", "gone"),
    ] {
        let ended = compare(dir, &["one.run.jsonl", bad]);
        let output_text = text(&ended.stderr);
        assert_eq!(code(&ended), 2, "{output_text}");
        assert!(output_text.contains(why), "{output_text}");
    }
    let whole = std::fs::read(&one).expect("a record");
    std::fs::write(dir.join("cut.run.jsonl"), &whole[..whole.len() - 20]).expect("write");
    let cut = compare(dir, &["one.run.jsonl", "cut.run.jsonl", "--details"]);
    assert!(text(&cut.stdout).contains("the record of cut (suffix one) was cut"));
    half_a_run(dir, &text(&whole));
    let twice = compare(dir, &["one.run.jsonl,one.run.jsonl", "two.run.jsonl"]);
    let output_text = text(&twice.stderr);
    assert_eq!(code(&twice), 2, "{output_text}");
    assert!(
        output_text.contains("suffix one") && output_text.contains("more than once"),
        "{output_text}"
    );
    let unwritable = compare(
        dir,
        &["one.run.jsonl", "one.run.jsonl", "-o", "no/such/dir"],
    );
    assert_eq!(code(&unwritable), 1);
}

/// A run without its later load points is worse than the complete one, whatever its first point.
fn half_a_run(dir: &Path, whole: &str) {
    let mut points = 0;
    let first = whole.lines().filter(|line| {
        let value: Value = serde_json::from_str(line).expect("JSON");
        points += usize::from(value["type"] == "point");
        points <= 1
    });
    let first: Vec<&str> = first.collect();
    std::fs::write(dir.join("half.run.jsonl"), first.join("\n") + "\n").expect("write");
    let worse = compare(dir, &["one.run.jsonl", "half.run.jsonl", "-f", "json"]);
    assert_eq!(code(&worse), 3, "{}", text(&worse.stderr));
    let value = json(&worse);
    let reason = value["against"][0]["reasons"][0]
        .as_str()
        .expect("a reason");
    let actual = "before and not after, slower: not measured";
    assert!(
        reason.starts_with("load point") && reason.contains(actual),
        "{reason}"
    );
    for (fail_on, wanted) in [("slower", 0), ("any", 3)] {
        let better = ["half.run.jsonl", "one.run.jsonl", "--fail-on", fail_on];
        assert_eq!(code(&compare(dir, &better)), wanted);
    }
}

/// Two short runs of which no load point counts: they are named, and there is no verdict of faster
/// or slower.
#[test]
fn runs_of_which_nothing_counts_are_reported_and_not_compared() {
    let _turn = beside_others();
    let dir = tempfile::tempdir().expect("directory");
    let server = serve(ServerOptions::default());
    for suffix in ["one", "two"] {
        // No reply arrives within a microsecond.
        let sweep = Sweep::on(&server)
            .set("LOAD", "40 80")
            .set("RESPONSE_LIMIT_MS", "0.001")
            .suffix(suffix);
        sweep.fail(4);
        let name = format!("{suffix}.run.jsonl");
        std::fs::copy(sweep.result(&name), dir.path().join(&name)).expect("copy");
    }
    let files = ["one.run.jsonl", "two.run.jsonl", "--details"];
    let output = compare(dir.path(), &files);
    assert_eq!(code(&output), 1, "{}", text(&output.stderr));
    let output_text = text(&output.stdout);
    let output_text = output_text.split_whitespace().collect::<Vec<_>>().join(" ");
    for expected in [
        "one (suffix one) is INVALID: load point 1 does not count (response-limit)",
        "two (suffix two) is INVALID: load point 1 does not count (response-limit)",
        "verdict: nothing to compare",
        "load point 2 (80 op/s) is INVALID (response-limit) before and INVALID (response-limit) after",
    ] {
        assert!(output_text.contains(expected), "{expected}: {output_text}");
    }
    assert!(!output_text.contains("over the sweep"), "{output_text}");
}

/// The repeats for a sensitivity, as text and JSON, and wrong usage.
#[test]
fn repeats_are_planned_for_a_sensitivity() {
    let dir = tempfile::tempdir().expect("directory");
    let plan = |args: &[&str]| filermark(dir.path(), &[&["plan"], args].concat());
    let printed = plan(&["--power", "5%"]);
    assert_eq!(code(&printed), 0, "{}", text(&printed.stderr));
    let output_text = text(&printed.stdout);
    assert!(
        output_text.starts_with("repeats    7 on each side detect a change of 5 %")
            && output_text.contains("--threshold 2.5"),
        "{output_text}"
    );
    let json_form = plan(&["--power", "10", "--deviation", "4%", "--json"]);
    let value: Value = serde_json::from_slice(&json_form.stdout).expect("JSON");
    assert_eq!(
        (&value["repeats"], &value["format"]),
        (&7.into(), &1.into())
    );
    for (args, why) in [
        (&["--power", "0"][..], "give percent from 0.01"),
        (
            &["--power", "0.1%", "--deviation", "20%"],
            "more than 100 repeats",
        ),
        (
            &["--power", "5%", "--from", "none*"],
            "none*: this pattern names no file",
        ),
        (&["--power", "5%", "-r", "rc"], "cannot be used with"),
        (&["--deviation", "5%"], "--power"),
    ] {
        let ended = plan(args);
        let output_text = text(&ended.stderr);
        assert_eq!(code(&ended), 2, "{args:?}: {output_text}");
        assert!(output_text.contains(why), "{args:?}: {output_text}");
    }
}
