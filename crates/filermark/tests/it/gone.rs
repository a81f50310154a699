//! A server that stops, fills up or refuses requests during a run.

use crate::load_guard::beside_others;
use crate::second_client::{assert_empty, serve};
use crate::sweep::{Ended, Sweep};
use filermark_model::Rule;
use filermark_results::Outcome;
use filermark_server::ServerOptions;

/// Asserts that the run failed at its last point, with this in the reason, in all outputs.
#[track_caller]
fn assert_failed(ended: &Ended, parts: &[&str]) {
    assert_eq!(ended.code, 1, "{}", ended.stderr);
    ended.assert_sanitized();
    ended.assert_sentence(parts);
    let record = ended.record();
    let Some(Outcome::Failed { reason }) = record.end.as_ref().map(|e| e.outcome.clone()) else {
        panic!("not failed: {:?}", record.end);
    };
    assert_eq!([reason.as_str()], ended.sentences()[..]);
    if let Some(last) = record.points.last() {
        assert_eq!(last.failure(), Some(reason.as_str()));
        for front in ["sfslog", "sfsres", "sfsc0001"] {
            assert!(
                ended.file(front).contains(&reason),
                "{front} lacks the reason"
            );
        }
        // In the page, quotes and other characters are escaped.
        let start = reason
            .split(['\'', '"', '<', '>', '&'])
            .next()
            .expect("a part");
        assert!(
            ended.file("html").contains(start),
            "the page lacks the reason"
        );
    }
}

#[test]
fn a_server_that_stops_in_run_ends_the_sweep_and_keeps_earlier_points() {
    let _turn = beside_others();
    let server = serve(ServerOptions::default());
    let sweep = Sweep::on(&server)
        .set("LOAD", "40 80 120")
        .set("RUNTIME", 3)
        .set("RPC_TIMEOUT_MS", 300)
        .set("RPC_RETRIES", 1)
        .set("CONNECT_TIMEOUT_MS", 1000);
    let mut started = sweep.start();
    started.wait_until("RUN of point 2", |s| {
        s.stderr().contains("[2/3] 80 op/s RUN")
    });
    // The first point is in the files already.
    for name in ["sfssum", "sfslog", "sfsres", "sfsc0001"] {
        let path = sweep.result(&format!("{name}.s"));
        assert!(path.metadata().is_ok_and(|m| m.len() > 0), "{name}");
    }
    server.stop();
    let ended = started.wait();
    assert_failed(
        &ended,
        &[
            "127.0.0.1:/export",
            "RUN",
            "does not answer any more",
            "reachable",
        ],
    );
    let record = ended.record();
    assert_eq!(record.points.len(), 2);
    let first = record.points[0]
        .measured()
        .expect("the first point is kept");
    assert!(first.success_count() > 0);
    assert!(
        ended
            .file("sfssum")
            .lines()
            .next()
            .is_some_and(|l| l.contains(" 40 "))
    );
    // Files that could not be removed are reported.
    let end = record.end.expect("an end");
    let left = end
        .findings
        .iter()
        .find(|f| f.rule == Rule::LeftBehind)
        .expect("left behind");
    assert!(left.message.contains("filermark.s"), "{}", left.message);
}

#[test]
fn a_server_that_stops_in_init_ends_the_sweep() {
    let _turn = beside_others();
    let delay = "CREATE=20ms".parse().expect("a delay");
    let server = serve(ServerOptions {
        delay,
        queue: true,
        ..ServerOptions::default()
    });
    let sweep = Sweep::on(&server)
        .set("LOAD", 400)
        .set("RPC_TIMEOUT_MS", 300)
        .set("RPC_RETRIES", 1)
        .set("CONNECT_TIMEOUT_MS", 1000);
    let mut started = sweep.start();
    started.wait_until("files", |_| server.stats().nfs[8] > 70);
    server.stop();
    let ended = started.wait();
    assert_failed(&ended, &["127.0.0.1:/export", "INIT", "reachable"]);
}

#[test]
fn a_disk_that_fills_up_ends_the_sweep_and_is_left_clean() {
    let _turn = beside_others();
    let server = serve(ServerOptions {
        capacity_bytes: 8 << 20,
        ..ServerOptions::default()
    });
    let sweep = Sweep::on(&server)
        .set("LOAD", "40 400")
        .set("SPACE_CHECK", "off")
        .set("FILESET_MB_PER_OP", 0.1);
    let ended = sweep.run();
    assert_failed(
        &ended,
        &[
            "127.0.0.1:/export",
            "INIT: CREATE and WRITE p0",
            "NFS3ERR_NOSPC",
            "disk is full",
        ],
    );
    let record = ended.record();
    assert_eq!(record.points.len(), 2);
    assert!(record.points[0].measured().is_some());
    // There was a warning before.
    assert!(
        ended
            .stderr
            .contains("the file set of the largest load point takes"),
        "{}",
        ended.stderr
    );
    assert_empty(&server);
}

#[test]
fn a_file_set_that_does_not_fit_is_refused_before_init() {
    let _turn = beside_others();
    let server = serve(ServerOptions {
        capacity_bytes: 8 << 20,
        ..ServerOptions::default()
    });
    let sweep = Sweep::on(&server)
        .set("LOAD", "40 400")
        .set("SPACE_RESERVE", 5)
        .set("FILESET_MB_PER_OP", 0.1);
    let ended = sweep.run();
    assert_failed(
        &ended,
        &[
            "127.0.0.1:/export",
            "are free",
            "SPACE_RESERVE",
            "FILESET_MB_PER_OP",
            "SPACE_CHECK=off",
        ],
    );
    // Only the marker was written.
    let record = ended.record();
    assert!(record.points.is_empty(), "{:?}", record.points.len());
    assert!(server.stats().nfs[7] < 8, "{:?}", server.stats().nfs);
    assert_empty(&server);

    // It does not fit because of the reserve: 1.9 MiB fit into 8 MiB, but not into 12 % of it.
    let tight = Sweep::on(&server)
        .set("LOAD", 60)
        .set("FILESET_MB_PER_OP", 0.1)
        .set("SPACE_RESERVE", 88);
    assert_failed(&tight.run(), &["must stay free (SPACE_RESERVE)"]);
}

#[test]
fn a_disk_that_is_full_from_the_start_is_refused() {
    let _turn = beside_others();
    let server = serve(ServerOptions {
        // The directory and an empty file fit, but not a block.
        capacity_bytes: 4096,
        ..ServerOptions::default()
    });
    let ended = Sweep::on(&server).run();
    assert_failed(
        &ended,
        &["127.0.0.1:/export", "marker", "NFS3ERR_NOSPC", "full"],
    );
    assert_empty(&server);
}

#[test]
fn a_read_only_export_is_refused_before_anything_else() {
    let _turn = beside_others();
    let server = serve(ServerOptions {
        read_only: true,
        ..ServerOptions::default()
    });
    let ended = Sweep::on(&server).run();
    assert_failed(&ended, &["127.0.0.1:/export", "NFS3ERR_ROFS", "read-write"]);
    assert_empty(&server);
}

#[test]
fn init_has_a_time_limit() {
    let _turn = beside_others();
    let delay = "CREATE=20ms".parse().expect("a delay");
    let server = serve(ServerOptions {
        delay,
        queue: true,
        ..ServerOptions::default()
    });
    let ended = Sweep::on(&server)
        .set("LOAD", 400)
        .set("INIT_TIMEOUT", 1)
        .run();
    assert_failed(&ended, &["INIT", "within 1 s", "INIT_TIMEOUT"]);
    assert_empty(&server);
}
