//! Gates of `run` and `report`: --fail-on, --assert, --baseline, --junit.

use crate::load_guard::beside_others;
use crate::sweep::{PROGRAM, Sweep};
use std::process::{Command, Output};

/// A run of two load points without a server.
fn null_run() -> Sweep {
    Sweep::bare()
        .set("DRIVER", "null")
        .set("LOAD", "40 80")
        .set("PROCS", 4)
        .set("WARMUP_TIME", 0)
        .set("RUNTIME", 1)
        .set("FILESET_MB_PER_OP", 0.1)
        // On a busy machine the points stay valid.
        .set("STALL_PCNT_MAX", 100)
        .set("ACHIEVED_PCNT_MIN", 0)
        .set("PROC_PCNT_MIN", 0)
        .set("MIX_DEVIATION_MAX", 100)
        .set("RESPONSE_LIMIT_MS", 0)
}

/// `report RECORD` with these options.
fn report(sweep: &Sweep, args: &[&str]) -> Output {
    Command::new(PROGRAM)
        .arg("report")
        .arg(sweep.result(&format!("{}.run.jsonl", sweep.name())))
        .args(args)
        .current_dir(sweep.dir())
        .output()
        .expect("it starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_run_that_meets_its_conditions_succeeds_and_one_that_does_not_ends_with_3() {
    let _turn = beside_others();
    let sweep = null_run();
    let junit = sweep.dir().join("ci.xml");
    let gates = |sweep: &Sweep, conditions: &str| {
        let path = junit.display().to_string();
        sweep
            .clone()
            .args("--junit")
            .arg(path)
            .args("--assert")
            .arg(conditions)
    };
    gates(&sweep, "ops>=1, errors=0, mean<1s").succeed();
    let xml = std::fs::read_to_string(&junit).expect("a JUnit file");
    assert_eq!(xml.matches("<testcase ").count(), 5, "{xml}");
    assert!(!xml.contains("<failure "), "{xml}");

    let output = report(
        &sweep,
        &["--assert", "ops>1M, errors=0", "--junit", "again.xml"],
    );
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{stderr}");
    assert!(
        stderr.contains("gate failed: assert ops>1M: it was "),
        "{stderr}"
    );
    let xml = std::fs::read_to_string(sweep.dir().join("again.xml")).expect("a JUnit file");
    assert_eq!(xml.matches("<failure ").count(), 1, "{xml}");

    let own = gates(&sweep.elsewhere(), "ops@2>1M").fail(3);
    assert!(own.stderr.contains("at load point 2"), "{}", own.stderr);
}

/// The JUnit file is written over no file that is read, and an older one does not survive a run
/// that is refused.
#[test]
fn a_junit_file_replaces_no_input_and_an_older_one_is_removed() {
    let _turn = beside_others();
    let sweep = null_run();
    sweep.succeed();
    let record = sweep.result(&format!("{}.run.jsonl", sweep.name()));
    let before = std::fs::read(&record).expect("a record");
    let name = record.display().to_string();
    let copy = sweep.dir().join("base.jsonl");
    std::fs::copy(&record, &copy).expect("a copy");
    let copy = copy.display().to_string();
    for args in [
        &["--junit", &name][..],
        &["--junit", "new.run.jsonl"],
        &["--baseline", &copy, "--junit", &copy],
    ] {
        let output = report(&sweep, args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
    }
    assert_eq!(std::fs::read(&record).expect("a record"), before);
    assert_eq!(std::fs::read(&copy).expect("a baseline"), before);

    let old = sweep.dir().join("old.xml");
    std::fs::write(&old, "<testsuites/>").expect("written");
    let refused = Command::new(PROGRAM)
        .args(["run", "-o", "LOAD=none", "--junit", "old.xml"])
        .current_dir(sweep.dir())
        .output()
        .expect("it starts");
    assert_eq!(refused.status.code(), Some(2));
    assert!(
        !old.exists(),
        "it would be taken for the result of this run"
    );
}

#[test]
fn what_fail_on_names_ends_with_3() {
    let _turn = beside_others();
    let sweep = null_run();
    sweep.succeed();
    for (args, code, words) in [
        (&["--fail-on", "invalid,cached"][..], 0, ""),
        (
            &["--fail-on", "not-standard"],
            3,
            "gate failed: fail-on not-standard: not standard: ",
        ),
    ] {
        let output = report(&sweep, args);
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {stderr}");
        assert!(stderr.contains(words), "{args:?}: {stderr}");
    }
}

#[test]
fn a_baseline_is_compared_and_other_work_is_refused() {
    let _turn = beside_others();
    // A RUN of a second shows no scatter, so that nothing can be compared.
    let run = || null_run().set("RUNTIME", 2);
    let (base, other) = (run(), run().set("SEED", 7));
    base.succeed();
    other.succeed();
    let record = |sweep: &Sweep| {
        let path = sweep.result(&format!("{}.run.jsonl", sweep.name()));
        path.display().to_string()
    };
    // A record is not slower than itself; --max-regression as wide as a busy machine needs.
    let same = report(
        &base,
        &["--baseline", &record(&base), "--max-regression", "1000%"],
    );
    assert_eq!(same.status.code(), Some(0), "{}", text(&same.stderr));
    let output = report(&base, &["--baseline", &record(&other)]);
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(
        stderr.contains("--baseline: it did different work"),
        "{stderr}"
    );
    // A run is refused before it begins: it leaves no file.
    let third = run().set("SEED", 7).arg("--baseline").arg(record(&base));
    let ended = third.fail(2);
    assert_eq!(ended.stderr.matches("SEED").count(), 1, "{}", ended.stderr);
    assert!(
        ended.stderr.contains("nothing was measured"),
        "{}",
        ended.stderr
    );
    assert!(!third.result("").exists(), "no file was written");
    let again = run().arg("--baseline").arg(record(&base));
    again.arg("--max-regression").arg("1000%").succeed();
}

#[test]
fn wrong_gates_are_refused_before_the_run() {
    for (args, words) in [
        (&["--assert", "p99<5"][..], "give a time with its unit"),
        (&["--assert", "speed>5"], "there is no figure 'speed'"),
        (&["--fail-on", "slow"], "invalid, cached, not-standard"),
        (&["--max-regression", "5%"], "--baseline"),
        (&["--baseline", "missing.run.jsonl"], "missing.run.jsonl"),
        (&["--junit", "no/such/ci.xml"], "there is no such directory"),
    ] {
        let sweep = args.iter().fold(null_run(), |sweep, arg| sweep.arg(*arg));
        let ended = sweep.fail(2);
        assert!(ended.stderr.contains(words), "{args:?}: {}", ended.stderr);
        assert!(!sweep.result("").exists(), "{args:?}: no file was written");
    }
}
