//! `energy reduce`.

use crate::cli::energy::{ReduceArgs, ReduceFormat};
use crate::exit::{Ended, Failure};
use crate::files::{refuse_inputs, write_whole};
use crate::live::say_line;
use filermark_energy::reduce::{ReduceOptions, Reduction, reduce_files};
use filermark_report::energy;
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Columns of the text where no terminal tells them.
const WIDTH: usize = 100;

/// A file that is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Html,
    Xlsx,
    Csv,
}

/// Reduces merged logs; writes the files that are asked for, and prints one form.
pub fn reduce(args: &ReduceArgs) -> Ended {
    let files = files(args)?;
    let inputs: Vec<&Path> = args.files.iter().map(PathBuf::as_path).collect();
    for (_, path) in &files {
        refuse_inputs(path, &inputs)?;
    }
    let options = ReduceOptions {
        without_tail: args.without_tail,
    };
    let reduction = reduce_files(&args.files, &options).map_err(Failure::of)?;
    // All are made before the first is written.
    let made: Result<Vec<(&PathBuf, Vec<u8>)>, Failure> = files
        .iter()
        .map(|(form, path)| Ok((path, made(*form, &reduction)?)))
        .collect();
    for (path, bytes) in made? {
        write_whole(path, &bytes).map_err(Failure::Failed)?;
        say_line(path.display());
    }
    let text = match args.format {
        ReduceFormat::Text => energy::text(&reduction, width()),
        ReduceFormat::Json => format!("{:#}\n", energy::json(&reduction)),
        ReduceFormat::Csv => energy::csv(&reduction),
    };
    let mut stdout = std::io::stdout().lock();
    // A reader that has gone is no error.
    let _ = stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush());
    Ok(ExitCode::SUCCESS)
}

/// The files that the options name, each once.
fn files(args: &ReduceArgs) -> Result<Vec<(Form, PathBuf)>, Failure> {
    let mut files: Vec<(Form, PathBuf)> = Vec::new();
    for (form, extension, own) in [
        (Form::Html, "html", &args.html),
        (Form::Xlsx, "xlsx", &args.xlsx),
        (Form::Csv, "csv", &args.csv),
    ] {
        // The file's own option goes before the common name.
        let common = || args.output.as_ref().map(|name| with(name, extension));
        files.extend(own.clone().or_else(common).map(|path| (form, path)));
    }
    for (i, (_, path)) in files.iter().enumerate() {
        if files.iter().skip(i + 1).any(|(_, other)| other == path) {
            let sentence = format!("{}: two files of one name are asked for", path.display());
            return Err(Failure::Usage(vec![sentence]));
        }
    }
    Ok(files)
}

/// `NAME.html`: put behind, so that a point in NAME stays.
fn with(name: &Path, extension: &str) -> PathBuf {
    let mut path = OsString::from(name);
    path.push(".");
    path.push(extension);
    path.into()
}

fn made(form: Form, reduction: &Reduction) -> Result<Vec<u8>, Failure> {
    match form {
        Form::Html => energy::html(reduction)
            .map(String::into_bytes)
            .map_err(Failure::of),
        Form::Xlsx => energy::xlsx(reduction).map_err(Failure::of),
        Form::Csv => Ok(energy::csv(reduction).into_bytes()),
    }
}

/// The terminal's columns.
fn width() -> usize {
    let terminal = console::Term::stdout();
    let (_, columns) = terminal.size_checked().unwrap_or((0, WIDTH as u16));
    usize::from(columns)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(html: Option<&str>, output: Option<&str>) -> ReduceArgs {
        ReduceArgs {
            files: Vec::new(),
            format: ReduceFormat::Text,
            html: html.map(PathBuf::from),
            xlsx: None,
            csv: None,
            output: output.map(PathBuf::from),
            without_tail: false,
        }
    }

    #[test]
    fn one_name_stands_for_three_files() {
        assert_eq!(files(&args(None, None)).expect("none"), []);
        let named = files(&args(None, Some("d/lab.1"))).expect("three");
        let paths: Vec<_> = named.iter().map(|(_, p)| p.display().to_string()).collect();
        assert_eq!(paths, ["d/lab.1.html", "d/lab.1.xlsx", "d/lab.1.csv"]);
        let own = files(&args(Some("page.html"), Some("lab"))).expect("three");
        assert_eq!(own[0], (Form::Html, "page.html".into()));
        assert!(files(&args(Some("lab.csv"), Some("lab"))).is_err());
    }
}
