//! Reports of an `sfssum` of any origin: its points, its peak, its ORT.

use super::output;
use crate::cli::report::{Format, ReportArgs};
use filermark_cli_kit::exit::{CommandError, CommandResult};
use filermark_report::{results_svg, summary_file_json, summary_file_keys};
use filermark_results::read_sfssum;
use std::path::Path;
use std::process::ExitCode;

/// The report that is asked for; key and value, where nothing is.
pub fn report(args: &ReportArgs, input: &Path) -> CommandResult {
    let summary = read_sfssum(input).map_err(|e| CommandError::Usage(vec![e]))?;
    let out = args.out.as_deref().unwrap_or(Path::new("-"));
    let format = match args.format {
        Some(format) => format,
        None if output::is_stdout(out) => Format::Summary,
        None => output::format_of(out),
    };
    let curve = &summary.curve;
    let svg = || {
        results_svg(curve).ok_or_else(|| CommandError::of("there is nothing to draw in this file"))
    };
    let bytes = match format {
        Format::Summary => summary_file_keys(&summary).into_bytes(),
        Format::Json => format!("{:#}\n", summary_file_json(&summary)).into_bytes(),
        Format::Svg => svg()?.into_bytes(),
        Format::Png => super::png(&svg()?)?,
        Format::Html | Format::Text | Format::Pdf => {
            return Err(CommandError::Usage(vec![format!(
                "{}: a summary file has only its load points: -f summary, json, svg or png; for a page or text give the run record, or make a submission of it with 'filermark subedit'",
                input.display()
            )]));
        }
    };
    output::deliver(out, &bytes)?;
    Ok(ExitCode::SUCCESS)
}
