//! `list`, `show`, `tag`, `trend` and `export`, declared.

use super::OutputArgs;
use clap::{Args, ValueEnum};
use filermark_history::{Filter, parse_day};
use filermark_results::Timestamp;
use std::path::PathBuf;

/// Which records are meant.
#[derive(Clone, Debug, Args)]
pub struct RecordsArgs {
    /// Run records, and directories that are searched for them
    #[arg(value_name = "RECORD|DIR", default_value = "result")]
    pub places: Vec<PathBuf>,
    /// Only of this benchmark
    #[arg(long, value_name = "NAME")]
    pub benchmark: Option<String>,
    /// Only of targets with this text in the name of host, export, share or directory, or in
    /// their port
    #[arg(long, value_name = "TEXT")]
    pub target: Option<String>,
    /// Only runs with this text in their suffix: quick-mix
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub suffix: Option<String>,
    /// Only runs begun on this day (UTC) or later: 2026-11-27
    #[arg(long, value_name = "DAY", value_parser = parse_day)]
    pub since: Option<Timestamp>,
    /// Only runs begun before this day (UTC)
    #[arg(long, value_name = "DAY", value_parser = parse_day)]
    pub until: Option<Timestamp>,
    /// Only runs with this tag; may be repeated
    #[arg(long = "tag", value_name = "TAG")]
    pub tags: Vec<String>,
    /// Only runs whose result counts
    #[arg(long)]
    pub valid: bool,
    /// Only the newest runs
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub last: Option<u32>,
}

impl RecordsArgs {
    /// The conditions.
    pub fn filter(&self) -> Filter {
        Filter {
            benchmark: self.benchmark.clone(),
            target: self.target.clone(),
            suffix: self.suffix.clone(),
            since: self.since,
            until: self.until,
            tags: self.tags.clone(),
            is_valid: self.valid,
        }
    }

    /// Those of the options that are given.
    pub fn conditions(&self) -> Vec<&'static str> {
        let options = [
            ("--benchmark", self.benchmark.is_some()),
            ("--target", self.target.is_some()),
            ("--suffix", self.suffix.is_some()),
            ("--since", self.since.is_some()),
            ("--until", self.until.is_some()),
            ("--tag", !self.tags.is_empty()),
            ("--valid", self.valid),
        ];
        let given = options.into_iter().filter(|(_, is_given)| *is_given);
        given.map(|(option, _)| option).collect()
    }
}

/// `list`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  filermark list                               the runs in result
  filermark list /srv/results --since 2026-11-01 --valid
  filermark list --tag firmware=9.2 --json | jq -r .record")]
pub struct ListRunsArgs {
    #[command(flatten)]
    pub records: RecordsArgs,
    /// Print a line of JSON for each run
    #[arg(long)]
    pub json: bool,
}

/// `show`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "Example:\n  filermark show result/mine.run.jsonl")]
pub struct ShowRunArgs {
    /// The run record
    #[arg(value_name = "RECORD")]
    pub record: PathBuf,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// `tag`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  filermark tag result/*.run.jsonl --add firmware=9.2
  filermark tag result/mine.run.jsonl --remove tmp --note 'after the new cache'

Tags and notes are kept in filermark-tags.json beside the records, which stay as
they are.")]
pub struct TagArgs {
    /// The run records
    #[arg(value_name = "RECORD", required = true)]
    pub records: Vec<PathBuf>,
    /// Add a tag; may be repeated
    #[arg(long, value_name = "TAG")]
    pub add: Vec<String>,
    /// Remove a tag; may be repeated
    #[arg(long, value_name = "TAG")]
    pub remove: Vec<String>,
    /// Set the note; an empty one removes it
    #[arg(long, value_name = "TEXT")]
    pub note: Option<String>,
}

/// `trend`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  filermark trend                              op/s of the runs in result
  filermark trend --figure p99@5 --target nas1 /srv/results
  filermark trend --suffix quick-mix           of a part of `quick`
  filermark trend --fail-on-change --last 30   exit code 3 after a change

Runs of the same work on the same target as the newest one are shown; the others
are named on stderr. A change takes at least two runs before and after it. The
exit code is 2 if no run matches the options.")]
pub struct TrendArgs {
    #[command(flatten)]
    pub records: RecordsArgs,
    /// The figure, as in --assert: ops, mib, mean, max, p99, errors, ort; p99@5: of load point 5
    #[arg(long, value_name = "FIGURE", default_value = "ops")]
    pub figure: String,
    /// Output format
    #[arg(short, long, value_enum, default_value_t = TrendFormat::Text)]
    pub format: TrendFormat,
    /// End with exit code 3 if there is a change
    #[arg(long)]
    pub fail_on_change: bool,
}

/// The forms of a trend.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TrendFormat {
    /// Lines with bars
    Text,
    /// For programs
    Json,
    /// For spreadsheets, a line per run
    Csv,
}

/// `export`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  filermark export > points.csv  a line per load point of all runs in result
  filermark export --long -f jsonl result/mine.run.jsonl
  filermark export -o all.csv --tag campaign=7 /srv/results")]
pub struct ExportRunsArgs {
    #[command(flatten)]
    pub records: RecordsArgs,
    /// Output format
    #[arg(short, long, value_enum, default_value_t = ExportFormat::Csv)]
    pub format: ExportFormat,
    /// A line per figure: of load points, operations and seconds [default: a line per load point]
    #[arg(long)]
    pub long: bool,
    /// Output file; - is standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    pub output: PathBuf,
}

/// The forms of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    /// Comma-separated values (RFC 4180)
    Csv,
    /// A JSON object per line
    Jsonl,
}
