//! Client hosts that cannot be used: each is reported by name, with the reason and what to do,
//! before any file is made.

use crate::client_hosts::Field;
use crate::load_guard::beside_others;
use crate::sweep::{Ended, PROGRAM};
use filermark_link::build::MARK;
use filermark_results::Outcome;
use filermark_testbed::{Hosts, write_program};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use tempfile::TempDir;

/// Time limit of a run that cannot begin.
const REFUSED_MAX: Duration = Duration::from_secs(15);

/// Asserts that the run did not reach a load point, that one message has these parts, and that
/// nothing is left on any host.
#[track_caller]
fn assert_refused(field: &Field, ended: &Ended, parts: &[&str]) {
    assert_eq!(ended.code, 1, "{}", ended.stderr);
    ended.assert_sanitized();
    ended.assert_sentence(parts);
    assert!(ended.elapsed < REFUSED_MAX, "{:?}", ended.elapsed);
    // If the check of the program fails, there may be no record.
    if ended.path("s.run.jsonl").exists() {
        let record = ended.record();
        assert!(record.points.is_empty());
        let Some(Outcome::Failed { reason }) = record.end.map(|end| end.outcome) else {
            panic!("it is recorded as failed");
        };
        assert_eq!([reason.as_str()], ended.sentences()[..]);
    }
    field.assert_clean();
}

/// A program of the test that all hosts see.
fn visible(name: &str, bytes: &[u8]) -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"));
    let dir = dir.expect("a directory that hosts see");
    let path = dir.path().join(name);
    write_program(&path, bytes).expect("write a program");
    (dir, path)
}

/// The build of a program file, as it states it itself.
fn build_of(program: &Path) -> String {
    let output_text = Command::new(program).arg("--version").output();
    let output_text = String::from_utf8(output_text.expect("it runs").stdout).expect("text");
    let line = output_text.lines().find_map(|l| l.strip_prefix("build "));
    line.expect("a line with the build").to_owned()
}

/// The program, as it would be if it were made from other sources.
fn of_other_sources() -> Vec<u8> {
    let mut bytes = std::fs::read(PROGRAM).expect("the program");
    let ours = build_of(Path::new(PROGRAM));
    let first = if ours.starts_with('0') { b'1' } else { b'0' };
    let mut from = 0;
    let len = ours.len();
    while let Some(next) = bytes[from..]
        .windows(len)
        .position(|w| w == ours.as_bytes())
    {
        bytes[from + next] = first;
        from += next + len;
    }
    assert!(from > 0, "the program states its build");
    bytes
}

/// A script in the place of the program on all hosts, which is recognized as the program: others
/// are not started.
fn script(text: &str) -> (TempDir, PathBuf) {
    visible(
        "filermark",
        format!("#!/bin/sh\n# {MARK}\n{text}\n").as_bytes(),
    )
}

#[test]
fn another_build_is_reported_with_both_names_and_the_command_that_fixes_it() {
    let _turn = beside_others();
    let Some(field) = Field::with_ganesha(2) else {
        return;
    };
    let (_dir, other) = visible("filermark", &of_other_sources());
    let (ours, theirs) = (build_of(Path::new(PROGRAM)), build_of(&other));
    assert_ne!(ours, theirs);
    let sweep = field.sweep("h1 h2").set("EXEC_PATH", other.display());
    let ended = sweep.run();
    let parts = [
        "client h1",
        "client h2",
        &ours,
        &theirs,
        "`filermark install`",
    ];
    assert_refused(&field, &ended, &parts);
}

#[test]
fn no_data_is_sent_to_a_host_with_another_key() {
    let _turn = beside_others();
    let Some(field) = Field::with_ganesha(2) else {
        return;
    };
    field.hosts.wrong_host_key("h2").expect("another key");
    for install in ["off", "on"] {
        let ended = field.sweep("h1 h2").set("INSTALL", install).run();
        let parts = ["h2", "host key", "differs from the known one", "ssh-keygen"];
        assert_refused(&field, &ended, &parts);
    }
}

#[test]
fn a_password_is_never_asked_for() {
    let _turn = beside_others();
    let Some(field) = Field::with_ganesha(2) else {
        return;
    };
    field.hosts.ask_password("h2").expect("no key any more");
    let (dir, asked) = script("echo asked >>\"$0.asked\"; echo 'only for tests'");
    for install in ["off", "on"] {
        let sweep = field
            .sweep("h1 h2")
            .set("INSTALL", install)
            .env("SSH_ASKPASS", &asked)
            .env("SSH_ASKPASS_REQUIRE", "force")
            .env("DISPLAY", ":0");
        let parts = ["h2", "without a password", "`filermark keys -r RC`"];
        assert_refused(&field, &sweep.run(), &parts);
    }
    let files = std::fs::read_dir(dir.path()).expect("the directory");
    assert_eq!(files.count(), 1, "it was asked for a password");
}

#[test]
fn an_unknown_name_is_reported() {
    let _turn = beside_others();
    let Some(field) = Field::with_ganesha(1) else {
        return;
    };
    for install in ["off", "on"] {
        let sweep = field.sweep("h1 nowhere").set("INSTALL", install);
        let parts = ["nowhere cannot be resolved", "CLIENTS"];
        assert_refused(&field, &sweep.run(), &parts);
    }
}

#[test]
fn what_is_no_agent_is_not_listened_to_for_long() {
    let _turn = beside_others();
    let Some(field) = Field::with_ganesha(2) else {
        return;
    };
    let magic = "printf '\\nfilermark-agent/3\\n'";
    let cases = [
        // It begins like a message.
        (
            format!("{magic}; head -c 9999 /dev/urandom; exec cat >/dev/null"),
            "invalid message",
        ),
        // A complete frame of another kind.
        (
            format!("{magic}; printf '\\0\\0\\0\\004true'; exec cat >/dev/null"),
            "invalid message",
        ),
        // Endless output.
        ("exec yes hello".to_owned(), "no agent answered"),
        // A short text and the end.
        ("echo under maintenance".to_owned(), "under maintenance"),
        (
            "echo under maintenance >&2; exit 3".to_owned(),
            "under maintenance",
        ),
        // Silence.
        ("exec cat >/dev/null".to_owned(), "did not start within 3 s"),
    ];
    for (text, part) in cases {
        let (_dir, path) = script(&text);
        let sweep = field.sweep("h1 h2").set("START_TIMEOUT", 3);
        let ended = sweep.set("EXEC_PATH", path.display()).run();
        assert_refused(&field, &ended, &["client h1", "client h2", part]);
    }
}

#[test]
fn too_little_space_for_the_program_is_reported_and_no_part_of_it_stays() {
    let _turn = beside_others();
    let Some(mut field) = Field::with_ganesha(2) else {
        return;
    };
    let place = "/root/.cache/filermark";
    field.small_disk("h2", place, 512);
    let sweep = field.sweep("h1 h2").unset("EXEC_PATH").set("INSTALL", "on");
    let ended = sweep.run();
    assert_refused(&field, &ended, &["h2", "No space left", "EXEC_PATH"]);
    let left = field.below("h2", place);
    assert!(
        left.iter().all(|path| !path.ends_with("filermark")),
        "{left:?}"
    );
}

#[test]
fn a_file_system_that_is_too_small_is_reported_before_anything_is_made() {
    let _turn = beside_others();
    let Some(mut field) = Field::bare(2) else {
        return;
    };
    let place = format!("{}/small", Hosts::OWN);
    field.small_disk("h1", &place, 512 << 10);
    field.small_disk("h2", &place, 256);
    let sweep = field.composite("SWBUILD", &format!("h1:{place} h2:{place}"));
    let ended = sweep.set("FILES_PER_DIR", 100).run();
    assert_eq!(ended.code, 1, "{}", ended.stderr);
    ended.assert_sentence(&["h2", &place, "LOAD"]);
    for host in ["h1", "h2"] {
        assert_eq!(field.below(host, &place), [""; 0]);
    }
}
