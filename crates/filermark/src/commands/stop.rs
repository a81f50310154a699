//! `stop`: ends what a run has left running on its clients, and removes what it has
//! left in their directories.

use crate::cli::{OutputArgs, StopArgs};
use crate::exit::{Ended, Failure};
use crate::roster::{self, Watch};
use crate::{interrupt, plain};
use filermark_config::Resolved;
use filermark_engine::driver::StopFlag;
use filermark_hosts::admin::{HostLimits, HostOutcome, HostState, stop};
use filermark_hosts::launch::EveryLauncher;
use filermark_hosts::launch::tag::RunTag;
use filermark_link::switchboard::Lines;
use filermark_model::launch::{HostPlan, LaunchPlan, LauncherKind};
use filermark_model::plan::Target;
use filermark_prime::leftovers::{Left, Swept, run_id_front, sweep_leftovers};
use filermark_results::record::fingerprint;
use serde_json::json;
use std::sync::Arc;

/// Ends the agents of the run that the rc file and SUFFIX name.
pub fn stop(args: &StopArgs) -> Ended {
    let resolved = plain::clients(&args.source)?;
    plain::listen_to_rooms(&resolved.debug, args.verbose.verbose);
    stop_run(&resolved, args.force, &args.output)
}

/// Ends the agents of a run.
pub fn stop_run(resolved: &Resolved, force: bool, output: &OutputArgs) -> Ended {
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
        match may_sweep(resolved, force, &hosts) {
            Ok(()) => {
                for one in sweep(resolved, force, &tag, &flag)? {
                    note(&mut hosts, &resolved.launch, &one);
                }
            }
            Err(Unswept::Unknown(why)) => {
                eprintln!("what was left in directories stays: {why}");
            }
            Err(Unswept::Kept) => {
                let command = &resolved.stop_command;
                for host in &mut hosts {
                    host.state = HostState::Failed;
                    host.detail.push_str(&format!(
                        "; KEEP=on: what it has kept stays; `{command} --force` removes it"
                    ));
                }
            }
        }
    }
    let more = json!({ "run": tag.as_str() });
    Ok(roster::tell(&hosts, more, output, Some(&flag)))
}

/// Why nothing may be removed.
enum Unswept {
    /// It was to stay.
    Kept,
    /// Nobody knows where it is, or whether somebody is still at work there.
    Unknown(String),
}

fn may_sweep(resolved: &Resolved, force: bool, hosts: &[HostOutcome]) -> Result<(), Unswept> {
    if resolved.plan.driver.facts().target == Target::Nothing {
        let why = "nobody says where it is; give the rc file or the options of the run (-r, \
            -o MNT_POINTS=, -o CLIENT_MOUNTPOINTS=)";
        return Err(Unswept::Unknown(why.into()));
    }
    if resolved.plan.fileset.keep && !force {
        return Err(Unswept::Kept);
    }
    let unsure = |o: &&HostOutcome| matches!(o.state, HostState::Failed | HostState::ByHand);
    match hosts.iter().find(unsure) {
        Some(host) => Err(Unswept::Unknown(format!(
            "agents may still be at work on {}; end them there, then stop again",
            host.host
        ))),
        None => Ok(()),
    }
}

/// Removes what the run has left where its clients work, as far as they can be had.
fn sweep(
    resolved: &Resolved,
    force: bool,
    tag: &RunTag,
    flag: &StopFlag,
) -> Result<Vec<Swept>, Failure> {
    let (mut plan, launch) = (resolved.plan.clone(), resolved.launch.clone());
    let run_id = match force {
        true => String::new(),
        false => run_id_front(&resolved.suffix, &fingerprint(&plan)),
    };
    plan.procs.clear();
    let launcher = EveryLauncher::new(&launch, tag, None).map_err(Failure::Failed)?;
    let board = Lines::launch(&launch, Arc::new(launcher));
    Ok(sweep_leftovers(
        &plan,
        &launch,
        &resolved.suffix,
        &run_id,
        Box::new(board),
        flag.clone(),
        &mut |sentence| eprintln!("{sentence}"),
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
    for Left { sentence, .. } in &swept.left {
        outcome.state = HostState::Failed;
        outcome.detail.push_str(&format!("; leftovers: {sentence}"));
        if sentence.contains("it belongs to run") {
            outcome
                .detail
                .push_str(" (made with another rc file or other options? --force removes it)");
        }
    }
}
