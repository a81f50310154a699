//! The command line, declared: subcommands, options, help, examples.
//!
//! Only declarations; what a subcommand does is in its own file. Man pages and
//! shell completions are made from here.

mod agent;
mod archive;
mod compare;
mod gates;
mod history;
mod hosts;
mod import;
mod live;
mod netmist;
mod preflight;
mod quick;
pub mod report;
mod subedit;
mod watch;
mod workload;

use crate::energy::{CompanionArgs, EXAMPLE, RUN_EXAMPLE};
pub use agent::AgentArgs;
pub use archive::{BundleArgs, VerifyArgs};
use clap::{Args, CommandFactory, Parser, Subcommand};
use clap_complete::Shell;
pub use compare::{CompareArgs, CompareFormat, FailOn};
pub use filermark_cli_kit::output::OutputArgs;
use filermark_server::{
    CapacitySpec, DelaySpec, Delegations, DropSpec, ErrorSpec, StopSpec, UnstableSpec,
};
pub use gates::{FailOnResult, GateArgs};
pub use history::{
    ExportFormat, ExportRunsArgs, ListRunsArgs, RecordsArgs, ShowRunArgs, TagArgs, TrendArgs,
    TrendFormat,
};
pub use hosts::{InstallArgs, KeysArgs, StopArgs};
pub use import::ImportArgs;
pub use live::{ConsoleArgs, EventsArgs, LostArgs, MetricsArgs, ProgressArgs};
pub use netmist::NetmistArgs;
pub use preflight::PreflightArgs;
pub use quick::QuickArgs;
pub use report::ReportArgs;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;
pub use subedit::SubeditArgs;
pub use watch::WatchArgs;
pub use workload::{
    CheckArgs, ExportArgs, FromNfsstatArgs, ListArgs, ShowArgs, WorkloadArgs, WorkloadCommand,
};

/// The largest width of help, in columns.
const WIDTH_MAX: usize = 100;

/// The examples of `--help`.
fn examples() -> String {
    format!(
        "\
Examples:
  filermark quick /mnt/data                   a target in one minute
  filermark demo                              measure an embedded server
  filermark template > sfs_rc                 an rc file to start from
  filermark plan -r sfs_rc                    what would run; contacts no server
  filermark preflight -r sfs_rc               are clients and servers ready?
  filermark validate -r sfs_rc -s mine        does the server keep the protocol?
  filermark run -r sfs_rc -s mine             the sweep
  filermark run -r sfs_rc -o RUNTIME=60 -o \"LOAD=100 200\"
  filermark run -r sfs_rc -o \"CLIENTS=h1 h2\"  the sweep from two hosts, over SSH
  filermark template smb > sfs_rc             one for an SMB server
  filermark template swbuild > sfs_rc         one for a mounted file system
  filermark template nfs2-1993 > sfs_rc       after LADDIS, over NFSv2{EXAMPLE}
  filermark netmist -b 1g -O 1000 -g clients  with netmist's command line
  filermark compare a.run.jsonl b.run.jsonl   is b faster or slower than a?
  filermark subedit -o sub.xml sfssum.mine sfs_rc
      make a submission of the result
  filermark params BIOD_MAX_READS             what a parameter means
"
    )
}

/// Below the examples and the list of files.
const STREAMS: &str = "\
Results go to stdout, progress and diagnostics to stderr. Exit code 0: success;
1: the run, the server or a test failed; 2: the command line or the rc file is
wrong; 3: a gate failed (--fail-on, --assert, --baseline); 4: no load point of
the run counts; 130, 143: interrupted.";

fn after_help() -> String {
    format!("{}\n{}\n{STREAMS}", examples(), crate::outputs::help())
}

/// What `--version` shows; `-V` shows the version alone.
const LONG_VERSION: &str = concat!(
    env!("CARGO_PKG_VERSION"),
    "\nbuild ",
    env!("FILERMARK_SOURCES"),
    "\nsystem ",
    env!("FILERMARK_SYSTEM"),
    "\ncommit ",
    env!("FILERMARK_COMMIT"),
    "\nprofile ",
    env!("FILERMARK_PROFILE")
);

/// Measures file servers: load sweeps over NFS and SMB, from rc file to report.
#[derive(Debug, Parser)]
#[command(name = "filermark", version, about, after_help = after_help())]
#[command(long_version = LONG_VERSION)]
#[command(
    propagate_version = true,
    arg_required_else_help = true,
    max_term_width = WIDTH_MAX
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Measure a directory, an NFS export or an SMB share for a minute, without an rc file
    Quick(QuickArgs),
    /// Measure an embedded server and show what a report looks like
    Demo(DemoArgs),
    /// Show what would run: points, procs, file set, space, memory, time
    ///
    /// No server is contacted and no file is written.
    Plan(PlanArgs),
    /// Check that clients, servers and this host are ready for a run
    Preflight(PreflightArgs),
    /// Test whether the server speaks the protocol correctly
    Validate(ValidateArgs),
    /// Run the load sweep and write its results
    Run(RunArgs),
    /// Find the highest load that holds, then run the load sweep up to it
    #[command(after_help = SEARCH_EXAMPLES)]
    Search(RunArgs),
    /// Follow a run in another terminal, by the file of its events or its port
    Watch(WatchArgs),
    /// Measure mounted file systems with netmist's flags and token file
    Netmist(NetmistArgs),
    /// Serve an in-memory file system over NFSv2, NFSv3 and NFSv4.0 to NFSv4.2
    Serve(ServeArgs),
    /// Serve the time of day to runs in virtual machines
    Clock(ClockArgs),
    /// Set up SSH so that this user can log in to the clients without a password
    Keys(KeysArgs),
    /// Install this program on the clients
    Install(InstallArgs),
    /// Stop the agents of a run on its clients and remove its files there
    Stop(StopArgs),
    /// Generate load on this host for a remote prime
    Agent(AgentArgs),
    /// List, show, export and check workloads and composite benchmarks
    Workload(WorkloadArgs),
    /// List the parameters, or explain one
    Params(ParamsArgs),
    /// Print a commented rc file to start from
    Template(TemplateArgs),
    /// Convert rc files and benchmark definitions (XML) of earlier generations
    Import(ImportArgs),
    /// Make a report of a run record, a submission or any sfssum file
    Report(ReportArgs),
    /// Compare runs: faster, slower, or no difference shown
    Compare(CompareArgs),
    /// List the runs whose records are in a directory
    List(ListRunsArgs),
    /// Show the summary of a run, with its tags and note
    Show(ShowRunArgs),
    /// Set tags and a note of runs
    Tag(TagArgs),
    /// Show a figure over runs of the same work, and where it changed
    Trend(TrendArgs),
    /// Write the load points of runs as a table: CSV or JSON lines
    Export(ExportRunsArgs),
    /// Measure power and network traffic during runs; report efficiency
    #[cfg(feature = "energy")]
    Energy(crate::energy::EnergyArgs),
    /// Fill in a submission, the disclosure of a result
    Subedit(SubeditArgs),
    /// Pack all files of a run or a submission into a zip file with checksums
    Bundle(BundleArgs),
    /// Check an archive, a folder, a record or a submission; recompute every figure
    Verify(VerifyArgs),
    /// Print a completion script for a shell
    Completions(CompletionsArgs),
    /// Print the manual page, or write one per subcommand
    Man(ManArgs),
}

/// Where the parameters come from.
#[derive(Clone, Debug, Default, Args)]
pub struct SourceArgs {
    /// The rc file
    #[arg(short = 'r', long = "rc", value_name = "RC")]
    pub rc: Option<PathBuf>,
    /// Suffix of the names of the result files (SUFFIX)
    #[arg(short, long, value_name = "SUFFIX")]
    pub suffix: Option<String>,
    /// Directory of the result files (WORK_DIR) [default: result]
    #[arg(short, long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// Set a parameter, overriding the rc file; may be repeated
    #[arg(short = 'o', long = "option", value_name = "NAME=VALUE")]
    pub options: Vec<String>,
    /// Directory with the programs for clients of other systems (AGENTS_DIR)
    #[arg(long, value_name = "DIR")]
    pub agents: Option<PathBuf>,
    /// Benchmark and workload definitions of your own (BENCHMARK_FILE)
    #[arg(short, long, value_name = "FILE")]
    pub benchmarks: Option<PathBuf>,
    /// A workload of your own on one line, for CLIENT_MOUNTPOINTS (WORKLOAD):
    /// read_random=70,write_random=30,size=4k,direct
    #[arg(short, long, value_name = "LINE")]
    pub workload: Option<String>,
}

/// How much a subcommand says on stderr.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct VerboseArgs {
    /// More diagnostics; -vv: all
    #[arg(short, long, action = clap::ArgAction::Count)]
    pub verbose: u8,
}

/// `demo`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "Example:\n  filermark demo -d /tmp/demo --seconds 5")]
pub struct DemoArgs {
    /// Directory of the result files
    #[arg(short, long, value_name = "DIR", default_value = "result")]
    pub dir: PathBuf,
    /// Length of RUN at each load point, in seconds
    #[arg(long, value_name = "S", default_value = "4", value_parser = parse_seconds)]
    pub seconds: Duration,
    #[command(flatten)]
    pub setup: CompanionArgs,
    #[command(flatten)]
    pub events: EventsArgs,
    #[command(flatten)]
    pub gates: GateArgs,
    #[command(flatten)]
    pub progress: ProgressArgs,
    #[command(flatten)]
    pub output: OutputArgs,
    #[command(flatten)]
    pub verbose: VerboseArgs,
}

/// `plan`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  filermark plan -r sfs_rc -o PROCS=16
  filermark plan --power 5%  repeats that detect a change of 5 %
  filermark plan --power 5% --from 'result/base*.run.jsonl'")]
pub struct PlanArgs {
    #[command(flatten)]
    pub source: SourceArgs,
    #[command(flatten)]
    pub power: PowerArgs,
    #[command(flatten)]
    pub output: OutputArgs,
    #[command(flatten)]
    pub verbose: VerboseArgs,
}

/// The repeats that `compare` takes.
#[derive(Clone, Debug, Args)]
pub struct PowerArgs {
    /// Print how many repeats on each side `compare` takes to detect such a change, instead
    /// of the plan of a run
    #[arg(long, value_name = "PERCENT", value_parser = compare::parse_percent_above_0)]
    #[arg(conflicts_with_all = ["rc", "suffix", "dir", "options", "benchmarks", "workload"])]
    pub power: Option<f64>,
    /// With --power: the standard deviation between runs [default: 2%]
    #[arg(long, value_name = "PERCENT", value_parser = compare::parse_percent_above_0)]
    #[arg(requires = "power")]
    pub deviation: Option<f64>,
    /// With --power: the records of repeats that show the deviation; a pattern names several
    #[arg(long, value_name = "GLOB", num_args = 1.., requires = "power")]
    #[arg(conflicts_with = "deviation")]
    pub from: Vec<PathBuf>,
}

/// `validate`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  filermark validate -r sfs_rc -s mine  all tests; writes result/sfsval.mine
  filermark validate -v 1 -o MNT_POINTS=nas:/vol1
      without an rc file, stop at the first failure
  filermark validate -o MNT_POINTS=nas:/vol1 -o NFS_VERSION=4.1")]
pub struct ValidateArgs {
    #[command(flatten)]
    pub source: SourceArgs,
    /// 1: stop at the first failure; 2: run all tests
    #[arg(short = 'v', long, value_name = "LEVEL", default_value_t = 2)]
    #[arg(value_parser = clap::value_parser!(u8).range(1..=2))]
    pub level: u8,
    /// More diagnostics; twice: all
    #[arg(long, action = clap::ArgAction::Count)]
    pub verbose: u8,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// The examples of `run`.
fn run_examples() -> String {
    format!(
        "\
Examples:
  filermark run -r sfs_rc -s mine
  filermark run -r sfs_rc -s quick -o WARMUP_TIME=5 -o RUNTIME=10
  filermark run -w read_random=70,write_random=30,size=4k,procs=4 \\
      -o CLIENT_MOUNTPOINTS=localhost:/mnt/data -o RUNTIME=30 -o WARMUP_TIME=5
  filermark run -r sfs_rc -s mine --events - | jq -c .type{RUN_EXAMPLE}
  filermark run -r sfs_rc -s ci --assert 'p99<5ms, ops>=2000' --junit ci.xml
  filermark run -s null -o DRIVER=null -o LOAD=100000 -o PROCS=100 \\
      -o WARMUP_TIME=1 -o RUNTIME=5 -o FILESET_MB_PER_OP=0.1

Ctrl-C ends a run: results so far are kept, files on the server are removed."
    )
}

/// The examples of `search`.
const SEARCH_EXAMPLES: &str = "\
Examples:
  filermark search -r sfs_rc -s knee           and a sweep of ten points
  filermark search -r sfs_rc -s knee -o GOAL='p99<5ms, mean<2ms'
  filermark search -r sfs_rc -s knee -o SEARCH_SWEEP=off
      only the figure
  filermark search -r sfs_rc -s knee --resume  continues a search that was cut

It is `run` with LOAD=search. The parameters are GOAL, SEARCH_FIRST,
SEARCH_MAX, SEARCH_RUNTIME and SEARCH_SWEEP (filermark params GOAL).";

/// `run`.
#[derive(Clone, Debug, Args)]
#[command(after_help = run_examples())]
pub struct RunArgs {
    #[command(flatten)]
    pub source: SourceArgs,
    /// Continue the run of this suffix that was cut: measured load points stay
    #[arg(long)]
    pub resume: bool,
    #[command(flatten)]
    pub setup: CompanionArgs,
    #[command(flatten)]
    pub lost: LostArgs,
    #[command(flatten)]
    pub events: EventsArgs,
    #[command(flatten)]
    pub gates: GateArgs,
    #[command(flatten)]
    pub progress: ProgressArgs,
    #[command(flatten)]
    pub console: ConsoleArgs,
    #[command(flatten)]
    pub output: OutputArgs,
    #[command(flatten)]
    pub verbose: VerboseArgs,
}

/// `serve`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  filermark serve                               an empty /export on
                                                127.0.0.1:2049
  filermark serve --listen '[::1]:0' --portmap  a free port is chosen and
                                                printed
  filermark serve --delay 5ms --error READ=NFS3ERR_IO@1% --unstable
  filermark serve --delay exp:2ms --stop 3s/60s
      random delays, and stalls
  filermark serve --capacity-ops 400            a server whose knee is at 400
                                                op/s
  filermark serve --null                        canned replies: measures the
                                                limit of the client
  filermark serve --tls-cert server.pem --tls-key server.key --tls-only
      NFS over TLS alone
While it runs, in another terminal:
  filermark quick nfs://127.0.0.1:2049/export -o NFS_VERSION=4.1
  filermark quick nfs://127.0.0.1:2049/export -o MOUNT_PORT=2049
      over NFSv3
  mount -t nfs -o vers=4.2,port=2049 127.0.0.1:/export /mnt
  mount -t nfs -o vers=3,tcp,port=2049,mountport=2049,nolock \\
      127.0.0.1:/export /mnt")]
pub struct ServeArgs {
    /// Address and port to listen on; may be repeated; with port 0 a free one is chosen
    #[arg(
        short,
        long,
        value_name = "ADDR:PORT",
        default_value = "127.0.0.1:2049",
        value_parser = parse_address
    )]
    pub listen: Vec<SocketAddr>,
    /// Answer at once with canned replies, without a file system
    #[arg(long, conflicts_with_all = ["error", "unstable", "short", "capacity", "readonly"])]
    pub null: bool,
    /// Answer the portmapper program on the same port too
    #[arg(long)]
    pub portmap: bool,
    /// Serve TCP only, no UDP
    #[arg(long)]
    pub no_udp: bool,
    /// Delay NFS replies: 5ms; READ=2ms,GETATTR=100us; COPY=20ms (an operation of NFSv4); uniform:1ms-3ms; exp:2ms;
    /// lognormal:MEDIAN,SIGMA; bimodal:1ms,50ms,1%
    #[arg(long, value_name = "SPEC")]
    pub delay: Option<DelaySpec>,
    /// Serve one request at a time, as a single disk would
    #[arg(long)]
    pub queue: bool,
    /// Serve at most N operations per second, the others wait: 400; 400/30s:200 is 200 from
    /// 30 s after the first operation on
    #[arg(long, value_name = "N[/TIME:N]...")]
    pub capacity_ops: Option<CapacitySpec>,
    /// Stop answering periodically: 3s/60s stops for 3 s every 60 s
    #[arg(long, value_name = "LENGTH/PERIOD")]
    pub stop: Option<StopSpec>,
    /// Answer with errors: READ=NFS3ERR_IO@1%,CREATE=NFS3ERR_JUKEBOX@3,COPY=NFS4ERR_IO@1/50
    #[arg(long, value_name = "SPEC")]
    pub error: Option<ErrorSpec>,
    /// Drop connections, replies or calls: conn@N, reply@1%, call@1/50; duplicate or delay replies: copy@1%, late@1%:3s
    #[arg(long, value_name = "SPEC")]
    pub drop: Option<DropSpec>,
    /// Answer WRITE with UNSTABLE; =verf@N changes the write verifier after every N WRITEs,
    /// =lose@N also loses what was not committed
    #[arg(long, value_name = "SPEC", num_args = 0..=1)]
    #[arg(require_equals = true, default_missing_value = "on")]
    pub unstable: Option<UnstableSpec>,
    /// Transfer at most so many bytes per READ or WRITE
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u32).range(1..))]
    pub short: Option<u32>,
    /// Refuse every mount
    #[arg(long)]
    pub refuse_mount: bool,
    /// Delegations of files to clients of NFSv4.1 and 4.2: off, read, or write (of both kinds)
    #[arg(
        long,
        value_name = "KIND",
        default_value = "off",
        conflicts_with = "null"
    )]
    pub delegations: Delegations,
    /// Seed of random delays and faults
    #[arg(long, value_name = "N", default_value = "1")]
    pub seed: u64,
    /// Threads that serve requests [default: 2]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Capacity of the file system, with names and inodes, at least 1M: 512M, 8G
    #[arg(long, value_name = "SIZE", value_parser = parse_capacity)]
    pub capacity: Option<u64>,
    /// Refuse every change: NFS4ERR_ROFS, NFS3ERR_ROFS, NFSERR_ROFS
    #[arg(long)]
    pub readonly: bool,
    #[command(flatten)]
    pub tls: ServeTlsArgs,
    #[command(flatten)]
    pub output: OutputArgs,
    #[command(flatten)]
    pub verbose: VerboseArgs,
}

/// TLS of `serve`.
#[derive(Clone, Debug, Args)]
pub struct ServeTlsArgs {
    /// Offer TLS (RFC 9289) with this certificate and its chain (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub tls_cert: Option<PathBuf>,
    /// The private key of --tls-cert (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,
    /// Require certificates of clients that one of these authorities has signed (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_client_ca: Option<PathBuf>,
    /// Serve clients without a certificate too
    #[arg(long, requires = "tls_client_ca")]
    pub tls_client_optional: bool,
    /// Refuse NFS calls in the clear with AUTH_TOOWEAK; MOUNT stays in the clear
    #[arg(long, requires = "tls_cert")]
    pub tls_only: bool,
}

/// `clock`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  filermark clock                             on port 2010 of all addresses
  filermark clock --listen 127.0.0.1:0        a free port is chosen and printed
  filermark run -r sfs_rc -o PIT_SERVER=HOST  RUN is checked against the clock
                                              of HOST")]
pub struct ClockArgs {
    /// Address and port to listen on; may be repeated; with port 0 a free one is chosen
    #[arg(short, long, value_name = "ADDR:PORT", default_value = "0.0.0.0:2010", value_parser = parse_address)]
    pub listen: Vec<SocketAddr>,
    #[command(flatten)]
    pub output: OutputArgs,
    #[command(flatten)]
    pub verbose: VerboseArgs,
}

/// `params`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "Examples:\n  filermark params\n  filermark params RUNTIME")]
pub struct ParamsArgs {
    /// The parameter to explain; without it all are listed
    #[arg(value_name = "NAME")]
    pub name: Option<String>,
    /// Print the reference page in Markdown
    #[arg(long, conflicts_with = "name")]
    pub markdown: bool,
}

/// `template`.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Examples:\n  filermark template > sfs_rc\n  filermark template smb > sfs_rc\n  filermark template nfs2-1993 > sfs_rc\n  filermark template SWBUILD > sfs_rc"
)]
pub struct TemplateArgs {
    /// The benchmark that it is for (nfs2-1993, SWBUILD ...), or nfs, cifs, smb [default: general-nfs3]
    #[arg(value_name = "BENCHMARK")]
    pub benchmark: Option<String>,
}

/// `completions`.
#[derive(Clone, Copy, Debug, Args)]
#[command(after_help = "Example:\n  filermark completions bash \\
      > ~/.local/share/bash-completion/completions/filermark")]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    pub shell: Shell,
}

/// `man`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "Examples:\n  filermark man | man -l -\n  filermark man -d man1")]
pub struct ManArgs {
    /// Write filermark.1 and one page per subcommand into this directory
    #[arg(short, long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
}

/// The completion script of a shell.
pub fn completions(shell: Shell) -> Vec<u8> {
    let mut out = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "filermark", &mut out);
    out
}

/// The manual page on `filermark` itself, as roff.
///
/// # Errors
/// None that a `Vec` can cause.
pub fn man_page() -> std::io::Result<Vec<u8>> {
    let mut out = Vec::new();
    clap_mangen::Man::new(Cli::command()).render(&mut out)?;
    Ok(out)
}

/// Writes the manual page and one per subcommand into a directory.
///
/// # Errors
/// A file cannot be written.
pub fn man_pages(dir: &std::path::Path) -> std::io::Result<()> {
    std::fs::create_dir_all(dir)?;
    clap_mangen::generate_to(Cli::command(), dir)
}

fn parse_seconds(text: &str) -> Result<Duration, String> {
    match text.parse::<f64>() {
        Ok(s) if (0.1..=86_400.0).contains(&s) => Ok(Duration::from_secs_f64(s)),
        _ => Err("give seconds from 0.1 to 86400".into()),
    }
}

/// An address to listen on.
pub(crate) fn parse_address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| {
        "not an IP address with a port; for example 127.0.0.1:2049 or [::1]:2049".into()
    })
}

/// The smallest capacity of the embedded server: less is a forgotten unit.
const CAPACITY_MIN: u64 = 1 << 20;

/// The capacity of the embedded server.
fn parse_capacity(text: &str) -> Result<u64, String> {
    match parse_size(text)? {
        small if small < CAPACITY_MIN => Err(format!(
            "{small} bytes are too few for a file system; give a unit: 16M, 16G (1M is the least)"
        )),
        size => Ok(size),
    }
}

/// An amount in bytes, with K, M, G or T for binary multiples.
fn parse_size(text: &str) -> Result<u64, String> {
    let (digits, shift) = match text.char_indices().last() {
        Some((at, 'K' | 'k')) => (&text[..at], 10),
        Some((at, 'M' | 'm')) => (&text[..at], 20),
        Some((at, 'G' | 'g')) => (&text[..at], 30),
        Some((at, 'T' | 't')) => (&text[..at], 40),
        _ => (text, 0),
    };
    digits
        .parse::<u64>()
        .ok()
        .and_then(|n| n.checked_mul(1 << shift))
        .filter(|n| *n > 0)
        .ok_or_else(|| "give bytes, or a number with K, M, G or T".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Cli, clap::Error> {
        Cli::try_parse_from(line.split_whitespace())
    }

    #[test]
    fn the_declaration_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn the_lines_of_the_manual_are_read() {
        let good = [
            "filermark demo",
            "filermark plan -r sfs_rc",
            "filermark preflight -r sfs_rc -s mine -o LOAD=1 --json --no-color -v",
            "filermark validate -r sfs_rc -s mine -v 1",
            "filermark run -r sfs_rc -s mine -d DIR -o A=1 -o B=2 --json -vv --no-color",
            "filermark serve --null --delay lognormal:5ms,0.5,READ=bimodal:1ms,50ms,1% --stop 3s/60s --listen 127.0.0.1:0 --listen [::1]:0",
            "filermark serve --error READ=NFS3ERR_IO@0.5% --drop reply@1% --short 4096 --unstable=verf@100 --capacity 8G --readonly",
            "filermark clock --listen 127.0.0.1:0 --listen [::]:2010 --json",
            "filermark install -r sfs_rc --json",
            "filermark stop -r sfs_rc -s mine -v",
            "filermark keys -r sfs_rc --yes",
            "filermark workload list --json",
            "filermark workload show VDA --toml -f mine.toml",
            "filermark workload export",
            "filermark workload export METADATA VDI -f mine",
            "filermark workload check my_workloads",
            "filermark params RUNTIME",
            "filermark params --markdown",
            "filermark template",
            "filermark template swbuild",
            "filermark plan -r sfs_rc -b mine.toml",
            "filermark netmist -d 1 -b 1g -B 1g -g client_list",
            "filermark report x.run.jsonl",
            "filermark report x.run.jsonl --templates mine",
            "filermark report -f pdf -r -o x.pdf --browser b x.run.jsonl",
            "filermark report -o - x.run.jsonl",
            "filermark report --export-templates mine",
            "filermark compare a.run.jsonl b.run.jsonl,c.run.jsonl d -f html -o x.html --force",
            "filermark compare a b --threshold 2.5% --spread 0 --fail-on any --no-color",
            "filermark subedit -o sub.xml sfssum.mine sfs_rc",
            "filermark subedit -b -o sub.xml -i example.xml sfssum.example example_rc",
            "filermark subedit -z -o sub.zip -i example.xml sfssum.example example_rc",
            "filermark subedit -v -i sub.xml",
            "filermark subedit -n -o n.xml -i sub.xml --reason because",
            "filermark subedit --xsd",
            "filermark bundle x.run.jsonl",
            "filermark bundle -o x.zip --rc sfs_rc --add notes --add map.png --force --with-secrets sub.xml result",
            "filermark verify x.zip --json",
            "filermark completions zsh",
            "filermark man",
        ];
        for line in good {
            assert!(parse(line).is_ok(), "{line}: {}", parse(line).unwrap_err());
        }
        let bad = [
            "filermark",
            "filermark measure",
            "filermark bundle",
            "filermark verify",
            "filermark verify a.zip b.zip",
            "filermark workload",
            "filermark workload show",
            "filermark workload show VDI --toml --json",
            "filermark workload check",
            "filermark validate -v 3",
            "filermark subedit -b -z -o sub.zip",
            "filermark subedit -o sub.xml --reason because",
            "filermark serve --delay 5parsecs",
            "filermark serve --stop 3s",
            "filermark serve --error READ@1%",
            "filermark serve --null --readonly",
            "filermark serve --capacity 0",
            "filermark serve --capacity 16",
            "filermark serve --capacity 1023K",
            "filermark serve --capacity 99999999T",
            "filermark demo --seconds 0",
            "filermark clock --listen 2010",
            "filermark report",
            "filermark report -f doc x",
            "filermark report -f html -d d x",
            "filermark compare",
            "filermark compare a b --threshold much",
        ];
        for line in bad {
            assert!(parse(line).is_err(), "{line}");
        }
    }

    #[test]
    fn given_options_replace_defaults() {
        let Ok(Cli {
            command: Command::Serve(args),
        }) = parse("filermark serve --listen [::1]:7 --delay 250us --capacity 2M")
        else {
            panic!("serve");
        };
        assert_eq!(args.listen, ["[::1]:7".parse().unwrap()]);
        assert_eq!(args.delay, Some("250us".parse().unwrap()));
        assert_eq!(args.capacity, Some(2 << 20));
    }

    /// Terminals have at least 80 columns; nothing may be wrapped inside an example.
    #[test]
    fn examples_have_at_most_80_columns() {
        fn check(command: &clap::Command) {
            let text = command.get_after_help().map(ToString::to_string);
            let text = text.unwrap_or_default();
            let is_wide = |line: &&str| line.chars().count() > 80;
            let wide: Vec<_> = text.lines().filter(is_wide).collect();
            assert!(wide.is_empty(), "{}: {wide:#?}", command.get_name());
            command.get_subcommands().for_each(check);
        }
        check(&Cli::command());
    }

    #[test]
    fn completions_and_manual_name_every_subcommand() {
        let bash = String::from_utf8(completions(Shell::Bash)).unwrap();
        let man = String::from_utf8(man_page().unwrap()).unwrap();
        for command in Cli::command().get_subcommands() {
            assert!(bash.contains(command.get_name()), "{command}");
            assert!(man.contains(command.get_name()), "{command}");
        }
        let dir = std::env::temp_dir().join(format!("filermark-man-{}", std::process::id()));
        man_pages(&dir).unwrap();
        assert!(dir.join("filermark-run.1").exists());
        std::fs::remove_dir_all(&dir).unwrap();
    }
}
