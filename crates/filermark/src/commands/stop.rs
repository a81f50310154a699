//! `stop`: ends what a run has left running on its clients, and removes what it has
//! left in their directories.

use crate::cli::{OutputArgs, StopArgs};
use crate::exit::{Ended, Failure};
use crate::roster::{self, Watch};
use crate::{interrupt, plain};
use filermark_cluster::hosts::{HostLimits, HostOutcome, HostState, stop};
use filermark_cluster::launch::EveryLauncher;
use filermark_cluster::launch::tag::RunTag;
use filermark_cluster::leftovers::{Swept, sweep_leftovers};
use filermark_cluster::switchboard::Lines;
use filermark_config::Resolved;
use filermark_engine::driver::StopFlag;
use filermark_model::launch::{HostPlan, LaunchPlan, LauncherKind};
use filermark_model::plan::DriverPlan;
use serde_json::json;
use std::sync::Arc;

/// Ends the agents of the run that the rc file and SUFFIX name.
pub fn stop(args: &StopArgs) -> Ended {
    let resolved = plain::clients(&args.source)?;
    plain::listen_to_rooms(&resolved.debug, args.verbose.verbose);
    stop_run(&resolved, &args.output)
}

/// Ends the agents of a run.
pub fn stop_run(resolved: &Resolved, output: &OutputArgs) -> Ended {
    let tag = RunTag::new(&resolved.suffix).map_err(Failure::Failed)?;
    let flag = StopFlag::new();
    interrupt::on_interrupt(flag.clone(), "stopping: not all hosts were looked at");
    let limits = HostLimits {
        stop: flag.clone(),
        ..HostLimits::default()
    };
    let mut watch = Watch::new(resolved.launch.hosts.len());
    let mut hosts = stop::stop(&resolved.launch, &tag, &limits, &mut |host, step| {
        watch.hear(host, step);
    });
    watch.rest();
    if !flag.is_raised() {
        let swept = sweep(resolved, &tag, &hosts, &flag)?;
        for one in &swept {
            note(&mut hosts, &resolved.launch, one);
        }
    }
    let more = json!({ "run": tag.as_str() });
    Ok(roster::tell(&hosts, more, output, Some(&flag)))
}

/// Removes what the run has left where its clients work, as far as they can be had.
fn sweep(
    resolved: &Resolved,
    tag: &RunTag,
    hosts: &[HostOutcome],
    flag: &StopFlag,
) -> Result<Vec<Swept>, Failure> {
    let mut plan = resolved.plan.clone();
    if plan.fileset.keep || plan.driver == DriverPlan::Null {
        // The file set was to stay, or nobody said where it is.
        return Ok(Vec::new());
    }
    let mut launch = resolved.launch.clone();
    let sound = |host: &HostPlan| {
        let outcome = hosts.iter().find(|o| is_of(o, host));
        let reached = matches!(host.launcher, LauncherKind::Local | LauncherKind::Ssh);
        reached && outcome.is_some_and(|o| !o.is_failure())
    };
    let keep: Vec<bool> = launch.hosts.iter().map(sound).collect();
    let mut kept = keep.iter();
    launch.hosts.retain(|_| *kept.next().unwrap_or(&false));
    let mut kept = keep.iter();
    plan.clients.retain(|_| *kept.next().unwrap_or(&false));
    plan.procs.clear();
    if launch.hosts.is_empty() {
        return Ok(Vec::new());
    }
    let launcher = EveryLauncher::new(&launch, tag).map_err(Failure::Failed)?;
    let board = Lines::launch(&launch, Arc::new(launcher));
    Ok(sweep_leftovers(
        &plan,
        &launch,
        &resolved.suffix,
        Box::new(board),
        flag.clone(),
    ))
}

/// Whether an outcome is that of a client's host.
fn is_of(outcome: &HostOutcome, host: &HostPlan) -> bool {
    let local = LauncherKind::Local;
    if outcome.launcher == local || host.launcher == local {
        return outcome.launcher == host.launcher;
    }
    let name = outcome
        .host
        .rsplit_once('@')
        .map_or(&*outcome.host, |(_, name)| name);
    name == host.client
}

/// Into the outcome of a host with what was found in its directories.
fn note(hosts: &mut [HostOutcome], launch: &LaunchPlan, swept: &Swept) {
    let host = launch.hosts.iter().find(|h| h.client == swept.client);
    let outcome = host.and_then(|host| hosts.iter_mut().find(|o| is_of(o, host)));
    let Some(outcome) = outcome else { return };
    if swept.removed_count > 0 {
        outcome.state = HostState::Done;
        let count = swept.removed_count;
        outcome
            .detail
            .push_str(&format!("; removed {count} objects that it had left"));
    }
    for left in &swept.left {
        outcome.detail.push_str(&format!("; leftovers: {left}"));
    }
}
