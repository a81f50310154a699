//! Reports of a submission.

use super::output;
use crate::cli::ReportArgs;
use crate::commands::bundle::now;
use crate::commands::subedit::read_submission;
use filermark_cli_kit::exit::{CommandError, CommandResult};
use filermark_cli_kit::files::{read_named, refuse_inputs};
use filermark_report::{
    Extras, IMAGE_BYTES_MAX, Image, ReportError, SubmissionForm, Templates, record_sections,
};
use filermark_results::RunRecord;
use filermark_results::reader::read_from;
use filermark_submission::{Document, ResultFile, differences};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Largest run record that is shown in a disclosure, in bytes.
const RECORD_LEN_MAX: u64 = 1 << 30;

/// Makes the requested report.
pub fn report(args: &ReportArgs, input: &Path, templates: &Templates) -> CommandResult {
    if args.dir.is_some() {
        let sentence = "-d is for run records; a submission's report needs -o FILE";
        return Err(CommandError::Usage(vec![sentence.into()]));
    }
    let document = read_submission(input)?;
    let out = args.out.as_deref().unwrap_or(Path::new("-"));
    let form = args.format.map_or_else(|| output::form_of(out), Ok)?;
    let made = match form.submission {
        SubmissionForm::Bare(make) => make(&document),
        SubmissionForm::Laid(make) => {
            let mut extras = extras(args, input, &document);
            add_details(&mut extras, input, &document, templates)?;
            let laid = make(&document, &extras, templates);
            laid.map(String::into_bytes).map_err(ReportError::from)
        }
    };
    let bytes = super::finished(args, form, made)?;
    let folder = input.parent().unwrap_or(Path::new(""));
    let diagrams = document.diagram_files();
    let diagrams: Vec<PathBuf> = diagrams.iter().map(|name| folder.join(name)).collect();
    let diagrams: Vec<&Path> = diagrams.iter().map(PathBuf::as_path).collect();
    refuse_inputs(out, &diagrams)?;
    if let Some(beside) = output::chart_beside(out) {
        refuse_inputs(&beside, &diagrams)?;
    }
    output::deliver(out, form, &bytes)?;
    output::deliver_chart(out, form, |png| match png.submission {
        SubmissionForm::Bare(make) => make(&document),
        SubmissionForm::Laid(_) => Err(ReportError::NothingToDraw("this form is not a drawing")),
    })?;
    Ok(ExitCode::SUCCESS)
}

/// The diagrams of the report, from the submission's directory.
fn extras(args: &ReportArgs, input: &Path, document: &Document) -> Extras {
    let mut extras = Extras {
        edition: super::edition(args),
        generated: now().readable(),
        ..Extras::default()
    };
    let folder = input.parent().unwrap_or(Path::new(""));
    for name in document.diagram_files() {
        match image(folder, name) {
            Ok(image) => {
                extras.images.insert(name.to_owned(), image);
            }
            Err(why) => {
                filermark_cli_kit::stderr_line!("{why}; the report states that");
                extras.remarks.push(why);
            }
        }
    }
    extras
}

/// The sections of the run records in the submission's directory, if they are still those
/// that it was made from.
fn add_details(
    extras: &mut Extras,
    input: &Path,
    document: &Document,
    templates: &Templates,
) -> Result<(), CommandError> {
    let folder = input.parent().unwrap_or(Path::new(""));
    for (number, (result, _)) in (1..).zip(&document.results()) {
        let name = result.value("runFiles.recordFile");
        if name.is_empty() {
            continue;
        }
        match record(folder, name, result.value("runFiles.recordSha256")) {
            Ok(record) => {
                let prefix = match number {
                    1 => String::new(),
                    n => format!("result{n}-"),
                };
                let differing = differences(result, &record);
                for difference in &differing {
                    filermark_cli_kit::stderr_line!("{name}: {difference}");
                }
                if !differing.is_empty() {
                    extras.contradictions.insert(number, differing);
                }
                let html = record_sections(&record, templates, extras.edition, &prefix);
                extras
                    .details
                    .insert(number, html.map_err(CommandError::of)?);
            }
            Err(_) if !folder.join(name).exists() => {
                let what = format!(
                    "{name} is not in the folder of the submission: the report has the submission's own figures only"
                );
                extras.remarks.push(what);
            }
            Err(why) => {
                filermark_cli_kit::stderr_line!(
                    "{why}; the report has the submission's own figures only"
                );
                extras.remarks.push(why);
            }
        }
    }
    Ok(())
}

/// A run record by its name and checksum.
fn record(folder: &Path, name: &str, sha256: &str) -> Result<RunRecord, String> {
    let bytes = read_named(folder, name, RECORD_LEN_MAX)?;
    let path = folder.join(name);
    if ResultFile::new(name, &bytes).sha256 != sha256 {
        return Err(format!(
            "{}: not the run record that the submission was made from: its SHA-256 differs",
            path.display()
        ));
    }
    read_from(&bytes[..], &path).map_err(|e| e.to_string())
}

/// A diagram.
fn image(folder: &Path, name: &str) -> Result<Image, String> {
    let bytes = read_named(folder, name, IMAGE_BYTES_MAX)
        .map_err(|why| format!("{why}: the diagram is missing"))?;
    Image::new(name, bytes)
}
