//! Findings that are computed again from the figures.

use super::support::{check, faults, gathered, lines_of};
use crate::verify::{Check, CheckStatus, Options, verify};
use crate::{Bundle, CollectOptions};
use filermark_model::client_reads::{ClientReads, ReadCounter};
use filermark_model::silence::Silence;
use filermark_model::stall::{ProcessRole, ProcessStalls, Stalls};
use filermark_model::{Finding, Rule, Severity};
use filermark_results::files::{write_files, write_proc_logs};
use filermark_results::{
    PointRecord, PointStatus, Role, RunRecord, judge, judge_client_reads, judge_silences,
    judge_stalls, settle_rate, testing,
};
use std::collections::BTreeSet;
use std::fs;

/// What `verify` finds wrong with a record.
fn wrong_with(record: &RunRecord) -> String {
    let mut bundle = Bundle::new();
    bundle
        .add("mine.run.jsonl", lines_of(record), Role::Record)
        .unwrap();
    faults(&verify(&bundle, &Options::default()))
}

#[test]
fn removed_and_added_findings_are_found() {
    let mut record = testing::record();
    let at = record
        .points
        .iter()
        .position(|p| !p.findings.is_empty())
        .unwrap();
    record.points = vec![record.points[at].clone()];
    assert_eq!(wrong_with(&record), "");
    let taken = record.points[0].findings.remove(0);
    let found = wrong_with(&record);
    assert!(found.contains("the rules give") || found.contains("lacks the finding"));
    record.points[0].findings.insert(0, taken.clone());
    record.points[0].findings.push(taken);
    assert!(wrong_with(&record).contains("which the rules do not give"));
}

/// The seed's sample, and a record from before `achieved-rate` had a severity in the
/// definitions: the findings of each agree with its own plan, and not with the other's.
#[test]
fn a_point_below_its_rate_is_judged_by_the_records_own_definition() {
    let now = testing::smb::sweep_record(|_, _| {});
    let before = testing::smb::sweep_record(|plan, _| {
        plan.benchmark.standard.achieved_severity = Severity::Invalid;
    });
    for (record, other) in [(&now, &before), (&before, &now)] {
        let findings = |record: &RunRecord| wrong_with(record).contains("load point 10: it ");
        assert!(!findings(record), "{}", wrong_with(record));
        let mut forged = record.clone();
        forged.points[9].findings = other.points[9].findings.clone();
        assert!(findings(&forged), "{}", wrong_with(&forged));
    }
}

/// A point below its rate that has another cause needs the findings that the prime settled. The
/// findings before that are a fault. Without the cause it is the other way round.
#[test]
fn a_point_with_another_cause_is_settled_again() {
    let sweep = |reconnects: u64| {
        let mut record = testing::smb::sweep_record(|_, _| {});
        let plan = record.run.plan.clone();
        let point = &mut record.points[9];
        let stats = point.stats.as_mut().unwrap();
        if reconnects > 0 {
            stats.counters.insert("reconnects".into(), reconnects);
        }
        point.findings = judge(stats, point.load, &plan, 8);
        let unsettled = point.findings.clone();
        settle_rate(&mut point.findings, stats, point.load, &plan);
        (record, unsettled)
    };
    let wrong = |record: &RunRecord| wrong_with(record).contains("load point 10: it ");
    let (lost, unsettled) = sweep(1);
    assert!(!wrong(&lost), "{}", wrong_with(&lost));
    assert_ne!(lost.points[9].findings, unsettled);
    let mut forged = lost.clone();
    forged.points[9].findings = unsettled;
    assert!(wrong(&forged), "{}", wrong_with(&forged));
    let (mut sound, same) = sweep(0);
    assert_eq!(sound.points[9].findings, same);
    assert!(!wrong(&sound), "{}", wrong_with(&sound));
    sound.points[9].findings = lost.points[9].findings.clone();
    assert!(wrong(&sound), "{}", wrong_with(&sound));
}

/// The synthetic run with its first load point, changed, and the findings that the change adds.
fn with_clients(change: impl FnOnce(&mut PointRecord)) -> (RunRecord, Vec<Finding>) {
    let mut record = testing::record();
    record.points.truncate(1);
    let plan = record.run.plan.clone();
    let point = &mut record.points[0];
    change(point);
    // The rules in the order of the prime.
    let stats = point.stats.as_ref().unwrap();
    let mut more = judge_stalls(&point.stalls, stats.window_ns, &plan.limits);
    more.extend(judge_silences(&point.clients, &point.stalls, stats));
    more.extend(judge_client_reads(&point.client_reads, &BTreeSet::new()));
    point.findings.extend(more.clone());
    (record, more)
}

fn stalled(gap_ns: u64) -> ProcessStalls {
    ProcessStalls {
        role: ProcessRole::Agent,
        host: "c1".into(),
        stalls: Stalls {
            gap_count: 1,
            gap_sum_ns: gap_ns,
            gap_max_ns: gap_ns,
            ..Stalls::default()
        },
    }
}

fn silent(point: &mut PointRecord) {
    point.clients[0].silence = Some(Silence {
        start_ns: 1_000_000_000,
        length_ns: 200_000_000_001,
    });
}

fn cached(point: &mut PointRecord) {
    point.client_reads.push(ClientReads {
        client: "c1".into(),
        mounts: vec!["/mnt".into()],
        file_system: "nfs4".into(),
        counter: ReadCounter::Nfs,
        read_bytes: 1 << 20,
        fetched_bytes: Some(1 << 10),
        source: "nfs:/mnt".into(),
        unknown: None,
    });
}

/// A record with these findings passes. A record in which they were removed, added or changed
/// fails.
#[test]
fn findings_on_stalls_silences_and_client_reads_are_computed_again() {
    let all = |point: &mut PointRecord| {
        point.stalls.push(stalled(150_000_000_000));
        silent(point);
        cached(point);
    };
    let cases = [
        (
            &[Rule::GeneratorStalled][..],
            with_clients(|p| p.stalls.push(stalled(60_000_000))),
        ),
        (
            &[Rule::GeneratorStalled],
            with_clients(|p| p.stalls.push(stalled(150_000_000_000))),
        ),
        (&[Rule::NoReply], with_clients(silent)),
        (&[Rule::ClientCache], with_clients(cached)),
        (
            &[Rule::GeneratorStalled, Rule::NoReply, Rule::ClientCache],
            with_clients(all),
        ),
    ];
    for (rules, (record, more)) in cases {
        let names: Vec<Rule> = more.iter().map(|f| f.rule).collect();
        assert_eq!(names, rules);
        let findings = |record: &RunRecord| wrong_with(record).contains("load point 1: it ");
        assert!(!findings(&record), "{}", wrong_with(&record));
        let own = record.points[0].findings.len() - more.len();
        for at in own..record.points[0].findings.len() {
            let mut without = record.clone();
            without.points[0].findings.remove(at);
            assert!(findings(&without), "{rules:?} without {at}");
            let mut other = record.clone();
            other.points[0].findings[at].severity = Severity::Note;
            assert!(findings(&other), "{rules:?} with another severity at {at}");
        }
        // The findings without the figures that cause them.
        let (mut invented, none) = with_clients(|_| ());
        assert!(none.is_empty());
        invented.points[0].findings.extend(more);
        assert!(findings(&invented), "{rules:?} invented");
    }
}

/// The record has no figures on how WARMUP ended.
#[test]
fn the_finding_of_a_warmup_at_its_limit_is_accepted() {
    let (mut record, _) = with_clients(silent);
    let finding = Finding::new(Rule::WarmupLimit, Severity::Warning, "not steady in 60 s");
    record.points[0].findings.push(finding.clone());
    assert_eq!(wrong_with(&record), "");
    // Findings that can be computed again come first.
    record.points[0].findings.pop();
    record.points[0].findings.insert(0, finding);
    assert!(wrong_with(&record).contains("the rules give"));
}

#[test]
fn a_load_point_that_stop_if_ended_may_have_either_rule() {
    let faults_with = |rule, reason: &str| {
        let mut record = testing::record();
        record.points.truncate(1);
        let point = &mut record.points[0];
        point.stats = None;
        point.clients.clear();
        point.status = PointStatus::Failed {
            reason: "STOP_IF free<5% for 10s: 4.0 % is free".into(),
        };
        point.findings = vec![Finding::new(rule, Severity::Invalid, reason)];
        wrong_with(&record)
    };
    let reason = "STOP_IF free<5% for 10s: 4.0 % is free";
    for rule in [Rule::EmergencyStop, Rule::Interrupted, Rule::Failed] {
        let found = faults_with(rule, reason);
        assert!(!found.contains("load point 1: it "), "{found}");
        let found = faults_with(rule, "another reason");
        assert!(found.contains("but the rules give"), "{found}");
    }
    assert!(faults_with(Rule::Errors, reason).contains("but the rules give"));
    // A point that was measured was not ended by STOP_IF.
    let mut record = testing::record();
    record.points.truncate(1);
    let finding = Finding::new(Rule::EmergencyStop, Severity::Invalid, reason);
    record.points[0].findings.push(finding);
    assert!(wrong_with(&record).contains("which the rules do not give"));
}

#[test]
fn composite_runs_with_the_logs_of_their_procs() {
    let dir = tempfile::tempdir().unwrap();
    let record = testing::composite::stream_record();
    write_files(&record, dir.path()).unwrap();
    write_proc_logs(&record, dir.path()).unwrap();
    fs::write(dir.path().join("vda.run.jsonl"), lines_of(&record)).unwrap();
    let bundle = gathered(&dir, "vda.run.jsonl", &CollectOptions::default())
        .unwrap()
        .bundle;
    let logs = bundle
        .members()
        .filter(|(name, _)| name.starts_with("client-logs.vda/"));
    assert_eq!(logs.count(), 3 * 36);
    let verification = check(&Bundle::from_bytes(&bundle.to_bytes().unwrap()).unwrap());
    let of_files = |c: &&Check| !c.about.starts_with("vda.run.jsonl");
    let wrong: Vec<_> = verification
        .checks
        .iter()
        .filter(of_files)
        .filter(|c| c.state == CheckStatus::Fail)
        .collect();
    assert!(wrong.is_empty(), "{wrong:?}");
    fs::write(dir.path().join("client-logs.vda/client_3.vda"), "forged\n").unwrap();
    let bundle = gathered(&dir, "vda.run.jsonl", &CollectOptions::default())
        .unwrap()
        .bundle;
    let found = faults(&verify(&bundle, &Options::default()));
    assert!(
        found.contains("client-logs.vda/client_3.vda: line 1 has \"forged\""),
        "{found}"
    );
}
