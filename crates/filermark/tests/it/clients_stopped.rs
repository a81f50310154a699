//! Ctrl-C during a run on several hosts, and disks that fill up.

use crate::client_hosts::{Field, assert_adds_up};
use crate::load_guard::beside_others;
use crate::second_client::{Peek, assert_empty};
use crate::sweep::{Ended, Started};
use filermark_model::Rule;
use filermark_results::Outcome;
use filermark_server::ServerOptions;
use filermark_testbed::Hosts;
use rustix::process::Signal;
use std::time::{Duration, Instant};

/// RUN of runs that end by Ctrl-C: longer than a test waits for the end of a program.
const LONG_RUN: u64 = 3_600;

/// The line of the phase.
fn wait_for_run(started: &mut Started) {
    started.wait_until("RUN", |s| {
        let stderr_text = s.stderr();
        stderr_text.contains(" RUN\n")
    });
}

#[track_caller]
fn assert_interrupted(ended: &Ended) {
    assert_eq!(ended.code, 130, "{}", ended.stderr);
    ended.assert_sanitized();
    let end = ended.record().end.expect("an end");
    assert_eq!(end.outcome, Outcome::Interrupted);
}

#[test]
fn ctrl_c_stops_all_hosts_and_leaves_them_clean() {
    let _turn = beside_others();
    let Some(field) = Field::bare(3) else {
        return;
    };
    let list = format!("h[1-3]:{}", Hosts::OWN);
    let sweep = field.composite("SWBUILD", &list).set("RUNTIME", LONG_RUN);
    let mut started = sweep.start();
    wait_for_run(&mut started);
    started.signal(Signal::INT);
    let ended = started.wait();
    assert_interrupted(&ended);
    field.assert_clean();
}

#[test]
fn the_second_ctrl_c_leaves_at_once_and_the_agents_clean_up() {
    let _turn = beside_others();
    let Some(field) = Field::bare(3) else {
        return;
    };
    // CLEANUP takes some seconds here.
    let (server, export) = field.serve(ServerOptions {
        delay: "REMOVE=20ms".parse().expect("a delay"),
        queue: true,
        ..ServerOptions::default()
    });
    let mut started = field
        .sweep_against("prime h1 h2 h3", &export)
        .set("RUNTIME", LONG_RUN)
        .start();
    wait_for_run(&mut started);
    started.signal(Signal::INT);
    started.wait_for("CLEANUP");
    started.signal(Signal::INT);
    let ended = started.wait();
    assert_eq!(ended.code, 130, "{}", ended.stderr);
    // It did not wait for the end of CLEANUP.
    let files = || field.hosts.sandbox().run(|| Peek::into(&server).tree(""));
    assert!(!files().is_empty());
    let since = Instant::now();
    field.assert_clean();
    println!("clean {:?} after the prime had gone", since.elapsed());
    field.hosts.sandbox().run(|| assert_empty(&server));
}

#[test]
fn ctrl_c_is_received_while_a_host_does_not_answer() {
    let _turn = beside_others();
    let Some(field) = Field::with_ganesha(2) else {
        return;
    };
    field.hosts.freeze("h2").expect("freeze");
    for install in ["off", "on"] {
        // Without Ctrl-C it would wait longer than a test may take.
        let sweep = field.sweep("h1 h2").set("INSTALL", install);
        let started = sweep.set("START_TIMEOUT", 3_600).start();
        std::thread::sleep(Duration::from_secs(1));
        started.signal(Signal::INT);
        let ended = started.wait();
        assert_eq!(ended.code, 130, "{}", ended.stderr);
    }
    field.hosts.thaw("h2").expect("thaw");
    field.assert_clean();
}

#[test]
fn a_disk_that_is_full_in_init_ends_the_point_and_names_the_host() {
    let _turn = beside_others();
    let Some(mut field) = Field::bare(2) else {
        return;
    };
    let place = format!("{}/small", Hosts::OWN);
    field.small_disk("h1", &place, 512 << 10);
    field.small_disk("h2", &place, 1024);
    let sweep = field
        .composite("SWBUILD", &format!("h[1-2]:{place}"))
        .set("FILES_PER_DIR", 20)
        .set("SPACE_CHECK", "off");
    let ended = sweep.fail(1);
    ended.assert_sentence(&["client h2", &place, "no space left"]);
    let point = ended.point(1);
    assert_eq!(point.findings[0].rule, Rule::Failed);
    field.assert_clean();
}

#[test]
fn a_disk_that_fills_up_in_run_is_counted_where_it_is() {
    let _turn = beside_others();
    let Some(mut field) = Field::bare(2) else {
        return;
    };
    let place = format!("{}/small", Hosts::OWN);
    field.small_disk("h1", &place, 512 << 10);
    field.small_disk("h2", &place, 32 << 10);
    let sweep = field.composite("SWBUILD", &format!("h[1-2]:{place}"));
    let mut started = sweep.set("RUNTIME", 4).start();
    wait_for_run(&mut started);
    // No space for another file; for some time freed space is used at once.
    let fill = format!(
        "mount -o remount,nr_inodes=700 {place}; mkdir {place}/filler; \
         timeout 3 sh -c 'while i=$((i+1)); do true >{place}/filler/$i; done' 2>/dev/null"
    );
    field.hosts.run_on("h2", &fill).expect("h2");
    let ended = started.wait();
    field
        .hosts
        .run_on("h2", &format!("rm -r {place}/filler"))
        .expect("h2");
    assert!(ended.is_complete(), "{}", ended.stderr);
    ended.assert_sanitized();
    let point = ended.point(1);
    assert_adds_up(&point, &["h1", "h2"]);
    let errors = |client: usize| point.clients[client].error_count();
    assert_eq!(errors(0), 0);
    assert!(errors(1) > 0);
    let actual: Vec<_> = point.clients[1].errors.keys().collect();
    assert!(
        actual.iter().all(|what| what.contains("ENOSPC")),
        "{actual:?}"
    );
    field.assert_clean();
}
