//! Reports of an `sfssum` of any origin: its points, its peak, its ORT.

use super::output;
use crate::cli::ReportArgs;
use crate::refused::refused;
use filermark_archive::kind::TO_REPORT;
use filermark_cli_kit::exit::{CommandError, CommandResult};
use filermark_report::{FORMS, KEYS};
use filermark_results::read_sfssum;
use std::path::Path;
use std::process::ExitCode;

/// Makes the requested report; without -f lines of key and value.
pub fn report(args: &ReportArgs, input: &Path) -> CommandResult {
    let summary = read_sfssum(input)
        .map_err(|e| refused(input, &TO_REPORT, format!("{e}; give {}", TO_REPORT.what)))?;
    let out = args.out.as_deref().unwrap_or(Path::new("-"));
    let form = match args.format {
        Some(form) => form,
        None if output::is_stdout(out) => &KEYS,
        None => output::form_of(out)?,
    };
    let Some(make) = form.summary else {
        let able = FORMS.iter().filter(|form| form.summary.is_some());
        let able: Vec<&str> = able.map(|form| form.name).collect();
        return Err(CommandError::Usage(vec![format!(
            "{}: a summary file has only its load points: use -f {}; for a page or text give the run record, or make a submission of it with 'filermark subedit'",
            input.display(),
            able.join(", -f ")
        )]));
    };
    let bytes = make(&summary).map_err(CommandError::of)?;
    output::deliver(out, form, &bytes)?;
    Ok(ExitCode::SUCCESS)
}
