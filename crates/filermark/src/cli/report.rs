//! `report`, declared.

use super::{GateArgs, OutputArgs, VerboseArgs};
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use filermark_report::{CHARTS, Chart, FORMS, Form};
use std::path::PathBuf;

/// `report`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Without -f and -o, a run record's report and classical files are written again,
beside it or in DIR, and its summary is printed. Gates (--assert, --fail-on,
--baseline) do not change that: to check a record without writing files, add
-f summary. --junit replaces its file in any case.

Examples:
  filermark report result/mine.run.jsonl        writes result/mine.html again
  filermark report mine.run.jsonl -d /tmp/again
  filermark report -f html -o mine.html mine.run.jsonl
      and its chart, mine.png
  filermark report -f summary mine.run.jsonl    key: value, for scripts
  filermark report -f summary --assert 'p99<5ms' mine.run.jsonl
      writes no file
  filermark report -f json --percentiles 99.5,99.95 mine.run.jsonl
  filermark report -f pdf -r -o mine.pdf mine.run.jsonl
  filermark report -o curve.svg --chart heat mine.run.jsonl
  filermark report -f html -o sub.html sub.xml  a disclosure, and its chart,
                                                sub.png
  filermark report old.run.jsonl --historical   with historical published
                                                results
  filermark report -f summary -o - sfssum.other
      points, peak and ORT of any sfssum
  filermark report --export-templates mine      copies of the templates, to be
                                                edited
  filermark report mine.run.jsonl --templates mine")]
pub struct ReportArgs {
    /// A run record, a submission (sub.xml), or an sfssum file of any origin
    #[arg(value_name = "INPUT", required_unless_present = "export_templates")]
    pub input: Option<PathBuf>,
    /// Format of the report [default: by the name of the file of -o]
    #[arg(short, long, value_parser = forms(), conflicts_with_all = ["dir", "json"])]
    pub format: Option<&'static Form>,
    /// Include every finding and open all details, for reviewers
    #[arg(short, long)]
    pub review: bool,
    /// Write the report to this file; `-` is standard output [default with -f: -]
    // `--out` is its name in version 0.1.
    #[arg(
        short,
        long = "output",
        alias = "out",
        value_name = "FILE",
        conflicts_with_all = ["dir", "json"]
    )]
    pub out: Option<PathBuf>,
    /// Chart for an SVG or PNG file
    #[arg(long, value_name = "NAME", value_parser = charts(), default_value = CHARTS[0].name)]
    pub chart: &'static Chart,
    /// Further percentiles of JSON (-f json, --json), such as 99.5,99.99
    #[arg(long, value_name = "P[,P...]", value_delimiter = ',', value_parser = parse_percentile)]
    pub percentiles: Vec<f64>,
    /// The browser that prints PDF [default: FILERMARK_BROWSER, or the first that is found]
    #[arg(long, value_name = "PROGRAM")]
    pub browser: Option<PathBuf>,
    /// Directory for the report and the classical files [default: that of the record]
    #[arg(short, long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// Show historical published results as well, which are not comparable: those that ship
    /// with the program, or those of a file. For run records only
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    pub historical: Option<Option<PathBuf>>,
    /// Use the templates of this directory; missing ones are the built-in ones
    #[arg(long, value_name = "DIR")]
    pub templates: Option<PathBuf>,
    /// Only write the built-in templates to this directory, to be edited
    #[arg(long, value_name = "DIR", conflicts_with_all = ["input", "templates"])]
    pub export_templates: Option<PathBuf>,
    #[command(flatten)]
    pub gates: GateArgs,
    #[command(flatten)]
    pub output: OutputArgs,
    #[command(flatten)]
    pub verbose: VerboseArgs,
}

fn parse_percentile(text: &str) -> Result<f64, String> {
    let number = text.trim().trim_start_matches('p').parse::<f64>().ok();
    number
        .filter(|percentile| *percentile > 0.0 && *percentile < 100.0)
        .ok_or_else(|| "give percentiles above 0 and below 100: 50,99.5".to_owned())
}

/// The forms of reports by their names.
fn forms() -> impl TypedValueParser<Value = &'static Form> {
    let named = |name: String| FORMS.iter().find(|form| form.name == name);
    names(FORMS.iter().map(|form| (form.name, form.output.about)))
        .try_map(move |name| named(name).ok_or("there is no such form"))
}

/// The charts by their names.
fn charts() -> impl TypedValueParser<Value = &'static Chart> {
    let named = |name: String| CHARTS.iter().find(|chart| chart.name == name);
    names(CHARTS.iter().map(|chart| (chart.name, chart.about)))
        .try_map(move |name| named(name).ok_or("there is no such chart"))
}

/// Words of an option, each with its help.
fn names(all: impl Iterator<Item = (&'static str, &'static str)>) -> PossibleValuesParser {
    let value = |(name, about): (&'static str, &str)| {
        let mut letters = about.chars();
        let first = letters.next().into_iter().flat_map(char::to_uppercase);
        PossibleValue::new(name).help(first.chain(letters).collect::<String>())
    };
    PossibleValuesParser::new(all.map(value))
}
