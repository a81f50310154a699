//! `report`: makes the report again from a run record.

use crate::cli::ReportArgs;
use crate::exit::{Ended, Failure};
use crate::{plain, product};
use filermark_results::files::{write_files, write_proc_logs};
use std::path::Path;

/// Reads a record, writes its report and classical files, prints its summary.
pub fn report(args: &ReportArgs) -> Ended {
    plain::listen_to_rooms(&[], args.verbose.verbose);
    let record = filermark_results::read_record(&args.record).map_err(Failure::of)?;
    if let Some(cut) = &record.cut {
        eprintln!("{}: {cut}", args.record.display());
    }
    let own = args.record.parent().filter(|p| !p.as_os_str().is_empty());
    let dir = args
        .dir
        .as_deref()
        .or(own)
        .unwrap_or_else(|| Path::new("."));
    std::fs::create_dir_all(dir)
        .map_err(|e| Failure::of(format!("{}: cannot be made: {e}", dir.display())))?;
    let mut files = write_files(&record, dir).map_err(Failure::of)?;
    if record.end.is_none() && record.run.plan.benchmark.composite().is_some() {
        // Of a run that was killed: nobody else will write them.
        files.push(write_proc_logs(&record, dir).map_err(Failure::of)?);
    }
    let page = product::write_html(&record, dir)?;
    product::print_summary(&record, &args.output);
    for file in files.iter().chain([&page]) {
        eprintln!("{}", file.display());
    }
    Ok(std::process::ExitCode::SUCCESS)
}
