//! `agent`, declared.

use super::VerboseArgs;
use clap::{ArgGroup, Args};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// `agent`.
#[derive(Clone, Debug, Args)]
#[command(group = ArgGroup::new("way").args(["stdio", "listen", "connect", "make_keys", "end_run"]))]
#[command(override_usage = "\
filermark agent --stdio
       filermark agent --listen ADDR:PORT --secret-file FILE [--once]
       filermark agent --connect HOST[:PORT]... --secret-file FILE
                       [--time-limit S]
       filermark agent --make-keys DIR --clients LIST")]
#[command(after_help = "\
Runs start their agents themselves (over SSH, by Slurm, or locally). By hand:
  filermark agent --make-keys lab --clients \"h1 h2\"
      once, on the prime, which then has SECRET_FILE=lab/prime.key; move
      lab/client-h1.key to h1, and so on
  filermark agent --listen 0.0.0.0:20049 --secret-file client-h1.key
       for runs with LAUNCHER=connect
  filermark agent --connect prime:20049 --secret-file client-h1.key
       connects to a run with LAUNCHER=accept")]
pub struct AgentArgs {
    /// Exchange messages over standard input and output; for launchers
    #[arg(long)]
    pub stdio: bool,
    /// Listen for primes on this address and port, over TLS
    #[arg(long, value_name = "ADDR:PORT", requires = "secret_file", value_parser = super::parse_address)]
    pub listen: Option<SocketAddr>,
    /// Connect to the prime at this host and port, over TLS; '-': read an invitation from standard input
    #[arg(long, value_name = "HOST[:PORT]")]
    pub connect: Vec<String>,
    /// Make the key files of a prime and its clients in this directory, or those that are missing
    #[arg(long, value_name = "DIR", requires = "clients")]
    pub make_keys: Option<PathBuf>,
    /// For --make-keys: the clients, written as in CLIENTS
    #[arg(long, value_name = "LIST", requires = "make_keys")]
    pub clients: Option<String>,
    /// End the agents of a run on this host, and print what was ended; for `stop`
    #[arg(long, value_name = "RUN", hide = true, allow_hyphen_values = true)]
    pub end_run: Option<String>,
    /// The key file of this client, as --make-keys makes it
    #[arg(long, value_name = "FILE")]
    pub secret_file: Option<PathBuf>,
    /// Name of this client, if the key file does not have it
    #[arg(long, value_name = "NAME", hide = true)]
    pub name: Option<String>,
    /// The name of this client is Slurm's node name
    #[arg(long, conflicts_with = "name", hide = true)]
    pub name_from_slurm: bool,
    /// How long to try to reach the prime, in seconds
    #[arg(long, alias = "patience", value_name = "S", default_value = "60", value_parser = super::parse_seconds)]
    pub time_limit: Duration,
    /// Serve one prime and end
    #[arg(long, requires = "listen")]
    pub once: bool,
    /// The run that it belongs to; for `stop`
    #[arg(long, value_name = "RUN", hide = true, allow_hyphen_values = true)]
    pub run: Option<String>,
    #[command(flatten)]
    pub verbose: VerboseArgs,
}
