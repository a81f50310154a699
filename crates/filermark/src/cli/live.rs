//! Options of all commands that run load points: how progress is shown, where events go, and
//! what a lost client means.

use crate::events::Target;
use crate::http::Listen;
use clap::{Args, ValueEnum};
use filermark_config::Sources;
use std::path::PathBuf;

/// How progress is shown on stderr.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct ViewArgs {
    /// Print a line each second, instead of the live view
    #[arg(long, conflicts_with = "quiet")]
    pub lines: bool,
    /// Print no progress: only results, warnings and errors
    #[arg(short, long)]
    pub quiet: bool,
}

/// The forms of the console output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ConsoleArg {
    /// That of the 2014 generation and of netmist
    #[value(name = "2014")]
    Generation2014,
}

/// Where events go.
#[derive(Clone, Debug, Default, Args)]
pub struct EventsArgs {
    /// Write events as JSON lines to a file or FIFO; '-': standard output
    #[arg(long = "events", value_name = "FILE", value_parser = Target::parse)]
    pub target: Option<Target>,
    #[command(flatten)]
    pub metrics: MetricsArgs,
}

/// How progress is shown, and where events go.
#[derive(Clone, Debug, Default, Args)]
pub struct ProgressArgs {
    #[command(flatten)]
    pub view: ViewArgs,
    #[command(flatten)]
    pub events: EventsArgs,
}

/// Where metrics can be read.
#[derive(Clone, Debug, Default, Args)]
pub struct MetricsArgs {
    /// Offer metrics over HTTP for Prometheus: a port of 127.0.0.1, or an address
    /// and a port, which needs a token
    #[arg(long, value_name = "[ADDR:]PORT", value_parser = Listen::parse)]
    pub metrics: Option<Listen>,
    /// The token that reads the metrics [default: FILERMARK_METRICS_TOKEN]
    #[arg(long, value_name = "FILE", requires = "metrics")]
    pub metrics_token_file: Option<PathBuf>,
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
