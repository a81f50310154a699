//! `subedit`: makes a submission from a run's files.
//!
//! The form, its checks and the dialogue are in the crate `submission`; here are the files
//! ([`inputs`], [`store`]), the terminal ([`keyboard`], [`session`]) and the autosave, in case
//! the terminal is lost ([`autosave`]).

mod autosave;
mod inputs;
mod keyboard;
mod lost_terminal;
mod session;
mod store;

use crate::cli::SubeditArgs;
use crate::stdout;
use autosave::Autosave;
use filermark_cli_kit::exit::{CommandError, CommandResult};
use filermark_cli_kit::files::folder_of;
use filermark_submission::{Document, Fault, write_skeleton, xsd};
use inputs::Inputs;
pub use inputs::read_submission;
use std::path::Path;
use std::process::ExitCode;
use store::Store;

/// The reason that `-n` adds if there is none.
const MARKED: &str = "Marked as non-compliant by filermark subedit -n.";

/// Carries out the options.
pub fn subedit(args: &SubeditArgs) -> CommandResult {
    if args.xsd {
        stdout::print(&xsd());
        return Ok(ExitCode::SUCCESS);
    }
    if args.skeleton {
        stdout::print(&write_skeleton());
        return Ok(ExitCode::SUCCESS);
    }
    if args.validate {
        return validate(args);
    }
    if args.non_compliant {
        return non_compliant(args);
    }
    let output = wanted(
        args.output.as_deref(),
        "-o OUT is missing: the file to write",
    )?;
    let is_batch = args.batch || args.zip;
    if args.input.is_none() && is_batch {
        return usage(
            "-b and -z do not prompt: they need a submission with the values, -i SUB.xml; \
             `filermark subedit --skeleton` prints a form to fill in",
        );
    }
    if args.files.is_empty() && (is_batch || args.input.is_none()) {
        return usage(
            "which result? Give the summary file and the rc file of the run: filermark subedit -o sub.xml sfssum.mine sfs_rc",
        );
    }
    let inputs = Inputs::read(&args.files, args.force)?;
    let mut document = match &args.input {
        Some(path) => read_submission(path)?,
        None => Document::new(),
    };
    inputs.fill(&mut document);
    let store = Store::new(inputs, args.input.as_deref(), output)?;
    if !is_batch {
        let is_other = args.input.as_deref().is_none_or(|input| input != output);
        if is_other && output.exists() {
            filermark_cli_kit::stderr_line!(
                "{0}: is there already, and is replaced when you save; to go on with it, quit and start with -i {0}",
                output.display()
            );
        }
        return session::session(document, store, output);
    }
    Autosave::beside(output).print_if_found();
    let code = print_faults(&document.faults());
    print_missing(&document, output);
    let saved = match args.zip {
        true => store.save_zip(&document, output),
        false => store.save_xml(&document, output),
    };
    saved.map_err(CommandError::Failed)?;
    stdout::print(&format!("Saved {}\n", output.display()));
    Ok(code)
}

/// `-v`.
fn validate(args: &SubeditArgs) -> CommandResult {
    let path = wanted(
        args.input.as_deref(),
        "-i SUB.xml is missing: the submission to check",
    )?;
    let document = read_submission(path)?;
    let code = print_faults(&document.faults());
    print_missing(&document, path);
    Ok(code)
}

/// Warns of missing pictures: the XML is valid, but reports lack them.
fn print_missing(document: &Document, path: &Path) {
    let folder = folder_of(path);
    for name in document.diagram_files() {
        if !folder.join(name).is_file() {
            filermark_cli_kit::stderr_line!(
                "{}: the diagram {name} is not in its directory",
                path.display()
            );
        }
    }
}

/// `-n`.
fn non_compliant(args: &SubeditArgs) -> CommandResult {
    let input = wanted(
        args.input.as_deref(),
        "-i SUB.xml is missing: the submission to mark",
    )?;
    let output = wanted(
        args.output.as_deref(),
        "-o OUT is missing: the file to write",
    )?;
    let mut document = read_submission(input)?;
    let known = document.root().value("resultCompliance.reason").to_owned();
    let reason = match &args.reason {
        Some(reason) => reason,
        None if known.is_empty() => MARKED,
        None => &known,
    };
    for (path, text) in [("isCompliant", "no"), ("reason", reason)] {
        if let Some(place) = document.find(&format!("resultCompliance.{path}")) {
            document.set(&place, text).map_err(CommandError::of)?;
        }
    }
    let code = print_faults(&document.faults());
    let store = Store::new(Inputs::default(), Some(input), output)?;
    store
        .save_xml(&document, output)
        .map_err(CommandError::Failed)?;
    stdout::print(&format!("Saved {}\n", output.display()));
    Ok(code)
}

/// Prints whether a document is valid, and its errors; returns the exit code.
fn print_faults(faults: &[Fault]) -> ExitCode {
    if faults.is_empty() {
        stdout::print("Document is valid\n");
        return ExitCode::SUCCESS;
    }
    let list: String = faults.iter().map(|fault| format!("{fault}\n")).collect();
    stdout::print_folded(&format!("Document is not valid\n{list}"));
    ExitCode::FAILURE
}

fn usage<T>(sentence: &str) -> Result<T, CommandError> {
    Err(CommandError::Usage(vec![sentence.into()]))
}

fn wanted<'a>(path: Option<&'a Path>, otherwise: &str) -> Result<&'a Path, CommandError> {
    match path {
        Some(path) => Ok(path),
        None => usage(otherwise),
    }
}
