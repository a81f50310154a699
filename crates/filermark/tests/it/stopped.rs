//! Ctrl-C, and what is left then: the results so far, and nothing on the server.

use crate::peek::{Peek, assert_empty, serve};
use crate::sweep::{Started, Sweep};
use crate::turns::beside_others;
use filermark_results::Outcome;
use filermark_server::{RunningServer, ServerOptions};
use rustix::process::Signal;
use std::time::Duration;

/// Waits till the named load point is in its RUN phase.
fn wait_for_run(started: &mut Started, point: &str) {
    started.wait_for(&format!("[{point}] "));
    let words = format!("[{point}]");
    started.wait_until("RUN", |s| {
        s.stderr()
            .lines()
            .any(|l| l.starts_with(&words) && l.ends_with("RUN"))
    });
}

fn assert_interrupted(ended: &crate::sweep::Ended) {
    assert_eq!(ended.code, 130, "{}", ended.stderr);
    ended.assert_tame();
    let record = ended.record();
    let end = record.end.expect("an end");
    assert_eq!(end.outcome, Outcome::Interrupted);
    assert!(ended.stderr.contains("stopping"), "{}", ended.stderr);
    for front in ["sfslog", "sfsres", "html"] {
        assert!(ended.file(front).contains("interrupted"), "{front}");
    }
}

fn interrupt_in_run(signal: Signal, server: &RunningServer) {
    let sweep = Sweep::on(server).set("LOAD", "40 80 120").set("RUNTIME", 2);
    let mut started = sweep.start();
    wait_for_run(&mut started, "2/3");
    started.signal(signal);
    let ended = started.wait();
    assert!(
        ended.elapsed < Duration::from_secs(5),
        "{:?}",
        ended.elapsed
    );
    assert_interrupted(&ended);
    let record = ended.record();
    assert_eq!(record.points.len(), 2, "the third was never begun");
    let first = record.points[0]
        .measured()
        .expect("the first point is kept");
    assert!(first.success_count() > 50);
    assert!(
        record.points[1]
            .failure()
            .is_some_and(|why| why.contains("stopped"))
    );
    let sfssum = ended.file("sfssum");
    assert!(
        sfssum
            .lines()
            .next()
            .is_some_and(|l| l.trim_start().starts_with("40 ")),
        "{sfssum}"
    );
    assert_empty(server);
}

#[test]
fn ctrl_c_in_run_keeps_the_results_and_leaves_the_server_clean() {
    let _turn = beside_others();
    let server = serve(ServerOptions::default());
    interrupt_in_run(Signal::INT, &server);
}

#[test]
fn sigterm_ends_a_run_the_same_way() {
    let _turn = beside_others();
    let server = serve(ServerOptions::default());
    interrupt_in_run(Signal::TERM, &server);
}

#[test]
fn ctrl_c_in_init_removes_what_was_made() {
    let _turn = beside_others();
    // Each CREATE takes a while, so that INIT does.
    let delay = "CREATE=30ms".parse().expect("a delay");
    let server = serve(ServerOptions {
        delay,
        queue: true,
        ..ServerOptions::default()
    });
    let sweep = Sweep::on(&server).set("LOAD", 400);
    let mut started = sweep.start();
    started.wait_until("files", |_| server.stats().nfs[8] > 70);
    assert!(Peek::into(&server).tree("").len() > 10);
    started.signal(Signal::INT);
    let ended = started.wait();
    assert_interrupted(&ended);
    let record = ended.record();
    assert!(record.points.iter().all(|p| p.measured().is_none()));
    assert_empty(&server);
}

#[test]
fn ctrl_c_with_keep_leaves_the_file_set() {
    let _turn = beside_others();
    let server = serve(ServerOptions::default());
    let sweep = Sweep::on(&server).set("RUNTIME", 20).set("KEEP", "on");
    let mut started = sweep.start();
    wait_for_run(&mut started, "1/1");
    started.signal(Signal::INT);
    assert_interrupted(&started.wait());
    assert!(Peek::into(&server).tree("").len() > 50);
    sweep
        .elsewhere()
        .set("KEEP", "off")
        .set("RUNTIME", 1)
        .succeed();
    assert_empty(&server);
}

#[test]
fn the_second_ctrl_c_leaves_at_once() {
    let _turn = beside_others();
    // CLEANUP takes long here.
    let delay = "REMOVE=500ms".parse().expect("a delay");
    let server = serve(ServerOptions {
        delay,
        queue: true,
        ..ServerOptions::default()
    });
    let mut started = Sweep::on(&server).set("RUNTIME", 20).start();
    wait_for_run(&mut started, "1/1");
    started.signal(Signal::INT);
    started.wait_for("CLEANUP");
    started.signal(Signal::INT);
    let ended = started.wait();
    assert_eq!(ended.code, 130, "{}", ended.stderr);
    assert!(
        ended.elapsed < Duration::from_secs(2),
        "{:?}",
        ended.elapsed
    );
}

#[test]
fn serve_says_where_it_is_and_what_it_was_asked() {
    let _turn = beside_others();
    let serve = Sweep::bare()
        .command("serve")
        .arg("--listen")
        .arg("127.0.0.1:0")
        .arg("--json");
    let mut server = serve.start();
    server.wait_for("mount -t nfs");
    let said = server.stderr();
    let port = said
        .split("port=")
        .nth(1)
        .and_then(|rest| rest.split(',').next());
    let port: u16 = port
        .and_then(|p| p.parse().ok())
        .unwrap_or_else(|| panic!("no port in {said}"));
    let address = ([127, 0, 0, 1], port).into();
    let ended = Sweep::at(address).set("RUNTIME", 1).succeed();
    let left = Peek::at(address, address, "/export").tree("");
    assert!(left.is_empty(), "{left:?}");
    server.signal(Signal::INT);
    let server = server.wait();
    assert_eq!(server.code, 0, "{}", server.stderr);
    let counts = server.json();
    // ACCESS is asked for in RUN only; the last ones may have ended behind it.
    assert_eq!(counts["ACCESS"], ended.counter("ACCESS"), "{counts}");
    let count = |name: &str| counts[name].as_u64().unwrap_or(0);
    assert_eq!(
        count("CREATE") + count("SYMLINK"),
        count("REMOVE"),
        "{counts}"
    );
    assert_eq!(count("MKDIR"), count("RMDIR"), "{counts}");
}
