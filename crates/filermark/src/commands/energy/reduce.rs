//! `energy reduce`: merged logs to efficiency tables, the best-foot-forward plan and the
//! report.

use crate::cli::energy::{ReduceArgs, ReduceFormat};
use crate::exit::{Ended, Failure};
use crate::files::{refuse_inputs, write_whole};
use crate::live::say_line;
use crate::product;
use filermark_energy::reduce::{ReduceOptions, Reduction, reduce_files};
use filermark_report::energy;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Columns of a text where nobody says.
const WIDTH: usize = 100;

/// Reduces; prints the tables; writes what was asked for.
pub fn reduce(args: &ReduceArgs) -> Ended {
    let inputs: Vec<&Path> = args.files.iter().map(PathBuf::as_path).collect();
    let outputs = Outputs::of(args);
    for output in outputs.paths() {
        refuse_inputs(output, &inputs)?;
    }
    let options = ReduceOptions {
        without_tail: args.without_tail,
    };
    let reduction = reduce_files(&args.files, &options).map_err(Failure::of)?;
    outputs.write(&reduction)?;
    match args.format {
        ReduceFormat::Text => print_text(&reduction),
        ReduceFormat::Json => product::print_json(&energy::json(&reduction)),
        ReduceFormat::Csv => product::print(&energy::csv(&reduction)),
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints the tables for a terminal.
pub fn print_text(reduction: &Reduction) {
    let width = std::env::var("COLUMNS").ok().and_then(|c| c.parse().ok());
    product::print(&energy::text(reduction, width.unwrap_or(WIDTH)));
}

/// Where page, workbook and table go.
#[derive(Debug, Default)]
pub struct Outputs {
    html: Option<PathBuf>,
    xlsx: Option<PathBuf>,
    csv: Option<PathBuf>,
}

impl Outputs {
    /// All three, by a name that each adds its ending to.
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
        }
    }

    fn of(args: &ReduceArgs) -> Self {
        let named = args.output.as_deref().map(Self::named).unwrap_or_default();
        Self {
            html: args.html.clone().or(named.html),
            xlsx: args.xlsx.clone().or(named.xlsx),
            csv: args.csv.clone().or(named.csv),
        }
    }

    fn paths(&self) -> impl Iterator<Item = &PathBuf> {
        self.html.iter().chain(&self.xlsx).chain(&self.csv)
    }

    /// Writes them, and says where they are.
    ///
    /// # Errors
    /// One cannot be made or written.
    pub fn write(&self, reduction: &Reduction) -> Result<(), Failure> {
        if let Some(path) = &self.html {
            let page = energy::html(reduction).map_err(Failure::of)?;
            write_whole(path, page.as_bytes()).map_err(Failure::of)?;
        }
        if let Some(path) = &self.xlsx {
            let book = energy::xlsx(reduction).map_err(Failure::of)?;
            write_whole(path, &book).map_err(Failure::of)?;
        }
        if let Some(path) = &self.csv {
            write_whole(path, energy::csv(reduction).as_bytes()).map_err(Failure::of)?;
        }
        for path in self.paths() {
            say_line(format!("energy report: {}", path.display()));
        }
        Ok(())
    }
}
