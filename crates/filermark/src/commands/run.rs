//! `run`: the sweep.

use crate::cli::{OutputArgs, RunArgs};
use crate::console::Console;
use crate::copies::{Copy, write_heartbeat_log};
use crate::exit::{Ended, Failure};
use crate::talk::Talk;
use crate::{interrupt, plain, product};
use filermark_cluster::hosts::HostLimits;
use filermark_cluster::hosts::install::ensure_installed;
use filermark_cluster::launch::EveryLauncher;
use filermark_cluster::launch::tag::RunTag;
use filermark_cluster::switchboard::Lines;
use filermark_cluster::{Progress, RunOptions, RunOutcome};
use filermark_config::Resolved;
use filermark_engine::driver::StopFlag;
use filermark_model::Severity;
use filermark_model::launch::LaunchPlan;
use std::sync::Arc;

/// Runs the sweep that the rc file and the options describe.
pub fn run(args: &RunArgs) -> Ended {
    let resolved = plain::resolved(&args.source)?;
    plain::listen_to_rooms(&resolved.debug, args.verbose.verbose);
    for finding in &resolved.plan.findings {
        if finding.severity > Severity::Note || args.verbose.verbose > 0 {
            eprintln!("{}", finding.message);
        }
    }
    let outcome = sweep(resolved, &args.output)?;
    finish(&outcome, &args.output)
}

/// Carries a plan out with the talk on stderr; writes all files.
pub fn sweep(resolved: Resolved, output: &OutputArgs) -> Result<RunOutcome, Failure> {
    let stop = StopFlag::new();
    interrupt::on_interrupt(
        stop.clone(),
        "stopping: the results so far are kept, what was made on the server is removed (again: leave at once)",
    );
    let dir = resolved.work_dir.clone();
    let netmist = resolved.netmist.clone();
    // The consoles of 2014 always show the bands; netmist's does when asked to.
    let bands = netmist.as_ref().is_none_or(|n| n.bands);
    let netmist = netmist.unwrap_or_default();
    let copy = match &netmist.log {
        Some(path) => Copy::create(path).map_err(Failure::Failed)?,
        None => Copy::default(),
    };
    let console = Console::new(&resolved.plan, &dir.display().to_string(), bands);
    let points = resolved.plan.points.len();
    let mut talk = Talk::new(points, output.no_color, console, copy);
    let board = launch(&resolved.launch, &resolved.suffix, &stop, &mut |line| {
        talk.line(line)
    })?;
    let options = RunOptions {
        launch: resolved.launch,
        plan: resolved.plan,
        suffix: resolved.suffix,
        dir: resolved.work_dir,
        client_log_dir: netmist.client_log_dir.clone(),
        stop,
        observe: &mut |progress| {
            let mut troubles = Vec::new();
            if let Progress::PointEnded(record, _) = &progress {
                if let Err(Failure::Failed(why)) = product::write_html(record, &dir) {
                    troubles.push(why);
                }
                let log = netmist.heartbeat_log.as_ref();
                troubles.extend(log.and_then(|log| write_heartbeat_log(record, log).err()));
            }
            talk.hear(progress);
            for why in troubles {
                talk.line(&why);
            }
        },
    };
    let outcome = filermark_cluster::run(options, Box::new(board));
    talk.rest();
    outcome.map_err(Failure::of)
}

/// Begins to start the agents; first brings the program to where it is missing.
fn launch(
    plan: &LaunchPlan,
    suffix: &str,
    stop: &StopFlag,
    say: &mut dyn FnMut(&str),
) -> Result<Lines, Failure> {
    let tag = RunTag::new(suffix).map_err(Failure::Failed)?;
    if plan.install {
        let limits = HostLimits {
            stop: stop.clone(),
            ..HostLimits::default()
        };
        let done = ensure_installed(plan, &limits, &mut |_, _| {}).map_err(Failure::Failed)?;
        for host in done {
            say(&format!("{}: {}", host.host, host.detail));
        }
    }
    let launcher = EveryLauncher::new(plan, &tag).map_err(Failure::Failed)?;
    for line in launcher.to_do_by_hand(plan) {
        say(&line);
    }
    Ok(Lines::launch(plan, Arc::new(launcher)))
}

/// Prints the summary and says where everything is.
pub fn finish(outcome: &RunOutcome, output: &OutputArgs) -> Ended {
    let record = &outcome.record;
    let dir = outcome
        .record_path
        .parent()
        .unwrap_or_else(|| std::path::Path::new("."));
    let page = product::write_html(record, dir)?;
    // A run that never came to a load point has nothing to sum up.
    if output.json || !record.points.is_empty() {
        product::print_summary(record, output);
    }
    let names = outcome
        .files
        .iter()
        .filter_map(|f| f.file_name())
        .map(|n| n.to_string_lossy());
    eprintln!(
        "files in {}: {}",
        dir.display(),
        names.collect::<Vec<_>>().join(" ")
    );
    eprintln!("record: {}", outcome.record_path.display());
    eprintln!("report: {}", page.display());
    if let Some(reason) = product::failure_of(record) {
        eprintln!("filermark: {reason}");
    }
    Ok(product::exit_code(record))
}
