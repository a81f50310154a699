//! Options of `watch`.

use crate::http::ServerUrl;
use clap::Args;
use std::path::PathBuf;

/// `watch`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  filermark run -r sfs_rc -s mine --events mine.events    in one terminal
  filermark watch mine.events                             in another one
  ssh prime cat mine.events | filermark watch -           a run that has ended
  filermark watch --web=8080 mine.events                  also in a browser
  filermark run -r sfs_rc -s mine --metrics 9464          without a file:
  filermark watch --attach 9464                           by the port

It ends with the run, with --web at Ctrl-C. Ctrl-C never ends the run.")]
pub struct WatchArgs {
    /// The file that the run writes (`run --events FILE`); '-': standard input;
    /// an http:// address: as with --attach
    #[arg(value_name = "EVENTS")]
    pub events: Option<PathBuf>,
    /// Attach to a run by the port of its --metrics on this host, or by its
    /// address (http://HOST:PORT)
    #[arg(long, value_name = "PORT|URL", conflicts_with = "events", value_parser = ServerUrl::parse)]
    pub attach: Option<ServerUrl>,
    /// The token of the run's --metrics [default: FILERMARK_METRICS_TOKEN]
    #[arg(long, value_name = "FILE")]
    pub metrics_token_file: Option<PathBuf>,
    /// Also offer it as a page for a browser of this host, at this port of
    /// 127.0.0.1 [default: a free one]
    #[arg(long, value_name = "PORT", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "0")]
    pub web: Option<u16>,
    /// No colours
    #[arg(long)]
    pub no_color: bool,
}
