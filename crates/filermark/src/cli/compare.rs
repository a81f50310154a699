//! `compare`, declared.

use clap::{Args, ValueEnum};
use filermark_results::compare::{SPREAD_PCNT, THRESHOLD_PCNT};
use std::path::PathBuf;

/// `compare`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  filermark compare before.run.jsonl after.run.jsonl
  filermark compare --base 'result/b*.run.jsonl' --new 'result/a*.run.jsonl'
      repeats
  filermark compare b1.run.jsonl,b2.run.jsonl a1.run.jsonl,a2.run.jsonl
      the same
  filermark compare -f html -o compare.html base.run.jsonl one.run.jsonl \\
      two.run.jsonl
  filermark compare --fail-on slower --threshold 10 base.run.jsonl new.run.jsonl
  filermark compare old.run.jsonl --historical  with historical published
                                                results

Exit code 0: compared, and no verdict that --fail-on names; 1: nothing to
compare, or the output cannot be written; 2: a record cannot be read, or the
runs did different work (--force); 3: a verdict that --fail-on names.")]
pub struct CompareArgs {
    /// The run records; the first is the base. Repeats of a run are joined by commas
    #[arg(value_name = "RECORD[,RECORD...]", num_args = 1..)]
    #[arg(required_unless_present = "base", conflicts_with = "base")]
    pub sides: Vec<PathBuf>,
    /// The records of the base, all of them repeats; a pattern (*, ?, [a-c]) names several
    #[arg(long, value_name = "GLOB", num_args = 1.., requires = "new")]
    pub base: Vec<PathBuf>,
    /// The records that are compared with --base, all of them repeats
    #[arg(long, value_name = "GLOB", num_args = 1.., requires = "base")]
    pub new: Vec<PathBuf>,
    /// Output format
    #[arg(short, long, value_enum, default_value_t = CompareFormat::Text)]
    pub format: CompareFormat,
    /// Show also each load point and operation, and the method (text)
    #[arg(long)]
    pub details: bool,
    /// Output file; - is standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    pub output: PathBuf,
    /// Use the templates of this directory; missing ones are the built-in ones
    #[arg(long, value_name = "DIR")]
    pub templates: Option<PathBuf>,
    /// Show historical published results as well, which are not comparable: those that ship
    /// with the program, or those of a file. One record is then enough
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    pub historical: Option<Option<PathBuf>>,
    /// Smallest difference that counts, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = THRESHOLD_PCNT, value_parser = parse_percent)]
    pub threshold: f64,
    /// Assumed run-to-run standard deviation in percent, where there are no repeats
    #[arg(long, value_name = "PERCENT", default_value_t = SPREAD_PCNT, value_parser = parse_percent)]
    pub spread: f64,
    /// Compare runs with different plans; unmatched load points are left out
    #[arg(long)]
    pub force: bool,
    /// Use all repeats, also a disturbed one whose figures are far from the others
    #[arg(long)]
    pub keep_all: bool,
    /// Verdicts that end with exit code 3
    #[arg(long, value_enum, default_value_t = FailOn::Slower)]
    pub fail_on: FailOn,
    /// Print no colours (also: NO_COLOR, or no terminal)
    #[arg(long)]
    pub no_color: bool,
}

/// The forms of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CompareFormat {
    /// The verdict on one screen; with --details all tables
    Text,
    /// For programs
    Json,
    /// A row for each difference
    Csv,
    /// A self-contained page
    Html,
}

/// Which verdicts end with exit code 3.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FailOn {
    /// Any figure is slower
    Slower,
    /// Any difference
    Any,
    /// None
    Never,
}

pub(super) fn parse_percent(text: &str) -> Result<f64, String> {
    match text.trim_end_matches('%').parse::<f64>() {
        Ok(percent) if (0.0..=1000.0).contains(&percent) => Ok(percent),
        _ => Err("give percent from 0 to 1000".into()),
    }
}

pub(super) fn parse_percent_above_0(text: &str) -> Result<f64, String> {
    let percent = parse_percent(text).ok();
    percent
        .filter(|percent| *percent >= 0.01)
        .ok_or_else(|| "give percent from 0.01 to 1000".into())
}
