//! LOAD=search: the highest load of a server whose knee is known; a search and a sweep that
//! were cut and continued; and what an INVALID sweep states.

use crate::filermark;
use crate::load_guard::{alone, beside_others, when_quiet};
use crate::second_client::serve;
use crate::sweep::Sweep;
use filermark_model::Rule;
use filermark_results::read_record;
use filermark_results::search::SearchKind;
use filermark_server::ServerOptions;
use rustix::process::Signal;
use serde_json::Value;
use std::process::Stdio;

/// The highest rate of the server, in op/s.
const KNEE: f64 = 200.0;

fn limited(rate: &str) -> ServerOptions {
    ServerOptions {
        capacity_ops: Some(rate.parse().expect("a rate")),
        ..ServerOptions::default()
    }
}

#[test]
fn alone_a_known_knee_is_found_within_three_percent() {
    let _turn = alone();
    let server = serve(limited("200"));
    when_quiet(|| {
        let ended = Sweep::on(&server)
            .command("search")
            .unset("LOAD")
            .suffix("knee")
            .set("FILESET_MB_PER_OP", 0.02)
            .set("RUNTIME", 3)
            .set("SEARCH_RUNTIME", 2)
            .set("SEARCH_SWEEP", "off")
            .run();
        assert!(ended.is_complete(), "{}", ended.stderr);
        let record = ended.record();
        let found = record.found.clone().expect("the search has ended");
        assert_eq!(record.points.len(), usize::from(found.load.is_some()));
        assert!(
            ended.file("html").contains("Search for the highest load"),
            "the page lists the probes"
        );
        let dir = ended.path("");
        let verified = filermark(&dir, &["verify", "knee.run.jsonl"]);
        assert_eq!(verified.status.code(), Some(0), "{verified:?}");
        let json = filermark(&dir, &["report", "-f", "json", "knee.run.jsonl", "-o", "-"]);
        let json = String::from_utf8_lossy(&json.stdout).into_owned();
        assert!(json.contains("\"held_count\""), "{json}");
        // One load point is no curve.
        let summary: Value = serde_json::from_str(&json).expect("it is JSON");
        assert!(summary["ort_ms"].is_null(), "{json}");
        for output in [&ended.stdout, &ended.file("sfsres")] {
            let stated =
                output.contains(", overall response") || output.contains("  overall response");
            assert!(!stated, "{output}");
        }
        let rate = found.achieved.unwrap_or(0.0);
        let near = (rate / KNEE - 1.0).abs() <= 0.03;
        match near && found.probe_count <= 12 {
            true => Ok(()),
            false => Err(format!("{found:?}")),
        }
    });
}

#[test]
fn a_search_and_a_sweep_that_were_cut_continue() {
    let _turn = beside_others();
    let server = serve(limited("300"));
    let sweep = Sweep::on(&server)
        .suffix("cut")
        .set("LOAD", "search")
        .set("FILESET_MB_PER_OP", 0.02)
        .set("ACHIEVED_PCNT_MIN", 50)
        .set("PROC_PCNT_MIN", 1)
        .set("SEARCH_FIRST", 100)
        .set("SEARCH_RUNTIME", 0.5)
        .set("RUNTIME", 0.5);
    let record = || read_record(&sweep.result("cut.run.jsonl"));
    let cut_behind = |points: usize, searched: usize, more: &[&str]| {
        let mut command = sweep.to_command();
        command.args(more).stdin(Stdio::null());
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut run = command.spawn().expect("it starts");
        let is_there = || {
            let record = record().ok();
            record.is_some_and(|r| r.points.len() >= points && r.search.len() >= searched)
        };
        while !is_there() && run.try_wait().expect("a child").is_none() {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        let pid = rustix::process::Pid::from_child(&run);
        rustix::process::kill_process(pid, Signal::INT).expect("signalled");
        run.wait().expect("it ends");
    };
    cut_behind(0, 2, &[]);
    let first = record().expect("a record");
    assert!(first.search.len() >= 2 && first.found.is_none());
    // Another plan is refused, and the difference named.
    let resumed = sweep.clone().arg("--resume");
    let refused = resumed.clone().set("SEED", 7).fail(2);
    refused.assert_sentence(&["another plan", "(different: SEED)"]);
    cut_behind(2, 2, &["--resume"]);
    let second = record().expect("a record");
    let tries = |r: &filermark_results::RunRecord, n| {
        let tries = r.search.iter().take(n).map(|t| (t.kind, t.point.began));
        tries.collect::<Vec<_>>()
    };
    let kept = first.search.len();
    assert_eq!(tries(&second, kept), tries(&first, kept), "done stays done");
    assert!(second.found.is_some() && second.points.len() >= 2);
    resumed.succeed();
    let third = record().expect("a record");
    assert_eq!(third.points[0].began, second.points[0].began);
    assert_eq!(third.points.len(), third.run.plan.points.len());
    assert!(third.search.iter().any(|t| t.kind == SearchKind::Confirm));
    assert!(third.run_findings().any(|f| f.rule == Rule::Search));
    // Complete: nothing to continue.
    resumed.fail(2).assert_sentence(&["is complete"]);
    let nothing = resumed.suffix("none").fail(2);
    nothing.assert_sentence(&["there is no run to continue"]);
}

#[test]
fn an_invalid_sweep_states_what_was_held_and_where_to_begin() {
    let _turn = beside_others();
    let server = serve(limited("100"));
    let ended = Sweep::on(&server)
        .suffix("over")
        .set("LOAD", 400)
        .set("RESPONSE_LIMIT_MS", 0.001)
        .set("FILESET_MB_PER_OP", 0.02)
        .run();
    assert!(
        ended.stdout.contains("op/s at most; begin with LOAD="),
        "{}",
        ended.stdout
    );
    assert!(
        ended
            .file("html")
            .contains("op/s at most; begin with LOAD=")
    );
    let dir = ended.path("");
    let json = filermark(&dir, &["report", "-f", "json", "over.run.jsonl", "-o", "-"]);
    let json = String::from_utf8_lossy(&json.stdout).into_owned();
    assert!(json.contains("\"begin_with_load\""), "{json}");
}
