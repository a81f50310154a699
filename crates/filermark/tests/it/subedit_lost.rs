//! `subedit` with a lost terminal, pipe or process: no input is lost.

use crate::subedit::{at_terminal, enter, examples, wait_for_prompt};
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const ARGS: [&str; 4] = ["-o", "sub.xml", "sfssum.example", "example_rc"];
const AUTOSAVE: &str = ".sub.xml.autosave";

fn kept(dir: &Path) -> String {
    fs::read_to_string(dir.join(AUTOSAVE)).unwrap_or_default()
}

/// The window is closed in the middle of a line; the next session has the value that was entered,
/// and the unfinished line.
#[test]
fn a_closed_window_loses_nothing() {
    let dir = examples();
    let mut terminal = at_terminal(dir.path(), &ARGS);
    wait_for_prompt(&mut terminal);
    for line in ["", "", "", "Acme Servers"] {
        enter(&mut terminal, line);
    }
    assert!(kept(dir.path()).contains("<vendor>Acme Servers</vendor>"));
    terminal.type_keys("Half a na");
    terminal.wait_until("what was typed", |lines| {
        lines.last().is_some_and(|l| l == ": Half a na")
    });
    assert!(!terminal.hang_up().success());
    let text = kept(dir.path());
    assert!(text.contains("typing: Half a na -->"), "{text}");

    let mut terminal = at_terminal(dir.path(), &ARGS);
    terminal.wait_until("the offer", |lines| {
        lines.last().is_some_and(|l| l == "Resume it (y/n)?")
    });
    enter(&mut terminal, "y");
    terminal.wait_until("the line", |lines| {
        lines.last().is_some_and(|l| l == ": Half a na")
    });
    enter(&mut terminal, "me");
    enter(&mut terminal, ".p");
    enter(&mut terminal, ".p");
    let text = terminal.lines().join("\n");
    assert!(text.contains("    Half a name\n"), "{text}");
    assert!(text.ends_with("    Acme Servers\n:"), "{text}");
    enter(&mut terminal, ".s");
    enter(&mut terminal, "y");
    assert_eq!(kept(dir.path()), "", "saved: it is not needed any more");
    let saved = fs::read_to_string(dir.path().join("sub.xml")).expect("it was saved");
    assert!(saved.contains("<productName>Half a name</productName>"));
}

/// An unfinished entry of many lines, and a process that is killed.
#[test]
fn a_killed_process_loses_no_line() {
    let dir = examples();
    let mut child = Command::new(env!("CARGO_BIN_EXE_filermark"))
        .arg("subedit")
        .args(ARGS)
        .current_dir(dir.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .expect("the program starts");
    let stdin = child.stdin.as_mut().expect("a pipe");
    stdin
        .write_all(b"otherReportNotes\n.\nfirst line\nsecond line\n")
        .expect("it reads");
    let began = Instant::now();
    while !kept(dir.path()).contains("first line\nsecond line") {
        assert!(began.elapsed() < Duration::from_secs(60), "nothing is kept");
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().expect("it is killed");
    child.wait().expect("it ends");
    let left: Vec<_> = fs::read_dir(dir.path())
        .expect("the directory")
        .map(|entry| entry.expect("a file").file_name())
        .filter(|name| name.to_string_lossy().ends_with(".tmp"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
    // Batch mode reports it and does not change it.
    let args = ["-b", "-o", "sub.xml", "-i", "example.xml", ARGS[2], ARGS[3]];
    let output = Command::new(env!("CARGO_BIN_EXE_filermark"))
        .arg("subedit")
        .args(args)
        .current_dir(dir.path())
        .output()
        .expect("the program starts");
    assert!(crate::stderr_text(&output).contains("unsaved input of an earlier session"));
    assert!(kept(dir.path()).contains("second line"));
}

/// A script that ends without .q: its input is kept, and the exit code shows that.
#[test]
fn a_script_that_ends_too_early_is_reported() {
    let dir = examples();
    let run = |lines: &str| {
        let mut child = Command::new(env!("CARGO_BIN_EXE_filermark"))
            .arg("subedit")
            .args(ARGS)
            .current_dir(dir.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut stdin = child.stdin.take().expect("a pipe");
        stdin.write_all(lines.as_bytes()).expect("it reads");
        drop(stdin);
        child.wait_with_output().expect("it ends")
    };
    let output = run("otherReportNotes\nSome notes\n");
    assert_eq!(output.status.code(), Some(1));
    assert!(crate::stderr_text(&output).contains("is in .sub.xml.autosave"));
    assert!(kept(dir.path()).contains("Some notes"));
    // There is no dialogue: the file is renamed, and the first line is not the answer.
    let output = run("?c\n.s\ny\n");
    let output_text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output_text.contains("1. *productInfo"), "{output_text}");
    assert!(output_text.contains("Saved sub.xml"), "{output_text}");
    assert!(output.status.success());
    assert!(crate::stderr_text(&output).contains("kept as .sub.xml.autosave.old"));
    assert!(dir.path().join(".sub.xml.autosave.old").exists());
    // In the middle of a question.
    let output = run(".q\n");
    assert_eq!(output.status.code(), Some(1));
    assert!(crate::stderr_text(&output).contains("nothing was saved"));
}
