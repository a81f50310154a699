//! Files and commands of the older generations' tools: converted, or answered with the
//! command to type.

use crate::load_guard::beside_others;
use crate::sweep::Sweep;
use crate::{filermark, stderr_text};
use std::path::Path;

/// The stderr of a refused command line.
#[track_caller]
fn refused(dir: &Path, args: &[&str]) -> String {
    let output = filermark(dir, args);
    assert_eq!(
        output.status.code(),
        Some(2),
        "{args:?}: {}",
        stderr_text(&output)
    );
    assert!(output.stdout.is_empty(), "{args:?}");
    stderr_text(&output)
}

#[test]
fn commands_of_older_tools_are_answered_with_the_new_command() {
    let sandbox = tempfile::tempdir().expect("a directory");
    let dir = sandbox.path();
    for (args, want) in [
        (
            &["SfsManager", "-r", "rc", "-s", "x", "-v", "2"][..],
            "filermark validate -r rc -s x -v 2",
        ),
        (
            &["specreport", "-f", "html", "-o", "o", "i"],
            "filermark report -f html -o o i",
        ),
        (
            &["run", "-r", "rc", "-s", "x", "-v", "2"],
            "filermark validate -r rc -s x -v 2",
        ),
        (&["netmist_pro", "-b", "1g"], "filermark netmist -b 1g"),
    ] {
        let output_text = refused(dir, args);
        assert!(output_text.contains(want), "{args:?}: {output_text}");
    }
    // Other wrong command lines get no such answer.
    let output_text = refused(dir, &["run", "--frobnicate"]);
    assert!(!output_text.contains("type:"), "{output_text}");
}

#[test]
fn missing_parameters_are_reported_with_what_to_add() {
    let sandbox = tempfile::tempdir().expect("a directory");
    let dir = sandbox.path();
    let mounted = "CLIENT_MOUNTPOINTS=localhost:/d";
    let output_text = refused(dir, &["run", "-o", mounted, "-o", "LOAD=1"]);
    assert!(
        output_text.contains("add BENCHMARK=SWBUILD"),
        "{output_text}"
    );
    assert!(!output_text.contains("PROCS is not set"), "{output_text}");
    std::fs::write(dir.join("sfs_rc"), "LOAD=1\n").expect("written");
    let output_text = refused(dir, &["run", "-o", "MNT_POINTS=a:/b", "-s", "q"]);
    assert!(
        output_text.contains("the current directory has one: -r sfs_rc"),
        "{output_text}"
    );
    let output_text = refused(dir, &["plan", "-r", "sfs_rc", "-o", "LOAD=1000-100"]);
    let want = "write FIRST-LAST for 10 evenly spaced load points";
    assert!(output_text.contains(want), "{output_text}");
}

/// An XML definition becomes a benchmark that runs, an old rc file one that is run.
#[test]
fn a_converted_benchmark_runs_from_a_converted_rc_file() {
    let _turn = beside_others();
    let sandbox = tempfile::tempdir().expect("a directory");
    let dir = sandbox.path();
    let write = |name: &str, text: &str| std::fs::write(dir.join(name), text).expect("written");
    write(
        "benchmarks.xml",
        "<?xml version=\"1.0\"?>\n<benchmarks>\n<benchmark name=\"SMALL\" business_metric=\"JOBS\">\n\
         <workload name=\"EDA_FRONTEND\"><oprate>20</oprate><instances>2</instances>\n\
         <override_parm name=\"FILE_SIZE\">4k</override_parm>\n\
         <override_parm name=\"FILES_PER_DIR\">2</override_parm>\n\
         <override_parm name=\"DIR_COUNT\">1</override_parm></workload>\n\
         <override_parm name=\"CLIENT_MEM\">1g</override_parm>\n</benchmark>\n</benchmarks>\n",
    );
    std::fs::create_dir(dir.join("mount")).expect("a directory");
    let mount = dir.join("mount");
    write(
        "old_rc",
        &format!(
            "RSH=rsh\nUNIX_CLIENT_MOUNTPOINTS= localhost:{m} localhost:{m}\nCLIENT_MOUNTPOINTS=\n\
             LOAD=1\nPDSM_MODE=\nLATENCY_GRAPH=1\n",
            m = mount.display()
        ),
    );
    let output_text = refused(dir, &["workload", "check", "benchmarks.xml"]);
    assert!(output_text.contains("filermark import"), "{output_text}");
    for (file, new, expected) in [
        ("benchmarks.xml", "new.toml", "CLIENT_MEM=1g has no place"),
        ("old_rc", "new_rc", "old_rc:1:1: RSH=rsh is left out"),
    ] {
        let output = filermark(dir, &["import", file, "-o", new]);
        assert!(output.status.success(), "{}", stderr_text(&output));
        assert!(
            stderr_text(&output).contains(expected),
            "{}",
            stderr_text(&output)
        );
        assert!(output.stdout.is_empty());
        // Without -o the same text goes to stdout.
        let printed = filermark(dir, &["import", file]).stdout;
        let written = std::fs::read(dir.join(new)).expect("it is there");
        assert_eq!(printed, written);
    }
    let run = [
        "run",
        "-r",
        "new_rc",
        "-b",
        "new.toml",
        "-o",
        "BENCHMARK=SMALL",
        "-s",
        "x",
        "-o",
        "WARMUP_TIME=1s",
        "-o",
        "RUNTIME=2s",
        "-o",
        "DROP_CACHES=off",
        // The disk of a test machine may be nearly full.
        "-o",
        "SPACE_RESERVE=0",
    ];
    let output = filermark(dir, &run);
    let code = output.status.code();
    // On a busy host the rate may be missed; the test checks that it ran and cleaned up.
    assert!(matches!(code, Some(0 | 4)), "{}", stderr_text(&output));
    let record = std::fs::read_to_string(dir.join("result/x.run.jsonl")).expect("a record");
    assert!(
        record.contains("\"SMALL\"") && record.contains("JOB"),
        "{record}"
    );
    let left = std::fs::read_dir(&mount).expect("listed").count();
    assert_eq!(left, 0, "the file set is removed");
}

#[test]
fn what_is_no_file_of_theirs_is_refused() {
    let sandbox = tempfile::tempdir().expect("a directory");
    let dir = sandbox.path();
    std::fs::write(dir.join("junk"), "hello\n").expect("written");
    std::fs::write(dir.join("bytes"), [0xff, 0xfe, 0]).expect("written");
    std::fs::write(dir.join("rc"), "LOAD=1\n").expect("written");
    assert!(refused(dir, &["import", "junk"]).contains("of no known kind"));
    assert!(refused(dir, &["import", "bytes"]).contains("this is a binary file"));
    assert!(refused(dir, &["import", "gone"]).contains("gone: there is no such file"));
    refused(dir, &["import", "rc", "-o", "rc"]);
    assert_eq!(std::fs::read(dir.join("rc")).expect("kept"), b"LOAD=1\n");
    std::fs::write(dir.join("mix"), "SFS MIXFILE VERSION 2\n").expect("written");
    let output = filermark(dir, &["import", "mix"]);
    assert!(output.status.success() && output.stdout.is_empty());
    assert!(
        stderr_text(&output).contains("MIXFILE=mix"),
        "{}",
        stderr_text(&output)
    );
}

/// Unknown parameter names are refused, or noted if that was requested; the command that cleans up
/// then has the option, too.
#[test]
fn unknown_names_are_notes_if_requested() {
    let rc = "LOAD=100\nPROCS=4\nMNT_POINTS=127.0.0.1:/export\nFROB=1\n";
    let refused = Sweep::bare().rc(rc).command("plan").fail(2);
    refused.assert_sentence(&["sfs_rc:4:1", "FROB", "filermark import"]);
    let sandbox = tempfile::tempdir().expect("a directory");
    std::fs::write(sandbox.path().join("sfs_rc"), rc).expect("written");
    let args = ["plan", "-r", "sfs_rc", "-o", "IGNORE_UNKNOWN=on"];
    let output = filermark(sandbox.path(), &args);
    assert!(output.status.success(), "{}", stderr_text(&output));
    let plan = String::from_utf8_lossy(&output.stdout);
    assert!(
        plan.contains("there is no parameter FROB (sfs_rc:4:1)"),
        "{plan}"
    );
}
