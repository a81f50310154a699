//! `energy suite`: several workloads one after the other, each with its clean-up, and their
//! reduction (seed 003, "Example script to run the 4 mandatory workloads"). What is done
//! already is not done again.

use super::merge::{merge_into, run_of};
use super::reduce::{Outputs, print_text};
use crate::cli::SourceArgs;
use crate::cli::energy::SuiteArgs;
use crate::cli::{EventsArgs, OutputArgs};
use crate::commands::run;
use crate::exit::{Ended, Failure, NOTHING_COUNTS};
use crate::live::say_line;
use crate::{interrupt, plain, product};
use filermark_config::Resolved;
use filermark_energy::log::{Lab, Log, LogLine};
use filermark_energy::merge::MergeOptions;
use filermark_energy::reduce::{ReduceOptions, reduce_files};
use filermark_energy::setup::Setup;
use filermark_results::{Outcome, fingerprint, read_record};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The rc files of the four workloads, as seed 003 calls them.
const RCS: [&str; 4] = [
    "sfs_rc_swbuild",
    "sfs_rc_vda",
    "sfs_rc_vdi",
    "sfs_rc_database",
];

/// A workload of the suite.
struct Part {
    rc: PathBuf,
    resolved: Resolved,
    state: State,
}

/// How far it is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Nothing is there.
    ToDo,
    /// A run was cut, or never came to a load point: its files are moved away, and it is run anew.
    Cut,
    /// Measured to its end.
    Done,
}

/// Runs what is not done yet, then reduces all of it.
pub fn suite(args: &SuiteArgs) -> Ended {
    let setup = match &args.energy {
        Some(file) => Some(Setup::read(file).map_err(|e| Failure::Usage(vec![e.to_string()]))?),
        None => None,
    };
    let parts = parts(args)?;
    for sentence in parts.iter().filter_map(|part| later(part, setup.as_ref())) {
        say_line(format!("filermark: {sentence}"));
    }
    if args.dry_run {
        for part in &parts {
            let state = match part.state {
                State::ToDo => "to be run",
                State::Cut => "cut; to be run anew",
                State::Done => "done",
            };
            let rc = part.rc.display();
            product::print(&format!("{:<12} {rc:<24} {state}\n", part.resolved.suffix));
        }
        return Ok(ExitCode::SUCCESS);
    }
    let count = parts.len();
    let mut failed: Vec<String> = Vec::new();
    let mut merged = Vec::new();
    for (i, part) in parts.into_iter().enumerate() {
        if interrupt::wished() {
            return Err(Failure::Stopped);
        }
        let (suffix, dir) = (part.resolved.suffix.clone(), part.resolved.work_dir.clone());
        let log = dir.join(format!("{suffix}.merged.jsonl"));
        match measure(part, args, &format!("[{} of {count}] {suffix}", i + 1)) {
            Ok(()) if log.exists() => merged.push(log),
            Ok(()) => {}
            Err(Failure::Stopped) => return Err(Failure::Stopped),
            Err(failure) if args.keep_going => {
                say_line(format!("filermark: {suffix}: {}", failure.reason()));
                failed.push(suffix);
            }
            Err(failure) => return Err(with_hint(failure)),
        }
    }
    reduce(args, &merged)?;
    match failed.is_empty() {
        true => Ok(ExitCode::SUCCESS),
        false => Err(Failure::Failed(format!(
            "not measured: {}; the same command tries them again",
            failed.join(", ")
        ))),
    }
}

/// Measures one workload, or says that it is done.
fn measure(part: Part, args: &SuiteArgs, title: &str) -> Result<(), Failure> {
    let (rc, suffix) = (part.rc.display().to_string(), part.resolved.suffix.clone());
    match part.state {
        State::Done => {
            say_line(format!("{title}: done already ({rc})"));
            return match args.energy {
                Some(_) => merge_again(&part.resolved.work_dir, &suffix),
                None => Ok(()),
            };
        }
        State::Cut => {
            let kept = move_away(&part.resolved.work_dir, &suffix)?;
            say_line(format!(
                "{title}: a run that was cut is kept in {}",
                kept.display()
            ));
        }
        State::ToDo => {}
    }
    say_line(format!("{title}: {rc}"));
    plain::listen_to_rooms(&part.resolved.debug, 0);
    let output = OutputArgs::default();
    let events = EventsArgs::default();
    let code = run::carry_out(part.resolved, &output, &events, args.energy.as_deref())?;
    // A run of which no load point counts is done, too: its report says why.
    let done = [ExitCode::SUCCESS, ExitCode::from(NOTHING_COUNTS)];
    match done.contains(&code) {
        true => Ok(()),
        false if interrupt::wished() => Err(Failure::Stopped),
        false => Err(Failure::Failed(format!("{suffix}: the run failed"))),
    }
}

/// A run that is done, and whose merged log is missing: its report failed, or was removed.
fn merge_again(dir: &Path, suffix: &str) -> Result<(), Failure> {
    let place = |ending: &str| dir.join(format!("{suffix}.{ending}.jsonl"));
    let (record, log, merged) = (place("run"), place("energy"), place("merged"));
    if merged.exists() {
        return Ok(());
    }
    if !log.exists() {
        return Err(Failure::Failed(format!(
            "{suffix} was measured without --energy: {} is not there; move {} away to measure it again",
            log.display(),
            record.display()
        )));
    }
    let read = read_record(&record).map_err(Failure::of)?;
    let runs = [run_of(&read, 0, &record)];
    merge_into(&runs, &[log], &MergeOptions::default(), &merged, false)?;
    say_line(format!("merged: {}", merged.display()));
    Ok(())
}

/// The workloads of the command line, resolved: a mistake in the last is told before the
/// first has run for hours.
fn parts(args: &SuiteArgs) -> Result<Vec<Part>, Failure> {
    let default = RCS.map(str::to_owned);
    let rcs: &[String] = match args.rcs.is_empty() {
        true => &default,
        false => &args.rcs,
    };
    let mut parts: Vec<Part> = Vec::new();
    for text in rcs {
        let (suffix, rc) = match text.split_once('=') {
            Some((suffix, rc)) => (suffix.to_owned(), PathBuf::from(rc)),
            None => (suffix_of(text), PathBuf::from(text)),
        };
        let part = part(suffix, rc, args)?;
        let same = |other: &&Part| other.resolved.suffix == part.resolved.suffix;
        if let Some(other) = parts.iter().find(same) {
            let sentence = format!(
                "{} and {} both have the suffix {}; say SUFFIX=RC",
                other.rc.display(),
                part.rc.display(),
                part.resolved.suffix
            );
            return Err(Failure::Usage(vec![sentence]));
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

fn part(suffix: String, rc: PathBuf, args: &SuiteArgs) -> Result<Part, Failure> {
    // Each workload needs the space that the one before had (seed 003).
    let mut options = vec!["KEEP=no".to_owned()];
    options.extend(args.options.iter().cloned());
    let resolved = plain::resolved(&SourceArgs {
        rc: Some(rc.clone()),
        suffix: Some(suffix),
        dir: args.dir.clone(),
        options,
        benchmarks: None,
    })?;
    let state = state(&resolved)?;
    Ok(Part {
        rc,
        resolved,
        state,
    })
}

/// What is there of it.
fn state(resolved: &Resolved) -> Result<State, Failure> {
    let path = resolved
        .work_dir
        .join(format!("{}.run.jsonl", resolved.suffix));
    if !path.exists() {
        // A suite that was ended while the server rested leaves a log without a record.
        let log = resolved
            .work_dir
            .join(format!("{}.energy.jsonl", resolved.suffix));
        return Ok(if log.exists() {
            State::Cut
        } else {
            State::ToDo
        });
    }
    let record = read_record(&path).map_err(|e| Failure::Usage(vec![e.to_string()]))?;
    // One that never came to a load point has nothing that another plan could not have.
    if record.points.is_empty() {
        return Ok(State::Cut);
    }
    if record.run.fingerprint != fingerprint(&resolved.plan) {
        return Err(Failure::Usage(vec![format!(
            "{}: this is a run of another plan than the rc file has now; move it away, or give another suffix (SUFFIX=RC) or directory (-d)",
            path.display()
        )]));
    }
    let complete = matches!(record.end, Some(end) if end.outcome == Outcome::Complete);
    Ok(if complete { State::Done } else { State::Cut })
}

/// Where a part is done: what the file of the collection says now, and its merged log does
/// not. Nothing is merged again by itself.
fn later(part: &Part, setup: Option<&Setup>) -> Option<String> {
    let setup = setup.filter(|_| part.state == State::Done)?;
    let (dir, suffix) = (&part.resolved.work_dir, &part.resolved.suffix);
    let log = dir.join(format!("{suffix}.merged.jsonl"));
    if !log.exists() {
        // It is merged, or missed, when its turn comes.
        return None;
    }
    let its = match Log::open(&log).map(|mut log| log.next()) {
        Ok(Some(Ok(LogLine::Energy(head)))) => head.lab,
        // The reduction says what is wrong with it.
        _ => return None,
    };
    let changes = changes(&setup.lab, &its);
    if changes.is_empty() {
        return None;
    }
    let (said, options): (Vec<_>, Vec<_>) = changes.into_iter().unzip();
    let at = |ending: &str| dir.join(format!("{suffix}.{ending}.jsonl"));
    Some(format!(
        "{suffix}: {} since it was merged, which stays as it is; to merge again: filermark energy merge {} {} {} -o {} --force",
        said.join(", "),
        at("run").display(),
        at("energy").display(),
        options.join(" "),
        log.display()
    ))
}

/// What is said of the lab now and was not: in words, and as an option of `energy merge`.
/// What is not said any more cannot be taken out, and is no change.
fn changes(now: &Lab, merged: &Lab) -> Vec<(String, String)> {
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
        let was = was.map_or_else(|| "unsaid".to_owned(), |was| format!("was {was}"));
        Some((
            format!("{name} is {new} ({was})"),
            format!("{option} '{new}'"),
        ))
    });
    differ.collect()
}

/// Moves the files of a run that was cut into a directory of their own; nothing is removed.
fn move_away(dir: &Path, suffix: &str) -> Result<PathBuf, Failure> {
    let failed = |e: std::io::Error| Failure::of(format!("{}: {e}", dir.display()));
    let free = (1..).map(|n| dir.join(format!("{suffix}.cut{n}")));
    let kept = free
        .into_iter()
        .find(|path| !path.exists())
        .unwrap_or_default();
    std::fs::create_dir(&kept).map_err(failed)?;
    for ending in ["run.jsonl", "energy.jsonl", "merged.jsonl"] {
        let name = format!("{suffix}.{ending}");
        if dir.join(&name).exists() {
            std::fs::rename(dir.join(&name), kept.join(&name)).map_err(failed)?;
        }
    }
    Ok(kept)
}

/// The tables and the report of all workloads together.
fn reduce(args: &SuiteArgs, merged: &[PathBuf]) -> Result<(), Failure> {
    let Some(first) = merged.first() else {
        if args.energy.is_some() {
            say_line("nothing to reduce: no run has an energy log");
        }
        return Ok(());
    };
    let reduction = reduce_files(merged, &ReduceOptions::default()).map_err(Failure::of)?;
    Outputs::named(&first.with_file_name("suite.energy")).write(&reduction)?;
    print_text(&reduction);
    Ok(())
}

fn with_hint(failure: Failure) -> Failure {
    match failure {
        Failure::Failed(reason) => Failure::Failed(format!(
            "{reason}; what is done stays, the same command goes on from here (--keep-going: with the next workload)"
        )),
        other => other,
    }
}
