//! One run on several hosts: figures that add up, shared and separate file sets, and no files left.

use crate::client_hosts::{Field, assert_adds_up};
use crate::load_guard::{beside_others, valid, when_quiet};
use crate::sweep::{Ended, PROGRAM, Sweep};
use filermark_model::Finding;
use filermark_results::{Outcome, PointRecord, read_record};
use filermark_testbed::Hosts;
use std::collections::BTreeSet;

/// Asserts that the run was complete with all clients.
#[track_caller]
fn assert_complete(ended: &Ended, clients: &[&str]) {
    assert!(ended.is_complete(), "{}", ended.stderr);
    ended.assert_sanitized();
    let record = ended.record();
    assert_eq!(record.end.expect("an end").outcome, Outcome::Complete);
    assert_eq!(record.environments.len(), clients.len());
    for point in &record.points {
        assert_adds_up(point, clients);
        let start = point.start.as_ref().expect("how they began together");
        assert_eq!(start.clients.len(), clients.len());
        assert_eq!(start.spread_ns > 0, clients.len() > 1, "{start:?}");
        assert!(start.spread_ns < 1_000_000_000, "{start:?}");
    }
}

/// The clients' own logs, one each.
#[track_caller]
fn assert_client_logs(ended: &Ended, clients: &[&str]) {
    for number in 1..=clients.len() {
        let log = ended.file(&format!("sfsc{number:04}"));
        let first = log.lines().next().unwrap_or_default();
        assert!(first.contains(clients[number - 1]), "{first}");
    }
    let one_more = format!("sfsc{:04}.s", clients.len() + 1);
    assert!(!ended.path(&one_more).exists());
}

#[test]
fn the_same_rc_file_runs_on_one_two_and_three_hosts() {
    let _turn = beside_others();
    let Some(field) = Field::with_ganesha(3) else {
        return;
    };
    for clients in ["h1", "h1 h2", "h1 h2 h3"] {
        let names: Vec<&str> = clients.split(' ').collect();
        // All parameters are in one file, CLIENTS on the command line.
        let sweep = field.sweep("h1").into_rc().set("CLIENTS", clients);
        when_quiet(|| {
            let ended = sweep.run();
            assert_complete(&ended, &names);
            assert_client_logs(&ended, &names);
            field.assert_clean();
            let point = ended.point(1);
            let stats = point.measured().expect("measured");
            assert_eq!(stats.procs.len(), 4 * names.len());
            let rate = stats.achieved_ops_per_sec();
            let near = (rate - 120.0).abs() < 6.0;
            let off = || format!("{rate} op/s of 120");
            valid(&point.findings).and(near.then_some(()).ok_or_else(off))
        });
    }
}

/// The trees of procs that are seen on each host while a run is in RUN.
fn trees_in_run(field: &Field, sweep: &Sweep, place: &str) -> (Vec<BTreeSet<String>>, Ended) {
    let mut started = sweep.start();
    started.wait_until("RUN", |s| s.stderr().contains(" RUN\n"));
    let trees = |host| {
        let below = field.below(host, place).into_iter();
        let tree = |path: String| path.split('/').nth(2).map(str::to_owned);
        below
            .filter_map(tree)
            .filter(|t| t.starts_with("CL"))
            .collect()
    };
    let seen = field.hosts.names().map(trees).collect();
    (seen, started.wait())
}

/// Both forms of CLIENT_MOUNTPOINTS; on a mount that all have, and on one of each.
#[test]
fn composites_meet_on_a_shared_mount_and_work_apart_on_own_ones() {
    let _turn = beside_others();
    let Some(field) = Field::bare(3) else {
        return;
    };
    let names = ["h1", "h2", "h3"];
    let list = format!("h1:{0} h2:{0} h3:{0}", Hosts::SHARED);
    let shared = field.composite("SWBUILD", &list);
    let (seen, ended) = trees_in_run(&field, &shared, Hosts::SHARED);
    assert_complete(&ended, &names);
    field.assert_clean();
    assert_eq!(seen[0].len(), 5, "a BUILD has five procs: {seen:?}");
    assert!(seen.iter().all(|trees| *trees == seen[0]), "{seen:?}");

    let text = format!("# all on their own\nh[1-3] {}\n", Hosts::OWN);
    let file = shared.write("places", &text);
    let own = shared.elsewhere().set("CLIENT_MOUNTPOINTS", file.display());
    let (seen, ended) = trees_in_run(&field, &own, Hosts::OWN);
    assert_complete(&ended, &names);
    field.assert_clean();
    let counts: Vec<usize> = seen.iter().map(BTreeSet::len).collect();
    assert_eq!(counts, [2, 2, 1], "{seen:?}");
    let all: BTreeSet<_> = seen.into_iter().flatten().collect();
    assert_eq!(all.len(), 5, "{all:?}");
}

#[test]
fn a_client_without_a_proc_goes_along_idle() {
    let _turn = beside_others();
    let Some(field) = Field::bare(3) else {
        return;
    };
    let list = format!("h[1-3]:{}", Hosts::OWN);
    let sweep = field
        .composite("METADATA", &list)
        .set("LOAD", "1 2")
        .set("RUNTIME", 1);
    let ended = sweep.run();
    assert_complete(&ended, &["h1", "h2", "h3"]);
    field.assert_clean();
    let procs =
        |point: &PointRecord| -> Vec<u32> { point.clients.iter().map(|c| c.proc_count).collect() };
    let record = ended.record();
    assert_eq!(procs(&record.points[0]), [1, 0, 0]);
    assert_eq!(procs(&record.points[1]), [1, 1, 0]);
    let actual = |f: &Finding| f.message.contains("1 of 3 clients have nothing to do");
    assert!(record.run.plan.findings.iter().any(actual));
}

#[test]
fn netmist_takes_a_token_file_with_two_hosts() {
    let _turn = beside_others();
    let Some(field) = Field::bare(2) else {
        return;
    };
    let sweep = field.composite("METADATA", "").command("netmist");
    let line = |host: &str| {
        format!(
            "Clientname={host} Username=root Workdir={} Execpath={PROGRAM} Workload=METADATA Instances=2\n",
            Hosts::OWN
        )
    };
    sweep.write("client_list", &(line("h1") + &line("h2")));
    let words = "-g client_list -d 1 -O 100 -N --exact-time -t 2 -w 0 -o FILE_SIZE=8k -o DIR_COUNT=2 -o FILES_PER_DIR=3 -o STALL_PCNT_MAX=100";
    let sweep = words.split(' ').fold(sweep, Sweep::arg);
    let ended = sweep.run();
    assert!(ended.is_complete(), "{}", ended.stderr);
    ended.assert_sanitized();
    assert!(
        ended.stderr.contains("Starting test client:    3 Host: h2"),
        "{}",
        ended.stderr
    );
    let record = read_record(&ended.path("netmist.run.jsonl")).expect("the record");
    assert_adds_up(&record.points[0], &["h1", "h2"]);
    assert!(record.points[0].clients.iter().all(|c| c.proc_count == 2));
    field.assert_clean();
}
