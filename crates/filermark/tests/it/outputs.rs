//! Output that cannot be written is an error of every subcommand: exit code 1 and a message.

use crate::load_guard::beside_others;
use crate::second_client::serve;
use crate::sweep::Sweep;
use filermark_results::{Line, RunRecord, testing};
use filermark_server::ServerOptions;
use filermark_testbed::{Mounts, available};
use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};

/// Subcommands that print nothing on standard output, or nothing before a signal ends them: that of
/// `agent` is its link to the prime. The others print with the same function.
const NOT_TRIED: [&str; 6] = ["agent", "serve", "clock", "watch", "tag", "help"];

/// Runs the program with its standard output on `/dev/full`, where writes fail; it has to fail
/// with a message about that.
#[track_caller]
fn assert_fails_into_full(mut command: Command) {
    let full = File::options().write(true).open("/dev/full");
    let output = command
        .stdin(Stdio::null())
        .stdout(full.expect("/dev/full"))
        .stderr(Stdio::piped())
        .output()
        .expect("filermark starts");
    let output_text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{command:?}: {output_text}");
    assert!(
        output_text.contains("standard output cannot be written: No space left on device"),
        "{command:?}: {output_text}"
    );
}

fn write_record(mut record: RunRecord, suffix: &str, dir: &Path) {
    record.run.suffix = suffix.to_owned();
    let mut lines = vec![Line::Run(Box::new(record.run))];
    lines.extend(record.points.into_iter().map(|p| Line::Point(Box::new(p))));
    lines.extend(record.end.map(Line::End));
    let text: String = lines
        .iter()
        .map(|line| serde_json::to_string(line).expect("it is JSON") + "\n")
        .collect();
    std::fs::write(dir.join(format!("{suffix}.run.jsonl")), text).expect("it is written");
}

/// Subcommands that need no server.
const ALONE: [&[&str]; 31] = [
    &["--version"],
    &["--help"],
    &["plan", "-r", "sfs_rc"],
    &["plan", "-r", "sfs_rc", "--json"],
    &["preflight", "-r", "sfs_rc"],
    &["keys", "-r", "sfs_rc"],
    &["install", "-r", "sfs_rc"],
    &["stop", "-r", "sfs_rc", "-s", "absent"],
    &["workload", "list"],
    &["params"],
    &["import", "sfs_rc"],
    &["template"],
    &["netmist", "-v"],
    &["netmist", "-E"],
    &["report", "-f", "json", "-o", "-", "mine.run.jsonl"],
    &["report", "-f", "html", "-o", "-", "mine.run.jsonl"],
    &["report", "--json", "-d", ".", "mine.run.jsonl"],
    &["compare", "mine.run.jsonl", "other.run.jsonl"],
    &["compare", "-f", "json", "mine.run.jsonl", "other.run.jsonl"],
    &["list", "."],
    &["show", "mine.run.jsonl"],
    &["trend", "-f", "json", "."],
    &["export", "."],
    &["export", "--long", "-f", "jsonl", "."],
    &["verify", "mine.run.jsonl"],
    &["verify", "--json", "mine.run.jsonl"],
    &["bundle", "-o", "mine.zip", "mine.run.jsonl"],
    &["subedit", "--xsd"],
    #[cfg(feature = "energy")]
    &["energy", "reduce", "merged.jsonl"],
    &["completions", "bash"],
    &["man"],
];

#[test]
fn what_no_server_is_needed_for_fails_into_a_full_device() {
    let dir = tempfile::tempdir().expect("a directory");
    let rc = "MNT_POINTS=127.0.0.1:/nothing\nPROCS=1\nLOAD=10\nNFS_PORT=9\nMOUNT_PORT=9\n";
    std::fs::write(dir.path().join("sfs_rc"), rc).expect("the rc file");
    let merged = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../energy/data/tests/fixtures/merged.jsonl"
    );
    std::fs::copy(merged, dir.path().join("merged.jsonl")).expect("the fixture");
    for suffix in ["mine", "other"] {
        write_record(testing::record(), suffix, dir.path());
    }
    for args in ALONE {
        let mut command = Command::new(env!("CARGO_BIN_EXE_filermark"));
        command.args(args).current_dir(dir.path());
        assert_fails_into_full(command);
    }
}

#[test]
fn what_connects_to_a_server_fails_into_a_full_device() {
    let _turn = beside_others();
    let server = serve(ServerOptions::default());
    let run = || Sweep::on(&server).set("LOAD", 50);
    assert_fails_into_full(run().to_command());
    assert_fails_into_full(run().elsewhere().arg("--json").to_command());
    assert_fails_into_full(run().elsewhere().command("validate").to_command());
}

#[test]
fn slow_the_demo_fails_into_a_full_device() {
    let _turn = beside_others();
    let demo = Sweep::bare().command("demo").arg("--seconds").arg("0.2");
    assert_fails_into_full(demo.to_command());
}

#[test]
fn slow_quick_fails_into_a_full_device() {
    let _turn = beside_others();
    let dir = tempfile::tempdir().expect("a directory");
    let mut command = Command::new(env!("CARGO_BIN_EXE_filermark"));
    command.args(["quick", ".", "4s"]).current_dir(dir.path());
    assert_fails_into_full(command);
}

/// All of the program's subcommands are in one of the lists.
#[test]
fn no_subcommand_is_forgotten() {
    let help = crate::filermark(Path::new("."), &["--help"]);
    let help = String::from_utf8_lossy(&help.stdout).into_owned();
    let (_, commands) = help.split_once("Commands:\n").expect("a list of commands");
    let commands = commands.lines().take_while(|line| line.starts_with("  "));
    let names = commands.filter_map(|line| line.split_whitespace().next());
    // `search` is `run` with another LOAD.
    let with_server = ["run", "search", "validate", "demo", "quick"];
    let mut count = 0;
    for name in names {
        count += 1;
        let alone = ALONE.iter().any(|args| args[0] == name);
        let known = alone || with_server.contains(&name) || NOT_TRIED.contains(&name);
        assert!(known, "{name} is tried by no test here");
    }
    assert!(count > 15, "{help}");
}

#[test]
fn events_that_cannot_be_written_fail_the_run() {
    let _turn = beside_others();
    let server = serve(ServerOptions::default());
    let sweep = Sweep::on(&server).set("LOAD", 50);
    let ended = sweep.arg("--events").arg("/dev/full").fail(1);
    let output_text = "--events /dev/full: cannot be written: No space left on device";
    assert!(ended.stderr.contains(output_text), "{}", ended.stderr);
    assert!(ended.stdout.contains("\npeak ") || ended.stdout.contains("\nno load point"));
}

/// A result directory with 64 KiB: the figures are still on stdout, and there is no incomplete
/// page.
#[test]
fn a_full_result_directory_takes_no_figures_away() {
    let _turn = beside_others();
    let Some(mounts) = available(Mounts::new()) else {
        return;
    };
    let small = mounts.tmpfs_kib(64).expect("a small file system");
    let server = serve(ServerOptions::default());
    let sweep = Sweep::on(&server).seeing(&mounts).set("LOAD", 50);
    let ended = sweep.arg("-d").arg(small.path().to_string_lossy()).fail(1);
    let output_text = "No space left on device";
    assert!(ended.stderr.contains(output_text), "{}", ended.stderr);
    let is_reported = ended.stdout.contains("\npeak ") || ended.stdout.contains("\nno load point");
    assert!(is_reported, "{}\n{}", ended.stdout, ended.stderr);
    for entry in std::fs::read_dir(small.host()).expect("the directory") {
        let path = entry.expect("a file").path();
        if path.extension().is_some_and(|end| end == "html") {
            let page = std::fs::read_to_string(&path).expect("a page");
            assert!(page.trim_end().ends_with("</html>"), "{}", path.display());
        }
    }
}

/// A page that cannot be written is named once while the run goes on, and as its error at the end.
#[test]
fn a_page_that_cannot_be_written_is_named_once_more_at_the_end() {
    let _turn = beside_others();
    let server = serve(ServerOptions::default());
    for (points, expected) in [(1, 1), (3, 2)] {
        let sweep = Sweep::on(&server).set("LOAD", 50).set("INCR_LOAD", 50);
        let sweep = sweep.set("NUM_RUNS", points).suffix("page");
        std::fs::create_dir_all(sweep.result("page.html")).expect("a directory in its place");
        let ended = sweep.fail(1);
        let named = ended.stderr.matches("page.html: cannot be written").count();
        assert_eq!(named, expected, "{}", ended.stderr);
        let early = ended.stderr.matches("tried again after each load point");
        assert_eq!(early.count() + 1, expected, "{}", ended.stderr);
    }
}

/// A reader that has closed the pipe causes no error.
#[test]
fn a_reader_that_has_gone_is_no_error() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_filermark"))
        .arg("completions")
        .arg("bash")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("filermark starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("it ends");
    assert!(
        output.status.success() && output.stderr.is_empty(),
        "{output:?}"
    );
}
