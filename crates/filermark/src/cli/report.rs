//! `report`, declared.

use super::{OutputArgs, VerboseArgs};
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// `report`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Without -f and -o a run record's report and classical files are written again, beside
it or in DIR, and its summary is printed.

Examples:
  filermark report result/mine.run.jsonl           writes result/mine.html again
  filermark report mine.run.jsonl -d /tmp/again
  filermark report -f html -o mine.html mine.run.jsonl    and its chart, mine.png
  filermark report -f summary mine.run.jsonl       key: value, for scripts
  filermark report -f pdf -r -o mine.pdf mine.run.jsonl
  filermark report -o curve.svg --chart heat mine.run.jsonl
  filermark report -f html -o sub.html sub.xml     a disclosure, and its chart, sub.png
  filermark report old.run.jsonl --historical      beside published historical systems
  filermark report -f summary -o - sfssum.other    points, peak and ORT of any sfssum
  filermark report --export-templates mine         what pages are laid out by, to be changed
  filermark report mine.run.jsonl --templates mine")]
pub struct ReportArgs {
    /// What the report is made from: a run record, a submission (sub.xml), or an sfssum file
    /// of any origin
    #[arg(value_name = "INPUT", required_unless_present = "export_templates")]
    pub input: Option<PathBuf>,
    /// The form of the report [default: by the name that -o gives]
    #[arg(short, long, value_enum, conflicts_with_all = ["dir", "json"])]
    pub format: Option<Format>,
    /// The edition for reviewers: all findings one by one, all details open
    #[arg(short, long)]
    pub review: bool,
    /// Write the report to this file; `-` is standard output [default with -f: -]
    #[arg(short, long, value_name = "FILE", conflicts_with_all = ["dir", "json"])]
    pub out: Option<PathBuf>,
    /// Which chart an SVG or PNG file shows
    #[arg(long, value_enum, default_value_t = ChartName::Results)]
    pub chart: ChartName,
    /// The browser that prints PDF [default: FILERMARK_BROWSER, or the first that is found]
    #[arg(long, value_name = "PROGRAM")]
    pub browser: Option<PathBuf>,
    /// Directory for the report and the classical files [default: that of the record]
    #[arg(short, long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// Show published historical systems beside, which are not comparable: those that ship with
    /// the program, or a file's. Of run records only
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    pub historical: Option<Option<PathBuf>>,
    /// Lay pages and texts out by the templates of this directory; what it lacks is as shipped
    #[arg(long, value_name = "DIR")]
    pub templates: Option<PathBuf>,
    /// Write the shipped templates into this directory, to be changed, and nothing else
    #[arg(long, value_name = "DIR", conflicts_with_all = ["input", "templates"])]
    pub export_templates: Option<PathBuf>,
    #[command(flatten)]
    pub output: OutputArgs,
    #[command(flatten)]
    pub verbose: VerboseArgs,
}

/// The form of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// One self-contained page
    Html,
    /// The same as plain text
    Text,
    /// Lines of `key: value`
    Summary,
    /// The page, printed by a browser
    Pdf,
    /// The summary as JSON
    Json,
    /// A chart as a picture
    Png,
    /// A chart as a drawing
    Svg,
}

/// The charts that can be files of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ChartName {
    /// Latency over the achieved rate
    Results,
    /// Achieved over requested rate
    Load,
    /// Percentiles of the service time over load
    Service,
    /// Percentiles of the response time over load
    Response,
    /// Latency by second, at the peak
    Heat,
    /// What takes the time, at the peak
    Operations,
    /// The share that every proc got
    Procs,
}
