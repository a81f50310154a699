//! Compares the findings of a record with those that the rules of this program give.

use super::types::{CheckStatus, Run, Verification};
use filermark_model::{Finding, Rule, Severity};
use filermark_results::{
    PointRecord, PointStatus, judge, judge_client_reads, judge_silences, judge_stalls, settle_rate,
};
use std::collections::{BTreeMap, BTreeSet};

/// Rules on events that the record does not have: their findings cannot be computed again.
const RUN_ONLY: &[Rule] = &[
    Rule::ClientLost,
    Rule::ClientStart,
    Rule::ExternalClock,
    Rule::Script,
    Rule::Failed,
    Rule::Interrupted,
    Rule::Resources,
    Rule::SpaceUsed,
    Rule::WarmupLimit,
];

pub(super) fn check(run: &Run<'_>, verification: &mut Verification) {
    let is_own = is_own(run);
    let mut faults = Vec::new();
    for point in &run.record.points {
        let expected = expected_findings(run, point);
        let number = point.load.number;
        if let Some(why) = difference(&point.findings, &expected, is_own) {
            faults.push(format!("load point {number}: {why}"));
        }
    }
    let good = "the rules give the findings of every load point";
    verification.conclude(run.name, good, faults);
    if !is_own {
        let text = format!(
            "findings are compared by rule and severity only: it was written by version {}",
            run.record.run.version
        );
        verification.push(CheckStatus::Skip, run.name, text);
    }
}

/// Whether this version of the program has written the record: messages are then the same.
fn is_own(run: &Run<'_>) -> bool {
    run.record.run.version == env!("CARGO_PKG_VERSION")
}

/// The findings that the rules give, applied in the order of the prime.
fn expected_findings(run: &Run<'_>, point: &PointRecord) -> Vec<Finding> {
    let hosts = run.record.environments.iter();
    let cores: BTreeMap<&str, u32> = hosts.map(|e| (e.host.as_str(), e.core_count)).collect();
    let core_count = cores.values().fold(0u32, |sum, n| sum.saturating_add(*n));
    let plan = &run.record.run.plan;
    let mut expected = match (&point.stats, &point.status) {
        (Some(stats), _) => judge(stats, point.load, plan, core_count),
        (None, PointStatus::Failed { reason }) => {
            let rule = rule_of_failure(&point.findings);
            vec![Finding::new(rule, Severity::Invalid, reason.as_str())]
        }
        (None, PointStatus::Measured) => Vec::new(),
    };
    let stats = point.stats.as_ref();
    let window_ns = stats.map_or(0, |s| s.window_ns);
    expected.extend(judge_stalls(&point.stalls, window_ns, &plan.limits));
    expected.extend(stats.and_then(|s| judge_silences(&point.clients, &point.stalls, s)));
    expected.extend(of_client_reads(point, is_own(run)));
    if let Some(stats) = stats {
        settle_rate(&mut expected, stats, point.load, plan);
    }
    expected
}

/// The findings on the clients' caches. The record does not have which clients the prime
/// started on its own host: findings for none or for all of them are accepted.
fn of_client_reads(point: &PointRecord, in_full: bool) -> Vec<Finding> {
    let reads = &point.client_reads;
    let all = reads.iter().map(|reads| reads.client.as_str()).collect();
    let mut cases = [BTreeSet::new(), all].map(|local| judge_client_reads(reads, &local));
    let is_one = |f: &Finding| {
        point
            .findings
            .iter()
            .any(|stated| is_same(stated, f, in_full))
    };
    let is_stated = |case: &Vec<Finding>| case.iter().all(is_one);
    let stated = cases.iter().position(is_stated).unwrap_or_default();
    std::mem::take(&mut cases[stated])
}

/// The rule that a load point failed by. Whether STOP_IF or the user ended it cannot be computed
/// again, so the rule is taken from the record; the reason is compared.
fn rule_of_failure(stated: &[Finding]) -> Rule {
    match stated.first().map(|f| f.rule) {
        Some(rule @ (Rule::EmergencyStop | Rule::Interrupted)) => rule,
        _ => Rule::Failed,
    }
}

/// The first difference. Findings of [`RUN_ONLY`] may follow the expected ones.
fn difference(stated: &[Finding], expected: &[Finding], in_full: bool) -> Option<String> {
    for (at, expected) in expected.iter().enumerate() {
        match stated.get(at) {
            Some(stated) if is_same(stated, expected, in_full) => {}
            Some(stated) => {
                return Some(format!(
                    "it has the finding \"{stated}\", but the rules give \"{expected}\""
                ));
            }
            None => return Some(format!("it lacks the finding \"{expected}\"")),
        }
    }
    let more = stated.iter().skip(expected.len());
    let invented = more.into_iter().find(|f| !RUN_ONLY.contains(&f.rule))?;
    Some(format!(
        "it has the finding \"{invented}\", which the rules do not give"
    ))
}

fn is_same(stated: &Finding, expected: &Finding, in_full: bool) -> bool {
    match in_full {
        true => stated == expected,
        // Other versions took more for a cause of the clients, so a missed rate may be invalid there.
        false if stated.rule == Rule::AchievedRate && expected.rule == Rule::AchievedRate => {
            stated.severity >= expected.severity
        }
        false => (stated.rule, stated.severity) == (expected.rule, expected.severity),
    }
}
