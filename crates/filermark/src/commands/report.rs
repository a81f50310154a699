//! `report`: reports in every form, from a run record, a submission or a summary file.

mod output;
mod submission;
mod summary_file;

use crate::browser;
use crate::cli::ReportArgs;
use crate::gates::Gates;
use crate::refused::refused;
use crate::{energy, historical, resolve_args, stdout};
use filermark_archive::kind::{FileKind, TO_REPORT};
use filermark_cli_kit::exit::{CommandError, CommandResult};
use filermark_cli_kit::files::refuse_inputs;
use filermark_report::{CHARTS, Edition, Form, Report, ReportOptions, Templates};
use filermark_results::files::{write_files, write_proc_logs};
use filermark_results::{Historical, RunRecord};
use std::path::Path;
use std::process::ExitCode;

/// Makes the requested report; without -f and -o all files of a record again.
pub fn report(args: &ReportArgs) -> CommandResult {
    resolve_args::init_tracing(&[], args.verbose.verbose);
    if let Some(dir) = &args.export_templates {
        return export_templates(dir);
    }
    let Some(input) = &args.input else {
        return Err(CommandError::Usage(vec![
            "name a run record, a submission or an sfssum file".into(),
        ]));
    };
    let templates = match &args.templates {
        Some(dir) => {
            Templates::with_dir(dir).map_err(|e| CommandError::Usage(vec![e.to_string()]))?
        }
        None => Templates::builtin(),
    };
    if let Some(out) = &args.out {
        refuse_inputs(out, &[input])?;
        let is_page = args.format.is_none_or(output::is_page);
        if let Some(chart) = output::chart_beside(out).filter(|_| is_page) {
            refuse_inputs(&chart, &[input])?;
        }
    }
    let beside = historical::read(&args.historical)?;
    let kind = FileKind::of(input);
    if kind != FileKind::Record && args.gates.are_given() {
        let sentence = format!(
            "{}: --fail-on, --assert, --baseline and --junit can be used with run records only",
            input.display()
        );
        return Err(CommandError::Usage(vec![sentence]));
    }
    match kind {
        FileKind::Record => of_record(args, input, &templates, beside.as_ref()),
        FileKind::Submission | FileKind::Summary if beside.is_some() => {
            let sentence = format!(
                "{}: --historical can be used with run records only",
                input.display()
            );
            Err(CommandError::Usage(vec![sentence]))
        }
        FileKind::Submission | FileKind::Xml => submission::report(args, input, &templates),
        _ => summary_file::report(args, input),
    }
}

fn of_record(
    args: &ReportArgs,
    input: &Path,
    templates: &Templates,
    beside: Option<&Historical>,
) -> CommandResult {
    let record = filermark_results::read_record(input);
    let record = record.map_err(|e| refused(input, &TO_REPORT, e))?;
    if let Some(cut) = &record.cut {
        filermark_cli_kit::stderr_line!("{}: {cut}", input.display());
    }
    let options = ReportOptions {
        edition: edition(args),
        historical: beside,
        chart: args.chart,
        percentiles: &args.percentiles,
        ..ReportOptions::new(templates)
    };
    let is_json = args.output.json
        || match (args.format, args.out.as_deref()) {
            (Some(form), _) => form.name == "json",
            (None, out) => out.is_some_and(|out| out.extension().is_some_and(|e| e == "json")),
        };
    if !args.percentiles.is_empty() && !is_json {
        let sentence = "--percentiles: only JSON has them; add -f json or --json";
        return Err(CommandError::Usage(vec![sentence.into()]));
    }
    let gates = Gates::open(&args.gates, &[input])?;
    let made = match (args.format, args.out.as_deref()) {
        (None, None) => all_files(args, input, &record, &options),
        (format, out) => {
            let out = out.unwrap_or(Path::new("-"));
            let form = format.map_or_else(|| output::form_of(out), Ok)?;
            one_report(args, &record, &options, form, out)
        }
    };
    // The gates are judged also if a report cannot be written.
    let code = gates.judge(&record, 0);
    made?;
    Ok(ExitCode::from(code?))
}

const fn edition(args: &ReportArgs) -> Edition {
    match args.review {
        true => Edition::Reviewer,
        false => Edition::Public,
    }
}

/// One report in one form.
fn one_report(
    args: &ReportArgs,
    record: &RunRecord,
    options: &ReportOptions<'_>,
    form: &Form,
    out: &Path,
) -> CommandResult {
    let bytes = finished(args, form, (form.record)(record, options))?;
    output::deliver(out, form, &bytes)?;
    output::deliver_chart(out, form, |png| {
        let chart = &CHARTS[0];
        (png.record)(record, &ReportOptions { chart, ..*options })
    })?;
    Ok(ExitCode::SUCCESS)
}

/// The bytes of a report's file; a page is printed if PDF is requested.
fn finished(args: &ReportArgs, form: &Form, made: Report) -> Result<Vec<u8>, CommandError> {
    let bytes = made.map_err(CommandError::of)?;
    match form.is_printed {
        false => Ok(bytes),
        true => {
            let page = String::from_utf8_lossy(&bytes);
            browser::pdf(&page, args.browser.as_deref()).map_err(CommandError::Failed)
        }
    }
}

/// Writes all files of a run again, and its summary to stdout.
fn all_files(
    args: &ReportArgs,
    input: &Path,
    record: &RunRecord,
    options: &ReportOptions<'_>,
) -> CommandResult {
    let own = input.parent().filter(|p| !p.as_os_str().is_empty());
    let dir = args
        .dir
        .as_deref()
        .or(own)
        .unwrap_or_else(|| Path::new("."));
    std::fs::create_dir_all(dir)
        .map_err(|e| CommandError::of(format!("{}: cannot be made: {e}", dir.display())))?;
    let mut files = write_files(record, dir).map_err(CommandError::of)?;
    if record.end.is_none() && record.run.plan.benchmark.composite().is_some() {
        // The run was killed: no other command writes these files.
        files.push(write_proc_logs(record, dir).map_err(CommandError::of)?);
    }
    files.extend(stdout::write_reports(record, dir, options)?);
    match args.output.json {
        true => stdout::print_json(&filermark_report::json_summary_with(
            record,
            &args.percentiles,
        )),
        false => stdout::print_summary(record, &args.output),
    }
    for file in &files {
        filermark_cli_kit::stderr_line!("{}", file.display());
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes the built-in templates into a directory, for editing; does not overwrite files,
/// which may have been edited.
fn export_templates(dir: &Path) -> CommandResult {
    let failed = |path: &Path, why: &dyn std::fmt::Display| {
        CommandError::of(format!("{}: cannot be written: {why}", path.display()))
    };
    std::fs::create_dir_all(dir).map_err(|e| failed(dir, &e))?;
    let paths: Vec<_> = Templates::shipped()
        .chain(energy::TEMPLATES.iter().copied())
        .map(|(name, text)| (dir.join(name), text))
        .collect();
    if let Some((path, _)) = paths.iter().find(|(path, _)| path.exists()) {
        return Err(failed(path, &"it exists already; give another directory"));
    }
    for (path, text) in paths {
        std::fs::write(&path, text).map_err(|e| failed(&path, &e))?;
        filermark_cli_kit::stderr_line!("{}", path.display());
    }
    Ok(ExitCode::SUCCESS)
}
