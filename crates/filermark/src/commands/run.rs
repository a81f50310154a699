//! `run`: the sweep.

use crate::cli::{OutputArgs, RunArgs};
use crate::exit::{Ended, Failure};
use crate::talk::Talk;
use crate::{interrupt, plain, product};
use filermark_cluster::launch::LocalLauncher;
use filermark_cluster::{Progress, RunOptions, RunOutcome};
use filermark_config::Resolved;
use filermark_engine::driver::StopFlag;
use filermark_model::Severity;

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
    let mut talk = Talk::new(resolved.plan.points.len(), output.no_color);
    let dir = resolved.work_dir.clone();
    let outcome = filermark_cluster::run(RunOptions {
        plan: resolved.plan,
        suffix: resolved.suffix,
        dir: resolved.work_dir,
        stop,
        launcher: &LocalLauncher,
        observe: &mut |progress| {
            let page = match &progress {
                Progress::PointEnded(record, _) => product::write_html(record, &dir).err(),
                _ => None,
            };
            talk.hear(progress);
            if let Some(Failure::Failed(why)) = page {
                talk.line(&why);
            }
        },
    });
    talk.rest();
    outcome.map_err(Failure::of)
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
