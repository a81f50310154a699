//! `import`: a file of an earlier generation in, one of Filermark out. The new file is the
//! product; notes are diagnostics.

use crate::cli::ImportArgs;
use crate::exit::{Ended, Failure};
use crate::files::{read_limited, refuse_inputs, write_whole};
use crate::live::say_line;
use crate::product;
use filermark_config::import::{Import, Made, MadeForm, import as convert};
use filermark_config::{RcFile, Sources, resolve};
use std::path::Path;
use std::process::ExitCode;

/// The largest file that is read, in bytes.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// Converts the file.
pub fn import(args: &ImportArgs) -> Ended {
    let file = args.file.display().to_string();
    if let Some(out) = &args.output {
        refuse_inputs(out, &[&args.file])?;
    }
    let usage = |text: String| Failure::Usage(vec![text]);
    let bytes = read_limited(&args.file, FILE_BYTES_MAX).map_err(usage)?;
    let text = String::from_utf8(bytes)
        .map_err(|_| usage(format!("{file}: this is not text in UTF-8")))?;
    match convert(&file, &text)? {
        Import::AsItIs(how) => {
            say_line(format!("{file} needs no conversion. It is {how}"));
            Ok(ExitCode::SUCCESS)
        }
        Import::Made(made) => {
            match &args.output {
                Some(out) => write_whole(out, made.text.as_bytes()).map_err(Failure::of)?,
                None => product::print(&made.text),
            }
            tell(&file, &made, args.output.as_deref());
            match made.unusable.first() {
                None => Ok(ExitCode::SUCCESS),
                Some(why) => Err(Failure::Failed(format!(
                    "what was made of {file} cannot be used as it is: {why}"
                ))),
            }
        }
    }
}

/// Says what was read, what has no equivalent, and the next command.
fn tell(file: &str, made: &Made, out: Option<&Path>) {
    say_line(format!("{file}: {}", made.what));
    for note in &made.notes {
        say_line(format!("note: {note}"));
    }
    let name = out.map_or("NEW".to_owned(), |out| out.display().to_string());
    if out.is_none() {
        say_line("next: write this into a file, with -o NEW, then:");
    }
    match &made.form {
        MadeForm::Rc => {
            for open in still_open(&name, out, &made.text) {
                say_line(format!("still to do: {open}"));
            }
            say_line(format!("next: filermark plan -r {name}"));
        }
        MadeForm::Definitions(_) if !made.unusable.is_empty() => {}
        MadeForm::Definitions(names) => {
            let benchmark = names.first().map_or("NAME", String::as_str);
            say_line(format!(
                "next: filermark workload show -f {name} {benchmark}"
            ));
            say_line(format!(
                "next: filermark run -r RC -b {name} -o BENCHMARK={benchmark}"
            ));
        }
    }
}

/// What the new rc file lacks before a plan can be made of it.
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
