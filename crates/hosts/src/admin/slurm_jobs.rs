//! The remaining jobs and steps of a run in Slurm: found by their name, and ended by Slurm's
//! own programs; their agents clean up when their links end.

use super::HostState;
use crate::launch::slurm::job_name;
use crate::launch::tag::RunTag;
use filermark_link::tool::{self, ToolError};
use filermark_model::launch::LaunchPlan;
use std::path::Path;
use std::time::Duration;

/// How long one of Slurm's programs may take.
const TOOL_MAX: Duration = Duration::from_secs(20);
/// Jobs and steps that are ended in one call.
const JOBS_MAX: usize = 100;

/// Ends the jobs of a run, or its steps if inside an allocation.
///
/// # Errors
/// A message: Slurm's programs are missing or do not answer.
pub(super) fn end_jobs(plan: &LaunchPlan, tag: &RunTag) -> Result<(HostState, String), String> {
    let squeue = beside_srun(plan, "squeue");
    let name = job_name(tag);
    let mut ids = Vec::new();
    // Steps first: an enclosing job of this user does not belong to the run.
    for steps in [&["--steps"][..], &[]] {
        let args = [steps, &["--me", "--noheader", "--format=%i %j"]].concat();
        let output = run(&squeue, &args)?;
        ids.extend(named(&output, &name));
    }
    if ids.is_empty() {
        return Ok((
            HostState::Nothing,
            format!("Slurm has no job of run '{tag}'"),
        ));
    }
    let mut args = vec!["--quiet"];
    args.extend(ids.iter().map(String::as_str));
    run(&beside_srun(plan, "scancel"), &args)?;
    let ids = ids.join(", ");
    Ok((HostState::Done, format!("ended Slurm's {ids}")))
}

/// The first words of the lines whose second word is this name.
fn named(lines: &str, name: &str) -> Vec<String> {
    let id = |line: &str| {
        let mut words = line.split_whitespace();
        let id = words.next()?;
        let sound = id
            .bytes()
            .all(|b| b.is_ascii_digit() || b"._+".contains(&b));
        (sound && words.next() == Some(name)).then(|| id.to_owned())
    };
    lines.lines().filter_map(id).take(JOBS_MAX).collect()
}

fn run(program: &str, args: &[&str]) -> Result<String, String> {
    match tool::run(program, args, TOOL_MAX) {
        Ok(output) if output.is_success => Ok(output.stdout),
        Ok(output) => Err(format!("{program}: {}", output.stderr)),
        Err(ToolError::Missing) => Err(format!(
            "{program} is not on this host: on a host with Slurm, `squeue --me` lists the remaining jobs, `scancel JOB` ends one"
        )),
        Err(ToolError::Failed(why)) => Err(why),
    }
}

/// Another program of Slurm, in the directory of `srun`.
fn beside_srun(plan: &LaunchPlan, program: &str) -> String {
    let srun = plan.srun_command.first().map(Path::new);
    match srun.and_then(Path::parent) {
        Some(dir) if dir != Path::new("") => dir.join(program).display().to_string(),
        _ => program.to_owned(),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn only_jobs_with_the_runs_name_are_selected() {
        let lines = "12 filermark-mine\n13.0 filermark-mine\n14 filermark-mine2\n15 bash\n\n\
                     -a filermark-mine\n16_[1-3] filermark-mine\n";
        assert_eq!(named(lines, "filermark-mine"), ["12", "13.0"]);
    }

    #[test]
    fn slurms_programs_are_in_the_directory_of_srun() {
        let mut plan = LaunchPlan::local([]);
        assert_eq!(beside_srun(&plan, "scancel"), "scancel");
        plan.srun_command = vec!["/opt/slurm/bin/srun".into(), "-p".into()];
        assert_eq!(beside_srun(&plan, "scancel"), "/opt/slurm/bin/scancel");
    }
}
