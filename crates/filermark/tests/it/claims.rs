//! Ownership of files: what a run removes, and what it never changes.

use crate::load_guard::beside_others;
use crate::second_client::{Peek, assert_empty, serve};
use crate::sweep::Sweep;
use filermark_model::Rule;
use filermark_server::{RunningServer, Server, ServerOptions};

#[test]
fn a_file_set_that_is_kept_is_swept_up_by_the_next_run() {
    let _turn = beside_others();
    let server = serve(ServerOptions::default());
    let sweep = Sweep::on(&server);
    let kept = sweep.clone().set("KEEP", "on").succeed();
    let left = Peek::into(&server).tree("");
    assert!(
        left.len() > 50 && left.iter().all(|p| p.starts_with("filermark.s/")),
        "{left:?}"
    );
    let end = kept.record().end.expect("an end");
    let warnings = end
        .findings
        .iter()
        .find(|f| f.rule == Rule::LeftBehind)
        .expect("it says so");
    assert!(
        warnings.message.contains("KEEP=on")
            && warnings.message.contains("127.0.0.1:/export/filermark.s;"),
        "{}",
        warnings.message
    );
    let command = warnings.message.split('`').nth(1).expect("a command");
    assert!(
        command.starts_with("filermark stop -o ") && command.ends_with(" -s s --force"),
        "{command}"
    );
    assert!(kept.file("html").contains("KEEP=on"));

    // Another run has its own directory and does not change this one.
    sweep.elsewhere().suffix("other").succeed();
    assert_eq!(Peek::into(&server).tree(""), left);

    let next = sweep.elsewhere().succeed();
    // Except the directory itself, and marker and owner files.
    let owners = left.iter().filter(|p| p.ends_with("/.filermark-owner"));
    let count = left.len() - 1 - owners.count();
    let words = format!("removed {count} leftovers of an earlier run");
    assert!(next.stderr.contains(&words), "{words}: {}", next.stderr);
    assert_empty(&server);
}

#[test]
fn a_directory_without_our_marker_is_refused_and_left_as_it_is() {
    let _turn = beside_others();
    let server = serve(ServerOptions::default());
    let mut peek = Peek::into(&server);
    peek.make_dir("filermark.s");
    peek.make_file("filermark.s/thesis.txt", b"ten years of work");
    let ended = Sweep::on(&server).fail(1);
    ended.assert_sentence(&[
        "127.0.0.1:/export/filermark.s",
        "thesis.txt",
        "another suffix (-s)",
    ]);
    assert_eq!(peek.tree(""), ["filermark.s/", "filermark.s/thesis.txt"]);
    assert_eq!(peek.read("filermark.s/thesis.txt"), b"ten years of work");
    // Names like ours are not sufficient either.
    peek.make_file("filermark.s/.filermark", b"not a marker");
    Sweep::on(&server)
        .fail(1)
        .assert_sentence(&["filermark.s", "leaves it alone"]);
    assert_eq!(peek.read("filermark.s/thesis.txt"), b"ten years of work");
    // An empty one can be used, and is then ours.
    peek.remove("filermark.s/.filermark");
    peek.remove("filermark.s/thesis.txt");
    Sweep::on(&server).succeed();
    assert_empty(&server);
}

/// The command would remove files of another run.
#[test]
fn a_refused_run_keeps_nothing_and_gives_no_command_that_removes() {
    let _turn = beside_others();
    let server = serve(ServerOptions::default());
    let mut peek = Peek::into(&server);
    peek.make_dir("filermark.s");
    peek.make_file("filermark.s/thesis.txt", b"ten years of work");
    let ended = Sweep::on(&server).set("KEEP", "on").fail(1);
    ended.assert_sentence(&["filermark.s", "thesis.txt"]);
    let output_text = format!("{}{}", ended.stdout, ended.stderr);
    assert!(!output_text.contains("filermark stop"), "{output_text}");
    let end = ended.record().end.expect("an end");
    let warnings = end.findings.iter().find(|f| f.rule == Rule::LeftBehind);
    assert!(warnings.is_none(), "{warnings:?}");
}

#[test]
fn a_foreign_file_in_our_directory_survives() {
    let _turn = beside_others();
    let server = serve(ServerOptions::default());
    let mut peek = Peek::into(&server);
    let sweep = Sweep::on(&server).set("WARMUP_TIME", 2);
    let mut started = sweep.start();
    started.wait_until("RUN's first GETATTR", |_| server.stats().nfs[1] > 20);
    peek.make_file("filermark.s/notes.txt", b"dear diary");
    let below = peek
        .tree("filermark.s")
        .into_iter()
        .find(|p| p.ends_with('/'))
        .expect("a directory");
    peek.make_dir(&format!("{below}mine"));
    peek.make_file(&format!("{below}mine/too.txt"), b"and more");
    let ended = started.wait();
    assert!(ended.is_complete(), "{}", ended.stderr);
    let left = peek.tree("");
    let wanted = ["filermark.s/notes.txt", &format!("{below}mine/too.txt")];
    for path in wanted {
        assert!(left.iter().any(|l| l == path), "{path} in {left:?}");
    }
    assert_eq!(peek.read("filermark.s/notes.txt"), b"dear diary");
    // The directory, its marker, the two files and the two directories above one, with the owner
    // file of the directory that is ours.
    assert_eq!(left.len(), 7, "{left:?}");
    let end = ended.record().end.expect("an end");
    let warnings = end.findings.iter().filter(|f| f.rule == Rule::LeftBehind);
    assert!(
        warnings.clone().any(|f| f.message.contains("notes.txt")),
        "{:?}",
        end.findings
    );
    assert!(ended.stderr.contains("notes.txt"), "{}", ended.stderr);
    // By its whole path, and without a command, which could not help.
    let notes = warnings.clone().find(|f| f.message.contains("notes.txt"));
    let notes = &notes.expect("reported").message;
    assert!(
        notes.contains("left behind: 127.0.0.1:/export/filermark.s/notes.txt: not this run's")
            && notes.contains("remove it by hand")
            && !notes.contains("filermark stop -"),
        "{notes}"
    );
    let place = "left behind: 127.0.0.1:/export/filermark.s: ";
    let dir = warnings.clone().find(|f| f.message.starts_with(place));
    let command = &dir.expect("the directory, too").message;
    assert!(command.contains("`filermark stop -o "), "{command}");

    // The directory is still ours: the next run uses it and again leaves these files.
    sweep.elsewhere().set("WARMUP_TIME", 0).succeed();
    assert_eq!(peek.tree(""), left);
    assert_eq!(peek.read(&format!("{below}mine/too.txt")), b"and more");
}

/// The run reads its marker every 10 s.
#[test]
fn a_run_whose_directory_another_one_has_taken_ends_and_reports_it() {
    let _turn = beside_others();
    let server = serve(ServerOptions::default());
    let mut peek = Peek::into(&server);
    let mut started = Sweep::on(&server).set("WARMUP_TIME", 300).start();
    started.wait_until("GETATTR", |_| server.stats().nfs[1] > 20);
    let marker = "filermark.s/.filermark-owner";
    let ours = String::from_utf8(peek.read(marker)).expect("text");
    let mut lines: Vec<String> = ours.lines().map(str::to_owned).collect();
    lines[0] = "other".to_owned();
    for line in &mut lines {
        if line.starts_with("host: ") {
            *line = "host: other".to_owned();
        }
        if line.starts_with("nonce: ") {
            *line = format!("nonce: {}", "0".repeat(16));
        }
    }
    let theirs = format!("{}\n", lines.join("\n"));
    peek.remove(marker);
    peek.make_file(marker, theirs.as_bytes());
    let ended = started.wait();
    let before = peek.tree("");
    assert!(!ended.is_complete(), "{}", ended.stderr);
    let record = ended.record();
    let place = "127.0.0.1:/export/filermark.s";
    let point = record.points.last().expect("a point");
    let warnings = point.findings.iter().find(|f| f.rule == Rule::Failed);
    let found = &warnings.expect("a finding").message;
    for part in [
        place,
        "taken the run's directory over",
        "run other",
        "host other",
    ] {
        assert!(found.contains(part), "{part} in {found}");
    }
    let end = record.end.expect("an end");
    assert_eq!(
        end.verdict.map(|v| v.to_string()).as_deref(),
        Some("INVALID")
    );
    let left = end.findings.iter().find(|f| f.rule == Rule::LeftBehind);
    let left = &left.expect("it stays").message;
    // It is now that of the other run: `stop` would not remove it.
    assert!(
        left.contains(place) && left.contains("run other") && !left.contains("filermark stop -"),
        "{left}"
    );
    // Files of its procs may have the same names as those of the other run: none is removed.
    assert!(
        before.iter().filter(|path| path.contains("/p0")).count() > 50,
        "{before:?}"
    );
    assert_eq!(peek.read(marker), theirs.as_bytes());
}

/// A second address of this machine's loopback, for a second server on the same
/// port: explicit ports hold for all servers.
fn second_server(first: &RunningServer, read_only: bool) -> Option<RunningServer> {
    let address = ([127, 0, 0, 2], first.addrs()[0].port()).into();
    let server = Server::start(ServerOptions {
        listen: vec![address],
        read_only,
        ..ServerOptions::default()
    });
    server.map_err(|e| eprintln!("SKIPPED: {e}")).ok()
}

#[test]
fn two_servers_share_the_load_and_are_both_left_clean() {
    let _turn = beside_others();
    let server = serve(ServerOptions::default());
    let Some(second) = second_server(&server, false) else {
        return;
    };
    let mounts = "127.0.0.1:/export 127.0.0.2:/export 127.0.0.1:/export 127.0.0.2:/export";
    let ended = Sweep::on(&server).set("MNT_POINTS", mounts).succeed();
    let stats = ended.point(1).stats.expect("figures");
    assert_eq!(stats.error_count(), 0, "{:?}", stats.errors);
    for server in [&server, &second] {
        assert!(server.stats().nfs[1] > 5, "{:?}", server.stats());
        assert_empty(server);
    }
}

#[test]
fn what_was_claimed_is_given_back_when_the_second_server_refuses() {
    let _turn = beside_others();
    let server = serve(ServerOptions::default());
    let Some(second) = second_server(&server, true) else {
        return;
    };
    let mounts = "127.0.0.1:/export 127.0.0.1:/export 127.0.0.2:/export 127.0.0.2:/export";
    let ended = Sweep::on(&server).set("MNT_POINTS", mounts).fail(1);
    ended.assert_sentence(&["127.0.0.2:/export", "NFS3ERR_ROFS"]);
    assert!(server.stats().nfs[9] > 0, "the first was claimed");
    assert_empty(&server);
    assert_empty(&second);
}
