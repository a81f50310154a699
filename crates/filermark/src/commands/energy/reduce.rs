//! `energy reduce`.

use crate::cli::energy::{ReduceArgs, ReduceFormat};
use crate::exit::{Ended, Failure};
use crate::files::{refuse_inputs, write_whole};
use crate::live::say_line;
use crate::product;
use filermark_energy::reduce::{ReduceOptions, Reduction, reduce_files};
use filermark_report::{Templates, energy};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

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
    let templates = match &args.templates {
        Some(dir) => Templates::with_dir(dir).map_err(|e| Failure::Usage(vec![e.to_string()]))?,
        None => Templates::builtin(),
    };
    let reduction = reduce_files(&args.files, &options).map_err(Failure::of)?;
    // All are made before the first is written.
    let made: Result<Vec<(&PathBuf, Vec<u8>)>, Failure> = files
        .iter()
        .map(|(form, path)| Ok((path, made(*form, &reduction, &templates)?)))
        .collect();
    for (path, bytes) in made? {
        write_whole(path, &bytes).map_err(Failure::Failed)?;
        say_line(path.display());
    }
    let text = match args.format {
        ReduceFormat::Text => energy::text(&reduction, product::width()),
        ReduceFormat::Json => format!("{:#}\n", energy::json(&reduction)),
        ReduceFormat::Csv => energy::csv(&reduction),
    };
    product::print(&text);
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

fn made(form: Form, reduction: &Reduction, templates: &Templates) -> Result<Vec<u8>, Failure> {
    match form {
        Form::Html => energy::html_by(reduction, templates)
            .map(String::into_bytes)
            .map_err(Failure::of),
        Form::Xlsx => energy::xlsx(reduction).map_err(Failure::of),
        Form::Csv => Ok(energy::csv(reduction).into_bytes()),
    }
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
            templates: None,
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
