//! `import`: converts a file of an earlier generation. The new file is the product; notes are
//! diagnostics.

use crate::cli::ImportArgs;
use crate::stdout;
use filermark_archive::kind::{TO_IMPORT, refusal};
use filermark_cli_kit::exit::{CommandError, CommandResult};
use filermark_cli_kit::files::{read_limited, refuse_inputs, write_whole};
use filermark_cli_kit::view::print_stderr_line;
use filermark_config::import::{ConvertedFile, ConvertedFormat, ImportOutcome, import as convert};
use filermark_config::{RcFile, Sources, resolve};
use std::path::Path;
use std::process::ExitCode;

/// The largest file that is read, in bytes.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// Converts the file.
pub fn import(args: &ImportArgs) -> CommandResult {
    let file = args.file.display().to_string();
    if let Some(out) = &args.output {
        refuse_inputs(out, &[&args.file])?;
    }
    let refuse = |why: String| CommandError::Usage(vec![why]);
    // Files of other kinds have lines `name = value` as well, and would be read as rc files.
    if let Some(refusal) = refusal(&args.file, &TO_IMPORT) {
        return Err(refuse(refusal.to_string()));
    }
    let bytes = read_limited(&args.file, FILE_BYTES_MAX).map_err(refuse)?;
    let text = String::from_utf8(bytes).map_err(|_| refuse(format!("{file}: not UTF-8 text")))?;
    match convert(&file, &text).map_err(|e| refuse(e.to_string()))? {
        ImportOutcome::AsItIs(how) => {
            print_stderr_line(format!("{file} needs no conversion. It is {how}"));
            Ok(ExitCode::SUCCESS)
        }
        ImportOutcome::Made(made) => {
            match &args.output {
                Some(out) => write_whole(out, made.text.as_bytes()).map_err(CommandError::of)?,
                None => stdout::print(&made.text),
            }
            print(&file, &made, args.output.as_deref());
            match made.unusable.first() {
                None => Ok(ExitCode::SUCCESS),
                Some(why) => Err(CommandError::Failed(format!(
                    "the file that was made of {file} cannot be used as it is: {why}"
                ))),
            }
        }
    }
}

/// Prints what was read, what has no equivalent, and the next command.
fn print(file: &str, made: &ConvertedFile, out: Option<&Path>) {
    print_stderr_line(format!("{file}: {}", made.what));
    for note in &made.notes {
        print_stderr_line(format!("note: {note}"));
    }
    let name = out.map_or("NEW".to_owned(), |out| out.display().to_string());
    if out.is_none() {
        print_stderr_line("next: write this into a file, with -o NEW, then:");
    }
    match &made.form {
        ConvertedFormat::Rc => {
            for open in still_open(&name, out, &made.text) {
                print_stderr_line(format!("still to do: {open}"));
            }
            print_stderr_line(format!("next: filermark plan -r {name}"));
        }
        ConvertedFormat::Definitions(_) if !made.unusable.is_empty() => {}
        ConvertedFormat::Definitions(names) => {
            let benchmark = names.first().map_or("NAME", String::as_str);
            print_stderr_line(format!(
                "next: filermark workload show -f {name} {benchmark}"
            ));
            print_stderr_line(format!(
                "next: filermark run -r RC -b {name} -o BENCHMARK={benchmark}"
            ));
        }
    }
}

/// What the new rc file needs before a plan can be made from it.
fn still_open(name: &str, out: Option<&Path>, text: &str) -> Vec<String> {
    let folder = out.and_then(Path::parent).unwrap_or(Path::new(""));
    let Ok(mut sources) = Sources::from_rc(None) else {
        return Vec::new();
    };
    sources.rc = Some(RcFile::from_text(name, folder, text));
    match resolve(&sources) {
        Ok(_) => Vec::new(),
        Err(errors) => errors.iter().map(ToString::to_string).collect(),
    }
}
