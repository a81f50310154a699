//! A server that does not reply for seconds in RUN: the report states when and how long.

use crate::load_guard::beside_others;
use crate::sweep::Sweep;
use filermark_model::{Rule, Severity};
use filermark_server::{Server, ServerOptions, StopSpec};
use rustix::process::Signal;

/// Of a stop of 3.5 s every 6 s at least 2 s lie in a RUN of 8 s, whenever it begins.
const RUNTIME: u64 = 8;
const SEEN_MIN_NS: u64 = 1_900_000_000;

#[test]
fn a_time_without_replies_is_reported_with_client_begin_and_length() {
    let _turn = beside_others();
    let options = ServerOptions {
        stop: Some(StopSpec {
            length_ns: 3_500_000_000,
            every_ns: 6_000_000_000,
        }),
        ..ServerOptions::default()
    };
    let server = Server::start(options).expect("a server");
    let ended = Sweep::on(&server).set("RUNTIME", RUNTIME).run();
    ended.assert_sanitized();
    let point = ended.point(1);
    let is_it = |f: &&filermark_model::Finding| f.rule == Rule::NoReply;
    let finding = point.findings.iter().find(is_it).expect("no-reply");
    // It is reported, and does not decide whether the point counts.
    assert_eq!(finding.severity, Severity::Warning);
    let silence = point.clients[0].silence.expect("a silence");
    assert!(silence.length_ns >= SEEN_MIN_NS, "{silence:?}");
    let end_ns = silence.start_ns + silence.length_ns;
    assert!(end_ns <= RUNTIME * 1_000_000_000, "{silence:?}");
    let client = &ended.record().run.plan.clients[0].name;
    let text = format!(
        "client {client}: no reply for {:.1} s while operations were in flight, from {:.1} s",
        silence.length_ns as f64 / 1e9,
        silence.start_ns as f64 / 1e9
    );
    assert!(finding.message.starts_with(&text), "{}", finding.message);
    assert!(ended.file("html").contains("no reply for"));
    // The figures agree with it: an operation took this long.
    let stats = point.stats.as_ref().expect("figures");
    assert_eq!(stats.silence, Some(silence));
    assert!(stats.response().max_ns() + 1_000_000 >= silence.length_ns);
}

#[test]
fn a_time_without_replies_is_shown_during_a_search() {
    let _turn = beside_others();
    let options = ServerOptions {
        stop: Some(StopSpec {
            length_ns: 5_500_000_000,
            every_ns: 8_000_000_000,
        }),
        ..ServerOptions::default()
    };
    let server = Server::start(options).expect("a server");
    let sweep = Sweep::on(&server)
        .set("LOAD", "search")
        .set("SEARCH_FIRST", 100)
        .set("SEARCH_RUNTIME", 600)
        .set("RUNTIME", 600)
        .set("FILESET_MB_PER_OP", 0.02);
    let mut started = sweep.arg("--lines").start();
    started.wait_for("server silent for 3 s");
    let text = started.stderr();
    let line = text.lines().find(|l| l.contains("server silent for 3 s"));
    let line = line.expect("a line");
    assert!(line.starts_with("[search 1] 100 op/s "), "{line}");
    started.signal(Signal::INT);
    assert_eq!(started.wait().code, 130);
}
