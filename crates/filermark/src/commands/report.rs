//! `report`: makes the report again from a run record.

use crate::cli::ReportArgs;
use crate::exit::{Ended, Failure};
use crate::{plain, product};
use filermark_report::Templates;
use filermark_results::files::{write_files, write_proc_logs};
use std::path::Path;

/// Reads a record, writes its report and classical files, prints its summary.
pub fn report(args: &ReportArgs) -> Ended {
    plain::listen_to_rooms(&[], args.verbose.verbose);
    if let Some(dir) = &args.export_templates {
        return export_templates(dir);
    }
    let templates = match &args.templates {
        Some(dir) => Templates::with_dir(dir).map_err(Failure::of)?,
        None => Templates::builtin(),
    };
    let Some(input) = &args.input else {
        return Err(Failure::Usage(vec!["name the run record".into()]));
    };
    let record = filermark_results::read_record(input).map_err(Failure::of)?;
    if let Some(cut) = &record.cut {
        eprintln!("{}: {cut}", input.display());
    }
    let own = input.parent().filter(|p| !p.as_os_str().is_empty());
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
    let page = product::write_html_by(&record, dir, &templates)?;
    product::print_summary(&record, &args.output);
    for file in files.iter().chain([&page]) {
        eprintln!("{}", file.display());
    }
    Ok(std::process::ExitCode::SUCCESS)
}

/// Writes the shipped templates into a directory, to be changed there; a file that
/// is there already may be somebody's work.
fn export_templates(dir: &Path) -> Ended {
    let failed = |path: &Path, why: &dyn std::fmt::Display| {
        Failure::of(format!("{}: cannot be written: {why}", path.display()))
    };
    std::fs::create_dir_all(dir).map_err(|e| failed(dir, &e))?;
    let paths: Vec<_> = Templates::shipped()
        .map(|(name, text)| (dir.join(name), text))
        .collect();
    if let Some((path, _)) = paths.iter().find(|(path, _)| path.exists()) {
        return Err(failed(path, &"it is there already; give another directory"));
    }
    for (path, text) in paths {
        std::fs::write(&path, text).map_err(|e| failed(&path, &e))?;
        eprintln!("{}", path.display());
    }
    Ok(std::process::ExitCode::SUCCESS)
}
