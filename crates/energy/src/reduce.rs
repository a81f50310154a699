//! `energy reduce`: efficiency tables, the best-foot-forward plan and the report from merged
//! logs.

use crate::args::{ReduceArgs, ReduceFormat};
use filermark_cli_kit::exit::{CommandError, CommandResult};
use filermark_cli_kit::files::{refuse_inputs, refuse_older, write_whole};
use filermark_cli_kit::output;
use filermark_cli_kit::view::print_stderr_line;
use filermark_energy_data::reduce::{ReduceOptions, Reduction, reduce_files};
use filermark_report::Templates;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Reduces, prints the tables and writes the files that the options name.
pub fn reduce(args: &ReduceArgs) -> CommandResult {
    let inputs: Vec<&Path> = args.files.iter().map(PathBuf::as_path).collect();
    let outputs = Outputs::of(args)?;
    for output in outputs.paths() {
        refuse_inputs(output, &inputs)?;
        // Writing to a pipe or a device overwrites nothing.
        if output.is_file() {
            refuse_older(output, args.force)?;
        }
    }
    let options = ReduceOptions {
        without_tail: args.without_tail,
    };
    let reduction = reduce_files(&args.files, &options).map_err(CommandError::of)?;
    outputs.write(&reduction)?;
    match args.format {
        ReduceFormat::Text => print_text(&reduction),
        ReduceFormat::Json => output::print_json(&filermark_energy_report::json(&reduction)),
        ReduceFormat::Csv => output::print(&filermark_energy_report::csv(&reduction)),
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints the tables for a terminal.
pub fn print_text(reduction: &Reduction) {
    output::print(&filermark_energy_report::text(reduction, output::width()));
}

/// The paths of page, workbook and table.
#[derive(Debug, Default)]
pub struct Outputs {
    html: Option<PathBuf>,
    xlsx: Option<PathBuf>,
    csv: Option<PathBuf>,
    /// The templates of the page.
    templates: Templates,
}

impl Outputs {
    /// All three files: the name with the extension of each.
    pub fn named(name: &Path) -> Self {
        let with = |ending: &str| {
            let mut path = name.as_os_str().to_owned();
            path.push(ending);
            Some(PathBuf::from(path))
        };
        Self {
            html: with(".html"),
            xlsx: with(".xlsx"),
            csv: with(".csv"),
            templates: filermark_energy_report::templates(),
        }
    }

    fn of(args: &ReduceArgs) -> Result<Self, CommandError> {
        let named = args.output.as_deref().map(Self::named).unwrap_or_default();
        let templates = match &args.templates {
            Some(dir) => {
                let templates = filermark_energy_report::templates().and_dir(dir);
                templates.map_err(|e| CommandError::Usage(vec![e.to_string()]))?
            }
            None => filermark_energy_report::templates(),
        };
        // A file's own option takes precedence over the common name.
        let outputs = Self {
            html: args.html.clone().or(named.html),
            xlsx: args.xlsx.clone().or(named.xlsx),
            csv: args.csv.clone().or(named.csv),
            templates,
        };
        let paths: Vec<&PathBuf> = outputs.paths().collect();
        for (i, path) in paths.iter().enumerate() {
            if paths.iter().skip(i + 1).any(|other| other == path) {
                let sentence = format!(
                    "{}: two output files have this name; give different names",
                    path.display()
                );
                return Err(CommandError::Usage(vec![sentence]));
            }
        }
        Ok(outputs)
    }

    fn paths(&self) -> impl Iterator<Item = &PathBuf> {
        self.html.iter().chain(&self.xlsx).chain(&self.csv)
    }

    /// Writes the files and prints their paths. All are made before the first is written.
    ///
    /// # Errors
    /// One cannot be made or written.
    pub fn write(&self, reduction: &Reduction) -> Result<(), CommandError> {
        let mut made: Vec<(&Path, Vec<u8>)> = Vec::new();
        if let Some(path) = &self.html {
            let page = filermark_energy_report::html_by(reduction, &self.templates)
                .map_err(CommandError::of)?;
            made.push((path, page.into_bytes()));
        }
        if let Some(path) = &self.xlsx {
            made.push((
                path,
                filermark_energy_report::xlsx(reduction).map_err(CommandError::of)?,
            ));
        }
        if let Some(path) = &self.csv {
            made.push((path, filermark_energy_report::csv(reduction).into_bytes()));
        }
        for (path, bytes) in made {
            write_whole(path, &bytes).map_err(CommandError::of)?;
        }
        for path in self.paths() {
            print_stderr_line(format!("energy report: {}", path.display()));
        }
        Ok(())
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
            force: false,
            without_tail: false,
            templates: None,
        }
    }

    #[test]
    fn output_names_three_files() {
        let paths = |html, output| -> Result<Vec<String>, CommandError> {
            let outputs = Outputs::of(&args(html, output))?;
            Ok(outputs.paths().map(|p| p.display().to_string()).collect())
        };
        assert!(paths(None, None).expect("none").is_empty());
        let named = paths(None, Some("d/lab.1")).expect("three");
        assert_eq!(named, ["d/lab.1.html", "d/lab.1.xlsx", "d/lab.1.csv"]);
        let own = paths(Some("page.html"), Some("lab")).expect("three");
        assert_eq!(own[0], "page.html");
        assert!(matches!(
            paths(Some("lab.csv"), Some("lab")),
            Err(CommandError::Usage(_))
        ));
    }
}
