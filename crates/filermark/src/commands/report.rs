//! `report`: reports in every form, from a run record, a submission or a summary file.

mod input;
mod output;
mod submission;
mod summary_file;

use crate::browser;
use crate::cli::report::{ChartName, Format, ReportArgs};
use crate::{energy, historical, resolve_args, stdout};
use filermark_cli_kit::exit::{CommandError, CommandResult};
use filermark_cli_kit::files::refuse_inputs;
use filermark_report::{Chart, Edition, Templates};
use filermark_results::files::{write_files, write_proc_logs};
use filermark_results::{Historical, RunRecord};
use input::{InputKind, input_kind};
use std::path::Path;
use std::process::ExitCode;

/// Makes the report that is asked for; without -f and -o all files of a record again.
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
        if let (Some(Format::Html) | None, Some(chart)) = (args.format, output::chart_beside(out)) {
            refuse_inputs(&chart, &[input])?;
        }
    }
    let beside = historical::read(&args.historical)?;
    match input_kind(input).map_err(|e| CommandError::Usage(vec![e]))? {
        InputKind::Record => of_record(args, input, &templates, beside.as_ref()),
        InputKind::Xml | InputKind::Sfssum if beside.is_some() => {
            let sentence = format!(
                "{}: --historical goes with run records only",
                input.display()
            );
            Err(CommandError::Usage(vec![sentence]))
        }
        InputKind::Xml => submission::report(args, input, &templates),
        InputKind::Sfssum => summary_file::report(args, input),
    }
}

fn of_record(
    args: &ReportArgs,
    input: &Path,
    templates: &Templates,
    beside: Option<&Historical>,
) -> CommandResult {
    let unreadable =
        |e: filermark_results::reader::ReadError| CommandError::Usage(vec![e.to_string()]);
    let record = filermark_results::read_record(input).map_err(unreadable)?;
    if let Some(cut) = &record.cut {
        eprintln!("{}: {cut}", input.display());
    }
    match (args.format, args.out.as_deref()) {
        (None, None) => all_files(args, input, &record, templates, beside),
        (format, out) => {
            let out = out.unwrap_or(Path::new("-"));
            let format = format.unwrap_or_else(|| output::format_of(out));
            one_report(args, &record, (templates, beside), format, out)
        }
    }
}

/// One report in one form.
fn one_report(
    args: &ReportArgs,
    record: &RunRecord,
    (templates, beside): (&Templates, Option<&Historical>),
    format: Format,
    out: &Path,
) -> CommandResult {
    let edition = match args.review {
        true => Edition::Reviewer,
        false => Edition::Public,
    };
    let page = || {
        let page = filermark_report::html_beside(record, templates, edition, beside);
        page.map_err(CommandError::of)
    };
    let drawn = |chart| drawn(record, chart, beside);
    let bytes = match format {
        Format::Html => page()?.into_bytes(),
        Format::Text => filermark_report::text_beside(record, templates, edition, beside)
            .map_err(CommandError::of)?
            .into_bytes(),
        Format::Summary => filermark_report::key_values(record).into_bytes(),
        Format::Json => {
            let mut value = filermark_report::json_summary(record);
            if let Some(beside) = beside {
                value["historical"] = serde_json::json!(beside);
            }
            format!("{value:#}\n").into_bytes()
        }
        Format::Pdf => {
            browser::pdf(&page()?, args.browser.as_deref()).map_err(CommandError::Failed)?
        }
        Format::Svg => drawn(chart(args.chart))?.into_bytes(),
        Format::Png => png(&drawn(chart(args.chart))?)?,
    };
    output::deliver(out, &bytes)?;
    if let (Format::Html, Some(picture)) = (format, output::chart_beside(out)) {
        // A record without a measured point has no chart, and its page says so.
        let svg = filermark_report::chart_svg_beside(record, Chart::Results, beside);
        if let Some(svg) = svg {
            output::deliver(&picture, &png(&svg)?)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn drawn(
    record: &RunRecord,
    chart: Chart,
    beside: Option<&Historical>,
) -> Result<String, CommandError> {
    let nothing =
        "there is nothing to draw: no load point of the record was measured, or none counts";
    filermark_report::chart_svg_beside(record, chart, beside)
        .ok_or_else(|| CommandError::of(nothing))
}

fn png(svg: &str) -> Result<Vec<u8>, CommandError> {
    filermark_report::chart_png(svg).map_err(CommandError::of)
}

const fn chart(name: ChartName) -> Chart {
    match name {
        ChartName::Results => Chart::Results,
        ChartName::Load => Chart::Load,
        ChartName::Service => Chart::Service,
        ChartName::Response => Chart::Response,
        ChartName::Heat => Chart::Heat,
        ChartName::Operations => Chart::Operations,
        ChartName::Procs => Chart::Procs,
    }
}

/// All that a run leaves, again; and its summary on stdout.
fn all_files(
    args: &ReportArgs,
    input: &Path,
    record: &RunRecord,
    templates: &Templates,
    beside: Option<&Historical>,
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
        // A run that was killed has not written them.
        files.push(write_proc_logs(record, dir).map_err(CommandError::of)?);
    }
    let edition = match args.review {
        true => Edition::Reviewer,
        false => Edition::Public,
    };
    let page = stdout::write_html_by(record, dir, templates, edition, beside)?;
    stdout::print_summary(record, &args.output);
    for file in files.iter().chain([&page]) {
        eprintln!("{}", file.display());
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes the shipped templates into a directory, to be changed there; a file that
/// is there already may have been edited.
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
        return Err(failed(path, &"it is there already; give another directory"));
    }
    for (path, text) in paths {
        std::fs::write(&path, text).map_err(|e| failed(&path, &e))?;
        eprintln!("{}", path.display());
    }
    Ok(ExitCode::SUCCESS)
}
