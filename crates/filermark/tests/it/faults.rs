//! A server with a known number of faults, and how the program handles them.

use crate::load_guard::beside_others;
use crate::second_client::{Peek, assert_empty, serve};
use crate::sweep::Sweep;
use filermark_model::{Op, Rule, Severity};
use filermark_results::PointRecord;
use filermark_server::ServerOptions;

fn finding(point: &PointRecord, rule: Rule) -> (Severity, String) {
    let found = point.findings.iter().find(|f| f.rule == rule);
    let found = found.unwrap_or_else(|| panic!("no {rule} in {:?}", point.findings));
    (found.severity, found.message.clone())
}

fn without_errors(point: &PointRecord) {
    let stats = point.measured().expect("measured");
    assert_eq!(stats.error_count(), 0, "{:?}", stats.errors);
    assert!(stats.success_count() > 0);
}

#[test]
fn injected_errors_are_counted_and_the_point_does_not_count() {
    let _turn = beside_others();
    // Only operations of the mix call ACCESS.
    let errors = "ACCESS=NFS3ERR_SERVERFAULT@50%".parse().expect("a fault");
    let server = serve(ServerOptions {
        errors,
        ..ServerOptions::default()
    });
    let ended = Sweep::on(&server).set("LOAD", 400).arg("--json").succeed();
    let injected = server.stats().errors_injected;
    let point = ended.point(1);
    let stats = point.stats.as_ref().expect("figures");
    let counted = stats.op(Op::Access).expect("in the mix").error_count;
    // A failed operation at either edge of the window is not in it.
    assert!(
        counted > 0 && injected - counted <= 4,
        "{counted} of {injected}"
    );
    assert_eq!(stats.error_count(), counted, "{:?}", stats.errors);
    let (kind, count) = stats.errors.iter().next().expect("kinds of errors");
    assert!(
        kind.contains("access") && kind.contains("NFS3ERR_SERVERFAULT"),
        "{kind}"
    );
    assert_eq!(*count, counted);
    let (severity, message) = finding(&point, Rule::Errors);
    assert_eq!(severity, Severity::Invalid);
    assert!(message.contains("NFS3ERR_SERVERFAULT"), "{message}");
    assert!(!point.is_valid());
    for file in ["sfslog", "sfsres", "html"] {
        assert!(ended.file(file).contains("NFS3ERR_SERVERFAULT"), "{file}");
    }
    let json = ended.json();
    assert_eq!(json["points"][0]["valid"], false);
    // No load point counts: the exit code and every output state that.
    assert_eq!((ended.code, &json["verdict"]), (4, &"INVALID".into()));
    assert_eq!(json["points"][0]["error_count"], counted);
    assert_empty(&server);
}

#[test]
fn unstable_writes_are_committed_and_the_commits_counted_apart() {
    let _turn = beside_others();
    let server = serve(ServerOptions {
        unstable: "on".parse().expect("a fault"),
        ..ServerOptions::default()
    });
    let ended = Sweep::on(&server).set("LOAD", 400).succeed();
    let point = ended.point(1);
    without_errors(&point);
    let stats = point.stats.as_ref().expect("figures");
    let writes = stats.op(Op::Write).expect("in the mix");
    assert!(
        stats.op(Op::Commit).is_none_or(|c| c.success_count == 0),
        "COMMIT is not in the mix"
    );
    let (commits, calls) = (ended.counter("COMMIT"), ended.counter("WRITE"));
    // Each proc has some left when RUN ends.
    assert!(commits > 0 && commits <= calls, "{commits} of {calls}");
    assert_eq!(ended.counter("write_commits"), commits);
    assert!(ended.counter("end_commits") > 0);
    let credited = writes.physical_count;
    assert!(
        credited >= writes.success_count && credited <= calls,
        "{credited} of {calls}"
    );
    // A server that writes stable data gets none.
    let server = serve(ServerOptions::default());
    let ended = Sweep::on(&server).set("LOAD", 400).succeed();
    assert_eq!(ended.counter("COMMIT"), 0);
    assert!(ended.counter("WRITE") > 0);
}

#[test]
fn a_changed_write_verifier_makes_the_writes_go_again() {
    let _turn = beside_others();
    let unstable = "verf@40".parse().expect("a fault");
    let server = serve(ServerOptions {
        unstable,
        ..ServerOptions::default()
    });
    let sweep = Sweep::on(&server)
        .set("LOAD", 800)
        .set("RUNTIME", 2)
        .set("VERIFY", "on")
        // With more WRITEs under way than between two verifiers, the writes would never succeed.
        .set("SHARDS", 1)
        .set("INIT_WINDOW", 1);
    let ended = sweep.succeed();
    let point = ended.point(1);
    without_errors(&point);
    assert!(server.stats().verifier_changes > 2);
    assert!(ended.counter("verifier_changes") > 0);
    assert!(ended.counter("rewrites") > 0);
    assert!(ended.counter("lost_writes") > 0);
    assert_eq!(ended.counter("uncommitted_writes"), 0);
    assert_eq!(ended.counter("verify_errors"), 0);
    let (severity, message) = finding(&point, Rule::ServerEvent);
    assert!(
        severity >= Severity::Note && message.contains("verifier"),
        "{message}"
    );
    assert_empty(&server);
}

/// A server that loses data that was not committed: reads return what was written, and in the end
/// no data is missing.
#[test]
fn a_server_that_loses_what_was_not_committed_gets_it_again() {
    let _turn = beside_others();
    let unstable = "lose@40".parse().expect("a fault");
    let server = serve(ServerOptions {
        unstable,
        ..ServerOptions::default()
    });
    let sweep = Sweep::on(&server)
        .set("LOAD", 800)
        .set("RUNTIME", 2)
        .set("VERIFY", "on")
        // As in the previous test.
        .set("SHARDS", 1)
        .set("INIT_WINDOW", 1);
    let ended = sweep.succeed();
    without_errors(&ended.point(1));
    assert!(server.stats().writes_lost > 10, "{:?}", server.stats());
    let lost = ended.counter("lost_writes");
    assert!(lost > 0 && ended.counter("rewrites") >= lost);
    for never in ["uncommitted_writes", "verify_errors", "early_eofs"] {
        assert_eq!(ended.counter(never), 0, "{never}");
    }
    // A single thread makes the load: it sees each change once.
    assert!(ended.counter("verifier_changes") <= server.stats().verifier_changes);
    assert_empty(&server);
}

#[test]
fn lost_replies_are_survived() {
    let _turn = beside_others();
    let server = serve(ServerOptions {
        drop: "reply@1%".parse().expect("a fault"),
        ..ServerOptions::default()
    });
    let sweep = Sweep::on(&server)
        .set("LOAD", 200)
        .set("RUNTIME", 2)
        .set("RPC_TIMEOUT_MS", 150);
    let ended = sweep.succeed();
    let point = ended.point(1);
    without_errors(&point);
    assert!(server.stats().replies_dropped > 0);
    assert!(
        ended.counter("retransmits") > 0,
        "{:?}",
        point.stats.map(|s| s.counters)
    );
    assert!(ended.counter("timeouts") > 0);
    assert_empty(&server);
}

#[test]
fn lost_connections_are_made_again() {
    let _turn = beside_others();
    let server = serve(ServerOptions {
        drop: "conn@60".parse().expect("a fault"),
        ..ServerOptions::default()
    });
    let sweep = Sweep::on(&server)
        .set("LOAD", 400)
        .set("RUNTIME", 2)
        .set("VERIFY", "on");
    let ended = sweep.succeed();
    let point = ended.point(1);
    without_errors(&point);
    assert!(server.stats().connections_dropped > 5);
    assert!(ended.counter("reconnects") > 0);
    assert!(ended.counter("retransmits") > 0);
    assert_eq!(ended.counter("verify_errors"), 0);
    assert_empty(&server);
}

#[test]
fn a_server_that_asks_to_try_later_is_asked_later() {
    let _turn = beside_others();
    let errors = "GETATTR=NFS3ERR_JUKEBOX@10%,WRITE=NFS3ERR_JUKEBOX@10%"
        .parse()
        .expect("faults");
    let server = serve(ServerOptions {
        errors,
        ..ServerOptions::default()
    });
    let ended = Sweep::on(&server)
        .set("LOAD", 200)
        .set("JUKEBOX_DELAY_MS", 2)
        .succeed();
    let point = ended.point(1);
    without_errors(&point);
    assert!(ended.counter("jukebox_waits") > 0);
    let (_, message) = finding(&point, Rule::ServerEvent);
    assert!(message.contains("JUKEBOX"), "{message}");
    assert_empty(&server);
}

#[test]
fn short_transfers_are_continued() {
    let _turn = beside_others();
    let server = serve(ServerOptions {
        short: Some(3000),
        ..ServerOptions::default()
    });
    let ended = Sweep::on(&server)
        .set("LOAD", 200)
        .set("VERIFY", "on")
        .succeed();
    let point = ended.point(1);
    without_errors(&point);
    assert!(ended.counter("short_reads") > 0 && ended.counter("short_writes") > 0);
    assert_eq!(ended.counter("verify_errors"), 0);
    let stats = point.stats.as_ref().expect("figures");
    let read = stats.op(Op::Read).expect("in the mix");
    assert!(read.physical_count > read.success_count);
    assert_empty(&server);
}

/// A foreign process writes into the files of a run that checks what it reads.
#[test]
fn other_data_than_was_written_is_noticed() {
    let _turn = beside_others();
    let server = serve(ServerOptions::default());
    let sweep = Sweep::on(&server)
        .set("LOAD", 400)
        .set("WARMUP_TIME", 3)
        .set("RUNTIME", 2)
        .set("VERIFY", "on");
    let mut started = sweep.start();
    started.wait_until("WARMUP", |_| server.stats().nfs[1] > 20);
    let mut peek = Peek::into(&server);
    let files = peek.tree("");
    let mut spoiled = 0;
    for path in files
        .iter()
        .filter(|f| !f.ends_with('/') && !f.contains("/."))
    {
        // Only files with data, and none may be longer afterwards.
        let Some(size) = peek.size(path).filter(|size| *size >= 1024) else {
            continue;
        };
        // With few files one of them may be large: every read of it has to be affected.
        let mut at = 8;
        let mut exists = true;
        while exists && at + 8 < size {
            let length = (size - at - 8).min(1 << 15);
            // The run itself removes some of its files.
            exists = peek.try_overwrite(path, at, &vec![0xa5; length as usize]);
            at += length;
        }
        spoiled += u32::from(exists);
    }
    let ended = started.wait();
    assert!(ended.is_complete(), "{}", ended.stderr);
    assert!(spoiled > 10, "{files:?}");
    let point = ended.point(1);
    assert!(
        ended.counter("verify_errors") > 0,
        "{spoiled} files were spoiled"
    );
    let (severity, _) = finding(&point, Rule::DataVerify);
    assert_eq!(severity, Severity::Invalid);
    assert!(!point.is_valid());
    assert_empty(&server);
}

/// Claim, renewal and CLEANUP read the marker and the owner files: a single failure of a READ
/// ends none of them.
#[test]
fn a_read_of_the_marker_that_fails_once_is_tried_again() {
    let _turn = beside_others();
    let errors = "READ=NFS3ERR_IO@1/2".parse().expect("a fault");
    let server = serve(ServerOptions {
        errors,
        ..ServerOptions::default()
    });
    // Reads of the mix fail, too: no point counts.
    let ended = Sweep::on(&server).fail(4);
    let end = ended.record().end.expect("an end");
    let left = end.findings.iter().find(|f| f.rule == Rule::LeftBehind);
    assert!(left.is_none(), "{left:?}");
    assert_empty(&server);
    // Leftovers of a kept run are read in the same way. `stop` ends all agents of its suffix on
    // this host: no other test has this one.
    let kept = Sweep::on(&server).suffix(&format!("reads-{}", std::process::id()));
    kept.clone().set("KEEP", "on").fail(4);
    let stopped = kept.command("stop").arg("--force").succeed();
    assert!(stopped.stdout.contains("removed "), "{}", stopped.stdout);
    assert_empty(&server);
}

#[test]
fn a_read_of_the_marker_that_always_fails_is_reported_with_file_procedure_and_status() {
    let _turn = beside_others();
    let errors = "READ=NFS3ERR_IO".parse().expect("a fault");
    let server = serve(ServerOptions {
        errors,
        ..ServerOptions::default()
    });
    Sweep::on(&server).fail(1).assert_sentence(&[
        "127.0.0.1:/export/filermark.s/.filermark-owner: ",
        "the server answered NFS3ERR_IO to READ, 6 times in a row",
        "127.0.0.1:/export/filermark.s, with this run's .filermark-owner, may stay: `filermark stop` removes it",
    ]);
    // The marker is read back, and read again before anything is removed.
    assert_eq!(server.stats().errors_injected, 2 * 6);
}
