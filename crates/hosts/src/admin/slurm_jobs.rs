//! The jobs and steps of a run that Slurm still has: found by their name, and ended.
//! Slurm's own programs do both; their agents clean up when their links end.

use super::HostState;
use crate::launch::slurm::job_name;
use crate::launch::tag::RunTag;
use filermark_link::tool::{self, ToolError};
use filermark_model::launch::LaunchPlan;
use std::path::Path;
use std::time::Duration;

/// How long one of Slurm's programs may take.
const TOOL_MAX: Duration = Duration::from_secs(20);
/// Jobs and steps that are ended at once.
const JOBS_MAX: usize = 100;

/// Ends the jobs, or the steps in an allocation around, of a run.
///
/// # Errors
/// One sentence: Slurm's programs are missing or do not answer.
pub(super) fn end_jobs(plan: &LaunchPlan, tag: &RunTag) -> Result<(HostState, String), String> {
    let squeue = beside_srun(plan, "squeue");
    let name = job_name(tag);
    let mut ids = Vec::new();
    // Steps first: a job that this user made around them is not ours to end.
    for steps in [&["--steps"][..], &[]] {
        let args = [steps, &["--me", "--noheader", "--format=%i %j"]].concat();
        let said = run(&squeue, &args)?;
        ids.extend(named(&said, &name));
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

/// The first words of the lines whose second is this name.
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
        Ok(said) if said.is_success => Ok(said.stdout),
        Ok(said) => Err(format!("{program}: {}", said.stderr)),
        Err(ToolError::Missing) => Err(format!(
            "{program} is not here: where Slurm is, `squeue --me` shows what is left, `scancel JOB` ends it"
        )),
        Err(ToolError::Failed(why)) => Err(why),
    }
}

/// Another of Slurm's programs, where `srun` was taken from.
fn beside_srun(plan: &LaunchPlan, program: &str) -> String {
    let srun = plan.srun_command.first().map(Path::new);
    match srun.and_then(Path::parent) {
        Some(dir) if dir != Path::new("") => dir.join(program).display().to_string(),
        _ => program.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_has_the_runs_name_is_taken() {
        let lines = "12 filermark-mine\n13.0 filermark-mine\n14 filermark-mine2\n15 bash\n\n\
                     -a filermark-mine\n16_[1-3] filermark-mine\n";
        assert_eq!(named(lines, "filermark-mine"), ["12", "13.0"]);
    }

    #[test]
    fn slurms_programs_lie_beside_srun() {
        let mut plan = LaunchPlan::local([]);
        assert_eq!(beside_srun(&plan, "scancel"), "scancel");
        plan.srun_command = vec!["/opt/slurm/bin/srun".into(), "-p".into()];
        assert_eq!(beside_srun(&plan, "scancel"), "/opt/slurm/bin/scancel");
    }
}
