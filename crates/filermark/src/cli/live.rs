//! Options of all commands that run load points: where events go, what a lost client means, and
//! what is printed during the run.

use crate::events::Target;
use crate::http::Listen;
use crate::progress::ProgressMode;
use clap::{Args, ValueEnum};
use filermark_config::Sources;
use std::path::PathBuf;

/// Where events go.
#[derive(Clone, Debug, Default, Args)]
pub struct EventsArgs {
    /// Write events as JSON lines to a file or FIFO; '-': standard output
    #[arg(long, value_name = "FILE", value_parser = Target::parse)]
    pub events: Option<Target>,
    #[command(flatten)]
    pub metrics: MetricsArgs,
}

/// Where metrics can be read.
#[derive(Clone, Debug, Default, Args)]
pub struct MetricsArgs {
    /// Offer metrics over HTTP for Prometheus, and events for `watch --attach`: a
    /// port of 127.0.0.1, or an address and a port, which needs a token
    #[arg(long, value_name = "[ADDR:]PORT", value_parser = Listen::parse)]
    pub metrics: Option<Listen>,
    /// The token that reads the metrics [default: FILERMARK_METRICS_TOKEN]
    #[arg(long, value_name = "FILE", requires = "metrics")]
    pub metrics_token_file: Option<PathBuf>,
}

/// What is printed during a run.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct ProgressArgs {
    /// Print one line per second on stderr, instead of the live view
    #[arg(long, conflicts_with = "quiet")]
    pub lines: bool,
    /// Print nothing but results and errors
    #[arg(short, long)]
    pub quiet: bool,
}

impl ProgressArgs {
    /// How much is printed.
    pub const fn mode(self) -> ProgressMode {
        match (self.quiet, self.lines) {
            (true, _) => ProgressMode::Quiet,
            (false, true) => ProgressMode::Lines,
            (false, false) => ProgressMode::View,
        }
    }
}

/// The console of a generation.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct ConsoleArgs {
    /// Print the console of that generation on stderr, for mounted runs
    #[arg(long, value_enum, value_name = "YEAR", conflicts_with_all = ["lines", "quiet"])]
    pub console: Option<ConsoleArg>,
}

/// The words of `--console`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ConsoleArg {
    /// Phases, percentages, heartbeats and latency bands, as netmist printed them
    #[value(name = "2014")]
    Of2014,
}

/// What a lost client means.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct LostArgs {
    /// When a client is lost, end the run or continue with the others (ON_LOST)
    #[arg(long, value_enum, value_name = "WHAT")]
    pub on_lost: Option<OnLostArg>,
}

/// The words of `--on-lost`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OnLostArg {
    /// The run ends
    End,
    /// The other clients continue; load points from then on do not count
    Continue,
}

impl LostArgs {
    /// Sets the parameter that it stands for.
    pub fn set(self, sources: &mut Sources) {
        let word = match self.on_lost {
            None => return,
            Some(OnLostArg::End) => "end",
            Some(OnLostArg::Continue) => "continue",
        };
        sources.set("--on-lost", "ON_LOST", word);
    }
}
