//! `import` on the command line.

use clap::Args;
use std::path::PathBuf;

/// `import`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  filermark import sfs_rc -o sfs_rc.new         an rc file of 2008, 2014, 2020
                                                or before
  filermark plan -r sfs_rc.new
  filermark import benchmarks.xml -o mine.toml  benchmark definitions of the
                                                2014 kind
  filermark run -r sfs_rc.new -b mine.toml -o BENCHMARK=EDA

Settings without an equivalent are reported and kept as comments in the new
file.")]
pub struct ImportArgs {
    /// The file of an earlier generation
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Write the new file here instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}
