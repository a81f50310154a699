//! `energy suite`: several workloads one after the other, each with its clean-up, and their
//! reduction (slides E, "Example script to run the 4 mandatory workloads"). Workloads and
//! load points that are measured already are not measured again.

use crate::args::{SetupArgs, SuiteArgs};
use crate::background::{logs_of, read_setup};
use crate::merge::{merge_into, run_of};
use crate::reduce::{Outputs, print_text};
use crate::{Program, RunSources};
use filermark_cli_kit::exit::{CommandError, CommandResult, NOTHING_COUNTS};
use filermark_cli_kit::view::print_stderr_line;
use filermark_cli_kit::{interrupt, output};
use filermark_config::Resolved;
use filermark_energy_data::log::{Lab, Log, LogLine};
use filermark_energy_data::merge::MergeOptions;
use filermark_energy_data::reduce::{ReduceOptions, reduce_files};
use filermark_energy_data::setup::Setup;
use filermark_model::input::InputFile;
use filermark_results::read_record;
use filermark_results::resume::{ResumeError, RunState, run_state};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The rc files of the four workloads, as slides E calls them.
const RCS: [&str; 4] = [
    "sfs_rc_swbuild",
    "sfs_rc_vda",
    "sfs_rc_vdi",
    "sfs_rc_database",
];

/// A workload of the suite.
struct SuiteStep {
    rc: PathBuf,
    resolved: Resolved,
    state: StepState,
}

/// How far a workload is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum StepState {
    /// There are no files.
    ToDo,
    /// A run was interrupted before a load point was measured: its files are moved away, and
    /// it is run again.
    Cut,
    /// A run failed: its files are moved away, and it is run again.
    Failed,
    /// A run was interrupted after some load points: it continues with the next one.
    GoesOn {
        /// Load points that are measured.
        measured: usize,
        /// Load points of the plan.
        of: usize,
    },
    /// All load points are measured.
    Done,
}

impl StepState {
    fn label(self) -> String {
        match self {
            Self::ToDo => "to be run".into(),
            Self::Cut => "cut; to be run again".into(),
            Self::Failed => "failed; to be run again".into(),
            Self::GoesOn { measured, of } => {
                format!("cut; continues after load point {measured} of {of}")
            }
            Self::Done => "done".into(),
        }
    }
}

/// Runs what is not done yet, then reduces all of it.
pub fn suite(args: &SuiteArgs, program: &dyn Program) -> CommandResult {
    let setup = args.energy.as_deref().map(read_setup).transpose()?;
    let input = setup.as_ref().map(|(_, input)| input);
    let parts = parts(args, input, program)?;
    let setup = setup.as_ref().map(|(setup, _)| setup);
    let file = args.energy.as_deref().unwrap_or(Path::new("energy.toml"));
    for sentence in parts.iter().filter_map(|part| later(part, setup, file)) {
        print_stderr_line(format!("filermark: {sentence}"));
    }
    if args.dry_run {
        for part in &parts {
            let state = part.state.label();
            let rc = part.rc.display();
            output::print(&format!("{:<12} {rc:<24} {state}\n", part.resolved.suffix));
        }
        return Ok(ExitCode::SUCCESS);
    }
    let count = parts.len();
    let mut failed: Vec<String> = Vec::new();
    let mut merged = Vec::new();
    for (i, part) in parts.into_iter().enumerate() {
        if interrupt::wished() {
            return Err(CommandError::Stopped);
        }
        let (suffix, dir) = (part.resolved.suffix.clone(), part.resolved.work_dir.clone());
        let log = dir.join(format!("{suffix}.merged.jsonl"));
        match measure(
            part,
            args,
            program,
            &format!("[{} of {count}] {suffix}", i + 1),
        ) {
            Ok(()) if log.exists() => merged.push(log),
            Ok(()) => {}
            Err(CommandError::Stopped) => return Err(CommandError::Stopped),
            Err(failure) if args.keep_going => {
                print_stderr_line(format!("filermark: {suffix}: {}", failure.reason()));
                failed.push(suffix);
            }
            Err(failure) => return Err(with_hint(failure)),
        }
    }
    reduce(args, &merged)?;
    match failed.is_empty() {
        true => Ok(ExitCode::SUCCESS),
        false => Err(CommandError::Failed(format!(
            "not measured: {}; the same command tries them again",
            failed.join(", ")
        ))),
    }
}

/// Measures one workload, or reports that it is done.
fn measure(
    part: SuiteStep,
    args: &SuiteArgs,
    program: &dyn Program,
    title: &str,
) -> Result<(), CommandError> {
    let (rc, suffix) = (part.rc.display().to_string(), part.resolved.suffix.clone());
    match part.state {
        StepState::Done => {
            print_stderr_line(format!("{title}: done already ({rc})"));
            return match args.energy {
                Some(_) => merge_again(&part.resolved.work_dir, &suffix),
                None => Ok(()),
            };
        }
        StepState::Cut | StepState::Failed => {
            let kept = move_away(&part.resolved.work_dir, &suffix)?;
            let what = match part.state {
                StepState::Failed => "failed",
                _ => "was cut",
            };
            print_stderr_line(format!(
                "{title}: a run that {what} is kept in {}",
                kept.display()
            ));
        }
        StepState::GoesOn { .. } => print_stderr_line(format!("{title}: {}", part.state.label())),
        StepState::ToDo => {}
    }
    print_stderr_line(format!("{title}: {rc}"));
    let setup = SetupArgs {
        energy: args.energy.clone(),
    };
    let is_resumed = matches!(part.state, StepState::GoesOn { .. });
    let code = program.run(part.resolved, &setup, is_resumed)?;
    // A run without a valid load point is done, too: its report has the reason.
    let done = [ExitCode::SUCCESS, ExitCode::from(NOTHING_COUNTS)];
    match done.contains(&code) {
        true => Ok(()),
        false if interrupt::wished() => Err(CommandError::Stopped),
        false => Err(CommandError::Failed(format!("{suffix}: the run failed"))),
    }
}

/// Merges a finished run whose merged log is missing: writing it failed, or it was removed.
fn merge_again(dir: &Path, suffix: &str) -> Result<(), CommandError> {
    let place = |ending: &str| dir.join(format!("{suffix}.{ending}.jsonl"));
    let (record, merged) = (place("run"), place("merged"));
    if merged.exists() {
        return Ok(());
    }
    let logs = logs_of(dir, suffix).0;
    if logs.is_empty() {
        return Err(CommandError::Failed(format!(
            "{suffix} was measured without --energy: {} is not there; move {} away to measure it again",
            place("energy").display(),
            record.display()
        )));
    }
    let read = read_record(&record).map_err(CommandError::of)?;
    let runs = [run_of(&read, 0, &record)];
    merge_into(&runs, &logs, &MergeOptions::default(), &merged, false)?;
    print_stderr_line(format!("merged: {}", merged.display()));
    Ok(())
}

/// The workloads of the command line, resolved: an error in the last is reported before the
/// first has run for hours.
fn parts(
    args: &SuiteArgs,
    input: Option<&InputFile>,
    program: &dyn Program,
) -> Result<Vec<SuiteStep>, CommandError> {
    let default = RCS.map(str::to_owned);
    let rcs: &[String] = match args.rcs.is_empty() {
        true => &default,
        false => &args.rcs,
    };
    let mut parts: Vec<SuiteStep> = Vec::new();
    for text in rcs {
        let (suffix, rc) = match text.split_once('=') {
            Some((suffix, rc)) => (suffix.to_owned(), PathBuf::from(rc)),
            None => (suffix_of(text), PathBuf::from(text)),
        };
        let part = part(suffix, rc, args, input, program)?;
        let same = |other: &&SuiteStep| other.resolved.suffix == part.resolved.suffix;
        if let Some(other) = parts.iter().find(same) {
            let sentence = format!(
                "{} and {} both have the suffix {}; give SUFFIX=RC",
                other.rc.display(),
                part.rc.display(),
                part.resolved.suffix
            );
            return Err(CommandError::Usage(vec![sentence]));
        }
        parts.push(part);
    }
    Ok(parts)
}

/// `sfs_rc_vda` is `vda`; any other name is its own.
fn suffix_of(rc: &str) -> String {
    let name = Path::new(rc)
        .file_name()
        .unwrap_or_default()
        .to_string_lossy();
    let rest = name
        .strip_prefix("sfs_rc")
        .map(|rest| rest.trim_start_matches(['_', '.', '-']));
    let named = rest.filter(|rest| !rest.is_empty());
    named.unwrap_or(&name).to_owned()
}

fn part(
    suffix: String,
    rc: PathBuf,
    args: &SuiteArgs,
    input: Option<&InputFile>,
    program: &dyn Program,
) -> Result<SuiteStep, CommandError> {
    // Each workload needs the space that the one before had (slides E).
    let mut options = vec!["KEEP=no".to_owned()];
    options.extend(args.options.iter().cloned());
    let resolved = program.resolve(RunSources {
        rc: rc.clone(),
        suffix,
        dir: args.dir.clone(),
        options,
    })?;
    let state = state(&resolved, input)?;
    Ok(SuiteStep {
        rc,
        resolved,
        state,
    })
}

/// How far the files of the workload are. `input`: the energy setup.
fn state(resolved: &Resolved, input: Option<&InputFile>) -> Result<StepState, CommandError> {
    let (dir, suffix) = (&resolved.work_dir, &resolved.suffix);
    let path = dir.join(format!("{suffix}.run.jsonl"));
    if !path.exists() {
        // A suite that was ended while the server was idle leaves a log without a record.
        let is_left = !logs_of(dir, suffix).0.is_empty();
        return Ok(if is_left {
            StepState::Cut
        } else {
            StepState::ToDo
        });
    }
    let usage = |sentence: String| CommandError::Usage(vec![sentence]);
    let inputs: Vec<&InputFile> = resolved.inputs.iter().chain(input).collect();
    let version = env!("CARGO_PKG_VERSION");
    match run_state(&path, &resolved.plan, &inputs, version) {
        Ok((RunState::Cut, _)) => Ok(StepState::Cut),
        Ok((RunState::Failed, _)) => Ok(StepState::Failed),
        Ok((RunState::Done, _)) => Ok(StepState::Done),
        Ok((RunState::GoesOn { measured, of, .. }, _)) => Ok(StepState::GoesOn { measured, of }),
        Err(ResumeError::Read(e)) => Err(usage(e.to_string())),
        Err(e @ ResumeError::OtherPlan { .. }) => Err(usage(format!(
            "{}: {e}{}; move it away, or give another suffix (SUFFIX=RC) or directory (-d)",
            path.display(),
            e.differences()
        ))),
        Err(ResumeError::Changed(changes)) => Err(usage(format!(
            "{}: this run was cut and cannot be continued, since {}; undo that, or move {suffix}.* away to measure all of it again, or give another suffix (SUFFIX=RC) or directory (-d)",
            path.display(),
            changes.join(", ")
        ))),
    }
}

/// For a workload that is done: what the energy setup has now and the merged log does not.
/// Nothing is merged again automatically.
fn later(part: &SuiteStep, setup: Option<&Setup>, file: &Path) -> Option<String> {
    let setup = setup.filter(|_| part.state == StepState::Done)?;
    let (dir, suffix) = (&part.resolved.work_dir, &part.resolved.suffix);
    let log = dir.join(format!("{suffix}.merged.jsonl"));
    if !log.exists() {
        // `measure` merges it, or reports that it is missing.
        return None;
    }
    let its = match Log::open(&log).map(|mut log| log.next()) {
        Ok(Some(Ok(LogLine::Energy(head)))) => head.lab,
        // The reduction reports what is wrong with it.
        _ => return None,
    };
    let changes = changes(&setup.lab, &its, file);
    if changes.is_empty() {
        return None;
    }
    let (sentences, options): (Vec<_>, Vec<_>) = changes.into_iter().unzip();
    let record = dir.join(format!("{suffix}.run.jsonl"));
    let logs = logs_of(dir, suffix).0;
    let logs: Vec<String> = logs.iter().map(|log| log.display().to_string()).collect();
    Some(format!(
        "{suffix}: {} since it was merged, which stays as it is; to merge again: filermark energy merge {} {} {} -o {} --force",
        sentences.join(", "),
        record.display(),
        logs.join(" "),
        options.join(" "),
        log.display()
    ))
}

/// What has changed in the lab: in words, and as an option of `energy merge`. A value that
/// was removed from the setup cannot be removed by an option, and is not listed.
fn changes(now: &Lab, merged: &Lab, file: &Path) -> Vec<(String, String)> {
    let shown = |value: Option<f64>| value.map(|value| value.to_string());
    let (drives, were) = (now.drives.map(f64::from), merged.drives.map(f64::from));
    let ports = |lab: &Lab| (!lab.ports.is_empty()).then(|| lab.ports.join(","));
    let fields = [
        ("drives", "--drives", shown(drives), shown(were)),
        (
            "raw_capacity_gb",
            "--raw-capacity",
            shown(now.raw_capacity_gb),
            shown(merged.raw_capacity_gb),
        ),
        (
            "nominal_voltage_v",
            "--nominal-voltage",
            shown(now.nominal_voltage_v),
            shown(merged.nominal_voltage_v),
        ),
        ("ports", "--ports", ports(now), ports(merged)),
    ];
    let differ = fields.into_iter().filter_map(|(name, option, now, was)| {
        let new = now.filter(|new| was.as_ref() != Some(new))?;
        let was = was.map_or_else(|| "was not given".to_owned(), |was| format!("was {was}"));
        Some((
            format!("{name} is {new} ({was})"),
            format!("{option} '{new}'"),
        ))
    });
    let mut differ: Vec<(String, String)> = differ.collect();
    let texts = now.texts().into_iter().zip(merged.texts());
    let texts: Vec<String> = texts
        .filter(|((_, _, now), (_, _, was))| now.is_some() && now != was)
        .map(|((name, _, _), _)| name)
        .collect();
    if !texts.is_empty() {
        let sentence = format!(
            "the setup has new or changed values of {}",
            texts.join(", ")
        );
        differ.push((sentence, format!("--energy '{}'", file.display())));
    }
    differ
}

/// Moves the files of an interrupted run into a directory of their own; nothing is removed.
fn move_away(dir: &Path, suffix: &str) -> Result<PathBuf, CommandError> {
    let failed = |e: std::io::Error| CommandError::of(format!("{}: {e}", dir.display()));
    let free = (1..).map(|n| dir.join(format!("{suffix}.cut{n}")));
    let kept = free
        .into_iter()
        .find(|path| !path.exists())
        .unwrap_or_default();
    std::fs::create_dir(&kept).map_err(failed)?;
    let mut files = logs_of(dir, suffix).0;
    files.extend(["run", "merged"].map(|what| dir.join(format!("{suffix}.{what}.jsonl"))));
    for file in files.iter().filter(|file| file.exists()) {
        let name = file.file_name().unwrap_or_default();
        std::fs::rename(file, kept.join(name)).map_err(failed)?;
    }
    Ok(kept)
}

/// The tables and the report of all workloads together.
fn reduce(args: &SuiteArgs, merged: &[PathBuf]) -> Result<(), CommandError> {
    let Some(first) = merged.first() else {
        if args.energy.is_some() {
            print_stderr_line("nothing to reduce: no run has an energy log");
        }
        return Ok(());
    };
    let reduction = reduce_files(merged, &ReduceOptions::default()).map_err(CommandError::of)?;
    Outputs::named(&first.with_file_name("suite.energy")).write(&reduction)?;
    print_text(&reduction);
    Ok(())
}

fn with_hint(failure: CommandError) -> CommandError {
    match failure {
        CommandError::Failed(reason) => CommandError::Failed(format!(
            "{reason}; finished workloads are kept, the same command continues from here (--keep-going: with the next workload)"
        )),
        other => other,
    }
}
