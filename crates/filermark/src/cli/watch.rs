//! Options of `watch`.

use clap::Args;
use std::path::PathBuf;

/// `watch`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  filermark run -r sfs_rc -s mine --events mine.events    in one terminal
  filermark watch mine.events                             in another one
  ssh prime cat mine.events | filermark watch -           a run that has ended

It ends with the run. Ctrl-C ends it earlier; the run goes on.")]
pub struct WatchArgs {
    /// The file that the run writes (`run --events FILE`); '-': standard input
    #[arg(value_name = "EVENTS")]
    pub events: PathBuf,
    /// No colours
    #[arg(long)]
    pub no_color: bool,
}
