//! `energy merge`: run records and energy logs into one merged log.

use crate::args::{LabArgs, MergeArgs};
use filermark_cli_kit::exit::{CommandError, CommandResult};
use filermark_cli_kit::files::{PendingFile, folder_of, refuse_inputs};
use filermark_cli_kit::output;
use filermark_cli_kit::view::print_stderr_line;
use filermark_energy_data::log::{
    EnergyPhase, Head, Instrument, Lab, Log, LogWriter, MergedRun, SCHEMA_VERSION,
};
use filermark_energy_data::merge::{MergeOptions, Merged, merge as merge_logs, merged_run};
use filermark_energy_data::other_kits::{self, OtherKitError};
use filermark_energy_data::setup::Setup;
use filermark_model::NOT_A_SPEC_RESULT;
use filermark_model::units::counted;
use filermark_results::{RunRecord, Timestamp, read_record, read_sfssum};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// How much of a file is read to detect what it is.
const LOOK_LEN: u64 = 64 << 10;

/// Longest shift, in seconds.
const SHIFT_MAX_S: f64 = 315_360_000.0;

/// The kind of a file of the command line.
enum Kind {
    Record,
    Log,
    OtherKit,
}

/// Merges, and prints how many samples were tagged.
pub fn merge(args: &MergeArgs) -> CommandResult {
    if !args.shift.is_finite() || args.shift.abs() > SHIFT_MAX_S {
        return Err(usage(format!(
            "--shift {}: give seconds, at most {SHIFT_MAX_S} (ten years)",
            args.shift
        )));
    }
    let (lab, instruments) = lab(&args.lab)?;
    let (runs, logs, hosts) = sort(args)?;
    let output = match &args.output {
        Some(output) => output.clone(),
        None => default_output(&runs)?,
    };
    let inputs: Vec<&Path> = args.files.iter().map(PathBuf::as_path).collect();
    for place in [Some(&output), args.csv.as_ref()].into_iter().flatten() {
        refuse_inputs(place, &inputs)?;
        // Checked before hours of samples are read.
        PendingFile::new(place, args.force)?;
    }
    if args
        .csv
        .as_ref()
        .is_some_and(|csv| same_place(csv, &output))
    {
        return Err(usage(
            "--csv and -o name the same file; give two names".into(),
        ));
    }
    let merged = merge_into(
        &runs.iter().map(|(_, run)| run.clone()).collect::<Vec<_>>(),
        &logs,
        &MergeOptions {
            lab,
            instruments,
            shift_s: args.shift,
            prime_hosts: Some(hosts),
        },
        &output,
        args.force,
    )?;
    if let Some(csv) = &args.csv {
        crate::samples_csv::write(&output, csv, args.force)?;
    }
    print(&merged, &runs, &output);
    // The log is kept for finding out what is wrong; a script must not continue with it.
    Ok(ExitCode::from(u8::from(merged.in_run == 0)))
}

/// Merges logs with runs into a new log at `output`.
///
/// # Errors
/// A log cannot be read, or the merged one cannot be written; no file is left then.
pub fn merge_into(
    runs: &[MergedRun],
    logs: &[PathBuf],
    options: &MergeOptions,
    output: &Path,
    force: bool,
) -> Result<Merged, CommandError> {
    let inputs: Vec<&Path> = logs.iter().map(PathBuf::as_path).collect();
    let open = |path: &PathBuf| Log::open(path).map_err(CommandError::of);
    let open: Vec<Log> = logs.iter().map(open).collect::<Result<_, _>>()?;
    refuse_inputs(output, &inputs)?;
    let draft = PendingFile::new(output, force)?;
    let writer = LogWriter::create(draft.path()).map_err(CommandError::of)?;
    let (merged, _) = merge_logs(head(), runs, open, options, writer).map_err(CommandError::of)?;
    draft.keep()?;
    Ok(merged)
}

/// The runs of a record, as [`merge_into`] takes them.
pub fn run_of(record: &RunRecord, number: u32, path: &Path) -> MergedRun {
    merged_run(record, number, &path.display().to_string())
}

/// The first line of a log that this program makes now.
pub fn head() -> Head {
    Head {
        schema: SCHEMA_VERSION,
        program: "filermark".into(),
        version: env!("CARGO_PKG_VERSION").into(),
        started: Timestamp::now(),
        host: filermark_link::identity::own_host(),
        notice: NOT_A_SPEC_RESULT.into(),
        lab: Lab::default(),
    }
}

/// The lab, and the instruments by their names, from the options and the setup.
fn lab(args: &LabArgs) -> Result<(Lab, BTreeMap<String, Instrument>), CommandError> {
    let mut lab = Lab {
        drives: args.drives,
        raw_capacity_gb: args.raw_capacity,
        nominal_voltage_v: args.nominal_voltage,
        ports: args.ports.iter().map(ToString::to_string).collect(),
        ..Lab::default()
    };
    let Some(file) = &args.energy else {
        return Ok((lab, BTreeMap::new()));
    };
    let setup = Setup::read(file).map_err(|e| usage(e.to_string()))?;
    lab.fill(&setup.lab);
    if lab.ports.is_empty() {
        lab.ports.clone_from(&setup.lab.ports);
    }
    Ok((lab, setup.instruments()))
}

/// Runs, logs, and the hosts that are known to be the prime's.
type MergeInputs = (Vec<(PathBuf, MergedRun)>, Vec<PathBuf>, Vec<String>);

/// Which files are runs, and which are logs.
fn sort(args: &MergeArgs) -> Result<MergeInputs, CommandError> {
    let mut runs: Vec<(PathBuf, MergedRun)> = Vec::new();
    let mut logs = Vec::new();
    let mut hosts = Vec::new();
    let mut any_foreign = false;
    for path in &args.files {
        let number = runs.len() as u32;
        match kind(path).map_err(usage)? {
            Kind::Log => logs.push(path.clone()),
            Kind::Record => {
                let record = read_record(path).map_err(|e| usage(e.to_string()))?;
                hosts.extend(prime_hosts(&record));
                runs.push((path.clone(), run_of(&record, number, path)));
            }
            Kind::OtherKit => {
                any_foreign = true;
                runs.push((path.clone(), read_other_kit(path, number, args)?));
            }
        }
    }
    if args.zone.is_some() && !any_foreign {
        print_stderr_line(
            "--zone has no effect: no log of another kit is among the files, and the times of energy logs are set when they are imported (energy import --zone)",
        );
    }
    let missing = match (runs.is_empty(), logs.is_empty()) {
        (true, _) => "no run: give a run record (SUFFIX.run.jsonl), or another kit's sfslog",
        (_, true) => "no energy log: give one of \"energy collect\" or \"energy import\"",
        (false, false) => return Ok((runs, logs, hosts)),
    };
    Err(usage(missing.into()))
}

fn usage(sentence: String) -> CommandError {
    CommandError::Usage(vec![sentence])
}

/// A log of another kit, with the summary in the same folder.
fn read_other_kit(path: &Path, number: u32, args: &MergeArgs) -> Result<MergedRun, CommandError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let file = File::open(path)
        .map_err(|e| CommandError::of(format!("{}: cannot be read: {e}", path.display())))?;
    let mut run = other_kits::read_sfslog(path, file, args.zone.clone(), &run_name(&name))
        .map_err(|e| match own_suffix(path, &name, &e) {
            Some(suffix) => usage(format!(
                "{}: this is a log of Filermark, which has no times of phases; give {suffix}.run.jsonl",
                path.display()
            )),
            None => usage(e.to_string()),
        })?;
    run.run = number;
    let names = other_kits::sfssum_names(&name).into_iter();
    let paths = names.map(|name| path.with_file_name(name));
    if let Some(summary) = paths.into_iter().find(|path| path.is_file()) {
        let read = read_sfssum(&summary).map_err(|e| usage(e.to_string()))?;
        other_kits::add_sfssum(&mut run, &read).map_err(|e| usage(e.to_string()))?;
        print_stderr_line(format!("loads and verdicts from {}", summary.display()));
    }
    Ok(run)
}

/// The suffix, where a file without load points is `sfslog.SUFFIX` of a run of Filermark.
fn own_suffix(path: &Path, name: &str, why: &OtherKitError) -> Option<String> {
    let suffix = name.strip_prefix("sfslog.")?;
    let OtherKitError::NoPoint(_) = why else {
        return None;
    };
    let mut first = Vec::new();
    let read = File::open(path).and_then(|file| file.take(LOOK_LEN).read_to_end(&mut first));
    let is_ours = read.is_ok() && String::from_utf8_lossy(&first).contains("Filermark");
    let record_of = |suffix: &str| path.with_file_name(format!("{suffix}.run.jsonl"));
    let stem = suffix.strip_suffix(".txt");
    let suffix = stem
        .filter(|stem| record_of(stem).is_file())
        .unwrap_or(suffix);
    let record = record_of(suffix);
    (is_ours || record.is_file()).then(|| suffix.to_owned())
}

/// The name of the run of another kit's log: `sfslog.vda.txt` is `vda`.
fn run_name(file: &str) -> String {
    let stem = file.strip_prefix("sfslog").unwrap_or(file);
    let stem = stem.trim_start_matches(['.', '_', '-']);
    let ends = [".txt", ".log"];
    let stem = ends
        .iter()
        .find_map(|end| stem.strip_suffix(end))
        .unwrap_or(stem);
    match stem.is_empty() {
        true => file.to_owned(),
        false => stem.to_owned(),
    }
}

/// The kind of a file, from its first line.
fn kind(path: &Path) -> Result<Kind, String> {
    let failed = |e: std::io::Error| format!("{}: cannot be read: {e}", path.display());
    // Reading a pipe or a device may never end.
    if !std::fs::metadata(path).map_err(failed)?.is_file() {
        return Err(format!("{}: not a regular file", path.display()));
    }
    let file = File::open(path).map_err(failed)?;
    let mut first = Vec::new();
    let mut reader = BufReader::new(file).take(LOOK_LEN);
    reader.read_until(b'\n', &mut first).map_err(failed)?;
    let line = String::from_utf8_lossy(&first);
    // A record's first line has the whole plan, and is longer than LOOK_LEN.
    Ok(match line.trim_start() {
        line if line.starts_with("{\"type\":\"energy\"") => Kind::Log,
        line if line.starts_with("{\"type\":\"run\"") => Kind::Record,
        _ => Kind::OtherKit,
    })
}

/// The host on which the prime ran: that of the only client. It is not known where there
/// are several clients.
fn prime_hosts(record: &RunRecord) -> Option<String> {
    match &record.environments[..] {
        [only] => Some(only.host.clone()),
        _ => None,
    }
}

/// Where the merged log goes: next to the first run, named after it. The name is checked: a
/// record may come from another host, and its name may be a path.
fn default_output(runs: &[(PathBuf, MergedRun)]) -> Result<PathBuf, CommandError> {
    let Some((path, run)) = runs.first() else {
        return Ok(PathBuf::from("merged.jsonl"));
    };
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let begins_well = run
        .name
        .starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
    match begins_well && run.name.chars().all(is_plain) {
        true => Ok(folder_of(path).join(format!("{}.merged.jsonl", run.name))),
        false => Err(usage(format!(
            "{}: the run's name \"{}\" cannot be a file name; give the merged log a name (-o)",
            path.display(),
            filermark_results::text::one_line(&run.name)
        ))),
    }
}

fn same_place(a: &Path, b: &Path) -> bool {
    let whole = |path: &Path| {
        let folder = std::fs::canonicalize(folder_of(path));
        folder.ok().zip(path.file_name().map(ToOwned::to_owned))
    };
    whole(a).is_some_and(|place| Some(place) == whole(b))
}

/// Prints the result: how many samples were tagged, and what to check.
fn print(merged: &Merged, runs: &[(PathBuf, MergedRun)], output: &Path) {
    let mut text = format!(
        "{} tagged, {} of them in RUN\n",
        counted(merged.tagged, "sample"),
        merged.in_run
    );
    for (_, run) in runs {
        let measured = run.points.iter().filter(|p| p.measured().is_some()).count();
        text += &format!(
            "run {}: {}, {} measured\n",
            run.name,
            counted(run.points.len() as u64, "load point"),
            measured
        );
    }
    output::print(&text);
    for sentence in warnings(merged, runs) {
        print_stderr_line(format!("filermark: {sentence}"));
    }
    print_stderr_line(format!("merged: {}", output.display()));
}

/// What the user should check.
fn warnings(merged: &Merged, runs: &[(PathBuf, MergedRun)]) -> Vec<String> {
    let mut warnings = merged.cut.clone();
    let name = |number: u32| {
        let run = runs.iter().find(|(_, run)| run.run == number);
        run.map_or_else(|| number.to_string(), |(_, run)| run.name.clone())
    };
    for (a, b) in &merged.overlaps {
        let (a, b) = (name(*a), name(*b));
        warnings.push(format!(
            "runs {a} and {b} overlap: their power cannot be separated"
        ));
    }
    if merged.outside > 0 {
        warnings.push(format!(
            "{} long before or after the runs left out",
            counted(merged.outside, "sample")
        ));
    }
    if merged.cut_off > 0 {
        warnings.push(format!(
            "{} between the parts of an interrupted run left out: they belong to no measured load point",
            counted(merged.cut_off, "sample")
        ));
    }
    if merged.in_run == 0 {
        let runs = runs.iter().flat_map(|(_, run)| &run.points);
        let begins = runs.filter_map(|p| p.began(EnergyPhase::Run));
        let (first, last) = (begins.clone().min(), begins.max());
        let span = |span: Option<(Timestamp, Timestamp)>| match span {
            Some((from, to)) => format!("{} to {}", from.readable(), to.readable()),
            None => "nothing".into(),
        };
        warnings.push(format!(
            "no sample is in a RUN: samples are of {}, RUNs began from {}; is a time zone or a clock wrong (--shift)?",
            span(merged.span),
            span(first.zip(last))
        ));
    }
    warnings
}
