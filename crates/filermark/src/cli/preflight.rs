//! `preflight`, declared.

use super::{OutputArgs, SourceArgs, VerboseArgs};
use clap::Args;

/// `preflight`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  filermark preflight -r sfs_rc  a line for each check: ok, warn or FAIL
  filermark preflight -r sfs_rc | grep -v '^ok'
      what needs fixing
  filermark preflight -r sfs_rc --json

Exit code 0: no failure; 1: there is one. Nothing is left on any host.")]
pub struct PreflightArgs {
    #[command(flatten)]
    pub source: SourceArgs,
    #[command(flatten)]
    pub output: OutputArgs,
    #[command(flatten)]
    pub verbose: VerboseArgs,
}
