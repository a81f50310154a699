//! Evaluation: facts in, checks out. Nothing here reads the system, so it can be tested with
//! invented facts.

mod client;
mod environment;
mod host;
mod mounts;
pub(super) mod names;
pub(super) mod prime;
mod servers;
mod tuning;

pub(super) use mounts::ProbeResult;

use super::check::{ALL, Check};
use super::needs;
use crate::launch::ssh::SshClient;
use client::Client;
use filermark_link::clocks::ClockOffset;
use filermark_link::facts::HostFacts;
use filermark_link::message::FreeSpace;
use filermark_link::space;
use filermark_link::watched_space::not_monitored;
use filermark_model::launch::LaunchPlan;
use filermark_model::{Bytes, RunPlan};
use std::collections::BTreeMap;

/// The data of one client.
#[derive(Clone, Debug, Default)]
pub(super) struct ClientReport {
    /// The facts from its agent.
    pub facts: Option<HostFacts>,
    /// Its clock.
    pub clock: Option<ClockOffset>,
    /// Why there is no agent, or not any more.
    pub lost_reason: Option<String>,
    /// SSH cannot reach it, which is reported already.
    pub unreached: bool,
}

/// All checks of clients whose agents answered, and of what they share.
pub(super) fn clients(
    plan: &RunPlan,
    launch: &LaunchPlan,
    found: &[ClientReport],
    probe_results: &[ProbeResult],
) -> Vec<Check> {
    let facts = |at: usize| found.get(at).and_then(|f| f.facts.as_ref());
    let cores = |at: usize| facts(at).map_or(1, |f| f.environment.core_count);
    let needs = needs::of_clients(plan, cores);
    let ssh = SshClient::of(launch);
    let mut checks = Vec::new();
    let mut there = Vec::new();
    for (at, (host, found)) in launch.hosts.iter().zip(found).enumerate() {
        if let Some(reason) = &found.lost_reason {
            checks.push(Check::failure(&host.client, "agent", reason.clone()).fix_as_stated());
        }
        let Some(facts) = &found.facts else { continue };
        there.push(Client {
            at,
            name: &host.client,
            host,
            ssh: &ssh,
            driver: &plan.driver,
            facts,
            needs: needs.get(at).copied().unwrap_or_default(),
            clock: found.clock,
            has_clock_service: plan.clock_service.is_some(),
            is_alone: launch.hosts.len() == 1,
        });
    }
    for client in &there {
        checks.extend(one(client, &there));
    }
    checks.extend(host::same_hosts(&there));
    for sighting in probe_results {
        checks.extend(mounts::same_file_system(
            &there,
            sighting,
            plan.shares_trees(),
        ));
    }
    let of_client = |at| Some((at, space::of_own_mounts(plan, at, facts(at)?.free.clone())));
    let known: BTreeMap<usize, Vec<FreeSpace>> =
        (0..plan.clients.len()).filter_map(of_client).collect();
    let not_monitored = not_monitored(plan, &known);
    checks.extend(not_monitored.map(|text| Check::warning(ALL, "stop-if", text)));
    let free: Vec<Vec<FreeSpace>> = (0..plan.clients.len())
        .map(|at| known.get(&at).cloned().unwrap_or_default())
        .collect();
    checks.extend(free_space(plan, &free));
    checks
}

fn one(client: &Client<'_>, all: &[Client<'_>]) -> Vec<Check> {
    let mut checks = host::host(client);
    checks.extend(host::clock(client));
    checks.extend(host::memory(client));
    checks.extend(host::limits(client));
    checks.extend(host::low_ports(client));
    checks.extend(host::depth(client));
    checks.extend(tuning::judge(client));
    checks.extend(environment::of_kernel(client));
    checks.extend(servers::judge(client));
    checks.extend(mounts::mounts(client, all));
    checks
}

/// Free space against the largest load point, by the rule of a run.
fn free_space(plan: &RunPlan, free: &[Vec<FreeSpace>]) -> Vec<Check> {
    if free.iter().all(Vec::is_empty) {
        return Vec::new();
    }
    let verdict = space::check(plan, free);
    let refusal = verdict.refusal.into_iter();
    let mut checks: Vec<Check> = refusal
        .map(|text| Check::failure(ALL, "space", text))
        .collect();
    let warn = |text| Check::warning(ALL, "space", text);
    checks.extend(verdict.warnings.into_iter().map(warn));
    if checks.is_empty() {
        let wanted = Bytes(space::need_bytes(plan));
        let sentence = format!("the largest load point fits: it may need {wanted}");
        checks.push(Check::ok(ALL, "space", sentence));
    }
    checks
}

#[cfg(test)]
pub(super) mod tests;
