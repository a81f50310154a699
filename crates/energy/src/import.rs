//! `energy import`: files of other programs become an energy log.

use crate::args::{ImportArgs, RoleArg};
use filermark_cli_kit::exit::{CommandError, CommandResult};
use filermark_cli_kit::files::{PendingFile, refuse_inputs};
use filermark_cli_kit::{interrupt, output, view};
use filermark_energy_data::import::{
    self, Columns, Ids, ImportError, ImportReport, Options, Sink, Table,
};
use filermark_energy_data::log::{
    ClockFacts, Head, Instrument, Lab, LogLine, LogWriter, Role, SCHEMA_VERSION, WriteError,
};
use filermark_engine::driver::StopFlag;
use filermark_link::identity::own_host;
use filermark_model::NOT_A_SPEC_RESULT;
use filermark_results::{Timestamp, text::one_line};
use serde_json::json;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Interfaces that the summary shows of a file, those with the most traffic.
const PORTS_SHOWN: usize = 40;

/// What a file is of.
#[derive(Clone, Copy)]
enum Kind {
    Sflowtool,
    Pcap,
    Table(Table),
}

/// Converts the files and prints a summary.
pub fn import(args: &ImportArgs) -> CommandResult {
    let files = files(args);
    let options = options(args, &files)?;
    let inputs: Vec<&Path> = files.iter().map(|(_, path)| path.as_path()).collect();
    refuse_inputs(&args.output, &inputs)?;
    let draft = PendingFile::new(&args.output, args.force)?;
    let stop = StopFlag::new();
    interrupt::on_interrupt_alone(stop.clone(), "stopping: no log is written");
    let mut writer = LogWriter::create(draft.path()).map_err(CommandError::of)?;
    let reports = lines(&files, &options, &stop, &mut |line| writer.line(&line));
    let reports = reports.map_err(|error| match stop.is_raised() {
        true => CommandError::Stopped,
        false => CommandError::of(error),
    })?;
    writer.end(Timestamp::now()).map_err(CommandError::of)?;
    draft.keep()?;
    print(&reports, args);
    Ok(ExitCode::SUCCESS)
}

fn files(args: &ImportArgs) -> Vec<(Kind, PathBuf)> {
    [
        (Kind::Sflowtool, &args.sflowtool),
        (Kind::Pcap, &args.pcap),
        (Kind::Table(Table::Power), &args.power),
        (Kind::Table(Table::Environment), &args.environment),
    ]
    .into_iter()
    .flat_map(|(kind, paths)| paths.iter().map(move |path| (kind, path.clone())))
    .collect()
}

fn options(args: &ImportArgs, files: &[(Kind, PathBuf)]) -> Result<Options, CommandError> {
    let usage = |sentence: &str| Err(CommandError::Usage(vec![sentence.into()]));
    if files.is_empty() {
        return usage(
            "nothing to import; give --sflowtool, --pcap, --power or --environment with a file",
        );
    }
    let columns = Columns::parse(args.columns.iter().map(String::as_str))
        .map_err(|e| CommandError::Usage(vec![format!("--{e}")]))?;
    let is_chosen = !args.columns.is_empty();
    if is_chosen && args.power.is_empty() && args.environment.is_empty() {
        return usage("--columns applies to --power and --environment only; neither is given");
    }
    if is_chosen && !args.power.is_empty() && !args.environment.is_empty() {
        return usage(
            "--columns cannot apply to --power and --environment at once: import them one after the other, into two logs; \"filermark energy merge\" takes both",
        );
    }
    if args.bound.is_some() && args.offset.is_none() {
        return usage("--bound is the uncertainty of --offset; give --offset, too (0 is allowed)");
    }
    Ok(Options {
        zone: args.zone.clone(),
        columns,
        role: match args.role {
            RoleArg::Server => Role::Server,
            RoleArg::Client => Role::Client,
            RoleArg::Other => Role::Other,
        },
        clock: ClockFacts {
            added_s: None,
            offset_s: args.offset.unwrap_or(0.0),
            bound_s: args.bound,
            how: match args.offset {
                Some(_) => "--offset of energy import".into(),
                None => String::new(),
            },
        },
        instrument: instrument(args)?,
    })
}

/// The power meter, from the options.
fn instrument(args: &ImportArgs) -> Result<Instrument, CommandError> {
    let options = &args.instrument;
    let instrument = Instrument {
        make: options.make.clone(),
        model: options.model.clone(),
        serial: options.serial.clone(),
        firmware: None,
        calibrated: options.calibrated.clone(),
    };
    match instrument.is_empty() || args.power.len() == 1 {
        true => Ok(instrument),
        false => Err(CommandError::Usage(vec![
            "--make, --model, --serial and --calibrated apply to one power meter: give one --power, and import others into logs of their own; \"filermark energy merge\" takes all of them".into(),
        ])),
    }
}

/// All lines of the log but the last, to `sink`.
fn lines(
    files: &[(Kind, PathBuf)],
    options: &Options,
    stop: &StopFlag,
    sink: &mut Sink<'_>,
) -> Result<Vec<ImportReport>, ImportError> {
    sink(LogLine::Energy(Box::new(Head {
        schema: SCHEMA_VERSION,
        program: "filermark".into(),
        version: env!("CARGO_PKG_VERSION").into(),
        started: Timestamp::now(),
        host: own_host(),
        notice: NOT_A_SPEC_RESULT.into(),
        lab: Lab::default(),
    })))?;
    let mut ids = Ids::default();
    let mut sink = |line| match stop.is_raised() {
        true => Err(WriteError::Io {
            path: PathBuf::new(),
            source: io::ErrorKind::Interrupted.into(),
        }),
        false => sink(line),
    };
    let mut reports = Vec::new();
    for (kind, path) in files {
        view::print_stderr_line(format!("reading {}", path.display()));
        let file = File::open(path).map_err(|source| ImportError::Io {
            path: path.clone(),
            source,
        })?;
        let input = BufReader::with_capacity(1 << 18, file);
        let report = match kind {
            Kind::Sflowtool => import::sflowtool(path, input, options, &mut ids, &mut sink),
            Kind::Pcap => import::pcap(path, input, options, &mut ids, &mut sink),
            Kind::Table(table) => {
                import::power_csv(path, *table, input, options, &mut ids, &mut sink)
            }
        };
        reports.push(report?);
    }
    Ok(reports)
}

fn print(reports: &[ImportReport], args: &ImportArgs) {
    if args.output_args.json {
        output::print_json(&json!({ "log": args.output, "files": reports }));
        return;
    }
    let mut out = String::new();
    for report in reports {
        file_text(&mut out, report);
    }
    let _ = writeln!(out, "{} is written", args.output.display());
    output::print(&out);
    if reports.iter().any(|r| !r.ports.is_empty()) {
        view::print_stderr_line(format!(
            "next: filermark energy merge RUN.run.jsonl {} --ports AGENT/INTERFACE (those that face the server)",
            args.output.display()
        ));
    }
}

fn file_text(out: &mut String, report: &ImportReport) {
    let _ = writeln!(
        out,
        "{}: {}, source {}",
        report.path.display(),
        report.form,
        report.source
    );
    let _ = writeln!(out, "    {} good, {} bad", report.good, report.bad);
    if let Some((line, reason)) = &report.first_bad {
        let place = match line {
            0 => String::new(),
            line => format!(" in line {line}"),
        };
        let _ = writeln!(out, "    the first bad one{place}: {}", one_line(reason));
    }
    if report.back > 0 {
        let _ = writeln!(out, "    {} dropped: the time went back", report.back);
    }
    if report.same_time > 0 {
        let _ = writeln!(
            out,
            "    {} dropped: the time of the row before",
            report.same_time
        );
    }
    if let (Some(first), Some(last)) = (report.first, report.last) {
        let _ = writeln!(out, "    from {} to {}", first.readable(), last.readable());
    }
    for column in &report.columns {
        let _ = writeln!(out, "    {}", one_line(column));
    }
    for note in &report.notes {
        let _ = writeln!(out, "    note: {}", one_line(note));
    }
    ports_text(out, report);
}

fn ports_text(out: &mut String, report: &ImportReport) {
    if report.ports.is_empty() {
        return;
    }
    let mut ports: Vec<_> = report.ports.iter().collect();
    ports.sort_by(|a, b| (b.in_mib + b.out_mib).total_cmp(&(a.in_mib + a.out_mib)));
    let _ = writeln!(
        out,
        "    {:<32} {:>14} {:>14} {:>9}",
        "interface", "in MiB", "out MiB", "samples"
    );
    for port in ports.iter().take(PORTS_SHOWN) {
        let name = match port.sub_agent {
            0 => format!("{}/{}", port.agent, port.if_index),
            part => format!("{}/{} (part {part})", port.agent, port.if_index),
        };
        let _ = writeln!(
            out,
            "    {name:<32} {:>14.1} {:>14.1} {:>9}",
            port.in_mib, port.out_mib, port.samples
        );
    }
    if ports.len() > PORTS_SHOWN {
        let _ = writeln!(
            out,
            "    and {} more; --json has all of them",
            ports.len() - PORTS_SHOWN
        );
    }
}
