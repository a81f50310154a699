//! The findings, by the rules of this program, anew.

use super::types::{CheckStatus, Run, Verification};
use filermark_model::{Finding, Rule, Severity};
use filermark_results::{
    PointRecord, PointStatus, judge, judge_client_reads, judge_silences, judge_stalls, settle_rate,
};
use std::collections::{BTreeMap, BTreeSet};

/// Rules that speak of what only the run itself saw.
const OF_THE_RUN: &[Rule] = &[
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

pub(super) fn check(run: &Run<'_>, told: &mut Verification) {
    let is_own = run.record.run.version == env!("CARGO_PKG_VERSION");
    let mut faults = Vec::new();
    for point in &run.record.points {
        let made = made(run, point);
        let number = point.load.number;
        if let Some(why) = difference(&point.findings, &made, is_own) {
            faults.push(format!("load point {number}: {why}"));
        }
    }
    let good = "the rules find at every load point what it says";
    told.conclude(run.name, good, faults);
    if !is_own {
        let text = format!(
            "findings are compared by rule and severity only: it was written by version {}",
            run.record.run.version
        );
        told.push(CheckStatus::Skip, run.name, text);
    }
}

/// What the rules find, as the run asked them.
fn made(run: &Run<'_>, point: &PointRecord) -> Vec<Finding> {
    let hosts = run.record.environments.iter();
    let cores: BTreeMap<&str, u32> = hosts.map(|e| (e.host.as_str(), e.core_count)).collect();
    let core_count = cores.values().fold(0u32, |sum, n| sum.saturating_add(*n));
    let plan = &run.record.run.plan;
    let mut made = match (&point.stats, &point.status) {
        (Some(stats), _) => judge(stats, point.load, plan, core_count),
        (None, PointStatus::Failed { reason }) => {
            let rule = rule_of_failure(&point.findings);
            vec![Finding::new(rule, Severity::Invalid, reason.as_str())]
        }
        (None, PointStatus::Measured) => Vec::new(),
    };
    let stats = point.stats.as_ref();
    let window_ns = stats.map_or(0, |s| s.window_ns);
    made.extend(judge_stalls(&point.stalls, window_ns, &plan.limits));
    made.extend(stats.and_then(|s| judge_silences(&point.clients, &point.stalls, s)));
    made.extend(of_client_reads(point));
    if let Some(stats) = stats {
        settle_rate(&mut made, stats, point.load, plan);
    }
    made
}

/// What the rules say of the clients' caches. Which clients the prime has started on its own
/// host the record does not say: what follows from none or from all of them is right.
fn of_client_reads(point: &PointRecord) -> Vec<Finding> {
    let reads = &point.client_reads;
    let all = reads.iter().map(|reads| reads.client.as_str()).collect();
    let mut ways = [BTreeSet::new(), all].map(|here| judge_client_reads(reads, &here));
    let is_said = |way: &Vec<Finding>| way.iter().all(|made| point.findings.contains(made));
    let said = ways.iter().position(is_said).unwrap_or_default();
    std::mem::take(&mut ways[said])
}

/// The rule that a load point failed by. That STOP_IF ended it only the run saw, so its
/// word is taken; the reason is compared all the same.
fn rule_of_failure(said: &[Finding]) -> Rule {
    match said.first().map(|f| f.rule) {
        Some(Rule::EmergencyStop) => Rule::EmergencyStop,
        _ => Rule::Failed,
    }
}

/// The first thing that is not the same; what only the run saw may stand behind.
fn difference(said: &[Finding], made: &[Finding], in_full: bool) -> Option<String> {
    for (at, made) in made.iter().enumerate() {
        match said.get(at) {
            Some(said) if is_same(said, made, in_full) => {}
            Some(said) => return Some(format!("it says \"{said}\", and the rules say \"{made}\"")),
            None => return Some(format!("it does not say \"{made}\"")),
        }
    }
    let more = said.iter().skip(made.len());
    let strange = more.into_iter().find(|f| !OF_THE_RUN.contains(&f.rule))?;
    Some(format!("it says \"{strange}\", which the rules do not"))
}

fn is_same(said: &Finding, made: &Finding, in_full: bool) -> bool {
    match in_full {
        true => said == made,
        false => (said.rule, said.severity) == (made.rule, made.severity),
    }
}
