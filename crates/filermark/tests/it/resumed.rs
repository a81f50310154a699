//! Runs of a suite that were interrupted or failed: what is resumed, and what is measured again.

use crate::energy_run::{cut_suite, points_of};
use crate::load_guard::beside_others;
use crate::{assert_complete, filermark, stderr_text};
use filermark_model::{Finding, Rule};
use filermark_results::read_record;
use filermark_testbed::write_program;
use rustix::process::Signal;
use std::path::{Path, PathBuf};
use std::process::Output;
use tempfile::TempDir;

/// A directory with a suite of one workload.
struct Suite {
    dir: TempDir,
}

impl Suite {
    fn new(rc: &str) -> Self {
        let suite = Self {
            dir: tempfile::tempdir().expect("a directory"),
        };
        let work = suite.at("work").display().to_string();
        std::fs::create_dir(&work).expect("made");
        std::fs::write(suite.at("sfs_rc_one"), rc.replace("WORK", &work)).expect("written");
        suite
    }

    fn at(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn record(&self) -> PathBuf {
        self.at("result/one.run.jsonl")
    }

    fn run(&self, more: &[&str]) -> Output {
        let args = ["energy", "suite", "sfs_rc_one"];
        filermark(self.dir.path(), &[&args[..], more].concat())
    }

    fn rewrite(&self, text: &str) {
        std::fs::write(self.record(), text).expect("written");
    }
}

fn refused(output: &Output, code: i32, words: &str) {
    assert_eq!(output.status.code(), Some(code), "{}", stderr_text(output));
    assert!(
        stderr_text(output).contains(words),
        "{words}: {}",
        stderr_text(output)
    );
}

fn lines_with(file: &Path, words: &str) -> usize {
    let text = std::fs::read_to_string(file).expect("there");
    text.lines().filter(|line| line.contains(words)).count()
}

/// A mounted benchmark with live logs and a monitor that fails at the first load point.
#[test]
fn a_mounted_run_goes_on_on_the_same_mount_with_its_logs_and_findings() {
    let _turn = beside_others();
    let suite = Suite::new(
        "BENCHMARK=METADATA\nCLIENT_MOUNTPOINTS=localhost:WORK\nFILE_SIZE=16k\nDIR_COUNT=2\nFILES_PER_DIR=4\nLOAD=1\nINCR_LOAD=1\nNUM_RUNS=3\nWARMUP_TIME=0\nRUNTIME=3\nSTALL_PCNT_MAX=100\nHEARTBEAT_S=1\nSPACE_RESERVE=0\nPRIME_MON_SCRIPT=./watch.sh\n",
    );
    let script =
        "#!/bin/sh\n[ -e called ] && exec sleep 1000\n: >called\necho broken >&2\nexit 4\n";
    write_program(&suite.at("watch.sh"), script).expect("written");
    cut_suite(suite.dir.path(), &[], 1, Signal::KILL);
    let first = std::fs::read_to_string(suite.record()).expect("a record");
    // On a busy host there may be more than one.
    let measured_first = points_of(&suite.record());
    assert!((1..3).contains(&measured_first), "{measured_first}");

    // Another mount in the place of the one that was measured: no file is changed.
    let options = "[\"mount options\",\"";
    assert!(first.contains(options), "{first}");
    let other = first.replace(options, &format!("{options}sync,"));
    suite.rewrite(&other);
    refused(&suite.run(&[]), 1, "the mount options is");
    assert_eq!(
        std::fs::read_to_string(suite.record()).expect("there"),
        other
    );
    suite.rewrite(&first);

    assert_complete(&suite.run(&[]));
    let record = read_record(&suite.record()).expect("a record");
    let pieces = record.restarts.iter().map(|restart| restart.point_count);
    assert_eq!(pieces.collect::<Vec<_>>(), [measured_first]);
    let measured = record.points.iter().filter(|p| p.measured().is_some());
    assert_eq!(measured.count(), 3);
    // The monitor failed in the piece that was killed.
    let of_monitor = |f: &&Finding| f.rule == Rule::Script && f.message.contains("watch.sh");
    let findings = record.run_findings().filter(of_monitor);
    let findings: Vec<&str> = findings.map(|f| f.message.as_str()).collect();
    assert!(
        matches!(findings[..], [one] if one.contains("exit code 4") && one.contains("load point 1")),
        "{findings:?}"
    );
    // The file set of the previous load point does not exist any more: the finding states that.
    let pieces = record.run_findings().find(|f| f.rule == Rule::Resumed);
    let pieces = &pieces.expect("a finding").message;
    assert!(record.run.plan.fileset.reuse);
    assert!(pieces.contains("(REUSE=on)"), "{pieces}");
    // The logs have the load points of both pieces, as made from the record.
    let csv = suite.at("result/one.csv");
    assert!(lines_with(&csv, ",") >= 3);
    let checked = filermark(suite.dir.path(), &["verify", "result/one.run.jsonl"]);
    assert!(
        checked.status.success(),
        "{}",
        String::from_utf8_lossy(&checked.stdout)
    );
    // The files of the killed piece are removed.
    let left = std::fs::read_dir(suite.at("work")).expect("there").count();
    assert_eq!(left, 0);
}

const NULL: &str = "DRIVER=null\nLOAD=1000\nINCR_LOAD=1000\nNUM_RUNS=2\nPROCS=4\nWARMUP_TIME=0\nRUNTIME=1\nFILESET_MB_PER_OP=0.1\nSTALL_PCNT_MAX=100\n";

/// The record of a failed run is kept, and all load points are measured again.
#[test]
fn a_run_that_failed_is_measured_again_and_kept() {
    let _turn = beside_others();
    let suite = Suite::new(NULL);
    assert_complete(&suite.run(&[]));
    let whole = std::fs::read_to_string(suite.record()).expect("a record");
    let complete = "\"outcome\":{\"state\":\"complete\"}";
    assert!(whole.contains(complete), "{whole}");
    let end = "\"outcome\":{\"state\":\"failed\",\"reason\":\"the server is gone\"}";
    let failed = whole.replace(complete, end);
    // A load point that failed, of a run that was killed before it wrote its end.
    let second = whole.rfind("{\"type\":\"point\"").expect("a load point");
    let line = whole[second..].lines().next().expect("a line");
    let mut point: serde_json::Value = serde_json::from_str(line).expect("JSON");
    let fields = point.as_object_mut().expect("an object");
    fields.remove("stats");
    let status = |reason: &str| serde_json::json!({"state": "failed", "reason": reason});
    fields.insert("status".into(), status("the server is gone"));
    let killed = format!("{}{point}\n", &whole[..second]);
    for (kept, text) in [("one.cut1", &failed), ("one.cut2", &killed)] {
        suite.rewrite(text);
        let dry = suite.run(&["--dry-run"]);
        let shown = String::from_utf8_lossy(&dry.stdout).into_owned();
        assert!(shown.contains("failed; to be run again"), "{shown}");
        let again = suite.run(&[]);
        assert_complete(&again);
        assert!(stderr_text(&again).contains("a run that failed is kept in"));
        let there = suite.at(&format!("result/{kept}/one.run.jsonl"));
        assert_eq!(&std::fs::read_to_string(there).expect("kept"), text);
        let record = read_record(&suite.record()).expect("a record");
        assert!(record.restarts.is_empty() && record.points.len() == 2);
    }
    // A load point that the user ended is no failure.
    let fields = point.as_object_mut().expect("an object");
    fields.insert("status".into(), status("stopped on request"));
    suite.rewrite(&format!("{}{point}\n", &whole[..second]));
    let dry = suite.run(&["--dry-run"]);
    let shown = String::from_utf8_lossy(&dry.stdout).into_owned();
    assert!(
        shown.contains("continues after load point 1 of 2"),
        "{shown}"
    );
}
