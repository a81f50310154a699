//! `workload` on the command line.

use clap::{Args, Subcommand};
use filermark_model::plan::NfsVersion;
use std::path::PathBuf;

/// `workload`.
#[derive(Clone, Debug, Args)]
#[command(arg_required_else_help = true)]
#[command(after_help = "\
Examples:
  filermark workload list
  filermark workload show SWBUILD
  filermark workload export METADATA > mine  edit it, then
  filermark workload check mine
  filermark workload show --toml VDA > mine.toml
  filermark workload show general-smb1       its sequence of operations, and
  filermark workload show general-smb1 --svg > smb1.svg
  filermark workload show general-smb1 --sample 50 --seed 1
  filermark workload list -f mine.toml       with your own definitions
  nfsstat -s | filermark workload from-nfsstat - -o mine.mix
      on your server, then
  filermark run -r sfs_rc -o MIXFILE=mine.mix")]
pub struct WorkloadArgs {
    /// What to do
    #[command(subcommand)]
    pub command: WorkloadCommand,
}

/// What `workload` can do.
#[derive(Clone, Debug, Subcommand)]
pub enum WorkloadCommand {
    /// List workloads, composite and classical benchmarks
    List(ListArgs),
    /// Show the tables of a workload, the components or the sequence of a benchmark
    Show(ShowArgs),
    /// Print workloads in netmist's text form, a classical benchmark in TOML, to be edited
    Export(ExportArgs),
    /// Check a definition file: TOML or netmist's text form
    Check(CheckArgs),
    /// Make a mix file from a server's statistics: nfsstat -s, /proc/net/rpc/nfsd, ganesha_stats
    FromNfsstat(FromNfsstatArgs),
}

/// `workload list`.
#[derive(Clone, Debug, Args)]
pub struct ListArgs {
    /// Definition file of your own, in either form; takes precedence; may be repeated
    #[arg(short, long = "file", value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Print the list as JSON
    #[arg(long)]
    pub json: bool,
}

/// `workload show`.
#[derive(Clone, Debug, Args)]
pub struct ShowArgs {
    /// Workload or benchmark; both are shown if both have the name
    #[arg(value_name = "NAME")]
    pub name: String,
    /// Definition file of your own, in either form; takes precedence; may be repeated
    #[arg(short, long = "file", value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Print it as JSON
    #[arg(long, group = "form")]
    pub json: bool,
    /// Print it as a definition file, with the workloads of a benchmark
    #[arg(long, group = "form")]
    pub toml: bool,
    /// Draw the sequence of operations for Graphviz
    #[arg(long, group = "form")]
    pub dot: bool,
    /// Draw the sequence of operations as an image (SVG)
    #[arg(long, group = "form")]
    pub svg: bool,
    /// Print the first operations of a proc
    #[arg(long, group = "form", value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    pub sample: Option<u32>,
    /// Seed of the operations that --sample prints
    #[arg(long, value_name = "SEED", default_value_t = 1, requires = "sample")]
    pub seed: u64,
}

/// `workload export`.
#[derive(Clone, Debug, Args)]
pub struct ExportArgs {
    /// Workloads, or benchmarks for all of their workloads; or one classical benchmark
    /// [default: all workloads]
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
    /// Definition file of your own, in either form; takes precedence; may be repeated
    #[arg(short, long = "file", value_name = "FILE")]
    pub files: Vec<PathBuf>,
}

/// `workload check`.
#[derive(Clone, Debug, Args)]
pub struct CheckArgs {
    /// The definition file
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// `workload from-nfsstat`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  nfsstat -s > now  on the server
  filermark workload from-nfsstat now -o mine.mix
  filermark workload from-nfsstat now --since before -o mine.mix
  ssh server cat /proc/net/rpc/nfsd |
      filermark workload from-nfsstat - > mine.mix
  filermark run -r sfs_rc -o MIXFILE=mine.mix")]
pub struct FromNfsstatArgs {
    /// What `nfsstat -s`, `ganesha_stats fast` or the like printed, or a table of operations
    /// and counts; - is standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Earlier statistics of the same server: count only calls since then
    #[arg(long, value_name = "EARLIER")]
    pub since: Option<PathBuf>,
    /// Use this version of NFS [default: the one with the most calls]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(2..=4))]
    pub nfs_version: Option<u8>,
    /// The version that the mix will be run over: 3, 4.1 or 4.2. With the last two, operations of version 4
    /// stay what they are where a run has them
    #[arg(long, value_name = "N", default_value = "3", value_parser = run_version)]
    pub run_version: NfsVersion,
    /// Leave out operations, for example `null,commit`; the others are scaled to 100 %
    #[arg(long, value_name = "OPS", value_delimiter = ',')]
    pub without: Vec<String>,
    /// Write the mix file here instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// A version that mixes of NFS are run over.
fn run_version(text: &str) -> Result<NfsVersion, String> {
    let versions = [NfsVersion::V3, NfsVersion::V41, NfsVersion::V42];
    let found = versions.into_iter().find(|version| version.name() == text);
    found.ok_or_else(|| "write 3, 4.1 or 4.2".to_owned())
}
