//! Gates: conditions that a result has to meet, for CI.

use clap::{Args, ValueEnum};
use filermark_model::assertion::Assertions;
use std::path::PathBuf;

/// Gates on a result.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Gates (exit code 3 if one fails)")]
pub struct GateArgs {
    /// Fail on: an invalid load point, reads from the client's cache, a run that is not standard
    #[arg(long, value_enum, value_name = "WHAT", value_delimiter = ',')]
    pub fail_on: Vec<FailOnResult>,
    /// Conditions such as 'p99<5ms, ops>=2000, errors=0', at the peak; p99@2: at load point 2; read.p99: of one operation
    #[arg(long, value_name = "CONDITIONS")]
    pub assert: Vec<Assertions>,
    /// Fail if the run is slower than this one
    #[arg(long, value_name = "RECORD")]
    pub baseline: Option<PathBuf>,
    /// Smallest difference to the baseline that counts, in percent [default: 5%]
    #[arg(long, value_name = "PERCENT", value_parser = super::compare::parse_percent, requires = "baseline")]
    pub max_regression: Option<f64>,
    /// Write load points and gates to this file as JUnit XML
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
}

impl GateArgs {
    /// Whether there is any.
    pub fn are_given(&self) -> bool {
        let files = [&self.baseline, &self.junit];
        !self.fail_on.is_empty()
            || !self.assert.is_empty()
            || files.into_iter().any(Option::is_some)
    }
}

/// What `--fail-on` of a run names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FailOnResult {
    /// A planned load point does not count
    Invalid,
    /// More than 10 % of the data read came from the client's memory
    Cached,
    /// A parameter that the standard fixes was changed
    NotStandard,
}

impl FailOnResult {
    /// The word of the option.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Invalid => "invalid",
            Self::Cached => "cached",
            Self::NotStandard => "not-standard",
        }
    }
}
