//! `stop`: ends the processes of a run on its clients, and removes its files there.

use crate::cli::{OutputArgs, StopArgs};
use crate::host_table::{self, HostTable};
use crate::resolve_args;
use filermark_cli_kit::exit::{CommandError, CommandResult};
use filermark_cli_kit::interrupt;
use filermark_config::Resolved;
use filermark_engine::driver::StopFlag;
use filermark_hosts::admin::{HostLimits, HostOutcome, HostState, stop};
use filermark_hosts::launch::MixedLauncher;
use filermark_hosts::launch::tag::RunTag;
use filermark_link::links::ThreadLinks;
use filermark_model::launch::{HostPlan, LaunchPlan, LauncherKind};
use filermark_model::plan::Target;
use filermark_prime::leftovers::{CleanupReport, Leftover, run_id_front, sweep_leftovers};
use filermark_results::record::fingerprint;
use serde_json::json;
use std::sync::Arc;

/// Ends the agents of the run that the rc file and SUFFIX name.
pub fn stop(args: &StopArgs) -> CommandResult {
    let resolved = resolve_args::clients(&args.source)?;
    resolve_args::init_tracing(&resolved.debug, args.verbose.verbose);
    stop_run(&resolved, args.force, &args.output)
}

/// Ends the agents of a run.
pub fn stop_run(resolved: &Resolved, force: bool, output: &OutputArgs) -> CommandResult {
    let tag = RunTag::new(&resolved.suffix).map_err(CommandError::Failed)?;
    let flag = StopFlag::new();
    interrupt::on_interrupt(flag.clone(), "stopping: not all hosts were checked");
    let limits = HostLimits {
        stop: flag.clone(),
        ..HostLimits::default()
    };
    let mut watch = HostTable::new(resolved.launch.hosts.len());
    let mut hosts = stop::stop(&resolved.launch, &tag, &limits, &mut |host, step| {
        watch.on_step(host, step);
    });
    watch.rest();
    if !flag.is_raised() {
        match may_sweep(resolved, force, &hosts) {
            Ok(()) => {
                for one in sweep(resolved, force, &tag, &flag)? {
                    note(&mut hosts, &resolved.launch, &one);
                }
            }
            Err(CleanupRefused::Unknown(why)) => {
                filermark_cli_kit::stderr_line!("files in directories are not removed: {why}");
            }
            Err(CleanupRefused::Kept) => {
                let command = &resolved.stop_command;
                for host in &mut hosts {
                    host.state = HostState::Failed;
                    host.detail.push_str(&format!(
                        "; KEEP=on: its file set is kept; `{command} --force` removes it"
                    ));
                }
            }
        }
    }
    let more = json!({ "run": tag.as_str() });
    Ok(host_table::print(&hosts, more, output, Some(&flag)))
}

/// Why no files may be removed.
enum CleanupRefused {
    /// The file set is to be kept.
    Kept,
    /// Its location is unknown, or an agent may still be running there.
    Unknown(String),
}

fn may_sweep(
    resolved: &Resolved,
    force: bool,
    hosts: &[HostOutcome],
) -> Result<(), CleanupRefused> {
    if resolved.plan.driver.facts().target == Target::Nothing {
        let why = "its location is unknown; give the rc file or the options of the run (-r, \
            -o MNT_POINTS=, -o CLIENT_MOUNTPOINTS=)";
        return Err(CleanupRefused::Unknown(why.into()));
    }
    if resolved.plan.fileset.keep && !force {
        return Err(CleanupRefused::Kept);
    }
    let unsure = |o: &&HostOutcome| matches!(o.state, HostState::Failed | HostState::ByHand);
    match hosts.iter().find(unsure) {
        Some(host) => Err(CleanupRefused::Unknown(format!(
            "agents may still be running on {}; end them there, then run stop again",
            host.host
        ))),
        None => Ok(()),
    }
}

/// Removes the files of the run at its mount points, on the clients that can be reached.
fn sweep(
    resolved: &Resolved,
    force: bool,
    tag: &RunTag,
    flag: &StopFlag,
) -> Result<Vec<CleanupReport>, CommandError> {
    let (mut plan, launch) = (resolved.plan.clone(), resolved.launch.clone());
    let run_id = match force {
        true => String::new(),
        false => run_id_front(&resolved.suffix, &fingerprint(&plan)),
    };
    plan.procs.clear();
    let launcher = MixedLauncher::new(&launch, tag, None).map_err(CommandError::Failed)?;
    let board = ThreadLinks::launch(&launch, Arc::new(launcher));
    Ok(sweep_leftovers(
        &plan,
        &launch,
        &resolved.suffix,
        &run_id,
        Box::new(board),
        flag.clone(),
        &mut |sentence| filermark_cli_kit::stderr_line!("{sentence}"),
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

/// Adds the result of removing files to the outcome of a host.
fn note(hosts: &mut [HostOutcome], launch: &LaunchPlan, swept: &CleanupReport) {
    let host = launch.hosts.iter().find(|h| h.client == swept.client);
    let outcome = host.and_then(|host| hosts.iter_mut().find(|o| is_of(o, host)));
    let Some(outcome) = outcome else { return };
    if swept.removed_count > 0 {
        outcome.state = HostState::Done;
        let count = swept.removed_count;
        outcome
            .detail
            .push_str(&format!("; removed {count} leftover objects"));
    }
    for Leftover { sentence, .. } in &swept.left {
        outcome.state = HostState::Failed;
        outcome.detail.push_str(&format!("; leftovers: {sentence}"));
        if sentence.contains("it belongs to run") {
            outcome
                .detail
                .push_str(" (made with another rc file or other options? --force removes it)");
        }
    }
}
