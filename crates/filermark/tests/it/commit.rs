//! COMMIT in each benchmark: how often it is called, and where that is reported.

use crate::load_guard::beside_others;
use crate::second_client::{assert_empty, serve};
use crate::sweep::{Ended, Sweep};
use filermark_model::Op;
use filermark_model::benchmark::SHIPPED;
use filermark_server::ServerOptions;
use filermark_testbed::{Fsal, Ganesha, available};

fn unstable() -> ServerOptions {
    ServerOptions {
        unstable: "on".parse().expect("a fault"),
        ..ServerOptions::default()
    }
}

/// The most operations that end after RUN: their calls are also counted.
const EDGE: u64 = 32;

/// Writes only, to the one file of the one proc.
fn one_file(sweep: Sweep) -> Sweep {
    let sweep = sweep
        .set("LOAD", 200)
        .set("PROCS", 1)
        .set("WARMUP_TIME", 0)
        .set("RUNTIME", 2)
        .set("FILESET_MB_PER_OP", 0.001)
        .set("MIXFILE", "writes.mix");
    std::fs::create_dir_all(sweep.result("")).expect("the result directory");
    let mix = "SFS MIXFILE VERSION 2\nwrite 100%\n";
    std::fs::write(sweep.result("writes.mix"), mix).expect("the mix file");
    sweep
}

/// The counters of the only load point, after a check that nothing failed.
fn counts(ended: &Ended) -> impl Fn(&str) -> u64 {
    let stats = ended.point(1).stats.expect("figures");
    assert_eq!(stats.error_count(), 0, "{:?}", stats.errors);
    let counters = stats.counters;
    move |name| counters.get(name).copied().unwrap_or(0)
}

#[test]
fn deferred_commits_come_after_so_many_writes() {
    let _turn = beside_others();
    for tcp in ["on", "off"] {
        let server = serve(ServerOptions {
            udp: true,
            ..unstable()
        });
        let sweep = one_file(Sweep::on(&server)).set("TCP", tcp);
        let ended = sweep.succeed();
        let count = counts(&ended);
        // Over UDP transfers are smaller: a logical write may take several.
        let stats = ended.point(1).stats.expect("figures");
        let writes = stats.op(Op::Write).expect("in the mix").success_count;
        let (commits, at_end) = (count("write_commits"), count("end_commits"));
        assert_eq!(count("COMMIT"), commits, "the mix has none");
        if tcp == "on" {
            let calls = count("WRITE");
            let full = calls / 64;
            assert_eq!(
                (commits - at_end, at_end),
                (full, u64::from(!calls.is_multiple_of(64)))
            );
        }
        assert!(
            commits >= writes / 64 && commits <= writes / 64 + 2,
            "{commits} of {writes}"
        );
        let log = ended.file("sfslog");
        assert!(log.contains("COMMIT POLICY: deferred"), "{log}");
        let line = format!("COMMITS: {commits} for what was written, {at_end} of them after");
        assert!(log.contains(&line), "{log}");
        assert_empty(&server);
    }
}

#[test]
fn own_definitions_have_a_policy_of_their_own() {
    let _turn = beside_others();
    let (_, text) = SHIPPED
        .iter()
        .find(|(n, _)| *n == "nfs3-2001")
        .expect("shipped");
    for (policy, per_write, output_text) in [
        ("policy = \"file-sync\"", 0, "file-sync: none"),
        (
            "policy = \"deferred\"\nwrites = 1\nmib = 1\nfiles = 1",
            1,
            "deferred: after every logical write that the server answers UNSTABLE",
        ),
    ] {
        let server = serve(unstable());
        let own = text.replace("policy = \"per-write\"", policy);
        let sweep = one_file(Sweep::on(&server)).set("BENCHMARK_FILE", "own.toml");
        sweep.write("own.toml", &own);
        let plan = sweep.clone().command("plan").run();
        assert!(
            plan.stdout.contains(&format!("COMMIT      {output_text}")),
            "{}",
            plan.stdout
        );
        let ended = sweep.succeed();
        let count = counts(&ended);
        let stats = ended.point(1).stats.expect("figures");
        let writes = stats.op(Op::Write).expect("in the mix").success_count;
        let commits = count("write_commits");
        // The server answers UNSTABLE unless a stable write is requested.
        assert!(count("unstable_writes") >= per_write * writes);
        assert!(count("unstable_writes") <= per_write * (writes + EDGE));
        assert!(
            commits >= per_write * writes && commits <= per_write * (writes + EDGE),
            "{policy}: {commits} of {writes}"
        );
    }
}

/// Manual M, section 2.2.1: "after every logical write operation ... regardless".
#[test]
fn older_benchmarks_commit_every_write_though_the_server_wrote_at_once() {
    let _turn = beside_others();
    for benchmark in ["nfs3-1997", "nfs3-2001"] {
        let server = serve(ServerOptions::default());
        let sweep = Sweep::on(&server)
            .set("BENCHMARK", benchmark)
            .set("LOAD", 400)
            .set("WARMUP_TIME", 0)
            .set("RUNTIME", 2);
        let ended = sweep.succeed();
        every_write(&ended);
        let log = ended.file("sfslog");
        assert!(log.contains("COMMIT POLICY: per-write"), "{log}");
    }
}

/// As many COMMITs as logical writes, and in addition those of the mix. What ends after RUN is
/// counted as a call and not as an operation.
fn every_write(ended: &Ended) {
    let count = counts(ended);
    let stats = ended.point(1).stats.expect("figures");
    let done = |op| stats.op(op).map_or(0, |o| o.success_count);
    let (writes, mix) = (done(Op::Write), done(Op::Commit));
    let written = count("write_commits");
    assert!(writes > 0 && mix > 0, "{writes}, {mix}");
    assert!(
        written >= writes && written <= writes + EDGE,
        "{written} of {writes}"
    );
    let of_mix = count("COMMIT") - written;
    assert!(of_mix >= mix && of_mix <= mix + EDGE, "{of_mix} of {mix}");
    assert_eq!(count("end_commits"), 0);
}

#[test]
fn a_real_server_that_writes_unstable_is_committed_as_the_benchmark_states() {
    let _turn = beside_others();
    let Some(ganesha) = available(Ganesha::start(Fsal::Vfs)) else {
        return;
    };
    let (sandbox, export) = (ganesha.sandbox(), ganesha.export());
    let ended = one_file(Sweep::inside(sandbox, export)).succeed();
    let count = counts(&ended);
    let (commits, calls) = (count("write_commits"), count("WRITE"));
    assert!(
        commits >= calls / 64 && commits <= calls / 64 + 1,
        "{commits} of {calls}"
    );
    let sweep = Sweep::inside(sandbox, export)
        .set("BENCHMARK", "nfs3-2001")
        .set("LOAD", 200)
        .set("WARMUP_TIME", 0)
        .set("RUNTIME", 2);
    every_write(&sweep.succeed());
}
