//! LOAD=search with a goal, of a server whose knee moves, of composites and of netmist.

use crate::filermark;
use crate::load_guard::{alone, beside_others, when_quiet};
use crate::second_client::serve;
use crate::sweep::{Ended, Sweep};
use filermark_model::{Rule, Severity};
use filermark_results::RunRecord;
use filermark_results::search::SearchResult;
use filermark_server::ServerOptions;
use filermark_testbed::{Faulty, FaultyOptions, Kind, Mounts, available};
use serde_json::Value;
use std::path::Path;
use std::time::Duration;

/// Limits of the rules that a machine without other load cannot miss: only what the test sets
/// decides.
fn lenient(sweep: Sweep) -> Sweep {
    sweep
        .set("ACHIEVED_PCNT_MIN", 1)
        .set("PROC_PCNT_MIN", 0)
        .set("MIX_DEVIATION_MAX", 100)
        .set("RESPONSE_LIMIT_MS", 100_000)
        .set("WARMUP_TIME", 0)
        .set("RUNTIME", 1)
        .set("SEARCH_RUNTIME", 0.5)
}

fn found(record: &RunRecord) -> SearchResult {
    record.found.clone().expect("the search has ended")
}

#[track_caller]
fn assert_verified(ended: &Ended, suffix: &str) {
    let name = format!("{suffix}.run.jsonl");
    let verified = filermark(&ended.path(""), &["verify", &name]);
    assert_eq!(verified.status.code(), Some(0), "{verified:?}");
}

/// The delay is a lower bound of the service time, on any machine.
#[test]
fn a_goal_that_the_server_cannot_keep_is_named() {
    let _turn = beside_others();
    let server = serve(ServerOptions {
        delay: "20ms".parse().expect("a delay"),
        ..ServerOptions::default()
    });
    let sweep = lenient(Sweep::on(&server).command("search").unset("LOAD"));
    let sweep = sweep.set("FILESET_MB_PER_OP", 0.02).set("SEARCH_FIRST", 8);
    let sweep = sweep.set("SEARCH_MAX", 8).set("GOAL", "mean<5ms");
    let missed = sweep.into_rc().suffix("missed").run();
    assert_eq!(missed.code, 4, "{}", missed.stderr);
    let record = missed.record();
    assert_eq!(found(&record).load, None);
    let reason = record.search[0].reason.clone().expect("a reason");
    assert!(
        reason.starts_with("mean is ") && reason.ends_with("; the goal is mean<5ms"),
        "{reason}"
    );
    assert!(
        missed.stdout.contains("no load holds with mean<5ms"),
        "{}",
        missed.stdout
    );
}

/// That a percentile of so few operations keeps the goal is not certain, and this is stated.
#[test]
fn alone_a_percentile_of_too_few_operations_is_stated() {
    let _turn = alone();
    when_quiet(|| {
        let server = serve(ServerOptions::default());
        let sweep = lenient(Sweep::on(&server).command("search").unset("LOAD"));
        let sweep = sweep.set("FILESET_MB_PER_OP", 0.02).set("SEARCH_FIRST", 8);
        let sweep = sweep.set("SEARCH_MAX", 8).set("GOAL", "p99.9<100s");
        let open = sweep.into_rc().suffix("open").run();
        assert!(open.is_complete(), "{}", open.stderr);
        assert_verified(&open, "open");
        let record = open.record();
        if found(&record).load != Some(8) {
            return Err(format!("{:?}", found(&record)));
        }
        let warned = record.run_findings().any(|f| {
            f.rule == Rule::Search
                && f.severity == Severity::Warning
                && f.message.contains("p99.9<100000ms was not judged")
        });
        assert!(warned, "{}", open.stdout);
        Ok(())
    });
}

#[test]
fn alone_a_knee_that_moves_during_the_search_is_noticed_and_reported() {
    let _turn = alone();
    when_quiet(|| {
        let server = serve(ServerOptions {
            capacity_ops: Some("400/9s:200".parse().expect("a rate")),
            ..ServerOptions::default()
        });
        let ended = Sweep::on(&server)
            .command("search")
            .unset("LOAD")
            .suffix("moved")
            .set("FILESET_MB_PER_OP", 0.01)
            .set("SEARCH_FIRST", 300)
            .set("SEARCH_RUNTIME", 2)
            .set("RUNTIME", 3)
            .set("SEARCH_SWEEP", "off")
            .run();
        assert!(ended.is_complete(), "{}", ended.stderr);
        let record = ended.record();
        let result = found(&record);
        let stated = ended
            .stdout
            .contains("during the search the highest load has changed: a load of");
        let near = result.load.is_some_and(|load| (180..=208).contains(&load));
        match stated && near && !result.changes.is_empty() {
            true => Ok(()),
            false => Err(format!("{result:?}\n{}", ended.stdout)),
        }
    });
}

/// One lookup at a time, of a fixed length: the knee does not depend on the machine.
#[test]
fn alone_a_composite_is_searched_up_to_the_knee_of_its_file_system() {
    let _turn = alone();
    when_quiet(|| {
        let Some(mounts) = available(Mounts::new()) else {
            return Ok(());
        };
        let options = FaultyOptions {
            thread_count: 1,
            ..FaultyOptions::default()
        };
        let Some(faulty) = available(Faulty::mount(&mounts, options)) else {
            return Ok(());
        };
        faulty.delay(Kind::Lookup, Duration::from_millis(4));
        let ended = Sweep::composite("SWBUILD", &mounts, faulty.scratch().path())
            .command("search")
            .unset("LOAD")
            .suffix("builds")
            .set("OPRATE_MULTIPLIER", 0.2)
            .set("DIR_COUNT", 1)
            .set("FILES_PER_DIR", 2)
            .set("SEARCH_MAX", 6)
            .set("SEARCH_SWEEP", "off")
            .set("MIX_DEVIATION_MAX", 100)
            .set("COMPONENT_VARIANCE_MAX", 0)
            .run();
        faulty.recover();
        assert!(ended.is_complete(), "{}", ended.stderr);
        let record = ended.record();
        let result = found(&record);
        assert_verified(&ended, "builds");
        // 100 op/s of a BUILD, 250 lookups/s at most.
        match (result.load, result.failed_at) {
            (Some(load), Some(failed)) if load < failed && failed <= 6 => {
                let units: Vec<f64> = record.points.iter().map(|p| p.load.units).collect();
                assert_eq!(units, [load as f64]);
                let stated = format!("between {load} and {failed} BUILDs");
                assert!(ended.stdout.replace("\n        ", " ").contains(&stated));
                Ok(())
            }
            _ => Err(format!("{result:?}")),
        }
    });
}

/// An energy workload in a directory, up to SEARCH_MAX; the samples belong to the sweep.
#[test]
fn alone_an_energy_workload_is_searched_while_a_meter_is_read() {
    let _turn = alone();
    when_quiet(|| {
        let dir = tempfile::tempdir().expect("a directory");
        let sweep = lenient(
            Sweep::small_composite("VDI")
                .command("search")
                .unset("LOAD"),
        )
        .suffix("vdi")
        .set(
            "CLIENT_MOUNTPOINTS",
            format!("localhost:{}", dir.path().display()),
        )
        .set("OPRATE_MULTIPLIER", 0.2)
        .set("SEARCH_MAX", 2);
        let setup =
            "idle = \"1s\"\n[[meter]]\nname = \"server\"\nat = \"sim:idle=200,noise=1,seed=7\"\n";
        let setup = sweep.write("sim.toml", setup).display().to_string();
        let ended = sweep.into_rc().arg("--energy").arg(setup).run();
        assert!(ended.is_complete(), "{}", ended.stderr);
        let record = ended.record();
        let result = found(&record);
        if (result.load, result.failed_at) != (Some(2), None) {
            return Err(format!("{result:?}"));
        }
        let units: Vec<f64> = record.points.iter().map(|p| p.load.units).collect();
        assert_eq!(units, [1.0, 2.0]);
        assert!(
            ended.stderr.contains("1 DESKTOP requested") && ended.stderr.contains("SEARCH_MAX=2"),
            "{}",
            ended.stderr
        );
        let merged = std::fs::read_to_string(ended.path("vdi.merged.jsonl")).expect("a log");
        assert!(!merged.contains("\"point\":1000"), "no point of the search");
        assert!(merged.contains("\"point\":2"), "{merged}");
        assert!(ended.stdout.contains("VDI, run vdi"), "{}", ended.stdout);
        assert_verified(&ended, "vdi");
        Ok(())
    });
}

/// A token file with two workloads, in the ratio 1 to 2.
fn tokens(dir: &Path, second: &str) {
    let line = |workload: &str, more: &str| {
        format!(
            "Clientname=localhost Username=root Workdir={} Execpath=/x Workload={workload} {more}\n",
            dir.display()
        )
    };
    let text = line("VDI", "Instances=2 Oprate=10") + &line("SWBUILD", second);
    std::fs::write(dir.join("tokens"), text).expect("a token file");
}

#[test]
fn alone_netmist_is_searched_with_the_ratios_of_its_oprates() {
    let _turn = alone();
    when_quiet(|| {
        let dir = tempfile::tempdir().expect("a directory");
        tokens(dir.path(), "Instances=1 Oprate=20");
        let line = "netmist -g tokens -O search -t 1 -w 0 -Q 3 -T 2 --suffix n --json \
                -o FILE_SIZE=16k -o SEARCH_MAX=60 -o SEARCH_RUNTIME=0.5 -o SPACE_RESERVE=0 \
                -o ACHIEVED_PCNT_MIN=1 -o PROC_PCNT_MIN=0 -o MIX_DEVIATION_MAX=100 \
                -o COMPONENT_VARIANCE_MAX=0 -o RESPONSE_LIMIT_MS=100000 -o STALL_PCNT_MAX=100";
        let args: Vec<&str> = line.split_whitespace().collect();
        let output = filermark(dir.path(), &args);
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            [Some(0), Some(4)].contains(&output.status.code()),
            "{stderr}"
        );
        assert!(
            stderr.contains("Starting netmist search 1: procs=3"),
            "{stderr}"
        );
        let json: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert!(json.to_string().contains("\"unit\":\"op/s\""), "{json}");
        let record = dir.path().join("result/n.run.jsonl");
        let record = filermark_results::read_record(&record).expect("a record");
        if found(&record).load != Some(60) {
            return Err(format!("{:?}", found(&record)));
        }
        assert!(
            stderr.contains("Starting netmist run 10 of 10: procs=3"),
            "{stderr}"
        );
        let top = record.points.last().expect("the sweep");
        assert_eq!(top.load.requested.0, 60.0);
        let components = &top.measured().expect("measured").components;
        let wanted: Vec<u64> = components.iter().map(|c| c.wanted_count).collect();
        assert_eq!(wanted, [30, 30]);
        let verified = filermark(dir.path(), &["verify", "result/n.run.jsonl"]);
        assert_eq!(verified.status.code(), Some(0), "{verified:?}");
        Ok(())
    });
}

#[test]
fn what_cannot_be_searched_is_refused_before_anything_runs() {
    let dir = tempfile::tempdir().expect("a directory");
    tokens(dir.path(), "Instances=1");
    let refused = |line: &str, text: &str| {
        let args: Vec<&str> = line.split_whitespace().collect();
        let output = filermark(dir.path(), &args);
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        let words: Vec<&str> = stderr.split_whitespace().collect();
        assert!(words.join(" ").contains(text), "{stderr}");
    };
    refused(
        "netmist -g tokens -O search",
        "1 of 2 lines of the token file have an Oprate",
    );
    refused(
        "plan -o LOAD=search -o BENCHMARK=METADATA -o CLIENT_MOUNTPOINTS=localhost:/tmp",
        "METADATA requests no rate, so every load holds by the rules",
    );
}
